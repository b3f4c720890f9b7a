"""What an update of one new node costs, in a loaded `Evolving`, the written version included.

    OMP_NUM_THREADS=1 python benchmarks/costs/evolving.py [--nodes 1000000]

The model is an untrained SDNE of 16 dimensions over a ring: what is measured is what an update does beside placing, and
`transform` of the same node stands beside it.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from pathlib import Path

import numpy as np

import netfold as nf


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, default=1_000_000)
    n = parser.parse_args().nodes
    ring = nf.Graph.from_edges(np.column_stack([np.arange(n), (np.arange(n) + 1) % n]))
    model = nf.SDNE(dim=16, hidden=(), epochs=0, init="none").fit(ring, progress=False)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "m"
        model.save(path)
        begun = time.process_time()
        stream = nf.Evolving.open(path)
        print(f"opened in {time.process_time() - begun:.2f} CPU-s")
        stream.update([(2 * n, 5)])
        updates, transforms = [], []
        for i in range(10):
            edges = [(n + i, 7 * i), (n + i, 7 * i + 1)]
            times = [time.process_time()]
            for use in (stream.update, model.transform):
                use(edges)
                times.append(time.process_time())
            updates.append(1e3 * (times[1] - times[0]))
            transforms.append(1e3 * (times[2] - times[1]))
    print(f"{n:,} nodes: update {statistics.median(updates):.1f} CPU-ms, transform {statistics.median(transforms):.1f}")


if __name__ == "__main__":
    main()
