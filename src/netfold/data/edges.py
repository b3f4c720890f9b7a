"""Edges: what links a graph has, edges as pairs of positions, and the adjacency matrix of a list of edges."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Literal, cast

import numpy as np
import numpy.typing as npt
from scipy import sparse

from netfold.errors import InputError

if TYPE_CHECKING:
    from netfold.data.graph import Graph

__all__ = [
    "EdgePiece",
    "Pairs",
    "adjacency",
    "edge_pairs",
    "keys_of",
    "linked_nodes",
    "links",
    "median_weight",
    "neighbor_counts",
    "pair_times",
    "pairs_of",
    "with_pairs",
    "without_pairs",
]

Pairs = npt.NDArray[np.int64]
"""m x 2 positions of nodes."""
EdgePiece = tuple[npt.NDArray[Any], npt.NDArray[Any]]
"""Some edges: the positions of their two ends."""


# -------------------------------------------------------------------- links


def links(
    graph: Graph,
    *,
    directed: bool,
    weights: bool,
    loops: Literal["drop", "keep", "all"],
    dtype: npt.DTypeLike = np.float64,
) -> sparse.csr_array:
    """Who is linked with whom, by the rule that is asked for: n x n, sorted; it may share arrays with the graph.

    `directed`: as the edges of a directed graph go, or else in either direction; an undirected graph has but one
    answer. `weights`: those of the edges, which of two opposite ones are added up (so that a self-loop of a directed
    graph counts twice), or else 1. `loops`: self-loops are dropped or kept, or every node has one, of weight 1 where
    it had none. Numbers are added as `dtype`.

    >>> from netfold.data.graph import Graph
    >>> graph = Graph.from_edges([("a", "b", 2), ("b", "a", 3), ("b", "b", 5)], directed=True)
    >>> links(graph, directed=True, weights=True, loops="keep").toarray().tolist()
    [[0.0, 2.0], [3.0, 5.0]]
    >>> links(graph, directed=False, weights=True, loops="drop").toarray().tolist()
    [[0.0, 5.0], [5.0, 0.0]]
    >>> links(graph, directed=False, weights=False, loops="all").toarray().tolist()
    [[1.0, 1.0], [1.0, 1.0]]
    """
    own = graph.adjacency
    matrix = cast(sparse.csr_array, own.astype(dtype, copy=False)) if weights else _ones(own, dtype)
    if graph.directed and not directed:
        both = sparse.csr_array(matrix + matrix.T)
        matrix = both if weights else _ones(both, dtype)
    if loops == "drop":
        return _without_loops(matrix)
    if loops == "all":
        missing = sparse.diags_array((matrix.diagonal() == 0).astype(dtype))
        matrix = sparse.csr_array(matrix + missing)
        matrix.sort_indices()
    return matrix


def _ones(matrix: sparse.csr_array, dtype: npt.DTypeLike) -> sparse.csr_array:
    ones = sparse.csr_array((np.ones(matrix.nnz, dtype), matrix.indices, matrix.indptr), shape=matrix.shape)
    ones.has_sorted_indices = ones.has_canonical_format = True
    return ones


def _without_loops(matrix: sparse.csr_array) -> sparse.csr_array:
    if not matrix.diagonal().any():
        return matrix
    entries = matrix.tocoo()
    u, v = entries.coords
    off = u != v
    return sparse.csr_array(sparse.coo_array((entries.data[off], (u[off], v[off])), shape=matrix.shape))


def linked_nodes(graph: Graph) -> npt.NDArray[np.bool_]:
    """Which nodes have an edge at all, at either end of it; a self-loop is one: n.

    >>> from netfold.data.graph import Graph
    >>> linked_nodes(Graph.from_edges([("a", "b"), ("c", "c")], nodes="abcd", directed=True)).tolist()
    [True, True, True, False]
    """
    linked = np.diff(graph.adjacency.indptr) > 0
    linked[graph.adjacency.indices] = True
    return linked


def neighbor_counts(graph: Graph) -> npt.NDArray[np.int64]:
    """How many other nodes each node is linked with, in either direction: n."""
    near = links(graph, directed=False, weights=False, loops="drop")
    return np.diff(near.indptr).astype(np.int64)


# -------------------------------------------------------------------- pairs


def edge_pairs(graph: Graph) -> Pairs:
    """The edges between two different nodes, m x 2: an undirected edge once, the lower position first.

    >>> from netfold.data.graph import Graph
    >>> edge_pairs(Graph.from_edges([("b", "a"), ("a", "a"), ("b", "c")], nodes="abc")).tolist()
    [[0, 1], [1, 2]]
    """
    u, v = (x.astype(np.int64) for x in graph.adjacency.tocoo().coords)
    once = u != v if graph.directed else u < v
    return np.stack([u[once], v[once]], axis=1)


def pair_times(graph: Graph) -> npt.NDArray[np.float64] | None:
    """When each of `edge_pairs` was first there; None where the graph does not say."""
    if graph.times is None:
        return None
    u, v = graph.adjacency.tocoo().coords
    return graph.times[u != v if graph.directed else u < v]


def keys_of(pairs: Pairs, n: int, *, directed: bool) -> npt.NDArray[np.int64]:
    """One number u n + v for each pair; an undirected pair has its lower position first."""
    u, v = pairs[:, 0], pairs[:, 1]
    return u * n + v if directed else np.minimum(u, v) * n + np.maximum(u, v)


def pairs_of(keys: npt.NDArray[np.int64], n: int) -> Pairs:
    """The pairs that `keys_of` made these of."""
    return np.stack(np.divmod(keys, max(n, 1)), axis=1)


def with_pairs(graph: Graph, pairs: Pairs, weights: npt.ArrayLike = 1.0) -> Graph:
    """The graph and more edges, of these weights.

    >>> from netfold.data.graph import Graph
    >>> with_pairs(Graph.from_edges([(0, 1), (1, 2)]), np.array([[0, 2]])).n_edges
    3
    """
    u, v, w = *pairs.T, np.broadcast_to(np.asarray(weights, np.float32), len(pairs))
    if not graph.directed:
        u, v, w = np.concatenate([u, v]), np.concatenate([v, u]), np.tile(w, 2)
    more = sparse.csr_array((w, (u, v)), shape=graph.adjacency.shape)
    both = sparse.csr_array(graph.adjacency + more)
    return type(graph)(both, graph.nodes, directed=graph.directed, attributes=graph.attributes)


def without_pairs(graph: Graph, pairs: Pairs) -> Graph:
    """The graph without some of its edges; its nodes and its other weights stay."""
    n, entries = graph.n_nodes, graph.adjacency.tocoo()
    u, v = (x.astype(np.int64) for x in entries.coords)
    gone = keys_of(pairs, n, directed=graph.directed)
    left_over = ~np.isin(keys_of(np.stack([u, v], axis=1), n, directed=graph.directed), gone)
    left = sparse.coo_array((entries.data[left_over], (u[left_over], v[left_over])), shape=(n, n))
    times = None if graph.times is None else graph.times[left_over]
    return type(graph)(left.tocsr(), graph.nodes, directed=graph.directed, times=times, attributes=graph.attributes)


# -------------------------------------------------------------------- the matrix of a list of edges


LARGEST = float(np.finfo(np.float32).max)
_BATCH = 1 << 17
_BUCKETS = 8
"""Edges are sorted in up to two to this power of buckets ..."""
_FULL = 16
"""... of about two to this power of entries, which a processor's second-level cache holds."""


def adjacency(pieces: list[EdgePiece], weights: npt.NDArray[Any] | None, n: int, *, directed: bool) -> sparse.csr_array:
    """The n x n matrix of edges, in little more memory than its own: the list of pieces is emptied as it grows.

    Repeated edges are one edge without weights, and sum them with. Sums are taken in float64 in the order given,
    an undirected edge in one direction only, so that the matrix is symmetric to the last bit.

    >>> u, v = np.array([0, 1, 1]), np.array([1, 0, 2])
    >>> adjacency([(u, v)], None, 3, directed=False).toarray().astype(int).tolist()
    [[0, 1, 0], [1, 0, 1], [0, 1, 0]]
    """
    if not any(len(u) for u, _ in pieces):
        return sparse.csr_array(
            (np.empty(0, np.float32), np.empty(0, np.int32), np.zeros(n + 1, np.int32)), shape=(n, n)
        )
    matrix = _pattern(pieces, n, directed) if weights is None else _summed(pieces, weights, n, directed)
    matrix.has_sorted_indices = matrix.has_canonical_format = True
    return matrix


# -------------------------------------------------------------------- without weights


def _pattern(pieces: list[EdgePiece], n: int, directed: bool) -> sparse.csr_array:
    """Two stable counting sorts, by column and then by row; each first by buckets, so that it stays in the cache."""
    entries = sum(len(u) for u, _ in pieces) * (1 if directed else 2)
    bits = min(_BUCKETS, max(0, entries.bit_length() - _FULL))
    shift = max(0, (n - 1).bit_length() - bits)
    by_row, by_column = _bucket_sizes(pieces, n, shift, directed)
    columns = _Buckets(by_column, n, shift)
    for u, v in _batches(pieces):
        if directed:
            columns.put(v, u)
        else:
            columns.put(np.concatenate([v, u]), np.concatenate([u, v]))
    rows = _Buckets(by_row, n, shift)
    for first, part in columns.sorted_parts():
        column = np.repeat(np.arange(first, first + part.shape[0], dtype=np.int32), np.diff(part.indptr))
        rows.put(part.indices, column)
    indices, indptr = _stacked(rows.sorted_parts(), columns.let_go(), n)
    del columns, rows
    return sparse.csr_array((np.ones(len(indices), np.float32), indices, indptr), shape=(n, n))


def _batches(pieces: list[EdgePiece]) -> Iterator[list[npt.NDArray[np.int32]]]:
    """The edges, some at a time; a piece is let go when it has been given."""
    while pieces:
        piece = pieces.pop(0)
        for i in range(0, len(piece[0]), _BATCH):
            yield [ends[i : i + _BATCH].astype(np.int32, copy=False) for ends in piece]


def _bucket_sizes(pieces: list[EdgePiece], n: int, shift: int, directed: bool) -> npt.NDArray[np.int64]:
    """How many entries each bucket of rows, and each of columns, will hold (2 x buckets)."""
    sizes = np.zeros((2, ((n - 1) >> shift) + 1), np.int64)
    for batch in _batches(pieces[:]):
        for size, ends in zip(sizes, batch, strict=True):
            size += np.bincount((ends >> shift).astype(np.uint8), minlength=len(size))
    if not directed:
        sizes[:] = sizes.sum(axis=0)
    return sizes


class _Buckets:
    """Pairs (key, other), put apart by the high bits of the key and given back in the order of the key.

    All buckets lie in one large array, because only those are given large pages of memory, which cost next to nothing.
    """

    def __init__(self, sizes: npt.NDArray[np.int64], n: int, shift: int):
        total = int(sizes.sum())
        self._n, self._shift = n, shift
        self._bounds = [0, *np.cumsum(sizes).tolist()]
        self._used = self._bounds[:-1]
        self._other = np.empty(total, np.int32)
        self._low = np.empty(total, np.uint16 if shift <= 16 else np.uint32)

    def put(self, key: npt.NDArray[np.int32], other: npt.NDArray[np.int32]) -> None:
        low = (key & np.int32((1 << self._shift) - 1)).astype(self._low.dtype)
        apart = _counting_sort(key >> self._shift, other, low, (len(self._used), self._n))
        start = 0
        for b, end in enumerate(apart.indptr[1:].tolist()):
            at = self._used[b]
            self._used[b] = stop = at + end - start
            self._other[at:stop] = apart.indices[start:end]
            self._low[at:stop] = apart.data[start:end]
            start = end

    def sorted_parts(self) -> Iterator[tuple[int, sparse.csr_array]]:
        """Bucket by bucket its first key, and a row of others for each key."""
        for b, first in enumerate(range(0, self._n, 1 << self._shift)):
            bucket = slice(self._bounds[b], self._bounds[b + 1])
            low = self._low[bucket].astype(np.int32)
            shape = (min(1 << self._shift, self._n - first), self._n)
            yield first, _counting_sort(low, self._other[bucket], np.ones(len(low), np.bool_), shape)

    def let_go(self) -> npt.NDArray[np.int32]:
        """The array of all others, to be used for something else; the buckets are gone then."""
        other = self._other
        del self._other, self._low
        return other


def _counting_sort(
    key: npt.NDArray[np.int32], other: npt.NDArray[np.int32], data: npt.NDArray[Any], shape: tuple[int, int]
) -> sparse.csr_array:
    """A row of others for each key, in the order given: what making CSR of COO does, without what it does after."""
    entries = sparse.coo_array((data, (key, other)), shape=shape)
    entries.has_canonical_format = True  # it need not be, but this keeps tocsr() from sorting and summing
    return entries.tocsr()


def _stacked(
    parts: Iterator[tuple[int, sparse.csr_array]], indices: npt.NDArray[np.int32], n: int
) -> tuple[npt.NDArray[np.int32], npt.NDArray[Any]]:
    """Rows of sorted columns below one another, each column once: written into `indices`, and where each row begins."""
    indptr: npt.NDArray[Any] = np.zeros(n + 1, np.int32 if len(indices) < 2**31 else np.int64)
    used = 0
    for first, part in parts:
        part.has_sorted_indices, part.has_canonical_format = True, False
        part.sum_duplicates()
        indices[used : used + part.nnz] = part.indices
        np.add(part.indptr[1:], used, out=indptr[first + 1 : first + 1 + part.shape[0]], casting="same_kind")
        used += part.nnz
    indices.resize(used, refcheck=False)
    return indices, indptr


# -------------------------------------------------------------------- with weights


def _summed(pieces: list[EdgePiece], weights: npt.NDArray[Any], n: int, directed: bool) -> sparse.csr_array:
    u, v = (np.concatenate([piece[i] for piece in pieces]).astype(np.int32, copy=False) for i in (0, 1))
    pieces.clear()
    if not directed:
        u, v = np.minimum(u, v), np.maximum(u, v)
    columns = _counting_sort(v, u, np.asarray(weights, np.float64), (n, n))
    del u, v
    matrix: sparse.csr_array = columns.T.tocsr()
    del columns
    matrix.has_sorted_indices, matrix.has_canonical_format = True, False
    matrix.sum_duplicates()
    if matrix.nnz and not matrix.data.max() <= LARGEST:
        raise InputError(f"the weights of an edge sum to more than {LARGEST:.3g}; scale the weights down")
    matrix.data = in_float32(matrix.data)
    matrix.eliminate_zeros()
    return matrix if directed else _mirrored(matrix)


def median_weight(weights: npt.NDArray[np.float32]) -> float:
    """The lower of two in the middle, where there are two: one that an edge has.

    >>> median_weight(np.array([5, 1, 3, 900], np.float32))
    3.0
    """
    middle = (len(weights) - 1) // 2
    return float(weights[0] if weights.min() == weights.max() else np.partition(weights, middle)[middle])


def in_float32(weights: npt.NDArray[Any]) -> npt.NDArray[np.float32]:
    """The same numbers as graphs keep them; a word where some are so small that they are 0 there, and so no edges."""
    rounded = weights.astype(np.float32, copy=False)
    lost = int(np.count_nonzero(weights)) - int(np.count_nonzero(rounded)) if rounded is not weights else 0
    if lost:
        least = weights[weights > 0].min()
        edges = "an edge is" if lost == 1 else f"{lost:,} edges are"
        said = f"weights below 1e-45 are 0 in float32 (the least is {least:.3g}): {edges} dropped; scale the weights up"
        warnings.warn(said, stacklevel=2)
    return rounded


def _mirrored(upper: sparse.csr_array) -> sparse.csr_array:
    """The symmetric matrix that has this upper triangle."""
    lower: sparse.csr_array = upper.T.tocsr()
    loops = np.flatnonzero(upper.diagonal())
    lower.data[lower.indptr[loops + 1] - 1] = 0  # in a lower triangle the diagonal ends its row
    lower.has_sorted_indices = lower.has_canonical_format = True
    whole: sparse.csr_array = lower + upper
    return whole


# -------------------------------------------------------------------- times


def entry_times(
    matrix: sparse.csr_array, pieces: list[EdgePiece], times: npt.NDArray[np.float64], *, directed: bool
) -> npt.NDArray[np.float64]:
    """For each stored entry of a matrix, the earliest time of the edges that made it; NaN where none has one.

    The list of pieces is emptied.

    >>> pieces = [(np.array([0, 1, 1]), np.array([1, 0, 2]))]
    >>> matrix = adjacency(pieces[:], None, 3, directed=False)
    >>> entry_times(matrix, pieces, np.array([7.0, 5.0, 9.0]), directed=False).tolist()
    [5.0, 5.0, 9.0, 9.0]
    """
    n = matrix.shape[0]
    if not matrix.nnz:
        return np.empty(0)
    u, v = (np.concatenate([piece[i] for piece in pieces]).astype(np.int32, copy=False) for i in (0, 1))
    pieces.clear()
    if not directed:
        u, v = np.minimum(u, v), np.maximum(u, v)
    ordered: sparse.csr_array = _counting_sort(v, u, times, (n, n)).T.tocsr()
    del u, v
    rows = np.repeat(np.arange(n, dtype=np.int32), np.diff(ordered.indptr))
    changes = (rows[1:] != rows[:-1]) | (ordered.indices[1:] != ordered.indices[:-1])
    first = np.flatnonzero(np.append(True, changes)).astype(matrix.indptr.dtype)
    earliest = np.fmin.reduceat(ordered.data, first)
    places = _counting_sort(
        rows[first], ordered.indices[first], np.arange(1, len(first) + 1, dtype=first.dtype), (n, n)
    )
    del ordered, rows, changes, first
    places.has_sorted_indices = places.has_canonical_format = True
    places = places if directed else _mirrored(places)
    if places.nnz > matrix.nnz:  # edges of weight 0 are dropped
        places.data = places.data[np.searchsorted(_keys(places), _keys(matrix))]
    return np.asarray(earliest[places.data - 1])


def _keys(matrix: sparse.csr_array) -> npt.NDArray[np.int64]:
    """One number for each stored entry, in ascending order."""
    n = matrix.shape[0]
    rows = np.repeat(np.arange(n, dtype=np.int64), np.diff(matrix.indptr))
    return np.asarray(rows * n + matrix.indices)
