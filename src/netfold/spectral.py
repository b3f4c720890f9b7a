"""Where skip-gram begins when it does not begin at random: the leading eigenvectors of the normalised adjacency."""

from __future__ import annotations

import math

import numpy as np
import torch
from scipy import sparse
from torch import Tensor

from netfold.pretrain import orthonormal
from netfold.skipgram import distance_weights
from netfold.sparse_rows import SparseRows

__all__ = ["leading_eigenvectors", "spectral_start"]


def leading_eigenvectors(
    rows: SparseRows, rank: int, generator: torch.Generator, *, without: Tensor, rounds: int = 6
) -> tuple[Tensor, Tensor]:
    """The largest eigenvalues (rank) of a symmetric matrix X of norm 1 and their vectors (n x rank).

    Those of X - u uᵀ for the unit eigenvector u given as `without`, whose value is 1. Subspace iteration with X + X²,
    which holds negative values down, in O(rounds (nnz + n rank) rank).
    """
    wide = min(rank + 10, len(rows))
    basis = orthonormal(torch.randn(len(rows), wide, generator=generator, dtype=rows.values.dtype))

    def times(x: Tensor) -> Tensor:
        return rows.matmul(x) - torch.outer(without, without @ x)

    for _ in range(rounds):
        once = times(basis)
        basis = orthonormal(once + times(once))
    small = (basis.T @ times(basis)).double()
    values, turn = torch.linalg.eigh((small + small.T) / 2)
    order = torch.argsort(values, descending=True)[:rank]
    return values[order].to(basis), basis @ turn[:, order].to(basis)


def spectral_start(
    matrix: sparse.csr_array, dim: int, window: int, negatives: int, generator: torch.Generator
) -> tuple[Tensor, Tensor]:
    """Vectors and contexts (n x dim) near which skip-gram over walks of a symmetric matrix ends.

    At its optimum z_i · c_j = log M_ij - log k with M = vol D^-½ f(D^-½ S D^-½) D^-½, f(x) = Σ_r w_r x^r / Σ_r w_r and
    w the `distance_weights` (Qiu et al., WSDM 2018; that negatives are drawn by degree^¾ adds a factor of degree^¼).
    M - 1 is the same without the first eigenvector, and near log M where it is small. So z_i = c_i begins as row i of
    √vol D^-½ U √f(Λ), shortened from length r to √log(1 + r²), that of the logarithm; and a coordinate with product
    -log k is put before. Nodes without links get 0.
    """
    matrix = matrix.astype(np.float64)
    sums = np.asarray(matrix.sum(axis=1)).ravel()
    linked, n = sums > 0, len(sums)
    roots = np.zeros(n)
    roots[linked] = 1 / np.sqrt(sums[linked])
    whole, first = sums.sum(), torch.zeros(n, dim)
    rank = min(dim - 1, n - 1)
    if rank:
        scaled = sparse.diags_array(roots) @ matrix @ sparse.diags_array(roots)
        rows = SparseRows.from_scipy(sparse.csr_array(scaled), dtype=torch.float32)
        top = torch.from_numpy(np.sqrt(sums / whole)).float()
        values, made = leading_eigenvectors(rows, rank, generator, without=top)
        scale = torch.from_numpy(roots * math.sqrt(whole))[:, None]  # float64: a light node of a heavy graph is far out
        made = scale * made * _filtered(values, window).sqrt()
        first[:, 1 : rank + 1] = _shortened(made)
    offset = torch.from_numpy(linked).float() * math.sqrt(math.log(negatives))
    noise = (torch.rand(n, dim, generator=generator) - 0.5) / dim
    second = first.clone()
    first[:, 0], second[:, 0] = offset, -offset
    return first + noise * torch.from_numpy(linked)[:, None], second


def _filtered(values: Tensor, window: int) -> Tensor:
    """f(x) = Σ_r w_r x^r / Σ_r w_r, and 0 where that is negative."""
    weights = distance_weights(window).to(values)
    powers = values[:, None] ** torch.arange(window + 1)
    found: Tensor = powers @ weights / weights.sum()
    return found.clamp(min=0)


def _shortened(rows: Tensor) -> Tensor:
    """Each row with its length r made √log(1 + r²)."""
    lengths = torch.linalg.vector_norm(rows, dim=1, keepdim=True)
    shorter: Tensor = lengths.square().log1p().sqrt() / lengths.clamp(min=1e-30)
    return rows * shorter
