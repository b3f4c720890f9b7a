"""Skip-gram with negative sampling over any vectors: the objective that node2vec, DeepWalk and LINE share.

The vector z of a center is to tell the vectors c of its contexts from those of nodes drawn at random:

L = -Σ_(i,j) [log σ(z_i · c_j) + k E_v log σ(-z_i · c_v)],  v drawn with a probability in proportion to degree^¾.

The sums here see rows of vectors and places among those rows, never a table or a graph: whatever makes the vectors can
be trained by them. Each takes its gradient together with its value, in pieces of bounded memory.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from netfold.sparse_rows import PIECE

__all__ = ["PRIOR", "center_weights", "distance_weights", "negative_sum", "pair_sum", "window_sum"]

PRIOR = 16.0
"""Where the sums of squares of row-wise Adagrad begin: a row that has seen little moves at lr / 4.

From 0 a row's first step would be as long as lr, however small its gradient; at lr = 0.1 this is word2vec's 0.025.
"""


def distance_weights(window: int) -> Tensor:
    """How much a pair counts whose nodes are 0, 1, ..., `window` steps apart: 0, then (window - distance + 1) / window.

    word2vec draws a window from 1 to `window` for each center; this is the chance that a distance is within it. So the
    sum with these weights is the expectation of that with the draw.

    >>> distance_weights(4).tolist()
    [0.0, 1.0, 0.75, 0.5, 0.25]
    """
    weights = (window + 1 - torch.arange(window + 1, dtype=torch.float64)) / window
    weights[0] = 0
    return weights


def center_weights(walks: Tensor, window: int) -> Tensor:
    """The sum of the weights of a center's pairs, for each place of each walk (B x T); -1 stands after the end."""
    there = (walks >= 0).float()
    made = torch.zeros_like(there)
    for distance, weight in enumerate(distance_weights(window).tolist()):
        if 0 < distance < walks.shape[1]:
            both = weight * there[:, distance:] * there[:, :-distance]
            made[:, distance:] += both
            made[:, :-distance] += both
    return made


def window_sum(vectors: Tensor, contexts: Tensor, walks: Tensor, window: int) -> Tensor:
    """-Σ_b Σ_{s ≠ t} w(|s - t|) log σ(z · c), with z of the node at place t of walk b, c of that at place s.

    `vectors`: m x d, `contexts`: m' x d. `walks`: B x T rows of both, -1 after a walk's end. w are the
    `distance_weights`. A node that a walk comes by again is its own context, as in word2vec.
    """
    made: Tensor = _Windows.apply(vectors, contexts, walks, window)  # type: ignore[no-untyped-call]
    return made


def pair_sum(vectors: Tensor, contexts: Tensor, pairs: Tensor) -> Tensor:
    """-Σ log σ(z_i · c_j) over pairs (i, j): 2 x b, rows of `vectors` (m x d) and of `contexts` (m' x d)."""
    made: Tensor = _Pairs.apply(vectors, contexts, pairs)  # type: ignore[no-untyped-call]
    return made


def negative_sum(vectors: Tensor, contexts: Tensor, centers: Tensor, weights: Tensor, drawn: Tensor) -> Tensor:
    """-Σ_g Σ_t w_gt Σ_s log σ(-z · c), with z of the t-th center of group g, c of the s-th node drawn for it.

    `centers`: g x G rows of `vectors` (m x d); `drawn`: g x S rows of `contexts` (m' x d); `weights`: g x G. With nodes
    drawn at random and w_gt = (k / S) times the weight of the center's pairs, the expectation is that of k negatives
    drawn for each pair; here a group of centers shares S of them, and its scores are one dense product.
    """
    made: Tensor = _Negatives.apply(vectors, contexts, centers, weights, drawn)  # type: ignore[no-untyped-call]
    return made


Grads = tuple[Tensor, Tensor]
"""What is added up for vectors and for contexts."""


class _Known(torch.autograd.Function):
    """A sum of vectors and contexts whose gradients `forward` has kept."""

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        left, right = ctx.saved_tensors
        return left * grad, right * grad, *ctx.rest


class _Windows(_Known):
    @staticmethod
    def forward(ctx: Any, vectors: Tensor, contexts: Tensor, walks: Tensor, window: int) -> Tensor:
        grads, total = (torch.zeros_like(vectors), torch.zeros_like(contexts)), vectors.new_zeros(())
        for part in torch.split(walks, _groups(vectors, walks.shape[1])):
            total += _add_windows(vectors, contexts, part, window, grads)
        ctx.save_for_backward(*grads)
        ctx.rest = (None,) * 2
        return total


def _groups(vectors: Tensor, rows: int) -> int:
    """How many groups of so many rows are read at a time."""
    return max(1, PIECE[vectors.device.type] // max(1, rows * vectors.shape[1]))


def _add_windows(vectors: Tensor, contexts: Tensor, walks: Tensor, window: int, grads: Grads) -> Tensor:
    """The sum over some walks; its gradients are added to `grads`."""
    at, total = walks.clamp(min=0), vectors.new_zeros(())
    z, c = _read(vectors, at), _read(contexts, at)  # b x T x d
    dz, dc = torch.empty_like(z), torch.zeros_like(c)
    for here, around, weights in _bands(walks, window, vectors.dtype):
        scores = torch.bmm(z[:, here], c[:, around].transpose(1, 2)).neg_()
        total += (functional.softplus(scores) * weights).sum()
        slope = scores.sigmoid_().mul_(-weights)
        dz[:, here] = torch.bmm(slope, c[:, around])
        dc[:, around] += torch.bmm(slope.transpose(1, 2), z[:, here])
    _add(grads[0], at, dz)
    _add(grads[1], at, dc)
    return total


def _bands(walks: Tensor, window: int, dtype: torch.dtype) -> Iterator[tuple[slice, slice, Tensor]]:
    """Blocks of centers, the places around them, and the weights of their pairs: b or 1 x centers x places."""
    length, device = walks.shape[1], walks.device
    by_distance = functional.pad(distance_weights(window), (0, 1)).to(device, dtype)
    place, there = torch.arange(length, device=device), (walks >= 0).to(dtype)
    whole = bool((walks >= 0).all())
    block = max(16, 2 * window)
    for start in range(0, length, block):
        here = slice(start, min(start + block, length))
        around = slice(max(0, start - window), min(here.stop + window, length))
        distances = (place[here, None] - place[around]).abs().clamp_(max=window + 1)
        weights = by_distance[distances][None]
        yield here, around, weights if whole else weights * there[:, here, None] * there[:, None, around]


class _Pairs(_Known):
    @staticmethod
    def forward(ctx: Any, vectors: Tensor, contexts: Tensor, pairs: Tensor) -> Tensor:
        grads, total = (torch.zeros_like(vectors), torch.zeros_like(contexts)), vectors.new_zeros(())
        for left, right in torch.split(pairs, _groups(vectors, 1), dim=1):
            z, c = vectors.index_select(0, left), contexts.index_select(0, right)
            scores = (z * c).sum(1).neg_()
            total += functional.softplus(scores).sum()
            slope = scores.sigmoid_().neg_()[:, None]
            _add(grads[0], left, c.mul_(slope))
            _add(grads[1], right, z.mul_(slope))
        ctx.save_for_backward(*grads)
        ctx.rest = (None,)
        return total


class _Negatives(_Known):
    @staticmethod
    def forward(ctx: Any, vectors: Tensor, contexts: Tensor, centers: Tensor, weights: Tensor, drawn: Tensor) -> Tensor:
        grads, total = (torch.zeros_like(vectors), torch.zeros_like(contexts)), vectors.new_zeros(())
        size = _groups(vectors, centers.shape[1] + drawn.shape[1])
        for at, weight, others in zip(*(torch.split(x, size) for x in (centers, weights, drawn)), strict=True):
            z, c = _read(vectors, at), _read(contexts, others)
            scores = torch.bmm(z, c.transpose(1, 2))
            total += (functional.softplus(scores).sum(2) * weight).sum()
            slope = scores.sigmoid_().mul_(weight[:, :, None])
            _add(grads[0], at, torch.bmm(slope, c))
            _add(grads[1], others, torch.bmm(slope.transpose(1, 2), z))
        ctx.save_for_backward(*grads)
        ctx.rest = (None,) * 3
        return total


def _read(rows: Tensor, at: Tensor) -> Tensor:
    """rows[at], a x b x d."""
    return rows.index_select(0, at.flatten()).view(*at.shape, rows.shape[1])


def _add(out: Tensor, at: Tensor, rows: Tensor) -> None:
    """out[at] += rows, where a row may be named often: summed in the same order each time."""
    index, values = at.flatten(), rows.view(-1, out.shape[1])
    if out.is_cuda:
        out.index_put_((index,), values, accumulate=True)
    else:
        out.index_add_(0, index, values)
