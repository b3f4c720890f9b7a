"""Rankings of pairs of nodes: the precision of the best, and the average precision of each node, in blocks of rows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from scipy import sparse
from torch import Tensor

from netfold.data.checks import Bools, Floats, Ints
from netfold.evaluate.pairs import PairScores, blocks, finite

__all__ = ["Best", "Ranking", "average_precision", "rank", "sampled_rows"]


Scores = npt.NDArray[np.float32]


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

    def add(self, scores: Scores, hits: Bools) -> None:
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


@dataclass(frozen=True, eq=False)
class Ranking:
    """What ranking all pairs from some nodes gave."""

    precisions: Floats
    """The average precision of each node that has anything to find."""
    places: Floats
    """The place (from 1) of each hit in its node's ranking without the node's other hits; half of a tie precedes it."""
    best: Best | None
    """One global ranking, if all nodes were asked: it needs all pairs."""
    sampled: bool
    """Whether there are nodes with something to find that were not asked."""

    def figures(self, k: Sequence[int]) -> dict[str, float]:
        """MAP, and precision@k where there is a global ranking of so many pairs."""
        figures = {"MAP": float(self.precisions.mean())}
        if self.best is None:
            return figures
        return figures | {f"precision@{x}": self.best.precision(x) for x in k if x <= len(self.best)}

    @property
    def interval(self) -> dict[str, float]:
        """Half of the 95% confidence interval of MAP, where nodes were sampled."""
        count = len(self.precisions)
        half = 1.96 * float(self.precisions.std(ddof=1)) / count**0.5 if count > 1 else float("nan")
        return {"MAP": half} if self.sampled else {}


def rank(
    scores: PairScores,
    wanted: sparse.csr_array,
    rows: Ints,
    *,
    k: int,
    without: sparse.csr_array | None = None,
    sides: npt.NDArray[np.int8] | None = None,
) -> Ranking:
    """Rank the pairs (i, j), i of `rows` and j of all nodes; a hit is where `wanted` has an entry.

    Left out: the diagonal, the entries of `without` and, of a bipartite graph (`Graph.sides`), the pairs that are not
    between its sides. Pairs of equal score share their places.
    """
    n = wanted.shape[0]
    best = Best(k) if len(rows) == n else None
    precisions, places = [np.empty(0)], [np.empty(0)]
    for block in blocks(rows, n):
        values = finite(scores.rows(block))
        for i, j in _left_out(block, without):
            values[i, j] = -np.inf  # which no score is
        if sides is not None:
            values[sides[block, None] + sides != 1] = -np.inf
        i, j = _entries(wanted, block)
        i, j = i[block[i] != j], j[block[i] != j]
        counts = _Counts.of(values, i, j)
        precisions.append(counts.average_precision())
        places.append(counts.filtered_place())
        if best is not None:
            hit = np.zeros(values.shape, dtype=bool)
            hit[i, j] = True
            best.add(values.ravel(), hit.ravel())
    every = np.concatenate(precisions)
    return Ranking(every, np.concatenate(places), best, len(every) < len(_with_hits(wanted)))


def average_precision(scores: Tensor, linked: Tensor) -> Tensor:
    """AP of each row that has any link: Σ_j precision@j Δ(j) / Σ_j Δ(j), its mean over all orders of equal scores."""
    i, j = np.nonzero(linked.numpy())
    return torch.from_numpy(_Counts.of(finite(scores.float()), i, j).average_precision())


def sampled_rows(wanted: sparse.csr_array, most: int, seed: int) -> Ints:
    """All nodes or, where those are too many, random ones of those that have anything to find."""
    if wanted.shape[0] <= most:
        return np.arange(wanted.shape[0])
    some = _with_hits(wanted)
    return np.sort(np.random.default_rng(seed).choice(some, min(most, len(some)), replace=False))


@dataclass(frozen=True, eq=False)
class _Counts:
    """What the place of each hit in its row depends on."""

    row: Ints
    """Which of the rows with hits it is in: 0, 1, ..."""
    greater: Ints
    """The pairs of that row with a higher score."""
    equal: Ints
    """The pairs with the same score, itself among them."""
    hits_greater: Ints
    hits_equal: Ints

    @staticmethod
    def of(scores: Scores, i: Ints, j: Ints) -> _Counts:
        """Of the hits (i, j), i in increasing order. Sorted values tell the counts: no order of columns is needed."""
        rows, starts = np.unique(i, return_index=True)
        every = np.sort(scores[rows], axis=1)
        of_rows = [_counts(row, np.sort(mine)) for row, mine in zip(every, np.split(scores[i, j], starts[1:]))]
        counts = np.concatenate([np.empty((4, 0), np.int64), *of_rows], axis=1)
        return _Counts(np.repeat(np.arange(len(rows)), np.diff([*starts, len(i)])), *counts)

    def average_precision(self) -> Floats:
        """Of each row, the mean over all orders of equal scores.

        A hit is as likely at each place a + 1, ..., a + g of its tie (a greater, g equal), with h + 1 hits up to there
        and c = (r - 1) / (g - 1) more for each place of the tie before it, so that it adds
        Σ_p (h + 1 + c (p - 1)) / (a + p) / g = [(h + 1 - c - c a) (H(a + g) - H(a)) + c g] / g, H the harmonic numbers.
        """
        a, g, h = self.greater, self.equal, self.hits_greater
        c = (self.hits_equal - 1) / np.maximum(g - 1, 1)
        harmonic = np.concatenate([[0], np.cumsum(1 / np.arange(1, (a + g).max(initial=0) + 1))])
        added = ((h + 1 - c - c * a) * (harmonic[a + g] - harmonic[a]) + c * g) / g
        means: Floats = np.bincount(self.row, added) / np.bincount(self.row)
        return means

    def filtered_place(self) -> Floats:
        """1 + the pairs that are no hits and have a higher score + half of those with the same."""
        return 1 + (self.greater - self.hits_greater) + (self.equal - self.hits_equal) / 2


def _counts(row: Scores, hits: Scores) -> Ints:
    """Greater, equal, hits greater, hits equal: for each hit of a row, both sorted: 4 x m."""
    counts = []
    for among in (row, hits):
        left, right = (np.searchsorted(among, hits, side=side) for side in ("left", "right"))
        counts += [len(among) - right, right - left]
    return np.stack(counts)


def _with_hits(wanted: sparse.csr_array) -> Ints:
    """The rows that have an entry off the diagonal."""
    rows: Ints = np.flatnonzero(np.diff(wanted.indptr) > (wanted.diagonal() != 0))
    return rows


def _left_out(block: Ints, without: sparse.csr_array | None) -> Iterable[tuple[Ints, Ints]]:
    yield np.arange(len(block)), block
    if without is not None:
        yield _entries(without, block)


def _entries(matrix: sparse.csr_array, rows: Ints) -> tuple[Ints, Ints]:
    """Where some rows of a sparse matrix have entries, row by row."""
    i, j = matrix[rows].tocoo().coords
    return i.astype(np.int64), j.astype(np.int64)
