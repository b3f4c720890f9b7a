"""Skip-gram over ranks: what is drawn and walked, and the rows that a step brings and takes back.

A rank owns the rows of its nodes in every table, and the links that leave them. A step is one global batch: of every
part its share, drawn by whoever owns the part. Each rank asks the owners of the nodes that its own share names for
their rows, and gives the gradients back to them, who add up what all ranks send. Random numbers are of a part, an
epoch and a place (`uniform_at`), and things are drawn by whole numbers, so that batches do not depend on how many ranks
there are; sums of gradients do, by rounding.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from netfold.cluster.exchange import RankGraph, RankRows, row_sums
from netfold.cluster.network import RankColumns, RankNetwork
from netfold.cluster.walks import Floats, Ints, RankLinks, RankNoise, part_masses
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
    "ALONE", "HERE", "MET", "Portions", "RankSkipGram", "RankStep", "both_degrees", "expected_traffic", "link_steps",
    "rank_start", "walk_steps",
]  # fmt: skip

Streams = Callable[..., torch.Generator]
"""From a stream of numbers (what for, part, epoch) to a generator: `Embedder._generator`."""
_BATCHES, _NOISE, _SUBSPACE = 10, 11, 12
_AT_ONCE = {"cpu": 1 << 18, "cuda": 1 << 23}
"""Nodes of all ranks' batches that are drawn or walked together, where a step has fewer; a GPU wants many."""
_STRETCH = 5 * GROUP**2
"""Nodes of which a group of links has few twice: one pair of them in 10 groups, where all have as many links."""
_CHUNK = 1 << 14
"""Rows of the matrix that are multiplied at a time."""


# -------------------------------------------------------------------- an epoch's draws


@dataclass(frozen=True, eq=False)
class Portions:
    """How many draws of an epoch each part has, and in which of its steps."""

    counts: Ints
    """Of every part."""
    batch_size: int
    """Draws of a step, of all parts together; the last has what is left, as in one process."""

    @staticmethod
    def by_mass(masses: Floats, draws: int, batch_size: int) -> Portions:
        """So many draws, in proportion to the parts' masses."""
        ends = np.floor(np.cumsum(masses) / np.sum(masses) * draws).astype(np.int64)
        ends[-1] = draws
        return Portions(np.diff(ends, prepend=0), batch_size)

    @property
    def steps(self) -> int:
        """How many there are."""
        return math.ceil(int(self.counts.sum()) / self.batch_size)

    def of(self, parts: range, steps: range) -> Ints:
        """Draws of some parts in some steps: steps x parts. What does not divide falls to other steps for each part."""
        total = int(self.counts.sum())
        done = [min(t * self.batch_size, total) for t in range(steps.start, steps.stop + 1)]
        before, own = (x[parts.start : parts.stop] for x in (np.cumsum(self.counts) - self.counts, self.counts))
        ends = (np.array(done, object)[:, None] * own + before) // max(1, total)  # of any size
        whole: Ints = np.diff(ends.astype(np.int64), axis=0)
        return whole

    def chunks(self, nodes: int, device: str = "cpu") -> Iterator[range]:
        """The steps, as many together as have about `_AT_ONCE` nodes, a draw having so many: the same on every rank."""
        most = max(1, int(_AT_ONCE[device] * self.steps // max(1, nodes * int(self.counts.sum()))))
        for start in range(0, self.steps, most):
            yield range(start, min(self.steps, start + most))


class _Counter:
    """Numbers the draws of each of some parts in an epoch."""

    def __init__(self, parts: Iterable[int], draw: Streams, epoch: int, kind: int, device: torch.device):
        keys = [
            int(torch.randint(1 << 62, (), generator=draw(_BATCHES, kind, int(p), epoch))) for p in parts
        ]  # of a part and an epoch, never of a rank
        self._keys = torch.tensor(keys, dtype=torch.int64, device=device)
        self._done = np.zeros(len(keys), np.int64)

    def next(self, counts: Ints) -> tuple[Tensor, Tensor, Tensor]:
        """For counts (steps x parts), step by step and part by part: which part, key and number of each draw."""
        device = self._keys.device
        before = self._done + np.cumsum(counts, axis=0) - counts
        self._done = self._done + counts.sum(axis=0)
        cell, within = _repeated(counts.ravel(), device)
        part = cell % max(1, counts.shape[1])
        return part, self._keys[part], torch.from_numpy(before.ravel()).to(device)[cell] + within


def _repeated(counts: Ints, device: torch.device) -> tuple[Tensor, Tensor]:
    """So many of each of some things: which one it is, and the how manieth of its own; made where they are wanted."""
    total, sizes = int(counts.sum()), torch.from_numpy(counts).to(device)
    which = torch.arange(len(counts), device=device).repeat_interleave(sizes, output_size=total)
    return which, torch.arange(total, device=device) - (sizes.cumsum(0) - sizes)[which]


# -------------------------------------------------------------------- batches


def link_steps(
    links: RankLinks, noise: RankNoise, draw: Streams, *, samples: int, n_negatives: int, batch_size: int
) -> tuple[int, Callable[[int], Iterator[RankStep]]]:
    """How many steps an epoch of `samples` links has, and its batches: this rank's share in each."""
    graph = links.graph
    portions, stretches = Portions.by_mass(links.masses(), samples, batch_size), _Stretches(graph)

    def of(epoch: int) -> Iterator[RankStep]:
        counter = _Counter(graph.parts, draw, epoch, 0, graph.ranks.device)
        negatives = _Counter(stretches.first + stretches.parts.start, draw, epoch, 1, graph.ranks.device)
        for steps in portions.chunks(2, graph.ranks.device.type):
            counts, around = (portions.of(parts, steps) for parts in (graph.parts, stretches.parts))
            part, keys, places = counter.next(counts)
            pairs = links.of_parts(part, uniform_at(keys, places))
            groups = _groups_of(stretches.whole(around))
            drawn = _groups(noise, negatives, groups)
            placed = (stretches.dealt(*rows, pairs.device) for rows in zip(around, groups, strict=True))
            batches = (
                _pairs(pairs[:, own], at, drawn[some], n_negatives)
                for (own, some), at in zip(_by_step(counts, groups), placed, strict=True)
            )
            yield from _routed(graph, batches)

    return portions.steps, of


def _pairs(pairs: Tensor, placed: tuple[Tensor, int], drawn: Tensor, n_negatives: int) -> PairBatch:
    nodes, met = torch.unique(pairs, return_inverse=True)
    alone, against = _against(nodes, met[0], torch.ones(len(met[0])), placed, drawn, n_negatives)
    return PairBatch(nodes, alone, against, met)


def walk_steps(
    links: RankLinks,
    noise: RankNoise,
    draw: Streams,
    *,
    walks: int,
    length: int,
    window: int,
    n_negatives: int,
    batch_size: int,
    p: float = 1.0,
    q: float = 1.0,
) -> tuple[int, Callable[[int], Iterator[RankStep]]]:
    """How many steps an epoch has in which `walks` walks leave each node with links, and its batches of them."""
    graph = links.graph
    linked = [np.flatnonzero(np.diff(graph.rows(k).indptr)) + own.start + graph.first for k, own in graph.by_part()]
    counts_of = walks * part_masses(graph, [np.ones(len(nodes)) for nodes in linked]).astype(np.int64)
    portions = Portions(counts_of, batch_size)
    links.prepare()

    def of(epoch: int) -> Iterator[RankStep]:
        counter, negatives = (_Counter(graph.parts, draw, epoch, kind, graph.ranks.device) for kind in (0, 1))
        order = [
            nodes[_order(walks, len(nodes), draw, part, epoch)] for part, nodes in zip(graph.parts, linked, strict=True)
        ]
        starts = torch.from_numpy(np.concatenate([np.zeros(0, np.int64), *order])).to(graph.ranks.device)
        first = torch.from_numpy(np.cumsum([0, *map(len, order)])[:-1]).to(starts.device)
        for steps in portions.chunks(length, graph.ranks.device.type):
            counts = portions.of(graph.parts, steps)
            part, keys, places = counter.next(counts)
            walked = links.walks(starts[first[part] + places], keys, places, length, p=p, q=q)
            groups = _groups_of(counts * length)
            drawn = _groups(noise, negatives, groups)
            placed = (_in_turn(row * length, each, walked.device) for row, each in zip(counts, groups, strict=True))
            batches = (
                _windows(walked[own], at, drawn[some], window, n_negatives)
                for (own, some), at in zip(_by_step(counts, groups), placed, strict=True)
            )
            yield from _routed(graph, batches)

    return portions.steps, of


def _order(walks: int, count: int, draw: Streams, part: int, epoch: int) -> Ints:
    """The nodes of a part in random order, each so many times."""
    shuffled: Ints = torch.randperm(walks * count, generator=draw(_BATCHES, 2, part, epoch)).numpy() % max(1, count)
    return shuffled


def _windows(walks: Tensor, placed: tuple[Tensor, int], drawn: Tensor, window: int, n_negatives: int) -> Windows:
    there = walks >= 0
    nodes, places = torch.unique(walks[there], return_inverse=True)
    met = torch.full_like(walks, -1)
    met[there] = places
    weights = center_weights(walks, window).flatten()
    alone, against = _against(nodes, met.clamp(min=0).flatten(), weights, placed, drawn, n_negatives)
    return Windows(nodes, alone, against, met, window)


def _groups_of(counts: Ints) -> Ints:
    """How many groups so many centers of a step and part (or stretch) are divided into, of about `GROUP` each.

    Where they are few the nearest number, as groups are of one size: a part's last one is not to be half empty.
    """
    few = np.maximum(1, (counts + GROUP // 2) // GROUP)
    return np.where(counts == 0, 0, np.where(counts < GROUP**2, few, -(-counts // GROUP)))


def _groups(noise: RankNoise, counter: _Counter, groups: Ints) -> Tensor:
    """The nodes drawn against so many groups of each step and part or stretch (steps x those): g x S."""
    _, keys, places = counter.next(groups)
    return noise.draw(keys, places)


def _by_step(counts: Ints, groups: Ints) -> Iterator[tuple[slice, slice]]:
    """For each step its draws and its groups, among those of some steps."""
    draws, ends = (np.cumsum([0, *x.sum(axis=1)]).tolist() for x in (counts, groups))
    for own, some in zip(pairwise(draws), pairwise(ends), strict=True):
        yield slice(*own), slice(*some)


def _in_turn(counts: Ints, groups: Ints, device: torch.device) -> tuple[Tensor, int]:
    """Where each center goes among groups of equal width, which is told: those of a part one group after another."""
    wide = int((-(-counts // groups.clip(min=1))).max(initial=1))
    part, within = _repeated(counts, device)
    facts = torch.from_numpy(np.stack([groups, counts, np.cumsum(groups) - groups])).to(device)
    each, own, first = facts[:, part]
    group = torch.div(within * each, own, rounding_mode="floor")
    slot = within + torch.div(-group * own, each, rounding_mode="floor")  # from the first of its group on
    return (first + group) * wide + slot, wide


class _Stretches:
    """Consecutive parts in stretches of `_STRETCH` nodes and more, or of one larger part: those that own parts are in.

    The links of a part leave its own nodes. In groups of one small part a node would be there several times, and be
    pushed away from the same nodes each time, which cost quality; so the links of a stretch are dealt to its groups.
    These are the same whoever owns the parts: where several ranks do, each has its own links in all of them.
    """

    def __init__(self, graph: RankGraph):
        last = max(0, graph.n_nodes // _STRETCH - 1)  # what is left is the last one's, too
        number = np.minimum(graph.folder.starts[:-1] // _STRETCH, last)
        mine = number[graph.parts.start : graph.parts.stop]
        some = np.isin(number, mine).nonzero()[0]
        self.parts = range(int(some[0]), int(some[-1]) + 1) if len(some) else range(0)
        self.first, self._of = np.unique(number[some], return_index=True, return_inverse=True)[1:]
        """Of each, its first part among `parts`."""
        self._own = slice(graph.parts.start - self.parts.start, graph.parts.stop - self.parts.start)

    def whole(self, counts: Ints) -> Ints:
        """Of draws of the parts (steps x parts) those of each stretch."""
        sums = np.zeros((len(counts), len(self.first)), np.int64)
        np.add.at(sums.T, self._of, counts.T)
        return sums

    def dealt(self, counts: Ints, groups: Ints, device: torch.device) -> tuple[Tensor, int]:
        """Where each own center of a step goes among groups of equal width, which is told."""
        before = np.cumsum(counts) - counts
        ahead, of = before - before[self.first][self._of], self._of[self._own]
        wide = int((-(-self.whole(counts[None])[0] // groups.clip(min=1))).max(initial=1))
        part, within = _repeated(counts[self._own], device)
        facts = np.stack([groups[of], (np.cumsum(groups) - groups)[of], ahead[self._own]])
        each, first, start = torch.from_numpy(facts).to(device)[:, part]
        number = start + within
        return (first + number % each) * wide + torch.div(number, each, rounding_mode="floor"), wide


def _against(
    nodes: Tensor, centers: Tensor, weights: Tensor, placed: tuple[Tensor, int], drawn: Tensor, n_negatives: int
) -> tuple[Tensor, Against]:
    """Centers in groups of a width, each at its place; and the nodes drawn alone."""
    (place, wide), (alone, against) = placed, places_of(nodes, drawn)
    shape = len(drawn), wide
    grouped = centers.new_zeros(len(drawn) * wide).index_copy_(0, place, centers)
    weighed = torch.zeros(len(grouped), device=centers.device).index_copy_(0, place, weights.to(centers.device))
    return alone, Against(grouped.view(shape), weighed.view(shape) * (n_negatives / DRAWN), against)


# -------------------------------------------------------------------- a step

HERE, MET, ALONE = range(3)
"""Where a table is read: at nodes that a rank owns, at all that its links or walks met, at those drawn alone too."""


@dataclass(frozen=True, eq=False)
class Routes:
    """Which of a step's nodes each rank owns, and which own rows each asks for."""

    spans: list[tuple[slice, slice]]
    """Of each rank, the nodes met and those drawn alone, as places among the `context_nodes` of the batch."""
    wanted: list[tuple[Tensor, Tensor]]
    """Of each rank, the own rows that it met and that it drew alone; none of this one."""

    @staticmethod
    def of(graph: RankGraph, batches: Sequence[Read]) -> list[Routes]:
        """For some steps together, in two messages; every rank has as many steps."""
        ranks, lists = graph.ranks, [x for batch in batches for x in (batch.nodes, batch.drawn_alone)]
        bounds = torch.from_numpy(graph.bounds).to(ranks.device)
        cuts = torch.stack([torch.searchsorted(x, bounds) for x in lists])
        sizes = cuts.diff(dim=1).t().contiguous()  # ranks x lists
        sizes[ranks.rank] = 0
        asked, ends = ranks.swap(sizes, [1] * ranks.size, [1] * ranks.size), cuts.tolist()
        names = [x[at[q] : at[q + 1]] for q in ranks.others for x, at in zip(lists, ends, strict=True)]
        rows = ranks.swap(torch.cat([bounds[:0], *names]), sizes.sum(1).tolist(), asked.sum(1).tolist())
        wanted = torch.split(rows - graph.first, asked.flatten().tolist())
        made = []
        for i, batch in enumerate(batches):
            met, alone = ends[2 * i], [len(batch.nodes) + end for end in ends[2 * i + 1]]
            spans = [(slice(*a), slice(*b)) for a, b in zip(pairwise(met), pairwise(alone), strict=True)]
            places = [q * len(lists) + 2 * i for q in range(ranks.size)]
            made.append(Routes(spans, [(wanted[at], wanted[at + 1]) for at in places]))
        return made


class RankStep(NamedTuple):
    """A rank's share of a global batch, and how rows of others come to it; None where there are no others."""

    batch: Any
    routes: Routes | None


def _routed(graph: RankGraph, batches: Iterator[Read]) -> Iterator[RankStep]:
    if graph.ranks.size == 1:
        yield from (RankStep(batch, None) for batch in batches)
        return
    several = list(batches)
    yield from map(RankStep, several, Routes.of(graph, several))


class RankSkipGram(RankNetwork):
    """Tables alone, whose rows are brought and taken back a step at a time, in one message each way."""

    def __init__(self, own: nn.Module, graph: RankGraph):
        super().__init__(own, graph, (name for name, _ in own.named_parameters()))

    def tables(self) -> list[tuple[nn.Parameter, int]]:
        """What a step reads, and where: `HERE`, `MET` or `ALONE`."""
        raise NotImplementedError

    def slopes(self, batch: Any, rows: list[Tensor]) -> tuple[dict[str, Tensor], list[Tensor]]:
        """The terms of a batch, and gradients for rows of the tables.

        Those are of the context nodes of a table that is read at `ALONE`, else of the batch's nodes; where it is read
        at `HERE`, the rows of other nodes are 0, and so are their gradients.
        """
        raise NotImplementedError

    def loss(self, step: RankStep) -> dict[str, Tensor]:
        """The terms of a step over all ranks, and the gradients at the own rows."""
        if step.routes is None:  # nobody to ask: as in one process
            alone: dict[str, Tensor] = self.own.loss(step.batch)
            return {name: x.double() for name, x in alone.items()}
        with torch.no_grad():
            flow = _Flow(self._graph, step.batch, step.routes, self.tables())
            terms, grads = self.slopes(step.batch, flow.brought())
            sums = flow.given(grads, torch.stack(list(terms.values())))
        return dict(zip(terms, sums, strict=True))


class _Flow:
    """The rows of tables that a step reads, brought from their owners, and their gradients given back."""

    def __init__(self, graph: RankGraph, batch: Read, routes: Routes, tables: list[tuple[nn.Parameter, int]]):
        self._ranks, self._tables = graph.ranks, tables
        self._counts = len(batch.nodes), len(batch.nodes) + len(batch.drawn_alone)
        names = batch.context_nodes
        self._here = [(span, names[span] - graph.first) for span in routes.spans[self._ranks.rank]]
        reaches = [(t, k) for t, (_, reach) in enumerate(tables) for k in range(reach)]
        self._wanted = [[(t, routes.wanted[q][k]) for t, k in reaches] for q in self._ranks.others]
        self._spans = [[(t, routes.spans[q][k]) for t, k in reaches] for q in self._ranks.others]
        self._sizes = [[len(at) * tables[t][0].shape[1] for t, at in own] for own in self._wanted]

    def brought(self) -> list[Tensor]:
        """Rows of each table, at all nodes that it is read at."""
        tables = [table.detach() for table, _ in self._tables]
        going = tables[0].new_empty(sum(map(sum, self._sizes)))
        for (t, at), into in zip(chain(*self._wanted), torch.split(going, [*chain(*self._sizes)]), strict=True):
            torch.index_select(tables[t], 0, at, out=into.view(len(at), tables[t].shape[1]))
        rows = []
        for table, (_, reach) in zip(tables, self._tables, strict=True):
            shape = self._counts[reach == ALONE], table.shape[1]
            rows.append(table.new_zeros(shape) if reach == HERE else table.new_empty(shape))
            for span, at in self._here[: max(1, reach)]:
                torch.index_select(table, 0, at, out=rows[-1][span])
        pieces = [[rows[t][span] for t, span in spans] for spans in self._spans]
        came = self._swap(going, self._sizes, [[x.numel() for x in some] for some in pieces])
        for into, flat in zip(chain(*pieces), came, strict=True):
            into.copy_(flat.view_as(into))
        return rows

    def given(self, grads: list[Tensor], terms: Tensor) -> Tensor:
        """Gradients to the owners of rows, who add up what all ranks send; and the sums of terms over all ranks."""
        pieces = [[terms, *(grads[t][span] for t, span in spans)] for spans in self._spans]
        going = torch.cat([x.flatten() for x in chain(*pieces)])
        sizes = [[x.numel() for x in some] for some in pieces]
        came = iter(self._swap(going, sizes, [[len(terms), *own] for own in self._sizes]))
        by_rank = {self._ranks.rank: terms}
        added: list[list[tuple[Tensor, Tensor]]] = [
            [(at, grad[span]) for span, at in self._here[: max(1, reach)]]
            for (_, reach), grad in zip(self._tables, grads, strict=True)
        ]
        for q, own in zip(self._ranks.others, self._wanted, strict=True):
            by_rank[q] = next(came)
            for t, at in own:
                added[t].append((at, next(came).view(len(at), grads[t].shape[1])))
        several: dict[int, tuple[Tensor, Tensor]] = {}  # of tables that are read at the same nodes
        for (table, reach), rows in zip(self._tables, added, strict=True):
            if not table.shape[1]:
                continue
            if reach not in several:
                several[reach] = torch.unique(torch.cat([at for at, _ in rows]), return_inverse=True)
            table.grad = _added(table, *several[reach], [x for _, x in rows])
        return torch.stack([by_rank[q] for q in range(self._ranks.size)]).double().sum(0)

    def _swap(self, flat: Tensor, gives: list[list[int]], takes: list[list[int]]) -> tuple[Tensor, ...]:
        """Numbers for each other rank, so many of each piece, and what comes, by piece."""
        me = self._ranks.rank
        sizes = ([*map(sum, some[:me]), 0, *map(sum, some[me:])] for some in (gives, takes))
        return torch.split(self._ranks.swap(flat, *sizes), [*chain(*takes)])


def _added(table: Tensor, nodes: Tensor, at: Tensor, several: list[Tensor]) -> Tensor:
    """As a gradient of a table that holds some rows: what ranks sent for them (`at`: whose each is), added up."""
    sums = table.new_zeros(len(nodes), table.shape[1])
    for rows, places in zip(several, torch.split(at, [*map(len, several)]), strict=True):
        add_at(sums, places, rows)
    return torch.sparse_coo_tensor(nodes[None], sums, table.shape, is_coalesced=True, check_invariants=False)


# -------------------------------------------------------------------- where training begins


@torch.no_grad()
def rank_start(
    graph: RankGraph, degrees: Floats, draw: Streams, *, dim: int, window: int, n_negatives: int
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
        drawn = torch.rand(own.stop - own.start, dim, generator=draw(_NOISE, p))
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


def expected_traffic(degrees: Any, nodes: float, steps: float, ranks: int, near: int, far: int) -> float:
    """Bytes that a rank sends in an epoch of so many steps, in each of which its links or walks come by so many nodes.

    `near` and `far` are the bytes of a node's rows and their gradients, of one that was met and of one drawn alone. As
    if each were met by chance, in proportion to its degree: walks come by the same nodes more often than that.
    """
    d = np.asarray(degrees, np.float64)
    apart, share, mass = 1 - 1 / ranks, d / d.sum(), d**0.75 / (d**0.75).sum()
    drawn = nodes * DRAWN / GROUP
    unmet = np.exp(-nodes * share)
    met, alone = float((1 - unmet).sum()), float((unmet * (1 - np.exp(-drawn * mass))).sum())
    return float(steps * apart * ((near + 8) * met + (far + 8) * alone + 24 * drawn))


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
