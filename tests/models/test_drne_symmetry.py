"""What does not go by the numbering of nodes in DRNE: order by degree, colors, vectors of automorphic nodes."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
import torch
from scipy import sparse

from drne_networks import N, all_batches, make_network, neighbors, random_matrix, sequences_of, summed
from netfold.learn.training import Block, train
from netfold.models.drne.batches import colors


def test_neighbors_come_by_degree_the_highest_last():
    matrix = random_matrix()
    sequences, degrees = sequences_of(matrix), np.diff(matrix.indptr)
    for v in range(N):
        mine = neighbors(sequences, v)
        assert sorted(mine) == matrix.indices[matrix.indptr[v] : matrix.indptr[v + 1]].tolist()
        assert [degrees[u] for u in mine] == sorted(degrees[u] for u in mine)


def test_numbering_the_nodes_otherwise_changes_nothing_else():
    matrix = random_matrix()
    moved = np.random.default_rng(3).permutation(N)
    other = sparse.csr_array(matrix.toarray()[np.ix_(moved, moved)])
    network, again = make_network(matrix), make_network(other)
    again.table = torch.nn.Parameter(network.table.detach()[moved])
    losses = [summed(x, all_batches(m, x)) for x, m in ((network, matrix), (again, other))]
    for name, value in losses[0].items():
        torch.testing.assert_close(value, losses[1][name], rtol=1e-12, atol=0)
    torch.testing.assert_close(again.table.grad, network.table.grad[moved], rtol=1e-11, atol=1e-13)


def test_colors_are_those_of_color_refinement():
    graph = nx.convert_node_labels_to_integers(
        nx.disjoint_union(nx.barbell_graph(4, 5), nx.gnm_random_graph(40, 60, 1))
    )
    matrix = sparse.csr_array(nx.to_scipy_sparse_array(graph, dtype=np.float32))
    naive = dict.fromkeys(graph, 0)
    for _ in range(len(graph)):
        naive = {v: (naive[v], tuple(sorted(naive[u] for u in graph[v]))) for v in graph}
        names = {x: i for i, x in enumerate(sorted(set(naive.values())))}
        naive = {v: names[x] for v, x in naive.items()}
    found = colors(matrix)
    pairs = set(zip(found.tolist(), naive.values(), strict=True))
    assert len(pairs) == len(set(found.tolist())) == len(set(naive.values())) > 10
    by_color = np.diff(matrix.indptr)[np.argsort(found, kind="stable")]
    assert (np.diff(by_color) >= 0).all()


def orbits(graph: nx.Graph) -> np.ndarray:
    """Which nodes some automorphism exchanges."""
    found = nx.utils.UnionFind(graph.nodes)
    matcher = nx.isomorphism.GraphMatcher(graph, graph)
    for mapping in matcher.isomorphisms_iter():
        for a, b in mapping.items():
            found.union(a, b)
    names = {}
    return np.array([names.setdefault(found[v], len(names)) for v in range(len(graph))])


def twins() -> nx.Graph:
    """Two copies of a lopsided graph, the second renumbered, joined by a node in the middle of both."""
    graph = nx.Graph([(0, 1), (1, 2), (2, 3), (3, 0), (1, 4), (4, 5), (3, 6), (6, 7), (7, 8)])
    turned = [4, 7, 1, 8, 0, 3, 6, 2, 5]
    graph.add_edges_from([(9 + turned[a], 9 + turned[b]) for a, b in list(graph.edges)])
    graph.add_edges_from([(18, 0), (18, 9 + turned[0])])
    return graph


@pytest.mark.parametrize("graph", [nx.barbell_graph(3, 3), twins(), nx.star_graph(4)], ids=["barbell", "twins", "star"])
def test_automorphic_nodes_that_start_equal_stay_equal(graph):
    kind = orbits(graph)
    assert len(set(kind)) < len(graph)
    matrix = sparse.csr_array(nx.to_scipy_sparse_array(graph, nodelist=range(len(graph)), dtype=np.float32))
    network = make_network(matrix, k=4)
    per_orbit = torch.rand(len(set(kind)), 4, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    with torch.no_grad():
        network.table.copy_(per_orbit[kind])
    blocks = [Block([network.table], "adam", 0.01), Block(network.theta, "adam", 0.01)]
    train(network, lambda epoch: all_batches(matrix, network, piece=5), blocks, epochs=60)
    for orbit in set(kind):
        rows = network.table.detach()[kind == orbit]
        torch.testing.assert_close(rows, rows[:1].expand_as(rows), rtol=0, atol=1e-10)
    assert len({tuple(row) for row in network.table.detach().round(decimals=4).tolist()}) == len(set(kind))
