"""SDNE's batches: nodes with their sparse rows, in chunks of bounded memory."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import torch
from scipy import sparse
from torch import Tensor

from netfold.learn.sparse_rows import SparseRows, dropped, generator_on, parts

__all__ = ["COLUMNS", "DENSE_LIMIT", "RowBatch", "RowChunk", "batches"]

DENSE_LIMIT = 20_000
"""Up to so many nodes a sigmoid output is summed exactly over all columns."""
COLUMNS = 2_048
"""Above that, so many random columns stand for all."""


@dataclasses.dataclass(frozen=True, eq=False)
class RowChunk:
    """Some rows of a batch, walked together."""

    rows: SparseRows
    """m x n: what the decoder is to write: their rows of the adjacency matrix, as a rule."""
    seen: SparseRows
    """m x n: their rows as the encoder sees them, without the entries that were dropped."""
    links: SparseRows | None
    """m x |U|: their rows of M + Mᵀ, where M holds the batch's edges; None where the first order is not asked for."""
    times: float
    """By how much the links are to be multiplied: a whole undirected graph's M + Mᵀ is its rows, twice."""
    decoded: bool
    """Whether these nodes are of the batch B, and not only neighbors of it."""


@dataclasses.dataclass(frozen=True, eq=False)
class RowBatch:
    """A batch: the nodes U, which are the batch B and then the neighbors of B outside it, in chunks."""

    chunks: Sequence[RowChunk]
    share: float
    """|B| / n: the batch's part in what is counted once an epoch."""
    columns: Tensor | None = None
    """The columns that stand for all in a sigmoid output; None: all do."""


class _Network(Protocol):
    """What batches must know of the network that reads them."""

    alpha: float
    output: str

    @property
    def device(self) -> torch.device:
        """Where it is."""

    def chunk_rows(self) -> int:
        """How many rows it walks at a time."""


def batches(
    matrix: sparse.csr_array,
    network: _Network,
    batch_size: int | None,
    dtype: torch.dtype = torch.float32,
    *,
    targets: sparse.csr_array | None = None,
    dropout: float = 0.0,
) -> Callable[[torch.Generator], Iterator[RowBatch]]:
    """The batches of an epoch for a generator: random nodes in steps of `batch_size`, or all at once.

    The decoder is to write the rows themselves, or those of `targets`. With `dropout`, that share of the entries, drawn
    anew each time, is dropped before encoding and the others are scaled up, so that a row's expectation stays.
    """
    n, device = matrix.shape[0], network.device
    sampled = network.output == "sigmoid" and n > DENSE_LIMIT
    make = functools.partial(_batch, matrix, targets, network.chunk_rows(), network.alpha > 0, device, dtype)
    whole = make(None) if batch_size is None or batch_size >= n else None

    def of(generator: torch.Generator) -> Iterator[RowBatch]:
        order = np.arange(n) if whole else torch.randperm(n, generator=generator).numpy()
        for start in range(0, n, n if whole else batch_size or n):
            batch = whole or make(np.sort(order[start : start + (batch_size or n)]))
            columns = torch.randperm(n, generator=generator)[:COLUMNS].to(device) if sampled else None
            chunks = _dropped(batch.chunks, dropout, generator) if dropout else batch.chunks
            yield dataclasses.replace(batch, columns=columns, chunks=chunks)

    return of


def _dropped(chunks: Sequence[RowChunk], share: float, generator: torch.Generator) -> list[RowChunk]:
    own = generator_on(chunks[0].seen.values.device, generator)
    return [dataclasses.replace(chunk, seen=dropped(chunk.seen, share, own)) for chunk in chunks]


def _batch(
    matrix: sparse.csr_array,
    targets: sparse.csr_array | None,
    size: int,
    linked: bool,
    device: Any,
    dtype: Any,
    part: npt.NDArray[np.int64] | None,
) -> RowBatch:
    """The batch of the nodes `part`, in order (None: of all), in chunks of `size` rows."""
    chunks = functools.partial(_chunks, size=size, device=device, dtype=dtype)
    if part is None:
        links = sparse.csr_array(matrix + matrix.T) if linked else None
        return RowBatch(chunks(matrix, targets, links), 1.0)
    share = len(part) / matrix.shape[0]
    mine, written = matrix[part], None if targets is None else targets[part]
    if not linked:
        return RowBatch(chunks(mine, written, None), share)
    others = np.setdiff1d(mine.indices, part)
    place = np.empty(matrix.shape[0], np.int32)
    place[part], place[others] = np.arange(len(part)), np.arange(len(others)) + len(part)
    n_all = len(part) + len(others)
    starts = np.append(mine.indptr, np.full(len(others), mine.indptr[-1]))
    edges = sparse.csr_array((mine.data, place[mine.indices], starts), shape=(n_all, n_all))
    links = sparse.csr_array(edges + edges.T)
    links.sort_indices()
    near = chunks(mine, written, links[: len(part)])
    return RowBatch(near + chunks(matrix[others], None, links[len(part) :], decoded=False), share)


def _chunks(
    seen: sparse.csr_array,
    written: sparse.csr_array | None,
    links: sparse.csr_array | None,
    *,
    size: int,
    device: Any,
    dtype: Any,
    decoded: bool = True,
) -> list[RowChunk]:
    twice = links is not None and links.shape == seen.shape and _is_twice(links, seen)
    chunks = []
    for part in parts(seen.shape[0], size):
        own = SparseRows.from_scipy(seen[part], dtype=dtype, device=device)
        rows = own if written is None else SparseRows.from_scipy(written[part], dtype=dtype, device=device)
        near = own if twice else None
        if links is not None and not twice:
            near = SparseRows.from_scipy(links[part], dtype=dtype, device=device)
        chunks.append(RowChunk(rows, own, near, 2.0 if twice else 1.0, decoded))
    return chunks


def _is_twice(a: sparse.csr_array, b: sparse.csr_array) -> bool:
    return np.array_equal(a.indices, b.indices) and np.array_equal(a.data, 2 * b.data)
