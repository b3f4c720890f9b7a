"""`Graph.from_edges`: order of nodes, duplicates, weights, and what is no edge."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import sparse

from netfold.data.edges import adjacency, entry_times
from netfold.data.graph import Graph
from netfold.data.nodes import Nodes
from netfold.errors import InputError


def test_order_of_nodes() -> None:
    assert list(Graph.from_edges([(30, 4), (4, 7)]).nodes) == [4, 7, 30]
    assert list(Graph.from_edges(np.array([[30, 4], [4, 7]])).nodes) == [4, 7, 30]
    assert sorted(Graph.from_edges([("z", "a"), ("a", "m")]).nodes) == ["a", "m", "z"]
    given = Graph.from_edges([("z", "a")], nodes=["q", "a", "z"])
    assert list(given.nodes) == ["q", "a", "z"]
    assert given.degrees.tolist() == [0, 1, 1]
    assert given.positions(["z", "q"]).tolist() == [2, 0]


def test_an_edge_to_a_node_that_is_not_given() -> None:
    with pytest.raises(InputError, match="no node is called 'x'"):
        Graph.from_edges([("a", "x")], nodes=["a", "b"])


@pytest.mark.parametrize(
    ("edges", "directed", "rule", "weight"),
    [
        ([("a", "b"), ("a", "b")], False, None, 1),
        ([("a", "b"), ("b", "a")], False, None, 1),
        ([("a", "b"), ("a", "b")], False, "sum", 2),
        ([("a", "b"), ("b", "a")], False, "sum", 2),
        ([("a", "b", 2.0), ("b", "a", 0.5)], False, None, 2.5),
        ([("a", "b", 2.0), ("b", "a", 0.5)], False, "one", 1),
        ([("a", "b", 2.0), ("b", "a", 0.5)], True, None, 2),
        ([("a", "b", 2.0), ("b", "a", 0.5)], True, "error", 2),
        ([("a", "b", 2.0), ("a", "b", 0.5)], True, "sum", 2.5),
        ([("a", "b", 2.0)], False, "error", 2),
        ([("a", "a", 2.0), ("a", "b", 1.0)], False, "error", 1),
    ],
)
def test_duplicates(edges: list[Any], directed: bool, rule: str | None, weight: float) -> None:
    graph = Graph.from_edges(edges, nodes=["a", "b"], directed=directed, duplicates=rule)
    assert graph.adjacency[0, 1] == weight


def test_duplicates_in_both_directions_have_one_sum() -> None:
    # in float32, 1.89 + 1.89 + 127 and 127 + 1.89 + 1.89 differ: the two directions must not be summed apart
    graph = Graph.from_edges([(0, 1, 1.89174485206604), (1, 0, 1.89174485206604), (0, 1, 127.0)])
    assert graph.adjacency[0, 1] == graph.adjacency[1, 0] == pytest.approx(130.78349)


@pytest.mark.parametrize(
    ("edges", "directed"),
    [
        ([("a", "b"), ("c", "b"), ("a", "b")], True),
        ([("a", "b"), ("b", "a")], False),
        ([("a", "a"), ("a", "a")], False),
        ([("a", "b", 1.0), ("b", "a", 2.0)], False),
    ],
)
def test_duplicates_refused(edges: list[Any], directed: bool) -> None:
    with pytest.raises(InputError, match=r"the edge '.' - '.' is given twice"):
        Graph.from_edges(edges, directed=directed, duplicates="error")


def test_an_unknown_rule() -> None:
    with pytest.raises(InputError, match="duplicates='drop' is not one of sum, one, error"):
        Graph.from_edges([("a", "b")], duplicates="drop")


@pytest.mark.parametrize("weight", [-1.0, float("nan"), float("inf"), 1e39, -1e-9])
@pytest.mark.parametrize("make", ["edges", "scipy", "graph"])
def test_weights_refused(make: str, weight: float) -> None:
    matrix = sparse.csr_array(np.array([[0, weight], [weight, 0]]))
    which = r"edge 1 \('b', 'c'\)" if make == "edges" else "an edge"
    with pytest.raises(InputError, match=f"{which} weighs .*weights are finite numbers of at least 0"):
        if make == "edges":
            Graph.from_edges([("a", "b", 1.0), ("b", "c", weight)])
        elif make == "scipy":
            Graph.from_scipy(matrix)
        else:
            Graph(matrix, Nodes.of("ab"))


def test_an_edge_of_weight_zero_is_none() -> None:
    graph = Graph.from_edges([("a", "b", 0.0), ("b", "c", 1.0)])
    assert (graph.n_nodes, graph.n_edges, graph.adjacency.nnz) == (3, 1, 2)


def test_nothing_at_all() -> None:
    empty = Graph.from_edges([])
    assert repr(empty) == "Graph(0 nodes, 0 edges, undirected)"
    assert empty.transition().shape == empty.laplacian().shape == (0, 0)
    assert repr(Graph.from_edges([], nodes=["a"])) == "Graph(1 node, 0 edges, undirected)"


@pytest.mark.parametrize(
    ("edges", "why"),
    [
        ([("a",)], "edge 0 is"),
        (["ab"], "edge 0 is 'ab'"),
        ([("a", "b"), ("a", "b", 1.0)], "edge 1 is"),
        ([("a", "b", "heavy")], "the third column does not hold numbers"),
        ([(["a"], "b")], "a node cannot be a key"),
        ([("a", None), (float("nan"), "b")], "the node nan"),
        (np.zeros(3), "one row per edge"),
        (np.zeros((3, 1)), "two ends"),
    ],
)
def test_what_is_no_edge(edges: Any, why: str) -> None:
    with pytest.raises(InputError, match=why):
        Graph.from_edges(edges)


@pytest.mark.parametrize("weights", [[1.0], [[1.0], [2.0]], np.ones(3)])
def test_weights_that_do_not_fit(weights: Any) -> None:
    with pytest.raises(InputError, match="do not fit 2 edges"):
        Graph.from_edges([("a", "b"), ("b", "c")], weights)


@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("weighted", [True, False])
def test_times_are_the_earliest_of_each_entry(directed: bool, weighted: bool) -> None:
    rng = np.random.default_rng(3)
    u, v = rng.integers(0, 12, (2, 90))
    times, weights = rng.integers(-3, 40, 90).astype(float), rng.integers(0, 2, 90).astype(float)
    times[::7] = np.nan
    matrix = adjacency([(u[:50], v[:50]), (u[50:], v[50:])], weights if weighted else None, 12, directed=directed)
    found = entry_times(matrix, [(u[:50], v[:50]), (u[50:], v[50:])], times, directed=directed)
    rows = np.repeat(np.arange(12), np.diff(matrix.indptr))
    for i, j, time in zip(rows, matrix.indices, found, strict=True):
        here = (u == i) & (v == j) | ((u == j) & (v == i) & (not directed))
        known = times[here][~np.isnan(times[here])]
        assert (time == known.min()) if len(known) else np.isnan(time)
