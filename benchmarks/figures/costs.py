"""How an epoch's cost grows: a log-log plot of what benchmarks/costs/large_graphs.py appended to a file, for the docs.

    python benchmarks/figures/costs.py benchmarks/costs.jsonl -o docs/costs.png

One line a model and device; the number beside a name is the exponent of its seconds in nodes, by least squares. Of
several measurements of one size the least counts. Needs matplotlib ([viz]).
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

    figure, axes = pyplot.subplots(figsize=(7, 4.5), constrained_layout=True)
    of_all = lines([json.loads(line) for line in Path(asked.file).read_text().splitlines()])
    names = sorted({name for _, name in of_all})
    for (device, name), of in sorted(of_all.items()):
        label = f"{name}, {device}" + (f" {exponent(of):.2f}" if len(of) > 1 else "")
        style = {"marker": "o", "linestyle": "-"} if device == "cpu" else {"marker": "^", "linestyle": "--"}
        axes.loglog(list(of), list(of.values()), label=label, color=f"C{names.index(name)}", **style)
        print(name, device, {n: float(f"{x:.3g}") for n, x in of.items()}, f"exponent {exponent(of):.2f}")
    axes.set_xlabel("nodes (five edges a node)")
    axes.set_ylabel("seconds an epoch")
    axes.legend(fontsize=7, ncols=2)
    figure.savefig(asked.output, dpi=110)


if __name__ == "__main__":
    main()
