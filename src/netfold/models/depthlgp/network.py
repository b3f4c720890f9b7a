"""DepthLGP's tensors: the process over known nodes, subgraphs to train it on, and the risk of its answers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from scipy import sparse
from torch import Tensor
from torch.nn import functional

from netfold.learn import losses
from netfold.learn.walks import Links
from netfold.models.lgp.neighborhoods import Caps, Surroundings, read_around, walked_roots
from netfold.models.lgp.process import Process
from netfold.models.lgp.solve import posterior_variances, solved

__all__ = ["Batch", "DepthLGPNetwork", "batches"]

_MULTIPLES = tuple((eta, zeta * eta) for eta in (100.0, 10.0, 1.0) for zeta in (0.0, 0.1, 1.0))
"""Of eta and zeta, that are tried as starts: the first, with eta large and zeta 0, is nearly LabelProp."""


@dataclass(frozen=True, eq=False)
class Batch:
    """Nodes that count as new, with what is read around them, and their true vectors."""

    around: Surroundings
    vectors: Tensor
    """m x d"""


def batches(
    matrix: sparse.csr_array,
    vectors: Tensor,
    *,
    samples: int,
    roots: int,
    caps: Caps,
    batch_size: int,
    device: torch.device,
    skipped: npt.NDArray[np.int64] | None = None,
) -> Callable[[torch.Generator], Iterator[Batch]]:
    """The batches of an epoch for a generator: `samples` subgraphs, each around `roots` nodes along a random walk.

    `skipped` are nodes that never count as new.
    `matrix`: n x n, symmetric; `vectors`: n x d, on the CPU. All is drawn there, so that devices agree.
    """
    links = Links.from_scipy(matrix)

    def of(generator: torch.Generator) -> Iterator[Batch]:
        for start in range(0, samples, batch_size):
            drawn = walked_roots(links, min(batch_size, samples - start), roots, generator)
            if skipped is not None:
                wanted = ~np.isin(drawn[0], skipped)
                drawn = drawn[0][wanted], drawn[1][wanted]
            around = read_around(matrix, *drawn, caps, generator, device=device, dtype=vectors.dtype)
            yield Batch(around, vectors[around.new.cpu()].to(device))

    return of


class DepthLGPNetwork(Process):
    """The process, trained by holding back known nodes."""

    def loss(self, batch: Batch) -> dict[str, Tensor]:
        """The empirical risk over a batch: the mean over its nodes of ‖f(v) - f̃(v)‖²."""
        return {"risk": losses.empirical_risk(self(batch.around), batch.vectors) / max(1, len(batch.vectors))}

    @torch.no_grad()
    def agreement(self, batch: Batch) -> float:
        """The mean cosine, around the mean of all, of where a batch's nodes are placed with the vectors that they have.

        What is asked of vectors is where they point; squared errors would reward short ones.
        """
        placed, away = self(batch.around) - self.mean, batch.vectors - self.mean
        return float(functional.cosine_similarity(placed, away).mean()) if len(batch.vectors) else 0.0

    @torch.no_grad()
    def choose_starts(self, batch: Batch) -> None:
        """Start eta and zeta at those multiples of where they are that place a batch best; of equal ones the first."""
        starts, best = self.kernel.starts.clone(), -2.0
        chosen = starts.clone()
        for eta, zeta in _MULTIPLES:
            self.kernel.starts.copy_(starts * starts.new_tensor([eta, zeta]))
            agreement = self.agreement(batch)
            if agreement > best + 1e-4:
                chosen, best = self.kernel.starts.clone(), agreement
        self.kernel.starts.copy_(chosen)

    @torch.no_grad()
    def measure(self, batch: Batch, generator: torch.Generator) -> None:
        """Learn from the errors in a batch how sure an answer is."""
        if not len(batch.vectors):
            return
        system = self.system(batch.around)
        latent = solved(system)
        wrong = batch.vectors - self.vectors(latent)
        self.spread.measure(self.g, latent, posterior_variances(system, generator), wrong)
