"""Everything we write, killed at every step of replacing it: the old one or the new one is there, and nothing is left.

This file is two things, as `tests/embedder/test_kill.py` is, which has the same for checkpoints: a test, and the
program that the test starts. The program gets everything ready once and forks a child for every kill.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kills import kill_at

CALLS = ("mkdir", "fsync", "replace", "rename", "unlink", "rmdir")
MOST = 60


def artefacts() -> dict[str, tuple[Callable[[Path, int], None], Callable[[Path], int]]]:
    """How each is written, with a number in it, and how that number is read back."""
    import numpy as np

    import netfold as nf
    from netfold.cli.output import write_table
    from netfold.io.hif import read_hif, write_hif
    from netfold.studies import reproduce
    from published_tables import TEXT, recorded

    graphs = {k: nf.Graph.from_edges([(f"n{i}", f"n{i + 1}") for i in range(k)]) for k in (3, 4)}
    models = {k: nf.SDNE(dim=2, hidden=(), epochs=1).fit(graph, progress=False) for k, graph in graphs.items()}
    tuples = {k: nf.Hypergraph.from_tuples([(i, i + 1, i + 2) for i in range(k)]) for k in (3, 4)}

    def vectors(path: Path, k: int) -> None:
        nf.Embedding([f"n{i}" for i in range(k)], np.eye(k)).save(path, force=True)

    def report(path: Path, k: int) -> None:
        sheets = [nf.report.Sheet("SDNE", models[k])]
        nf.report.write(sheets, path, title=f"{k}", method="pca", evaluate=False, force=True)

    def table(path: Path, k: int) -> None:
        if not path.exists():
            path.write_text(TEXT)
        reproduce.record(reproduce.read_table(path), recorded(vectors=reproduce.RecordedRow("ab", {"MAP": float(k)})))

    def in_table(path: Path) -> int:
        found = reproduce.read_table(path).recorded
        return int(found.rows["vectors"].mean["MAP"]) if found is not None else 0

    made: dict[str, Any] = {
        "model": (lambda p, k: models[k].save(p, force=True), lambda p: len(nf.load(p).embedding_) - 1),
        "graph": (lambda p, k: graphs[k].save(p, force=True), lambda p: nf.Graph.load(p).n_edges),
        "hif.json": (lambda p, k: write_hif(tuples[k], p), lambda p: read_hif(p).n_edges),
        "report.html": (report, lambda p: 3 if "<title>3" in p.read_text() else 4),
        "table.toml": (table, in_table),
        "scores.csv": (
            lambda p, k: write_table(str(p), {"node": range(k)}),
            lambda p: len(p.read_text().split()) - 1,
        ),
    }
    endings = (".npz", ".csv", ".txt", ".bin", ".parquet")
    made |= {f"v{ending}": (vectors, lambda p: len(nf.Embedding.load(p))) for ending in endings}
    return made


def doomed(write: Callable[[], None], n: int) -> None:
    """Write, and be killed at the n-th call that changes the disk."""
    from netfold.io import files

    counted = kill_at(n, CALLS)
    files._exchange = counted(files._exchange)  # type: ignore[assignment]
    write()


def killed(write: Callable[[Path, int], None], read: Callable[[Path], int], home: Path, name: str) -> dict[str, Any]:
    found: dict[str, Any] = {"kills": 0, "values": [], "left": []}
    for n in range(1, MOST):
        place = home / f"{name}.{n}"
        place.mkdir(parents=True)
        write(place / name, 3)
        child = os.fork()
        if child == 0:
            try:
                doomed(lambda place=place: write(place / name, 4), n)  # type: ignore[misc]
                os._exit(0)
            finally:
                os._exit(1)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        found["values"].append(read(place / name))
        write(place / name, 4)
        found["left"] += [x for x in os.listdir(place) if x != name] + ([] if read(place / name) == 4 else ["old"])
        if code != -signal.SIGKILL:
            return found | {"code": code}
        found["kills"] += 1
    return found | {"code": "never ended"}


def main(home: Path) -> None:
    import torch

    torch.set_num_threads(1)
    warnings.simplefilter("ignore")  # what is swept is named
    print(json.dumps({name: killed(*how, home, name) for name, how in artefacts().items()}))


@pytest.fixture(scope="module")
def facts(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, __file__, str(tmp_path_factory.mktemp("kills"))]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False, env=environment)
    assert done.returncode == 0, done.stderr
    return dict(json.loads(done.stdout))


@pytest.mark.parametrize(
    "name",
    [
        "model",
        "graph",
        "hif.json",
        "report.html",
        "table.toml",
        "scores.csv",
        "v.npz",
        "v.csv",
        "v.txt",
        "v.bin",
        "v.parquet",
    ],
)
def test_killed_at_every_step(name: str, facts: dict[str, Any]) -> None:
    found = facts[name]
    assert found["code"] == 0 and found["kills"] >= 4
    assert set(found["values"]) == {3, 4}, "the old one before its name was taken, the new one after"
    assert found["values"] == sorted(found["values"])
    assert found["left"] == []


if __name__ == "__main__":
    main(Path(sys.argv[1]))
