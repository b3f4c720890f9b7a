"""What DHNE's similarity may read beside its vectors: in how many hyperedges nodes are, two by two and each, and how
near two of them are by eigenvectors."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations, combinations_with_replacement
from typing import NamedTuple

import numpy as np
import torch
from scipy import sparse
from torch import Tensor, nn
from torch.nn import functional

from netfold.data.checks import Ints
from netfold.learn.solvers import leading_eigenpairs
from netfold.learn.sparse_rows import SparseRows
from netfold.models.dhne.tuples import Form

__all__ = ["COSINE_DIM", "LeftOut", "PairCounts", "TupleCounts", "unit_vectors"]

COSINE_DIM = 32
"""Eigenvectors that nearness is read from."""
_ADDED, _ROUNDS = 0.1, 20
"""Added to every degree, as a share of their mean, so that no eigenvector settles on a few nodes; and rounds of the
solver, at most."""
_MOST_MULTIPLIED = {True: 16, False: 10}
"""Columns, as those of a tuple of four roles, with cosines or without, up to which products of two are columns too."""


class LeftOut(NamedTuple):
    """For each of m tuples a hyperedge that is not counted, so that training asks what one that is not known is asked.

    It is the tuple itself or, where that is none, the hyperedge that it was made of.
    """

    rows: Tensor
    """m x N, as places among all nodes."""
    times: Tensor
    """m: how often it is there."""
    vectors: Tensor
    """folds x n x d: unit vectors of the nodes, by the hyperedges that are not of each fold."""
    fold: Tensor
    """m: the fold that it is of."""


def unit_vectors(together: sparse.csr_array, generator: torch.Generator, dim: int = COSINE_DIM) -> Tensor:
    """Of n nodes, from in how many hyperedges two are together (n x n): those of one length, near where they meet.

    The rows of (D + τ)^-½ U Λ² of the leading eigenvectors of (D + τ)^-½ A (D + τ)^-½, brought to length 1: n x d. A
    node in no hyperedge has the direction of their mean.
    """
    n, degrees = together.shape[0], np.asarray(together.sum(axis=1), np.float64).ravel()
    out = torch.zeros(n, dim)
    if not degrees.any():
        return out
    roots = 1 / np.sqrt(degrees + _ADDED * degrees.mean())
    data = np.repeat(roots, np.diff(together.indptr)) * together.data * roots[together.indices]
    rows = SparseRows.from_scipy(sparse.csr_array((data, together.indices, together.indptr), shape=(n, n)))
    pairs = leading_eigenpairs(rows, n, min(dim, n), generator, upper=True, rounds=_ROUNDS)
    scale, isolated = torch.from_numpy(roots).float(), torch.from_numpy(degrees == 0)
    out[:, : len(pairs.values)] = scale[:, None] * pairs.vectors * pairs.values.to(pairs.vectors).square()
    out[isolated] = out[~isolated].mean(dim=0)
    return functional.normalize(out, dim=1)


class PairCounts(nn.Module):
    """In how many hyperedges two of n nodes are together, and in how many each is."""

    keys: Tensor
    """i n + j of the pairs i < j that are together in any, in order."""
    together: Tensor
    """How often each of those is."""
    degrees: Tensor
    """n: in how many each node is."""
    vectors: Tensor
    """n x d: `unit_vectors`."""

    def __init__(self, n: int, pairs: int = 0, dim: int = COSINE_DIM):
        super().__init__()
        self.register_buffer("vectors", torch.zeros(n, dim), persistent=dim > 0)
        self.register_buffer("keys", torch.zeros(pairs, dtype=torch.int64))
        self.register_buffer("together", torch.zeros(pairs))
        self.register_buffer("degrees", torch.zeros(n))

    def count(self, rows: Sequence[Ints]) -> None:
        """Take the counts of these hyperedges, each m x N as places among the n nodes."""
        n = len(self.degrees)
        pairs = [
            np.sort(np.stack([r[:, a], r[:, b]]), axis=0) for r in rows for a, b in combinations(range(r.shape[1]), 2)
        ]
        keys, times = np.unique(np.concatenate([i * n + j for i, j in pairs]), return_counts=True)
        self.keys, self.together = torch.from_numpy(keys), torch.from_numpy(times.astype(np.float32))
        named = np.concatenate([r.ravel() for r in rows])
        self.degrees.copy_(torch.from_numpy(np.bincount(named, minlength=n).astype(np.float32)))

    def with_new(self, rows: Sequence[Ints], total: int) -> PairCounts:
        """These counts over `total` nodes, the first n of which are known: pairs with a new one are as in `rows`."""
        n, more = len(self.degrees), PairCounts(total)
        new = [x for x in rows if len(x)]
        if new:
            more.count(new)
        keys, old = more.keys.to(self.keys.device), self.keys
        own = torch.maximum(keys // total, keys % total) >= n
        keys = torch.cat([old // max(n, 1) * total + old % max(n, 1), keys[own]])
        order = keys.argsort()
        more.to(self.keys.device)
        together = torch.cat([self.together, more.together[own]])[order]
        more.degrees[:n] = self.degrees
        more.vectors = self._with_means(keys[len(old) :], more.together[own], total)
        more.keys, more.together = keys[order], together
        return more

    def _with_means(self, keys: Tensor, times: Tensor, total: int) -> Tensor:
        """The unit vectors, and of each new node the direction of the mean over the known ones that it meets."""
        n, dim = self.vectors.shape
        known, new = keys // total, keys % total  # the larger is the new one
        at = known < n
        sums = self.vectors.new_zeros(total - n, dim)
        sums.index_add_(0, new[at] - n, self.vectors[known[at]] * times[at, None])
        return torch.cat([self.vectors, functional.normalize(sums, dim=1)])

    def of(self, a: Tensor, b: Tensor) -> Tensor:
        """In how many hyperedges the nodes at these places (each m) are together: m."""
        if not len(self.keys):
            return torch.zeros(a.shape, device=a.device)
        keys = torch.minimum(a, b) * len(self.degrees) + torch.maximum(a, b)
        at = torch.searchsorted(self.keys, keys).clamp(max=len(self.keys) - 1)
        return torch.where(self.keys[at] == keys, self.together[at], 0.0)


class TupleCounts(nn.Module):
    """u · (z - mean) / deviation of tuples of one form: z are logarithms of counts, cosines, and products of two.

    There are Σ log(1 + count) over the pairs of positions of each two groups (positions that are alike are one group),
    Σ log(1 + degree) over the positions of each group, and Σ cosine over those pairs: in whatever order alike nodes are
    named, they are the same. u begins where logistic regression has it (`Similarity.start_by_counts`).
    """

    mean: Tensor
    deviation: Tensor

    def __init__(self, form: Form, *, cosines: bool = True):
        super().__init__()
        self._cosines = cosines
        self._groups, positions = form.groups, range(len(form.groups))
        pairs = {self._of_pair(a, b) for a, b in combinations(positions, 2)}
        self._pairs, self._n_groups = sorted(pairs), len(form.group_types)
        first = (1 + cosines) * len(self._pairs) + self._n_groups
        self._products = (
            list(combinations_with_replacement(range(first), 2)) if first <= _MOST_MULTIPLIED[cosines] else []
        )
        width = first + len(self._products)
        self.weight = nn.Parameter(torch.zeros(width, 1))
        self.register_buffer("mean", torch.zeros(width))
        self.register_buffer("deviation", torch.ones(width))

    def _of_pair(self, a: int, b: int) -> tuple[int, int]:
        g, h = sorted((self._groups[a], self._groups[b]))
        return g, h

    def columns(self, counts: PairCounts, rows: Tensor, without: LeftOut | None = None) -> Tensor:
        """z of tuples, m x N as places among all nodes: m x width; each without a hyperedge, where those are given."""
        p, g = len(self._pairs), self._n_groups
        first = torch.zeros(len(rows), (1 + self._cosines) * p + g, device=rows.device)
        less = torch.zeros(rows.shape, device=rows.device)
        if without is not None:
            less = (rows[:, :, None] == without.rows[:, None, :]).any(dim=2) * without.times[:, None]
        for a, b in combinations(range(rows.shape[1]), 2):
            at, both = self._pairs.index(self._of_pair(a, b)), torch.minimum(less[:, a], less[:, b])
            first[:, at] += torch.log1p((counts.of(rows[:, a], rows[:, b]) - both).clamp(min=0))
            if self._cosines:
                first[:, p + g + at] += _cosines(counts, rows[:, [a, b]], without)
        for a, group in enumerate(self._groups):
            first[:, p + group] += torch.log1p((counts.degrees[rows[:, a]] - less[:, a]).clamp(min=0))
        if not self._products:
            return first
        i, j = torch.tensor(self._products, device=rows.device).T
        return torch.cat([first, first[:, i] * first[:, j]], dim=1)

    @torch.no_grad()
    def measure(self, columns: Tensor) -> None:
        """Take the mean and the deviation of these columns, those of the hyperedges that are fitted."""
        self.mean.copy_(columns.mean(dim=0))
        self.deviation.copy_(columns.std(dim=0, correction=0).clamp(min=1e-3))

    def scaled(self, columns: Tensor) -> Tensor:
        """(z - mean) / deviation: m x width."""
        return ((columns - self.mean) / self.deviation).to(self.weight.dtype)

    def forward(self, columns: Tensor) -> Tensor:
        """What is added to the logits of tuples with these columns: m."""
        return (self.scaled(columns) @ self.weight)[:, 0]


def _cosines(counts: PairCounts, pairs: Tensor, without: LeftOut | None) -> Tensor:
    """Of the vectors of two nodes (m x 2), by all hyperedges or by those of other folds: m."""
    at = pairs.T
    a, b = (counts.vectors[x] if without is None else without.vectors[without.fold, x] for x in at)
    return (a * b).sum(dim=1)
