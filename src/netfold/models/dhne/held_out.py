"""Rows of A without some hyperedges: what the encoder would see of the nodes if those were not known yet."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import permutations

import numpy as np
import torch
from scipy import sparse
from torch import Tensor

from netfold.models.dhne.autoencoder import Autoencoder
from netfold.models.dhne.schema import Form, Places

__all__ = ["HeldOut"]


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
