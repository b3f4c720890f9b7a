"""SDNE's tensors: the autoencoder over sparse rows, its loss in linear time, and its batches."""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from scipy import sparse
from torch import Tensor, nn

from netfold import losses
from netfold.modules import ACTIVATIONS, RowDecoder, RowEncoder, Stack, xavier_
from netfold.pretrain import deep_belief_network, truncated_svd, unit_scale
from netfold.sparse_rows import PIECE, SparseRows

DENSE_LIMIT = 20_000
"""Up to so many nodes a sigmoid output is summed exactly over all columns."""
COLUMNS = 2_048
"""Above that, so many random columns stand for all."""


@dataclasses.dataclass(frozen=True, eq=False)
class Chunk:
    """Some rows of a batch, walked together."""

    rows: SparseRows
    """m x n: their rows of the adjacency matrix."""
    links: SparseRows | None
    """m x |U|: their rows of M + Mᵀ, where M holds the batch's edges; None where the first order is not asked for."""
    times: float
    """By how much the links are to be multiplied: a whole undirected graph's M + Mᵀ is its rows, twice."""
    decoded: bool
    """Whether these nodes are of the batch B, and not only neighbors of it."""


@dataclasses.dataclass(frozen=True, eq=False)
class Rows:
    """A batch: the nodes U, which are the batch B and then the neighbors of B outside it, in chunks."""

    chunks: Sequence[Chunk]
    share: float
    """|B| / n: the batch's part in what is counted once an epoch."""
    columns: Tensor | None = None
    """The columns that stand for all in a sigmoid output; None: all do."""


class SDNENetwork(nn.Module):
    """n - hidden - dim - hidden - n, with the loss of Eq. (5) in O(nnz h + n h²)."""

    def __init__(
        self, n: int, widths: Sequence[int], activation: str, output: str, *, alpha: float, beta: float, nu: float
    ):
        super().__init__()
        self.alpha, self.beta, self.nu, self.output = alpha, beta, nu, output
        self.activation, self.dim = ACTIVATIONS[activation], widths[-1]
        self.first = RowEncoder(n, widths[0])
        self.encoder = Stack(widths, activation)
        self.decoder = Stack(widths[::-1], activation)
        self.last = RowDecoder(n, widths[0])

    def start(self, generator: torch.Generator, row_squares: float) -> None:
        """Xavier's start; in the first layer for rows whose squares sum to `row_squares`, not to n."""
        for weight in (*self.encoder.weights, *self.decoder.weights):
            xavier_(weight, generator)
        xavier_(self.first.table, generator, fan_in=row_squares)
        xavier_(self.last.table, generator)

    def encode(self, rows: SparseRows) -> Tensor:
        """y of Eq. (1), after its activation: m x dim."""
        made: Tensor = self.encoder(self.activation(self.first(rows)))
        return made

    def loss(self, batch: Rows) -> dict[str, Tensor]:
        """The three terms of Eq. (5), weighted, summed over the batch.

        Walks the chunks and, where gradients are on, adds each chunk's to `grad` before the next: the activations of
        one chunk are all that is ever alive. The first-order term needs the vectors of all neighbors, so those are
        encoded once beforehand (|U| x dim), and the term's gradient at a chunk's vectors, 2 alpha (L + Lᵀ) Y, is known.
        """
        everyone = self._vectors(batch) if self.alpha else None
        whole = self._output_sum()
        held = tuple(x.detach().requires_grad_(x.requires_grad) for x in whole)
        second, first, start = self.first.bias.new_zeros(()), self.first.bias.new_zeros(()), 0
        for chunk in batch.chunks:
            y = self.encode(chunk.rows)
            part = self._second_order(chunk.rows, y, batch.columns, held) if chunk.decoded else y.new_zeros(())
            second = second + part.detach()
            if everyone is not None and chunk.links is not None:
                mine = everyone[start : start + len(chunk.rows)]
                pulled = chunk.links.row_sums()[:, None] * mine - chunk.links.matmul(everyone)
                pulled = pulled.mul_(self.alpha * chunk.times)
                first = first + losses.first_order(mine, pulled)
                part = part + (y * (2 * pulled)).sum()  # whose gradient is that of the term
            if part.requires_grad:
                part.backward()  # type: ignore[no-untyped-call]
            start += len(chunk.rows)
        if whole and whole[0].requires_grad:
            torch.autograd.backward(whole, [x.grad for x in held])
        return {"second_order": second, "first_order": first, "regularization": self._regularization(batch.share)}

    def _output_sum(self) -> tuple[Tensor, ...]:
        return self.last.gram() if self.output == "linear" else ()

    def _second_order(self, rows: SparseRows, y: Tensor, columns: Tensor | None, gram: tuple[Tensor, ...]) -> Tensor:
        """‖(X̂ - X) ⊙ B‖² of a chunk: the squares of all x̂, and at the non-zeros what they should be."""
        hidden = self.decoder(y)
        found = self.last.at(rows, hidden)
        if self.output == "linear":
            squares = self.last.energy(hidden, (gram[0], gram[1], gram[2]))
            return squares + losses.second_order_correction(found, rows.values, self.beta)
        scale = 1.0 if columns is None else rows.width / len(columns)
        squares = scale * self.last.sigmoid_energy(hidden, columns)
        counted: Tensor | float = 1.0
        if columns is not None:
            counted = found.new_zeros(rows.width).index_fill_(0, columns, scale)[rows.col]
        return squares + losses.second_order_correction(found.sigmoid(), rows.values, self.beta, counted)

    @torch.no_grad()
    def _vectors(self, batch: Rows) -> Tensor:
        out = self.first.bias.new_empty(sum(len(c.rows) for c in batch.chunks), self.dim)
        start = 0
        for chunk in batch.chunks:
            out[start : start + len(chunk.rows)] = self.encode(chunk.rows)
            start += len(chunk.rows)
        return out

    def _regularization(self, share: float) -> Tensor:
        """The batch's share of nu L_reg; its gradient is the weights themselves, added in place."""
        weights = [self.first.table, *self.encoder.weights, *self.decoder.weights, self.last.table]
        wanted = self.nu > 0 and torch.is_grad_enabled()
        with torch.no_grad():
            for w in weights if wanted else ():
                w.grad = torch.zeros_like(w) if w.grad is None else w.grad
                w.grad.add_(w, alpha=share * self.nu)
            return share * self.nu * losses.half_squares(weights)

    @torch.no_grad()
    def embed(self, matrix: sparse.csr_array) -> npt.NDArray[np.float32]:
        """The vectors of rows over the known nodes, in chunks: m x dim."""
        made: npt.NDArray[np.float32] = torch.cat([self.encode(rows).cpu() for rows in self._walk(matrix)]).numpy()
        return made

    @torch.no_grad()
    def reconstruct(self, matrix: sparse.csr_array) -> npt.NDArray[np.float32]:
        """x̂ in whole rows, for a bounded number of rows: m x n."""
        found = torch.cat([self.last.rows(self.decoder(self.encode(rows))) for rows in self._walk(matrix)])
        made: npt.NDArray[np.float32] = (found.sigmoid() if self.output == "sigmoid" else found).numpy(force=True)
        return made

    def _walk(self, matrix: sparse.csr_array) -> Iterator[SparseRows]:
        table = self.first.table
        for part in _parts(matrix.shape[0], self.chunk_rows()):
            yield SparseRows.from_scipy(matrix[part], dtype=table.dtype, device=table.device)

    def chunk_rows(self) -> int:
        """How many rows are walked at a time: what keeps a layer's activations in bounds."""
        widest = max(int(w.shape[1]) for w in (self.first.table, *self.encoder.weights))
        return max(256, PIECE[self.first.table.device.type] // widest)


@torch.no_grad()
def start_from_dbn(
    network: SDNENetwork,
    matrix: sparse.csr_array,
    generator: torch.Generator,
    report: Callable[[int, int, float], None],
) -> None:
    """Unroll a deep belief network into the autoencoder: each RBM upwards in the encoder, downwards in the decoder."""
    sizes = _parts(matrix.shape[0], max(512, math.ceil(matrix.shape[0] / 8)))
    parts = [SparseRows.from_scipy(matrix[part]) for part in sizes]
    unit = unit_scale(parts)
    widths = [network.first.table.shape[1], *(w.shape[1] for w in network.encoder.weights)]
    scaled = [p.with_values(p.values / unit) for p in parts]
    lowest, *others = deep_belief_network(scaled, widths, generator, report=report)
    network.first.table.copy_(lowest.weight / unit)
    network.first.bias.copy_(lowest.hidden)
    for i, rbm in enumerate(others):
        network.encoder.weights[i].copy_(rbm.weight)
        network.encoder.biases[i].copy_(rbm.hidden)
        network.decoder.weights[-1 - i].copy_(rbm.weight.T)
        network.decoder.biases[-1 - i].copy_(rbm.visible)
    if network.output == "linear":
        network.last.table.copy_(lowest.weight * unit)
        network.last.bias.copy_(lowest.visible * unit)
    else:  # a sigmoid of what the linear units wrote, around how often each is on
        on = torch.tensor(matrix.sum(axis=0) / matrix.shape[0]).clamp(1e-6, 1 - 1e-6)
        network.last.table.copy_(lowest.weight)
        network.last.bias.copy_(on.logit())


@torch.no_grad()
def start_from_svd(network: SDNENetwork, matrix: sparse.csr_array, generator: torch.Generator) -> None:
    """Let the network begin as the best linear autoencoder: x̂ = V Vᵀ x with V the leading right singular vectors.

    The vectors Vᵀx are scaled into the range where the activation is nearly linear and passed through every layer.
    """
    rows = SparseRows.from_scipy(matrix)
    layers = [*network.encoder.weights, *network.decoder.weights]
    rank = min([network.first.table.shape[1], *(w.shape[1] for w in layers), *matrix.shape])
    _, v = truncated_svd(rows, rank, generator)
    reach = rows.matmul(v).abs().amax(1)
    reach = reach[reach > 1e-6 * reach.max()]  # rows with edges
    scale = 0.5 / float(reach.kthvalue(max(1, int(0.9 * len(reach)))).values)
    network.first.table.mul_(0.1)
    network.last.table.mul_(0.1)
    network.first.table[:, :rank] = scale * v
    network.last.table[:, :rank] = v / scale
    for w in layers:
        w.mul_(0.1)
        w[:rank, :rank] = torch.eye(rank)


def batches(
    matrix: sparse.csr_array, network: SDNENetwork, batch_size: int | None, dtype: torch.dtype = torch.float32
) -> Callable[[torch.Generator], Iterator[Rows]]:
    """The batches of an epoch for a generator: random nodes in steps of `batch_size`, or all at once."""
    n, device = matrix.shape[0], network.first.table.device
    sampled = network.output == "sigmoid" and n > DENSE_LIMIT
    make = functools.partial(_batch, matrix, network.chunk_rows(), network.alpha > 0, device, dtype)
    whole = make(None) if batch_size is None or batch_size >= n else None

    def of(generator: torch.Generator) -> Iterator[Rows]:
        order = np.arange(n) if whole else torch.randperm(n, generator=generator).numpy()
        for start in range(0, n, n if whole else batch_size or n):
            batch = whole or make(np.sort(order[start : start + (batch_size or n)]))
            columns = torch.randperm(n, generator=generator)[:COLUMNS].to(device) if sampled else None
            yield dataclasses.replace(batch, columns=columns)

    return of


def _batch(
    matrix: sparse.csr_array, size: int, linked: bool, device: Any, dtype: Any, part: npt.NDArray[np.int64] | None
) -> Rows:
    """The batch of the nodes `part`, in order (None: of all), in chunks of `size` rows."""
    if part is None:
        rows, links = matrix, sparse.csr_array(matrix + matrix.T) if linked else None
        return Rows(_chunks(rows, links, size, True, device, dtype), 1.0)
    share = len(part) / matrix.shape[0]
    mine = matrix[part]
    if not linked:
        return Rows(_chunks(mine, None, size, True, device, dtype), share)
    others = np.setdiff1d(mine.indices, part)
    place = np.empty(matrix.shape[0], np.int32)
    place[part], place[others] = np.arange(len(part)), np.arange(len(others)) + len(part)
    n_all = len(part) + len(others)
    starts = np.append(mine.indptr, np.full(len(others), mine.indptr[-1]))
    edges = sparse.csr_array((mine.data, place[mine.indices], starts), shape=(n_all, n_all))
    links = sparse.csr_array(edges + edges.T)
    links.sort_indices()
    chunks = _chunks(mine, links[: len(part)], size, True, device, dtype)
    return Rows(chunks + _chunks(matrix[others], links[len(part) :], size, False, device, dtype), share)


def _chunks(
    rows: sparse.csr_array, links: sparse.csr_array | None, size: int, decoded: bool, device: Any, dtype: Any
) -> list[Chunk]:
    twice = links is not None and links.shape == rows.shape and _is_twice(links, rows)
    made = []
    for part in _parts(rows.shape[0], size):
        own = SparseRows.from_scipy(rows[part], dtype=dtype, device=device)
        near = own if twice else None
        if links is not None and not twice:
            near = SparseRows.from_scipy(links[part], dtype=dtype, device=device)
        made.append(Chunk(own, near, 2.0 if twice else 1.0, decoded))
    return made


def _is_twice(a: sparse.csr_array, b: sparse.csr_array) -> bool:
    return np.array_equal(a.indices, b.indices) and np.array_equal(a.data, 2 * b.data)


def _parts(n: int, size: int) -> Iterator[slice]:
    """Ranges of nearly the same length, at most `size`, that cover 0..n-1."""
    count = math.ceil(n / size)
    for i in range(count):
        yield slice(n * i // count, n * (i + 1) // count)
