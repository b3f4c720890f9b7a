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
    return np.array(columns[:dim]).T


@pytest.mark.parametrize("graph", [zoo.karate, zoo.directed, zoo.scattered])
@pytest.mark.parametrize("dim", [1, 4, 5, 12, 32])
def test_columns_are_those_of_a_loop(graph, dim):
    g = graph()
    a = g.adjacency.toarray() + g.adjacency.toarray().T
    np.fill_diagonal(a, 0)
    expected = naive(a, dim)
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


def test_like_surroundings_get_like_vectors():
    graph = nf.datasets.barbell(clique=4, path=3)
    vectors = nf.DegreeFeatures().fit(graph, progress=False).embedding_.vectors
    np.testing.assert_allclose(vectors[0], vectors[-1], atol=1e-6)
    assert np.abs(vectors[0] - vectors[5]).max() > 0.1
