"""SDNE on dense rows, as CogDL's settings have it: what a straightforward implementation costs and gives.

Written here from the description of its objective. It weighs the squared errors by beta A, so that zeros are never
reconstructed; its layers are 1000 and d wide, all nodes are one batch, and 500 epochs of Adam follow with 0.001.
"""

from __future__ import annotations

from typing import Any

import torch
from job import Job
from torch import Tensor, nn

_EPOCHS, _HIDDEN = 500, 1000
_ALPHA, _BETA, _NU1, _NU2 = 0.1, 5.0, 1e-4, 1e-3


class _Autoencoder(nn.Module):
    """n -> 1000 -> d -> 1000 -> n, leaky ReLU after each layer."""

    def __init__(self, n_nodes: int, dim: int):
        super().__init__()
        self.encoder = nn.ModuleList([nn.Linear(n_nodes, _HIDDEN), nn.Linear(_HIDDEN, dim)])
        self.decoder = nn.ModuleList([nn.Linear(dim, _HIDDEN), nn.Linear(_HIDDEN, n_nodes)])

    def encode(self, rows: Tensor) -> Tensor:
        for layer in self.encoder:
            rows = nn.functional.leaky_relu(layer(rows))
        return rows

    def decode(self, y: Tensor) -> Tensor:
        for layer in self.decoder:
            y = nn.functional.leaky_relu(layer(y))
        return y

    def vectors(self, rows: Tensor) -> Tensor:
        """What is handed out: the encoder's layers without their non-linearity, as there."""
        return self.encoder[1](self.encoder[0](rows))


def sdne(job: Job) -> Any:
    """n x n arrays throughout."""
    torch.manual_seed(job.seed)
    rows = torch.from_numpy(job.adjacency.toarray())
    laplacian = torch.diag(rows.sum(1)) - rows
    model = _Autoencoder(job.n_nodes, job.dim)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.001)
    for _ in job.clock.epochs(_EPOCHS):
        optimizer.zero_grad()
        _loss(model, rows, laplacian).backward()
        optimizer.step()
    return None if job.clock.foretold else model.vectors(rows).detach().numpy()


def _loss(model: _Autoencoder, rows: Tensor, laplacian: Tensor) -> Tensor:
    """‖(x̂ - x) ⊙ beta A‖² + 2 alpha tr(yᵀ L y) + nu₁ Σ|w| + nu₂ Σw²."""
    y = model.encode(rows)
    second = (((rows - model.decode(y)) * rows * _BETA) ** 2).sum()
    first = 2 * _ALPHA * (y * (laplacian @ y)).sum()
    penalty = sum(_NU1 * w.abs().sum() + _NU2 * (w * w).sum() for w in model.parameters())
    return second + first + penalty
