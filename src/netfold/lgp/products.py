"""Products of a fixed sparse matrix with dense columns, from both sides, that gradients pass through."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from netfold.sparse_rows import SparseRows

__all__ = ["times", "transposed_times"]


def times(rows: SparseRows, dense: Tensor) -> Tensor:
    """X D: (m x n) times (n x h)."""
    made: Tensor = _Times.apply(rows, dense)  # type: ignore[no-untyped-call]
    return made


def transposed_times(rows: SparseRows, dense: Tensor) -> Tensor:
    """Xᵀ D: (n x m) times (m x h)."""
    made: Tensor = _TransposedTimes.apply(rows, dense)  # type: ignore[no-untyped-call]
    return made


def _transposed(rows: SparseRows, dense: Tensor) -> Tensor:
    out = dense.new_zeros(rows.width, dense.shape[1])
    rows.add_transposed_matmul(dense.contiguous(), out)
    return out


class _Times(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, rows: SparseRows, dense: Tensor) -> Tensor:
        ctx.rows = rows
        return rows.matmul(dense.contiguous())

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        return None, _transposed(ctx.rows, grad)


class _TransposedTimes(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, rows: SparseRows, dense: Tensor) -> Tensor:
        ctx.rows = rows
        return _transposed(rows, dense)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        return None, ctx.rows.matmul(grad.contiguous())
