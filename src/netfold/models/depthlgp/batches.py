"""DepthLGP's batches: nodes of the known graph held back, as many small graphs in one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import torch
from scipy import sparse
from torch import Tensor

from netfold.lgp.surroundings import Caps, Surroundings, read_around, walked_seeds
from netfold.links import Links

__all__ = ["Batch", "batches"]


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
    seeds: int,
    caps: Caps,
    batch_size: int,
    device: torch.device,
) -> Callable[[torch.Generator], Iterator[Batch]]:
    """The batches of an epoch for a generator: `samples` subgraphs, each around `seeds` nodes along a random walk.

    `matrix`: n x n, symmetric; `vectors`: n x d, on the CPU. All is drawn there, so that devices agree.
    """
    links = Links.from_scipy(matrix)

    def of(generator: torch.Generator) -> Iterator[Batch]:
        for start in range(0, samples, batch_size):
            drawn = walked_seeds(links, min(batch_size, samples - start), seeds, generator)
            around = read_around(matrix, *drawn, caps, generator, device=device, dtype=vectors.dtype)
            yield Batch(around, vectors[around.new.cpu()].to(device))

    return of
