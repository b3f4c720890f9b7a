"""SDNE's tensors: the autoencoder over sparse rows, its loss, and where it starts (a truncated SVD, or a DBN)."""

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

from netfold.data.scaling import Block
from netfold.embedder.attributes import joint_rows, row_squares, side_by_side, taken
from netfold.learn import losses
from netfold.learn.layers import (
    ACTIVATIONS,
    RowDecoder,
    RowEncoder,
    Stack,
    add_half_squares,
    pass_back,
    slope_of,
    xavier_,
)
from netfold.learn.solvers import descended, ridge_columns
from netfold.learn.sparse_rows import PIECE, DenseBeside, SparseRows, in_chunks, parts
from netfold.learn.starts import deep_belief_network, leading_directions, unit_scale
from netfold.models.sdne.batches import Beside, Damping, RowBatch, RowChunk, beside, gaps_of, in_units

__all__ = ["Neighbors", "SDNENetwork", "start_from_dbn", "start_from_svd", "start_network"]


@dataclasses.dataclass(frozen=True, eq=False)
class Neighbors:
    """What the neighbors of m nodes say of where these are."""

    sums: npt.NDArray[np.float64]
    """m: Σ_j l_j, the weights of their links"""
    pull: npt.NDArray[np.float64]
    """m x dim: Σ_j l_j y_j"""
    reach: float
    """How far known vectors are spread: the length of a first step."""

    @staticmethod
    def of(links: sparse.csr_array, known: npt.NDArray[np.float32]) -> Neighbors:
        """By links with known nodes, m x n, as the objective weighs them, and their vectors, n x dim."""
        reach = float(known[: 1 << 14].std()) or 1.0
        return Neighbors(np.asarray(links.sum(axis=1)), np.asarray(links @ known), reach)

    def with_placed(
        self, among: sparse.csr_array, placed: npt.NDArray[np.float32], links: sparse.csr_array
    ) -> Neighbors:
        """And by those with other new nodes (m x k), which are where they were placed (k x dim).

        A link with one of these weighs as a node's links with known ones (m x n, as the graph has them) do on average.
        """
        own = np.asarray(links.sum(axis=1))
        unit = sparse.diags_array(self.sums / np.where(own > 0, own, 1))
        also = sparse.csr_array(unit @ among)
        sums, pull = self.sums + np.asarray(also.sum(axis=1)), self.pull + np.asarray(also @ placed)
        return dataclasses.replace(self, sums=sums, pull=pull)


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
    beside: Beside | None = None
    """What is known of them beside their links."""
    gaps: Sequence[slice] = ()


class SDNENetwork(nn.Module):
    """n - hidden - dim - hidden - n, with the loss of Eq. (5) in O(nnz h + n h²).

    With `attributes`, so many columns come after those of links, all of them sparse or all `dense`.
    """

    unit: float = 1.0
    """What weights are multiplied by before they are read: other than 1 where they are extreme, see `extreme_unit`."""
    attribute_unit: Tensor
    """What attributes are multiplied by beside γ; of a network that reads any."""
    _made: tuple[tuple[int, int, int], tuple[Tensor, Tensor]] | None = None
    """The last layer's Gram matrix, and of which state of it."""
    written: sparse.csc_array | None = None
    """What the last layer is solved for, where it is not trained: the rows of all nodes, by column."""

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
        attributes: int = 0,
        dense: bool = False,
        attribute_weight: float = 0.0,
        attribute_beta: float = 1.0,
    ):
        super().__init__()
        self.alpha, self.beta, self.nu, self.output = alpha, beta, nu, output
        self.n_links, self.dense = n, dense
        self.attribute_weight, self.attribute_beta = attribute_weight, attribute_beta
        if attributes:
            self.register_buffer("attribute_unit", torch.ones((), dtype=torch.float64))
        self.damping = Damping(n, *damping) if any(damping) else None
        self.activation, self.dim = ACTIVATIONS[activation], widths[-1]
        self.first = RowEncoder(n + attributes, widths[0])
        self.encoder = Stack(widths, activation)
        self.decoder = Stack(widths[::-1], activation)
        self.last = RowDecoder(n + attributes, widths[0])

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
        Where one chunk has them all, they are encoded that once.
        """
        alone = self.encode(batch.chunks[0].seen) if len(batch.chunks) == 1 else None
        everyone = None
        if self.alpha or self.written is not None:
            everyone = self._vectors(batch) if alone is None else alone.detach()
        if self.written is not None and everyone is not None:
            self.solve(everyone)
        whole = self._output_sum(batch.gaps)
        held = tuple(x.detach().requires_grad_(x.requires_grad) for x in whole)
        second, first, start = self.first.bias.new_zeros(()), self.first.bias.new_zeros(()), 0
        attributes = torch.zeros_like(second)
        for chunk in batch.chunks:
            y = self.encode(chunk.seen) if alone is None else alone
            part, hidden = y.new_zeros(()), None
            if chunk.decoded:
                hidden, outputs = self._decoded(chunk.rows, y)
                part = self._second_order(chunk, hidden, outputs, batch.columns, held)
            second = second + part.detach()
            if hidden is not None and chunk.beside is not None:
                more = self._beside(chunk, hidden, outputs, batch.gaps, held[3:])
                attributes = attributes + more.detach()
                part = part + more
            if self.alpha and everyone is not None and chunk.links is not None:
                mine = everyone[start : start + len(chunk.rows)]
                pulled = chunk.links.row_sums()[:, None] * mine - chunk.links.matmul(everyone)
                pulled = pulled.mul_(self.alpha * chunk.times)
                first = first + losses.first_order(mine, pulled)
                part = part + (y * (2 * pulled)).sum()  # whose gradient is that of the term
            if part.requires_grad:
                part.backward()  # type: ignore[no-untyped-call]
            start += len(chunk.rows)
        if whole and whole[0].requires_grad:
            pass_back(whole, [x.grad for x in held])
        terms = {"second_order": second} | ({"attributes": attributes} if self.n_attributes else {})
        return terms | {"first_order": first, "regularization": self._regularization(batch.share)}

    @property
    def n_attributes(self) -> int:
        """How many columns come after those of links."""
        return len(self.last.table) - self.n_links

    def _output_sum(self, gaps: Sequence[slice] = ()) -> tuple[Tensor, ...]:
        """What `energy` must know of the columns of links, of those of sparse attributes, and of each of the `gaps`."""
        if self.output != "linear":
            return ()
        if not self.n_attributes:
            return self.last.gram()
        links, others = slice(0, self.n_links), slice(self.n_links, None)
        parts_ = [links, *([] if self.dense else [others, *gaps])]
        return tuple(x for at in parts_ for x in self.last.gram(at))

    def _decoded(self, rows: SparseRows, y: Tensor) -> tuple[Tensor, Tensor]:
        """The last hidden layer of the decoder (m x h), and x̂ at the non-zeros, before the activation."""
        hidden = self.decoder(y)
        return hidden, self.last.at(rows, hidden)

    def _beside(
        self, chunk: RowChunk, hidden: Tensor, outputs: Tensor, gaps: Sequence[slice], gram: tuple[Tensor, ...]
    ) -> Tensor:
        """‖(X̂ - X) ⊙ B‖² of a chunk's attributes, B being 0 where they are missing."""
        more, beta = chunk.beside, self.attribute_beta
        assert more is not None
        if more.dense is not None:
            errors = (self.last.dense(hidden, slice(self.n_links, None)) - more.dense).square()
            return (errors * _dense_weights(more, beta)).sum()
        assert chunk.of_attributes is not None
        own, values = (x.index_select(0, chunk.of_attributes) for x in (outputs, chunk.rows.values))
        total = self.last.energy(hidden, (gram[0], gram[1], gram[2]))
        total = total + losses.second_order_correction(own, values, beta)
        for i in range(len(gaps)):
            a, b, c = gram[3 * i + 3 : 3 * i + 6]
            total = total - self.last.energy(hidden[more.gaps[i]], (a, b, c))
        return total if more.unknown is None else total - self.last.at(more.unknown, hidden).square().sum()

    def _second_order(
        self, chunk: RowChunk, hidden: Tensor, outputs: Tensor, columns: Tensor | None, gram: tuple[Tensor, ...]
    ) -> Tensor:
        """‖(X̂ - X) ⊙ B‖² of a chunk's links: the squares of all x̂, and at the non-zeros what they should be."""
        rows = chunk.rows
        if self.output == "linear":
            squares = self.last.energy(hidden, (gram[0], gram[1], gram[2]))
            values = rows.values
            if chunk.of_links is not None:
                outputs, values = (x.index_select(0, chunk.of_links) for x in (outputs, values))
            return squares + losses.second_order_correction(outputs, values, self.beta)
        scale = 1.0 if columns is None else rows.width / len(columns)
        squares = scale * self.last.sigmoid_energy(hidden, columns)
        counted: Tensor | float = 1.0
        if columns is not None:
            counted = outputs.new_zeros(rows.width).index_fill_(0, columns, scale)[rows.col]
        return squares + losses.second_order_correction(outputs.sigmoid(), rows.values, self.beta, counted)

    @torch.no_grad()
    def keep_tables(self, kind: torch.dtype) -> None:
        """Let the tables of the first and of the last layer have numbers of another kind: of 16 bits, or of 32."""
        for layer in (self.first, self.last):
            if layer.table.dtype != kind:
                layer.table = nn.Parameter(layer.table.to(kind))

    def state_dict(self, *args: Any, **kwargs: Any) -> dict[str, Any]:  # type: ignore[override]
        """As `torch.nn.Module`; numbers of 16 bits as such of 32, which files hold."""
        state: dict[str, Any] = super().state_dict(*args, **kwargs)
        return {name: x.float() if x.dtype == torch.bfloat16 else x for name, x in state.items()}

    @property
    def trained(self) -> list[nn.Parameter]:
        """What is stepped: all parameters, or all but those of the last layer."""
        solved = set() if self.written is None else {id(self.last.table), id(self.last.bias)}
        return [p for p in self.parameters() if id(p) not in solved]

    @torch.no_grad()
    def solve(self, vectors: Tensor) -> None:
        """Let the last layer be the best for these vectors of all nodes, n x dim."""
        assert self.written is not None
        table, bias = ridge_columns(self.decoder(vectors), self.written, self.beta, self.nu / 2)
        self.last.table.copy_(table)
        self.last.bias.copy_(bias)
        self.last.table.grad = self.last.bias.grad = None

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
    def embed(self, matrix: sparse.csr_array, block: Block | None = None) -> npt.NDArray[np.float32]:
        """The vectors of rows over the known nodes, and of what is known beside those, in chunks: m x dim."""
        rows = self._walk(self.weighed(matrix), block)
        vectors: npt.NDArray[np.float32] = torch.cat([self.encode(each).cpu() for each in rows]).numpy()
        return vectors

    def refine(
        self,
        matrix: sparse.csr_array,
        neighbors: Neighbors,
        start: npt.NDArray[np.float32],
        weight: float,
        block: Block | None = None,
    ) -> npt.NDArray[np.float32]:
        """y of each row x that makes ‖(x̂(y) - x) ⊙ B‖² + weight Σ_j l_j ‖y - y_j‖² least, all else held fixed: m x dim.

        `matrix` has the rows as the network reads them (m x n), `neighbors` what l and y_j say. Exact where the decoder
        is one linear layer; else some steps from `start`. A step costs O(nnz h + m h²): the zeros are in the Gram
        matrix of the last layer, which is made once. With `block`, the rows go on with what is known of the nodes
        beside their links.
        """
        device, found = self.device, []
        sums, pull = (torch.from_numpy(x.astype(np.float32)).to(device) for x in (neighbors.sums, neighbors.pull))
        own = None if block is None or not self.n_attributes else self.scaled(block)
        gaps = [] if own is None else gaps_of(own, self.n_links)
        for part in parts(len(start), self.chunk_rows()):
            more = None if own is None else taken(own, part)
            rows = SparseRows.from_scipy(
                matrix[part] if more is None else side_by_side(matrix[part], more), device=device
            )
            terms = _FixedTerms(rows, sums[part, None], pull[part], weight)
            if more is not None:
                besides = beside(more, gaps, self.n_links, dtype=torch.float32, device=device)
                terms = dataclasses.replace(terms, beside=besides, gaps=gaps)
            with torch.no_grad():
                exact = self._exact(terms) if not len(self.decoder.weights) and more is None else None
            begin = torch.from_numpy(start[part]).to(device)
            slope = functools.partial(self._slope, terms=terms)
            found.append(descended(slope, begin, neighbors.reach) if exact is None else exact)
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
            errors = rows.with_values(self._betas(rows) ** 2 * (outputs - rows.values) - outputs)
            through = hidden @ gram + with_bias + errors.matmul(table)
            if terms.beside is not None:
                through += self._through_beside(hidden.detach(), terms.beside, terms.gaps)
        return slope_of(hidden, through, y) + terms.weight * (terms.sums * y.detach() - terms.pull)

    def _betas(self, rows: SparseRows) -> Tensor | float:
        """B at the non-zeros."""
        if not self.n_attributes or self.dense:
            return self.beta
        return torch.where(rows.col < self.n_links, self.beta, self.attribute_beta)

    def _through_beside(self, hidden: Tensor, more: Beside, gaps: Sequence[slice]) -> Tensor:
        """Half the gradient, at the last hidden layer, of what `_gram` and the non-zeros do not say of attributes."""
        table, bias = self.last.table, self.last.bias
        if more.dense is not None:
            own = table[self.n_links :]
            errors = hidden @ own.t() + bias[self.n_links :] - more.dense
            return (errors * _dense_weights(more, self.attribute_beta)) @ own
        out = torch.zeros_like(hidden)
        for at, rows in zip(gaps, more.gaps, strict=True):
            part = table[at]
            out[rows] -= (hidden[rows] @ part.t() + bias[at]) @ part
        if more.unknown is not None:
            outputs = more.unknown.sampled(hidden, table) + bias[more.unknown.col]
            out -= more.unknown.with_values(outputs).matmul(table)
        return out

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
        """WᵀW and Wᵀb of the last layer (but for dense attributes), made once for each state of it: O(n h²)."""
        table, bias = self.last.table.detach(), self.last.bias.detach()
        if self.dense:
            table, bias = table[: self.n_links], bias[: self.n_links]
        state = (table.data_ptr(), table._version, bias._version)
        if self._made is None or self._made[0] != state:
            self._made = state, (table.t() @ table, table.t() @ bias)
        return self._made[1]

    @torch.no_grad()
    def reconstruct(self, matrix: sparse.csr_array, block: Block | None = None) -> npt.NDArray[np.float32]:
        """x̂ in whole rows, those of links, for a bounded number of rows: m x n."""
        return self._written(self.last.rows(self._last_hidden(matrix, block)))[:, : self.n_links]

    @torch.no_grad()
    def pair_decoder(
        self, matrix: sparse.csr_array, block: Block | None = None, *, both_ways: bool
    ) -> Callable[[npt.NDArray[np.int64]], npt.NDArray[np.float32]]:
        """From some rows of a matrix (n x n) to their x̂, or to the mean of x̂ and x̂ᵀ there: m x n."""
        hidden = self._last_hidden(matrix, block)

        @torch.no_grad()
        def of(rows: npt.NDArray[np.int64]) -> npt.NDArray[np.float32]:
            scores = self._written(self.last.rows(hidden[rows]))[:, : self.n_links]
            if both_ways:
                scores += self._written((hidden @ self.last.table[rows].T + self.last.bias[rows]).T)
                scores /= 2
            return scores

        return of

    def _last_hidden(self, matrix: sparse.csr_array, block: Block | None) -> Tensor:
        return torch.cat([self.decoder(self.encode(rows)) for rows in self._walk(self.weighed(matrix), block)])

    def _written(self, outputs: Tensor) -> npt.NDArray[np.float32]:
        values = outputs.sigmoid() if self.output == "sigmoid" else outputs
        written: npt.NDArray[np.float32] = values.numpy(force=True)
        return written

    def weighed(self, matrix: sparse.csr_array) -> sparse.csr_array:
        """The rows that the network reads and writes."""
        return in_units(matrix, self.unit) if self.damping is None else self.damping.of(matrix)

    def measure(self, rows: sparse.csr_array, block: Block) -> None:
        """Take the unit of attributes, in which γ = 1 lets them have as much part in a row as links have."""
        self.attribute_unit.fill_(math.sqrt(row_squares(rows) / row_squares(block.values)))

    def scaled(self, block: Block) -> Block:
        """γ x_i in the units of the graph that was fitted."""
        factor = np.float32(self.attribute_weight * float(self.attribute_unit))
        return dataclasses.replace(block, values=block.values * factor)

    def _walk(self, matrix: sparse.csr_array, block: Block | None) -> Iterator[SparseRows]:
        if block is None or not self.n_attributes:
            yield from in_chunks(matrix, self.chunk_rows(), self.first.bias)
            return
        own = self.scaled(block)
        for part in parts(matrix.shape[0], self.chunk_rows()):
            yield joint_rows(matrix[part], taken(own, part), self.first.bias)

    @property
    def device(self) -> torch.device:
        """Where it is."""
        return self.first.table.device

    def chunk_rows(self) -> int:
        """How many rows are walked at a time: what keeps a layer's activations in bounds."""
        widest = max(int(w.shape[1]) for w in (self.first.table, *self.encoder.weights))
        return max(256, PIECE[self.first.table.device.type] // widest)


def _dense_weights(more: Beside, beta: float) -> Tensor:
    """B² of dense attributes: m x a."""
    assert more.dense is not None
    weights = torch.where(more.dense != 0, beta**2, 1.0)
    return weights if more.known is None else weights * more.known


def start_network(
    network: SDNENetwork,
    matrix: sparse.csr_array,
    how: str,
    generators: tuple[torch.Generator, torch.Generator],
    report: Callable[[int, int, float], None],
    block: Block | None = None,
    device: torch.device | str = "cpu",
) -> None:
    """A random start, and then how it is pre-trained on the rows: "svd", "dbn" or "none"; `block` is beside them.

    A deep belief network is trained on `device`: it costs about as much as the autoencoder.
    """
    typical = float(matrix.multiply(matrix).sum()) / matrix.shape[0]  # Σ_j x_ij² of a usual row
    if block is None:
        network.start(generators[0], typical)
    else:
        network.start(generators[0], typical + row_squares(block.values))
        matrix = side_by_side(matrix, block)
    if how == "dbn":
        start_from_dbn(network, matrix, generators[1], report, device)
    elif how == "svd":
        start_from_svd(network, matrix, generators[1], block)
    if block is not None:  # a column without entries says nothing, and stays at 0
        some = (
            block.values.any(axis=0) if network.dense else np.bincount(block.values.indices, minlength=block.width) > 0
        )
        empty = torch.from_numpy(network.n_links + np.flatnonzero(~np.asarray(some)))
        with torch.no_grad():
            network.first.table[empty] = 0
            network.last.table[empty] = 0


@torch.no_grad()
def start_from_dbn(
    network: SDNENetwork,
    matrix: sparse.csr_array,
    generator: torch.Generator,
    report: Callable[[int, int, float], None],
    device: torch.device | str = "cpu",
) -> None:
    """Unroll a deep belief network into the autoencoder: each RBM upwards in the encoder, downwards in the decoder."""
    sizes = parts(matrix.shape[0], max(512, math.ceil(matrix.shape[0] / 8)))
    rows = [SparseRows.from_scipy(matrix[part], device=device) for part in sizes]
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
def start_from_svd(
    network: SDNENetwork, matrix: sparse.csr_array, generator: torch.Generator, block: Block | None = None
) -> None:
    """Let the network begin as the best linear autoencoder: x̂ = V Vᵀ x with V the leading right singular vectors.

    The vectors Vᵀx are scaled into the range where the activation is nearly linear and passed through every layer.
    """
    rows = SparseRows.from_scipy(matrix, device=network.device)
    if block is not None and network.dense:
        rows = DenseBeside.beside(rows, torch.from_numpy(block.values).to(network.device))
    layers = [*network.encoder.weights, *network.decoder.weights]
    rank = min([network.first.table.shape[1], *(w.shape[1] for w in layers), *matrix.shape])
    v = leading_directions(rows, rank, generator)
    reach = rows.matmul(v).abs().amax(1)
    reach = reach[reach > 1e-6 * reach.max()]  # rows with edges
    begin_at(network, v, 0.5 / float(reach.kthvalue(max(1, int(0.9 * len(reach)))).values))


@torch.no_grad()
def begin_at(network: SDNENetwork, v: Tensor, scale: float) -> None:
    """Write directions (n x rank) into the first and the last layer, and pass them through those between."""
    rank = v.shape[1]
    network.first.table.mul_(0.1)
    network.last.table.mul_(0.1)
    network.first.table[:, :rank] = scale * v
    network.last.table[:, :rank] = v / scale
    for w in (*network.encoder.weights, *network.decoder.weights):
        w.mul_(0.1)
        w[:rank, :rank] = torch.eye(rank, device=w.device)
