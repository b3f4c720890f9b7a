"""Linear algebra over tensors: conjugate gradients, and subspace iteration for singular and eigenvectors."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from netfold.learn.draws import TABLE, normal
from netfold.learn.sparse_rows import SparseRows

__all__ = ["conjugate_gradients", "leading_eigenvectors", "orthonormal", "truncated_svd"]

_RESIDUAL = {torch.float32: 1e-6, torch.float64: 1e-13}
"""The residual at which a solution is one, in units of the solution and as a share of its largest number."""
_STEPS = 100
"""Of conjugate gradients; where M is well conditioned, 4 to 20 are the rule."""


def conjugate_gradients(
    product: Callable[[Tensor], Tensor], right: Tensor, diagonal: Tensor, *, steps: int = _STEPS
) -> tuple[Tensor, bool]:
    """x with M x = right, column by column, M being known by its product and its diagonal; and whether it is found.

    The diagonal is the preconditioner, and the start x = right / diagonal is the answer already where M has no more.
    """
    x = right / diagonal
    if len(right) < 2:
        return x, True
    limit = _RESIDUAL[right.dtype] * x.abs().amax(dim=0)
    rest = right - product(x)
    step = ahead = rest / diagonal
    energy = (rest * ahead).sum(0)
    for _ in range(steps):
        if bool((ahead.abs().amax(dim=0) <= limit).all()):
            return x, True
        through = product(step)
        length = energy / (step * through).sum(0).clamp(min=torch.finfo(x.dtype).tiny)
        x = x + length * step
        rest = rest - length * through
        ahead = rest / diagonal
        before, energy = energy, (rest * ahead).sum(0)
        step = ahead + energy / before.clamp(min=torch.finfo(x.dtype).tiny) * step
    return x, bool((ahead.abs().amax(dim=0) <= limit).all())


def truncated_svd(rows: SparseRows, rank: int, generator: torch.Generator, *, rounds: int = 4) -> tuple[Tensor, Tensor]:
    """The largest singular values s (rank) and right singular vectors V (n x rank) of sparse rows X.

    Randomised subspace iteration (Halko, Martinsson, Tropp 2011): O(rounds (nnz + n rank) rank), never X in full.
    """
    wide = min(rank + 10, len(rows), rows.width)
    start = normal((rows.width, wide), generator, rows.values.device, few=TABLE).to(rows.values.dtype)
    basis = _subspace(lambda x: rows.transposed_matmul(rows.matmul(x)), start, rounds)
    product = rows.matmul(basis)
    squares, v = torch.linalg.eigh((product.T @ product).double().cpu())  # small: V, and squared values
    order = torch.argsort(squares, descending=True)[:rank]
    return squares[order].clamp(min=0).sqrt().to(basis), basis @ v[:, order].to(basis)


def leading_eigenvectors(
    rows: SparseRows, rank: int, generator: torch.Generator, *, without: Tensor, rounds: int = 6
) -> tuple[Tensor, Tensor]:
    """The largest eigenvalues (rank) of a symmetric matrix X of norm 1 and their vectors (n x rank).

    Those of X - u uᵀ for the unit eigenvector u given as `without`, whose value is 1. Subspace iteration with X + X²,
    which holds negative values down, in O(rounds (nnz + n rank) rank).
    """
    wide = min(rank + 10, len(rows))
    start = normal((len(rows), wide), generator, rows.values.device, few=TABLE).to(rows.values.dtype)

    def times(x: Tensor) -> Tensor:
        return rows.matmul(x) - torch.outer(without, without @ x)

    def twice(x: Tensor) -> Tensor:
        once = times(x)
        return once + times(once)

    basis = _subspace(twice, start, rounds)
    small = (basis.T @ times(basis)).double().cpu()
    values, turn = torch.linalg.eigh((small + small.T) / 2)
    order = torch.argsort(values, descending=True)[:rank]
    return values[order].to(basis), basis @ turn[:, order].to(basis)


def _subspace(product: Callable[[Tensor], Tensor], start: Tensor, rounds: int) -> Tensor:
    """An orthonormal basis, near that of the leading eigenvectors: of `start`, and again after each product."""
    basis = orthonormal(start)
    for _ in range(rounds):
        basis = orthonormal(product(basis))
    return basis


def orthonormal(x: Tensor) -> Tensor:
    """An orthonormal basis of the columns: by two Cholesky factors of small Gram matrices, or by QR where those fail.

    Several times faster than QR for long columns, and as exact where they are not nearly dependent.
    """
    for _ in range(2):
        factor, failed = torch.linalg.cholesky_ex((x.T @ x).double())
        if failed or factor.diagonal().min() < 1e-4 * factor.diagonal().max():
            basis: Tensor = torch.linalg.qr(x).Q
            return basis
        x = x @ torch.linalg.inv(factor).T.to(x)
    return x
