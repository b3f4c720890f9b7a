"""What an epoch of SDNE costs: against dense rows, as the graph grows, and on a GPU.

    python benchmarks/costs/sdne.py                 # all of the CPU part
    python benchmarks/costs/sdne.py --only dense    # or scaling, or gpu, or attributes (on a GPU too)

Every measurement runs in a process of its own and reports the median CPU and wall seconds of an epoch (after the first,
which also builds what the others reuse) and the peak resident memory of that process. Graphs are generated: Chung-Lu
with a power-law degree sequence (exponent 2.5), average degree 10 unless said otherwise, fixed seed. Both contenders
have the same layers, tanh, beta 10, a first-order term and fused Adam, a random start (a start is no part of an epoch),
and 2 threads on the CPU.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
from meter import Meter
from parts import main, measure
from scipy import sparse

from netfold.data.graph import Graph


def heavy_tailed(n: int, m: int, seed: int = 0) -> Graph:
    """About m undirected edges among n nodes with expected degrees of a power law."""
    rng = np.random.default_rng(seed)
    weight = (np.arange(n) + 10.0) ** (-1 / 1.5)
    cumulative = np.cumsum(weight / weight.sum())
    u, v = (np.minimum(np.searchsorted(cumulative, rng.random(m)), n - 1).astype(np.int32) for _ in range(2))
    place = rng.permutation(n).astype(np.int32)  # so that hubs are not neighbors in memory
    keep = u != v
    u, v = place[u[keep]], place[v[keep]]
    half = sparse.csr_array((np.ones(len(u), np.float32), (u, v)), shape=(n, n))
    both = sparse.csr_array(half + half.T)
    both.data[:] = 1
    return Graph.from_scipy(both, directed=False)


def run_ours(folder: str, hidden: int, dim: int, epochs: int, device: str = "cpu", optimizer: str = "adam") -> None:
    import torch

    from netfold.models import SDNE

    if device == "cpu":
        torch.set_num_threads(2)
    graph = Graph.load(folder)
    meter = Meter(device)
    options = {"hidden": (hidden,), "dim": dim, "epochs": epochs, "device": device, "optimizer": optimizer}
    model = SDNE(**options, tolerance=0.0, init="none")  # type: ignore[arg-type]
    model.fit(graph, progress=False, on_epoch=meter)
    gpu = torch.cuda.max_memory_allocated() / 2**30 if device == "cuda" else 0.0
    entries = 0 if graph.attributes is None else graph.attributes.n_entries
    size = {"n": graph.n_nodes, "m": graph.n_edges, "entries": entries}
    meter.report(gpu_gib=gpu, objective=model.history_[-1]["objective"], **size)


def run_dense(folder: str, hidden: int, dim: int, epochs: int, batch: int = 512) -> None:
    """The same layers over dense rows, as every public implementation has them; first order inside the batch only."""
    import torch
    from torch import nn

    torch.set_num_threads(2)
    matrix = Graph.load(folder).adjacency
    n = matrix.shape[0]
    encoder = nn.Sequential(nn.Linear(n, hidden), nn.Tanh(), nn.Linear(hidden, dim), nn.Tanh())
    decoder = nn.Sequential(nn.Linear(dim, hidden), nn.Tanh(), nn.Linear(hidden, n))
    optimizer = torch.optim.Adam([*encoder.parameters(), *decoder.parameters()], lr=1e-3, fused=True)
    meter = Meter()
    for _ in range(epochs):
        for part in torch.randperm(n).split(batch):
            x = torch.from_numpy(matrix[part.numpy()].toarray())
            y = encoder(x)
            weights = 1 + 9 * (x > 0)
            inside = x[:, part]
            first = (inside * torch.cdist(y, y).square()).sum()
            loss = ((decoder(y) - x) * weights).square().sum() + 0.2 * first
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        meter()
    meter.report()


def saved(folder: Path, n: int, m: int) -> Path:
    path = folder / f"g{n}_{m}"
    if not path.exists():
        heavy_tailed(n, m).save(path)
    return path


def against_dense(folder: Path, scale: float) -> None:
    print("| nodes | layers | dense CPU-s/epoch | ours | times less | dense peak GiB | ours |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for n, hidden, dim, epochs, ours_epochs, bound in ((10_000, 1000, 128, 2, 6, 7), (50_000, 256, 128, 1, 6, 80)):
        n = int(n * scale)
        path = saved(folder, n, 5 * n)
        ours = measure("ours", path, hidden, dim, ours_epochs)
        dense = measure("dense", path, hidden, dim, epochs)
        ratio = dense["cpu"] / ours["cpu"]
        verdict = "" if scale < 1 or ratio >= bound else f" (MISSED: target {bound})"
        print(
            f"| {n:,} | {hidden}-{dim} | {dense['cpu']:.2f} | {ours['cpu']:.2f} | {ratio:.1f}{verdict} | "
            f"{dense['peak_gib']:.2f} | {ours['peak_gib']:.2f} |",
            flush=True,
        )


def scaling(folder: Path, scale: float) -> None:
    print("| nodes | edges | CPU-s/epoch | wall s | peak GiB |\n| --- | --- | --- | --- | --- |")
    sizes, seconds = [int(n * scale) for n in (10_000, 30_000, 100_000, 300_000, 1_000_000)], []
    for n in sizes:
        found = measure("ours", saved(folder, n, 5 * n), 256, 128, max(5, min(40, 10**6 // n)))
        seconds.append(found["cpu"])
        print(
            f"| {n:,} | {found['m']:,} | {found['cpu']:.3f} | {found['wall']:.3f} | {found['peak_gib']:.2f} |",
            flush=True,
        )
    slope = np.polyfit(np.log(sizes), np.log(seconds), 1)[0]
    ends = np.log(seconds[-1] / seconds[0]) / np.log(sizes[-1] / sizes[0])
    print(f"exponent {slope:.3f} (least squares), {ends:.3f} (first to last); target at most 1.1")
    row = measure("ours", saved(folder, sizes[-1], 5 * sizes[-1]), 256, 128, 4, "cpu", "row_adagrad")
    print(f"{sizes[-1]:,} nodes with row_adagrad: {row['cpu']:.2f} CPU-s, {row['peak_gib']:.2f} GiB")


def on_gpu(folder: Path, scale: float) -> None:
    print("| nodes | edges | layers | s/epoch | GPU GiB | target s |\n| --- | --- | --- | --- | --- | --- |")
    for n, m, hidden, dim, target in ((1_138_499, 2_990_443, 256, 128, 0.1), (10_000_000, 50_000_000, 128, 64, 0.5)):
        n, m = int(n * scale), int(m * scale)
        found = measure("ours", saved(folder, n, m), hidden, dim, 12, "cuda")
        print(
            f"| {n:,} | {found['m']:,} | {hidden}-{dim} | {found['wall']:.4f} | {found['gpu_gib']:.1f} | {target} |",
            flush=True,
        )


def with_words(folder: Path, n: int, m: int, words: int, vocabulary: int) -> Path:
    """Such a graph whose nodes have so many words each, drawn with frequencies as 1 / (rank + 10)."""
    path = folder / f"g{n}_{m}_{words}"
    if not path.exists():
        rng = np.random.default_rng(1)
        cumulative = np.cumsum(1 / (np.arange(vocabulary) + 10.0))
        drawn = np.searchsorted(cumulative / cumulative[-1], rng.random(n * words))
        drawn = np.minimum(drawn, vocabulary - 1).astype(np.int32)
        ones = np.ones(n * words, np.float32), drawn, np.arange(0, n * words + 1, words)
        matrix = sparse.csr_array(ones, shape=(n, vocabulary))
        matrix.sum_duplicates()
        heavy_tailed(n, m).with_attributes(matrix).save(path)
    return path


def with_attributes(folder: Path, scale: float) -> None:
    """On the GPU where there is one: an epoch as entries of attributes are added to links."""
    import torch

    device = "cuda" if torch.cuda.is_available() else "cpu"
    names = ("nodes", "edges", "words a node", "entries", "s/epoch", "GiB", "target s")
    print("| " + " | ".join(names) + " |\n" + len(names) * "| --- " + "|")
    n, m = int(1_000_000 * scale), int(5_000_000 * scale)
    for words, target in ((21, "0.15"), (0, ""), (10, "")):
        path = with_words(folder, n, m, words, 50_000) if words else saved(folder, n, m)
        found = measure("ours", path, 256, 128, 12, device)
        memory = found["gpu_gib"] or found["peak_gib"]
        print(
            f"| {n:,} | {found['m']:,} | {words} | {found['entries']:,} | {found['wall']:.4f} | {memory:.1f} "
            f"| {target} |",
            flush=True,
        )


PARTS = {"dense": against_dense, "scaling": scaling, "gpu": on_gpu, "attributes": with_attributes}
CHILDREN: dict[str, Callable[..., None]] = {"ours": run_ours, "dense": run_dense}


if __name__ == "__main__":
    main(__doc__, PARTS, CHILDREN, threads=2)
