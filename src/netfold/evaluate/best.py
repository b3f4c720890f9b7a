"""The precision of the best pairs of one ranking that is never held as a whole."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

__all__ = ["Best"]

Scores = npt.NDArray[np.float32]
Flags = npt.NDArray[np.bool_]


class Best:
    """The k best of all pairs that were added, and how many are hits.

    Pairs of equal score share their places: where the k-th place falls among g pairs that tie, r of them hits, each of
    the places there counts r / g of a hit, the mean over all orders. So only the number of ties is kept.

    >>> best = Best(3)
    >>> best.add(np.float32([0.9, 0.5, 0.5, 0.1]), np.array([True, False, True, True]))
    >>> best.precision(1), best.precision(2), best.precision(3)
    (1.0, 0.75, 0.6666666666666666)
    """

    def __init__(self, k: int):
        self._k = k
        self._scores, self._hits = np.empty(0, np.float32), np.empty(0, bool)
        self._limit = np.float32(-np.inf)
        self._tied = (0, 0)
        """The pairs, and the hits, that have the score `_limit`; those below it were dropped."""

    def add(self, scores: Scores, hits: Flags) -> None:
        """More pairs; those of score minus infinity do not take part."""
        if self._limit > -np.inf:
            equal = scores == self._limit
            self._tied = (self._tied[0] + int(equal.sum()), self._tied[1] + int(hits[equal].sum()))
        above = scores > self._limit
        self._scores = np.concatenate([self._scores, scores[above]])
        self._hits = np.concatenate([self._hits, hits[above]])
        if len(self._scores) > self._k:
            self._cut()

    def _cut(self) -> None:
        """Raise the limit to the score of the k-th best."""
        self._limit = np.partition(self._scores, -self._k)[-self._k]
        above, equal = self._scores > self._limit, self._scores == self._limit
        self._tied = (int(equal.sum()), int(self._hits[equal].sum()))
        self._scores, self._hits = self._scores[above], self._hits[above]

    def __len__(self) -> int:
        return min(self._k, len(self._scores) + self._tied[0])

    def precision(self, k: int) -> float:
        """The share of hits in the first k places, k at most `len`."""
        if k > len(self._scores):
            above, (tied, tied_hits) = np.ones(len(self._scores), dtype=bool), self._tied
        else:
            limit = np.partition(self._scores, -k)[-k]
            above, equal = self._scores > limit, self._scores == limit
            tied, tied_hits = int(equal.sum()), int(self._hits[equal].sum())
        return (int(self._hits[above].sum()) + (k - int(above.sum())) * tied_hits / tied) / k
