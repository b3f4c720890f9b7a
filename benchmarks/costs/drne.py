"""What an epoch of DRNE costs: against a loop over nodes, on BlogCatalog, as the graph grows, and on a GPU.

    python benchmarks/costs/drne.py                   # all of the CPU part
    python benchmarks/costs/drne.py --only loop       # or blogcatalog, scaling, gpu
    python benchmarks/costs/drne.py --scale 0.01      # all graphs so much smaller: whether it runs, not what it costs

Every measurement runs in a process of its own and reports the median CPU and wall seconds of an epoch (after the first,
which also warms the allocator) and the peak resident memory of that process. Chung-Lu graphs have a power law of
exponent 2.5 and an average degree of 10 (20 on the GPU). `blogcatalog`, and `npm_dependencies` in the scaling, need
NETFOLD_DATA. An epoch is both half steps, X and then theta, at max_neighbors 300; one thread on the CPU unless
`--threads` says otherwise (steps are short: on busy cores, two threads take ten times as long as one).

Three floors stand beside the epoch: the time of its matrix products alone, at the speed that this machine multiplies
matrices of that shape; the time to move once the numbers that are kept for the way back, at the speed of a copy; and
torch's own packed LSTM, which has no normalisation, on the same sequences, forwards and backwards, twice.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from meter import Meter
from parts import given, growth, main, measure, saved

from netfold.data.graph import Graph

KEPT = 11
"""Numbers per neighbor and dimension that an epoch's half step writes and reads again: 7 forwards, 4 backwards."""


# -------------------------------------------------------------------- what a child process runs


def run_ours(folder: str, dim: int, epochs: int, device: str = "cpu") -> None:
    import torch

    from netfold.models.drne import DRNE
    from netfold.models.drne.batches import neighbors

    graph = Graph.load(folder)
    meter = Meter(device)
    model = DRNE(dim=dim, epochs=epochs, device=device, tolerance=0.0)
    model.fit(graph, progress=False, on_epoch=meter)
    degrees = np.diff(neighbors(graph).indptr)
    facts = {"n": graph.n_nodes, "m": graph.n_edges, "neighbors": int(np.minimum(degrees, 300).sum())}
    gpu = torch.cuda.max_memory_allocated() / 2**30 if device == "cuda" else 0.0
    meter.report(
        **facts, gpu_gib=gpu, objective=model.history_[-1]["objective"], **floors(facts["neighbors"], dim, device)
    )


def floors(neighbors: int, dim: int, device: str) -> dict[str, float]:
    """Seconds of both half steps' products alone, and of moving once what they keep."""
    import torch

    rows = 2048 if device == "cpu" else 1 << 18
    a, b = torch.randn(rows, dim, device=device), torch.randn(dim, 4 * dim, device=device)
    c, d = torch.randn(1 << 21 if device == "cpu" else 1 << 28, device=device), None
    d = torch.empty_like(c)
    product = best(lambda: a @ b, device) / rows
    move = best(lambda: d.copy_(c), device) / len(c)
    return {"products": 2 * 3 * neighbors * product, "moves": 2 * neighbors * KEPT * dim * move}


def best(work: Callable[[], Any], device: str, repeats: int = 20) -> float:
    import torch

    seconds = []
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        if device == "cuda":
            torch.cuda.synchronize()
        seconds.append(time.perf_counter() - start)
    return min(seconds)


def run_packed_lstm(folder: str, dim: int, epochs: int) -> None:
    """torch's LSTM over the same sequences in the same batches, forwards and backwards, twice an epoch."""
    import torch
    from torch.nn.utils.rnn import PackedSequence

    from netfold.learn.progress import Progress
    from netfold.models.drne import DRNE

    graph, model = Graph.load(folder), DRNE(dim=dim)
    of = model._problem(model._read(graph), torch.device("cpu"), Progress.silent()).batches
    lstm, vectors = torch.nn.LSTM(dim, dim), torch.randn(graph.n_nodes, dim).requires_grad_()
    meter = Meter()
    for epoch in range(epochs):
        for batch in of(epoch):
            for piece in [p for p in batch.pieces if p.packed.alive] * 2:
                entries = piece.packed.entries.clamp(max=len(batch.nodes) - 1)  # ties have no vector here
                inputs = vectors[batch.nodes[entries]]
                _, (last, _) = lstm(PackedSequence(inputs, torch.tensor(piece.packed.alive)))
                last.square().sum().backward()
        meter()
    meter.report()


def run_loop(folder: str, dim: int, nodes: int) -> None:
    """A loop over nodes and their neighbors, autograd through each cell; both half steps, for some random nodes."""
    import torch
    from torch.nn import functional

    from netfold.models.drne import DRNE
    from netfold.models.drne.batches import Sequences, colors

    graph, model = Graph.load(folder), DRNE(dim=dim)
    data = model._read(graph)
    network, sequences = model._network(data.facts), Sequences.of(data.linked, colors(data.linked))
    sequences = sequences.sampled(300, lambda x: torch.rand(len(x)))
    rows = torch.randperm(graph.n_nodes, generator=torch.Generator().manual_seed(0))[:nodes].tolist()
    meter = Meter()
    for v in rows:
        mine = sequences.nodes[sequences.starts[v] : sequences.starts[v + 1]]
        for _ in range(2):
            h, c = torch.zeros(dim), torch.zeros(dim)
            for u in mine:
                z = network.table[u] @ network.input + h @ network.recurrent + network.bias
                f, i, o, candidate = z.chunk(4)
                c = f.sigmoid() * c + i.sigmoid() * candidate.tanh()
                h = o.sigmoid() * functional.layer_norm(c, (dim,), network.gain, eps=1e-6).tanh()
            said = functional.relu(h @ network.degree_weight + network.degree_bias)
            loss = (network.table[v] - h).square().sum() + (np.log1p(len(mine)) - said).square().sum()
            loss.backward()
    meter()
    meter.report()


# -------------------------------------------------------------------- the tables


def against_loop(folder: Path, scale: float) -> None:
    n = int(10_000 * scale)
    path, nodes = saved(folder, n, 5 * n), min(n, 300)
    ours, loop = measure("ours", path, 64, 4), measure("loop", path, 64, nodes)
    ratio = loop["cpu"] / nodes * n / ours["cpu"]
    verdict = "" if ratio >= 20 else " (MISSED: target 20)"
    print("| nodes | loop CPU-s/epoch | ours | times less |\n| --- | --- | --- | --- |")
    print(f"| {n:,} | {loop['cpu'] / nodes * n:.1f} (of {nodes} nodes) | {ours['cpu']:.2f} | {ratio:.1f}{verdict} |")


def on_blogcatalog(folder: Path, scale: float) -> None:
    path = saved(folder, int(10_000 * scale), int(300_000 * scale)) if scale < 1 else given(folder, "blogcatalog")
    if path is None:
        return
    print("| dim | CPU-s/epoch | nodes/s | neighbors/s | products s | moves s | packed LSTM CPU-s | peak GiB |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    for dim in (16, 64):
        found, lstm = measure("ours", path, dim, 3), measure("lstm", path, dim, 2)
        print(
            f"| {dim} | {found['cpu']:.2f} | {found['n'] / found['cpu']:,.0f} | "
            f"{found['neighbors'] / found['cpu']:,.0f} | {found['products']:.2f} | {found['moves']:.2f} | "
            f"{lstm['cpu']:.2f} | {found['peak_gib']:.2f} |",
            flush=True,
        )


def scaling(folder: Path, scale: float) -> None:
    growth(folder, scale, lambda path: measure("ours", path, 64, 3), "neighbor", "neighbors")


def on_gpu(folder: Path, scale: float) -> None:
    print("| nodes | edges | dim | s/epoch | GPU GiB | products alone s | moves alone s | target s |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    n = int(1_000_000 * scale)
    for dim in (16, 64):
        found = measure("ours", saved(folder, n, 10 * n), dim, 3, "cuda")
        print(
            f"| {n:,} | {found['m']:,} | {dim} | {found['wall']:.2f} | {found['gpu_gib']:.1f} | "
            f"{found['products']:.3f} | {found['moves']:.3f} | 60 |",
            flush=True,
        )


PARTS = {"loop": against_loop, "blogcatalog": on_blogcatalog, "scaling": scaling, "gpu": on_gpu}
CHILDREN: dict[str, Callable[..., None]] = {"ours": run_ours, "lstm": run_packed_lstm, "loop": run_loop}


if __name__ == "__main__":
    main(__doc__, PARTS, CHILDREN)
