"""`plan`: what training on a folder of parts will take, before it is begun: memory, bytes on the wire, disk, time.

Everything but time is arithmetic on the sizes of arrays, which `fit` makes as they are counted; only the number of rows
that travel is an expectation, over orders of nodes by their hashes. `choose` and the check before a save read the same
counts; the time is of the short fits of `choose`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from netfold.data.text import counted
from netfold.io.parts import PartsFolder

if TYPE_CHECKING:
    from netfold.embedder.embedder import Embedder

__all__ = ["Plan", "arcs_of_nodes", "base_memory", "computing", "counted_memory", "needed_rows", "plan"]

_BASE = {"cpu": 260 << 20, "cuda build": 535 << 20, "cuda": 600 << 20}
"""What a process has taken before its arrays: torch and netfold imported, and what a first small fit loads.

By torch 2.13 for CPUs, measured; by 2.11 for CUDA 13 where it fits on the CPU: 509 MiB when all is imported, and what
the other loads. Of a GPU's memory, what pieces and the allocator take: 1.7 GiB were reserved where 1.0 are counted.
"""
_LOADED = 8
"""Bytes of an arc of a graph that is read whole."""
_RANKS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024)


@dataclass(frozen=True)
class Plan:
    """What a rank takes, and what an epoch sends."""

    nodes: int
    arcs: int
    ranks: int
    memory: int
    """Bytes of memory of a rank, at its peak."""
    sent: int
    """Bytes that a rank sends in an epoch; as many come."""
    seconds: float | None
    """That an epoch spends on the wire, if nothing is computed meanwhile; None where no wire was named."""
    state: int
    """Bytes of a checkpoint on the disk; two are kept."""
    vectors: int
    """Bytes of the vectors on the disk, without names."""
    why: str
    """Why it cannot be spread over ranks; empty where it can."""
    counted: bool = True
    """Whether memory is all that it takes; if not, that of tables, arcs and the process itself."""
    epoch: float | None = None
    """Seconds that a rank computes in an epoch, if its machine is this one; None where nothing was tried."""

    def __str__(self) -> str:
        lines = [f"{self.nodes:,} nodes, {self.arcs:,} arcs, {counted(self.ranks, 'rank')}"]
        if self.why:
            lines.append(f"not spread over ranks: {self.why}; one process, the whole graph in its memory")
        lines.append(f"memory of a rank: {'' if self.counted else 'at least '}{gib(self.memory)}")
        if self.ranks > 1:
            wire = "" if self.seconds is None else f", {self.seconds:.3g} s on the wire"
            lines.append(f"sent by a rank in an epoch: {gib(self.sent)}{wire}")
        if self.epoch is not None:
            lines.append(f"computing: about {self.epoch:.3g} s an epoch, estimated from short fits here")
        lines.append(f"on disk: {gib(self.vectors)} of vectors, {gib(self.state)} a checkpoint (two are kept)")
        return "\n".join(lines)


def gib(size: float) -> str:
    """A size as people read it.

    >>> gib(3 << 30), gib(5 << 20)
    ('3.00 GiB', '5.0 MiB')
    """
    return f"{size / 2**30:,.2f} GiB" if size >= 2**29 else f"{size / 2**20:,.1f} MiB"


def arcs_of_nodes(folder: PartsFolder) -> Any:
    """How many arcs each node has; of each part only that is read."""
    return np.concatenate([np.diff(folder.arrays(i)["indptr"]) for i in range(len(folder))])


def needed_rows(degrees: Any, ranks: int, steps: int = 1) -> float:
    """U: the rows of others that a rank's arcs name, expected where nodes are in the order of a hash.

    A node of degree d has a neighbor on a given rank with the chance 1 - (1 - 1/R)^d. Where an epoch has S steps, each
    of random nodes, what each of them names is counted: S (1 - (1 - 1/RS)^d).
    """
    if ranks == 1:
        return 0.0
    missed = (1 - 1 / (ranks * steps)) ** np.asarray(degrees, np.float64)
    return float((1 - 1 / ranks) * steps * (1 - missed).sum())


def counted_memory(model: Embedder, nodes: int, arcs: int, ranks: int = 1) -> int | None:
    """Bytes that `fit` adds at its peak on a rank with so many nodes and arcs; None where a model's are not counted."""
    return model._bytes(nodes, arcs, ranks) if model.counted else None


def computing(folder: PartsFolder, model: Embedder, *, ranks: int = 1) -> float:
    """Seconds that a rank computes in an epoch (or in all, where nothing is trained), by short fits on this machine."""
    from netfold.studies.choose.facts import LinkCounts, estimated_cost

    leaving = arcs_of_nodes(folder)
    entering = leaving
    if folder.directed:
        entering = np.zeros(folder.n_nodes, np.int64)
        for i in range(len(folder)):
            entering += np.bincount(folder.arrays(i)["indices"], minlength=folder.n_nodes)
    own = type(model)(**model.get_params())
    cost = estimated_cost(
        lambda one, graph: one.fit(graph, progress=False), own, LinkCounts(leaving, entering, folder.directed)
    )
    return (cost.epoch or cost.seconds) / (1 if model._unspread(directed=folder.directed) else ranks)


def plan(folder: PartsFolder, model: Embedder, *, ranks: int = 1, wire: float | None = None) -> Plan:
    """What training a model on a folder takes, on so many ranks with a wire of so many bytes a second each."""
    return _plan(folder.n_nodes, folder.n_arcs, arcs_of_nodes(folder), folder.directed, model, ranks, wire)


def base_memory(device: str = "auto") -> int:
    """Bytes that a process takes before it has a graph, where it computes on such a device with this build of torch."""
    import torch

    if device == "cuda" or (device == "auto" and torch.cuda.is_available()):
        return _BASE["cuda"]
    return _BASE["cpu" if torch.version.cuda is None else "cuda build"]


def _plan(nodes: int, arcs: int, degrees: Any, directed: bool, model: Embedder, ranks: int, wire: float | None) -> Plan:
    why = model._unspread(directed=directed)
    ranks = 1 if why else ranks
    own_nodes, own_arcs = -(-nodes // ranks), -(-arcs // ranks)
    steps = model._steps(nodes)
    needed = needed_rows(degrees, ranks, steps)
    sent = round(needed * model._sent(directed=directed)) if ranks > 1 else 0
    if ranks > 1 and (by_steps := model._sent_in_epoch(degrees, ranks)) is not None:
        sent = round(by_steps)
    flight = round(needed * model._in_flight(directed=directed) / (steps * (ranks - 1))) if ranks > 1 else 0
    taken = (model._bytes if why else model._part_bytes)(own_nodes, own_arcs, ranks)
    return Plan(
        nodes, arcs, ranks,
        memory=base_memory(model.device) + taken + flight + (_LOADED * arcs if why else 0),
        sent=sent, seconds=None if wire is None or ranks == 1 else sent / wire,
        state=model._state_bytes(nodes), vectors=4 * (model.dim or 0) * nodes, why=why,
        counted=model.counted,
    )  # fmt: skip


def suggestions(
    folder: PartsFolder, model: Embedder, ranks: int, memory: int, *, wire: float | None = None
) -> list[str]:
    """What would fit into so much memory a rank: the options that do, and how many ranks; none where it fits."""
    degrees = arcs_of_nodes(folder)

    def of(one: Embedder, count: int) -> Plan:
        return _plan(folder.n_nodes, folder.n_arcs, degrees, folder.directed, one, count, wire)

    if of(model, ranks).memory <= memory:
        return []
    words = []
    for change in model._smaller():
        other = type(model)(**model.get_params() | change)
        if of(other, ranks).memory <= memory:
            flags = " ".join(f"--{name.replace('_', '-')} {_typed(value)}" for name, value in change.items())
            words.append(f"{flags}: {gib(of(other, ranks).memory)}")
    more = next((r for r in _RANKS if r > ranks and r <= len(folder) and of(model, r).memory <= memory), None)
    if more is not None and not model._unspread(directed=folder.directed):
        words.append(f"--ranks {more}: {gib(of(model, more).memory)}")
    return words or ["nothing that netfold knows of fits"]


def _typed(value: Any) -> str:
    return "''" if value == () else ",".join(map(str, value)) if isinstance(value, tuple) else str(value)
