"""The rows that SDNE reads and writes: the graph's own, or weighed, or with the overlap of neighborhoods."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
import torch
from scipy import sparse
from torch import Tensor, nn

from netfold.errors import InputError

__all__ = ["MOST_PATHS", "Damping", "extreme_unit", "in_units", "overlap"]

MOST_PATHS = 500_000_000
"""Paths of two steps that are summed for `overlap`."""


_ORDINARY = 2.0**30
"""Weights whose largest is within this factor of 1 are read as they are."""


def extreme_unit(matrix: sparse.csr_array) -> float:
    """What brings the largest weight to between 1 and 2, where it is far from that (amounts in wei), and else 1.

    A power of two, so that no digit is lost: whatever unit the weights come in, SDNE learns the same then.

    >>> extreme_unit(sparse.csr_array([[0, 3e20], [1, 0]])), extreme_unit(sparse.csr_array([[0, 5.0], [1, 0]]))
    (2.710505431213761e-20, 1.0)
    """
    largest = float(matrix.data.max(initial=0))
    if largest == 0 or 1 / _ORDINARY <= largest <= _ORDINARY:
        return 1.0
    return float(2.0 ** -math.floor(math.log2(largest)))


def in_units(matrix: sparse.csr_array, unit: float) -> sparse.csr_array:
    """A matrix whose weights are multiplied by a number; the matrix itself where that is 1."""
    if unit == 1:
        return matrix
    data = (matrix.data.astype(np.float64) * unit).astype(np.float32)
    return sparse.csr_array((data, matrix.indices, matrix.indptr), shape=matrix.shape)


class Damping(nn.Module):
    """Rows of c D^-q S D^-p: links of and to hubs weighed down, at a mean weight of 1.

    The column sums and c are those of the graph that was fitted; a row's own sum is over known nodes, new rows' too.
    """

    columns: Tensor
    unit: Tensor

    def __init__(self, n: int, q: float, p: float):
        super().__init__()
        self.q, self.p = q, p
        self.register_buffer("columns", torch.ones(n, dtype=torch.float64))
        self.register_buffer("unit", torch.ones((), dtype=torch.float64))

    def measure(self, matrix: sparse.csr_array) -> None:
        """Take the sums of the graph that is fitted."""
        self.columns.copy_(torch.from_numpy(_powers(matrix, 0, self.p)))
        self.unit.fill_(1.0)
        self.unit.fill_(matrix.nnz / float(self.of(matrix).sum(dtype=np.float64)))

    def of(self, matrix: sparse.csr_array) -> sparse.csr_array:
        """The rows, weighed: m x n."""
        rows = np.repeat(_powers(matrix, 1, self.q), np.diff(matrix.indptr))
        factor = rows * self.columns.numpy(force=True)[matrix.indices] * float(self.unit)
        data = (matrix.data * factor).astype(np.float32)  # symmetric to the bit where the matrix is, and q = p
        return sparse.csr_array((data, matrix.indices, matrix.indptr), shape=matrix.shape)


def _powers(matrix: sparse.csr_array, axis: int, p: float) -> npt.NDArray[np.float64]:
    """Sums over an axis, to the power of -p; added one by one, so that those of a symmetric matrix agree to the bit."""
    index = matrix.indices if axis == 0 else np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
    sums = np.bincount(index, weights=matrix.data, minlength=matrix.shape[1 - axis])
    powers: npt.NDArray[np.float64] = np.where(sums > 0, sums, 1.0) ** -p
    return powers


def overlap(matrix: sparse.csr_array) -> sparse.csr_array:
    """X Xᵀ without its diagonal, at a mean entry of 1: how far two nodes' neighborhoods are the same."""
    paths = float(np.square(np.bincount(matrix.indices).astype(np.float64)).sum())
    if paths > MOST_PATHS:
        raise InputError(
            f"overlap is summed over {paths:,.0f} paths of two steps, and at most {MOST_PATHS:,} are taken; "
            "this graph's hubs have too many neighbors for it: use overlap=0"
        )
    common = sparse.csr_array(matrix @ matrix.T)
    common.setdiag(0)
    common.eliminate_zeros()
    common.sort_indices()
    if common.nnz:
        common.data /= common.data.mean(dtype=np.float64).astype(np.float32)
    return common
