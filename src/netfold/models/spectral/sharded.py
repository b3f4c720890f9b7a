"""Spectral over several ranks: each owns the rows of its nodes in the matrix, in the table, and in the solver's blocks.

A product of the matrix with a block of b columns sends 4 b bytes (8 up to 1,000 nodes) for each of the U rows of others
that a rank's edges name; inner products of columns, b² numbers, are summed over all ranks. A round of the solver has at
most 26 products.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import torch
from scipy import sparse
from torch import Tensor

from netfold.cluster.exchange import RankGraph, RankRows, row_sums
from netfold.cluster.network import RankColumns, RankNetwork
from netfold.models.spectral.network import LinkSums, Settings, SpectralNetwork, centered, own_share, whitening

__all__ = ["ShardedSpectral"]

_EXACT = 1000
"""Nodes up to which all is float64, as in one process."""
_CHUNK = 1 << 14
"""Rows that are multiplied at a time."""


class ShardedSpectral(RankNetwork):
    """`SpectralNetwork` whose table is spread over ranks."""

    own: SpectralNetwork

    def __init__(self, own: SpectralNetwork, graph: RankGraph, matrix: str, regularization: float):
        super().__init__(own, graph, ("basis", "sums0"))
        self._matrix = matrix
        dtype = torch.float64 if graph.n_nodes <= _EXACT else torch.float32
        self.rows = RankRows(graph, _CHUNK, dtype=dtype, device=own.basis.device)
        self.exchange = self.rows.exchange()
        self._like = own.basis.new_empty(0, dtype=dtype)
        largest = max([0.0, *(float(graph.rows(p).data.max(initial=0)) for p in graph.parts)])
        sums = np.concatenate([np.zeros(0), *(row_sums(graph.rows(p)) for p in graph.parts)])
        own.fill(unit=[self._ranks.most(largest)], sums0=sums)
        total = float(self._ranks.sum_(torch.tensor([sums.sum()], dtype=torch.float64)))
        at = self.rows.at_columns(self.exchange, own.get_buffer("sums0"))
        self._sums = LinkSums(at, total, total / graph.n_nodes)
        self._added = regularization * self._sums.mean

    # ---------------------------------------------------------------- solving

    @torch.no_grad()
    def solve(self, settings: Settings, draw: Callable[[int, int], torch.Generator]) -> bool:
        """Compute the tables; whether the solver has converged. `draw`: see `RankColumns`."""
        columns = RankColumns(self._graph, draw, self._like)
        if self._matrix == "propagation":
            self.rows.weighed(self._weighed)
            self._propagate(columns, settings.steps)
            solved = True
        else:
            self.rows.weighed(self._symmetric if self._matrix == "laplacian" else self._weighed)
            settings = dataclasses.replace(settings, columns=columns)
            solved = self.own.eigenvectors(self._product, self._like, settings, self._added)
            self.rows.weighed(self._weighed)
        self._finish()
        return solved

    def _weighed(self, rows: sparse.csr_array, first: int) -> sparse.csr_array:
        return self.own.weighed(rows.astype(np.float64), sums=self._sums)

    def _symmetric(self, rows: sparse.csr_array, first: int) -> sparse.csr_array:
        """D^-½ A D^-½ with regularised degrees: the symmetric matrix with the eigenvalues of the walk."""
        own = np.repeat(row_sums(rows), np.diff(rows.indptr))
        values = rows.data / np.sqrt((own + self._added) * (self._sums.at(rows.indices) + self._added))
        return sparse.csr_array((values, rows.indices, rows.indptr), shape=rows.shape)

    def _product(self, x: Tensor) -> Tensor:
        return self.rows.matmul(self.exchange, x.contiguous())

    def _propagate(self, columns: RankColumns, steps: int) -> None:
        """As `SpectralNetwork._propagate`; the mean and the moments are of all ranks."""
        own, degrees = self.own, self.own.get_buffer("sums0")
        x = columns.random(own.basis.shape[1])
        share, linked = own_share(degrees, self._added).to(x), degrees > 0
        count = self._ranks.sum_(linked.sum(dtype=torch.float64)[None])
        for _ in range(steps):
            own.basis.copy_(x)
            averages = self._product(x).lerp(x, share)
            own.shift.copy_(self._ranks.sum_(averages[linked].double().sum(0)) / count)
            x = centered(averages, own.shift.to(x))
        x = x[linked].double()
        own.turn.copy_(whitening(self._ranks.sum_(x.T @ x) / count))

    def _finish(self) -> None:
        """As `SpectralNetwork._finish`: a mean square length of 1, and the mean vector, of nodes that have links."""
        own = self.own
        linked = self._placed()[own.get_buffer("sums0") > 0].double()
        facts = torch.cat([linked.sum(0), linked.square().sum()[None], linked.new_tensor([float(len(linked))])])
        *total, squares, count = self._ranks.sum_(facts)
        size = float((squares / count.clamp(min=1)).sqrt())
        scale = 1 / size if size > 0 else 1.0
        own.mean.copy_(torch.stack(total) / count.clamp(min=1) * scale)
        table = own.turn if self._matrix == "propagation" else own.basis
        table *= scale

    # ---------------------------------------------------------------- vectors

    def _placed(self) -> Tensor:
        """The vectors of the own nodes, with zeros where there are no links: m x d."""
        vectors = self._product(self.own.basis.to(self._like)).float()
        if self._matrix == "propagation":
            vectors.lerp_(self.own.basis, own_share(self.own.get_buffer("sums0"), self._added))
            return centered(vectors, self.own.shift) @ self.own.turn
        return vectors

    @torch.no_grad()
    def embed(self) -> npt.NDArray[np.float32]:
        """The vectors of the own nodes: m x d."""
        self.rows.weighed(self._weighed)
        vectors = self._placed()
        vectors[self.own.get_buffer("sums0") == 0] = self.own.mean
        embedded: npt.NDArray[np.float32] = vectors.numpy(force=True)
        return embedded
