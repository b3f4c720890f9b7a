"""A network whose training can be worked out by hand."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from netfold.learn.training import Block


class Bowl(nn.Module):
    """Two terms with known slopes: left = x² and right = 3 y², each times the batch."""

    def __init__(self, x: float = 1.0, y: float = 1.0):
        super().__init__()
        self.x = nn.Parameter(torch.tensor([x], dtype=torch.float64))
        self.y = nn.Parameter(torch.tensor([y], dtype=torch.float64))

    def loss(self, batch: float) -> dict[str, Tensor]:
        return {"left": batch * self.x[0] ** 2, "right": batch * 3 * self.y[0] ** 2}


def one_batch(epoch: int) -> list[float]:
    return [1.0]


def sgd(network: Bowl, lr: float = 0.1) -> list[Block]:
    return [Block(list(network.parameters()), "sgd", lr)]
