"""Bipartite graphs: recognised, and asked about pairs between their sides alone."""

from __future__ import annotations

from itertools import combinations, permutations

import networkx as nx
import numpy as np
import pytest

from naive_rankings import naive_average_precision
from netfold.data.embedding import Embedding
from netfold.data.graph import Graph
from netfold.evaluate import (
    hold_out_half,
    link_prediction,
    negatives,
    noise_robustness,
    reconstruction,
    sample_negatives,
    split_edges,
    split_nodes,
)
from netfold.evaluate.new_node_tasks import new_node_negatives

SHARED = {"common neighbors", "Adamic-Adar", "resource allocation"}


def shoppers(left: int = 14, right: int = 9, seed: int = 0, *, directed: bool = False) -> Graph:
    """Who bought what: names in the order of the table, each buyer with two goods at least."""
    rng = np.random.default_rng(seed)
    edges = {(f"b{i}", f"g{j}") for i in range(left) for j in rng.choice(right, 3, replace=False)}
    return Graph.from_edges(sorted(edges), directed=directed)


def side_of(graph: Graph) -> list[int]:
    return [0 if node.startswith("b") else 1 for node in graph.nodes]


# -------------------------------------------------------------------- recognised


@pytest.mark.parametrize("seed", range(40))
def test_sides_are_those_of_networkx_but_a_forest_has_none(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n, m = (int(x) for x in rng.integers([3, 2], [30, 40]))
    pairs = rng.integers(0, n, (m, 2))
    if seed % 2:
        pairs = rng.permutation(2 * n)[pairs + np.array([0, n])]
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    graph = Graph.from_edges(pairs, nodes=range(2 * n + 1), directed=seed % 3 == 0)
    plain = nx.Graph([tuple(x) for x in pairs.tolist()])
    sides = graph.sides
    assert (sides is not None) == (nx.is_bipartite(plain) and not nx.is_forest(plain))
    if sides is not None:
        assert all({int(sides[a]), int(sides[b])} == {0, 1} for a, b in plain.edges)
        assert (sides[[x for x in range(2 * n + 1) if x not in plain]] == -1).all()


def test_the_left_column_is_the_first_side() -> None:
    apart = [("b1", "g1"), ("b1", "g2"), ("b2", "g1"), ("b2", "g2"), ("b3", "g8"), ("b4", "g8"), ("b4", "g9")]
    graph = Graph.from_edges(apart)
    assert graph.sides is not None and graph.sides.tolist() == side_of(graph)
    turned = Graph.from_edges([(b, a) for a, b in apart], directed=True)
    assert turned.sides is not None and turned.sides.tolist() == [1 - x for x in side_of(turned)]


def test_a_self_loop_and_an_odd_cycle_leave_no_sides() -> None:
    square = [(0, 1), (1, 2), (2, 3), (3, 0)]
    assert Graph.from_edges(square).sides is not None
    assert Graph.from_edges([*square, (0, 0)]).sides is None
    assert Graph.from_edges([*square, (4, 5), (5, 6), (6, 7), (7, 8), (8, 4)]).sides is None


# -------------------------------------------------------------------- negatives


@pytest.mark.parametrize("few", [0, negatives._FEW])
@pytest.mark.parametrize("directed", [False, True])
def test_negatives_are_all_pairs_between_the_sides(directed: bool, few: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(negatives, "_FEW", few)
    graph = shoppers(directed=directed)
    dense, side, n = graph.adjacency.toarray(), side_of(graph), graph.n_nodes
    pairs = permutations(range(n), 2) if directed else combinations(range(n), 2)
    free = {(a, b) for a, b in pairs if side[a] != side[b] and not dense[a, b]}
    every = sample_negatives(graph, kind="all")
    assert {(int(a), int(b)) for a, b in every.pairs} == free
    assert every.protocol["bipartite"] == "pairs between the sides alone (14 and 9 nodes)"
    for kind in ("uniform", "degree"):
        drawn = sample_negatives(graph, 20, kind=kind, seed=1).pairs
        assert len({(int(a), int(b)) for a, b in drawn} & free) == 20


def test_every_pair_between_the_sides_is_as_likely(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(negatives, "_FEW", 0)
    graph = shoppers(6, 5)
    counts: dict[tuple[int, int], int] = {}
    for seed in range(3000):
        pair = sample_negatives(graph, 1, seed=seed).pairs[0]
        counts[int(pair[0]), int(pair[1])] = counts.get((int(pair[0]), int(pair[1])), 0) + 1
    expected = 3000 / len(counts)
    assert len(counts) == len(sample_negatives(graph, kind="all").pairs)
    assert sum((x - expected) ** 2 / expected for x in counts.values()) < 3 * len(counts)


def test_negatives_of_new_nodes_are_on_the_other_side() -> None:
    graph = shoppers(40, 12)
    side = np.array(side_of(graph))
    split = split_nodes(graph, 0.2, seed=2)
    drawn = new_node_negatives(split, hold_out_half(split).pairs, 3, seed=0)
    assert len(drawn) and (side[drawn[:, 0]] != side[drawn[:, 1]]).all()


# -------------------------------------------------------------------- tasks


def test_rankings_leave_out_ones_own_side() -> None:
    graph = shoppers(30, 12)
    split = split_edges(graph, 0.2, seed=1)
    vectors = np.random.default_rng(0).normal(size=(graph.n_nodes, 4)).astype(np.float32)
    found = link_prediction(Embedding(graph.nodes, vectors), split, score="dot", isolated="own")
    scores, side = vectors.astype(float) @ vectors.T.astype(float), side_of(graph)
    test = {frozenset(pair) for pair in split.test.tolist()}
    train, precisions = split.train.adjacency.toarray(), []
    for i in range(graph.n_nodes):
        others = [j for j in range(graph.n_nodes) if side[j] != side[i] and not train[i, j]]
        hits = [frozenset((i, j)) in test for j in others]
        if any(hits):
            precisions.append(naive_average_precision([scores[i, j] for j in others], hits))
    assert found.figures["MAP"] == pytest.approx(np.mean(precisions))
    assert not SHARED & set(found.baselines) and "paths of three" in found.baselines
    assert "between the sides alone" in found.protocol["ranked"]


def test_no_task_offers_shared_neighbors() -> None:
    graph = shoppers(30, 12)
    vectors = Embedding(graph.nodes, np.random.default_rng(0).normal(size=(graph.n_nodes, 4)))
    for result in (reconstruction(vectors, graph), noise_robustness(lambda _: vectors, graph)):
        assert not SHARED & set(result.baselines) and "paths of three" in result.baselines


def test_reconstruction_ranks_between_the_sides() -> None:
    """By side and then by chance is perfect here where one's own side is left out: all goods were bought by all."""
    graph = Graph.from_edges([(f"b{i}", f"g{j}") for i in range(4) for j in range(3)])
    one_place = Embedding(graph.nodes, [[1.0, 0.0]] * 7)
    assert reconstruction(one_place, graph, k=[5], baselines=False).figures == {"MAP": 1.0, "precision@5": 1.0}
