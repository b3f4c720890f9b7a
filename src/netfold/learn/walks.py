"""Links as walks read them, and random walks on them, all at once: DeepWalk's of first order, node2vec's of second."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from scipy import sparse
from torch import Tensor

from netfold.learn.draws import uniform
from netfold.learn.sparse_rows import PIECE

__all__ = ["Links", "random_walks"]


_SLOTS = 8
"""The least number of bytes per link in the table that tells most absent links from present ones."""
_MIX = -7046029254386353131
"""2⁶⁴ divided by the golden ratio, as a signed number: its product with a key has well mixed leading bits."""


@dataclass(frozen=True, eq=False)
class Links:
    """Where a walk may go: the non-zeros (i, j) of a matrix, row by row, with weights s_ij > 0.

    Nodes are rows; whatever they are called elsewhere, here they are 0..n-1. A link is known by its place among the
    non-zeros, its entry.
    """

    starts: Tensor
    """n + 1: where each row's entries start."""
    ends: Tensor
    """nnz: the node that each entry leads to, in order within its row."""
    degrees: Tensor
    """n: how many entries a row has."""
    keys: Tensor
    """nnz: i n + j, in order."""
    shares: Tensor | None
    """nnz: i + Σ_{j' <= j} s_ij' / Σ_j' s_ij', in order too; None where the weights of each row are alike."""

    @staticmethod
    def from_scipy(matrix: sparse.csr_array, device: Any = "cpu") -> Links:
        """The links of a sorted CSR matrix of positive weights."""
        n, starts = matrix.shape[0], matrix.indptr.astype(np.int64)
        degrees, ends = np.diff(starts), matrix.indices.astype(np.int64)
        rows = np.repeat(np.arange(n), degrees)
        alike = not np.any((matrix.data[1:] != matrix.data[:-1]) & (rows[1:] == rows[:-1]))
        shares = None if alike else torch.from_numpy(_shares(matrix.data, starts, rows)).to(device)
        arrays = [torch.from_numpy(x).to(device) for x in (starts, ends, degrees, rows * n + ends)]
        return Links(arrays[0], arrays[1], arrays[2], arrays[3], shares)

    def __len__(self) -> int:
        return len(self.degrees)

    @property
    def device(self) -> torch.device:
        """Where they are."""
        return self.starts.device

    @cached_property
    def some_end(self) -> bool:
        """Whether there are nodes without links, where a walk ends."""
        return bool((self.degrees == 0).any())

    @cached_property
    def with_links(self) -> Tensor:
        """Those that have links, in order."""
        return self.degrees.nonzero()[:, 0]

    @cached_property
    def turned(self) -> Tensor:
        """nnz: the entry (j, i) of each entry (i, j), or -1."""
        return self.find(self.ends, self.keys // len(self))

    @cached_property
    def _seen(self) -> Tensor:
        """A table of bytes, set at the hash of every key."""
        bits = math.ceil(math.log2(_SLOTS * max(1, len(self.keys))))
        table = torch.zeros(1 << bits, dtype=torch.bool, device=self.device)
        table[_hashed(self.keys, len(table))] = True
        return table

    def drawn(self, nodes: Tensor, uniform: Tensor) -> Tensor:
        """One entry of each node's row, with probability s_ij / Σ_j s_ij, for uniform numbers in [0, 1)."""
        first, degree = self.starts.index_select(0, nodes), self.degrees.index_select(0, nodes)
        if self.shares is None:
            at = (uniform * degree).long().add_(first)
        else:
            at = torch.searchsorted(self.shares, nodes + uniform, right=True)
        return torch.minimum(at, first + degree - 1)  # where rounding led beyond the row

    def find(self, rows: Tensor, columns: Tensor) -> Tensor:
        """The entry (i, j) of each pair, or -1 where there is no such link: O(log nnz)."""
        return self._at(rows * len(self) + columns)

    def linked(self, rows: Tensor, columns: Tensor) -> Tensor:
        """Whether there is a link (i, j), for each pair: mostly by one look, otherwise by a search."""
        keys = rows * len(self) + columns
        is_linked = self._seen.index_select(0, _hashed(keys, len(self._seen)))
        perhaps = is_linked.nonzero()[:, 0]
        is_linked[perhaps] = self._at(keys.index_select(0, perhaps)) >= 0
        return is_linked

    def _at(self, keys: Tensor) -> Tensor:
        at = torch.searchsorted(self.keys, keys).clamp_(max=len(self.keys) - 1)
        return torch.where(self.keys.index_select(0, at) == keys, at, -1)

    def share(self, entries: Tensor) -> Tensor:
        """s_ij / Σ_j s_ij of each entry; 0 for -1, which stands for no link."""
        at = entries.clamp(min=0)
        rows = self.keys.index_select(0, at) // len(self)
        if self.shares is None:
            shares = self.degrees.index_select(0, rows).double().reciprocal()
        else:
            before = self.shares.index_select(0, (at - 1).clamp_(min=0))
            first = self.starts.index_select(0, rows) == at
            shares = self.shares.index_select(0, at) - torch.where(first, rows.double(), before)
        return torch.where(entries >= 0, shares, 0.0)


def _hashed(keys: Tensor, size: int) -> Tensor:
    """A place in a table of 2^b for each key: the leading b bits of its product with a large odd number."""
    bits = size.bit_length() - 1
    return ((keys * _MIX) >> (64 - bits)) & (size - 1)


def _shares(
    weights: npt.NDArray[np.float32], starts: npt.NDArray[np.int64], rows: npt.NDArray[np.int64]
) -> npt.NDArray[np.float64]:
    """i + Σ_{j' <= j} s_ij' / Σ_j' s_ij': weights scaled by row, so that a heavy one takes no digits from a light."""
    some = starts[:-1][np.diff(starts) > 0]
    most = np.repeat(np.maximum.reduceat(weights, some), np.diff(np.append(some, len(weights))))
    sums = np.cumsum(weights / most.astype(np.float64))
    before = np.append(0.0, sums)[starts]
    shares: npt.NDArray[np.float64] = rows + np.clip((sums - before[rows]) / np.diff(before)[rows], 0, 1)
    return shares


_ROUNDS = 64
"""How often proposals may be rejected before a step is drawn from the list of all its weights."""


def random_walks(
    links: Links, nodes: Tensor, length: int, generator: torch.Generator, *, p: float = 1.0, q: float = 1.0
) -> Tensor:
    """A walk of `length` nodes from each of the `nodes`, -1 after its end where it came to a node without links.

    From v, having come from t, a walk goes on to x with probability in proportion to s_vx alpha(t, x), where alpha is
    1/p for x = t, 1 for x that t links to, and 1/q for all others (Grover and Leskovec, KDD 2016, Eq. 2); the first
    step, and with p = q = 1 every step, in proportion to s_vx. This is exact, and needs no table of pairs of links.

    `nodes`: m, where the links are. Random numbers are drawn on the generator's device and taken to that of the links,
    so that a generator of the CPU gives the same walks everywhere. The walks: m x `length`.

    >>> from scipy import sparse
    >>> there_and_back = Links.from_scipy(sparse.csr_array([[0, 1.0], [1.0, 0]]))
    >>> random_walks(there_and_back, torch.tensor([0, 1]), 4, torch.Generator()).tolist()
    [[0, 1, 0, 1], [1, 0, 1, 0]]
    """
    draw = _drawing(generator, links.device)
    walks = nodes.new_full((length, len(nodes)), -1)
    walks[0] = nodes
    at, now, step = torch.arange(len(nodes), device=nodes.device), nodes, _Step(links, p, q, draw)
    before = entries = now[:0]
    for i in range(1, length):
        if links.some_end:
            going = (links.degrees.index_select(0, now) > 0).nonzero()[:, 0]
            at, now = at[going], now[going]
            before, entries = (before, entries) if i == 1 else (before[going], entries[going])
        entries = links.drawn(now, draw(len(now))) if i == 1 or p == q == 1 else step(before, now, entries)
        before, now = now, links.ends.index_select(0, entries)
        walks[i, at] = now
    return walks.t()


Draw = Callable[[int], Tensor]
"""So many uniform numbers in [0, 1), in float64: those of float32 are too coarse to choose among a hub's neighbors."""


def _drawing(generator: torch.Generator, device: torch.device) -> Draw:
    def draw(count: int) -> Tensor:
        return uniform((count,), generator, device)

    return draw


@dataclass(frozen=True)
class _Step:
    """A step of second order, by rejection.

    With b = max(1, 1/q), s_vx alpha = s_vx min(alpha, b) + [x = t] s_vt max(0, 1/p - b): the second part is drawn
    directly, the first by proposals in proportion to s_vx, each accepted with probability min(alpha, b) / b. So a
    round succeeds with a probability of at least min(q, 1/q), returns apart, however small p is.
    """

    links: Links
    p: float
    q: float
    draw: Draw

    @property
    def bound(self) -> float:
        """b"""
        return max(1.0, 1 / self.q)

    def __call__(self, before: Tensor, now: Tensor, entries: Tensor) -> Tensor:
        """The next entry of each walk that went from t = `before` to v = `now` by the entry (t, v)."""
        after = torch.empty_like(now)
        left = torch.arange(len(now), device=now.device)
        back = self._back(entries) if 1 / self.p > self.bound else None
        for _ in range(_ROUNDS):
            onward, taken = self._proposed(before, now)
            if back is not None:
                returning = self.draw(len(now)) < back[1]
                onward, taken = torch.where(returning, back[0], onward), taken | returning
            done, rest = taken.nonzero()[:, 0], (~taken).nonzero()[:, 0]
            after[left.index_select(0, done)] = onward.index_select(0, done)
            if not len(rest):
                return after
            left, before, now = (x.index_select(0, rest) for x in (left, before, now))
            back = None if back is None else (back[0].index_select(0, rest), back[1].index_select(0, rest))
        after[left] = self._listed(before, now)
        return after

    def _back(self, entries: Tensor) -> tuple[Tensor, Tensor]:
        """The entry (v, t), and the weight of the second part in both."""
        turned = self.links.turned.index_select(0, entries)
        excess = (1 / self.p - self.bound) * self.links.share(turned)
        return turned, excess / (self.bound + excess)

    def _proposed(self, before: Tensor, now: Tensor) -> tuple[Tensor, Tensor]:
        """An entry (v, x), and whether it is accepted; as it must be where there is no other."""
        entries = self.links.drawn(now, self.draw(len(now)))
        to, level = self.links.ends.index_select(0, entries), self.draw(len(now)) * self.bound
        returns = to == before
        taken = level < torch.where(returns, 1 / self.p, min(1.0, 1 / self.q))
        taken |= self.links.degrees.index_select(0, now) == 1
        if self.q != 1:  # between the least and the most that alpha can be, it must be known
            unclear = (~(taken | returns)).nonzero()[:, 0]
            linked = self.links.linked(before.index_select(0, unclear), to.index_select(0, unclear))
            taken[unclear] = level.index_select(0, unclear) < torch.where(linked, 1.0, 1 / self.q)
        return entries, taken

    def _listed(self, before: Tensor, now: Tensor) -> Tensor:
        """The next entries from lists of all that there are: where hardly any proposal is accepted."""
        uniform, onward = self.draw(len(now)), torch.empty_like(now)
        size = max(1, PIECE[now.device.type] // int(self.links.degrees[now].max()))
        for part in torch.split(torch.arange(len(now), device=now.device), size):
            onward[part] = self._from_list(before[part], now[part], uniform[part])
        return onward

    def _from_list(self, before: Tensor, now: Tensor, uniform: Tensor) -> Tensor:
        counts = self.links.degrees[now]
        stops = counts.cumsum(0)
        walk = torch.arange(len(now), device=now.device).repeat_interleave(counts)
        entries = torch.arange(len(walk), device=now.device) + (self.links.starts[now] - stops + counts)[walk]
        from_, to = before[walk], self.links.ends[entries]
        alpha = torch.where(self.links.linked(from_, to), 1.0, 1 / self.q)
        alpha = torch.where(from_ == to, 1 / self.p, alpha)
        sums = torch.cat([uniform.new_zeros(1), (self.links.share(entries) * alpha).cumsum(0)])
        low, high = sums[stops - counts], sums[stops]
        at = torch.searchsorted(sums[1:], low + uniform * (high - low), right=True)
        return entries[torch.minimum(at, stops - 1)]
