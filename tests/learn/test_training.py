"""The training loop on problems small enough to work out by hand, and what it leaves alone."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from bowls import Bowl, one_batch, sgd
from netfold.data.graph import Graph
from netfold.learn.optimizers import OPTIMIZERS
from netfold.learn.training import Block, converged, train
from netfold.models import SDNE

# -------------------------------------------------------------------- the record of an epoch


def test_history_names_the_terms_and_their_sum() -> None:
    network = Bowl(x=1.0, y=2.0)
    history = train(network, one_batch, sgd(network), epochs=2)
    # epoch 1: 1 and 3 * 4; steps x -= .1 * 2x -> 0.8, y -= .1 * 6y -> 0.8; epoch 2: 0.64 and 3 * 0.64
    assert [r["epoch"] for r in history] == [1, 2]
    assert [r["left"] for r in history] == pytest.approx([1.0, 0.64])
    assert [r["right"] for r in history] == pytest.approx([12.0, 1.92])
    assert [r["objective"] for r in history] == pytest.approx([13.0, 2.56])
    assert all(r["seconds"] > 0 for r in history)
    assert list(history[0]) == ["epoch", "left", "right", "objective", "seconds"]


def test_an_epoch_is_a_pass_over_all_batches() -> None:
    network, asked = Bowl(y=0.0), []

    def batches(epoch: int) -> Iterator[float]:
        asked.append(epoch)
        yield from [1.0, 2.0, 3.0]

    history = train(network, batches, sgd(network, lr=0.1), epochs=2)
    # a batch b gives b x² and x -> x (1 - 0.2 b): factors 0.8, 0.6, 0.4
    assert asked == [0, 1]
    assert history[0]["left"] == pytest.approx(1 + 2 * 0.8**2 + 3 * (0.8 * 0.6) ** 2)
    assert network.x.item() == pytest.approx((0.8 * 0.6 * 0.4) ** 2)
    assert len(history) == 2


def test_no_epochs_change_nothing() -> None:
    network = Bowl(x=5.0)
    assert train(network, one_batch, sgd(network), epochs=0) == []
    assert network.x.item() == 5.0


def test_gradients_that_are_there_before_do_not_count() -> None:
    network = Bowl()
    network.x.grad = torch.tensor([1e6], dtype=torch.float64)
    train(network, one_batch, sgd(network), epochs=1)
    assert network.x.item() == pytest.approx(0.8)


class OwnGradient(Bowl):
    """The same bowl, which adds its gradient itself and returns plain values."""

    def loss(self, batch: float) -> dict[str, Tensor]:
        terms = super().loss(batch)
        sum(terms.values()).backward()  # type: ignore[union-attr]
        return {name: value.detach() for name, value in terms.items()}


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_a_network_may_add_its_gradients_itself(optimizer: str) -> None:
    histories, ends = [], []
    for network in (Bowl(1.0, -2.0), OwnGradient(1.0, -2.0)):
        made = train(network, lambda epoch: [0.5, 1.5], [Block(list(network.parameters()), optimizer, 0.05)], epochs=7)
        histories.append([(r["left"], r["right"], r["objective"]) for r in made])
        ends.append((network.x.item(), network.y.item()))
    assert histories[0] == histories[1]
    assert ends[0] == ends[1]
    assert histories[0][-1][2] < histories[0][0][2]


# -------------------------------------------------------------------- the hook


def test_on_epoch_sees_each_epoch_and_cannot_change_the_record() -> None:
    network, seen = Bowl(), []

    def spoil(record: dict[str, float]) -> None:
        seen.append(dict(record))
        record.clear()

    history = train(network, one_batch, sgd(network), epochs=3, on_epoch=spoil)
    assert seen == history
    assert len(history) == 3


def test_on_epoch_stops_by_returning_true_and_by_nothing_else() -> None:
    network = Bowl()
    assert len(train(network, one_batch, sgd(network), epochs=9, on_epoch=lambda r: r["epoch"] == 4)) == 4
    assert len(train(network, one_batch, sgd(network), epochs=9, on_epoch=lambda r: 1)) == 9


# -------------------------------------------------------------------- blocks


class Coupled(nn.Module):
    """(x - y)² + x²: what one block does changes what the other sees. Keeps what it was asked at."""

    def __init__(self) -> None:
        super().__init__()
        self.x = nn.Parameter(torch.tensor([1.0], dtype=torch.float64))
        self.y = nn.Parameter(torch.tensor([3.0], dtype=torch.float64))
        self.asked: list[tuple[float, float]] = []

    def loss(self, batch: Any) -> dict[str, Tensor]:
        self.asked.append((self.x.item(), self.y.item()))
        return {"gap": (self.x[0] - self.y[0]) ** 2, "size": self.x[0] ** 2}


def test_blocks_take_turns_and_only_the_own_parameters_move() -> None:
    network = Coupled()
    blocks = [Block([network.x], "sgd", 0.25), Block([network.y], "sgd", 0.5)]
    history = train(network, lambda epoch: [None, None], blocks, epochs=1)
    # x: slope 2(x-y) + 2x, y: slope 2(y-x); x first, then y at the new x.
    # (1, 3): x -= .25 * -2 -> 1.5; (1.5, 3): y -= .5 * 3 -> 1.5; (1.5, 1.5): x -= .25 * 3 -> .75; (.75, 1.5): y -> .75
    assert network.asked == [(1.0, 3.0), (1.5, 3.0), (1.5, 1.5), (0.75, 1.5)]
    assert (network.x.item(), network.y.item()) == (0.75, 0.75)
    # the record is what the last block saw, summed over batches: gap 1.5² + .75², size 1.5² + .75²
    assert (history[0]["gap"], history[0]["size"]) == (2.8125, 2.8125)


def test_each_block_has_its_own_optimizer_and_rate() -> None:
    network = Bowl()
    train(network, one_batch, [Block([network.x], "sgd", 0.1), Block([network.y], "adam", 0.01)], epochs=1)
    assert network.x.item() == pytest.approx(1 - 0.1 * 2)
    assert network.y.item() == pytest.approx(1 - 0.01, abs=1e-6)  # Adam's first step is lr times the sign


# -------------------------------------------------------------------- when to stop


def objectives(*values: float) -> list[dict[str, float]]:
    return [{"objective": v} for v in values]


@pytest.mark.parametrize(
    ("values", "tolerance", "patience", "answer"),
    [
        ((10.0, 9.0), 0.2, 2, False),  # not yet longer than the patience
        ((10.0, 9.0, 9.5), 0.2, 2, True),  # before: 10; lately: 9; 1 < 0.2 * 10
        ((10.0, 9.0, 7.9), 0.2, 2, False),  # 2.1 is more than 2
        ((10.0, 8.0, 8.5), 0.2, 2, False),  # exactly the share is still progress
        ((10.0, 5.0, 6.0, 7.0), 0.01, 2, True),  # worse than before
        ((10.0, 5.0, 6.0, 7.0), 0.01, 3, False),  # the 5 is among the last 3
        ((-10.0, -10.5), 0.1, 1, True),  # 0.5 < 0.1 * |-10|
        ((-10.0, -12.0), 0.1, 1, False),
        ((0.0, 0.0), 0.1, 1, False),  # 0 < 0 does not hold: nothing to take a share of
        ((1.0, 40.0, 30.0, 20.0, 15.0), 0.01, 4, False),  # first steps led up, and it is on its way back
        ((1.0, 40.0, 15.0, 15.0, 15.0), 0.01, 4, True),  # it was, and is no more
        ((10.0, 10.05, 10.04, 10.02, 10.01), 0.001, 4, True),  # by less than a hundredth above: noise
        ((10.0, 10.0, 11.0), 0.0, 1, False),  # no tolerance: never, even where it gets worse
    ],
)
def test_converged(values: tuple[float, ...], tolerance: float, patience: int, answer: bool) -> None:
    assert converged(objectives(*values), tolerance, patience) is answer


def test_training_ends_when_it_has_converged() -> None:
    network = Bowl(y=0.0)
    # the objective falls by the factor 0.64 an epoch: 36% is more than 30%, less than 40%
    assert len(train(network, one_batch, sgd(network), epochs=20, tolerance=0.3, patience=1)) == 20
    network = Bowl(y=0.0)
    assert len(train(network, one_batch, sgd(network), epochs=20, tolerance=0.4, patience=1)) == 2
    network = Bowl(y=0.0)
    assert len(train(network, one_batch, sgd(network), epochs=20, tolerance=0.4, patience=5)) == 20


def test_without_tolerance_all_epochs_are_run() -> None:
    network = Bowl(x=0.0, y=0.0)  # nothing improves from the first epoch on
    assert len(train(network, one_batch, sgd(network), epochs=30, tolerance=0.0, patience=1)) == 30


# -------------------------------------------------------------------- randomness and threads

GRAPH = Graph.from_edges(np.random.default_rng(5).integers(0, 40, (120, 2)))


def states() -> list[Any]:
    kind, keys, *rest = np.random.get_state()
    return [torch.get_rng_state().tolist(), (kind, keys.tolist(), rest), random.getstate()]


@pytest.mark.parametrize("init", ["svd", "dbn", "none"])
def test_fit_is_repeatable_and_leaves_the_global_random_state(init: str) -> None:
    model = SDNE(dim=4, hidden=(8,), epochs=3, batch_size=7, init=init, activation="sigmoid")
    before = states()
    first = model.fit(GRAPH, progress=False).embedding_.vectors.tobytes()
    assert states() == before
    torch.manual_seed(123)
    np.random.seed(123)
    random.seed(123)
    assert model.fit(GRAPH, progress=False).embedding_.vectors.tobytes() == first
    assert SDNE(**model.get_params() | {"seed": 1}).fit(GRAPH, progress=False).embedding_.vectors.tobytes() != first


def test_any_thread_may_train(tmp_path: Path) -> None:
    def fit(folder: Path) -> bytes:
        model = SDNE(dim=4, hidden=(8,), epochs=3)
        return model.fit(GRAPH, progress=False, checkpoint=folder, checkpoint_every=0).embedding_.vectors.tobytes()

    made: dict[str, bytes] = {}
    workers: list[threading.Thread] = []
    for name in ("a", "b"):
        task: Callable[[str], None] = lambda name: made.__setitem__(name, fit(tmp_path / name))  # noqa: E731
        workers.append(threading.Thread(target=task, args=(name,)))
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert made["a"] == made["b"] == fit(tmp_path / "c")
