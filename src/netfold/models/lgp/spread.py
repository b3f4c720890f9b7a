"""How sure the place of a new node is: the posterior variance of its latent state, and what it means for its vector."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from netfold.learn.layers import xavier_
from netfold.learn.solvers import conjugate_gradients
from netfold.learn.sparse_rows import PIECE
from netfold.models.lgp.solve import matrices_of
from netfold.models.lgp.system import System

__all__ = ["Residual", "Spread", "posterior_variances"]


_SLOPE = 0.01
"""Of the leaky rectifier, where it leaks."""


class Residual(nn.Module):
    """g(x) = x + W₂ᵀ φ(W₁ᵀ x + b₁) + b₂, φ the leaky rectifier; the identity where there are no hidden units.

    W₂ and b₂ start at 0, so that g starts as the identity.
    """

    def __init__(self, dim: int, hidden: int):
        super().__init__()
        self.hidden = hidden
        if hidden:
            self.inward = nn.Parameter(torch.zeros(dim, hidden))
            self.inward_bias = nn.Parameter(torch.zeros(hidden))
            self.outward = nn.Parameter(torch.zeros(hidden, dim))
            self.outward_bias = nn.Parameter(torch.zeros(dim))

    def start(self, generator: torch.Generator) -> None:
        """Give W₁ its first values; all others are 0."""
        if self.hidden:
            xavier_(self.inward, generator)

    def forward(self, x: Tensor) -> Tensor:
        """m x d to m x d."""
        if not self.hidden:
            return x
        inner = functional.leaky_relu(torch.addmm(self.inward_bias, x, self.inward), _SLOPE)
        return x + torch.addmm(self.outward_bias, inner, self.outward)

    @torch.no_grad()
    def spread(self, x: Tensor, variances: Tensor) -> Tensor:
        """The variances of g(x) where x has these, to first order: Σ_k J_jk² var_k with the Jacobian J at x: m x d.

        J is dense, d x d for each node; it is made for some nodes at a time.
        """
        if not self.hidden:
            return variances.expand_as(x)
        size = max(1, PIECE[x.device.type] // x.shape[1] ** 2)
        parts = zip(torch.split(x, size), torch.split(variances.expand_as(x), size), strict=True)
        return torch.cat([self._spread(*part) for part in parts])

    def _spread(self, x: Tensor, variances: Tensor) -> Tensor:
        inner = torch.addmm(self.inward_bias, x, self.inward)
        slopes = torch.where(inner > 0, 1.0, _SLOPE).to(x.dtype)  # m x h
        jacobian = (slopes[:, :, None] * self.outward).transpose(1, 2) @ self.inward.t()  # m x d x d
        jacobian.diagonal(dim1=1, dim2=2).add_(1)
        return torch.einsum("mjk,mk->mj", jacobian.square_(), variances)


_WORK = 2e9
"""m³ times the number of matrices up to which M_** is inverted; above, its inverse's diagonal is estimated."""
_PROBES = 32
_LEAST_SHARE = 0.1
"""Of the variance, at least so much depends on the links."""


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


class Spread(nn.Module):
    """From the posterior variance c of a latent state to the variances of a vector.

    var_j = share Σ_k J_jk² v_k c_k / c̄ + (1 - share) v_j with the Jacobian J of g: v are the mean squared errors of
    predicted vectors, c̄ what the c of these come to through J, on average, and `share` how much of the errors goes with
    it; the rest is the chapter's σ².
    """

    def __init__(self, dim: int):
        super().__init__()
        self.register_buffer("errors", torch.ones(dim))
        self.register_buffer("usual", torch.ones(()))
        self.register_buffer("share", torch.ones(()))
        self.errors: Tensor
        self.usual: Tensor
        self.share: Tensor

    @torch.no_grad()
    def measure(self, g: Residual, latent: Tensor, variances: Tensor, wrong: Tensor) -> None:
        """Take errors, m x d, of predictions for nodes with these posteriors as what is usual."""
        squares = wrong.double().square()
        self.errors.copy_(squares.mean(dim=0).clamp(min=torch.finfo(self.errors.dtype).tiny))
        expected = (g.spread(latent, variances * self.errors) / self.errors).double().mean(dim=1)
        found = (squares / self.errors.double()).mean(dim=1)
        self.usual.copy_(expected.mean())
        self.share.copy_(_share(expected / expected.mean(), found))

    @torch.no_grad()
    def of_process(self, latent: Tensor, predicted: Tensor, diagonal: Tensor) -> None:
        """Take the process at its word: h_v given all others has the variance A / M_vv, A being what fits best.

        `latent`, `predicted`: h of known nodes, and what each would be if it were new, n x d; `diagonal`: M_vv.
        """
        scale = ((latent - predicted).double().square() * diagonal.double()).mean(dim=0)
        self.errors.copy_(scale.clamp(min=torch.finfo(self.errors.dtype).tiny))
        self.usual.fill_(1)
        self.share.fill_(1)

    @torch.no_grad()
    def deviations(self, g: Residual, latent: Tensor, variances: Tensor) -> Tensor:
        """The standard deviations of vectors: m x d."""
        through = g.spread(latent, variances * self.errors) / self.usual
        made = self.share * through + (1 - self.share) * self.errors
        return made.sqrt().clamp(min=torch.finfo(made.dtype).tiny)


def _share(expected: Tensor, found: Tensor) -> Tensor:
    """s of found ≈ s expected + (1 - s), both of mean 1, where large values weigh less, for they scatter more."""
    weights = 1 / (1 + expected).square()
    away = expected - 1
    slope = (weights * away * (found - 1)).sum() / (weights * away.square()).sum().clamp(min=1e-12)
    return slope.clamp(_LEAST_SHARE, 1)
