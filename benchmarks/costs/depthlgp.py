"""What it costs to place new nodes: the solve beside a dense one, how it grows with the graph, and one node alone.

    python benchmarks/costs/depthlgp.py solve            # 10,000 new nodes on 100,000, 128 dimensions
    python benchmarks/costs/depthlgp.py growth           # 2,000 new nodes on 25,000 to 400,000
    NETFOLD_DATA=/path/to/data python benchmarks/costs/depthlgp.py one   # one new node on npm_dependencies

One thread. CPU seconds. The dense solve is Cholesky in float64 of `--dense` new nodes, for one dimension; it is said
for all of them by m³ and for each dimension anew, which is what the chapter's Algorithm 1 does. With `--dense 10000`
(800 MB, a minute) nothing is said by m³.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

import netfold as nf
from netfold.learn.solvers import conjugate_gradients
from netfold.models.lgp.neighborhoods import links_in
from netfold.models.lgp.posterior import Arrivals, Known, arrivals, placed_at_once
from netfold.models.lgp.process import Process
from netfold.models.lgp.solve import solved

DIM = 128


def cpu(work: Callable[[], Any], repeats: int = 3) -> tuple[float, Any]:
    """The least CPU seconds of some tries, and what came of it."""
    least = np.inf
    for _ in range(repeats):
        start = time.process_time()
        found = work()
        least = min(least, time.process_time() - start)
    return least, found


def grown_graph(known: int, new: int, degree: float = 10.0) -> tuple[Process, Any, Arrivals]:
    """A process over the known nodes of a power-law graph, its matrix, and some of its nodes as new ones."""
    graph = nf.datasets.chung_lu(known + new, int(degree / 2 * (known + new)), seed=0)
    matrix, rng = links_in(graph), np.random.default_rng(0)
    is_new = np.zeros(known + new, dtype=bool)
    is_new[rng.choice(known + new, new, replace=False)] = True
    at = np.where(is_new, -1, np.cumsum(~is_new) - 1)
    fitted = matrix[~is_new][:, ~is_new]
    process = Process(known, DIM, 0, sharing="all", hidden=64)
    process.kernel.start(1.5, 1.0, fitted.data, np.asarray(fitted.sum(axis=1)).ravel())
    process.start(torch.randn(known, DIM, generator=torch.Generator().manual_seed(0)), torch.Generator(), mean=True)
    return process, fitted, arrivals(matrix, np.flatnonzero(is_new), at, fitted)


def solve(args: argparse.Namespace) -> dict[str, Any]:
    process, fitted, new = grown_graph(args.known, args.new)
    prepare, known = cpu(lambda: Known.of(process, fitted), 1)
    build, system = cpu(lambda: known.system(new))
    seconds, found = cpu(lambda: solved(known.system(new)))
    steps: list[int] = []

    def counted(x: torch.Tensor) -> torch.Tensor:
        steps.append(1)
        return system.times(x)

    with torch.no_grad():
        conjugate_gradients(counted, system.right(), system.diagonal())
        wide = Known.of(process.double(), fitted).system(new)
        error = float((solved(wide) - found).norm() / found.norm())
    dense = dense_seconds(wide, args.dense)
    each = dense * (args.new / args.dense) ** 3
    return {
        "new": args.new, "known": args.known, "prepare": prepare, "build": build, "build and solve": seconds,
        "products with M": len(steps), "relative error to float64": error, f"dense, {args.dense} nodes": dense,
        "dense, all nodes, one dimension": each, "ratio to dense, each dimension": each * DIM / seconds,
    }  # fmt: skip


def dense_seconds(system: Any, m: int) -> float:
    """Cholesky and a solve for one dimension of the first m equations."""
    from netfold.models.lgp.solve import matrices_of

    matrix = torch.from_numpy(matrices_of(system)[0][:m, :m].toarray())
    right = system.right()[:m, :1].detach()
    return cpu(lambda: torch.cholesky_solve(right, torch.linalg.cholesky(matrix)), 1)[0]


def growth(args: argparse.Namespace) -> dict[str, Any]:
    sizes, made, placed = [25_000, 50_000, 100_000, 200_000, 400_000], [], []
    for size in sizes:
        process, fitted, new = grown_graph(size, 2_000)
        seconds, known = cpu(lambda p=process, f=fitted: Known.of(p, f), 2)  # type: ignore[misc]
        made.append(seconds)
        placed.append(cpu(lambda k=known, n=new: placed_at_once(k, n, None))[0])  # type: ignore[misc]
    slopes = [float(np.polyfit(np.log(sizes), np.log(x), 1)[0]) for x in (made, placed, np.add(made, placed))]
    exponents = dict(zip(("prepare", "place", "both"), slopes, strict=True))
    return {"known": sizes, "prepare": made, "place 2,000": placed, "exponents": exponents}


def one(args: argparse.Namespace) -> dict[str, Any]:
    graph = nf.datasets.load("npm_dependencies")
    vectors = np.random.default_rng(0).normal(size=(graph.n_nodes, DIM)).astype(np.float32)
    model = nf.DepthLGP(epochs=0, device="cpu").fit(graph, nf.Embedding(graph.nodes, vectors), progress=False)
    start = time.perf_counter()
    model.prepare().transform(star(graph, [0, 1]))
    first, took, used, rng = time.perf_counter() - start, [], [], np.random.default_rng(1)
    busy = np.asarray(graph.adjacency.sum(axis=0)).ravel().argsort()[::-1][:20]
    for i in range(args.asked):  # half of them linked with a hub too
        to = rng.choice(graph.n_nodes, 5, replace=False).tolist() + ([int(busy[i % 20])] if i % 2 else [])
        later, start, before = star(graph, to), time.perf_counter(), time.process_time()
        model.transform(later)
        used.append(1000 * (time.process_time() - before))
        took.append(1000 * (time.perf_counter() - start))
    return {
        "known": graph.n_nodes,
        "prepare and first, s": first,
        "one node, CPU ms": quantiles(used),
        "one node, ms on the clock": quantiles(took),
    }


def quantiles(numbers: list[float]) -> dict[str, float]:
    return dict(zip(("median", "95%", "most"), np.quantile(numbers, [0.5, 0.95, 1]).tolist(), strict=True))


def star(graph: nf.Graph, to: list[int]) -> nf.Graph:
    return nf.Graph.from_edges([("a new one", graph.nodes[i]) for i in to], directed=graph.directed)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("what", choices=("solve", "growth", "one"))
    parser.add_argument("--known", type=int, default=100_000)
    parser.add_argument("--new", type=int, default=10_000)
    parser.add_argument("--dense", type=int, default=4_000)
    parser.add_argument("--asked", type=int, default=200)
    asked = parser.parse_args()
    torch.set_num_threads(1)
    print(json.dumps({"solve": solve, "growth": growth, "one": one}[asked.what](asked)))
