"""Node2VecPlus's batches: those of node2vec or LINE, with what is read around each node whose vector they need."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import torch
from scipy import sparse
from torch import Tensor

from netfold.contexts import Pairs, Windows
from netfold.lgp.surroundings import Caps, Surroundings, read_around

__all__ = ["Batch", "surrounded"]


@dataclass(frozen=True, eq=False)
class Batch:
    """Walks or pairs, and the surroundings of their nodes, in the order in which these read them."""

    read: Windows | Pairs
    around: Surroundings


def surrounded(
    of: Callable[[torch.Generator], Iterator[Windows | Pairs]],
    matrix: sparse.csr_array,
    caps: Caps,
    device: torch.device,
    *,
    contexts: bool,
) -> Callable[[torch.Generator], Iterator[Batch]]:
    """The batches of `of`, each node of which counts as new for itself; with `contexts`, also those drawn at random.

    All is drawn on the CPU, so that devices agree. Every node that a batch names must have links.
    """

    def made(generator: torch.Generator) -> Iterator[Batch]:
        for read in of(generator):
            nodes: Tensor = (read.context_nodes if contexts else read.nodes).cpu()
            alone = np.arange(len(nodes))
            yield Batch(read, read_around(matrix, nodes.numpy(), alone, caps, generator, device=device))

    return made
