"""What a method is asked for, and the clock that it works against."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from scipy import sparse

_TRIED = 3
"""Epochs after which the cost of all is foretold; the first is left out, as it also builds what the others use."""


def cpu_seconds() -> float:
    """User and system time of this process, its threads and the children that it waited for."""
    return sum(os.times()[:4])


@dataclass
class Clock:
    """Measures a fit, and stops one early that would not end within `limit` CPU seconds."""

    limit: float
    cpu: float = 0.0
    wall: float = 0.0
    foretold: str | None = None
    """Where the fit was stopped: what all of it would take."""

    def start(self) -> None:
        """Forget what was spent so far."""
        self.cpu, self.wall = cpu_seconds(), time.perf_counter()

    def spent(self) -> tuple[float, float]:
        """CPU and wall seconds since the start."""
        return cpu_seconds() - self.cpu, time.perf_counter() - self.wall

    def epochs(self, count: int) -> Iterator[int]:
        """0, 1, ..., count - 1, or the first three where all would take too long."""
        before = cpu_seconds()
        for epoch in range(count):
            if epoch == 1:
                before = cpu_seconds()
            if epoch == _TRIED and not self._fits((cpu_seconds() - before) / (_TRIED - 1), count, _TRIED):
                return
            yield epoch

    def allows(self, train: Callable[[int], object], count: int) -> bool:
        """Whether so many epochs of a training that cannot be looked into end in time; trying it is not counted."""
        taken = []
        for epochs in (1, 2):
            before = cpu_seconds()
            train(epochs)
            taken.append(cpu_seconds() - before)
        fits = self._fits(taken[1] - taken[0], count, 2)
        self.start()
        return fits

    def _fits(self, each: float, count: int, tried: int) -> bool:
        if each * count > self.limit:
            self.foretold = f"about {each * count:,.0f} (foretold from {tried} of {count} epochs)"
        return self.foretold is None


@dataclass
class Job:
    """A symmetric adjacency matrix, and what to make of it: `dim` numbers for each row."""

    adjacency: sparse.csr_matrix
    dim: int
    seed: int
    clock: Clock
    options: dict[str, Any] = field(default_factory=dict)

    @property
    def n_nodes(self) -> int:
        """How many rows there are."""
        return int(self.adjacency.shape[0])

    def edges(self) -> Iterator[tuple[int, int]]:
        """Each edge once, as two row numbers."""
        upper = sparse.triu(self.adjacency).tocoo()
        return zip(upper.row.tolist(), upper.col.tolist(), strict=True)
