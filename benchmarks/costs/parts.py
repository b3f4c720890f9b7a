"""A script of several parts: `--only PART`, `--scale`, `--threads`; each measurement runs in a process of its own.

A part is called with a folder for graphs and the scale; `measure` runs one of the script's children there, which prints
its figures as the last line (see `meter.Meter.report`).
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

_threads = 1


def measure(kind: str, *args: object) -> dict[str, float]:
    """What a child of the running script says of itself."""
    command = [sys.executable, sys.argv[0], "--threads", str(_threads), "--child", kind, *map(str, args)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(done.stderr)
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def saved(folder: Path, n: int, m: int) -> Path:
    """A Chung-Lu graph, stored where a child finds it."""
    from netfold.studies.datasets import chung_lu

    path = folder / f"g{n}_{m}"
    if not path.exists():
        chung_lu(n, m).save(path)
    return path


def given(folder: Path, name: str) -> Path | None:
    """A data set of that name, stored where a child finds it; None without NETFOLD_DATA."""
    from netfold.studies.datasets import load

    if not os.environ.get("NETFOLD_DATA"):
        print(f"({name}: set NETFOLD_DATA)")
        return None
    path = folder / name
    if not path.exists():
        load(name).save(path)
    return path


def growth(folder: Path, scale: float, measured: Callable[[Path], dict[str, float]], unit: str, units: str) -> None:
    """An epoch on Chung-Lu graphs of 10,000 to 300,000 nodes and on `npm_dependencies`: a table, and the exponent.

    `units` is the figure that says how many there are of a `unit` in an epoch.
    """
    import numpy as np

    print(f"| nodes | edges | CPU-s/epoch | wall s | us a {unit} | peak GiB |\n| --- | --- | --- | --- | --- | --- |")
    sizes, seconds = [int(n * scale) for n in (10_000, 30_000, 100_000, 300_000)], []
    paths: list[Path | None] = [saved(folder, n, 5 * n) for n in sizes]
    for path in [*paths, given(folder, "npm_dependencies") if scale == 1 else None]:
        if path is None:
            continue
        found = measured(path)
        seconds.append(found["cpu"])
        print(
            f"| {found['n']:,} | {found['m']:,} | {found['cpu']:.2f} | {found['wall']:.2f} | "
            f"{1e6 * found['cpu'] / found[units]:.1f} | {found['peak_gib']:.2f} |",
            flush=True,
        )
    slope = np.polyfit(np.log(sizes), np.log(seconds[: len(sizes)]), 1)[0]
    print(f"exponent {slope:.3f} (least squares over the Chung-Lu graphs); target at most 1.1")


Part = Callable[[Path, float], None]


def main(doc: str, parts: Mapping[str, Part], children: Mapping[str, Callable], threads: int = 1) -> None:
    """Run the parts, or the one that is named; the parts "gpu" and "attributes" only where they are."""
    global _threads
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", choices=tuple(parts))
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--threads", type=int, default=threads)
    parser.add_argument("--child", nargs="+", help=argparse.SUPPRESS)
    args = parser.parse_args()
    _threads = args.threads
    if args.child:
        import torch

        torch.set_num_threads(_threads)
        kind, *rest = args.child
        children[kind](*(int(x) if x.isdigit() else x for x in rest))
        return
    with tempfile.TemporaryDirectory() as temporary:
        for name, part in parts.items():
            if args.only == name or (args.only is None and name not in ("gpu", "attributes")):
                part(Path(temporary), args.scale)
