"""How the score of a model's pairs is chosen: by held-out links, and pairs that are none."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import optimize, special

from netfold.data.checks import Floats, Ints, unique_values
from netfold.data.edges import Pairs, neighbor_counts
from netfold.data.graph import Graph
from netfold.embedder.pair_score import sum_in_words, weighted_scores
from netfold.evaluate.heuristics import scores_of_links
from netfold.evaluate.pairs import (
    PairScores,
    Remembered,
    ScoreSum,
    cost_of,
    finite,
    isolated_as_average,
    separation,
)
from netfold.evaluate.scores import available_scores, knows_attributes, pair_scores

__all__ = ["HeldOutPairs", "learned_weights", "out_of_fold"]

_DECODED = 500_000_000
"""Entries of rows that a decoder writes, above which it is not asked."""
_SAMPLED = 200
"""Nodes from which random pairs are scored for a sum."""
_LITTLE = 0.02
"""Of the largest weight of a sum: what counts less is left out."""
_FEWEST = 10
"""Pairs of either kind of which something is known, at least, for weights to be learned from them."""

_Values = tuple[Floats, Floats]
"""The scores of held-out links, and of pairs that are none."""


class HeldOutPairs:
    """Links that were held out of a graph, and pairs that are none, which tell how a model's pairs are best scored."""

    def __init__(self, train: Graph, right: Pairs, wrong: Pairs, products: float):
        """`products`: multiplications that walks of one kind may take; what would take more is left out."""
        self._train, self._pairs = train, (right, wrong)
        self._starts = len(unique_values(np.concatenate([right, wrong])[:, 0]))
        rows = self._starts + _SAMPLED
        self._of_links: Mapping[str, PairScores] = {
            name: Remembered(x) for name, x in scores_of_links(train).items() if rows * cost_of(x) <= products
        }
        self._linked = neighbor_counts(train) > 0
        self._told = [np.asarray(self._linked[x].all(axis=1)) for x in self._pairs]

    def values(self, model: Any, score: str) -> _Values:
        """What a score says of the pairs; of those with an isolated node, what it says of an average pair."""
        return self._values(model, pair_scores(model, self._train, score, self._of_links))

    def _values(self, model: Any, scores: PairScores) -> _Values:
        placed = isolated_as_average(scores, self._train, attributed=knows_attributes(model))
        right, wrong = (finite(placed.at(*_ends(x))).astype(np.float64) for x in self._pairs)
        return right, wrong

    def best(self, model: Any) -> tuple[str, _Values]:
        """The score with the highest AUC, and what it says: one that the model has, its own where several have it, or a
        sum of these and of what the links say, with weights that are learned; a sum's values are by weights that were
        learned from other pairs."""
        costly = self._starts * self._train.n_nodes > _DECODED
        names = [x for x in available_scores(model) if not (x == "decoder" and costly)]
        own = {name: Remembered(pair_scores(model, self._train, name)) for name in names}
        some = {name: self._values(model, x) for name, x in own.items()}
        some |= self._learned({**own, **self._of_links}, attributed=knows_attributes(model))
        best = max(some, key=lambda name: separation(*some[name])["AUC"])
        return best, some[best]

    def _learned(self, scores: Mapping[str, PairScores], *, attributed: bool) -> dict[str, _Values]:
        """The sum of scores with learned weights; none where too little is known to learn from, or nothing is said."""
        if min(told.sum() for told in self._told) < _FEWEST:
            return {}
        from threadpoolctl import threadpool_limits

        together = ScoreSum([(1.0, x) for x in scores.values()], self._train)
        right, wrong = (self._surprises(together, x, attributed=attributed) for x in self._pairs)
        with threadpool_limits(1, user_api="blas"):  # of ten numbers; threads would wait for one another
            weights, _ = learned_weights(right[self._told[0]], wrong[self._told[1]])
            found = out_of_fold(right, wrong, self._told)
        terms = [(float(w), name) for w, name in zip(weights, scores, strict=True) if w > _LITTLE * weights.max()]
        words = sum_in_words(terms)
        if not words:
            return {}
        known = weighted_scores(words)
        return {known[0][1] if len(known) == 1 else words: found}

    def _surprises(self, scores: ScoreSum, pairs: Pairs, *, attributed: bool) -> Floats:
        """Of each pair by each score, m x k; the average where nothing is known of an end."""
        attributes = self._train.attributes if attributed else None
        known = self._linked if attributes is None else self._linked | attributes.known.any(axis=1)
        values = scores.surprises(*_ends(pairs))
        values[~known[pairs].all(axis=1)] = scores.averages
        return values


def _ends(pairs: Pairs) -> tuple[Ints, Ints]:
    u, v = pairs.T.copy()
    return u, v


# -------------------------------------------------------------------- how much each counts

_LEARNED = 5000
"""Pairs of either kind that weights are learned from, at most: of more, ten numbers do not get better."""
_FOLDS = 5


def learned_weights(right: Floats, wrong: Floats) -> tuple[Floats, float]:
    """What each of k scores counts, by what they say of held-out links (m x k) and of pairs that are none; and how much
    is added, which only matters beside the sums of others.

    Logistic regression with half of Σ w² added to its loss and no weight below 0: each score is made so that more of it
    speaks for a link, and a weight below 0 is trusted least where sums are highest, where no held-out pair is.
    """
    x = np.concatenate([right[:_LEARNED], wrong[:_LEARNED]])
    sign = np.repeat([1.0, -1.0], [len(right[:_LEARNED]), len(wrong[:_LEARNED])])
    k = x.shape[1]

    def loss(some: Floats) -> tuple[float, Floats]:
        margin = sign * (x @ some[:k] + some[k])
        slope = -sign * special.expit(-margin)
        gradient = np.append(x.T @ slope + some[:k], slope.sum())
        return float(np.logaddexp(0, -margin).sum() + some[:k] @ some[:k] / 2), gradient

    bounds = [(0, None)] * k + [(None, None)]
    found = optimize.minimize(loss, np.zeros(k + 1), jac=True, method="L-BFGS-B", bounds=bounds)
    return np.asarray(found.x[:k], np.float64), float(found.x[k])


def out_of_fold(right: Floats, wrong: Floats, told: Sequence[npt.NDArray[np.bool_]]) -> tuple[Floats, Floats]:
    """The sums of pairs by weights that were learned from others, in five turns: what a sum that is learned is worth.

    `told` says of which of the right and of the wrong ones something is known: from others nothing is learned.
    """
    fold = [np.random.default_rng(len(x)).permutation(len(x)) % _FOLDS for x in (right, wrong)]
    sums = [np.zeros(len(x)) for x in (right, wrong)]
    for k in range(_FOLDS):
        some = [x[known & (own != k)] for x, known, own in zip((right, wrong), told, fold, strict=True)]
        weights, added = learned_weights(*some)
        for values, x, own in zip(sums, (right, wrong), fold, strict=True):
            values[own == k] = x[own == k] @ weights + added
    return sums[0], sums[1]
