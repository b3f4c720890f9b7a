"""Node2VecPlus's tensors: a process whose answers are the vectors, contexts for them, and batches with surroundings."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import torch
from scipy import sparse
from torch import Tensor, nn

from netfold.learn.layers import take_rows
from netfold.learn.skipgram import PairBatch, Windows
from netfold.models.lgp.neighborhoods import Caps, Surroundings, read_around
from netfold.models.lgp.process import Process

__all__ = ["Batch", "Node2VecPlusNetwork", "surrounded"]


@dataclass(frozen=True, eq=False)
class Batch:
    """Walks or pairs, and the surroundings of their nodes, in the order in which these read them."""

    read: Windows | PairBatch
    around: Surroundings


def surrounded(
    of: Callable[[torch.Generator], Iterator[Windows | PairBatch]],
    matrix: sparse.csr_array,
    caps: Caps,
    device: torch.device,
    *,
    contexts: bool,
) -> Callable[[torch.Generator], Iterator[Batch]]:
    """The batches of `of`, each node of which counts as new for itself; with `contexts`, also those drawn at random.

    All is drawn on the CPU, so that devices agree. Every node that a batch names must have links.
    """

    def around(generator: torch.Generator) -> Iterator[Batch]:
        for read in of(generator):
            nodes: Tensor = (read.context_nodes if contexts else read.nodes).cpu()
            alone = np.arange(len(nodes))
            yield Batch(read, read_around(matrix, nodes.numpy(), alone, caps, generator, device=device))

    return around


class Node2VecPlusNetwork(Process):
    """f_φ(v) for every node, and the objective of node2vec, or of LINE, over it.

    With `first` > 0, LINE's: so many dimensions are for the first order, where both ends are vectors; the others, as
    all of node2vec's, are for the second, where one end is a context.
    """

    def __init__(self, n: int, dim: int, entries: int, *, first: int, sharing: str, hidden: int):
        super().__init__(n, dim, entries, sharing=sharing, hidden=hidden)
        self.first = first
        self.contexts = nn.Parameter(torch.zeros(n, dim - first))

    def loss(self, batch: Batch) -> dict[str, Tensor]:
        """The objective over a batch: `contexts` and `negatives`, or those of each order."""
        vectors, read = self(batch.around), batch.read
        contexts = take_rows(self.contexts, read.context_nodes)
        second = read.terms(vectors[: len(read.nodes), self.first :].contiguous(), contexts)
        if not self.first:
            return second
        ends = vectors[:, : self.first].contiguous()
        first = read.terms(ends[: len(read.nodes)].contiguous(), ends)
        return {f"{order}_{x}": v for order, terms in (("first", first), ("second", second)) for x, v in terms.items()}

    @property
    def tables(self) -> list[nn.Parameter]:
        """What each node has of its own: h, a and its context."""
        return [*super().tables, self.contexts]
