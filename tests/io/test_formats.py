"""Files that other programs write: read, or named for what they are."""

from __future__ import annotations

import gzip
import json
import sys
from pathlib import Path
from typing import Any

import pytest
from scipy.io import mmwrite

from edge_files import write
from netfold.data.graph import Graph
from netfold.errors import InputError
from netfold.io.edges import read_edges
from netfold.io.formats import format_of

nx = pytest.importorskip("networkx")

WRITERS: dict[str, tuple[str, Any]] = {
    "GraphML": ("g.graphml", nx.write_graphml),
    "GEXF": ("g.gexf", nx.write_gexf),
    "GML": ("g.gml", nx.write_gml),
    "Pajek": ("g.net", nx.write_pajek),
    "node-link JSON": (
        "g.json",
        lambda g, path: Path(path).write_text(json.dumps(nx.node_link_data(g, edges="links"))),
    ),
    "networkx edge list": ("g.edgelist", nx.write_edgelist),
}


def example(directed: bool, weights: bool, integers: bool) -> Any:
    graph = nx.DiGraph() if directed else nx.Graph()
    names = [1, 2, 3, 7] if integers else ["ann", "bob", "cid", "dan"]
    for i, (a, b) in enumerate([(0, 1), (1, 2), (3, 0)]):
        graph.add_edge(names[a], names[b], **({"weight": i + 1.5} if weights else {}))
    return graph


@pytest.mark.parametrize("name", WRITERS)
@pytest.mark.parametrize("weights", [True, False])
@pytest.mark.parametrize("integers", [True, False])
@pytest.mark.parametrize("packed", [True, False])
def test_what_networkx_writes_is_read(tmp_path: Path, name: str, weights: bool, integers: bool, packed: bool) -> None:
    file, writer = WRITERS[name]
    given = example(False, weights, integers)
    writer(given, str(tmp_path / file))
    path = write(tmp_path, (tmp_path / file).read_bytes(), file + ".gz") if packed else tmp_path / file
    assert format_of(path) == name
    graph = read_edges(path)
    assert not graph.directed and sorted(graph.nodes) == sorted(given.nodes)
    assert graph.nodes.kind == ("int" if integers else "text")
    edges = {(frozenset((a, b)), w) for a, b, w in given.edges(data="weight", default=1)}
    assert {(frozenset((a, b)), w) for a, b, w in graph.to_networkx().edges(data="weight")} == edges
    assert str(graph.reading) == f"{name}, 3 edges"
    assert not read_edges(path, weighted=False).is_weighted


@pytest.mark.parametrize("name", [x for x in WRITERS if x != "networkx edge list"])
def test_directions_are_those_of_the_file(tmp_path: Path, name: str) -> None:
    file, writer = WRITERS[name]
    given = example(True, True, False)
    writer(given, str(tmp_path / file))
    graph = read_edges(tmp_path / file)
    assert graph.directed and set(graph.to_networkx().edges) == set(given.edges)


def test_matrix_market(tmp_path: Path) -> None:
    given = Graph.from_edges([(1, 2, 2.0), (2, 3, 0.5), (3, 3, 1.0)])
    mmwrite(tmp_path / "g.mtx", given.to_scipy().tocoo(), symmetry="symmetric")
    graph = read_edges(tmp_path / "g.mtx")
    assert list(graph.nodes) == [1, 2, 3] and not graph.directed
    assert (graph.adjacency != given.adjacency).nnz == 0
    (tmp_path / "g.mtx.gz").write_bytes(gzip.compress((tmp_path / "g.mtx").read_bytes()))
    assert read_edges(tmp_path / "g.mtx.gz").fingerprint == graph.fingerprint
    mmwrite(tmp_path / "b.mtx", given.to_scipy()[:2].tocoo())
    with pytest.raises(InputError, match="the matrix is 2 x 3; an adjacency matrix is square"):
        read_edges(tmp_path / "b.mtx")


def test_adjacency_lists_and_graph6(tmp_path: Path) -> None:
    given = example(False, False, True)
    nx.write_adjlist(given, str(tmp_path / "g.adjlist"))
    graph = read_edges(tmp_path / "g.adjlist")
    assert nx.utils.graphs_equal(nx.Graph(list(graph.to_networkx().edges)), nx.Graph(list(given.edges)))
    nx.write_graph6(nx.path_graph(5), str(tmp_path / "g.g6"))
    assert read_edges(tmp_path / "g.g6").n_edges == 4


@pytest.mark.parametrize(
    ("text", "options", "why"),
    [
        ("<?xml version='1.0'?>\n<svg></svg>\n", {}, "this is an XML file, neither GraphML nor GEXF"),
        ("c a graph\np edge 3 2\ne 1 2\ne 2 3\n", {}, "this is a DIMACS file"),
        ('{"network-type": "undirected", "incidences": []}', {}, "this is HIF json.*read_hif"),
        ('{"a": 1}', {}, "this is a JSON file without nodes and links"),
        ("<?xml version='1.0'?><graphml><graph", {}, "the GraphML data are damaged or cannot be read"),
        ("graph [ node [ id 0 ", {}, "the GML data are damaged"),
        ("a b {}\nb c {'w': }\n", {}, "line 2: .* is not two nodes and a dict"),
        ("graph [ node [ id 0 label \"a\" ] ]", {"source": "x"}, "this is a GML file.*leave source= "),
        ("graph [ node [ id 0 label \"a\" ] ]", {"directed": True}, "holds an undirected graph; leave directed=True"),
        ("graph [ node [ id 0 label \"a\" ] ]", {"weighted": True}, "no edge has the attribute 'weight'"),
    ],
)  # fmt: skip
def test_what_cannot_be_read_is_named(tmp_path: Path, text: str, options: dict[str, Any], why: str) -> None:
    path = write(tmp_path, text, "file.txt")
    with pytest.raises(InputError, match=why) as caught:
        read_edges(path, **options)
    assert str(caught.value).startswith(str(path)) and "\n" not in str(caught.value)


def test_without_networkx_it_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path, "graph [ node [ id 0 ] ]", "g.gml")
    monkeypatch.setitem(sys.modules, "networkx", None)
    with pytest.raises(InputError, match=r"this is a GML file, which networkx reads.*netfold\[formats\]"):
        read_edges(path)


def test_gml_without_labels_and_a_weight_of_another_name(tmp_path: Path) -> None:
    text = 'Creator "x"\ngraph [ directed 1 node [ id 5 ] node [ id 7 ] edge [ source 5 target 7 value 3 ] ]'
    graph = read_edges(write(tmp_path, text, "g.gml"), weight="value")
    assert graph.directed and list(graph.nodes) == [5, 7] and graph.adjacency.data.tolist() == [3]
