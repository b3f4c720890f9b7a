"""Whether scores of pairs know the edges: those held out, those learned from, and those held out under noise."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from netfold.data.checks import Ints, check_at_least_one, check_counts, is_between
from netfold.data.edges import Pairs, edge_pairs, neighbor_counts, with_pairs
from netfold.data.graph import Graph
from netfold.errors import InputError, renamed
from netfold.evaluate.baselines import baseline_embeddings, pair_scorers
from netfold.evaluate.classes import mean_of, percent
from netfold.evaluate.negatives import Negatives, sample_negatives
from netfold.evaluate.ranking import Ranking, rank, sampled_rows
from netfold.evaluate.result import Result, embedding_of, name_of
from netfold.evaluate.scores import PairScores, chosen_score, finite, of_vectors, pair_scores, separation
from netfold.evaluate.splits import EdgeSplit, split_edges
from netfold.evaluate.task import SCORES_OF_VECTORS

__all__ = ["check_unseen", "link_prediction", "noise_robustness", "reconstruction", "with_noise"]


_MOST_STEPS = 10**10
"""Starts times links, above which shortest paths are not looked for."""


def link_prediction(
    model: Any,
    split: EdgeSplit,
    *,
    score: str | None = None,
    negatives: str = "uniform",
    per_positive: int = 1,
    k: Sequence[int] = (100, 1000, 10_000),
    hits: Sequence[int] = (10, 50),
    nodes: int = 20_000,
    baselines: bool = True,
    seed: int = 0,
) -> Result:
    """How well an embedding of `split.train` finds the test edges of the split.

    AUC and AP: test edges against `per_positive` times as many pairs that are no edge of the whole graph, drawn by the
    rule `negatives` (`sample_negatives`; "all" takes every one); AUC again over the pairs whose ends both keep an edge
    in training: nothing can be known of the others. MAP: for each node with a test edge, all nodes but itself and its
    training neighbors are ranked. precision@k: one ranking of all such ordered pairs. hits@k and MRR: the place of a
    test edge's end in the ranking from its other end (an undirected edge: from both), other test edges left out.
    Equal scores share their places.

    `score` is one of `pair_scores`, by default the cosine. Above `nodes` nodes, MAP, hits and MRR are over the test
    edges from that many random nodes, without precision@k. The baselines see the training graph alone: four scores of
    pairs, and spectral vectors.

    >>> from netfold.data.embedding import Embedding
    >>> from netfold.evaluate import split_edges
    >>> two = [(a, b) for c in (0, 5) for a in range(c, c + 5) for b in range(c, a)]
    >>> split = split_edges(two, 0.2)
    >>> perfect = Embedding(range(10), [[1, 0]] * 5 + [[0, 1]] * 5)
    >>> link_prediction(perfect, split, k=[8], hits=[1], baselines=False).figures["precision@8"]
    1.0
    """
    check_counts(k=k, hits=hits, nodes=nodes, per_positive=per_positive)
    check_unseen(model, split)
    score = chosen_score("link-prediction", model, score)
    scores = pair_scores(model, split.train, score)
    count = None if negatives == "all" else per_positive * len(split.test)
    drawn = sample_negatives(split.whole, count, kind=negatives, seed=seed)
    wanted = _matrix(split)
    questions = _Questions(split, drawn.pairs, wanted, sampled_rows(wanted, nodes, seed), tuple(k), tuple(hits))
    ranking = questions.rank(scores)
    figures = questions.compared(scores) | questions.ranked(ranking)
    others = questions.baselines(embedding_of(model).dim, of_vectors(score), seed) if baselines else {}
    protocol = _protocol(questions, ranking, {"score": score, **drawn.protocol})
    if others and of_vectors(score) != score:
        protocol["spectral vectors scored by"] = of_vectors(score)
    if others and others["shortest path"].keys() != figures.keys():
        left_out = [x for x in figures if x not in others["shortest path"]]
        protocol["shortest path left out (too many steps) of"] = left_out
    return Result("link prediction", name_of(model), figures, protocol, others, ranking.interval)


@dataclass(frozen=True, eq=False)
class _Questions:
    """What every contender is asked."""

    split: EdgeSplit
    negatives: Pairs
    wanted: sparse.csr_array
    """1 where a test edge is."""
    rows: Ints
    """The nodes from which others are ranked."""
    k: tuple[int, ...]
    hits: tuple[int, ...]

    def compared(self, scores: PairScores) -> dict[str, float]:
        """AUC and AP of test edges against negatives."""
        values = finite(scores.at(*self._pairs.T)).astype(np.float64)
        right, wrong = np.split(values, [len(self.split.test)])
        known_right, known_wrong = np.split(self._known, [len(self.split.test)])
        some = known_right.any() and known_wrong.any()
        known = separation(right[known_right], wrong[known_wrong])["AUC"] if some else float("nan")
        return separation(right, wrong) | {"AUC known ends": known}

    def rank(self, scores: PairScores) -> Ranking:
        """All pairs from the rows but the diagonal and training pairs."""
        return rank(scores, self.wanted, self.rows, k=max(self.k), without=self.split.train.adjacency)

    def ranked(self, ranking: Ranking) -> dict[str, float]:
        """MAP, precision@k, hits@k and MRR."""
        hit_rates = {f"hits@{x}": float((ranking.places <= x).mean()) for x in self.hits}
        return ranking.figures(self.k) | hit_rates | {"MRR": float((1 / ranking.places).mean())}

    def baselines(self, dim: int, score: str, seed: int) -> dict[str, dict[str, float]]:
        """The figures of what sees the training graph alone: scores of pairs, and spectral vectors of this width."""
        train = self.split.train
        vectors = baseline_embeddings(train, dim, seed)
        cheap = pair_scorers(train) | {name: pair_scores(x, train, score) for name, x in vectors.items()}
        return {name: self._cheaply(name, x) for name, x in cheap.items()}

    def _cheaply(self, name: str, scores: PairScores) -> dict[str, float]:
        """A baseline's figures, without those for which paths would be followed for minutes."""
        cost = self.split.train.adjacency.nnz if name == "shortest path" else 0
        figures: dict[str, float] = {}
        if len(np.unique(self._pairs[:, 0])) * cost <= _MOST_STEPS:
            figures |= self.compared(scores)
        if len(self.rows) * cost <= _MOST_STEPS:
            figures |= self.ranked(self.rank(scores))
        return figures

    @cached_property
    def _pairs(self) -> Pairs:
        return np.concatenate([self.split.test, self.negatives])

    @cached_property
    def _known(self) -> npt.NDArray[np.bool_]:
        """Whether both ends of a pair keep an edge in training."""
        linked = neighbor_counts(self.split.train) > 0
        return linked[self._pairs[:, 0]] & linked[self._pairs[:, 1]]


def check_unseen(model: Any, split: EdgeSplit) -> None:
    """Refuse a model or an embedding that was fitted to the test edges, where it says what it was fitted to."""
    facts = getattr(model, "graph_facts_", None) or {}
    if split.whole.fingerprint in (facts.get("fingerprint"), embedding_of(model).fitted_to):
        raise InputError(
            f"the {name_of(model)} was fitted to the whole graph, test edges included; fit it to split.train"
        )


def _matrix(split: EdgeSplit) -> sparse.csr_array:
    """1 where a test edge is, in both directions of an undirected graph."""
    u, v = split.test.T
    ends = (u, v) if split.train.directed else (np.concatenate([u, v]), np.concatenate([v, u]))
    return sparse.csr_array((np.ones(len(ends[0]), np.float32), ends), shape=split.train.adjacency.shape)


def _protocol(questions: _Questions, ranking: Ranking, chosen: Mapping[str, Any]) -> dict[str, Any]:
    split = questions.split
    protocol = {"split seed" if name == "seed" else name: fact for name, fact in split.protocol.items()}
    protocol |= {
        **split.figures,
        **chosen,
        "negative pairs": len(questions.negatives),
        "negatives are no edges of": "the whole graph",
        "ranked": "ordered pairs but the diagonal and training pairs",
        "hits and MRR": "without the other test edges of the node",
        "ties": "share their places",
        "nodes ranked from": len(questions.rows),
    }
    if ranking.sampled:
        protocol["±"] = "half of the 95% confidence interval over sampled nodes"
    return protocol


def reconstruction(
    model: Any,
    graph: Any,
    *,
    score: str | None = None,
    k: Sequence[int] = (100, 1000, 10_000),
    per_positive: int = 0,
    negatives: str = "uniform",
    seed: int = 0,
    nodes: int = 20_000,
    baselines: bool = True,
) -> Result:
    """How well an embedding gives back the graph that it was learned from.

    MAP: for each node with neighbors, all others are ranked by score, and AP = Σ_j precision@j Δ(j) / |neighbors|;
    the mean over nodes. precision@k: one global ranking of ordered pairs. A node is never paired with itself. With
    `per_positive`, also AUC and AP: the edges against so many times as many pairs that are none, drawn by the rule
    `negatives` (`sample_negatives`; "all" takes every one).

    `score`: `cosine` by default, `dot`, `distance`, `w2`, `decoder` or `own`, see `pair_scores`. Blocks of rows at a
    time; above `nodes` nodes, MAP is over that many random ones, with half of its 95% confidence interval in
    `deviations`. Equal scores share their places. The baselines are scores of pairs (but not the shortest path, which
    is the edge itself), and spectral vectors of the same width, scored alike (w2 by distance, the decoder by their
    product).

    >>> from netfold.data.embedding import Embedding
    >>> graph = Graph.from_edges([("a", "b"), ("c", "d")])
    >>> reconstruction(Embedding("abcd", [[1, 0], [1, 0], [0, 1], [0, 1]]), graph, k=[4], baselines=False).figures
    {'MAP': 1.0, 'precision@4': 1.0}
    """
    known = Graph.of(graph)
    if known.n_edges == known.n_self_loops:
        raise InputError("the graph has no edges between two nodes; there is nothing to give back")
    check_counts(k=k, nodes=nodes)
    rows, drawn = sampled_rows(known.adjacency, nodes, seed), _negatives(known, negatives, per_positive, seed)

    def ranked(scores: PairScores) -> Ranking:
        return rank(scores, known.adjacency, rows, k=max(k))

    def separated(scores: PairScores) -> dict[str, float]:
        if drawn is None:
            return {}
        right, wrong = (finite(scores.at(*pairs.T)) for pairs in (edge_pairs(known), drawn.pairs))
        return separation(right, wrong)

    score = chosen_score("reconstruction", model, score)
    scores = pair_scores(model, known, score)
    own = ranked(scores)
    cheap = _baselines(known, embedding_of(model).dim, of_vectors(score), seed) if baselines else {}
    others = {name: ranked(x).figures(k) | separated(x) for name, x in cheap.items()}
    protocol: dict[str, Any] = {
        "score": score,
        "ranked": "all ordered pairs but the diagonal",
        "ties": "share their places",
    }
    protocol |= {} if drawn is None else dict(drawn.protocol)
    protocol |= {"nodes": len(rows)} | ({"seed": seed} if cheap or own.sampled else {})
    if own.sampled:
        protocol["±"] = "half of the 95% confidence interval over sampled nodes"
    if cheap and of_vectors(score) != score:
        protocol["spectral vectors scored by"] = of_vectors(score)
    return Result("reconstruction", name_of(model), own.figures(k) | separated(scores), protocol, others, own.interval)


def _negatives(graph: Graph, kind: str, per_positive: int, seed: int) -> Negatives | None:
    if per_positive == 0:
        return None
    check_counts(per_positive=per_positive)
    count = None if kind == "all" else per_positive * len(edge_pairs(graph))
    return sample_negatives(graph, count, kind=kind, seed=seed)


def _baselines(graph: Graph, dim: int, score: str, seed: int) -> dict[str, PairScores]:
    scorers = {name: x for name, x in pair_scorers(graph).items() if name != "shortest path"}
    vectors = baseline_embeddings(graph, dim, seed)
    return scorers | {name: pair_scores(x, graph, score) for name, x in vectors.items()}


# -------------------------------------------------------------------- noise

_HEURISTIC = "Adamic-Adar"

GraphScorer = Callable[[Graph], PairScores]
"""From a training graph to the scores of its pairs."""


@renamed(hidden="held_out")
def noise_robustness(
    fit: Callable[[Graph], Any],
    graph: Any,
    *,
    fractions: Iterable[float] | float = (0.05, 0.25, 0.5),
    held_out: float = 0.2,
    keep: str = "none",
    score: str | None = None,
    repeats: int = 1,
    seed: int = 0,
    baselines: bool = True,
) -> Result:
    """How much worse held-out edges are found from a graph to which random edges were added.

    `fit` makes a fitted model (or an embedding) of a graph. A share `held_out` of the edges is left out (`split_edges`,
    for `keep`), and to the rest each of `fractions` of their number is added in pairs that are no edges of the whole
    graph, what a smaller part adds being in a larger one. AUC: of the held-out edges against as many other non-edges,
    without noise; `decline@25%`: (AUC - AUC with noise) / AUC. `score` is one of `pair_scores`: by default "w2" where
    there is `std` and "cosine" where not. The mean over `repeats`, each with another split and other noise.

    The baselines are Adamic-Adar and spectral vectors of the same width, made of the same graphs.
    """
    whole, parts = Graph.of(graph), _fractions(fractions)
    check_at_least_one(repeats=repeats)
    fitted: list[Any] = []

    def own(train: Graph) -> PairScores:
        fitted.append(fit(train))
        return pair_scores(fitted[-1], train, chosen_score("noise-robustness", fitted[-1], score))

    def round_of(scorer: GraphScorer) -> list[dict[str, float]]:
        return [_round(scorer, whole, parts, held_out, keep, seed + i) for i in range(repeats)]

    figures, deviations = mean_of(round_of(own))
    used = chosen_score("noise-robustness", fitted[0], score)
    rows = (
        {name: mean_of(round_of(x))[0] for name, x in _noise_baselines(fitted[0], used, seed).items()}
        if baselines
        else {}
    )
    protocol = {"held out": held_out, "keep": keep, "noise": "uniform non-edges added to the training graph"}
    protocol |= {"score": used, "negatives": "uniform, as many as held-out edges", "repeats": repeats, "seed": seed}
    if repeats > 1:
        protocol["±"] = "standard deviation over repeats"
    declines = [x for x in figures if x != "AUC"]
    return Result("noise robustness", name_of(fitted[0]), figures, protocol, rows, deviations, declines)


def with_noise(graph: Graph, pairs: Pairs, seed: int = 0) -> Graph:
    """The graph and edges at some more pairs, which weigh as random edges of it do.

    >>> with_noise(Graph.from_edges([(0, 1, 3.0), (2, 1, 3.0)]), np.array([[0, 2]])).adjacency[2, 0].item()
    3.0
    """
    return with_pairs(graph, pairs, np.random.default_rng(seed).choice(graph.adjacency.data, len(pairs)))


def _round(
    scorer: GraphScorer, whole: Graph, parts: tuple[float, ...], held_out: float, keep: str, seed: int
) -> dict[str, float]:
    """The figures of one split; all methods get the same ones."""
    split = split_edges(whole, held_out, keep=keep, seed=seed)
    wrong = sample_negatives(whole, len(split.test), seed=seed).pairs
    counts = [round(part * len(edge_pairs(split.train))) for part in parts]
    noise = sample_negatives(whole, max(counts), exclude=wrong, seed=seed + 1).pairs
    clean = _auc(scorer(split.train), split, wrong)
    noisy = [_auc(scorer(with_noise(split.train, noise[:count], seed)), split, wrong) for count in counts]
    return {"AUC": clean} | {
        f"decline@{percent(part)}": (clean - auc) / clean for part, auc in zip(parts, noisy, strict=True)
    }


def _auc(scores: PairScores, split: EdgeSplit, wrong: Pairs) -> float:
    return separation(*(scores.at(*pairs.T.copy()).numpy() for pairs in (split.test, wrong)))["AUC"]


def _noise_baselines(model: Any, used: str, seed: int) -> dict[str, GraphScorer]:
    dim, score = embedding_of(model).dim, used if used in SCORES_OF_VECTORS else "dot"

    def vectors(name: str) -> GraphScorer:
        return lambda train: pair_scores(baseline_embeddings(train, dim, seed)[name], train, score)

    scorers: dict[str, GraphScorer] = {_HEURISTIC: lambda train: pair_scorers(train)[_HEURISTIC]}
    return scorers | {name: vectors(name) for name in ("spectral", "normalised SVD")}


def _fractions(fractions: Any) -> tuple[float, ...]:
    parts = tuple(fractions) if isinstance(fractions, Iterable) else (fractions,)
    if not parts or not all(is_between(x, 0, np.inf) for x in parts):
        raise InputError(f"fractions={fractions!r} are not parts of the edges above 0, such as (0.05, 0.25, 0.5)")
    return tuple(map(float, parts))
