"""`read_classes`: a file with one node and one of its classes per line."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from netfold.data.nodes import Nodes
from netfold.errors import InputError
from netfold.io.lines import data_lines, is_integer, is_number_text, split_fields
from netfold.io.source import chunks, excerpt, file_kind, refusal

__all__ = ["read_classes"]

_NODE = frozenset(("node", "nodes", "id", "node_id", "vertex", "name", "user", "source"))
_CLASS = frozenset(("label", "labels", "class", "group", "community", "block", "category", "role", "type", "faction"))
_DELIMITERS = (b"\t", b";", b",", b" ")
_MOST = 50_000_000
"""Lines: what has more is no list of classes."""

_Field = tuple[int, bytes, bytes]
"""The number of a line, its node and its class."""


def read_classes(path: str | os.PathLike[str], nodes: Nodes | None = None) -> dict[Any, tuple[Any, ...]]:
    """The classes of each node in a file with a node and a class on each line; a node of several has several lines.

    Two columns, parted by tabs, semicolons, commas or blanks, plain or compressed. The first line may name them: it is
    a header where it says node and label (or the like), or where all nodes but its own are integers. A column is one of
    integers where all of it is, as in `read_edges`. With `nodes`, the labels of a graph, nodes are read as the graph
    has them, and one that it does not have is refused with its line.

    >>> import tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp(), "labels.csv")
    >>> _ = path.write_text("node,label\\n1,red\\n2,blue\\n1,green\\n")
    >>> read_classes(path)
    {1: ('red', 'green'), 2: ('blue',)}
    """
    path = Path(path)
    rows = _rows(path)
    if rows and _is_header(rows, nodes):
        rows = rows[1:]
    if not rows:
        raise refusal(path, "there are no classes; it should hold a node and its class on each line")
    names = _values([node for _, node, _ in rows]) if nodes is None else _as_in(path, rows, nodes)
    classes: dict[Any, dict[Any, None]] = {}
    for node, name in zip(names, _values([label for _, _, label in rows]), strict=True):
        classes.setdefault(node, {})[name] = None
    return {node: tuple(several) for node, several in classes.items()}


def _rows(path: Path) -> list[_Field]:
    kind = file_kind(path)
    if kind == "parquet":
        raise refusal(path, "this is parquet; classes are read from text, a node and its class on each line")
    rows: list[_Field] = []
    delimiter = b""
    for start, text in chunks(path, kind):
        for line, row in data_lines(start, text):
            delimiter = delimiter or next((x for x in _DELIMITERS if x in row.strip()), b",")
            rows.append(_two(path, line, row, delimiter))
        if len(rows) > _MOST:
            raise refusal(path, f"there are more than {_MOST:,} lines; give the classes of fewer nodes")
    return rows


def _two(path: Path, line: int, row: bytes, delimiter: bytes) -> _Field:
    try:
        fields = split_fields(row, delimiter)
    except ValueError as e:
        raise refusal(path, str(e), line) from None
    if len(fields) != 2 or not all(fields):
        raise refusal(path, f"{excerpt(row)} is not a node and its class; a line holds both, as in 7,red", line)
    return line, fields[0], fields[1]


def _is_header(rows: list[_Field], nodes: Nodes | None) -> bool:
    _, node, label = rows[0]
    if nodes is not None and nodes.parse(node.decode()) in nodes:
        return False
    if node.decode().casefold() in _NODE and label.decode().casefold() in _CLASS:
        return True
    return len(rows) > 1 and not is_number_text(node) and all(is_integer(other) for _, other, _ in rows[1:])


def _values(texts: list[bytes]) -> list[Any]:
    return [int(x) for x in texts] if all(map(is_integer, texts)) else [x.decode() for x in texts]


def _as_in(path: Path, rows: list[_Field], nodes: Nodes) -> list[Any]:
    """The nodes as a graph has them."""
    names = [_parsed(node, nodes) for _, node, _ in rows]
    unknown = (nodes.find(names) < 0).nonzero()[0]
    if len(unknown):
        at = int(unknown[0])
        try:
            nodes.positions([names[at]])
        except InputError as e:
            raise refusal(path, str(e), rows[at][0]) from None
    return names


def _parsed(node: bytes, nodes: Nodes) -> Any:
    """007 is no integer in a file of edges, and none here."""
    text = node.decode()
    return text if nodes.kind == "int" and not is_integer(node) else nodes.parse(text)
