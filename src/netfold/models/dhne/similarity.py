"""DHNE's similarity of tuples: the layer L over a tuple's nodes, and what is read off it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from netfold.models.dhne.autoencoder import GAINS
from netfold.models.dhne.schema import Form
from netfold.modules import rows_times, xavier_
from netfold.sparse_rows import SparseRows

__all__ = ["Similarity"]

_SLOPES = {"tanh": 2.0, "sigmoid": 1.0}
"""σ(x) = k sigmoid(k x) - (k - 1), k by the name of σ: the library's sigmoid takes a sixth of the time of its tanh."""


class Similarity(nn.Module):
    """S = sigmoid(w · L + v · q + c) with L = σ(Σ_a W_a X_a + b), for the tuples of one form.

    q = Σ_{a<b} Z_a ⊙ Z_b with Z_a = V_a X_a, of width `products`: 0 of them is the chapter's similarity.
    """

    def __init__(self, form: Form, dim: int, hidden: int | None, activation: str, products: int = 0):
        super().__init__()
        self.form, self._slope, self._gain = form, _SLOPES[activation], GAINS[activation]
        width = hidden or dim * len(form.types)
        self.weights = nn.ParameterList(nn.Parameter(torch.zeros(dim, width)) for _ in form.group_types)
        self.bias = nn.Parameter(torch.zeros(width))
        self.last = nn.Parameter(torch.zeros(width, 1))
        self.last_bias = nn.Parameter(torch.zeros(1))
        some = form.group_types if products else ()
        self.factors = nn.ParameterList(nn.Parameter(torch.zeros(dim, products)) for _ in some)
        self.mix = nn.Parameter(torch.zeros(products, 1)) if products else None

    @torch.no_grad()
    def start(self, generator: torch.Generator) -> None:
        """Xavier's start for [X_1, ..., X_N] together."""
        for weight in self.weights:
            xavier_(weight, generator, fan_in=len(self.form.types) * weight.shape[0])
            weight.mul_(self._gain)
        xavier_(self.last, generator)
        for factor in self.factors:
            xavier_(factor, generator)
        if self.mix is not None:
            xavier_(self.mix, generator)

    @property
    def width(self) -> int:
        """How many numbers of a tuple are held at a time."""
        return len(self.bias) + (0 if self.mix is None else 2 * len(self.mix))

    def project(self, vectors: Sequence[Tensor]) -> list[Tensor]:
        """k (X W_a + b / N) of the nodes of each group's type, one group after another, |P| x hidden; and [Z_a, Z_a²],
        |P| x 2 products, where there are products.

        What the logits take is a sum of N rows of these: nodes are multiplied by W once, not once a tuple.
        """
        each = [self._projected(vectors[t], g) for g, t in enumerate(self.form.group_types)]
        return [torch.cat(parts) for parts in zip(*each, strict=True)]

    def logits(self, rows: SparseRows, projected: Sequence[Tensor]) -> Tensor:
        """w · L + v · q + c of tuples: m. Their rows, m x |P|, have a 1 at each of a tuple's nodes."""
        layer: Tensor = _Layer.apply(rows, projected[0], self.last)  # type: ignore[no-untyped-call]
        made = self._with_constants(layer)
        return made if self.mix is None else made + self._products(rows_times(rows, projected[1]), self.mix)

    def of(self, vectors: Sequence[Tensor]) -> Tensor:
        """The logits of tuples, given the vectors at each of their positions (each m x dim, or 1 x dim for all): m."""
        each = [self._projected(x, g) for g, x in zip(self.form.groups, vectors, strict=True)]
        summed: list[Tensor] = [sum(parts[1:], parts[0]) for parts in zip(*each, strict=True)]
        made = self._with_constants((summed[0].sigmoid() @ self.last)[:, 0])
        return made if self.mix is None else made + self._products(summed[1], self.mix)

    def _projected(self, vectors: Tensor, group: int) -> list[Tensor]:
        k = self._slope
        made = [torch.addmm(self.bias * (k / len(self.form.types)), vectors, self.weights[group] * k)]
        if self.mix is None:
            return made
        z = vectors @ self.factors[group]
        return [*made, torch.cat([z, z.square()], dim=1)]

    def _with_constants(self, layer: Tensor) -> Tensor:
        """w · L + c from w · sigmoid(·): L = k sigmoid(·) - (k - 1)."""
        k = self._slope
        return k * layer + (self.last_bias - (k - 1) * self.last.sum())

    @staticmethod
    def _products(summed: Tensor, mix: Tensor) -> Tensor:
        """v · q with q = ((Σ_a Z_a)² - Σ_a Z_a²) / 2, so that no pair need be looked at."""
        z, squares = summed.chunk(2, dim=1)
        return ((z.square() - squares) @ mix)[:, 0] / 2


class _Layer(torch.autograd.Function):
    """sigmoid(X T) w for sparse rows X (m x |P|): m, with one m x hidden array from beginning to end.

    With s = sigmoid(X T) and the gradient g (m), that of T is Xᵀ ((s - s²) ⊙ g wᵀ), made in the place of s: going back
    a second time is not possible.
    """

    @staticmethod
    def forward(ctx: Any, rows: SparseRows, table: Tensor, last: Tensor) -> Tensor:
        made = rows.matmul(table).sigmoid_()
        ctx.rows, ctx.made = rows, made
        ctx.save_for_backward(last)
        return (made @ last)[:, 0]

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        (last,), s = ctx.saved_tensors, ctx.made
        ctx.made = None
        grad_last = s.t() @ grad[:, None]
        slopes = s.addcmul_(s, s, value=-1).mul_(last.t()).mul_(grad[:, None])
        grad_table = s.new_zeros(ctx.rows.width, s.shape[1])
        ctx.rows.add_transposed_matmul(slopes, grad_table)
        return None, grad_table, grad_last
