"""DHNE's tensors: an autoencoder for each type of node, a similarity for each kind of tuple, and the loss."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import torch
from scipy import sparse
from torch import Tensor, nn

from netfold import losses
from netfold.models.dhne.autoencoder import GAINS, Autoencoder
from netfold.models.dhne.batches import Batch, Piece, Rows
from netfold.models.dhne.schema import Form, Places, Schema
from netfold.modules import ACTIVATIONS, rows_times, xavier_
from netfold.sparse_rows import SparseRows

__all__ = ["DHNENetwork", "Similarity"]


class Similarity(nn.Module):
    """S = sigmoid(w · L + v · q + c) with L = σ(Σ_a W_a X_a + b), for the tuples of one form.

    q = Σ_{a<b} Z_a ⊙ Z_b with Z_a = V_a X_a, of width `products`: 0 of them is the chapter's similarity.
    """

    def __init__(self, form: Form, dim: int, hidden: int | None, activation: str, products: int = 0):
        super().__init__()
        self.form, self.activation, self.gain = form, ACTIVATIONS[activation], GAINS[activation]
        width = hidden or dim * len(form.types)
        self.weights = nn.ParameterList(nn.Parameter(torch.zeros(dim, width)) for _ in form.group_types)
        self.bias = nn.Parameter(torch.zeros(width))
        self.last = nn.Parameter(torch.zeros(width, 1))
        self.last_bias = nn.Parameter(torch.zeros(1))
        some = form.group_types if products else ()
        self.factors = nn.ParameterList(nn.Parameter(torch.zeros(dim, products)) for _ in some)
        self.mix = nn.Parameter(torch.zeros(products, 1)) if products else None

    @torch.no_grad()
    def start(self, generator: torch.Generator) -> None:
        """Xavier's start for [X_1, ..., X_N] together."""
        for weight in self.weights:
            xavier_(weight, generator, fan_in=len(self.form.types) * weight.shape[0])
            weight.mul_(self.gain)
        xavier_(self.last, generator)
        for factor in self.factors:
            xavier_(factor, generator)
        if self.mix is not None:
            xavier_(self.mix, generator)

    @property
    def width(self) -> int:
        """How many numbers of a node, or of a tuple, `project` and `logits` hold."""
        return len(self.bias) + 2 * self._products

    @property
    def _products(self) -> int:
        return 0 if self.mix is None else len(self.mix)

    def project(self, vectors: Sequence[Tensor]) -> Tensor:
        """[X W_a, Z_a, Z_a ⊙ Z_a] of the nodes of each group's type, one group after another: |P| x width.

        What the logits take is a sum of N rows of this: nodes are multiplied by W once, not once a tuple.
        """
        return torch.cat([self._projected(vectors[t], g) for g, t in enumerate(self.form.group_types)])

    def logits(self, summed: Tensor) -> Tensor:
        """w · L + v · q + c from the sums over a tuple's nodes of what `project` gives, m x width: m.

        q = ((Σ_a Z_a)² - Σ_a Z_a²) / 2, so that no pair need be looked at.
        """
        h, r = len(self.bias), self._products
        made: Tensor = (self.activation(summed[:, :h] + self.bias) @ self.last)[:, 0] + self.last_bias
        if self.mix is None:
            return made
        z, squares = summed[:, h : h + r], summed[:, h + r :]
        return made + ((z.square() - squares) @ self.mix)[:, 0] / 2

    def of(self, vectors: Sequence[Tensor]) -> Tensor:
        """The logits of tuples, given the vectors at each of their positions (each m x dim, or 1 x dim for all): m."""
        each = (self._projected(x, g) for g, x in zip(self.form.groups, vectors, strict=True))
        return self.logits(sum(each, torch.zeros_like(self.bias[:1])))

    def _projected(self, vectors: Tensor, group: int) -> Tensor:
        made: Tensor = vectors @ self.weights[group]
        if self.mix is None:
            return made
        z = vectors @ self.factors[group]
        return torch.cat([made, z, z.square()], dim=1)


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
    ):
        super().__init__()
        self.schema, self.dim, self.alpha, self.nu = schema, dim, alpha, nu
        self.autoencoders = nn.ModuleList(
            Autoencoder(schema.width(t), dim, activation, scale=scale, row_damping=row_damping)
            for t in range(len(schema.types))
        )
        self.similarities = nn.ModuleList(Similarity(form, dim, hidden, activation, products) for form in schema.forms)
        self.register_buffer("type_codes", torch.zeros(sum(schema.counts), dtype=torch.int64))

    def start(self, generator: torch.Generator, row_squares: Sequence[float]) -> None:
        """A random start, for rows whose squares sum to `row_squares`, by type."""
        for t, squares in enumerate(row_squares):
            self.autoencoder(t).start(generator, squares)
        for i in range(len(self.schema.forms)):
            self.similarity(i).start(generator)

    def autoencoder(self, t: int) -> Autoencoder:
        """That of a type."""
        found = self.autoencoders[t]
        assert isinstance(found, Autoencoder)
        return found

    def similarity(self, i: int) -> Similarity:
        """That of a form."""
        found = self.similarities[i]
        assert isinstance(found, Similarity)
        return found

    def loss(self, batch: Batch) -> dict[str, Tensor]:
        """L_1 over the batch's tuples, alpha L_2 over the rows that it writes, and its share of nu L_reg.

        The vectors of a batch are held as if they were parameters: each piece's gradient is added to theirs before the
        next is walked, and goes through the encoders once at the end.
        """
        vectors = [self.autoencoder(t).encode(rows.seen) for t, rows in enumerate(batch.types)]
        held = [_held(x) for x in vectors]
        first = sum((self._first_order(i, pieces, held) for i, pieces in enumerate(batch.forms)), _zero(held))
        second = sum((self._second_order(t, rows, held[t]) for t, rows in enumerate(batch.types)), _zero(held))
        _backward(vectors, held)
        terms = {"first_order": first, "second_order": second}
        return terms | ({"regularization": self._regularization(batch.share)} if self.nu else {})

    def _first_order(self, form: int, pieces: Sequence[Piece], vectors: Sequence[Tensor]) -> Tensor:
        similarity, total = self.similarity(form), _zero(vectors)
        projected = similarity.project(vectors)
        held = _held(projected)
        for piece in pieces:
            logits = similarity.logits(rows_times(piece.rows, held))
            term = losses.tuple_cross_entropy(logits, piece.truth)
            total += term.detach()
            if term.requires_grad:
                term.backward()  # type: ignore[no-untyped-call]
        _backward([projected], [held])
        return total

    def _second_order(self, t: int, rows: Rows, vectors: Tensor) -> Tensor:
        if not len(rows.written.values) or not self.alpha:
            return vectors.new_zeros(())
        term = self.alpha * self.autoencoder(t).errors(rows.written, vectors[rows.at])
        if term.requires_grad:
            term.backward()  # type: ignore[no-untyped-call]
        return term.detach()

    def _regularization(self, share: float) -> Tensor:
        """The batch's share of nu L_reg; its gradient is the weights themselves, added in place."""
        weights, wanted = [p for p in self.parameters() if p.ndim == 2], torch.is_grad_enabled()
        with torch.no_grad():
            for w in weights if wanted else ():
                w.grad = torch.zeros_like(w) if w.grad is None else w.grad
                w.grad.add_(w, alpha=share * self.nu)
            return share * self.nu * losses.half_squares(weights)

    @torch.no_grad()
    def embed(self, counts: sparse.csr_array, t: int) -> npt.NDArray[np.float32]:
        """The vectors of rows of counts of one type over its columns: m x dim."""
        coder = self.autoencoder(t)
        seen = SparseRows.from_scipy(coder.seen(coder.scaled(counts)), dtype=coder.first.bias.dtype, device=self.device)
        made: npt.NDArray[np.float32] = coder.encode(seen).numpy(force=True)
        return made

    def places(self) -> Places:
        """Where the known nodes stand."""
        return Places(self.type_codes.numpy(force=True), self.schema)

    @property
    def device(self) -> torch.device:
        """Where it is."""
        return self.type_codes.device


def _held(x: Tensor) -> Tensor:
    return x.detach().requires_grad_(x.requires_grad)


def _backward(made: Sequence[Tensor], held: Sequence[Tensor]) -> None:
    """Pass on the gradients that what was held has gathered."""
    pairs = [(x, h.grad) for x, h in zip(made, held, strict=True) if x.requires_grad and h.grad is not None]
    if pairs:
        torch.autograd.backward([x for x, _ in pairs], [g for _, g in pairs])


def _zero(vectors: Sequence[Tensor]) -> Tensor:
    return vectors[0].new_zeros(())
