"""Random graphs in time and memory that grow with their edges, never with pairs of nodes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import sqrt

import numpy as np
from scipy.optimize import brentq

from netfold.data.arrays import Floats, Ints
from netfold.data.checks import check_count, check_share, is_between
from netfold.data.graph import Graph
from netfold.data.nodes import Nodes
from netfold.errors import InputError

__all__ = ["chung_lu", "distinct_integers", "kronecker", "stochastic_block_model"]


_TEN_BLOCKS = (1000,) * 10
_A, _B, _C = 0.57, 0.19, 0.19
"""The probabilities of three quarters of the adjacency matrix, as in Graph500; the fourth has the rest, .05."""
_AT_ONCE = 1 << 18
"""Edges drawn at a time, so that their bits stay in the cache."""
_MOST_NODES = 2**31 - 1


def stochastic_block_model(
    sizes: Sequence[int] = _TEN_BLOCKS, p_in: float = 0.01, p_out: float = 1 / 900, *, seed: int = 0
) -> tuple[Graph, dict[int, int]]:
    """Pairs of nodes linked with probability `p_in` inside a block and `p_out` across; and the block of each node.

    The default is the library's benchmark: an average degree of 20, half of it inside the block.

    >>> graph, blocks = stochastic_block_model((3, 2), p_in=1, p_out=0)
    >>> graph, blocks
    (Graph(5 nodes, 4 edges, undirected), {0: 0, 1: 0, 2: 0, 3: 1, 4: 1})
    """
    _check_sizes(sizes)
    check_share("p_in", p_in)
    check_share("p_out", p_out)
    check_count("seed", seed, least=0)
    rng = np.random.default_rng(seed)
    block = np.repeat(np.arange(len(sizes)), sizes)
    start: Ints = (np.cumsum(sizes) - np.asarray(sizes))[block]  # the first node of each node's block
    node = np.arange(len(block))
    inside = _linked(rng, start, node - start, p_in)
    across = _linked(rng, np.zeros_like(start), start, p_out)
    u, v = (np.concatenate(ends) for ends in zip(inside, across, strict=True))
    return _graph(u, v, len(block)), dict(enumerate(block.tolist()))


def chung_lu(nodes: int = 10_000, edges: int = 50_000, *, exponent: float = 2.5, seed: int = 0) -> Graph:
    """A graph of power-law degrees: P(degree > k) falls as k^(1 - exponent), node 0 having the largest expected degree.

    Both ends of an edge are drawn in proportion to weights w_i = (i + 1 + i₀)^b - (i + i₀)^b ~ i^(-1 / (exponent - 1)),
    b = 1 - 1 / (exponent - 1), until there are so many distinct edges that are no self-loops. i₀ is as small as lets no
    expected degree exceed √(2 edges), above which Chung and Lu's w_i w_j / Σw would be no probability. Nodes may be
    isolated.

    >>> chung_lu(1000, 3000)
    Graph(1,000 nodes, 3,000 edges, undirected)
    """
    check_count("nodes", nodes, least=2, most=_MOST_NODES)
    check_count("edges", edges, least=0, most=nodes * (nodes - 1) // 8)
    if not is_between(exponent, 2, np.inf):
        raise InputError(f"exponent={exponent!r} is not a number above 2")
    check_count("seed", seed, least=0)
    power = 1 - 1 / (exponent - 1)
    start = _start(nodes, edges, power)
    low, high = start**power, (start + nodes) ** power

    def ends(rng: np.random.Generator, count: int) -> Ints:
        places: Floats = (low + (high - low) * rng.random(count)) ** (1 / power) - start
        return np.clip(places.astype(np.int64), 0, nodes - 1)

    return _drawn(lambda rng, count: (ends(rng, count), ends(rng, count)), nodes, edges, seed)


def kronecker(scale: int = 14, edges: int = 100_000, *, seed: int = 0) -> Graph:
    """A graph of 2^scale nodes, hubs within hubs: each edge falls, `scale` times over, into a quarter of the matrix.

    The quarters have the probabilities .57, .19, .19 and .05 (R-MAT as in Graph500). Draws go on until there are so
    many distinct edges that are no self-loops; many nodes stay isolated.

    >>> kronecker(10, 4000)
    Graph(1,024 nodes, 4,000 edges, undirected)
    """
    check_count("scale", scale, least=2, most=30)
    check_count("edges", edges, least=0, most=2 ** (1.5 * scale - 1))  # beyond, too few new ones would be drawn
    check_count("seed", seed, least=0)
    return _drawn(lambda rng, count: _quartered(rng, count, scale), 2**scale, edges, seed)


def distinct_integers(rng: np.random.Generator, count: int, among: int) -> Ints:
    """So many distinct integers from 0 to among - 1, every set of them as likely, in O(count).

    >>> sorted(distinct_integers(np.random.default_rng(0), 5, 5).tolist())
    [0, 1, 2, 3, 4]
    """
    if 2 * count >= among:
        return rng.permutation(among)[:count]
    numbers: Ints = np.empty(0, np.int64)
    while len(numbers) < count:
        numbers = _once(np.concatenate([numbers, rng.integers(among, size=_some_more(count - len(numbers)))]))
    return rng.permutation(numbers)[:count]


def _once(values: Ints) -> Ints:
    """Each value once, in order; by sorting, which is many times faster than the hashing of `np.unique`."""
    ordered = np.sort(values)
    different: Ints = ordered[np.append(True, ordered[1:] != ordered[:-1])]
    return different


def _some_more(count: int) -> int:
    """How many to draw where so many are wanted, for a few will have been drawn before."""
    return count * 9 // 8 + 1


def _linked(rng: np.random.Generator, first: Ints, counts: Ints, p: float) -> tuple[Ints, Ints]:
    """Each node with each of the `counts` nodes from `first` on, with probability p."""
    ends = np.cumsum(counts)
    pairs = int(ends[-1])
    drawn = distinct_integers(rng, int(rng.binomial(pairs, p)), pairs)
    drawn = np.sort(drawn)  # in order, they are found many times faster
    v = np.searchsorted(ends, drawn, side="right")
    return first[v] + drawn - (ends[v] - counts[v]), v


def _start(nodes: int, edges: int, power: float) -> float:
    """i₀: the least where node 0's share of all ends is at most 1 / √(2 edges)."""

    def excess(start: float) -> float:
        share: float = ((start + 1) ** power - start**power) / ((start + nodes) ** power - start**power)
        return share * sqrt(2 * edges) - 1

    return float(brentq(excess, 0, 100 * nodes)) if excess(0) > 0 else 0.0


def _quartered(rng: np.random.Generator, count: int, scale: int) -> tuple[Ints, Ints]:
    u, v = np.zeros((2, count), np.int64)
    for _ in range(scale):
        lower = rng.random(count, np.float32) > _A + _B
        right = rng.random(count, np.float32) > np.where(lower, _C / (1 - _A - _B), _A / (_A + _B)).astype(np.float32)
        u, v = 2 * u + lower, 2 * v + right
    return u, v


def _drawn(draw: Callable[[np.random.Generator, int], tuple[Ints, Ints]], nodes: int, edges: int, seed: int) -> Graph:
    """The graph of so many distinct edges without self-loops out of those that `draw` gives."""
    rng = np.random.default_rng(seed)
    codes: Ints = np.empty(0, np.int64)
    while len(codes) < edges:
        wanted = _some_more(edges - len(codes))
        parts = [codes, *(_codes(draw(rng, min(_AT_ONCE, wanted - i)), nodes) for i in range(0, wanted, _AT_ONCE))]
        drawn = np.concatenate(parts)
        codes = drawn[np.sort(np.unique(drawn, return_index=True)[1])]  # as they first came
    return _graph(*np.divmod(codes[:edges], nodes), nodes)


def _codes(ends: tuple[Ints, Ints], nodes: int) -> Ints:
    """A number for each edge, the same whichever end came first; none for a self-loop."""
    u, v = np.minimum(*ends), np.maximum(*ends)
    return (u * nodes + v)[u < v]


def _graph(u: Ints, v: Ints, nodes: int) -> Graph:
    return Graph.from_codes(u, v, None, nodes=Nodes.of(range(nodes)))


def _check_sizes(sizes: Sequence[int]) -> None:
    if isinstance(sizes, str) or not hasattr(sizes, "__len__") or len(sizes) == 0:
        raise InputError(f"sizes={sizes!r} is not a list of the sizes of blocks")
    for size in sizes:
        check_count("a size", size, least=1)
    check_count("the sum of sizes", sum(map(int, sizes)), least=1, most=_MOST_NODES)
