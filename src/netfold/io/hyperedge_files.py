"""Files of hyperedges, opened: text in pieces of lines, and parquet in pieces of rows."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Protocol

import numpy as np
import numpy.typing as npt

from netfold.errors import InputError
from netfold.io.hyperedge_columns import Columns, Role
from netfold.io.lines import LineError, data_lines, is_integer
from netfold.io.sniffing import checked_delimiter, fields_of, likely_delimiter, sample
from netfold.io.source import chunks, kind_of, refusal
from netfold.io.tuple_rows import TupleLayout, tuple_rows
from netfold.io.type_labels import TypeLabels

__all__ = ["HyperedgeFile", "TextFile", "opened_file"]

Codes = npt.NDArray[np.int32]


class HyperedgeFile(Protocol):
    """A file whose columns are known."""

    path: Path
    names: list[str]
    roles: tuple[str, ...]
    types: tuple[str, ...]

    def read(self, labels: dict[str, TypeLabels]) -> Codes:
        """The hyperedges (m x N), each node as its number within its type."""

    def refusal_at(self, row: int, problem: str) -> InputError:
        """The error to raise about a hyperedge."""


def opened_file(path: str | os.PathLike[str], columns: Columns, delimiter: str | None) -> HyperedgeFile:
    """A file, whatever it is, after a look at its columns."""
    path = Path(path)
    kind = kind_of(path)
    if kind == "parquet":
        from netfold.io.hyperedge_tables import ParquetFile

        return ParquetFile(path, columns)
    return TextFile(path, kind, columns, delimiter)


class TextFile:
    """Lines of text, plain or compressed."""

    def __init__(self, path: Path, kind: str, columns: Columns, delimiter: str | None):
        self.path, self._kind = path, kind
        given = None if delimiter is None else checked_delimiter(delimiter)
        lines = sample(path, kind)
        if not lines:
            raise refusal(path, "there are no hyperedges, only comments or blank lines; it should hold one per line")
        chosen = given or likely_delimiter(lines)
        number, first = lines[0]
        self.names = [field.decode() for field in fields_of(first, chosen)]
        roles = _roles(path, columns, self.names, number)
        self.roles, self.types = tuple(r.name for r in roles), tuple(r.type for r in roles)
        body = [fields_of(line, chosen) for _, line in lines[columns.unnamed is None :]]
        self._start = number + (columns.unnamed is None)
        self._layout = TupleLayout(
            chosen,
            len(self.names),
            tuple(role.column for role in roles),
            tuple(self.names[role.column] for role in roles) if columns.unnamed is None else self.roles,
            all(is_integer(field) for fields in body for field in fields),
        )

    def read(self, labels: dict[str, TypeLabels]) -> Codes:
        """The hyperedges, piece by piece."""
        parts = [self._coded(line, text, labels) for line, text in chunks(self.path, self._kind, self._start)]
        made = np.concatenate([np.empty((0, len(self.roles)), np.int32), *parts])
        if not len(made):
            raise refusal(self.path, "there are no hyperedges after the header; it should hold one per line")
        return made

    def refusal_at(self, row: int, problem: str) -> InputError:
        """The error, with the line, which is looked for only now."""
        for start, text in chunks(self.path, self._kind, self._start):
            for line, _ in data_lines(start, text):
                if row == 0:
                    return refusal(self.path, problem, line)
                row -= 1
        return refusal(self.path, problem)

    def _coded(self, line: int, text: bytes, labels: dict[str, TypeLabels]) -> Codes:
        try:
            rows = tuple_rows(line, text, self._layout)
        except LineError as e:
            raise refusal(self.path, e.problem, e.line) from None
        made = np.empty(rows.starts.shape, np.int32)
        for name, at in by_type(self.types):
            part = type(rows)(rows.buffer, rows.starts[:, at], rows.ends[:, at], None, rows.digits)
            made[:, at] = labels[name].add(part)
        return made


def by_type(types: Sequence[str]) -> Iterator[tuple[str, list[int]]]:
    """Each type and its positions: labels of one type are numbered together, row by row."""
    for name in dict.fromkeys(types):
        yield name, [j for j, other in enumerate(types) if other == name]


def _roles(path: Path, columns: Columns, names: Sequence[str], line: int | None) -> list[Role]:
    try:
        return columns.roles(names)
    except ValueError as e:
        raise refusal(path, str(e), line) from None
