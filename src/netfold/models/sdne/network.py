"""SDNE's tensors: the autoencoder over sparse rows, its loss, and where it starts (a truncated SVD, or a DBN)."""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Callable, Iterator, Sequence

import numpy as np
import numpy.typing as npt
import torch
from scipy import sparse
from torch import Tensor, nn

from netfold.learn import losses
from netfold.learn.layers import ACTIVATIONS, RowDecoder, RowEncoder, Stack, add_half_squares, xavier_
from netfold.learn.solvers import descended
from netfold.learn.sparse_rows import PIECE, SparseRows, in_chunks, parts
from netfold.learn.starts import deep_belief_network, leading_directions, unit_scale
from netfold.models.sdne.batches import Damping, RowBatch, in_units

__all__ = ["SDNENetwork", "start_from_dbn", "start_from_svd", "start_network"]


@dataclasses.dataclass(frozen=True, eq=False)
class _FixedTerms:
    """What the objective of m nodes knows while their vectors are sought."""

    rows: SparseRows
    """m x n"""
    sums: Tensor
    """m x 1: Σ_j l_j"""
    pull: Tensor
    """m x dim: Σ_j l_j y_j"""
    weight: float


class SDNENetwork(nn.Module):
    """n - hidden - dim - hidden - n, with the loss of Eq. (5) in O(nnz h + n h²)."""

    unit: float = 1.0
    """What weights are multiplied by before they are read: other than 1 where they are extreme, see `extreme_unit`."""
    _made: tuple[tuple[int, int, int], tuple[Tensor, Tensor]] | None = None
    """The last layer's Gram matrix, and of which state of it."""

    def __init__(
        self,
        n: int,
        widths: Sequence[int],
        activation: str,
        output: str,
        *,
        alpha: float,
        beta: float,
        nu: float,
        damping: tuple[float, float] = (0.0, 0.0),
    ):
        super().__init__()
        self.alpha, self.beta, self.nu, self.output = alpha, beta, nu, output
        self.damping = Damping(n, *damping) if any(damping) else None
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
        vectors: Tensor = self.encoder(self.activation(self.first(rows)))
        return vectors

    def loss(self, batch: RowBatch) -> dict[str, Tensor]:
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
            y = self.encode(chunk.seen)
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
        outputs = self.last.at(rows, hidden)
        if self.output == "linear":
            squares = self.last.energy(hidden, (gram[0], gram[1], gram[2]))
            return squares + losses.second_order_correction(outputs, rows.values, self.beta)
        scale = 1.0 if columns is None else rows.width / len(columns)
        squares = scale * self.last.sigmoid_energy(hidden, columns)
        counted: Tensor | float = 1.0
        if columns is not None:
            counted = outputs.new_zeros(rows.width).index_fill_(0, columns, scale)[rows.col]
        return squares + losses.second_order_correction(outputs.sigmoid(), rows.values, self.beta, counted)

    @torch.no_grad()
    def _vectors(self, batch: RowBatch) -> Tensor:
        out = self.first.bias.new_empty(sum(len(c.rows) for c in batch.chunks), self.dim)
        start = 0
        for chunk in batch.chunks:
            out[start : start + len(chunk.rows)] = self.encode(chunk.seen)
            start += len(chunk.rows)
        return out

    def _regularization(self, share: float) -> Tensor:
        """The batch's share of nu L_reg; its gradient is the weights themselves, added in place."""
        weights = [self.first.table, *self.encoder.weights, *self.decoder.weights, self.last.table]
        return add_half_squares(weights, share * self.nu)

    @torch.no_grad()
    def embed(self, matrix: sparse.csr_array) -> npt.NDArray[np.float32]:
        """The vectors of rows over the known nodes, in chunks: m x dim."""
        matrix = self.weighed(matrix)
        vectors: npt.NDArray[np.float32] = torch.cat([self.encode(rows).cpu() for rows in self._walk(matrix)]).numpy()
        return vectors

    def refine(
        self,
        matrix: sparse.csr_array,
        links: sparse.csr_array,
        known: npt.NDArray[np.float32],
        start: npt.NDArray[np.float32],
        weight: float,
    ) -> npt.NDArray[np.float32]:
        """y of each row x that makes ‖(x̂(y) - x) ⊙ B‖² + weight Σ_j l_j ‖y - y_j‖² least, all else held fixed: m x dim.

        `matrix` has the rows as the network reads them, `links` the weights l of known neighbors (both m x n), `known`
        the vectors y_j (n x dim). Exact where the decoder is one linear layer; else some steps from `start`. A step
        costs O(nnz h + m h²): the zeros are in the Gram matrix of the last layer, which is made once.
        """
        device, found = self.device, []
        reach = float(known[: 1 << 14].std()) or 1.0
        sums, pull = (torch.from_numpy(np.asarray(x, np.float32)).to(device) for x in (links.sum(1), links @ known))
        for part in parts(len(start), self.chunk_rows()):
            rows = SparseRows.from_scipy(matrix[part], device=device)
            terms = _FixedTerms(rows, sums[part, None], pull[part], weight)
            with torch.no_grad():
                exact = self._exact(terms) if not len(self.decoder.weights) else None
            begin = torch.from_numpy(start[part]).to(device)
            found.append(
                descended(functools.partial(self._slope, terms=terms), begin, reach) if exact is None else exact
            )
        refined: npt.NDArray[np.float32] = torch.cat(found).numpy(force=True)
        return refined

    def _slope(self, y: Tensor, terms: _FixedTerms) -> Tensor:
        """Half the gradient at y: m x dim."""
        y = y.detach().requires_grad_(True)
        with torch.enable_grad():
            hidden = self.decoder(y)
        with torch.no_grad():
            gram, with_bias = self._gram
            table, bias, rows = self.last.table, self.last.bias, terms.rows
            outputs = rows.sampled(hidden.detach(), table) + bias[rows.col]
            errors = rows.with_values(self.beta**2 * (outputs - rows.values) - outputs)
            through = hidden @ gram + with_bias + errors.matmul(table)
        (slope,) = torch.autograd.grad(hidden, y, through)
        return slope + terms.weight * (terms.sums * y.detach() - terms.pull)

    def _exact(self, terms: _FixedTerms) -> Tensor:
        """(WᵀW + (β² - 1) Σ_j w_j w_jᵀ + weight s I) y = Σ_j (β² x_j - (β² - 1) b_j) w_j - Wᵀb + weight Σ_j l_j y_j."""
        gram, with_bias = self._gram
        rows, table, more = terms.rows, self.last.table, self.beta**2 - 1
        right = rows.with_values(self.beta**2 * rows.values - more * self.last.bias[rows.col]).matmul(table)
        right = (right - with_bias + terms.weight * terms.pull).double()
        eye, starts, found = torch.eye(self.dim, dtype=torch.float64, device=right.device), rows.crow.tolist(), []
        for i in range(len(rows)):
            own = table[rows.col[starts[i] : starts[i + 1]].long()].double()
            system = gram.double() + more * own.t() @ own + (terms.weight * float(terms.sums[i, 0]) + 1e-9) * eye
            found.append(torch.linalg.solve(system, right[i]))
        return torch.stack(found).to(table.dtype)

    @property
    def _gram(self) -> tuple[Tensor, Tensor]:
        """WᵀW and Wᵀb of the last layer, made once for each state of it: O(n h²)."""
        table, bias = self.last.table.detach(), self.last.bias.detach()
        state = (table.data_ptr(), table._version, bias._version)
        if self._made is None or self._made[0] != state:
            self._made = state, (table.t() @ table, table.t() @ bias)
        return self._made[1]

    @torch.no_grad()
    def reconstruct(self, matrix: sparse.csr_array) -> npt.NDArray[np.float32]:
        """x̂ in whole rows, for a bounded number of rows: m x n."""
        return self._written(self.last.rows(self._last_hidden(matrix)))

    @torch.no_grad()
    def pair_decoder(
        self, matrix: sparse.csr_array, *, both_ways: bool
    ) -> Callable[[npt.NDArray[np.int64]], npt.NDArray[np.float32]]:
        """From some rows of a matrix (n x n) to their x̂, or to the mean of x̂ and x̂ᵀ there: m x n."""
        hidden = self._last_hidden(matrix)

        @torch.no_grad()
        def of(rows: npt.NDArray[np.int64]) -> npt.NDArray[np.float32]:
            scores = self._written(self.last.rows(hidden[rows]))
            if both_ways:
                scores += self._written((hidden @ self.last.table[rows].T + self.last.bias[rows]).T)
                scores /= 2
            return scores

        return of

    def _last_hidden(self, matrix: sparse.csr_array) -> Tensor:
        return torch.cat([self.decoder(self.encode(rows)) for rows in self._walk(self.weighed(matrix))])

    def _written(self, outputs: Tensor) -> npt.NDArray[np.float32]:
        values = outputs.sigmoid() if self.output == "sigmoid" else outputs
        written: npt.NDArray[np.float32] = values.numpy(force=True)
        return written

    def weighed(self, matrix: sparse.csr_array) -> sparse.csr_array:
        """The rows that the network reads and writes."""
        return in_units(matrix, self.unit) if self.damping is None else self.damping.of(matrix)

    def _walk(self, matrix: sparse.csr_array) -> Iterator[SparseRows]:
        return in_chunks(matrix, self.chunk_rows(), self.first.table)

    @property
    def device(self) -> torch.device:
        """Where it is."""
        return self.first.table.device

    def chunk_rows(self) -> int:
        """How many rows are walked at a time: what keeps a layer's activations in bounds."""
        widest = max(int(w.shape[1]) for w in (self.first.table, *self.encoder.weights))
        return max(256, PIECE[self.first.table.device.type] // widest)


def start_network(
    network: SDNENetwork,
    matrix: sparse.csr_array,
    how: str,
    generators: tuple[torch.Generator, torch.Generator],
    report: Callable[[int, int, float], None],
) -> None:
    """A random start, and then how it is pre-trained on the rows: "svd", "dbn" or "none"."""
    typical = float(matrix.multiply(matrix).sum()) / matrix.shape[0]  # Σ_j x_ij² of a usual row
    network.start(generators[0], typical)
    if how == "dbn":
        start_from_dbn(network, matrix, generators[1], report)
    elif how == "svd":
        start_from_svd(network, matrix, generators[1])


@torch.no_grad()
def start_from_dbn(
    network: SDNENetwork,
    matrix: sparse.csr_array,
    generator: torch.Generator,
    report: Callable[[int, int, float], None],
) -> None:
    """Unroll a deep belief network into the autoencoder: each RBM upwards in the encoder, downwards in the decoder."""
    sizes = parts(matrix.shape[0], max(512, math.ceil(matrix.shape[0] / 8)))
    rows = [SparseRows.from_scipy(matrix[part]) for part in sizes]
    unit = unit_scale(rows)
    widths = [network.first.table.shape[1], *(w.shape[1] for w in network.encoder.weights)]
    scaled = [p.with_values(p.values / unit) for p in rows]
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
    rows = SparseRows.from_scipy(matrix, device=network.device)
    layers = [*network.encoder.weights, *network.decoder.weights]
    rank = min([network.first.table.shape[1], *(w.shape[1] for w in layers), *matrix.shape])
    v = leading_directions(rows, rank, generator)
    reach = rows.matmul(v).abs().amax(1)
    reach = reach[reach > 1e-6 * reach.max()]  # rows with edges
    scale = 0.5 / float(reach.kthvalue(max(1, int(0.9 * len(reach)))).values)
    network.first.table.mul_(0.1)
    network.last.table.mul_(0.1)
    network.first.table[:, :rank] = scale * v
    network.last.table[:, :rank] = v / scale
    for w in layers:
        w.mul_(0.1)
        w[:rank, :rank] = torch.eye(rank, device=w.device)
