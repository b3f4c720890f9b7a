"""`System`, the equations of the latent states of new nodes, M_** z_* = -M_*x z_x; their means and variances.

Solved by conjugate gradients, by sparse factors where those stall; with exact gradients.

All dimensions are solved together, each a column with its own steps, so that a product with the links serves them all.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import torch
from scipy import sparse
from scipy.sparse.linalg import splu
from torch import Tensor
from torch.nn import functional

from netfold.errors import TrainingError
from netfold.learn.solvers import conjugate_gradients
from netfold.learn.sparse_rows import SparseRows

__all__ = [
    "System",
    "factorised",
    "matrices_of",
    "posterior_variances",
    "precision",
    "solved",
    "solved_in_blocks",
    "summed_times",
    "times",
    "transposed_times",
]


def times(rows: SparseRows, dense: Tensor) -> Tensor:
    """X D: (m x n) times (n x h)."""
    product: Tensor = _Times.apply(rows, dense)  # type: ignore[no-untyped-call]
    return product


def transposed_times(rows: SparseRows, dense: Tensor) -> Tensor:
    """Xᵀ D: (n x m) times (m x h)."""
    product: Tensor = _TransposedTimes.apply(rows, dense)  # type: ignore[no-untyped-call]
    return product


def summed_times(rows: SparseRows, of: Tensor, count: int, weights: Tensor, dense: Tensor) -> Tensor:
    """Σ_{r: of_r = i} w_r X_r D for i below `count`, of X (r x n) and D (n x h): count x h; X D is never made whole.

    `of` (r) is in increasing order; a sum of no rows is 0. Gradients pass to the weights (r) and to D.
    """
    product: Tensor = _SummedTimes.apply(rows, of, count, weights, dense)  # type: ignore[no-untyped-call]
    return product


class _SummedTimes(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, rows: SparseRows, of: Tensor, count: int, weights: Tensor, dense: Tensor) -> Tensor:
        ends = functional.pad(torch.bincount(of, minlength=count).cumsum(0), (1, 0))
        starts, at, entries = rows.by_column
        ctx.rows, ctx.of = rows, of
        ctx.sums = replace(
            rows,
            crow=rows.crow.index_select(0, ends),
            values=rows.values * weights.repeat_interleave(rows.crow.diff(), output_size=len(rows.values)),
            by_column=(starts, of.int().index_select(0, at), entries),
        )
        ctx.save_for_backward(dense)
        product: Tensor = ctx.sums.matmul(dense)
        return product

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        (dense,), grad = ctx.saved_tensors, grad.contiguous()
        of_weights = grad.new_empty(len(ctx.of))
        for part, image in ctx.rows.matmul_parts(dense):
            of_weights[part] = (image * grad.index_select(0, ctx.of[part])).sum(1)
        return None, None, None, of_weights, ctx.sums.transposed_matmul(grad)


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


_PATIENCE = 20_000
"""Steps in all where factors would not fit."""
_ENTRIES = 5_000_000
"""Of M_** for its factors to be worth a try."""
_WORK = 2e9
"""m³ times the number of matrices up to which M_** is inverted; above, its inverse's diagonal is estimated."""
_PROBES = 32
"""Vectors of random signs from which that diagonal is estimated."""


def solved(system: System) -> Tensor:
    """z_* = -M_**⁻¹ M_*x z_x: m x s, with its exact gradients.

    With the solution z known, the residual R = -M_*x z_x - M_** z is 0 but has the derivatives that count:
    dz_* = M_**⁻¹ dR for fixed z. So `_Inverse` takes R forward to 0, and a gradient back by one more solve.
    """
    wide = system.precise()
    if wide is not system:
        return solved(wide).to(system.pull.dtype)
    if not (torch.is_grad_enabled() and _needs_grad(system)):
        with torch.no_grad():
            return _solve(system, system.right())
    still = system.detached()
    with torch.no_grad():
        solution = _solve(still, still.right())
    correction: Tensor = _Inverse.apply(still, system.right() - system.times(solution))  # type: ignore[no-untyped-call]
    return solution + correction


def solved_in_blocks(system: System, place: Tensor, size: int) -> Tensor:
    """The same where M_** is one matrix of blocks on its diagonal, none larger than `size`: a small system for each.

    `place` (m) says where new nodes are among blocks that are filled up to that size. All columns of all blocks are one
    product with `size` columns, of which each has a 1 in every block. For a GPU, on which steps of conjugate gradients
    on so little take as long as they are many.
    """
    wide = system.precise()
    if wide is not system:
        return solved_in_blocks(wide, place, size).to(system.pull.dtype)
    count, right = math.ceil((int(place[-1]) + 1) / size), system.right()
    slots, rows = torch.arange(size, device=place.device), torch.arange(count * size, device=place.device)
    columns = system.times((place[:, None] % size == slots).to(right))
    empty = (rows[:, None] % size == slots).double()  # 1 on the diagonal, for those that fill a block up
    matrices = empty.index_copy(0, place, columns.double())
    sides = right.new_zeros(count * size, right.shape[1], dtype=torch.float64).index_copy(0, place, right.double())
    solutions = torch.linalg.solve_ex(matrices.view(count, size, size), sides.view(count, size, -1))[0]
    latent: Tensor = solutions.reshape(count * size, -1).index_select(0, place).to(right.dtype)
    return latent


def factorised(system: System, right: Tensor) -> Tensor:
    """x with M_** x = right by sparse LU, in float64, one factorisation for each different M_**."""
    matrices, columns = matrices_of(system), right.double().numpy(force=True)
    try:
        if len(matrices) == 1:
            solution = splu(matrices[0]).solve(columns)
        else:
            solution = np.stack([splu(m).solve(columns[:, k]) for k, m in enumerate(matrices)], axis=1)
    except RuntimeError as e:  # scipy's word for a matrix that training has solution singular
        raise TrainingError(f"the new nodes' system has no solution any more ({e}); lower lr and node_lr") from None
    return torch.from_numpy(np.ascontiguousarray(solution)).to(right)


def matrices_of(system: System) -> list[sparse.csc_array]:
    """M_** itself, in float64: one matrix, or one for each dimension. For few new nodes only."""
    m, links = len(system), system.links
    values, col, crow = (x.numpy(force=True) for x in (links.values.double(), links.col, links.crow))
    b = sparse.csr_array((values, col, crow), shape=(m, links.width))
    shift, weights = (x.double().numpy(force=True) for x in (system.shift, system.weights))
    eta, zeta = (x.double().numpy(force=True) for x in (system.eta, system.zeta))
    matrices = []
    for k in range(system.widest()):
        a, d = weights[:, k % weights.shape[1]], shift[:, k % shift.shape[1]]
        far = b @ sparse.diags_array(a**2) @ b.T
        matrix = sparse.diags_array(d) - eta[k % len(eta)] * b[:, :m] - zeta[k % len(zeta)] * far
        matrices.append(sparse.csc_array(matrix))
    return matrices


class _Inverse(torch.autograd.Function):
    """R to 0, which M_**⁻¹ R is to working precision; a gradient G to M_**⁻¹ G, as M is symmetric."""

    @staticmethod
    def forward(ctx: Any, system: System, residual: Tensor) -> Tensor:
        ctx.system = system
        return torch.zeros_like(residual)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        return None, _solve(ctx.system, grad)


def _solve(system: System, right: Tensor) -> Tensor:
    diagonal = system.diagonal()
    solution, done = conjugate_gradients(system.times, right, diagonal)
    if done:
        return solution
    if _expected_entries(system) <= _ENTRIES:
        return factorised(system, right)
    return conjugate_gradients(system.times, right, diagonal, steps=_PATIENCE)[0]


def _expected_entries(system: System) -> int:
    """At most so many entries has M_**: a node beside c new ones links them all."""
    counts = torch.bincount(system.links.col, minlength=1).double()
    return int(counts.square().sum()) * system.widest()


def _needs_grad(system: System) -> bool:
    return any(x.requires_grad for x in (system.weights, system.mass, system.pull, system.eta, system.zeta))


@torch.no_grad()
def posterior_variances(system: System, generator: torch.Generator, among: tuple[Tensor, int] | None = None) -> Tensor:
    """The diagonal of M_**⁻¹: the variances of new nodes' latent states, given the known ones: m x 1 or m x s.

    Exactly for few nodes. For many by Hutchinson's estimate, the mean of v ∘ M_**⁻¹ v over 32 vectors v of random
    signs, kept within what is known: a variance is at least 1 / M_ii, and at most the prior's 1. Where these nodes are
    some of more, among which they have no others to do with, `among` has their places and how many there are: what they
    get is then what they would get with all.
    """
    wide = system.precise()
    if wide is not system:
        return posterior_variances(wide, generator, among).to(system.pull.dtype)
    if len(system) < 2:
        return 1 / system.diagonal()
    places, count = (slice(None), len(system)) if among is None else among
    if count**3 * system.widest() <= _WORK:
        exact = [np.diag(np.linalg.inv(m.toarray())) for m in matrices_of(system)]
        return torch.from_numpy(np.stack(exact, axis=1)).to(system.pull)
    diagonal = system.diagonal()
    total = torch.zeros_like(diagonal)
    for _ in range(_PROBES):
        signs = torch.randint(2, (count, 1), generator=generator)[places].to(system.pull) * 2 - 1
        right = signs.expand_as(diagonal)
        total += right * conjugate_gradients(system.times, right, diagonal)[0]
    return torch.minimum(torch.maximum(total / _PROBES, 1 / diagonal), torch.ones_like(diagonal))
