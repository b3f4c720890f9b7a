"""`read_hif` and `write_hif`: the Hypergraph Interchange Format, the json that xgi and HyperNetX share.

A list of incidences {edge, node}, and lists of nodes and edges with attributes. We keep the type of a node in its
attribute `type` and its role in an edge in the incidence's attribute `role`, and, where that is more than its type, in
the edge's attribute `roles` too: xgi keeps the attributes of edges, not of incidences. In HIF a node is a string or an
integer; a node that is neither, as ("user", 7), is written as a string, and is the attribute `netfold_label`.
"""

from __future__ import annotations

import gzip
import json
import os
import reprlib
from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any, TextIO

from netfold.data.hypergraph import Hypergraph
from netfold.data.interop import LABEL, as_node, named_edge, own_name, type_of, with_roles
from netfold.data.kinds import TYPE, default_roles
from netfold.data.nodes import Nodes
from netfold.data.text import type_in_words
from netfold.errors import InputError
from netfold.io.files import staged_file
from netfold.io.source import file_kind, refusal, unpacked

__all__ = ["read_hif", "write_hif"]

_MOST = 1 << 29
"""Bytes of json, unpacked: what is more takes many times that in memory, and belongs into a table."""

_STEP = 1 << 12
_NETWORKS = ("undirected", "directed", "asc")
_DIRECTIONS = ("head", "tail")


def write_hif(hypergraph: Hypergraph, path: str | os.PathLike[str]) -> None:
    """Write a hypergraph as HIF json, compressed where the name ends in .gz; `read_hif` reads an equal one."""
    path = Path(path)
    ids = _ids(hypergraph.nodes)
    packed = path.suffix == ".gz"
    with staged_file(path) as part, gzip.open(part, "wt") if packed else part.open("w") as file:
        file.write('{"network-type": "undirected", "metadata": {},\n"nodes": ')
        _write_list(file, _node_records(hypergraph, ids))
        file.write(',\n"incidences": ')
        _write_list(file, _incidence_records(hypergraph, ids))
        file.write(',\n"edges": ')
        _write_list(file, _edge_records(hypergraph, ids))
        file.write("}\n")


def read_hif(path: str | os.PathLike[str], *, node_type: str = "type", skip_small: bool = False) -> Hypergraph:
    """The hypergraph in a file of HIF json, plain or compressed with gzip.

    The attribute `node_type` of a node is its type, where it has one. The roles in an edge are the attribute `role` of
    its incidences, or those of its attribute `roles`, or in a directed network head and tail; where there are none,
    they are the types. Nodes come as they are listed, then as they first appear; edges as they first appear. Edges of
    fewer than two nodes are refused or, with `skip_small`, left out. Weights and other attributes are not kept.

    >>> import tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp(), "small.json")
    >>> _ = path.write_text('{"incidences": [{"edge": 0, "node": "a"}, {"edge": 0, "node": "b"}]}')
    >>> read_hif(path).edges
    (('a', 'b'),)
    """
    path = Path(path)
    whole = _json(path)
    try:
        network = whole.get("network-type", "undirected")
        if network not in _NETWORKS:
            raise InputError(f"the network-type is {network!r}; it is one of {', '.join(_NETWORKS)}")
        nodes, types = _nodes(whole, node_type)
        edges = _edges(whole, nodes, network == "directed")
        wanted = {edge: members for edge, members in edges.items() if len(members) > 1 or not skip_small}
        named = [named_edge(edge, members, types) for edge, members in wanted.items()]
        return Hypergraph.from_named(named, nodes=types, node_types=types)
    except InputError as e:
        raise refusal(path, str(e)) from None


# -------------------------------------------------------------------- writing


def _ids(nodes: Nodes) -> list[str | int]:
    """What each node is called in HIF: itself where it is a string or an integer, otherwise a string like it."""
    if nodes.kind in ("int", "text"):
        return list(nodes)
    used = {node for node in nodes if _is_id(node)}
    ids: list[str | int] = []
    for node in nodes:
        called = node if _is_id(node) else json.dumps(node, ensure_ascii=False)
        while called is not node and called in used:
            called += "'"
        used.add(called)
        ids.append(called)
    return ids


def _node_records(hypergraph: Hypergraph, ids: list[str | int]) -> Iterator[dict[str, Any]]:
    for called, node, name in zip(ids, hypergraph.nodes, hypergraph.node_types, strict=True):
        itself = {} if _is_id(node) else {LABEL: node}
        yield {"node": called, "attrs": {"type": name, **itself}}


def _incidence_records(hypergraph: Hypergraph, ids: list[str | int]) -> Iterator[dict[str, Any]]:
    called = dict(zip(hypergraph.nodes, ids, strict=True))
    for e, edge in enumerate(hypergraph.named_edges()):
        for role, node in edge.items():
            yield {"edge": e, "node": called[node], "attrs": {"role": role}}


def _edge_records(hypergraph: Hypergraph, ids: list[str | int]) -> Iterator[dict[str, Any]]:
    """The edges whose roles are not told by the types of their nodes."""
    for kind, numbers in zip(hypergraph.kinds, hypergraph.edge_numbers(), strict=True):
        if kind.roles != default_roles(kind.types):
            for e, row in zip(numbers.tolist(), kind.rows.tolist(), strict=True):
                yield {"edge": e, "attrs": {"roles": {r: ids[i] for r, i in zip(kind.roles, row, strict=True)}}}


def _write_list(file: TextIO, records: Iterator[dict[str, Any]]) -> None:
    """A json list, a record on each line, without all of it in memory."""
    before = "[\n"
    while some := list(islice(records, _STEP)):
        file.write(before + ",\n".join(json.dumps(record) for record in some))
        before = ",\n"
    file.write("[]" if before == "[\n" else "]")


# -------------------------------------------------------------------- reading


def _json(path: Path) -> dict[str, Any]:
    kind = file_kind(path)
    if kind not in ("text", "gzip"):
        raise refusal(path, f"this is {kind}; HIF is json, plain or compressed with gzip")
    text = bytearray()
    for block in unpacked(path, kind):
        text += block
        if len(text) > _MOST:
            raise refusal(path, f"there are more than {_MOST:,} bytes of json; give tables to read_hyperedges instead")
    try:
        whole = json.loads(text)
    except (ValueError, RecursionError) as e:
        raise refusal(path, f"this is not json ({str(e).splitlines()[0]}); HIF is") from None
    if not isinstance(whole, dict) or not isinstance(whole.get("incidences"), list):
        problem = 'this is neither HIF (there is no list of "incidences") nor node-link JSON'
        raise refusal(path, f"{problem}; a list of edges is a table: nf.Graph.of(pandas.read_json(...)) reads it")
    return whole


def _nodes(whole: Mapping[str, Any], node_type: str) -> tuple[dict[str | int, Any], dict[Any, str]]:
    """The node of each id, and the type of each node; listed nodes first, then as they first appear."""
    nodes: dict[str | int, Any] = {}
    types: dict[Any, str] = {}
    for i, record in enumerate(_records(whole, "nodes", "node")):
        attributes = _attributes("nodes", i, record)
        node = own_name(record["node"], attributes)
        if record["node"] in nodes or node in types:
            raise InputError(f"the node {record['node']!r} is listed twice; each node is listed once")
        nodes[record["node"]] = node
        types[node] = type_of(node, attributes, node_type)
    for record in _records(whole, "incidences", "edge", "node"):
        if record["node"] not in nodes:
            nodes[record["node"]] = record["node"]
            types.setdefault(record["node"], TYPE)
    return nodes, types


def _edges(
    whole: Mapping[str, Any], nodes: Mapping[str | int, Any], directed: bool
) -> dict[str | int, list[tuple[Any, Any]]]:
    """The nodes of each edge, with their roles or None."""
    edges: dict[str | int, list[tuple[Any, Any]]] = {}
    for i, record in enumerate(whole["incidences"]):
        role = _attributes("incidences", i, record).get("role")
        if role is None and directed:
            role = record.get("direction")
            if role not in _DIRECTIONS:
                raise InputError(f"incidence {i} has the direction {role!r}; in a directed network it is head or tail")
        edges.setdefault(record["edge"], []).append((nodes[record["node"]], role))
    for i, record in enumerate(_records(whole, "edges", "edge")):
        members = edges.setdefault(record["edge"], [])
        if all(role is None for _, role in members):
            roles = _attributes("edges", i, record).get("roles")
            edges[record["edge"]] = with_roles([node for node, _ in members], _named(roles, nodes))
    return {edge: _numbered(members) if directed else members for edge, members in edges.items()}


def _named(roles: Any, nodes: Mapping[str | int, Any]) -> Any:
    """An attribute `roles` with the nodes that it names, or as it is."""
    if not isinstance(roles, dict):
        return roles
    named = {role: as_node(node) for role, node in roles.items()}
    return {role: nodes.get(node, node) for role, node in named.items()}


def _numbered(members: list[tuple[Any, Any]]) -> list[tuple[Any, Any]]:
    """Heads and tails apart: head, head_2, ..."""
    if any(role not in _DIRECTIONS for _, role in members):
        return members
    return list(zip((node for node, _ in members), default_roles([role for _, role in members]), strict=True))


def _records(whole: Mapping[str, Any], name: str, *keys: str) -> Iterator[dict[str, Any]]:
    """The records of a list, each with ids under these keys."""
    listed = whole.get(name, [])
    if not isinstance(listed, list):
        raise InputError(f"{name!r} is {type_in_words(listed)}; in HIF it is a list of records")
    for i, record in enumerate(listed):
        if not isinstance(record, dict):
            raise InputError(f"record {i} of {name!r} is {reprlib.repr(record)}; in HIF it is an object")
        for key in keys:
            if isinstance(record.get(key), list):
                record[key] = as_node(record[key])  # what xgi writes for a tuple
            if not _is_id(record.get(key)) and not isinstance(record.get(key), tuple):
                what = f"record {i} of {name!r} has the {key} {reprlib.repr(record.get(key))}"
                raise InputError(f"{what}; in HIF that is a string or an integer")
        yield record


def _attributes(name: str, i: int, record: Mapping[str, Any]) -> dict[str, Any]:
    attributes = record.get("attrs", {})
    if not isinstance(attributes, dict):
        raise InputError(f"record {i} of {name!r} has the attrs {reprlib.repr(attributes)}; in HIF they are an object")
    return attributes


def _is_id(x: Any) -> bool:
    return isinstance(x, (str, int)) and not isinstance(x, bool)
