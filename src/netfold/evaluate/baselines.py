"""What a deep model has to beat: heuristics of pairs, spectral vectors, and five numbers about degrees."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping
from functools import cache
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
from netfold.data.scaling import Scaling
from netfold.evaluate.centralities import largest_eigenpair
from netfold.evaluate.result import CpuSeconds
from netfold.evaluate.scores import PairScores, RowScores

__all__ = [
    "ATTRIBUTE_STEPS",
    "SmoothedRows",
    "attribute_embeddings",
    "baseline_embeddings",
    "class_embeddings",
    "degree_features",
    "katz",
    "main_directions",
    "nearest_by_attributes",
    "pair_scorers",
    "paths_of_three",
    "personalised_pagerank",
    "plain_svd_vectors",
    "spectral_vectors",
    "svd_vectors",
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
        "resource allocation": SharedNeighbors(near, 1 / np.maximum(degrees, 1)),
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
    step = _single(sparse.diags_array(_inverse_roots(degrees)) @ near @ sparse.diags_array(_inverse_roots(degrees)))
    weights = _RETURN * (1 - _RETURN) ** np.arange(_WALK + 1)

    def rows(rows: Ints) -> Tensor:
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = roots / roots[rows, None]
            both = np.where((degrees > 0) & (degrees[rows, None] > 0), (ratio + 1 / ratio) / 2, 0)
        return torch.from_numpy(_walk_sums(step, rows, weights) * both.astype(np.float32))

    return RowScores(rows, near.shape[0], cost=_WALK * near.nnz)


def katz(near: sparse.csr_array) -> RowScores:
    """Σ_{1 ≤ l ≤ 10} β^l (A^l)_ij, walks of all lengths, with β = 1 / 2λ₁ of the largest eigenvalue of A."""

    @cache  # the eigenvalue is not looked for unless a row is wanted
    def prepared() -> tuple[sparse.csr_array, npt.NDArray[Any]]:
        largest = largest_eigenpair(near)[0] if near.nnz else 1.0
        weights = (_KATZ / max(largest, 1.0)) ** np.arange(_KATZ_WALK + 1)
        weights[0] = 0
        return _single(near), weights

    def rows(rows: Ints) -> Tensor:
        step, weights = prepared()
        return torch.from_numpy(_walk_sums(step, rows, weights))

    return RowScores(rows, near.shape[0], cost=_KATZ_WALK * near.nnz)


def paths_of_three(near: sparse.csr_array) -> RowScores:
    """Σ 1 / √(d_u d_v) over the paths i - u - v - j (Kovács et al. 2019): of nodes that are linked, without that link.

    The walks that turn back over a link of i and j, i - j - v - j and i - u - i - j, are no paths.
    """
    n, degrees = near.shape[0], np.diff(near.indptr).astype(np.float64)
    inverse = _inverse_roots(degrees)
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


def _walk_sums(step: sparse.csr_array, rows: Ints, weights: npt.NDArray[Any]) -> npt.NDArray[np.float32]:
    """Some rows of Σ_l weights[l] step^l, `step` symmetric: m x n."""
    sums = np.empty((len(rows), step.shape[0]), np.float32)
    for part in _columns(len(rows)):
        walks = np.zeros((step.shape[0], len(rows[part])), np.float32)
        walks[rows[part], np.arange(walks.shape[1])] = 1
        total = np.float32(weights[0]) * walks
        for weight in weights[1:]:
            walks = step @ walks
            total += np.float32(weight) * walks
        sums[part] = total.T
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
    left, right = (_inverse_roots(matrix.sum(axis=axis)) for axis in (1, 0))
    return sparse.csr_array(sparse.diags_array(left) @ matrix.astype(np.float64) @ sparse.diags_array(right))


def _inverse_roots(sums: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    roots: npt.NDArray[np.float64] = 1 / np.sqrt(np.where(sums > 0, sums, np.inf).astype(np.float64))
    return roots
