"""DVNE's batches: triplets, the rows of the nodes that they name, and nodes whose rows are to be written."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Protocol

import torch
from torch import Tensor

from netfold.learn.sparse_rows import SparseRows, dropped, generator_on, parts
from netfold.models.dvne.triplets import Triplets

__all__ = ["Batch", "NodeChunk", "batches"]

_STEPS, _LEAST = 16, 64
"""Without a batch size: so many steps an epoch, each of at least so many triplets."""


@dataclasses.dataclass(frozen=True, eq=False)
class NodeChunk:
    """Some nodes of a batch, walked together."""

    rows: SparseRows
    """m x n: their rows of P."""
    seen: SparseRows
    """m x n: their rows as the encoder sees them, without the entries that were dropped."""
    noise: Tensor | None
    """m x dim: ε of Z = μ + σ ε, for nodes whose rows are to be written; None for those that are only read."""


@dataclasses.dataclass(frozen=True, eq=False)
class Batch:
    """Triplets, and the nodes that they name or that are to be written: each once, the latter first."""

    chunks: Sequence[NodeChunk]
    triplets: Tensor
    """3 x b: i, j and k as places among the nodes."""
    times: float
    """M / n: how many triplets an epoch draws for each node that it writes."""


class _Network(Protocol):
    """What batches must know of the network that reads them."""

    dim: int
    alpha: float

    def chunk_rows(self) -> int:
        """How many rows it walks at a time."""


def batches(
    rows: SparseRows,
    triplets: Triplets,
    count: int,
    network: _Network,
    batch_size: int | None,
    *,
    dropout: float = 0.0,
    reach: int = 1,
) -> Callable[[torch.Generator], Iterator[Batch]]:
    """The batches of an epoch for a generator: `count` uniform triplets, and each node once to be written.

    So L_2 is summed over all nodes alike, those included that no triplet names; where it has no weight, none is
    written. With `dropout`, that share of the entries, drawn anew each time, is dropped before encoding; with `reach`,
    a triplet's j may be that many steps from i.
    """
    device, dtype, n = rows.values.device, rows.values.dtype, len(rows)
    shape = (count if len(triplets) else 0,)
    visits = shape[0] or n  # where there is no triplet, there are still nodes to be written
    steps = math.ceil(visits / (batch_size or max(_LEAST, math.ceil(visits / _STEPS))))

    def of(generator: torch.Generator) -> Iterator[Batch]:
        drawn = torch.randint(max(1, len(triplets)), shape, generator=generator)
        order = torch.randperm(n if network.alpha else 0, generator=generator)
        dropper = generator_on(device, generator)
        for numbers, nodes in zip(drawn.tensor_split(steps), order.tensor_split(steps), strict=True):
            own = nodes.to(device).sort().values
            noise = torch.randn(len(own), network.dim, generator=generator).to(device, dtype)
            named = triplets.at(numbers.to(device))
            named = triplets.walked(named, reach, generator) if reach > 1 else named
            batch = _batch(rows, named, own, noise, network.chunk_rows(), count / n)
            yield _dropped(batch, dropout, dropper) if dropout else batch

    return of


def _batch(rows: SparseRows, triplets: Tensor, own: Tensor, noise: Tensor, size: int, times: float) -> Batch:
    """The batch of these triplets and of the nodes `own`, in chunks of `size` rows."""
    named = torch.zeros(len(rows), dtype=torch.bool, device=own.device)
    named[triplets.flatten()] = True
    named[own] = False
    others = named.nonzero()[:, 0]
    nodes, place = torch.cat([own, others]), torch.empty_like(named, dtype=torch.int64)
    place[nodes] = torch.arange(len(nodes), device=own.device)
    chunks = [_chunk(rows.take(own[part]), noise[part]) for part in parts(len(own), size)]
    chunks += [_chunk(rows.take(others[part]), None) for part in parts(len(others), size)]
    return Batch(chunks, place[triplets], times)


def _chunk(rows: SparseRows, noise: Tensor | None) -> NodeChunk:
    return NodeChunk(rows, rows, noise)


def _dropped(batch: Batch, share: float, generator: torch.Generator) -> Batch:
    seen = [dropped(chunk.rows, share, generator, sum_to_one=True) for chunk in batch.chunks]  # as rows of P do
    chunks = [dataclasses.replace(chunk, seen=rows) for chunk, rows in zip(batch.chunks, seen, strict=True)]
    return dataclasses.replace(batch, chunks=chunks)
