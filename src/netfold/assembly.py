"""The adjacency matrix of a list of edges, in as little memory as the edges themselves need."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from netfold.errors import InputError

_LARGEST = float(np.finfo(np.float32).max)


def adjacency(
    ends: list[npt.NDArray[Any]], weights: npt.NDArray[Any] | None, n: int, *, directed: bool
) -> tuple[sparse.csr_array, int]:
    """The n x n matrix of edges from ends[0] to ends[1], and how many of them repeat another.

    Repeated edges are one edge without weights, and sum them with. Sums are taken in float64 in the order given,
    an undirected edge in one direction only, so that the matrix is symmetric to the last bit. `ends` is emptied, so
    that its arrays can be let go while the matrix grows.

    >>> matrix, repeated = adjacency([np.array([0, 1, 1]), np.array([1, 0, 2])], None, 3, directed=False)
    >>> matrix.toarray().astype(int).tolist(), repeated
    ([[0, 1, 0], [1, 0, 1], [0, 1, 0]], 1)
    """
    given = len(ends[0])
    matrix = _sorted_rows(ends, weights, n, directed)
    matrix.sum_duplicates()
    repeated = given - matrix.nnz
    if weights is not None:
        matrix = _as_float32(matrix)
    if not directed:
        matrix = _mirrored(matrix)
    if weights is None:
        matrix.data = np.ones(matrix.nnz, np.float32)
    matrix.has_canonical_format = True
    return matrix, repeated


def _sorted_rows(
    ends: list[npt.NDArray[Any]], weights: npt.NDArray[Any] | None, n: int, directed: bool
) -> sparse.csr_array:
    """Edges by row, and by column in each row, repeated ones in the order given; undirected ones above the diagonal.

    Two counting sorts: by column, then by row. A sort by keys takes half as long again, and is not stable.
    """
    u, v = ends
    ends.clear()
    if not directed:
        u, v = np.minimum(u, v), np.maximum(u, v)
    data = np.ones(len(u), np.bool_) if weights is None else np.asarray(weights, np.float64)
    by_column = sparse.coo_array((data, (v, u)), shape=(n, n))
    del u, v, data
    by_column.has_canonical_format = True  # it is not, but this keeps tocsr() from sorting by comparison
    columns = by_column.tocsr()
    del by_column
    rows: sparse.csr_array = columns.T.tocsr()
    rows.has_sorted_indices, rows.has_canonical_format = True, False
    return rows


def _as_float32(matrix: sparse.csr_array) -> sparse.csr_array:
    if matrix.nnz and not matrix.data.max() <= _LARGEST:
        raise InputError(f"the weights of an edge sum to more than {_LARGEST:.3g}; scale the weights down")
    matrix.data = matrix.data.astype(np.float32)
    matrix.eliminate_zeros()
    return matrix


def _mirrored(upper: sparse.csr_array) -> sparse.csr_array:
    """The symmetric matrix that has this upper triangle."""
    lower: sparse.csr_array = upper.T.tocsr()
    if lower.dtype != np.bool_:
        ends_row = lower.indptr[1:][lower.diagonal() > 0] - 1  # in a lower triangle the diagonal ends its row
        lower.data[ends_row] = 0
    lower.has_canonical_format = True
    whole: sparse.csr_array = lower + upper
    return whole
