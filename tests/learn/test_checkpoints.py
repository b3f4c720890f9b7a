"""The folder of a checkpoint: what is in it, and that a run takes none but its own."""

from __future__ import annotations

import errno
import json
import os
import shutil
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from checkpointed import GRAPH, SMALL, assert_same, fit, lines, manifest, random_graph, stopped
from netfold.data.graph import Graph
from netfold.embedder import embedder as base
from netfold.io.files import sha256
from netfold.io.tensors import file_facts, read_tensors, write_tensors
from netfold.learn import checkpoints
from netfold.learn.checkpoints import is_finite
from netfold.models import SDNE
from refusals import refused

# -------------------------------------------------------------------- what is in the folder


def test_the_folder_holds_one_state_a_manifest_and_the_metrics(tmp_path: Path) -> None:
    fit(tmp_path / "made" / "on the way")
    folder = tmp_path / "made" / "on the way"
    assert sorted(os.listdir(folder)) == ["manifest.json", "metrics.jsonl", "state-000006.safetensors"]
    (entry,) = manifest(folder)["files"]
    assert entry["name"] == "state-000006.safetensors"
    assert entry["sha256"] == sha256(folder / entry["name"])
    assert manifest(folder)["run"]["config"] == {**SDNE(**SMALL).get_params(), "hidden": [8], "alpha": 1.0, "lr": 0.003}


def test_a_finished_run_is_not_run_again(tmp_path: Path) -> None:
    first = fit(tmp_path)
    before = {p.name: (p.stat().st_mtime_ns, p.read_bytes()) for p in tmp_path.glob("state-*")}
    epochs: list[Any] = []
    again = fit(tmp_path, on_epoch=epochs.append)
    assert epochs == []
    assert_same(first, again)
    assert again.history_ == first.history_, "the seconds, too, are those of the run"
    assert {p.name: (p.stat().st_mtime_ns, p.read_bytes()) for p in tmp_path.glob("state-*")} == before


@pytest.mark.parametrize(
    "config", [{}, {"epochs": 60, "tolerance": 0.05, "patience": 4}], ids=["all epochs", "converged"]
)
def test_the_last_state_is_written_however_short_the_run(config: dict[str, Any], tmp_path: Path) -> None:
    model = fit(tmp_path, every=3600, **config)
    assert len(manifest(tmp_path)["history"]) == len(model.history_)
    assert lines(tmp_path) == model.history_


def test_states_are_as_far_apart_as_was_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [0.0]
    monkeypatch.setattr(checkpoints.time, "monotonic", lambda: clock[0])
    written: list[int] = []

    def tick(record: dict[str, float]) -> None:  # called before the state is written
        written.append(len(manifest(tmp_path)["history"]) if (tmp_path / "manifest.json").exists() else 0)
        clock[0] += 10

    fit(tmp_path, every=20, on_epoch=tick)
    assert written == [0, 0, 2, 2, 4, 4]


def test_a_stop_by_the_hook_is_kept(tmp_path: Path) -> None:
    model = fit(tmp_path, every=3600, on_epoch=lambda r: r["epoch"] == 2)
    assert len(model.history_) == len(manifest(tmp_path)["history"]) == 2
    assert_same(fit(), fit(tmp_path))


def test_metrics_of_a_run_that_died_before_its_first_state(tmp_path: Path) -> None:
    (tmp_path / "metrics.jsonl").write_text('{"epoch": 1}\n{"epoch": 2}\n{"epo')
    model = fit(tmp_path)
    assert lines(tmp_path) == model.history_


def test_metrics_written_after_the_last_state_are_written_again(tmp_path: Path) -> None:
    stopped(tmp_path, 3)
    with (tmp_path / "metrics.jsonl").open("a") as file:
        file.write('{"epoch": 4, "objective": 1.0}\n{"epoch": 5, "obj')
    resumed = fit(tmp_path)
    assert lines(tmp_path) == resumed.history_


def test_leftovers_of_a_killed_run_are_swept(tmp_path: Path) -> None:
    stopped(tmp_path, 3)
    for name in (".state-000004.safetensors.a1b2", ".manifest.json.x_y", ".metrics.jsonl.zz"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "half").write_bytes(b"half")
    (tmp_path / "state-000004.safetensors").write_bytes(b"half")
    (tmp_path / "notes.txt").write_text("mine")
    fit(tmp_path)
    assert sorted(os.listdir(tmp_path)) == ["manifest.json", "metrics.jsonl", "notes.txt", "state-000006.safetensors"]


def test_an_old_state_that_a_killed_run_left_is_swept_though_all_epochs_are_done(tmp_path: Path) -> None:
    fit(tmp_path)
    (tmp_path / "state-000005.safetensors").write_bytes(b"killed before this was removed")
    fit(tmp_path)
    assert [p.name for p in tmp_path.glob("state-*")] == ["state-000006.safetensors"]


@pytest.mark.parametrize(
    ("values", "answer"),
    [
        ([], True),
        ([1.0, -2.0], True),
        ([3e38, 3e38, 3e38], True),  # whose sum is not
        ([1.0, float("nan")], False),
        ([float("-inf"), float("inf")], False),
    ],
)
def test_is_finite(values: list[float], answer: bool) -> None:
    assert is_finite(torch.tensor(values)) is answer
    assert is_finite(torch.tensor([1, 2]))


# -------------------------------------------------------------------- what is refused


@pytest.mark.parametrize(
    ("config", "said"),
    [
        ({"alpha": 0.5}, r"another configuration (alpha differs)"),
        ({"epochs": 7, "alpha": 0.5}, r"another configuration (alpha differs)"),
        ({"dim": 5, "seed": 1}, r"another configuration (dim, seed differ)"),
    ],
)
def test_another_configuration(config: dict[str, Any], said: str, tmp_path: Path) -> None:
    stopped(tmp_path)
    before = (tmp_path / "manifest.json").read_bytes()
    expected = f"{tmp_path} is the checkpoint of {said}; give another folder, or remove it to start anew"
    assert refused(fit, tmp_path, **config) == expected
    assert (tmp_path / "manifest.json").read_bytes() == before
    assert_same(fit(), fit(tmp_path))


def test_another_graph(tmp_path: Path) -> None:
    stopped(tmp_path)
    assert "is the checkpoint of another graph; give" in refused(fit, tmp_path, graph=random_graph(1))
    heavier = Graph.from_scipy(GRAPH.adjacency * 0.5)
    assert "another graph" in refused(fit, tmp_path, graph=heavier)
    renamed = Graph(GRAPH.adjacency, [f"n{i}" for i in range(GRAPH.n_nodes)])  # type: ignore[arg-type]
    assert "another graph" in refused(fit, tmp_path, graph=renamed)
    assert_same(fit(), fit(tmp_path, graph=random_graph()))  # an equal graph is the same graph


def test_another_version_and_another_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stopped(tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr(base, "version", lambda package="netfold": "9.9")
        assert "is the checkpoint of another version; give" in refused(fit, tmp_path)
    rewrite(tmp_path, lambda m: m["run"].update(model="DRNE"))
    assert "is the checkpoint of another model; give" in refused(fit, tmp_path)


def rewrite(folder: Path, change: Any) -> None:
    facts = manifest(folder)
    change(facts)
    (folder / "manifest.json").write_text(json.dumps(facts))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda m: m.update(run=None), "another model"),
        (lambda m: m.update(run={"config": 3}), "another model"),
        (lambda m: m["run"].update(config=[1]), "another config;"),
        (lambda m: m.update(format=2), "this netfold reads format 1"),
        (lambda m: m.update(kind="model"), "does not describe a checkpoint"),
        (lambda m: m.update(files=[]), "lists no files"),
        (lambda m: m.update(history=None), "has no record of numbers"),
        (lambda m: m.update(history=[3]), "epoch 1 has no record of numbers"),
        (lambda m: m["history"][1].update(objective="low"), "epoch 2 has no record of numbers"),
        (lambda m: m["history"].pop(0), "epoch 1 has no record of numbers"),
        (lambda m: m["files"][0].update(name="../x"), "outside the folder"),
    ],
)
def test_a_damaged_manifest(change: Any, said: str, tmp_path: Path) -> None:
    stopped(tmp_path)
    rewrite(tmp_path, change)
    assert said in refused(fit, tmp_path)


@pytest.mark.parametrize("text", ["", "{", "[1]", "null", "[" * 100_000, "\x00\x01", "\udcff"])
def test_a_manifest_that_is_no_manifest(text: str, tmp_path: Path) -> None:
    stopped(tmp_path)
    (tmp_path / "manifest.json").write_bytes(text.encode("utf-8", "surrogateescape"))
    assert str(tmp_path / "manifest.json") in refused(fit, tmp_path)


def state_file(folder: Path) -> Path:
    (path,) = folder.glob("state-*")
    return path


def test_a_damaged_state(tmp_path: Path) -> None:
    stopped(tmp_path)
    path = state_file(tmp_path)
    good = path.read_bytes()
    path.write_bytes(good[:-1])
    assert "its hash differs" in refused(fit, tmp_path)
    path.write_bytes(good[:-1] + bytes([good[-1] ^ 1]))
    assert "its hash differs" in refused(fit, tmp_path)
    path.unlink()
    assert "is missing" in refused(fit, tmp_path)
    path.write_bytes(good)
    assert_same(fit(), fit(tmp_path))


def swap_state(folder: Path, tensors: dict[str, Any]) -> None:
    """Another state under a manifest that vouches for it."""
    write_tensors(state_file(folder), tensors)
    rewrite(folder, lambda m: m.update(files=[file_facts(state_file(folder))]))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda s: s.update({"network.first.bias": np.full(8, np.nan, np.float32)}), "not finite"),
        (lambda s: s.update({"network.first.bias": np.zeros(9, np.float32)}), "does not fit this model"),
        (lambda s: s.pop("network.first.bias"), "does not fit this model"),
        (lambda s: s.update({"network.extra": np.zeros(9, np.float32)}), "does not fit this model"),
        (lambda s: s.update({"optimizer.0.x.step": np.zeros(9, np.float32)}), "does not fit this model"),
    ],
)
def test_a_state_of_another_shape(change: Any, said: str, tmp_path: Path) -> None:
    stopped(tmp_path)
    tensors = read_tensors(state_file(tmp_path))
    change(tensors)
    swap_state(tmp_path, tensors)
    assert said in refused(fit, tmp_path)


def test_a_file_where_the_folder_should_be(tmp_path: Path) -> None:
    (tmp_path / "x").write_text("mine")
    assert refused(fit, tmp_path / "x") == f"{tmp_path / 'x'} is a file; a checkpoint is a folder"
    assert "cannot be made: Not a directory" in refused(fit, tmp_path / "x" / "y")
    assert (tmp_path / "x").read_text() == "mine"


# -------------------------------------------------------------------- one process at a time


def test_two_processes_with_one_folder(tmp_path: Path) -> None:
    """The second is refused in one sentence that names the first, before and while it trains."""
    code = f"""
import sys
sys.path[:0] = {sys.path!r}
from pathlib import Path
from checkpointed import fit
print("started", flush=True)
fit(Path({str(tmp_path / "run")!r}), on_epoch=lambda r: print("epoch", flush=True) or sys.stdin.readline())
"""
    command = [sys.executable, "-c", code]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as first:
        assert first.stdin is not None and first.stdout is not None
        assert [first.stdout.readline() for _ in range(2)] == ["started\n", "epoch\n"]
        said = refused(fit, tmp_path / "run")
        who = f"process {first.pid} on {socket.gethostname()}"
        assert said == f"{tmp_path / 'run'} is in use by {who}; wait until that has ended, or give another folder"
        first.communicate("\n" * 6, timeout=60)
    assert first.returncode == 0
    assert_same(fit(), fit(tmp_path / "run"))
    assert not (tmp_path / "run" / ".lock").exists()


def test_a_lock_that_a_killed_process_left_locks_nothing(tmp_path: Path) -> None:
    stopped(tmp_path)
    (tmp_path / ".lock").write_text("process 1 on elsewhere")
    assert_same(fit(), fit(tmp_path))
    assert not (tmp_path / ".lock").exists()


def test_a_run_that_failed_lets_go_of_its_folder(tmp_path: Path) -> None:
    stopped(tmp_path)
    assert sorted(os.listdir(tmp_path)) == ["manifest.json", "metrics.jsonl", "state-000003.safetensors"]


def test_a_finished_checkpoint_in_a_folder_to_read_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = fit(tmp_path)
    (tmp_path / "state-000005.safetensors").write_bytes(b"an old one")

    def read_only(*_: Any, **__: Any) -> None:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    opened = os.open
    for name in ("mkdir", "unlink", "replace", "rename", "rmdir"):
        monkeypatch.setattr(os, name, read_only)
    monkeypatch.setattr(
        os, "open", lambda path, flags, *rest, **more: read_only() if flags & 3 else opened(path, flags, *rest, **more)
    )
    monkeypatch.setattr(Path, "mkdir", lambda *_, **__: None)  # it is there
    assert_same(first, fit(tmp_path))


def test_a_disk_without_room_for_the_states_is_refused_before_the_first_epoch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    usage = shutil.disk_usage(tmp_path)
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage._replace(free=100))
    epochs: list[Any] = []
    assert "there is no room for" in refused(fit, tmp_path / "run", on_epoch=epochs.append)
    assert epochs == []


@pytest.mark.parametrize("every", [float("nan"), -1.0])
def test_a_time_between_states_that_is_none(every: float, tmp_path: Path) -> None:
    assert "checkpoint_every=" in refused(fit, tmp_path / "run", every=every)
    assert not (tmp_path / "run").exists()
