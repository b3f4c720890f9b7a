"""Spectral over attributes: the SVD of PᵏX and of [N | γ X] against dense numpy in float64."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

import netfold as nf
from allocations import Allocations
from attributed import attributed, dense_columns, linked_groups, sparse_columns
from netfold.data.attributes import Attributes, Column
from netfold.data.graph import Graph
from netfold.data.scaling import Scaling
from netfold.errors import InputError
from netfold.models import Joined, Node2Vec, Spectral

COLUMNS = {"sparse": sparse_columns, "dense": dense_columns}


def filled(attributes):
    """X in float64, what is missing being the mean of what is known."""
    block = Scaling.fit(attributes).block(attributes)
    x = np.array(block.values if isinstance(block.values, np.ndarray) else block.values.toarray(), np.float64)
    for column, (a, b) in enumerate(block.slices):
        known = block.known[:, column]
        x[~known, a:b] = x[known, a:b].mean(axis=0)
    return x


def smoothed(graph, x, powers):
    links = graph.adjacency.toarray().astype(np.float64)
    loops = links + np.eye(len(links)) * graph.adjacency.data.mean()
    walk = loops / loops.sum(axis=1, keepdims=True)
    return np.linalg.matrix_power(walk, powers) @ x


def beside(graph, x, weight, added):
    links = graph.adjacency.toarray().astype(np.float64)
    sums = links.sum(axis=1) + added * links.sum(axis=1).mean()
    normal = links / np.sqrt(np.outer(sums, sums))
    block = Scaling.fit(graph.attributes).block(graph.attributes).values
    own = np.square(block if isinstance(block, np.ndarray) else block.toarray(), dtype=np.float64).sum()
    return np.hstack([normal, weight * np.sqrt(np.square(normal).sum() / own) * x])


def expected_products(matrix, dim, power):
    """The products of rows of U Σ^power, at a mean square length of 1: what signs and turns leave as they are."""
    u, s, _ = np.linalg.svd(matrix)
    vectors = u[:, :dim] * s[:dim] ** power
    return vectors @ vectors.T / np.square(vectors).sum(axis=1).mean()


@pytest.mark.parametrize("kind", COLUMNS)
@pytest.mark.parametrize("powers", [0, 1, 2, 3])
@pytest.mark.parametrize("power", [1.0, 2.0])
def test_smoothed_is_the_svd_of_averaged_attributes(kind, powers, power):
    graph = attributed(linked_groups(40), COLUMNS[kind](40))
    model = Spectral(matrix="smoothed", powers=powers, power=power, dim=4, tolerance=1e-9).fit(graph, progress=False)
    expected = expected_products(smoothed(graph, filled(graph.attributes), powers), 4, power)
    vectors = model.embedding_.vectors.astype(np.float64)
    assert np.allclose(vectors @ vectors.T, expected, atol=1e-5)


@pytest.mark.parametrize("kind", COLUMNS)
def test_attributes_is_the_svd_of_links_and_attributes_side_by_side(kind):
    graph = attributed(linked_groups(40), COLUMNS[kind](40))
    model = Spectral(matrix="attributes", attribute_weight=0.7, dim=4, tolerance=1e-9).fit(graph, progress=False)
    expected = expected_products(beside(graph, filled(graph.attributes), 0.7, 0.1), 4, 2.0)
    vectors = model.embedding_.vectors.astype(np.float64)
    assert np.allclose(vectors @ vectors.T, expected, atol=1e-5)


@pytest.mark.parametrize("matrix", ["smoothed", "attributes"])
def test_a_new_node_that_is_like_a_known_one_is_near_it(matrix, tmp_path):
    graph = linked_groups()
    model = Spectral(matrix=matrix, dim=4).fit(graph, progress=False)
    n, near = graph.n_nodes, graph.neighbors(0)
    edges = Graph.from_edges([(n, x) for x in near], nodes=[*range(n + 2)])
    rows = [*range(n), 0, 0]  # the last has no links
    later = Graph(edges.adjacency, edges.nodes, directed=False, attributes=graph.attributes.rows(rows))
    new = model.transform(later)
    own = model.embedding_[0]
    assert np.linalg.norm(new[n] - own) < 0.35 * np.linalg.norm(own)
    assert [x % 2 for x, _ in model.embedding_.nearest(new[n + 1], k=5)] == [0] * 5
    model.save(tmp_path / "m.netfold")
    assert np.array_equal(nf.load(tmp_path / "m.netfold").transform(later).vectors, new.vectors)


def test_a_new_node_is_averaged_as_a_known_one_is():
    """With one average, the vector of a known node, taken as new, is what it is: its neighbors' words and its own."""
    graph = linked_groups()
    model = Spectral(matrix="smoothed", powers=1, dim=4).fit(graph, progress=False)
    n = graph.n_nodes
    edges = Graph.from_edges([(n, x) for x in graph.neighbors(0)], nodes=[*range(n + 1)])
    later = Graph(edges.adjacency, edges.nodes, directed=False, attributes=graph.attributes.rows([*range(n), 0]))
    assert np.allclose(model.transform(later)[n], model.embedding_[0], atol=1e-5)


def test_no_dense_array_of_nodes_times_attributes_is_made():
    n, words = 1200, 3000
    rng = np.random.default_rng(0)
    matrix = sparse.random_array((n, words), density=0.002, rng=rng).tocsr()
    links = sparse.random_array((n, n), density=0.003, rng=rng).tocsr()
    attributes = Attributes((Column("words", "words", matrix, tuple(map(str, range(words)))),))
    graph = Graph.from_scipy(links + links.T)
    with Allocations() as seen:
        Spectral(matrix="smoothed", dim=4, tolerance=0.5).fit(attributed(graph, attributes), progress=False)
    assert seen.numbers < n * words / 10


def test_a_graph_without_attributes_is_refused_where_the_matrix_is_of_them():
    graph = attributed(linked_groups(), None)
    with pytest.raises(InputError, match="is of attributes, and the graph has none"):
        Spectral(matrix="smoothed").fit(graph, progress=False)


def test_a_model_of_links_alone_says_that_it_is():
    graph = linked_groups()
    with pytest.warns(UserWarning, match="reads links alone, and not what is known about nodes"):
        model = Spectral(dim=4).fit(graph, progress=False)
    plain = Spectral(dim=4).fit(attributed(graph, None), progress=False)
    assert np.array_equal(model.embedding_.vectors, plain.embedding_.vectors)


def test_vectors_of_links_beside_those_of_attributes():
    graph = linked_groups()
    parts = [Node2Vec(dim=4, epochs=1), Spectral(matrix="smoothed", dim=4)]
    model = Joined(parts).fit(graph, progress=False)
    alone = parts[1].fit(graph, progress=False)
    ratio = model.embedding_.vectors[:, 4:] / alone.embedding_.vectors
    assert np.allclose(ratio, ratio[0, 0], rtol=1e-3)
    with pytest.raises(InputError, match="fitted with attributes"):
        model.transform(Graph.from_edges([(0, "z")]))
