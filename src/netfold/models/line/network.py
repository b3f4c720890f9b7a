"""LINE's tensors: a table of vectors for each order, and one of contexts for the second."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from netfold.cluster.skipgram import ALONE, HERE, RankSkipGram
from netfold.learn.draws import TABLE, uniform
from netfold.learn.layers import add_rows_grad, take_rows
from netfold.learn.skipgram import PairBatch

__all__ = ["LINENetwork", "ShardedLINE", "line_slopes", "line_terms"]


class LINENetwork(nn.Module):
    """Vectors of the first order (n x d₁) and of the second (n x d₂) with its contexts; an order may have no width."""

    def __init__(self, n: int, first: int, second: int):
        super().__init__()
        self.first = nn.Parameter(torch.zeros(n, first))
        self.second = nn.Parameter(torch.zeros(n, second))
        self.contexts = nn.Parameter(torch.zeros(n, second))

    @torch.no_grad()
    def start(self, generator: torch.Generator, linked: Tensor) -> None:
        """Second order as word2vec: vectors uniform in ±1/2d, contexts 0; first order in ±1/2√d.

        Where both ends are of one table, 0 is a saddle that the smallest vectors leave but slowly. Nodes without links,
        which nothing moves, get 0.
        """
        for table, size in ((self.first, self.first.shape[1] ** 0.5), (self.second, self.second.shape[1])):
            drawn = uniform(table.shape, generator, table.device, dtype=torch.float32, few=TABLE) - 0.5
            table.copy_(drawn / max(1, size) * linked[:, None])

    @torch.no_grad()
    def start_from(self, vectors: Tensor, contexts: Tensor) -> None:
        """Both orders from vectors and contexts for skip-gram (n x w), whose first coordinate is their offset.

        The first order has one table, in which no product is an offset: it takes the coordinates after that one.
        """
        self.first.copy_(vectors[:, 1 : 1 + self.first.shape[1]])
        self.second.copy_(vectors[:, : self.second.shape[1]])
        self.contexts.copy_(contexts[:, : self.contexts.shape[1]])

    @property
    def tables(self) -> list[nn.Parameter]:
        """Those that have numbers."""
        return [table for table in (self.first, self.second, self.contexts) if table.shape[1]]

    def loss(self, batch: PairBatch) -> dict[str, Tensor]:
        """The objectives of the orders, whose parameters have nothing in common, over a batch of links.

        Gradients are added to `grad`.
        """
        near, far = batch.nodes, batch.context_nodes
        reads = [(self.first, far), (self.second, near), (self.contexts, far)]
        learns = torch.is_grad_enabled()
        in_tables = learns and batch.against.in_turn and not self.first.is_cuda
        rows = [table.detach() if in_tables else table.detach().index_select(0, at) for table, at in reads]
        if not learns:
            return line_terms(batch, *rows)
        terms, slopes = line_slopes(batch, *rows, in_tables=in_tables)
        for (table, at), grad in zip(reads, slopes, strict=True):
            if table.shape[1]:
                add_rows_grad(table, at, grad)
        return terms

    def codes(self, nodes: Tensor) -> Tensor:
        """The vectors of distinct nodes as `embed` has them, with their gradients: m x (d₁ + d₂)."""
        tables = [take_rows(table, nodes) for table in (self.first, self.second) if table.shape[1]]
        return torch.cat([nn.functional.normalize(rows) for rows in tables], dim=1)

    @torch.no_grad()
    def embed(self) -> Tensor:
        """The vectors of all nodes, those of each order of length 1, side by side: n x (d₁ + d₂)."""
        return torch.cat([nn.functional.normalize(table) for table in (self.first, self.second)], dim=1)

    @property
    def device(self) -> torch.device:
        """Where it is."""
        return self.first.device


def line_terms(batch: PairBatch, first: Tensor, second: Tensor, contexts: Tensor) -> dict[str, Tensor]:
    """The objectives for rows of a batch: `first` and `contexts` of its context nodes, `second` of its nodes.

    An order that is not asked for has rows of no width.
    """
    terms: dict[str, Tensor] = {}
    if first.shape[1]:
        terms |= {f"first_{name}": term for name, term in batch.terms(first[: len(batch.nodes)], first).items()}
    if second.shape[1]:
        terms |= {f"second_{name}": term for name, term in batch.terms(second, contexts).items()}
    return terms


def line_slopes(
    batch: PairBatch, first: Tensor, second: Tensor, contexts: Tensor, *, in_tables: bool = False
) -> tuple[dict[str, Tensor], tuple[Tensor, Tensor, Tensor]]:
    """The same, and the gradients for the rows; `in_tables`: tables of all nodes are given, and rows are read there."""
    terms: dict[str, Tensor] = {}
    slopes = [first, second, contexts]
    of = batch.table_slopes if in_tables else batch.terms_and_slopes
    if first.shape[1]:
        own, left, slopes[0] = of(first if in_tables else first[: len(batch.nodes)], first)
        slopes[0][: len(batch.nodes)] += left
        terms |= {f"first_{name}": term for name, term in own.items()}
    if second.shape[1]:
        own, slopes[1], slopes[2] = of(second, contexts)
        terms |= {f"second_{name}": term for name, term in own.items()}
    return terms, (slopes[0], slopes[1], slopes[2])


class ShardedLINE(RankSkipGram):
    """`LINENetwork` whose tables are spread over ranks, each of which owns the rows of its nodes.

    A step sends, for each node of others that a rank's links lead to or that was drawn against them, its vector of the
    first order, its context and their gradients: 8 (d₁ + d₂) bytes in float32. Vectors of the second order stay where
    they are, as a link belongs to who owns the node that it leaves.
    """

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
