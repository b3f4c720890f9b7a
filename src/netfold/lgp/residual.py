"""g: from the latent state of a node to its vector, and from the variance of one to that of the other."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from netfold.modules import xavier_
from netfold.sparse_rows import PIECE

__all__ = ["Residual"]

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
