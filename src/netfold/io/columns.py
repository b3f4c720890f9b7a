"""Which columns of a table hold the two ends of an edge, and which its weight."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

_SOURCE = frozenset(
    ("source", "source_id", "source_node", "src", "from", "from_id", "from_node", "u", "start", "head")
    + ("node1", "node_1", "id1", "id_1")
)
_TARGET = frozenset(
    ("target", "target_id", "target_node", "dst", "dest", "destination", "to", "to_id", "to_node", "v", "end", "tail")
    + ("node2", "node_2", "id2", "id_2")
)
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
        raise ValueError("there is no column of weights; add a third column, or leave weighted=True out")
    return Roles(source, target, None if weighted is False else weight)


def unnamed_roles(width: int, weighted: bool | None) -> Roles:
    """The roles where no header names the columns; a ValueError says what is wrong."""
    if width < 2:
        raise ValueError(
            "there is only one column; an edge needs two ends, in two columns (say which delimiter parts them)"
        )
    if width > 3:
        raise ValueError(
            f"there are {width} columns and no header; name them in a first line (source,target,weight), or keep two or three"
        )
    if weighted and width == 2:
        raise ValueError("there is no column of weights; add a third column, or leave weighted=True out")
    return Roles(0, 1, 2 if width == 3 and weighted is not False else None)


def _plain(name: str) -> str:
    return name.strip().casefold().replace(" ", "_").replace("-", "_")
