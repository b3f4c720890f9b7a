"""Skip-gram over ranks: what is drawn and walked, and the rows that a step brings and takes back.

A rank owns the rows of its nodes in every table, and the links that leave them. A step is one global batch: of every
part its share, drawn by whoever owns the part. Each rank asks the owners of the nodes that its own share names for
their rows, and gives the gradients back to them, who add up what all ranks send. Random numbers are of a part, an
epoch and a place (`uniform_at`), and things are drawn by whole numbers, so that batches do not depend on how many ranks
there are; sums of gradients do, by rounding.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from netfold.cluster.columns import RankColumns
from netfold.cluster.exchange import RankGraph, RankRows, row_sums
from netfold.learn.draws import uniform_at
from netfold.learn.skipgram import (
    DRAWN,
    GROUP,
    Against,
    PairBatch,
    Read,
    Windows,
    add_at,
    center_weights,
    is_large,
    places_of,
)
from netfold.learn.solvers import leading_eigenpairs
from netfold.learn.starts import LARGE_ROUNDS, spectral_rows, with_offsets

__all__ = [
    "Lookup",
    "Portions",
    "RankLinks",
    "RankNoise",
    "RankSkipGram",
    "both_degrees",
    "link_steps",
    "rank_start",
    "walk_steps",
]

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Draw = Callable[..., torch.Generator]
"""From a stream of numbers (what for, part, epoch) to a generator: `Embedder._generator`."""
_BATCHES, _NOISE, _SUBSPACE = 10, 11, 12
_AT_ONCE = 1 << 18
"""Nodes of all ranks' batches that are drawn or walked together, where a step has fewer."""
_CHUNK = 1 << 14
"""Rows of the matrix that are multiplied at a time."""


# -------------------------------------------------------------------- asking owners


class Lookup:
    """Some nodes of any rank: what is sent to their owners, and what comes back. All ranks call together."""

    def __init__(self, graph: RankGraph, nodes: Tensor):
        """`nodes`: k positions, in any order, a node as often as it is asked for."""
        self._ranks = graph.ranks
        self.here = nodes
        """Of all ranks' nodes those that this rank owns, as own rows: what was asked of it."""
        if self._ranks.size == 1:
            return
        bounds = torch.from_numpy(graph.bounds[1:]).to(nodes.device)
        owners = torch.bucketize(nodes, bounds, right=True)
        counts = torch.bincount(owners, minlength=self._ranks.size)
        ones = [1] * self._ranks.size
        self._gives, self._takes = counts.tolist(), self._ranks.swap(counts, ones, ones).tolist()
        self._order = torch.argsort(owners, stable=True)
        self.here = self.there(nodes) - graph.first

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


@dataclass(frozen=True, eq=False)
class Portions:
    """How many draws of an epoch each part has, and in which of its steps."""

    counts: Ints
    """Of every part."""
    steps: int

    @staticmethod
    def by_mass(masses: Floats, draws: int, batch_size: int) -> Portions:
        """So many draws, in proportion to the parts' masses, in steps of about `batch_size`."""
        ends = np.floor(np.cumsum(masses) / np.sum(masses) * draws).astype(np.int64)
        ends[-1] = draws
        return Portions(np.diff(ends, prepend=0), math.ceil(draws / batch_size))

    def of(self, parts: range, steps: range) -> Ints:
        """Draws of some parts in some steps: steps x parts. What does not divide falls to other steps for each part."""
        before = (np.cumsum(self.counts) - self.counts) % self.steps
        own, ahead = self.counts[parts.start : parts.stop], before[parts.start : parts.stop]
        ends = (np.arange(steps.start, steps.stop + 1)[:, None] * own + ahead) // self.steps
        return np.diff(ends, axis=0)

    def chunks(self, nodes: int) -> Iterator[range]:
        """The steps, as many together as have about `_AT_ONCE` nodes, a draw having so many: the same on every rank."""
        most = max(1, int(_AT_ONCE * self.steps // max(1, nodes * int(self.counts.sum()))))
        for start in range(0, self.steps, most):
            yield range(start, min(self.steps, start + most))


class _Counter:
    """Numbers the draws of each own part in an epoch."""

    def __init__(self, graph: RankGraph, draw: Draw, epoch: int, kind: int):
        self._graph = graph
        keys = [
            int(torch.randint(1 << 62, (), generator=draw(_BATCHES, kind, p, epoch))) for p in graph.parts
        ]  # of a part and an epoch, never of a rank
        self._keys, self._done = np.array(keys, np.int64), np.zeros(len(keys), np.int64)

    def next(self, counts: Ints) -> tuple[Ints, Tensor, Tensor]:
        """For counts (steps x own parts), step by step and part by part: own part, key and number of each draw."""
        before = self._done + np.cumsum(counts, axis=0) - counts
        self._done = self._done + counts.sum(axis=0)
        flat = counts.ravel()
        part = np.repeat(np.tile(np.arange(counts.shape[1]), len(counts)), flat)
        within = np.arange(len(part)) - np.repeat(np.cumsum(flat) - flat, flat)
        places, device = np.repeat(before.ravel(), flat) + within, self._graph.ranks.device
        return part, torch.from_numpy(self._keys[part]).to(device), torch.from_numpy(places).to(device)


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
        groups = np.concatenate([np.zeros(0, np.int64), *(np.full(_length(own), p) for p, own in graph.by_part())])
        shares = np.concatenate([np.zeros(0), *(_cumulative(mass[own]) for _, own in graph.by_part())])
        self._picks = Picks(groups, shares, len(graph.folder), device)

    def draw(self, keys: Tensor, places: Tensor) -> Tensor:
        """For each key and place a group of nodes: g x S."""
        graph, count = self._graph, len(keys)
        at = (places[:, None] * DRAWN + torch.arange(DRAWN, device=places.device)).flatten() * 2
        keys = keys.repeat_interleave(DRAWN)
        part = torch.searchsorted(self._ends, uniform_at(keys, at), right=True).clamp_(max=len(self._ends) - 1)
        lookup = Lookup(graph, self._first[part])
        drawn = lookup.there(uniform_at(keys, at + 1))
        own = torch.searchsorted(self._own_first, lookup.here + graph.first, right=True) - 1 + graph.parts.start
        return lookup.back(self._picks.at(own, drawn) + graph.first).view(count, DRAWN)


def _length(own: slice) -> int:
    return int(own.stop - own.start)


def part_masses(graph: RankGraph, own: Sequence[npt.NDArray[Any]]) -> Floats:
    """The sum of what each part has, of all parts, on every rank."""
    masses = torch.zeros(len(graph.folder), dtype=torch.float64)
    for p, values in zip(graph.parts, own, strict=True):
        masses[p] = float(np.sum(values, dtype=np.float64))
    return graph.ranks.sum_(masses.to(graph.ranks.device)).cpu().numpy()


# -------------------------------------------------------------------- links and walks


class RankLinks:
    """The links that leave the own nodes: of a rank's walkers and draws, and of others' that have come here."""

    def __init__(self, graph: RankGraph):
        self.graph, device = graph, graph.ranks.device
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
        return Picks(*joined, len(graph.folder), graph.ranks.device)

    def of_parts(self, part: Ints, drawn: Tensor) -> Tensor:
        """For numbers in [0, 1), an arc of each own part in proportion to weight: both ends, 2 x k."""
        parts = torch.from_numpy(part + self.graph.parts.start).to(drawn.device)
        at = self._by_part.at(parts, drawn)
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
        return Picks(groups, shares, graph.n_nodes, graph.ranks.device)

    def onward(self, rows: Tensor, drawn: Tensor) -> Tensor:
        """For numbers in [0, 1), the place of one of the arcs of each own row, in proportion to weight; it has some."""
        if self._by_row is not None:
            return self._by_row.at(rows + self.graph.first, drawn)
        degrees = self.degrees.index_select(0, rows)
        return self.starts.index_select(0, rows) + torch.minimum((drawn * degrees).long(), degrees - 1)

    def prepare(self) -> None:
        """Make what draws read; all ranks together, as they agree on it."""
        _ = self._by_row

    def walks(
        self, nodes: Tensor, keys: Tensor, numbers: Tensor, length: int, *, p: float = 1.0, q: float = 1.0
    ) -> Tensor:
        """Walks of `length` nodes from the `nodes` (k), -1 after the end; all ranks walk together, one step at a time.

        A walker stays where it began, and asks the owner of the node that it has come to; with p or q other than 1
        (see `netfold.learn.walks.random_walks`, whose probabilities these are) that of the node before, too.
        """
        walks = nodes.new_full((length, len(nodes)), -1)
        walks[0] = nodes
        at, now, before = torch.arange(len(nodes), device=nodes.device), nodes, nodes
        for i in range(1, length):
            places = numbers[at] * length + i
            if i == 1 or p == q == 1:
                lookup = Lookup(self.graph, now)
                after = lookup.back(self._next(lookup.here, lookup.there(uniform_at(keys[at], places))))
            else:
                after = self._second(before, now, keys[at], places, p, q)
            going = (after >= 0).nonzero()[:, 0]
            at, before, now = at[going], now[going], after[going]
            walks[i, at] = now
        return walks.t()

    def _next(self, rows: Tensor, drawn: Tensor) -> Tensor:
        """The node after each own row, -1 where no link leaves it."""
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
            lookup = Lookup(self.graph, now[left])
            asked = lookup.there(before[left]), lookup.there(drawn[:, :2])
            proposed = lookup.back(self._proposed(lookup.here, *asked, p, bound))
            taken = (proposed == before[left]) | (proposed < 0) | (drawn[:, 2] * bound < low)
            unclear = (~taken).nonzero()[:, 0]  # none where q is 1
            lookup = Lookup(self.graph, before[left[unclear]])
            there = lookup.there(proposed[unclear])
            linked = lookup.back((self._find(lookup.here, there) >= 0).to(torch.uint8)).bool()
            taken[unclear] = drawn[unclear, 2] * bound < torch.where(linked, 1.0, 1 / q)
            after[left[taken]] = proposed[taken]
            left, turn = left[~taken], turn + 1
        return after

    def _proposed(self, rows: Tensor, before: Tensor, drawn: Tensor, p: float, bound: float) -> Tensor:
        """Of own rows v: t, or another node that v links to, -1 where there is none; see `_second`."""
        onward = torch.full_like(rows, -1)
        some = (self.degrees.index_select(0, rows) > 0).nonzero()[:, 0]
        rows, before, drawn = rows[some], before[some], drawn[some]
        place = self._find(rows, before)
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

    def _find(self, rows: Tensor, nodes: Tensor) -> Tensor:
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


# -------------------------------------------------------------------- batches


def link_steps(
    links: RankLinks, noise: RankNoise, draw: Draw, *, samples: int, n_negatives: int, batch_size: int
) -> tuple[int, Callable[[int], Iterator[PairBatch]]]:
    """How many steps an epoch of `samples` links has, and its batches: this rank's share in each."""
    graph = links.graph
    portions = Portions.by_mass(links.masses(), samples, batch_size)

    def of(epoch: int) -> Iterator[PairBatch]:
        counter, negatives = _Counter(graph, draw, epoch, 0), _Counter(graph, draw, epoch, 1)
        for steps in portions.chunks(2):
            counts = portions.of(graph.parts, steps)
            part, keys, places = counter.next(counts)
            pairs = links.of_parts(part, uniform_at(keys, places))
            drawn = _groups(noise, negatives, counts)
            for own, groups, row in _by_step(counts):
                nodes, met = torch.unique(pairs[:, own], return_inverse=True)
                alone, against = _against(nodes, met[0], torch.ones(len(met[0])), row, drawn[groups], n_negatives)
                yield PairBatch(nodes, alone, met, against)

    return portions.steps, of


def walk_steps(
    links: RankLinks,
    noise: RankNoise,
    draw: Draw,
    *,
    walks: int,
    length: int,
    window: int,
    n_negatives: int,
    batch_size: int,
    p: float = 1.0,
    q: float = 1.0,
) -> tuple[int, Callable[[int], Iterator[Windows]]]:
    """How many steps an epoch has in which `walks` walks leave each node with links, and its batches of them."""
    graph = links.graph
    linked = [np.flatnonzero(np.diff(graph.rows(k).indptr)) + own.start + graph.first for k, own in graph.by_part()]
    counts_of = walks * part_masses(graph, [np.ones(len(nodes)) for nodes in linked]).astype(np.int64)
    portions = Portions(counts_of, math.ceil(int(counts_of.sum()) / batch_size))
    links.prepare()

    def of(epoch: int) -> Iterator[Windows]:
        counter, negatives = _Counter(graph, draw, epoch, 0), _Counter(graph, draw, epoch, 1)
        order = [
            nodes[_order(walks, len(nodes), draw, part, epoch)] for part, nodes in zip(graph.parts, linked, strict=True)
        ]
        starts = torch.from_numpy(np.concatenate([np.zeros(0, np.int64), *order])).to(graph.ranks.device)
        first = np.cumsum([0, *map(len, order)])[:-1]
        for steps in portions.chunks(length):
            counts = portions.of(graph.parts, steps)
            part, keys, places = counter.next(counts)
            at = torch.from_numpy(first[part] if len(part) else part).to(places.device)
            walked = links.walks(starts[at + places], keys, places, length, p=p, q=q)
            drawn = _groups(noise, negatives, counts * length)
            for own, groups, row in _by_step(counts, length):
                yield _windows(walked[own], row * length, drawn[groups], window, n_negatives)

    return portions.steps, of


def _order(walks: int, count: int, draw: Draw, part: int, epoch: int) -> Ints:
    """The nodes of a part in random order, each so many times."""
    shuffled: Ints = torch.randperm(walks * count, generator=draw(_BATCHES, 2, part, epoch)).numpy() % max(1, count)
    return shuffled


def _windows(walks: Tensor, counts: Ints, drawn: Tensor, window: int, n_negatives: int) -> Windows:
    there = walks >= 0
    nodes, places = torch.unique(walks[there], return_inverse=True)
    met = torch.full_like(walks, -1)
    met[there] = places
    weights = center_weights(walks, window).flatten()
    alone, against = _against(nodes, met.clamp(min=0).flatten(), weights, counts, drawn, n_negatives)
    return Windows(nodes, alone, met, window, against)


def _groups(noise: RankNoise, counter: _Counter, counts: Ints) -> Tensor:
    """Nodes against the centers of each step and part (steps x parts), `GROUP` of which share a group: g x S."""
    _, keys, places = counter.next(-(-counts // GROUP))
    return noise.draw(keys, places)


def _by_step(counts: Ints, width: int = 1) -> Iterator[tuple[slice, slice, Ints]]:
    """For each step its draws, its groups (a draw having `width` centers), and its counts by part."""
    draws = np.cumsum([0, *counts.sum(axis=1)])
    groups = np.cumsum([0, *(-(-counts * width // GROUP)).sum(axis=1)])
    for t, row in enumerate(counts):
        yield slice(int(draws[t]), int(draws[t + 1])), slice(int(groups[t]), int(groups[t + 1])), row


def _against(
    nodes: Tensor, centers: Tensor, weights: Tensor, counts: Ints, drawn: Tensor, n_negatives: int
) -> tuple[Tensor, Against]:
    """Centers in groups, none of which is of two parts; `counts` has those of each part. And nodes drawn alone."""
    within = np.arange(int(counts.sum())) - np.repeat(np.cumsum(counts) - counts, counts)
    groups = -(-counts // GROUP)
    at = np.repeat(np.cumsum(groups) - groups, counts) * GROUP + within
    place = torch.from_numpy(at).to(centers.device)
    alone, against = places_of(nodes, drawn)
    size = len(drawn) * GROUP
    grouped = centers.new_zeros(size).index_copy_(0, place, centers)
    weighed = torch.zeros(size, device=centers.device).index_copy_(0, place, weights.to(centers.device))
    shape = (len(drawn), GROUP)
    return alone, Against(grouped.view(shape), weighed.view(shape) * (n_negatives / DRAWN), against)


# -------------------------------------------------------------------- a step


class RankSkipGram(nn.Module):
    """A network of tables that are spread over ranks; `own` has this rank's rows, in one process all of them."""

    facts: dict[str, float] = {}  # noqa: RUF012

    def __init__(self, own: nn.Module, graph: RankGraph):
        super().__init__()
        self.own, self._graph, self._ranks = own, graph, graph.ranks

    @property
    def spread(self) -> tuple[str, ...]:
        """What has a row for each own node."""
        return tuple(f"own.{name}" for name, _ in self.own.named_parameters())

    def near(self) -> list[nn.Parameter]:
        """Tables whose rows are read at the nodes of a batch."""
        raise NotImplementedError

    def far(self) -> list[nn.Parameter]:
        """Those of them that are read at nodes drawn alone, too."""
        raise NotImplementedError

    def terms(self, batch: Any, near: list[Tensor], both: list[Tensor]) -> dict[str, Tensor]:
        """The loss for rows of the tables of `near()` at a batch's nodes, and of `far()` at its context nodes."""
        raise NotImplementedError

    def loss(self, batch: Read) -> dict[str, Tensor]:
        """The terms of a step over all ranks, and the gradients at the own rows."""
        near, far = self.near(), self.far()
        around, alone = Lookup(self._graph, batch.nodes), Lookup(self._graph, batch.drawn_alone)
        at_nodes, at_drawn = _brought(around, near), _brought(alone, far)
        rows = list(at_nodes.split([table.shape[1] for table in near], dim=1))
        more = at_drawn.split([table.shape[1] for table in far], dim=1)
        place = {id(table): k for k, table in enumerate(near)}
        both = [torch.cat([rows[place[id(table)]], x]) for table, x in zip(far, more, strict=True)]
        terms = self.terms(batch, rows, both)
        torch.stack(list(terms.values())).sum().backward()  # type: ignore[no-untyped-call]
        with torch.no_grad():
            self._give(around, at_nodes, alone, at_drawn, near, far)
            sums = self._ranks.sum_(torch.stack([x.detach().double() for x in terms.values()]))
        return dict(zip(terms, sums, strict=True))

    def _give(self, around: Lookup, at_nodes: Tensor, alone: Lookup, at_drawn: Tensor, near: Any, far: Any) -> None:
        """Gradients to the owners of rows, who add up what all ranks send."""
        grads = [x.grad if x.grad is not None else torch.zeros_like(x) for x in (at_nodes, at_drawn)]
        of_near = around.there(grads[0]).split([table.shape[1] for table in near], dim=1)
        of_far = dict(zip(map(id, far), alone.there(grads[1]).split([t.shape[1] for t in far], dim=1), strict=True))
        for table, rows in zip(near, of_near, strict=True):
            index, values = around.here, rows
            if id(table) in of_far:
                index, values = torch.cat([index, alone.here]), torch.cat([values, of_far[id(table)]])
            nodes, at = torch.unique(index, return_inverse=True)
            sums = values.new_zeros(len(nodes), table.shape[1])
            add_at(sums, at, values.contiguous())
            table.grad = torch.sparse_coo_tensor(nodes[None], sums, table.shape, is_coalesced=True)


def _brought(lookup: Lookup, tables: list[nn.Parameter]) -> Tensor:
    """Rows of tables, side by side, from their owners."""
    own = torch.cat([table.detach().index_select(0, lookup.here) for table in tables], dim=1)
    return lookup.back(own).requires_grad_()


# -------------------------------------------------------------------- where training begins


@torch.no_grad()
def rank_start(
    graph: RankGraph, degrees: Floats, draw: Draw, *, dim: int, window: int, n_negatives: int
) -> tuple[Tensor, Tensor]:
    """Vectors and contexts of the own nodes (m x dim): `netfold.learn.starts.spectral_start`, over ranks."""
    ranks, n = graph.ranks, graph.n_nodes
    like = torch.empty(0, dtype=torch.float64 if n <= 1000 else torch.float32, device=ranks.device)
    roots = np.zeros(graph.m)
    roots[degrees > 0] = 1 / np.sqrt(degrees[degrees > 0])
    whole = float(ranks.sum_(torch.tensor([degrees.sum()], dtype=torch.float64)))
    first = torch.zeros(graph.m, dim, device=ranks.device)
    rank = min(dim - 1, n - 1)
    if rank:
        rows = RankRows(graph, _CHUNK, dtype=like.dtype, device=ranks.device)
        exchange = rows.exchange()
        at = rows.at_columns(exchange, torch.from_numpy(roots))
        rows.weighed(lambda part, start: _scaled(part, roots[start : start + part.shape[0]], at))
        top = torch.from_numpy(np.sqrt(degrees / whole)).to(like)

        def times(x: Tensor) -> Tensor:
            y = rows.matmul(exchange, x.contiguous())
            if graph.folder.directed:
                rows.add_transposed(exchange, x.contiguous(), y)
            return y - torch.outer(top, ranks.sum_(top @ x))

        columns = RankColumns(graph, lambda part, number: draw(_SUBSPACE, part, number), like)
        values, vectors = _leading(times, columns, n, rank, like)
        scale = torch.from_numpy(roots * math.sqrt(whole)).to(ranks.device)
        first[:, 1 : rank + 1] = spectral_rows(values, vectors.to(values), scale, window)
    noise = torch.zeros_like(first)
    for p, own in graph.by_part():
        drawn = torch.rand(_length(own), dim, generator=draw(_NOISE, p))
        noise[own] = ((drawn - 0.5) / dim).to(noise)
    return with_offsets(first, torch.from_numpy(degrees > 0).to(ranks.device), noise, n_negatives)


def _scaled(rows: Any, of_rows: Floats, at: Callable[[npt.NDArray[Any]], npt.NDArray[Any]]) -> Any:
    """D^-½ A D^-½ of some rows."""
    from scipy import sparse

    data = np.repeat(of_rows, np.diff(rows.indptr)) * rows.data.astype(np.float64) * at(rows.indices)
    return sparse.csr_array((data, rows.indices, rows.indptr), shape=rows.shape)


def _leading(
    times: Callable[[Tensor], Tensor], columns: RankColumns, n: int, rank: int, like: Tensor
) -> tuple[Tensor, Tensor]:
    """The leading eigenpairs: as `spectral_start` takes them, some rounds of small graphs, and of large ones until
    they have converged."""
    if is_large(n):
        pairs = leading_eigenpairs(times, n, rank, None, upper=True, rounds=LARGE_ROUNDS, like=like, columns=columns)
        return pairs.values.to(pairs.vectors), pairs.vectors
    basis = columns.orthonormal(columns.random(min(rank + 10, n)))
    for _ in range(6):
        once = times(basis)
        basis = columns.orthonormal(once + times(once))
    small = columns.inner(basis, times(basis)).double().cpu()
    values, turn = torch.linalg.eigh((small + small.T) / 2)
    order = torch.argsort(values, descending=True)[:rank]
    return values[order].to(basis), basis @ turn[:, order].to(basis)


def both_degrees(graph: RankGraph) -> Floats:
    """Of each own node the weight of its links, in both directions where the graph is directed: m."""
    own = np.concatenate([np.zeros(0), *(row_sums(graph.rows(p)) for p in graph.parts)])
    if not graph.folder.directed:
        return own
    rows = RankRows(graph, _CHUNK, dtype=torch.float64, device=torch.device("cpu"), resident=False)
    back = torch.zeros(graph.m, 1, dtype=torch.float64)
    rows.add_transposed(rows.exchange(), torch.ones_like(back), back)
    both: Floats = own + back[:, 0].numpy()
    return both
