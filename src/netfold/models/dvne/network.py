"""DVNE's tensors: the autoencoder over sparse rows whose code is a Gaussian, and its loss."""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from scipy import sparse
from torch import Tensor, nn
from torch.nn import functional

from netfold.data.embedding import Embedding
from netfold.data.scaling import Block
from netfold.embedder.attributes import joint_rows, row_squares, taken
from netfold.learn import losses
from netfold.learn.layers import RowDecoder, RowEncoder, Stack, add_product, products, xavier_
from netfold.learn.optimizers import grad_of
from netfold.learn.skipgram import sums_at
from netfold.learn.solvers import descended
from netfold.learn.sparse_rows import PIECE, DenseBeside, SparseRows, cached_parts, dropped, generator_on, parts
from netfold.models.dvne.batches import Batch, NodeChunk

__all__ = ["ENERGIES", "LEAST", "SLOPES", "DVNENetwork", "deviation", "kl", "w2_of_rows", "w2_squared"]

LEAST = 1e-6
"""The smallest standard deviation."""


def deviation(x: Tensor) -> Tensor:
    """σ = ELU(x) + 1, which is x + 1 above 0 and eˣ below, and never under `LEAST`.

    Written as eˣ it keeps its digits where ELU(x) + 1 loses them, and underflows to 0 in float32 at x = -17.
    """
    return torch.exp(x.clamp(max=0)).clamp(min=LEAST) + functional.relu(x)


def _deviation_slope(x: Tensor) -> Tensor:
    """Its slope: 1 above 0, eˣ below, and 0 where it is no less than `LEAST`."""
    slope = torch.exp(x.clamp(max=0))
    return slope.masked_fill_(slope < LEAST, 0)


def w2_of_rows(a: Tensor, b: Tensor) -> Tensor:
    """W2 of Gaussians with diagonal covariances: the Euclidean distance of [μ, σ]. Both m x 2 dim, made m.

    Where the two are the same its gradient is taken to be 0, one of its subgradients.
    """
    distances: Tensor = torch.linalg.vector_norm(a - b, dim=1)
    return distances


def w2_squared(a: Tensor, b: Tensor) -> Tensor:
    """W2²."""
    return (a - b).square().sum(1)


def kl(a: Tensor, b: Tensor) -> Tensor:
    """D_KL(b ‖ a) = ½ Σ (σ_b² + (μ_a - μ_b)²) / σ_a² - 1 - 2 log(σ_b / σ_a), of [μ, σ]: m x 2 dim each, made m."""
    (mean_a, std_a), (mean_b, std_b) = a.chunk(2, dim=1), b.chunk(2, dim=1)
    ratio = std_b / std_a
    return 0.5 * (ratio.square() + ((mean_a - mean_b) / std_a).square() - 1 - 2 * ratio.log()).sum(1)


ENERGIES: dict[str, Callable[[Tensor, Tensor], Tensor]] = {"w2": w2_of_rows, "w2_squared": w2_squared, "kl": kl}
"""E of two nodes, by name."""


Slopes = tuple[Tensor, Tensor, Tensor | None]
"""E of a and b (... x 1) and its gradients for a and for b (... x 2 dim); None: for b it is the opposite."""


def _w2_slope(a: Tensor, b: Tensor) -> Slopes:
    apart = a - b
    energy = torch.linalg.vector_norm(apart, dim=-1, keepdim=True)
    return energy, apart.div_(energy.clamp(min=torch.finfo(a.dtype).tiny)), None  # 0 where the two are the same


def _w2_squared_slope(a: Tensor, b: Tensor) -> Slopes:
    apart = a - b
    return apart.square().sum(-1, keepdim=True), 2 * apart, None


def _kl_slope(a: Tensor, b: Tensor) -> Slopes:
    (mean_a, std_a), (mean_b, std_b) = a.chunk(2, dim=-1), b.chunk(2, dim=-1)
    ratio, apart = std_b / std_a, (mean_a - mean_b) / std_a
    squares = ratio.square() + apart.square()
    energy = 0.5 * (squares - 1 - 2 * ratio.log()).sum(-1, keepdim=True)
    wide = torch.cat([std_a, std_a], dim=-1)
    slopes = torch.cat([apart, 1 - squares], dim=-1), torch.cat([-apart, ratio - 1 / ratio], dim=-1)
    return energy, slopes[0] / wide, slopes[1] / wide


SLOPES: dict[str, Callable[[Tensor, Tensor], Slopes]] = {
    "w2": _w2_slope,
    "w2_squared": _w2_squared_slope,
    "kl": _kl_slope,
}
"""E and its gradients, by name."""


_FAR = 32
"""Known nodes that stand for all far ones where a node's Gaussian is refined."""


@dataclasses.dataclass(frozen=True, eq=False)
class _Around:
    """What the objective of m nodes knows while their Gaussians are sought."""

    of: Tensor
    """links: whose each is"""
    near: Tensor
    """links x 2 dim: the neighbor's [μ, σ]"""
    far: Tensor
    """k x 2 dim"""
    rows: SparseRows
    """m x n"""
    noise: Tensor
    """dim"""
    weight: float

    @cached_property
    def share(self) -> Tensor:
        """links x 1: of the node's first order that is of this link."""
        return 1 / torch.bincount(self.of, minlength=len(self.rows))[self.of, None].to(self.near)

    @cached_property
    def row(self) -> Tensor:
        """nnz: the row of each entry."""
        return torch.arange(len(self.rows), device=self.of.device).repeat_interleave(self.rows.crow.diff().long())


def _rows_of(matrix: sparse.csr_array) -> npt.NDArray[np.int64]:
    """The row of each entry."""
    return np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))


def _codes(known: Embedding, rows: npt.NDArray[Any]) -> npt.NDArray[np.float32]:
    assert known.std is not None
    return np.hstack([known.vectors[rows], known.std[rows]])


class DVNENetwork(nn.Module):
    """n - hidden - [μ, σ] - hidden - n, the last layer read at the non-zeros alone.

    With `attributes`, so many columns come after those of links, whose outputs are linear.
    """

    attribute_unit: Tensor
    """What attributes are multiplied by beside γ; of a network that reads any."""
    evidence: Tensor
    """5: how widths follow from the variance of places (`scaled_to`), and what a link leaves open."""

    def __init__(
        self,
        n: int,
        hidden: int,
        dim: int,
        *,
        alpha: float,
        repulsion: float = 1.0,
        energy: str = "w2",
        attributes: int = 0,
        attribute_weight: float = 0.0,
        evidence: bool = False,
    ):
        super().__init__()
        self.dim, self.alpha, self.repulsion = dim, alpha, repulsion
        self.energy, self.energy_slope = ENERGIES[energy], SLOPES[energy]
        self.n_links, self.attribute_weight = n, attribute_weight
        if attributes:
            self.register_buffer("attribute_unit", torch.ones((), dtype=torch.float64))
        if evidence:
            self.register_buffer("evidence", torch.zeros(5, dtype=torch.float64))
        self.first = RowEncoder(n + attributes, hidden)
        self.code = Stack((hidden, 2 * dim), "linear")
        self.decoder = Stack((dim, hidden), "linear")
        self.last = RowDecoder(n + attributes, hidden)

    @property
    def n_attributes(self) -> int:
        """How many columns come after those of links."""
        return len(self.last.table) - self.n_links

    def measure(self, rows: sparse.csr_array, block: Block) -> None:
        """Take the unit of attributes, in which γ = 1 lets them have as much part in a row as links have."""
        self.attribute_unit.fill_(math.sqrt(row_squares(rows) / row_squares(block.values)))

    def scaled(self, block: Block) -> Block:
        """γ x_i in the units of the graph that was fitted."""
        factor = np.float32(self.attribute_weight * float(self.attribute_unit))
        return dataclasses.replace(block, values=block.values * factor)

    def start(self, generator: torch.Generator) -> None:
        """Xavier's start: every node close to N(0, 1), as rows of P are short."""
        weights = self.first.table, *self.code.weights[0].chunk(2, dim=1), *self.decoder.weights, self.last.table
        for weight in weights:
            xavier_(weight, generator)

    def encode(self, rows: SparseRows) -> Tensor:
        """[μ, σ]: m x 2 dim."""
        mean, x = self.code(functional.relu_(self.first(rows))).chunk(2, dim=1)
        return torch.cat([mean, deviation(x)], dim=1)

    def loss(self, batch: Batch) -> dict[str, Tensor]:
        """`L_1` over the batch's triplets, and alpha M / n `L_2` over the nodes that it writes.

        Each node is encoded once, and what the first layer makes of it (m x hidden) is all that is kept of that. L_1
        and its gradient are taken of all codes together; then each chunk is written, and its gradient added to that at
        its codes; and at last that of all codes is passed back at once. Gradients are added to `grad`.
        """
        learns = torch.is_grad_enabled()
        with torch.no_grad():
            hidden, made = self._encoded(batch.seen, batch.room)
            mean, x = made.chunk(2, dim=1)
            codes = torch.cat([mean, deviation(x)], dim=1)
            first, pull = self._first_order(codes, batch.triplets, learns=learns)
        second, start = first.new_zeros(()), 0
        attributes = torch.zeros_like(second)
        for chunk in batch.chunks:
            own = slice(start, start + len(chunk.rows))
            code = codes[own].requires_grad_(learns)
            links, others = self._second_order(chunk, code)
            term = links * (self.alpha * batch.times)
            second = second + term.detach()
            if others is not None:
                others = others * (self.alpha * batch.times)
                attributes, term = attributes + others.detach(), term + others
            if learns:
                term.backward()  # type: ignore[no-untyped-call]
                assert code.grad is not None
                pull[own] += code.grad
            start = own.stop
        if learns:
            with torch.no_grad():
                pull[:, self.dim :] *= _deviation_slope(x)
                self._pass_back(batch.seen, hidden, pull)
        more = {"attributes": attributes} if self.n_attributes else {}
        return {"first_order": first, "second_order": second} | more

    def _encoded(self, rows: SparseRows, room: Tensor | None) -> tuple[Tensor, Tensor]:
        """What the first layer makes of rows (m x hidden) and the second of that (m x 2 dim), a part in the cache."""
        weight, bias = self.code.weights[0], self.code.biases[0]
        hidden = bias.new_empty(len(rows), len(weight)) if room is None else room[: len(rows)]
        made = bias.new_empty(len(rows), len(bias))
        for part, inputs in rows.matmul_parts(self.first.table.detach()):
            own = torch.add(inputs, self.first.bias, out=hidden[part]).relu_()
            torch.cat(products(own, weight, bias), out=made[part])
        return hidden, made

    def _pass_back(self, rows: SparseRows, hidden: Tensor, grad: Tensor) -> None:
        """From the gradient at what the second layer made (m x 2 dim) to that of both layers.

        The gradient at `hidden` takes its place, so that no array of its size is made.
        """
        weight, bias = self.code.weights[0], self.code.biases[0]
        for part in cached_parts(hidden, hidden.shape[1]):
            own, slope = hidden[part], grad[part]
            add_product(grad_of(weight), own, slope)
            through = torch.cat(products(slope, weight.t()))
            torch.ops.aten.threshold_backward.grad_input(through, own, 0, grad_input=own)
            grad_of(self.first.bias).add_(own.sum(0))
        grad_of(bias).add_(grad.sum(0))
        rows.add_transposed_matmul(hidden, grad_of(self.first.table))

    @torch.no_grad()
    def _first_order(self, codes: Tensor, triplets: Tensor, *, learns: bool) -> tuple[Tensor, Tensor]:
        """L_1 and, where it is asked for, its gradient for each code; some triplets at a time."""
        total, pull = codes.new_zeros(()), torch.zeros_like(codes)
        pulls = codes.new_empty(3, triplets.shape[1] if learns else 0, codes.shape[1])
        for part in parts(triplets.shape[1], max(256, PIECE[codes.device.type] // (8 * codes.shape[1]))):
            i, j, k = (codes.index_select(0, at) for at in triplets[:, part])
            (near, own, other), (far, own_far, other_far) = self.energy_slope(i, j), self.energy_slope(i, k)
            total += losses.triplet_energies(near[:, 0], far[:, 0], self.repulsion)
            if not learns:
                continue
            to_near, to_far = 2 * near, torch.exp(-far).mul_(-self.repulsion)
            of_i, of_j, of_k = pulls[:, part]
            torch.mul(own, to_near, out=of_j)
            torch.mul(own_far, to_far, out=of_k)
            torch.add(of_j, of_k, out=of_i)
            for out, slope, by in ((of_j, other, to_near), (of_k, other_far, to_far)):
                out.neg_() if slope is None else torch.mul(slope, by, out=out)
        if learns and triplets.is_cuda:
            pull.index_add_(0, triplets.flatten(), pulls.view(-1, codes.shape[1]))
        elif learns:
            pull = sums_at(triplets.flatten(), pulls.view(-1, codes.shape[1]), len(codes))
        return total, pull

    def _second_order(self, chunk: NodeChunk, code: Tensor) -> tuple[Tensor, Tensor | None]:
        """L_2 of a chunk's links, and of its attributes where there are any.

        X is its own weight, so that what is missing, a 0 in X, is not counted either.
        """
        mean, std = code.chunk(2, dim=1)
        hidden = functional.relu_(self.decoder(mean + std * chunk.noise))
        rows = chunk.rows.entries
        outputs = self.last.at(rows, hidden)
        if not self.n_attributes:
            return losses.weighed_squares(outputs.sigmoid(), rows.values), None
        own = rows.col < self.n_links
        links = losses.weighed_squares(outputs[own].sigmoid(), rows.values[own])
        if isinstance(chunk.rows, DenseBeside):
            written = self.last.dense(hidden, slice(self.n_links, None))
            return links, losses.weighed_squares(written, chunk.rows.dense)
        return links, losses.weighed_squares(outputs[~own], rows.values[~own])

    @torch.no_grad()
    def embed(self, matrix: sparse.csr_array, block: Block | None = None) -> npt.NDArray[np.float32]:
        """[μ, σ] of rows over the known nodes, and of what is known beside those, in chunks: m x 2 dim."""
        rows = self._walk(matrix, block)
        codes: npt.NDArray[np.float32] = torch.cat([self.encode(each).cpu() for each in rows]).numpy()
        return codes

    @torch.no_grad()
    def refine(
        self,
        matrix: sparse.csr_array,
        links: sparse.csr_array,
        known: Embedding,
        start: npt.NDArray[np.float32],
        weight: float,
        generator: torch.Generator,
        block: Block | None = None,
        beside: tuple[sparse.csr_array, npt.NDArray[np.float32]] | None = None,
    ) -> npt.NDArray[np.float32]:
        """[μ, σ] of each row that makes its part in the objective least, all else held fixed: m x 2 dim.

        Of a node with d links that is, a link: weight (1/d Σ_j E_ij² + repulsion mean_k exp(-E_ik)) + alpha / 2 L_2,
        j its known neighbors and k some known nodes, the same for all rows. The noise of L_2 is drawn once. `beside`
        has links with other new nodes (m x k) and where those are (k x 2 dim): these are neighbors too.
        """
        device, found = self.device, []
        some = torch.randint(len(known), (_FAR,), generator=generator).numpy()
        far = torch.from_numpy(_codes(known, some)).to(device)
        noise = torch.randn(self.dim, generator=generator).to(device)
        reach = float(far[:, : self.dim].std()) or 1.0
        longest = int(np.diff(links.indptr).max(initial=1))
        for part in parts(len(start), max(1, PIECE[device.type] // (4 * longest * self.first.table.shape[1]))):
            near, rows = links[part], self._rows(matrix[part], None if block is None else taken(block, part))
            of, codes = _rows_of(near), _codes(known, near.indices)
            if beside is not None:
                more = beside[0][part]
                of, codes = np.concatenate([of, _rows_of(more)]), np.concatenate([codes, beside[1][more.indices]])
            terms = _Around(
                torch.from_numpy(of).to(device), torch.from_numpy(codes).to(device), far, rows, noise, weight
            )
            begin = torch.from_numpy(start[part].copy()).to(device)
            mean, std = begin.chunk(2, dim=1)
            raw = torch.cat([mean, torch.where(std > 1, std - 1, std.log())], dim=1)  # σ = deviation(x), backwards
            last = self.last.table[rows.col.long()], self.last.bias[rows.col.long()]
            x = descended(functools.partial(self._slope, around=terms, last=last), raw, reach)
            found.append(torch.cat([x[:, : self.dim], deviation(x[:, self.dim :])], dim=1))
        refined: npt.NDArray[np.float32] = torch.cat(found).numpy(force=True)
        return refined

    def _slope(self, x: Tensor, around: _Around, last: tuple[Tensor, Tensor]) -> Tensor:
        """The gradient of m nodes' parts in the objective, for x = [μ, what `deviation` makes σ of]: m x 2 dim.

        `last` has the rows of the last layer, and its biases, at the non-zeros: nnz x hidden and nnz.
        """
        mean, std = x[:, : self.dim], deviation(x[:, self.dim :])
        code = torch.cat([mean, std], dim=1)
        energy, slope, _ = self.energy_slope(code[around.of], around.near)
        pull = torch.zeros_like(code).index_add_(0, around.of, slope * (2 * energy * around.share))
        energy, slope, _ = self.energy_slope(code[:, None], around.far)
        pull -= (slope * torch.exp(-energy)).sum(1) * (self.repulsion / len(around.far))
        through = self._second_slope(mean + std * around.noise, around, last)
        grad = around.weight * pull + torch.cat([through, through * around.noise], dim=1)
        grad[:, self.dim :] *= std.clamp(max=1)  # eˣ below 0, and 1 above
        return grad

    def _second_slope(self, sample: Tensor, around: _Around, last: tuple[Tensor, Tensor]) -> Tensor:
        """The gradient of alpha / 2 L_2 for what is decoded: m x dim."""
        rows, (table, bias), weight = around.rows, last, self.decoder.weights[0]
        hidden = functional.relu(torch.addmm(self.decoder.biases[0], sample, weight))
        written = (hidden[around.row] * table).sum(1) + bias
        linear = rows.col >= self.n_links if self.n_attributes else None
        outputs = written.sigmoid() if linear is None else torch.where(linear, written, written.sigmoid())
        errors = rows.values.square() * (outputs - rows.values)
        steepness = outputs * (1 - outputs)  # of the sigmoid
        errors = errors * (steepness if linear is None else steepness.masked_fill(linear, 1.0))
        through = torch.zeros_like(hidden).index_add_(0, around.row, errors[:, None] * table)
        if isinstance(rows, DenseBeside):
            own, constant = self.last.table[self.n_links :], self.last.bias[self.n_links :]
            through += (rows.dense.square() * (torch.addmm(constant, hidden, own.t()) - rows.dense)) @ own
        slope: Tensor = self.alpha * (through * (hidden > 0)) @ weight.t()
        return slope

    @torch.no_grad()
    def mean_variance(
        self, matrix: sparse.csr_array, draws: int, generator: torch.Generator, block: Block | None = None
    ) -> npt.NDArray[np.float64]:
        """The mean of |μ - μ'|² over draws of μ', the mean of a row of which each entry is dropped or not by a coin."""
        coins = generator_on(self.device, generator)
        variances, columns = [], self.n_links if self.n_attributes else None
        for rows in self._walk(matrix, block):
            mean, moved = self._means(rows), torch.zeros(len(rows), dtype=torch.float64, device=self.device)
            for _ in range(draws):
                some = dropped(rows, 0.5, coins, sum_to_one=True, columns=columns)
                moved += (self._means(some) - mean).square().sum(1)
            variances.append(moved.cpu() / draws)
        return torch.cat(variances).numpy()

    def _means(self, rows: SparseRows) -> Tensor:
        return self.encode(rows)[:, : self.dim].double()

    def _walk(self, matrix: sparse.csr_array, block: Block | None) -> Iterator[SparseRows]:
        for part in parts(matrix.shape[0], self.chunk_rows()):
            yield self._rows(matrix[part], None if block is None else taken(block, part))

    def _rows(self, matrix: sparse.csr_array, block: Block | None) -> SparseRows:
        own = None if block is None or not self.n_attributes else self.scaled(block)
        return joint_rows(matrix, own, self.first.table)

    @property
    def device(self) -> torch.device:
        """Where it is."""
        return self.first.table.device

    def room(self, rows: int) -> Tensor | None:
        """Memory for what the first layer makes of so many rows; a GPU's is kept by torch anyway."""
        table = self.first.table
        return None if table.is_cuda else table.new_empty(rows, table.shape[1])

    def chunk_rows(self) -> int:
        """How many rows are walked at a time: what keeps a layer's activations in bounds."""
        return max(256, PIECE[self.device.type] // int(self.first.table.shape[1]))
