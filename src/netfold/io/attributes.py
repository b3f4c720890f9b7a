"""`read_attributes`: a table of what is known about nodes, wide (a row a node) or long (node, feature, value)."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import Any

from netfold.data.attribute_tables import FEATURE_COLUMNS, NODE_COLUMNS, AttributeTable, LongTable, wide_table
from netfold.data.columns import header_verdict
from netfold.data.nodes import Nodes
from netfold.errors import InputError
from netfold.io.source import check_no_note, chunks, data_lines, excerpt, file_kind, is_integer, refusal, split_fields

__all__ = ["attribute_file", "read_attributes"]

_DELIMITERS = (b"\t", b";", b",", b" ")
_HOLDS = "a node and what is known of it on each line"
_SAMPLE = 1000
"""Rows that are looked at before it is known whether a table is wide or long."""
_MOST = 200_000_000
"""Rows: what has more is no table of attributes."""

_Row = tuple[int, list[Any]]
"""The number of a line, and its fields."""


def attribute_file(path: str | os.PathLike[str]) -> tuple[Path, list[str] | None]:
    """The file and the columns that FILE or FILE:COLUMN,COLUMN means.

    >>> attribute_file("papers.csv:year,topic")
    (PosixPath('papers.csv'), ['year', 'topic'])
    """
    text = os.fspath(path)
    if Path(text).exists() or ":" not in text:
        return Path(text), None
    file, _, columns = text.rpartition(":")
    return Path(file), [name.strip() for name in columns.split(",")]


def read_attributes(
    path: str | os.PathLike[str],
    nodes: Nodes | None = None,
    *,
    columns: Sequence[str] | None = None,
    kinds: Mapping[str, str] | None = None,
) -> AttributeTable:
    """The attributes in a table: csv, tsv or blanks, plain or compressed, or parquet.

    A wide table has a row for each node: the node (a column called node or id, or the first) and a column for each
    attribute, whose kind is recognised by its cells or said in its name (group:category). A long one has the columns
    node, feature and perhaps value, and a node on several lines; its features become words. FILE:COLUMN,COLUMN, or
    `columns`, reads those attributes alone. With `nodes`, the nodes of a graph, nodes are read as the graph has them.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp(), "papers.csv")
    >>> _ = path.write_text("paper,year,topic\\np1,1999,art\\np2,,law\\n")
    >>> read_attributes(path).attributes
    Attributes(2 nodes; year: number, topic: category of 2; 1 value missing)
    """
    path, named = attribute_file(path)
    columns = columns if columns is not None else named
    kind = file_kind(path, _HOLDS)
    rows = _parquet_rows(path) if kind == "parquet" else _text_rows(path, kind)
    head = list(islice(rows, _SAMPLE))
    header = bool(head) and (head[0][0] == 0 or _is_header(head, nodes))
    width = len(head[0][1]) if head else 0
    names = [_text(x) for x in head[0][1]] if header else [f"column {i + 1}" for i in range(width)]
    body = head[header:]
    if not body or width < 2:
        raise refusal(path, f"there are no attributes; it should hold {_HOLDS}")
    at = next((i for i, name in enumerate(names) if name.casefold() in NODE_COLUMNS), 0)
    everything = chain(body, rows)
    try:
        if _is_long(names, body, at) and columns is None and not kinds:
            return _long(names, everything, at, nodes)
        return _wide(names, everything, at, nodes, columns, kinds)
    except InputError as e:
        raise e if str(e).startswith(str(path)) else refusal(path, str(e)) from None


def _text_rows(path: Path, kind: str) -> Iterator[_Row]:
    delimiter, width, count = b"", 0, 0
    for start, text in chunks(path, kind):
        for line, row in data_lines(start, text):
            if not count:
                check_no_note(path, line, row)
            delimiter = delimiter or next((x for x in _DELIMITERS if x in row.strip()), b",")
            try:
                fields = split_fields(row, delimiter)
            except ValueError as e:
                raise refusal(path, str(e), line) from None
            width = width or len(fields)
            if len(fields) != width:
                raise refusal(path, f"{excerpt(row)} has {len(fields)} fields where line 1 has {width}", line)
            count += 1
            if count > _MOST:
                raise refusal(path, f"there are more than {_MOST:,} lines; give fewer")
            yield line, fields


def _parquet_rows(path: Path) -> Iterator[_Row]:
    """The names of the columns, then the rows as Python's own values: numbers, texts, lists."""
    from netfold.io.duckdb import parquet_values

    names, rows = parquet_values(path, _MOST)
    yield 0, list(names)
    yield from ((i, list(row)) for i, row in enumerate(rows, 1))


def _text(cell: Any) -> str:
    return cell.decode() if isinstance(cell, bytes) else str(cell)


def _is_header(head: list[_Row], nodes: Nodes | None) -> bool:
    first = [_text(x) for x in head[0][1]]
    plain = [cell.casefold() for cell in first]
    if not NODE_COLUMNS.isdisjoint(plain):
        return True
    if nodes is not None and len(nodes) and nodes.parse(first[0]) in nodes:
        return False
    verdict = header_verdict(first, [[_text(x) for x in row] for _, row in head[1:200]])
    return len(first) > 3 or not FEATURE_COLUMNS.isdisjoint(plain) if verdict is None else verdict


def _is_long(names: Sequence[str], body: list[_Row], at: int) -> bool:
    """Two or three columns of which the second is called after features, or whose nodes come again."""
    if len(names) not in (2, 3):
        return False
    rest = [name.casefold() for i, name in enumerate(names) if i != at]
    cells = [row[at] for _, row in body]
    return rest[0] in FEATURE_COLUMNS or len(set(cells)) < len(cells)


def _long(names: Sequence[str], rows: Iterator[_Row], at: int, nodes: Nodes | None) -> AttributeTable:
    rest = [i for i in range(len(names)) if i != at]
    table = LongTable(names[rest[0]] if not names[rest[0]].startswith("column ") else "feature")
    for _, row in rows:
        node, feature, *value = (row[i].decode() if isinstance(row[i], bytes) else row[i] for i in (at, *rest))
        table.add(node, feature, *value)
    found = table.finish()
    return found._replace(nodes=_nodes([x.encode() if isinstance(x, str) else x for x in found.nodes or []], nodes))


def _wide(
    names: Sequence[str],
    rows: Iterator[_Row],
    at: int,
    nodes: Nodes | None,
    columns: Sequence[str] | None,
    kinds: Mapping[str, str] | None,
) -> AttributeTable:
    cells: list[list[Any]] = [[] for _ in names]
    for _, row in rows:
        for column, cell in zip(cells, row, strict=True):
            column.append(cell.decode() if isinstance(cell, bytes) else cell)
    if len(set(names)) < len(names):
        twice = next(name for i, name in enumerate(names) if name in names[:i])
        raise InputError(f"two columns are called {twice!r}; rename one")
    by_name = {name: column for i, (name, column) in enumerate(zip(names, cells, strict=True)) if i != at}
    own = [x.encode() if isinstance(x, str) else x for x in cells[at]]
    return wide_table(_nodes(own, nodes), by_name, columns, kinds)


def _nodes(cells: Sequence[Any], nodes: Nodes | None) -> list[Any]:
    """Nodes as a graph has them, or integers where all are, as in `read_edges`."""
    if not all(isinstance(cell, bytes) for cell in cells):  # parquet has types of its own
        return [_text(x) if nodes is not None and nodes.kind == "text" else x for x in cells]
    if nodes is not None and len(nodes):
        return [_parsed(cell, nodes) for cell in cells]
    return [int(x) for x in cells] if all(map(is_integer, cells)) else [x.decode() for x in cells]


def _parsed(cell: bytes, nodes: Nodes) -> Any:
    text = cell.decode()
    return text if nodes.kind == "int" and not is_integer(cell) else nodes.parse(text)
