"""What figures of cost depend on: the machine, and the version of netfold."""

from __future__ import annotations

import importlib.metadata
import os
import platform
from pathlib import Path

__all__ = ["cores", "machine", "version"]


def machine(device: str = "cpu") -> str:
    """The processor, its cores that this process may use, and the GPU where one is used."""
    import torch

    told = f"{_processor()}, {cores()} core{'s' if cores() > 1 else ''}"
    if device != "cpu" and torch.cuda.is_available():
        told += f"; {torch.cuda.get_device_name()}"
    return told


def cores() -> int:
    """The cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def version() -> str:
    """The version of netfold that is installed."""
    try:
        return importlib.metadata.version("netfold")
    except importlib.metadata.PackageNotFoundError:
        return "unknown"


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        lines = []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine() or "unknown processor"
