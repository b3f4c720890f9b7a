"""The sums of the chapter, each exactly as it is printed: pure functions of tensors; a network scales them in sight."""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch import Tensor
from torch.nn import functional

from netfold.learn.sparse_rows import WIDENED

__all__ = [
    "direction_risk", "empirical_risk", "first_order", "half_squares", "nonzero_squares", "second_order_correction",
    "triplet_energies", "tuple_cross_entropy", "weighed_squares",
]  # fmt: skip


_MANY, _BLOCK = 1 << 20, 1 << 16
"""More numbers than the first are summed in float32 as many as the second at a time."""


def second_order_correction(output: Tensor, target: Tensor, beta: float, zeros: Tensor | float = 1.0) -> Tensor:
    """Σ over the non-zeros of β²(x̂ - x)² - x̂²: what turns Σ x̂² over ALL entries into `L_2nd` of Eq. (3).

    L_2nd = ‖(X̂ - X) ⊙ B‖² with B = β where x_ij > 0 and 1 elsewhere. Its gradient is 2 (X̂ - X) ⊙ B ⊙ B: the chapter
    prints it with one factor B, which is the gradient of another function.

    `output`, `target`: nnz. `zeros`: how often each non-zero was counted in the sum over all entries (once, where that
    sum is exact; a column block's scale or 0, where it is an estimate).
    """
    return (beta**2 * (output - target).square() - zeros * output.square()).sum()


def first_order(vectors: Tensor, pulled: Tensor) -> Tensor:
    """`L_1st` = Σ_ij s_ij ‖y_i - y_j‖² = tr(Yᵀ (L + Lᵀ) Y), Eq. (4), for some rows of Y and of (L + Lᵀ) Y: both m x d.

    L + Lᵀ = D - (S + Sᵀ) with D the row sums of S + Sᵀ. For an undirected graph that is 2 L, and the sum the chapter's
    2 tr(YᵀLY); for a directed one it is the sum over arcs. Its gradient at these rows is 2 (L + Lᵀ) Y, as printed.
    """
    return (vectors * pulled).sum()


def half_squares(weights: Iterable[Tensor]) -> Tensor:
    """`L_reg` = ½ Σ ‖W‖², over the weight matrices and not the biases."""
    each = list(weights)
    if each and all(w.is_cuda and w.dtype == torch.float32 for w in each):  # one launch, and nothing is copied
        lengths = torch.stack(torch._foreach_norm(each, 2, dtype=torch.float64))
        return (0.5 * lengths.square().sum()).to(each[0].dtype)
    return 0.5 * torch.stack([_squares(w.flatten()) for w in each]).sum()


def _squares(x: Tensor) -> Tensor:
    """Σ x², of many numbers in blocks: one sum in float32 of 50 million is off by 0.3%, as each new term is cut off."""
    if x.dtype == torch.bfloat16:
        parts = torch.split(x, WIDENED["cuda"] if x.is_cuda else _BLOCK)
        return torch.stack([_squares(part.float()) for part in parts]).double().sum().float()
    if x.is_cuda:
        length: Tensor = torch.linalg.vector_norm(x, dtype=torch.float64)
        return length.square().to(x.dtype)
    if len(x) <= _MANY:
        return torch.dot(x, x)
    return torch.stack([torch.dot(part, part) for part in torch.split(x, _BLOCK)]).double().sum().to(x.dtype)


def tuple_cross_entropy(logits: Tensor, truth: Tensor) -> Tensor:
    """DHNE's `L_1` = -Σ [R log S + (1 - R) log(1 - S)] over tuples, with S the sigmoid of the logits: both m.

    R is 1 for a hyperedge and 0 for a tuple that is none.
    """
    return functional.binary_cross_entropy_with_logits(logits, truth, reduction="sum")


def nonzero_squares(output: Tensor, target: Tensor) -> Tensor:
    """DHNE's `L_2` = ‖sign(A) ⊙ (A - Â)‖²: Σ (a - â)² over the non-zeros of A, both nnz."""
    return (output - target).square().sum()


def triplet_energies(near: Tensor, far: Tensor, repulsion: float = 1.0) -> Tensor:
    """DVNE's `L_1` = Σ E_ij² + exp(-E_ik) over triplets: `near` has their E_ij, `far` their E_ik.

    `repulsion` is a weight on the second part, 1 in the chapter.
    """
    return torch.dot(near, near) + repulsion * torch.exp(-far).sum()


def weighed_squares(output: Tensor, target: Tensor) -> Tensor:
    """DVNE's `L_2` = ‖X ∘ (X - G(Z))‖²: a sum over the non-zeros alone, as X is its own weight. Both are nnz."""
    return (target * (target - output)).square().sum()


def empirical_risk(output: Tensor, target: Tensor) -> Tensor:
    """DepthLGP's risk but for its 1/|V*|: Σ ‖f(v) - f̃(v)‖² over the nodes that counted as new, both m x d."""
    return (target - output).square().sum()


def direction_risk(output: Tensor, target: Tensor) -> Tensor:
    """Σ 1 - cos(f(v), f̃(v)) over the nodes that counted as new, both m x d: how long a vector is counts for nothing."""
    return (1 - functional.cosine_similarity(output, target)).sum()
