"""LINE over several ranks: each owns the rows of its nodes in the tables of both orders.

A step sends, for each node of others that a rank's links lead to or that was drawn against them, its vector of the
first order, its context and their gradients: 8 (d₁ + d₂) bytes in float32. Vectors of the second order stay where they
are, as a link belongs to who owns the node that it leaves.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from netfold.cluster.skipgram import ALONE, HERE, RankSkipGram
from netfold.models.line.network import LINENetwork, line_slopes

__all__ = ["ShardedLINE"]


class ShardedLINE(RankSkipGram):
    """`LINENetwork` whose tables are spread over ranks."""

    own: LINENetwork

    def tables(self) -> list[tuple[nn.Parameter, int]]:
        """A link begins at an own node, of which alone the second order reads a vector."""
        return [(self.own.first, ALONE), (self.own.second, HERE), (self.own.contexts, ALONE)]

    def slopes(self, batch: Any, rows: list[Tensor]) -> tuple[dict[str, Tensor], list[Tensor]]:
        """As `LINENetwork.loss`."""
        terms, slopes = line_slopes(batch, *rows)
        return terms, list(slopes)

    @torch.no_grad()
    def start(self, draw: Any, linked: npt.NDArray[np.bool_]) -> None:
        """As `LINENetwork.start`, the rows of each part drawn by the part."""
        for p, own in self._graph.by_part():
            generator, some = draw(0, p), torch.from_numpy(linked[own])
            for table in (self.own.first, self.own.second):
                size = table.shape[1] ** 0.5 if table is self.own.first else table.shape[1]
                drawn = torch.rand(own.stop - own.start, table.shape[1], generator=generator) - 0.5
                table[own] = (drawn / max(1, size) * some[:, None]).to(table)

    def embed(self) -> npt.NDArray[np.float32]:
        """The vectors of the own nodes: m x d."""
        vectors: npt.NDArray[np.float32] = self.own.embed().float().numpy(force=True)
        return vectors
