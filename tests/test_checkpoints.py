"""Checkpoints: a run that was stopped ends with the same bits, and only its own checkpoint is taken."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from netfold import base, checkpoints, files
from netfold.checkpoints import Checkpoint, is_finite
from netfold.errors import InputError
from netfold.files import sha256
from netfold.graph import Graph
from netfold.models import SDNE
from netfold.training import OPTIMIZERS, Block, train


def random_graph(seed: int = 0) -> Graph:
    return Graph.from_edges(np.random.default_rng(seed).integers(0, 50, (150, 2)))


GRAPH = random_graph()
SMALL: dict[str, Any] = {"dim": 4, "hidden": (8,), "epochs": 6, "tolerance": 0.0}


def fit(
    folder: Path | None = None, *, graph: Graph = GRAPH, every: float = 0, on_epoch: Any = None, **config: Any
) -> SDNE:
    model = SDNE(**SMALL | config)
    return model.fit(graph, progress=False, checkpoint=folder, checkpoint_every=every, on_epoch=on_epoch)


def interrupt_at(epoch: int) -> Any:
    def hook(record: dict[str, float]) -> None:
        if record["epoch"] == epoch:
            raise KeyboardInterrupt

    return hook


def stopped(folder: Path, epoch: int = 3, **config: Any) -> None:
    with pytest.raises(KeyboardInterrupt):
        fit(folder, on_epoch=interrupt_at(epoch), **config)


def without_seconds(history: list[dict[str, float]]) -> list[dict[str, float]]:
    return [{k: v for k, v in record.items() if k != "seconds"} for record in history]


def lines(folder: Path) -> list[dict[str, float]]:
    return [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]


def manifest(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "manifest.json").read_text())
    return found


def refusal(call: Any) -> str:
    with pytest.raises(InputError) as caught:
        call()
    assert "\n" not in str(caught.value)
    return str(caught.value)


def assert_same(one: SDNE, other: SDNE) -> None:
    assert one.embedding_.vectors.tobytes() == other.embedding_.vectors.tobytes()
    assert one.embedding_.nodes == other.embedding_.nodes
    assert without_seconds(one.history_) == without_seconds(other.history_)
    mine, theirs = one.network_.state_dict(), other.network_.state_dict()
    assert all(torch.equal(mine[k], theirs[k]) for k in mine)


# -------------------------------------------------------------------- the same bits


@pytest.mark.parametrize("pretrain", ["none", "svd", "dbn"])
@pytest.mark.parametrize("output", ["linear", "sigmoid"])
@pytest.mark.parametrize("batch_size", [None, 13])
@pytest.mark.parametrize("optimizer", ["adam", "sgd", "row_adagrad"])
def test_resumed_to_the_same_bits(
    optimizer: str, batch_size: int | None, output: str, pretrain: str, tmp_path: Path
) -> None:
    config = {"optimizer": optimizer, "batch_size": batch_size, "output": output, "pretrain": pretrain}
    config |= {"activation": "sigmoid" if pretrain == "dbn" else "tanh", "lr": 1e-4 if optimizer == "sgd" else 0.01}
    whole = fit(**config)
    stopped(tmp_path, **config)
    assert len(manifest(tmp_path)["history"]) == 3
    resumed = fit(tmp_path, **config)
    assert_same(whole, resumed)
    assert lines(tmp_path) == resumed.history_
    assert [r["epoch"] for r in lines(tmp_path)] == [1, 2, 3, 4, 5, 6]
    moved = np.abs(whole.embedding_.vectors - fit(**config | {"epochs": 3}).embedding_.vectors).max()
    assert moved > 0, "the last epochs must matter for the test to"


def test_resumed_again_and_again(tmp_path: Path) -> None:
    whole = fit(batch_size=13)
    for epoch in range(1, 7):
        stopped(tmp_path, epoch, batch_size=13)
    assert_same(whole, fit(tmp_path, batch_size=13))


def test_early_stopping_counts_the_epochs_before_the_stop(tmp_path: Path) -> None:
    config = {"epochs": 60, "tolerance": 0.05, "patience": 4}
    whole = fit(**config)
    assert 6 < len(whole.history_) < 60, "it must stop early for the test to see"
    stopped(tmp_path, len(whole.history_) - 2, **config)
    assert_same(whole, fit(tmp_path, **config))
    assert_same(whole, fit(tmp_path, **config))


class Pair(nn.Module):
    """Two blocks that pull at each other, one of them with a buffer beside its parameters."""

    def __init__(self) -> None:
        super().__init__()
        self.x = nn.Parameter(torch.tensor([[1.0, 2.0], [3.0, 4.0]]))
        self.y = nn.Parameter(torch.tensor([0.5, -0.5]))
        self.register_buffer("calls", torch.zeros((), dtype=torch.int64))

    def loss(self, batch: float) -> dict[str, Tensor]:
        self.calls += 1  # type: ignore[operator]
        return {"gap": ((self.x - self.y) ** 2).sum() * batch, "size": (self.x**4).sum()}


@pytest.mark.parametrize("first", OPTIMIZERS)
@pytest.mark.parametrize("second", OPTIMIZERS)
def test_every_block_resumes(first: str, second: str, tmp_path: Path) -> None:
    def run(folder: str, epochs: int, on_epoch: Any = None) -> Pair:
        network = Pair()
        blocks = [Block([network.x], first, 0.003), Block([network.y], second, 0.01)]
        saved = Checkpoint(tmp_path / folder, {}, every=0)
        train(
            network,
            lambda e: [1.0, 0.5 + e],
            blocks,
            epochs=epochs,
            schedule="linear",
            checkpoint=saved,
            on_epoch=on_epoch,
        )
        return network

    whole = run("whole", 8)
    with pytest.raises(KeyboardInterrupt):
        run("parts", 8, interrupt_at(5))
    resumed = run("parts", 8)
    for name, value in whole.state_dict().items():
        assert torch.equal(value, resumed.state_dict()[name]), name
    assert int(resumed.calls) == 8 * 2 * 2


# -------------------------------------------------------------------- what is in the folder


def test_the_folder_holds_one_state_a_manifest_and_the_metrics(tmp_path: Path) -> None:
    fit(tmp_path / "made" / "on the way")
    folder = tmp_path / "made" / "on the way"
    assert sorted(os.listdir(folder)) == ["manifest.json", "metrics.jsonl", "state-000006.safetensors"]
    (entry,) = manifest(folder)["files"]
    assert entry["name"] == "state-000006.safetensors"
    assert entry["sha256"] == sha256(folder / entry["name"])
    assert manifest(folder)["run"]["config"] == {**SDNE(**SMALL).get_params(), "hidden": [8]}


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


# -------------------------------------------------------------------- interrupts


def test_sigint_waits_for_the_end_of_the_epoch(tmp_path: Path) -> None:
    def hook(record: dict[str, float]) -> None:
        if record["epoch"] == 2:
            signal.raise_signal(signal.SIGINT)
            record["reached"] = True  # the signal did not break in here

    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        fit(tmp_path, every=3600, on_epoch=hook)
    assert signal.getsignal(signal.SIGINT) is before
    assert len(manifest(tmp_path)["history"]) == 2
    assert_same(fit(), fit(tmp_path))


def test_a_second_sigint_does_not_wait(tmp_path: Path) -> None:
    after: list[int] = []

    def hook(record: dict[str, float]) -> None:
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)
        after.append(1)

    with pytest.raises(KeyboardInterrupt):
        fit(tmp_path, on_epoch=hook)
    assert after == []
    assert_same(fit(), fit(tmp_path))


@pytest.mark.parametrize("epoch", [5, 6])
def test_a_sigint_in_the_last_epoch_is_not_lost(epoch: int, tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        fit(tmp_path, on_epoch=lambda r: signal.raise_signal(signal.SIGINT) if r["epoch"] == epoch else None)
    assert_same(fit(), fit(tmp_path))


@pytest.mark.parametrize("error", [KeyboardInterrupt, RuntimeError])
def test_a_hook_that_raises_leaves_its_epoch_in_the_checkpoint(error: type[BaseException], tmp_path: Path) -> None:
    def hook(record: dict[str, float]) -> None:
        raise error

    with pytest.raises(error):
        fit(tmp_path, every=3600, on_epoch=hook)
    assert len(manifest(tmp_path)["history"]) == len(lines(tmp_path)) == 1
    assert_same(fit(), fit(tmp_path))


def test_a_disk_that_fills_up_is_one_sentence_and_keeps_the_state(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stopped(tmp_path, 3)

    def full(path: Any) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(files, "_fsync", full)
        assert "cannot be written: No space left on device" in refusal(lambda: fit(tmp_path))
    assert_same(fit(), fit(tmp_path))


# -------------------------------------------------------------------- what is refused


@pytest.mark.parametrize(
    ("config", "said"),
    [
        ({"alpha": 0.5}, r"another configuration (alpha differs)"),
        ({"epochs": 7}, r"another configuration (epochs differs)"),  # the schedule depends on it
        ({"dim": 5, "seed": 1}, r"another configuration (dim, seed differ)"),
    ],
)
def test_another_configuration(config: dict[str, Any], said: str, tmp_path: Path) -> None:
    stopped(tmp_path)
    before = (tmp_path / "manifest.json").read_bytes()
    expected = f"{tmp_path} is the checkpoint of {said}; give another folder, or remove it to start anew"
    assert refusal(lambda: fit(tmp_path, **config)) == expected
    assert (tmp_path / "manifest.json").read_bytes() == before
    assert_same(fit(), fit(tmp_path))


def test_another_graph(tmp_path: Path) -> None:
    stopped(tmp_path)
    assert "is the checkpoint of another graph; give" in refusal(lambda: fit(tmp_path, graph=random_graph(1)))
    heavier = Graph.from_scipy(GRAPH.adjacency * 0.5)
    assert "another graph" in refusal(lambda: fit(tmp_path, graph=heavier))
    renamed = Graph(GRAPH.adjacency, [f"n{i}" for i in range(GRAPH.n_nodes)])  # type: ignore[arg-type]
    assert "another graph" in refusal(lambda: fit(tmp_path, graph=renamed))
    assert_same(fit(), fit(tmp_path, graph=random_graph()))  # an equal graph is the same graph


def test_another_version_and_another_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stopped(tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr(base, "_version", lambda package="netfold": "9.9")
        assert "is the checkpoint of another version; give" in refusal(lambda: fit(tmp_path))
    rewrite(tmp_path, lambda m: m["run"].update(model="DRNE"))
    assert "is the checkpoint of another model; give" in refusal(lambda: fit(tmp_path))


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
    assert said in refusal(lambda: fit(tmp_path))


@pytest.mark.parametrize("text", ["", "{", "[1]", "null", "[" * 100_000, "\x00\x01", "\udcff"])
def test_a_manifest_that_is_no_manifest(text: str, tmp_path: Path) -> None:
    stopped(tmp_path)
    (tmp_path / "manifest.json").write_bytes(text.encode("utf-8", "surrogateescape"))
    assert str(tmp_path / "manifest.json") in refusal(lambda: fit(tmp_path))


def state_file(folder: Path) -> Path:
    (path,) = folder.glob("state-*")
    return path


def test_a_damaged_state(tmp_path: Path) -> None:
    stopped(tmp_path)
    path = state_file(tmp_path)
    good = path.read_bytes()
    path.write_bytes(good[:-1])
    assert "its hash differs" in refusal(lambda: fit(tmp_path))
    path.write_bytes(good[:-1] + bytes([good[-1] ^ 1]))
    assert "its hash differs" in refusal(lambda: fit(tmp_path))
    path.unlink()
    assert "is missing" in refusal(lambda: fit(tmp_path))
    path.write_bytes(good)
    assert_same(fit(), fit(tmp_path))


def swap_state(folder: Path, tensors: dict[str, Any]) -> None:
    """Another state under a manifest that vouches for it."""
    from netfold.store import describe, write_tensors

    write_tensors(state_file(folder), tensors)
    rewrite(folder, lambda m: m.update(files=[describe(state_file(folder))]))


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
    from netfold.store import read_tensors

    stopped(tmp_path)
    tensors = read_tensors(state_file(tmp_path))
    change(tensors)
    swap_state(tmp_path, tensors)
    assert said in refusal(lambda: fit(tmp_path))


def test_a_file_where_the_folder_should_be(tmp_path: Path) -> None:
    (tmp_path / "x").write_text("mine")
    assert refusal(lambda: fit(tmp_path / "x")) == f"{tmp_path / 'x'} is a file; a checkpoint is a folder"
    assert "cannot be made: Not a directory" in refusal(lambda: fit(tmp_path / "x" / "y"))
    assert (tmp_path / "x").read_text() == "mine"


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
