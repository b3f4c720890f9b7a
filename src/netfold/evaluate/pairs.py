"""Scores of pairs of nodes, higher where an edge is likelier, and what is done with any of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Protocol

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from netfold.data.checks import Floats, Ints, unique_values
from netfold.data.edges import neighbor_counts
from netfold.data.graph import Graph
from netfold.errors import InputError

__all__ = [
    "PairScores",
    "Remembered",
    "RowScores",
    "ScoreSum",
    "VectorScores",
    "blocks",
    "cost_of",
    "finite",
    "isolated_as_average",
    "random_pairs",
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


def isolated_as_average(scores: PairScores, graph: Graph, *, attributed: bool = False) -> PairScores:
    """The scores, but for pairs with a node that has no links in the graph: those count as an average pair.

    Where the scores are `attributed`, made with attributes, only those nodes do of which no attribute is known either.

    Nothing is known of such a node, so that no place of it is right: at the origin, where models leave it, it would
    rank last with everybody under a product or a cosine. The average is the mean over pairs of linked nodes: up to 200
    random ones with 200 others, the same for every score; of scores that are put together, of each of them.
    """
    linked = neighbor_counts(graph) > 0
    if attributed and graph.attributes is not None:
        linked = linked | graph.attributes.known.any(axis=1)
    if linked.all() or linked.sum() < 2:
        return scores
    average = getattr(scores, "average", None)  # a sum knows it of each of its terms
    if average is None:
        values = finite(scores.at(*random_pairs(np.flatnonzero(linked))))
        average = values.mean(dtype=np.float64)
    return _AverageIsolated(scores, ~linked, float(average))


def random_pairs(nodes: Ints) -> tuple[Ints, Ints]:
    """All pairs of some nodes with others, 200 of each at most: the same ones for every score."""
    some = np.random.default_rng(0).choice(nodes, min(len(nodes), 2 * _SAMPLE), replace=False)
    u, v = some[: len(some) // 2], some[len(some) // 2 :]
    return np.repeat(u, len(v)), np.tile(v, len(u))


class ScoreSum:
    """A weighted sum of how surprising each of some scores is: -log of the share of random pairs that have as much.

    Scores of any scale add up like this (Fisher's method), and what few pairs have counts most. Random pairs are those
    of nodes with links (`random_pairs`). Between the values that they have it is linear; above all of them it goes on
    by the logarithm, so that no two scores tie that did not.
    """

    def __init__(self, some: Sequence[tuple[float, PairScores]], graph: Graph):
        self._weights, self._some = np.array([weight for weight, _ in some]), [x for _, x in some]
        self.cost = sum(map(cost_of, self._some))
        nodes = np.flatnonzero(neighbor_counts(graph) > 0)
        pairs = random_pairs(nodes if len(nodes) > 1 else np.arange(2))
        sampled = [finite(x.at(*pairs)) for x in self._some]
        self._known = [_Shares(x) for x in sampled]
        means = [np.array([x.mean(dtype=np.float64)]) for x in sampled]
        self.averages: Floats = np.array([known.surprise(x)[0] for known, x in zip(self._known, means, strict=True)])
        """What each says of a pair that has its average: k."""

    @property
    def average(self) -> float:
        """Of a pair that has the average of each."""
        return float(self.averages @ self._weights)

    def rows(self, rows: Ints) -> Tensor:
        """As `PairScores.rows`."""
        total = sum(
            weight * known.surprise(finite(x.rows(rows)))
            for weight, known, x in zip(self._weights, self._known, self._some, strict=True)
        )
        return torch.from_numpy(np.asarray(total)).float()

    def at(self, u: Ints, v: Ints) -> Tensor:
        """As `PairScores.at`."""
        return torch.from_numpy(self.surprises(u, v) @ self._weights).float()

    def surprises(self, u: Ints, v: Ints) -> Floats:
        """How surprising m pairs are by each of k scores: m x k."""
        some = [known.surprise(finite(x.at(u, v))) for known, x in zip(self._known, self._some, strict=True)]
        return np.stack(some, axis=1)


_TOP = 0.01
"""The share of random pairs above which scores are counted in steps as long as those pairs are apart."""


class _Shares:
    """How many of some scores are as high as another."""

    def __init__(self, scores: npt.NDArray[np.float32]):
        values = np.sort(scores.astype(np.float64))
        first = np.flatnonzero(np.diff(values, prepend=-np.inf))
        self._values, self._surprises = values[first], -np.log(1 - first / len(values))
        apart = values[-1] - np.quantile(values, 1 - _TOP)
        self._step = float(apart if apart > 0 else max(abs(values[-1]), 1.0))

    def surprise(self, scores: npt.NDArray[np.floating]) -> Floats:
        """-log of the share that is as high, of scores of any shape."""
        known = scores.astype(np.float64)
        above = np.maximum(known - self._values[-1], 0) / self._step
        surprise: Floats = np.interp(known, self._values, self._surprises) + np.log1p(above)
        return surprise


class Remembered:
    """Scores of which those of the same pairs are asked again and again, and made once."""

    def __init__(self, scores: PairScores):
        self._scores, self.cost = scores, cost_of(scores)
        self._made: dict[bytes, Tensor] = {}

    def rows(self, rows: Ints) -> Tensor:
        """As `PairScores.rows`."""
        return self._scores.rows(rows)

    def at(self, u: Ints, v: Ints) -> Tensor:
        """As `PairScores.at`."""
        key = np.stack([u, v]).tobytes()
        if key not in self._made:
            self._made[key] = self._scores.at(u, v)
        return self._made[key].clone()


def cost_of(scores: PairScores) -> int:
    """Multiplications that a row takes, where it takes more than writing it."""
    return int(getattr(scores, "cost", 0))


def finite(scores: Tensor) -> npt.NDArray[np.float32]:
    """Scores that can be ordered: the largest numbers in place of infinite ones, and none that is no number."""
    values: npt.NDArray[np.float32] = scores.numpy()
    least, most = values.min(initial=0), values.max(initial=0)
    if np.isnan(least) or np.isnan(most):
        raise InputError("a score of two nodes is not a number; the model's numbers are too large, or not finite")
    limits = np.finfo(np.float32)
    return values if np.isfinite([least, most]).all() else values.clip(limits.min, limits.max)


def blocks(rows: Ints, n: int) -> Iterator[Ints]:
    """The rows in parts, so that a part's scores with n others are a bounded number, and never all rows at once."""
    size = max(1, min(_BLOCK_NUMBERS // max(n, 1), -(-n // 2)))
    for start in range(0, len(rows), size):
        yield rows[start : start + size]
