"""DepthLGP's tensors: the process over known nodes, subgraphs to train it on, and the risk of its answers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import torch
from scipy import sparse
from torch import Tensor

from netfold.learn import losses
from netfold.learn.walks import Links
from netfold.models.lgp.neighborhoods import Caps, Surroundings, read_around, walked_roots
from netfold.models.lgp.process import Process
from netfold.models.lgp.solve import posterior_variances, solved

__all__ = ["Batch", "DepthLGPNetwork", "batches"]


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
) -> Callable[[torch.Generator], Iterator[Batch]]:
    """The batches of an epoch for a generator: `samples` subgraphs, each around `roots` nodes along a random walk.

    `matrix`: n x n, symmetric; `vectors`: n x d, on the CPU. All is drawn there, so that devices agree.
    """
    links = Links.from_scipy(matrix)

    def of(generator: torch.Generator) -> Iterator[Batch]:
        for start in range(0, samples, batch_size):
            drawn = walked_roots(links, min(batch_size, samples - start), roots, generator)
            around = read_around(matrix, *drawn, caps, generator, device=device, dtype=vectors.dtype)
            yield Batch(around, vectors[around.new.cpu()].to(device))

    return of


class DepthLGPNetwork(Process):
    """The process, trained by holding back known nodes."""

    def loss(self, batch: Batch) -> dict[str, Tensor]:
        """The empirical risk over a batch: the mean over its nodes of ‖f(v) - f̃(v)‖²."""
        return {"risk": losses.empirical_risk(self(batch.around), batch.vectors) / max(1, len(batch.vectors))}

    @torch.no_grad()
    def measure(self, batch: Batch, generator: torch.Generator) -> None:
        """Learn from the errors in a batch how sure an answer is."""
        if not len(batch.vectors):
            return
        system = self.system(batch.around)
        latent = solved(system)
        wrong = batch.vectors - self.vectors(latent)
        self.spread.measure(self.g, latent, posterior_variances(system, generator), wrong)
