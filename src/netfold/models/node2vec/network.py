"""node2vec's tensors: a table of vectors and one of contexts, of which a step reads and moves some rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from netfold.cluster.skipgram import ALONE, MET, RankSkipGram
from netfold.learn.draws import TABLE, uniform
from netfold.learn.layers import add_rows_grad
from netfold.learn.skipgram import Windows

__all__ = ["Node2VecNetwork", "ShardedNode2Vec"]


class Node2VecNetwork(nn.Module):
    """z and c of every node; both n x d."""

    def __init__(self, n: int, dim: int):
        super().__init__()
        self.vectors = nn.Parameter(torch.zeros(n, dim))
        self.contexts = nn.Parameter(torch.zeros(n, dim))

    @torch.no_grad()
    def start(self, generator: torch.Generator, linked: Tensor) -> None:
        """word2vec's: vectors uniform in ±1/2d, contexts 0; and 0 for nodes without links, which nothing moves."""
        n, dim = self.vectors.shape
        drawn = uniform((n, dim), generator, self.device, dtype=torch.float32, few=TABLE)
        self.vectors.copy_((drawn - 0.5) / dim * linked[:, None])

    @torch.no_grad()
    def start_from(self, vectors: Tensor, contexts: Tensor) -> None:
        """Both tables as they are."""
        self.vectors.copy_(vectors)
        self.contexts.copy_(contexts)

    def loss(self, batch: Windows) -> dict[str, Tensor]:
        """The objective over a batch of walks: `contexts` and `negatives`; its gradient is added to `grad`."""
        nodes, drawn = batch.nodes, batch.context_nodes
        if not torch.is_grad_enabled():
            return batch.terms(self.vectors[nodes], self.contexts[drawn])
        vectors, contexts = self.vectors.detach(), self.contexts.detach()
        if batch.against.in_turn and not self.vectors.is_cuda:
            terms, left, right = batch.table_slopes(vectors, contexts)
        else:
            rows = vectors.index_select(0, nodes), contexts.index_select(0, drawn)
            terms, left, right = batch.terms_and_slopes(*rows)
        add_rows_grad(self.vectors, nodes, left)
        add_rows_grad(self.contexts, drawn, right)
        return terms

    @property
    def device(self) -> torch.device:
        """Where it is."""
        return self.vectors.device


class ShardedNode2Vec(RankSkipGram):
    """`Node2VecNetwork` whose tables are spread over ranks, each of which owns the rows of its nodes.

    A step sends, for each node of others that a rank's walks come by, its vector, its context and their gradients (16 d
    bytes in float32), and for each that was drawn against them alone its context (8 d); and before, 24 bytes for each
    node that a walk comes to (with p or q other than 1 at least twice as many).
    """

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
