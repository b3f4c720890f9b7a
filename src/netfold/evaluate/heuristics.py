"""The classic heuristics of pairs: shared neighbors, walks and paths."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from scipy import sparse
from torch import Tensor

from netfold.data.checks import Ints
from netfold.data.edges import links
from netfold.data.graph import Graph
from netfold.data.paths import path_lengths
from netfold.embedder.pair_score import OF_LINKS
from netfold.evaluate.centralities import largest_eigenpair
from netfold.evaluate.pairs import PairScores, RowScores

__all__ = [
    "SharedNeighbors",
    "inverse_roots",
    "katz",
    "pair_scorers",
    "paths_of_three",
    "personalised_pagerank",
    "scores_of_links",
]

_PART = 1 << 22
"""Entries of rows that are compared at a time."""


def pair_scorers(graph: Graph, *, bipartite: bool = False) -> dict[str, PairScores]:
    """The classic heuristics, of the graph's links in either direction, without weights and self-loops.

    With Γ(i) the neighbors of i: common neighbors |Γ(i) ∩ Γ(j)|; Adamic-Adar Σ_{z in both} 1 / log |Γ(z)|; resource
    allocation Σ_{z in both} 1 / |Γ(z)|; preferential attachment |Γ(i)| |Γ(j)|; shortest path: minus the number of
    steps, minus n where there is no path; `paths_of_three`, `personalised_pagerank` and `katz`. Where the graph is
    `bipartite`, two linked nodes share no neighbor, and the first three are left out.
    """
    near = links(graph, directed=False, weights=False, loops="drop")
    degrees = np.diff(near.indptr).astype(np.float64)
    rare = 1 / np.log(np.maximum(degrees, 2))  # a common neighbor of two nodes has two neighbors at least
    n = graph.n_nodes
    shared: dict[str, PairScores] = {
        "common neighbors": SharedNeighbors(near, np.ones(n)),
        "Adamic-Adar": SharedNeighbors(near, rare),
        "resource allocation": resource_allocation(near),
    }
    rest: dict[str, PairScores] = {
        "preferential attachment": DegreeProducts(degrees),
        "shortest path": RowScores(lambda rows: -torch.from_numpy(path_lengths(near, rows)).float(), n),
        "paths of three": paths_of_three(near),
        "personalised PageRank": personalised_pagerank(near),
        "Katz": katz(near),
    }
    return rest if bipartite else shared | rest


_RETURN, _WALK = 0.15, 20
"""Personalised PageRank: the chance to return at a step (Page and Brin's), and the longest walk that is followed."""
_KATZ, _KATZ_WALK = 0.5, 10
"""Katz: what a step counts, times the largest eigenvalue, so that the sum converges; and the longest walk."""
_COLUMNS = 128
"""Nodes from which walks are followed together."""


def personalised_pagerank(near: sparse.csr_array) -> RowScores:
    """The mean of π_i(j) and π_j(i), where π_i = 0.15 Σ_{l ≤ 20} 0.85^l (D⁻¹A)^l is where a walk from i is found.

    D⁻¹A = D^-½ S D^½ with S = D^-½ A D^-½ symmetric, so that π_i(j) = √(d_j / d_i) M_ij with M = 0.15 Σ 0.85^l S^l:
    one row of M has both.
    """
    degrees = np.diff(near.indptr).astype(np.float64)
    roots = np.sqrt(degrees)
    inverse = sparse.diags_array(inverse_roots(degrees))
    step = _single((1 - _RETURN) * (inverse @ near @ inverse))

    def rows(rows: Ints) -> Tensor:
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = roots / roots[rows, None]
            both = np.where((degrees > 0) & (degrees[rows, None] > 0), (ratio + 1 / ratio) / 2, 0)
        return torch.from_numpy(_walk_sums(step, rows, _WALK) * (_RETURN * both).astype(np.float32))

    return RowScores(rows, near.shape[0], cost=_WALK * near.nnz)


def scores_of_links(graph: Graph) -> dict[str, PairScores]:
    """What the links say of a pair without any vectors: those of the heuristics that a sum of scores may have."""
    near = links(graph, directed=False, weights=False, loops="drop")
    some: tuple[PairScores, ...] = (
        resource_allocation(near),
        DegreeProducts(np.diff(near.indptr).astype(np.float64)),
        paths_of_three(near),
        personalised_pagerank(near),
    )
    return dict(zip(OF_LINKS, some, strict=True))


def resource_allocation(near: sparse.csr_array) -> PairScores:
    """Σ_{z in Γ(i) ∩ Γ(j)} 1 / |Γ(z)|."""
    return SharedNeighbors(near, 1 / np.maximum(np.diff(near.indptr), 1.0))


def katz(near: sparse.csr_array) -> RowScores:
    """Σ_{1 ≤ l ≤ 10} β^l (A^l)_ij, walks of all lengths, with β = 1 / 2λ₁ of the largest eigenvalue of A."""

    @cache  # the eigenvalue is not looked for unless a row is wanted
    def step() -> sparse.csr_array:
        largest = largest_eigenpair(near)[0] if near.nnz else 1.0
        return _single(_KATZ / max(largest, 1.0) * near)

    def rows(rows: Ints) -> Tensor:
        sums = _walk_sums(step(), rows, _KATZ_WALK)
        sums[np.arange(len(rows)), rows] -= 1  # the walk of no steps
        return torch.from_numpy(sums)

    return RowScores(rows, near.shape[0], cost=_KATZ_WALK * near.nnz)


def paths_of_three(near: sparse.csr_array) -> RowScores:
    """Σ 1 / √(d_u d_v) over the paths i - u - v - j (Kovács et al. 2019): of nodes that are linked, without that link.

    The walks that turn back over a link of i and j, i - j - v - j and i - u - i - j, are no paths.
    """
    n, degrees = near.shape[0], np.diff(near.indptr).astype(np.float64)
    inverse = inverse_roots(degrees)
    middle = _single(sparse.diags_array(inverse) @ near @ sparse.diags_array(inverse))
    ones = _single(near)
    turned = inverse * (near @ inverse)  # of the walks over a link of i and j that turn at j

    def rows(rows: Ints) -> Tensor:
        walks = np.empty((len(rows), n), np.float32)
        for part in _columns(len(rows)):
            walks[part] = (ones @ (middle @ ones[rows[part]].T.toarray())).T
        linked = near[rows].tocoo()
        i, j = linked.coords
        back = turned[rows[i]] + turned[j] - inverse[rows[i]] * inverse[j]  # i - j - i - j turns at both
        walks[i, j] = np.maximum(walks[i, j] - back, 0)
        walks[np.arange(len(rows)), rows] = 0
        return torch.from_numpy(walks)

    return RowScores(rows, n, cost=2 * near.nnz)


def _walk_sums(step: sparse.csr_array, rows: Ints, longest: int) -> npt.NDArray[np.float32]:
    """Some rows of Σ_{l ≤ longest} step^l, `step` symmetric, by Horner's rule: m x n."""
    sums = np.empty((len(rows), step.shape[0]), np.float32)
    for part in _columns(len(rows)):
        starts = rows[part], np.arange(len(rows[part]))
        walks = np.zeros((step.shape[0], len(starts[1])), np.float32)
        walks[starts] = 1
        for _ in range(longest):
            walks = step @ walks
            walks[starts] += 1
        sums[part] = walks.T
    return sums


def _columns(m: int) -> Iterator[slice]:
    return (slice(start, start + _COLUMNS) for start in range(0, m, _COLUMNS))


def _single(matrix: sparse.csr_array) -> sparse.csr_array:
    return sparse.csr_array(matrix).astype(np.float32)


class SharedNeighbors:
    """Σ of weights over the neighbors that two nodes share."""

    def __init__(self, links: sparse.csr_array, weights: npt.NDArray[np.float64]):
        self._links, self._weighted = links, sparse.csr_array(links @ sparse.diags_array(weights))

    def rows(self, rows: Ints) -> Tensor:
        """As `PairScores.rows`."""
        return torch.from_numpy((self._weighted[rows] @ self._links).toarray()).float()

    def at(self, u: Ints, v: Ints) -> Tensor:
        """As `PairScores.at`."""
        out = torch.empty(len(u))
        for part in self._parts(u, v):
            shared = self._weighted[u[part]].multiply(self._links[v[part]])
            out[part] = torch.from_numpy(shared.sum(axis=1)).float()
        return out

    def _parts(self, u: Ints, v: Ints) -> Iterator[slice]:
        """Consecutive pairs that have about so many neighbors together."""
        sizes = np.diff(self._links.indptr).astype(np.int64)
        cuts = np.flatnonzero(np.diff(np.cumsum(sizes[u] + sizes[v]) // _PART)) + 1
        for start, stop in zip([0, *cuts], [*cuts, len(u)]):
            yield slice(start, stop)


class DegreeProducts:
    """The product of two nodes' numbers of neighbors."""

    def __init__(self, degrees: npt.NDArray[np.float64]):
        self._degrees = torch.from_numpy(degrees)

    def rows(self, rows: Ints) -> Tensor:
        """As `PairScores.rows`."""
        return torch.outer(self._degrees[rows], self._degrees).float()

    def at(self, u: Ints, v: Ints) -> Tensor:
        """As `PairScores.at`."""
        return (self._degrees[u] * self._degrees[v]).float()


def inverse_roots(sums: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    """1 / √x, and 0 of what is 0."""
    roots: npt.NDArray[np.float64] = 1 / np.sqrt(np.where(sums > 0, sums, np.inf).astype(np.float64))
    return roots
