"""What this machine is, what a piece of work costs on it (seconds, memory), and a budget to work within."""

from __future__ import annotations

import ctypes
import gc
import math
import os
import platform
import re
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from netfold.data.checks import byte_count
from netfold.errors import InputError

__all__ = ["Budget", "BudgetClock", "Meter", "bytes_of", "cores", "machine"]


def machine(device: str = "cpu") -> str:
    """The processor, its cores that this process may use, and the GPU where one is used."""
    import torch

    words = f"{_processor()}, {cores()} core{'s' if cores() > 1 else ''}"
    if device != "cpu" and torch.cuda.is_available():
        words += f"; {torch.cuda.get_device_name()}"
    return words


def cores() -> int:
    """The cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        lines = []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine() or "unknown processor"


_STATUS, _PEAK_RESET = Path("/proc/self/status"), Path("/proc/self/clear_refs")
_RESET = "5"
"""What Linux takes as: let the peak be what is held now."""


class Meter:
    """Around a piece of work: `seconds` on the clock, and `bytes`, the peak of memory above where it stood before.

    Memory that was freed and kept by the allocator is given back first, where it can be, so that one piece of work
    does not hide in what another one left. On Linux the peak is the kernel's own and exact, and is reset (that of
    `resource.getrusage` with it); elsewhere it is seen only where it is the highest of the process so far. Where work
    ran on a GPU, `bytes` is the peak of the GPU's memory.

    >>> with Meter() as meter:
    ...     held = bytearray(50 << 20)
    >>> meter.seconds > 0 and meter.bytes >= 50 << 20
    True
    """

    def __init__(self) -> None:
        self.seconds, self.bytes = 0.0, 0

    def __enter__(self) -> Meter:
        _give_back()
        _reset_peak()
        self._held, self._device = _now(), _gpu_memory(reset=True)
        self._start = time.perf_counter()
        return self

    def __exit__(self, *error: object) -> None:
        on_gpu = _gpu_memory() - self._device  # waits until the GPU has done its work
        self.seconds = time.perf_counter() - self._start
        self.bytes = on_gpu if on_gpu > 0 else max(0, (_status("VmHWM:") or _highest()) - self._held)


def _give_back() -> None:
    gc.collect()
    if sys.platform == "linux":
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)  # glibc has it, others do not
        if trim is not None:
            trim(0)


def _reset_peak() -> None:
    try:
        _PEAK_RESET.write_text(_RESET)
    except OSError:  # not Linux, or not allowed there: the peak of the process stands
        return


def _now() -> int:
    return _status("VmRSS:") or _highest()


def _status(name: str) -> int | None:
    try:
        lines = _STATUS.read_text().splitlines()
    except OSError:
        return None
    return next((int(line.split()[1]) << 10 for line in lines if line.startswith(name)), None)


def _highest() -> int:
    import resource

    unit = 1 if sys.platform == "darwin" else 1 << 10
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def _gpu_memory(*, reset: bool = False) -> int:
    """The peak of the GPU's memory, or what it holds now where the peak is reset; 0 where none is in use."""
    torch: Any = sys.modules.get("torch")
    if torch is None or not torch.cuda.is_initialized():
        return 0
    torch.cuda.synchronize()
    if reset:
        torch.cuda.reset_peak_memory_stats()
    return int(torch.cuda.max_memory_allocated())


# -------------------------------------------------------------------- budgets

_UNITS = {
    "": ("s", 1), "s": ("s", 1), "sec": ("s", 1), "m": ("s", 60), "min": ("s", 60), "h": ("s", 3600),
    "cpu": ("cpu", 1), "trial": ("trials", 1), "trials": ("trials", 1),
}  # fmt: skip


@dataclass(frozen=True)
class Budget:
    """So many seconds on the clock, CPU seconds, or trials.

    >>> Budget.of("5m"), str(Budget.of("60cpu"))
    (Budget(amount=300.0, unit='s'), '60 CPU-s')
    """

    amount: float
    unit: str = "s"

    @staticmethod
    def of(value: Any) -> Budget:
        """What a text or a number of seconds means."""
        parts = re.fullmatch(r"\s*([0-9]*\.?[0-9]+)\s*([a-z]*)\s*", str(value).lower())
        if parts is None or parts[2] not in _UNITS or not 0 < float(parts[1]) < math.inf:
            raise InputError(f"budget={value!r} is not one; give seconds (60s), minutes (5m), 60cpu or '20 trials'")
        unit, factor = _UNITS[parts[2]]
        return Budget(float(parts[1]) * factor, unit)

    def __str__(self) -> str:
        return f"{self.amount:g} {'CPU-s' if self.unit == 'cpu' else self.unit}"


def bytes_of(memory: Any) -> float:
    """The bytes that a text such as 4GiB means; without one, as many as there are."""
    if memory is None:
        return math.inf
    try:
        size = byte_count(memory)
    except InputError as e:
        raise InputError(f"memory={e}") from None
    if size == 0:
        raise InputError(f"memory={memory!r} leaves none; write 8GB or 8GiB")
    return size


@dataclass
class BudgetClock:
    """What of a budget is spent."""

    budget: Budget
    trials: int = 0

    def __post_init__(self) -> None:
        self._start = self._now()

    def _now(self) -> float:
        return time.process_time() if self.budget.unit == "cpu" else time.perf_counter()

    @property
    def timed(self) -> bool:
        """Whether time counts; where trials do, nothing depends on it."""
        return self.budget.unit != "trials"

    def spent(self) -> float:
        """Seconds, or trials."""
        return self._now() - self._start if self.timed else float(self.trials)

    def left(self, share: float = 1.0) -> float:
        """Until a share of the budget is spent."""
        return share * self.budget.amount - self.spent()
