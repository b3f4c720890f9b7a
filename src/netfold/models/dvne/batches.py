"""DVNE's rows P = D⁻¹ S, its triplets, and its batches: triplets and the rows of the nodes that they name."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import torch
from scipy import sparse
from torch import Tensor

from netfold.data.checks import Floats
from netfold.data.embedding import Embedding
from netfold.data.gaussians import widths
from netfold.data.graph import Graph
from netfold.learn.draws import normal, numbers_below, permutation
from netfold.learn.skipgram import Steps, is_large
from netfold.learn.sparse_rows import SparseRows, dropped, generator_on, parts

__all__ = [
    "DVNE_STEPS",
    "Batch",
    "NodeChunk",
    "Triplets",
    "batches",
    "by_evidence",
    "in_order",
    "place_variance",
    "scaled_to",
    "shared_neighbors",
    "step_count",
    "steps",
    "widened",
]


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


def widened(embedding: Embedding, graph: Graph, attributed: npt.NDArray[np.bool_]) -> Embedding:
    """Nodes without links, which share the Gaussian of an empty row, with the largest uncertainty of any other node.

    An empty row is encoded as one of very many links is, which looks certain. Their widest deviations are scaled, and
    the others left, so that they stay about as far from everybody as they were. Those of which attributes are known
    (`attributed`, n) have a row, and a Gaussian of their own, which stays.
    """
    assert embedding.std is not None
    out, into = np.diff(graph.adjacency.indptr), np.bincount(graph.adjacency.indices, minlength=graph.n_nodes)
    isolated = (out + into == 0) & ~attributed
    if not isolated.any() or isolated.all():
        return embedding
    width, rows = widths(embedding.std, _LARGEST), np.flatnonzero(isolated)
    factor = width[~isolated].max() / width[rows[0]]
    if factor <= 1:
        return embedding
    std, widest = embedding.std.copy(), np.argsort(-embedding.std[rows[0]])[:_LARGEST]
    std[np.ix_(rows, widest)] *= np.sqrt(factor)
    return Embedding(embedding.nodes, embedding.vectors, std)


_PRIOR = 1.0
"""κ: of how many links the spread of all is taken to be worth beside a node's own."""
_SPREADS = (1.0, 0.3)
"""What may be left of the spread of widths: all, where it tells links apart, or less: W2 is then mostly of places."""
_PAIRS = 10_000
"""Links, and pairs of nodes, by which that is chosen."""
_SMALL = 1e-30


def place_variance(
    near: sparse.csr_array, own: npt.NDArray[np.floating], means: npt.NDArray[np.floating], typical: float | None = None
) -> tuple[Floats, float]:
    """How far the place of m nodes is left open by their links with n known ones, and what a link leaves open.

    Each of a node's d links says that it is where the neighbor is, give or take v_i: the mean square of the distances
    to them, and of κ more that are typical, as a spread seen twice or thrice is hardly known,
    v_i = (κ v + Σ_j |μ_j - μ_i|²) / (κ + d). The mean of d such words has the variance v_i / d: it is large where links
    are few, and where they disagree; infinite where there are none. `near`: m x n, `own`: m x dim, `means`: n x dim;
    `typical`, v: the mean over all links of these nodes, if it is not given.
    """
    degrees = np.diff(near.indptr)
    row = np.repeat(np.arange(len(degrees)), degrees)
    sums, step = np.zeros(len(degrees)), max(1, _FEW // max(1, means.shape[1]))
    for start in range(0, len(row), step):
        some = slice(start, start + step)
        apart = means[near.indices[some]].astype(np.float64) - own[row[some]]
        sums += np.bincount(row[some], np.square(apart).sum(axis=1), minlength=len(degrees))
    v = float(sums.sum() / max(1, len(row))) if typical is None else typical
    each = (_PRIOR * v + sums) / (_PRIOR + degrees)
    return np.where(degrees > 0, each / np.maximum(degrees, 1), np.inf), v


def scaled_to(variance: Floats, embedding: Embedding) -> Floats:
    """How widths follow from variances: mean and deviation of the logarithms of the latter and of the former: 4.

    So widths have the level and the spread that they were learned with, in the order of the variances.
    """
    assert embedding.std is not None
    known, width = np.isfinite(variance), widths(embedding.std, _LARGEST)
    if not known.any():
        return np.array([0.0, 0.0, 0.0, 0.0])
    return np.array([*_log_moments(variance[known]), *_log_moments(width[known])])


def _log_moments(x: Floats) -> tuple[float, float]:
    logs = np.log(np.maximum(x, _SMALL))
    return float(logs.mean()), float(logs.std())


def in_order(embedding: Embedding, variance: Floats, moments: Sequence[float] | Floats) -> Embedding:
    """Gaussians whose deviations are scaled to the widths that follow from variances; not where these are infinite."""
    assert embedding.std is not None
    center, spread, level, wide = moments
    logs = np.log(np.maximum(np.where(np.isfinite(variance), variance, 1.0), _SMALL))
    wanted = level + (wide / spread if spread > 0 else 0.0) * (logs - center)
    factor = np.where(np.isfinite(variance), np.exp(wanted / 2) / np.sqrt(widths(embedding.std, _LARGEST)), 1.0)
    return Embedding(embedding.nodes, embedding.vectors, embedding.std * factor[:, None].astype(np.float32))


def by_evidence(learned: Embedding, near: sparse.csr_array, generator: torch.Generator) -> tuple[Embedding, Floats]:
    """Gaussians with deviations in the order of `place_variance`, and how new nodes get theirs: moments and v, 5.

    Of the spread of widths as much is left as tells links (n x n) best from pairs of linked nodes by W2, as learned
    deviations are coordinates too: where they say who is popular, a small spread would lose that.
    """
    variance, typical = place_variance(near, learned.vectors, learned.vectors)
    moments, linked = scaled_to(variance, learned), np.flatnonzero(np.diff(near.indptr))
    if not len(linked):
        return learned, np.append(moments, typical)
    row = np.repeat(np.arange(near.shape[0]), np.diff(near.indptr))
    at = torch.randint(near.nnz, (_PAIRS,), generator=generator).numpy()
    u, v = linked[torch.randint(len(linked), (2, _PAIRS), generator=generator).numpy()]
    found = []
    for part in _SPREADS:
        scale = moments * [1, 1, 1, part]
        gaussians = in_order(learned, variance, scale)
        apart = _w2_of_pairs(gaussians, u, v), _w2_of_pairs(gaussians, row[at], near.indices[at])
        found.append((_told_apart(*apart), gaussians, scale))
    _, gaussians, scale = max(found, key=lambda x: x[0])
    return gaussians, np.append(scale, typical)


def _w2_of_pairs(gaussians: Embedding, u: npt.NDArray[Any], v: npt.NDArray[Any]) -> Floats:
    places = gaussians.coordinates
    apart: Floats = np.linalg.norm(places[u].astype(np.float64) - places[v], axis=1)
    return apart


def _told_apart(others: Floats, own: Floats) -> float:
    """The part of pairs (one of each) in which the other is larger."""
    return float(np.searchsorted(np.sort(own), others).mean() / len(own))


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
    sums: Tensor | None = None
    """Of weights of `near` (0 for a node itself), the sum of all before each, and of all; None where they are alike."""

    @staticmethod
    def of(links: sparse.csr_array, device: torch.device | str = "cpu", shared: float = 0.0) -> Triplets:
        """Of who is linked with whom, every node with itself (`links(..., directed=False, loops="all")`).

        With `shared`, j is drawn from i's neighbors by 1 + shared times the number of neighbors that they share.
        """
        n, crow = links.shape[0], links.indptr.astype(np.int64)
        sizes = np.diff(crow)
        row = np.repeat(np.arange(n), sizes)
        before = np.arange(links.nnz) - crow[row]
        own = before[links.indices == row]
        starts = np.append(0, np.cumsum((sizes - 1) * (n - sizes)))
        arrays = [starts, crow, links.indices.astype(np.int64), own, row * n + links.indices - before]
        if shared:
            weights = np.where(links.indices == row, 0.0, 1 + shared * shared_neighbors(links))
            arrays.append(np.append(0.0, np.cumsum(weights)))
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

    def weighed(self, triplets: Tensor, generator: torch.Generator) -> Tensor:
        """The triplets with j drawn anew among the neighbors of i, by their weights."""
        if self.sums is None:
            return triplets
        i, _, k = triplets
        uniform = torch.rand(i.shape, dtype=torch.float64, generator=generator, device=generator.device).to(i.device)
        low, high = self.sums[self.crow[i]], self.sums[self.crow[i + 1]]
        at = torch.searchsorted(self.sums, low + uniform * (high - low), right=True) - 1
        # a sum that rounds up to the row's end would be the next row's, or a node itself at the end of a row
        at = torch.minimum(at, self.crow[i + 1] - 1)
        at = torch.where(self.near[at] == i, torch.where(at > self.crow[i], at - 1, at + 1), at)
        return torch.stack([i, self.near[at], k])

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


def shared_neighbors(links: sparse.csr_array) -> npt.NDArray[np.float64]:
    """Of each entry of a symmetric matrix of links, how many nodes, neither i nor j, both are linked with: nnz."""
    plain = links - sparse.diags_array(links.diagonal())
    counts = sparse.csr_array((plain @ plain).multiply(plain))
    row = np.repeat(np.arange(links.shape[0]), np.diff(links.indptr))
    return np.asarray(counts[row, links.indices], np.float64).ravel()


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
    """Some nodes of a batch whose rows are to be written, together."""

    rows: SparseRows
    """m x n: their rows of P."""
    noise: Tensor
    """m x dim: ε of Z = μ + σ ε."""


@dataclasses.dataclass(frozen=True, eq=False)
class Batch:
    """Triplets, and the nodes that they name or that are to be written: each once, the latter first."""

    seen: SparseRows
    """m x n: their rows as the encoder sees them, without the entries that were dropped."""
    chunks: Sequence[NodeChunk]
    """The first of them, whose rows are to be written."""
    triplets: Tensor
    """3 x b: i, j and k as places among the nodes."""
    times: float
    """M / n: how many triplets an epoch draws for each node that it writes."""
    room: Tensor | None = None
    """At least as many rows x hidden, for what the first layer makes: the same memory in all steps of an epoch, as the
    system gives new memory page by page. None where that is not so, as on a GPU."""


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

    def room(self, rows: int) -> Tensor | None:
        """Memory for what the first layer makes of so many rows."""


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
        dropper, room = generator_on(device, generator), network.room(n)
        for numbers, nodes in zip(drawn.tensor_split(steps), order.tensor_split(steps), strict=True):
            own = nodes.to(device).sort().values
            noise = normal((len(own), network.dim), generator, device, few=_FEW).to(dtype)
            named = triplets.weighed(triplets.at(numbers.to(device)), generator)
            named = triplets.walked(named, reach, generator, restart) if reach > 1 else named
            batch = _batch(rows, named, own, noise, network.chunk_rows(), count / n, room)
            columns = network.n_links if network.n_attributes else None
            yield _dropped(batch, dropout, dropper, columns, network.chunk_rows()) if dropout else batch

    return of


def _batch(
    rows: SparseRows, triplets: Tensor, own: Tensor, noise: Tensor, size: int, times: float, room: Tensor | None
) -> Batch:
    """The batch of these triplets and of the nodes `own`, in chunks of `size` rows."""
    named = torch.zeros(len(rows), dtype=torch.bool, device=own.device)
    named[triplets.flatten()] = True
    named[own] = False
    others = named.nonzero()[:, 0]
    nodes, place = torch.cat([own, others]), torch.empty_like(named, dtype=torch.int64)
    place[nodes] = torch.arange(len(nodes), device=own.device)
    chunks = [NodeChunk(rows.take(own[part]), noise[part]) for part in parts(len(own), size)]
    return Batch(rows.take(nodes), chunks, place[triplets], times, room)


def _dropped(batch: Batch, share: float, generator: torch.Generator, columns: int | None, size: int) -> Batch:
    written = sum(len(chunk.rows) for chunk in batch.chunks)
    ends = [part.stop for part in parts(written, size)]
    ends += [written + part.stop for part in parts(len(batch.seen) - written, size)]
    own = {"sum_to_one": True, "columns": columns}  # as rows of P do
    return dataclasses.replace(batch, seen=dropped(batch.seen, share, generator, ends=ends, **own))  # type: ignore[arg-type]
