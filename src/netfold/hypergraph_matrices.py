"""The matrices of a hypergraph, from the rows of its kinds, in little more memory than the matrix itself."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt
from scipy import sparse

__all__ = ["adjacency", "incidence"]

Ints = npt.NDArray[np.int64]

_PAIRS = 1 << 21
"""Pairs of nodes that are looked at together."""


def incidence(rows: Sequence[Ints], numbers: Sequence[Ints], n: int) -> sparse.csr_array:
    """H (n x m): H[i, e] = 1 where node i is in edge e; `numbers` are the edges that the rows of each kind are.

    >>> incidence([np.array([[0, 1], [1, 2]])], [np.array([0, 1])], 3).toarray().tolist()
    [[1.0, 0.0], [1.0, 1.0], [0.0, 1.0]]
    """
    members = np.concatenate([np.empty(0, np.int32), *(r.ravel().astype(np.int32) for r in rows)])
    edges = [np.repeat(e.astype(np.int32), r.shape[1]) for r, e in zip(rows, numbers, strict=True)]
    columns = np.concatenate([np.empty(0, np.int32), *edges])
    del edges
    shape = (n, sum(map(len, rows)))
    return sparse.coo_array((np.ones(len(members), np.float32), (members, columns)), shape=shape).tocsr()


def adjacency(rows: Sequence[Ints], n: int) -> sparse.csr_array:
    """A = H Hᵀ - D_v (n x n): in how many edges two nodes are together, with an empty diagonal.

    Row i of H Hᵀ counts the nodes of the edges of i, i itself in each; so those lists, i left out, are sorted and
    counted, for some nodes at a time. An edge of N nodes costs N(N - 1).

    >>> adjacency([np.array([[0, 1, 2]]), np.array([[2, 1]])], 3).toarray().tolist()
    [[0.0, 1.0, 1.0], [1.0, 0.0, 2.0], [1.0, 2.0, 0.0]]
    """
    most = sum(len(r) * r.shape[1] * (r.shape[1] - 1) for r in rows)
    indices, counts = np.empty(most, np.int32), np.empty(most, np.float32)  # what stays unused takes no memory
    indptr: npt.NDArray[np.signedinteger] = np.zeros(n + 1, np.int32 if most < 2**31 else np.int64)
    used = 0
    for first, part in _parts(rows, n):
        here = slice(used, used + part.nnz)
        indices[here], counts[here] = part.indices, part.data
        np.add(part.indptr[1:], used, out=indptr[first + 1 : first + 1 + part.shape[0]], casting="same_kind")
        used = here.stop
    indices.resize(used, refcheck=False)
    counts.resize(used, refcheck=False)
    made = sparse.csr_array((counts, indices, indptr), shape=(n, n))
    made.has_sorted_indices = made.has_canonical_format = True
    return made


def _parts(rows: Sequence[Ints], n: int) -> Iterator[tuple[int, sparse.csr_array]]:
    """Rows of A from the first to the last, some at a time, each part with its first row."""
    members = np.concatenate([np.empty(0, np.int32), *(r.ravel().astype(np.int32) for r in rows)])
    sizes = np.repeat(np.array([r.shape[1] for r in rows], np.int32), [len(r) for r in rows])
    starts = np.cumsum(sizes, dtype=np.int64) - sizes
    edges, bounds = _edges_of_nodes(members, sizes, n)
    for first, last in _blocks(edges, bounds, sizes):
        mine = edges[bounds[first] : bounds[last]]
        degrees = np.diff(bounds[first : last + 1])
        found = _members_of(mine, members, starts, sizes)
        others = found[found != np.repeat(np.repeat(np.arange(first, last), degrees), sizes[mine])]
        ends = np.cumsum(np.append(0, sizes[mine] - 1))[bounds[first : last + 1] - bounds[first]]
        part = sparse.csr_array((np.ones(len(others), np.float32), others, ends), shape=(last - first, n))
        part.sum_duplicates()
        yield first, part


def _edges_of_nodes(
    members: npt.NDArray[np.int32], sizes: npt.NDArray[np.int32], n: int
) -> tuple[npt.NDArray[np.int32], Ints]:
    """The edges of each node, node after node, and where those of each begin."""
    columns = np.repeat(np.arange(len(sizes), dtype=np.int32), sizes)
    listed = sparse.coo_array((np.ones(len(members), np.bool_), (members, columns)), shape=(n, len(sizes)))
    listed.has_canonical_format = True  # no edge names a node twice; this keeps tocsr() from looking
    made = listed.tocsr()
    return made.indices, made.indptr.astype(np.int64)


def _blocks(edges: npt.NDArray[np.int32], bounds: Ints, sizes: npt.NDArray[np.int32]) -> Iterator[tuple[int, int]]:
    """Runs of nodes whose edges hold about `_PAIRS` nodes together, or one node where its own hold more."""
    pairs = np.cumsum(np.append(0, sizes[edges]))[bounds]
    first, n = 0, len(bounds) - 1
    while first < n:
        last = int(np.searchsorted(pairs, pairs[first] + _PAIRS, side="right")) - 1
        last = min(max(last, first + 1), n)
        yield first, last
        first = last


def _members_of(
    edges: npt.NDArray[np.int32], members: npt.NDArray[np.int32], starts: Ints, sizes: npt.NDArray[np.int32]
) -> npt.NDArray[np.int32]:
    """The nodes of these edges, one edge after the other."""
    lengths = sizes[edges]
    before = np.cumsum(lengths, dtype=np.int64) - lengths
    at = np.arange(int(lengths.sum())) + np.repeat(starts[edges] - before, lengths)
    found: npt.NDArray[np.int32] = members[at]
    return found
