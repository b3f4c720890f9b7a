"""The state of a run on disk, whole at every moment: what a killed run goes on from."""

from __future__ import annotations

import json
import logging
import math
import os
import shutil
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from netfold.errors import InputError, disk_error
from netfold.io.files import check_free, check_room, locked_file, staged_file
from netfold.io.tensors import (
    FORMAT,
    check_records,
    file_facts,
    read_manifest,
    read_records,
    read_tensors,
    write_records,
    write_tensors,
)

__all__ = ["Checkpoint", "check_same_run", "is_finite"]

_LOCK = ".lock"
_log = logging.getLogger(__name__)


class Checkpoint:
    """A folder with one state file, a manifest that names it, and `metrics.jsonl`.

    A new state is written under a new name and flushed to disk; then the manifest is replaced in one rename; then the
    old state goes. Whenever the process dies, the manifest names a whole state.
    """

    def __init__(
        self,
        folder: str | os.PathLike[str],
        run: Mapping[str, Any],
        *,
        every: float = 30.0,
        renamed: Callable[[Mapping[str, Any]], Mapping[str, Any]] = dict,
        free: Collection[str] = (),
    ):
        """`run` says what is trained on what (configuration, graph); another run's checkpoint is refused.

        `every` is the least number of seconds between two states, so that writing never rules the training. `renamed`
        gives a stored configuration's options the names that they have now. A run goes on with other values of those
        options that are `free`.
        """
        self._renamed, self._free = renamed, free
        if not every >= 0:  # nor NaN, which would be no time ever
            raise InputError(f"checkpoint_every={every!r} is not a number of seconds of at least 0")
        self._folder, self._every = Path(folder), every
        self._run: dict[str, Any] = json.loads(json.dumps(dict(run)))  # as it will be read back
        self._last = time.monotonic()
        self._saved = -1
        if self._folder.exists() and not self._folder.is_dir():
            raise InputError(f"{self._folder} is a file; a checkpoint is a folder")
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
        except OSError as e:
            raise InputError(f"{self._folder} cannot be made: {disk_error(e)}") from None
        check_free(self._folder / _LOCK)

    @contextmanager
    def held(self) -> Iterator[None]:
        """The folder for this process alone: two that write to it would destroy each other's states."""
        with locked_file(self._folder / _LOCK):
            yield

    @property
    def folder(self) -> Path:
        """Where the state is."""
        return self._folder

    def exists(self) -> bool:
        """Whether there is a state to go on from."""
        return (self._folder / "manifest.json").exists()

    def restore(self, network: Any, optimizers: Sequence[torch.optim.Optimizer]) -> list[dict[str, float]]:
        """Load the state, where there is one, and give the records of the epochs that led to it."""
        history: list[dict[str, float]] = []
        name = ""
        if self.exists():
            manifest = read_manifest(self._folder, "checkpoint")
            self._check_run(manifest.get("run"))
            history = check_records(manifest.get("history"), self._folder / "manifest.json")
            name = manifest["files"][0]["name"]
            state = read_tensors(self._folder / name)
            _load(network, optimizers, {k: torch.from_numpy(v) for k, v in state.items()}, self._folder)
            self._saved = len(history)
            _log.info("%s: going on after epoch %d", self._folder, len(history))
        else:
            _check_room(self._folder, network)
        self._sweep(name)
        self._write_metrics(history)
        return history

    def epoch(
        self,
        network: Any,
        optimizers: Sequence[torch.optim.Optimizer],
        history: list[dict[str, float]],
        *,
        now: bool = False,
    ) -> None:
        """Write the state if the last one is old enough (or `now`), and the epoch's metrics in any case."""
        if now or time.monotonic() - self._last >= self._every:
            self.save(network, optimizers, history)
        try:
            with (self._folder / "metrics.jsonl").open("a", encoding="utf-8") as file:
                file.write(json.dumps(history[-1]) + "\n")
        except OSError as e:
            raise InputError(f"{self._folder / 'metrics.jsonl'} cannot be written: {e.strerror}") from e

    def save(self, network: Any, optimizers: Sequence[torch.optim.Optimizer], history: list[dict[str, float]]) -> None:
        """Write the state now; one that is no longer finite never takes the place of a good one."""
        if len(history) == self._saved or not all(map(is_finite, _state(network, optimizers).values())):
            return
        name = f"state-{len(history):06d}.safetensors"
        with staged_file(self._folder / name) as part:
            write_tensors(part, _state(network, optimizers))
        facts = {"format": FORMAT, "kind": "checkpoint", "run": self._run, "history": history}
        with staged_file(self._folder / "manifest.json") as part:
            part.write_text(json.dumps({**facts, "files": [file_facts(self._folder / name)]}), encoding="utf-8")
        self._sweep(name)
        self._saved, self._last = len(history), time.monotonic()
        _log.info("%s: the state after epoch %d is written", self._folder, len(history))

    def _check_run(self, theirs: Any) -> None:
        theirs = theirs if isinstance(theirs, dict) else {}
        if isinstance(theirs.get("config"), dict):
            theirs = {**theirs, "config": dict(self._renamed(theirs["config"]))}
        if not self._differs_freely(theirs):
            check_same_run(self._folder, self._run, theirs, free=self._free)

    def _differs_freely(self, theirs: dict[str, Any]) -> bool:
        """Whether the two differ in nothing but options that are free."""
        ours = [run.get("config") for run in (self._run, theirs)]
        if not all(isinstance(config, dict) for config in ours):
            return False
        rest = [{k: v for k, v in config.items() if k not in self._free} for config in ours if config is not None]
        return {**self._run, "config": rest[0]} == {**theirs, "config": rest[1]}

    def _sweep(self, keep: str) -> None:
        """Remove other states than the one that the manifest names, and what a killed run was just writing."""
        for state in self._folder.glob(f"state-{'[0-9]' * 6}*.safetensors"):  # as `save` names them, and no other
            if state.name != keep:
                with suppress(OSError):  # a folder to read only
                    state.unlink(missing_ok=True)
        for name in ("state-[0-9]", "manifest.json.", "metrics.jsonl."):
            for stage in self._folder.glob(f".{name}*"):
                shutil.rmtree(stage, ignore_errors=True)

    def _write_metrics(self, history: list[dict[str, float]]) -> None:
        """Write the metrics of the epochs that led to the state; not where they are there, in a folder to read only."""
        path = self._folder / "metrics.jsonl"
        try:
            if history and read_records(path) == history:
                return
        except (InputError, OSError):
            pass
        with staged_file(path) as part:
            write_records(part, history)


def check_same_run(folder: Path, run: Mapping[str, Any], theirs: Any, free: Collection[str] = ()) -> None:
    """Refuse the state of another run: which of model, configuration, graph and version differs is said."""
    theirs = theirs if isinstance(theirs, dict) else {}
    if theirs == run:
        return
    what = next((f"another {k}" for k in run if run[k] != theirs.get(k)), "another run")
    config, other = run.get("config"), theirs.get("config")
    if what == "another config" and isinstance(config, dict) and isinstance(other, dict):
        names = [k for k in {**config, **other} if config.get(k) != other.get(k) and k not in free]
        what = f"another configuration ({', '.join(names)} {'differs' if len(names) == 1 else 'differ'})"
    raise InputError(f"{folder} is the checkpoint of {what}; give another folder, or remove it to start anew")


def _check_room(folder: Path, network: Any) -> None:
    """Refuse a disk that cannot hold two states, each as large as the network: optimizers add to that."""
    check_room(folder / "state", 2 * sum(x.numel() * x.element_size() for x in network.state_dict().values()))


def _state(network: Any, optimizers: Sequence[torch.optim.Optimizer]) -> dict[str, Tensor]:
    state = {f"network.{k}": v for k, v in network.state_dict().items()}
    for i, optimizer in enumerate(optimizers):
        for j, slots in optimizer.state_dict()["state"].items():
            state |= {f"optimizer.{i}.{j}.{k}": v for k, v in slots.items() if isinstance(v, Tensor)}
    return state


def _load(network: Any, optimizers: Sequence[torch.optim.Optimizer], state: Mapping[str, Tensor], folder: Path) -> None:
    try:
        network.load_state_dict({k.removeprefix("network."): v for k, v in state.items() if k.startswith("network.")})
        for i, optimizer in enumerate(optimizers):
            whole = optimizer.state_dict()
            slots: dict[int, dict[str, Tensor]] = {}
            for k, v in state.items():
                if k.startswith(f"optimizer.{i}."):
                    _, _, j, name = k.split(".", 3)
                    slots.setdefault(int(j), {})[name] = v
            optimizer.load_state_dict({**whole, "state": slots})
    except (RuntimeError, ValueError, KeyError) as e:
        raise InputError(f"{folder} does not fit this model: {' '.join(str(e).split())[:200]}") from None
    if not all(map(is_finite, state.values())):
        raise InputError(f"{folder} holds numbers that are not finite; remove it to start anew")


def is_finite(x: Tensor) -> bool:
    """Whether every number is finite, without an array of answers."""
    return x.numel() == 0 or all(math.isfinite(float(end)) for end in x.aminmax())
