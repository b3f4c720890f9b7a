"""DHNE's tensors: an autoencoder for each type of node, a similarity for each kind of tuple, and the loss."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import torch
from scipy import sparse
from torch import Tensor, nn

from netfold.data.checks import Ints
from netfold.data.hypergraph import co_occurrences
from netfold.data.scaling import Block
from netfold.embedder.attributes import joint_rows, row_squares
from netfold.learn import losses
from netfold.learn.layers import (
    ACTIVATIONS,
    RowDecoder,
    RowEncoder,
    add_half_squares,
    add_product,
    pass_back,
    products,
    rows_times,
    xavier_,
)
from netfold.learn.optimizers import grad_of
from netfold.learn.solvers import logistic_regression
from netfold.learn.sparse_rows import DenseBeside, SomeRows, SparseRows
from netfold.models.dhne.counts import COSINE_DIM, LeftOut, PairCounts, TupleCounts, unit_vectors
from netfold.models.dhne.tuples import Form, Places, Schema

if TYPE_CHECKING:
    from netfold.models.dhne.batches import Batch, Piece, TypeRows

__all__ = ["Autoencoder", "DHNENetwork", "Similarity", "TypeAttributes"]


def _by_column(a: Tensor, most: Tensor) -> Tensor:
    return a / most


def _by_logarithm(a: Tensor, most: Tensor) -> Tensor:
    return torch.log1p(a) / torch.log1p(most)


def _present(a: Tensor, most: Tensor) -> Tensor:
    return (a > 0).to(a.dtype)


SCALES: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "column": _by_column,
    "log": _by_logarithm,
    "binary": _present,
}
"""From counts, and the largest of each one's column, to numbers of at most 1: what a sigmoid can write."""


class _Tanh(torch.autograd.Function):
    """tanh, on the CPU by numpy: in an eighth of the time of torch's, to the last digit or two."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        output = x.tanh() if x.is_cuda else torch.from_numpy(np.tanh(x.detach().numpy()))
        ctx.save_for_backward(output)
        return output

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        (output,) = ctx.saved_tensors
        return torch.ops.aten.tanh_backward(grad, output)


def _tanh(x: Tensor) -> Tensor:
    output: Tensor = _Tanh.apply(x)  # type: ignore[no-untyped-call]
    return output


_ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {"tanh": _tanh, "sigmoid": ACTIVATIONS["sigmoid"]}
"""σ of an encoder, by name."""

GAINS = {"tanh": 1.0, "sigmoid": 4.0}
"""By what Xavier's start is multiplied: a sigmoid's slope at 0 is a quarter of tanh's, and it would stay as good as
linear, which by the chapter's theorem is no use."""

_SLOPES = {"tanh": 2.0, "sigmoid": 1.0}
"""σ(x) = k sigmoid(k x) - (k - 1), k by the name of σ: the library's sigmoid takes a sixth of the time of its tanh."""


@dataclasses.dataclass(frozen=True, eq=False)
class TypeAttributes:
    """What is known of some nodes of one type beside their tuples, of the attributes that the type has."""

    rows: SparseRows
    """m x a: γ x, 0 where a value is missing."""
    known: Tensor
    """m x attributes: where a value is not missing."""
    slices: Sequence[tuple[int, int]]
    """Of each attribute its first column of `rows` and the one after its last."""

    def take(self, at: Tensor) -> TypeAttributes:
        """Of these nodes, in this order."""
        return TypeAttributes(self.rows.take(at), self.known[at], self.slices)

    @property
    def mask(self) -> Tensor:
        """m x a: 1 where a value is not missing."""
        widths = torch.tensor([b - a for a, b in self.slices], device=self.known.device)
        return self.known.repeat_interleave(widths, dim=1).to(self.rows.values.dtype)


def _of_columns(block: Block, columns: Sequence[int]) -> Block:
    """Some of the attributes of a block."""
    parts = [np.arange(*block.slices[c]) for c in columns]
    ends = np.cumsum([len(x) for x in parts]).tolist()
    slices = list(zip([0, *ends[:-1]], ends, strict=True))
    return Block(block.values[:, np.concatenate(parts)], block.known[:, list(columns)], slices)


class Autoencoder(nn.Module):
    """X_i = σ(W A_i + b) and Â_i = sigmoid(Ŵ X_i + b̂) for the nodes of one type, over the columns that it has.

    A holds counts and Â lies between 0 and 1, so A is scaled, by the largest count that each column has in the rows of
    this type. The encoder sees a row divided by its length to the power of q, so that no hub's row saturates the
    activation; what the decoder must write is not. A column that had no entry when the scale was measured is not read.

    With `attributes`, X_i = σ(W A_i + V γ x_i + b), and what is known of γ x_i is to be given back too, by a linear
    layer: numbers may be of any sign.
    """

    largest: Tensor
    attribute_unit: Tensor
    """What attributes are multiplied by beside γ; of an autoencoder that reads any."""

    def __init__(self, columns: int, dim: int, activation: str, *, scale: str, row_damping: float, attributes: int = 0):
        super().__init__()
        self.activation, self.gain = _ACTIVATIONS[activation], GAINS[activation]
        self.scale, self.row_damping = SCALES[scale], row_damping
        self.first = RowEncoder(max(1, columns), dim)  # a type that is in no tuple has no column
        self.last = RowDecoder(max(1, columns), dim)
        self.register_buffer("largest", torch.zeros(max(1, columns)))
        self.attribute_first = nn.Parameter(torch.zeros(attributes, dim)) if attributes else None
        self.attribute_last = RowDecoder(attributes, dim) if attributes else None
        if attributes:
            self.register_buffer("attribute_unit", torch.ones((), dtype=torch.float64))

    def measure(self, counts: sparse.csr_array) -> None:
        """Take the largest count of each column, of the rows that are fitted."""
        most = np.zeros(len(self.largest), np.float32)
        np.maximum.at(most, counts.indices, counts.data)
        self.largest.copy_(torch.from_numpy(most))

    @torch.no_grad()
    def start(self, generator: torch.Generator, row_squares: float) -> None:
        """Xavier's start; in the first layer for rows whose squares sum to `row_squares`, not to their number."""
        xavier_(self.first.table, generator, fan_in=row_squares)
        self.first.table.mul_(self.gain)
        xavier_(self.last.table, generator)

    @torch.no_grad()
    def start_attributes(self, generator: torch.Generator, row_squares: float) -> None:
        """The same of the layers that read and write attributes, where there are any."""
        if self.attribute_first is not None and self.attribute_last is not None:
            xavier_(self.attribute_first, generator, fan_in=row_squares)
            self.attribute_first.mul_(self.gain)
            xavier_(self.attribute_last.table, generator)

    def scaled(self, counts: sparse.csr_array) -> sparse.csr_array:
        """What the decoder is to write: rows of counts, scaled."""
        most = self.largest.cpu().double()[torch.from_numpy(counts.indices.astype(np.int64))]
        scaled = self.scale(torch.from_numpy(counts.data.astype(np.float64)), most)
        data = torch.where(most > 0, scaled, 0).float().numpy()
        shape = (counts.shape[0], len(self.largest))
        matrix = sparse.csr_array((data, counts.indices, counts.indptr), shape=shape, copy=True)
        matrix.eliminate_zeros()
        return matrix

    def seen(self, scaled: sparse.csr_array) -> sparse.csr_array:
        """What the encoder reads: the scaled rows, divided by ‖row‖^q."""
        row = np.repeat(np.arange(scaled.shape[0]), np.diff(scaled.indptr))
        length = np.sqrt(np.bincount(row, scaled.data.astype(np.float64) ** 2, minlength=scaled.shape[0]))
        factor = np.where(length > 0, length, 1) ** -self.row_damping
        data = (scaled.data * factor[row]).astype(np.float32)
        return sparse.csr_array((data, scaled.indices, scaled.indptr), shape=scaled.shape)

    def both(self, counts: sparse.csr_array) -> tuple[sparse.csr_array, sparse.csr_array]:
        """What the decoder is to write, and what the encoder reads."""
        scaled = self.scaled(counts)
        return scaled, self.seen(scaled)

    @staticmethod
    def typical_squares(rows: sparse.csr_array) -> float:
        """Σ_j x_ij² of a usual row of those that the encoder reads; 1 where there is none."""
        some = int(np.count_nonzero(np.diff(rows.indptr)))
        return float(np.square(rows.data, dtype=np.float64).sum()) / some if some else 1.0

    def encode(
        self, seen: SparseRows | SomeRows, only: Tensor | None = None, own: TypeAttributes | None = None
    ) -> Tensor:
        """X of all rows or, with `only`, of these of them: m x dim, in O(nnz dim); `own` are their attributes."""
        inputs = self.first(seen)
        inputs = inputs if only is None else inputs.index_select(0, only)
        if own is not None:
            assert self.attribute_first is not None
            inputs = inputs + rows_times(own.rows, self.attribute_first)
        return self.activation(inputs)

    def inverse(self, vectors: Tensor, margin: float) -> Tensor:
        """What σ makes these of, where none is nearer to its bounds than so: m x dim."""
        if self.gain == GAINS["tanh"]:
            return torch.atanh(vectors.clamp(margin - 1, 1 - margin))
        return torch.logit(vectors.clamp(margin, 1 - margin))

    def errors(self, written: SparseRows, vectors: Tensor) -> Tensor:
        """`L_2` of some rows and their vectors (m x dim): the squared errors at their non-zeros, in O(nnz dim)."""
        return losses.nonzero_squares(self.last.at(written, vectors).sigmoid(), written.values)

    def error_slopes(
        self, written: SparseRows, vectors: Tensor, alpha: float, *, learns: bool
    ) -> tuple[Tensor, Tensor | None]:
        """alpha times the same and, where it is asked for, its gradient for the vectors: m x dim.

        Those of the decoder are added to `grad`.
        """
        table, bias = self.last.table.detach(), self.last.bias.detach()
        outputs = (written.sampled(vectors, table) + bias.index_select(0, written.col)).sigmoid_()
        total = alpha * losses.nonzero_squares(outputs, written.values)
        if not learns:
            return total, None
        slope = (outputs - written.values).mul_(outputs).mul_(1 - outputs).mul_(2 * alpha)
        errors = written.with_values(slope)
        errors.add_transposed_matmul(vectors, grad_of(self.last.table))
        if slope.is_cuda:
            grad_of(self.last.bias).add_(errors.column_sums())
        else:
            grad_of(self.last.bias).index_add_(0, written.col, slope)
        return total, errors.matmul(table)

    def attribute_errors(self, own: TypeAttributes, vectors: Tensor) -> Tensor:
        """‖M ⊙ (γ x - x̂)‖² of nodes with these vectors (m x dim), M being 0 where a value is missing and 1 elsewhere.

        Zeros count too, in O(entries dim + m dim²): Σ x̂² by the Gram matrix of each attribute's columns.
        """
        last = self.attribute_last
        assert last is not None
        if isinstance(own.rows, DenseBeside):
            return ((last.dense(vectors, slice(None)) - own.rows.dense) * own.mask).square().sum()
        total, x = vectors.new_zeros(()), own.rows.values
        for i, (a, b) in enumerate(own.slices):
            total = total + last.energy(vectors[own.known[:, i]], last.gram(slice(a, b)))
        return total + (x.square() - 2 * x * last.at(own.rows, vectors)).sum()


class Similarity(nn.Module):
    """S = sigmoid(w · L + v · q + c) with L = σ(Σ_a W_a X_a + b), for the tuples of one form.

    q = Σ_{a<b} Z_a ⊙ Z_b with Z_a = V_a X_a, of width `products`: 0 of them is the chapter's similarity. With `counts`,
    what `TupleCounts` says of a tuple is added to the logit.
    """

    def __init__(
        self, form: Form, dim: int, hidden: int | None, activation: str, products: int = 0,
        *, counts: bool = False, cosines: bool = True,
    ):  # fmt: skip
        super().__init__()
        self.form, self._slope, self._gain = form, _SLOPES[activation], GAINS[activation]
        width = hidden or dim * len(form.types)
        self.weights = nn.ParameterList(nn.Parameter(torch.zeros(dim, width)) for _ in form.group_types)
        self.bias = nn.Parameter(torch.zeros(width))
        self.last = nn.Parameter(torch.zeros(width, 1))
        self.last_bias = nn.Parameter(torch.zeros(1))
        some = form.group_types if products else ()
        self.factors = nn.ParameterList(nn.Parameter(torch.zeros(dim, products)) for _ in some)
        self.mix = nn.Parameter(torch.zeros(products, 1)) if products else None
        self.counts = TupleCounts(form, cosines=cosines) if counts else None

    @torch.no_grad()
    def start(self, generator: torch.Generator) -> None:
        """Xavier's start for [X_1, ..., X_N] together."""
        for weight in self.weights:
            xavier_(weight, generator, fan_in=len(self.form.types) * weight.shape[0])
            weight.mul_(self._gain)
        xavier_(self.last, generator)
        for factor in self.factors:
            xavier_(factor, generator)
        if self.mix is not None:
            xavier_(self.mix, generator)

    @torch.no_grad()
    def start_by_counts(self, columns: Tensor, truth: Tensor, ridge: float) -> None:
        """Begin with what counts alone say: u and c by logistic regression, w and v 0.

        `columns` (m x width) are those of hyperedges and of tuples that are none, `truth` says which is which.
        """
        assert self.counts is not None
        self.counts.measure(columns[truth > 0])
        if 0 < float(truth.sum()) < len(truth):
            self.counts.weight[:, 0], self.last_bias[0] = logistic_regression(self.counts.scaled(columns), truth, ridge)
            for weight in (self.last, *([] if self.mix is None else [self.mix])):
                weight.zero_()

    @property
    def width(self) -> int:
        """How many numbers of a tuple are held at a time."""
        return len(self.bias) + (0 if self.mix is None else 2 * len(self.mix))

    @torch.no_grad()
    def slopes(
        self, pieces: Sequence[Piece], vectors: Sequence[Tensor], *, learns: bool
    ) -> tuple[Tensor, list[Tensor]]:
        """`L_1` of pieces of tuples, given the vectors of each type's nodes, and its gradient for these, by group.

        Gradients of parameters are added to `grad`. Nodes are multiplied by [k W_a, V_a] once, not once a tuple, which
        takes a sum of N rows of that, T: with s = sigmoid(Σ T) and z, Σ z of V, a logit is
        k w · s + v · ((Σ z)² - Σ z²) / 2 and constants, where Σ v · z² is a sum of one number a node.
        """
        k, width = self._slope, len(self.bias)
        weights = [torch.cat([w * k, *self.factors[g : g + 1]], dim=1) for g, w in enumerate(self.weights)]
        each = zip(self.form.group_types, weights, strict=True)
        made = torch.cat([piece for t, w in each for piece in products(vectors[t], w)])
        made[:, :width] += self.bias * (k / len(self.form.types))
        z, squares, total = made[:, width:], None, made.new_zeros(())
        if self.mix is not None:
            squares = z.square() @ self.mix
        back = torch.zeros_like(made) if learns else made
        errors = made.new_zeros(len(made), 1)  # of the tuples of each node
        for piece in pieces:
            both = piece.rows.matmul(made)
            s, summed = both[:, :width].sigmoid_(), both[:, width:]
            logits = self._with_constants((s @ self.last)[:, 0])
            if self.mix is not None and squares is not None:
                mixed = summed.square()
                logits += (mixed @ self.mix - piece.rows.matmul(squares))[:, 0] / 2
            if self.counts is not None:
                logits += self.counts(piece.columns)
            total += losses.tuple_cross_entropy(logits, piece.truth)
            if not learns:
                continue
            error = logits.sigmoid_().sub_(piece.truth)[:, None]
            grad_of(self.last).add_(s.t() @ error, alpha=k).sub_((k - 1) * error.sum())
            grad_of(self.last_bias).add_(error.sum())
            s.addcmul_(s, s, value=-1).mul_(error).mul_(self.last.t() * k)
            if self.mix is not None:
                grad_of(self.mix).add_(mixed.t() @ error, alpha=0.5)
                summed.mul_(error).mul_(self.mix.t())
                piece.rows.add_transposed_matmul(error, errors)
            if self.counts is not None and piece.columns is not None:
                grad_of(self.counts.weight).add_(self.counts.scaled(piece.columns).t() @ error)
            piece.rows.add_transposed_matmul(both, back)
        if not learns:
            return total, []
        if self.mix is not None:
            grad_of(self.mix).add_(z.square().t() @ errors, alpha=-0.5)
            back[:, width:].addcmul_(z, errors * self.mix.t(), value=-1)
        return total, self._through(weights, vectors, back)

    def _through(self, weights: Sequence[Tensor], vectors: Sequence[Tensor], back: Tensor) -> list[Tensor]:
        """From the gradient at what nodes were multiplied to, by group, to that of weights and vectors."""
        k, width, through, start = self._slope, len(self.bias), [], 0
        grad_of(self.bias).add_(back[:, :width].sum(0), alpha=k / len(self.form.types))
        for g, t in enumerate(self.form.group_types):
            own = back[start : start + len(vectors[t])]
            start += len(own)
            slope = torch.zeros_like(weights[g])
            add_product(slope, vectors[t], own)
            grad_of(self.weights[g]).add_(slope[:, :width], alpha=k)
            if self.mix is not None:
                grad_of(self.factors[g]).add_(slope[:, width:])
            through.append(torch.cat(products(own, weights[g].t())))
        return through

    def of(self, vectors: Sequence[Tensor]) -> Tensor:
        """The logits of tuples, given the vectors at each of their positions (each m x dim, or 1 x dim for all): m."""
        each = [self._projected(x, g) for g, x in zip(self.form.groups, vectors, strict=True)]
        summed: list[Tensor] = [sum(parts[1:], parts[0]) for parts in zip(*each, strict=True)]
        logits = self._with_constants((summed[0].sigmoid() @ self.last)[:, 0])
        return logits if self.mix is None else logits + self._products(summed[1], self.mix)

    def _projected(self, vectors: Tensor, group: int) -> list[Tensor]:
        k = self._slope
        projected = [torch.addmm(self.bias * (k / len(self.form.types)), vectors, self.weights[group] * k)]
        if self.mix is None:
            return projected
        z = vectors @ self.factors[group]
        return [*projected, torch.cat([z, z.square()], dim=1)]

    def _with_constants(self, layer: Tensor) -> Tensor:
        """w · L + c from w · sigmoid(·): L = k sigmoid(·) - (k - 1)."""
        k = self._slope
        return k * layer + (self.last_bias - (k - 1) * self.last.sum())

    @staticmethod
    def _products(summed: Tensor, mix: Tensor) -> Tensor:
        """v · q with q = ((Σ_a Z_a)² - Σ_a Z_a²) / 2, so that no pair need be looked at."""
        z, squares = summed.chunk(2, dim=1)
        return ((z.square() - squares) @ mix)[:, 0] / 2


class DHNENetwork(nn.Module):
    """L_1 + alpha L_2 (+ nu L_reg), in O(tuples · hidden + non-zeros · dim) a batch."""

    type_codes: Tensor

    def __init__(
        self,
        schema: Schema,
        *,
        dim: int,
        hidden: int | None,
        activation: str,
        scale: str,
        row_damping: float,
        alpha: float,
        nu: float = 0.0,
        products: int = 0,
        pairs: int | None = None,
        cosines: bool = True,
        attribute_columns: Sequence[Sequence[int]] = (),
        attribute_widths: Sequence[int] = (),
        attribute_weight: float = 0.0,
    ):
        """`pairs`: of how many pairs of nodes there are counts, where similarities read them, `cosines`: whether they
        read those too (files of before do not); `attribute_columns`:
        which attributes each type has; `attribute_widths`: how many numbers each of them is."""
        super().__init__()
        self.schema, self.dim, self.alpha, self.nu = schema, dim, alpha, nu
        self.attribute_columns = attribute_columns or [()] * len(schema.types)
        self.attribute_weight = attribute_weight
        self.decays = False
        """Whether the optimizer adds the gradient of L_reg, in the pass that it takes over the weights anyway."""
        widths = [sum(attribute_widths[c] for c in columns) for columns in self.attribute_columns]
        self.autoencoders = nn.ModuleList(
            Autoencoder(schema.width(t), dim, activation, scale=scale, row_damping=row_damping, attributes=widths[t])
            for t in range(len(schema.types))
        )
        self.similarities = nn.ModuleList(
            Similarity(form, dim, hidden, activation, products, counts=pairs is not None, cosines=cosines)
            for form in schema.forms
        )
        self.register_buffer("type_codes", torch.zeros(sum(schema.counts), dtype=torch.int64))
        self.pair_counts = None
        if pairs is not None:
            self.pair_counts = PairCounts(sum(schema.counts), pairs, COSINE_DIM if cosines else 0)

    def start(self, generator: torch.Generator, row_squares: Sequence[float]) -> None:
        """A random start, for rows whose squares sum to `row_squares`, by type."""
        for t, squares in enumerate(row_squares):
            self.autoencoder(t).start(generator, squares)
        for i in range(len(self.schema.forms)):
            self.similarity(i).start(generator)
        for t, squares in enumerate(row_squares):
            self.autoencoder(t).start_attributes(generator, squares)

    def measure_attributes(self, block: Block, members: Sequence[Any], squares: Sequence[float]) -> None:
        """Take the unit of each type's attributes, in which γ = 1 lets them have as much part as rows of A have.

        `members` are the rows of the nodes of each type, `squares` Σ_j x_ij² of a usual row of A as it is seen.
        """
        for t, columns in enumerate(self.attribute_columns):
            if columns:
                own = row_squares(_of_columns(block, columns).values[members[t]])
                self.autoencoder(t).attribute_unit.fill_(math.sqrt(squares[t] / own) if own else 1.0)

    def attributes_of(self, block: Block | None, rows: Any, t: int) -> TypeAttributes | None:
        """The attributes of some rows of a block, nodes of one type, where the network is; None where it has none."""
        if block is None or not self.attribute_columns[t]:
            return None
        coder = self.autoencoder(t)
        some = _of_columns(block, self.attribute_columns[t])
        factor = np.float32(self.attribute_weight * float(coder.attribute_unit))
        some = dataclasses.replace(some, values=some.values[rows] * factor, known=some.known[rows])
        none: Any = sparse.csr_array((some.n_nodes, 0), dtype=np.float32)
        known = torch.from_numpy(some.known).to(self.device)
        return TypeAttributes(joint_rows(none, some, coder.first.bias), known, some.slices)

    def load_state_dict(self, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False) -> Any:
        """As `torch.nn.Module`; the types of the nodes must be as many as the schema says."""
        keys = super().load_state_dict(state_dict, strict, assign)
        counts = tuple(int((self.type_codes == t).sum()) for t in range(len(self.schema.types)))
        if counts != self.schema.counts:
            raise RuntimeError(f"its types have {counts} nodes, and {self.schema.counts} by its description")
        return keys

    def measure_counts(self, tuples: Sequence[Ints], generator: torch.Generator) -> None:
        """Count the hyperedges of each form, m x N as places among all nodes, where similarities read counts."""
        if self.pair_counts is None:
            return
        self.pair_counts.count(tuples)
        self.pair_counts.vectors = unit_vectors(co_occurrences(tuples, len(self.type_codes)), generator)

    def count_columns(
        self, form: int, rows: Tensor, without: LeftOut | None = None, counts: PairCounts | None = None
    ) -> Tensor:
        """Columns of counts of tuples, m x N as places among all nodes, of these counts or else its own."""
        own, known = self.similarity(form).counts, counts or self.pair_counts
        assert own is not None and known is not None
        return own.columns(known, rows, without)

    def autoencoder(self, t: int) -> Autoencoder:
        """That of a type."""
        autoencoder = self.autoencoders[t]
        assert isinstance(autoencoder, Autoencoder)
        return autoencoder

    def similarity(self, i: int) -> Similarity:
        """That of a form."""
        similarity = self.similarities[i]
        assert isinstance(similarity, Similarity)
        return similarity

    def loss(self, batch: Batch) -> dict[str, Tensor]:
        """L_1 over the batch's tuples, alpha L_2 over the rows that it writes, and its share of nu L_reg.

        The gradient at the vectors of a batch is gathered from all pieces, and goes through the encoders once at the
        end.
        """
        learns = torch.is_grad_enabled()
        encoded = [self.autoencoder(t).encode(rows.seen, rows.named, rows.own) for t, rows in enumerate(batch.types)]
        vectors = [x.detach() for x in encoded]
        slopes = [torch.zeros_like(x) for x in vectors] if learns else []
        first, second, others = (vectors[0].new_zeros(()) for _ in range(3))
        for i, pieces in enumerate(batch.forms):
            similarity = self.similarity(i)
            term, through = similarity.slopes(pieces, vectors, learns=learns)
            first = first + term
            for t, slope in zip(similarity.form.group_types, through, strict=False):
                slopes[t] += slope
        for t, rows in enumerate(batch.types):
            if self.alpha and len(rows.written.values):
                second = second + self._second_order(t, rows, vectors[t], slopes)
            if self.alpha and rows.own is not None and len(rows.at):
                others = others + self._attribute_errors(t, rows, rows.own, vectors[t], slopes)
        terms = {"first_order": first, "second_order": second}
        if any(self.attribute_columns):
            terms["attributes"] = others
        if learns:
            pass_back(encoded, slopes)
        if self.nu:
            weights, factor = [p for p in self.parameters() if p.ndim == 2], batch.share * self.nu
            for weight in weights if self.decays else ():  # the optimizer steps those alone that have a gradient
                grad_of(weight)
            with torch.set_grad_enabled(torch.is_grad_enabled() and not self.decays):
                terms["regularization"] = add_half_squares(weights, factor)
        return terms

    @torch.no_grad()
    def _second_order(self, t: int, rows: TypeRows, vectors: Tensor, slopes: Sequence[Tensor]) -> Tensor:
        total, slope = self.autoencoder(t).error_slopes(
            rows.written, vectors.index_select(0, rows.at), self.alpha, learns=bool(slopes)
        )
        if slope is not None:
            slopes[t].index_add_(0, rows.at, slope)
        return total

    def _attribute_errors(
        self, t: int, rows: TypeRows, own: TypeAttributes, vectors: Tensor, slopes: Sequence[Tensor]
    ) -> Tensor:
        held = vectors[rows.at].requires_grad_(bool(slopes))
        term = self.alpha * self.autoencoder(t).attribute_errors(own.take(rows.at), held)
        if slopes:
            term.backward()  # type: ignore[no-untyped-call]
            assert held.grad is not None
            slopes[t].index_add_(0, rows.at, held.grad)
        return term.detach()

    @torch.no_grad()
    def embed(self, counts: sparse.csr_array, t: int, own: TypeAttributes | None = None) -> npt.NDArray[np.float32]:
        """The vectors of rows of counts of one type over its columns, and of what else is known of them: m x dim."""
        coder = self.autoencoder(t)
        seen = SparseRows.from_scipy(coder.seen(coder.scaled(counts)), dtype=coder.first.bias.dtype, device=self.device)
        vectors: npt.NDArray[np.float32] = coder.encode(seen, own=own).numpy(force=True)
        return vectors

    def places(self) -> Places:
        """Where the known nodes stand."""
        return Places(self.type_codes.numpy(force=True), self.schema)

    @property
    def device(self) -> torch.device:
        """Where it is."""
        return self.type_codes.device
