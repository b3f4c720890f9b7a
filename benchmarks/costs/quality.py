"""What vectors of a large graph are worth beside what they cost: planted blocks, found again or not.

    python benchmarks/costs/quality.py --nodes 200000 [--models sdne,line] [--device cuda] [--json FILE]
    python benchmarks/costs/quality.py --nodes 10000000 --device cuda --models sdne --settings '{"hidden": []}'

40 blocks of equal size, average degree 10, 60% of the links inside; 64 dimensions. Quality is the share of a node's 5
nearest by cosine that are of its own block, over 2,000 nodes drawn (chance: .025). "In all" is from the Graph in memory
to `embedding_`, "before" is what of that comes before the first epoch; both are seconds of the clock. `--blocks`,
`--degree` and `--inside` plant another graph; `--parts` prints where the time went, by `nf.profile`. With `--trace` the
quality of SDNE's codes after so many epochs is printed too, of 500 nodes: seconds are not the fit's own then.
"""

from __future__ import annotations

import argparse
import json
import time
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np

import netfold as nf

BLOCKS, DEGREE, INSIDE, DIM, ASKED = 40, 10, 0.6, 64, 2_000
TRACED = 500

SETTINGS: dict[str, dict[str, dict[str, Any]]] = {
    "sdne": {"defaults": {}, "hidden=()": {"hidden": ()}},
    "line": {"defaults": {}},
    "node2vec": {"defaults": {}, "epochs=0": {"epochs": 0}},
    "spectral": {
        "defaults": {},
        "normalized": {"matrix": "normalized"},
        "propagation": {"matrix": "propagation"},
    },
}


def planted(
    nodes: int, seed: int = 0, device: str = "cpu", *, blocks: int = BLOCKS, degree: int = DEGREE, share: float = INSIDE
) -> tuple[nf.Graph, np.ndarray]:
    """The graph, the same whichever device sorts its links, and the block of each node."""
    import torch
    from scipy import sparse

    rng, edges = np.random.default_rng(seed), nodes * degree // 2
    left, size = rng.integers(nodes, size=edges), nodes // blocks
    inside = rng.random(edges) < share
    block = np.where(inside, left % blocks, (left % blocks + rng.integers(1, blocks, size=edges)) % blocks)
    right = rng.integers(size, size=edges) * blocks + block
    ends = torch.from_numpy(np.stack([left, right])[:, left != right]).to(device)
    keys = torch.cat([ends[0] * nodes + ends[1], ends[1] * nodes + ends[0]]).sort().values
    keys, counts = keys.unique_consecutive(return_counts=True)
    starts = torch.searchsorted(keys, torch.arange(nodes + 1, device=device) * nodes)
    kinds = ((counts, np.float32), (keys % nodes, np.int32), (starts, np.int32))
    arrays = tuple(x.cpu().numpy().astype(kind) for x, kind in kinds)
    return nf.Graph.from_scipy(sparse.csr_array(arrays, shape=(nodes, nodes))), np.arange(nodes) % blocks


def share_near(vectors: Any, blocks: np.ndarray, device: str, seed: int = 1, asked: int = ASKED) -> float:
    """The share of the 5 nearest by cosine that are of the same block."""
    import torch

    table = torch.nn.functional.normalize(
        torch.tensor(vectors, device=device) if isinstance(vectors, np.ndarray) else vectors
    )
    rows = np.random.default_rng(seed).choice(len(vectors), size=min(asked, len(vectors)), replace=False)
    near = []
    for part in np.array_split(rows, max(1, len(rows) * len(vectors) // 2**28)):
        scores = table[torch.from_numpy(part).to(device)] @ table.T
        scores[torch.arange(len(part)), torch.from_numpy(part)] = -2
        near.append(scores.topk(5).indices.cpu().numpy())
    return float((blocks[np.concatenate(near)] == blocks[rows][:, None]).mean())


def traced(epochs: list[int], blocks: np.ndarray, device: str) -> Any:
    """A run of an epoch, as the training loop's, that prints the quality of SDNE's codes after so many of them."""
    import torch

    from netfold.learn import training

    run = training._run_epoch

    def look(network: Any, batch: Any, epoch: int, objective: float) -> None:
        with torch.no_grad():
            codes = torch.cat([network.encode(chunk.seen) for chunk in batch.chunks])
        quality = share_near(codes, blocks, device, asked=TRACED)
        print(json.dumps({"epoch": epoch, "quality": quality, "objective": objective}), flush=True)

    def watched(network: Any, batches: Any, optimizers: Any, epoch: int) -> Any:
        (batch,) = batches
        if epoch == 0 and 0 in epochs:
            look(network, batch, 0, float("nan"))
        record = run(network, [batch], optimizers, epoch)
        if epoch + 1 in epochs:
            look(network, batch, epoch + 1, record["objective"])
        return record

    return watched


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--nodes", type=int, default=100_000)
    parser.add_argument("--models", default=",".join(x for x in SETTINGS if x in nf.MODELS))
    parser.add_argument("--dim", type=int, default=DIM)
    parser.add_argument("--settings", default="", help="JSON, in place of those listed here")
    parser.add_argument("--device", default="cpu", choices=("cpu", "cuda"))
    parser.add_argument("--json", help="a file to append a line to for every fit; - prints it")
    parser.add_argument("--trace", default="", help="epochs after which SDNE is looked at")
    parser.add_argument("--parts", action="store_true")
    parser.add_argument("--blocks", type=int, default=BLOCKS)
    parser.add_argument("--degree", type=int, default=DEGREE)
    parser.add_argument("--inside", type=float, default=INSIDE)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    import torch

    torch.zeros(1, device=given.device)  # what starting the device costs is not the model's
    shape = {"blocks": given.blocks, "degree": given.degree, "share": given.inside}
    graph, blocks = planted(given.nodes, given.seed, given.device, **shape)
    if given.trace:
        from netfold.learn import training

        training._run_epoch = traced([int(x) for x in given.trace.split(",")], blocks, given.device)
    print("| model | settings | nodes | quality | s in all | before | CPU-s | GiB |\n" + "| --- " * 8 + "|")
    for name in given.models.split(","):
        for label, options in ({"given": json.loads(given.settings)} if given.settings else SETTINGS[name]).items():
            with nf.profile() if given.parts else nullcontext() as parts:
                fact = {**fitted(name, options, graph, blocks, given.device, given.dim), "seed": given.seed, **shape}
            settings = f"{label} {options or ''}".strip()
            numbers = (fact[x] for x in ("quality", "seconds", "before", "cpu"))
            cells = [name, settings, f"{given.nodes:,}", *(f"{x:.3g}" for x in numbers), f"{fact['gpu_gib'] or 0:.3g}"]
            print(f"| {' | '.join(cells)} |", flush=True)
            if parts is not None:
                print(parts, flush=True)
            if given.json == "-":
                print(json.dumps(fact), flush=True)
            elif given.json:
                with Path(given.json).open("a") as file:
                    file.write(json.dumps(fact) + "\n")


def fitted(
    name: str, options: dict[str, Any], graph: nf.Graph, blocks: np.ndarray, device: str, dim: int
) -> dict[str, Any]:
    """What one fit's vectors are worth, and what it took."""
    import torch

    marks: list[float] = []
    model = nf.MODELS[name](dim=dim, device=device, **options)
    if device == "cuda":
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()
    start, cpu = time.perf_counter(), time.process_time()
    model.fit(graph, progress=False, on_epoch=lambda record: marks.append(time.perf_counter()))
    whole, spent = time.perf_counter() - start, time.process_time() - cpu
    before = marks[0] - start - model.history_[0]["seconds"] if marks else whole
    peak = torch.cuda.max_memory_allocated() / 2**30 if device == "cuda" else None
    quality = share_near(model.embedding_.vectors, blocks, device)
    return {
        "model": name, "options": options, "nodes": graph.n_nodes, "quality": quality, "seconds": whole,
        "before": before, "cpu": spent, "gpu_gib": peak, "device": device, "epochs": len(model.history_),
    }  # fmt: skip


if __name__ == "__main__":
    main()
