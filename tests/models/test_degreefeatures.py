"""DegreeFeatures against plain loops, and the baseline that has its first five columns."""

from __future__ import annotations

import numpy as np
import pytest

import netfold as nf
import zoo
from netfold.evaluate.baselines import degree_features
from netfold.models.degreefeatures import degree_columns


def naive(a: np.ndarray, dim: int) -> np.ndarray:
    """Column by column, node by node."""
    n = len(a)
    near = [[j for j in range(n) if a[i, j]] for i in range(n)]
    columns = [[float(len(x)) for x in near], [np.log(1 + len(x)) for x in near]]
    degrees = columns[0]
    columns.append([sum(degrees[j] for j in x) / len(x) if x else 0.0 for x in near])
    columns.append([max((degrees[j] for j in x), default=0.0) for x in near])
    columns.append([sum(degrees[j] for j in x) for x in near])
    source = 1
    while len(columns) < dim:
        values = [np.log(1 + v) for v in columns[source]] if source in (2, 3, 4) else columns[source]
        columns.append([sum(values[j] for j in x) / len(x) if x else 0.0 for x in near])
        columns.append([max((values[j] for j in x), default=0.0) for x in near])
        source += 1
    return np.array(columns).T[:, :dim]


@pytest.mark.parametrize("graph", [zoo.karate, zoo.directed, zoo.scattered])
@pytest.mark.parametrize("dim", [1, 4, 5, 12, 32])
def test_columns_are_those_of_a_loop(graph, dim):
    g = graph()
    out = g.adjacency.toarray()
    np.fill_diagonal(out, 0)
    third = dim // 3 if g.directed else 0
    kinds = ((out + out.T, dim - 2 * third), (out, third), (out.T, third))
    expected = np.hstack([naive(a, width) for a, width in kinds])
    model = nf.DegreeFeatures(dim=dim).fit(g, progress=False)
    np.testing.assert_allclose(model.network_.array("columns"), expected, rtol=1e-10)
    deviation = expected.std(axis=0)
    wanted = (expected - expected.mean(axis=0)) / np.where(deviation > 1e-9 * expected.mean(axis=0), deviation, 1)
    np.testing.assert_allclose(model.embedding_.vectors, wanted, atol=1e-5)


def test_the_baseline_has_the_first_five_columns():
    graph = zoo.karate()
    columns = nf.DegreeFeatures(dim=5).fit(graph, progress=False).network_.array("columns")
    np.testing.assert_array_equal(degree_features(graph).vectors, columns.astype(np.float32))


def test_columns_of_other_nodes_come_from_their_neighbors():
    graph = zoo.karate()
    links = graph.adjacency.astype(np.float64)
    whole = degree_columns(links, 20)
    np.testing.assert_allclose(degree_columns(links[[3, 8]], 20, of=whole), whole[[3, 8]], rtol=1e-12)


@pytest.mark.parametrize("dim", [1, 5, 32])
def test_a_new_node_of_a_directed_graph_gets_what_one_wired_alike_has(dim, tmp_path):
    arcs = [("a", "b"), ("a", "c"), ("b", "c"), ("c", "d"), ("d", "a"), ("d", "b")]
    model = nf.DegreeFeatures(dim=dim).fit(nf.Graph.from_edges(arcs, directed=True), progress=False)
    model.save(tmp_path / "m.netfold")
    later = nf.Graph.from_edges([*arcs, ("new", "b"), ("new", "c"), ("d", "new")], directed=True)
    for known in (model, nf.load(tmp_path / "m.netfold")):
        np.testing.assert_allclose(known.transform(later)["new"], model.embedding_["a"], atol=1e-5)


def test_senders_and_receivers_play_different_roles():
    arcs = [(f"s{i}", f"r{(i + k) % 6}") for i in range(6) for k in range(3)]
    vectors = {
        directed: nf.DegreeFeatures().fit(nf.Graph.from_edges(arcs, directed=directed), progress=False).embedding_
        for directed in (False, True)
    }
    assert np.abs(vectors[False]["s0"] - vectors[False]["r0"]).max() < 1e-6
    assert np.abs(vectors[True]["s0"] - vectors[True]["r0"]).max() > 1


def test_a_file_of_before_has_one_kind_of_neighbors():
    arcs = [("a", "b"), ("a", "c"), ("b", "c"), ("c", "d")]
    model = nf.DegreeFeatures(dim=6).fit(nf.Graph.from_edges(arcs), progress=False)
    model.graph_facts_ |= {"directed": True}  # as those of directed graphs were: without "kinds"
    later = nf.Graph.from_edges([*arcs, ("b", "new"), ("new", "c")], directed=True)
    np.testing.assert_allclose(model.transform(later)["new"], model.embedding_["a"], atol=1e-5)


def test_like_surroundings_get_like_vectors():
    graph = nf.datasets.barbell(clique=4, path=3)
    vectors = nf.DegreeFeatures().fit(graph, progress=False).embedding_.vectors
    np.testing.assert_allclose(vectors[0], vectors[-1], atol=1e-6)
    assert np.abs(vectors[0] - vectors[5]).max() > 0.1
