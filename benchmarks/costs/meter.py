"""What an epoch costs, measured inside the process that trains."""

from __future__ import annotations

import json
import resource
import statistics
import time

import numpy as np


def cpu_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


class Meter:
    """Collects CPU and wall seconds between epochs, of a GPU once it has done its work."""

    def __init__(self, device: str = "cpu") -> None:
        self._device = device
        self.cpu, self.wall = [cpu_seconds()], [time.perf_counter()]

    def __call__(self, record: object = None) -> None:
        self._wait()
        self.cpu.append(cpu_seconds())
        self.wall.append(time.perf_counter())

    def now(self) -> float:
        """The CPU's clock, or with a GPU that on the wall, once it has done its work."""
        self._wait()
        return time.perf_counter() if self._device == "cuda" else cpu_seconds()

    def _wait(self) -> None:
        if self._device == "cuda":
            import torch

            torch.cuda.synchronize()

    def report(self, **facts: object) -> None:
        skip = 1 if len(self.cpu) > 2 else 0
        cpu, wall = (statistics.median(np.diff(x)[skip:]) for x in (self.cpu, self.wall))
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
        print(json.dumps({"cpu": cpu, "wall": wall, "peak_gib": peak, **facts}))
