"""DepthLGP and Node2VecPlus with attributes: the answers of the kernel K + γ X Xᵀ against dense algebra."""

from __future__ import annotations

import numpy as np
import pytest

import netfold as nf
from attributed import attributed, cold, dense_columns, linked_groups, sparse_columns
from netfold.data.attributes import Attributes, Column
from netfold.data.embedding import Embedding
from netfold.data.graph import Graph
from netfold.data.scaling import Scaling
from netfold.errors import InputError
from netfold.models import DepthLGP, Node2VecPlus


def places(graph: Graph, seed: int = 0) -> Embedding:
    rng = np.random.default_rng(seed)
    centers = np.where((np.arange(graph.n_nodes) % 2)[:, None] == 0, [3.0, 0, 1], [-3.0, 1, 0])
    return Embedding(graph.nodes, (centers + rng.normal(size=centers.shape)).astype(np.float32))


def later_of(graph: Graph) -> Graph:
    """A node with links and attributes, one with links alone, and one with attributes alone."""
    n = graph.n_nodes
    edges = Graph.from_edges([(n, 0), (n, 2), (n + 1, 1), (n, n + 1)], nodes=[*range(n + 3)])
    return Graph(edges.adjacency, edges.nodes, directed=False, attributes=graph.attributes.rows([*range(n), 4, -1, 1]))


@pytest.mark.parametrize("columns", [sparse_columns, dense_columns])
def test_new_nodes_are_where_dense_algebra_places_them(columns):
    """z = X_* w - M_**⁻¹ M_*x (h - X w) with w = (XᵀX + 1/γ)⁻¹Xᵀh, in float64."""
    graph = attributed(linked_groups(30), columns(30))
    model = DepthLGP(epochs=0, hidden=0, starts="given", attribute_weight=0.5).fit(graph, places(graph), progress=False)
    later = later_of(graph)
    scaling = Scaling.fit(graph.attributes)
    blocks = [scaling.block(x.attributes) for x in (graph, later)]
    x, every = (np.array(b.values if isinstance(b.values, np.ndarray) else b.values.toarray(), float) for b in blocks)
    process = model.network_
    h = process.latent.detach().numpy().astype(float)
    some = blocks[0].known.any(axis=1)
    w = np.linalg.solve(x[some].T @ x[some] + 2 * np.eye(x.shape[1]), x[some].T @ h[some])
    links = np.zeros((33, 33))
    links[:30, :30] = graph.adjacency.toarray()
    for i, j in ((30, 0), (30, 2), (31, 1), (30, 31)):
        links[i, j] = links[j, i] = 1
    a = np.ones(33)
    a[:30] = process.kernel.weights(process.kernel.raw_weights.detach()).numpy()[:, 0]
    first = a[:, None] * links * a
    second = first @ first
    eta, zeta = (float(x.detach()) for x in (process.kernel.eta, process.kernel.zeta))
    m = np.eye(33) + eta * (np.diag(first.sum(1)) - first) + zeta * (np.diag(second.sum(1)) - second)
    residual = h - x @ w
    expected = every[30:] @ w - np.linalg.solve(m[30:, 30:], m[30:, :30] @ residual)
    found = model.transform(later).vectors - process.mean.numpy()
    assert np.allclose(found, expected, atol=2e-4)


def test_a_weight_of_0_and_attributes_of_all_zeros_are_the_model_of_links():
    graph = linked_groups()
    own, plain = places(graph), attributed(graph, None)
    a = DepthLGP(epochs=1, samples=32).fit(plain, own, progress=False)
    b = DepthLGP(epochs=1, samples=32, attribute_weight=0).fit(graph, own, progress=False)
    zeros = attributed(plain, Attributes((Column("x", "vector", np.zeros((graph.n_nodes, 3))),)))
    c = DepthLGP(epochs=1, samples=32).fit(zeros, own, progress=False)
    edges = Graph.from_edges([("z", 0), ("z", 2)])
    for model in (b, c):
        assert np.array_equal(a.transform(edges)["z"], model.transform(edges)["z"])


@pytest.mark.parametrize("routine", ["exact", "sampled"])
def test_a_node_without_links_has_a_place_and_an_honest_deviation(routine, tmp_path):
    """On nodes that were not fitted: in the right group, and errors about as large as is said."""
    graph = linked_groups(120)
    own, rows = places(graph), np.arange(90)
    held = np.arange(90, 120)
    model = DepthLGP(epochs=1, samples=32, routine=routine).fit(
        graph.subgraph(rows), Embedding(range(90), own.vectors[:90]), progress=False
    )
    new = model.transform(cold(graph, held, list(held)))  # and says nothing of missing paths
    wrong = np.square(new.vectors - own.vectors[held]) / np.square(new.std)
    assert 0.5 < wrong.mean() < 2
    model.save(tmp_path / "m.netfold")
    again = nf.load(tmp_path / "m.netfold").transform(cold(graph, held, list(held)))
    assert np.array_equal(again.vectors, new.vectors)
    assert np.array_equal(again.std, new.std)


def test_a_node_of_which_nothing_is_known_is_told_of_and_a_graph_without_attributes_refused():
    graph = linked_groups()
    model = DepthLGP(epochs=0).fit(graph, places(graph), progress=False)
    with pytest.warns(UserWarning, match="no path to any known node"):
        model.transform(cold(graph, [-1], ["nothing"]))
    with pytest.raises(InputError, match="fitted with attributes"):
        model.transform(Graph.from_edges([("z", 0)]))


def test_node2vecplus_places_nodes_without_links():
    graph = linked_groups()
    options = {"dim": 4, "length": 10, "window": 2, "epochs": 3}
    model = Node2VecPlus(**options).fit(graph, progress=False)
    plain = Node2VecPlus(**options).fit(attributed(graph, None), progress=False)
    assert np.array_equal(model.embedding_.vectors, plain.embedding_.vectors)  # attributes are for new nodes
    new = model.transform(cold(graph, [0, 1], ["x", "y"]))
    groups = [[i % 2 for i, _ in model.embedding_.nearest(v, k=5)] for v in new.vectors]
    assert [round(np.mean(x)) for x in groups] == [0, 1]
