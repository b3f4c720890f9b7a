"""`Links`: the non-zeros of a sparse matrix as places to go to, drawn by weight and found in no time."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from scipy import sparse
from torch import Tensor

__all__ = ["Links"]

_SLOTS = 8
"""The least number of bytes per link in the table that tells most absent links from present ones."""
_MIX = -7046029254386353131
"""2⁶⁴ divided by the golden ratio, as a signed number: its product with a key has well mixed leading bits."""


@dataclass(frozen=True, eq=False)
class Links:
    """Where a walk may go: the non-zeros (i, j) of a matrix, row by row, with weights s_ij > 0.

    Nodes are rows; whatever they are called elsewhere, here they are 0..n-1. A link is known by its place among the
    non-zeros, its entry.
    """

    starts: Tensor
    """n + 1: where each row's entries start."""
    ends: Tensor
    """nnz: the node that each entry leads to, in order within its row."""
    degrees: Tensor
    """n: how many entries a row has."""
    keys: Tensor
    """nnz: i n + j, in order."""
    shares: Tensor | None
    """nnz: i + Σ_{j' <= j} s_ij' / Σ_j' s_ij', in order too; None where the weights of each row are alike."""

    @staticmethod
    def from_scipy(matrix: sparse.csr_array, device: Any = "cpu") -> Links:
        """The links of a sorted CSR matrix of positive weights."""
        n, starts = matrix.shape[0], matrix.indptr.astype(np.int64)
        degrees, ends = np.diff(starts), matrix.indices.astype(np.int64)
        rows = np.repeat(np.arange(n), degrees)
        alike = not np.any((matrix.data[1:] != matrix.data[:-1]) & (rows[1:] == rows[:-1]))
        shares = None if alike else torch.from_numpy(_shares(matrix.data, starts, rows)).to(device)
        arrays = [torch.from_numpy(x).to(device) for x in (starts, ends, degrees, rows * n + ends)]
        return Links(arrays[0], arrays[1], arrays[2], arrays[3], shares)

    def __len__(self) -> int:
        return len(self.degrees)

    @property
    def device(self) -> torch.device:
        """Where they are."""
        return self.starts.device

    @cached_property
    def some_end(self) -> bool:
        """Whether there are nodes without links, where a walk ends."""
        return bool((self.degrees == 0).any())

    @cached_property
    def turned(self) -> Tensor:
        """nnz: the entry (j, i) of each entry (i, j), or -1."""
        return self.find(self.ends, self.keys // len(self))

    @cached_property
    def _seen(self) -> Tensor:
        """A table of bytes, set at the hash of every key."""
        bits = math.ceil(math.log2(_SLOTS * max(1, len(self.keys))))
        table = torch.zeros(1 << bits, dtype=torch.bool, device=self.device)
        table[_hashed(self.keys, len(table))] = True
        return table

    def drawn(self, nodes: Tensor, uniform: Tensor) -> Tensor:
        """One entry of each node's row, with probability s_ij / Σ_j s_ij, for uniform numbers in [0, 1)."""
        first, degree = self.starts.index_select(0, nodes), self.degrees.index_select(0, nodes)
        if self.shares is None:
            at = (uniform * degree).long().add_(first)
        else:
            at = torch.searchsorted(self.shares, nodes + uniform, right=True)
        return torch.minimum(at, first + degree - 1)  # where rounding led beyond the row

    def find(self, rows: Tensor, columns: Tensor) -> Tensor:
        """The entry (i, j) of each pair, or -1 where there is no such link: O(log nnz)."""
        return self._at(rows * len(self) + columns)

    def linked(self, rows: Tensor, columns: Tensor) -> Tensor:
        """Whether there is a link (i, j), for each pair: mostly by one look, otherwise by a search."""
        keys = rows * len(self) + columns
        found = self._seen.index_select(0, _hashed(keys, len(self._seen)))
        perhaps = found.nonzero()[:, 0]
        found[perhaps] = self._at(keys.index_select(0, perhaps)) >= 0
        return found

    def _at(self, keys: Tensor) -> Tensor:
        at = torch.searchsorted(self.keys, keys).clamp_(max=len(self.keys) - 1)
        return torch.where(self.keys.index_select(0, at) == keys, at, -1)

    def share(self, entries: Tensor) -> Tensor:
        """s_ij / Σ_j s_ij of each entry; 0 for -1, which stands for no link."""
        at = entries.clamp(min=0)
        rows = self.keys.index_select(0, at) // len(self)
        if self.shares is None:
            found = self.degrees.index_select(0, rows).double().reciprocal()
        else:
            before = self.shares.index_select(0, (at - 1).clamp_(min=0))
            first = self.starts.index_select(0, rows) == at
            found = self.shares.index_select(0, at) - torch.where(first, rows.double(), before)
        return torch.where(entries >= 0, found, 0.0)


def _hashed(keys: Tensor, size: int) -> Tensor:
    """A place in a table of 2^b for each key: the leading b bits of its product with a large odd number."""
    bits = size.bit_length() - 1
    return ((keys * _MIX) >> (64 - bits)) & (size - 1)


def _shares(
    weights: npt.NDArray[np.float32], starts: npt.NDArray[np.int64], rows: npt.NDArray[np.int64]
) -> npt.NDArray[np.float64]:
    """i + Σ_{j' <= j} s_ij' / Σ_j' s_ij': weights scaled by row, so that a heavy one takes no digits from a light."""
    some = starts[:-1][np.diff(starts) > 0]
    most = np.repeat(np.maximum.reduceat(weights, some), np.diff(np.append(some, len(weights))))
    sums = np.cumsum(weights / most.astype(np.float64))
    before = np.append(0.0, sums)[starts]
    made: npt.NDArray[np.float64] = rows + np.clip((sums - before[rows]) / np.diff(before)[rows], 0, 1)
    return made
