"""GraphWave's tensors: the graph as it was fitted, and how heat spreads over it from nodes with given links."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from scipy import sparse
from torch import Tensor

from netfold.learn.layers import Tables
from netfold.learn.sparse_rows import SparseRows, parts

__all__ = ["HeatNetwork"]

_NUMBERS = 1 << 24
"""Of heat that is alive at a time."""
_LEFT = 1e-7
"""Heat that steps beyond the last one would bring, at most."""


class HeatNetwork(Tables):
    """N = D^-½ A D^-½ of the known nodes (`crow`, `col`, `values`), and their sums of weights."""

    def __init__(self, n: int, entries: int, dim: int, scale: float):
        shapes: dict[str, Any] = {"crow": ((n + 1,), torch.int32), "col": ((entries,), torch.int32)}
        super().__init__(shapes | {"values": ((entries,), torch.float32), "sums": ((n,), torch.float64)})
        self._points: list[float] = torch.linspace(0, n / 3, dim // 4 + 1, dtype=torch.float64, device="cpu")[
            1:
        ].tolist()
        self._times = (scale / 2, scale)

    def remember(self, links: sparse.csr_array) -> None:
        """Take over the graph."""
        self.fill(sums=links.sum(axis=1))
        self.fill(crow=links.indptr, col=links.indices, values=self._weighed(links).data.astype(np.float32))

    def _weighed(self, rows: sparse.csr_array) -> sparse.csr_array:
        """Rows of N from rows of links: a_ij / √(d_i d_j)."""
        own = np.repeat(rows.sum(axis=1), np.diff(rows.indptr))
        values = rows.data / np.sqrt(own * self.array("sums")[rows.indices])
        return sparse.csr_array((values, rows.indices, rows.indptr), shape=rows.shape)

    def embed(self, rows: sparse.csr_array) -> npt.NDArray[np.float32]:
        """The vectors of nodes with these links to known ones (m x n): m x dim."""
        n = len(self.get_buffer("sums"))
        matrix = sparse.csr_array((self.array("values"), self.array("col"), self.array("crow")), shape=(n, n))
        walk = SparseRows.from_scipy(matrix, device=self.get_buffer("values").device)
        weighed = self._weighed(rows)
        chunks = [self._spread(weighed[part], walk) for part in parts(rows.shape[0], max(1, _NUMBERS // n))]
        return torch.cat(chunks).numpy(force=True)

    def _spread(self, rows: sparse.csr_array, walk: SparseRows) -> Tensor:
        """Σ_{k ≥ 1} e^-s s^k / k! N^k, a column for each of the rows, by its characteristic function."""
        step = torch.from_numpy(rows.toarray().T.astype(np.float32)).contiguous().to(walk.values.device)
        heat = [torch.zeros_like(step) for _ in self._times]
        for k in range(1, _terms(max(self._times)) + 1):
            for time, total in zip(self._times, heat, strict=True):
                total.add_(step, alpha=math.exp(k * math.log(time) - time - math.lgamma(k + 1)))
            step = walk.matmul(step)
        columns: list[Tensor] = []
        for total in heat:
            for point in self._points:
                angles = total * point
                columns += [angles.cos().mean(0), angles.sin().mean(0)]
        return torch.stack(columns, dim=1)


def _terms(time: float) -> int:
    """Steps after which heat that is still to come is next to none."""
    k, rest = 0, 1.0
    while rest > _LEFT:
        rest -= math.exp(k * math.log(time) - time - math.lgamma(k + 1))
        k += 1
        if k > 400:
            break
    return k
