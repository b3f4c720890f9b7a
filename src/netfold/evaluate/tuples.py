"""Tuples of nodes as rows of whole numbers, and sets of them that answer for many tuples at once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from netfold.data.hypergraph import Hypergraph, Kind
from netfold.data.nodes import Nodes

__all__ = ["Codes", "Order", "TupleIndex", "coded", "coded_edges", "coded_like", "decoded", "stacked"]

Codes = npt.NDArray[np.int64]
"""m x w: the positions of the nodes of m tuples, each filled up with -1 to the longest."""


def coded(tuples: Sequence[tuple[Any, ...]], nodes: Nodes) -> Codes:
    """Tuples of nodes as rows of positions.

    >>> coded([("a", "b"), ("c", "a", "b")], Nodes.of("abc")).tolist()
    [[0, 1, -1], [2, 0, 1]]
    """
    sizes = np.fromiter(map(len, tuples), np.int64, len(tuples))
    rows = np.full((len(tuples), int(sizes.max(initial=0))), -1, np.int64)
    rows[np.arange(rows.shape[1]) < sizes[:, None]] = nodes.positions([node for each in tuples for node in each])
    return rows


def coded_edges(hypergraph: Hypergraph) -> Codes:
    """The edges of a hypergraph as rows: `coded(hypergraph.edges, hypergraph.nodes)`, without a tuple of nodes.

    >>> coded_edges(Hypergraph.from_tuples([("a", "b"), ("c", "a", "b")])).tolist()
    [[0, 1, -1], [2, 0, 1]]
    """
    return _in_order(hypergraph.kinds, hypergraph.edge_numbers())


def _in_order(kinds: Sequence[Kind], numbers: Iterable[Codes]) -> Codes:
    """The rows of all kinds, each at its number."""
    width = max((len(kind.roles) for kind in kinds), default=0)
    rows = np.full((sum(map(len, kinds)), width), -1, np.int64)
    for kind, edges in zip(kinds, numbers, strict=True):
        rows[edges, : len(kind.roles)] = kind.rows
    return rows


def coded_like(known: Hypergraph, tuples: Any) -> Codes:
    """A hypergraph or tuples of nodes as rows of positions among the nodes of `known`.

    Where an order has a meaning in `known`, rows have that of its roles: those of a hypergraph by their names, tuples
    of nodes as they are.
    """
    if isinstance(tuples, Hypergraph):
        same = tuples.nodes == known.nodes
        place = np.arange(known.n_nodes) if same else known.nodes.positions(tuples.nodes)
        kinds = [Kind(k.roles, k.types, place[k.rows[:, _as_in(known, k)]]) for k in tuples.kinds]
        return _in_order(kinds, tuples.edge_numbers())
    listed = [tuple(each) for each in (tuples.tolist() if isinstance(tuples, np.ndarray) else tuples)]
    checked = Hypergraph(listed, known.nodes, known.node_types)
    return coded(listed, known.nodes) if any(k.ordered for k in known.kinds) else coded_edges(checked)


def _as_in(known: Hypergraph, kind: Kind) -> list[int]:
    """Where the roles of a kind stand in it, in the order in which an equal, ordered kind of `known` lists them."""
    named = dict(zip(kind.roles, kind.types, strict=True))
    alike = (k for k in known.kinds if k.ordered and dict(zip(k.roles, k.types, strict=True)) == named)
    return [kind.roles.index(role) for role in next(alike, kind).roles]


def decoded(rows: Codes, nodes: Nodes) -> list[tuple[Any, ...]]:
    """The tuples of nodes that rows of positions stand for."""
    names = list(nodes)
    return [tuple(names[i] for i in row if i >= 0) for row in rows.tolist()]


def stacked(first: Codes, second: Codes) -> Codes:
    """The rows of both."""
    return np.concatenate([_widened(x, max(first.shape[1], second.shape[1])) for x in (first, second)])


class Order:
    """Which tuples of a hypergraph's nodes are not the same when two nodes change places, as head and tail.

    They are told by the types of their nodes, one after the other: those of a kind whose roles have names of their own.

    >>> kind = (("head", "tail"), ("node", "node"), [[0, 1]])
    >>> Order(Hypergraph.from_kinds([kind], nodes="abc")).matters(np.array([[1, 2, -1], [0, 1, 2]])).tolist()
    [True, False]
    """

    def __init__(self, known: Hypergraph):
        self._types = known.type_codes
        self.patterns = {tuple(map(known.types.index, kind.types)) for kind in known.kinds if kind.ordered}
        """The types of such tuples."""

    def matters(self, rows: Codes) -> npt.NDArray[np.bool_]:
        """Whether each row is such a tuple."""
        mattering = np.zeros(len(rows), bool)
        for pattern in self.patterns:
            k = len(pattern)
            if k <= rows.shape[1]:
                alike = (rows[:, :k] >= 0) & (self._types[rows[:, :k]] == pattern)
                mattering |= alike.all(axis=1) & (rows[:, k:] < 0).all(axis=1)
        return mattering


class TupleIndex:
    """Tuples of positions below n, whatever order their nodes are named in unless `order` says that it matters.

    A row is looked up one column after the other: the sorted array of a column holds (place of what came before,
    position) as one number, at most m (n + 1), so that no length of tuple overflows and nothing is hashed.

    >>> known = TupleIndex(np.array([[0, 1, 2], [3, 4, -1]]), n=5)
    >>> known.holds(np.array([[2, 0, 1], [0, 1, -1], [4, 3, -1]])).tolist()
    [True, False, True]
    """

    def __init__(self, rows: Codes, n: int, order: Order | None = None):
        self._base, self._order, self._columns = n + 1, order, []
        place = np.zeros(len(rows), np.int64)
        for column in self._digits(rows).T:
            sorted_keys, place = np.unique(place * self._base + column, return_inverse=True)
            self._columns.append(sorted_keys)
        self.first = np.zeros(len(rows), bool)
        """Which rows are not a repetition of one before."""
        self.first[np.unique(place, return_index=True)[1]] = True

    def holds(self, rows: Codes) -> npt.NDArray[np.bool_]:
        """Whether each row is among the tuples."""
        if not len(self.first):
            return np.zeros(len(rows), bool)
        width = len(self._columns)
        digits = self._digits(_widened(rows, max(width - 1, rows.shape[1])))
        held: npt.NDArray[np.bool_] = (digits[:, width:] == 0).all(axis=1)
        place = np.zeros(len(rows), np.int64)
        for sorted_keys, column in zip(self._columns, digits.T, strict=False):
            keys = place * self._base + column
            place = np.minimum(np.searchsorted(sorted_keys, keys), len(sorted_keys) - 1)
            held &= sorted_keys[place] == keys
        return held

    def _digits(self, rows: Codes) -> Codes:
        """Whether the order matters, and positions from 1 on, the largest first where it does not: what fills a tuple
        up, now 0, comes last."""
        digits: Codes = np.zeros((len(rows), 1 + rows.shape[1]), np.int64)
        digits[:, 1:] = -np.sort(-(rows + 1), axis=1)
        if self._order is not None:
            ordered = self._order.matters(rows)
            digits[ordered, 0], digits[ordered, 1:] = 1, rows[ordered] + 1
        return digits


def _widened(rows: Codes, width: int) -> Codes:
    return np.pad(rows, ((0, 0), (0, width - rows.shape[1])), constant_values=-1)
