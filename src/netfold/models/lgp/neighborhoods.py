"""The links that a process reads: all of a graph's, in a unit of weight, and in training those around a few nodes.

Around nodes that count as new are their neighbors, and those of these; of many, some are drawn.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt
import torch
from scipy import sparse
from torch import Tensor

from netfold.data.checks import Floats, Ints
from netfold.data.edges import links
from netfold.data.graph import Graph
from netfold.learn.sparse_rows import SparseRows
from netfold.learn.walks import Links, random_walks

__all__ = [
    "Caps", "LinkRows", "MatrixRows", "Surroundings", "first_met", "links_in", "read_around", "surroundings",
    "unit_near", "unit_of", "walk_length", "walked_roots",
]  # fmt: skip

_WALK = 4
"""A walk goes so many times as many steps as roots are wanted, for it comes by nodes again."""


def links_in(graph: Graph, unit: float = 1.0) -> sparse.csr_array:
    """The weights between two nodes in either direction, without self-loops, which a Laplacian does not see.

    They are in a unit; what is too light to be a float32 in it is left out.
    """
    both = links(graph, directed=False, weights=True, loops="drop") * (1 / unit)
    with np.errstate(over="ignore"):  # a later graph's weights: infinity is refused where it is read
        both = sparse.csr_array(both.astype(np.float32))
    both.eliminate_zeros()
    return both


def unit_of(matrix: sparse.csr_array) -> float:
    """The power of 2 nearest to the mean weight, by which all weights can be divided without any rounding.

    eta and zeta start in proportion to 1 / weight and 1 / weight², which float32 does not hold of amounts in wei.

    >>> unit_of(sparse.csr_array([[0, 3e20], [3e20, 0]])) == 2.0**68
    True
    """
    return unit_near(float(matrix.data.mean(dtype=np.float64)) if matrix.nnz else 1.0)


def unit_near(mean: float) -> float:
    """The power of 2 nearest to a weight."""
    return 2.0 ** max(-126, min(126, round(math.log2(mean))))  # whose inverse is a float32, too


@dataclass(frozen=True)
class Caps:
    """At most so many neighbors are read of a new node, and of a node beside one; None: all.

    Where there are more, some are drawn, and count for those that are not: the sums stay right in expectation.
    """

    one_step: int | None = None
    two_step: int | None = None


@dataclass(frozen=True, eq=False)
class Surroundings:
    """Groups of nodes that count as new, each among known ones; all groups are one block-diagonal system.

    A known node may stand beside several groups, and is listed once for each; what is read of it, once.
    """

    new: Tensor
    """m: the nodes that count as new."""
    links: SparseRows
    """m x r: from these to themselves and to those beside them."""
    rows: SparseRows
    """r x q: from each of those to known nodes."""
    known: Tensor
    """q: the known nodes, each once."""
    beside: Tensor
    """r - m: which of `known` the nodes beside are."""
    place: Tensor
    """m: where each new node is among groups that are all filled up to the `largest`: M_** has a block for each."""
    largest: int
    """How many new nodes a group has, at most."""

    @property
    def size(self) -> int:
        """How many nodes count as new."""
        return len(self.new)

    @property
    def alone(self) -> bool:
        """Whether every group is one node, so that M_** is a diagonal matrix."""
        return self.largest <= 1

    @property
    def steps(self) -> Tensor:
        """r: where groups are of one node, what a row of `rows` tells of the new node v: v one step away, m + v two."""
        new = torch.arange(self.size, device=self.new.device)
        return torch.cat([new, self.size + new.repeat_interleave(self.links.crow.diff())])


def walked_roots(links: Links, count: int, roots: int, generator: torch.Generator) -> tuple[Ints, Ints]:
    """The first `roots` nodes that each of `count` random walks meets: the nodes, and the walk of each.

    A walk starts at any node that has links; in a small component it meets fewer nodes.
    """
    some = links.with_links
    starts = some[torch.randint(len(some), (count,), generator=generator)]
    return first_met(random_walks(links, starts, walk_length(roots), generator).numpy(), len(links), roots)


def walk_length(roots: int) -> int:
    """How many nodes a walk has that is to meet so many different ones."""
    return 1 + _WALK * (roots - 1)


def first_met(walks: Ints, n: int, roots: int) -> tuple[Ints, Ints]:
    """The first `roots` of n nodes that each of some walks (a row each) meets: the nodes, and the walk of each."""
    keys = np.arange(len(walks))[:, None] * n + walks
    first = np.sort(np.unique(keys.ravel(), return_index=True)[1])  # where each walk meets each node first
    group = first // walks.shape[1]
    rank = np.arange(len(group)) - np.searchsorted(group, group)
    return walks.ravel()[first[rank < roots]], group[rank < roots]


def read_around(
    matrix: sparse.csr_array,
    new: Ints,
    group: Ints,
    caps: Caps,
    generator: torch.Generator,
    *,
    n_known: int | None = None,
    device: torch.device | str = "cpu",
    dtype: torch.dtype = torch.float32,
) -> Surroundings:
    """The surroundings of groups of nodes of a graph, which there count as new; `group` is in increasing order.

    `matrix`: n x n, symmetric, without self-loops. See `surroundings`.
    """
    rows = MatrixRows(matrix, generator)
    return surroundings(rows, new, group, caps, n_known=n_known, device=device, dtype=dtype)


class LinkRows(Protocol):
    """The links of n nodes, symmetric, without self-loops, wherever they are."""

    @property
    def n(self) -> int:
        """How many nodes there are."""
        ...

    def counts(self, nodes: Ints) -> Ints:
        """How many links each of some nodes has."""
        ...

    def entries(self, nodes: Ints, places: Ints) -> tuple[Ints, Floats]:
        """Of each node the link at a place: the node that it leads to, and its weight."""
        ...

    def drawn(self, group: Ints, node: Ints, slot: Ints, step: int) -> Floats:
        """A random number in [0, 1) for each slot of a node of a group, when links are read so many steps away."""
        ...


@dataclass(frozen=True, eq=False)
class MatrixRows:
    """Those of a matrix in memory; random numbers come one after another."""

    matrix: sparse.csr_array
    generator: torch.Generator

    @property
    def n(self) -> int:
        """How many nodes there are."""
        return int(self.matrix.shape[0])

    def counts(self, nodes: Ints) -> Ints:
        """How many links each of some nodes has."""
        indptr = self.matrix.indptr
        return indptr[nodes + 1].astype(np.int64) - indptr[nodes].astype(np.int64)

    def entries(self, nodes: Ints, places: Ints) -> tuple[Ints, Floats]:
        """Of each node the link at a place: the node that it leads to, and its weight."""
        at = self.matrix.indptr[nodes].astype(np.int64) + places
        return self.matrix.indices[at].astype(np.int64), self.matrix.data[at]

    def drawn(self, group: Ints, node: Ints, slot: Ints, step: int) -> Floats:
        """The next random numbers."""
        return torch.rand(len(slot), dtype=torch.float64, generator=self.generator).numpy()


def surroundings(
    links: LinkRows,
    new: Ints,
    group: Ints,
    caps: Caps,
    *,
    n_known: int | None = None,
    device: torch.device | str = "cpu",
    dtype: torch.dtype = torch.float32,
) -> Surroundings:
    """The surroundings of groups of nodes, which count as new; `group` is in increasing order.

    Links among the new nodes of a group are all read. A group without known neighbors is left out. Nodes from `n_known`
    on are not known, and are read in their own group only. `links` is asked as often, whatever there is to ask for.
    """
    n, own = links.n, np.sort(group * links.n + new)
    first = _read(links, group, new, None, 1)
    inside = _among(own, group[first.at] * n + first.to)
    linked = np.isin(group, group[first.at[~inside]])
    if not linked.all():
        stays, place = linked[first.at], np.cumsum(linked) - 1
        first, inside, new, group = first.where(stays), inside[stays], new[linked], group[linked]
        first, own = first._replace(at=place[first.at]), np.sort(group * n + new)
    outward = first.where(~inside).thinned(
        len(new), caps.one_step, lambda at, slot: links.drawn(group[at], new[at], slot, 1)
    )
    beside, place = np.unique(group[outward.at] * n + outward.to, return_inverse=True)
    onward = _read(links, beside // n, beside % n, caps.two_step, 2)
    others = ~_among(own, (beside // n)[onward.at] * n + onward.to)
    onward = onward.where(others & (onward.to < (n if n_known is None else n_known)))
    between = _links(first.where(inside), outward._replace(to=len(new) + place), new, group, len(beside))
    known, columns = _numbered(np.concatenate([outward.to, onward.to]), n)
    at, values = np.concatenate([outward.at, len(new) + onward.at]), np.concatenate([outward.values, onward.values])
    rows = _csr(_Entries(at, columns, values), (between.shape[1], len(known)))
    place, largest = _filled_up(group)
    return Surroundings(
        torch.from_numpy(new).to(device),
        SparseRows.from_scipy(between, dtype=dtype, device=device),
        SparseRows.from_scipy(rows, dtype=dtype, device=device),
        torch.from_numpy(known).to(device),
        torch.from_numpy(np.searchsorted(known, beside % n)).to(device),
        torch.from_numpy(place).to(device),
        largest,
    )


def _numbered(nodes: Ints, n: int) -> tuple[Ints, Ints]:
    """Which of n nodes are there, in order, and the place of each among these; many are counted and not sorted."""
    if 4 * len(nodes) < n:
        return np.unique(nodes, return_inverse=True)
    there = np.zeros(n, np.bool_)
    there[nodes] = True
    place = np.cumsum(there) - 1
    return np.flatnonzero(there), place[nodes]


def _filled_up(group: Ints) -> tuple[Ints, int]:
    """The places of the members of groups (m, in increasing order) where all are as large as the largest; its size.

    >>> _filled_up(np.array([3, 3, 3, 8, 9, 9]))
    (array([0, 1, 2, 3, 6, 7]), 3)
    """
    first = np.searchsorted(group, group)
    largest = int((np.arange(len(group)) - first).max(initial=-1)) + 1
    number = np.cumsum(first == np.arange(len(group))) - 1
    return number * largest + np.arange(len(group)) - first, largest


class _Entries(NamedTuple):
    """Some entries of a sparse matrix, by row."""

    at: Ints
    to: Ints
    values: Floats

    def where(self, good: npt.NDArray[np.bool_]) -> _Entries:
        """Those that are good."""
        return _Entries(self.at[good], self.to[good], self.values[good])

    def thinned(self, rows: int, most: int | None, drawn: _Drawn) -> _Entries:
        """At most so many of each row."""
        counts = np.bincount(self.at, minlength=rows)
        owner, place, times = _picked(counts, most, drawn)
        entries = (np.cumsum(counts) - counts)[owner] + place
        return _Entries(owner, self.to[entries], self.values[entries] * times)


_Drawn = Callable[[Ints, Ints], Floats]
"""From rows and slots in them to random numbers in [0, 1)."""


def _read(links: LinkRows, group: Ints, nodes: Ints, most: int | None, step: int) -> _Entries:
    """At most so many links of each of these nodes, each node known by its place among them."""
    owner, place, times = _picked(
        links.counts(nodes), most, lambda at, slot: links.drawn(group[at], nodes[at], slot, step)
    )  # fmt: skip
    to, values = links.entries(nodes[owner], place)
    return _Entries(owner, to, values * times)


def _picked(counts: Ints, most: int | None, uniform: _Drawn) -> tuple[Ints, Ints, Floats]:
    """Which entries of rows of so many are read: the row, the place in it, and how often an entry counts.

    Of a row of D > `most` entries one is drawn from each of `most` equal parts, and counts D / most times.
    """
    taken = counts if most is None else np.minimum(counts, most)
    owner = np.repeat(np.arange(len(counts)), taken)
    place = (np.arange(len(owner)) - np.repeat(np.cumsum(taken) - taken, taken)).astype(np.float64)
    part = (counts / np.maximum(taken, 1))[owner]
    drawn = np.flatnonzero(part > 1)
    place[drawn] += uniform(owner[drawn], place[drawn].astype(np.int64))
    return owner, np.minimum((place * part).astype(np.int64), counts[owner] - 1), part


def _links(inner: _Entries, outer: _Entries, new: Ints, group: Ints, beside: int) -> sparse.csr_array:
    """From new nodes to themselves, all of a group's links whatever else was drawn, and to those beside them."""
    order = np.lexsort((new, group))
    n = int(max(new.max(initial=0), inner.to.max(initial=0))) + 1
    to = order[np.searchsorted((group * n + new)[order], group[inner.at] * n + inner.to)]
    parts = zip(inner._replace(to=to), outer, strict=True)
    return _csr(_Entries(*(np.concatenate(part) for part in parts)), (len(new), len(new) + beside))


def _among(ordered: Ints, keys: Ints) -> npt.NDArray[np.bool_]:
    """Which keys are among those in order."""
    at = np.minimum(np.searchsorted(ordered, keys), len(ordered) - 1)
    is_among: npt.NDArray[np.bool_] = ordered[at] == keys
    return is_among


def _csr(entries: _Entries, shape: tuple[int, int]) -> sparse.csr_array:
    """A sorted matrix; entries of one place are added up."""
    matrix = sparse.coo_array((entries.values, (entries.at, entries.to)), shape=shape).tocsr()
    matrix.sum_duplicates()
    return matrix
