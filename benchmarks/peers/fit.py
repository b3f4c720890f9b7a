"""Run one method in a process of its own: `python fit.py FOLDER`, which has `job.json` and gets `report.json`.

The method is a function `module:name` beside this file, of a `Job`. It returns the vectors, or None where the clock
stopped it. Its module imports its library at the top, so that neither importing nor reading the graph is counted.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import json
import math
import resource
import sys
from pathlib import Path
from typing import Any

import numpy as np
from job import Clock, Job, cpu_seconds
from scipy import sparse


def main(folder: Path) -> None:
    """Do what `job.json` says, and report how it went."""
    asked = json.loads((folder / "job.json").read_text())
    module, _, name = asked["adapter"].partition(":")
    try:
        method = getattr(importlib.import_module(module), name)
    except ModuleNotFoundError as error:
        report: dict[str, Any] = {"missing": str(error)}
    else:
        report = measured(method, asked, folder)
    (folder / "report.json").write_text(json.dumps(report))


def measured(method: Any, asked: dict[str, Any], folder: Path) -> dict[str, Any]:
    """The cost of a method whose library is there, its vectors written to `vectors.npy`; or why it does not run."""
    versions = {name: importlib.metadata.version(name) for name in asked["packages"]}
    clock = Clock(asked["limit"])
    matrix = sparse.csr_matrix(sparse.load_npz(asked["graph"]))
    job = Job(matrix, asked["dim"], asked["seed"], clock, asked["options"])
    most = math.ceil(cpu_seconds() + 1.2 * asked["limit"])  # one foretold to end in time may still need a little more
    resource.setrlimit(resource.RLIMIT_CPU, (most, most + 5))
    clock.start()
    try:
        vectors = method(job)
    except Exception as error:
        return {"versions": versions, "failed": f"{type(error).__name__}: {error}"}
    cpu, wall = clock.spent()
    if vectors is not None:
        np.save(folder / "vectors.npy", np.asarray(vectors, np.float32))
    return {"versions": versions, "cpu": cpu, "wall": wall, "peak": peak_mib(), "foretold": clock.foretold}


def peak_mib() -> float:
    """The most memory that this program had; getrusage would also count the process that started it."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM:")) / 1024


if __name__ == "__main__":
    main(Path(sys.argv[1]))
