"""Random graphs, and structure planted on purpose, in time and memory that grow with edges, not with pairs of nodes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product
from math import sqrt
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.optimize import brentq

from netfold.data.checks import Floats, Ints, check_count, check_share, is_between, unique_values
from netfold.data.graph import Graph
from netfold.data.hypergraph import Hypergraph
from netfold.data.nodes import Nodes, typed_nodes
from netfold.errors import InputError

__all__ = ["chung_lu", "distinct_integers", "kronecker", "planted_roles", "planted_triples", "stochastic_block_model"]


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
        numbers = unique_values(np.concatenate([numbers, rng.integers(among, size=_some_more(count - len(numbers)))]))
    return rng.permutation(numbers)[:count]


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


class _Shape(NamedTuple):
    """A small graph that hangs on a ring by its node 0, and the role of each of its nodes."""

    roles: tuple[str, ...]
    edges: tuple[tuple[int, int], ...]


_SHAPES = {
    "house": _Shape(("roof", "wall", "wall", "floor", "floor"), ((0, 1), (0, 2), (1, 2), (1, 3), (2, 4), (3, 4))),
    "star": _Shape(("center", "leaf", "leaf", "leaf", "leaf"), ((0, 1), (0, 2), (0, 3), (0, 4))),
    "fan": _Shape(("hub", "end", "mid", "mid", "end"), ((0, 1), (0, 2), (0, 3), (0, 4), (1, 2), (2, 3), (3, 4))),
    "clique": _Shape(("gate", "rest", "rest", "rest", "rest"), tuple((i, j) for j in range(5) for i in range(j))),
}
_SHORTEST_RING = 5
"""No shape holds a cycle of this length without a chord, so no symmetry takes a ring for a shape."""
_ROLES = ("user", "item", "tag")


def planted_roles(
    copies: int = 10,
    spacing: int = 2,
    shapes: Sequence[str] = ("house", "star", "fan", "clique"),
    *,
    noise: float = 0.0,
    seed: int = 0,
) -> tuple[Graph, dict[int, str]]:
    """A ring on which shapes hang by an edge, `spacing` nodes apart and `copies` times over; and the role of each node.

    Two nodes have the same role exactly if a symmetry of the graph takes one to the other. `noise` adds that share of
    the number of edges, at random where there is none, and leaves the roles as they were planted.

    >>> graph, roles = planted_roles(copies=3, spacing=2, shapes=["star"])
    >>> graph, sorted(set(roles.values()))
    (Graph(21 nodes, 21 edges, undirected), ['ring 0', 'ring 1', 'star center', 'star leaf'])
    """
    check_count("copies", copies, least=1)
    check_count("spacing", spacing, least=1)
    _check_shapes(shapes)
    check_share("noise", noise)
    check_count("seed", seed, least=0)
    ring = copies * spacing * len(shapes)
    if ring < _SHORTEST_RING:
        raise InputError(
            f"copies={copies}, spacing={spacing} and {len(shapes)} shapes make a ring of {ring} nodes; "
            f"it needs at least {_SHORTEST_RING}"
        )
    edges = [(i, (i + 1) % ring) for i in range(ring)]
    roles = [f"ring {k}" for k in _ring_roles(shapes, spacing)] * copies
    for i in range(copies * len(shapes)):
        name, first = shapes[i % len(shapes)], len(roles)
        edges += [(i * spacing, first), *((first + a, first + b) for a, b in _SHAPES[name].edges)]
        roles += [f"{name} {role}" for role in _SHAPES[name].roles]
    edges += _extra(edges, len(roles), round(noise * len(edges)), seed)
    return Graph.from_edges(np.array(edges), nodes=range(len(roles))), dict(enumerate(roles))


def planted_triples(
    users: int = 100, items: int = 100, tags: int = 100, edges: int = 5000, *, groups: int = 2, seed: int = 0
) -> Hypergraph:
    """Distinct triples (user, item, tag) whose hidden groups sum to zero: g_user + g_item + g_tag = 0 modulo `groups`.

    Where groups are equal in size, each pair of nodes is in as many allowed triples as any other, so that no pair says
    anything about a triple, and all three together everything. The tensor of allowed triples has the rank `groups`.
    Nodes are called ("user", 7); their groups are `classes("planted_triples")`.

    >>> planted_triples(20, 20, 20, edges=300)
    Hypergraph(60 nodes, 300 edges, 3 types)
    """
    member = _groups(users, items, tags, groups, seed)
    check_count("edges", edges, least=0, most=_allowed(member, groups)[1][-1])
    counts = [len(of_role) for of_role in member]
    rows = _triples(np.random.default_rng(seed), member, edges, groups) + np.cumsum([0, *counts[:-1]])
    nodes = typed_nodes({role: Nodes.of(range(count)) for role, count in zip(_ROLES, counts, strict=True)})
    node_types = np.repeat(np.arange(len(_ROLES)), counts)
    return Hypergraph.from_kinds([(_ROLES, _ROLES, rows)], nodes=nodes, node_types=node_types, types=_ROLES)


def planted_triples_classes(
    users: int = 100, items: int = 100, tags: int = 100, edges: int = 5000, *, groups: int = 2, seed: int = 0
) -> dict[tuple[str, int], int]:
    """The hidden group of each node of `planted_triples`."""
    member = _groups(users, items, tags, groups, seed)
    return {(role, i): g for role, of_role in zip(_ROLES, member, strict=True) for i, g in enumerate(of_role.tolist())}


# -------------------------------------------------------------------- roles


def _ring_roles(shapes: Sequence[str], spacing: int) -> list[int]:
    """The orbit of each node of one period of the ring, under the turns and reflections that keep the shapes."""
    first = period = np.arange(len(shapes) * spacing)
    hung = np.where(period % spacing == 0, np.repeat(shapes, spacing), "")
    for sign, by in product((1, -1), period):
        moved = (sign * period + by) % len(period)
        if (hung[moved] == hung).all():
            first = np.minimum(first, moved)
    orbits: list[int] = np.unique(first, return_inverse=True)[1].tolist()
    return orbits


def _extra(edges: list[tuple[int, int]], n: int, count: int, seed: int) -> list[tuple[int, int]]:
    """So many pairs that are no edge yet."""
    check_count("the number of edges that noise adds", count, least=0, most=n * (n - 1) // 2 - len(edges))
    there = {(min(e), max(e)) for e in edges}
    rng = np.random.default_rng(seed)
    pairs: list[tuple[int, int]] = []
    while len(pairs) < count:
        u, v = sorted(rng.integers(n, size=2).tolist())
        if u < v and (u, v) not in there:
            there.add((u, v))
            pairs.append((u, v))
    return pairs


def _check_shapes(shapes: Sequence[str]) -> None:
    listed = isinstance(shapes, (list, tuple)) and len(shapes) > 0
    if not listed or any(s not in _SHAPES for s in shapes):
        raise InputError(f"shapes={shapes!r} is not a list out of {', '.join(_SHAPES)}")


# -------------------------------------------------------------------- triples

Groups = list[npt.NDArray[np.int64]]


def _groups(users: int, items: int, tags: int, groups: int, seed: int) -> Groups:
    """The group of each user, item and tag: as equal in size as can be, in random order."""
    for name, count in (("users", users), ("items", items), ("tags", tags)):
        check_count(name, count, least=1)
    check_count("groups", groups, least=1, most=min(users, items, tags))
    check_count("seed", seed, least=0)
    rng = np.random.default_rng([seed, 1])  # apart from the numbers that the triples are drawn with
    return [rng.permutation(np.arange(count) % groups) for count in (users, items, tags)]


def _allowed(member: Groups, groups: int) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """The sizes of the three groups for each pair of groups of a user and an item, and the running sum of triples."""
    sizes = [np.bincount(g, minlength=groups) for g in member]
    a, b = np.divmod(np.arange(groups**2), groups)
    of_three = np.stack([sizes[0][a], sizes[1][b], sizes[2][-(a + b) % groups]])
    return of_three, np.cumsum(of_three.prod(axis=0))


def _triples(rng: np.random.Generator, member: Groups, edges: int, groups: int) -> npt.NDArray[np.int64]:
    """Rows (user, item, tag): numbers of allowed triples, taken apart into the groups and the places in them."""
    sizes, ends = _allowed(member, groups)
    drawn = np.sort(distinct_integers(rng, edges, int(ends[-1])))
    pair = np.searchsorted(ends, drawn, side="right")
    rest, tag = np.divmod(drawn - (ends[pair] - sizes[:, pair].prod(axis=0)), sizes[2, pair])
    user, item = np.divmod(rest, sizes[1, pair])
    a, b = np.divmod(pair, groups)
    of_columns = zip(member, (a, b, -(a + b) % groups), (user, item, tag), strict=True)
    columns = [_place(g, of, at) for g, of, at in of_columns]
    return np.stack(columns, axis=1)


def _place(
    member: npt.NDArray[np.int64], group: npt.NDArray[np.int64], at: npt.NDArray[np.int64]
) -> npt.NDArray[np.int64]:
    """The node that is the at-th of its group."""
    order = np.argsort(member, kind="stable")
    rows: npt.NDArray[np.int64] = order[np.searchsorted(member[order], group) + at]
    return rows
