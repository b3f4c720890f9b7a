"""Solving for the latent states of new nodes: conjugate gradients, sparse factors where those stall, exact gradients.

All dimensions are solved together, each a column with its own steps, so that a product with the links serves them all.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from scipy import sparse
from scipy.sparse.linalg import splu
from torch import Tensor

from netfold.errors import TrainingError
from netfold.models.lgp.system import System

__all__ = ["conjugate_gradients", "factorised", "matrices_of", "solved"]

_TOLERANCE = {torch.float32: 1e-6, torch.float64: 1e-13}
"""The residual at which a solution is one, in units of the solution and as a share of its largest number."""
_STEPS = 100
"""Of conjugate gradients, before factors are looked at; M is well conditioned, and 4 to 20 are the rule."""
_PATIENCE = 20_000
"""Steps in all where factors would not fit."""
_ENTRIES = 5_000_000
"""Of M_** for its factors to be worth a try."""


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
        found = _solve(still, still.right())
    made: Tensor = _Inverse.apply(still, system.right() - system.times(found))  # type: ignore[no-untyped-call]
    return found + made


def conjugate_gradients(
    product: Callable[[Tensor], Tensor], right: Tensor, diagonal: Tensor, *, steps: int = _STEPS
) -> tuple[Tensor, bool]:
    """x with M x = right, column by column, M being known by its product and its diagonal; and whether it is found.

    The diagonal is the preconditioner, and the start x = right / diagonal is the answer already where M has no more.
    """
    x = right / diagonal
    if len(right) < 2:
        return x, True
    limit = _TOLERANCE[right.dtype] * x.abs().amax(dim=0)
    rest = right - product(x)
    step = ahead = rest / diagonal
    energy = (rest * ahead).sum(0)
    for _ in range(steps):
        if bool((ahead.abs().amax(dim=0) <= limit).all()):
            return x, True
        through = product(step)
        length = energy / (step * through).sum(0).clamp(min=torch.finfo(x.dtype).tiny)
        x = x + length * step
        rest = rest - length * through
        ahead = rest / diagonal
        before, energy = energy, (rest * ahead).sum(0)
        step = ahead + energy / before.clamp(min=torch.finfo(x.dtype).tiny) * step
    return x, bool((ahead.abs().amax(dim=0) <= limit).all())


def factorised(system: System, right: Tensor) -> Tensor:
    """x with M_** x = right by sparse LU, in float64, one factorisation for each different M_**."""
    matrices, columns = matrices_of(system), right.double().numpy(force=True)
    try:
        if len(matrices) == 1:
            made = splu(matrices[0]).solve(columns)
        else:
            made = np.stack([splu(m).solve(columns[:, k]) for k, m in enumerate(matrices)], axis=1)
    except RuntimeError as e:  # scipy's word for a matrix that training has made singular
        raise TrainingError(f"the new nodes' system has no solution any more ({e}); lower lr and node_lr") from None
    return torch.from_numpy(np.ascontiguousarray(made)).to(right)


def matrices_of(system: System) -> list[sparse.csc_array]:
    """M_** itself, in float64: one matrix, or one for each dimension. For few new nodes only."""
    m, links = len(system), system.links
    values, col, crow = (x.numpy(force=True) for x in (links.values.double(), links.col, links.crow))
    b = sparse.csr_array((values, col, crow), shape=(m, links.width))
    shift, weights = (x.double().numpy(force=True) for x in (system.shift, system.weights))
    eta, zeta = (x.double().numpy(force=True) for x in (system.eta, system.zeta))
    made = []
    for k in range(system.widest()):
        a, d = weights[:, k % weights.shape[1]], shift[:, k % shift.shape[1]]
        far = b @ sparse.diags_array(a**2) @ b.T
        matrix = sparse.diags_array(d) - eta[k % len(eta)] * b[:, :m] - zeta[k % len(zeta)] * far
        made.append(sparse.csc_array(matrix))
    return made


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
    found, done = conjugate_gradients(system.times, right, diagonal)
    if done:
        return found
    if _expected_entries(system) <= _ENTRIES:
        return factorised(system, right)
    return conjugate_gradients(system.times, right, diagonal, steps=_PATIENCE)[0]


def _expected_entries(system: System) -> int:
    """At most so many entries has M_**: a node beside c new ones links them all."""
    counts = torch.bincount(system.links.col, minlength=1).double()
    return int(counts.square().sum()) * system.widest()


def _needs_grad(system: System) -> bool:
    return any(x.requires_grad for x in (system.weights, system.mass, system.pull, system.eta, system.zeta))
