"""SDNE's tensors: the autoencoder over sparse rows, its loss in linear time, and its batches."""

from __future__ import annotations

import dataclasses
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
_FEATURES = 32
"""Dimensions of the embedding whose first-order term is taken at a time."""


@dataclasses.dataclass(frozen=True, eq=False)
class Rows:
    """A batch: rows of the adjacency matrix in chunks, those to be reconstructed first, then their other neighbors."""

    chunks: Sequence[SparseRows]
    """|U| x n in all: U is the batch B, then the neighbors of B outside it, in chunks that never mix the two."""
    n_batch: int
    """|B|"""
    edges: SparseRows | None
    """|B| x |U|: the same rows of B with columns by their place in U; None where the first order is not asked for."""
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
        one chunk are all that is ever alive. The first-order term needs the vectors of all neighbors at once, so it
        is differentiated at the vectors (|U| x dim), and that gradient is handed to the chunks.
        """
        pull, first = self._first_order(batch) if self.alpha else (None, self.first.bias.new_zeros(()))
        whole, parts = self._output_sum(), self.first.bias.new_zeros(())
        held = tuple(x.detach().requires_grad_(x.requires_grad) for x in whole)
        start = 0
        for rows in batch.chunks:
            decoded = start < batch.n_batch
            if decoded or pull is not None:
                y = self.encode(rows)
                part = self._second_order(rows, y, batch.columns, held) if decoded else y.new_zeros(())
                parts = parts + part.detach()
                if part.requires_grad or y.requires_grad:
                    pulled = (y * pull[start : start + len(rows)]).sum() if pull is not None else 0.0
                    (part + pulled).backward()  # type: ignore[no-untyped-call]
            start += len(rows)
        if whole and whole[0].requires_grad:
            torch.autograd.backward(whole, [x.grad for x in held])
        return {"second_order": parts, "first_order": first, "regularization": self._regularization(batch.share)}

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

    def _first_order(self, batch: Rows) -> tuple[Tensor | None, Tensor]:
        """The gradient of alpha L_1st at the vectors of U (|U| x dim), and its value.

        The term is a sum over dimensions, so a few are taken at a time, and their gradient replaces them.
        """
        assert batch.edges is not None
        wanted, total = torch.is_grad_enabled(), self.first.bias.new_zeros(())
        vectors = self._vectors(batch)
        for start in range(0, vectors.shape[1], _FEATURES):
            some = vectors[:, start : start + _FEATURES].clone(memory_format=torch.contiguous_format)
            value = self.alpha * losses.first_order(some.requires_grad_(wanted), batch.edges)
            total = total + value.detach()
            if wanted:
                value.backward()  # type: ignore[no-untyped-call]
                assert some.grad is not None
                vectors[:, start : start + _FEATURES] = some.grad
        return (vectors if wanted else None), total

    @torch.no_grad()
    def _vectors(self, batch: Rows) -> Tensor:
        out = self.first.bias.new_empty(sum(map(len, batch.chunks)), self.dim)
        start = 0
        for rows in batch.chunks:
            out[start : start + len(rows)] = self.encode(rows)
            start += len(rows)
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
        return _chunks(matrix, self.chunk_rows(), table.device, table.dtype)

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
    parts = list(_chunks(matrix, max(512, math.ceil(matrix.shape[0] / 8)), "cpu", torch.float32))
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
    chunk, wants_edges = network.chunk_rows(), network.alpha > 0
    whole = None

    def columns(generator: torch.Generator) -> Tensor | None:
        return torch.randperm(n, generator=generator)[:COLUMNS].to(device) if sampled else None

    def of(generator: torch.Generator) -> Iterator[Rows]:
        nonlocal whole
        if batch_size is None or batch_size >= n:
            if whole is None:
                edges = SparseRows.from_scipy(matrix, dtype=dtype, device=device) if wants_edges else None
                whole = Rows(list(_chunks(matrix, chunk, device, dtype)), n, edges, 1.0)
            yield dataclasses.replace(whole, columns=columns(generator))
            return
        order = torch.randperm(n, generator=generator).numpy()
        for start in range(0, n, batch_size):
            part = np.sort(order[start : start + batch_size])
            yield dataclasses.replace(
                _batch(matrix, part, chunk, device, dtype, wants_edges), columns=columns(generator)
            )

    return of


def _batch(
    matrix: sparse.csr_array, part: npt.NDArray[np.int64], chunk: int, device: Any, dtype: Any, wants_edges: bool
) -> Rows:
    rows = matrix[part]
    chunks, edges, share = list(_chunks(rows, chunk, device, dtype)), None, len(part) / matrix.shape[0]
    if wants_edges:
        others = np.setdiff1d(rows.indices, part)
        place = np.empty(matrix.shape[0], np.int32)
        place[part], place[others] = np.arange(len(part)), np.arange(len(others)) + len(part)
        local = sparse.csr_array(
            (rows.data, place[rows.indices], rows.indptr), shape=(len(part), len(part) + len(others))
        )
        edges = SparseRows.from_scipy(local, dtype=dtype, device=device)
        chunks += _chunks(matrix[others], chunk, device, dtype)
    return Rows(chunks, len(part), edges, share)


def _chunks(matrix: sparse.csr_array, size: int, device: Any, dtype: Any) -> Iterator[SparseRows]:
    count = max(1, math.ceil(matrix.shape[0] / size))
    for part in np.array_split(np.arange(matrix.shape[0]), count):
        if len(part):
            yield SparseRows.from_scipy(matrix[part[0] : part[-1] + 1], dtype=dtype, device=device)
