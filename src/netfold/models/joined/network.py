"""Joined's tensors: the networks of its parts, and what each block of vectors is multiplied by."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

__all__ = ["JoinedNetwork"]


class JoinedNetwork(nn.Module):
    """Several networks, and a scale for the vectors of each."""

    scales: Tensor

    def __init__(self, networks: Sequence[nn.Module]):
        super().__init__()
        self.networks = nn.ModuleList(networks)
        self.register_buffer("scales", torch.ones(len(networks), dtype=torch.float64))
