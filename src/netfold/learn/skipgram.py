"""Skip-gram with negative samples: its batches as plain values, and its sums over them.

A batch holds windows of random walks, or pairs of nodes, and nodes drawn against them. It names the nodes that it reads
and gives the objective for any vectors of those: from a table, or from a network.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any, NamedTuple

import numpy as np
import torch
from scipy import sparse
from torch import Tensor
from torch.nn import functional

from netfold.learn.draws import Chances, permutation, uniform
from netfold.learn.sparse_rows import PIECE
from netfold.learn.walks import Links, random_walks

__all__ = [
    "DRAWN",
    "GROUP",
    "PRIOR",
    "Against",
    "Noise",
    "PairBatch",
    "Read",
    "Steps",
    "Windows",
    "add_at",
    "batch_by_size",
    "begin_rows",
    "center_weights",
    "distance_weights",
    "is_large",
    "negative_sum",
    "pair_batches",
    "pair_sum",
    "places_of",
    "sums_at",
    "window_batches",
    "window_sum",
]


PRIOR = 16.0
"""Where the sums of squares of row-wise Adagrad begin: a row that has seen little moves at lr / 4.

From 0 a row's first step would be as long as lr, however small its gradient; at lr = 0.1 this is word2vec's 0.025.
"""


_STAYS = 100_000
"""Nodes up to which the size of a batch does not depend on theirs."""


def batch_by_size(usual: int, nodes: int, per_node: int) -> int:
    """How many links or walks are a step where nobody says: so many that it meets about half of a large graph's nodes.

    A node is then moved once or twice a step, whatever the number of nodes: steps an epoch stay as many, and each is
    large enough for a GPU.

    >>> batch_by_size(64, 5_000, 160), batch_by_size(64, 1_000_000, 160)
    (64, 6250)
    """
    return max(usual, nodes // per_node) if is_large(nodes) else usual


def is_large(nodes: int) -> bool:
    """Whether defaults follow the number of nodes: up to 100,000 of them they do not."""
    return nodes > _STAYS


class Steps(NamedTuple):
    """How many steps an epoch has where nobody says: as a rule, and of a large graph, where fewer cost less.

    >>> Steps(16, 8).count(5_000), Steps(16, 8).count(1_000_000), Steps(16, 8).rate(1_000_000)
    (16, 8, 2.0)
    """

    usual: int
    large: int

    def count(self, nodes: int) -> int:
        """For so many nodes."""
        return self.large if is_large(nodes) else self.usual

    def rate(self, nodes: int) -> float:
        """What the learning rate is multiplied by: how much larger a step is than as a rule."""
        return self.usual / self.count(nodes)


@torch.no_grad()
def begin_rows(table: Tensor, rows: Any, placed: Any, there: Any, generator: torch.Generator) -> None:
    """Let some rows of a table (n x d) begin where they were `placed` (m x d); at random, and short, where not.

    `rows` has n truth values, m of them true; `there` m, whether a row was placed. numpy arrays.
    """
    dim = table.shape[1]
    short = (torch.rand(len(placed), dim, generator=generator) - 0.5) / dim
    begun = torch.where(torch.from_numpy(there)[:, None], torch.from_numpy(placed), short)
    table[torch.from_numpy(rows).to(table.device)] = begun.to(table)


def distance_weights(window: int) -> Tensor:
    """How much a pair counts whose nodes are 0, 1, ..., `window` steps apart: 0, then (window - distance + 1) / window.

    word2vec draws a window from 1 to `window` for each center; this is the chance that a distance is within it. So the
    sum with these weights is the expectation of that with the draw.

    >>> distance_weights(4).tolist()
    [0.0, 1.0, 0.75, 0.5, 0.25]
    """
    weights = (window + 1 - torch.arange(window + 1, dtype=torch.float64)) / window
    weights[0] = 0
    return weights


def center_weights(walks: Tensor, window: int) -> Tensor:
    """The sum of the weights of a center's pairs, for each place of each walk (B x T); -1 stands after the end."""
    if walks.numel() and bool((walks >= 0).all()):
        return _whole_weights(walks.shape[1], window, walks.device).repeat(len(walks), 1)
    return _summed_weights((walks >= 0).float(), window)


@lru_cache(maxsize=8)
def _whole_weights(length: int, window: int, device: torch.device) -> Tensor:
    """Those of a walk that does not end: the same for all and in every step."""
    return _summed_weights(torch.ones(1, length, device=device), window)


def _summed_weights(there: Tensor, window: int) -> Tensor:
    weights = torch.zeros_like(there)
    for distance, weight in enumerate(distance_weights(window).tolist()):
        if 0 < distance < there.shape[1]:
            both = weight * there[:, distance:] * there[:, :-distance]
            weights[:, distance:] += both
            weights[:, :-distance] += both
    return weights


def window_sum(vectors: Tensor, contexts: Tensor, walks: Tensor, window: int) -> Tensor:
    """-Σ_b Σ_{s ≠ t} w(|s - t|) log σ(z · c), with z of the node at place t of walk b, c of that at place s.

    `vectors`: m x d, `contexts`: m' x d. `walks`: B x T rows of both, -1 after a walk's end. w are the
    `distance_weights`. A node that a walk comes by again is its own context, as in word2vec.
    """
    total: Tensor = _Windows.apply(vectors, contexts, walks, window)  # type: ignore[no-untyped-call]
    return total


def pair_sum(vectors: Tensor, contexts: Tensor, pairs: Tensor) -> Tensor:
    """-Σ log σ(z_i · c_j) over pairs (i, j): 2 x b, rows of `vectors` (m x d) and of `contexts` (m' x d)."""
    total: Tensor = _Pairs.apply(vectors, contexts, pairs)  # type: ignore[no-untyped-call]
    return total


def negative_sum(vectors: Tensor, contexts: Tensor, centers: Tensor, weights: Tensor, drawn: Tensor) -> Tensor:
    """-Σ_g Σ_t w_gt Σ_s log σ(-z · c), with z of the t-th center of group g, c of the s-th node drawn for it.

    `centers`: g x G rows of `vectors` (m x d); `drawn`: g x S rows of `contexts` (m' x d); `weights`: g x G. With nodes
    drawn at random and w_gt = (k / S) times the weight of the center's pairs, the expectation is that of k negatives
    drawn for each pair; here a group of centers shares S of them, and its scores are one dense product.
    """
    total: Tensor = _Negatives.apply(vectors, contexts, centers, weights, drawn)  # type: ignore[no-untyped-call]
    return total


Grads = tuple[Tensor, Tensor]
"""What is added up for vectors and for contexts."""


class _Known(torch.autograd.Function):
    """A sum of vectors and contexts whose gradients `forward` has kept."""

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        left, right = ctx.saved_tensors
        return left * grad, right * grad, *ctx.rest


class _Windows(_Known):
    @staticmethod
    def forward(ctx: Any, vectors: Tensor, contexts: Tensor, walks: Tensor, window: int) -> Tensor:
        grads = torch.zeros_like(vectors), torch.zeros_like(contexts)
        total = _add_all_windows(vectors, contexts, walks, window, grads)
        ctx.save_for_backward(*grads)
        ctx.rest = (None,) * 2
        return total


def _add_all_windows(vectors: Tensor, contexts: Tensor, walks: Tensor, window: int, grads: Grads) -> Tensor:
    total = vectors.new_zeros(())
    for part in torch.split(walks, _groups(vectors, walks.shape[1])):
        total += _add_windows(vectors, contexts, part, window, grads)
    return total


def _groups(vectors: Tensor, rows: int) -> int:
    """How many groups of so many rows are read at a time."""
    return max(1, PIECE[vectors.device.type] // max(1, rows * vectors.shape[1]))


def _add_windows(vectors: Tensor, contexts: Tensor, walks: Tensor, window: int, grads: Grads) -> Tensor:
    """The sum over some walks; its gradients are added to `grads`."""
    at, total = walks.clamp(min=0), vectors.new_zeros(())
    z, c = _read(vectors, at), _read(contexts, at)  # b x T x d
    dz, dc = torch.empty_like(z), torch.zeros_like(c)
    for here, around, weights in _bands(walks, window, vectors.dtype):
        scores = torch.bmm(z[:, here], c[:, around].transpose(1, 2)).neg_()
        total += (functional.softplus(scores) * weights).sum()
        slope = scores.sigmoid_().mul_(-weights)
        dz[:, here] = torch.bmm(slope, c[:, around])
        dc[:, around] += torch.bmm(slope.transpose(1, 2), z[:, here])
    add_at(grads[0], at, dz)
    add_at(grads[1], at, dc)
    return total


def _bands(walks: Tensor, window: int, dtype: torch.dtype) -> Iterator[tuple[slice, slice, Tensor]]:
    """Blocks of centers, the places around them, and the weights of their pairs: b or 1 x centers x places."""
    bands = _whole_bands(walks.shape[1], window, dtype, walks.device)
    if bool((walks >= 0).all()):
        yield from bands
        return
    there = (walks >= 0).to(dtype)
    for here, around, weights in bands:
        yield here, around, weights * there[:, here, None] * there[:, None, around]


@lru_cache(maxsize=8)
def _whole_bands(
    length: int, window: int, dtype: torch.dtype, device: torch.device
) -> list[tuple[slice, slice, Tensor]]:
    """The bands of walks that have an end nowhere: the same in every step."""
    by_distance = functional.pad(distance_weights(window), (0, 1)).to(device, dtype)
    place, block, bands = torch.arange(length, device=device), max(16, 2 * window), []
    for start in range(0, length, block):
        here = slice(start, min(start + block, length))
        around = slice(max(0, start - window), min(here.stop + window, length))
        distances = (place[here, None] - place[around]).abs().clamp_(max=window + 1)
        bands.append((here, around, by_distance[distances][None]))
    return bands


class _Pairs(_Known):
    @staticmethod
    def forward(ctx: Any, vectors: Tensor, contexts: Tensor, pairs: Tensor) -> Tensor:
        grads = torch.zeros_like(vectors), torch.zeros_like(contexts)
        total = _add_pairs(vectors, contexts, pairs, grads)
        ctx.save_for_backward(*grads)
        ctx.rest = (None,)
        return total


def _add_pairs(vectors: Tensor, contexts: Tensor, pairs: Tensor, grads: Grads) -> Tensor:
    """The sum over pairs; its gradients are added to `grads`."""
    total = vectors.new_zeros(())
    for left, right in torch.split(pairs, _groups(vectors, 1), dim=1):
        z, c = vectors.index_select(0, left), contexts.index_select(0, right)
        scores = (z * c).sum(1).neg_()
        total += functional.softplus(scores).sum()
        slope = scores.sigmoid_().neg_()[:, None]
        add_at(grads[0], left, c.mul_(slope))
        add_at(grads[1], right, z.mul_(slope))
    return total


class _Negatives(_Known):
    @staticmethod
    def forward(ctx: Any, vectors: Tensor, contexts: Tensor, centers: Tensor, weights: Tensor, drawn: Tensor) -> Tensor:
        grads = torch.zeros_like(vectors), torch.zeros_like(contexts)
        total = _add_negatives(vectors, contexts, centers, weights, drawn, grads)
        ctx.save_for_backward(*grads)
        ctx.rest = (None,) * 3
        return total


def _add_negatives(
    vectors: Tensor, contexts: Tensor, centers: Tensor, weights: Tensor, drawn: Tensor, grads: Grads
) -> Tensor:
    """The sum over centers and what is drawn against them; its gradients are added to `grads`."""
    total = vectors.new_zeros(())
    size = _groups(vectors, centers.shape[1] + drawn.shape[1])
    for at, weight, others in zip(*(torch.split(x, size) for x in (centers, weights, drawn)), strict=True):
        z, c = _read(vectors, at), _read(contexts, others)
        scores = torch.bmm(z, c.transpose(1, 2))
        total += (functional.softplus(scores).sum(2) * weight).sum()
        slope = scores.sigmoid_().mul_(weight[:, :, None])
        add_at(grads[0], at, torch.bmm(slope, c))
        add_at(grads[1], others, torch.bmm(slope.transpose(1, 2), z))
    return total


def _group_slopes(z: Tensor, dz: Tensor, c: Tensor, dc: Tensor, weights: Tensor) -> Tensor:
    """As `_add_negatives`, of rows that were read (g x G x d and g x S x d), on the CPU; `dz` and `dc` are written."""
    scores = _product(z, c.transpose(1, 2))
    total = (functional.softplus(scores).sum(2) * weights).sum()
    slope = scores.sigmoid_().mul_(weights[:, :, None])
    np.matmul(slope.numpy(), c.numpy(), out=dz.numpy())
    np.matmul(slope.transpose(1, 2).numpy(), z.numpy(), out=dc.numpy())
    return total


def _rows_at(table: Tensor, at: Tensor) -> Tensor:
    """As `table.index_select(0, at)`, on the CPU: sums of one row each, as these are read ahead of time."""
    each = torch.arange(len(at) + 1, dtype=torch.int32)
    return functional.embedding_bag(at.int(), table, each, mode="sum", include_last_offset=True)


def _product(a: Tensor, b: Tensor) -> Tensor:
    """As `torch.bmm`, on the CPU."""
    return torch.from_numpy(np.matmul(a.numpy(), b.numpy()))


def sums_at(places: Tensor, rows: Tensor, count: int) -> Tensor:
    """The sums of the rows (m x d) at each of `count` places, on the CPU: as `add_at`, to the bit, in half the time."""
    small = np.uint16 if count <= 1 << 16 else np.int64  # few bits are sorted by counting
    order = torch.from_numpy(np.argsort(places.numpy().astype(small), kind="stable"))
    starts = functional.pad(torch.bincount(places, minlength=count).cumsum(0), (1, 0))
    return functional.embedding_bag(order, rows, starts, mode="sum", include_last_offset=True)


def _read(rows: Tensor, at: Tensor) -> Tensor:
    """rows[at], a x b x d."""
    return rows.index_select(0, at.flatten()).view(*at.shape, rows.shape[1])


def add_at(out: Tensor, at: Tensor, rows: Tensor) -> None:
    """out[at] += rows, where a row may be named often: summed in the same order each time."""
    index, values = at.flatten(), rows.view(-1, out.shape[1])
    if out.is_cuda:
        out.index_put_((index,), values, accumulate=True)
    else:
        out.index_add_(0, index, values)


GROUP, DRAWN = 20, 32
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
    in_turn: bool = False
    """Whether centers are in the order of walks or pairs, `GROUP` to a group; all but the last are full."""

    def total(self, vectors: Tensor, contexts: Tensor) -> Tensor:
        """-Σ k E_v log σ(-z_i · c_v), estimated."""
        return negative_sum(vectors, contexts, self.centers, self.weights.to(vectors.dtype), self.drawn)

    def split(self, centers: int) -> Iterator[Against]:
        """So many centers at a time, whole groups."""
        parts = (torch.split(x, centers // GROUP) for x in (self.centers, self.weights, self.drawn))
        return (Against(a, b, c, in_turn=self.in_turn) for a, b, c in zip(*parts, strict=True))

    def add(self, vectors: Tensor, contexts: Tensor, grads: Grads) -> Tensor:
        """The same, its gradients added to `grads`."""
        weights = self.weights.to(vectors.dtype)
        return _add_negatives(vectors, contexts, self.centers, weights, self.drawn, grads)


Terms = dict[str, Tensor]


@dataclass(frozen=True, eq=False)
class Read:
    """The nodes that a batch reads; all else in it are places among them."""

    nodes: Tensor
    """m: those whose vectors are read, in order."""
    drawn_alone: Tensor
    """Those of which only the context is read, as they were drawn at random and no more; after the others."""
    against: Against

    @property
    def context_nodes(self) -> Tensor:
        """m' >= m: those whose contexts are read, `nodes` first."""
        return torch.cat([self.nodes, self.drawn_alone])

    @torch.no_grad()
    def terms_and_slopes(self, vectors: Tensor, contexts: Tensor) -> tuple[Terms, Tensor, Tensor]:
        """`terms`, and the gradients of their sum for vectors (m x d) and contexts (m' x d): as autograd's, to the bit.

        Without it, a step passes over its rows half as often: what is met has a place among the first m contexts, so
        that gradients of no more than those are made, and nothing is multiplied by 1.
        """
        near = torch.zeros_like(vectors), torch.zeros_like(vectors)
        met = self._add_met(vectors, contexts, near)
        left, right = torch.zeros_like(vectors), torch.zeros_like(contexts)
        drawn = self.against.add(vectors, contexts, (left, right))
        right[: len(vectors)] += near[1]
        return {"contexts": met, "negatives": drawn}, left.add_(near[0]), right

    def _add_met(self, vectors: Tensor, contexts: Tensor, grads: Grads) -> Tensor:
        """The sum over what was met; its gradients are added to `grads`, both m x d."""
        raise NotImplementedError

    @torch.no_grad()
    def table_slopes(self, vectors: Tensor, contexts: Tensor) -> tuple[Terms, Tensor, Tensor]:
        """As `terms_and_slopes`, for tables of all nodes (n x d) on the CPU, of groups that are `in_turn`.

        A row is read once for what it met and for what is drawn against it, and each gradient is summed once. numpy
        multiplies so many small matrices in two thirds of torch's time. A large batch is walked in pieces, as large
        arrays would come from the system page by page in each step.
        """
        names = self.context_nodes
        centers = PIECE["cpu"] * GROUP // ((GROUP + DRAWN) * vectors.shape[1])
        pieces = list(self._pieces(centers))
        if len(pieces) == 1:
            terms, (own, dz), (places, dc) = self._slopes_at(vectors, contexts, names)
            return terms, sums_at(own, dz, len(self.nodes)), sums_at(places, dc, len(names))
        sums: Terms = {}
        slopes = [table.new_zeros(len(at), table.shape[1]) for table, at in ((vectors, self.nodes), (contexts, names))]
        for piece in pieces:
            terms, *each = piece._slopes_at(vectors, contexts, names)
            sums = {name: sums.get(name, 0) + term for name, term in terms.items()}
            for slope, (at, rows) in zip(slopes, each, strict=True):
                slope.index_add_(0, at, rows)
        return sums, slopes[0], slopes[1]

    def _slopes_at(
        self, vectors: Tensor, contexts: Tensor, names: Tensor
    ) -> tuple[Terms, tuple[Tensor, Tensor], tuple[Tensor, Tensor]]:
        """The terms; gradients of vectors with their places among `names`, and of contexts with theirs."""
        (own, met), dim = self._places(), vectors.shape[1]
        places = torch.cat([met, self.against.drawn.flatten()])
        z = _rows_at(vectors, functional.pad(names.index_select(0, own), (0, -len(own) % GROUP)))
        c = _rows_at(contexts, names.index_select(0, places))
        dz, dc = torch.empty_like(z), torch.empty_like(c)
        dc[: len(met)] = 0
        centers, back = (x.view(-1, GROUP, dim) for x in (z, dz))
        drawn, drawn_back = (x[len(met) :].view(-1, DRAWN, dim) for x in (c, dc))
        negatives = _group_slopes(centers, back, drawn, drawn_back, self.against.weights.to(z.dtype))
        near = self._add_near(z[: len(own)], dz[: len(own)], c[: len(met)], dc[: len(met)])
        return {"contexts": near, "negatives": negatives}, (own, dz[: len(own)]), (places, dc)

    def _pieces(self, centers: int) -> Iterator[Read]:
        """The same in batches of about so many centers, whole groups each, in order."""
        raise NotImplementedError

    def _places(self) -> tuple[Tensor, Tensor]:
        """Of the centers, in the order of `against`, and of the contexts that were met."""
        raise NotImplementedError

    def _add_near(self, z: Tensor, dz: Tensor, c: Tensor, dc: Tensor) -> Tensor:
        """The sum over what was met, of rows at those places; the gradients are added to `dz` and `dc`."""
        raise NotImplementedError


@dataclass(frozen=True, eq=False)
class Windows(Read):
    """Walks, of which every two nodes within a window are a pair, in both directions."""

    walks: Tensor
    """B x T, -1 after a walk's end."""
    window: int

    def _add_met(self, vectors: Tensor, contexts: Tensor, grads: Grads) -> Tensor:
        return _add_all_windows(vectors, contexts, self.walks, self.window, grads)

    def terms(self, vectors: Tensor, contexts: Tensor) -> dict[str, Tensor]:
        """The objective: `contexts` met and `negatives` drawn, for the vectors of `nodes` (m x d) and the contexts of
        `context_nodes` (m' x d)."""
        met = window_sum(vectors, contexts, self.walks, self.window)
        return {"contexts": met, "negatives": self.against.total(vectors, contexts)}

    def _pieces(self, centers: int) -> Iterator[Read]:
        length = self.walks.shape[1]
        unit = math.lcm(length, GROUP)
        size = max(unit, centers - centers % unit)
        for walks, against in zip(torch.split(self.walks, size // length), self.against.split(size), strict=True):
            yield replace(self, walks=walks, against=against)

    def _places(self) -> tuple[Tensor, Tensor]:
        met = self.walks.flatten().clamp(min=0)
        return met, met

    def _add_near(self, z: Tensor, dz: Tensor, c: Tensor, dc: Tensor) -> Tensor:
        near, total = [x.view(*self.walks.shape, -1) for x in (z, dz, c, dc)], z.new_zeros(())
        for here, around, weights in _bands(self.walks, self.window, z.dtype):
            own, own_back, others, others_back = (
                x[:, part] for x, part in zip(near, (here, here, around, around), strict=True)
            )
            scores = _product(own, others.transpose(1, 2)).neg_()
            total += (functional.softplus(scores) * weights).sum()
            by_score = scores.sigmoid_().mul_(-weights)
            own_back += _product(by_score, others)
            others_back += _product(by_score.transpose(1, 2), own)
        return total


@dataclass(frozen=True, eq=False)
class PairBatch(Read):
    """Pairs of a center and its context."""

    pairs: Tensor
    """2 x b"""

    def _add_met(self, vectors: Tensor, contexts: Tensor, grads: Grads) -> Tensor:
        return _add_pairs(vectors, contexts, self.pairs, grads)

    def _pieces(self, centers: int) -> Iterator[Read]:
        size = max(GROUP, centers - centers % GROUP)
        for pairs, against in zip(torch.split(self.pairs, size, dim=1), self.against.split(size), strict=True):
            yield replace(self, pairs=pairs, against=against)

    def _places(self) -> tuple[Tensor, Tensor]:
        return self.pairs[0], self.pairs[1]

    def _add_near(self, z: Tensor, dz: Tensor, c: Tensor, dc: Tensor) -> Tensor:
        scores = (z * c).sum(1).neg_()
        total = functional.softplus(scores).sum()
        slope = scores.sigmoid_().neg_()[:, None]
        dz.addcmul_(c, slope)
        dc.addcmul_(z, slope)
        return total

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
        """So many nodes."""
        return self._chances.at(uniform((count,), generator, self.sums.device))

    @cached_property
    def _chances(self) -> Chances:
        return Chances(self.sums)

    def draw_groups(self, groups: int, generator: torch.Generator) -> Tensor:
        """Nodes for so many groups of centers: groups x S."""
        return self.draw(groups * DRAWN, generator).view(groups, DRAWN)


def window_batches(
    links: Links,
    noise: Noise,
    *,
    p: float,
    q: float,
    walks: int,
    length: int,
    window: int,
    n_negatives: int,
    batch_size: int,
) -> Callable[[torch.Generator], Iterator[Windows]]:
    """The batches of an epoch for a generator: `walks` walks from each node that has links, in random order."""
    starts = links.with_links
    part = batch_size * max(1, PIECE[links.device.type] // (length * batch_size))

    def of(generator: torch.Generator) -> Iterator[Windows]:
        order = permutation(walks * len(starts), generator, starts.device, large=is_large(len(links))) % len(starts)
        for some in torch.split(starts[order], part):
            drawn = random_walks(links, some, length, generator, p=p, q=q)
            for batch in torch.split(drawn, batch_size):
                yield _windows(batch, noise, window, n_negatives, generator)

    return of


def _windows(walks: Tensor, noise: Noise, window: int, n_negatives: int, generator: torch.Generator) -> Windows:
    there = walks >= 0
    nodes, places = _distinct(walks[there], len(noise.sums))
    met = torch.full_like(walks, -1)
    met[there] = places
    alone, drawn = places_of(nodes, noise.draw_groups(math.ceil(walks.numel() / GROUP), generator), len(noise.sums))
    against = _against(met.clamp(min=0).flatten(), center_weights(walks, window).flatten(), drawn, n_negatives)
    return Windows(nodes, alone, against, met, window)


_NEAR = 16
"""Up to so many times as many nodes as are looked up, a number for each of all costs less than a search."""


def _distinct(nodes: Tensor, n: int) -> tuple[Tensor, Tensor]:
    """The distinct ones among some of n nodes (any shape), in order, and the place of each: as `torch.unique`.

    On the CPU by a mark for each of all, where those are not far more than the nodes: a fifth of the time of a sort.
    """
    if nodes.is_cuda or n > _NEAR * nodes.numel():
        distinct, places = torch.unique(nodes, return_inverse=True)
        return distinct, places
    marks = np.zeros(n, np.bool_)
    marks[nodes.numpy()] = True
    distinct = torch.from_numpy(np.flatnonzero(marks))
    place = torch.empty(n, dtype=torch.int64)
    place[distinct] = torch.arange(len(distinct))
    return distinct, place.index_select(0, nodes.flatten()).view(nodes.shape)


def places_of(nodes: Tensor, drawn: Tensor, n: int | None = None) -> tuple[Tensor, Tensor]:
    """The nodes drawn (any shape) that are not among `nodes`; and the places of all, where those come last.

    Of n nodes in all, where that is known: a table of so many is read where a search would take longer.
    """
    flat = drawn.flatten()
    if n is not None and not flat.is_cuda and n <= _NEAR * len(flat):
        place = torch.full((n,), -1)
        place[nodes] = torch.arange(len(nodes))
        at = place.index_select(0, flat)
        others = (at < 0).nonzero()[:, 0]
    else:
        at = torch.searchsorted(nodes, flat).clamp_(max=len(nodes) - 1)
        others = (nodes[at] != flat).nonzero()[:, 0]
    alone, places = torch.unique(flat[others], return_inverse=True) if n is None else _distinct(flat[others], n)
    at[others] = len(nodes) + places
    return alone, at.view(drawn.shape)


def _against(centers: Tensor, weights: Tensor, drawn: Tensor, n_negatives: int) -> Against:
    """Centers and their weights in groups of equal size, the last one filled up with nothing."""
    missing = -len(centers) % GROUP
    centers, weights = (torch.nn.functional.pad(x, (0, missing)).view(-1, GROUP) for x in (centers, weights))
    return Against(centers, weights * (n_negatives / DRAWN), drawn, in_turn=True)


def pair_batches(
    links: Links, weights: Tensor, noise: Noise, *, samples: int, n_negatives: int, batch_size: int
) -> Callable[[torch.Generator], Iterator[PairBatch]]:
    """The batches of an epoch for a generator: `samples` links (i, j), drawn with probability in proportion to weight.

    `weights`: nnz. Of an undirected matrix an edge comes in either direction, half the time each.
    """
    sums = weights.double().cumsum(0)
    chances = Chances(sums / sums[-1])

    def of(generator: torch.Generator) -> Iterator[PairBatch]:
        for start in range(0, samples, batch_size):
            drawn = uniform((min(batch_size, samples - start),), generator, sums.device)
            at = chances.at(drawn)
            yield _pairs(torch.stack([links.keys[at] // len(links), links.ends[at]]), noise, n_negatives, generator)

    return of


def _pairs(pairs: Tensor, noise: Noise, n_negatives: int, generator: torch.Generator) -> PairBatch:
    count = pairs.shape[1]
    nodes, met = _distinct(pairs, len(noise.sums))
    alone, drawn = places_of(nodes, noise.draw_groups(math.ceil(count / GROUP), generator), len(noise.sums))
    return PairBatch(nodes, alone, _against(met[0], torch.ones(count, device=pairs.device), drawn, n_negatives), met)
