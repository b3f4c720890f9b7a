"""Where the time of a fit goes: seconds of each part of it, of the clock and of the CPU, while somebody asks."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, TypeVar

__all__ = ["Profile", "counted_items", "part", "profile"]


Item = TypeVar("Item")


@dataclass
class Profile:
    """Seconds by part, in the order in which the parts began. Parts do not overlap; what is in none is "other"."""

    parts: dict[str, list[float]] = field(default_factory=dict)
    """By name: seconds of the clock, seconds of the CPU, and how often it ran."""
    seconds: float = 0.0
    cpu: float = 0.0
    _inner: list[list[float]] = field(default_factory=list, repr=False)
    """Of each part that has begun and not ended: what was spent in parts within it."""

    def to_dict(self) -> dict[str, Any]:
        """Seconds by part, as JSON holds them."""
        named = {name: {"seconds": s, "cpu": c, "times": int(n)} for name, (s, c, n) in self.parts.items()}
        rest = [
            total - sum(each[i] for each in self.parts.values()) for i, total in enumerate((self.seconds, self.cpu))
        ]
        named["other"] = {"seconds": max(rest[0], 0.0), "cpu": max(rest[1], 0.0), "times": 1}
        return {"seconds": self.seconds, "cpu": self.cpu, "parts": named}

    def __str__(self) -> str:
        from netfold.data.text import text_table

        rows = [["part", "seconds", "share", "CPU-s", "times"]]
        for name, x in self.to_dict()["parts"].items():
            share = f"{100 * x['seconds'] / max(self.seconds, 1e-9):.0f}%"
            rows.append([name, f"{x['seconds']:.3f}", share, f"{x['cpu']:.3f}", f"{x['times']:,}"])
        rows.append(["in all", f"{self.seconds:.3f}", "100%", f"{self.cpu:.3f}", ""])
        return text_table(rows, right=range(1, 5))

    @contextmanager
    def part(self, name: str) -> Iterator[None]:
        """Around what is to be counted under a name; on a GPU until its work is done.

        A part within another, as in a fit that fits other models, counts under its own name alone.
        """
        sums, inner = self.parts.setdefault(name, [0.0, 0.0, 0]), [0.0, 0.0]
        self._inner.append(inner)
        start = _now()
        try:
            yield
        finally:
            took = [end - begin for begin, end in zip(start, _now(), strict=True)]
            self._inner.pop()
            for i in range(2):
                sums[i] += took[i] - inner[i]
                if self._inner:
                    self._inner[-1][i] += took[i]
            sums[2] += 1


_ASKED: ContextVar[Profile | None] = ContextVar("_ASKED", default=None)


def _now() -> tuple[float, float]:
    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_available() and torch.cuda.is_initialized():
        torch.cuda.synchronize()
    return time.perf_counter(), time.process_time()


@contextmanager
def profile() -> Iterator[Profile]:
    """Count what the fits in it spend, part by part: reading, the start, batches, loss, gradients, steps, vectors.

    >>> import netfold as nf
    >>> with nf.profile() as spent:
    ...     _ = nf.SDNE(dim=2, epochs=3).fit([("a", "b"), ("b", "c")], progress=False)
    >>> list(spent.parts)
    ['reading', 'start', 'batches', 'loss', 'gradients', 'steps', 'vectors', 'placing']
    """
    spent, start = Profile(), _now()
    token = _ASKED.set(spent)
    try:
        yield spent
    finally:
        _ASKED.reset(token)
        end = _now()
        spent.seconds, spent.cpu = end[0] - start[0], end[1] - start[1]


@contextmanager
def part(name: str) -> Iterator[None]:
    """Count what is done in it, where somebody asks."""
    spent = _ASKED.get()
    if spent is None:
        yield
        return
    with spent.part(name):
        yield


def counted_items(items: Iterable[Item], name: str) -> Iterable[Item]:
    """The same items; what it costs to make them counts under a name, where somebody asks."""
    spent = _ASKED.get()
    return items if spent is None else _timed(iter(items), name, spent)


def _timed(items: Iterator[Item], name: str, spent: Profile) -> Iterator[Item]:
    while True:
        with spent.part(name):
            try:
                item = next(items)
            except StopIteration:
                return
        yield item
