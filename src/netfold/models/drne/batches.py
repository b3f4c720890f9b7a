"""DRNE's batches: nodes with their neighbors as sequences ordered by degree, packed so that none computes padding."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterator
from itertools import accumulate

import numpy as np
import numpy.typing as npt
import torch
from scipy import sparse
from torch import Tensor

from netfold.data.checks import Ints
from netfold.data.edges import links
from netfold.data.graph import Graph
from netfold.learn.draws import STEP, scrambled
from netfold.learn.sparse_rows import SparseRows

__all__ = [
    "Batch",
    "Hashes",
    "Packed",
    "SequencePiece",
    "Sequences",
    "Ties",
    "batch_of",
    "batches",
    "colors",
    "colors_on",
    "dense_ranks",
    "distinct",
    "exponential",
    "lengthened",
    "mixed",
    "neighbors",
    "packed_pieces",
    "refined",
    "said_columns",
    "starts_of",
    "steps_of",
    "tied",
]


Hashes = npt.NDArray[np.uint64]
_ROUNDS = 16
"""How many steps away from a node its color reaches, at most."""


# -------------------------------------------------------------------- the order of neighbors


def neighbors(graph: Graph) -> sparse.csr_array:
    """Who is a neighbor of whom: linked in either direction, a self-loop makes a node its own; weights are not read."""
    return links(graph, directed=False, weights=True, loops="keep", dtype=np.float32)  # the graph's own, where it can


_OWN = 0.3
"""How much of its own direction a vector keeps beside the one that all turn to; seen on Les Misérables and Jazz."""


def lengthened(
    vectors: npt.NDArray[np.float32],
    near: sparse.csr_array,
    said: npt.NDArray[np.float32],
    toward: npt.NDArray[np.float32],
) -> npt.NDArray[np.float32]:
    """Vectors (m x d) as long as the mean of a number over a node's neighbors (m x n); 0 where it has none.

    Their directions are `toward` (d) and 0.3 of their own, so that no two are far from each other: the product of two
    vectors is then about that of their lengths.

    >>> near, said = sparse.csr_array([[0, 2.0, 1.0]]), np.float32([9, 2, 4])
    >>> lengthened(np.float32([[0, 5]]), near, said, np.float32([2, 0])).astype(float).round(3).tolist()
    [[2.873, 0.862]]
    """
    counts = np.diff(near.indptr)
    row = np.repeat(np.arange(len(counts)), counts)
    means = np.bincount(row, said[near.indices], minlength=len(counts)) / np.maximum(counts, 1)
    turned = _unit(toward.astype(np.float64)) + _OWN * _unit(vectors.astype(np.float64))
    return (_unit(turned) * means[:, None]).astype(np.float32)


def said_columns(
    own: npt.NDArray[np.float32], near: sparse.csr_array, said: npt.NDArray[np.float32], most: float
) -> npt.NDArray[np.float32]:
    """What is said of nodes (m) and of those that they are linked with (m x n, of whom n numbers are said): m x 4.

    The number, its logarithm, and the mean and the sum over the neighbors; as parts of `most`, of its logarithm and its
    square. Of a node without neighbors, 0.

    >>> near, said = sparse.csr_array([[0, 2.0, 1.0]]), np.float32([9, 2, 4])
    >>> said_columns(np.float32([3]), near, said, 7).astype(float).round(3).tolist()
    [[0.429, 0.667, 0.429, 0.122]]
    """
    counts = np.diff(near.indptr)
    row = np.repeat(np.arange(len(counts)), counts)
    sums = np.bincount(row, said[near.indices], minlength=len(counts))
    most, own = max(most, 1.0), np.where(counts > 0, own, 0)
    columns = [own / most, np.log1p(own) / np.log1p(most), sums / np.maximum(counts, 1) / most, sums / most**2]
    return np.stack(columns, axis=1).astype(np.float32)


def _unit(vectors: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    lengths = np.linalg.norm(vectors, axis=-1, keepdims=True)
    return vectors / np.where(lengths > 0, lengths, 1)


def colors(matrix: sparse.csr_array, device: torch.device | str = "cpu") -> Ints:
    """A number for each node that grows with its degree, the same for nodes that look the same from all around.

    Nodes of one degree are ordered by the sum of their neighbors' degrees, and then by a hash of what their neighbors
    are, and those of theirs in turn (color refinement, a few steps far). What an automorphism of the graph exchanges
    has one color.

    >>> colors(sparse.csr_array([[0, 1, 0, 0], [1, 0, 1, 0], [0, 1, 0, 1], [0, 0, 1, 0]])).tolist()
    [0, 1, 1, 0]
    """
    if torch.device(device).type == "cuda":
        crow, col = (torch.from_numpy(x.astype(np.int64)).to(device) for x in (matrix.indptr, matrix.indices))
        return colors_on(crow, col).cpu().numpy()
    near = sparse.csr_array((np.ones(matrix.nnz, np.uint64), matrix.indices, matrix.indptr), shape=matrix.shape)
    degree = np.diff(matrix.indptr).astype(np.uint64)
    return refined(degree, lambda x: np.asarray(near @ x), dense_ranks, lambda color: int(color.max()))


def refined(
    degree: Hashes,
    summed: Callable[[Hashes], Hashes],
    ranked: Callable[[Hashes, Hashes], Hashes],
    largest: Callable[[Hashes], int],
) -> Ints:
    """The colors of nodes of these degrees, or of a rank's nodes where they are spread over several.

    `summed` takes numbers of nodes to their sums over neighbors, `ranked` pairs of them to the rank of each among all
    distinct pairs, `largest` numbers to the largest of all.
    """
    color = ranked(degree, summed(degree))
    for _ in range(_ROUNDS):
        finer = ranked(color, summed(mixed(color)))
        if largest(finer) == largest(color):
            break
        color = finer
    return color.astype(np.int64)


def colors_on(crow: Tensor, col: Tensor) -> Tensor:
    """The same where the rows are (n + 1, and a column an entry), by sums and sorts of a GPU."""
    degree = crow.diff()

    def summed(x: Tensor) -> Tensor:
        return starts_of(x[col])[crow].diff()  # numbers of 64 bits come back from beyond them

    color = _ranks_on(degree, summed(degree))
    for _ in range(_ROUNDS):
        finer = _ranks_on(color, summed(scrambled((color + 1) * STEP)))
        if bool(finer.max() == color.max()):
            break
        color = finer
    return color


def _ranks_on(first: Tensor, second: Tensor) -> Tensor:
    """As `dense_ranks`; the second without a sign."""
    order = (second ^ torch.iinfo(torch.int64).min).argsort(stable=True)
    order = order[first[order].argsort(stable=True)]
    changes = (first[order].diff() != 0) | (second[order].diff() != 0)
    ranks = torch.empty_like(order)
    ranks[order] = starts_of(changes)
    return ranks


def dense_ranks(first: Hashes, second: Hashes) -> Hashes:
    """The rank of each pair among the distinct pairs."""
    order = np.lexsort((second, first))
    changes = (np.diff(first[order]) != 0) | (np.diff(second[order]) != 0)
    ranks = np.empty(len(order), np.uint64)
    ranks[order] = np.append(0, np.cumsum(changes))[: len(order)]
    return ranks


def mixed(x: Hashes) -> Hashes:
    """Numbers that look random (splitmix64), so that sums of them tell multisets apart."""
    x = (x + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


# -------------------------------------------------------------------- sequences


@dataclasses.dataclass(frozen=True, eq=False)
class Sequences:
    """The neighbors of m nodes, each node's in order, one node's after another's."""

    starts: Tensor
    """m + 1: where each sequence starts."""
    nodes: Tensor
    """The neighbors, as positions."""

    @staticmethod
    def of(matrix: sparse.csr_array, color: Ints, device: torch.device | str = "cpu") -> Sequences:
        """The columns of each row's entries, ordered by their colors; those of one color by position."""
        if torch.device(device).type == "cuda":
            return Sequences._sorted_on(matrix, torch.from_numpy(color).to(device))
        order = np.argsort(color, kind="stable")
        place = np.empty(len(order), matrix.indices.dtype)
        place[order] = np.arange(len(order))
        moved = sparse.csr_array((matrix.data, place[matrix.indices], matrix.indptr), shape=matrix.shape, copy=True)
        moved.has_sorted_indices = False
        moved.sort_indices()
        nodes = order[moved.indices]
        return Sequences(torch.tensor(matrix.indptr, dtype=torch.int64, device=device), torch.tensor(nodes).to(device))

    @staticmethod
    def _sorted_on(matrix: sparse.csr_array, color: Tensor) -> Sequences:
        """The same, sorted where the colors are."""
        starts, col = (torch.from_numpy(x.astype(np.int64)).to(color.device) for x in (matrix.indptr, matrix.indices))
        order = color.argsort(stable=True)
        place = torch.empty_like(order)
        place[order] = torch.arange(len(order), device=order.device)
        row = torch.arange(len(starts) - 1, device=order.device).repeat_interleave(starts.diff())
        keys = (row * len(order) + place[col]).sort().values
        return Sequences(starts, order[keys % len(order)])

    def __len__(self) -> int:
        return len(self.starts) - 1

    @property
    def lengths(self) -> Tensor:
        """m: how many neighbors each has."""
        return self.starts.diff()

    def take(self, rows: Tensor) -> Sequences:
        """The sequences of these rows."""
        lengths = self.lengths[rows]
        starts = starts_of(lengths)
        steps = torch.arange(int(starts[-1]), device=starts.device) - starts[:-1].repeat_interleave(lengths)
        return Sequences(starts, self.nodes[self.starts[rows].repeat_interleave(lengths) + steps])

    def sampled(self, most: int, keys: Callable[[Tensor], Tensor]) -> Sequences:
        """At most so many neighbors each: where there are more, those with the smallest keys, still in order.

        With keys E_u / d_u, E_u drawn from the exponential distribution, that is a draw without repetition in which
        the next neighbor is always u with probability proportional to d_u. `keys` is asked only for the neighbors of
        the nodes that have too many.
        """
        long = self.lengths > most
        if not bool(long.any()):
            return self
        many = long.repeat_interleave(self.lengths)
        lengths = self.lengths[long]
        owner = torch.arange(len(lengths), device=lengths.device).repeat_interleave(lengths)
        by_key = keys(self.nodes[many]).argsort(stable=True)
        order = by_key[owner[by_key].argsort(stable=True)]  # by owner, and then by key
        rank = torch.arange(len(order), device=order.device) - starts_of(lengths)[:-1].repeat_interleave(lengths)
        chosen = torch.empty_like(many[: len(order)])
        chosen[order] = rank < most
        stays = ~many
        stays[many] = chosen
        return Sequences(starts_of(self.lengths.clamp(max=most)), self.nodes[stays])


def starts_of(lengths: Tensor) -> Tensor:
    """Where each of several runs of these lengths starts, one after another; and the end of the last."""
    return torch.cat([lengths.new_zeros(1), lengths.cumsum(0)])


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
    starts: Tensor
    """Where the entries of each step start, and the end of the last."""
    lengths: Tensor
    """Of all sequences that have an entry."""

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
        return Packed(entries, alive.tolist(), before, last, starts, some)

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
    attributes: SparseRows | None = None
    """γ a of the nodes that are read, where the network reads attributes."""


def batches(
    sequences: Sequences,
    color: Tensor,
    *,
    most: int,
    batch_size: int | None,
    piece: int,
    dtype: torch.dtype = torch.float32,
    attributes: SparseRows | None = None,
) -> Callable[[torch.Generator], Iterator[Batch]]:
    """The batches of an epoch for a generator: random nodes, their neighbors drawn anew where there are over `most`.

    `piece` bounds how many neighbors are walked together; `attributes` are γ a of all nodes.
    """
    n, device, degrees = len(sequences), sequences.starts.device, sequences.lengths
    steps = steps_of(n, batch_size)
    log_degrees = torch.log1p(degrees.to(dtype))

    def of(generator: torch.Generator) -> Iterator[Batch]:
        drawn = sequences.sampled(most, lambda nodes: exponential(len(nodes), generator).to(device) / degrees[nodes])
        for rows in _random_parts(color, steps, generator):
            yield batch_of(drawn, color, log_degrees, rows, piece, attributes)

    return of


def steps_of(n: int, batch_size: int | None) -> int:
    """How many steps an epoch over n nodes has, at most."""
    return math.ceil(n / (batch_size or max(_LEAST, math.ceil(n / _STEPS))))


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


def batch_of(
    sequences: Sequences,
    color: Tensor,
    log_degrees: Tensor,
    rows: Tensor,
    piece: int,
    attributes: SparseRows | None = None,
    first: int = 0,
) -> Batch:
    """The batch of some rows of sequences; the first of all rows is node `first` of those that `color` has."""
    mine, own = sequences.take(rows), rows + first
    nodes, place = distinct(len(color), own, mine.nodes)
    local, ties = tied(Sequences(mine.starts, place[mine.nodes]), color[nodes])
    pieces = [
        SequencePiece(place[own[at]], packed, log_degrees[rows[at]]) for at, packed in packed_pieces(local, piece)
    ]
    return Batch(nodes, ties, pieces, None if attributes is None else attributes.take(nodes))


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
