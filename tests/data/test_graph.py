"""Graph: its matrices against loops in float64, and a value that nobody can change."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from netfold.data.graph import Graph
from netfold.data.nodes import Nodes
from netfold.errors import InputError

fast = settings(deadline=None, max_examples=50)

WEIGHTS = st.floats(2**-10, 2**10, width=32)
EDGES = st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6), WEIGHTS), max_size=25)


def naive_matrix(edges: list[tuple[int, int, float]], n: int, directed: bool) -> npt.NDArray[np.float64]:
    """s_ij by a loop over edges; a self-loop stands once on the diagonal."""
    matrix = np.zeros((n, n))
    for u, v, w in edges:
        matrix[u, v] += w
        if not directed and u != v:
            matrix[v, u] += w
    return matrix


def dense(matrix: sparse.csr_array) -> npt.NDArray[np.float64]:
    return matrix.toarray().astype(np.float64)


# -------------------------------------------------------------------- formulas


@fast
@given(EDGES, st.booleans())
def test_matrices_are_what_loops_make(edges: list[tuple[int, int, float]], directed: bool) -> None:
    n = 7
    graph = Graph.from_edges(edges, nodes=range(n), directed=directed, duplicates="sum")
    s = naive_matrix(edges, n, directed)
    transition, laplacian = np.zeros((n, n)), np.zeros((n, n))
    for i in range(n):
        total = sum(s[i, j] for j in range(n))
        laplacian[i, i] = total
        for j in range(n):
            transition[i, j] = s[i, j] / total if total else 0
            laplacian[i, j] -= s[i, j]
    np.testing.assert_allclose(dense(graph.adjacency), s, rtol=1e-6)
    np.testing.assert_allclose(dense(graph.transition()), transition, rtol=1e-6)
    np.testing.assert_allclose(dense(graph.laplacian()), laplacian, rtol=1e-5, atol=1e-6 * s.max(initial=1) * n)
    links = {(u, v) if directed else (min(u, v), max(u, v)) for u, v, _ in edges}
    assert graph.n_edges == len(links)
    assert graph.n_self_loops == sum(u == v for u, v in links)
    assert graph.degrees.tolist() == [int(np.count_nonzero(s[i])) for i in range(n)]
    assert [graph.neighbors(i) for i in range(n)] == [[j for j in range(n) if s[i, j]] for i in range(n)]


def test_transition_of_extreme_weights() -> None:
    tiny = Graph.from_edges([("a", "b", 1e-40), ("b", "c", 3e38), ("c", "d", 3e38)])
    p = dense(tiny.transition())
    assert p[0].tolist() == [0, 1, 0, 0]
    np.testing.assert_allclose(p.sum(axis=1), 1)
    assert p[2].tolist() == [0, 0.5, 0, 0.5]


def test_transition_is_a_copy() -> None:
    graph = Graph.from_edges([("a", "b"), ("b", "c")])
    made = graph.transition()
    made.data[:] = 0
    made.eliminate_zeros()
    assert graph.adjacency.nnz == 4


@fast
@given(EDGES, st.permutations(range(7)), st.integers(0, 7), st.booleans())
def test_subgraph(edges: list[tuple[int, int, float]], order: list[int], k: int, directed: bool) -> None:
    graph = Graph.from_edges(edges, nodes=range(7), directed=directed)
    rows = order[:k]
    part = graph.subgraph(rows)
    assert list(part.nodes) == rows
    assert part.directed == directed
    np.testing.assert_array_equal(dense(part.adjacency), dense(graph.adjacency)[np.ix_(rows, rows)])


@pytest.mark.parametrize("rows", [[0, 0], [3], [-1], [True, False, True]])
def test_subgraph_refuses(rows: list[Any]) -> None:
    with pytest.raises(InputError, match=r"row"):
        Graph.from_edges([("a", "b"), ("b", "c")]).subgraph(rows)


# -------------------------------------------------------------------- a frozen value


def test_the_given_matrix_is_not_changed() -> None:
    given = sparse.csr_array(
        (np.array([1, 1, 0, 2, 1, 0], np.float32), np.array([2, 1, 0, 0, 0, 2]), np.array([0, 3, 4, 6])), shape=(3, 3)
    )
    given[1, 0] = 1
    before = [x.copy() for x in (given.data, given.indices, given.indptr)]
    graph = Graph.from_scipy(given)
    for now, then in zip((given.data, given.indices, given.indptr), before, strict=True):
        assert now.flags.writeable
        np.testing.assert_array_equal(now, then)
    assert graph.adjacency.nnz == 4
    assert graph.adjacency.has_canonical_format
    assert graph.adjacency.data.all()


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64, bool])
@pytest.mark.parametrize("index", [np.int32, np.int64])
def test_arrays_are_read_only_float32(dtype: Any, index: Any) -> None:
    given = sparse.csr_array(np.array([[0, 1, 0], [1, 0, 1], [0, 1, 0]], dtype))
    given.indices, given.indptr = given.indices.astype(index), given.indptr.astype(index)
    graph = Graph.from_scipy(given)
    assert graph.adjacency.dtype == np.float32
    assert not any(x.flags.writeable for x in (graph.adjacency.data, graph.adjacency.indices, graph.adjacency.indptr))
    assert given.data.flags.writeable and given.indices.flags.writeable and given.indptr.flags.writeable
    with pytest.raises(dataclasses.FrozenInstanceError):
        graph.directed = True  # type: ignore[misc]
    with pytest.raises(ValueError, match="read-only"):
        graph.adjacency.data[0] = 5
    graph.to_scipy().data[0] = 5
    assert graph.adjacency[0, 1] == 1


def test_what_is_no_adjacency_matrix() -> None:
    square = sparse.csr_array(np.array([[0, 1], [0, 0.0]]))
    with pytest.raises(InputError, match="not symmetric"):
        Graph(square, Nodes.of("ab"))
    assert Graph(square, Nodes.of("ab"), directed=True).n_edges == 1
    with pytest.raises(InputError, match="3 nodes do not fit an adjacency matrix of 2 rows"):
        Graph(square, Nodes.of("abc"), directed=True)
    with pytest.raises(InputError, match="square, not 2 x 3"):
        Graph.from_scipy(sparse.csr_array((2, 3)))
    with pytest.raises(InputError, match="real numbers, not complex128"):
        Graph.from_scipy(square.astype(complex))
    with pytest.raises(InputError, match="real numbers, not complex128"):
        Graph(square.astype(complex), Nodes.of("ab"), directed=True)
    with pytest.raises(InputError, match="2 axes, not 1"):
        Graph.from_scipy(np.zeros(3))


def test_fingerprints_tell_graphs_apart() -> None:
    edges = [("a", "b", 1.0), ("b", "c", 2.0)]
    graph = Graph.from_edges(edges, nodes="abc")
    wide = graph.to_scipy()
    wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
    same = [Graph.from_edges(edges[::-1], nodes="abc"), Graph(wide, Nodes.of("abc"))]
    assert {x.fingerprint for x in same} == {graph.fingerprint}
    others = [
        Graph.from_edges(edges, nodes="abcd"),
        Graph.from_edges(edges, nodes="bac"),
        Graph.from_edges([("a", "b", 1.0), ("b", "c", 2.5)], nodes="abc"),
        Graph(graph.adjacency, graph.nodes, directed=True),
        Graph(graph.adjacency, Nodes.of([1, 2, 3])),
        Graph(graph.adjacency, Nodes.of(["1", "2", "3"])),
    ]
    assert len({x.fingerprint for x in [graph, *others]}) == len(others) + 1


def test_repr() -> None:
    ring = Graph.from_edges([(i, (i + 1) % 2000) for i in range(2000)])
    assert repr(ring) == "Graph(2,000 nodes, 2,000 edges, undirected)"
    assert (
        repr(Graph.from_edges([("a", "b", 2), ("b", "a", 1)], directed=True))
        == "Graph(2 nodes, 2 edges, directed, weighted)"
    )
