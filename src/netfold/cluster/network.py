"""`RankNetwork`: what a network is whose tables are spread over ranks."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from torch import nn

from netfold.cluster.exchange import RankGraph
from netfold.cluster.ranks import Ranks

__all__ = ["RankNetwork"]


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
