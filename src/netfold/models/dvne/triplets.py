"""DVNE's triplets: a node, one that it is linked with, and one that it is not; all of them, numbered."""

from __future__ import annotations

import dataclasses

import numpy as np
import torch
from scipy import sparse
from torch import Tensor

__all__ = ["Triplets"]


@dataclasses.dataclass(frozen=True, eq=False)
class Triplets:
    """D, all (i, j, k) where i is linked with j, and with k it is not; none of the three is another.

    They are numbered from 0: those of node 0 first, among them those of its first neighbor. So a uniform number is a
    uniform triplet; nothing is redrawn, however dense the graph. Node i has d_i (n - 1 - d_i) of them: one that is
    linked with all others has none.
    """

    starts: Tensor
    """n + 1: the first number of each node."""
    crow: Tensor
    """n + 1: where each node's row of `near` starts."""
    near: Tensor
    """Who each node is linked with, itself among them, in order."""
    own: Tensor
    """n: how many of those come before the node itself."""
    keys: Tensor
    """i n + (e - t) for the t-th node e of row i: e - t nodes before e are not linked with i. In order."""

    @staticmethod
    def of(links: sparse.csr_array, device: torch.device | str = "cpu") -> Triplets:
        """Of who is linked with whom, every node with itself (`links(..., directed=False, loops="all")`)."""
        n, crow = links.shape[0], links.indptr.astype(np.int64)
        sizes = np.diff(crow)
        row = np.repeat(np.arange(n), sizes)
        before = np.arange(links.nnz) - crow[row]
        own = before[links.indices == row]
        starts = np.append(0, np.cumsum((sizes - 1) * (n - sizes)))
        arrays = starts, crow, links.indices.astype(np.int64), own, row * n + links.indices - before
        return Triplets(*(torch.from_numpy(x).to(device) for x in arrays))

    def __len__(self) -> int:
        return int(self.starts[-1])

    def at(self, numbers: Tensor) -> Tensor:
        """The triplets of these numbers: 3 x m, in O(log edges) each."""
        i = torch.searchsorted(self.starts, numbers, right=True) - 1
        start, size, n = self.crow[i], self.crow[i + 1] - self.crow[i], len(self.own)
        number, far = numbers - self.starts[i], n - size
        which, rank = number // far, number % far
        j = self.near[start + which + (which >= self.own[i])]
        k = rank + torch.searchsorted(self.keys, i * n + rank, right=True) - start
        return torch.stack([i, j, k])

    def walked(self, triplets: Tensor, reach: int, generator: torch.Generator) -> Tensor:
        """The triplets with j moved on by a walk: it is then 1 to `reach` steps from i, each as likely.

        A step goes to any linked node alike. A walk that ends in i or k is not taken: j stays the neighbor it was.
        Random numbers are drawn on the generator's device, so that one of the CPU gives the same on all.
        """
        i, j, k = triplets
        more = torch.randint(reach, j.shape, generator=generator, device=generator.device).to(j.device)
        now = j
        for step in range(1, reach):
            uniform = torch.rand(j.shape, dtype=torch.float64, generator=generator, device=generator.device)
            now = torch.where(more >= step, self._onward(now, uniform.to(j.device)), now)
        return torch.stack([i, torch.where((now == i) | (now == k), j, now), k])

    def _onward(self, nodes: Tensor, uniform: Tensor) -> Tensor:
        """A neighbor of each node."""
        count = self.crow[nodes + 1] - self.crow[nodes] - 1
        which = torch.minimum((uniform * count).long(), count - 1)
        return self.near[self.crow[nodes] + which + (which >= self.own[nodes])]
