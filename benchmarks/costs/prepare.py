"""What `netfold prepare` costs: CPU seconds, peak memory and disk, from a million edges up, with strings for names.

python benchmarks/costs/prepare.py --edges 1000000 10000000 --memory 512MiB --folder /tmp

Each size is a process of its own. The graph is skewed: an edge joins two nodes drawn as the power 3 of a uniform
number, one node in five edges. `peak` is the process's own (VmHWM), Python and duckdb's library included.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

_RUN = """
import json, resource, sys, time
from netfold.io.prepare import prepare
from pathlib import Path
began = time.process_time()
spans, last = {}, [began, "rows"]
def report(words):
    name = words.split()[0]
    now = time.process_time()
    spans[last[1]] = spans.get(last[1], 0) + now - last[0]
    last[:] = [now, name]
facts = prepare(sys.argv[1], sys.argv[2], parts=int(sys.argv[3]), memory=sys.argv[4], threads=int(sys.argv[5]),
                report=report)
report("end")
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
print(json.dumps(facts | {"cpu": time.process_time() - began, "peak": peak, "spans": spans}))
"""


def edges(path: Path, count: int, files: int = 4) -> None:
    """Parquet files with the columns source and target, names such as user-00012345."""
    import duckdb

    connection = duckdb.connect(config={"threads": 1, "memory_limit": "1GB"})
    n = count // 5
    for k in range(files):
        end = f"'user-' || lpad((pow(random(), 3) * {n})::BIGINT::VARCHAR, 8, '0')"
        query = f"SELECT {end} AS source, {end} AS target FROM range({count // files})"
        connection.execute(f"SELECT setseed({k / files})")
        connection.execute(f"COPY ({query}) TO '{path / f'{k}.parquet'}' (FORMAT parquet)")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--edges", type=int, nargs="+", default=[1_000_000, 10_000_000])
    parser.add_argument("--memory", default="512MiB")
    parser.add_argument("--parts", type=int, default=64)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--folder", default=tempfile.gettempdir())
    options = parser.parse_args()
    before: tuple[int, float] | None = None
    for count in options.edges:
        with tempfile.TemporaryDirectory(dir=options.folder) as folder:
            source, out = Path(folder, "edges"), Path(folder, "big.parts")
            source.mkdir()
            edges(source, count)
            arguments = [str(source), str(out), str(options.parts), options.memory, str(options.threads)]
            start = time.perf_counter()
            done = subprocess.run([sys.executable, "-c", _RUN, *arguments], capture_output=True, text=True)
            if done.returncode:
                sys.exit(done.stderr)
            facts = json.loads(done.stdout)
            wall, size = time.perf_counter() - start, sum(x.stat().st_size for x in out.iterdir())
        spans = ", ".join(f"{name} {seconds:.1f}" for name, seconds in facts["spans"].items())
        print(
            f"{count:,} edges, {facts['nodes']:,} nodes, {facts['arcs']:,} arcs, {options.memory}: "
            f"{facts['cpu']:.1f} CPU-s ({1e6 * facts['cpu'] / count:.2f} a million edges), {wall:.0f} s, peak "
            f"{facts['peak'] / 2**30:.2f} GiB, {size / 2**30:.2f} GiB written, balance {facts['balance']:.2f}; {spans}"
        )
        if before is not None:
            print(f"  exponent {math.log(facts['cpu'] / before[1]) / math.log(count / before[0]):.2f}")
        before = (count, facts["cpu"])
    print(f"load {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
