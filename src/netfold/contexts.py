"""Batches for skip-gram, as plain values: windows of random walks or pairs of nodes, and nodes drawn against them.

A batch names the nodes that it reads and gives the objective for any vectors of those: from a table, or from a network.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import torch
from scipy import sparse
from torch import Tensor

from netfold.links import Links
from netfold.skipgram import center_weights, negative_sum, pair_sum, window_sum
from netfold.sparse_rows import PIECE
from netfold.walks import random_walks

__all__ = ["Against", "Noise", "Pairs", "Read", "Windows", "pair_batches", "window_batches"]

_GROUP, _DRAWN = 20, 32
"""So many centers share so many nodes drawn: as many scores as one negative for each of 1.6 pairs would need, but the
nodes drawn are read once a group, and a node is drawn often enough for its context to be pushed evenly."""


@dataclass(frozen=True, eq=False)
class Against:
    """Centers in groups, and what is drawn against each group; all are places among the nodes of `Read`."""

    centers: Tensor
    """g x G"""
    weights: Tensor
    """g x G: k / S times the weight of the center's pairs, 0 where a group is not full."""
    drawn: Tensor
    """g x S"""

    def total(self, vectors: Tensor, contexts: Tensor) -> Tensor:
        """-Σ k E_v log σ(-z_i · c_v), estimated."""
        return negative_sum(vectors, contexts, self.centers, self.weights.to(vectors.dtype), self.drawn)


@dataclass(frozen=True, eq=False)
class Read:
    """The nodes that a batch reads; all else in it are places among them."""

    nodes: Tensor
    """m: those whose vectors are read, in order."""
    drawn_alone: Tensor
    """Those of which only the context is read, as they were drawn at random and no more; after the others."""

    @property
    def context_nodes(self) -> Tensor:
        """m' >= m: those whose contexts are read, `nodes` first."""
        return torch.cat([self.nodes, self.drawn_alone])


@dataclass(frozen=True, eq=False)
class Windows(Read):
    """Walks, of which every two nodes within a window are a pair, in both directions."""

    walks: Tensor
    """B x T, -1 after a walk's end."""
    window: int
    against: Against

    def terms(self, vectors: Tensor, contexts: Tensor) -> dict[str, Tensor]:
        """The objective: `contexts` met and `negatives` drawn, for the vectors of `nodes` (m x d) and the contexts of
        `context_nodes` (m' x d)."""
        met = window_sum(vectors, contexts, self.walks, self.window)
        return {"contexts": met, "negatives": self.against.total(vectors, contexts)}


@dataclass(frozen=True, eq=False)
class Pairs(Read):
    """Pairs of a center and its context."""

    pairs: Tensor
    """2 x b"""
    against: Against

    def terms(self, vectors: Tensor, contexts: Tensor) -> dict[str, Tensor]:
        """The objective: `contexts` met and `negatives` drawn, for the vectors of `nodes` (m x d) and the contexts of
        `context_nodes` (m' x d)."""
        met = pair_sum(vectors, contexts, self.pairs)
        return {"contexts": met, "negatives": self.against.total(vectors, contexts)}


@dataclass(frozen=True, eq=False)
class Noise:
    """Nodes with probability in proportion to degree^¾, the degree being the weight of links in either direction."""

    sums: Tensor
    """n: cumulative, the last is 1."""

    @staticmethod
    def of(matrix: sparse.csr_array, device: torch.device | str = "cpu", *, power: float = 0.75) -> Noise:
        """For the links of a matrix."""
        wide = matrix.astype(np.float64)
        degrees = np.asarray(wide.sum(axis=0) + wide.sum(axis=1)).ravel()
        sums = np.cumsum((degrees / degrees.max()) ** power)
        return Noise(torch.from_numpy(sums / sums[-1]).to(device))

    def draw(self, count: int, generator: torch.Generator) -> Tensor:
        """So many nodes, drawn on the CPU."""
        uniform = torch.rand(count, dtype=torch.float64, generator=generator).to(self.sums.device)
        return torch.searchsorted(self.sums, uniform, right=True).clamp_(max=len(self.sums) - 1)


def window_batches(
    links: Links,
    noise: Noise,
    *,
    p: float,
    q: float,
    walks: int,
    length: int,
    window: int,
    negatives: int,
    batch_size: int,
) -> Callable[[torch.Generator], Iterator[Windows]]:
    """The batches of an epoch for a generator: `walks` walks from each node that has links, in random order."""
    starts = links.degrees.nonzero()[:, 0]
    part = batch_size * max(1, PIECE[links.device.type] // (length * batch_size))

    def of(generator: torch.Generator) -> Iterator[Windows]:
        order = torch.randperm(walks * len(starts), generator=generator) % len(starts)
        for some in torch.split(starts[order.to(starts.device)], part):
            made = random_walks(links, some, length, generator, p=p, q=q)
            for batch in torch.split(made, batch_size):
                yield _windows(batch, noise, window, negatives, generator)

    return of


def _windows(walks: Tensor, noise: Noise, window: int, negatives: int, generator: torch.Generator) -> Windows:
    there = walks >= 0
    nodes, places = torch.unique(walks[there], return_inverse=True)
    met = torch.full_like(walks, -1)
    met[there] = places
    alone, drawn = _drawn(nodes, noise, math.ceil(walks.numel() / _GROUP), generator)
    against = _against(met.clamp(min=0).flatten(), center_weights(walks, window).flatten(), drawn, negatives)
    return Windows(nodes, alone, met, window, against)


def _drawn(nodes: Tensor, noise: Noise, groups: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """The nodes drawn for so many groups that are not among `nodes`; and the places of all, those come last."""
    drawn = noise.draw(groups * _DRAWN, generator)
    at = torch.searchsorted(nodes, drawn).clamp_(max=len(nodes) - 1)
    others = (nodes[at] != drawn).nonzero()[:, 0]
    alone, places = torch.unique(drawn[others], return_inverse=True)
    at[others] = len(nodes) + places
    return alone, at.view(groups, _DRAWN)


def _against(centers: Tensor, weights: Tensor, drawn: Tensor, negatives: int) -> Against:
    """Centers and their weights in groups of equal size, the last one filled up with nothing."""
    missing = -len(centers) % _GROUP
    centers, weights = (torch.nn.functional.pad(x, (0, missing)).view(-1, _GROUP) for x in (centers, weights))
    return Against(centers, weights * (negatives / _DRAWN), drawn)


def pair_batches(
    links: Links, weights: Tensor, noise: Noise, *, samples: int, negatives: int, batch_size: int
) -> Callable[[torch.Generator], Iterator[Pairs]]:
    """The batches of an epoch for a generator: `samples` links (i, j), drawn with probability in proportion to weight.

    `weights`: nnz. Of an undirected matrix an edge comes in either direction, half the time each.
    """
    sums = weights.double().cumsum(0)
    sums = sums / sums[-1]

    def of(generator: torch.Generator) -> Iterator[Pairs]:
        for start in range(0, samples, batch_size):
            uniform = torch.rand(min(batch_size, samples - start), dtype=torch.float64, generator=generator)
            at = torch.searchsorted(sums, uniform.to(sums.device), right=True).clamp_(max=len(sums) - 1)
            yield _pairs(torch.stack([links.keys[at] // len(links), links.ends[at]]), noise, negatives, generator)

    return of


def _pairs(pairs: Tensor, noise: Noise, negatives: int, generator: torch.Generator) -> Pairs:
    count = pairs.shape[1]
    nodes, met = torch.unique(pairs, return_inverse=True)
    alone, drawn = _drawn(nodes, noise, math.ceil(count / _GROUP), generator)
    return Pairs(nodes, alone, met, _against(met[0], torch.ones(count, device=pairs.device), drawn, negatives))
