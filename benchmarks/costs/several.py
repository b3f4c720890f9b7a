"""What several ranks cost against one process: CPU an epoch, wall, bytes, memory, saves; SDNE 256-128, Adam, or others.

python benchmarks/costs/several.py --nodes 30000 --ranks 1 2            # rows of the table in docs/large-graphs.md
python benchmarks/costs/several.py --nodes 300000 --ranks 1 2 --epochs 3
python benchmarks/costs/several.py --nodes 1000000 --ranks 2 --epochs 25 --save   # what saves take, by default
python benchmarks/costs/several.py --nodes 1000000 --ranks 1 --limit 2GiB         # tables larger than the memory
python benchmarks/costs/several.py --nodes 300000 --turns 2 --device cuda --epochs 12 --model line
python benchmarks/costs/several.py --nodes 30000 300000 --ranks 1 2 --model line  # or node2vec, drne, depthlgp

Every line is processes of its own, one thread a rank; with `--turns` one process fits plain and parts in turn, which is
how they are compared on a GPU. `plain` is `fit(graph)`; others are `fit("big.parts")`. CPU is the median epoch, summed
over ranks; on a busy machine only ratios of CPU count, and they by some per cent. `--save` adds a checkpoint at the
default interval, and the share of CPU and of wall that writing it took; the last state, which every run writes, is told
apart. `--limit` is of the memory that a rank of parts may take beyond what it has when all is imported (RLIMIT_DATA:
files that are mapped are not counted, nor what the system keeps of them).
"""

from __future__ import annotations

import argparse
import json
import math
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from netfold.data.checks import byte_count

_RUN = """
import json, resource, sys, time, torch
import netfold as nf
import netfold.models.sdne.sharded, netfold.embedder.parts, netfold.learn.training
from netfold.cluster.checkpoints import ShardedCheckpoint
torch.set_num_threads(1)
folder, epochs, hows, checkpoint = sys.argv[1], int(sys.argv[2]), sys.argv[3], sys.argv[4]
device, limit, name = sys.argv[5], int(sys.argv[6]), sys.argv[7]
saves = []
def save(self, network, optimizers, history, write=ShardedCheckpoint.save):
    began = time.process_time(), time.perf_counter()
    write(self, network, optimizers, history)
    saves.append((time.process_time() - began[0], time.perf_counter() - began[1], len(history)))
ShardedCheckpoint.save = save
if limit and hows == "parts":
    torch.ones(10, 10) @ torch.ones(10, 10)
    status = dict(line.split(":", 1) for line in open("/proc/self/status") if ":" in line)
    resource.setrlimit(resource.RLIMIT_DATA, ((int(status["VmData"].split()[0]) << 10) + limit, -1))
def one(how):
    saves.clear()
    cpu, wall = [time.process_time()], [time.perf_counter()]
    def on_epoch(record):
        if device == "cuda":
            torch.cuda.synchronize()
        cpu.append(time.process_time())
        wall.append(time.perf_counter())
        return False
    more = {} if name in ("drne", "depthlgp") else {"dim": 128, "init": "none"}  # of these two the defaults
    more |= {"hidden": (256,)} if name == "sdne" else {}
    more |= {} if name == "depthlgp" else {"tolerance": 0}
    model = nf.MODELS[name](epochs=epochs, device=device, **more)
    vectors = folder.replace("big.parts", "v.parts") if name == "depthlgp" else None
    data = nf.Graph.load(folder) if how == "plain" else folder
    saved = {"checkpoint": checkpoint} if checkpoint else {}
    model.fit(data, vectors, progress=False, on_epoch=on_epoch, **saved)
    whole, walled = time.process_time() - cpu[0], time.perf_counter() - wall[0]
    sent = 0
    if how == "parts":
        from netfold.cluster.ranks import start
        sent = start().sent
    status = dict(line.split(":", 1) for line in open("/proc/self/status") if ":" in line)
    peak = int(status["VmHWM"].split()[0]) << 10
    steps = [b - a for a, b in zip(cpu[1:], cpu[2:])]
    walls = [b - a for a, b in zip(wall[1:], wall[2:])]
    if device == "cuda":
        peak = torch.cuda.max_memory_allocated()
    if "," in hows:
        print(name, how, sorted(walls)[len(walls) // 2], "s wall an epoch", file=sys.stderr, flush=True)
    return {"cpu": steps, "wall": walls, "sent": sent, "peak": peak, "whole": whole, "walled": walled,
            "saves": [x for x in saves if x[1] > 1e-3], "objective": model.history_[-1]["objective"]}
print(json.dumps([one(how) for how in hows.split(",")]))
"""


def graph(folder: Path, nodes: int, parts: int, *, vectors: bool = False) -> None:
    """A Chung-Lu graph with five times as many edges as nodes; with random `vectors`, to be extended, beside it."""
    import numpy as np

    from netfold.io.parts import write_vector_parts
    from netfold.studies.datasets.random_graphs import chung_lu

    whole = chung_lu(nodes, 5 * nodes, seed=0)
    whole.save(folder, parts=parts)
    if vectors:
        drawn = np.random.default_rng(0).normal(size=(nodes, 128)).astype(np.float32)
        write_vector_parts(folder.with_name("v.parts"), whole.nodes, drawn, parts=parts)


def run(
    folder: Path,
    size: int,
    epochs: int,
    how: str,
    checkpoint: str = "",
    device: str = "cpu",
    limit: int = 0,
    model: str = "sdne",
) -> list[list[dict[str, Any]]]:
    """What each rank says of its fits, which are `how`: plain, parts, or several of them, by commas, one by one."""
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    processes = []
    for rank in range(size):
        own = {"OMP_NUM_THREADS": "1"}
        own |= {"RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": str(size), "MASTER_ADDR": "127.0.0.1"}
        command = [sys.executable, "-c", _RUN, str(folder), str(epochs), how, checkpoint, device, str(limit), model]
        environment = os.environ | own | {"MASTER_PORT": str(port)}
        processes.append(subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True))
    return [json.loads(process.communicate()[0]) for process in processes]


def saved(answers: list[dict[str, Any]], epochs: int) -> str:
    """What writing states took of the CPU of all ranks and of the slowest rank's wall, the last one apart."""
    cpu, wall = sum(x["whole"] for x in answers), max(x["walled"] for x in answers)
    before = [[save for save in x["saves"] if save[2] < epochs] for x in answers]
    last = [[save for save in x["saves"] if save[2] == epochs] for x in answers]
    words = []
    for name, several in ((f"{len(before[0])} saves", before), ("the last one", last)):
        of_cpu = sum(save[0] for saves in several for save in saves)
        of_wall = max(sum(save[1] for save in saves) for saves in several)
        words.append(f"{name} {of_cpu:.1f} CPU-s ({of_cpu / cpu:.3f}), {of_wall:.1f} s ({of_wall / wall:.3f})")
    return f"; of {cpu:.0f} CPU-s and {wall:.0f} s: {', '.join(words)}"


def in_turns(options: argparse.Namespace) -> None:
    """Parts against plain, in one process that fits one after the other so often: of each the best median epoch."""
    for nodes in options.nodes:
        with tempfile.TemporaryDirectory() as place:
            folder = Path(place, "big.parts")
            graph(folder, nodes, options.parts, vectors=options.model == "depthlgp")
            ways = ["plain", "parts"] * options.turns
            ((*answers,),) = run(folder, 1, options.epochs, ",".join(ways), "", options.device, 0, options.model)
            for clock in ("wall", "cpu"):
                plain, parts = (
                    min(statistics.median(x[clock]) for x, own in zip(answers, ways, strict=True) if own == way)
                    for way in ("plain", "parts")
                )
                words = f"{options.model}, {nodes:,} nodes, {options.device}, {clock}: plain {plain:.4f} s an epoch, "
                print(words + f"parts {parts:.4f} ({parts / plain:.3f}); best of {options.turns} in turn", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, nargs="+", default=[30_000])
    parser.add_argument("--ranks", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--epochs", type=int, default=6)
    parser.add_argument("--parts", type=int, default=64)
    parser.add_argument("--save", action="store_true")
    parser.add_argument("--limit", default="0", help="memory of a rank of parts, as 2GiB")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--model", default="sdne", choices=("sdne", "line", "node2vec", "drne", "depthlgp"))
    parser.add_argument("--turns", type=int, default=0, help="plain and parts in one process, so often in turn")
    parser.add_argument("--skip-plain", action="store_true", help="parts alone")
    options = parser.parse_args()
    if options.turns:
        in_turns(options)
        return
    limit = byte_count(options.limit) if options.limit != "0" else 0
    plains = [] if options.skip_plain else [("plain", 1)]
    before: dict[str, tuple[int, float]] = {}
    for nodes in options.nodes:
        with tempfile.TemporaryDirectory() as place:
            folder = Path(place, "big.parts")
            graph(folder, nodes, options.parts, vectors=options.model == "depthlgp")
            plain = 0.0
            for how, size in [*plains, *(("parts", size) for size in options.ranks)]:
                start = time.perf_counter()
                checkpoint = str(Path(place, f"ck{size}")) if options.save and how == "parts" else ""
                said = run(folder, size, options.epochs, how, checkpoint, options.device, limit, options.model)
                answers = [one for (one,) in said]
                cpu = sum(statistics.median(x["cpu"]) for x in answers)
                wall = max(statistics.median(x["wall"]) for x in answers)
                plain = plain or cpu
                peak = max(x["peak"] for x in answers) / 2**30
                sent = max(x["sent"] for x in answers) / options.epochs / 1e6
                name = how if how == "plain" else f"R = {size}"
                line = f"{nodes:,} nodes, {name}: {cpu:.3f} CPU-s an epoch ({cpu / plain:.2f}), {wall:.3f} s wall, "
                line += f"peak {peak:.2f} GiB, sent {sent:.1f} MB a rank, {time.perf_counter() - start:.0f} s in all"
                if name in before:
                    grown = math.log(cpu / before[name][1]) / math.log(nodes / before[name][0])
                    line += f", exponent {grown:.2f}"
                before[name] = nodes, cpu
                line += saved(answers, options.epochs) if checkpoint else ""
                print(line, flush=True)
    print(f"load {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
