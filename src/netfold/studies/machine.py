"""What this machine is, and what a piece of work costs on it: seconds, and the most memory beyond what was held."""

from __future__ import annotations

import ctypes
import gc
import os
import platform
import sys
import time
from pathlib import Path
from typing import Any

__all__ = ["Meter", "cores", "machine"]


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
        self.bytes = on_gpu if on_gpu > 0 else max(0, _peak() - self._held)


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


def _peak() -> int:
    return _status("VmHWM:") or _highest()


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
