"""`TupleFile`: a file of tuples whose order is kept, line for line, and in which a line can be named."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from netfold.cli.hyperedges import columns_of, plain_labels
from netfold.errors import InputError

__all__ = ["TupleFile", "check_table", "write_table"]

_PARTED = {".csv": ",", ".tsv": "\t"}
"""What parts the columns of a file that is written, by its ending."""


class TupleFile:
    """The labels on each line of a file with a column for each role; `reading` are flags, None for one not given."""

    def __init__(self, path: str, reading: Mapping[str, Any]):
        from netfold.io import read_hyperedges

        self._path = path
        self._given = {name: value for name, value in reading.items() if value is not None}
        if "columns" in self._given:
            self._given["columns"] = columns_of(self._given["columns"], header=self._given.get("header", True))
        read = read_hyperedges(path, **self._given)
        (kind,), plain = read.kinds, plain_labels(read)
        self.roles: tuple[str, ...] = kind.roles
        self.rows = [[plain[i] for i in row] for row in kind.rows.tolist()]
        """As they are written, integers where all of a type are."""

    def column(self, role: str) -> list[Any]:
        """The labels at a role, line for line."""
        at = self.roles.index(role)
        return [row[at] for row in self.rows]

    def refusal_at(self, row: int, problem: str) -> InputError:
        """The error to raise about a tuple, with its line."""
        from netfold.io.hyperedge_columns import Columns
        from netfold.io.hyperedge_files import opened_file

        columns = Columns.of(self._given.get("columns"), self._given.get("header", True))
        return opened_file(self._path, columns, self._given.get("delimiter")).refusal_at(row, problem)


def check_table(path: str) -> None:
    """Refuse a name whose ending is that of no table."""
    if Path(path).suffix.lower() not in _PARTED:
        raise InputError(f"{path} names no format of a table; end it with one of {', '.join(_PARTED)}")


def write_table(path: str, head: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Write a table as its ending says."""
    from netfold.files import staged_file

    with staged_file(path) as part, part.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, delimiter=_PARTED[Path(path).suffix.lower()], lineterminator="\n")
        writer.writerow(head)
        writer.writerows(rows)
