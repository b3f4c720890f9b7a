"""The parameters of the high-order Laplacian kernel, and which of the latent dimensions share them."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

__all__ = ["Kernel"]

_START = 3.0
"""Node weights start at σ(3) = 0.95: near the 1 of new nodes, where the sigmoid still moves."""


class Kernel(nn.Module):
    """eta >= 0, zeta >= 0 and node weights a in [0, 1], read from numbers without bounds that start at 0.

    eta_k = eta₀ exp(raw), zeta_k = zeta₀ exp(raw), a_v = σ(raw + 3): a step changes eta and zeta by a share, whatever
    the weights of the graph are, and what starts at 0 stays there. `starts` are eta₀ and zeta₀.
    """

    def __init__(self, n: int, dim: int, sharing: str):
        super().__init__()
        groups = {"all": 1, "halves": min(2, dim), "weights": dim, "none": dim}[sharing]
        self.dim = dim
        self.register_buffer("starts", torch.zeros(2))
        self.starts: Tensor
        self.raw_eta = nn.Parameter(torch.zeros(groups))
        self.raw_zeta = nn.Parameter(torch.zeros(groups))
        self.raw_weights = nn.Parameter(torch.zeros(n, dim if sharing == "none" else 1))

    def start(self, eta: float, zeta: float, weights: npt.NDArray[Any], degrees: npt.NDArray[Any]) -> None:
        """eta₀ = eta / w̄ and zeta₀ = zeta Σd / (w̄ Σd²), w̄ the mean weight of a link and d the sums of a node's.

        So a start means the same on every graph: whatever its weights, and as Σ_uv (ÂÂ)_uv = Σd², second order has
        zeta / eta times the weight of first order in all, where paths over hubs would otherwise outweigh the links.
        """
        mean, total, squares = weights.mean(), degrees.sum(), np.square(degrees).sum()
        self.starts.copy_(torch.tensor([eta / mean, zeta * total / (mean * squares)]))

    @property
    def eta(self) -> Tensor:
        """The strength of first-order proximity: 1 number, or one for each dimension."""
        return self.starts[0] * self._spread(self.raw_eta).exp()

    @property
    def zeta(self) -> Tensor:
        """The strength of second-order proximity: 1 number, or one for each dimension."""
        return self.starts[1] * self._spread(self.raw_zeta).exp()

    def widest(self) -> int:
        """How many different kernels there are: 1, or one for each dimension."""
        return 1 if len(self.raw_eta) == self.raw_weights.shape[1] == 1 else self.dim

    @staticmethod
    def weights(raw: Tensor) -> Tensor:
        """a of some rows of `raw_weights`."""
        return torch.sigmoid(raw + _START)

    def _spread(self, raw: Tensor) -> Tensor:
        """From one number a group to one a dimension; the first half is the smaller where they differ."""
        if len(raw) in (1, self.dim):
            return raw
        half = self.dim // 2
        return torch.cat([raw[:1].expand(half), raw[1:].expand(self.dim - half)])
