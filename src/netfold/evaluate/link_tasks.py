"""Whether scores of pairs know the edges: those held out, those learned from, and those held out under noise."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from netfold.data.checks import Ints, check_at_least_one, check_choice, check_counts, is_between, unique_values
from netfold.data.edges import Pairs, edge_pairs, neighbor_counts, with_pairs
from netfold.data.embedding import Embedding
from netfold.data.graph import Graph
from netfold.data.text import type_in_words
from netfold.embedder.pair_score import OF_LINKS, weighted_scores
from netfold.errors import InputError, renamed
from netfold.evaluate.baselines import ATTRIBUTE_STEPS, baseline_embeddings
from netfold.evaluate.classes import percent
from netfold.evaluate.held_out import HeldOutPairs
from netfold.evaluate.heuristics import pair_scorers
from netfold.evaluate.negatives import Negatives, sample_negatives, sides_in_words
from netfold.evaluate.pairs import PairScores, cost_of, finite, isolated_as_average, separation
from netfold.evaluate.ranking import Ranking, rank, sampled_rows
from netfold.evaluate.result import CpuSeconds, Result, embedding_of, name_of
from netfold.evaluate.scores import chosen_score, knows_attributes, of_vectors, pair_scores
from netfold.evaluate.splits import EdgeSplit, split_edges
from netfold.evaluate.task import ISOLATED, SCORES_OF_VECTORS

__all__ = ["check_unseen", "choose_pair_score", "link_prediction", "noise_robustness", "reconstruction", "with_noise"]


_MOST_STEPS = 10**10
"""Starts times links, above which shortest paths are not looked for."""
_MOST_PRODUCTS = 3 * 10**10
"""Multiplications, above which walks are followed from some random nodes only: about half a minute of one core."""
_FEWEST_PAIRS = 1000
"""Test pairs that a figure of a sample is made of at least."""


def link_prediction(
    model: Any,
    split: EdgeSplit,
    *,
    score: str | None = None,
    isolated: str = "average",
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

    `score` is one of `pair_scores`, by default the one that was chosen with the model (`choose_pair_score`), or else
    the cosine. A node that has no link in training has no place that is right: its pairs are scored as an average pair
    (`isolated_as_average`), those of every baseline too, unless attributes say something of it and the model, or the
    baseline, was made with them; `isolated="own"` leaves them to its vector. Above `nodes`
    nodes, MAP, hits and MRR are over the test edges from that many random nodes, without precision@k. The baselines see
    the training graph alone: scores of pairs (`pair_scorers`), spectral vectors and, unless a `score` is given, `links
    alone`: a sum of scores of pairs whose weights are learned from training links, as those of a model's score are. A
    score that follows walks is asked about a sample of the pairs where all would take minutes, and `protocol` says so.

    Where the whole graph is bipartite (`Graph.sides`), only pairs between its sides are drawn and ranked, and no
    baseline counts shared neighbors: two linked nodes have none.

    >>> from netfold.data.embedding import Embedding
    >>> from netfold.evaluate import split_edges
    >>> two = [(a, b) for c in (0, 5) for a in range(c, c + 5) for b in range(c, a)]
    >>> split = split_edges(two, 0.2)
    >>> perfect = Embedding(range(10), [[1, 0]] * 5 + [[0, 1]] * 5)
    >>> link_prediction(perfect, split, k=[8], hits=[1], baselines=False).figures["precision@8"]
    1.0
    """
    if not isinstance(split, EdgeSplit):
        raise InputError(
            f"{type_in_words(split)} is no split; split = nf.evaluate.split_edges(graph) holds edges out, and the "
            "model is fitted to split.train"
        )
    check_counts(k=k, hits=hits, nodes=nodes, per_positive=per_positive)
    check_choice(ISOLATED, isolated=isolated)
    check_unseen(model, split)
    was_chosen, score = score is None, chosen_score("link-prediction", model, score)
    averaged = isolated == "average" and bool((neighbor_counts(split.train) == 0).any())
    scores = pair_scores(model, split.train, score)
    cost, attributed = cost_of(scores), knows_attributes(model)
    scores = isolated_as_average(scores, split.train, attributed=attributed) if averaged else scores
    count = None if negatives == "all" else per_positive * len(split.test)
    drawn = sample_negatives(split.whole, count, kind=negatives, seed=seed)
    wanted = _matrix(split)
    rows = sampled_rows(wanted, nodes, seed)
    questions = _Questions(split, drawn.pairs, wanted, rows, tuple(k), tuple(hits), averaged)
    asked = questions.payable(cost, seed)
    ranking = asked.rank(scores)
    figures = asked.compared(scores) | asked.ranked(ranking)
    dim = embedding_of(model).dim
    spent = CpuSeconds()
    others, sampled = questions.baselines(dim, of_vectors(score), seed, spent, was_chosen) if baselines else ({}, {})
    sampled |= {} if asked is questions else {name_of(model): asked.in_words()}
    chosen: dict[str, Any] = {"score": score}
    if was_chosen and hasattr(model, "pair_score_"):
        chosen["score chosen by"] = "a fit without a tenth of the training links"
    chosen["nodes without training links"] = "as an average pair" if isolated == "average" else "by their own vectors"
    if attributed and isolated == "average":
        chosen["nodes without training links"] += ", by their own vectors where attributes are known"
    protocol = _protocol(asked, ranking, chosen | dict(drawn.protocol))
    if others and of_vectors(score) != score:
        protocol["spectral vectors scored by"] = of_vectors(score)
    if others and others["shortest path"].keys() != figures.keys():
        left_out = [x for x in figures if x not in others["shortest path"]]
        protocol["shortest path left out (too many steps) of"] = left_out
    protocol |= {f"{name} by a sample": words for name, words in sampled.items()}
    return Result("link prediction", name_of(model), figures, protocol, others, ranking.interval, seconds=spent)


Cheap = tuple[dict[str, dict[str, float]], dict[str, str]]
"""The figures of each baseline and, of those that were measured on a sample, of what."""


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
    averaged: bool = False
    """Whether pairs with a node that training leaves without links are scored as an average pair."""

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
        train, sides = self.split.train, self.split.whole.sides
        return rank(scores, self.wanted, self.rows, k=max(self.k), without=train.adjacency, sides=sides)

    def ranked(self, ranking: Ranking) -> dict[str, float]:
        """MAP, precision@k, hits@k and MRR."""
        hit_rates = {f"hits@{x}": float((ranking.places <= x).mean()) for x in self.hits}
        return ranking.figures(self.k) | hit_rates | {"MRR": float((1 / ranking.places).mean())}

    def baselines(self, dim: int, score: str, seed: int, spent: CpuSeconds, learned: bool) -> Cheap:
        """The figures of what sees the training graph alone: scores of pairs, and spectral vectors of this width; where
        models may have a `learned` sum of scores, such a sum without any vectors.

        Also, of those that had to be sampled, what of.
        """
        train = self.split.train
        vectors = baseline_embeddings(train, dim, seed, spent)
        cheap = pair_scorers(train, bipartite=self.split.whole.sides is not None)
        cheap |= {name: pair_scores(x, train, score) for name, x in vectors.items()}
        if learned:
            with spent.of(_LINKS_ALONE):
                cheap |= _links_alone(train, seed)
        costs = {name: cost_of(x) for name, x in cheap.items()}
        if self.averaged:
            own = ATTRIBUTE_STEPS.keys()
            cheap = {name: isolated_as_average(x, train, attributed=name in own) for name, x in cheap.items()}
        rows, sampled = dict[str, dict[str, float]](), dict[str, str]()
        for name, x in cheap.items():
            with spent.of(name):
                rows[name] = self._cheaply(name, x, costs[name], seed, sampled)
        return rows, sampled

    def _cheaply(
        self, name: str, scores: PairScores, cost: int, seed: int, sampled: dict[str, str]
    ) -> dict[str, float]:
        """A baseline's figures, of a sample where all would take minutes; shortest paths are then left out."""
        steps = self.split.train.adjacency.nnz if name == "shortest path" else 0
        few, figures = self.payable(cost, seed), dict[str, float]()
        if few is not self:
            sampled[name] = few.in_words()
        if len(unique_values(few._pairs[:, 0])) * steps <= _MOST_STEPS and (
            few is self or len(few._pairs) > _FEWEST_PAIRS
        ):
            figures |= few.compared(scores)
        if len(few.rows) * steps <= _MOST_STEPS:
            figures |= few.ranked(few.rank(scores))
        return figures

    def in_words(self) -> str:
        """How much is asked."""
        return f"{len(self._pairs):,} pairs, {len(self.rows):,} nodes"

    def payable(self, cost: int, seed: int) -> _Questions:
        """What a score is asked whose rows take so many multiplications: the same about the pairs from as many random
        nodes as half a minute allows, and the rankings from as many."""
        most = _MOST_PRODUCTS // max(cost, 1)
        starts, rng = unique_values(self._pairs[:, 0]), np.random.default_rng(seed)
        if max(len(starts), len(self.rows)) <= most:
            return self
        chosen = rng.choice(starts, min(most, len(starts)), replace=False)
        test, wrong = (pairs[np.isin(pairs[:, 0], chosen)] for pairs in (self.split.test, self.negatives))
        rows = self.rows
        if len(rows) > most:
            rows = np.sort(rng.choice(np.flatnonzero(np.diff(self.wanted.indptr)), most, replace=False))
        return replace(self, split=replace(self.split, test=test), negatives=wrong, rows=rows)

    @cached_property
    def _pairs(self) -> Pairs:
        return np.concatenate([self.split.test, self.negatives])

    @cached_property
    def _known(self) -> npt.NDArray[np.bool_]:
        """Whether both ends of a pair keep an edge in training."""
        linked = neighbor_counts(self.split.train) > 0
        return linked[self._pairs[:, 0]] & linked[self._pairs[:, 1]]


_LINKS_ALONE = "links alone"


def _links_alone(train: Graph, seed: int) -> dict[str, PairScores]:
    """The score that is chosen where vectors say the same of every pair: a sum of what links say; none, if that knows
    nothing either."""
    alike = Embedding(train.nodes, np.ones((train.n_nodes, 1), np.float32))
    score = choose_pair_score(lambda graph: alike, train, seed=seed)
    if score is None or not any(name in OF_LINKS for _, name in weighted_scores(score)):
        return {}
    return {_LINKS_ALONE: pair_scores(alike, train, score)}


_TENTH = 0.1
"""Of the links, held out to choose a score by."""


def choose_pair_score(fit: Callable[[Graph], Any], graph: Any, *, seed: int = 0) -> str | None:
    """The score of pairs that suits a model and these data: the one that finds a tenth of the links best, after a fit
    to the others.

    `fit` makes a fitted model (or an embedding) of a graph. The score is one of `available_scores`: product, cosine and
    distance of vectors, paths of a few steps, W2 of Gaussians, the model's own decoder; or a sum of these and of what
    the links say without vectors, where walks can be followed in half a minute, with weights that are learned from the
    same links (`HeldOutPairs`). The one with the highest AUC against as many non-edges, the model's own where several
    have it; None where there are too few links to hold some out.

    >>> two = [(a, b) for c in (0, 5) for a in range(c, c + 5) for b in range(c, a)]
    >>> from netfold.data.embedding import Embedding
    >>> choose_pair_score(lambda graph: Embedding(range(10), [[9, 0]] * 5 + [[1, 0]] * 5), two)
    'distance'
    """
    whole = Graph.of(graph)
    if len(edge_pairs(whole)) < 1 / _TENTH:
        return None
    split = split_edges(whole, _TENTH, seed=seed)
    wrong = sample_negatives(whole, len(split.test), seed=seed).pairs
    return HeldOutPairs(split.train, split.test, wrong, _MOST_PRODUCTS).best(fit(split.train))[0]


def check_unseen(model: Any, split: EdgeSplit) -> None:
    """Refuse a model or an embedding that was fitted to the test edges, where it says what it was fitted to."""
    facts = getattr(model, "graph_facts_", None) or {}
    if any(map(split.whole.has_fingerprint, (facts.get("fingerprint"), embedding_of(model).fitted_to))):
        raise InputError(
            f"the {name_of(model)} was fitted to the whole graph, test edges included; fit it to split.train"
        )


def _matrix(split: EdgeSplit) -> sparse.csr_array:
    """1 where a test edge is, in both directions of an undirected graph."""
    u, v = split.test.T
    ends = (u, v) if split.train.directed else (np.concatenate([u, v]), np.concatenate([v, u]))
    return sparse.csr_array((np.ones(len(ends[0]), np.float32), ends), shape=split.train.adjacency.shape)


def _of_sides(graph: Graph) -> str:
    return "" if graph.sides is None else f": {sides_in_words(graph)}"


def _protocol(questions: _Questions, ranking: Ranking, chosen: Mapping[str, Any]) -> dict[str, Any]:
    split = questions.split
    protocol = {"split seed" if name == "seed" else name: fact for name, fact in split.protocol.items()}
    protocol |= {
        **split.figures,
        **chosen,
        "negative pairs": len(questions.negatives),
        "negatives are no edges of": "the whole graph",
        "ranked": f"ordered pairs but the diagonal and training pairs{_of_sides(split.whole)}",
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
    `deviations`. Equal scores share their places. The baselines are scores of pairs (but not those that follow walks of
    one step, which are the edges), and spectral vectors of the same width, scored alike (w2 by distance, the decoder by
    their product). Of a bipartite graph, only pairs between its sides are ranked.

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
        return rank(scores, known.adjacency, rows, k=max(k), sides=known.sides)

    def separated(scores: PairScores) -> dict[str, float]:
        if drawn is None:
            return {}
        right, wrong = (finite(scores.at(*pairs.T)) for pairs in (edge_pairs(known), drawn.pairs))
        return separation(right, wrong)

    score = chosen_score("reconstruction", model, score)
    scores = pair_scores(model, known, score)
    own = ranked(scores)
    spent, others = CpuSeconds(), dict[str, dict[str, float]]()
    cheap = _baselines(known, embedding_of(model).dim, of_vectors(score), seed, len(rows), spent) if baselines else {}
    for name, x in cheap.items():
        with spent.of(name):
            others[name] = ranked(x).figures(k) | separated(x)
    protocol: dict[str, Any] = {
        "score": score,
        "ranked": f"all ordered pairs but the diagonal{_of_sides(known)}",
        "ties": "share their places",
    }
    protocol |= {} if drawn is None else dict(drawn.protocol)
    protocol |= {"nodes": len(rows)} | ({"seed": seed} if cheap or own.sampled else {})
    if own.sampled:
        protocol["±"] = "half of the 95% confidence interval over sampled nodes"
    if cheap and of_vectors(score) != score:
        protocol["spectral vectors scored by"] = of_vectors(score)
    figures = own.figures(k) | separated(scores)
    return Result("reconstruction", name_of(model), figures, protocol, others, own.interval, seconds=spent)


def _negatives(graph: Graph, kind: str, per_positive: int, seed: int) -> Negatives | None:
    if per_positive == 0:
        return None
    check_counts(per_positive=per_positive)
    count = None if kind == "all" else per_positive * len(edge_pairs(graph))
    return sample_negatives(graph, count, kind=kind, seed=seed)


_EDGE_ITSELF = ("shortest path", "personalised PageRank", "Katz")
"""Whose walks of one step are the edges."""


def _baselines(graph: Graph, dim: int, score: str, seed: int, nodes: int, spent: CpuSeconds) -> dict[str, PairScores]:
    """Those that can be asked from so many nodes in about half a minute and do not read off the edge itself."""
    scorers = {
        name: x
        for name, x in pair_scorers(graph, bipartite=graph.sides is not None).items()
        if name not in _EDGE_ITSELF and nodes * getattr(x, "cost", 0) <= _MOST_PRODUCTS
    }
    vectors = baseline_embeddings(graph, dim, seed, spent)
    return scorers | {name: pair_scores(x, graph, score) for name, x in vectors.items()}


# -------------------------------------------------------------------- noise

_HEURISTICS = ("Adamic-Adar", "resource allocation", "paths of three", "personalised PageRank")
"""Of pairs, that noise is tried on; of a bipartite graph, those that there are."""

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

    The baselines are heuristics of pairs and spectral vectors of the same width, made of the same graphs. A decline is
    read beside its AUC: what knows little loses little.
    """
    whole, parts = Graph.of(graph), _fractions(fractions)
    check_at_least_one(repeats=repeats)
    fitted: list[Any] = []

    def own(train: Graph) -> PairScores:
        fitted.append(fit(train))
        return pair_scores(fitted[-1], train, chosen_score("noise-robustness", fitted[-1], score))

    def round_of(scorer: GraphScorer) -> list[dict[str, float]]:
        return [_round(scorer, whole, parts, held_out, keep, seed + i) for i in range(repeats)]

    of_model, spent = round_of(own), CpuSeconds()
    used, name = chosen_score("noise-robustness", fitted[0], score), name_of(fitted[0])
    cheap = _noise_baselines(fitted[0], whole, used, seed) if baselines else {}
    rounds = {name: of_model}
    for other, x in cheap.items():
        with spent.of(other):
            rounds[other] = round_of(x)
    protocol = {"held out": held_out, "keep": keep, "noise": "uniform non-edges added to the training graph"}
    protocol |= {"score": used, "negatives": "uniform, as many as held-out edges", "repeats": repeats, "seed": seed}
    if repeats > 1:
        protocol["±"] = "standard deviation over repeats"
    declines = [x for x in of_model[0] if x != "AUC"]
    return Result.of_rounds("noise robustness", name, rounds, protocol, declines, spent)


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


def _noise_baselines(model: Any, graph: Graph, used: str, seed: int) -> dict[str, GraphScorer]:
    dim, score = embedding_of(model).dim, used if used in SCORES_OF_VECTORS else "dot"

    def vectors(name: str) -> GraphScorer:
        return lambda train: pair_scores(baseline_embeddings(train, dim, seed)[name], train, score)

    def heuristic(name: str) -> GraphScorer:
        return lambda train: pair_scorers(train)[name]

    known = pair_scorers(graph, bipartite=graph.sides is not None)
    scorers = {name: heuristic(name) for name in _HEURISTICS if name in known}
    return scorers | {name: vectors(name) for name in ("spectral", "normalised SVD")}


def _fractions(fractions: Any) -> tuple[float, ...]:
    parts = tuple(fractions) if isinstance(fractions, Iterable) else (fractions,)
    if not parts or not all(is_between(x, 0, np.inf) for x in parts):
        raise InputError(f"fractions={fractions!r} are not parts of the edges above 0, such as (0.05, 0.25, 0.5)")
    return tuple(map(float, parts))
