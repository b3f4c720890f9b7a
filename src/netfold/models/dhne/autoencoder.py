"""The autoencoder of one type's rows of A, and how counts are scaled for its sigmoid."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from scipy import sparse
from torch import Tensor, nn

from netfold import losses
from netfold.modules import ACTIVATIONS, RowDecoder, RowEncoder, xavier_
from netfold.sparse_rows import SparseRows

__all__ = ["GAINS", "SCALES", "Autoencoder"]

SCALES: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "column": lambda a, most: a / most,
    "log": lambda a, most: torch.log1p(a) / torch.log1p(most),
    "binary": lambda a, most: (a > 0).to(a.dtype),
}
"""From counts, and the largest of each one's column, to numbers of at most 1: what a sigmoid can write."""

GAINS = {"tanh": 1.0, "sigmoid": 4.0}
"""By what Xavier's start is multiplied: a sigmoid's slope at 0 is a quarter of tanh's, and it would stay as good as
linear, which by the chapter's theorem is no use."""


class Autoencoder(nn.Module):
    """X_i = σ(W A_i + b) and Â_i = sigmoid(Ŵ X_i + b̂) for the nodes of one type, over the columns that it has.

    A holds counts and Â lies between 0 and 1, so A is scaled, by the largest count that each column has in the rows of
    this type. The encoder sees a row divided by its length to the power of q, lest a hub's row saturate the activation;
    what the decoder must write is not. A column that had no entry when the scale was measured is not read.
    """

    largest: Tensor

    def __init__(self, columns: int, dim: int, activation: str, *, scale: str, row_damping: float):
        super().__init__()
        self.activation, self.gain = ACTIVATIONS[activation], GAINS[activation]
        self.scale, self.row_damping = SCALES[scale], row_damping
        self.first = RowEncoder(max(1, columns), dim)  # a type that is in no tuple has no column
        self.last = RowDecoder(max(1, columns), dim)
        self.register_buffer("largest", torch.zeros(max(1, columns)))

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

    def scaled(self, counts: sparse.csr_array) -> sparse.csr_array:
        """What the decoder is to write: rows of counts, scaled."""
        most = self.largest.cpu().double()[torch.from_numpy(counts.indices.astype(np.int64))]
        found = self.scale(torch.from_numpy(counts.data.astype(np.float64)), most)
        data = torch.where(most > 0, found, 0).float().numpy()
        shape = (counts.shape[0], len(self.largest))
        made = sparse.csr_array((data, counts.indices, counts.indptr), shape=shape, copy=True)
        made.eliminate_zeros()
        return made

    def seen(self, scaled: sparse.csr_array) -> sparse.csr_array:
        """What the encoder reads: the scaled rows, divided by ‖row‖^q."""
        row = np.repeat(np.arange(scaled.shape[0]), np.diff(scaled.indptr))
        length = np.sqrt(np.bincount(row, scaled.data.astype(np.float64) ** 2, minlength=scaled.shape[0]))
        factor = np.where(length > 0, length, 1) ** -self.row_damping
        data = (scaled.data * factor[row]).astype(np.float32)
        return sparse.csr_array((data, scaled.indices, scaled.indptr), shape=scaled.shape)

    def typical_squares(self, counts: sparse.csr_array) -> float:
        """Σ_j x_ij² of a usual row as the encoder sees it; 1 where there is none."""
        rows = self.seen(self.scaled(counts))
        some = int(np.count_nonzero(np.diff(rows.indptr)))
        return float(np.square(rows.data, dtype=np.float64).sum()) / some if some else 1.0

    def encode(self, seen: SparseRows, kept: Tensor | None = None) -> Tensor:
        """X of all rows or, with `kept`, of these of them: m x dim, in O(nnz dim)."""
        found = self.first(seen)
        return self.activation(found if kept is None else found.index_select(0, kept))

    def errors(self, written: SparseRows, vectors: Tensor) -> Tensor:
        """`L_2` of some rows and their vectors (m x dim): the squared errors at their non-zeros, in O(nnz dim)."""
        return losses.nonzero_squares(self.last.at(written, vectors).sigmoid(), written.values)
