"""Which columns of a table hold the two ends of an edge, and which its weight."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

_ENDS = (
    ("source", "target"),
    ("source_id", "target_id"),
    ("source_node", "target_node"),
    ("src", "dst"),
    ("src", "dest"),
    ("source", "destination"),
    ("from", "to"),
    ("from_id", "to_id"),
    ("from_node", "to_node"),
    ("start", "end"),
    ("head", "tail"),
    ("u", "v"),
    ("node1", "node2"),
    ("node_1", "node_2"),
    ("id1", "id2"),
    ("id_1", "id_2"),
)
_SOURCE, _TARGET = (frozenset(names) for names in zip(*_ENDS, strict=True))
_WEIGHT = frozenset(
    ("weight", "weights", "edge_weight", "w", "value", "val", "count", "counts", "freq", "frequency", "strength")
)


class Roles(NamedTuple):
    """Positions of the columns that matter; `weight` is None where edges have none."""

    source: int
    target: int
    weight: int | None


def names_ends(names: Sequence[str]) -> bool:
    """Whether names say which column is the source and which the target."""
    found = {_plain(name) for name in names}
    return bool(found & _SOURCE) and bool(found & _TARGET)


def named_roles(names: Sequence[str], weighted: bool | None) -> Roles:
    """The roles of named columns; a ValueError says what is missing."""
    plain = [_plain(name) for name in names]
    if len(plain) < 2:
        raise ValueError("there is only one column; an edge needs two ends, in two columns")
    weight = next((i for i, name in enumerate(plain) if name in _WEIGHT), None)
    if names_ends(names):
        source, target = (next(i for i, x in enumerate(plain) if x in known) for known in (_SOURCE, _TARGET))
    else:
        source, target = [i for i in range(len(plain)) if i != weight or len(plain) == 2][:2]
    if weight in (source, target):
        weight = None
    rest = [i for i in range(len(plain)) if i not in (source, target)]
    if weighted and weight is None and rest:
        weight = rest[0]
    if weighted and weight is None:
        raise ValueError("there is no column of weights; add a third column, or leave weighted=True (--weighted) out")
    return Roles(source, target, None if weighted is False else weight)


def unnamed_roles(width: int, weighted: bool | None) -> Roles:
    """The roles where no header names the columns; a ValueError says what is wrong."""
    if width < 2:
        raise ValueError(
            "there is only one column; an edge needs two ends, in two columns (say which delimiter parts them)"
        )
    if width > 3:
        raise ValueError(
            f"there are {width} columns and no header; name them in a first line (source,target,weight),"
            " or keep two or three"
        )
    if weighted and width == 2:
        raise ValueError("there is no column of weights; add a third column, or leave weighted=True (--weighted) out")
    return Roles(0, 1, 2 if width == 3 and weighted is not False else None)


def _plain(name: str) -> str:
    return name.strip().casefold().replace(" ", "_").replace("-", "_")
