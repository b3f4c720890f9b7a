"""What an epoch of DHNE costs: against dense rows, as the hypergraph grows, and on a GPU.

    python benchmarks/costs/dhne.py                   # all of the CPU part
    python benchmarks/costs/dhne.py --only dense      # or scaling, gpu, or ways
    python benchmarks/costs/dhne.py --scale 0.01      # all hypergraphs so much smaller: whether it runs, not its cost

Every measurement runs in a process of its own and reports the median CPU and wall seconds of an epoch (after the first,
which also warms the allocator) and the peak resident memory of that process. `dense` is on dhne_drug and needs
NETFOLD_DATA (a generated hypergraph of that size stands in where `--scale` is below 1); its contenders have the same
layers, batch sizes, negatives and fused Adam, dim 64 and hidden 192, and read rows as dense blocks: those of every node
of every tuple, as the released code does, and those of the distinct nodes of a batch. They are timed for some steps,
and an epoch is so many times the median step. Generated triples join three types of as many nodes, by a power law of
exponent 2.5; there are five times as many as nodes. All without holding out, which public implementations do not know;
`gpu` with it, too, and with the seconds that pass before the first epoch. One thread on the CPU unless `--threads` says
otherwise. `ways` is DHNE by its defaults on a GPU, in one process: as it is and without each of what makes it quick,
with the objective after each epoch; how often the GPU is called in a step, and what for; and products by each kernel.
"""

from __future__ import annotations

import contextlib
import json
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from meter import Meter
from parts import main, measure

import netfold as nf

DIM, HIDDEN, NEGATIVES = 64, 192, 5
DRUG = 137_404
"""Hyperedges of dhne_drug."""


def generated(n: int, m: int, seed: int = 0) -> nf.Hypergraph:
    """m triples among n nodes of three types."""
    rng, size = np.random.default_rng(seed), n // 3
    cumulative = np.cumsum((np.arange(size) + 10.0) ** (-1 / 1.5))
    drawn = [np.searchsorted(cumulative, rng.random(m) * cumulative[-1]) for _ in range(3)]
    rows = np.stack([rng.permutation(size)[x] + i * size for i, x in enumerate(drawn)], axis=1)
    types = ("user", "item", "tag")
    codes = np.repeat(np.arange(3), size)
    return nf.Hypergraph.from_kinds([(types, types, rows)], nodes=range(3 * size), node_types=codes, types=types)


def read(name: str) -> nf.Hypergraph:
    """`dhne_drug`, or "n m" for a generated one."""
    from netfold import datasets

    if name[0].isdigit():
        return generated(*map(int, name.split("_")))
    found = datasets.load(name)
    assert isinstance(found, nf.Hypergraph)
    return found


# -------------------------------------------------------------------- what a child process runs


def run_ours(name: str, epochs: int, device: str = "cpu", hold_out: int = 0) -> None:
    import torch

    from netfold.models.dhne import DHNE

    hypergraph = read(name)
    options: dict[str, Any] = {"dim": DIM, "hidden": HIDDEN, "n_negatives": NEGATIVES, "hold_out": bool(hold_out)}
    meter = Meter(device)
    model = DHNE(**options, epochs=epochs, device=device).fit(hypergraph, progress=False, on_epoch=meter)
    gpu = torch.cuda.max_memory_allocated() / 2**30 if device == "cuda" else 0.0
    nonzeros = int(hypergraph.adjacency().nnz) if hypergraph.n_edges <= DRUG else 0
    facts = {"n": hypergraph.n_nodes, "m": hypergraph.n_edges, "nonzeros": nonzeros, "gpu_gib": gpu}
    before = meter.wall[1] - meter.wall[0] - model.history_[0]["seconds"]
    meter.report(**facts, before=before, objective=model.history_[-1]["objective"])


def run_dense(name: str, steps: int, distinct: int) -> None:
    """Some steps of the same network over dense rows: of each tuple's nodes, or of the batch's distinct ones."""
    import torch
    from torch import nn
    from torch.nn import functional

    from netfold.models.dhne.batches import counts_by_type
    from netfold.models.dhne.tuples import Places, Schema

    hypergraph = read(name)
    places = Places(hypergraph.type_codes, Schema.of(hypergraph))
    (tuples,), counts = places.tuples(hypergraph), counts_by_type(hypergraph, places)
    for rows in counts:
        rows.data /= rows.data.max()
    widths, sizes = [rows.shape[1] for rows in counts], [rows.shape[0] for rows in counts]
    encoders, decoders = ([nn.Linear(*(w, DIM)[::way]) for w in widths] for way in (1, -1))
    layer, last = nn.Linear(3 * DIM, HIDDEN), nn.Linear(HIDDEN, 1)
    parameters = [p for module in (*encoders, *decoders, layer, last) for p in module.parameters()]
    optimizer = torch.optim.Adam(parameters, lr=0.01, fused=True)
    batch, rng = max(64, len(tuples) // 128), np.random.default_rng(0)
    meter = Meter()
    for _ in range(steps):
        positives = tuples[rng.choice(len(tuples), batch, replace=False)]
        negatives = np.repeat(positives, NEGATIVES, axis=0)
        at = rng.integers(0, 3, len(negatives))
        negatives[np.arange(len(negatives)), at] = rng.integers(0, np.array(sizes)[at])
        rows, truth = np.concatenate([positives, negatives]), torch.zeros(len(positives) + len(negatives))
        truth[: len(positives)] = 1
        vectors, second = [], torch.zeros(())
        for t in range(3):
            nodes, back = np.unique(rows[:, t], return_inverse=True) if distinct else (rows[:, t], slice(None))
            given = torch.from_numpy(counts[t][nodes].toarray())
            x = torch.tanh(encoders[t](given))
            second = second + ((given > 0) * (given - torch.sigmoid(decoders[t](x)))).square().sum()
            vectors.append(x[back])
        logits = last(torch.tanh(layer(torch.cat(vectors, dim=1))))[:, 0]
        loss = functional.binary_cross_entropy_with_logits(logits, truth, reduction="sum") + second
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        meter()
    meter.report(steps=len(tuples) / batch)


# -------------------------------------------------------------------- ways of doing it on a GPU


@contextlib.contextmanager
def replaced(module: Any, name: str, value: Any) -> Iterator[None]:
    """With another value in a module."""
    before = getattr(module, name)
    setattr(module, name, value)
    try:
        yield
    finally:
        setattr(module, name, before)


def run_ways(name: str, epochs: int, device: str) -> None:
    """A fit each way, and one line each; the last under torch's profiler, of some steps."""
    from functools import partial

    from netfold.learn import optimizers, sparse_rows
    from netfold.models.dhne import batches, network

    hypergraph = read(name)
    copied = partial(_not_in_place, batches.Source)
    ways: dict[str, list[tuple[Any, str, Any]]] = {
        "as it is": [],
        "tuples by our kernel too": [(sparse_rows, "_csr_matmul", partial(_by_our_kernel, sparse_rows._csr_matmul)),
                                     (sparse_rows, "_add_csr_matmul", _add_by_our_kernel)],
        "rows copied out": [(batches, "Source", copied)],
        "L_reg by the loss": [(network, "DHNENetwork", _by_loss(network.DHNENetwork)),
                              (optimizers, "_by_decay", lambda group: [{**group, "weight_decay": 0.0}])],
    }  # fmt: skip
    for words, changes in ways.items():
        with contextlib.ExitStack() as stack:
            for change in changes:
                stack.enter_context(replaced(*change))
            try:
                found = _fitted(hypergraph, epochs, device)
            except Exception as error:  # the others are measured all the same
                found = {"failed": repr(error)[:300]}
            print(json.dumps({"way": words, **found}), flush=True)
    _watched(hypergraph, device)


def _by_loss(kind: Any) -> Any:
    """A network that adds the gradient of L_reg itself, whatever it is told."""
    return type("ByLoss", (kind,), {"decays": property(lambda _: False, lambda *_: None)})


def _not_in_place(source: Any, *parts: Any, in_place: bool) -> Any:
    return source(*parts, in_place=False)


def _by_our_kernel(plain: Any, crow: Any, col: Any, values: Any, dense: Any) -> Any:
    from netfold.learn import sparse_rows

    if not sparse_rows._reads_some(dense, values):
        return plain(crow, col, values, dense)
    from netfold.learn import kernels

    return kernels.some_product(crow, col, values, dense)


def _add_by_our_kernel(crow: Any, col: Any, values: Any, dense: Any, out: Any) -> None:
    from netfold.learn import sparse_rows

    if sparse_rows._reads_some(dense, values) and out.is_contiguous():
        from netfold.learn import kernels

        kernels.some_product(crow, col, values, dense, out)
    else:
        out += sparse_rows._csr_matmul(crow, col, values, dense)


def _fitted(hypergraph: nf.Hypergraph, epochs: int, device: str) -> dict[str, Any]:
    from netfold.models.dhne import DHNE

    meter, start = Meter(device), time.perf_counter()
    model = DHNE(device=device).set_params(epochs=epochs).fit(hypergraph, progress=False, on_epoch=meter)
    each = [b - a for a, b in zip(meter.wall[:-1], meter.wall[1:])]
    before = meter.wall[1] - start - model.history_[0]["seconds"]
    return {"epochs": each, "before": before, "objectives": [r["objective"] for r in model.history_]}


def _watched(hypergraph: nf.Hypergraph, device: str) -> None:
    """Calls and milliseconds a step of the second epoch's first steps, by torch's profiler."""
    from torch.profiler import ProfilerActivity, profile

    from netfold.learn import training
    from netfold.models.dhne import DHNE

    steps, items, seen = 8, training.counted_items, [0]
    kinds = [ProfilerActivity.CPU] + ([ProfilerActivity.CUDA] if device == "cuda" else [])
    watch = profile(activities=kinds)

    def watched(batches: Any, name: str) -> Any:
        seen[0] += 1
        for i, batch in enumerate(items(batches, name)):
            if seen[0] == 2 and i == 2:
                watch.start()
            if seen[0] == 2 and i == 2 + steps:
                watch.stop()
                break
            yield batch

    with replaced(training, "counted_items", watched):
        DHNE(device=device).set_params(epochs=2).fit(hypergraph, progress=False)
    events = watch.key_averages()
    for by in ("self_device_time_total", "self_cpu_time_total"):
        print(by, f"{sum(getattr(e, by) for e in events) / steps / 1e3:.2f} ms a step")
        for e in sorted(events, key=lambda e: -getattr(e, by))[:28]:
            print(f"  {e.key[:70]:70s} {e.count / steps:6.1f} {getattr(e, by) / steps / 1e3:8.3f} ms", flush=True)


def run_products(entries: int, device: str) -> None:
    """Milliseconds of a product of rows by a power law with a table: by cuSPARSE and by our two kernels."""
    import torch

    from netfold import datasets
    from netfold.learn import kernels, sparse_rows

    graph = datasets.chung_lu(entries // 10, entries // 2, exponent=2.5)
    rows = sparse_rows.SparseRows.from_scipy(graph.adjacency, device=device)
    parts = rows.crow, rows.col, rows.values
    for width in (64, 128, 256):
        table = torch.randn(rows.width, width, device=device)
        whole = torch.sparse_csr_tensor(*parts, (len(rows), rows.width))
        ways = {"cuSPARSE": lambda t=table, w=whole: w @ t, "csr": lambda t=table: kernels.csr_product(*parts, t),
                "some": lambda t=table: kernels.some_product(*parts, t)}  # fmt: skip
        exact = whole.double() @ table.double()
        errors = {k: float((f() - exact).norm() / exact.norm()) for k, f in ways.items()}
        took = {k: _milliseconds(f) for k, f in ways.items()}
        print(json.dumps({"entries": len(rows.values), "width": width, "ms": took, "errors": errors}), flush=True)


def _milliseconds(function: Callable[[], Any], times: int = 15) -> float:
    import torch

    marks = []
    for _ in range(times + 2):
        torch.cuda.synchronize()
        start = time.perf_counter()
        function()
        torch.cuda.synchronize()
        marks.append(time.perf_counter() - start)
    return 1e3 * float(np.median(marks[2:]))


# -------------------------------------------------------------------- the tables


def against_dense(_: Path, scale: float) -> None:
    name = "dhne_drug" if scale == 1 else f"{max(300, int(7_500 * scale))}_{int(DRUG * scale)}"
    if scale == 1 and not os.environ.get("NETFOLD_DATA"):
        print("(dense: set NETFOLD_DATA)")
        return
    ours = measure("ours", name, 4)
    print("| rows | CPU-s/epoch | peak GiB | times ours |\n| --- | --- | --- | --- |")
    print(f"| ours | {ours['cpu']:.2f} | {ours['peak_gib']:.2f} | 1 |", flush=True)
    for words, distinct, steps in (("dense, every tuple's", 0, 4), ("dense, distinct nodes'", 1, 8)):
        found = measure("dense", name, steps, distinct)
        seconds = found["cpu"] * found["steps"]
        verdict = "" if scale < 1 or seconds >= 10 * ours["cpu"] else " (MISSED: target 10)"
        ratio = seconds / ours["cpu"]
        print(f"| {words} | {seconds:.1f} | {found['peak_gib']:.2f} | {ratio:.1f}{verdict} |", flush=True)


def scaling(_: Path, scale: float) -> None:
    print("| nodes | hyperedges | CPU-s/epoch | wall s | us a hyperedge | peak GiB |")
    print("| --- | --- | --- | --- | --- | --- |")
    sizes, seconds = [int(n * scale) for n in (3_000, 10_000, 30_000, 100_000)], []
    for n in sizes:
        found = measure("ours", f"{n}_{5 * n}", 3)
        seconds.append(found["cpu"])
        print(
            f"| {found['n']:,} | {found['m']:,} | {found['cpu']:.2f} | {found['wall']:.2f} | "
            f"{1e6 * found['cpu'] / found['m']:.1f} | {found['peak_gib']:.2f} |",
            flush=True,
        )
    slope = np.polyfit(np.log(sizes), np.log(seconds), 1)[0]
    print(f"exponent {slope:.3f} (least squares); target at most 1.1")


def on_gpu(_: Path, scale: float) -> None:
    import torch

    device = "cuda" if torch.cuda.is_available() else "cpu"
    if scale == 1 and device == "cpu":
        print("(gpu: there is none; --scale 0.01 tries it on the CPU)")
        return
    n, m = int(1_000_000 * scale), int(5_000_000 * scale)
    print("| device | nodes | hyperedges | hold_out | s/epoch | s before | GPU GiB | peak GiB |")
    print("| --- " * 8 + "|")
    for hold_out in (0, 1):
        found = measure("ours", f"{n}_{m}", 3, device, hold_out)
        verdict = " (MISSED: target 30)" if found["wall"] >= 30 else ""
        print(
            f"| {device} | {n:,} | {m:,} | {('no', 'yes')[hold_out]} | {found['wall']:.2f}{verdict} | "
            f"{found['before']:.1f} | {found['gpu_gib']:.1f} | {found['peak_gib']:.1f} |",
            flush=True,
        )


def ways(_: Path, scale: float) -> None:
    """In this process, a line as soon as it is known."""
    import torch

    cuda = torch.cuda.is_available()
    if scale == 1 and not cuda:
        print("(ways: there is no GPU; --scale 0.01 tries it on the CPU)")
        return
    run_ways(f"{int(1_000_000 * scale)}_{int(5_000_000 * scale)}", 3, "cuda" if cuda else "cpu")
    if cuda:
        run_products(int(10_000_000 * scale), "cuda")


PARTS = {"dense": against_dense, "scaling": scaling, "gpu": on_gpu, "ways": ways}
CHILDREN: dict[str, Callable[..., None]] = {"ours": run_ours, "dense": run_dense}


if __name__ == "__main__":
    main(__doc__, PARTS, CHILDREN)
