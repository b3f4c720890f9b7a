"""`Hypergraph`: typed nodes, and edges that join two nodes or more."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from netfold.errors import InputError
from netfold.labels import Labels

__all__ = ["Hypergraph"]

_TYPE = "node"
"""The type of every node where none is given."""


@dataclass(frozen=True, eq=False, repr=False)
class Hypergraph:
    """Edges that are tuples of any length N >= 2 of distinct nodes, several lengths in one hypergraph.

    An edge given twice counts twice.

    >>> hypergraph = Hypergraph.from_tuples([("ann", "film", "drama"), ("bob", "film")])
    >>> hypergraph
    Hypergraph(4 nodes, 2 edges)
    >>> hypergraph.adjacency()[hypergraph.nodes.positions(["film"])].toarray().tolist()
    [[1.0, 0.0, 1.0, 1.0]]
    """

    edges: tuple[tuple[Any, ...], ...]
    """The labels that each edge joins."""
    nodes: Labels
    """The label of each row; a node may be in no edge."""
    node_types: tuple[str, ...] = ()
    """The type of each node; all are of the type "node" where none is given."""

    def __post_init__(self) -> None:
        edges = tuple(map(_as_edge, self.edges))
        nodes = Labels.of(self.nodes)
        types = tuple(self.node_types) or (_TYPE,) * len(nodes)
        if len(types) != len(nodes):
            raise InputError(f"{len(types):,} types do not fit {len(nodes):,} nodes; each node needs one")
        odd = next((t for t in types if not isinstance(t, str)), None)
        if odd is not None:
            raise InputError(f"the type {odd!r} is a {type(odd).__name__}; the type of a node is a string")
        for name, value in (("edges", edges), ("nodes", nodes), ("node_types", types)):
            object.__setattr__(self, name, value)
        again = next((edge for edge in edges if len(set(edge)) < len(edge)), None) if len(self._members) else None
        if again is not None:
            raise InputError(f"the edge {again!r} names a node twice; name each once")

    @staticmethod
    def from_tuples(tuples: Iterable[Iterable[Any]], node_types: Mapping[Any, str] | None = None) -> Hypergraph:
        """A hypergraph of tuples of labels; `node_types` gives the type of each label.

        Nodes come in the order of their labels where all are integers, and as they first appear where not.
        """
        edges = tuple(map(_as_edge, tuples))
        try:
            nodes = Labels.of(dict.fromkeys(label for edge in edges for label in edge))
        except TypeError as e:
            raise InputError(f"a label cannot be a key: {e}") from None
        if nodes.kind == "int":
            nodes = Labels.of(np.sort(nodes.arrays()["ints"]))
        if node_types is None:
            return Hypergraph(edges, nodes)
        untyped = next((label for label in nodes if label not in node_types), None)
        if untyped is not None:
            raise InputError(f"node_types does not say which type {untyped!r} is")
        return Hypergraph(edges, nodes, tuple(node_types[label] for label in nodes))

    @property
    def n_nodes(self) -> int:
        """How many nodes there are, those in no edge included."""
        return len(self.nodes)

    @property
    def n_edges(self) -> int:
        """How many edges there are."""
        return len(self.edges)

    def __repr__(self) -> str:
        types = len(set(self.node_types))
        several = f", {types} types" if types > 1 else ""
        return f"Hypergraph({self.n_nodes:,} nodes, {self.n_edges:,} edges{several})"

    def incidence(self) -> sparse.csr_array:
        """H (n x m): H[i, e] = 1 where node i is in edge e."""
        ones, edges = np.ones(len(self._members), np.float32), np.repeat(np.arange(self.n_edges), self._sizes)
        return sparse.coo_array((ones, (self._members, edges)), shape=(self.n_nodes, self.n_edges)).tocsr()

    def adjacency(self) -> sparse.csr_array:
        """A = H Hᵀ - D_v (n x n): in how many edges two nodes are together; D_v, the number of edges of each node, is
        the diagonal of H Hᵀ, so that of A is empty."""
        h = self.incidence()
        together = (h @ h.T).tocoo()
        rows, cols = together.coords
        off = rows != cols
        return sparse.coo_array((together.data[off], (rows[off], cols[off])), shape=together.shape).tocsr()

    @cached_property
    def _sizes(self) -> npt.NDArray[np.int64]:
        return np.fromiter(map(len, self.edges), dtype=np.int64)

    @cached_property
    def _members(self) -> npt.NDArray[np.int64]:
        """The rows of the nodes of all edges, one edge after the other."""
        return self.nodes.positions([label for edge in self.edges for label in edge])


def _as_edge(edge: Any) -> tuple[Any, ...]:
    if isinstance(edge, str) or not hasattr(edge, "__iter__") or len(made := tuple(edge)) < 2:
        raise InputError(f"the edge {edge!r} joins fewer than two nodes; an edge is a tuple of two labels or more")
    return made
