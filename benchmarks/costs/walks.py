"""Steps a second of random walks: netfold's beside PecanPy's, on the same graphs, in one run.

    NETFOLD_DATA=/path/to/data python benchmarks/costs/walks.py --peer /tmp/peers/bin/python
    python benchmarks/costs/walks.py --graphs chung_lu                                # generated; no data, no peer

PecanPy lives in an environment of its own (`python -m venv /tmp/peers && /tmp/peers/bin/pip install pecanpy`). Each
runs in a process of its own with `--threads` threads. One pass is one walk of `--length` nodes from each node. "make"
is what comes before walking (of netfold the arrays of links; of PecanPy `preprocess_transition_probs`), without reading
the file; rates are those of the passes after the first, in which PecanPy compiles. With more threads than idle cores
both wait for one another: compare with `--threads 1` there.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

BIASES = ((1.0, 1.0), (0.25, 0.25), (0.5, 2.0), (4.0, 1.0))
MODES = ("FirstOrderUnweighted", "SparseOTF", "PreComp")


def ours(asked: dict[str, Any]) -> dict[str, float]:
    """Seconds to make the links, and steps a second."""
    import torch

    from netfold.data.graph import Graph
    from netfold.learn.walks import Links, random_walks

    torch.set_num_threads(asked["threads"])
    matrix = Graph.load(asked["graph"]).adjacency
    start = time.perf_counter()
    links = Links.from_scipy(matrix)
    made = time.perf_counter() - start
    nodes, generator = links.degrees.nonzero()[:, 0], torch.Generator().manual_seed(0)
    bias = {"p": asked["p"], "q": asked["q"]}
    random_walks(links, nodes, asked["length"], generator, **bias)
    wall, cpu, steps = time.perf_counter(), time.process_time(), 0
    for _ in range(asked["passes"]):
        steps += int((random_walks(links, nodes, asked["length"], generator, **bias)[:, 1:] >= 0).sum())
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    return {"make": made, "wall": steps / wall, "cpu": steps / cpu}


def theirs(asked: dict[str, Any]) -> dict[str, float]:
    """The same of PecanPy; it reads a file of edges."""
    from pecanpy import pecanpy

    graph = getattr(pecanpy, asked["mode"])(p=asked["p"], q=asked["q"], workers=asked["threads"], random_state=0)
    graph.read_edg(str(Path(asked["graph"]) / "edges.tsv"), weighted=False, directed=False)
    start = time.perf_counter()
    graph.preprocess_transition_probs()
    made = time.perf_counter() - start
    graph.simulate_walks(1, asked["length"] - 1)
    wall, cpu = time.perf_counter(), time.process_time()
    steps = sum(len(walk) - 1 for walk in graph.simulate_walks(asked["passes"], asked["length"] - 1))
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    return {"make": made, "wall": steps / wall, "cpu": steps / cpu}


def child(python: str, asked: dict[str, Any]) -> dict[str, float] | str:
    """The figures of a process of its own, or why there are none."""
    threads = dict.fromkeys(("OMP_NUM_THREADS", "NUMBA_NUM_THREADS"), str(asked["threads"]))
    command = [python, __file__, "--child", json.dumps(asked)]
    try:
        done = subprocess.run(command, env=os.environ | threads, capture_output=True, text=True, timeout=asked["limit"])
    except subprocess.TimeoutExpired:
        return f"over {asked['limit']:.0f} s"
    lines = (done.stderr if done.returncode else done.stdout).strip().splitlines()
    return lines[-1][:80] if done.returncode else json.loads(lines[-1])


def prepared(name: str, folder: Path) -> Any:
    """The graph, without its weights, written for both."""
    import numpy as np

    from netfold import datasets
    from netfold.data.graph import Graph

    size = {"nodes": 10_312, "edges": 334_000} if name == "chung_lu" else {}
    given = Graph.of(datasets.load(name, **size))
    graph = Graph.from_scipy((given.adjacency > 0).astype(np.float32), directed=False)
    graph.save(folder / name)
    u, v = graph.adjacency.nonzero()
    np.savetxt(folder / name / "edges.tsv", np.stack([u, v], axis=1)[u <= v], fmt="%d", delimiter="\t")
    return graph


def main() -> None:
    """Print a line for each graph, bias and way of walking."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--graphs", default="blogcatalog,dblp_coauthor", help="data sets, separated by commas")
    parser.add_argument("--peer", help="an interpreter that has pecanpy")
    parser.add_argument(
        "--only", default="", help="a regular expression of 'p q' and a way of walking: '0.5 2 PreComp'"
    )
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--length", type=int, default=80)
    parser.add_argument("--passes", type=int, default=2)
    parser.add_argument("--limit", type=float, default=300, help="seconds that one process may take")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.child:
        job = json.loads(asked.child)
        print(json.dumps(theirs(job) if job["mode"] else ours(job)))
        return
    print(f"{'graph':16}{'p':>6}{'q':>6}  {'walker':30}{'make s':>8}{'M steps/s':>11}{'M steps/CPU-s':>15}")
    with tempfile.TemporaryDirectory(prefix="netfold-walks-") as folder:
        for name in asked.graphs.split(","):
            prepared(name, Path(folder))
            compare(name, Path(folder) / name, asked)


def compare(name: str, graph: Path, asked: argparse.Namespace) -> None:
    """All biases on one graph."""
    for p, q in BIASES:
        modes = [m for m in MODES if m != "FirstOrderUnweighted" or p == q == 1] if asked.peer else []
        for mode in [x for x in ("", *modes) if re.search(asked.only, f"{p:g} {q:g} {x or 'netfold'}")]:
            job = {"graph": str(graph), "p": p, "q": q, "mode": mode} | {
                x: getattr(asked, x) for x in ("threads", "length", "passes", "limit")
            }
            found = child(asked.peer if mode else sys.executable, job)
            start = f"{name:16}{p:6g}{q:6g}  {'PecanPy ' + mode if mode else 'netfold':30}"
            if isinstance(found, str):
                print(f"{start}{found}", flush=True)
            else:
                print(f"{start}{found['make']:8.2f}{found['wall'] / 1e6:11.2f}{found['cpu'] / 1e6:15.2f}", flush=True)


if __name__ == "__main__":
    main()
