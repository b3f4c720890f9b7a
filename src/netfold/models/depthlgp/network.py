"""DepthLGP's tensors: the process over known nodes, subgraphs to train it on, and the risk of its answers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from scipy import sparse
from torch import Tensor
from torch.nn import functional

from netfold.embedder.placing import length_ratio
from netfold.learn import losses
from netfold.learn.walks import Links
from netfold.models.lgp.neighborhoods import Caps, Surroundings, read_around, walked_roots
from netfold.models.lgp.process import Process
from netfold.models.lgp.solve import posterior_variances, solved

__all__ = ["WORTH", "Batch", "DepthLGPNetwork", "batches"]

_MULTIPLES = tuple((eta, zeta * eta) for eta in (100.0, 10.0, 1.0) for zeta in (0.0, 0.1, 1.0))
"""Of eta and zeta, that are tried as starts: the first, with eta large and zeta 0, is nearly LabelProp."""
_POWERS = (0.0, 0.125, 0.25, 0.5, 1.0)
"""Of the degree, by which neighbors are weighed down, that are tried: the first weighs all alike, as LabelProp does."""
WORTH = 0.95
"""How much less (at most this share of it) the disagreement must be for what is simpler to be left."""


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

    directions: bool = False
    """Whether the risk is of where vectors point, seen from the mean, or (the chapter's) of where they are."""

    def loss(self, batch: Batch) -> dict[str, Tensor]:
        """The empirical risk over a batch: the mean over its nodes of ‖f(v) - f̃(v)‖², or of 1 - cosine."""
        return {"risk": self.risk(self(batch.around), batch.vectors) / max(1, len(batch.vectors))}

    def risk(self, placed: Tensor, vectors: Tensor) -> Tensor:
        """The same as a sum, of where nodes are placed and their true vectors: both m x d."""
        if self.directions:
            return losses.direction_risk(placed - self.mean, vectors - self.mean)
        return losses.empirical_risk(placed, vectors)

    @torch.no_grad()
    def agreement(self, batch: Batch) -> float:
        """The mean cosine, around the mean of all, of where a batch's nodes are placed with the vectors that they have.

        What is asked of vectors is where they point; squared errors would reward short ones.
        """
        placed, away = self(batch.around) - self.mean, batch.vectors - self.mean
        return float(functional.cosine_similarity(placed, away).mean()) if len(batch.vectors) else 0.0

    @torch.no_grad()
    def choose_starts(self, batch: Batch, degrees: Tensor) -> None:
        """Start eta, zeta and a where a batch is placed best: by multiples of where eta and zeta are, then by powers.

        The first of those whose disagreement is hardly more than the least: the nearest to LabelProp.
        """
        self.choose_by(lambda: self.agreement(batch), lambda power: self.kernel.weigh(degrees, power))

    def choose_by(self, agreement: Callable[[], float], weigh: Callable[[float], None]) -> None:
        """The same by how well nodes are placed as things are, and by what weighs them by a power of the degree."""
        starts = self.kernel.starts.clone()

        def by_multiple(pair: tuple[float, float]) -> None:
            self.kernel.starts.copy_(starts * starts.new_tensor(pair))

        _take(by_multiple, _MULTIPLES, agreement)
        _take(weigh, _POWERS, agreement)

    @torch.no_grad()
    def match_lengths(self, batch: Batch) -> None:
        """Choose `scale` so that a batch's nodes are, at the median, as far from the mean as where they are placed."""
        self.scale = 1.0
        if len(batch.vectors):
            placed, known = (x - self.mean for x in (self(batch.around), batch.vectors))
            self.scale = length_ratio(placed.numpy(force=True), known.numpy(force=True))

    @torch.no_grad()
    def measure(self, batch: Batch, generator: torch.Generator) -> None:
        """Learn from the errors in a batch how sure an answer is."""
        if not len(batch.vectors):
            return
        system = self.system(batch.around)
        latent = solved(system)
        wrong = batch.vectors - self.vectors(latent)
        self.spread.measure(self.g, latent, posterior_variances(system, generator), wrong)


def _take(set_to: Callable[[Any], None], values: Sequence[Any], agreement: Callable[[], float]) -> None:
    apart = []
    for value in values:
        set_to(value)
        apart.append(max(0.0, 1 - agreement()))
    set_to(next(value for value, x in zip(values, apart, strict=True) if WORTH * x <= min(apart)))
