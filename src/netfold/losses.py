"""The sums of the chapter, each exactly as it is printed: pure functions of tensors; a network scales them in sight."""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch import Tensor

__all__ = ["first_order", "half_squares", "second_order_correction"]


def second_order_correction(found: Tensor, given: Tensor, beta: float, zeros: Tensor | float = 1.0) -> Tensor:
    """Σ over the non-zeros of β²(x̂ - x)² - x̂²: what turns Σ x̂² over ALL entries into `L_2nd` of Eq. (3).

    L_2nd = ‖(X̂ - X) ⊙ B‖² with B = β where x_ij > 0 and 1 elsewhere. Its gradient is 2 (X̂ - X) ⊙ B ⊙ B: the chapter
    prints it with one factor B, which is the gradient of another function.

    `found`, `given`: nnz. `zeros`: how often each non-zero was counted in the sum over all entries (once, where that
    sum is exact; a column block's scale or 0, where it is an estimate).
    """
    return (beta**2 * (found - given).square() - zeros * found.square()).sum()


def first_order(vectors: Tensor, pulled: Tensor) -> Tensor:
    """`L_1st` = Σ_ij s_ij ‖y_i - y_j‖² = tr(Yᵀ (L + Lᵀ) Y), Eq. (4), for some rows of Y and of (L + Lᵀ) Y: both m x d.

    L + Lᵀ = D - (S + Sᵀ) with D the row sums of S + Sᵀ. For an undirected graph that is 2 L, and the sum the chapter's
    2 tr(YᵀLY); for a directed one it is the sum over arcs. Its gradient at these rows is 2 (L + Lᵀ) Y, as printed.
    """
    return (vectors * pulled).sum()


def half_squares(weights: Iterable[Tensor]) -> Tensor:
    """`L_reg` = ½ Σ ‖W‖², over the weight matrices and not the biases."""
    return 0.5 * torch.stack([torch.dot(w.flatten(), w.flatten()) for w in weights]).sum()
