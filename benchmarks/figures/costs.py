"""How an epoch's cost grows: a log-log plot of what benchmarks/costs/large_graphs.py appended to a file, for the docs.

    python benchmarks/figures/costs.py benchmarks/costs.jsonl -o docs/costs.png

A picture a device, a line a model; the number beside a name is the exponent of its seconds in nodes, by least squares,
where there are three sizes or more.
Of several measurements of one size the last counts, and of several machines that which measured a model last: seconds
of two do not make an exponent. Below it, where it was measured, the quality of vectors on planted blocks. Needs
matplotlib ([viz]).
"""

from __future__ import annotations

import argparse
import json
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np

Lines = dict[tuple[str, str], dict[int, float]]
"""By device and model: a figure by nodes."""


def lines(records: list[dict[str, Any]], figure: str) -> Lines:
    """A figure of default options; `hidden=()`, which SDNE's tables at scale are of, counts as such for its quality."""
    found: Lines = defaultdict(dict)
    machines: dict[tuple[str, str], str] = {}
    for record in records:
        plain = not record.get("options") or (figure == "quality" and record["options"] == {"hidden": []})
        if plain and record.get(figure) is not None:
            key = record["device"], record["model"]
            if figure == "epoch" and machines.setdefault(key, record["machine"]) != record["machine"]:
                machines[key] = record["machine"]
                found[key].clear()
            found[key][_rounded(record["nodes"])] = record[figure]
    return {key: dict(sorted(of.items())) for key, of in found.items()}


def _rounded(nodes: int) -> int:
    """DHNE's types have as many nodes each, so that there may be one or two fewer."""
    return round(nodes, -3) if nodes > 10_000 else nodes


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

    records = [json.loads(line) for line in Path(asked.file).read_text().splitlines()]
    seconds, quality = lines(records, "epoch"), lines(records, "quality")
    names, devices = sorted({name for _, name in [*seconds, *quality]}), sorted({device for device, _ in seconds})
    tall = 1 + bool(quality)
    figure, grid = pyplot.subplots(
        tall, len(devices), figsize=(5.5 * len(devices), 4.5 + 2.5 * bool(quality)), sharey="row", squeeze=False,
        constrained_layout=True, gridspec_kw={"height_ratios": [9, 5][:tall]},
    )  # fmt: skip
    for column, device in enumerate(devices):
        axes = grid[0][column]
        for name in names:
            of = seconds.get((device, name), {})
            if of:
                axes.loglog(*zip(*of.items()), marker="o", color=f"C{names.index(name)}", label=_label(name, of))
                print(name, device, {n: float(f"{x:.3g}") for n, x in of.items()}, f"exponent {exponent(of):.2f}")
        axes.set_title({"cpu": "one core of a CPU", "cuda": "one GPU"}[device])
        axes.set_xlabel("nodes (five edges a node)")
        axes.grid(alpha=0.3)
        axes.legend(fontsize=8)
        if quality:
            _draw_quality(grid[1][column], {name: quality.get((device, name), {}) for name in names})
    grid[0][0].set_ylabel("seconds an epoch")
    if quality:
        grid[1][0].set_ylabel("share of 5 nearest in the block")
    figure.savefig(asked.output, dpi=110)


def _draw_quality(axes: Any, of_all: dict[str, dict[int, float]]) -> None:
    """A line a model that was judged, in its color above."""
    for i, (name, of) in enumerate(of_all.items()):
        if of:
            axes.semilogx(*zip(*of.items()), marker="s", color=f"C{i}", label=name)
    if not any(of_all.values()):
        axes.set_visible(False)
        return
    axes.set_xlabel("nodes (planted blocks)")
    axes.set_ylim(0, 1)
    axes.grid(alpha=0.3)
    axes.legend(fontsize=8, loc="lower left")


def _label(name: str, of: dict[int, float]) -> str:
    """With the exponent, where three sizes say it: two may differ in how a step is made, as LINE's batches do."""
    return f"{name}: nodes^{exponent(of):.2f}" if len(of) > 2 else name


if __name__ == "__main__":
    main()
