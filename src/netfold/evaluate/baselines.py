"""What a deep model has to beat: vectors that cost about a second, and five numbers about degrees."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from netfold.data.checks import Ints
from netfold.data.edges import links
from netfold.data.embedding import Embedding
from netfold.data.graph import Graph
from netfold.data.scaling import Scaling
from netfold.evaluate.heuristics import inverse_roots
from netfold.evaluate.result import CpuSeconds

__all__ = [
    "ATTRIBUTE_STEPS",
    "SmoothedRows",
    "attribute_embeddings",
    "baseline_embeddings",
    "class_embeddings",
    "degree_features",
    "main_directions",
    "nearest_by_attributes",
    "plain_svd_vectors",
    "spectral_vectors",
    "svd_vectors",
]


_ROUNDS = 30
"""Of subspace iteration, towards the leading eigenvectors."""


def baseline_embeddings(graph: Graph, dim: int, seed: int = 0, spent: CpuSeconds | None = None) -> dict[str, Embedding]:
    """Vectors that cost about a second: spectral, and the truncated SVD of the normalised adjacency.

    Where the graph has attributes, those of `attribute_embeddings` too. What each costs is counted in `spent`.
    """
    methods = {"spectral": spectral_vectors, "normalised SVD": svd_vectors}
    return _made(methods, graph, dim, seed, spent) | attribute_embeddings(graph, dim, seed)


_Vectors = Callable[[Graph, int, int], npt.NDArray[np.float32]]


def _made(
    methods: Mapping[str, _Vectors], graph: Graph, dim: int, seed: int, spent: CpuSeconds | None
) -> dict[str, Embedding]:
    width, made = max(1, min(dim, graph.n_nodes - 1)), {}
    for name, vectors in methods.items():
        with (spent if spent is not None else CpuSeconds()).of(name):
            made[name] = Embedding(graph.nodes, vectors(graph, width, seed))
    return made


ATTRIBUTE_STEPS = {"X alone": 0, "P²X": 2}
"""Baselines that read attributes: how often rows are averaged over neighbors."""
_MORE = 10
"""Directions beyond those wanted that subspace iteration carries along."""
_TURNS = 5


def attribute_embeddings(graph: Graph, dim: int, seed: int = 0) -> dict[str, Embedding]:
    """The truncated SVD, U s, of the scaled attributes X, and of P²X, which two steps to neighbors have averaged."""
    if graph.attributes is None:
        return {}
    x = Scaling.fit(graph.attributes).block(graph.attributes).values
    vectors = {}
    for name, steps in ATTRIBUTE_STEPS.items():
        rows = SmoothedRows(graph, x, steps)
        vectors[name] = Embedding(graph.nodes, rows.times(main_directions(rows, dim, seed)).astype(np.float32))
    return vectors


def nearest_by_attributes(x: Any, rows: Ints, count: int, without: Ints | None = None) -> sparse.csr_array:
    """The cosine of some rows of X with the `count` others most similar to each, those above 0: len(rows) x n.

    A row is not its own neighbor; nor are those in `without` anybody's. By blocks of rows, so that no n x n is made.
    """
    x = sparse.csr_array(x, dtype=np.float64)
    lengths = np.sqrt(np.asarray(x.multiply(x).sum(axis=1)).ravel())
    unit = sparse.csr_array(sparse.diags_array(1 / np.where(lengths > 0, lengths, 1)) @ x)
    others = sparse.csr_array(unit.T)
    columns, values, ends = [np.empty(0, np.int64)], [np.empty(0)], [0]
    for start in range(0, len(rows), _ROWS):
        part = rows[start : start + _ROWS]
        dense = sparse.csr_array(unit[part] @ others).toarray()
        dense[np.arange(len(part)), part] = 0
        if without is not None:
            dense[:, without] = 0
        for row in dense:
            best = np.argsort(-row, kind="stable")[:count]
            best = best[row[best] > 0]
            columns.append(best)
            values.append(row[best])
            ends.append(ends[-1] + len(best))
    return sparse.csr_array((np.concatenate(values), np.concatenate(columns), ends), shape=(len(rows), x.shape[0]))


_ROWS = 512
"""Rows whose cosine with all others is computed together."""


class SmoothedRows:
    """PᵏX as two products, never formed: P = D⁻¹S over links in either direction; a node without links keeps its row.

    >>> ends = Graph.from_edges([("a", "b"), ("b", "c")])
    >>> SmoothedRows(ends, np.array([[1.0], [5.0], [3.0]]), 1).times(np.eye(1)).ravel().tolist()
    [5.0, 2.0, 5.0]
    """

    def __init__(self, graph: Graph, x: Any, steps: int):
        both = links(graph, directed=False, weights=True, loops="keep").astype(np.float64)
        sums = np.asarray(both.sum(axis=1)).ravel()
        keep = sparse.diags_array((sums == 0).astype(np.float64))
        self._step = sparse.csr_array(sparse.diags_array(1 / np.where(sums > 0, sums, 1)) @ both + keep)
        self._x, self._steps = x, steps
        self.shape: tuple[int, int] = x.shape

    def times(self, columns: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
        """PᵏX v for each of some columns v."""
        product = np.asarray(self._x @ columns, np.float64)
        for _ in range(self._steps):
            product = self._step @ product
        return product

    def turned(self, columns: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
        """(PᵏX)ᵀ v for each of some columns v."""
        for _ in range(self._steps):
            columns = self._step.T @ columns
        return np.asarray(self._x.T @ columns, np.float64)


def main_directions(rows: SmoothedRows, dim: int, seed: int = 0) -> npt.NDArray[np.float64]:
    """The right singular vectors of the largest singular values, by subspace iteration: m x at most dim."""
    n, m = rows.shape
    width = max(1, min(dim, n - 1, m))
    rng = np.random.default_rng(seed)
    basis = rows.times(rng.normal(size=(m, min(width + _MORE, m))))
    for _ in range(_TURNS):
        basis = rows.times(np.linalg.qr(rows.turned(np.linalg.qr(basis)[0]))[0])
    _, _, right = np.linalg.svd(rows.turned(np.linalg.qr(basis)[0]).T, full_matrices=False)
    directions: npt.NDArray[np.float64] = right[:width].T
    return directions


def class_embeddings(graph: Graph, dim: int, seed: int = 0, spent: CpuSeconds | None = None) -> dict[str, Embedding]:
    """Those and, for tasks of classes, the truncated SVD of the adjacency itself, and ProNE's propagation of one."""
    more: dict[str, _Vectors] = {"plain SVD": plain_svd_vectors}
    if graph.n_edges > graph.n_self_loops:
        more["ProNE"] = _prone
    return baseline_embeddings(graph, dim, seed, spent) | _made(more, graph, dim, seed, spent)


def _prone(graph: Graph, dim: int, seed: int) -> npt.NDArray[np.float32]:
    from netfold.models import Spectral

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of eigenvectors that have not quite converged
        model = Spectral(matrix="prone", dim=dim, seed=seed, device="cpu").fit(graph, progress=False)
    return model.embedding_.vectors


def plain_svd_vectors(graph: Graph, dim: int, seed: int = 0) -> npt.NDArray[np.float32]:
    """U √s of the truncated SVD of S, the weights of the links in either direction: n x dim."""
    from sklearn.utils.extmath import randomized_svd

    both = links(graph, directed=False, weights=True, loops="keep")
    u, s, _ = randomized_svd(both, dim, n_iter=5, random_state=seed)
    vectors: npt.NDArray[np.float32] = (u * np.sqrt(s)).astype(np.float32)
    return vectors


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
    left, right = (inverse_roots(matrix.sum(axis=axis)) for axis in (1, 0))
    return sparse.csr_array(sparse.diags_array(left) @ matrix.astype(np.float64) @ sparse.diags_array(right))
