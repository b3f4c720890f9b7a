"""`Ranks`: the processes that train one model together, as torchrun started them; one process without it."""

from __future__ import annotations

import atexit
import json
import os
import socket
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, TypeVar

import torch
import torch.distributed as dist
from torch import Tensor
from torch.distributed.distributed_c10d import PrefixStore
from torch.distributed.rendezvous import rendezvous

from netfold.errors import InputError, TrainingError

__all__ = ["TORCH_FLOOR", "Ranks", "end", "rank_of", "start"]

TORCH_FLOOR = (2, 11)
"""The oldest torch that several ranks were run with: its checkpoints without pickles are young."""
_TIMEOUT = 600.0
"""Seconds that a rank waits for others; NETFOLD_TIMEOUT says otherwise."""
_SHARED_STORE = "TORCH_DISABLE_SHARE_RDZV_TCP_STORE"

T = TypeVar("T")


def rank_of() -> tuple[int, int]:
    """This process's rank and how many there are, as torchrun says in the environment; (0, 1) without it."""
    return int(os.environ.get("RANK", "0")), int(os.environ.get("WORLD_SIZE", "1"))


@dataclass(eq=False)
class Ranks:
    """The processes of a run. Every rank calls the same methods in the same order."""

    rank: int = 0
    size: int = 1
    hosts: tuple[str, ...] = ("",)
    """Where each rank runs."""
    device: torch.device = field(default_factory=lambda: torch.device("cpu"))
    reduced: int = 0
    """Bytes of the tensors that were summed over ranks so far."""
    sent: int = 0
    """Bytes that this rank has sent to single others so far, by `swap` or an exchange."""

    @property
    def first(self) -> bool:
        """Whether this is rank 0, which speaks for all."""
        return self.rank == 0

    @property
    def others(self) -> list[int]:
        """The other ranks, by number."""
        return [q for q in range(self.size) if q != self.rank]

    def sum_(self, x: Tensor) -> Tensor:
        """The sum of a tensor over all ranks, in its place; the same bits on each."""
        if self.size > 1:
            self.reduced += x.numel() * x.element_size()
            self._named("a sum", lambda: dist.all_reduce(x))
        return x

    def sum_together_(self, several: Sequence[Tensor]) -> None:
        """The sums of small tensors over all ranks, in their places, in one go."""
        if self.size == 1 or not several:
            return
        flat = self.sum_(torch.cat([x.flatten() for x in several]))
        for x, total in zip(several, torch.split(flat, [x.numel() for x in several]), strict=True):
            x.copy_(total.view_as(x))

    def most(self, x: float) -> float:
        """The largest of a number over all ranks."""
        if self.size > 1:
            value = torch.tensor([float(x)], dtype=torch.float64)
            self._named("an agreement", lambda: dist.all_reduce(value, op=dist.ReduceOp.MAX))
            return float(value)
        return x

    def smallest(self, values: Tensor, k: int) -> float:
        """The k-th smallest of all ranks' numbers of at least 0, by halving: none of them leaves its rank."""
        low, high = 0.0, self.most(float(values.max()) if len(values) else 0.0)
        for _ in range(60):
            middle = (low + high) / 2
            below = self.sum_(torch.tensor([float((values <= middle).sum())], dtype=torch.float64))
            low, high = (low, middle) if float(below) >= k else (middle, high)
        return self.most(float(values[values <= high].max()) if bool((values <= high).any()) else 0.0)

    def gather(self, value: Any) -> list[Any]:
        """A small value that json can hold, of each rank, on every rank."""
        if self.size == 1:
            return [value]
        text = torch.frombuffer(bytearray(json.dumps(value).encode()), dtype=torch.uint8)
        lengths = [torch.zeros(1, dtype=torch.int64) for _ in range(self.size)]
        self._named("an agreement", lambda: dist.all_gather(lengths, torch.tensor([len(text)])))
        padded = torch.zeros(max(int(x) for x in lengths), dtype=torch.uint8)
        padded[: len(text)] = text
        texts = [torch.empty_like(padded) for _ in range(self.size)]
        self._named("an agreement", lambda: dist.all_gather(texts, padded))
        return [json.loads(x[: int(n)].numpy().tobytes()) for x, n in zip(texts, lengths, strict=True)]

    def stack(self, x: Tensor) -> Tensor:
        """A small tensor of each rank, one below the other."""
        if self.size == 1:
            return x[None]
        own = x.contiguous()
        several = [torch.empty_like(own) for _ in range(self.size)]
        self._named("an agreement", lambda: dist.all_gather(several, own))
        return torch.stack(several)

    def swap(self, x: Tensor, gives: list[int], takes: list[int]) -> Tensor:
        """Rows of a tensor to each rank, `gives[q]` to rank q in their order; those that come, `takes[q]` of rank q."""
        if self.size == 1:
            return x
        out = x.new_empty(sum(takes), *x.shape[1:])
        rest = len(x) - gives[self.rank]
        self.sent += rest * x[:1].numel() * x.element_size() if rest else 0
        self._named("a step", lambda: dist.all_to_all_single(out, x.contiguous(), takes, gives))
        return out

    def first_says(self, value: T) -> T:
        """What rank 0 has, on every rank."""
        said: T = self.gather(value if self.first else None)[0]
        return said

    def together(self, work: Callable[[], T]) -> T:
        """Do something that may be refused on one rank: refused on all then, in one sentence that names the host."""
        value: Any = None
        said = ""
        try:
            value = work()
        except (InputError, OSError) as e:
            said = str(e)
        answers = self.gather(said)
        wrong = next((q for q, words in enumerate(answers) if words), None)
        if wrong is None:
            done: T = value
            return done
        raise self._refusal(answers[wrong] if self.size == 1 else f"{self.name(wrong)}: {answers[wrong]}")

    def agree(self, what: str, value: Any) -> None:
        """Refuse to go on where ranks differ in what must be the same on all."""
        values = self.gather(value)
        other = next((q for q, x in enumerate(values) if x != values[0]), None)
        if other is not None:
            names = [k for k in values[0] if values[0][k] != values[other].get(k)] if isinstance(value, dict) else []
            which = f" ({', '.join(names)})" if names else ""
            raise self._refusal(f"{self.name(other)} has another {what}{which} than {self.name(0)}; start all alike")

    def name(self, rank: int) -> str:
        """A rank and its host, for a sentence."""
        return f"rank {rank} of {self.size} on {self.hosts[rank]}"

    def barrier(self) -> None:
        """Wait for all."""
        self.most(0)

    def _refusal(self, words: str) -> InputError:
        error = InputError(words)
        error.silent = not self.first
        return error

    def _named(self, what: str, work: Callable[[], Any]) -> None:
        """Do a collective; where a peer is gone, one sentence says who noticed."""
        try:
            work()
        except RuntimeError as e:
            raise self.lost(what, e) from e

    def lost(self, what: str, e: Exception, peer: int | None = None) -> TrainingError:
        """The error of a rank whose peers are gone."""
        who = "the other ranks" if peer is None else self.name(peer)
        return TrainingError(f"{self.name(self.rank)} lost {who} in {what}: {_reason(e)}")


_started: Ranks | None = None
_store: Any = None
"""By which ranks found each other: on rank 0 a server, with a thread of its own."""


def start(device: str = "auto") -> Ranks:
    """The ranks that torchrun started, all of them there; the same ones whenever it is asked. One without torchrun.

    One process is where it is asked to be, each time; several stay where they first met, and are refused elsewhere.
    """
    global _started
    rank, size = rank_of()
    if size == 1:
        return Ranks(device=_device(device, 0))
    if _started is None:
        _started = _start(device, rank, size)
    elif device != "auto" and device != _started.device.type:
        raise InputError(
            f"these ranks met on device={_started.device.type!r}, and cannot go on with {device!r}; start torchrun anew"
        )
    return _started


def _start(device: str, rank: int, size: int) -> Ranks:
    global _store
    _check_torch()
    here = socket.gethostname()
    seconds = float(os.environ.get("NETFOLD_TIMEOUT", _TIMEOUT))
    wait = timedelta(seconds=seconds)
    at = f"{os.environ.get('MASTER_ADDR')}:{os.environ.get('MASTER_PORT')}"
    me = f"rank {rank} of {size} on {here}"
    try:
        store, _, _ = next(rendezvous("env://", timeout=wait))
        store.set_timeout(wait)
        store.set(f"netfold/{rank}", here)
    except (RuntimeError, ValueError) as e:
        raise InputError(f"{me} found nobody at {at} within {seconds:g} s: {_reason(e)}") from None
    hosts = _roll_call(store, me, size, seconds, at)
    own = _device(device, int(os.environ.get("LOCAL_RANK", "0")))
    backend = "cpu:gloo,cuda:nccl" if own.type == "cuda" else "gloo"
    try:
        dist.init_process_group(backend, store=PrefixStore("group", store), rank=rank, world_size=size, timeout=wait)
    except RuntimeError as e:
        way = os.environ.get("GLOO_SOCKET_IFNAME", "the one of the host's name; GLOO_SOCKET_IFNAME names another")
        raise InputError(
            f"{me} cannot reach {', '.join(sorted(set(hosts)))} (interface: {way}): {_reason(e)}"
        ) from None
    _store = store
    atexit.register(end)
    ranks = Ranks(rank, size, tuple(hosts), own)
    if ranks.first and os.environ.get("TORCHELASTIC_MAX_RESTARTS", "0") != "0" and not _is_on(_SHARED_STORE):
        said = f"set {_SHARED_STORE}=1 before torchrun: without it a restarted rank finds the addresses of dead ones"
        print(f"netfold: {said}, and all restarts are lost", file=sys.stderr, flush=True)
    return ranks


def _is_on(name: str) -> bool:
    return os.environ.get(name, "0") not in ("", "0")


def _roll_call(store: Any, me: str, size: int, seconds: float, at: str) -> list[str]:
    """The hosts of all ranks; who did not come within the time is named."""
    hosts, missing = [], []
    left = seconds
    for q in range(size):
        try:
            store.wait([f"netfold/{q}"], timedelta(seconds=left))
            hosts.append(store.get(f"netfold/{q}").decode())
        except RuntimeError:
            missing.append(q)
            left = 0.1  # the others had as long
    if missing:
        which = ", ".join(map(str, missing))
        raise InputError(f"{me} waited {seconds:g} s at {at}, and rank {which} did not come; is its host started?")
    return hosts


def _check_torch() -> None:
    own = tuple(int(x) for x in torch.__version__.split("+")[0].split(".")[:2])
    if own < TORCH_FLOOR:
        raise InputError(
            f"several ranks need torch {TORCH_FLOOR[0]}.{TORCH_FLOOR[1]} or later; this is {torch.__version__}"
        )


def _device(name: str, local: int) -> torch.device:
    there = torch.cuda.is_available()
    if name == "cuda" and not there:
        raise InputError("device='cuda' is not available on this machine; use device='auto' or 'cpu'")
    if name == "cpu" or not there:
        return torch.device("cpu")
    own = torch.device("cuda", local % torch.cuda.device_count())
    torch.cuda.set_device(own)
    return own


_LEAVING = timedelta(seconds=3)
"""That a rank which has done its work waits for others at the end: one that failed never comes."""


def end() -> None:
    """Leave, all together, while Python still stands; `start` registers it for the end of the process.

    A rank that closes its connections under another's hands can abort that one, and so can the store that rank 0 keeps
    for all, where it ends first: so all meet, all take the group down, and rank 0 is the last to go.
    """
    global _started, _store
    ranks, store = _started, _store
    _started = _store = None
    if ranks is None or store is None:
        return
    with suppress(Exception):  # by the store, which says nothing of those that never come
        store.set(f"netfold/done/{ranks.rank}", "")
        store.wait([f"netfold/done/{q}" for q in range(ranks.size)], _LEAVING)
    with suppress(Exception):
        dist.destroy_process_group()
    with suppress(Exception):
        store.set(f"netfold/left/{ranks.rank}", "")
        if ranks.first:
            store.wait([f"netfold/left/{q}" for q in range(ranks.size)], _LEAVING)


def _reason(e: Exception) -> str:
    lines = [line.strip() for line in str(e).splitlines() if line.strip()]
    return (lines[0] if lines else type(e).__name__)[:300].rstrip(".")
