"""The cheap ways to vectors of new nodes: against loops, dense solutions and what can be worked out by hand."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest
from scipy import sparse

from netfold.data.embedding import Embedding
from netfold.data.graph import Graph
from netfold.evaluate import (
    NodeSplit,
    label_propagation,
    local_average,
    manifold_regression,
    out_of_sample,
    split_nodes,
)
from netfold.evaluate.new_node_tasks import _Regression, reached
from weighted_graphs import random_graph, vectors_of

Matrix = npt.NDArray[np.float64]


def weights(split: NodeSplit) -> Matrix:
    """Of all pairs, in either direction, without loops."""
    a = split.whole.adjacency.toarray().astype(np.float64)
    a = a + a.T if split.whole.directed else a
    np.fill_diagonal(a, 0)
    return a


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_local_average_against_the_loop(directed: bool, seed: int) -> None:
    split = split_nodes(random_graph(25, seed, directed=directed), 8, seed=seed)
    base = vectors_of(split.known, seed)
    a, whole = weights(split), list(split.whole.nodes)
    made = local_average(split, base)
    assert list(made.nodes) == [whole[i] for i in split.new]
    for i in split.new:
        known = [j for j in range(25) if j not in split.new and a[i, j]]
        total = sum(a[i, j] * base[whole[j]].astype(np.float64) for j in known)
        expected = total / sum(a[i, j] for j in known) if known else base.vectors.mean(axis=0)
        np.testing.assert_allclose(made[whole[i]], expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_label_propagation_against_the_dense_solution_and_its_fixed_point(directed: bool, seed: int) -> None:
    split = split_nodes(random_graph(25, seed, directed=directed), 10, seed=seed)
    base = vectors_of(split.known, seed)
    a, new = weights(split), split.new
    known = split.whole.positions(split.known.nodes)
    made = label_propagation(split, base).vectors
    some = reached(split)
    rows = new[some]
    laplacian = np.diag(a[rows].sum(axis=1)) - a[np.ix_(rows, rows)]
    expected = np.linalg.solve(laplacian, a[np.ix_(rows, known)] @ base.vectors.astype(np.float64))
    np.testing.assert_allclose(made[some], expected, rtol=1e-4, atol=1e-5)
    every = np.zeros((25, 4))
    every[known], every[new] = base.vectors, made
    for i in rows:  # a node is the mean of its neighbors
        np.testing.assert_allclose(every[i], sum(a[i, j] * every[j] for j in range(25)) / a[i].sum(), atol=1e-5)


@pytest.mark.parametrize(("ridge", "smooth"), [(1.0, 0.5), (0.1, 2.0), (10.0, 0.0)])
def test_a_regression_is_least_where_a_loop_over_nodes_and_links_says(ridge: float, smooth: float) -> None:
    split = split_nodes(random_graph(25, 3), 8, seed=3)
    a, known = weights(split), split.whole.positions(split.known.nodes)
    wanted = vectors_of(split.known, 3).vectors.astype(np.float64)
    size = sum(sum(a[v, j] ** 2 for j in range(25)) for v in known) / len(known)
    along = smooth * size / sum(a[v].sum() * (a[v] ** 2).sum() for v in range(25))

    def cost(w: Matrix) -> float:
        total = sum(float(np.square(wanted[i] - a[v] @ w).sum()) for i, v in enumerate(known)) / len(known)
        total += ridge * size / 25 * float(np.square(w).sum())
        for u in range(25):
            for v in range(u):
                total += along * a[u, v] * float(np.square(a[u] @ w - a[v] @ w).sum())
        return total

    laplacian = np.diag(a.sum(axis=1)) - a
    matrix = a[known].T @ a[known] / len(known) + ridge * size / 25 * np.eye(25) + along * a @ laplacian @ a
    best = np.linalg.solve(matrix, a[known].T @ wanted / len(known))
    rng = np.random.default_rng(0)
    assert all(cost(best) < cost(best + 1e-3 * rng.normal(size=best.shape)) for _ in range(20))
    made = _Regression(sparse.csr_array(a)).fitted(known, wanted, ridge, smooth)
    np.testing.assert_allclose(made, a @ best, rtol=1e-3, atol=1e-4)


def test_mrg_places_a_node_by_whom_it_is_linked_with() -> None:
    two = [(a, b) for group in (range(20), range(20, 40)) for a in group for b in group if a < b and (a + b) % 3]
    split = split_nodes(Graph.from_edges([*two, (0, 20)]), 8, seed=1)
    side = {node: 1.0 if node < 20 else -1.0 for node in split.whole.nodes}
    base = Embedding(split.known.nodes, [[side[node], 7.0] for node in split.known.nodes])
    made = manifold_regression(split, base)
    assert all(made[node][0] * side[node] > 0.3 for node in made.nodes)
    np.testing.assert_allclose(made.vectors[:, 1], 7, atol=1e-4)  # what all have in common
    named = out_of_sample("MRG", split, base=base)
    assert named.name == "MRG" and "MRG" not in named.baselines
    assert named.figures == out_of_sample(lambda later: manifold_regression(later, base), split, base=base).figures


def test_worked_out_by_hand() -> None:
    """k0 - new1 - new2 - k1: thirds of the way; new3 hangs on new1; new4 - new5 float, new6 is alone."""
    edges = [("k0", "new1"), ("new1", "new2"), ("new2", "k1"), ("new3", "new1"), ("new4", "new5")]
    graph = Graph.from_edges(edges, nodes=["new6", "new5", "new4", "new3", "k1", "new2", "new1", "k0"])
    new = np.array([0, 1, 2, 3, 5, 6])
    split = NodeSplit(graph.subgraph([7, 4]), graph, new, {})  # the known graph in another order
    base = Embedding(["k1", "unused", "k0"], [[3.0], [99.0], [0.0]])
    made = label_propagation(split, base)
    assert made["new1"][0] == pytest.approx(1)
    assert made["new2"][0] == pytest.approx(2)
    assert made["new3"][0] == pytest.approx(1)
    assert [made[x][0] for x in ("new4", "new5", "new6")] == [1.5, 1.5, 1.5]
    assert reached(split).tolist() == [False, False, False, True, True, True]
    assert reached(split, by="neighbor").tolist() == [False, False, False, False, True, True]
    near = local_average(split, base)
    assert [near[x][0] for x in ("new1", "new2", "new3", "new4")] == [0, 3, 1.5, 1.5]


def test_self_loops_and_scales_of_weights_do_not_matter() -> None:
    edges = [("a", "x", 1e-6), ("x", "y", 1e-6), ("y", "b", 1e-6), ("c", "z", 1e6), ("z", "w", 1e6), ("w", "d", 1e6)]
    loops = [("x", "x", 5.0), ("z", "z", 5.0)]
    base = Embedding("abcd", [[0.0], [3.0], [0.0], [3.0]])
    for given in (edges, edges + loops):
        graph = Graph.from_edges(given, nodes="abcdwxyz")
        split = NodeSplit(graph.subgraph([0, 1, 2, 3]), graph, np.array([4, 5, 6, 7]), {})
        assert label_propagation(split, base).vectors[:, 0] == pytest.approx([2, 1, 2, 1])
        assert local_average(split, base).vectors[:, 0] == pytest.approx([3, 0, 3, 0])


def test_a_long_way_from_the_known() -> None:
    n = 300
    graph = Graph.from_edges([(i, i + 1) for i in range(n)])
    split = NodeSplit(graph.subgraph([0, n]), graph, np.arange(1, n), {})
    made = label_propagation(split, Embedding([0, n], [[0.0], [1.0]])).vectors[:, 0]
    np.testing.assert_allclose(made, np.arange(1, n) / n, atol=1e-4)
