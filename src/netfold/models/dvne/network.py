"""DVNE's tensors: the autoencoder over sparse rows whose code is a Gaussian, and its loss."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import numpy.typing as npt
import torch
from scipy import sparse
from torch import Tensor, nn
from torch.nn import functional

from netfold.learn import losses
from netfold.learn.layers import RowDecoder, RowEncoder, Stack, xavier_
from netfold.learn.sparse_rows import PIECE, SparseRows, dropped, generator_on, in_chunks, parts
from netfold.models.dvne.batches import Batch, NodeChunk

__all__ = ["ENERGIES", "LEAST", "DVNENetwork", "deviation", "kl", "w2_of_rows", "w2_squared"]

LEAST = 1e-6
"""The smallest standard deviation."""


def deviation(x: Tensor) -> Tensor:
    """σ = ELU(x) + 1, which is x + 1 above 0 and eˣ below, and never under `LEAST`.

    Written as eˣ it keeps its digits where ELU(x) + 1 loses them, and underflows to 0 in float32 at x = -17.
    """
    return torch.exp(x.clamp(max=0)).clamp(min=LEAST) + functional.relu(x)


def w2_of_rows(a: Tensor, b: Tensor) -> Tensor:
    """W2 of Gaussians with diagonal covariances: the Euclidean distance of [μ, σ]. Both m x 2 dim, made m.

    Where the two are the same its gradient is taken to be 0, one of its subgradients.
    """
    distances: Tensor = torch.linalg.vector_norm(a - b, dim=1)
    return distances


def w2_squared(a: Tensor, b: Tensor) -> Tensor:
    """W2²."""
    return (a - b).square().sum(1)


def kl(a: Tensor, b: Tensor) -> Tensor:
    """D_KL(b ‖ a) = ½ Σ (σ_b² + (μ_a - μ_b)²) / σ_a² - 1 - 2 log(σ_b / σ_a), of [μ, σ]: m x 2 dim each, made m."""
    (mean_a, std_a), (mean_b, std_b) = a.chunk(2, dim=1), b.chunk(2, dim=1)
    ratio = std_b / std_a
    return 0.5 * (ratio.square() + ((mean_a - mean_b) / std_a).square() - 1 - 2 * ratio.log()).sum(1)


ENERGIES: dict[str, Callable[[Tensor, Tensor], Tensor]] = {"w2": w2_of_rows, "w2_squared": w2_squared, "kl": kl}
"""E of two nodes, by name."""


class DVNENetwork(nn.Module):
    """n - hidden - [μ, σ] - hidden - n, the last layer read at the non-zeros alone."""

    def __init__(self, n: int, hidden: int, dim: int, *, alpha: float, repulsion: float = 1.0, energy: str = "w2"):
        super().__init__()
        self.dim, self.alpha, self.repulsion, self.energy = dim, alpha, repulsion, ENERGIES[energy]
        self.first = RowEncoder(n, hidden)
        self.code = Stack((hidden, 2 * dim), "linear")
        self.decoder = Stack((dim, hidden), "linear")
        self.last = RowDecoder(n, hidden)

    def start(self, generator: torch.Generator) -> None:
        """Xavier's start: every node close to N(0, 1), as rows of P are short."""
        weights = self.first.table, *self.code.weights[0].chunk(2, dim=1), *self.decoder.weights, self.last.table
        for weight in weights:
            xavier_(weight, generator)

    def encode(self, rows: SparseRows) -> Tensor:
        """[μ, σ]: m x 2 dim."""
        mean, x = self.code(functional.relu(self.first(rows))).chunk(2, dim=1)
        return torch.cat([mean, deviation(x)], dim=1)

    def loss(self, batch: Batch) -> dict[str, Tensor]:
        """`L_1` over the batch's triplets, and alpha M / n `L_2` over the nodes that it writes.

        Each node is encoded once. L_1 and its gradient are taken of all codes together, and then each chunk is written
        and its gradient added to `grad` before the next: what is kept for all nodes at once are the encoder's
        activations, and the decoder's are those of one chunk.
        """
        codes = [self.encode(chunk.seen) for chunk in batch.chunks]
        first, pull = self._first_order(torch.cat([x.detach() for x in codes]), batch.triplets)
        second, start = first.new_zeros(()), 0
        for chunk, code in zip(batch.chunks, codes, strict=True):
            term = self._second_order(chunk, code) * (self.alpha * batch.times)
            second = second + term.detach()
            if code.requires_grad:
                torch.autograd.backward([term + (code * pull[start : start + len(code)]).sum()])
            start += len(code)
        return {"first_order": first, "second_order": second}

    def _first_order(self, codes: Tensor, triplets: Tensor) -> tuple[Tensor, Tensor]:
        """L_1 and, where gradients are on, its gradient for each code; some triplets at a time."""
        total, pull = codes.new_zeros(()), torch.zeros_like(codes)
        for part in parts(triplets.shape[1], max(256, PIECE[codes.device.type] // codes.shape[1])):
            i, j, k = (codes[at].requires_grad_(torch.is_grad_enabled()) for at in triplets[:, part])
            energy = losses.triplet_energies(self.energy(i, j), self.energy(i, k), self.repulsion)
            total = total + energy.detach()
            if energy.requires_grad:
                for at, grad in zip(triplets[:, part], torch.autograd.grad(energy, (i, j, k)), strict=True):
                    pull.index_add_(0, at, grad)
        return total, pull

    def _second_order(self, chunk: NodeChunk, code: Tensor) -> Tensor:
        if chunk.noise is None:
            return code.new_zeros(())
        mean, std = code.chunk(2, dim=1)
        hidden = functional.relu(self.decoder(mean + std * chunk.noise))
        return losses.weighed_squares(self.last.at(chunk.rows, hidden).sigmoid(), chunk.rows.values)

    @torch.no_grad()
    def embed(self, matrix: sparse.csr_array) -> npt.NDArray[np.float32]:
        """[μ, σ] of rows over the known nodes, in chunks: m x 2 dim."""
        codes: npt.NDArray[np.float32] = torch.cat([self.encode(rows).cpu() for rows in self._walk(matrix)]).numpy()
        return codes

    @torch.no_grad()
    def mean_variance(
        self, matrix: sparse.csr_array, draws: int, generator: torch.Generator
    ) -> npt.NDArray[np.float64]:
        """The mean of |μ - μ'|² over draws of μ', the mean of a row of which each entry is dropped or not by a coin."""
        coins = generator_on(self.device, generator)
        variances = []
        for rows in self._walk(matrix):
            mean, moved = self._means(rows), torch.zeros(len(rows), dtype=torch.float64, device=self.device)
            for _ in range(draws):
                moved += (self._means(dropped(rows, 0.5, coins, sum_to_one=True)) - mean).square().sum(1)
            variances.append(moved.cpu() / draws)
        return torch.cat(variances).numpy()

    def _means(self, rows: SparseRows) -> Tensor:
        return self.encode(rows)[:, : self.dim].double()

    def _walk(self, matrix: sparse.csr_array) -> Iterator[SparseRows]:
        return in_chunks(matrix, self.chunk_rows(), self.first.table)

    @property
    def device(self) -> torch.device:
        """Where it is."""
        return self.first.table.device

    def chunk_rows(self) -> int:
        """How many rows are walked at a time: what keeps a layer's activations in bounds."""
        return max(256, PIECE[self.device.type] // int(self.first.table.shape[1]))
