"""Published tables, run here: what a paper prints, what we reach, and what the cheap baselines reach."""

from __future__ import annotations

from netfold.studies.reproduce.page import last_verdict, lines, page, write_page
from netfold.studies.reproduce.parsing import (
    folder_of_tables,
    is_installed,
    page_of,
    read_table,
    read_tables,
    table_named,
)
from netfold.studies.reproduce.running import Run, record, run
from netfold.studies.reproduce.table import Recorded, RecordedRow, Row, Table
from netfold.studies.reproduce.verdicts import Verdict, verdict, verdicts

__all__ = [
    "Recorded", "RecordedRow", "Row", "Run", "Table", "Verdict", "folder_of_tables", "is_installed",
    "last_verdict", "lines", "page", "page_of", "read_table", "read_tables", "record", "run", "table_named", "verdict",
    "verdicts", "write_page",
]  # fmt: skip
