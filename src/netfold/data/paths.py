"""Breadth-first search from many nodes at once, and the lengths of shortest paths."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
from scipy import sparse

__all__ = ["breadth_first", "path_lengths"]

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
