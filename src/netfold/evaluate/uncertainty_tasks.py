"""What a node's variance is good for: how it goes with the degree, and whether links are as sure as they look."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from netfold.data.checks import Bools, Floats, check_at_least_one, check_choice, unique_values
from netfold.data.edges import Pairs, neighbor_counts
from netfold.data.graph import Graph
from netfold.errors import InputError
from netfold.evaluate.link_tasks import check_unseen
from netfold.evaluate.negatives import sample_negatives
from netfold.evaluate.pairs import PairScores, separation
from netfold.evaluate.result import Result, embedding_of, name_of
from netfold.evaluate.scores import pair_scores
from netfold.evaluate.splits import EdgeSplit
from netfold.evaluate.task import CALIBRATORS, CERTAINTIES, check_renamed

__all__ = ["calibration", "calibration_error", "node_variance", "uncertainty"]


def uncertainty(model: Any, graph: Any, *, largest: int = 10, bins: int = 10) -> Result:
    """The variance of nodes against their degree; in the DVNE paper it falls.

    A node's variance is the mean of its `largest` variances. `Spearman` is its rank correlation with the degree (the
    number of nodes linked in either direction) over all nodes with a link. The other figures are its mean in each of
    `bins` bins of equal width in log10 of the degree, named by the degrees in it; an empty bin has none.

    >>> from netfold.data.embedding import Embedding
    >>> vectors = Embedding("abc", [[0], [1], [2]], [[2], [1], [2]])
    >>> uncertainty(vectors, [("a", "b"), ("b", "c")], bins=2).figures
    {'Spearman': -1.0, 'variance at degree 1': 4.0, 'variance at degree 2': 1.0}
    """
    from scipy.stats import spearmanr

    known = Graph.of(graph)
    check_at_least_one(largest=largest, bins=bins)
    variance, degrees = node_variance(model, known, largest), neighbor_counts(known)
    rows = np.flatnonzero(degrees)
    _check_spread("degree", degrees[rows])
    _check_spread("variance", variance[rows])
    figures = {"Spearman": float(spearmanr(variance[rows], degrees[rows]).statistic)}
    figures |= _by_degree(variance[rows], degrees[rows], bins)
    protocol: dict[str, Any] = {"variance": f"mean of a node's {largest} largest"}
    protocol |= {
        "bins": f"{bins} of equal width in log10 degree",
        "nodes": len(rows),
        "left out without a link": known.n_nodes - len(rows),
    }
    return Result("uncertainty", name_of(model), figures, protocol, smaller_is_better=("Spearman",))


def node_variance(model: Any, graph: Graph, largest: int = 10) -> Floats:
    """The mean of the `largest` variances (all, where there are fewer) of each node of the graph."""
    return np.asarray(embedding_of(model).uncertainty(graph.nodes, largest=largest))


def _by_degree(variance: Floats, degrees: npt.NDArray[Any], bins: int) -> dict[str, float]:
    """The mean variance of each bin that holds a node."""
    logs = np.log10(degrees)
    edges = np.linspace(logs.min(), logs.max(), bins + 1)
    place = np.searchsorted(edges[1:-1], logs, side="right")
    figures = {}
    for b in unique_values(place):
        mine = degrees[place == b]
        span = f"{mine.min()}" if mine.min() == mine.max() else f"{mine.min()}-{mine.max()}"
        figures[f"variance at degree {span}"] = float(variance[place == b].mean())
    return figures


def _check_spread(what: str, values: npt.NDArray[Any]) -> None:
    if not len(values) or values.min() == values.max():
        raise InputError(f"no two linked nodes differ in {what}; variance can only be set against what differs")


_NEGATIVES = ("uniform", "degree")
_FREE = 1e4
"""So weak a penalty that a logistic curve is where the likelihood wants it, and still finite where classes part."""


def calibration(
    model: Any,
    split: EdgeSplit,
    *,
    method: str = "platt",
    bins: int = 10,
    largest: int = 10,
    certainty: str = "variance",
    negatives: str = "uniform",
    seed: int = 0,
    baselines: bool = True,
) -> Result:
    """The probabilities of held-out edges, from Gaussians and from their means alone.

    Test edges and as many pairs that are no edges of the whole graph (by the rule `negatives`, see `sample_negatives`)
    are scored by minus the W2 distance. On a random half of them, `method` learns the probability of an edge from its
    score: "platt", a logistic curve, or "isotonic", a rising staircase. On the other half: ECE (`calibration_error`),
    Brier, the mean of (probability - edge)², and AUC. `AUC certain` is that of all pairs with both ends among the more
    certain half of the nodes, those of smaller variance (`node_variance`), and `certain - uncertain` how much it is
    above the AUC among the other half: what knowing the variance is good for. With `certainty="mean_variance"` they are
    those of smaller `model.mean_variance(training graph)`, which DVNE has.

    The baselines are the distance of the means, certainty by the training degree (and by the variance, where that is
    not asked about), and a probability that is the same for all.
    """
    check_renamed(certainty=certainty)
    check_choice(CALIBRATORS, method=method)
    check_choice(_NEGATIVES, negatives=negatives)
    check_choice(CERTAINTIES, certainty=certainty)
    check_at_least_one(bins=bins, largest=largest)
    unsure = variance = node_variance(model, split.train, largest)
    if certainty == "mean_variance":
        unsure = _mean_variance(model, split.train)
    check_unseen(model, split)
    wrong = sample_negatives(split.whole, len(split.test), kind=negatives, seed=seed)
    pairs = _Pairs(split.test, wrong.pairs, seed)
    sure = pairs.scored(pair_scores(model, split.train, "w2"))
    figures = pairs.probable(sure, method, bins) | pairs.by_certainty(sure, -unsure)
    rows: dict[str, dict[str, float]] = {}
    if baselines:
        means = pairs.scored(pair_scores(model, split.train, "distance"))
        rows["means alone"] = pairs.probable(means, method, bins)
        rows["certainty by degree"] = pairs.by_certainty(sure, neighbor_counts(split.train))
        if certainty != "variance":
            rows["certainty by variance"] = pairs.by_certainty(sure, -variance)
        rows["the same for all"] = pairs.probable(np.zeros(len(sure)), method, bins)
    protocol = {f"split {x}" if x == "seed" else x: value for x, value in split.protocol.items()}
    protocol |= {"score": "w2", "test edges": len(split.test), **wrong.protocol, "method": method}
    protocol |= {"learned on": "a random half of the pairs", "bins": bins, "certainty": certainty}
    return Result("calibration", name_of(model), figures, protocol, rows, smaller_is_better=("ECE", "Brier"))


def calibration_error(probability: npt.ArrayLike, truth: npt.ArrayLike, bins: int = 10) -> float:
    """ECE = Σ_b |B_b| / m · |mean probability in B_b - part of B_b that is true|, bins B_b of equal width in [0, 1].

    >>> calibration_error([0.75, 0.75, 0.75, 0.75], [1, 1, 1, 0])
    0.0
    """
    p, y = np.asarray(probability, np.float64), np.asarray(truth, np.float64)
    place = np.minimum((p * bins).astype(np.int64), bins - 1)
    gaps = np.bincount(place, p - y, minlength=bins)
    return float(np.abs(gaps).sum() / max(len(p), 1))


def _mean_variance(model: Any, train: Graph) -> Floats:
    if not hasattr(model, "mean_variance"):
        raise InputError(
            f"certainty='mean_variance' needs a fitted model that has it, as DVNE, and not {name_of(model)}"
        )
    return np.asarray(model.mean_variance(train), np.float64)


class _Pairs:
    """Pairs that are edges and pairs that are none, and a random half of each to learn from."""

    def __init__(self, right: Pairs, wrong: Pairs, seed: int):
        if min(len(right), len(wrong)) < 2:
            raise InputError(
                f"{len(right)} test edges and {len(wrong)} non-edges cannot be halved; 2 of each are needed"
            )
        rng = np.random.default_rng(seed)
        self._pairs, self._truth = np.concatenate([right, wrong]), np.repeat([True, False], [len(right), len(wrong)])
        self._learned = np.concatenate([rng.permutation(len(x)) < len(x) // 2 for x in (right, wrong)])

    def scored(self, scores: PairScores) -> Floats:
        """The score of each pair."""
        u, v = self._pairs.T.copy()
        return scores.at(u, v).numpy().astype(np.float64)

    def probable(self, scores: Floats, method: str, bins: int) -> dict[str, float]:
        """ECE, Brier and AUC of the half that was not learned from."""
        test, truth = ~self._learned, self._truth[~self._learned]
        p = _probabilities(scores[self._learned], self._truth[self._learned], scores[test], method)
        auc = separation(scores[test][truth], scores[test][~truth])["AUC"]
        return {"ECE": calibration_error(p, truth, bins), "Brier": float(np.mean((p - truth) ** 2)), "AUC": auc}

    def by_certainty(self, scores: Floats, certainty: npt.NDArray[Any]) -> dict[str, float]:
        """AUC among the more certain half of the nodes (equals in the order of nodes), and how much above the rest."""
        half = np.zeros(len(certainty), bool)
        half[np.argsort(-certainty, kind="stable")[: len(certainty) // 2]] = True
        ends = half[self._pairs]
        sure, unsure = self._auc(scores, ends.all(axis=1)), self._auc(scores, ~ends.any(axis=1))
        return {"AUC certain": sure, "certain - uncertain": sure - unsure}

    def _auc(self, scores: Floats, among: Bools) -> float:
        right, wrong = scores[among & self._truth], scores[among & ~self._truth]
        return separation(right, wrong)["AUC"] if len(right) and len(wrong) else math.nan


def _probabilities(scores: Floats, truth: Bools, at: Floats, method: str) -> Floats:
    """The probability of an edge at the scores asked about, learned from scores with their truth."""
    from sklearn.isotonic import IsotonicRegression
    from sklearn.linear_model import LogisticRegression

    if method == "isotonic":
        steps = IsotonicRegression(y_min=0, y_max=1, out_of_bounds="clip").fit(scores, truth)
        return np.asarray(steps.predict(at), np.float64)
    middle, spread = scores.mean(), scores.std() or 1.0
    curve = LogisticRegression(C=_FREE).fit(((scores - middle) / spread)[:, None], truth)
    return np.asarray(curve.predict_proba(((at - middle) / spread)[:, None])[:, 1], np.float64)
