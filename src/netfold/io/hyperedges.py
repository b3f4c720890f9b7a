"""`read_hyperedges`: files with one hyperedge per line, a column for each role, as a Hypergraph."""

from __future__ import annotations

import logging
import os
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from netfold.data.checks import Ints, Ints32
from netfold.data.columns import Roles, edge_roles, header_verdict, measure_columns
from netfold.data.hypergraph import Hypergraph
from netfold.data.kinds import Kind
from netfold.data.nodes import Nodes, typed_nodes
from netfold.data.reading import HyperedgeReading, types_alike
from netfold.data.text import printable
from netfold.errors import InputError
from netfold.io.duckdb import INTEGERS, opened, parquet_sample, quoted
from netfold.io.ends import TextEnds
from netfold.io.fields import PAD, Layout, Rows, cut_tidied, digit_grid, field_grid, separated_lines
from netfold.io.layout import Columns, Role, checked_delimiter, fields_of, likely_delimiter, sample
from netfold.io.source import LineError, chunks, data_lines, excerpt, file_kind, is_integer, refusal

__all__ = [
    "HyperedgeFile",
    "ParquetFile",
    "TextFile",
    "TupleLayout",
    "TypeNodes",
    "fast_tuple_rows",
    "opened_file",
    "parsed_tuples",
    "read_hyperedges",
    "slow_tuple_rows",
]


_log = logging.getLogger(__name__)

_MARGIN = bytes(PAD)


@dataclass(frozen=True)
class TupleLayout:
    """How the lines of a file of hyperedges are to be read."""

    delimiter: bytes
    width: int
    """How many columns there are, those included that are passed over."""
    columns: tuple[int, ...]
    """Where the nodes of a hyperedge stand."""
    names: tuple[str, ...]
    """What those columns are called."""
    integers: bool
    """Whether all columns look like integers."""

    @property
    def of_edges(self) -> Layout:
        """The same for what cuts the lines of edges; only the delimiter and the width matter there."""
        return Layout(self.delimiter, self.width, Roles(0, 1, None), 1, self.integers)


def parsed_tuples(line: int, text: bytes, layout: TupleLayout) -> Rows:
    """The hyperedges in a piece that begins with line `line`; a `LineError` names the line that is wrong."""
    rows = fast_tuple_rows(text, layout)
    return slow_tuple_rows(line, text, layout) if rows is None else rows


def fast_tuple_rows(text: bytes, layout: TupleLayout) -> Rows | None:
    """All lines at once, or None where one of them is out of the ordinary."""
    return cut_tidied(text, layout.delimiter, lambda regular: _cut(regular, layout))


def slow_tuple_rows(line: int, text: bytes, layout: TupleLayout) -> Rows:
    """Line by line, in plain Python."""
    fields: list[bytes] = []
    for number, cells in separated_lines(line, text, layout.of_edges):
        empty = next((name for i, name in zip(layout.columns, layout.names, strict=True) if not cells[i]), None)
        if empty is not None:
            raise LineError(number, f"the column {empty!r} is empty; a hyperedge needs a node in every column read")
        fields += [cells[i] for i in layout.columns]
    bounds = np.zeros(len(fields) + 1, np.int64)
    np.cumsum([len(field) for field in fields], out=bounds[1:])
    places = (bounds + PAD)[:-1].reshape(-1, len(layout.columns)), (bounds + PAD)[1:].reshape(-1, len(layout.columns))
    return Rows(np.frombuffer(b"".join([_MARGIN, *fields, _MARGIN]), np.uint8), *places, None, False)


def _cut(text: bytes, layout: TupleLayout) -> Rows | None:
    buffer = np.frombuffer(b"".join([_MARGIN, text, _MARGIN]), np.uint8)
    body, of_edges = buffer[PAD:-PAD], layout.of_edges
    newlines = body == 10
    n = int(np.count_nonzero(newlines))
    fields = digit_grid(buffer, body, n, of_edges) if layout.integers else None
    digits = fields is not None
    fields = fields or field_grid(buffer, body, newlines, n, of_edges)
    if fields is None or (layout.delimiter == b" " and np.any(fields[0] >= fields[1])):
        return None  # a run of blanks separates fields but once
    starts, ends = (places[:, layout.columns] for places in fields)
    return None if np.any(starts >= ends) else Rows(buffer, starts, ends, None, digits)


class TypeNodes:
    """Nodes as texts, numbered as they first appear; integers at last, where all of them are."""

    def __init__(self) -> None:
        self._table = TextEnds()
        self._only_texts = False

    def add(self, rows: Rows) -> Ints32:
        """The numbers of the nodes in these places (rows x columns)."""
        even, odd = self._table.add(rows)  # made for edges: every second node is the end of one
        codes = np.empty(rows.starts.size, np.int32)
        codes[0::2], codes[1::2] = even, odd
        return codes.reshape(rows.starts.shape)

    def add_texts(self, texts: list[bytes], width: int) -> Ints32:
        """The same of nodes that are apart already, row after row, and are strings whatever they look like."""
        self._only_texts = True
        return self._add(texts).reshape(-1, width)

    def add_integers(self, values: npt.NDArray[np.int64]) -> Ints32:
        """The same of integers (rows x columns)."""
        distinct, first, inverse = np.unique(values, return_index=True, return_inverse=True)
        order = np.argsort(first)  # so that they are numbered as they first appear, as texts are
        codes = np.empty(len(order), np.int32)
        codes[order] = self._add([b"%d" % x for x in distinct[order].tolist()])
        return codes[inverse].reshape(values.shape)

    def finish(self) -> tuple[Nodes, Ints32 | None]:
        """The nodes, and the new number of each old one where integers were put in ascending order."""
        texts = self._table.finish([])
        if self._only_texts or not all(is_integer(text.encode()) for text in texts):
            return texts, None
        values = np.array([int(text) for text in texts], np.int64)
        order = np.argsort(values)
        rank = np.empty(len(order), np.int32)
        rank[order] = np.arange(len(order), dtype=np.int32)
        return Nodes("int", {"ints": values[order]}), rank

    def _add(self, texts: list[bytes]) -> Ints32:
        bounds = np.zeros(len(texts) + 1, np.int64)
        np.cumsum([len(text) for text in texts], out=bounds[1:])
        bounds += PAD
        buffer = np.frombuffer(b"".join([bytes(PAD), *texts, bytes(PAD)]), np.uint8)
        return self.add(Rows(buffer, bounds[:-1], bounds[1:], None, False))


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
    measures: tuple[str, ...]
    """The columns that nobody chose, and that are read although they hold measures rather than nodes."""
    like_rows: bool
    """Whether line 1, which nobody chose columns of, looks like the lines below it."""

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
        self.measures = _measures(columns, self.names, rows, self.read_names)
        unasked = columns.chosen is None and columns.unnamed is None
        self.like_rows = unasked and header_verdict(self.names, rows) is False
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


def _measures(
    columns: Columns, names: Sequence[str], rows: Sequence[Sequence[str]], read: Sequence[str]
) -> tuple[str, ...]:
    """The columns that are read, unasked, although they hold measures."""
    if columns.chosen is not None or columns.unnamed is not None:
        return ()
    return tuple(name for name in measure_columns(names, rows) if name in read)


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

    like_rows = False

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
        self.measures = _measures(columns, self.names, rows, self.read_names)
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


FileName = str | os.PathLike[str]


def read_hyperedges(
    path: FileName | Sequence[FileName],
    *,
    columns: Sequence[str | None] | Mapping[str, str] | None = None,
    delimiter: str | None = None,
    header: bool = True,
    skip_loops: bool = False,
) -> Hypergraph:
    """The hypergraph in a file with one hyperedge per line: a column for each role, its name in the first line.

    A column called `user` is a role of that name, played by nodes of the type "user"; one called `head:entity` is the
    role head, played by nodes of the type "entity". Columns of one type share their nodes, in one file or in several;
    each file of a list is a kind of hyperedges, or those with the same columns are. Text separated by commas,
    semicolons, tabs or blanks, plain or compressed (gzip, zstd), or parquet, as for `read_edges`.

    Without `columns`, every column that holds nodes is a role: columns of times, of measures (amount, rating, decimals)
    and of row numbers are passed over where three others are left, and two ends with a relation (head, relation, tail)
    are roles whose ends are of the type "entity". `reading` says what was read.

    - `columns` chooses: names of columns, each perhaps with a type ("user", "head:entity"), or a dict from the name of
      a column to the role it is to be ({"userId": "user", "from": "head:entity"}). Others are passed over. Of several
      files, each has those that it has.
    - `header=False` says that no line names the columns: `columns` then does, all of them, None for one to pass over.
    - `delimiter` is one character, " " for any run of blanks and tabs; None finds it out.
    - A hyperedge that names a node twice (in two roles of one type) is refused or, with `skip_loops`, left out.

    The nodes of a type are integers where all of them are written as such, and then in ascending order; strings, as
    they first appear, where not (in parquet the types of the columns decide). Nodes come type after type. With more
    than one type a node is (type, name), since user 1 and movie 1 are different nodes. A hyperedge listed
    twice counts twice. Whatever is wrong with a file is said in one `InputError` that names the line.

    >>> import tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp(), "tags.csv")
    >>> _ = path.write_text("user,movie,tag\\n1,1,drama\\n2,1,slow\\n")
    >>> read_hyperedges(path).edges[0]
    (('user', 1), ('movie', 1), ('tag', 'drama'))
    """
    paths = [path] if isinstance(path, (str, os.PathLike)) else list(path)
    if not paths:
        raise InputError("no file is given; read_hyperedges takes the name of a file, or a list of names")
    wanted = Columns.of(columns, header)
    files = [opened_file(each, wanted, delimiter) for each in paths]
    wanted.check_found(files)
    nodes = {name: TypeNodes() for file in files for name in file.types}
    codes = [file.read(nodes) for file in files]
    done = {name: each.finish() for name, each in nodes.items()}
    hypergraph = _assembled(files, codes, done, skip_loops)
    named = header and any(isinstance(file, TextFile) for file in files)
    reading = _reading(files, sum(map(len, codes)), hypergraph.n_edges, header=named)
    if all(file.roles == file.types for file in files):  # else somebody thought of which are of one type
        reading = replace(reading, alike=types_alike({name: each for name, (each, _) in done.items()}))
    object.__setattr__(hypergraph, "reading", reading)
    _log.info("read %s", printable(f"{', '.join(map(str, paths))}: {reading}"))
    for said in reading.unsure:
        warnings.warn(f"{paths[0]}: {said}", stacklevel=2)
    return hypergraph


def _assembled(
    files: Sequence[HyperedgeFile],
    codes: Sequence[npt.NDArray[np.int32]],
    done: Mapping[str, tuple[Nodes, Ints32 | None]],
    skip: bool,
) -> Hypergraph:
    """The hypergraph of rows whose nodes are numbered within their types."""
    counts = [len(each) for each, _ in done.values()]
    starts = dict(zip(done, np.cumsum([0, *counts]).tolist(), strict=False))
    of_type = {name: each for name, (each, _) in done.items()}
    nodes = typed_nodes(of_type) if len(of_type) > 1 else next(iter(of_type.values()))
    kinds = []
    for file, numbers in zip(files, codes, strict=True):
        rows = np.empty(numbers.shape, np.int64)
        for j, name in enumerate(file.types):
            rank = done[name][1]
            np.add(numbers[:, j] if rank is None else rank[numbers[:, j]], starts[name], out=rows[:, j])
        kinds.append(Kind(file.roles, file.types, _without_loops(file, rows, skip)))
    if not any(map(len, kinds)):
        raise refusal(files[0].path, "every hyperedge names a node twice, so that none is left")
    node_types = np.repeat(np.arange(len(counts)), counts)
    return Hypergraph.from_kinds(kinds, nodes=nodes, node_types=node_types, types=tuple(done))


def _reading(files: Sequence[HyperedgeFile], rows: int, edges: int, *, header: bool) -> HyperedgeReading:
    roles = [r if r == t else f"{r}:{t}" for file in files for r, t in zip(file.roles, file.types, strict=True)]
    over = [name for file in files if len(file.names) > len(file.roles) for name in file.names
            if name not in file.read_names]  # fmt: skip
    time = next((file.time for file in files if file.time is not None and file.time in over), None)
    parts = tuple(dict.fromkeys(roles)), tuple(dict.fromkeys(over))
    measures = tuple(dict.fromkeys(name for file in files for name in file.measures))
    like_rows = any(file.like_rows for file in files)
    return HyperedgeReading(
        *parts, rows, edges, time, len(files), header=header, measures=measures, like_rows=like_rows
    )


def _without_loops(file: HyperedgeFile, rows: Ints, skip: bool) -> Ints:
    """The rows that name each node once; the first that does not is refused unless such are to be skipped."""
    loops = np.zeros(len(rows), bool)
    for a, b in combinations(range(len(file.types)), 2):
        if file.types[a] == file.types[b]:
            loops |= rows[:, a] == rows[:, b]
    if not loops.any():
        return rows
    if skip:
        return rows[~loops]
    at = int(np.argmax(loops))
    leave = "leave such hyperedges out with skip_loops=True (--skip-loops)"
    problem = f"the hyperedge names a node twice; name each once, or {leave}"
    raise file.refusal_at(at, problem)
