"""`System`: the equations that the latent states of new nodes solve, M_** z_* = -M_*x z_x.

M = I + eta L(Â) + zeta L(ÂÂ) with Â = diag(a) A' diag(a) and L(A) = diag(A 1) - A is the inverse of the high-order
Laplacian kernel. Neither M nor ÂÂ is formed. A new node's neighbors are new or stand `beside` the new ones; so with
B = A' between new nodes and both of these, and a = 1 for new nodes,

(Â x)_* = B (a ∘ x),  (ÂÂ x)_* = B (a² ∘ (Bᵀ x_* + A'_rx (a_x ∘ x_x))),

and all that has to be known of the known nodes are the sums A'_rx a_x (`mass`) and A'_rx (a_x ∘ z_x) (`pull`) over the
known neighbors of each new node and of each node beside one.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import torch
from torch import Tensor

from netfold.learn.sparse_rows import SparseRows

__all__ = ["System", "precision", "times", "transposed_times"]


def times(rows: SparseRows, dense: Tensor) -> Tensor:
    """X D: (m x n) times (n x h)."""
    product: Tensor = _Times.apply(rows, dense)  # type: ignore[no-untyped-call]
    return product


def transposed_times(rows: SparseRows, dense: Tensor) -> Tensor:
    """Xᵀ D: (n x m) times (m x h)."""
    product: Tensor = _TransposedTimes.apply(rows, dense)  # type: ignore[no-untyped-call]
    return product


class _Times(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, rows: SparseRows, dense: Tensor) -> Tensor:
        ctx.rows = rows
        return rows.matmul(dense.contiguous())

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        return None, ctx.rows.transposed_matmul(grad)


class _TransposedTimes(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, rows: SparseRows, dense: Tensor) -> Tensor:
        ctx.rows = rows
        return rows.transposed_matmul(dense)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        return None, ctx.rows.matmul(grad.contiguous())


_HEAVY = 1e3
"""Times the usual weight: of w² - w² + w, which paths there and back over such a link come to, float32 keeps no w."""


def precision(links: SparseRows) -> torch.dtype:
    """What sums over paths of two steps are to be taken in: float64 where some links are far heavier than most."""
    heavy = len(links.values) and bool(links.values.max() > _HEAVY)
    return torch.float64 if heavy else links.values.dtype


@dataclass(frozen=True, eq=False)
class System:
    """M_** and -M_*x z_x for m new nodes and s latent dimensions, of which each may have its own eta, zeta and a.

    Gradients pass to `weights`, `mass`, `pull`, `eta` and `zeta`. Self-loops, which a Laplacian does not see, are not
    among the links.
    """

    links: SparseRows
    """B: m x r, the links from each new node to the new ones and to those beside them, in this order."""
    weights: Tensor
    """a of these: r x 1 or r x s, the first m rows being 1."""
    mass: Tensor
    """Σ_v A'_rv a_v over known nodes v: r x 1 or r x s."""
    pull: Tensor
    """Σ_v A'_rv a_v z_v over known nodes v: r x s."""
    eta: Tensor
    """1 or s"""
    zeta: Tensor
    """1 or s"""

    def __len__(self) -> int:
        return len(self.links)

    def times(self, x: Tensor) -> Tensor:
        """M_** x = x + eta (d₁ ∘ x - Â_** x) + zeta (d₂ ∘ x - (ÂÂ)_** x): m x s."""
        through = transposed_times(self.links, x)  # r x s
        near, far = through[: len(self)], times(self.links, self._squared_weights * through)
        return self.shift * x - self.eta * near - self.zeta * far

    def right(self) -> Tensor:
        """-M_*x z_x = eta Â_*x z_x + zeta (ÂÂ)_*x z_x: m x s."""
        far = times(self.links, self._squared_weights * self.pull)
        return self.eta * self.pull[: len(self)] + self.zeta * far

    def diagonal(self) -> Tensor:
        """That of M_**: m x 1 or m x s, at least 1."""
        squares = self.links.with_values(self.links.values.square())
        return (self.shift - self.zeta * times(squares, self._squared_weights)).clamp(min=1)

    def precise(self) -> System:
        """The same, in float64 where it has to be."""
        dtype = precision(self.links)
        if dtype == self.pull.dtype:
            return self
        parts = ("weights", "mass", "pull", "eta", "zeta")
        wide = {name: getattr(self, name).to(dtype) for name in parts}
        return replace(self, links=self.links.with_values(self.links.values.to(dtype)), **wide)

    def detached(self) -> System:
        """The same without gradients."""
        parts = ("weights", "mass", "pull", "eta", "zeta")
        return replace(self, **{name: getattr(self, name).detach() for name in parts})

    @cached_property
    def degrees(self) -> tuple[Tensor, Tensor]:
        """d₁ = Â 1 and d₂ = ÂÂ 1 of the new nodes: m x 1 or m x s."""
        one = self.weights.new_ones(len(self), 1)
        total = self.mass + transposed_times(self.links, one)  # r x 1: A' a, as a new node's a is 1
        return total[: len(self)], times(self.links, self._squared_weights * total)

    @cached_property
    def shift(self) -> Tensor:
        """1 + eta d₁ + zeta d₂: what M_** does to a vector but for its links."""
        first, second = self.degrees
        return 1 + self.eta * first + self.zeta * second

    @cached_property
    def _squared_weights(self) -> Tensor:
        return self.weights.square()

    def widest(self) -> int:
        """How many different matrices M_** there are: 1, or s."""
        return max(self.shift.shape[1], self.weights.shape[1])
