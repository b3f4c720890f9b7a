"""What DHNE's similarity may read beside vectors: in how many hyperedges nodes are, two by two and each."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations, combinations_with_replacement

import numpy as np
import torch
from torch import Tensor, nn

from netfold.data.checks import Ints
from netfold.models.dhne.tuples import Form

__all__ = ["PairCounts", "TupleCounts"]


_MOST_MULTIPLIED = 10
"""Columns, as those of a tuple of four roles, up to which products of two of them are columns too."""


class PairCounts(nn.Module):
    """In how many hyperedges two of n nodes are together, and in how many each is."""

    keys: Tensor
    """i n + j of the pairs i < j that are together in any, in order."""
    together: Tensor
    """How often each of those is."""
    degrees: Tensor
    """n: in how many each node is."""

    def __init__(self, n: int, pairs: int = 0):
        super().__init__()
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
        more.keys, more.together = keys[order], together
        more.degrees[:n] = self.degrees
        return more

    def of(self, a: Tensor, b: Tensor) -> Tensor:
        """In how many hyperedges the nodes at these places (each m) are together: m."""
        if not len(self.keys):
            return torch.zeros(a.shape, device=a.device)
        keys = torch.minimum(a, b) * len(self.degrees) + torch.maximum(a, b)
        at = torch.searchsorted(self.keys, keys).clamp(max=len(self.keys) - 1)
        return torch.where(self.keys[at] == keys, self.together[at], 0.0)


class TupleCounts(nn.Module):
    """u · (z - mean) / deviation of tuples of one form: z are logarithms of counts, and products of two of them.

    The logarithms are Σ log(1 + count) over the pairs of positions of each two groups (positions that are alike are one
    group), and Σ log(1 + degree) over the positions of each group: in whatever order alike nodes are named, they are
    the same. u begins at 0, so that training begins as it does without.
    """

    mean: Tensor
    deviation: Tensor

    def __init__(self, form: Form):
        super().__init__()
        self._groups, positions = form.groups, range(len(form.groups))
        pairs = {self._of_pair(a, b) for a, b in combinations(positions, 2)}
        self._pairs, self._n_groups = sorted(pairs), len(form.group_types)
        first = len(self._pairs) + self._n_groups
        self._products = list(combinations_with_replacement(range(first), 2)) if first <= _MOST_MULTIPLIED else []
        width = first + len(self._products)
        self.weight = nn.Parameter(torch.zeros(width, 1))
        self.register_buffer("mean", torch.zeros(width))
        self.register_buffer("deviation", torch.ones(width))

    def _of_pair(self, a: int, b: int) -> tuple[int, int]:
        g, h = sorted((self._groups[a], self._groups[b]))
        return g, h

    def columns(self, counts: PairCounts, rows: Tensor, times: Tensor | None = None) -> Tensor:
        """z of tuples, m x N as places among all nodes: m x width.

        `times` (m) says how many of the hyperedges that were counted are these very tuples, and are left out.
        """
        less = torch.zeros(len(rows), device=rows.device) if times is None else times
        first = torch.zeros(len(rows), len(self._pairs) + self._n_groups, device=rows.device)
        for a, b in combinations(range(rows.shape[1]), 2):
            at = self._pairs.index(self._of_pair(a, b))
            first[:, at] += torch.log1p((counts.of(rows[:, a], rows[:, b]) - less).clamp(min=0))
        for a, g in enumerate(self._groups):
            first[:, len(self._pairs) + g] += torch.log1p((counts.degrees[rows[:, a]] - less).clamp(min=0))
        if not self._products:
            return first
        i, j = torch.tensor(self._products, device=rows.device).T
        return torch.cat([first, first[:, i] * first[:, j]], dim=1)

    @torch.no_grad()
    def measure(self, columns: Tensor) -> None:
        """Take the mean and the deviation of these columns, those of the hyperedges that are fitted."""
        self.mean.copy_(columns.mean(dim=0))
        self.deviation.copy_(columns.std(dim=0, correction=0).clamp(min=1e-3))

    def forward(self, columns: Tensor) -> Tensor:
        """What is added to the logits of tuples with these columns: m."""
        scaled = ((columns - self.mean) / self.deviation).to(self.weight.dtype)
        return (scaled @ self.weight)[:, 0]
