"""The classic scores of pairs: common neighbors, Adamic-Adar, preferential attachment, shortest path."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
import torch
from scipy import sparse
from torch import Tensor

from netfold.evaluate.edges import linked
from netfold.evaluate.pairs import PairScores, Rows, RowScores
from netfold.graph import Graph

__all__ = ["pair_scorers", "steps"]

_PART = 1 << 22
"""Entries of rows that are compared at a time."""


def pair_scorers(graph: Graph) -> dict[str, PairScores]:
    """The classic heuristics, of the graph's links in either direction, without weights and self-loops.

    With Γ(i) the neighbors of i: common neighbors |Γ(i) ∩ Γ(j)|; Adamic-Adar Σ_{z in both} 1 / log |Γ(z)|;
    preferential attachment |Γ(i)| |Γ(j)|; shortest path: minus the number of steps, minus n where there is no path.
    """
    links = linked(graph)
    degrees = np.diff(links.indptr).astype(np.float64)
    rare = 1 / np.log(np.maximum(degrees, 2))  # a common neighbor of two nodes has two neighbors at least
    return {
        "common neighbors": SharedNeighbors(links, np.ones(graph.n_nodes)),
        "Adamic-Adar": SharedNeighbors(links, rare),
        "preferential attachment": DegreeProducts(degrees),
        "shortest path": RowScores(lambda rows: -torch.from_numpy(steps(links, rows)).float(), graph.n_nodes),
    }


class SharedNeighbors:
    """Σ of weights over the neighbors that two nodes share."""

    def __init__(self, links: sparse.csr_array, weights: npt.NDArray[np.float64]):
        self._links, self._weighted = links, sparse.csr_array(links @ sparse.diags_array(weights))

    def rows(self, rows: Rows) -> Tensor:
        """As `PairScores.rows`."""
        return torch.from_numpy((self._weighted[rows] @ self._links).toarray()).float()

    def at(self, u: Rows, v: Rows) -> Tensor:
        """As `PairScores.at`."""
        out = torch.empty(len(u))
        for part in self._parts(u, v):
            shared = self._weighted[u[part]].multiply(self._links[v[part]])
            out[part] = torch.from_numpy(shared.sum(axis=1)).float()
        return out

    def _parts(self, u: Rows, v: Rows) -> Iterator[slice]:
        """Consecutive pairs that have about so many neighbors together."""
        sizes = np.diff(self._links.indptr).astype(np.int64)
        cuts = np.flatnonzero(np.diff(np.cumsum(sizes[u] + sizes[v]) // _PART)) + 1
        for start, stop in zip([0, *cuts], [*cuts, len(u)]):
            yield slice(start, stop)


class DegreeProducts:
    """The product of two nodes' numbers of neighbors."""

    def __init__(self, degrees: npt.NDArray[np.float64]):
        self._degrees = torch.from_numpy(degrees)

    def rows(self, rows: Rows) -> Tensor:
        """As `PairScores.rows`."""
        return torch.outer(self._degrees[rows], self._degrees).float()

    def at(self, u: Rows, v: Rows) -> Tensor:
        """As `PairScores.at`."""
        return (self._degrees[u] * self._degrees[v]).float()


def steps(links: sparse.csr_array, rows: Rows) -> npt.NDArray[np.int32]:
    """The least number of links from some nodes to all, n where there is no path: m x n.

    Breadth first from up to 512 nodes together: a node holds one bit for each of them that has reached it, and a step
    is the union of its neighbors' bits.
    """
    n = links.shape[0]
    found = np.empty((len(rows), n), np.int32)
    width = 64 * max(1, min(8, (1 << 23) // max(links.nnz, 1)))
    for start in range(0, len(rows), width):
        part = rows[start : start + width]
        found[start : start + width] = _steps(links, part, width)[:, : len(part)].T
    return found


def _steps(links: sparse.csr_array, rows: Rows, width: int) -> npt.NDArray[np.int32]:
    n, nodes = links.shape[0], np.flatnonzero(np.diff(links.indptr))  # those that have neighbors
    first = links.indptr[nodes].astype(np.int64)
    seen = np.zeros((n, width), dtype=bool)
    seen[rows, np.arange(len(rows))] = True
    bits, found = np.packbits(seen, axis=1).view(np.uint64), np.zeros((n, width), np.int32)
    while True:
        unseen = np.unpackbits(~bits.view(np.uint8), axis=1).view(bool)
        before = bits.copy()
        if len(nodes):
            bits[nodes] |= np.bitwise_or.reduceat(before[links.indices], first, axis=0)
        if np.array_equal(bits, before):
            found[unseen] = n
            return found
        found += unseen  # one more step for those that are still to come
