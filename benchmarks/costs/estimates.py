"""What `nf.choose` foretells of a fit, beside what the fit then costs.

    NETFOLD_DATA=../shared/data OMP_NUM_THREADS=1 python benchmarks/costs/estimates.py cora --tasks link classify
    NETFOLD_DATA=../shared/data OMP_NUM_THREADS=1 python benchmarks/costs/estimates.py blogcatalog --epochs 5

One line for each data set and task: foretold and real seconds and memory, and their ratios, above 1 where too much was
foretold. With --epochs both are for so many epochs: whether the size is extrapolated well, without hours of fitting.
"""

from __future__ import annotations

import argparse
import time

import netfold as nf
from netfold.studies.choose import TASKS
from netfold.studies.choose.facts import estimated_cost
from netfold.studies.compare import fit_with_base
from netfold.studies.machine import Meter

HEAD = (
    "data", "nodes probed", "task", "model", "epochs", "probe s", "foretold s", "real s", "foretold MiB", "real MiB",
    "s ratio", "MiB ratio",
)  # fmt: skip


def row(*cells: object) -> str:
    return f"| {' | '.join(map(str, cells))} |"


def measured(name: str, task: str, epochs: int | None) -> str:
    graph = nf.datasets.load(name)
    start = time.perf_counter()
    model = nf.choose(graph, task, probe=False).model
    if epochs is not None:
        model.set_params(epochs=epochs)
    cost = estimated_cost(fit_with_base, model, graph)
    probing = time.perf_counter() - start
    with Meter() as meter:
        fit_with_base(model, graph)
    seconds, held, real = cost.seconds, cost.bytes / 2**20, meter.bytes / 2**20
    facts = [name, f"{cost.probed[-1]:,} of {graph.n_nodes:,}", task, type(model).__name__]
    facts += [f"{len(model.history_)} of {model.epochs}", f"{probing:.1f}", f"{seconds:.1f}", f"{meter.seconds:.1f}"]
    return row(*facts, f"{held:.0f}", f"{real:.0f}", f"{seconds / meter.seconds:.2f}", f"{held / max(real, 1):.2f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", nargs="+")
    parser.add_argument("--tasks", nargs="+", default=["link", "classify"], choices=list(TASKS))
    parser.add_argument("--epochs", type=int)
    given = parser.parse_args()
    print(row(*HEAD), row(*["---"] * len(HEAD)), sep="\n")
    for name in given.data:
        for task in given.tasks:
            print(measured(name, task, given.epochs), flush=True)


if __name__ == "__main__":
    main()
