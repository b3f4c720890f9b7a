"""`StoredGraph`: the links of known nodes, kept with a network, for nodes that come later."""

from __future__ import annotations

import numpy as np
import torch
from scipy import sparse
from torch import Tensor, nn

from netfold.errors import InputError

__all__ = ["StoredGraph"]


class StoredGraph(nn.Module):
    """A symmetric sparse matrix as buffers, so that it is saved and loaded with the rest."""

    def __init__(self, n: int, entries: int):
        super().__init__()
        self.register_buffer("starts", torch.zeros(n + 1, dtype=torch.int64))
        self.register_buffer("ends", torch.zeros(entries, dtype=torch.int64))
        self.register_buffer("weights", torch.zeros(entries))
        self.starts: Tensor
        self.ends: Tensor
        self.weights: Tensor

    def keep(self, matrix: sparse.csr_array) -> None:
        """Take over a matrix of this size."""
        for buffer, array in ((self.starts, matrix.indptr), (self.ends, matrix.indices), (self.weights, matrix.data)):
            buffer.copy_(torch.from_numpy(np.array(array)))

    def matrix(self) -> sparse.csr_array:
        """The matrix, its places checked: they may come from a file."""
        starts, ends, weights = (x.numpy(force=True) for x in (self.starts, self.ends, self.weights))
        n = len(starts) - 1
        try:
            made = sparse.csr_array((weights, ends, starts), shape=(n, n))
            made.check_format(full_check=True)
        except ValueError as e:
            raise InputError(f"the model is damaged: the graph in it is none ({e})") from None
        made.sort_indices()
        return made
