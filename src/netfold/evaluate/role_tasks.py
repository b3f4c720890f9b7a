"""Whether vectors know what part a node plays: its centralities, its regular equivalence with others, its role."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np
from scipy import sparse

from netfold.data.checks import (
    Floats,
    Ints,
    check_at_least_one,
    check_choice,
    check_fractions,
    is_between,
    unique_values,
)
from netfold.data.edges import links
from netfold.data.graph import Graph
from netfold.data.text import counted
from netfold.errors import InputError, renamed
from netfold.evaluate.baselines import baseline_embeddings, degree_features
from netfold.evaluate.centralities import MEASURES, betweenness, closeness, largest_eigenpair
from netfold.evaluate.class_tasks import MAJORITY, class_figures, neighbor_scorer
from netfold.evaluate.classes import Split, classes_of_nodes, node_splits, normalized, percent
from netfold.evaluate.heuristics import pair_scorers
from netfold.evaluate.pairs import PairScores, VectorScores
from netfold.evaluate.result import Result, embedding_of, name_of
from netfold.evaluate.scores import chosen_score, of_vectors, pair_scores
from netfold.evaluate.task import NORMALIZE

__all__ = ["SIMILARITIES", "centrality", "predicted_roles", "regular_equivalence", "roles", "vs_similarity"]


_EXACT = 12_000
"""Up to so many nodes, shortest paths are counted from all of them."""
_SOURCES = 1_000
"""And above, from so many random ones."""
_BY_PATHS = {"closeness": closeness, "betweenness": betweenness}


@renamed(hidden="held_out")
def centrality(
    model: Any,
    graph: Any,
    *,
    held_out: float = 0.2,
    repeats: int = 10,
    measures: Iterable[str] = ("closeness", "betweenness", "eigenvector", "k-core", "pagerank", "degree"),
    sources: int | None = None,
    seed: int = 0,
    baselines: bool = True,
) -> Result:
    """How well linear regression predicts centralities from vectors: it learns from the nodes that are not held out.

    `MSE/mean` is the mean squared error over the held-out nodes, divided by the mean of the centrality over all nodes,
    as DRNE's tables have it (there in hundredths). It is not free of scale, and so R² = 1 - MSE / variance stands
    beside it: 0 is what guessing the mean gives. Core numbers are divided by their maximum; `centralities` defines them
    all. Where vectors have more columns than half of the nodes to learn from, least squares would fit the noise: the
    regression is then ridge, with the largest penalty that is within a standard error of the best where each of these
    nodes in turn is left out. Paths are counted from `sources` random nodes: by default from all where these are up to
    12,000, else from 1,000. The baselines are five numbers about degrees, and the mean of the nodes that are not held
    out.
    """
    names, known = _check_measures(measures), Graph.of(graph)
    check_at_least_one(repeats=repeats, sources=1 if sources is None else sources)
    if not is_between(held_out, 0, 1):
        raise InputError(f"held_out={held_out!r} is not a part between 0 and 1, such as 0.2")
    if known.n_nodes < 3:
        raise InputError(f"the graph has {counted(known.n_nodes, 'node')}; centralities are compared over 3 at least")
    vectors = embedding_of(model)[known.nodes].astype(np.float64)
    starts = _starts(known.n_nodes, sources, seed)
    truth = np.stack([_BY_PATHS[x](known, starts) if x in _BY_PATHS else MEASURES[x](known) for x in names], axis=1)
    splits = list(node_splits(known.n_nodes, 1 - held_out, repeats, seed))

    def measured(x: Floats) -> list[dict[str, float]]:
        return [_figures(names, truth, _regression(x, truth, split), split[1]) for split in splits]

    rounds = {name_of(model): measured(vectors)}
    if baselines:
        rounds["degree features"] = measured(degree_features(known).vectors.astype(np.float64))
        rounds["the mean"] = measured(np.zeros((known.n_nodes, 0)))
    protocol = {"regression": "linear", "nodes": known.n_nodes, "held out": held_out}
    protocol |= {"MSE divided by": "mean of all nodes"}
    if set(names) & set(_BY_PATHS):
        protocol["shortest paths from"] = "all nodes" if starts is None else f"{len(starts):,} random nodes"
    learned = len(splits[0][0])
    if _are_many(vectors.shape[1], learned):
        protocol["regression"] = f"ridge, as {vectors.shape[1]:,} columns are many for {learned:,} nodes to learn from"
    protocol |= {"repeats": repeats, "±": "standard deviation over repeats", "seed": seed}
    smaller = [x for x in rounds[name_of(model)][0] if x.endswith("MSE/mean")]
    return Result.of_rounds("centrality", name_of(model), rounds, protocol, smaller)


def _regression(x: Floats, truth: Floats, split: Split) -> Floats:
    """What least squares with an intercept makes of the held-out rows; regularised where columns are many."""
    learned, held_out = split
    center, middle = x[learned].mean(axis=0), truth[learned].mean(axis=0)
    if not x.shape[1]:
        return np.tile(middle, (len(held_out), 1))
    scale = np.abs(x[learned] - center).max(axis=0)
    centered = (x - center) / np.where(scale > 0, scale, 1)  # columns of any size, for a solution of full accuracy
    if _are_many(x.shape[1], len(learned)):
        weights = _ridge(centered[learned], truth[learned] - middle)
    else:
        weights = np.linalg.lstsq(centered[learned], truth[learned] - middle, rcond=None)[0]
    return np.asarray(centered[held_out] @ weights + middle)


def _are_many(columns: int, rows: int) -> bool:
    """Whether least squares would fit the noise: it needs two rows a column to mean anything."""
    return 2 * columns > rows


_PENALTIES = 10.0 ** np.arange(-3, 3.5, 0.5)
"""Parts of the largest squared singular value."""


def _ridge(x: Floats, y: Floats) -> Floats:
    """Weights (columns x targets) of min ‖xw - y‖² + λ‖w‖², x and y centred (rows x ...), for each target its own λ:

    the largest whose error, where each row in turn is left out, is within a standard error of the least. That needs no
    more than one decomposition: the residual of row i without it is (y_i - ŷ_i) / (1 - h_i), h_i being its entry of
    the hat matrix, intercept included.
    """
    u, s, vt = np.linalg.svd(x, full_matrices=False)
    seen = u.T @ y
    shrunk = [s**2 / (s**2 + penalty * s[0] ** 2) for penalty in _PENALTIES] if s[0] > 0 else [np.zeros_like(s)]
    errors, spreads = [], []
    for part in shrunk:
        left = np.maximum(1 - 1 / len(x) - (u**2) @ part, 1e-9)
        squares = ((y - u @ (part[:, None] * seen)) / left[:, None]) ** 2
        errors.append(squares.mean(axis=0))
        spreads.append(squares.std(axis=0, ddof=1) / len(x) ** 0.5)
    least, targets = np.argmin(errors, axis=0), np.arange(y.shape[1])
    fine = np.stack(errors) <= np.stack(errors)[least, targets] + np.stack(spreads)[least, targets]
    best = np.stack(shrunk)[len(shrunk) - 1 - np.argmax(fine[::-1], axis=0)]
    return np.asarray(vt.T @ (best.T / np.where(s > 0, s, 1)[:, None] * seen))


def _figures(names: tuple[str, ...], truth: Floats, predicted: Floats, held_out: Ints) -> dict[str, float]:
    error, spread = ((truth[held_out] - predicted) ** 2).mean(axis=0), truth[held_out].var(axis=0)
    mean, figures = truth.mean(axis=0), {}
    for i, name in enumerate(names):
        figures[f"{name} MSE/mean"] = float(error[i] / mean[i]) if mean[i] > 0 else float("nan")
        figures[f"{name} R²"] = float(1 - error[i] / spread[i]) if spread[i] > 0 else float("nan")
    return figures


def _starts(n: int, sources: int | None, seed: int) -> Ints | None:
    """Random nodes to count paths from; None for all."""
    count = sources if sources is not None else n if n <= _EXACT else _SOURCES
    return None if count >= n else np.sort(np.random.default_rng(seed).choice(n, count, replace=False))


def _check_measures(measures: Iterable[str]) -> tuple[str, ...]:
    names = (measures,) if isinstance(measures, str) else tuple(measures)
    for name in names:
        check_choice(MEASURES, measures=name)
    if not names:
        raise InputError(f"measures is empty; name some of {', '.join(MEASURES)}")
    return names


SIMILARITIES = ("vs",)
_MOST_STARTS = 512
"""Of a graph with too many pairs, so many nodes are compared with others: each costs a linear system."""
_TOLERANCE, _ROUNDS = 1e-10, 1_000
"""Of conjugate gradients: some 60 rounds do where alpha is .97."""
_BLOCK_NUMBERS = 1 << 21


def regular_equivalence(
    model: Any,
    graph: Any,
    *,
    similarity: str = "vs",
    alpha: float = 0.97,
    score: str | None = None,
    pairs: int = 1_000_000,
    seed: int = 0,
    baselines: bool = True,
) -> Result:
    """Kendall's τ (τ-b) between the scores of pairs of nodes and their similarity as vertices.

    The similarity is VS (see `vs_similarity`), the score one that `pair_scores` knows, by default the product, as in
    DRNE's paper.
    All pairs of two nodes that have links are ranked; where there are more than `pairs`, that many random ones with one
    end among 512 random nodes. The baselines are spectral vectors of the same width, the heuristics of pairs, and the
    product of the mean degrees of both nodes' neighbors: about centrality over degree, which VS is mostly made of.
    """
    check_choice(SIMILARITIES, similarity=similarity)
    check_at_least_one(pairs=pairs)
    if not is_between(alpha, 0, 1):
        raise InputError(f"alpha={alpha!r} is not a number between 0 and 1, such as 0.97")
    known = Graph.of(graph)
    near = links(known, directed=False, weights=False, loops="drop")
    some = np.flatnonzero(np.diff(near.indptr))
    if len(some) < 3:
        raise InputError("the graph has fewer than 3 nodes with links; there is nothing to rank")
    used = chosen_score("regular-equivalence", model, score)
    scored = {name_of(model): pair_scores(model, known, used)}
    u, v = _pairs(some, pairs, seed)
    truth = _Similarity(near, alpha).at(u, v)
    if baselines:
        scored |= _cheap(known, embedding_of(model).dim, used, seed)
    figures = {name: {"Kendall τ": _kendall(x, u, v, truth)} for name, x in scored.items()}
    every = len(u) == len(some) * (len(some) - 1) // 2
    protocol = {"similarity": similarity, "alpha": alpha, "score": used, "pairs": len(u)}
    protocol |= {"chosen": "all" if every else f"random, one end among {len(unique_values(u))} random nodes"}
    if len(some) < known.n_nodes:
        protocol["nodes left out without links"] = known.n_nodes - len(some)
    own = figures.pop(name_of(model))
    return Result("regular equivalence", name_of(model), own, protocol | {"seed": seed}, figures)


def vs_similarity(graph: Any, columns: Ints, alpha: float = 0.97) -> Floats:
    """Some columns of S = D⁻¹ (1 - α A / λ₁)⁻¹ D⁻¹ (Leicht, Holme and Newman 2006): n x m, 0 for nodes without links.

    A is 1 where two nodes are linked in either direction, D has its row sums, λ₁ is its largest eigenvalue; the paper's
    factor 2 m λ₁ is left out, as it changes no ranking. Nodes are alike where there are more walks between them than
    their degrees make one expect.
    """
    near = links(Graph.of(graph), directed=False, weights=False, loops="drop")
    return _Similarity(near, alpha).columns(np.asarray(columns, np.int64))


class _Similarity:
    """VS similarity, a linear system for each column."""

    def __init__(self, links: sparse.csr_array, alpha: float):
        degrees = links.sum(axis=1)
        self._inverse = np.where(degrees > 0, 1 / np.where(degrees > 0, degrees, 1), 0)  # of D
        self._step = links * (alpha / max(largest_eigenpair(links)[0], 1)) if links.nnz else links

    def columns(self, columns: Ints) -> Floats:
        unit = np.zeros((len(self._inverse), len(columns)))
        unit[columns, np.arange(len(columns))] = self._inverse[columns]
        return np.asarray(self._inverse[:, None] * _conjugate_gradients(self._step, unit))

    def at(self, u: Ints, v: Ints) -> Floats:
        """Of m pairs: the columns of u in blocks."""
        values, order, starts = np.empty(len(u)), np.argsort(u, kind="stable"), unique_values(u)
        size = max(1, _BLOCK_NUMBERS // len(self._inverse))
        for i in range(0, len(starts), size):
            part = starts[i : i + size]
            mine = order[slice(*np.searchsorted(u[order], [part[0], part[-1] + 1]))]
            values[mine] = self.columns(part)[v[mine], np.searchsorted(part, u[mine])]
        return values


def _conjugate_gradients(step: sparse.csr_array, right: Floats) -> Floats:
    """X of (1 - step) X = right by conjugate gradients, every column for itself: the eigenvalues lie in (0, 2)."""
    x, rest = np.zeros_like(right), right.copy()
    toward, size = rest.copy(), (rest**2).sum(axis=0)
    enough = _TOLERANCE**2 * size
    for _ in range(_ROUNDS):
        if not (size > enough).any():
            break
        moved = toward - step @ toward
        length = _ratio(size, (toward * moved).sum(axis=0))
        x += length * toward
        rest -= length * moved
        before, size = size, (rest**2).sum(axis=0)
        toward = rest + _ratio(size, before) * toward
    return x


def _ratio(a: Floats, b: Floats) -> Floats:
    return np.divide(a, b, out=np.zeros_like(a), where=b > 0)


def _kendall(scores: PairScores, u: Ints, v: Ints, truth: Floats) -> float:
    """τ-b of float32 numbers: similarities that differ by what rounding leaves are ties."""
    from scipy.stats import kendalltau

    return float(kendalltau(scores.at(u, v).numpy(), truth.astype(np.float32)).statistic)


def _cheap(graph: Graph, dim: int, score: str, seed: int) -> dict[str, PairScores]:
    vectors = baseline_embeddings(graph, dim, seed)
    near = links(graph, directed=False, weights=False, loops="drop")
    degrees = np.diff(near.indptr).astype(np.float64)
    around = (near @ degrees) / np.maximum(degrees, 1)
    cheap = {name: pair_scores(x, graph, of_vectors(score)) for name, x in vectors.items()} | pair_scorers(graph)
    return cheap | {"degrees of neighbors": VectorScores(around[:, None])}


def _pairs(nodes: Ints, most: int, seed: int) -> tuple[Ints, Ints]:
    """All pairs of some nodes or, of more than `most`, so many random ones with one end among a few random nodes."""
    n, rng = len(nodes), np.random.default_rng(seed)
    order, starts = rng.permutation(nodes), n if n * (n - 1) // 2 <= most else min(n, _MOST_STARTS)
    partners = n - 1 - np.arange(starts)  # the first is paired with all that come later, and so on
    ends = np.cumsum(partners)
    total = int(ends[-1])
    chosen = np.arange(total) if total <= most else rng.choice(total, most, replace=False)
    start = np.searchsorted(ends, chosen, side="right")
    return order[start], order[start + 1 + chosen - (ends - partners)[start]]


def roles(
    model: Any,
    roles: Mapping[Any, Any],
    *,
    graph: Any = None,
    train: Iterable[float] | float = (0.1, 0.8),
    normalize: str = "columns",
    repeats: int = 20,
    seed: int = 0,
    baselines: bool = True,
) -> Result:
    """The part of nodes whose role {node: role} multinomial logistic regression predicts from their vectors.

    For each part in `train` the nodes are split at random, `repeats` times, alike for every method. `normalize`:
    coordinates of mean 0 and deviation 1 over the learned nodes ("columns"), vectors of length 1 ("rows", which takes
    away a length that may well stand for a role), or "none". The baselines are the most frequent role and, with
    `graph`, the role of most neighbors and five numbers about degrees: on the air traffic networks these come to about
    DRNE's published accuracy.

    >>> from netfold.data.embedding import Embedding
    >>> star = Embedding(range(20), [[9.0]] * 10 + [[1.0]] * 10)
    >>> roles(star, {i: "hub" if i < 10 else "leaf" for i in range(20)}, train=0.8).figures
    {'accuracy@80%': 1.0}
    """
    check_choice(NORMALIZE, normalize=normalize)
    check_at_least_one(repeats=repeats)
    parts, embedding = check_fractions(train), embedding_of(model)
    known = classes_of_nodes(roles, embedding.nodes, one_each=True)
    splits = {part: list(node_splits(len(known.nodes), part, repeats, seed)) for part in parts}

    def measured(accuracy: Callable[[Split], float]) -> list[dict[str, float]]:
        return [{f"accuracy@{percent(p)}": accuracy(splits[p][i]) for p in parts} for i in range(repeats)]

    def of_vectors(vectors: Floats) -> list[dict[str, float]]:
        return measured(lambda split: _accuracy(vectors, known.codes, split, normalize))

    rounds = {name_of(model): of_vectors(embedding[known.nodes].astype(np.float64))}
    if baselines and graph is not None:
        rounds["degree features"] = of_vectors(degree_features(Graph.of(graph))[known.nodes].astype(np.float64))
        votes = neighbor_scorer(Graph.of(graph), known.nodes)
        rounds[MAJORITY] = measured(lambda split: class_figures(votes, known, split, "top-k")["accuracy"])
    if baselines:
        rounds["most frequent role"] = of_vectors(np.zeros((len(known.nodes), 1)))
    protocol = {"classifier": "multinomial logistic regression", "C": 1.0, "normalize": normalize} | known.facts
    protocol |= {"splits": "random nodes", "repeats": repeats, "±": "standard deviation over repeats", "seed": seed}
    if baselines and graph is None:
        protocol["baselines of the graph"] = "none, as no graph was given"
    return Result.of_rounds("roles", name_of(model), rounds, protocol)


def _accuracy(vectors: Floats, codes: Ints, split: Split, normalize: str) -> float:
    return float((predicted_roles(vectors, codes, split, normalize) == codes[split[1]]).mean())


def predicted_roles(vectors: Floats, codes: Ints, split: Split, normalize: str = "columns") -> Ints:
    """The roles that the asked rows are taken for; where all learned rows have one role, that is the answer."""
    from sklearn.linear_model import LogisticRegression

    learned, tested = split
    if len(unique_values(codes[learned])) == 1:
        return np.full(len(tested), codes[learned[0]])
    x = normalized(vectors, normalize, learned)
    fitted = LogisticRegression(tol=1e-6, max_iter=1_000).fit(x[learned], codes[learned])
    return np.asarray(fitted.predict(x[tested]), np.int64)
