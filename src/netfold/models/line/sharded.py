"""LINE over several ranks: each owns the rows of its nodes in the tables of both orders.

A step sends, for each node of others that a rank's links name, its rows of all tables and their gradients, which are
8 (d₁ + 2 d₂) bytes in float32, and for each that was drawn against them alone those of the first order and of contexts.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from netfold.cluster.skipgram import RankSkipGram
from netfold.models.line.network import LINENetwork, line_terms

__all__ = ["ShardedLINE"]


class ShardedLINE(RankSkipGram):
    """`LINENetwork` whose tables are spread over ranks."""

    own: LINENetwork

    def near(self) -> list[nn.Parameter]:
        """Those that have numbers."""
        return self.own.tables

    def far(self) -> list[nn.Parameter]:
        """Of nodes drawn alone, not the vectors of the second order."""
        return [table for table in self.own.tables if table is not self.own.second]

    def terms(self, batch: Any, rows: list[Tensor]) -> dict[str, Tensor]:
        """As `LINENetwork.loss`."""
        first = rows[0] if self.own.first.shape[1] else None
        second, contexts = rows[-2:] if self.own.second.shape[1] else (None, None)
        return line_terms(batch, first, second, contexts)

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
