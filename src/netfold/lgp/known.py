"""`Known`: what is kept of the known nodes, so that new ones are placed by their links alone."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from scipy import sparse
from torch import Tensor

from netfold.lgp.arrivals import Arrivals
from netfold.lgp.process import Process
from netfold.lgp.system import System, precision
from netfold.sparse_rows import SparseRows

__all__ = ["Known"]


@dataclass(frozen=True, eq=False)
class Known:
    """The sums of known nodes over their known neighbors: a new node's second order needs no more of those.

    With these, new nodes with e links are placed in O(e s) a step of the solver, however large the graph is and
    whatever the degrees of their neighbors are.
    """

    process: Process
    matrix: sparse.csr_array
    """A: n x n."""
    mass: Tensor
    """A a: n x 1 or n x s."""
    pull: Tensor
    """A (a ∘ h): n x s."""

    @staticmethod
    @torch.no_grad()
    def of(process: Process, matrix: sparse.csr_array) -> Known:
        """The sums over all known nodes, in O(edges s)."""
        rows = SparseRows.from_scipy(matrix, device=process.device, dtype=process.latent.dtype)
        return Known(process, matrix, *_summed(rows, *_read(process, slice(None))))

    @torch.no_grad()
    def system(self, new: Arrivals) -> System:
        """The equations of new nodes, exactly, all at once."""
        device, dtype = self.process.device, self.process.latent.dtype
        near = torch.from_numpy(new.near).to(device)
        weights, latent = _read(self.process, near)
        outward = SparseRows.from_scipy(new.to_near, device=device, dtype=dtype)
        links = sparse.csr_array(sparse.hstack([new.among, new.to_near]))
        links.sort_indices()
        mass, pull = self._sums(near, new.added)
        return System(
            SparseRows.from_scipy(links, device=device, dtype=dtype),
            torch.cat([weights.new_ones(len(new), weights.shape[1]), weights]),
            torch.cat([outward.matmul(weights), mass]),
            torch.cat([outward.matmul(weights * latent), pull]),
            self.process.kernel.eta,
            self.process.kernel.zeta,
        )

    @torch.no_grad()
    def each_as_new(self) -> tuple[Tensor, Tensor]:
        """Every known node as if it were new and all others known: its latent state, n x s, and M_vv, n x 1 or n x s.

        With q_v = Σ_w A_vw² a_w², and as v's own weight is then 1,
        M_vv = 1 + eta (A a)_v + zeta (Σ_w A_vw a_w² (A a)_w - a_v q_v), and
        M_vv z_v = eta (A (a ∘ h))_v + zeta (Σ_w A_vw a_w² (A (a ∘ h))_w - a_v q_v h_v): a few products in all.
        """
        kernel, usual = self.process.kernel, self.process.latent.dtype
        rows = SparseRows.from_scipy(self.matrix, device=self.process.device, dtype=usual)
        dtype, mass, pull = precision(rows), self.mass, self.pull
        weights, latent, eta, zeta = (x.to(dtype) for x in (*_read(self.process, slice(None)), kernel.eta, kernel.zeta))
        if dtype != usual:
            rows = rows.with_values(rows.values.to(dtype))
            mass, pull = _summed(rows, weights, latent)
        squares = weights.square()
        own = weights * rows.with_values(rows.values.square()).matmul(squares)  # a_v q_v
        diagonal = 1 + eta * mass + zeta * (rows.matmul(squares * mass) - own)
        far = rows.matmul(squares * pull) - own * latent
        return ((eta * pull + zeta * far) / diagonal).to(usual), diagonal.to(usual)

    def _sums(self, near: Tensor, added: sparse.csr_array) -> tuple[Tensor, Tensor]:
        """`mass` and `pull` of some nodes, with what a later graph adds to their links."""
        mass, pull = self.mass[near], self.pull[near]
        if not added.nnz:
            return mass, pull
        ends, columns = np.unique(added.indices, return_inverse=True)
        few = sparse.csr_array((added.data, columns, added.indptr), shape=(len(near), len(ends)))
        more = SparseRows.from_scipy(few, device=near.device, dtype=pull.dtype)
        weights, latent = _read(self.process, torch.from_numpy(ends.astype(np.int64)).to(near.device))
        more_mass, more_pull = _summed(more, weights, latent)
        return mass + more_mass, pull + more_pull


def _summed(rows: SparseRows, weights: Tensor, latent: Tensor) -> tuple[Tensor, Tensor]:
    """A a and A (a ∘ h)."""
    return rows.matmul(weights), rows.matmul(weights * latent)


def _read(process: Process, nodes: Tensor | slice) -> tuple[Tensor, Tensor]:
    """a and h of some nodes, the latter less the prior's mean."""
    return process.kernel.weights(process.kernel.raw_weights.detach()[nodes]), process.latent.detach()[nodes]
