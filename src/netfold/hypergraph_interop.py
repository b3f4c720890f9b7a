"""Hypergraphs of other libraries as nodes, types and named edges, by what the objects look like."""

from __future__ import annotations

import importlib
import reprlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from netfold.errors import InputError
from netfold.hyperedge_kinds import default_roles
from netfold.node_types import TYPE

__all__ = ["LABEL", "Named", "as_label", "from_xgi", "named_edge", "own_label", "to_xgi", "type_of", "with_roles"]

LABEL = "netfold_label"
"""The attribute of a node that is called otherwise than its label, as HIF and json make it."""

Named = tuple[list[Any], dict[Any, str], list[dict[str, Any]]]
"""The nodes in order, the type of each, and each edge as a dict from role to node."""


def from_xgi(graph: Any, node_type: str, *, skip_small: bool) -> Named:
    """The parts of an xgi hypergraph, directed or not, or simplicial complex; read through its views alone."""
    if not hasattr(getattr(graph, "edges", None), "members"):
        raise InputError(f"a {type(graph).__name__} is not a hypergraph of xgi; give an xgi.Hypergraph")
    place = {node: i for i, node in enumerate(graph.nodes)}
    labels = {node: own_label(node, graph.nodes[node]) for node in place}
    types = {labels[node]: type_of(node, graph.nodes[node], node_type) for node in place}
    if len(types) < len(place):
        raise InputError(f"several nodes have the same {LABEL}; it is what netfold calls a node, and each has its own")
    edges = []
    for edge in graph.edges:
        members = [(labels[node], role) for node, role in _members(graph.edges, edge, place)]
        if len(members) > 1 or not skip_small:
            edges.append(named_edge(edge, members, types))
    return list(types), types, edges


def to_xgi(nodes: Sequence[Any], node_types: Sequence[str], edges: Iterable[Mapping[str, Any]]) -> Any:
    """An `xgi.Hypergraph`, whose edges are sets: the attribute `roles` keeps who is what."""
    try:
        made = importlib.import_module("xgi").Hypergraph()
    except ImportError:
        raise InputError("to_xgi needs xgi, which is missing; install it (pip install xgi)") from None
    for node, name in zip(nodes, node_types, strict=True):
        made.add_node(node, type=name)
    for edge in edges:
        made.add_edge(list(edge.values()), roles=dict(edge))
    return made


def type_of(node: Any, attributes: Mapping[str, Any], name: str) -> str:
    """The type of a node that has attributes, "node" where it has none of that name."""
    found = attributes.get(name, TYPE)
    if not isinstance(found, str) or not found:
        raise InputError(f"the attribute {name!r} of the node {node!r} is {found!r}; the type of a node is a string")
    return found


def named_edge(edge: Any, members: Sequence[tuple[Any, Any]], types: Mapping[Any, str]) -> dict[str, Any]:
    """An edge as a dict from role to node, of pairs (node, role); where no role is given, they are the types."""
    if len(members) < 2:
        raise InputError(f"the edge {edge!r} joins fewer than two nodes; skip_small=True leaves such edges out")
    roles = [role for _, role in members]
    if all(role is None for role in roles):
        roles = list(default_roles([types[node] for node, _ in members]))
    odd = next((i for i, role in enumerate(roles) if not isinstance(role, str) or not role), None)
    if odd is not None:
        who = f"the role of the node {members[odd][0]!r} in the edge {edge!r} is {roles[odd]!r}"
        raise InputError(f"{who}; give all nodes of an edge a role, or none")
    named = dict(zip(roles, (node for node, _ in members), strict=True))
    if len(named) < len(members):
        again = next(role for i, role in enumerate(roles) if role in roles[:i])
        raise InputError(f"the edge {edge!r} has the role {again!r} twice; a role is given once in an edge")
    return named


def _members(edges: Any, edge: Any, place: Mapping[Any, int]) -> list[tuple[Any, Any]]:
    """Pairs (node, role) of an edge of xgi; sets in the order of the nodes, so that each run has the same."""
    if hasattr(edges, "dimembers"):
        tail, head = (sorted(part, key=place.__getitem__) for part in edges.dimembers(edge))
        return list(zip([*tail, *head], default_roles(["tail"] * len(tail) + ["head"] * len(head)), strict=True))
    return with_roles(sorted(edges.members(edge), key=place.__getitem__), edges[edge].get("roles"))


def with_roles(members: Sequence[Any], roles: Any) -> list[tuple[Any, Any]]:
    """Pairs (node, role) of an edge whose attribute is `roles`; it is ours where it names each of the nodes once."""
    given = {role: as_label(node) for role, node in roles.items()} if isinstance(roles, Mapping) else {}
    if len(given) == len(members) and all(node in given.values() for node in members):
        return [(node, role) for role, node in given.items()]
    return [(node, None) for node in members]


def own_label(node: Any, attributes: Mapping[str, Any]) -> Any:
    """The label of a node: what it is called, or what its attribute says that it was called."""
    return as_label(attributes.get(LABEL, node))


def as_label(x: Any) -> Any:
    """A label that json may have held: its lists are tuples.

    >>> as_label(["user", [7, "x"]])
    ('user', (7, 'x'))
    """
    if isinstance(x, dict):
        raise InputError(f"the label {reprlib.repr(x)} is an object; labels are strings, numbers, or lists of those")
    return tuple(map(as_label, x)) if isinstance(x, (list, tuple)) else x
