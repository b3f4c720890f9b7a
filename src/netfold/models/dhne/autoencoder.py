"""Rows of A without some hyperedges: what the encoder would see of the nodes if those were not known yet."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import permutations

import numpy as np
import torch
from scipy import sparse
from torch import Tensor, nn

from netfold.learn import losses
from netfold.learn.layers import ACTIVATIONS, RowDecoder, RowEncoder, xavier_
from netfold.learn.sparse_rows import SparseRows
from netfold.models.dhne.schema import Form, Places

__all__ = ["GAINS", "SCALES", "Autoencoder", "HeldOut"]


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


class HeldOut:
    """For all types, the rows that the encoder sees, less what some hyperedges put there.

    A hyperedge adds 1 to A at each two of its nodes. Which entry of which type's rows that is, is found by a search
    among the entries; the counts there are scaled anew. A row is divided by the length that it has in full.
    """

    def __init__(
        self,
        counts: Sequence[sparse.csr_array],
        coders: Sequence[Autoencoder],
        places: Places,
        device: torch.device,
        dtype: torch.dtype,
    ):
        self._forms = places.schema.forms
        self._rows = [_Entries(c, coder, device, dtype) for c, coder in zip(counts, coders, strict=True)]
        self._columns = {}
        for t, columns in enumerate(places.columns):
            place = np.full(len(places.type_codes), -1, np.int64)
            place[columns] = np.arange(len(columns))
            for u in places.schema.near(t):
                self._columns[t, u] = torch.from_numpy(place[places.members[u]]).to(device)

    def values(self, tuples: Sequence[Tensor]) -> list[Tensor]:
        """What the encoder sees, nnz for each type, without these hyperedges of each form (m x N)."""
        found: list[list[Tensor]] = [[] for _ in self._rows]
        for form, rows in zip(self._forms, tuples, strict=True):
            self._add_entries(form, rows, found)
        return [rows.less(torch.cat(at)) if at else rows.seen for rows, at in zip(self._rows, found, strict=True)]

    def _add_entries(self, form: Form, rows: Tensor, found: list[list[Tensor]]) -> None:
        for a, b in permutations(range(len(form.types)), 2):
            t, u = form.types[a], form.types[b]
            found[t].append(self._rows[t].find(rows[:, a], self._columns[t, u][rows[:, b]]))


class _Entries:
    """The entries of one type's rows: where they are, their counts, and how those are scaled."""

    def __init__(self, counts: sparse.csr_array, coder: Autoencoder, device: torch.device, dtype: torch.dtype):
        row = np.repeat(np.arange(counts.shape[0]), np.diff(counts.indptr))
        self._width, self._coder = counts.shape[1], coder
        self._keys = torch.from_numpy(row * counts.shape[1] + counts.indices).to(device)
        self._counts = torch.tensor(counts.data, dtype=dtype, device=device)
        self._largest = coder.largest[torch.from_numpy(counts.indices.astype(np.int64)).to(device)].to(dtype)
        scaled = coder.scaled(counts)
        self.seen = torch.tensor(coder.seen(scaled).data, dtype=dtype, device=device)
        """What the encoder sees of all of them."""
        self._factors = self.seen / torch.tensor(scaled.data, dtype=dtype, device=device)

    def find(self, rows: Tensor, columns: Tensor) -> Tensor:
        """The entries at these rows and columns, which are there."""
        return torch.searchsorted(self._keys, rows * self._width + columns)

    def less(self, entries: Tensor) -> Tensor:
        """What the encoder sees when each of these entries, one named twice twice, counts 1 less: nnz."""
        seen, ones = self.seen.clone(), torch.ones(len(entries), dtype=self._counts.dtype, device=entries.device)
        left = self._counts.clone().index_add_(0, entries, ones, alpha=-1)[entries]
        seen[entries] = self._coder.scale(left, self._largest[entries]) * self._factors[entries]
        return seen
