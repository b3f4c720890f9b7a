"""Node2VecPlus's tensors: a process whose answers are the vectors, and contexts for them."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from netfold.lgp.process import Process
from netfold.models.node2vecplus.batches import Batch
from netfold.table_rows import take_rows

__all__ = ["Node2VecPlusNetwork"]


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
        made, read = self(batch.around), batch.read
        contexts = take_rows(self.contexts, read.context_nodes)
        second = read.terms(made[: len(read.nodes), self.first :].contiguous(), contexts)
        if not self.first:
            return second
        ends = made[:, : self.first].contiguous()
        first = read.terms(ends[: len(read.nodes)].contiguous(), ends)
        return {f"{order}_{x}": v for order, terms in (("first", first), ("second", second)) for x, v in terms.items()}

    @property
    def tables(self) -> list[nn.Parameter]:
        """What each node has of its own: h, a and its context."""
        return [*super().tables, self.contexts]
