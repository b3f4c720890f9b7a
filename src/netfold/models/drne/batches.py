"""DRNE's batches: nodes with their neighbors' sequences, packed so that no step computes padding."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterator
from itertools import accumulate

import torch
from torch import Tensor

from netfold.models.drne.sequences import Sequences, starts_of

__all__ = ["Batch", "Packed", "SequencePiece", "Ties", "batches", "distinct", "exponential", "packed_pieces", "tied"]

_STEPS, _LEAST = 16, 64
"""Without a batch size: so many steps an epoch, each of at least so many nodes."""


@dataclasses.dataclass(frozen=True, eq=False)
class Packed:
    """Sequences, the longest first, step after step: step t holds the t-th neighbors of those that have so many."""

    entries: Tensor
    """Which input it is, for each neighbor."""
    alive: list[int]
    """How many sequences have a t-th neighbor: never more than a step before."""
    before: Tensor
    """Where the same sequence's entry of one step before is, for all entries after the first step's."""
    last: Tensor
    """Where a sequence's last entry is, for all that have one."""

    @staticmethod
    def of(sequences: Sequences) -> Packed:
        """Sequences that come in order of their lengths, the longest first."""
        lengths, device = sequences.lengths, sequences.starts.device
        row = torch.arange(len(lengths), device=device).repeat_interleave(lengths)
        step = torch.arange(len(row), device=device) - sequences.starts[row]
        alive = torch.bincount(step)
        starts = starts_of(alive)
        entries = torch.empty_like(sequences.nodes)
        entries[starts[step] + row] = sequences.nodes
        some = lengths[lengths > 0]
        last = starts[some - 1] + torch.arange(len(some), device=device)
        before = torch.arange(len(some), len(row), device=device) - alive[:-1].repeat_interleave(alive[1:])
        return Packed(entries, alive.tolist(), before, last)

    @property
    def steps(self) -> list[tuple[slice, slice]]:
        """The entries of each step, and those of one step before that they follow."""
        starts = [0, *accumulate(self.alive)]
        earlier = [0, *starts]
        return [
            (slice(starts[t], starts[t] + count), slice(earlier[t], earlier[t] + count))
            for t, count in enumerate(self.alive)
        ]


@dataclasses.dataclass(frozen=True, eq=False)
class Ties:
    """Neighbors of one color in one sequence, which have no order: each comes in as the mean of them all.

    So what is aggregated is a function of the neighbors and not of their positions, and automorphic nodes get the same
    gradient.
    """

    members: Tensor
    """Nodes, one group after another."""
    starts: Tensor
    """Where each group starts, and the end of the last."""


@dataclasses.dataclass(frozen=True, eq=False)
class SequencePiece:
    """Some nodes of a batch whose sequences are walked together."""

    rows: Tensor
    """m: where these nodes are among those that the batch reads."""
    packed: Packed
    """Their neighbors, as places among those that the batch reads; and after those, the groups of ties."""
    log_degrees: Tensor
    """m: log(d + 1)."""


@dataclasses.dataclass(frozen=True, eq=False)
class Batch:
    """A step's nodes, in pieces, and all nodes that are read: these and their neighbors."""

    nodes: Tensor
    """The nodes that are read, in order."""
    ties: Ties
    """Groups of places among those."""
    pieces: list[SequencePiece]


def batches(
    sequences: Sequences,
    color: Tensor,
    *,
    most: int,
    batch_size: int | None,
    piece: int,
    dtype: torch.dtype = torch.float32,
) -> Callable[[torch.Generator], Iterator[Batch]]:
    """The batches of an epoch for a generator: random nodes, their neighbors drawn anew where there are over `most`.

    `piece` bounds how many neighbors are walked together.
    """
    n, device, degrees = len(sequences), sequences.starts.device, sequences.lengths
    steps = math.ceil(n / (batch_size or max(_LEAST, math.ceil(n / _STEPS))))
    log_degrees = torch.log1p(degrees.to(dtype))

    def of(generator: torch.Generator) -> Iterator[Batch]:
        drawn = sequences.sampled(most, lambda nodes: exponential(len(nodes), generator).to(device) / degrees[nodes])
        for rows in _random_parts(color, steps, generator):
            yield _batch(drawn, color, log_degrees, rows, piece)

    return of


def _random_parts(color: Tensor, count: int, generator: torch.Generator) -> list[Tensor]:
    """At most so many random parts of about the same size, each in order; what has one color is never parted.

    So nodes that look the same from all around, and are equal, are moved by the same steps.
    """
    shuffled = torch.randperm(int(color.max()) + 1, generator=generator).to(color.device)[color]
    keys, order = shuffled.sort(stable=True)
    cuts = keys[[len(keys) * i // count for i in range(1, count)]]
    ends = torch.searchsorted(keys, cuts).tolist()
    return [rows.sort().values for rows in order.tensor_split(ends) if len(rows)]


def exponential(count: int, generator: torch.Generator) -> Tensor:
    """Draws from the exponential distribution, made on the CPU so that every device draws alike."""
    return torch.empty(count, dtype=torch.float64).exponential_(generator=generator)


def _batch(sequences: Sequences, color: Tensor, log_degrees: Tensor, rows: Tensor, piece: int) -> Batch:
    mine = sequences.take(rows)
    nodes, place = distinct(len(sequences), rows, mine.nodes)
    local, ties = tied(Sequences(mine.starts, place[mine.nodes]), color[nodes])
    pieces = [
        SequencePiece(place[rows[at]], packed, log_degrees[rows[at]]) for at, packed in packed_pieces(local, piece)
    ]
    return Batch(nodes, ties, pieces)


def tied(sequences: Sequences, color: Tensor) -> tuple[Sequences, Ties]:
    """The sequences with neighbors of one color replaced by their group: n + g for the g-th of the groups."""
    nodes, lengths = sequences.nodes, sequences.lengths
    new = torch.ones_like(nodes, dtype=torch.bool)  # where a run of one color begins
    new[1:] = color[nodes[1:]] != color[nodes[:-1]]
    new[sequences.starts[:-1][lengths > 0]] = True
    runs = torch.bincount(new.cumsum(0) - 1) if len(nodes) else nodes
    many = (runs > 1).repeat_interleave(runs)
    sizes = runs[runs > 1]
    inputs = nodes.clone()
    inputs[many] = len(color) + torch.arange(len(sizes), device=nodes.device).repeat_interleave(sizes)
    return Sequences(sequences.starts, inputs), Ties(nodes[many], starts_of(sizes))


def distinct(n: int, *positions: Tensor) -> tuple[Tensor, Tensor]:
    """Which of 0..n-1 are named, in order; and the place of each of 0..n-1 among those, where it is one."""
    named = torch.zeros(n, dtype=torch.bool, device=positions[0].device)
    for x in positions:
        named[x] = True
    return named.nonzero()[:, 0], named.cumsum(0) - 1


def packed_pieces(sequences: Sequences, piece: int) -> Iterator[tuple[Tensor, Packed]]:
    """Which sequences, and those packed: together of about `piece` neighbors (more, where one alone has more)."""
    order = sequences.lengths.argsort(descending=True, stable=True)
    ordered = sequences.take(order)
    counts = torch.bincount((ordered.starts[1:] - 1).clamp(min=0) // piece)
    ends = [0, *accumulate(counts[counts > 0].tolist())]
    at = ordered.starts[ends].tolist()
    for i in range(len(ends) - 1):
        starts = ordered.starts[ends[i] : ends[i + 1] + 1]
        yield (
            order[ends[i] : ends[i + 1]],
            Packed.of(Sequences(starts - at[i], ordered.nodes[at[i] : at[i + 1]])),
        )
