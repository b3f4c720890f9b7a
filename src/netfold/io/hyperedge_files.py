"""Files of hyperedges whose columns are known: text, and parquet, which duckdb reads for us, some rows at a time."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from netfold.data.arrays import Ints32
from netfold.data.columns import edge_roles
from netfold.errors import InputError
from netfold.io.duckdb import INTEGERS, opened, parquet_sample, quoted
from netfold.io.layout import checked_delimiter, fields_of, likely_delimiter, sample
from netfold.io.lines import LineError, data_lines, is_integer
from netfold.io.roles import Columns, Role
from netfold.io.source import chunks, excerpt, file_kind, refusal
from netfold.io.typed_rows import TupleLayout, TypeNodes, parsed_tuples

__all__ = ["HyperedgeFile", "ParquetFile", "TextFile", "opened_file"]


class HyperedgeFile(Protocol):
    """A file whose columns are known."""

    path: Path
    names: list[str]
    roles: tuple[str, ...]
    types: tuple[str, ...]
    read_names: tuple[str, ...]
    """What the columns that are read are called."""
    time: str | None
    """The column of times."""

    def read(self, nodes: dict[str, TypeNodes]) -> Ints32:
        """The hyperedges (m x N), each node as its number within its type."""

    def refusal_at(self, row: int, problem: str) -> InputError:
        """The error to raise about a hyperedge."""


def opened_file(path: str | os.PathLike[str], columns: Columns, delimiter: str | None) -> HyperedgeFile:
    """A file, whatever it is, after a look at its columns."""
    path = Path(path)
    kind = file_kind(path)
    if kind == "parquet":
        return ParquetFile(path, columns)
    return TextFile(path, kind, columns, delimiter)


class TextFile:
    """Lines of text, plain or compressed."""

    def __init__(self, path: Path, kind: str, columns: Columns, delimiter: str | None):
        self.path, self._kind = path, kind
        separator = None if delimiter is None else checked_delimiter(delimiter)
        lines = sample(path, kind)
        if not lines:
            raise refusal(path, "there are no hyperedges, only comments or blank lines; it should hold one per line")
        chosen = separator or likely_delimiter(lines)
        number, first = lines[0]
        self.names = [field.decode() for field in fields_of(first, chosen)]
        rows = [[cell.decode() for cell in fields_of(line, chosen)] for _, line in lines[1:]]
        roles = _roles(path, columns, self.names, rows, number)
        self.read_names, self.time = tuple(self.names[r.column] for r in roles), _time(columns, self.names, rows)
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

    def read(self, nodes: dict[str, TypeNodes]) -> Ints32:
        """The hyperedges, piece by piece."""
        parts = [self._coded(line, text, nodes) for line, text in chunks(self.path, self._kind, self._start)]
        rows = np.concatenate([np.empty((0, len(self.roles)), np.int32), *parts])
        if not len(rows):
            raise refusal(self.path, "there are no hyperedges after the header; it should hold one per line")
        return rows

    def refusal_at(self, row: int, problem: str) -> InputError:
        """The error, with the line, which is looked for only now."""
        for start, text in chunks(self.path, self._kind, self._start):
            for line, _ in data_lines(start, text):
                if row == 0:
                    return refusal(self.path, problem, line)
                row -= 1
        return refusal(self.path, problem)

    def _coded(self, line: int, text: bytes, nodes: dict[str, TypeNodes]) -> Ints32:
        try:
            rows = parsed_tuples(line, text, self._layout)
        except LineError as e:
            raise refusal(self.path, e.problem, e.line) from None
        codes = np.empty(rows.starts.shape, np.int32)
        for name, at in positions_by_type(self.types):
            part = type(rows)(rows.buffer, rows.starts[:, at], rows.ends[:, at], None, rows.digits)
            codes[:, at] = nodes[name].add(part)
        return codes


def positions_by_type(types: Sequence[str]) -> Iterator[tuple[str, list[int]]]:
    """Each type and its positions: nodes of one type are numbered together, row by row."""
    for name in dict.fromkeys(types):
        yield name, [j for j, other in enumerate(types) if other == name]


def _time(columns: Columns, names: Sequence[str], rows: Sequence[Sequence[str]]) -> str | None:
    """The column of times of a file whose columns have names."""
    try:
        place = edge_roles(names, rows, len(names)).time if columns.unnamed is None else None
    except ValueError:
        return None
    return None if place is None else names[place]


def _roles(
    path: Path, columns: Columns, names: Sequence[str], rows: Sequence[Sequence[str]], line: int | None
) -> list[Role]:
    try:
        return columns.roles(names, rows)
    except ValueError as e:
        raise refusal(path, str(e), line) from None


_ROWS = 1 << 18
_SOURCE = "read_parquet(?, hive_partitioning = false"


class ParquetFile:
    """A parquet file whose columns have been found."""

    def __init__(self, path: Path, columns: Columns):
        self.path = path
        with opened(path, "parquet") as (connection, name):
            described = connection.execute(f"SELECT * FROM {_SOURCE}) LIMIT 0", [name]).description
        self.names, held = [str(column[0]) for column in described], [str(column[1]) for column in described]
        _, rows = parquet_sample(path)
        if columns.unnamed is not None:
            raise refusal(path, "the columns of a parquet file have names; leave header=False out")
        try:
            roles = columns.roles(self.names, rows)
        except ValueError as e:
            raise refusal(path, str(e)) from None
        self.roles, self.types = tuple(r.name for r in roles), tuple(r.type for r in roles)
        self._columns = [self.names[role.column] for role in roles]
        self.read_names, self.time = tuple(self._columns), _time(columns, self.names, rows)
        self._whole = dict.fromkeys(self.types, True)
        """Whether all columns of a type hold integers."""
        for role in roles:
            kind = held[role.column]
            self._whole[role.type] &= kind in INTEGERS
            if kind not in INTEGERS and kind != "VARCHAR" and not kind.startswith("ENUM"):
                name = self.names[role.column]
                raise refusal(path, f"the column {name!r} holds {kind}; nodes are integers or strings")

    def read(self, nodes: dict[str, TypeNodes]) -> npt.NDArray[np.int32]:
        """The hyperedges, some rows at a time."""
        parts = [np.empty((0, len(self.roles)), np.int32)]
        with opened(self.path, "parquet") as (connection, name):
            total = connection.execute(f"SELECT count(*) FROM {_SOURCE})", [name]).fetchone()[0]
            for start in range(0, total, _ROWS):
                arrays = connection.execute(self._query(), [name, start, start + _ROWS - 1]).fetchnumpy()
                parts.append(self._coded([arrays[f"c{j}"] for j in range(len(self.roles))], start, nodes))
        rows = np.concatenate(parts)
        if not len(rows):
            raise refusal(self.path, "there are no hyperedges; it should hold one per row")
        return rows

    def refusal_at(self, row: int, problem: str) -> InputError:
        """The error, with the row."""
        return refusal(self.path, f"row {row + 1}: {problem}")

    def _query(self) -> str:
        kinds = ["BIGINT" if self._whole[name] else "VARCHAR" for name in self.types]
        picked = [f"{quoted(c)}::{kind} AS c{j}" for j, (c, kind) in enumerate(zip(self._columns, kinds, strict=True))]
        return (
            f"SELECT {', '.join(picked)} FROM {_SOURCE}, file_row_number = true) WHERE file_row_number BETWEEN ? AND ?"
        )

    def _coded(self, columns: Sequence[Any], start: int, nodes: dict[str, TypeNodes]) -> npt.NDArray[np.int32]:
        for name, column in zip(self._columns, columns, strict=True):
            empty = np.ma.getmaskarray(column) | (np.ma.getdata(column) == "" if column.dtype == object else False)
            if empty.any():
                problem = f"the column {name!r} is empty; a hyperedge needs a node in every column read"
                raise self.refusal_at(start + int(np.argmax(empty)), problem)
        codes = np.empty((len(columns[0]), len(columns)), np.int32)
        for name, at in positions_by_type(self.types):
            part = np.stack([np.ma.getdata(columns[j]) for j in at], axis=1)
            whole = self._whole[name]
            codes[:, at] = nodes[name].add_integers(part) if whole else self._texts(part, start, nodes[name])
        return codes

    def _texts(self, part: npt.NDArray[Any], start: int, nodes: TypeNodes) -> npt.NDArray[np.int32]:
        texts = [text.encode() for text in part.ravel().tolist()]
        odd = next((i for i, text in enumerate(texts) if b"\0" in text), None)
        if odd is not None:
            problem = f"the node {excerpt(texts[odd])} holds a NUL byte; remove it"
            raise self.refusal_at(start + odd // part.shape[1], problem)
        return nodes.add_texts(texts, part.shape[1])
