"""What several ranks cost against one process: CPU an epoch, wall, bytes, memory, and saves; SDNE 256-128, Adam.

python benchmarks/costs/several.py --nodes 30000 --ranks 1 2            # rows of the table in docs/large-graphs.md
python benchmarks/costs/several.py --nodes 300000 --ranks 1 2 --epochs 3
python benchmarks/costs/several.py --model drne --nodes 30000           # DRNE with its defaults

Every line is processes of its own, one thread a rank. `plain` is `fit(graph)`; others are `fit("big.parts")`. CPU is
the median epoch, summed over ranks; on a busy machine only ratios of CPU count, and they by some per cent. `--save`
adds a checkpoint at the default interval, and its share of the CPU.
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

_RUN = """
import json, sys, time, torch
import netfold as nf
torch.set_num_threads(1)
folder, epochs, how, checkpoint, name = sys.argv[1], int(sys.argv[2]), *sys.argv[3:6]
cpu, wall = [time.process_time()], [time.perf_counter()]
def on_epoch(record):
    cpu.append(time.process_time())
    wall.append(time.perf_counter())
    return False
own = {"hidden": (256,), "dim": 128, "init": "none"} if name == "sdne" else {}
model = nf.MODELS[name](epochs=epochs, tolerance=0, device="cpu", **own)
data = nf.Graph.load(folder) if how == "plain" else folder
saved = {"checkpoint": checkpoint} if checkpoint else {}
model.fit(data, progress=False, on_epoch=on_epoch, **saved)
whole = time.process_time() - cpu[0]
network = None if how == "plain" else model.network_
sent = getattr(network, "sent", None) or getattr(getattr(network, "exchange", None), "sent", 0)
status = dict(line.split(":", 1) for line in open("/proc/self/status") if ":" in line)
peak = int(status["VmHWM"].split()[0]) << 10
steps = [b - a for a, b in zip(cpu[1:], cpu[2:])]
walls = [b - a for a, b in zip(wall[1:], wall[2:])]
print(json.dumps({"cpu": steps, "wall": walls, "sent": sent or 0, "peak": peak, "whole": whole,
                  "objective": model.history_[-1]["objective"]}))
"""


def graph(folder: Path, nodes: int, parts: int) -> None:
    """A Chung-Lu graph with five times as many edges as nodes."""
    from netfold.studies.datasets.random_graphs import chung_lu

    chung_lu(nodes, 5 * nodes, seed=0).save(folder, parts=parts)


def run(
    folder: Path, size: int, epochs: int, how: str, checkpoint: str = "", model: str = "sdne"
) -> list[dict[str, object]]:
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    processes = []
    for rank in range(size):
        own = {"OMP_NUM_THREADS": "1"}
        own |= {"RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": str(size), "MASTER_ADDR": "127.0.0.1"}
        command = [sys.executable, "-c", _RUN, str(folder), str(epochs), how, checkpoint, model]
        environment = os.environ | own | {"MASTER_PORT": str(port)}
        processes.append(subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True))
    return [json.loads(process.communicate()[0]) for process in processes]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, nargs="+", default=[30_000])
    parser.add_argument("--ranks", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--epochs", type=int, default=6)
    parser.add_argument("--parts", type=int, default=64)
    parser.add_argument("--save", action="store_true")
    parser.add_argument("--model", choices=("sdne", "drne"), default="sdne")
    options = parser.parse_args()
    before: dict[str, tuple[int, float]] = {}
    for nodes in options.nodes:
        with tempfile.TemporaryDirectory() as place:
            folder = Path(place, "big.parts")
            graph(folder, nodes, options.parts)
            plain = 0.0
            for how, size in [("plain", 1), *(("parts", size) for size in options.ranks)]:
                start = time.perf_counter()
                checkpoint = str(Path(place, f"ck{size}")) if options.save and how == "parts" else ""
                answers = run(folder, size, options.epochs, how, checkpoint, options.model)
                cpu = sum(statistics.median(x["cpu"]) for x in answers)  # type: ignore[arg-type,misc]
                wall = max(statistics.median(x["wall"]) for x in answers)  # type: ignore[type-var]
                plain = plain or cpu
                peak = max(x["peak"] for x in answers) / 2**30  # type: ignore[operator,type-var]
                sent = max(x["sent"] for x in answers) / options.epochs / 1e6  # type: ignore[operator,type-var]
                name = how if how == "plain" else f"R = {size}"
                line = f"{nodes:,} nodes, {name}: {cpu:.3f} CPU-s an epoch ({cpu / plain:.2f}), {wall:.3f} s wall, "
                line += f"peak {peak:.2f} GiB, sent {sent:.1f} MB a rank, {time.perf_counter() - start:.0f} s in all"
                if name in before:
                    grown = math.log(cpu / before[name][1]) / math.log(nodes / before[name][0])
                    line += f", exponent {grown:.2f}"
                before[name] = nodes, cpu
                print(line, flush=True)
    print(f"load {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
