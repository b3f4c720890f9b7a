"""Tables that do not fit into memory are mapped: the same numbers, slower, to the end."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

import netfold as nf
from netfold.cluster.room import Room, memory_left

_LIMITED = """
import resource, sys
import netfold as nf
import netfold.models.sdne.sharded, netfold.embedder.parts, netfold.cluster.checkpoints, netfold.studies.plan
import torch
torch.ones(10, 10) @ torch.ones(10, 10)
status = dict(line.split(":", 1) for line in open("/proc/self/status"))
now = int(status["VmData"].split()[0]) << 10
resource.setrlimit(resource.RLIMIT_DATA, (now + (int(sys.argv[3]) << 20), -1))
model = nf.SDNE(dim=32, hidden=(256,), epochs=2, init="none", device="cpu", tolerance=0)
model.fit(sys.argv[1])
model.save(sys.argv[2])
print(model.history_[-1]["objective"])
"""


@pytest.mark.slow
def test_a_graph_whose_tables_exceed_the_memory_is_trained_all_the_same(tmp_path: Path) -> None:
    """60,000 nodes take 560 MiB; the process may take 256 MiB beyond what it has when all is imported."""
    rng = np.random.default_rng(0)
    nf.Graph.from_edges(rng.integers(0, 60_000, (120_000, 2))).save(tmp_path / "g.parts", parts=64)
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "OMP_NUM_THREADS": "1"}
    environment |= {"NETFOLD_SCRATCH": str(tmp_path), "MALLOC_ARENA_MAX": "1"}
    answers = {}
    for limit in (100_000, 256):
        out = tmp_path / f"v{limit}.parts"
        command = [sys.executable, "-c", _LIMITED, str(tmp_path / "g.parts"), str(out), str(limit)]
        done = subprocess.run(command, env=environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr[-2000:]
        assert ("tables are mapped in" in done.stderr) == (limit == 256)
        answers[limit] = float(done.stdout), nf.Embedding.load(out)
    assert answers[256][0] == answers[100_000][0]
    np.testing.assert_array_equal(answers[256][1].vectors, answers[100_000][1].vectors)
    assert not list(tmp_path.glob("netfold-*")), "nothing is left of the files that were mapped"


def test_arrays_in_files(tmp_path: Path) -> None:
    room = Room(resident=False, scratch=tmp_path)
    network = torch.nn.Linear(3, 2, device="meta")
    room.materialise(network, torch.device("cpu"))
    assert (
        network.weight.grad is not None and float(network.weight.detach().sum()) == 0 and not list(tmp_path.iterdir())
    )
    with torch.no_grad():
        network.weight.add_(1)
    assert float(network(torch.ones(1, 3)).detach().sum()) == 6
    assert room.empty((0, 3), dtype=torch.float32).shape == (0, 3)
    assert Room().state is None and room.state is not None
    assert 0 < memory_left() < 1 << 62
