"""What an epoch of every model costs on the same graph: the table of docs/large-graphs.md.

    python benchmarks/costs/large_graphs.py --nodes 100000 [--models line,dvne] [--device cuda]

A Chung-Lu graph with five times as many edges as nodes, a power law of exponent 2.5; DHNE reads as many triples among
as many nodes of three types. Options are the defaults, `dim` too. Each model in a process of its own, one thread on the
CPU: the faster of the second and third epoch, the seconds before the first (imports, the start, what is prepared), and
the peak memory of the process, or of the GPU. Seconds are those of the CPU, or of the clock with a GPU.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from itertools import pairwise
from typing import Any

from dhne import generated
from meter import Meter

import netfold as nf

EPOCHS, DEGREE = 3, 5


def measure(name: str, nodes: int, device: str) -> None:
    """Print what a fit cost, as one json object; the last line of what a child process says."""
    import torch

    graph: Any = generated(nodes, DEGREE * nodes) if nf.MODELS[name].reads == "hypergraph" else None
    graph = graph or nf.datasets.chung_lu(nodes=nodes, edges=DEGREE * nodes, exponent=2.5)
    meter, model = Meter(device), nf.MODELS[name](epochs=EPOCHS, device=device)
    model.fit(graph, *_given(name, graph), progress=False, on_epoch=meter)
    clock = meter.wall if device == "cuda" else meter.cpu
    epochs = [b - a for a, b in pairwise(clock)]
    gpu = torch.cuda.max_memory_allocated() / 2**30 if device == "cuda" else None
    meter.report(model=name, nodes=graph.n_nodes, edges=graph.n_edges, dim=model.dim or 128,
                 epoch=min(epochs[1:]), before=max(epochs[0] - min(epochs[1:]), 0.0), gpu_gib=gpu)  # fmt: skip


def _given(name: str, graph: nf.Graph) -> list[nf.Embedding]:
    """Some vectors, for a model that extends those of another."""
    import numpy as np

    vectors = np.random.default_rng(0).normal(size=(graph.n_nodes, 128)).astype(np.float32)
    return [nf.Embedding(graph.nodes, vectors)] if name == "depthlgp" else []


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--nodes", type=int, default=100_000)
    parser.add_argument("--models", default=",".join(nf.MODELS))
    parser.add_argument("--device", default="cpu", choices=("cpu", "cuda"))
    parser.add_argument("--child", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.child:
        measure(given.child, given.nodes, given.device)
        return
    print(
        "| model | dim | nodes | edges | s/epoch | s before | peak GiB |\n| --- | --- | --- | --- | --- | --- | --- |"
    )
    for name in given.models.split(","):
        command = [sys.executable, __file__, "--child", name, "--nodes", str(given.nodes), "--device", given.device]
        threads = {} if given.device == "cuda" else {"OMP_NUM_THREADS": "1"}
        done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, **threads})
        print(_row(name, done), flush=True)


def _row(name: str, done: subprocess.CompletedProcess[str]) -> str:
    if done.returncode:
        return f"| {name} | failed: {done.stderr.strip().splitlines()[-1]} |"
    x = json.loads(done.stdout.strip().splitlines()[-1])
    peak = x["peak_gib"] if x["gpu_gib"] is None else x["gpu_gib"]
    sizes = f"{x['dim']} | {x['nodes']:,} | {x['edges']:,}"
    return f"| {name} | {sizes} | {x['epoch']:.3g} | {x['before']:.3g} | {peak:.2f} |"


if __name__ == "__main__":
    main()
