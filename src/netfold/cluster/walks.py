"""What ranks draw and walk together: nodes asked for of their owners, links and nodes drawn alike whoever owns them.

Random numbers are of a key and a place (`uniform_at`), and things are drawn by whole numbers: what is drawn does not
depend on how many ranks there are, to the bit.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from netfold.cluster.exchange import RankGraph
from netfold.learn.draws import uniform_at
from netfold.learn.skipgram import DRAWN

__all__ = ["Floats", "Ints", "Lookup", "Picks", "RankLinks", "RankNoise", "part_masses"]

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


# -------------------------------------------------------------------- asking owners


class Lookup:
    """Some nodes of any rank: what is sent to their owners, and what comes back. All ranks call together."""

    def __init__(self, graph: RankGraph, nodes: Tensor, *beside: Tensor):
        """`nodes`: k positions, a node as often as it is asked for, in any order.

        `beside` is what is told with each, of 64 bits a number: k, or k x c.
        """
        self._ranks = graph.ranks
        self.here = nodes
        """Of all ranks' nodes those that this rank owns, as own rows: what was asked of it."""
        self.beside = beside
        """What came with each."""
        if self._ranks.size == 1:
            return
        bounds = torch.from_numpy(graph.bounds[1:]).to(nodes.device)
        owners = torch.bucketize(nodes, bounds, right=True)
        counts = torch.bincount(owners, minlength=self._ranks.size)
        ones = [1] * self._ranks.size
        self._gives, self._takes = counts.tolist(), self._ranks.swap(counts, ones, ones).tolist()
        self._order = torch.argsort(owners, stable=True)
        columns = [x.view(torch.int64).view(len(x), math.prod(x.shape[1:])) for x in (nodes, *beside)]
        came = torch.split(self.there(torch.cat(columns, dim=1)), [x.shape[1] for x in columns], dim=1)
        self.here = came[0][:, 0] - graph.first
        self.beside = tuple(
            y.contiguous().view(x.dtype).view(len(y), *x.shape[1:]) for x, y in zip(beside, came[1:], strict=True)
        )

    def there(self, x: Tensor) -> Tensor:
        """A row for each node (k x ...), to its owner: one for each of `here`."""
        if self._ranks.size == 1:
            return x
        return self._ranks.swap(x.index_select(0, self._order), self._gives, self._takes)

    def back(self, y: Tensor) -> Tensor:
        """A row for each of `here`, to who asked: one for each node."""
        if self._ranks.size == 1:
            return y
        x = self._ranks.swap(y, self._takes, self._gives)
        return torch.empty_like(x).index_copy_(0, self._order, x)


# -------------------------------------------------------------------- drawing


class Picks:
    """Things in numbered groups, one of a group drawn in proportion to weights: the same one wherever the group is.

    By whole numbers, group 2^b + floor(2^b share): what a fraction is rounded to would depend on those before it.
    """

    def __init__(self, groups: Ints, shares: Floats, count: int, device: torch.device):
        """`groups`: k, ascending, of `count` there are; `shares`: k, cumulative in its group, 1 at its last."""
        self._bits = 62 - max(1, int(count).bit_length())
        keys = (groups << self._bits) + np.floor(shares * 2.0**self._bits).astype(np.int64)
        self._keys = torch.from_numpy(keys).to(device)

    def at(self, groups: Tensor, drawn: Tensor) -> Tensor:
        """For numbers in [0, 1), the place of one thing of each group."""
        keys = (groups << self._bits) + (drawn * 2.0**self._bits).long()
        return torch.searchsorted(self._keys, keys, right=True)

    def span(self, groups: Tensor, places: Tensor) -> tuple[Tensor, Tensor]:
        """From which number on a thing of a group is drawn, and its share."""
        start = groups << self._bits
        low = torch.maximum(self._keys.index_select(0, (places - 1).clamp(min=0)), start)
        low = torch.where(places == 0, start, low)
        wide = self._keys.index_select(0, places) - low
        return (low - start).double() * 2.0**-self._bits, wide.double() * 2.0**-self._bits


def _cumulative(weights: npt.NDArray[Any]) -> Floats:
    sums = np.cumsum(weights, dtype=np.float64)
    return sums / sums[-1] if len(sums) and sums[-1] > 0 else sums


class RankNoise:
    """Nodes of all ranks, drawn in proportion to degree^¾: the part by numbers that all know, the node by its owner."""

    def __init__(self, graph: RankGraph, degrees: Floats, *, power: float = 0.75):
        """`degrees`: m, of links in either direction."""
        self._graph, device = graph, graph.ranks.device
        most = graph.ranks.most(float(degrees.max(initial=0)))
        mass = (degrees / most) ** power
        self.masses = part_masses(graph, [mass[own] for _, own in graph.by_part()])
        self._ends = torch.from_numpy(_cumulative(self.masses)).to(device)
        self._first = torch.from_numpy(graph.folder.starts[:-1]).to(device)
        self._own_first = torch.from_numpy(graph.folder.starts[graph.parts.start : graph.parts.stop]).to(device)
        groups = np.concatenate(
            [np.zeros(0, np.int64), *(np.full(own.stop - own.start, p) for p, own in graph.by_part())]
        )
        shares = np.concatenate([np.zeros(0), *(_cumulative(mass[own]) for _, own in graph.by_part())])
        self._picks = Picks(groups, shares, len(graph.folder), device)

    def draw(self, keys: Tensor, places: Tensor) -> Tensor:
        """For each key and place a group of nodes: g x S."""
        graph, count = self._graph, len(keys)
        at = (places[:, None] * DRAWN + torch.arange(DRAWN, device=places.device)).flatten() * 2
        keys = keys.repeat_interleave(DRAWN)
        part = torch.searchsorted(self._ends, uniform_at(keys, at), right=True).clamp_(max=len(self._ends) - 1)
        lookup = Lookup(graph, self._first[part], uniform_at(keys, at + 1))
        own = torch.searchsorted(self._own_first, lookup.here + graph.first, right=True) - 1 + graph.parts.start
        return lookup.back(self._picks.at(own, *lookup.beside) + graph.first).view(count, DRAWN)


def part_masses(graph: RankGraph, own: Sequence[npt.NDArray[Any]]) -> Floats:
    """The sum of what each part has, of all parts, on every rank."""
    masses = torch.zeros(len(graph.folder), dtype=torch.float64)
    for p, values in zip(graph.parts, own, strict=True):
        masses[p] = float(np.sum(values, dtype=np.float64))
    return graph.ranks.sum_(masses.to(graph.ranks.device)).cpu().numpy()


# -------------------------------------------------------------------- links and walks


class RankLinks:
    """The links that leave the own nodes: of a rank's walkers and draws, and of others' that have come here.

    They are where the ranks compute, or on another `device`.
    """

    def __init__(self, graph: RankGraph, device: torch.device | None = None):
        self.graph, device = graph, device or graph.ranks.device
        parts = [graph.rows(p) for p in graph.parts]
        ends = [np.asarray(rows.indices).astype(np.int64) for rows in parts]
        degrees = np.concatenate([np.zeros(0, np.int64), *(np.diff(rows.indptr) for rows in parts)])
        self.ends = torch.from_numpy(np.concatenate([np.zeros(0, np.int64), *ends])).to(device)
        """arcs: the position of the node that each leads to."""
        self.degrees = torch.from_numpy(degrees.astype(np.int64)).to(device)
        self.starts = torch.cat([self.degrees.new_zeros(1), self.degrees.cumsum(0)])
        """m + 1: where each own row's arcs start."""

    def masses(self) -> Floats:
        """The weight of each part's arcs, of all parts."""
        return part_masses(self.graph, [self.graph.rows(p).data for p in self.graph.parts])

    @cached_property
    def _by_part(self) -> Picks:
        graph = self.graph
        groups = [np.full(len(graph.rows(p).data), p, np.int64) for p in graph.parts]
        shares = [_cumulative(graph.rows(p).data) for p in graph.parts]
        none: list[Any] = [np.zeros(0)]
        joined = np.concatenate([np.zeros(0, np.int64), *groups]), np.concatenate([*none, *shares])
        return Picks(*joined, len(graph.folder), self.ends.device)

    def of_parts(self, part: Tensor, drawn: Tensor) -> Tensor:
        """For numbers in [0, 1), an arc of each own part in proportion to weight: both ends, 2 x k."""
        at = self._by_part.at(part + self.graph.parts.start, drawn)
        rows = torch.searchsorted(self.starts, at, right=True) - 1 + self.graph.first
        return torch.stack([rows, self.ends[at]])

    @cached_property
    def _by_row(self) -> Picks | None:
        """None where the weights of every node's links, on all ranks, are alike."""
        graph = self.graph
        parts = [graph.rows(p) for p in graph.parts]
        alike = all(len(rows.data) == 0 or not np.any(np.diff(rows.data)) for rows in parts)
        if not graph.ranks.most(not alike):
            return None
        groups = np.repeat(np.arange(graph.m) + graph.first, self.degrees.cpu().numpy())
        shares = np.concatenate([np.zeros(0), *(_row_shares(rows) for rows in parts)])
        return Picks(groups, shares, graph.n_nodes, self.ends.device)

    def onward(self, rows: Tensor, drawn: Tensor) -> Tensor:
        """For numbers in [0, 1), the place of one of the arcs of each own row, in proportion to weight; it has some."""
        if self._by_row is not None:
            return self._by_row.at(rows + self.graph.first, drawn)
        degrees = self.degrees.index_select(0, rows)
        return self.starts.index_select(0, rows) + torch.minimum((drawn * degrees).long(), degrees - 1)

    @cached_property
    def _some_end(self) -> bool:
        """Whether there is a node, on any rank, that no link leaves and a walk may come to."""
        directed = self.graph.folder.directed  # if not, a link leads back
        return bool(self.graph.ranks.most(directed and bool((self.degrees == 0).any())))

    def prepare(self) -> None:
        """Make what draws read; all ranks together, as they agree on it."""
        _ = self._by_row, self._some_end

    def walks(
        self, nodes: Tensor, keys: Tensor, numbers: Tensor, length: int, *, p: float = 1.0, q: float = 1.0
    ) -> Tensor:
        """Walks of `length` nodes from the `nodes` (k), which have links, -1 after the end; all ranks walk together.

        A walker stays where it began, and asks the owner of the node that it has come to; with p or q other than 1
        (see `netfold.learn.walks.random_walks`, whose probabilities these are) that of the node before, too.
        """
        walks = nodes.new_full((length, len(nodes)), -1)
        walks[0] = nodes
        at, now, before = torch.arange(len(nodes), device=nodes.device), nodes, nodes
        for i in range(1, length):
            places = numbers * length + i
            if i == 1 or p == q == 1:
                lookup = Lookup(self.graph, now, uniform_at(keys, places))
                after = lookup.back(self._next(lookup.here, *lookup.beside))
            else:
                after = self._second(before, now, keys, places, p, q)
            if not self._some_end:
                walks[i], before, now = after, now, after
                continue
            going = (after >= 0).nonzero()[:, 0]
            at, before, now, keys, numbers = (x[going] for x in (at, now, after, keys, numbers))
            walks[i, at] = now
        return walks.t()

    def _next(self, rows: Tensor, drawn: Tensor) -> Tensor:
        """The node after each own row, -1 where no link leaves it."""
        if not self._some_end:
            return self.ends.index_select(0, self.onward(rows, drawn))
        onward = torch.full_like(rows, -1)
        some = (self.degrees.index_select(0, rows) > 0).nonzero()[:, 0]
        onward[some] = self.ends[self.onward(rows[some], drawn[some])]
        return onward

    def _second(self, before: Tensor, now: Tensor, keys: Tensor, places: Tensor, p: float, q: float) -> Tensor:
        """The next node of walks that went from t = `before` to v = `now`, -1 where no link leaves v.

        v's owner proposes t in proportion to s_vt / p, which is taken, or else x in proportion to b s_vx, b the larger
        of 1 and 1/q, which is taken with probability alpha / b: t's owner says whether t links to x. All ranks go on
        until nobody is left without a node.
        """
        after, left = torch.full_like(now, -1), torch.arange(len(now), device=now.device)
        low, bound, turn = min(1.0, 1 / q), max(1.0, 1 / q), 0
        while self.graph.ranks.most(len(left)):
            drawn = torch.stack([uniform_at(keys[left], (places[left] << 12) + 3 * turn + k) for k in range(3)], dim=1)
            lookup = Lookup(self.graph, now[left], before[left], drawn[:, :2].contiguous())
            asked, chances = lookup.beside
            proposed = lookup.back(self._proposed(lookup.here, asked, chances, p, bound))
            taken = (proposed == before[left]) | (proposed < 0) | (drawn[:, 2] * bound < low)
            unclear = (~taken).nonzero()[:, 0]  # none where q is 1
            lookup = Lookup(self.graph, before[left[unclear]], proposed[unclear])
            linked = lookup.back((self.find(lookup.here, *lookup.beside) >= 0).to(torch.uint8)).bool()
            taken[unclear] = drawn[unclear, 2] * bound < torch.where(linked, 1.0, 1 / q)
            after[left[taken]] = proposed[taken]
            left, turn = left[~taken], turn + 1
        return after

    def _proposed(self, rows: Tensor, before: Tensor, drawn: Tensor, p: float, bound: float) -> Tensor:
        """Of own rows v: t, or another node that v links to, -1 where there is none; see `_second`."""
        onward = torch.full_like(rows, -1)
        some = (self.degrees.index_select(0, rows) > 0).nonzero()[:, 0]
        rows, before, drawn = rows[some], before[some], drawn[some]
        place = self.find(rows, before)
        first, share = self._span(rows, place.clamp(min=0))
        share = torch.where(place >= 0, share, 0.0)
        back = share / p
        level = drawn[:, 1] * (1 - share)
        others = self.ends[self.onward(rows, torch.where(level < first, level, level + share))]
        onward[some] = torch.where(drawn[:, 0] * (back + (1 - share) * bound) < back, before, others)
        return onward

    def _span(self, rows: Tensor, places: Tensor) -> tuple[Tensor, Tensor]:
        """From which number on an arc of a row is drawn, and its share of the row's weight."""
        if self._by_row is not None:
            return self._by_row.span(rows + self.graph.first, places)
        share = self.degrees.index_select(0, rows).double().reciprocal()
        return (places - self.starts.index_select(0, rows)).double() * share, share

    @cached_property
    def _pairs(self) -> Tensor:
        """arcs: own row times n, and the node that it leads to: in order."""
        rows = torch.arange(self.graph.m, device=self.ends.device).repeat_interleave(self.degrees)
        return rows * self.graph.n_nodes + self.ends

    def find(self, rows: Tensor, nodes: Tensor) -> Tensor:
        """The place of the arc from an own row to a node, -1 where there is none."""
        if not len(self._pairs):
            return torch.full_like(rows, -1)
        keys = rows * self.graph.n_nodes + nodes
        at = torch.searchsorted(self._pairs, keys).clamp_(max=len(self._pairs) - 1)
        return torch.where(self._pairs.index_select(0, at) == keys, at, -1)


def _row_shares(rows: Any) -> Floats:
    """Of each entry, the share of its row's weights up to it; weights are scaled by row, as some are far heavier."""
    if not len(rows.data):
        return np.zeros(0)
    starts = np.asarray(rows.indptr, np.int64)
    degrees = np.diff(starts)
    row, some = np.repeat(np.arange(len(degrees)), degrees), starts[:-1][degrees > 0]
    most = np.repeat(np.maximum.reduceat(np.asarray(rows.data), some), degrees[degrees > 0])
    sums = np.cumsum(rows.data / most.astype(np.float64))
    before = np.append(0.0, sums)[starts]
    shares: Floats = np.clip((sums - before[row]) / np.diff(before)[row], 0, 1)
    shares[starts[1:][degrees > 0] - 1] = 1
    return shares
