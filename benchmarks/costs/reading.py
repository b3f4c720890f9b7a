"""How much CPU time and memory reading a large file of edges takes, beside pandas.

    PYTHONPATH=src python benchmarks/costs/reading.py --edges 20000000 --nodes 2000000 --repeat 3

Each contender runs in a fresh process, one after another, and the rounds are interleaved, so that what else the
machine does hits all of them alike. CPU seconds are user + system of the process, its import of libraries included,
since a user pays for it too. pandas' own parser (its C engine, default settings) appears twice: reading alone, and the
same job as ours, which is a numbered, symmetric sparse matrix.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

_STEP = 500_000


def netfold_graph(path: str) -> str:
    from netfold.io.edges import read_edges

    return repr(read_edges(path))


def pandas_read(path: str) -> str:
    import pandas

    return f"{len(pandas.read_csv(path)):,} rows"


def pandas_graph(path: str) -> str:
    import pandas
    from scipy import sparse

    table = pandas.read_csv(path)
    codes, labels = pandas.factorize(pandas.concat([table["source"], table["target"]], ignore_index=True))
    m, n = len(table), len(labels)
    del table
    ones = np.ones(2 * m, np.float32)
    matrix = sparse.coo_array((ones, (codes, np.concatenate([codes[m:], codes[:m]]))), shape=(n, n)).tocsr()
    matrix.data[:] = 1
    return f"{n:,} nodes, {matrix.nnz:,} entries"


CONTENDERS: dict[str, Callable[[str], str]] = {
    "netfold.read_edges": netfold_graph,
    "pandas.read_csv alone": pandas_read,
    "pandas, the same job": pandas_graph,
}


def run_one(name: str, path: str) -> None:
    """In a process of its own: do it, and print what it took."""
    result, spent = CONTENDERS[name](path), os.times()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps({"cpu": sum(spent[:4]), "peak": peak, "result": result}))


def measured(name: str, path: Path) -> dict[str, Any]:
    start = time.perf_counter()
    command = [sys.executable, __file__, "--run", name, str(path)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return {**json.loads(done.stdout), "wall": time.perf_counter() - start}


def spelt(values: npt.NDArray[np.int64], width: int) -> npt.NDArray[np.uint8]:
    """Decimal digits with leading zeros, values x width."""
    letters = np.empty((len(values), width), np.uint8)
    for k in range(width - 1, -1, -1):
        values, digit = np.divmod(values, 10)
        letters[:, k] = digit + ord("0")
    return letters


def write_files(folder: Path, edges: int, nodes: int) -> dict[str, Path]:
    """The same random edges between integers, and between names such as user_0001234."""
    rng = np.random.default_rng(0)
    width = len(str(nodes - 1))
    paths = {"integers": folder / "integers.csv", "strings": folder / "strings.csv"}
    with paths["integers"].open("wb") as integers, paths["strings"].open("wb") as strings:
        for file in (integers, strings):
            file.write(b"source,target\n")
        for start in range(0, edges, _STEP):
            digits = spelt(rng.integers(0, nodes, 2 * min(_STEP, edges - start)), width)
            ends = np.tile(np.frombuffer(b",\n", np.uint8), len(digits) // 2)[:, None]
            rows = np.concatenate([digits, ends], axis=1)
            kept = np.ones(rows.shape, bool)
            kept[:, : width - 1] = np.logical_or.accumulate(digits != ord("0"), axis=1)[:, : width - 1]
            integers.write(rows[kept].tobytes())
            prefix = np.broadcast_to(np.frombuffer(b"user_", np.uint8), (len(rows), 5))
            strings.write(np.concatenate([prefix, rows], axis=1).tobytes())
    return paths


def main() -> None:
    parser = argparse.ArgumentParser(description="CPU time and memory of reading edges, beside pandas.")
    parser.add_argument("--edges", type=int, default=20_000_000)
    parser.add_argument("--nodes", type=int, default=2_000_000)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--run", nargs=2, metavar=("CONTENDER", "FILE"), help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.run:
        run_one(*given.run)
        return
    with tempfile.TemporaryDirectory(prefix="netfold-reading-") as folder:
        paths = write_files(Path(folder), given.edges, given.nodes)
        print(f"{given.edges:,} edges, {given.nodes:,} nodes, median of {given.repeat}")
        print(f"{'labels':9} {'contender':22} {'CPU s':>7} {'wall s':>7} {'peak MiB':>9} {'of CPU':>7} {'of peak':>7}")
        for labels, path in paths.items():
            rounds = [{name: measured(name, path) for name in CONTENDERS} for _ in range(given.repeat)]
            report(labels, rounds)


def report(labels: str, rounds: list[dict[str, dict[str, Any]]]) -> None:
    """One line for each contender, and what share of its CPU time and peak memory netfold takes."""

    def median(name: str, what: str) -> float:
        return float(statistics.median(one[name][what] for one in rounds))

    for name in CONTENDERS:
        cpu, wall, peak = (median(name, what) for what in ("cpu", "wall", "peak"))
        ours = [median("netfold.read_edges", what) for what in ("cpu", "peak")]
        ratios = f"{ours[0] / cpu:6.2f}x {ours[1] / peak:6.2f}x"
        print(
            f"{labels:9} {name:22} {cpu:7.2f} {wall:7.2f} {peak:9.0f} {ratios}   {rounds[0][name]['result']}",
            flush=True,
        )


if __name__ == "__main__":
    main()
