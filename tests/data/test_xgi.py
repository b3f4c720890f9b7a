"""Hypergraphs from and to xgi, by a stand-in that has its documented views."""

from __future__ import annotations

import json
import sys
from collections import Counter
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from hypergraphs import ROLES, triples
from netfold.data.graph import Graph
from netfold.data.hypergraph import Hypergraph
from netfold.errors import InputError
from netfold.io.hif import read_hif, write_hif


def as_items(hypergraph: Hypergraph) -> Counter[str]:
    """The edges, in whatever order, with their roles, in whatever order."""
    return Counter(str(sorted(edge.items())) for edge in hypergraph.named_edges())


# -------------------------------------------------------------------- the stand-in


class View:
    """As xgi's NodeView and EdgeView: iterate over ids, look up attributes, `members` of an edge as a set."""

    def __init__(self) -> None:
        self.attributes: dict[Any, dict[str, Any]] = {}
        self.sets: dict[Any, Any] = {}

    def __iter__(self) -> Any:
        return iter(self.attributes)

    def __getitem__(self, key: Any) -> dict[str, Any]:
        return self.attributes[key]


class EdgeView(View):
    def members(self, e: Any) -> set[Any]:
        return set(self.sets[e])


class DiEdgeView(EdgeView):
    def members(self, e: Any) -> set[Any]:
        return self.sets[e][0] | self.sets[e][1]

    def dimembers(self, e: Any) -> tuple[set[Any], set[Any]]:
        return self.sets[e]


class XgiHypergraph:
    """What xgi.Hypergraph documents, as far as it is used."""

    def __init__(self, edges: Any = ()) -> None:
        self.nodes, self.edges = View(), EdgeView()
        for edge in edges:
            self.add_edge(edge)

    def add_node(self, node: Any, **attr: Any) -> None:
        self.nodes.attributes.setdefault(node, {}).update(attr)

    def add_edge(self, members: Any, **attr: Any) -> None:
        for node in members:
            self.add_node(node)
        self.edges.sets[len(self.edges.sets)] = set(members)
        self.edges.attributes[len(self.edges.attributes)] = attr


@pytest.fixture
def xgi(monkeypatch: pytest.MonkeyPatch) -> type[XgiHypergraph]:
    module = ModuleType("xgi")
    module.Hypergraph = XgiHypergraph  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "xgi", module)
    return XgiHypergraph


# -------------------------------------------------------------------- from and to it


def test_from_xgi() -> None:
    graph = XgiHypergraph([["c", "a", "b"], ["b", "c"], ["c", "b"]])
    graph.add_node("lone")
    made = Hypergraph.from_xgi(graph)
    assert list(made.nodes) == ["c", "a", "b", "lone"]
    assert made.edges == (("c", "a", "b"), ("c", "b"), ("c", "b"))  # sets, in the order of the nodes
    assert made.types == ("node",)
    graph.add_node("a", type="film")
    assert Hypergraph.from_xgi(graph).node_types == ("node", "film", "node", "node")
    graph.add_node("a", sort="book")
    assert Hypergraph.from_xgi(graph, node_type="sort").node_types[1] == "book"


def test_to_xgi_and_back(xgi: type[XgiHypergraph]) -> None:
    for hypergraph in (triples(), Hypergraph.from_tuples([(3, 1), (2, 3, 1), (9, 1)]), Hypergraph([], "ab")):
        graph = hypergraph.to_xgi()
        assert isinstance(graph, xgi)
        assert [set(graph.edges.members(e)) for e in graph.edges] == [set(edge) for edge in hypergraph.edges]
        assert [graph.nodes[node]["type"] for node in graph.nodes] == list(hypergraph.node_types)
        assert Hypergraph.from_xgi(graph).fingerprint == hypergraph.fingerprint


def test_the_user_s_graph_is_not_changed(xgi: type[XgiHypergraph]) -> None:
    graph = triples().to_xgi()
    before = repr([vars(graph.nodes), vars(graph.edges)])
    Hypergraph.from_xgi(graph)
    assert repr([vars(graph.nodes), vars(graph.edges)]) == before


def test_directed_edges_have_the_roles_tail_and_head() -> None:
    graph = XgiHypergraph()
    for node in "abcd":
        graph.add_node(node)
    graph.edges = DiEdgeView()
    graph.edges.attributes, graph.edges.sets = {"e": {}}, {"e": ({"d", "a"}, {"b"})}
    made = Hypergraph.from_xgi(graph)
    assert made.kinds[0].roles == ("tail", "tail_2", "head")
    assert made.edges == (("a", "d", "b"),)
    graph.edges.sets["e"] = ({"a"}, {"a", "b"})
    with pytest.raises(InputError, match="names a node twice"):
        Hypergraph.from_xgi(graph)


def test_an_attribute_roles_that_is_not_ours_is_passed_over() -> None:
    for odd in ("guests", {"host": "a"}, {"host": "a", "guest": "z"}, {"host": "a", "guest": ["b"]}):
        graph = XgiHypergraph([["a", "b"]])
        graph.edges.attributes[0] = {"roles": odd}
        assert Hypergraph.from_xgi(graph).kinds[0].roles == ("node", "node_2")


def test_refused_by_from_xgi() -> None:
    with pytest.raises(InputError, match="the edge 1 joins fewer than two nodes; skip_small=True"):
        Hypergraph.from_xgi(XgiHypergraph([["a", "b"], ["a"]]))
    assert Hypergraph.from_xgi(XgiHypergraph([["a", "b"], ["a"], []]), skip_small=True).edges == (("a", "b"),)
    graph = XgiHypergraph([["a", "b"]])
    graph.add_node("a", type=3)
    with pytest.raises(InputError, match="the attribute 'type' of the node 'a' is 3"):
        Hypergraph.from_xgi(graph)
    with pytest.raises(InputError, match=r"a Graph is not a hypergraph of xgi; give an xgi.Hypergraph"):
        Hypergraph.from_xgi(Graph.from_edges([(1, 2)]))


def test_without_xgi_the_error_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "xgi", None)
    with pytest.raises(InputError, match=r"to_xgi needs xgi, which is missing; install it \(pip install xgi\)"):
        triples().to_xgi()


# -------------------------------------------------------------------- through its files


def test_roles_and_nodes_come_through_xgi(tmp_path: Path) -> None:
    """xgi keeps the attributes of nodes and edges, not those of incidences, and lists nodes as sets have them."""
    write_hif(triples(), tmp_path / "h.json")
    whole = json.loads((tmp_path / "h.json").read_text())
    for record in whole["incidences"]:
        del record["attrs"]
    whole["nodes"].reverse()
    whole["incidences"].reverse()
    (tmp_path / "x.json").write_text(json.dumps(whole))
    assert as_items(read_hif(tmp_path / "x.json")) == as_items(triples())
    graph = XgiHypergraph([])
    for node in whole["nodes"]:
        graph.add_node(node["node"], **node["attrs"])
    roles = [record["attrs"]["roles"] for record in whole["edges"]]
    for each in roles:
        graph.add_edge(list(each.values()), roles=each)
    found = Hypergraph.from_xgi(graph)
    assert found.edges == triples().edges[:3] and found.kinds[0].roles == ROLES
    graph.add_node("other", netfold_label=["entity", 7])
    with pytest.raises(InputError, match="several nodes have the same netfold_label"):
        Hypergraph.from_xgi(graph)


def test_the_real_xgi(tmp_path: Path) -> None:
    xgi = pytest.importorskip("xgi")
    graph = triples().to_xgi()
    assert Hypergraph.from_xgi(graph).fingerprint == triples().fingerprint
    write_hif(triples(), tmp_path / "ours.json")
    xgi.write_hif(graph, tmp_path / "theirs.json")
    for made in (Hypergraph.from_xgi(xgi.read_hif(tmp_path / "ours.json")), read_hif(tmp_path / "theirs.json")):
        assert as_items(made) == as_items(triples())
        assert dict(zip(made.nodes, made.node_types)) == dict(zip(triples().nodes, triples().node_types))
