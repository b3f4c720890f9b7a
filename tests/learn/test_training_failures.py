"""Training that fails or is interrupted: the reason is named, and the last good state kept."""

from __future__ import annotations

import math
import signal
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from bowls import Bowl, one_batch, sgd
from netfold.errors import TrainingError
from netfold.learn.checkpoints import Checkpoint
from netfold.learn.progress import Progress
from netfold.learn.training import Block, train
from netfold.models import SDNE


class Fragile(Bowl):
    """`right` is no longer finite from a given epoch on."""

    def __init__(self, breaks: int, value: float):
        super().__init__()
        self.breaks, self.value, self.calls = breaks, value, 0

    def loss(self, batch: float) -> dict[str, Tensor]:
        self.calls += 1
        terms = super().loss(batch)
        return terms | {"right": terms["right"] * (self.value if self.calls >= self.breaks else 1.0)}


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_a_loss_that_is_not_finite_is_named_and_the_good_state_kept(value: float, tmp_path: Path) -> None:
    network, seen = Fragile(4, value), []
    with pytest.raises(TrainingError, match=rf"^the loss term right is {value} in epoch 4; lower lr, [^.]*$"):
        train(
            network, one_batch, sgd(network), epochs=9, checkpoint=Checkpoint(tmp_path, {}, every=0),
            on_epoch=lambda r: seen.append(network.x.item()),
        )  # fmt: skip
    assert len(seen) == 3
    again = Bowl()
    history = Checkpoint(tmp_path, {}).restore(again, [])
    assert [r["epoch"] for r in history] == [1, 2, 3]
    assert again.x.item() == seen[-1] == pytest.approx(0.8**3)


def test_parameters_that_the_last_step_broke(tmp_path: Path) -> None:
    class Cliff(Bowl):
        """A finite loss whose slope is not."""

        def loss(self, batch: float) -> dict[str, Tensor]:
            return {"left": torch.sqrt(self.x[0]) + 0 * self.y[0]}

    network = Cliff(x=0.0)
    with pytest.raises(TrainingError, match="the parameters are no longer finite after epoch 1; lower lr"):
        train(network, one_batch, sgd(network), epochs=1, checkpoint=Checkpoint(tmp_path, {}, every=0))
    assert not list(tmp_path.glob("state-*"))


def test_a_broken_state_never_replaces_a_good_one(tmp_path: Path) -> None:
    network = Bowl()

    def spoil(record: dict[str, float]) -> None:
        if record["epoch"] == 3:
            network.x.data.fill_(math.nan)  # as a step with an infinite slope does, after a finite loss

    with pytest.raises(TrainingError, match="left is nan in epoch 4"):
        train(network, one_batch, sgd(network), epochs=9, checkpoint=Checkpoint(tmp_path, {}, every=0), on_epoch=spoil)
    again = Bowl()
    assert len(Checkpoint(tmp_path, {}).restore(again, [])) == 2
    assert again.x.item() == pytest.approx(0.64)


def test_a_model_that_diverges_says_so() -> None:
    with pytest.raises(TrainingError, match=r"the loss term \w+ is (nan|inf|-inf) in epoch \d+"):
        SDNE(dim=2, optimizer="sgd", lr=1e6, epochs=50).fit([(0, 1), (1, 2)], progress=False)


def test_sigint_without_a_checkpoint_is_left_alone() -> None:
    network, handlers = Bowl(), []
    train(
        network, one_batch, sgd(network), epochs=1, on_epoch=lambda r: handlers.append(signal.getsignal(signal.SIGINT))
    )
    assert handlers == [signal.getsignal(signal.SIGINT)]


def test_an_ignored_sigint_stays_ignored(tmp_path: Path) -> None:
    """A job in the background of a shell ignores Ctrl-C; a checkpoint must not change that."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        network = Bowl()
        done = train(
            network, one_batch, sgd(network), epochs=3, checkpoint=Checkpoint(tmp_path, {}, every=0),
            on_epoch=lambda r: signal.raise_signal(signal.SIGINT),
        )  # fmt: skip
    finally:
        signal.signal(signal.SIGINT, before)
    assert len(done) == 3


# -------------------------------------------------------------------- training that led nowhere


def said_by(network: Bowl, capsys: pytest.CaptureFixture[str], lr: float, **options: Any) -> str:
    blocks = [Block([network.x, network.y], "sgd", lr)]
    train(network, one_batch, blocks, epochs=6, progress=Progress("Bowl"), **options)
    return capsys.readouterr().err.splitlines()[-1]


def test_an_objective_that_ends_above_where_it_began_is_spoken_of(capsys: pytest.CaptureFixture[str]) -> None:
    assert "above" not in said_by(Bowl(), capsys, 0.1)
    last = said_by(Bowl(), capsys, 1.05)
    assert last.startswith("Bowl: the objective ended at ") and "where it began; a lower lr may help" in last


def test_training_that_stops_at_once_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    assert "hardly moved" not in said_by(Bowl(), capsys, 0.1, tolerance=1e-3, patience=2)
    last = said_by(Bowl(), capsys, 1e-9, tolerance=1e-3, patience=2)
    assert last == "Bowl: the objective hardly moved in 3 epochs, and training ended; another lr may help"


@pytest.mark.parametrize("told", [True, False])
def test_a_rank_that_was_told_to_end_hears_no_more(told: bool, tmp_path: Path) -> None:
    """torchrun passes Ctrl-C on, once the terminal has told all: the second must not end what is said of the first."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    terminate = signal.getsignal(signal.SIGTERM)
    network = Bowl()

    def run() -> None:
        train(
            network, one_batch, sgd(network), epochs=3, checkpoint=Checkpoint(tmp_path, {}, every=0), agree=float,
            on_epoch=lambda r: signal.raise_signal(signal.SIGINT) if told and r["epoch"] == 2 else None,
        )  # fmt: skip

    try:
        if told:
            with pytest.raises(KeyboardInterrupt):
                run()
            signal.raise_signal(signal.SIGINT)
            signal.raise_signal(signal.SIGTERM)
        else:
            run()
            assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
            assert signal.getsignal(signal.SIGTERM) is terminate
    finally:
        signal.signal(signal.SIGINT, before)
        signal.signal(signal.SIGTERM, terminate)
    assert len(Checkpoint(tmp_path, {}).restore(Bowl(), [])) == (2 if told else 3)


def test_a_signal_that_comes_while_ranks_agree_is_heard_after_the_next_epoch(tmp_path: Path) -> None:
    """What it interrupts has asked the others already: to end there would leave them behind, to forget it deaf."""
    before, terminate = signal.signal(signal.SIGINT, signal.default_int_handler), signal.getsignal(signal.SIGTERM)
    network, calls = Bowl(), []

    def agree(x: float) -> float:
        calls.append(x)
        if len(calls) == 2:
            signal.raise_signal(signal.SIGINT)
        return x

    try:
        with pytest.raises(KeyboardInterrupt):
            train(
                network, one_batch, sgd(network), epochs=9, checkpoint=Checkpoint(tmp_path, {}, every=0), agree=agree
            )  # fmt: skip
    finally:
        signal.signal(signal.SIGINT, before)
        signal.signal(signal.SIGTERM, terminate)
    assert calls == [0, 0, 2 * signal.SIGINT]
    assert len(Checkpoint(tmp_path, {}).restore(Bowl(), [])) == 3
