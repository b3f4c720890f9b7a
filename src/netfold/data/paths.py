"""Breadth-first search from many nodes at once, the lengths of shortest paths, and the two sides of a graph."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
from scipy import sparse
from scipy.sparse.csgraph import breadth_first_order, connected_components

__all__ = ["breadth_first", "path_lengths", "two_sides"]

_WORD = 64
_GATHERED = 1 << 23
"""Words of neighbors that a step gathers at a time, about: 64 MiB."""


def _search_width(links: sparse.csr_array) -> int:
    """From how many nodes to search at once, in memory that is bounded: a multiple of 64, up to 512."""
    return _WORD * max(1, min(8, _GATHERED // max(links.nnz, 1)))


def breadth_first(
    links: sparse.csr_array, sources: npt.NDArray[np.int64]
) -> Iterator[tuple[int, npt.NDArray[np.uint64]]]:
    """For each number of steps from 1 on, which sources are reached from each node for the first time.

    n x words, source i being bit i % 64 of word i // 64. A step is the union of the neighbors' bits: of the nodes that
    a row of `links` names. So where links are directed, give their transpose for the paths that leave the sources.

    >>> chain = sparse.csr_array([[0, 1, 0], [1, 0, 1], [0, 1, 0]])
    >>> [(steps, new.ravel().tolist()) for steps, new in breadth_first(chain, np.array([0, 2]))]
    [(1, [0, 3, 0]), (2, [2, 0, 1])]
    """
    some = np.flatnonzero(np.diff(links.indptr))  # those that have neighbors
    first, place = links.indptr[some].astype(np.int64), np.arange(len(sources))
    front = np.zeros((links.shape[0], -(-len(sources) // _WORD)), np.uint64)
    np.bitwise_or.at(front, (sources, place // _WORD), np.uint64(1) << (place % _WORD).astype(np.uint64))
    seen, steps = front.copy(), 0
    while some.size and front.any():
        new, steps = np.zeros_like(front), steps + 1
        new[some] = np.bitwise_or.reduceat(front[links.indices], first, axis=0)
        new &= ~seen
        seen |= new
        front = new
        if new.any():
            yield steps, new


def path_lengths(links: sparse.csr_array, rows: npt.NDArray[np.int64]) -> npt.NDArray[np.int32]:
    """The least number of links from some nodes to all, n where there is no path: m x n; `links` is symmetric.

    >>> path_lengths(sparse.csr_array([[0, 1, 0], [1, 0, 0], [0, 0, 0]]), np.array([1])).tolist()
    [[1, 0, 3]]
    """
    n, width = links.shape[0], _search_width(links)
    distances = np.empty((len(rows), n), np.int32)
    for start in range(0, len(rows), width):
        part = rows[start : start + width]
        lengths = np.full((n, len(part)), n, np.int32)
        lengths[part, np.arange(len(part))] = 0
        for steps, new in breadth_first(links, part):
            np.copyto(lengths, steps, where=_bits(new, len(part)))
        distances[start : start + width] = lengths.T
    return distances


def _bits(words: npt.NDArray[np.uint64], count: int) -> npt.NDArray[np.bool_]:
    """The first so many bits of each row of words."""
    octets = words.astype("<u8", copy=False).view(np.uint8)
    return np.unpackbits(octets, axis=1, count=count, bitorder="little").view(np.bool_)


_LOOKED_AT = 1000
"""Neighbors of the largest hub among which a link is looked for first."""


def two_sides(links: sparse.csr_array) -> npt.NDArray[np.int8] | None:
    """The side of each node, 0 or 1, where every link is between the sides; -1 for a node without links.

    None where links cannot be so, and where they have no cycle: every forest has two sides, which says nothing. In each
    component the first node is on side 0, so that of a table of edges, named as they appear, the left column is.
    `links` is symmetric, without a diagonal.

    >>> square = sparse.csr_array([[0, 1, 0, 1], [1, 0, 1, 0], [0, 1, 0, 1], [1, 0, 1, 0]])
    >>> two_sides(square).tolist()
    [0, 1, 0, 1]
    >>> two_sides(square[:3, :3]) is None
    True
    """
    if not links.nnz or _has_triangle_at_hub(links):
        return None
    n, (count, component) = links.shape[0], connected_components(links, directed=False)
    if links.nnz // 2 <= n - count:
        return None
    parity = _parities(links, np.unique(component, return_index=True)[1])
    if (np.repeat(parity, np.diff(links.indptr)) == parity[links.indices]).any():
        return None
    return np.where(np.diff(links.indptr) > 0, parity, -1).astype(np.int8)


def _has_triangle_at_hub(links: sparse.csr_array) -> bool:
    """Whether two of the first neighbors of the node with most are linked: in most graphs, which then cost no more."""
    hub = int(np.diff(links.indptr).argmax())
    near = links.indices[links.indptr[hub] : links.indptr[hub + 1]][:_LOOKED_AT]
    among = np.zeros(links.shape[0], bool)
    among[near] = True
    return bool(among[links[near].indices].any())


def _parities(links: sparse.csr_array, roots: npt.NDArray[np.int64]) -> npt.NDArray[np.int8]:
    """Whether the number of steps from the root of a node's component is odd, by one search from above all roots."""
    n = links.shape[0]
    indices = np.concatenate([links.indices, roots]).astype(np.int32)
    indptr = np.append(links.indptr, len(indices))
    wider = sparse.csr_array((np.ones(len(indices), np.int8), indices, indptr), shape=(n + 1, n + 1))
    before = breadth_first_order(wider, n, directed=True)[1][:n]
    above = np.where(before == n, np.arange(n), before)  # a root is above itself
    parity = (above != np.arange(n)).astype(np.int8)
    while not np.array_equal(higher := above[above], above):  # each round joins twice as many steps
        parity, above = parity ^ parity[above], higher
    return np.asarray(parity, np.int8)
