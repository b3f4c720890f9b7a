"""Interop: every library's graph becomes the same Graph, is not changed by it, and comes back whole."""

from __future__ import annotations

import copy
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from netfold.data.graph import Graph
from netfold.errors import InputError

nx = pytest.importorskip("networkx")

EDGES = [("a", "b", 2.0), ("b", "c", 0.5), ("c", "c", 3.0)]
"""With a self-loop; the node d is isolated."""


def dense(graph: Graph) -> Any:
    return graph.adjacency.toarray().tolist()


def expected(directed: bool) -> Any:
    upper = np.array([[0, 2, 0, 0], [0, 0, 0.5, 0], [0, 0, 3, 0], [0, 0, 0, 0]])
    return (upper if directed else np.maximum(upper, upper.T)).tolist()


def networkx_graph(directed: bool) -> Any:
    graph = nx.DiGraph() if directed else nx.Graph()
    graph.add_nodes_from("abcd")
    graph.add_weighted_edges_from(EDGES)
    return graph


def igraph_graph(directed: bool) -> Any:
    igraph = pytest.importorskip("igraph")
    graph = igraph.Graph([("abcd".index(u), "abcd".index(v)) for u, v, _ in EDGES], n=4, directed=directed)
    graph.vs["name"] = list("abcd")
    graph.es["weight"] = [w for *_, w in EDGES]
    return graph


def pyg_data(directed: bool) -> Any:
    u, v, w = (
        list(x) for x in zip(*((int("abcd".index(u)), int("abcd".index(v)), w) for u, v, w in EDGES), strict=True)
    )
    if not directed:  # PyTorch Geometric stores both directions
        u, v, w = u + v[:2], v + u[:2], w + w[:2]
    return SimpleNamespace(edge_index=np.array([u, v]), edge_weight=np.array(w), num_nodes=4)


both = pytest.mark.parametrize("directed", [True, False])


@both
@pytest.mark.parametrize("make", [networkx_graph, igraph_graph, pyg_data])
def test_the_same_graph_from_every_library(make: Any, directed: bool) -> None:
    given = make(directed)
    graph = Graph.of(given)
    assert graph.directed == directed
    assert list(graph.nodes) == ([0, 1, 2, 3] if make is pyg_data else list("abcd"))
    assert dense(graph) == expected(directed)
    assert (graph.n_edges, graph.n_self_loops) == (3, 1)


@both
def test_from_matrices(directed: bool) -> None:
    matrix = np.array(expected(directed))
    kinds = (np.array, sparse.csr_array, sparse.csc_matrix, sparse.coo_array, sparse.lil_array)
    for kind in kinds:
        graph = Graph.of(kind(matrix))
        assert graph.directed == directed
        assert dense(graph) == expected(directed)
        assert list(graph.nodes) == [0, 1, 2, 3]
    assert list(Graph.from_scipy(matrix, nodes="wxyz").nodes) == list("wxyz")
    assert Graph.from_scipy(matrix, directed=True).directed


@pytest.mark.parametrize("make", [networkx_graph, igraph_graph, pyg_data])
def test_the_given_object_is_not_changed(make: Any) -> None:
    given = make(False)
    before = copy.deepcopy(given)
    Graph.of(given)
    if make is networkx_graph:
        assert nx.utils.graphs_equal(given, before)
    elif make is igraph_graph:
        assert given.get_edge_dataframe().equals(before.get_edge_dataframe())
    else:
        assert np.array_equal(given.edge_index, before.edge_index) and np.array_equal(
            given.edge_weight, before.edge_weight
        )
        assert given.edge_index.flags.writeable


# -------------------------------------------------------------------- networkx

NODES = st.one_of(st.integers(-5, 5), st.text("aé ", max_size=2), st.tuples(st.integers(0, 2), st.just("x")))


@settings(deadline=None, max_examples=60)
@given(
    st.lists(NODES, unique=True, min_size=1, max_size=7).flatmap(
        lambda nodes: st.tuples(
            st.just(nodes),
            st.lists(st.tuples(st.sampled_from(nodes), st.sampled_from(nodes), st.integers(1, 64)), max_size=15),
        )
    ),
    st.booleans(),
)
def test_networkx_and_back(drawn: Any, directed: bool) -> None:
    nodes, edges = drawn
    given = nx.DiGraph() if directed else nx.Graph()
    given.add_nodes_from(nodes)
    given.add_weighted_edges_from((u, v, w / 8) for u, v, w in edges)
    back = Graph.from_networkx(given).to_networkx()
    assert type(back) is type(given)
    assert list(back.nodes) == list(given.nodes)
    assert nx.utils.graphs_equal(back, given)


def test_networkx_weights() -> None:
    plain = nx.Graph([("a", "b"), ("b", "c")])
    assert not Graph.from_networkx(plain).is_weighted
    plain["a"]["b"]["weight"] = 4
    assert dense(Graph.from_networkx(plain)) == [[0, 4, 0], [4, 0, 1], [0, 1, 0]]
    plain["b"]["c"]["km"] = 7
    assert dense(Graph.from_networkx(plain, weight="km")) == [[0, 1, 0], [1, 0, 7], [0, 7, 0]]
    plain["a"]["b"]["weight"] = "heavy"
    with pytest.raises(InputError, match="does not hold numbers"):
        Graph.from_networkx(plain)


def test_parallel_edges_are_summed() -> None:
    many = nx.MultiGraph([("a", "b"), ("b", "a"), ("a", "b", {"weight": 3})])
    assert dense(Graph.of(many)) == [[0, 5], [5, 0]]
    one_way = nx.MultiDiGraph([("a", "b"), ("a", "b"), ("b", "a")])
    assert dense(Graph.of(one_way)) == [[0, 2], [1, 0]]


def test_networkx_nodes_that_cannot_be_kept() -> None:
    with pytest.raises(InputError, match="frozenset"):
        Graph.of(nx.Graph([(frozenset("a"), "b")]))


# -------------------------------------------------------------------- igraph


def test_igraph_without_names_or_weights() -> None:
    igraph = pytest.importorskip("igraph")
    graph = Graph.of(igraph.Graph([(0, 1), (1, 2)], n=4))
    assert list(graph.nodes) == [0, 1, 2, 3]
    assert not graph.is_weighted and graph.n_edges == 2
    many = igraph.Graph([(0, 1), (1, 0)])
    assert dense(Graph.of(many)) == [[0, 2], [2, 0]]
    many.es["weight"] = [None, 4]
    assert dense(Graph.of(many)) == [[0, 5], [5, 0]]
    assert Graph.of(igraph.Graph(n=2)).n_edges == 0


# -------------------------------------------------------------------- PyTorch Geometric


def test_pyg_weights() -> None:
    ends = np.array([[0, 1], [1, 0]])
    assert dense(Graph.of(SimpleNamespace(edge_index=ends, num_nodes=2))) == [[0, 1], [1, 0]]
    column = SimpleNamespace(edge_index=ends, num_nodes=2, edge_weight=None, edge_attr=np.array([[2.0], [2.0]]))
    assert dense(Graph.of(column)) == [[0, 2], [2, 0]]
    both = SimpleNamespace(edge_index=ends, num_nodes=2, edge_weight=np.array([3, 3]), edge_attr=np.ones((2, 5)))
    assert dense(Graph.of(both)) == [[0, 3], [3, 0]]
    twice = SimpleNamespace(edge_index=np.array([[0, 0], [1, 1]]), num_nodes=3)
    assert dense(Graph.of(twice)) == [[0, 2, 0], [0, 0, 0], [0, 0, 0]]
    assert Graph.of(SimpleNamespace(edge_index=np.array([[0], [4]]))).n_nodes == 5
    assert Graph.of(SimpleNamespace(edge_index=np.empty((2, 0), np.int64), num_nodes=3)).n_edges == 0


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"edge_attr": np.ones((2, 3))}, "edge_attr has 3 columns"),
        ({"edge_weight": np.ones(3)}, "3 weights do not fit 2 edges"),
        ({"num_nodes": 1}, "edge_index names node 1, but num_nodes is 1"),
        ({"edge_index": np.array([[0, -1], [1, 0]])}, "edge_index names node -1"),
        ({"edge_index": np.array([[0, 1], [1, 0], [1, 1]])}, "2 rows"),
        ({"edge_index": np.array([[0.0, 1], [1, 0]])}, "edge_index holds integers"),
        ({"edge_weight": np.array([1.0, -1])}, "weighs -1"),
    ],
)
def test_pyg_refused(changes: dict[str, Any], why: str) -> None:
    data = {"edge_index": np.array([[0, 1], [1, 0]]), "num_nodes": 2} | changes
    with pytest.raises(InputError, match=why):
        Graph.of(SimpleNamespace(**data))


def test_pyg_with_tensors() -> None:
    torch = pytest.importorskip("torch")
    weights = torch.tensor([2.0, 2.0], requires_grad=True)
    data = SimpleNamespace(edge_index=torch.tensor([[0, 1], [1, 0]]), edge_weight=weights, num_nodes=2)
    assert dense(Graph.of(data)) == [[0, 2], [2, 0]]


# -------------------------------------------------------------------- tables and edges


def test_pandas() -> None:
    pd = pytest.importorskip("pandas")
    table = pd.DataFrame({"from": ["a", "b"], "to": ["b", "c"], "weight": [2, 0.5], "note": ["x", "y"]})
    graph = Graph.of(table)
    assert sorted(graph.nodes) == ["a", "b", "c"]
    assert sorted(graph.to_networkx().edges(data="weight")) == [("a", "b", 2.0), ("b", "c", 0.5)]
    assert not Graph.of(table[["from", "to"]]).is_weighted
    numbers = pd.DataFrame({"u": [5, 3], "v": [3, 9]})
    assert list(Graph.of(numbers).nodes) == [3, 5, 9]
    with pytest.raises(InputError, match="row 1 has no node in the column 'u'; drop such rows"):
        Graph.of(pd.DataFrame({"u": ["a", float("nan")], "v": ["b", "c"]}, dtype=object))
    with pytest.raises(InputError, match="two ends"):
        Graph.of(numbers[["u"]])


@pytest.mark.parametrize(
    ("edges", "nodes", "weighted"),
    [
        (np.array([[1, 2], [2, 7]]), [1, 2, 7], False),
        (np.array([[1.0, 2], [2, 7]]), [1, 2, 7], False),
        (np.array([[1, 2, 0.5], [2, 7, 3]]), [1, 2, 7], True),
        (np.array([[1.5, 2], [2, 7]]), [1.5, 2.0, 7.0], False),
        (np.array([["a", "b"], ["b", "c"]]), ["a", "b", "c"], False),
        ([("a", "b"), ("b", "c")], ["a", "b", "c"], False),
        ([["a", "b", 2], ["b", "c", 1]], ["a", "b", "c"], True),
        (iter([(1, 2), (2, 7)]), [1, 2, 7], False),
        ({(1, 2), (2, 7)}, [1, 2, 7], False),
    ],
)
def test_edges_of_all_shapes(edges: Any, nodes: list[Any], weighted: bool) -> None:
    graph = Graph.of(edges)
    assert sorted(graph.nodes) == nodes
    assert [type(x) for x in sorted(graph.nodes)] == [type(x) for x in nodes]
    assert (graph.n_edges, graph.is_weighted) == (2, weighted)


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ("edges.csv", r"read it first: nf.read_edges\('edges.csv'\)"),
        (Path("edges.csv"), "read it first"),
        (7, "an int cannot be read as a graph"),
        (None, "a NoneType cannot"),
        ({("a", "b"): 2.0}, "a dict cannot be read as a graph"),
    ],
)
def test_what_is_no_graph(given: Any, why: str) -> None:
    with pytest.raises(InputError, match=why):
        Graph.of(given)


def test_a_hypergraph_is_refused() -> None:
    from netfold.data.hypergraph import Hypergraph

    with pytest.raises(InputError, match="this is a hypergraph.*DHNE"):
        Graph.of(Hypergraph.from_tuples([("a", "b", "c")]))


def test_a_graph_is_itself() -> None:
    graph = Graph.from_edges([("a", "b")])
    assert Graph.of(graph) is graph


def test_no_library_is_imported_to_look_at_an_object() -> None:
    code = "import sys; from netfold.data.graph import Graph; Graph.of([(1, 2)]); print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert "netfold.data.graph" in loaded
    assert not {"networkx", "igraph", "pandas", "torch_geometric", "duckdb"} & set(loaded)


# -------------------------------------------------------------------- and out again


@both
def test_igraph_and_pandas_and_back(directed: bool) -> None:
    pytest.importorskip("igraph")
    pytest.importorskip("pandas")
    graph = Graph.from_edges(EDGES, nodes="abcd", directed=directed)
    assert Graph.of(graph.to_igraph()).fingerprint == graph.fingerprint
    table = graph.to_pandas()
    assert list(table.columns) == ["source", "target", "weight"] and len(table) == 3
    again = Graph.of(table, nodes="abcd", directed=directed)
    assert again.fingerprint == graph.fingerprint and again.reading is not None and not again.reading.unused
    numbers = Graph.from_edges([(7, 3), (3, 9)], directed=directed)
    assert numbers.to_pandas()["source"].dtype == np.int64
    assert Graph.of(numbers.to_igraph()).fingerprint == numbers.fingerprint


def test_times_go_out_with_the_table() -> None:
    pd = pytest.importorskip("pandas")
    given = pd.DataFrame({"source": ["a", "b"], "target": ["b", "c"], "time": [3.0, 5.0]})
    assert Graph.of(given).to_pandas()["time"].tolist() == [3, 5]


@both
def test_pyg_and_back(directed: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("torch")
    module = SimpleNamespace(Data=SimpleNamespace)  # the real one is no requirement: its shape is what counts
    monkeypatch.setitem(sys.modules, "torch_geometric", SimpleNamespace(data=module))
    monkeypatch.setitem(sys.modules, "torch_geometric.data", module)
    graph = Graph.from_edges([(0, 1, 2.0), (1, 2, 0.5), (2, 2, 3.0)], nodes=range(4), directed=directed)
    data = graph.to_pyg()
    assert tuple(data.edge_index.shape) == (2, graph.adjacency.nnz) and data.num_nodes == 4
    assert Graph.of(data).fingerprint == graph.fingerprint


def test_a_library_that_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, function in (("igraph", "to_igraph"), ("torch_geometric", "to_pyg"), ("pandas", "to_pandas")):
        monkeypatch.setitem(sys.modules, name, None)
        with pytest.raises(InputError, match=f"{function} needs {name}, which is missing"):
            getattr(Graph.from_edges([(1, 2)]), function)()


def test_heterogeneous_data_are_named() -> None:
    class HeteroData:
        def __iter__(self) -> Any:
            raise NotImplementedError

    with pytest.raises(InputError, match="HeteroData holds several types of nodes"):
        Graph.of(HeteroData())
