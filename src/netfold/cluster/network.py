"""What is spread over ranks: `RankNetwork`, with its tables, and `RankColumns`, as solvers ask for them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor, nn

from netfold.cluster.exchange import RankGraph
from netfold.cluster.ranks import Ranks
from netfold.learn.solvers import ColumnBlocks

__all__ = ["RankColumns", "RankNetwork"]


class RankNetwork(nn.Module):
    """A network whose tables are spread over ranks; `own` has this rank's rows, in one process all of them.

    What it has sent is counted where it is sent from: `Ranks.sent`.
    """

    own: Any
    spread: tuple[str, ...]
    """What has a row for each own node: the names that checkpoints cut by part."""

    def __init__(self, own: nn.Module, graph: RankGraph, spread: Iterable[str]):
        """`spread` names parameters and buffers of `own`."""
        super().__init__()
        self.own, self._graph = own, graph
        self.spread = tuple(f"own.{name}" for name in spread)

    @property
    def _ranks(self) -> Ranks:
        return self._graph.ranks

    @property
    def facts(self) -> dict[str, Any]:
        """What is to be known of the graph after it is gone, beside its size."""
        return {}


class RankColumns(ColumnBlocks):
    """Of columns with a number for each node, the rows of this rank's nodes; sums are over all ranks."""

    def __init__(self, graph: RankGraph, draw: Callable[[int, int], torch.Generator], like: Tensor):
        """`draw` has the random numbers of a part and a number that counts: never of a rank."""
        super().__init__(graph.n_nodes, None, like)
        self._graph, self._ranks, self._draw = graph, graph.ranks, draw
        self._drawn = 0

    @property
    def rows(self) -> int:
        """How many of the n rows are here."""
        return self._graph.m

    def inner(self, x: Tensor, y: Tensor) -> Tensor:
        """xᵀ y."""
        return self._ranks.sum_(x.T @ y)

    def lengths(self, x: Tensor) -> Tensor:
        """That of each column."""
        return self._ranks.sum_(x.double().square().sum(0)).sqrt().to(x)

    def qr(self, x: Tensor) -> Tensor:
        """Of the ranks' own triangles, one below the other."""
        wide = x.shape[1]
        q, r = torch.linalg.qr(x.double())
        padded = r.new_zeros(wide, wide)
        padded[: len(r)] = r
        below = torch.linalg.qr(self._ranks.stack(padded).reshape(-1, wide)).Q
        mine = below[self._ranks.rank * wide :][: len(r)]
        basis: Tensor = (q @ mine).to(x)
        return basis

    def orthonormal(self, x: Tensor) -> Tensor:
        """As `netfold.learn.solvers.orthonormal`."""
        for _ in range(2):
            factor, failed = torch.linalg.cholesky_ex(self._ranks.sum_((x.T @ x).double()))
            if failed or factor.diagonal().min() < 1e-4 * factor.diagonal().max():
                return self.qr(x)
            x = x @ torch.linalg.inv(factor).T.to(x)
        return x

    def random(self, width: int) -> Tensor:
        """So many random columns, other ones each time: drawn by part, whoever owns it."""
        out = self.like.new_empty(self.rows, width)
        for p, own in self._graph.by_part():
            drawn = torch.randn(
                own.stop - own.start, width, generator=self._draw(p, self._drawn), dtype=self.like.dtype
            )
            out[own] = drawn.to(out)
        self._drawn += 1
        return out

    def largest(self, x: Tensor) -> Tensor:
        """Of each column the entry that is largest in absolute value."""
        here = super().largest(x) if len(x) else x.new_zeros(x.shape[1])
        return super().largest(self._ranks.stack(here))

    def identity(self) -> Tensor:
        """The rows here of the identity matrix, n x n: for small n."""
        return self.own(super().identity())

    def whole(self, x: Tensor) -> Tensor:
        """All n rows of a block: for small n."""
        counts = [int(b - a) for a, b in pairwise(self._graph.bounds)]
        padded = x.new_zeros(max(counts), x.shape[1])
        padded[: len(x)] = x
        return torch.cat([part[:count] for part, count in zip(self._ranks.stack(padded), counts, strict=True)])

    def own(self, x: Tensor) -> Tensor:
        """Of all n rows those that are here."""
        return x[self._graph.first : self._graph.first + self._graph.m]
