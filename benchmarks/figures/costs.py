"""How an epoch's cost grows: a log-log plot of what benchmarks/costs/large_graphs.py appended to a file, for the docs.

    python benchmarks/figures/costs.py benchmarks/costs.jsonl -o docs/costs.png

A picture a device, a line a model; the number beside a name is the exponent of its seconds in nodes, by least squares.
Of several measurements of one size the least counts. Needs matplotlib ([viz]).
"""

from __future__ import annotations

import argparse
import json
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np


def lines(records: list[dict[str, Any]]) -> dict[tuple[str, str], dict[int, float]]:
    """By device and model: seconds by nodes; of default options alone."""
    seconds: dict[tuple[str, str], dict[int, float]] = defaultdict(dict)
    for record in records:
        if not record.get("options"):
            of = seconds[record["device"], record["model"]]
            of[record["nodes"]] = min(of.get(record["nodes"], np.inf), record["epoch"])
    return {key: dict(sorted(of.items())) for key, of in seconds.items()}


def exponent(of: dict[int, float]) -> float:
    """The slope of log seconds in log nodes; nan of one size.

    >>> round(exponent({10: 1.0, 1000: 100.0}), 3)
    1.0
    """
    if len(of) < 2:
        return float("nan")
    return float(np.polyfit(np.log(list(of)), np.log(list(of.values())), 1)[0])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file")
    parser.add_argument("-o", "--output", default="costs.png")
    asked = parser.parse_args()
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    of_all = lines([json.loads(line) for line in Path(asked.file).read_text().splitlines()])
    names, devices = sorted({name for _, name in of_all}), sorted({device for device, _ in of_all})
    figure, grid = pyplot.subplots(
        1, len(devices), figsize=(5 * len(devices), 4.5), sharey=True, squeeze=False, constrained_layout=True
    )
    for device, axes in zip(devices, grid[0], strict=True):
        for name in names:
            of = of_all.get((device, name), {})
            if of:
                axes.loglog(
                    list(of), list(of.values()), marker="o", color=f"C{names.index(name)}", label=_label(name, of)
                )
                print(name, device, {n: float(f"{x:.3g}") for n, x in of.items()}, f"exponent {exponent(of):.2f}")
        axes.set_title({"cpu": "one core of a CPU", "cuda": "one GPU"}[device])
        axes.set_xlabel("nodes (five edges a node)")
        axes.grid(alpha=0.3)
        axes.legend(fontsize=8)
    grid[0][0].set_ylabel("seconds an epoch")
    figure.savefig(asked.output, dpi=110)


def _label(name: str, of: dict[int, float]) -> str:
    return f"{name}: nodes^{exponent(of):.2f}" if len(of) > 1 else name


if __name__ == "__main__":
    main()
