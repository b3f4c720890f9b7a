"""The two columns of a table of edges as two sides: users and items that are both numbered from 1."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from netfold.data.nodes import Nodes

__all__ = ["apart", "shared_nodes"]

_Column = npt.NDArray[Any]
_WORDS = re.compile(r"[^\W\d_]+")
_ONE_KIND = frozenset(
    ("source", "target", "src", "dst", "dest", "from", "to", "start", "end", "head", "tail", "subject", "object",
     "origin", "destination", "sender", "receiver", "recipient", "parent", "child", "friend", "neighbor", "neighbour",
     "buyer", "seller", "payer", "payee", "lender", "borrower", "voter", "rater", "ratee", "u", "v", "s", "t", "i", "j",
     "a", "b", "x", "y", "one", "two", "first", "second", "left", "right", "node", "vertex", "entity", "column", "row",
     "col")
)  # fmt: skip
"""Words that say which end of an edge a node is, not of what kind."""
_IDS = frozenset(("id", "ids", "idx", "index", "no", "num", "key"))
_ALIKE = 3
"""Letters that two words begin with in common where they are of one kind: citing and cited."""


def shared_nodes(names: Sequence[str], nodes: Nodes, u: Sequence[_Column], v: Sequence[_Column]) -> int:
    """How many nodes both columns name, where what they are called and hold looks like two kinds; 0 otherwise.

    It does where the names of the columns have no word in common, say no direction, and each column holds the integers
    from about 0 or 1 on, most of them. `u` and `v` are the positions of the ends, in pieces.

    >>> nodes = Nodes.of([1, 2, 3, 4])
    >>> u, v = [np.array([0, 1, 0])], [np.array([0, 1, 2])]
    >>> shared_nodes(["user", "movie"], nodes, u, v), shared_nodes(["user_a", "user_b"], nodes, u, v)
    (2, 0)
    """
    if nodes.kind != "int" or not _are_two_kinds(*names):
        return 0
    there = _present(u, len(nodes)), _present(v, len(nodes))
    ids = nodes.arrays()["ints"]
    if not all(_counts_up(ids[column]) for column in there):
        return 0
    return int(np.count_nonzero(there[0] & there[1]))


def apart(
    names: Sequence[str], nodes: Nodes, u: Sequence[_Column], v: Sequence[_Column]
) -> tuple[Nodes, list[_Column], list[_Column]]:
    """The same edges between two sets of nodes, each called after its column: user:1 and item:1.

    >>> nodes, u, v = apart(["user", "item"], Nodes.of([1, 2]), [np.array([0, 1])], [np.array([0, 0])])
    >>> list(nodes), u[0].tolist(), v[0].tolist()
    (['user:1', 'user:2', 'item:1'], [0, 1], [2, 2])
    """
    left, right = _present(u, len(nodes)), _present(v, len(nodes))
    called: list[str] = []
    ranks: list[npt.NDArray[np.int32]] = []
    for name, there in zip(names, (left, right), strict=True):
        ranks.append((np.cumsum(there) - 1 + len(called)).astype(np.int32))
        called += [f"{name}:{node}" for node in nodes.take(np.flatnonzero(there))]
    return Nodes.of(called), [ranks[0][x] for x in u], [ranks[1][x] for x in v]


def _present(columns: Sequence[_Column], n: int) -> npt.NDArray[np.bool_]:
    present = np.zeros(n, bool)
    for column in columns:
        present[column] = True
    return present


def _counts_up(ids: npt.NDArray[np.int64]) -> bool:
    """Whether ascending integers are most of those from about 0 or 1 to the last."""
    return len(ids) > 1 and 0 <= ids[0] <= 1 + len(ids) // 10 and len(ids) >= int(ids[-1]) // 2


def _are_two_kinds(one: str, other: str) -> bool:
    words = [set(_WORDS.findall(name.casefold())) - _IDS for name in (one, other)]
    if not all(words) or any(x & _ONE_KIND for x in words):
        return False
    return not any(a[:_ALIKE] == b[:_ALIKE] for a in words[0] for b in words[1])
