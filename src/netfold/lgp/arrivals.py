"""New nodes by their links, as they stand in a later graph."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import sparse
from scipy.sparse.csgraph import connected_components

__all__ = ["Arrivals", "arrivals", "grown"]

Rows = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Arrivals:
    """m new nodes among n known ones, k of which they have links with."""

    near: Rows
    """k: the known neighbors of new nodes, in order."""
    to_near: sparse.csr_array
    """m x k"""
    among: sparse.csr_array
    """m x m, symmetric, without self-loops."""
    added: sparse.csr_array
    """k x n: by how much the later graph has changed the weights of links among known nodes."""

    def __len__(self) -> int:
        return int(self.among.shape[0])

    def reached(self) -> npt.NDArray[np.bool_]:
        """Which new nodes a path leads to from a known one."""
        beside = np.diff(self.to_near.indptr) > 0
        if beside.all():
            return beside
        count, component = connected_components(self.among, directed=False)
        return np.bincount(component, beside, minlength=count)[component] > 0


def arrivals(later: sparse.csr_array, new: Rows, known: Rows, fitted: sparse.csr_array) -> Arrivals:
    """The rows `new` of a later graph, beside the graph that was `fitted`.

    `known` has each later row's position there, or -1. Both matrices are symmetric and without self-loops. A link among
    known nodes has the weight that the later graph gives it, where that has it; where not, the fitted one's.
    """
    m, place = len(new), np.full(len(known), -1, np.int64)
    place[new] = np.arange(m)
    rows = later[new].tocoo()
    at, ends = (x.astype(np.int64) for x in rows.coords)
    inner = place[ends] >= 0
    among = sparse.coo_array((rows.data[inner], (at[inner], place[ends[inner]])), shape=(m, m)).tocsr()
    beside, column = np.unique(ends[~inner], return_inverse=True)
    order = np.argsort(known[beside])
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    to_near = sparse.coo_array((rows.data[~inner], (at[~inner], rank[column])), shape=(m, len(beside))).tocsr()
    beside = beside[order]
    added = _added(later[beside], known, known[beside], fitted)
    return Arrivals(known[beside], _sorted(to_near), _sorted(among), added)


def _added(rows: sparse.csr_array, known: Rows, near: Rows, fitted: sparse.csr_array) -> sparse.csr_array:
    """What rows of a later graph give to links among known nodes beyond what the fitted one does."""
    shape, ends = (len(near), fitted.shape[0]), known[rows.indices]
    among = ends >= 0
    if not among.any():
        return sparse.csr_array(shape, dtype=fitted.dtype)
    entries = rows.tocoo()
    at = entries.coords[0]
    place, weights = (at[among], ends[among]), entries.data[among]
    there = sparse.coo_array((np.ones_like(weights), place), shape=shape).tocsr()
    made = sparse.csr_array(sparse.coo_array((weights, place), shape=shape).tocsr() - fitted[near].multiply(there))
    made.eliminate_zeros()
    return made


def grown(fitted: sparse.csr_array, later: sparse.csr_array, new: Rows, known: Rows) -> sparse.csr_array:
    """The fitted graph with all that a later one adds: its known nodes first, then the new ones, in order."""
    n, place = fitted.shape[0], known.copy()
    place[new] = n + np.arange(len(new))
    entries, before = later.tocoo(), fitted.tocoo()
    one, two = (place[x] for x in entries.coords)
    size = n + len(new)
    keys, old = one * size + two, before.coords[0].astype(np.int64) * size + before.coords[1]
    kept = ~np.isin(old, keys)
    at = np.concatenate([before.coords[0][kept], one]), np.concatenate([before.coords[1][kept], two])
    made = sparse.coo_array((np.concatenate([before.data[kept], entries.data]), at), shape=(size, size))
    return _sorted(made.tocsr())


def _sorted(matrix: sparse.csr_array) -> sparse.csr_array:
    matrix.sort_indices()
    return matrix
