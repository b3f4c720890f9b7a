"""Published tables, run here: what a paper prints, what we reach, and what the cheap baselines reach."""

from __future__ import annotations

from netfold.reproduce.finding import folder_of_tables, is_installed, page_of, read_tables, table_named
from netfold.reproduce.page import last_verdict, page, write_page
from netfold.reproduce.parsing import read_table
from netfold.reproduce.recording import record
from netfold.reproduce.running import Run, run
from netfold.reproduce.showing import aligned, lines
from netfold.reproduce.tables import Recorded, RecordedRow, Row, Table
from netfold.reproduce.verdicts import Verdict, verdict, verdicts

__all__ = [
    "Recorded", "RecordedRow", "Row", "Run", "Table", "Verdict", "aligned", "folder_of_tables", "is_installed",
    "last_verdict", "lines", "page", "page_of", "read_table", "read_tables", "record", "run", "table_named", "verdict",
    "verdicts", "write_page",
]  # fmt: skip
