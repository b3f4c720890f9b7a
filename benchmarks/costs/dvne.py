"""What an epoch of DVNE costs: against dense rows, as the graph grows, and on a GPU.

    python benchmarks/costs/dvne.py                  # all of the CPU part
    python benchmarks/costs/dvne.py --only dense     # or scaling, gpu
    python benchmarks/costs/dvne.py --scale 0.01     # all graphs so much smaller: whether it runs, not what it costs

Every measurement runs in a process of its own and reports the median CPU and wall seconds of an epoch (after the first,
which also warms the allocator) and the peak resident memory of that process. Chung-Lu graphs have a power law of
exponent 2.5 and an average degree of 10; `npm_dependencies` in the scaling needs NETFOLD_DATA. Layers are those of the
defaults (512 hidden, 64 + 64), one thread on the CPU unless `--threads` says otherwise. An epoch draws as many triplets
as there are links.

The dense contenders have the same layers, the same triplets and fused Adam, and rows of P written out. `per triplet`
encodes x_i, x_j and x_k of each triplet and writes x_i, as the chapter's algorithm and public code do; `per node` does
as netfold does: each node of a batch is encoded once, and each node of the graph is written once an epoch.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from meter import Meter
from parts import growth, main, measure, saved

from netfold.data.graph import Graph

# -------------------------------------------------------------------- what a child process runs


def run_ours(folder: str, epochs: int, device: str = "cpu") -> None:
    import torch

    from netfold.models.dvne import DVNE

    graph = Graph.load(folder)
    meter = Meter(device)
    model = DVNE(epochs=epochs, device=device, tolerance=0.0)
    model.fit(graph, progress=False, on_epoch=meter)
    gpu = torch.cuda.max_memory_allocated() / 2**30 if device == "cuda" else 0.0
    meter.report(n=graph.n_nodes, m=graph.n_edges, gpu_gib=gpu, objective=model.history_[-1]["objective"])


def run_dense(folder: str, steps: int, per_triplet: int) -> None:
    """Some steps of an epoch over dense rows, in batches of the same triplets; reported as a whole epoch's."""
    import torch
    from torch.nn import functional

    from netfold.learn import losses
    from netfold.learn.progress import Progress
    from netfold.models.dvne import DVNE
    from netfold.models.dvne.network import deviation, w2_of_rows

    graph, model = Graph.load(folder), DVNE()
    problem = model._problem(model._read(graph), torch.device("cpu"), Progress.silent())
    network, made = problem.network, list(problem.batches(0))
    adam = torch.optim.Adam(network.parameters(), lr=1e-3, fused=True)
    meter = Meter()
    for batch in made[:steps]:
        rows = _dense(batch.seen)
        written = sum(len(chunk.rows) for chunk in batch.chunks)
        triplets = batch.triplets
        if per_triplet:
            rows, written = rows[triplets.flatten()], triplets.shape[1]
            triplets = torch.arange(3 * written).view(3, -1)
        hidden = functional.relu(rows @ network.first.table + network.first.bias)
        mean, x = network.code(hidden).chunk(2, dim=1)
        std = deviation(x)
        i, j, k = (torch.cat([mean, std], dim=1)[at] for at in triplets)
        own = mean[:written] + std[:written] * torch.randn(written, model.dim)
        back = torch.sigmoid(network.last.rows(functional.relu(network.decoder(own))))
        loss = losses.triplet_energies(w2_of_rows(i, j), w2_of_rows(i, k)) + losses.weighed_squares(
            back, rows[:written]
        )
        adam.zero_grad(set_to_none=False)
        loss.backward()
        adam.step()
        meter()
    meter.report(steps=len(made))


def _dense(rows):  # type: ignore[no-untyped-def]
    import torch

    return torch.sparse_csr_tensor(rows.crow.long(), rows.col.long(), rows.values, (len(rows), rows.width)).to_dense()


# -------------------------------------------------------------------- the tables


def against_dense(folder: Path, scale: float) -> None:
    n = int(10_000 * scale)
    path = saved(folder, n, 5 * n)
    ours = measure("ours", path, 4)
    print("| nodes | dense rows | CPU-s/epoch | ours | times less | peak GiB |\n| --- | --- | --- | --- | --- | --- |")
    for per_triplet, name in ((1, "per triplet"), (0, "per node")):
        found = measure("dense", path, 4, per_triplet)
        seconds = found["cpu"] * found["steps"]
        verdict = " (MISSED: target 15)" if seconds < 15 * ours["cpu"] else ""
        print(
            f"| {n:,} | {name} | {seconds:.1f} ({found['steps']:.0f} steps) | {ours['cpu']:.2f} | "
            f"{seconds / ours['cpu']:.1f}{verdict} | {found['peak_gib']:.2f} (ours {ours['peak_gib']:.2f}) |",
            flush=True,
        )


def scaling(folder: Path, scale: float) -> None:
    growth(folder, scale, lambda path: measure("ours", path, 3), "triplet", "m")


def on_gpu(folder: Path, scale: float) -> None:
    import torch

    device = "cuda" if torch.cuda.is_available() else "cpu"
    n = int(1_000_000 * scale)
    found = measure("ours", saved(folder, n, 5 * n), 4, device)
    verdict = "" if found["wall"] < 5 else " (MISSED)"
    print("| device | nodes | edges | s/epoch | GPU GiB | target s |\n| --- | --- | --- | --- | --- | --- |")
    print(f"| {device} | {n:,} | {found['m']:,} | {found['wall']:.2f}{verdict} | {found['gpu_gib']:.1f} | 5 |")


PARTS = {"dense": against_dense, "scaling": scaling, "gpu": on_gpu}
CHILDREN: dict[str, Callable[..., None]] = {"ours": run_ours, "dense": run_dense}


if __name__ == "__main__":
    main(__doc__, PARTS, CHILDREN)
