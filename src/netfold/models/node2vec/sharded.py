"""Node2Vec over several ranks: each owns the rows of its nodes in both tables; walkers ask the owners of nodes.

A step sends, for each node of others that a rank's walks come by, its vector, its context and their gradients (16 d
bytes in float32), and for each that was drawn against them alone its context (8 d); and before, 24 bytes for each node
that a walk comes to (with p or q other than 1 at least twice as many).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from netfold.cluster.skipgram import ALONE, MET, RankSkipGram
from netfold.models.node2vec.network import Node2VecNetwork

__all__ = ["ShardedNode2Vec"]


class ShardedNode2Vec(RankSkipGram):
    """`Node2VecNetwork` whose tables are spread over ranks."""

    own: Node2VecNetwork

    def tables(self) -> list[tuple[nn.Parameter, int]]:
        """Of nodes drawn alone, contexts."""
        return [(self.own.vectors, MET), (self.own.contexts, ALONE)]

    def slopes(self, batch: Any, rows: list[Tensor]) -> tuple[dict[str, Tensor], list[Tensor]]:
        """As `Node2VecNetwork.loss`."""
        terms, *slopes = batch.terms_and_slopes(*rows)
        return terms, slopes

    @torch.no_grad()
    def start(self, draw: Any, linked: npt.NDArray[np.bool_]) -> None:
        """As `Node2VecNetwork.start`, the rows of each part drawn by the part."""
        dim = self.own.vectors.shape[1]
        for p, own in self._graph.by_part():
            drawn = (torch.rand(own.stop - own.start, dim, generator=draw(0, p)) - 0.5) / dim
            self.own.vectors[own] = (drawn * torch.from_numpy(linked[own])[:, None]).to(self.own.vectors)

    def embed(self) -> npt.NDArray[np.float32]:
        """The vectors of the own nodes: m x d."""
        vectors: npt.NDArray[np.float32] = self.own.vectors.detach().float().numpy(force=True)
        return vectors
