"""What a deep model has to beat: heuristics of pairs, spectral vectors, and five numbers about degrees."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from scipy import sparse
from torch import Tensor

from netfold.data.checks import Ints
from netfold.data.edges import links
from netfold.data.embedding import Embedding
from netfold.data.graph import Graph
from netfold.data.paths import path_lengths
from netfold.evaluate.scores import PairScores, RowScores

__all__ = ["baseline_embeddings", "degree_features", "pair_scorers", "spectral_vectors", "svd_vectors"]


_PART = 1 << 22
"""Entries of rows that are compared at a time."""


def pair_scorers(graph: Graph) -> dict[str, PairScores]:
    """The classic heuristics, of the graph's links in either direction, without weights and self-loops.

    With Γ(i) the neighbors of i: common neighbors |Γ(i) ∩ Γ(j)|; Adamic-Adar Σ_{z in both} 1 / log |Γ(z)|;
    preferential attachment |Γ(i)| |Γ(j)|; shortest path: minus the number of steps, minus n where there is no path.
    """
    near = links(graph, directed=False, weights=False, loops="drop")
    degrees = np.diff(near.indptr).astype(np.float64)
    rare = 1 / np.log(np.maximum(degrees, 2))  # a common neighbor of two nodes has two neighbors at least
    return {
        "common neighbors": SharedNeighbors(near, np.ones(graph.n_nodes)),
        "Adamic-Adar": SharedNeighbors(near, rare),
        "preferential attachment": DegreeProducts(degrees),
        "shortest path": RowScores(lambda rows: -torch.from_numpy(path_lengths(near, rows)).float(), graph.n_nodes),
    }


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


_ROUNDS = 30
"""Of subspace iteration, towards the leading eigenvectors."""


def baseline_embeddings(graph: Graph, dim: int, seed: int = 0) -> dict[str, Embedding]:
    """Vectors that cost about a second: spectral, and the truncated SVD of the normalised adjacency."""
    width = max(1, min(dim, graph.n_nodes - 1))
    methods = {"spectral": spectral_vectors, "normalised SVD": svd_vectors}
    return {name: Embedding(graph.nodes, of(graph, width, seed)) for name, of in methods.items()}


def svd_vectors(graph: Graph, dim: int, seed: int = 0) -> npt.NDArray[np.float32]:
    """U √s of the truncated SVD of D^-½ S D^-½ (D of row sums on the left, of column sums on the right): n x dim."""
    from sklearn.utils.extmath import randomized_svd

    u, s, _ = randomized_svd(_normalised(graph.adjacency), dim, n_iter=5, random_state=seed)
    vectors: npt.NDArray[np.float32] = (u * np.sqrt(s)).astype(np.float32)
    return vectors


def spectral_vectors(graph: Graph, dim: int, seed: int = 0) -> npt.NDArray[np.float32]:
    """The leading eigenvectors of the random walk D⁻¹ S, S in either direction: D^-½ U of D^-½ S D^-½, n x dim.

    By subspace iteration on (1 + D^-½ S D^-½) / 2, whose largest singular values are those of the smoothest vectors;
    unlike a Lanczos method it takes an eigenvalue of any multiplicity, as in a graph of many components.
    """
    from sklearn.utils.extmath import randomized_svd

    both = links(graph, directed=False, weights=True, loops="keep", dtype=np.float32)
    lazy = sparse.csr_array((sparse.eye_array(graph.n_nodes) + _normalised(both)) / 2)
    u, _, _ = randomized_svd(lazy, dim, n_iter=_ROUNDS, power_iteration_normalizer="QR", random_state=seed)
    sums = np.asarray(both.sum(axis=1), np.float64)
    scaled = u / np.sqrt(np.where(sums > 0, sums, 1))[:, None]
    vectors: npt.NDArray[np.float32] = (scaled * np.sqrt(graph.n_nodes)).astype(np.float32)
    return vectors


def degree_features(graph: Graph) -> Embedding:
    """Five numbers about degrees: the degree, log(1 + degree), and the mean, largest and sum of the neighbors' degrees.

    >>> degree_features(Graph.from_edges([("a", "b"), ("b", "c")])).vectors[1].tolist()[2:]
    [1.0, 1.0, 2.0]
    """
    from netfold.models.degreefeatures import degree_columns

    columns = degree_columns(links(graph, directed=False, weights=False, loops="drop"), 5)
    return Embedding(graph.nodes, columns.astype(np.float32))


def _normalised(matrix: sparse.csr_array) -> sparse.csr_array:
    left, right = (_inverse_roots(matrix.sum(axis=axis)) for axis in (1, 0))
    return sparse.csr_array(sparse.diags_array(left) @ matrix.astype(np.float64) @ sparse.diags_array(right))


def _inverse_roots(sums: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    roots: npt.NDArray[np.float64] = 1 / np.sqrt(np.where(sums > 0, sums, np.inf).astype(np.float64))
    return roots
