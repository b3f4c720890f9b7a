"""What evaluating costs: CPU seconds and peak memory of each task, baselines included, one process each.

    NETFOLD_DATA=/path/to/data python benchmarks/costs/evaluate.py                  # BlogCatalog
    python benchmarks/costs/evaluate.py --data chung_lu --only reconstruction       # generated, of the same size

What is evaluated is the SVD of the normalised adjacency, 128 wide, so that nothing is trained. A task's memory is the
peak of its process, with the interpreter, torch and the graph in it; "nothing" shows how much those are.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

from netfold import datasets, evaluate
from netfold.data.embedding import Embedding
from netfold.data.graph import Graph
from netfold.evaluate.baselines import svd_vectors

K = (100, 1000, 10_000, 100_000)


def embedded(graph: Graph) -> Embedding:
    return Embedding(graph.nodes, svd_vectors(graph, 128, 1))


def link_prediction(graph: Graph) -> Any:
    split = evaluate.split_edges(graph, 0.15)
    return evaluate.link_prediction(embedded(split.train), split, k=K)


TASKS: dict[str, Callable[[Graph], Any]] = {
    "nothing": embedded,
    "split_edges": lambda graph: evaluate.split_edges(graph, keep="connected"),
    "split_nodes": lambda graph: evaluate.split_nodes(graph, 256, by="walk"),
    "sample_negatives": lambda graph: evaluate.sample_negatives(graph, graph.n_edges),
    "reconstruction": lambda graph: evaluate.reconstruction(embedded(graph), graph, k=K),
    "link_prediction": link_prediction,
}


def run(task: str, data: str) -> None:
    size = {"nodes": 10_312, "edges": 334_000} if data == "chung_lu" else {}
    graph = datasets.load(data, **size)
    start, wall = time.process_time(), time.perf_counter()
    made = TASKS[task](graph)
    cost = {"cpu": time.process_time() - start, "wall": time.perf_counter() - wall}
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(json.dumps({"task": task, **cost, "peak_gib": peak, "graph": repr(graph), "result": repr(made)}))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", default="blogcatalog")
    parser.add_argument("--only", choices=TASKS)
    parser.add_argument("--show", action="store_true", help="print what each task found, too")
    parser.add_argument("--run", choices=TASKS, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.run:
        run(asked.run, asked.data)
        return
    print(f"{'task':18}{'CPU s':>8}{'wall s':>8}{'peak GiB':>10}")
    for task in [asked.only] if asked.only else TASKS:
        command = [sys.executable, __file__, "--run", task, "--data", asked.data]
        done = subprocess.run(command, check=True, capture_output=True, text=True, env={**os.environ})
        facts = json.loads(done.stdout)
        print(f"{task:18}{facts['cpu']:8.1f}{facts['wall']:8.1f}{facts['peak_gib']:10.2f}", flush=True)
        if asked.show:
            print(facts["result"], flush=True)


if __name__ == "__main__":
    main()
