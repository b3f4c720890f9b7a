"""What is counted of a graph and of a hypergraph: as loops over the edges count it, and alike wherever it is told."""

from __future__ import annotations

import networkx as nx
import pytest

import netfold as nf
import zoo_hypergraphs
from netfold.cli.info import _of_data
from netfold.data.statistics import Summary, graph_counts, hypergraph_counts
from netfold.show.report.sheets import data_facts
from zoo import ZOO

HYPERGRAPHS = {"tags": zoo_hypergraphs.tags, "facts": zoo_hypergraphs.facts, "papers": zoo_hypergraphs.papers}


@pytest.mark.parametrize("name", ZOO)
def test_counts_of_a_graph_by_loops(name: str) -> None:
    graph = ZOO[name]()
    known = graph.to_networkx()
    found = graph_counts(graph)
    assert (found.nodes, found.edges) == (known.number_of_nodes(), known.number_of_edges())
    assert found.isolated == sum(all(node not in edge for edge in known.edges) for node in known)
    assert found.self_loops == sum(a == b for a, b in known.edges)
    assert found.components == nx.number_connected_components(nx.Graph(known))
    assert (found.directed, found.weighted) == (graph.directed, graph.is_weighted)
    degrees = [len(known[node]) for node in known]
    assert found.degrees == Summary(min(degrees), pytest.approx(sum(degrees) / len(degrees)), max(degrees))
    weights = [w for _, _, w in known.edges(data="weight", default=1.0)]
    assert found.weights is not None
    assert [found.weights.least, found.weights.largest] == pytest.approx([min(weights), max(weights)])


@pytest.mark.parametrize("name", HYPERGRAPHS)
def test_counts_of_a_hypergraph_by_loops(name: str) -> None:
    hypergraph = HYPERGRAPHS[name]()
    found = hypergraph_counts(hypergraph)
    degrees = [sum(edge.count(node) for edge in hypergraph.edges) for node in hypergraph.nodes]
    assert (found.nodes, found.edges) == (len(degrees), len(hypergraph.edges))
    assert found.isolated == degrees.count(0)
    assert found.degrees == Summary(min(degrees), pytest.approx(sum(degrees) / len(degrees)), max(degrees))
    of_nodes = [hypergraph.types[code] for code in hypergraph.type_codes]
    assert found.types == {name: of_nodes.count(name) for name in hypergraph.types}


def test_a_node_that_is_only_linked_to_has_an_edge() -> None:
    """Its degree is 0, since degrees are of the links that go out."""
    graph = nf.Graph.from_edges([("a", "b")], nodes=["a", "b", "c", "d"], directed=True)
    found = graph_counts(graph)
    assert found.isolated == 2 and found.degrees == Summary(0, 0.25, 1) and found.components == 3
    assert dict(data_facts(graph))["nodes without an edge"] == "2" and _of_data(graph)["isolated"] == 2


def test_nothing_has_no_degrees_and_no_weights() -> None:
    found = graph_counts(nf.Graph.from_edges([]))
    assert (found.nodes, found.edges, found.isolated, found.components) == (0, 0, 0, 0)
    assert found.degrees is None and found.weights is None
    assert "degrees" not in _of_data(nf.Graph.from_edges([]))


@pytest.mark.parametrize("name", [*ZOO, *HYPERGRAPHS])
def test_info_and_a_report_tell_the_same(name: str) -> None:
    data = ZOO[name]() if name in ZOO else HYPERGRAPHS[name]()
    info, report = _of_data(data), dict(data_facts(data))
    noun = "edges" if name in ZOO else "hyperedges"
    assert report["nodes"] == f"{info['nodes']:,}" and report[noun] == f"{info[noun]:,}"
    assert report["nodes without an edge"] == f"{info['isolated']:,}"
    assert report["degrees"] == "{min:,} to {max:,}, {mean:,.1f} in the mean".format(**info["degrees"])
    if name in ZOO:
        assert report["connected components"] == f"{info['components']:,}"
        assert report["self-loops"] == f"{info['self_loops']:,}"
        assert ("weights" in report) == info["weighted"]
