"""What edges that are none, added to a graph, do to the links that are predicted from it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from netfold.data.checks import check_at_least_one, is_between
from netfold.data.edges import Pairs, edge_pairs, with_pairs
from netfold.data.graph import Graph
from netfold.errors import InputError
from netfold.evaluate.baselines import baseline_embeddings, pair_scorers
from netfold.evaluate.classes import mean_of, percent
from netfold.evaluate.negatives import sample_negatives
from netfold.evaluate.result import Result, embedding_of, name_of
from netfold.evaluate.scores import SCORES_OF_VECTORS, PairScores, pair_scores, separation
from netfold.evaluate.splits import EdgeSplit, split_edges

__all__ = ["noise_robustness", "with_noise"]

_HEURISTIC = "Adamic-Adar"

EdgeScorer = Callable[[Graph], PairScores]
"""From a training graph to the scores of its pairs."""


def noise_robustness(
    fit: Callable[[Graph], Any],
    graph: Any,
    *,
    fractions: Iterable[float] | float = (0.05, 0.25, 0.5),
    hidden: float = 0.2,
    keep: str = "none",
    score: str | None = None,
    repeats: int = 1,
    seed: int = 0,
    baselines: bool = True,
) -> Result:
    """How much worse hidden edges are found from a graph to which random edges were added.

    `fit` makes a fitted model (or an embedding) of a graph. A share `hidden` of the edges is hidden (`split_edges`, for
    `keep`), and to the rest each of `fractions` of their number is added in pairs that are no edges of the whole graph,
    what a smaller part adds being in a larger one. AUC: of the hidden edges against as many other non-edges, without
    noise; `decline@25%`: (AUC - AUC with noise) / AUC. `score` is one of `pair_scores`: by default "w2" where there is
    `std` and "cosine" where not. The mean over `repeats`, each with another split and other noise.

    The baselines are Adamic-Adar and spectral vectors of the same width, made of the same graphs.
    """
    whole, parts = Graph.of(graph), _fractions(fractions)
    check_at_least_one(repeats=repeats)
    fitted: list[Any] = []

    def own(train: Graph) -> PairScores:
        fitted.append(fit(train))
        return pair_scores(fitted[-1], train, score or _score_of(fitted[-1]))

    def round_of(scorer: EdgeScorer) -> list[dict[str, float]]:
        return [_round(scorer, whole, parts, hidden, keep, seed + i) for i in range(repeats)]

    figures, deviations = mean_of(round_of(own))
    used = score or _score_of(fitted[0])
    rows = {name: mean_of(round_of(x))[0] for name, x in _cheap(fitted[0], used, seed).items()} if baselines else {}
    protocol = {"hidden": hidden, "keep": keep, "noise": "uniform non-edges added to the training graph", "score": used}
    protocol |= {"negatives": "uniform, as many as hidden edges", "repeats": repeats, "seed": seed}
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
    scorer: EdgeScorer, whole: Graph, parts: tuple[float, ...], hidden: float, keep: str, seed: int
) -> dict[str, float]:
    """The figures of one split; all methods get the same ones."""
    split = split_edges(whole, hidden, keep=keep, seed=seed)
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


def _score_of(model: Any) -> str:
    return "cosine" if embedding_of(model).std is None else "w2"


def _cheap(model: Any, used: str, seed: int) -> dict[str, EdgeScorer]:
    dim, score = embedding_of(model).dim, used if used in SCORES_OF_VECTORS else "dot"

    def vectors(name: str) -> EdgeScorer:
        return lambda train: pair_scores(baseline_embeddings(train, dim, seed)[name], train, score)

    made: dict[str, EdgeScorer] = {_HEURISTIC: lambda train: pair_scorers(train)[_HEURISTIC]}
    return made | {name: vectors(name) for name in ("spectral", "normalised SVD")}


def _fractions(given: Any) -> tuple[float, ...]:
    parts = tuple(given) if isinstance(given, Iterable) else (given,)
    if not parts or not all(is_between(x, 0, np.inf) for x in parts):
        raise InputError(f"fractions={given!r} are not parts of the edges above 0, such as (0.05, 0.25, 0.5)")
    return tuple(map(float, parts))
