"""`read_classes`: a table with a node and one of its classes per line."""

from __future__ import annotations

import os
import warnings
from pathlib import Path
from typing import Any

from netfold.data.columns import header_verdict
from netfold.data.nodes import Nodes
from netfold.errors import InputError
from netfold.io.source import check_no_note, chunks, data_lines, excerpt, file_kind, is_integer, refusal, split_fields

__all__ = ["read_classes"]

_NODE = frozenset(("node", "nodes", "id", "node_id", "vertex", "name", "user", "source"))
_CLASS = frozenset(("label", "labels", "class", "group", "community", "block", "category", "role", "type", "faction"))
_DELIMITERS = (b"\t", b";", b",", b" ")
_SAMPLE = 200
_MOST = 50_000_000
"""Lines: what has more is no list of classes."""

_Line = tuple[int, list[bytes]]
"""The number of a line, and its fields."""


def read_classes(
    path: str | os.PathLike[str],
    nodes: Nodes | None = None,
    *,
    node: str | None = None,
    column: str | None = None,
) -> dict[Any, tuple[Any, ...]]:
    """The classes of each node in a table with a node and a class on each line; a node of several has several lines.

    Columns are separated by tabs, semicolons, commas or blanks, plain or compressed, or are those of parquet. The first
    line may name them: it is a header where it says node and label (or the like), or where it differs in kind from the
    lines below. Of more than two columns, `node` and `column` name those of the nodes and of their classes; `node` is
    otherwise the one that holds most nodes of the graph, or the first. A column is one of integers where all of it is,
    as in `read_edges`. With `nodes`, the nodes of a graph, nodes are read as the graph has them. Nodes that it does not
    have are passed over, as are rows without a class, and a warning counts either.

    >>> import tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp(), "users.csv")
    >>> _ = path.write_text("user_id,segment,age\\nu1,red,17\\nu2,blue,71\\n")
    >>> read_classes(path, column="segment")
    {'u1': ('red',), 'u2': ('blue',)}
    """
    path = Path(path)
    lines = _lines(path)
    named = node is not None or column is not None
    header = bool(lines) and (lines[0][0] == 0 or _is_header(lines, nodes, named=named))
    names = [field.decode() for field in lines[0][1]] if header else []
    body = lines[header:]
    if not body:
        raise refusal(path, "there are no classes; it should hold a node and its class on each line")
    at, of = _columns(path, names, body, nodes, (node, column))
    rows = _filled(path, [(line, fields[at], fields[of]) for line, fields in body if fields[at] or len(fields) == 2])
    values = _values([value for _, _, value in rows])
    classes: dict[Any, dict[Any, None]] = {}
    for name, value in zip(_nodes(path, [row[:2] for row in rows], nodes), values, strict=True):
        if name is not _ABSENT:
            classes.setdefault(name, {})[value] = None
    return {name: tuple(several) for name, several in classes.items()}


_ABSENT = object()
"""In the place of a node that the graph does not have."""


def _lines(path: Path) -> list[_Line]:
    kind = file_kind(path, "a node and its classes on each line")
    if kind == "parquet":
        return _parquet_lines(path)
    lines: list[_Line] = []
    delimiter = b""
    for start, text in chunks(path, kind):
        for line, row in data_lines(start, text):
            if not lines:
                check_no_note(path, line, row)
            delimiter = delimiter or next((x for x in _DELIMITERS if x in row.strip()), b",")
            lines.append((line, _fields(path, line, row, delimiter, len(lines[0][1]) if lines else 0)))
        if len(lines) > _MOST:
            raise refusal(path, f"there are more than {_MOST:,} lines; give the classes of fewer nodes")
    return lines


def _parquet_lines(path: Path) -> list[_Line]:
    """The columns of a parquet file as text has them: their names, then the rows; what is missing is empty."""
    from netfold.io.duckdb import parquet_texts

    names, rows = parquet_texts(path, _MOST)
    if len(names) < 2:
        raise refusal(
            path, f"there is the column {', '.join(names)} alone; classes are a node and its class in each row"
        )
    return [(i, [cell.encode() for cell in row]) for i, row in enumerate([names, *rows])]


def _fields(path: Path, line: int, row: bytes, delimiter: bytes, width: int) -> list[bytes]:
    try:
        fields = split_fields(row, delimiter)
    except ValueError as e:
        raise refusal(path, str(e), line) from None
    if len(fields) < 2 or (width and len(fields) != width):
        raise refusal(path, f"{excerpt(row)} is not a node and its class; a line holds both, as in 7,red", line)
    return fields


def _filled(path: Path, rows: list[tuple[int, bytes, bytes]]) -> list[tuple[int, bytes, bytes]]:
    """Those with a class; a node without one is a node of no class."""
    nameless = next((line for line, node, _ in rows if not node), None)
    if nameless is not None:
        raise refusal(path, "there is no node; a line holds a node and its class, as in 7,red", nameless)
    filled = [row for row in rows if row[2]]
    if not filled:
        raise refusal(path, "no line has a class; a line holds a node and its class, as in 7,red")
    if left := len(rows) - len(filled):
        first = next(line for line, _, value in rows if not value)
        nodes = "rows have a node" if left > 1 else "rows has a node"
        words = f"{left:,} of {len(rows):,} {nodes} without a class, passed over (the first is line {first})"
        warnings.warn(f"{path}: {words}", stacklevel=3)
    return filled


def _is_header(lines: list[_Line], nodes: Nodes | None, *, named: bool) -> bool:
    first = [field.decode() for field in lines[0][1]]
    if nodes is not None and any(nodes.parse(cell) in nodes for cell in first):
        return False
    plain = [cell.casefold() for cell in first]
    if named or (not _NODE.isdisjoint(plain) and not _CLASS.isdisjoint(plain)):
        return True
    rows = [[field.decode() for field in fields] for _, fields in lines[1:_SAMPLE]]
    verdict = header_verdict(first, rows)
    if verdict is None and nodes is not None:  # no node, where others are
        return any(nodes.parse(cell) in nodes for row in rows for cell in row)
    return bool(verdict)


def _columns(
    path: Path, names: list[str], body: list[_Line], nodes: Nodes | None, chosen: tuple[str | None, str | None]
) -> tuple[int, int]:
    """Where the nodes and their classes stand."""
    width = len(body[0][1])
    for name in chosen:
        if name is not None and name not in names:
            raise refusal(path, f"there is no column {name!r}; there are {', '.join(names)}")
    node, classes = (None if name is None else names.index(name) for name in chosen)
    if node is None:
        node = _node_column(body, names, nodes, [i for i in range(width) if i != classes])
    left = [i for i in range(width) if i != node]
    if classes is None and len(left) > 1:
        left = [i for i in left if names and names[i].casefold() in _CLASS]
    if classes is None and len(left) != 1:
        there = f"the columns {', '.join(names)}" if names else f"{width} columns"
        problem = f"there are {there}; say which holds the classes (column='...', or FILE:COLUMN on the command line)"
        raise refusal(path, problem, body[0][0] - bool(names))
    return node, left[0] if classes is None else classes


def _node_column(body: list[_Line], names: list[str], nodes: Nodes | None, columns: list[int]) -> int:
    """The column that is called after nodes, or that holds most nodes of the graph; the first of equals."""
    called = [i for i in columns if names and names[i].casefold() in _NODE]
    if called or nodes is None:
        return (called or columns)[0]
    cells = [{fields[i] for _, fields in body[:_SAMPLE]} for i in columns]
    known = [sum(_parsed(cell, nodes) in nodes for cell in distinct) for distinct in cells]
    return columns[known.index(max(known))]


def _nodes(path: Path, rows: list[tuple[int, bytes]], nodes: Nodes | None) -> list[Any]:
    """The nodes as a graph has them, `_ABSENT` in the place of those that it does not have."""
    if nodes is None:
        return _values([node for _, node in rows])
    names = [_parsed(node, nodes) for _, node in rows]
    unknown = (nodes.find(names) < 0).nonzero()[0].tolist()
    if len(unknown) == len(names):
        try:
            nodes.positions([names[0]])
        except InputError as e:
            raise refusal(path, f"{e} (and no other node of the file is in the graph)", rows[0][0]) from None
    if unknown:
        first = f"line {rows[unknown[0]][0]}: {names[unknown[0]]!r}"
        several = "nodes are" if len(unknown) > 1 else "nodes is"
        words = f"{path}: {len(unknown):,} of {len(names):,} {several} not in the graph, and passed over ({first})"
        warnings.warn(words, stacklevel=3)
    for i in unknown:
        names[i] = _ABSENT
    return names


def _values(texts: list[bytes]) -> list[Any]:
    return [int(x) for x in texts] if all(map(is_integer, texts)) else [x.decode() for x in texts]


def _parsed(node: bytes, nodes: Nodes) -> Any:
    """007 is no integer in a file of edges, and none here."""
    text = node.decode()
    return text if nodes.kind == "int" and not is_integer(node) else nodes.parse(text)
