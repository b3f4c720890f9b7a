"""The latent states of new nodes, and their variances: what the equations of a `System` say.

Solved by conjugate gradients, by sparse factors where those stall; with exact gradients.

All dimensions are solved together, each a column with its own steps, so that a product with the links serves them all.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from scipy import sparse
from scipy.sparse.linalg import splu
from torch import Tensor

from netfold.errors import TrainingError
from netfold.learn.solvers import conjugate_gradients
from netfold.models.lgp.system import System

__all__ = ["factorised", "matrices_of", "posterior_variances", "solved"]

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
def posterior_variances(system: System, generator: torch.Generator) -> Tensor:
    """The diagonal of M_**⁻¹: the variances of new nodes' latent states, given the known ones: m x 1 or m x s.

    Exactly for few nodes. For many by Hutchinson's estimate, the mean of v ∘ M_**⁻¹ v over 32 vectors v of random
    signs, kept within what is known: a variance is at least 1 / M_ii, and at most the prior's 1.
    """
    wide = system.precise()
    if wide is not system:
        return posterior_variances(wide, generator).to(system.pull.dtype)
    if len(system) < 2:
        return 1 / system.diagonal()
    if len(system) ** 3 * system.widest() <= _WORK:
        exact = [np.diag(np.linalg.inv(m.toarray())) for m in matrices_of(system)]
        return torch.from_numpy(np.stack(exact, axis=1)).to(system.pull)
    diagonal = system.diagonal()
    total = torch.zeros_like(diagonal)
    for _ in range(_PROBES):
        signs = torch.randint(2, (len(system), 1), generator=generator).to(system.pull) * 2 - 1
        right = signs.expand_as(diagonal)
        total += right * conjugate_gradients(system.times, right, diagonal)[0]
    return torch.minimum(torch.maximum(total / _PROBES, 1 / diagonal), torch.ones_like(diagonal))
