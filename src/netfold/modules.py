"""Layers that read and write sparse rows: what SDNE, DHNE and DVNE share.

A table is a parameter with one row per node (n x h). Its gradient is dense but touched only at the columns that a
batch names, so every product here adds straight into `table.grad`: no second n x h array is ever made, and the cost
of a batch grows with its non-zeros.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from scipy import sparse
from torch import Tensor, nn
from torch.nn import functional

__all__ = ["ACTIVATIONS", "RowDecoder", "RowEncoder", "SparseRows", "Stack", "product", "xavier_"]

ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "tanh": torch.tanh,
    "sigmoid": torch.sigmoid,
    "leaky_relu": functional.leaky_relu,
    "linear": lambda x: x,
}

PIECE = {"cpu": 1 << 22, "cuda": 1 << 30}
"""How many numbers one temporary array may hold, by device.

On the CPU 16 MiB: what the C library hands out again at once; larger ones it fetches from the system page by page, every
time, and they fall out of the cache besides.
"""


@dataclass(frozen=True, eq=False)
class SparseRows:
    """Rows of a sparse matrix (m x n, nnz entries) and the same entries by column, ready for products from both sides."""

    crow: Tensor
    """m + 1: where each row starts."""
    col: Tensor
    """nnz: the column of each entry."""
    values: Tensor
    """nnz"""
    width: int
    """n"""
    by_column: tuple[Tensor, Tensor, Tensor]
    """Per touched column: where it starts; per entry: its row, and which entry of `values` it is."""
    touched: Tensor | None
    """The columns that have entries; None where that is (nearly) all of them, and `by_column` lists all."""

    @staticmethod
    def from_scipy(matrix: sparse.csr_array, *, dtype: torch.dtype = torch.float32, device: Any = "cpu") -> SparseRows:
        """Rows of a sorted CSR matrix."""
        m, n = matrix.shape
        order = sparse.csr_array((np.arange(matrix.nnz, dtype=np.int32), matrix.indices, matrix.indptr), shape=(m, n)).tocsc()
        starts, touched = order.indptr, np.flatnonzero(np.diff(order.indptr))
        if 2 * len(touched) < n:
            starts = starts[np.append(touched, n)]
        index = [_tensor(x, np.int32, device) for x in (matrix.indptr, matrix.indices, starts, order.indices, order.data)]
        return SparseRows(
            index[0], index[1], torch.tensor(matrix.data, dtype=dtype, device=device), n,
            (index[2], index[3], index[4]), _tensor(touched, np.int64, device) if 2 * len(touched) < n else None,
        )  # fmt: skip

    def __len__(self) -> int:
        return len(self.crow) - 1

    def with_values(self, values: Tensor) -> SparseRows:
        """The same pattern with other values."""
        return replace(self, values=values)

    def matmul(self, dense: Tensor) -> Tensor:
        """X D: (m x n) times (n x h), in O(nnz h)."""
        return _csr_matmul(self.crow, self.col, self.values, dense)

    def add_transposed_matmul(self, dense: Tensor, out: Tensor) -> None:
        """out += Xᵀ D with D m x h and out n x h, at the touched columns only."""
        starts, rows, entries = self.by_column
        values = self.values[entries]
        for a, b, first, last in self._column_blocks(dense):
            made = _csr_matmul(starts[a : b + 1] - first, rows[first:last], values[first:last], dense)
            if self.touched is None:
                out[a:b] += made
            else:
                _add_rows(out, self.touched[a:b], made)

    def _column_blocks(self, dense: Tensor) -> Iterator[tuple[int, int, int, int]]:
        """Ranges of touched columns and of their entries, such that a block's product is no large new allocation."""
        starts = self.by_column[0]
        size = max(1, PIECE[dense.device.type] // dense.shape[1])
        bounds = [*range(0, len(starts) - 1, size), len(starts) - 1]
        if len(bounds) == 2:  # as a rule: no need to ask a GPU where its entries are
            yield 0, bounds[1], 0, len(self.values)
        elif len(bounds) > 2:
            at = starts[bounds].tolist()
            yield from zip(bounds[:-1], bounds[1:], at[:-1], at[1:], strict=True)

    def sampled(self, left: Tensor, right: Tensor) -> Tensor:
        """left_i · right_j at every entry (i, j): nnz values, in O(nnz h)."""
        crow, col = (self.crow, self.col) if left.is_cuda else (self.crow.long(), self.col.long())
        empty = _csr(crow, col, torch.zeros_like(self.values), (len(self), self.width))
        return torch.sparse.sampled_addmm(empty, left.contiguous(), right.t(), beta=0.0).values()

    def row_sums(self) -> Tensor:
        """Σ_j x_ij: m values."""
        return self.matmul(self.values.new_ones(self.width, 1))[:, 0]

    def column_sums(self) -> Tensor:
        """Σ_i x_ij: n values."""
        out = self.values.new_zeros(self.width, 1)
        self.add_transposed_matmul(self.values.new_ones(len(self), 1), out)
        return out[:, 0]


def _tensor(array: Any, dtype: Any, device: Any) -> Tensor:
    return torch.tensor(array.astype(dtype, copy=False), device=device)


def _csr(crow: Tensor, col: Tensor, values: Tensor, shape: tuple[int, int]) -> Tensor:
    with warnings.catch_warnings():  # torch calls its CSR tensors beta at their first use
        warnings.simplefilter("ignore", UserWarning)
        return torch.sparse_csr_tensor(crow, col, values, shape)


def _csr_matmul(crow: Tensor, col: Tensor, values: Tensor, dense: Tensor) -> Tensor:
    if dense.is_cuda and not torch.are_deterministic_algorithms_enabled():
        return _csr(crow, col, values, (len(crow) - 1, len(dense))) @ dense
    # a weighted embedding bag: on the CPU half the time of MKL's sparse product, on the GPU slower than cuSPARSE but exact
    # to the bit from run to run
    return functional.embedding_bag(
        col, dense, crow, mode="sum", per_sample_weights=values, include_last_offset=True
    )  # fmt: skip


def _add_rows(out: Tensor, at: Tensor, rows: Tensor) -> None:
    """out[at] += rows, for distinct rows."""
    if out.is_cuda:
        out.index_add_(0, at, rows)
    else:  # index_add_ on the CPU takes time for every row of `out`, touched or not
        shape = tuple(out.shape)
        out += torch.sparse_coo_tensor(at[None], rows, shape, is_coalesced=True, check_invariants=False)


def _grad(table: Tensor) -> Tensor:
    if table.grad is None:
        table.grad = torch.zeros_like(table)
    return table.grad


class _RowsTimesTable(torch.autograd.Function):
    """X W, whose gradient Xᵀ G goes into `table.grad` in place."""

    @staticmethod
    def forward(ctx: Any, rows: SparseRows, table: Tensor) -> Tensor:
        ctx.rows, ctx.table = rows, table
        return rows.matmul(table.detach())

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:  # type: ignore[override]
        ctx.rows.add_transposed_matmul(grad, _grad(ctx.table))
        return None, None


class _Sampled(torch.autograd.Function):
    """h_i · w_j + b_j at the non-zeros, whose gradients for table and bias go into their `grad` in place."""

    @staticmethod
    def forward(ctx: Any, rows: SparseRows, hidden: Tensor, table: Tensor, bias: Tensor) -> Tensor:
        ctx.rows, ctx.tables = rows, (table, bias)
        ctx.save_for_backward(hidden)
        return rows.sampled(hidden, table.detach()) + bias.detach()[rows.col]

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:  # type: ignore[override]
        (hidden,), (table, bias) = ctx.saved_tensors, ctx.tables
        errors = ctx.rows.with_values(grad)
        errors.add_transposed_matmul(hidden, _grad(table))
        _grad(bias).add_(errors.column_sums())
        return None, errors.matmul(table.detach()), None, None


class _Gram(torch.autograd.Function):
    """Wᵀ W of a table, whose gradient W (M + Mᵀ) goes into `table.grad` in place."""

    @staticmethod
    def forward(ctx: Any, table: Tensor) -> Tensor:
        ctx.table = table
        return table.detach().t() @ table.detach()

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:  # type: ignore[override]
        _grad(ctx.table).addmm_(ctx.table.detach(), grad + grad.t())


class _GramEnergy(torch.autograd.Function):
    """⟨HᵀH, G⟩ for symmetric G, with one product by G where autograd would take two."""

    @staticmethod
    def forward(ctx: Any, hidden: Tensor, gram: Tensor) -> Tensor:
        through = hidden @ gram
        ctx.save_for_backward(hidden, through)
        return torch.dot(through.flatten(), hidden.flatten())

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:  # type: ignore[override]
        hidden, through = ctx.saved_tensors
        return through.mul_(2 * grad), (hidden.t() @ hidden).mul_(grad)


class _SigmoidEnergy(torch.autograd.Function):
    """Σ σ(h_i · w_j + b_j)² over all rows and the given columns, a dense block at a time, recomputed going back."""

    @staticmethod
    def forward(ctx: Any, hidden: Tensor, table: Tensor, bias: Tensor, columns: Tensor | None) -> Tensor:
        ctx.tables, ctx.columns = (table, bias), columns
        ctx.save_for_backward(hidden)
        total = hidden.new_zeros(())
        for _, x in _sigmoid_blocks(hidden, table.detach(), bias.detach(), columns):
            total += torch.dot(x.flatten(), x.flatten())
        return total

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:  # type: ignore[override]
        (hidden,), (table, bias) = ctx.saved_tensors, ctx.tables
        grad_hidden = torch.zeros_like(hidden)
        for at, x in _sigmoid_blocks(hidden, table.detach(), bias.detach(), ctx.columns):
            slope = x.square().mul_(1 - x).mul_(2 * grad)
            grad_hidden.addmm_(slope, table.detach()[at])
            _grad(table)[at] += slope.t() @ hidden
            _grad(bias)[at] += slope.sum(0)
        return grad_hidden, None, None, None


def _sigmoid_blocks(hidden: Tensor, table: Tensor, bias: Tensor, columns: Tensor | None) -> Iterator[tuple[Any, Tensor]]:
    n = len(table) if columns is None else len(columns)
    width = min(max(1, PIECE[table.device.type] // len(hidden)), math.ceil(len(table) / 2))  # never a whole row
    for start in range(0, n, width):
        at = slice(start, min(n, start + width)) if columns is None else columns[start : start + width]
        yield at, torch.addmm(bias[at], hidden, table[at].t()).sigmoid_()


class _Product(torch.autograd.Function):
    """X D for a dense D that is no table: the gradient is returned."""

    @staticmethod
    def forward(ctx: Any, rows: SparseRows, dense: Tensor) -> Tensor:
        ctx.rows = rows
        return rows.matmul(dense)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:  # type: ignore[override]
        out = grad.new_zeros(ctx.rows.width, grad.shape[1])
        ctx.rows.add_transposed_matmul(grad, out)
        return None, out


def product(rows: SparseRows, dense: Tensor) -> Tensor:
    """X D with the gradient Xᵀ G for D: m x h."""
    return _apply(_Product, rows, dense)


def _apply(function: Any, *args: Any) -> Tensor:
    """torch leaves `Function.apply` untyped."""
    made: Tensor = function.apply(*args)
    return made


class RowEncoder(nn.Module):
    """The first layer over sparse rows: X W + b, in O(nnz h)."""

    def __init__(self, n: int, width: int):
        super().__init__()
        self.table = nn.Parameter(torch.zeros(n, width))
        self.bias = nn.Parameter(torch.zeros(width))

    def forward(self, rows: SparseRows) -> Tensor:
        """m x width, before the activation."""
        return _apply(_RowsTimesTable, rows, self.table) + self.bias


class RowDecoder(nn.Module):
    """The last layer, x̂_ij = h_i · w_j + b_j, read only where it is needed."""

    def __init__(self, n: int, width: int):
        super().__init__()
        self.table = nn.Parameter(torch.zeros(n, width))
        self.bias = nn.Parameter(torch.zeros(n))

    def at(self, rows: SparseRows, hidden: Tensor) -> Tensor:
        """x̂ at the non-zeros of the rows, before the activation: nnz values."""
        return _apply(_Sampled, rows, hidden, self.table, self.bias)

    def gram(self) -> tuple[Tensor, Tensor, Tensor]:
        """WᵀW, Wᵀb and bᵀb: all that `energy` needs to know of the table."""
        with_bias = _apply(_TableTimes, self.table, self.bias)
        return _apply(_Gram, self.table), with_bias, torch.dot(self.bias, self.bias)

    def energy(self, hidden: Tensor, gram: tuple[Tensor, Tensor, Tensor]) -> Tensor:
        """Σ_ij x̂_ij² over all n columns = ⟨HᵀH, WᵀW⟩ + 2 Σ_i h_i·Wᵀb + m bᵀb, in O(m h²)."""
        squares, with_bias, constant = gram
        return _apply(_GramEnergy, hidden, squares) + 2 * torch.dot(hidden.sum(0), with_bias) + len(hidden) * constant

    def sigmoid_energy(self, hidden: Tensor, columns: Tensor | None) -> Tensor:
        """Σ σ(x̂_ij)² over the given columns (None: all), a dense block at a time."""
        return _apply(_SigmoidEnergy, hidden, self.table, self.bias, columns)

    def rows(self, hidden: Tensor) -> Tensor:
        """x̂ in whole rows, m x n, before the activation: for a bounded number of rows only."""
        return torch.addmm(self.bias, hidden, self.table.t())


class _TableTimes(torch.autograd.Function):
    """Wᵀ b, whose gradient for the table, b gᵀ, goes into `table.grad` in place."""

    @staticmethod
    def forward(ctx: Any, table: Tensor, vector: Tensor) -> Tensor:
        ctx.table = table
        ctx.save_for_backward(vector)
        return table.detach().t() @ vector

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:  # type: ignore[override]
        (vector,) = ctx.saved_tensors
        _grad(ctx.table).addr_(vector, grad)
        return None, ctx.table.detach() @ grad


class Stack(nn.Module):
    """Dense layers of the given widths, each followed by the activation."""

    def __init__(self, widths: Sequence[int], activation: str):
        super().__init__()
        self.activation = ACTIVATIONS[activation]
        pairs = list(zip(widths[:-1], widths[1:], strict=True))
        self.weights = nn.ParameterList(nn.Parameter(torch.zeros(a, b)) for a, b in pairs)
        self.biases = nn.ParameterList(nn.Parameter(torch.zeros(b)) for _, b in pairs)

    def forward(self, x: Tensor) -> Tensor:
        """m x the first width to m x the last."""
        for weight, bias in zip(self.weights, self.biases, strict=True):
            x = self.activation(torch.addmm(bias, x, weight))
        return x


def xavier_(weight: Tensor, generator: torch.Generator, *, fan_in: float | None = None) -> None:
    """Uniform in ±√(6 / (fan_in + fan_out)), drawn on the CPU so that every device starts alike."""
    limit = math.sqrt(6 / ((fan_in or weight.shape[0]) + weight.shape[1]))
    with torch.no_grad():
        weight.copy_(torch.empty(weight.shape, dtype=weight.dtype).uniform_(-limit, limit, generator=generator))
