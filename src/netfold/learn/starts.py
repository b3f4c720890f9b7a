"""Where training begins when it does not begin at random: an SVD, a deep belief network, or eigenvectors.

The truncated SVD and the chapter's stack of restricted Boltzmann machines are for autoencoders over sparse rows, the
leading eigenvectors of the normalised adjacency for skip-gram.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import torch
from scipy import sparse
from torch import Tensor

from netfold.learn.draws import TABLE, uniform
from netfold.learn.optimizers import OPTIMIZERS
from netfold.learn.skipgram import distance_weights, is_large
from netfold.learn.solvers import leading_eigenpairs, leading_eigenvectors, truncated_svd
from netfold.learn.sparse_rows import SparseRows

__all__ = [
    "LARGE_ROUNDS",
    "RBM",
    "SparseRBM",
    "contrastive_divergence",
    "deep_belief_network",
    "is_very_large",
    "large_on",
    "leading_directions",
    "spectral_rows",
    "spectral_start",
    "unit_scale",
    "with_offsets",
]


def large_on(device: torch.device, nodes: int) -> torch.device:
    """Where to start a network of so many nodes: above 100,000 of them where it will be trained, which saves seconds.

    Up to that on the CPU, so that the start is the same to the bit wherever training goes on.

    >>> large_on(torch.device("cuda"), 5_000)
    device(type='cpu')
    """
    return device if is_large(nodes) else torch.device("cpu")


@dataclass(eq=False)
class RBM:
    """A restricted Boltzmann machine with weights W (v x h), visible biases b (v) and hidden biases c (h).

    Binary units: p(h = 1 | v) = σ(v W + c), p(v = 1 | h) = σ(h Wᵀ + b).
    """

    weight: Tensor
    visible: Tensor
    hidden: Tensor

    @classmethod
    def start(
        cls,
        n_visible: int,
        n_hidden: int,
        generator: torch.Generator,
        scale: float = 0.01,
        device: torch.device | str = "cpu",
    ) -> RBM:
        """Small random weights, the same on every device; no biases."""
        weight = scale * torch.randn(n_visible, n_hidden, generator=generator).to(device)
        return cls(weight, torch.zeros(n_visible, device=device), torch.zeros(n_hidden, device=device))

    def up(self, v: Tensor) -> Tensor:
        """p(h = 1 | v)."""
        return torch.sigmoid(torch.addmm(self.hidden, v, self.weight))

    def divergence(self, v: Tensor, generator: torch.Generator) -> tuple[tuple[Tensor, Tensor, Tensor], Tensor]:
        """One step of contrastive divergence on m rows: the directions for W, b, c, and the sum of squared errors."""
        h = self.up(v)
        drawn = _drawn(h, generator)
        again = torch.sigmoid(torch.addmm(self.visible, drawn, self.weight.T))
        h_again = self.up(again)
        directions = (v.T @ h - again.T @ h_again, (v - again).sum(0), (h - h_again).sum(0))
        return directions, (v - again).square().sum()


def _drawn(chances: Tensor, generator: torch.Generator) -> Tensor:
    """1 with each of these chances, else 0: drawn where the generator is, so that one of the CPU serves all devices."""
    return torch.bernoulli(chances.to(generator.device), generator=generator).to(chances.device)


class SparseRBM(RBM):
    """An RBM whose visible units are linear with unit variance, so that it reads weights of any size.

    The reconstruction v' = h Wᵀ + b of a row is dense, but all that CD asks of it is linear in it:
    v'W = h (WᵀW) + b W and v'ᵀh' = W (hᵀh') + b Σh', so it is never written down. O(nnz h + v h²) a step, exactly.
    """

    def up(self, v: Tensor | SparseRows) -> Tensor:
        """p(h = 1 | v) of sparse rows."""
        assert isinstance(v, SparseRows)
        return torch.sigmoid(v.matmul(self.weight) + self.hidden)

    def divergence(
        self, v: Tensor | SparseRows, generator: torch.Generator
    ) -> tuple[tuple[Tensor, Tensor, Tensor], Tensor]:
        """As `RBM.divergence`, with the mean reconstruction."""
        assert isinstance(v, SparseRows)
        h = self.up(v)
        drawn = _drawn(h, generator)
        gram, bias = self.weight.T @ self.weight, self.visible @ self.weight
        h_again = torch.sigmoid(torch.addmm(bias + self.hidden, drawn, gram))
        weight = v.transposed_matmul(h)
        weight.addmm_(self.weight, drawn.T @ h_again, alpha=-1)
        weight.addr_(self.visible, h_again.sum(0), alpha=-1)
        again = len(v) * self.visible + self.weight @ drawn.sum(0)  # Σ_i v'_i
        directions = (weight, v.column_sums() - again, (h - h_again).sum(0))
        return directions, self._error(v, drawn, gram, bias)

    def _error(self, v: SparseRows, drawn: Tensor, gram: Tensor, bias: Tensor) -> Tensor:
        """Σ ‖v - v'‖² through Σ v'² over all entries, corrected at the non-zeros."""
        everywhere = ((drawn @ gram) * drawn).sum() + 2 * torch.dot(drawn.sum(0), bias)
        everywhere = everywhere + len(v) * torch.dot(self.visible, self.visible)
        mean = v.sampled(drawn, self.weight) + self.visible[v.col]
        return everywhere + ((mean - v.values).square() - mean.square()).sum()


def contrastive_divergence(
    rbm: RBM,
    inputs: Sequence[Callable[[], Tensor | SparseRows]],
    n: int,
    generator: torch.Generator,
    *,
    epochs: int,
    lr: float,
    report: Callable[[int, float], None] = lambda epoch, error: None,
) -> RBM:
    """Train an RBM in place by CD-1; `inputs` give the rows, part by part.

    Adam takes the steps: most visible units of a graph are nearly always off, and a plain step would hardly move them.
    """
    parameters = (rbm.weight, rbm.visible, rbm.hidden)
    optimizer = OPTIMIZERS["adam"](parameters, lr=lr)
    for epoch in range(epochs):
        error = 0.0
        for rows in inputs:
            v = rows()
            directions, missed = rbm.divergence(v, generator)  # type: ignore[arg-type]
            error += float(missed)
            for p, direction in zip(parameters, directions, strict=True):
                p.grad = direction.div_(-len(v))
            optimizer.step()
        report(epoch, error / n)
    return rbm


def unit_scale(rows: Sequence[SparseRows]) -> float:
    """The root mean square of all entries of sparse rows, zeros included."""
    squares = sum(float(torch.dot(r.values, r.values)) for r in rows)
    return float((squares / (sum(map(len, rows)) * rows[0].width)) ** 0.5)


def deep_belief_network(
    parts: Sequence[SparseRows],
    widths: Sequence[int],
    generator: torch.Generator,
    *,
    epochs: int = 20,
    report: Callable[[int, int, float], None] = lambda layer, epoch, error: None,
) -> list[RBM]:
    """A stack of RBMs (Hinton, Osindero, Teh 2006), each trained on what the one below makes of the rows.

    `parts` are the rows, a batch each; the stack is where they are. The lowest units have unit variance, so the caller
    divides the rows by the root mean square of all their entries, zeros included: see `unit_scale`.
    """
    n, n_visible, device = sum(map(len, parts)), parts[0].width, parts[0].values.device
    stack: list[RBM] = []

    def seen_through(rows: SparseRows) -> Tensor | SparseRows:
        x: Tensor | SparseRows = rows
        for rbm in stack:
            x = rbm.up(x)  # type: ignore[arg-type]
        return x

    for layer, width in enumerate(widths):
        if layer == 0:
            rbm, lr = SparseRBM.start(n_visible, width, generator, 0.001, device), 0.003
        else:
            rbm, lr = RBM.start(widths[layer - 1], width, generator, 0.1, device), 0.01
        inputs = [partial(seen_through, rows) for rows in parts]
        contrastive_divergence(rbm, inputs, n, generator, epochs=epochs, lr=lr, report=partial(report, layer))
        stack.append(rbm)
    return stack


def spectral_start(
    matrix: sparse.csr_array,
    dim: int,
    window: int,
    n_negatives: int,
    generator: torch.Generator,
    device: torch.device | str = "cpu",
) -> tuple[Tensor, Tensor]:
    """Vectors and contexts (n x dim, on the device) near which skip-gram over walks of a symmetric matrix ends.

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
    whole, first = sums.sum(), torch.zeros(n, dim, device=device)
    rank = min(dim - 1, n - 1)
    if rank:
        data = np.repeat(roots, np.diff(matrix.indptr)) * matrix.data * roots[matrix.indices]
        scaled = sparse.csr_array((data, matrix.indices, matrix.indptr), shape=matrix.shape)
        rows = SparseRows.from_scipy(scaled, dtype=torch.float32, device=device)
        top = torch.from_numpy(np.sqrt(sums / whole)).float().to(device)
        values, eigenvectors = _eigenvectors(rows, rank, generator, without=top)
        scale = torch.from_numpy(roots * math.sqrt(whole)).to(
            device
        )  # float64: a light node of a heavy graph is far out
        first[:, 1 : rank + 1] = spectral_rows(values, eigenvectors, scale, window)
    has_links = torch.from_numpy(linked).to(device)
    noise = (uniform((n, dim), generator, device, dtype=torch.float32, few=TABLE) - 0.5) / dim
    return with_offsets(first, has_links, noise, n_negatives)


def spectral_rows(values: Tensor, eigenvectors: Tensor, scale: Tensor, window: int) -> Tensor:
    """Rows of √vol D^-½ U √f(Λ), shortened; `scale` has √vol / √degree of each, 0 for a node without links."""
    return _shortened(scale[:, None] * eigenvectors * _filtered(values, window).sqrt())


def with_offsets(rows: Tensor, has_links: Tensor, noise: Tensor, n_negatives: int) -> tuple[Tensor, Tensor]:
    """Vectors and contexts of rows whose first coordinate is free (m x dim): the offset there, and noise on vectors."""
    offset = has_links.float() * math.sqrt(math.log(n_negatives))
    second = rows.clone()
    rows[:, 0], second[:, 0] = offset, -offset
    return rows + noise * has_links[:, None], second


LARGE_ROUNDS = 12
"""Of the solver for a large graph, at most: the vectors that have not converged by then are those of no structure."""


_VERY_LARGE = 5_000_000
"""Rows above which an autoencoder's epochs do not make up for a rough start: planted blocks of 2 million nodes are
found from one (.951 to .954, in 6 s on an H200; .945 in 15 s from a converged one), of 10 million not."""


def is_very_large(rows: int) -> bool:
    """Whether there are so many."""
    return rows > _VERY_LARGE


def leading_directions(rows: SparseRows, rank: int, generator: torch.Generator) -> Tensor:
    """The leading right singular vectors of sparse rows (n x rank); of very many rows until they have converged."""
    if not is_very_large(len(rows)):
        return truncated_svd(rows, rank, generator)[1]

    def squared(x: Tensor) -> Tensor:
        return rows.transposed_matmul(rows.matmul(x))

    like = rows.values
    return leading_eigenpairs(squared, rows.width, rank, generator, upper=True, rounds=LARGE_ROUNDS, like=like).vectors


def _eigenvectors(rows: SparseRows, rank: int, generator: torch.Generator, *, without: Tensor) -> tuple[Tensor, Tensor]:
    """The leading eigenvalues and vectors; in a large graph, where gaps are small, until they have converged."""
    if not is_large(len(rows)):
        return leading_eigenvectors(rows, rank, generator, without=without)

    def times(x: Tensor) -> Tensor:
        return rows.matmul(x) - torch.outer(without, without @ x)

    pairs = leading_eigenpairs(times, len(rows), rank, generator, upper=True, rounds=LARGE_ROUNDS, like=rows.values)
    return pairs.values.to(pairs.vectors), pairs.vectors


def _filtered(values: Tensor, window: int) -> Tensor:
    """f(x) = Σ_r w_r x^r / Σ_r w_r, and 0 where that is negative."""
    weights = distance_weights(window).to(values)
    powers = values[:, None] ** torch.arange(window + 1, device=values.device)
    filtered: Tensor = powers @ weights / weights.sum()
    return filtered.clamp(min=0)


def _shortened(rows: Tensor) -> Tensor:
    """Each row with its length r made √log(1 + r²)."""
    lengths = torch.linalg.vector_norm(rows, dim=1, keepdim=True)
    shorter: Tensor = lengths.square().log1p().sqrt() / lengths.clamp(min=1e-30)
    return rows * shorter
