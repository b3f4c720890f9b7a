"""Tuples of nodes as rows of whole numbers, and sets of them that answer for many tuples at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from netfold.hypergraph import Hypergraph
from netfold.labels import Labels

__all__ = ["Codes", "TupleSet", "coded", "coded_edges", "decoded", "stacked"]

Codes = npt.NDArray[np.int64]
"""m x w: the positions of the nodes of m tuples, each filled up with -1 to the longest."""


def coded(tuples: Sequence[tuple[Any, ...]], nodes: Labels) -> Codes:
    """Tuples of labels as rows of positions.

    >>> coded([("a", "b"), ("c", "a", "b")], Labels.of("abc")).tolist()
    [[0, 1, -1], [2, 0, 1]]
    """
    sizes = np.fromiter(map(len, tuples), np.int64, len(tuples))
    made = np.full((len(tuples), int(sizes.max(initial=0))), -1, np.int64)
    made[np.arange(made.shape[1]) < sizes[:, None]] = nodes.positions([label for each in tuples for label in each])
    return made


def coded_edges(hypergraph: Hypergraph) -> Codes:
    """The edges of a hypergraph as rows: `coded(hypergraph.edges, hypergraph.nodes)`, without a tuple of labels.

    >>> coded_edges(Hypergraph.from_tuples([("a", "b"), ("c", "a", "b")])).tolist()
    [[0, 1, -1], [2, 0, 1]]
    """
    width = max((len(kind.roles) for kind in hypergraph.kinds), default=0)
    made = np.full((hypergraph.n_edges, width), -1, np.int64)
    for kind, edges in zip(hypergraph.kinds, hypergraph.edge_numbers(), strict=True):
        made[edges, : len(kind.roles)] = kind.rows
    return made


def decoded(rows: Codes, nodes: Labels) -> list[tuple[Any, ...]]:
    """The tuples of labels that rows of positions stand for."""
    names = list(nodes)
    return [tuple(names[i] for i in row if i >= 0) for row in rows.tolist()]


def stacked(first: Codes, second: Codes) -> Codes:
    """The rows of both."""
    return np.concatenate([_widened(x, max(first.shape[1], second.shape[1])) for x in (first, second)])


class TupleSet:
    """Tuples of positions below n, whatever order their nodes are named in.

    A row is looked up one column after the other: the sorted array of a column holds (place of what came before,
    position) as one number, at most m (n + 1), so that no length of tuple overflows and nothing is hashed.

    >>> known = TupleSet(np.array([[0, 1, 2], [3, 4, -1]]), n=5)
    >>> known.holds(np.array([[2, 0, 1], [0, 1, -1], [4, 3, -1]])).tolist()
    [True, False, True]
    """

    def __init__(self, rows: Codes, n: int):
        self._base, self._columns = n + 1, []
        place = np.zeros(len(rows), np.int64)
        for column in _ordered(rows).T:
            sorted_keys, place = np.unique(place * self._base + column, return_inverse=True)
            self._columns.append(sorted_keys)
        self.first = np.zeros(len(rows), bool)
        """Which rows are not a repetition of one before."""
        self.first[np.unique(place, return_index=True)[1]] = True

    def holds(self, rows: Codes) -> npt.NDArray[np.bool_]:
        """Whether each row is among the tuples."""
        width = len(self._columns)
        ordered = _ordered(_widened(rows, max(width, rows.shape[1])))
        found: npt.NDArray[np.bool_] = (ordered[:, width:] == 0).all(axis=1)
        place = np.zeros(len(rows), np.int64)
        for sorted_keys, column in zip(self._columns, ordered.T, strict=False):
            keys = place * self._base + column
            place = np.minimum(np.searchsorted(sorted_keys, keys), len(sorted_keys) - 1)
            found &= sorted_keys[place] == keys
        return found


def _ordered(rows: Codes) -> Codes:
    """Positions from 1 on, the largest first, so that what fills a tuple up, now 0, comes last."""
    made: Codes = -np.sort(-(rows + 1), axis=1)
    return made


def _widened(rows: Codes, width: int) -> Codes:
    return np.pad(rows, ((0, 0), (0, width - rows.shape[1])), constant_values=-1)
