"""Who is told how a fit goes: `fit(graph, callbacks=[...])`, with one for TensorBoard and one for MLflow."""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from netfold.errors import InputError

if TYPE_CHECKING:
    from netfold.embedder.embedder import Embedder

__all__ = ["Callback", "MLflow", "TensorBoard", "listening"]

Hook = Callable[[dict[str, float]], object]


class Callback:
    """One that is told of the beginning, of each epoch and of the end of a fit; a subclass says what it does then.

    >>> class Best(Callback):
    ...     def start(self, model, facts):
    ...         self.objective = float("inf")
    ...     def epoch(self, record):
    ...         self.objective = min(self.objective, record["objective"])
    >>> import netfold as nf
    >>> best = Best()
    >>> model = nf.SDNE(dim=4, epochs=5).fit(nf.datasets.karate(), progress=False, callbacks=[best])
    >>> best.objective == min(record["objective"] for record in model.history_)
    True
    """

    def start(self, model: Embedder, facts: Mapping[str, Any]) -> None:
        """Before the first epoch: the model, not fitted yet, and facts of its graph (`n_nodes`, `fingerprint`, ...)."""

    def epoch(self, record: dict[str, float]) -> object:
        """After each epoch, with its record as in `history_`; the training ends here if it returns True."""
        return None

    def end(self, model: Embedder, error: BaseException | None) -> None:
        """After the fit: the fitted model, or the error by which it ended (Ctrl-C is a KeyboardInterrupt)."""


class _Function(Callback):
    """A function that is called with each epoch's record."""

    def __init__(self, function: Hook):
        self._function = function

    def epoch(self, record: dict[str, float]) -> object:
        return self._function(record)


@contextmanager
def listening(
    model: Embedder, facts: Mapping[str, Any], callbacks: Iterable[Any] | None, on_epoch: Hook | None = None
) -> Iterator[Hook]:
    """Around a fit, from before its first epoch until its model is whole: what to call after each epoch.

    Each that was started is told of the end, however that came.
    """
    hooks = [*([] if on_epoch is None else [on_epoch]), *_several(callbacks)]
    listeners = [hook if isinstance(hook, Callback) else _Function(hook) for hook in hooks]
    started: list[Callback] = []

    def epoch(record: dict[str, float]) -> bool:
        answers = [listener.epoch(dict(record)) for listener in listeners]
        return any(answer is True for answer in answers)

    error: BaseException | None = None
    try:
        for listener in listeners:
            listener.start(model, facts)
            started.append(listener)
        yield epoch
    except BaseException as e:
        error = e
        raise
    finally:
        for listener in started:
            listener.end(model, error)


def _several(callbacks: Iterable[Any] | None) -> list[Any]:
    if callbacks is None:
        return []
    several = [callbacks] if isinstance(callbacks, Callback) or not isinstance(callbacks, Iterable) else [*callbacks]
    for one in several:
        if not isinstance(one, Callback) and not (callable(one) and not isinstance(one, type)):
            raise InputError(f"callbacks holds {one!r}; give instances of nf.callbacks.Callback, or functions")
    return several


class TensorBoard(Callback):
    """Writes each term of the loss, the objective and the seconds of every epoch for TensorBoard, into a folder.

    `tensorboard --logdir FOLDER` shows it. A run that goes on from a checkpoint goes on in the same folder.
    """

    def __init__(self, folder: str | os.PathLike[str]):
        self._folder = os.fspath(folder)

    def start(self, model: Embedder, facts: Mapping[str, Any]) -> None:
        """Open the folder, and note the model's options."""
        tensorboard = _library("torch.utils.tensorboard", "tensorboard", self)
        self._writer = tensorboard.SummaryWriter(self._folder)
        self._writer.add_text("model", f"{model!r} of {facts['n_nodes']:,} nodes")

    def epoch(self, record: dict[str, float]) -> None:
        """A point of each curve."""
        for name, value in record.items():
            if name != "epoch":
                group = name if name in ("objective", "seconds") else f"loss/{name}"
                self._writer.add_scalar(group, value, int(record["epoch"]))

    def end(self, model: Embedder, error: BaseException | None) -> None:
        """Write what is left."""
        self._writer.close()


class MLflow(Callback):
    """Logs options, facts of the graph and every epoch's record to MLflow, as a run.

    The run is the active one where there is one, and stays open; otherwise it is made of `options`, which are those of
    `mlflow.start_run` (`run_name`, `run_id`, `experiment_id`, `tags`, ...), and ended.
    """

    def __init__(self, **options: Any):
        self._options = options

    def start(self, model: Embedder, facts: Mapping[str, Any]) -> None:
        """Begin a run, and log the model's options."""
        self._mlflow = _library("mlflow", "mlflow", self)
        self._own = self._mlflow.active_run() is None
        if self._own:
            self._mlflow.start_run(**self._options)
        sizes = {name: value for name, value in facts.items() if isinstance(value, (int, str, bool))}
        self._mlflow.log_params({"model": type(model).__name__, **model.get_params(), **sizes})

    def epoch(self, record: dict[str, float]) -> None:
        """Log its numbers, with the epoch as the step."""
        numbers = {name: value for name, value in record.items() if name != "epoch"}
        self._mlflow.log_metrics(numbers, step=int(record["epoch"]))

    def end(self, model: Embedder, error: BaseException | None) -> None:
        """End the run if it is our own, as finished, failed or killed."""
        if self._own:
            killed = isinstance(error, KeyboardInterrupt)
            self._mlflow.end_run("FINISHED" if error is None else "KILLED" if killed else "FAILED")


def _library(module: str, package: str, callback: Callback) -> Any:
    try:
        return importlib.import_module(module)
    except ImportError:
        name = type(callback).__name__
        raise InputError(
            f"callbacks.{name} needs {package}, which is missing; install it (pip install 'netfold[track]')"
        ) from None
