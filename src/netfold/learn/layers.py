"""Layers over sparse rows and tables of rows, whose gradients go where they are needed and nowhere else.

The first layer reads a sparse row and the last is read at its entries, in time linear in those; some rows of a table
(`take_rows`) have a gradient of those rows alone: a step costs what it reads, whatever n is.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from netfold.learn import losses
from netfold.learn.draws import TABLE, uniform
from netfold.learn.optimizers import grad_of
from netfold.learn.sparse_rows import PIECE, WIDENED, SomeRows, SparseRows

__all__ = [
    "ACTIVATIONS",
    "RowDecoder",
    "RowEncoder",
    "SideBySide",
    "Stack",
    "Tables",
    "add_half_squares",
    "add_product",
    "add_rows_grad",
    "pass_back",
    "products",
    "rows_times",
    "slope_of",
    "take_rows",
    "xavier_",
]


def _identity(x: Tensor) -> Tensor:
    return x


ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "tanh": torch.tanh,
    "sigmoid": torch.sigmoid,
    "leaky_relu": functional.leaky_relu,
    "linear": _identity,
}
"""What a layer ends with. Networks hold these: functions that have names, which pickle asks for."""


def _through_tanh(grad: Tensor, output: Tensor) -> Tensor:
    back: Tensor = torch.ops.aten.tanh_backward(grad, output)
    return back


def _through_sigmoid(grad: Tensor, output: Tensor) -> Tensor:
    back: Tensor = torch.ops.aten.sigmoid_backward(grad, output)
    return back


def _through_leaky_relu(grad: Tensor, output: Tensor) -> Tensor:
    back: Tensor = torch.ops.aten.leaky_relu_backward(grad, output, 0.01, True)
    return back


def _through_identity(grad: Tensor, output: Tensor) -> Tensor:
    return grad


_SLOPES: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "tanh": _through_tanh,
    "sigmoid": _through_sigmoid,
    "leaky_relu": _through_leaky_relu,
    "linear": _through_identity,
}
"""From the gradient at what each gives, and that, to the gradient at what it was given."""


def _in_32_bits(table: Tensor, at: slice) -> Iterator[tuple[slice, Tensor]]:
    """Some rows of a table: all at once where it has 32 bits or more, else so many at a time as are soon widened."""
    start, stop, _ = at.indices(len(table))
    if table.dtype != torch.bfloat16:
        yield at, table[at]
        return
    size = max(1, WIDENED[table.device.type] // table.shape[1])
    for first in range(start, stop, size):
        part = slice(first, min(first + size, stop))
        yield part, table[part].float()


class _RowsTimesTable(torch.autograd.Function):
    """X W, whose gradient Xᵀ G goes into `table.grad` in place."""

    @staticmethod
    def forward(ctx: Any, rows: SparseRows | SomeRows, table: Tensor) -> Tensor:
        ctx.rows, ctx.table = rows, table
        return rows.matmul(table.detach())

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        ctx.rows.add_transposed_matmul(grad, grad_of(ctx.table))
        return None, None


class _Sampled(torch.autograd.Function):
    """h_i · w_j + b_j at the non-zeros, whose gradients for table and bias go into their `grad` in place."""

    @staticmethod
    def forward(ctx: Any, rows: SparseRows, hidden: Tensor, table: Tensor, bias: Tensor) -> Tensor:
        ctx.rows, ctx.tables = rows, (table, bias)
        ctx.save_for_backward(hidden)
        return rows.sampled(hidden, table.detach()) + bias.detach().index_select(0, rows.col)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        (hidden,), (table, bias) = ctx.saved_tensors, ctx.tables
        errors = ctx.rows.with_values(grad)
        errors.add_transposed_matmul(hidden, grad_of(table))
        grad_of(bias).add_(errors.column_sums())
        return None, errors.matmul(table.detach()), None, None


class _Gram(torch.autograd.Function):
    """Wᵀ W of some rows of a table, whose gradient W (M + Mᵀ) goes into `table.grad` in place."""

    @staticmethod
    def forward(ctx: Any, table: Tensor, at: slice) -> Tensor:
        ctx.table, ctx.at = table, at
        grams = [part.t() @ part for _, part in _in_32_bits(table.detach(), at)]
        return grams[0] if len(grams) == 1 else torch.stack(grams).sum(0)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        for at, part in _in_32_bits(ctx.table.detach(), ctx.at):
            grad_of(ctx.table)[at].addmm_(part, grad + grad.t())
        return None, None


class _TableTimes(torch.autograd.Function):
    """Wᵀ b of some rows of a table, whose gradient for the table, b gᵀ, goes into `table.grad` in place."""

    @staticmethod
    def forward(ctx: Any, table: Tensor, vector: Tensor, at: slice) -> Tensor:
        ctx.table, ctx.at = table, at
        ctx.save_for_backward(vector)
        sums, first = [], 0
        for _, part in _in_32_bits(table.detach(), at):
            sums.append(part.t() @ vector[first : first + len(part)])
            first += len(part)
        return sums[0] if len(sums) == 1 else torch.stack(sums).sum(0)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        (vector,) = ctx.saved_tensors
        grad_of(ctx.table)[ctx.at].addr_(vector, grad)
        return None, torch.cat([part @ grad for _, part in _in_32_bits(ctx.table.detach(), ctx.at)]), None


class _Part(torch.autograd.Function):
    """Some rows of a table, in a row, whose gradient goes into `table.grad` in place."""

    @staticmethod
    def forward(ctx: Any, table: Tensor, at: slice) -> Tensor:
        ctx.table, ctx.at = table, at
        return table.detach()[at]

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        grad_of(ctx.table)[ctx.at].add_(grad)
        return None, None


class _GramEnergy(torch.autograd.Function):
    """⟨HᵀH, G⟩ for symmetric G, with one product by G where autograd would take two."""

    @staticmethod
    def forward(ctx: Any, hidden: Tensor, gram: Tensor) -> Tensor:
        through = hidden @ gram
        ctx.save_for_backward(hidden, through)
        return torch.dot(through.flatten(), hidden.flatten())

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
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
    def backward(ctx: Any, grad: Tensor) -> Any:
        (hidden,), (table, bias) = ctx.saved_tensors, ctx.tables
        grad_hidden = torch.zeros_like(hidden)
        for at, x in _sigmoid_blocks(hidden, table.detach(), bias.detach(), ctx.columns):
            slope = x.square().mul_(1 - x).mul_(2 * grad)
            grad_hidden.addmm_(slope, table.detach()[at])
            grad_of(table)[at] += slope.t() @ hidden
            grad_of(bias)[at] += slope.sum(0)
        return grad_hidden, None, None, None


def _sigmoid_blocks(
    hidden: Tensor, table: Tensor, bias: Tensor, columns: Tensor | None
) -> Iterator[tuple[Any, Tensor]]:
    n = len(table) if columns is None else len(columns)
    width = min(max(1, PIECE[table.device.type] // len(hidden)), math.ceil(len(table) / 2))  # never a whole row
    for start in range(0, n, width):
        at = slice(start, min(n, start + width)) if columns is None else columns[start : start + width]
        yield at, torch.addmm(bias[at], hidden, table[at].t()).sigmoid_()


def _apply(function: Any, *args: Any) -> Tensor:
    """torch leaves `Function.apply` untyped."""
    result: Tensor = function.apply(*args)
    return result


class _Passed(torch.autograd.Function):
    """0, whose gradients for the outputs of a network are what they are said to be."""

    @staticmethod
    def forward(ctx: Any, grads: Sequence[Tensor | None], *outputs: Tensor) -> Tensor:
        ctx.grads = grads
        return outputs[0].new_zeros(())

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        return None, *ctx.grads


@torch.enable_grad()
def slope_of(output: Tensor, grad: Tensor, at: Tensor) -> Tensor:
    """As `torch.autograd.grad(output, at, grad)` (see `pass_back`): the gradient at what the output was made of."""
    (slope,) = torch.autograd.grad(_apply(_Passed, [grad], output), at)
    return slope


@torch.enable_grad()
def pass_back(outputs: Sequence[Tensor], grads: Sequence[Tensor | None]) -> None:
    """As `torch.autograd.backward(outputs, grads)`, which loads sympy to see whether their shapes agree."""
    _apply(_Passed, grads, *outputs).backward()  # type: ignore[no-untyped-call]


def rows_times(rows: SparseRows | SomeRows, table: Tensor) -> Tensor:
    """X W: (m x n) times (n x h), the gradient of W, a parameter or held like one, added to its `grad` in place."""
    return _apply(_RowsTimesTable, rows, table)


class RowEncoder(nn.Module):
    """The first layer over sparse rows: X W + b, in O(nnz h)."""

    def __init__(self, n: int, width: int):
        super().__init__()
        self.table = nn.Parameter(torch.zeros(n, width))
        self.bias = nn.Parameter(torch.zeros(width))

    def forward(self, rows: SparseRows | SomeRows) -> Tensor:
        """m x width, before the activation."""
        return rows_times(rows, self.table).add_(self.bias)


class RowDecoder(nn.Module):
    """The last layer, x̂_ij = h_i · w_j + b_j, read only where it is needed."""

    def __init__(self, n: int, width: int):
        super().__init__()
        self.table = nn.Parameter(torch.zeros(n, width))
        self.bias = nn.Parameter(torch.zeros(n))

    def at(self, rows: SparseRows, hidden: Tensor) -> Tensor:
        """x̂ at the non-zeros of the rows, before the activation: nnz values."""
        return _apply(_Sampled, rows, hidden, self.table, self.bias)

    def gram(self, at: slice = slice(None)) -> tuple[Tensor, Tensor, Tensor]:
        """WᵀW, Wᵀb and bᵀb of some columns of x̂: all that `energy` needs to know of the table."""
        bias = self.bias[at] if at != slice(None) else self.bias
        with_bias = _apply(_TableTimes, self.table, bias, at)
        return _apply(_Gram, self.table, at), with_bias, torch.dot(bias, bias)

    def dense(self, hidden: Tensor, at: slice) -> Tensor:
        """x̂ in some whole columns: m x len(at)."""
        return hidden @ _apply(_Part, self.table, at).t() + self.bias[at]

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


_ROWS = 128
"""oneDNN makes a program for each shape, so that it is asked for multiples of so many rows; MKL takes what is left."""


def _in_whole(x: Tensor) -> int:
    """How many rows of x (m x k) oneDNN multiplies: in half of MKL's time on AMD's cores with AVX-512.

    On Intel's both take as long. torch itself asks MKL for all products of 32 bits.
    """
    wide = x.dtype == torch.float32 and not x.is_cuda and torch.backends.cpu.get_cpu_capability().startswith("AVX512")
    return len(x) - len(x) % _ROWS if wide and hasattr(torch.ops.mkldnn, "_linear_pointwise") else 0


def products(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> list[Tensor]:
    """X W (+ b), m x k times k x h, without a gradient: its rows in one or two pieces, the first ones first."""
    whole, made = _in_whole(x), []
    if whole:
        made.append(torch.ops.mkldnn._linear_pointwise(x[:whole], weight.t(), bias, "none", [], ""))
    if whole < len(x) or not whole:
        made.append(x[whole:] @ weight if bias is None else torch.addmm(bias, x[whole:], weight))
    return made


def add_product(out: Tensor, x: Tensor, y: Tensor) -> None:
    """out += Xᵀ Y, m x k and m x h, without a gradient."""
    whole = _in_whole(x)
    if whole:
        out += torch.ops.mkldnn._linear_pointwise(x[:whole].t(), y[:whole].t(), None, "none", [], "")
    if whole < len(x):
        out.addmm_(x[whole:].t(), y[whole:])


class Stack(nn.Module):
    """Dense layers of the given widths, each followed by the activation."""

    def __init__(self, widths: Sequence[int], activation: str):
        super().__init__()
        self.activation, self.slope = ACTIVATIONS[activation], _SLOPES[activation]
        pairs = list(pairwise(widths))
        self.weights = nn.ParameterList(nn.Parameter(torch.zeros(a, b)) for a, b in pairs)
        self.biases = nn.ParameterList(nn.Parameter(torch.zeros(b)) for _, b in pairs)

    def forward(self, x: Tensor) -> Tensor:
        """m x the first width to m x the last."""
        for weight, bias in zip(self.weights, self.biases, strict=True):
            x = self.activation(torch.addmm(bias, x, weight))
        return x

    def steps(self, x: Tensor, last: Tensor | None = None) -> list[Tensor]:
        """x and what each layer makes of it; what the last one makes need not be made again where it is known."""
        steps = [x]
        for i, (weight, bias) in enumerate(zip(self.weights, self.biases, strict=True)):
            known = last is not None and i == len(self.weights) - 1
            steps.append(last if known else self.activation(torch.addmm(bias, steps[-1], weight)))  # type: ignore[arg-type]
        return steps

    def back(self, steps: Sequence[Tensor], grad: Tensor) -> Tensor:
        """From the gradient at the last of the `steps` to that at the first; those of the weights go into `grad`."""
        layers = list(zip(self.weights, self.biases, steps[:-1], steps[1:], strict=True))
        for weight, bias, x, output in reversed(layers):
            grad = self.slope(grad, output)
            grad_of(weight).addmm_(x.t(), grad)
            grad_of(bias).add_(grad.sum(0))
            grad = grad @ weight.t()
        return grad


def add_half_squares(weights: Sequence[Tensor], factor: float) -> Tensor:
    """factor · ½ Σ ‖W‖², whose gradient, the weights themselves times the factor, goes into their `grad` in place."""
    wanted = factor and torch.is_grad_enabled()
    with torch.no_grad():
        for w in weights if wanted else ():
            grad_of(w).add_(w, alpha=factor)
        return factor * losses.half_squares(weights)


def xavier_(weight: Tensor, generator: torch.Generator, *, fan_in: float | None = None) -> None:
    """Uniform in ±√(6 / (fan_in + fan_out)), the same on every device."""
    limit = math.sqrt(6 / ((fan_in or weight.shape[0]) + weight.shape[1]))
    with torch.no_grad():
        if weight.numel() <= TABLE:
            weight.copy_(torch.empty(weight.shape, dtype=weight.dtype).uniform_(-limit, limit, generator=generator))
        else:
            drawn = uniform(weight.shape, generator, weight.device, dtype=torch.float32, few=0)
            weight.copy_(drawn.mul_(2 * limit).sub_(limit))


_checks: Any = torch.sparse.check_sparse_tensor_invariants
if not _checks.is_enabled():
    _checks.disable()  # as it is anyway; torch 2.11 warns until it has been said


def take_rows(table: Tensor, nodes: Tensor) -> Tensor:
    """The rows of a table (n x d) for distinct nodes: m x d.

    Their gradient becomes the table's `grad` as a sparse tensor of m rows (`RowAdagrad` takes those), and is added to
    what is there already.
    """
    rows: Tensor = _Rows.apply(table, nodes)  # type: ignore[no-untyped-call]
    return rows


class _Rows(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, table: Tensor, nodes: Tensor) -> Tensor:
        ctx.table, ctx.nodes = table, nodes
        return table.detach().index_select(0, nodes)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        add_rows_grad(ctx.table, ctx.nodes, grad)
        return None, None


def add_rows_grad(table: Tensor, nodes: Tensor, grad: Tensor) -> None:
    """Add a gradient of the rows of distinct nodes (m x d) to the table's."""
    before = table.grad
    if before is not None and not before.is_sparse:
        before.index_add_(0, nodes, grad)
    elif before is None or before._nnz() == 0:
        table.grad = _sparse(table, nodes, grad, distinct=True)
    else:
        nodes, rows = torch.cat([before._indices()[0], nodes]), torch.cat([before._values(), grad])
        table.grad = _sparse(table, nodes, rows, distinct=False).coalesce()


def _sparse(table: Tensor, nodes: Tensor, rows: Tensor, *, distinct: bool) -> Tensor:
    """A gradient of some rows. Where those are distinct there is nothing to add up, whatever their order."""
    return torch.sparse_coo_tensor(nodes[None], rows, tuple(table.shape), is_coalesced=distinct, check_invariants=False)


class Tables(nn.Module):
    """Named tensors that are computed and not trained: what a model remembers of a graph, to be saved as networks are.

    >>> Tables({"sums": ((3,), torch.float64)}).sums
    tensor([0., 0., 0.], dtype=torch.float64)
    """

    def __init__(self, shapes: Mapping[str, tuple[tuple[int, ...], torch.dtype]]):
        super().__init__()
        for name, (shape, dtype) in shapes.items():
            self.register_buffer(name, torch.zeros(shape, dtype=dtype))

    def fill(self, **values: Any) -> None:
        """Give tensors their values, of the shapes and types that they have."""
        for name, value in values.items():
            self.get_buffer(name).copy_(torch.as_tensor(value))

    def array(self, name: str) -> Any:
        """A tensor as numpy has it."""
        return self.get_buffer(name).numpy(force=True)


class SideBySide(nn.Module):
    """Several networks, and what the vectors of each are multiplied by."""

    scales: Tensor

    def __init__(self, networks: Sequence[nn.Module]):
        super().__init__()
        self.networks = nn.ModuleList(networks)
        self.register_buffer("scales", torch.ones(len(networks), dtype=torch.float64))
