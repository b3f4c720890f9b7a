"""Structure put there on purpose: roles that symmetry makes equal, and triples that no pair gives away."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from netfold.data.checks import check_count, check_share
from netfold.data.graph import Graph
from netfold.data.hypergraph import Hypergraph
from netfold.data.nodes import Nodes, typed_nodes
from netfold.errors import InputError
from netfold.studies.datasets.random_graphs import distinct_integers

__all__ = ["planted_roles", "planted_triples"]


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
