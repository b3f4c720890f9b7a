"""One training loop for every model. It sees a network, batches and loss terms, never a graph."""

from __future__ import annotations

import logging
import math
import signal
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn, Protocol

import numpy as np
import torch
from torch import Tensor

from netfold.data.text import counted
from netfold.errors import InputError, TrainingError
from netfold.learn.checkpoints import is_finite
from netfold.learn.optimizers import OPTIMIZERS, adam_state
from netfold.learn.progress import Progress, counted_items, part

__all__ = ["SCHEDULES", "Block", "Network", "States", "converged", "train"]

_ADVICE = (
    "lower lr, or look for extreme weights (a checkpoint keeps the last state that was written while all was well)"
)

_log = logging.getLogger(__name__)

_REUSED = (1 << 25) - (1 << 16)
"""Bytes: once so much was taken and given back, the GNU C library hands out blocks of up to that size again at once.

Until then it may fetch each page by page from the system and give it back, every step: a third of LINE's time.
"""

Record = dict[str, float]
"""What one epoch measured: `epoch`, each loss term by name, `objective` (their sum) and `seconds`."""


class Network(Protocol):
    """What the loop asks of a model."""

    def loss(self, batch: Any) -> dict[str, Tensor]:
        """The named, weighted loss terms of a batch; the objective is their sum.

        Terms that carry their graph are back-propagated by the loop. A network whose activations would fill the memory
        may walk the batch in pieces, add each piece's gradient to `grad` itself, and return plain values.
        """
        ...

    def state_dict(self) -> dict[str, Any]:
        """As `torch.nn.Module`."""
        ...

    def load_state_dict(self, state_dict: Any) -> Any:
        """As `torch.nn.Module`."""
        ...


class States(Protocol):
    """What the loop asks of a checkpoint; `learn.checkpoints.Checkpoint` is one."""

    @property
    def folder(self) -> Path:
        """Where it is."""
        ...

    def held(self) -> AbstractContextManager[None]:
        """Around the training."""
        ...

    def restore(self, network: Any, optimizers: Sequence[torch.optim.Optimizer]) -> list[Record]:
        """Load the state, where there is one; the records of the epochs that led to it."""
        ...

    def epoch(
        self, network: Any, optimizers: Sequence[torch.optim.Optimizer], history: list[Record], *, now: bool = False
    ) -> None:
        """After each epoch: write a state if it is time, or `now`."""
        ...

    def save(self, network: Any, optimizers: Sequence[torch.optim.Optimizer], history: list[Record]) -> None:
        """Write the last state."""
        ...


SCHEDULES: dict[str, Callable[[float], float]] = {
    "constant": lambda t: 1.0,
    "linear": lambda t: 1 - t,
    "cosine": lambda t: 0.5 * (1 + math.cos(math.pi * t)),
}
"""The factor on the learning rate when a share t of the epochs is done."""


@dataclass(frozen=True)
class Block:
    """Parameters that are stepped together while all others are held fixed."""

    parameters: Sequence[Tensor]
    optimizer: str = "adam"
    lr: float = 1e-3
    settings: Mapping[str, float] = field(default_factory=dict)
    """What else the optimizer is given."""
    empty: Callable[[Tensor], Tensor] | None = None
    """Makes an array of zeros as large as a parameter, for the optimizer's state, where memory is not the place."""


def train(
    network: Network,
    batches: Callable[[int], Iterable[Any]],
    blocks: Sequence[Block],
    *,
    epochs: int,
    schedule: str = "constant",
    tolerance: float = 0.0,
    patience: int = 10,
    rows: int = 0,
    checkpoint: States | None = None,
    progress: Progress | None = None,
    on_epoch: Callable[[Record], object] | None = None,
    before: Sequence[Record] = (),
    agree: Callable[[float], float] | None = None,
) -> list[Record]:
    """Minimise the sum of a network's loss terms; one record per epoch.

    `batches(epoch)` gives the batches of an epoch, the same ones whenever it is asked: that, and a state written
    between epochs, is why a run that was killed goes on to the same bits. In each batch the `blocks` take turns.
    Stops early once the objective has not improved by the share `tolerance` within `patience` epochs. `rows` is how
    many nodes an epoch visits, for the progress bar. `on_epoch` is called after each epoch with its record; one that
    returns True ends the training there. `before` are the records of a network that was computed and not trained (then
    `epochs` is 0): they stand in the history and in the checkpoint, from which such a network comes back whole.
    `agree`, where several processes train together, gives the largest of a number over all of them: so that they stop
    at the same epoch, whoever wanted to.
    """
    optimizers = [OPTIMIZERS[b.optimizer](list(b.parameters), lr=b.lr, **b.settings) for b in blocks]
    for block, optimizer in zip(blocks, optimizers, strict=True):
        if block.empty is not None and block.optimizer in ("adam", "adam16"):
            adam_state(optimizer, block.empty)
    progress = progress or Progress.silent()
    np.empty(_REUSED, np.uint8)
    with ExitStack() as stack:
        if checkpoint:
            stack.enter_context(checkpoint.held())
        history: list[Record] = (checkpoint.restore(network, optimizers) if checkpoint else []) or list(before)
        if checkpoint and len(history) > epochs > 0:
            done = f"{checkpoint.folder} holds {len(history):,} epochs, and epochs={epochs} is fewer"
            raise InputError(f"{done}; give at least as many, or another folder")
        if epochs:
            stack.enter_context(progress.over(epochs, rows, done=len(history)))
        interrupted = stack.enter_context(_interrupts(checkpoint is not None, patient=agree is not None))
        ended_by = 0  # the signal that ends the training; of several processes, one that all know of
        while len(history) < epochs and not converged(history, tolerance, patience):
            epoch = len(history)
            for block, optimizer in zip(blocks, optimizers, strict=True):
                for group in optimizer.param_groups:
                    group["lr"] = block.lr * SCHEDULES[schedule](epoch / epochs)
            history.append(_run_epoch(network, batches(epoch), optimizers, epoch))
            progress.epoch(history[-1])
            _log.debug("epoch %d of %d: %s", epoch + 1, epochs, history[-1])
            stop = True  # also where the hook raises: between two epochs the state is whole
            try:
                stop = on_epoch is not None and on_epoch(dict(history[-1])) is True
                ended_by = interrupted[0] if interrupted else 0
                if agree is not None:  # a signal that comes meanwhile waits for the next epoch, when all hear of it
                    code = int(agree(2 * ended_by + stop))
                    stop, ended_by = bool(code & 1), code >> 1
            finally:
                if checkpoint:
                    with part("checkpoints"):
                        checkpoint.epoch(network, optimizers, history, now=stop or ended_by > 0)
            if stop or ended_by or (agree is None and interrupted):
                _log.info("training was stopped after epoch %d of %d", len(history), epochs)
                break
        if checkpoint:
            checkpoint.save(network, optimizers, history)
        if not ended_by:  # one that came after the last epoch
            ended_by = interrupted[0] if interrupted else 0
            ended_by = ended_by if agree is None else int(agree(ended_by))
    if ended_by:
        _end_by(ended_by)
    finite = all(is_finite(p.detach()) for block in blocks for p in block.parameters)
    if not (finite if agree is None else agree(not finite) == 0):
        raise TrainingError(f"the parameters are no longer finite after epoch {len(history)}; {_ADVICE}")
    ended_early = converged(history, tolerance, patience)
    if ended_early and len(history) < epochs:
        _log.info(
            "converged after epoch %d of %d (tolerance %g, patience %d)", len(history), epochs, tolerance, patience
        )
    if epochs:
        _remark(history, ended_early, patience, progress)
    return history


def _remark(history: Sequence[Record], ended_early: bool, patience: int, progress: Progress) -> None:
    """Say it where training led nowhere: vectors come out all the same, and nothing else would tell."""
    if len(history) < 2:
        return
    first, last = history[0]["objective"], history[-1]["objective"]
    if last > first:
        progress.note("the objective ended at {:.4g}, above {:.4g}, where it began; a lower lr may help", warning=True)(
            last, first
        )
    elif ended_early and len(history) == patience + 1:
        progress.note("the objective hardly moved in {}, and training ended; another lr may help", warning=True)(
            counted(len(history), "epoch")
        )


@contextmanager
def _interrupts(wanted: bool, *, patient: bool = False) -> Iterator[list[int]]:
    """With a checkpoint to write, the first Ctrl-C or SIGTERM waits for the end of the epoch; the second does not.

    A `patient` process waits however many come, and having been told hears no more: torchrun passes Ctrl-C on to ranks
    that the terminal told already, and some of them are saying by then how to go on.
    """
    seen: list[int] = []
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    ours = [number for number, handler in before.items() if handler not in (None, signal.SIG_IGN)]
    if not wanted or threading.current_thread() is not threading.main_thread():
        yield seen
        return

    def restore() -> None:
        for number in ours:
            signal.signal(number, before[number])

    def note(number: int, frame: object) -> None:
        seen.append(number)
        if not patient:
            restore()

    for number in ours:
        signal.signal(number, note)
    try:
        yield seen
    finally:
        if not (patient and seen):
            restore()


def _end_by(number: int) -> NoReturn:
    """Now that the state is written, do what the signal would have done: SIGTERM ends what does not catch it."""
    if number == signal.SIGTERM:
        signal.raise_signal(signal.SIGTERM)
    raise KeyboardInterrupt


def _run_epoch(network: Network, batches: Iterable[Any], optimizers: list[torch.optim.Optimizer], epoch: int) -> Record:
    start = time.perf_counter()
    sums: dict[str, Any] = {}
    for batch in counted_items(batches, "batches"):
        for optimizer in optimizers:
            with part("loss"):
                optimizer.zero_grad(set_to_none=False)
                terms = network.loss(batch)
                objective = torch.stack(list(terms.values())).sum()
            with part("gradients"):
                if objective.requires_grad:
                    objective.backward()  # type: ignore[no-untyped-call]
            with part("steps"):
                optimizer.step()
        for name, value in terms.items():  # as seen by the last block
            sums[name] = sums.get(name, 0.0) + value.detach().double()
    record = {name: float(value) for name, value in sums.items()}
    for name, total in record.items():
        if not math.isfinite(total):
            raise TrainingError(f"the loss term {name} is {total} in epoch {epoch + 1}; {_ADVICE}")
    return {"epoch": epoch + 1, **record, "objective": sum(record.values()), "seconds": time.perf_counter() - start}


_ABOVE = 0.01
"""The share above its best from which on an objective that falls is on its way back, and no noise."""


def converged(history: Sequence[Record], tolerance: float, patience: int) -> bool:
    """Whether the best objective of the last `patience` epochs improves on the best before by less than a share.

    First steps may lead far up from a good start: while an objective is above its best, and still falls by that share
    within half of these epochs, it has not arrived.
    """
    if tolerance <= 0 or len(history) <= patience:
        return False
    values = [r["objective"] for r in history]
    before, lately = min(values[:-patience]), min(values[-patience:])
    if before - lately >= tolerance * abs(before):
        return False
    half = patience // 2
    if not half or lately - before <= _ABOVE * abs(before):
        return True
    earlier, later = min(values[-patience:-half]), min(values[-half:])
    return earlier - later < tolerance * abs(earlier)
