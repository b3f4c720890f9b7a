"""A run that was stopped, by whatever and wherever, ends with the same bits."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from test_contract import COMPUTED, given, make, to_the_end, usual
from torch import Tensor, nn

import netfold as nf
from checkpointed import assert_same, fit, interrupt_at, lines, manifest, stopped, without_seconds
from netfold.io import files
from netfold.learn.checkpoints import Checkpoint
from netfold.learn.optimizers import OPTIMIZERS
from netfold.learn.training import Block, train
from refusals import refused

# -------------------------------------------------------------------- the same bits


@pytest.mark.parametrize("init", ["none", "svd", "dbn"])
@pytest.mark.parametrize("output", ["linear", "sigmoid"])
@pytest.mark.parametrize("batch_size", [None, 13])
@pytest.mark.parametrize("optimizer", ["adam", "sgd", "row_adagrad"])
def test_resumed_to_the_same_bits(
    optimizer: str, batch_size: int | None, output: str, init: str, tmp_path: Path
) -> None:
    config = {"optimizer": optimizer, "batch_size": batch_size, "output": output, "init": init}
    config |= {"activation": "sigmoid" if init == "dbn" else "tanh", "lr": 1e-4 if optimizer == "sgd" else 0.01}
    whole = fit(**config)
    stopped(tmp_path, **config)
    assert len(manifest(tmp_path)["history"]) == 3
    resumed = fit(tmp_path, **config)
    assert_same(whole, resumed)
    assert lines(tmp_path) == resumed.history_
    assert [r["epoch"] for r in lines(tmp_path)] == [1, 2, 3, 4, 5, 6]
    moved = np.abs(whole.embedding_.vectors - fit(**config | {"epochs": 3}).embedding_.vectors).max()
    assert moved > 0, "the last epochs must matter for the test to"


@pytest.mark.parametrize("tables", ["float32", "bfloat16"])
def test_resumed_to_the_same_bits_in_16_bits(tables: str, tmp_path: Path) -> None:
    config = {"optimizer": "adam16", "tables": tables}
    whole = fit(**config)
    stopped(tmp_path, **config)
    assert_same(whole, fit(tmp_path, **config))
    assert all(p.dtype == torch.float32 for p in whole.network_.parameters())


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


# -------------------------------------------------------------------- more epochs


CONSTANT = {name: {"schedule": "constant"} | to_the_end(name) for name in nf.MODELS}
"""Options of each model with which an epoch does not depend on how many there are."""


@pytest.mark.parametrize("name", sorted(set(nf.MODELS) - set(COMPUTED)))
def test_more_epochs_are_those_of_an_unbroken_run(name: str, tmp_path: Path) -> None:
    graph = usual(name)

    def run(epochs: int, folder: Path | None = None) -> nf.Embedder:
        model = make(name, epochs=epochs, **CONSTANT[name])
        return model.fit(graph, **given(name, graph), progress=False, checkpoint=folder)

    whole = run(7)
    run(4, tmp_path)
    resumed = run(7, tmp_path)
    assert without_seconds(resumed.history_) == without_seconds(whole.history_)
    assert resumed.embedding_.vectors.tobytes() == whole.embedding_.vectors.tobytes()
    mine, theirs = whole.network_.state_dict(), resumed.network_.state_dict()
    assert all(torch.equal(mine[k], theirs[k]) for k in mine)
    assert manifest(tmp_path)["run"]["config"]["epochs"] == 7
    assert "holds 7 epochs, and epochs=5 is fewer; give at least as many" in refused(run, 5, tmp_path)


def test_more_epochs_go_on_with_the_schedule_of_the_new_total(tmp_path: Path) -> None:
    """As by hand: three epochs at the rates of 3, and three at those that the last three of 6 have."""
    network = Pair()
    rates: list[float] = []

    class Watched(torch.optim.SGD):
        def step(self, closure: Any = None) -> Any:
            rates.append(self.param_groups[0]["lr"])
            return super().step(closure)

    def run(epochs: int) -> None:
        saved = Checkpoint(tmp_path, {"config": {"epochs": epochs}}, every=0, free=("epochs",))
        blocks = [Block([network.x, network.y], "sgd", 0.01)]
        train(network, lambda e: [1.0], blocks, epochs=epochs, schedule="linear", checkpoint=saved)

    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(OPTIMIZERS, "sgd", lambda params, lr: Watched(params, lr=lr))
        run(3)
        run(6)
    wanted = [0.01 * (1 - e / 3) for e in range(3)] + [0.01 * (1 - e / 6) for e in range(3, 6)]
    assert rates == pytest.approx(wanted)


def test_a_run_that_was_stopped_goes_on_with_more_epochs(tmp_path: Path) -> None:
    stopped(tmp_path, 2, schedule="constant")
    assert_same(fit(schedule="constant", epochs=9), fit(tmp_path, schedule="constant", epochs=9))


def test_a_run_that_converged_stays_where_it_is(tmp_path: Path) -> None:
    config = {"tolerance": 0.05, "patience": 4}
    first = fit(tmp_path, epochs=60, **config)
    assert_same(first, fit(tmp_path, epochs=80, **config))


# -------------------------------------------------------------------- interrupts


@pytest.fixture
def interruptible() -> Iterator[None]:
    """SIGINT as a terminal sends it: a run of the tests in the background ignores it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("interruptible")
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


def test_sigterm_writes_the_state_and_then_ends_the_process(tmp_path: Path) -> None:
    """As schedulers send it: the state is on the disk, and the process ended as if it had not been caught."""
    code = f"""
import sys
sys.path[:0] = {sys.path!r}
import signal
from pathlib import Path
from checkpointed import fit
def hook(record):
    if record["epoch"] == 2:
        signal.raise_signal(signal.SIGTERM)
        Path({str(tmp_path / "reached")!r}).touch()
fit(Path({str(tmp_path / "run")!r}), every=3600, on_epoch=hook)
"""
    assert subprocess.run([sys.executable, "-c", code], check=False, timeout=60).returncode == -signal.SIGTERM
    assert (tmp_path / "reached").exists()
    assert len(manifest(tmp_path / "run")["history"]) == 2
    assert_same(fit(), fit(tmp_path / "run"))


def test_a_handler_of_sigterm_is_called_after_the_state_is_written(tmp_path: Path) -> None:
    written: list[int] = []
    before = signal.signal(signal.SIGTERM, lambda *_: written.append(len(manifest(tmp_path)["history"])))
    try:
        with pytest.raises(KeyboardInterrupt):
            fit(tmp_path, every=3600, on_epoch=lambda r: signal.raise_signal(signal.SIGTERM))
    finally:
        signal.signal(signal.SIGTERM, before)
    assert written == [1]
    assert_same(fit(), fit(tmp_path))


@pytest.mark.usefixtures("interruptible")
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


@pytest.mark.usefixtures("interruptible")
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
        assert "cannot be written: No space left on device" in refused(fit, tmp_path)
    assert_same(fit(), fit(tmp_path))
