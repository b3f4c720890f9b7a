"""`ShardedCheckpoint`: the state of a run of several ranks on disk, whole at every moment, for any number of ranks.

A state is a folder of safetensors, one file a part of the graph and one for what all ranks share, written by torch's
distributed checkpoint (DCP), and a manifest with their hashes. Who owns a part when it is read need not have written
it. DCP's own storage writes pickles; its safetensors storage, which is used here, does not.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import time
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from netfold.cluster.exchange import RankGraph
from netfold.errors import InputError, disk_error
from netfold.io.files import locked_file, read_facts
from netfold.io.tensors import FORMAT, check_files, check_records, file_facts, tensor_places
from netfold.learn.checkpoints import check_same_run, is_finite

__all__ = ["ShardedCheckpoint", "whole_states"]

_STATE = re.compile("state-[0-9]{6,}")
_PART = re.compile(r"state-[0-9]{6,}\.part")
_FILE = re.compile(r"manifest\.json|shared\.safetensors|part-[0-9]{5,}\.safetensors")
_RANK = re.compile("rank-[0-9]{5,}")
_SHARD = re.compile(r"(shard-[0-9]+-)?model-[0-9]+-of-[0-9]+\.safetensors")
"""As DCP names what a rank writes."""
_KEPT = 2
"""States: while a new one is written the one before is whole, and after that it may be gone back to."""
_SHARE = 9
"""A save that took t seconds is followed by at least so many times t without one: a tenth of the run at most."""

Records = list[dict[str, float]]


class ShardedCheckpoint:
    """A folder of states, of which the newest two are kept. All ranks call its methods together."""

    def __init__(
        self, folder: str | os.PathLike[str], run: Mapping[str, Any], graph: RankGraph, *, every: float = 30.0
    ):
        """`run` says what is trained on what; the state of another run is refused. `every` as in `Checkpoint`."""
        if not every >= 0:
            raise InputError(f"checkpoint_every={every!r} is not a number of seconds of at least 0")
        self._folder, self._every, self._graph, self._ranks = Path(folder), every, graph, graph.ranks
        self._run: dict[str, Any] = json.loads(json.dumps(dict(run)))
        self._last, self._cost, self._saved = time.monotonic(), 0.0, -1
        self._ranks.together(self._open)
        self._ranks.together(self._see)

    def _open(self) -> None:
        if self._ranks.first:
            try:
                self._folder.mkdir(parents=True, exist_ok=True)
            except OSError as e:
                raise InputError(f"{self._folder} cannot be made: {disk_error(e)}") from None
            if (self._folder / "manifest.json").exists():
                raise InputError(f"{self._folder} is the checkpoint of a run without parts; give another folder")
            for x in self._folder.iterdir():
                if _STATE.fullmatch(x.name) or _PART.fullmatch(x.name):
                    _check_ours(x)  # before hours of training, not after

    def _see(self) -> None:
        """Whether the folder that rank 0 made is here, too."""
        if not self._folder.is_dir():
            raise InputError(f"{self._folder} is not seen here; a checkpoint needs a folder that all hosts share")

    @contextmanager
    def held(self) -> Iterator[None]:
        """The folder for this run alone."""
        if not self._ranks.first:
            yield
            return
        with locked_file(self._folder / ".lock"):
            yield

    @property
    def folder(self) -> Path:
        """Where the states are."""
        return self._folder

    def exists(self) -> bool:
        """Whether there is a state to go on from."""
        return bool(self._ranks.first_says(bool(self._states())))

    def _states(self) -> list[str]:
        return whole_states(self._folder)

    # ---------------------------------------------------------------- reading

    def restore(self, network: Any, optimizers: Sequence[torch.optim.Optimizer]) -> Records:
        """Load the newest state, where there is one, and give the records of the epochs that led to it."""
        states = self._ranks.first_says(self._states())
        self._ranks.together(self._swept)
        if not states:
            self._ranks.barrier()
            return []
        folder = self._folder / states[0]
        manifest = self._ranks.together(lambda: self._manifest(folder))
        self._ranks.together(lambda: self._check(folder, manifest, states))
        self._ranks.together(lambda: self._load(folder, network, optimizers))
        history: Records = manifest["history"]
        self._saved = len(history)
        return history

    def _swept(self) -> None:
        """Remove what was being written when a run was killed."""
        for left in self._folder.iterdir() if self._ranks.first else ():
            if _PART.fullmatch(left.name):
                _remove(left)

    def _manifest(self, folder: Path) -> dict[str, Any]:
        manifest = read_facts(folder / "manifest.json", FORMAT, "checkpoint")
        check_same_run(self._folder, self._run, manifest.get("run"))
        check_records(manifest.get("history"), folder / "manifest.json")
        return manifest

    def _check(self, folder: Path, manifest: dict[str, Any], states: list[str]) -> None:
        """Hash the files, each on one rank."""
        files = manifest.get("files")
        if not isinstance(files, list):
            raise InputError(f"{folder} is damaged: its manifest lists no files")
        mine = files[self._ranks.rank :: self._ranks.size]
        try:
            if mine:
                check_files(folder, mine)
        except InputError as e:
            before = f"; remove {folder} to go on from {states[1]}" if len(states) > 1 else ""
            raise InputError(f"{e}{before}") from None

    def _load(self, folder: Path, network: Any, optimizers: Sequence[torch.optim.Optimizer]) -> None:
        from torch.distributed.checkpoint.hf_storage import HuggingFaceStorageReader
        from torch.distributed.checkpoint.state_dict_loader import load

        stored = {}
        for x in folder.glob("*.safetensors"):
            stored.update({name: (dtype, shape) for name, (dtype, shape, _, _) in tensor_places(x).items()})
        slots = sorted({name.split("|")[0] for name in stored if name.startswith("optimizer.")})
        _make_slots(network, optimizers, slots, stored)
        state = self._state(network, optimizers)
        for name, tensor in state.items():
            if name not in stored or tuple(stored[name][1]) != tuple(tensor.shape):
                raise InputError(f"{folder} does not fit this model: {name} is not there, or has another shape")
        with _quiet():
            load(dict(state), storage_reader=HuggingFaceStorageReader(str(folder)), no_dist=True)
        if not all(map(is_finite, state.values())):
            raise InputError(f"{folder} holds numbers that are not finite; remove it to start anew")

    # ---------------------------------------------------------------- writing

    def epoch(
        self, network: Any, optimizers: Sequence[torch.optim.Optimizer], history: Records, *, now: bool = False
    ) -> None:
        """Write the state if rank 0 finds that it is time (or `now`), and the epoch's metrics in any case."""
        spent = time.monotonic() - self._last
        wait = (
            max(self._every, _SHARE * self._cost) if self._every else 0.0
        )  # 0 asks for every epoch, whatever it costs
        due = now or (self._ranks.first and spent >= wait)
        if self._ranks.most(due):
            self.save(network, optimizers, history)
        if self._ranks.first:
            try:
                with (self._folder / "metrics.jsonl").open("a", encoding="utf-8") as file:
                    file.write(json.dumps(history[-1]) + "\n")
            except OSError as e:
                raise InputError(f"{self._folder / 'metrics.jsonl'} cannot be written: {e.strerror}") from e

    def save(self, network: Any, optimizers: Sequence[torch.optim.Optimizer], history: Records) -> None:
        """Write the state now; one that is no longer finite never takes the place of a good one."""
        if len(history) == self._saved:
            return
        began = time.monotonic()
        state = self._state(network, optimizers)
        if self._ranks.most(not all(map(is_finite, state.values()))):
            return
        folder = self._folder / f"state-{len(history):06d}"
        part = folder.with_name(f"{folder.name}.part")
        self._ranks.together(lambda: self._made(part))
        own = self._ranks.together(lambda: self._written(part, state))
        files = [entry for entries in self._ranks.gather(own) for entry in entries]
        self._ranks.together(lambda: self._sealed(part, folder, files, history) if self._ranks.first else None)
        self._saved, self._last = len(history), time.monotonic()
        self._cost = self._last - began

    def _made(self, part: Path) -> None:
        if self._ranks.first:
            _remove(part)
            part.mkdir()

    def _written(self, part: Path, state: Mapping[str, Tensor]) -> list[dict[str, Any]]:
        """Write the own parts, and what all share on rank 0; hash and flush the files."""
        from torch.distributed.checkpoint.hf_storage import HuggingFaceStorageWriter
        from torch.distributed.checkpoint.state_dict_saver import save

        parts = len(self._graph.folder)
        shared = {name for name in state if "|" not in name}
        own = {name: x for name, x in state.items() if self._ranks.first or name not in shared}
        if not own:
            return []
        file_of = {name: 1 + (parts if name in shared else int(name.split("|")[1])) for name in own}
        target = part / f"rank-{self._ranks.rank:05d}"
        with _quiet():
            writer = HuggingFaceStorageWriter(str(target), fqn_to_index_mapping=file_of, save_distributed=True)
            save(dict(own), storage_writer=writer, no_dist=True)
        files = []
        for x in sorted(target.glob("*.safetensors")):
            with x.open("rb") as file:
                os.fsync(file.fileno())
            index = int(re.findall(r"model-([0-9]+)", x.name)[0])
            name = part / (f"part-{index - 1:05d}.safetensors" if index <= parts else "shared.safetensors")
            os.replace(x, name)
            files.append(file_facts(name))
        shutil.rmtree(target)
        return files

    def _sealed(self, part: Path, folder: Path, files: list[dict[str, Any]], history: Records) -> None:
        """The manifest, the name, and the oldest states gone."""
        manifest = {"format": FORMAT, "kind": "checkpoint", "run": self._run, "history": history, "files": files}
        with (part / "manifest.json").open("w", encoding="utf-8") as file:
            json.dump(manifest, file)
            file.flush()
            os.fsync(file.fileno())
        _remove(folder)
        os.rename(part, folder)
        for old in self._states()[_KEPT:]:
            with suppress(InputError):  # somebody put something into it, and the run goes on
                _remove(self._folder / old)

    def _state(self, network: Any, optimizers: Sequence[torch.optim.Optimizer]) -> dict[str, Tensor]:
        """Every tensor by name; those with a row for each node by part, as `name|part`: views, which are read into."""
        names = {id(p): name for name, p in network.named_parameters()}
        spread = set(network.spread)
        state: dict[str, Tensor] = {}
        for name, x in network.state_dict().items():
            state |= self._by_part(f"network.{name}", x, name in spread)
        for i, optimizer in enumerate(optimizers):
            for p, slots in optimizer.state.items():
                name = names[id(p)]
                for slot, x in slots.items():
                    rows = name in spread and x.ndim > 0
                    state |= self._by_part(f"optimizer.{i}.{name}.{slot}", x, rows)
        return state

    def _by_part(self, name: str, x: Tensor, spread: bool) -> dict[str, Tensor]:
        if not spread:
            return {name: x.detach()}
        starts = self._graph.folder.starts - self._graph.first
        cuts = {p: (int(starts[p]), int(starts[p + 1])) for p in self._graph.parts}
        return {f"{name}|{p}": x.detach()[a:b] for p, (a, b) in cuts.items() if b > a}


def whole_states(folder: Path) -> list[str]:
    """The states that are whole, the newest first: a state has its name when its manifest is on the disk."""
    names = [x.name for x in folder.iterdir() if _STATE.fullmatch(x.name)] if folder.is_dir() else []
    return sorted((x for x in names if (folder / x / "manifest.json").exists()), key=lambda x: -int(x[6:]))


def _check_ours(folder: Path) -> None:
    """Refuse a folder with the name of a state that holds anything else than a state does."""
    if folder.is_symlink() or not folder.is_dir():
        other = folder.name
    else:
        other = next((f"{folder.name}/{x.name}" for x in folder.iterdir() if not _is_of_a_state(x)), "")
    if other:
        what = f"{other!r}, which netfold did not write"
        raise InputError(f"{folder.parent} holds {what}; move that, or give another folder")


def _is_of_a_state(x: Path) -> bool:
    """Whether a name in a state is ours: a file of it, or the folder in which a rank was writing when killed."""
    if x.is_symlink() or not x.is_dir():
        return bool(_FILE.fullmatch(x.name)) and x.is_file() and not x.is_symlink()
    inside = x.iterdir() if _RANK.fullmatch(x.name) else ()
    return bool(_RANK.fullmatch(x.name)) and all(_SHARD.fullmatch(y.name) and y.is_file() for y in inside)


def _remove(folder: Path) -> None:
    """Remove a state, where there is one, and nothing else."""
    if os.path.lexists(folder):
        _check_ours(folder)
        shutil.rmtree(folder, ignore_errors=True)


def _make_slots(
    network: Any, optimizers: Sequence[torch.optim.Optimizer], slots: Sequence[str], stored: Mapping[str, Any]
) -> None:
    """Let optimizers have the tensors that a state holds, for `_load` to read into; those that are there stay."""
    parameters, spread = dict(network.named_parameters()), set(network.spread)
    for name in slots:
        _, i, rest = name.split(".", 2)
        owner, slot = rest.rsplit(".", 1)
        if not i.isdigit() or int(i) >= len(optimizers) or owner not in parameters:
            raise InputError(f"{name} is no part of this model's state")
        p, state = parameters[owner], optimizers[int(i)].state
        if slot in state[p]:
            continue
        example = next(x for key, x in stored.items() if key.split("|")[0] == name)
        dtype = getattr(torch, example[0].name)
        rows = owner in spread and any(key.startswith(f"{name}|") for key in stored)
        shape = (len(p), *example[1][1:]) if rows else example[1]
        where = "cpu" if not rows and not example[1] and not p.is_cuda else p.device
        state[p][slot] = torch.zeros(shape, dtype=dtype, device=where)


@contextmanager
def _quiet() -> Iterator[None]:
    """DCP warns that it runs in one process, which is meant: every rank writes files of its own."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
