"""`links`, under every combination of its arguments, against a loop over pairs."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from netfold.data.edges import linked_nodes, links, neighbor_counts
from netfold.data.graph import Graph

EDGES = [(0, 1, 2.0), (1, 0, 0.5), (1, 2, 3.0), (3, 3, 4.0), (2, 4, 1.5), (4, 4, 0.25), (6, 0, 7.0)]  # 5 is isolated


def graph_of(directed: bool) -> Graph:
    return Graph.from_edges(EDGES, nodes=range(7), directed=directed)


def by_a_loop(graph: Graph, directed: bool, weights: bool, loops: str) -> np.ndarray:
    s, n = graph.adjacency.toarray().astype(np.float64), graph.n_nodes
    found = np.zeros((n, n))
    for i, j in itertools.product(range(n), repeat=2):
        if i == j and loops == "drop":
            continue
        summed = s[i, j] + (s[j, i] if graph.directed and not directed else 0)
        found[i, j] = summed if weights else float(summed > 0)
        if i == j and loops == "all" and not summed:
            found[i, j] = 1
    return found


@pytest.mark.parametrize("loops", ["drop", "keep", "all"])
@pytest.mark.parametrize("weights", [False, True])
@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("graph", [graph_of(False), graph_of(True)], ids=["undirected", "directed"])
def test_links_are_those_of_a_loop_over_pairs(graph, directed, weights, loops):
    found = links(graph, directed=directed, weights=weights, loops=loops)
    assert found.dtype == np.float64
    assert found.has_canonical_format and (found.data != 0).all()
    assert np.array_equal(found.toarray(), by_a_loop(graph, directed, weights, loops))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("weights", [False, True])
@pytest.mark.parametrize("loops", ["drop", "keep", "all"])
def test_numbers_are_of_the_dtype_asked_for(loops, weights, dtype):
    for directed in (False, True):
        assert links(graph_of(True), directed=directed, weights=weights, loops=loops, dtype=dtype).dtype == dtype


def test_the_graphs_own_matrix_is_not_copied_where_it_is_the_answer():
    graph = graph_of(False)
    assert links(graph, directed=False, weights=True, loops="keep", dtype=np.float32) is graph.adjacency


def test_a_graph_without_edges_or_nodes():
    for graph in (Graph.from_edges([], nodes=range(3)), Graph.from_edges([], nodes=[])):
        n = graph.n_nodes
        assert links(graph, directed=False, weights=False, loops="drop").nnz == 0
        assert links(graph, directed=False, weights=False, loops="all").nnz == n
        assert not linked_nodes(graph).any()
        assert neighbor_counts(graph).tolist() == [0] * n


@pytest.mark.parametrize("directed", [False, True])
def test_which_nodes_have_links_and_with_how_many_others(directed):
    graph = graph_of(directed)
    either = (graph.adjacency.toarray() + graph.adjacency.toarray().T) > 0
    assert linked_nodes(graph).tolist() == either.any(axis=1).tolist()
    np.fill_diagonal(either, False)
    assert neighbor_counts(graph).tolist() == either.sum(axis=1).tolist()
