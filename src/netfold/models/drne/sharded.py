"""DRNE over several ranks, exactly: each owns the vectors of its nodes, and gets of others those that it reads.

A step is of random nodes of all ranks, so many as in one process. For each row of another rank that a rank's nodes of
the step have as a neighbor (V of them, each once a step) travel

    its vector, twice (for X's half of the step and for the others'), its gradient, and once the number of the row:

V (12k + 8) bytes in float32; all other parameters (8k² + 6k + 1 numbers) are on every rank, and their gradients are
summed. What is drawn at random is drawn by part and epoch: which of many neighbors are read by the part of the node
that reads them, the nodes of a step by a hash of their colors. Where no node has too many neighbors this is, but for
which nodes come together in a step, what one process computes of a graph in its memory.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import torch
from scipy import sparse
from torch import Tensor

from netfold.cluster.exchange import Exchange, LinkedGraph, RankGraph, named_rows, swapped
from netfold.cluster.network import RankNetwork
from netfold.cluster.ranks import Ranks
from netfold.data.checks import unique_values
from netfold.models.drne.batches import (
    Batch,
    Hashes,
    Sequences,
    batch_of,
    dense_ranks,
    exponential,
    mixed,
    refined,
    starts_of,
    steps_of,
)
from netfold.models.drne.network import DRNENetwork, PartStart

__all__ = ["ShardedDRNE", "ranks_of_pairs"]

_Draw = Callable[..., torch.Generator]
"""From a stream of numbers (what for, part, epoch) to a generator: `Embedder._generator`."""
_TABLE, _NEIGHBORS, _STEPS, _LAST = 3, 4, 5, 6
_BINS = 4096
"""Into which hashes of colors are counted, so that the steps of an epoch have about as many nodes each."""
_SAMPLES = 64
"""Pairs of each rank by which ranges of about the same size are known."""


@dataclasses.dataclass(eq=False)
class Step:
    """The own nodes of a step, all that are read for them, and who brings those."""

    batch: Batch
    """Its `nodes` are numbered by rank: see `ShardedDRNE`."""
    exchange: Exchange
    cuts: list[int]
    """Where the nodes of each rank begin among those that are read, and the end."""
    own: Tensor
    """The own rows among them."""
    halves: int = 0
    """How often its loss was asked for: X's gradient first, then that of all other parameters."""


class ShardedDRNE(RankNetwork):
    """`DRNENetwork` whose table is spread over ranks.

    Nodes that are read here are numbered in the order of the graph, those of other ranks that no own node is linked
    with left out: so each rank's come one after another.
    """

    own: DRNENetwork

    def __init__(
        self,
        own: DRNENetwork,
        graph: RankGraph,
        draw: _Draw,
        *,
        most: int,
        batch_size: int | None,
        rounds: int,
        chosen: Callable[[list[Tensor]], npt.NDArray[np.float32]],
    ):
        """`most` neighbors are read of a node; `chosen` makes vectors of X and of what each of the rounds gave."""
        super().__init__(own, graph, ("table", "colors", "degrees"))
        own.register_buffer("passed", None)  # made at last; not a part of what is trained
        self._draw, self._most, self._rounds, self._chosen = draw, most, rounds, chosen
        self.steps = steps_of(graph.n_nodes, batch_size)
        links = LinkedGraph(graph, loops=True).matrix()
        self._needs = [torch.from_numpy(x) for x in named_rows(graph, [links.indices])]
        self.exchange = Exchange(graph.ranks, self._needs)
        """Of all rows of others that are ever read here."""
        counts = [graph.m if q == graph.ranks.rank else len(x) for q, x in enumerate(self._needs)]
        self._ends = np.cumsum([0, *counts])
        self._first = int(self._ends[graph.ranks.rank])
        links = self._numbered(links)
        own.degrees.copy_(torch.from_numpy(np.diff(links.indptr)))
        own.colors.copy_(torch.from_numpy(self._refined(links)))
        self._color, self._degree = self._with_others(own.colors), self._with_others(own.degrees)
        self._sequences = Sequences.of(links, self._color.numpy(force=True), own.device)
        self._logs = torch.log1p(own.degrees.to(own.table.dtype))

    # ---------------------------------------------------------------- neighbors, and the order in which they are read

    def _numbered(self, links: sparse.csr_array) -> sparse.csr_array:
        """The neighbors of the own nodes by their numbers here: m x (m + U)."""
        graph = self._graph
        named = [
            np.arange(graph.m) if q == self._ranks.rank else x.numpy() for q, x in enumerate(self._needs)
        ]  # fmt: skip
        places = np.concatenate([x + low for x, low in zip(named, graph.bounds, strict=False)])
        columns = np.searchsorted(places, links.indices)
        return sparse.csr_array((links.data, columns, links.indptr), shape=(graph.m, len(places)))

    def _with_others(self, numbers: Tensor) -> Tensor:
        """A number of each own node, with those of the nodes of others that are read here: m + U."""
        whole = numbers.new_empty(int(self._ends[-1]))
        whole[self._first : self._first + len(numbers)] = numbers
        for q, rows in self.exchange.fetch(numbers[:, None]):
            whole[int(self._ends[q]) : int(self._ends[q + 1])] = rows[:, 0]
        return whole

    def _refined(self, links: sparse.csr_array) -> npt.NDArray[np.int64]:
        """As `colors`: the very numbers."""
        ones = sparse.csr_array((np.ones(links.nnz, np.uint64), links.indices, links.indptr), shape=links.shape)

        def summed(x: Hashes) -> Hashes:
            whole = self._with_others(torch.from_numpy(x.view(np.int64)).to(self.own.device))
            return np.asarray(ones @ whole.numpy(force=True).view(np.uint64))

        def largest(color: Hashes) -> int:
            return int(self._ranks.most(float(color.max()) if len(color) else 0.0))

        degree = np.diff(links.indptr).astype(np.uint64)
        return refined(degree, summed, lambda a, b: ranks_of_pairs(self._ranks, a, b), largest)

    # ---------------------------------------------------------------- where training begins

    @torch.no_grad()
    def start(self, how: str) -> None:
        """As `DRNENetwork.start`; a vector of each node's own is drawn by its part."""
        logs = torch.log1p(self.own.degrees.double())
        facts = torch.stack([logs.sum(), logs.square().sum()])
        total, squares = self._ranks.sum_(facts).tolist()
        n = self._graph.n_nodes
        variance = max(0.0, (squares - total * total / n) / (n - 1))
        both = torch.tensor([total / n, variance**0.5])

        def draw(rows: Callable[[int, torch.Generator], Tensor]) -> Tensor:
            return torch.cat(
                [rows(own.stop - own.start, self._draw(_TABLE, p)) for p, own in self._graph.by_part()]
                or [rows(0, self._draw(_TABLE))]
            )  # fmt: skip

        self.own.start(self._draw(0), self.own.degrees, how, PartStart((both[0], both[1]), draw))

    # ---------------------------------------------------------------- the steps of an epoch

    def batches(self, epoch: int) -> Iterator[Step]:
        """The steps of an epoch, as many on every rank."""
        drawn = self._sequences.sampled(self._most, lambda nodes: self._keys(epoch) / self._degree[nodes])
        part, count = self._parts(epoch)
        for i in range(count):
            yield self._step(drawn, (part == i).nonzero()[:, 0])

    def _keys(self, epoch: int) -> Tensor:
        """An exponential number for each neighbor of the own nodes that have too many, drawn by part."""
        lengths = self._sequences.lengths
        many = torch.where(lengths > self._most, lengths, 0)
        counts = [(p, int(many[own].sum())) for p, own in self._graph.by_part()]
        drawn = [exponential(count, self._draw(_NEIGHBORS, p, epoch)) for p, count in counts if count]
        return torch.cat(drawn).to(self.own.device)

    def _parts(self, epoch: int) -> tuple[Tensor, int]:
        """The step of each own node, and how many steps there are: m.

        What has one color is never parted, as in one process; the hashes of colors are cut where about as many nodes of
        all ranks are on each side.
        """
        word = np.uint64(self._draw(_STEPS, epoch).initial_seed())
        bins = torch.from_numpy(
            (mixed(self.own.colors.numpy(force=True).view(np.uint64) ^ word) >> np.uint64(52)).astype(np.int64)
        )
        counts = torch.bincount(bins, minlength=_BINS).to(self.own.device)
        ends = self._ranks.sum_(counts).cumsum(0).cpu()
        cuts = torch.tensor([self._graph.n_nodes * i // self.steps for i in range(1, self.steps)], dtype=torch.int64)
        of_bin = torch.searchsorted(cuts, ends)
        filled = ends.diff(prepend=ends.new_zeros(1)) > 0
        steps = unique_values(of_bin[filled].numpy())
        return torch.from_numpy(np.searchsorted(steps, of_bin[bins].numpy())).to(self.own.device), len(steps)

    def _step(self, drawn: Sequences, rows: Tensor) -> Step:
        batch = batch_of(drawn, self._color, self._logs, rows, self.own.piece, first=self._first)
        nodes, ends = batch.nodes.cpu(), torch.from_numpy(self._ends)
        cuts = torch.searchsorted(nodes, ends).tolist()
        needs = [
            x[nodes[a:b] - low] if q != self._ranks.rank else nodes.new_empty(0)
            for q, (x, (a, b), low) in enumerate(zip(self._needs, pairwise(cuts), self._ends.tolist(), strict=False))
        ]
        exchange = Exchange(self._ranks, needs)
        me = self._ranks.rank
        return Step(batch, exchange, cuts, batch.nodes[cuts[me] : cuts[me + 1]] - self._first)

    def _near(self, step: Step, vectors: Tensor) -> Tensor:
        """The vectors of the nodes that a step reads, those of others fetched."""
        near, me = vectors.new_empty(step.cuts[-1], vectors.shape[1]), self._ranks.rank
        coming = step.exchange.fetch(vectors, lent=True)
        near[step.cuts[me] : step.cuts[me + 1]] = vectors[step.own]
        for q, rows in coming:
            near[step.cuts[q] : step.cuts[q + 1]] = rows
        return near

    # ---------------------------------------------------------------- the loss

    def loss(self, step: Step) -> dict[str, Tensor]:
        """The terms of a step over all ranks; first with the gradient of X, then with that of all other parameters."""
        moves = step.halves % 2 == 0
        step.halves += 1
        table, theta = self.own.table, self.own.theta
        for p in (table, *theta):
            p.grad = torch.zeros_like(p) if p.grad is None else p.grad
        for p in theta:
            p.requires_grad_(not moves)
        near = self._near(step, table.detach()).requires_grad_(moves)
        total = torch.zeros(2, dtype=torch.float64, device=self.own.device)
        if step.batch.pieces:
            total += torch.stack(list(self.own.terms(step.batch, near).values())).double()
        for p in theta:
            p.requires_grad_(True)
        if moves:
            self._give(step, torch.zeros_like(near) if near.grad is None else near.grad)
        else:
            self._ranks.sum_together_([p.grad for p in theta if p.grad is not None])
        self._ranks.sum_(total)
        return {"recursive": total[0], "regularization": total[1]}

    def _give(self, step: Step, grad: Tensor) -> None:
        """Add the gradients of the vectors that a step read to those of the table, wherever its rows are."""
        table, me = self.own.table, self._ranks.rank
        assert table.grad is not None
        giving = step.exchange.giving(table.grad)
        for q in step.exchange.order:
            giving.send(q, grad[step.cuts[q] : step.cuts[q + 1]])
        giving.finish()
        table.grad[step.own] += grad[step.cuts[me] : step.cuts[me + 1]]

    # ---------------------------------------------------------------- vectors

    @torch.no_grad()
    def embed(self) -> npt.NDArray[np.float32]:
        """The vectors of the own nodes: m x d. Of many neighbors those with the smallest keys, one a node, are read."""
        keys = [exponential(own.stop - own.start, self._draw(_LAST, p)) for p, own in self._graph.by_part()]
        drawn = torch.cat([torch.zeros(0, dtype=torch.float64), *keys]).to(self.own.device)
        whole = self._with_others(drawn / self.own.degrees)
        sequences = self._sequences.sampled(self._most, lambda nodes: whole[nodes])
        rounds = [self.own.table.detach()]
        for _ in range(self._rounds):
            rounds.append(self._aggregated(sequences, rounds[-1]))
        later = rounds[1:-1]
        self.own.passed = torch.stack(later) if later else self.own.table.new_zeros(0, *self.own.table.shape)
        return self._chosen(rounds)

    def _aggregated(self, sequences: Sequences, vectors: Tensor) -> Tensor:
        """What the own nodes aggregate to of all nodes' vectors: m x k, as many at a time as a step has."""
        out = torch.zeros_like(vectors)
        for rows in torch.arange(len(out), device=out.device).tensor_split(self.steps):
            step = self._step(sequences, rows)
            near = self._near(step, vectors)
            if step.batch.pieces:
                places, made = self.own.gathered(step.batch, near)
                out[step.batch.nodes[places] - self._first] = made
        return out


def ranks_of_pairs(ranks: Ranks, first: Hashes, second: Hashes) -> Hashes:
    """As `dense_ranks`, among the pairs of all ranks: each sorts a range of them, of about as many as it has itself."""
    if ranks.size == 1:
        return dense_ranks(first, second)
    own = dense_ranks(first, second)
    _, where = np.unique(own, return_index=True)
    pairs = np.stack([first[where], second[where]])  # 2 x distinct, in order
    cuts = [0, *(_before(pairs, x) for x in _limits(ranks, pairs)), pairs.shape[1]]
    sent = [torch.from_numpy(pairs[:, a:b].copy().view(np.int64).ravel()) for a, b in pairwise(cuts)]
    mine = [x.numpy(force=True).view(np.uint64).reshape(2, -1) for x in swapped(ranks, sent)]
    together = np.concatenate(mine, axis=1)
    among = dense_ranks(together[0], together[1])
    counts = ranks.gather(int(among.max()) + 1 if len(among) else 0)
    among += np.uint64(sum(counts[: ranks.rank]))
    ends = starts_of(torch.tensor([x.shape[1] for x in mine])).tolist()
    back = swapped(ranks, [torch.from_numpy(among[a:b].view(np.int64)) for a, b in pairwise(ends)])
    whole: Hashes = np.concatenate([x.numpy(force=True).view(np.uint64) for x in back])
    return whole[own]


def _limits(ranks: Ranks, pairs: npt.NDArray[np.uint64]) -> list[tuple[int, int]]:
    """The first pair of each range but the first, from a sample of all ranks' pairs."""
    some = pairs[:, np.linspace(0, pairs.shape[1] - 1, min(_SAMPLES, pairs.shape[1])).astype(np.int64)]
    samples = sorted((int(a), int(b)) for own in ranks.gather(some.T.tolist()) for a, b in own)
    return [samples[len(samples) * q // ranks.size] for q in range(1, ranks.size)]


def _before(pairs: npt.NDArray[np.uint64], limit: tuple[int, int]) -> int:
    """How many of some pairs in order come before another."""
    low, high = (int(np.searchsorted(pairs[0], np.uint64(limit[0]), side=side)) for side in ("left", "right"))
    return low + int(np.searchsorted(pairs[1, low:high], np.uint64(limit[1])))
