"""SDNE's rows, the graph's own or weighed or with overlaps, and its batches: rows in chunks of bounded memory."""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import torch
from scipy import sparse
from torch import Tensor, nn

from netfold.data.checks import unique_values
from netfold.data.edges import links
from netfold.data.graph import Graph
from netfold.data.scaling import Block
from netfold.embedder.attributes import side_by_side, taken
from netfold.errors import InputError
from netfold.learn.sparse_rows import DenseBeside, SparseRows, dropped, generator_on, parts

__all__ = [
    "COLUMNS",
    "DENSE_LIMIT",
    "MOST_PATHS",
    "Beside",
    "Damping",
    "RowBatch",
    "RowChunk",
    "batches",
    "beside",
    "extreme_unit",
    "gaps_of",
    "in_units",
    "overlap",
    "with_two_steps",
]


MOST_PATHS = 500_000_000
"""Paths of two steps that are summed for `overlap`."""


_ORDINARY = 2.0**30
"""Weights whose largest is within this factor of 1 are read as they are."""


def extreme_unit(weights: npt.NDArray[np.float32]) -> float:
    """What brings the largest weight to between 1 and 2, where it is far from that (amounts in wei), and else 1.

    A power of two, so that no digit is lost: whatever unit the weights come in, SDNE learns the same then.

    >>> extreme_unit(np.array([3e20, 1])), extreme_unit(np.array([5.0, 1]))
    (3.3881317890172014e-21, 1.0)
    """
    largest = float(weights.max(initial=0))
    if largest == 0 or 1 / _ORDINARY <= largest <= _ORDINARY:
        return 1.0
    return float(2.0 ** -math.floor(math.log2(largest)))


def in_units(matrix: sparse.csr_array, unit: float) -> sparse.csr_array:
    """A matrix whose weights are multiplied by a number; the matrix itself where that is 1."""
    if unit == 1:
        return matrix
    data = (matrix.data.astype(np.float64) * unit).astype(np.float32)
    return sparse.csr_array((data, matrix.indices, matrix.indptr), shape=matrix.shape)


class Damping(nn.Module):
    """Rows of c D^-q S D^-p: links of and to hubs weighed down, at a mean weight of 1.

    The column sums and c are those of the graph that was fitted; a row's own sum is over known nodes, new rows' too.
    """

    columns: Tensor
    unit: Tensor

    def __init__(self, n: int, q: float, p: float):
        super().__init__()
        self.q, self.p = q, p
        self.register_buffer("columns", torch.ones(n, dtype=torch.float64))
        self.register_buffer("unit", torch.ones((), dtype=torch.float64))

    def measure(self, matrix: sparse.csr_array) -> None:
        """Take the sums of the graph that is fitted."""
        self.columns.copy_(torch.from_numpy(_powers(matrix, 0, self.p)))
        self.unit.fill_(1.0)
        self.unit.fill_(matrix.nnz / float(self.of(matrix).sum(dtype=np.float64)))

    def of(self, matrix: sparse.csr_array) -> sparse.csr_array:
        """The rows, weighed: m x n."""
        rows = np.repeat(_powers(matrix, 1, self.q), np.diff(matrix.indptr))
        factor = rows * self.columns.numpy(force=True)[matrix.indices] * float(self.unit)
        data = (matrix.data * factor).astype(np.float32)  # symmetric to the bit where the matrix is, and q = p
        return sparse.csr_array((data, matrix.indices, matrix.indptr), shape=matrix.shape)


def _powers(matrix: sparse.csr_array, axis: int, p: float) -> npt.NDArray[np.float64]:
    """Sums over an axis, to the power of -p; added one by one, so that those of a symmetric matrix agree to the bit."""
    index = matrix.indices if axis == 0 else np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
    sums = np.bincount(index, weights=matrix.data, minlength=matrix.shape[1 - axis])
    powers: npt.NDArray[np.float64] = np.where(sums > 0, sums, 1.0) ** -p
    return powers


def overlap(matrix: sparse.csr_array) -> sparse.csr_array:
    """X Xᵀ without its diagonal, at a mean entry of 1: how far two nodes' neighborhoods are the same."""
    paths = float(np.square(np.bincount(matrix.indices).astype(np.float64)).sum())
    if paths > MOST_PATHS:
        raise InputError(
            f"overlap is summed over {paths:,.0f} paths of two steps, and at most {MOST_PATHS:,} are taken; "
            "this graph's hubs have too many neighbors for it: use overlap=0"
        )
    common = sparse.csr_array(matrix @ matrix.T)
    common.setdiag(0)
    common.eliminate_zeros()
    common.sort_indices()
    if common.nnz:
        common.data /= common.data.mean(dtype=np.float64).astype(np.float32)
    return common


_ROWS = 512
"""Nodes at whose links it is seen how large the decoder's numbers are."""


def with_two_steps(
    decoded: Callable[[npt.NDArray[np.int64]], npt.NDArray[np.float32]], graph: Graph, skip: float
) -> Callable[[npt.NDArray[np.int64]], npt.NDArray[np.float32]]:
    """What a decoder says of pairs, and beside it `skip` times Σ_k 1/d_k over the neighbors k that both have.

    Both are over their mean at known links (of up to 512 nodes, evenly chosen), and the sum in the decoder's units.
    """
    near = links(graph, directed=False, weights=False, loops="drop", dtype=np.float32)
    if (paths := float(np.square(np.diff(near.indptr).astype(np.float64)).sum())) > MOST_PATHS:
        raise InputError(
            f"skip is summed over {paths:,.0f} paths of two steps, and at most {MOST_PATHS:,} are taken; "
            "this graph's hubs have too many neighbors for it: use skip=0"
        )
    shares = sparse.diags_array(1 / np.maximum(np.diff(near.indptr), 1).astype(np.float32))
    both = sparse.csr_array(near @ shares @ near)
    some = unique_values(np.linspace(0, len(near.indptr) - 2, _ROWS).astype(np.int64))
    at = near[some].toarray() > 0
    usual = both[some].toarray()[at].mean(dtype=np.float64) if at.any() else 0.0
    if usual <= 0:
        return decoded
    weight = np.float32(skip * abs(decoded(some)[at].mean(dtype=np.float64)) / usual)

    def summed(rows: npt.NDArray[np.int64]) -> npt.NDArray[np.float32]:
        return np.asarray(decoded(rows) + weight * both[rows].toarray(), np.float32)

    return summed


DENSE_LIMIT = 20_000
"""Up to so many nodes a sigmoid output is summed exactly over all columns."""
COLUMNS = 2_048
"""Above that, so many random columns stand for all."""


_NARROW = 32
"""An attribute of up to so many columns is taken out entry by entry where it is missing, a wider one by its Gram."""


@dataclasses.dataclass(frozen=True, eq=False)
class Beside:
    """Of some nodes' attributes, the last columns of their rows: what is dense, and what is missing."""

    dense: Tensor | None
    """m x a: their values where those are dense; None where they are entries of the rows."""
    known: Tensor | None
    """m x a: 1, or 0 where a dense value is missing; None where none is."""
    gaps: Sequence[Tensor]
    """Of each of the batch's `gaps`: the nodes of which that attribute is missing."""
    unknown: SparseRows | None
    """m x n: an entry for each missing number of a narrow attribute; None where there is none."""


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
    beside: Beside | None = None
    """Their attributes, where they have any; `rows` and `seen` have them as their last columns."""
    of_links: Tensor | None = None
    """Which entries of `rows` are links; None where all are."""
    of_attributes: Tensor | None = None
    """Which entries of `rows` are attributes; None where none is."""


@dataclasses.dataclass(frozen=True, eq=False)
class RowBatch:
    """A batch: the nodes U, which are the batch B and then the neighbors of B outside it, in chunks."""

    chunks: Sequence[RowChunk]
    share: float
    """|B| / n: the batch's part in what is counted once an epoch."""
    columns: Tensor | None = None
    """The columns that stand for all in a sigmoid output; None: all do."""
    gaps: Sequence[slice] = ()
    """The columns of each wide attribute that some nodes lack."""


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
    block: Block | None = None,
) -> Callable[[torch.Generator], Iterator[RowBatch]]:
    """The batches of an epoch for a generator: random nodes in steps of `batch_size`, or all at once.

    The decoder is to write the rows themselves, or those of `targets`. With `dropout`, that share of the entries, drawn
    anew each time, is dropped before encoding and the others are scaled up, so that a row's expectation stays. `block`
    has the columns beside those of links.
    """
    n, device = matrix.shape[0], network.device
    sampled = network.output == "sigmoid" and n > DENSE_LIMIT
    make = functools.partial(_batch, matrix, targets, block, network.chunk_rows(), network.alpha > 0, device, dtype)
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
    block: Block | None,
    size: int,
    linked: bool,
    device: Any,
    dtype: Any,
    part: npt.NDArray[np.int64] | None,
) -> RowBatch:
    """The batch of the nodes `part`, in order (None: of all), in chunks of `size` rows."""
    gaps = () if block is None else gaps_of(block, matrix.shape[1])
    chunks = functools.partial(_chunks, size=size, device=device, dtype=dtype)
    if part is None:
        links = sparse.csr_array(matrix + matrix.T) if linked else None
        return RowBatch(chunks(matrix, targets, links, block, gaps), 1.0, gaps=gaps)
    share = len(part) / matrix.shape[0]
    mine, written = matrix[part], None if targets is None else targets[part]
    own = None if block is None else taken(block, part)
    if not linked:
        return RowBatch(chunks(mine, written, None, own, gaps), share, gaps=gaps)
    others = np.setdiff1d(mine.indices, part)
    place = np.empty(matrix.shape[0], np.int32)
    place[part], place[others] = np.arange(len(part)), np.arange(len(others)) + len(part)
    n_all = len(part) + len(others)
    starts = np.append(mine.indptr, np.full(len(others), mine.indptr[-1]))
    edges = sparse.csr_array((mine.data, place[mine.indices], starts), shape=(n_all, n_all))
    links = sparse.csr_array(edges + edges.T)
    links.sort_indices()
    near = chunks(mine, written, links[: len(part)], own, gaps)
    away = None if block is None else taken(block, others)
    far = chunks(matrix[others], None, links[len(part) :], away, gaps, decoded=False)
    return RowBatch(near + far, share, gaps=gaps)


def _chunks(
    seen: sparse.csr_array,
    written: sparse.csr_array | None,
    links: sparse.csr_array | None,
    block: Block | None,
    gaps: Sequence[slice],
    *,
    size: int,
    device: Any,
    dtype: Any,
    decoded: bool = True,
) -> list[RowChunk]:
    if block is not None:
        written = None if written is None else side_by_side(written, block)
        n, seen = seen.shape[1], side_by_side(seen, block)
    twice = links is not None and links.shape == seen.shape and _is_twice(links, seen)
    chunks = []
    for part in parts(seen.shape[0], size):
        own = SparseRows.from_scipy(seen[part], dtype=dtype, device=device)
        rows = own if written is None else SparseRows.from_scipy(written[part], dtype=dtype, device=device)
        near = own if twice else None
        if links is not None and not twice:
            near = SparseRows.from_scipy(links[part], dtype=dtype, device=device)
        if block is None:
            chunks.append(RowChunk(rows, own, near, 2.0 if twice else 1.0, decoded))
            continue
        more = beside(taken(block, part), gaps, n, dtype=dtype, device=device)
        own = own if more.dense is None else DenseBeside.beside(own, more.dense)
        apart: tuple[Tensor | None, Tensor | None] = (None, None)
        if more.dense is None and decoded:  # as positions: the gradient of a mask is sorted on a GPU, every time
            apart = (rows.col < n).nonzero()[:, 0], (rows.col >= n).nonzero()[:, 0]
        chunks.append(RowChunk(rows, own, near, 1.0, decoded, more, *apart))
    return chunks


def gaps_of(block: Block, n: int) -> list[slice]:
    """The columns, after n of links, of each wide attribute that some nodes lack; none of dense ones."""
    if isinstance(block.values, np.ndarray):
        return []
    some: npt.NDArray[np.bool_] = ~np.all(block.known, axis=0)
    return [slice(n + a, n + b) for (a, b), lacks in zip(block.slices, some, strict=True) if lacks and b - a > _NARROW]


def beside(block: Block, gaps: Sequence[slice], n: int, *, dtype: Any, device: Any) -> Beside:
    """What must be known of the attributes of some nodes that come after n columns of links."""
    missing = ~block.known
    if isinstance(block.values, np.ndarray):
        dense = torch.tensor(block.values, dtype=dtype, device=device)
        if not missing.any():
            return Beside(dense, None, [], None)
        widths = [b - a for a, b in block.slices]
        known = torch.tensor(np.repeat(block.known, widths, axis=1), dtype=dtype, device=device)
        return Beside(dense, known, [], None)
    column = {n + a: c for c, (a, _) in enumerate(block.slices)}
    rows = [torch.from_numpy(np.flatnonzero(missing[:, column[at.start]])).to(device) for at in gaps]
    narrow = [(np.flatnonzero(missing[:, c]), range(a, b)) for c, (a, b) in enumerate(block.slices) if b - a <= _NARROW]
    r = np.concatenate([np.repeat(lacking, len(columns)) for lacking, columns in narrow] or [np.zeros(0, np.int64)])
    if not len(r):
        return Beside(None, None, rows, None)
    c = np.concatenate([np.tile(columns, len(lacking)) for lacking, columns in narrow])
    entries = sparse.csr_array((np.zeros(len(r), np.float32), (r, n + c)), shape=(len(missing), n + block.width))
    entries.sort_indices()
    return Beside(None, None, rows, SparseRows.from_scipy(entries, dtype=dtype, device=device))


def _is_twice(a: sparse.csr_array, b: sparse.csr_array) -> bool:
    return np.array_equal(a.indices, b.indices) and np.array_equal(a.data, 2 * b.data)
