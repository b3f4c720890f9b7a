"""Scores of pairs of nodes, higher where an edge is likelier: of vectors, and of a model's own decoder."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import torch
from scipy import sparse
from torch import Tensor

from netfold.data.checks import Floats, Ints, check_choice, unique_values
from netfold.data.edges import links, neighbor_counts
from netfold.data.graph import Graph
from netfold.data.text import counted
from netfold.errors import InputError
from netfold.evaluate.result import embedding_of
from netfold.evaluate.task import SCORES, SCORES_OF_VECTORS, TASKS

__all__ = [
    "PairScores",
    "RowScores",
    "VectorScores",
    "available_scores",
    "blocks",
    "chosen_score",
    "finite",
    "isolated_as_average",
    "knows_attributes",
    "of_vectors",
    "own_score",
    "pair_scores",
    "separation",
]


def separation(right: npt.ArrayLike, wrong: npt.ArrayLike) -> dict[str, float]:
    """AUC, the part of pairs (one right, one wrong) that scores order rightly, ties by half; and average precision, AP.

    >>> separation([0.9, 0.4], [0.4, 0.1])["AUC"]
    0.875
    """
    from sklearn.metrics import average_precision_score, roc_auc_score

    true, false = np.asarray(right, np.float64), np.asarray(wrong, np.float64)
    truth, scores = np.repeat([1, 0], [len(true), len(false)]), np.concatenate([true, false])
    return {"AUC": float(roc_auc_score(truth, scores)), "AP": float(average_precision_score(truth, scores))}


_BLOCK_NUMBERS = 1 << 24
"""Scores that are alive at a time."""
_LOST = 1e-13
"""Of squares in float64, what is left of a difference that is rounding."""


class PairScores(Protocol):
    """A score for each pair of a graph's nodes, by their positions."""

    def rows(self, rows: Ints) -> Tensor:
        """The scores of some nodes with all: m x n, float32, the caller's to change."""

    def at(self, u: Ints, v: Ints) -> Tensor:
        """The scores of m pairs, float32: the same numbers that `rows` has there."""


class VectorScores:
    """Of vectors (n x d): their product (or that with `others`), or minus their distance.

    Computed in float64 and rounded afterwards, so that equal vectors tie whichever block they are in.
    """

    def __init__(self, vectors: npt.ArrayLike, others: npt.ArrayLike | None = None, *, distance: bool = False):
        doubles = torch.tensor(np.asarray(vectors)).double()
        # no distance changes where the mean is taken off, and fewer digits are lost
        self._vectors = doubles - doubles.mean(0) if distance else doubles
        self._others = self._vectors if others is None else torch.tensor(np.asarray(others)).double()
        self._distance = distance

    def rows(self, rows: Ints) -> Tensor:
        """As `PairScores.rows`."""
        products = self._vectors[rows] @ self._others.T
        return (self._distances(products, rows) if self._distance else products).float()

    def _distances(self, products: Tensor, rows: Ints) -> Tensor:
        """-|a - b| of products ab, in their place: |a|² + |b|² - 2ab, and 0 where that is lost in rounding."""
        lengths = self._vectors.square().sum(1)
        squares = products.mul_(-2).add_(lengths).add_(lengths[rows, None])
        squares.masked_fill_(squares < _LOST * lengths[rows, None], 0)
        return squares.sqrt_().neg_()

    def at(self, u: Ints, v: Ints) -> Tensor:
        """As `PairScores.at`."""
        step = max(1, _BLOCK_NUMBERS // 8 // self._vectors.shape[1])
        parts = [slice(start, start + step) for start in range(0, len(u), step)]
        return torch.cat([torch.empty(0), *(self._pairs(self._vectors[u[x]], self._others[v[x]]) for x in parts)])

    def _pairs(self, a: Tensor, b: Tensor) -> Tensor:
        return (-(a - b).norm(dim=1) if self._distance else (a * b).sum(1)).float()


class RowScores:
    """Of whatever gives the scores of whole rows."""

    def __init__(self, of_rows: Callable[[Ints], Tensor], n: int, cost: int = 0):
        self._of_rows, self._n = of_rows, n
        self.cost = cost
        """Multiplications that a row takes, where it takes more than writing it."""

    def rows(self, rows: Ints) -> Tensor:
        """As `PairScores.rows`."""
        return self._of_rows(rows)

    def at(self, u: Ints, v: Ints) -> Tensor:
        """As `PairScores.at`: each row that a pair begins with is made once."""
        out, order = torch.empty(len(u)), np.argsort(u, kind="stable")
        for starts in blocks(unique_values(u), self._n):
            mine = order[slice(*np.searchsorted(u[order], [starts[0], starts[-1] + 1]))]
            out[mine] = self._of_rows(starts)[np.searchsorted(starts, u[mine]), v[mine]]
        return out


_SAMPLE = 200
"""Nodes from which, and to which, pairs are drawn for the score of an average pair."""


class _AverageIsolated:
    """Scores in which every pair with a node without links has the score of an average pair."""

    def __init__(self, scores: PairScores, isolated: npt.NDArray[np.bool_], average: float):
        self._scores, self._isolated, self._average = scores, torch.from_numpy(isolated), average

    def rows(self, rows: Ints) -> Tensor:
        """As `PairScores.rows`."""
        values = self._scores.rows(rows)
        values[:, self._isolated] = self._average
        values[self._isolated[rows]] = self._average
        return values

    def at(self, u: Ints, v: Ints) -> Tensor:
        """As `PairScores.at`."""
        values = self._scores.at(u, v)
        values[self._isolated[u] | self._isolated[v]] = self._average
        return values


def knows_attributes(model: Any) -> bool:
    """Whether a model was fitted with attributes of nodes, which say something of a node without links too."""
    return "attributes" in (getattr(model, "graph_facts_", None) or {})


def isolated_as_average(scores: PairScores, graph: Graph, *, attributed: bool = False) -> PairScores:
    """The scores, but for pairs with a node that has no links in the graph: those count as an average pair.

    Where the scores are `attributed`, made with attributes, only those nodes do of which no attribute is known either.

    Nothing is known of such a node, so that no place of it is right: at the origin, where models leave it, it would
    rank last with everybody under a product or a cosine. The average is the mean over pairs of linked nodes: up to 200
    random ones with 200 others, the same for every score.
    """
    linked = neighbor_counts(graph) > 0
    if attributed and graph.attributes is not None:
        linked = linked | graph.attributes.known.any(axis=1)
    rng, known = np.random.default_rng(0), np.flatnonzero(linked)
    if linked.all() or len(known) < 2:
        return scores
    some = rng.choice(known, min(len(known), 2 * _SAMPLE), replace=False)
    u, v = some[: len(some) // 2], some[len(some) // 2 :]
    values = finite(scores.at(np.repeat(u, len(v)), np.tile(v, len(u)))).astype(np.float64)
    return _AverageIsolated(scores, ~linked, float(values.mean()))


def pair_scores(model: Any, graph: Graph, score: str) -> PairScores:
    """The scores that a fitted model or an embedding gives to pairs of a graph's nodes.

    `score`: `dot`; `cosine`; `distance` (minus the Euclidean distance of the vectors); `paths` (how many paths of three
    or five steps join two nodes, as far as the vectors tell: `_paths`); `w2` (minus the 2-Wasserstein distance of
    Gaussians with diagonal covariances: the Euclidean distance of `coordinates`); `decoder` (what the model itself
    writes for a pair: x̂_ij where the graph is directed, the mean of x̂_ij and x̂_ji where it is not); `own`
    (`own_score`).
    """
    check_choice(SCORES, score=score)
    if score == "own":
        score = own_score(model)
    if score == "decoder":
        return RowScores(_decoder(model, graph), graph.n_nodes)
    embedding = embedding_of(model)
    if score == "w2" and embedding.std is None:
        raise InputError("score='w2' compares Gaussians and these nodes have no std; use score='distance'")
    at = embedding.nodes.positions(graph.nodes)
    vectors = (embedding.coordinates if score == "w2" else embedding.vectors)[at]
    if score == "paths":
        return VectorScores(*_paths(vectors, graph))
    if score == "cosine":
        return VectorScores(torch.nn.functional.normalize(torch.tensor(vectors).double()))
    return VectorScores(vectors, distance=score != "dot")


def own_score(model: Any) -> str:
    """The score that a fitted model or an embedding is meant for, which `score="own"` asks for.

    Gaussians: W2; a model that has a decoder of pairs (SDNE): that, its own word on who is linked; else the cosine.
    """
    if embedding_of(model).std is not None:
        return "w2"
    return "decoder" if hasattr(model, "pair_decoder") and not _placed(model) else "cosine"


def _placed(model: Any) -> int:
    """How many nodes were placed since the fit, which a decoder does not know."""
    fitted = getattr(model, "model", model)
    return 0 if fitted is model else int((embedding_of(fitted).nodes.find(embedding_of(model).nodes) < 0).sum())


def chosen_score(task: str, model: Any, score: str | None = None) -> str:
    """How the pairs of a model are scored in a task: as is asked for, as was chosen with the model, as the task has it.

    This is the one rule for every command: `evaluate`, `compare`, `report` and `reproduce` leave `score` None. What was
    chosen on the data (`pair_score_`) is for tasks that take any score, which are those that have the cosine.
    """
    chosen = getattr(model, "pair_score_", None) if TASKS[task].score == "cosine" else None
    if task in ("out-of-sample", "replay") and chosen not in SCORES_OF_VECTORS:
        chosen = None  # new nodes have vectors, and nothing else
    wanted = score or chosen or TASKS[task].score
    if wanted == "gaussian":
        return "cosine" if embedding_of(model).std is None else "w2"
    return own_score(model) if wanted == "own" else wanted


def available_scores(model: Any) -> tuple[str, ...]:
    """The scores that pairs of a fitted model, or of an embedding, can have, its own first."""
    embedding, own = embedding_of(model), own_score(model)
    some = [*SCORES_OF_VECTORS, "paths", *(["w2"] if embedding.std is not None else [])]
    return (own, *(x for x in [*some, *(["decoder"] if hasattr(model, "pair_decoder") else [])] if x != own))


def finite(scores: Tensor) -> npt.NDArray[np.float32]:
    """Scores that can be ordered: the largest numbers in place of infinite ones, and none that is no number."""
    values: npt.NDArray[np.float32] = scores.numpy()
    least, most = values.min(initial=0), values.max(initial=0)
    if np.isnan(least) or np.isnan(most):
        raise InputError("a score of two nodes is not a number; the model's numbers are too large, or not finite")
    limits = np.finfo(np.float32)
    return values if np.isfinite([least, most]).all() else values.clip(limits.min, limits.max)


def of_vectors(score: str) -> str:
    """The score for plain vectors that are compared with a model under a score that they may not have."""
    return {"w2": "distance", "decoder": "dot", "paths": "dot"}.get(score, score)


_ADDED, _TOLD, _APART = 0.1, 1e-10, 2.9
"""Added to every degree, as a share of their mean; the least part of a square that is more than rounding; and how far
apart random nodes are where paths of three steps are no longer enough."""


def _paths(vectors: npt.NDArray[Any], graph: Graph) -> tuple[Floats, Floats]:
    """Q Hᵏ and Q (n x r) of vectors X (n x d) that span Q, an orthonormal basis, and H = Qᵀ N Q: pairs have Q Hᵏ Qᵀ.

    N = (D + τ)^-½ A (D + τ)^-½ are the links, in either direction, those of hubs weighed down, so that (N³)_ij are the
    weighted paths of three steps from i to j: one step is the link itself, and two never lead from one side of a
    bipartite graph to the other. Where X are eigenvectors of N this is their part of N³, eigenvalues with
    their signs, which a product of vectors does not have: N³ is U Λ³ Uᵀ. Other vectors have the nearest to that (Ritz).
    A node without links has 0. Steps are three, or five where nodes are further apart (`_steps`).
    """
    a = links(graph, directed=False, weights=True, loops="drop")
    degrees = np.asarray(a.sum(axis=1)).ravel()
    roots = np.zeros(len(degrees))
    np.divide(1, np.sqrt(degrees + _ADDED * degrees.mean()), out=roots, where=degrees > 0)
    x = np.asarray(vectors, np.float64) * (degrees > 0)[:, None]
    x /= np.maximum(np.linalg.norm(x, axis=0), np.finfo(np.float32).tiny)
    squares, turn = np.linalg.eigh(x.T @ x)
    told = squares > _TOLD * squares.max(initial=0)
    basis = x @ (turn[:, told] / np.sqrt(squares[told]))
    image = basis.T @ ((a @ (basis * roots[:, None])) * roots[:, None])
    return basis @ np.linalg.matrix_power((image + image.T) / 2, _steps(a)), basis


def _steps(adjacency: sparse.csr_array) -> int:
    """Five where two random nodes are, by log n / log degree, so many steps apart that three join few of them.

    The bound was chosen on inner splits of graphs and of sparser cuts of them (benchmarks/searches/paths.py).
    """
    counts = np.diff(adjacency.indptr)
    n = int((counts > 0).sum())
    return 3 if n < (counts.sum() / max(n, 1)) ** _APART else 5


def _decoder(model: Any, graph: Graph) -> Callable[[Ints], Tensor]:
    """The model's own scores, which come in the order of the nodes that it was fitted to."""
    if not hasattr(model, "pair_decoder"):
        raise InputError(f"{type(model).__name__} has no decoder; score by dot, cosine or distance")
    if placed := _placed(model):
        raise InputError(
            f"the decoder knows the nodes of the fit alone, and {counted(placed, 'node')} came since; score by cosine, "
            "dot or distance, or settle or fit again (netfold update --settle, --refit)"
        )
    nodes = model.embedding_.nodes
    at = nodes.positions(graph.nodes)
    if len(nodes) == graph.n_nodes and np.array_equal(at, np.arange(len(nodes))):
        decoded = model.pair_decoder(graph)
        return lambda rows: torch.from_numpy(decoded(rows))
    links = graph.adjacency.tocoo()
    ends = (at[links.coords[0]], at[links.coords[1]])
    over = sparse.csr_array((links.data, ends), shape=(len(nodes), len(nodes)))
    known = None if graph.attributes is None else graph.attributes.aligned(graph.nodes, nodes)
    decoded = model.pair_decoder(Graph(over, nodes, directed=graph.directed, attributes=known))
    return lambda rows: torch.from_numpy(decoded(at[rows])[:, at])


def blocks(rows: Ints, n: int) -> Iterator[Ints]:
    """The rows in parts, so that a part's scores with n others are a bounded number, and never all rows at once."""
    size = max(1, min(_BLOCK_NUMBERS // max(n, 1), -(-n // 2)))
    for start in range(0, len(rows), size):
        yield rows[start : start + size]
