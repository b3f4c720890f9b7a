"""DRNE's input: the neighbors of each node as a sequence ordered by degree, fewer of them where they are too many."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import torch
from scipy import sparse
from torch import Tensor

from netfold.data.arrays import Ints
from netfold.data.edges import links
from netfold.data.graph import Graph

__all__ = ["Sequences", "colors", "neighbors", "starts_of"]


_ROUNDS = 16
"""How many steps away from a node its color reaches, at most."""


# -------------------------------------------------------------------- the order of neighbors


def neighbors(graph: Graph) -> sparse.csr_array:
    """Who is a neighbor of whom: linked in either direction, a self-loop makes a node its own; weights are not read."""
    return links(graph, directed=False, weights=True, loops="keep", dtype=np.float32)  # the graph's own, where it can


def colors(matrix: sparse.csr_array) -> Ints:
    """A number for each node that grows with its degree, the same for nodes that look the same from all around.

    Nodes of one degree are ordered by the sum of their neighbors' degrees, and then by a hash of what their neighbors
    are, and those of theirs in turn (color refinement, a few steps far). What an automorphism of the graph exchanges
    has one color.

    >>> colors(sparse.csr_array([[0, 1, 0, 0], [1, 0, 1, 0], [0, 1, 0, 1], [0, 0, 1, 0]])).tolist()
    [0, 1, 1, 0]
    """
    near = sparse.csr_array((np.ones(matrix.nnz, np.uint64), matrix.indices, matrix.indptr), shape=matrix.shape)
    degree = np.diff(matrix.indptr).astype(np.uint64)
    color = _ranks(degree, np.asarray(near @ degree))
    for _ in range(_ROUNDS):
        finer = _ranks(color, np.asarray(near @ _mixed(color)))
        if finer.max() == color.max():
            break
        color = finer
    return color.astype(np.int64)


def _ranks(first: npt.NDArray[np.uint64], second: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """The rank of each pair among the distinct pairs."""
    order = np.lexsort((second, first))
    changes = (np.diff(first[order]) != 0) | (np.diff(second[order]) != 0)
    ranks = np.empty(len(order), np.uint64)
    ranks[order] = np.append(0, np.cumsum(changes))
    return ranks


def _mixed(x: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
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
        order = np.argsort(color, kind="stable")
        place = np.empty(len(order), matrix.indices.dtype)
        place[order] = np.arange(len(order))
        moved = sparse.csr_array((matrix.data, place[matrix.indices], matrix.indptr), shape=matrix.shape, copy=True)
        moved.has_sorted_indices = False
        moved.sort_indices()
        nodes = order[moved.indices]
        return Sequences(torch.tensor(matrix.indptr, dtype=torch.int64, device=device), torch.tensor(nodes).to(device))

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
