"""What a deep model has to beat: heuristics of pairs, spectral vectors, and five numbers about degrees."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from netfold.embedding import Embedding
from netfold.evaluate.edges import linked
from netfold.evaluate.heuristics import pair_scorers
from netfold.graph import Graph

__all__ = ["baseline_embeddings", "degree_features", "pair_scorers", "spectral_vectors", "svd_vectors"]

_ROUNDS = 30
"""Of subspace iteration, towards the leading eigenvectors."""


def baseline_embeddings(graph: Graph, dim: int, seed: int = 0) -> dict[str, Embedding]:
    """Vectors that cost about a second: spectral, and the truncated SVD of the normalised adjacency."""
    width = max(1, min(dim, graph.n_nodes - 1))
    made = {"spectral": spectral_vectors, "normalised SVD": svd_vectors}
    return {name: Embedding(graph.nodes, of(graph, width, seed)) for name, of in made.items()}


def svd_vectors(graph: Graph, dim: int, seed: int = 0) -> npt.NDArray[np.float32]:
    """U √s of the truncated SVD of D^-½ S D^-½ (D of row sums on the left, of column sums on the right): n x dim."""
    from sklearn.utils.extmath import randomized_svd

    u, s, _ = randomized_svd(_normalised(graph.adjacency), dim, n_iter=5, random_state=seed)
    made: npt.NDArray[np.float32] = (u * np.sqrt(s)).astype(np.float32)
    return made


def spectral_vectors(graph: Graph, dim: int, seed: int = 0) -> npt.NDArray[np.float32]:
    """The leading eigenvectors of the random walk D⁻¹ S, S in either direction: D^-½ U of D^-½ S D^-½, n x dim.

    By subspace iteration on (1 + D^-½ S D^-½) / 2, whose largest singular values are those of the smoothest vectors;
    unlike a Lanczos method it takes an eigenvalue of any multiplicity, as in a graph of many components.
    """
    from sklearn.utils.extmath import randomized_svd

    both = graph.adjacency + graph.adjacency.T if graph.directed else graph.adjacency
    lazy = sparse.csr_array((sparse.eye_array(graph.n_nodes) + _normalised(both)) / 2)
    u, _, _ = randomized_svd(lazy, dim, n_iter=_ROUNDS, power_iteration_normalizer="QR", random_state=seed)
    sums = np.asarray(both.sum(axis=1), np.float64)
    scaled = u / np.sqrt(np.where(sums > 0, sums, 1))[:, None]
    made: npt.NDArray[np.float32] = (scaled * np.sqrt(graph.n_nodes)).astype(np.float32)
    return made


def degree_features(graph: Graph) -> Embedding:
    """Five numbers about degrees: the degree, log(1 + degree), and the mean, largest and sum of the neighbors' degrees.

    >>> degree_features(Graph.from_edges([("a", "b"), ("b", "c")])).vectors[1].tolist()[2:]
    [1.0, 1.0, 2.0]
    """
    links = linked(graph)
    degrees = links.sum(axis=1)
    total = links @ degrees
    largest = np.zeros(graph.n_nodes)
    np.maximum.at(largest, np.repeat(np.arange(graph.n_nodes), np.diff(links.indptr)), degrees[links.indices])
    columns = [degrees, np.log1p(degrees), total / np.maximum(degrees, 1), largest, total]
    return Embedding(graph.nodes, np.stack(columns, axis=1))


def _normalised(matrix: sparse.csr_array) -> sparse.csr_array:
    left, right = (_inverse_roots(matrix.sum(axis=axis)) for axis in (1, 0))
    return sparse.csr_array(sparse.diags_array(left) @ matrix.astype(np.float64) @ sparse.diags_array(right))


def _inverse_roots(sums: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    made: npt.NDArray[np.float64] = 1 / np.sqrt(np.where(sums > 0, sums, np.inf).astype(np.float64))
    return made
