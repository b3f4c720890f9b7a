"""DHNE's tensors: an autoencoder for each type of node, a similarity for each kind of tuple, and the loss."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from scipy import sparse
from torch import Tensor, nn

from netfold import losses
from netfold.models.dhne.autoencoder import Autoencoder
from netfold.models.dhne.batches import Batch, Piece, Rows
from netfold.models.dhne.schema import Places, Schema
from netfold.models.dhne.similarity import Similarity
from netfold.modules import add_half_squares
from netfold.sparse_rows import SparseRows

__all__ = ["DHNENetwork"]


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

    def load_state_dict(self, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False) -> Any:
        """As `torch.nn.Module`; the types of the nodes must be as many as the schema says."""
        found = super().load_state_dict(state_dict, strict, assign)
        counts = tuple(int((self.type_codes == t).sum()) for t in range(len(self.schema.types)))
        if counts != self.schema.counts:
            raise RuntimeError(f"its types have {counts} nodes, and {self.schema.counts} by its description")
        return found

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
        vectors = [self.autoencoder(t).encode(rows.seen, rows.kept) for t, rows in enumerate(batch.types)]
        held = [_held(x) for x in vectors]
        first = sum((self._first_order(i, pieces, held) for i, pieces in enumerate(batch.forms)), _zero(held))
        second = sum((self._second_order(t, rows, held[t]) for t, rows in enumerate(batch.types)), _zero(held))
        _backward(vectors, held)
        terms = {"first_order": first, "second_order": second}
        if self.nu:
            weights = [p for p in self.parameters() if p.ndim == 2]
            terms["regularization"] = add_half_squares(weights, batch.share * self.nu)
        return terms

    def _first_order(self, form: int, pieces: Sequence[Piece], vectors: Sequence[Tensor]) -> Tensor:
        similarity, total = self.similarity(form), _zero(vectors)
        projected = similarity.project(vectors)
        held = [_held(x) for x in projected]
        for piece in pieces:
            term = losses.tuple_cross_entropy(similarity.logits(piece.rows, held), piece.truth)
            total += term.detach()
            if term.requires_grad:
                term.backward()  # type: ignore[no-untyped-call]
        _backward(projected, held)
        return total

    def _second_order(self, t: int, rows: Rows, vectors: Tensor) -> Tensor:
        if not len(rows.written.values) or not self.alpha:
            return vectors.new_zeros(())
        term = self.alpha * self.autoencoder(t).errors(rows.written, vectors[rows.at])
        if term.requires_grad:
            term.backward()  # type: ignore[no-untyped-call]
        return term.detach()

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
