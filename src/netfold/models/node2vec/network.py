"""node2vec's tensors: a table of vectors and one of contexts, of which a step reads and moves some rows."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from netfold.learn.draws import TABLE, uniform
from netfold.learn.layers import add_rows_grad
from netfold.learn.skipgram import Windows

__all__ = ["Node2VecNetwork"]


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
