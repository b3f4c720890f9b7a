"""What an epoch of every model costs on the same graph: the table of docs/large-graphs.md.

    python benchmarks/costs/large_graphs.py --models line --json benchmarks/costs.jsonl [--device cuda]
    python benchmarks/costs/large_graphs.py --nodes 100000 [--models line,dvne] [--device cuda] [--options JSON]
    python benchmarks/costs/large_graphs.py --nodes 1000000 --models drne --device cuda --json FILE --profile FILE
    python benchmarks/costs/large_graphs.py --nodes 10000 --base HEAD~5

Without `--nodes`, a model is measured at sizes that grow threefold, up to a million nodes on the CPU and ten million on
a GPU, as far as that takes less than `--minutes` (ten), with the quality of vectors on planted blocks (`quality.py`)
at each size, on the CPU up to 100,000 nodes: one command a model for the plot of `benchmarks/figures/costs.py`.
A Chung-Lu graph with five times as many edges as nodes, a power law of exponent 2.5; DHNE reads as many triples among
as many nodes of three types. Options are the defaults, `dim` too. Each model in a process of its own, one thread on the
CPU: the faster of the second and third epoch (of `--epochs 1` that one, by its parts), the seconds before the first
(imports, the start, what is prepared), and the peak memory of the process, or of the GPU. Seconds are those of the CPU,
or of the clock with a GPU, where the device is started before and "before" is that of a second fit: the first loads and
compiles what torch needs, once.
With `--json` a line is appended for every model; with `--profile` a file tells where a second fit's time went, by the
parts of `nf.profile` and, of some batches, by torch's operations. With `--base` the same is measured of a commit's
source and of this one, in turn, twice each; the less of two counts, and what takes over 1.2 times the base is named.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import nullcontext
from itertools import pairwise
from pathlib import Path
from typing import Any

import quality
from dhne import generated
from meter import Meter

import netfold as nf

EPOCHS, DEGREE = 3, 5
WATCHED = 12
"""Batches whose operations are listed by a profile."""
PARTS = ("batches", "loss", "gradients", "steps")
"""Of an epoch, by `nf.profile`."""
SIZES = {"cpu": (30_000, 100_000, 300_000, 1_000_000), "cuda": (100_000, 300_000, 1_000_000, 3_000_000, 10_000_000)}
"""Nodes, where nobody says how many."""
JUDGED = {"cpu": 100_000, "cuda": 10_000_000}
"""Up to so many nodes vectors are judged, too: that takes all epochs."""
SLOWER = 1.2
"""What `--base` names is slower by more than this."""


def measure(
    name: str, nodes: int, device: str, options: dict[str, Any], profile: str | None, *, epochs: int, machine: str
) -> None:
    """Print what a fit cost, as one json object; the last line of what a child process says."""
    import torch

    graph: Any = generated(nodes, DEGREE * nodes) if nf.MODELS[name].reads == "hypergraph" else None
    graph = graph or nf.datasets.chung_lu(nodes=nodes, edges=DEGREE * nodes, exponent=2.5)
    own = _given(name, graph)
    torch.zeros(1, device=device)
    alone = {}  # Node2Vec's epochs, without the run that asks whether they help, which an older commit does not know
    if name == "node2vec" and hasattr(nf.MODELS[name], "held_out"):
        alone = {"held_out": 0.0}
    meter, model = Meter(device), nf.MODELS[name](**{"epochs": epochs, "device": device} | alone | options)
    with nf.profile() if epochs == 1 else nullcontext() as spent:  # which waits for a GPU after each part
        model.fit(graph, *own, progress=False, on_epoch=meter)
    clock = meter.wall if device == "cuda" else meter.cpu
    each = [b - a for a, b in pairwise(clock)]
    epoch = min(each[1:], default=0.0)
    if spent is not None:
        epoch = sum(x[device == "cpu"] for name, x in spent.parts.items() if name in PARTS)
    gpu = torch.cuda.max_memory_allocated() / 2**30 if device == "cuda" else None
    first, in_all = max(each[0] - epoch, 0.0), meter.now() - clock[0]
    again, table = _again(model, graph, own, device, bool(profile)) if device == "cuda" or profile else (first, "")
    if profile:
        Path(profile).write_text(table)
    parts = {} if spent is None else {"parts": {part: x[device == "cpu"] for part, x in spent.parts.items()}}
    meter.report(model=name, nodes=graph.n_nodes, edges=graph.n_edges, dim=model.dim or 128, options=options,
                 device=device, epoch=epoch, before=again, first_before=first, in_all=in_all, gpu_gib=gpu,
                 machine=machine, **parts)  # fmt: skip


def _again(model: Any, graph: Any, own: list[Any], device: str, profile: bool) -> tuple[float, str]:
    """Seconds before the first epoch of a second fit in the same process; and where its time went, as a text.

    By part of all of it, and by operation of the first batches of its second epoch, after which it ends.
    """
    from torch.profiler import ProfilerActivity
    from torch.profiler import profile as torch_profile

    from netfold.learn import training

    kinds = [ProfilerActivity.CPU] + ([ProfilerActivity.CUDA] if device == "cuda" else [])
    watch, epochs, running = torch_profile(activities=kinds) if profile else None, [0], [False]
    items = training.counted_items

    def watched(batches: Any, name: str) -> Any:
        epochs[0] += 1
        for i, batch in enumerate(items(batches, name)):
            if watch is not None and epochs[0] == 2 and i == 1:
                watch.start()
                running[0] = True
            if watch is not None and running[0] and i == 1 + WATCHED:
                break
            yield batch
        if watch is not None and running[0]:
            watch.stop()
            running[0] = False

    training.counted_items = watched  # type: ignore[assignment]
    with nf.profile() as spent:
        model.fit(graph, *own, progress=False, on_epoch=lambda record: record["epoch"] == 1 + bool(profile))
    training.counted_items = items
    before = sum(spent.parts[x][0 if device == "cuda" else 1] for x in ("reading", "start"))
    if watch is None:
        return before, ""
    by = ["self_cuda_time_total", "self_cpu_time_total"] if device == "cuda" else ["self_cpu_time_total"]
    tables = [watch.key_averages().table(sort_by=x, row_limit=22, max_name_column_width=60) for x in by]
    return before, "\n\n".join([str(spent), *tables])


def _given(name: str, graph: nf.Graph) -> list[nf.Embedding]:
    """Some vectors, for a model that extends those of another."""
    import numpy as np

    vectors = np.random.default_rng(0).normal(size=(graph.n_nodes, 128)).astype(np.float32)
    return [nf.Embedding(graph.nodes, vectors)] if name == "depthlgp" else []


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--nodes", type=int, help="one size")
    parser.add_argument("--minutes", type=float, default=10.0, help="of a model at all sizes, at most")
    parser.add_argument("--models", default=",".join(nf.MODELS))
    parser.add_argument("--device", default="cpu", choices=("cpu", "cuda"))
    parser.add_argument("--options", default="{}", help="of the models, JSON")
    parser.add_argument("--json", help="a file to append a line to for every model")
    parser.add_argument("--profile", help="a file for where the time went, of one model")
    parser.add_argument("--base", help="a commit to compare with, measured in turn with this tree")
    parser.add_argument("--epochs", type=int, default=EPOCHS, help="of each fit; the first does not count but alone")
    parser.add_argument("--machine", default="", help="what the record says of where it was measured")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    parser.add_argument("--judged", action="store_true", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.child and asked.judged:
        graph, blocks = quality.planted(asked.nodes, device=asked.device)
        found = quality.fitted(asked.child, json.loads(asked.options), graph, blocks, asked.device, quality.DIM)
        print(json.dumps({**found, "machine": asked.machine}))
        return
    if asked.child:
        where = {"epochs": asked.epochs, "machine": asked.machine}
        measure(asked.child, asked.nodes, asked.device, json.loads(asked.options), asked.profile, **where)
        return
    if asked.base:
        slower, failed = compare(asked)
        said = [
            f"{what}: {', '.join(names)}"
            for what, names in ((f"slower than {SLOWER} times", slower), ("failed", failed))
            if names
        ]
        sys.exit("; ".join(said) or 0)
    print(
        "| model | dim | nodes | edges | s/epoch | s before | peak GiB |\n| --- | --- | --- | --- | --- | --- | --- |"
    )
    for name in asked.models.split(","):
        spent: list[float] = []
        for nodes in [asked.nodes] if asked.nodes else SIZES[asked.device]:
            if sum(spent) + GROWTH * (spent or [0])[-1] > 60 * asked.minutes:
                print(f"| {name} | {nodes:,} nodes and more would take longer than {asked.minutes:g} minutes |")
                break
            spent.append(_measured(name, nodes, asked))


GROWTH = 4.0
"""How many times as long the next size takes, as a guess."""


def _measured(name: str, nodes: int, asked: argparse.Namespace) -> float:
    """One size: an epoch and, of a graph that is not too large, quality; a row and a line each. Seconds it took."""
    start = time.perf_counter()
    judged = not asked.nodes and nodes <= JUDGED[asked.device] and name in quality.SETTINGS
    for more in [[], ["--judged"]] if judged else [[]]:
        done = _run(name, nodes, asked, more=more)
        print(_row(name, done, judged=bool(more)), flush=True)
        if asked.json and not done.returncode:
            with Path(asked.json).open("a") as file:
                file.write(json.dumps({"date": time.strftime("%Y-%m-%d %H:%M"), **_said(done)}) + "\n")
    return time.perf_counter() - start


def _run(
    name: str, nodes: int, asked: argparse.Namespace, source: Path | None = None, more: Sequence[str] = ()
) -> subprocess.CompletedProcess[str]:
    """One model in a process of its own, of another tree's source where that is given."""
    command = [sys.executable, __file__, "--child", name, "--nodes", str(nodes), "--device", asked.device, *more,
               "--options", asked.options, "--epochs", str(asked.epochs), "--machine", asked.machine]  # fmt: skip
    command += ["--profile", asked.profile] if asked.profile else []
    own = {} if asked.device == "cuda" else {"OMP_NUM_THREADS": "1"}
    own |= {} if source is None else {"PYTHONPATH": str(source)}
    return subprocess.run(command, capture_output=True, text=True, env={**os.environ, **own})


def _said(done: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    said: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    return said


def compare(asked: argparse.Namespace) -> tuple[list[str], list[str]]:
    """Print each model's epoch by a commit's source and by this one; those slower by over a fifth, and that failed."""
    root, slower, wrong = Path(__file__).parents[2], list[str](), list[str]()
    print(f"| model | s/epoch at {asked.base} | now | ratio | s before | now |\n" + "| --- " * 6 + "|")
    with tempfile.TemporaryDirectory(prefix="netfold-base-") as folder:
        git = ["git", "-C", str(root), "worktree"]
        subprocess.run([*git, "add", "--detach", folder, asked.base], check=True, capture_output=True)
        try:
            for name in asked.models.split(","):
                nodes = asked.nodes or SIZES[asked.device][0]
                runs: list[subprocess.CompletedProcess[str]] = []
                for tree in (Path(folder), root) * 2:
                    runs.append(_run(name, nodes, asked, tree / "src"))
                    if runs[-1].returncode:
                        break
                if runs[-1].returncode:
                    print(f"{_row(name, runs[-1])} {'now' if tree == root else asked.base} |", flush=True)
                    wrong.append(name)
                    continue
                epochs, before = ([[_said(r)[x] for r in runs[i::2]] for i in range(2)] for x in ("epoch", "before"))
                base, now = map(min, epochs)
                cells = base, now, now / base, *map(min, before)
                print(f"| {name} | {' | '.join(f'{x:.3g}' for x in cells)} |", flush=True)
                slower += [name] if now > SLOWER * base else []
        finally:
            subprocess.run([*git, "remove", "--force", folder], check=True, capture_output=True)
    return slower, wrong


def _row(name: str, done: subprocess.CompletedProcess[str], *, judged: bool = False) -> str:
    if done.returncode:
        return f"| {name} | failed: {done.stderr.strip().splitlines()[-1]} |"
    x = _said(done)
    if judged:
        return f"| {name} | {x['nodes']:,} planted | quality {x['quality']:.3f} | in {x['seconds']:.3g} s |"
    peak = x["peak_gib"] if x["gpu_gib"] is None else x["gpu_gib"]
    sizes = f"{x['dim']} | {x['nodes']:,} | {x['edges']:,}"
    return f"| {name} | {sizes} | {x['epoch']:.3g} | {x['before']:.3g} | {peak:.2f} |"


if __name__ == "__main__":
    main()
