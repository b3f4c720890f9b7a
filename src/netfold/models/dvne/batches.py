"""DVNE's rows P = D⁻¹ S, its triplets, and its batches: triplets and the rows of the nodes that they name."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol

import numpy as np
import torch
from scipy import sparse
from torch import Tensor

from netfold.data.embedding import Embedding
from netfold.data.gaussians import widths
from netfold.data.graph import Graph
from netfold.learn.draws import normal, numbers_below, permutation
from netfold.learn.skipgram import Steps, is_large
from netfold.learn.sparse_rows import SparseRows, dropped, generator_on, parts

__all__ = ["DVNE_STEPS", "Batch", "NodeChunk", "Triplets", "batches", "step_count", "steps", "widened"]


def steps(out: sparse.csr_array, into: sparse.csr_array | sparse.csc_array | None = None) -> sparse.csr_array:
    """P = D⁻¹ S of some nodes, from the weights of the links that leave them and of those that enter: m x n.

    A row that no link leaves is that of the links that enter, if `into` is given: a sink would else have nothing
    that separates it from others. A row without either is empty; the others sum to 1.

    >>> steps(sparse.csr_array([[0.0, 3.0, 1.0]])).toarray().tolist()
    [[0.0, 0.75, 0.25]]
    """
    weights = out
    if into is not None:
        sinks = np.diff(out.indptr) == 0
        weights = sparse.csr_array(out + sparse.diags_array(sinks.astype(np.float32)) @ into)
        weights.eliminate_zeros()
        weights.sort_indices()
    sums = weights @ np.ones(weights.shape[1])  # in float64, as in Graph.transition
    data = (weights.data / np.repeat(sums, np.diff(weights.indptr))).astype(np.float32)
    return sparse.csr_array((data, weights.indices, weights.indptr), shape=weights.shape)


_LARGEST = 10
"""Of how many variances the mean is a node's uncertainty, see `Embedding.uncertainty`."""


def widened(embedding: Embedding, graph: Graph) -> Embedding:
    """Nodes without links, which share the Gaussian of an empty row, with the largest uncertainty of any other node.

    An empty row is encoded as one of very many links is, which looks certain. Their widest deviations are scaled, and
    the others left, so that they stay about as far from everybody as they were.
    """
    assert embedding.std is not None
    out, into = np.diff(graph.adjacency.indptr), np.bincount(graph.adjacency.indices, minlength=graph.n_nodes)
    isolated = out + into == 0
    if not isolated.any() or isolated.all():
        return embedding
    width, rows = widths(embedding.std, _LARGEST), np.flatnonzero(isolated)
    factor = width[~isolated].max() / width[rows[0]]
    if factor <= 1:
        return embedding
    std, widest = embedding.std.copy(), np.argsort(-embedding.std[rows[0]])[:_LARGEST]
    std[np.ix_(rows, widest)] *= np.sqrt(factor)
    return Embedding(embedding.nodes, embedding.vectors, std)


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

    def walked(self, triplets: Tensor, reach: int, generator: torch.Generator, restart: float = 0.0) -> Tensor:
        """The triplets with j moved on by a walk: it is then 1 to `reach` steps from i, each as likely.

        With `restart` a walk ends after each step with that probability, and after `reach` steps anyhow. A step goes to
        any linked node alike. A walk that ends in i or k is not taken: j stays the neighbor it was. Random numbers are
        drawn on the generator's device, so that one of the CPU gives the same on all.
        """
        i, j, k = triplets
        more = _steps_more(reach, restart, j.shape, generator).to(j.device)
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


def _steps_more(reach: int, restart: float, shape: torch.Size, generator: torch.Generator) -> Tensor:
    """How many steps a walk makes beyond its first: 0 to reach - 1."""
    if not restart:
        return torch.randint(reach, shape, generator=generator, device=generator.device)
    uniform = torch.rand(shape, dtype=torch.float64, generator=generator, device=generator.device)
    return (torch.log1p(-uniform) / math.log1p(-restart)).long().clamp(max=reach - 1)


_FEW = 1 << 21
"""Numbers of noise that are drawn on the CPU: those of a step on a graph of 260,000 nodes and 128 dimensions."""

DVNE_STEPS, _LEAST = Steps(16, 8), 64
"""Without a batch size: so many steps an epoch, each of at least so many triplets."""


@dataclasses.dataclass(frozen=True, eq=False)
class NodeChunk:
    """Some nodes of a batch, walked together."""

    rows: SparseRows
    """m x n: their rows of P."""
    seen: SparseRows
    """m x n: their rows as the encoder sees them, without the entries that were dropped."""
    noise: Tensor | None
    """m x dim: ε of Z = μ + σ ε, for nodes whose rows are to be written; None for those that are only read."""


@dataclasses.dataclass(frozen=True, eq=False)
class Batch:
    """Triplets, and the nodes that they name or that are to be written: each once, the latter first."""

    chunks: Sequence[NodeChunk]
    triplets: Tensor
    """3 x b: i, j and k as places among the nodes."""
    times: float
    """M / n: how many triplets an epoch draws for each node that it writes."""


class _Network(Protocol):
    """What batches must know of the network that reads them."""

    dim: int
    alpha: float
    n_links: int

    @property
    def n_attributes(self) -> int:
        """How many columns come after those of links."""

    def chunk_rows(self) -> int:
        """How many rows it walks at a time."""


def step_count(visits: int, batch_size: int | None, nodes: int) -> int:
    """In how many steps an epoch of so many triplets (or, where there are none, nodes) is made, of so many nodes."""
    each = batch_size or max(_LEAST, math.ceil(visits / DVNE_STEPS.count(nodes)))
    return math.ceil(visits / each)


def batches(
    rows: SparseRows,
    triplets: Triplets,
    count: int,
    network: _Network,
    batch_size: int | None,
    *,
    dropout: float = 0.0,
    walk: tuple[int, float] = (1, 0.0),
) -> Callable[[torch.Generator], Iterator[Batch]]:
    """The batches of an epoch for a generator: `count` uniform triplets, and each node once to be written.

    So L_2 is summed over all nodes alike, those included that no triplet names; where it has no weight, none is
    written. With `dropout`, that share of the entries, drawn anew each time, is dropped before encoding; with `walk`,
    a reach and the probability of a restart, a triplet's j may be that many steps from i.
    """
    device, dtype, n = rows.values.device, rows.values.dtype, len(rows)
    reach, restart = walk
    visits = count if len(triplets) else n  # where there is no triplet, there are still nodes to be written
    steps = step_count(visits, batch_size, n)
    large = is_large(n)
    there: dict[str, Any] = {"device": device if large else "cpu", "large": large}

    def of(generator: torch.Generator) -> Iterator[Batch]:
        drawn = numbers_below(max(1, len(triplets)), count if len(triplets) else 0, generator, **there)
        order = permutation(n if network.alpha else 0, generator, **there)
        dropper = generator_on(device, generator)
        for numbers, nodes in zip(drawn.tensor_split(steps), order.tensor_split(steps), strict=True):
            own = nodes.to(device).sort().values
            noise = normal((len(own), network.dim), generator, device, few=_FEW).to(dtype)
            named = triplets.at(numbers.to(device))
            named = triplets.walked(named, reach, generator, restart) if reach > 1 else named
            batch = _batch(rows, named, own, noise, network.chunk_rows(), count / n)
            columns = network.n_links if network.n_attributes else None
            yield _dropped(batch, dropout, dropper, columns) if dropout else batch

    return of


def _batch(rows: SparseRows, triplets: Tensor, own: Tensor, noise: Tensor, size: int, times: float) -> Batch:
    """The batch of these triplets and of the nodes `own`, in chunks of `size` rows."""
    named = torch.zeros(len(rows), dtype=torch.bool, device=own.device)
    named[triplets.flatten()] = True
    named[own] = False
    others = named.nonzero()[:, 0]
    nodes, place = torch.cat([own, others]), torch.empty_like(named, dtype=torch.int64)
    place[nodes] = torch.arange(len(nodes), device=own.device)
    chunks = [_chunk(rows.take(own[part]), noise[part]) for part in parts(len(own), size)]
    chunks += [_chunk(rows.take(others[part]), None) for part in parts(len(others), size)]
    return Batch(chunks, place[triplets], times)


def _chunk(rows: SparseRows, noise: Tensor | None) -> NodeChunk:
    return NodeChunk(rows, rows, noise)


def _dropped(batch: Batch, share: float, generator: torch.Generator, columns: int | None) -> Batch:
    own = {"sum_to_one": True, "columns": columns}  # as rows of P do
    seen = [dropped(chunk.rows, share, generator, **own) for chunk in batch.chunks]  # type: ignore[arg-type]
    chunks = [dataclasses.replace(chunk, seen=rows) for chunk, rows in zip(batch.chunks, seen, strict=True)]
    return dataclasses.replace(batch, chunks=chunks)
