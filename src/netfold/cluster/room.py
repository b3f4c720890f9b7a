"""`Room`: where the large arrays of a rank are: in memory, or, where that is too small, in files that are mapped."""

from __future__ import annotations

import os
import resource
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

__all__ = ["Room", "memory_left"]


def memory_left() -> int:
    """Bytes that this process may still take: what the system has, within the limits of its container and its own."""
    return max(0, min(_limits()))


def _limits() -> Iterator[int]:
    yield 1 << 62
    for line in _lines("/proc/meminfo"):
        if line.startswith("MemAvailable:"):
            yield int(line.split()[1]) << 10
    most, used = (_number(f"/sys/fs/cgroup/memory.{name}") for name in ("max", "current"))
    if most is not None and used is not None:
        yield most - used
    status = dict(line.split(":", 1) for line in _lines("/proc/self/status") if ":" in line)
    for limit, name in ((resource.RLIMIT_DATA, "VmData"), (resource.RLIMIT_AS, "VmSize")):
        soft = resource.getrlimit(limit)[0]
        if soft != resource.RLIM_INFINITY and name in status:
            yield soft - (int(status[name].split()[0]) << 10)


def _lines(path: str) -> list[str]:
    try:
        return Path(path).read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeError):
        return []


def _number(path: str) -> int | None:
    text = "".join(_lines(path)).strip()
    return int(text) if text.isdigit() else None


class Room:
    """Makes arrays. Where they are not `resident` each is a file without a name in `scratch`, mapped."""

    def __init__(self, *, resident: bool = True, scratch: str | os.PathLike[str] | None = None):
        self.resident = resident
        self.scratch = Path(scratch or tempfile.gettempdir())

    @property
    def state(self) -> Any:
        """What an optimizer makes its state with; None: its own way."""
        return None if self.resident else self.zeros_like

    def empty(self, shape: tuple[int, ...], *, dtype: torch.dtype, device: Any = "cpu") -> Tensor:
        """An array of zeros, or of anything."""
        if self.resident or torch.device(device).type != "cpu":
            return torch.empty(shape, dtype=dtype, device=device)
        size = 1
        for length in shape:
            size *= length
        if not size:
            return torch.zeros(shape, dtype=dtype)
        handle, name = tempfile.mkstemp(prefix="netfold-", dir=self.scratch)
        os.close(handle)
        try:
            mapped: Tensor = torch.from_file(name, shared=True, size=size, dtype=dtype)
        finally:
            Path(name).unlink()  # it lives as long as it is mapped, and is gone however the process ends
        return mapped.view(shape)

    def zeros_like(self, x: Tensor) -> Tensor:
        """An array of zeros as large as another."""
        return self.empty(tuple(x.shape), dtype=x.dtype, device=x.device).zero_()

    def materialise(self, network: nn.Module, device: torch.device) -> None:
        """Give a network that was made without memory (on "meta") its arrays, of zeros; buffers as they are made."""
        for module in network.modules():
            for name, p in list(module._parameters.items()):
                if p is not None:
                    own = nn.Parameter(self.empty(tuple(p.shape), dtype=p.dtype, device=device).zero_())
                    module._parameters[name] = own
                    if not self.resident:
                        own.grad = self.zeros_like(own)
            for name, b in list(module._buffers.items()):
                if b is not None:
                    module._buffers[name] = torch.ones(b.shape, dtype=b.dtype, device=device)
