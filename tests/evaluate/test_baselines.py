"""What a model has to beat, against loops, networkx and dense linear algebra."""

from __future__ import annotations

import math

import networkx as nx
import numpy as np
import numpy.typing as npt
import pytest
import torch

from netfold.data.graph import Graph
from netfold.evaluate import heuristics, pairs
from netfold.evaluate.baselines import (
    baseline_embeddings,
    degree_features,
    plain_svd_vectors,
    spectral_vectors,
    svd_vectors,
)
from netfold.evaluate.heuristics import pair_scorers

Matrix = npt.NDArray[np.float64]


def random_graph(n: int, seed: int, *, directed: bool = False) -> Graph:
    """Weighted, with self-loops, two isolated nodes and several components; labels are strings."""
    rng = np.random.default_rng(seed)
    dense = np.where(rng.random((n, n)) < 2.5 / n, rng.random((n, n)) + 0.5, 0)
    dense[-2:] = dense[:, -2:] = 0
    dense = dense if directed else np.triu(dense) + np.triu(dense, 1).T
    return Graph.from_scipy(dense, [f"n{i}" for i in range(n)], directed=directed)


def neighbors(graph: Graph) -> list[set[int]]:
    dense = graph.adjacency.toarray()
    n = graph.n_nodes
    return [{j for j in range(n) if j != i and (dense[i, j] or dense[j, i])} for i in range(n)]


def naive_pair_scores(graph: Graph) -> dict[str, Matrix]:
    n, near = graph.n_nodes, neighbors(graph)
    made = {name: np.zeros((n, n)) for name in pair_scorers(graph)}
    steps = dict(nx.all_pairs_shortest_path_length(nx.Graph({i: list(x) for i, x in enumerate(near)})))
    for i in range(n):
        for j in range(n):
            shared = near[i] & near[j]
            made["common neighbors"][i, j] = len(shared)
            made["Adamic-Adar"][i, j] = sum(1 / math.log(max(len(near[z]), 2)) for z in shared)
            made["resource allocation"][i, j] = sum(1 / len(near[z]) for z in shared)
            made["preferential attachment"][i, j] = len(near[i]) * len(near[j])
            made["shortest path"][i, j] = -steps[i].get(j, n)
    return made | naive_walks(near)


WALKS = ("paths of three", "personalised PageRank", "Katz")


def naive_walks(near: list[set[int]]) -> dict[str, Matrix]:
    """Path by path, and walkers step by step."""
    n = len(near)
    three, visits, walks = np.zeros((n, n)), np.zeros((n, n)), np.zeros((n, n))
    for path in [(i, u, v, j) for i in range(n) for u in near[i] for v in near[u] for j in near[v]]:
        if len(set(path)) == 4:
            three[path[0], path[3]] += 1 / math.sqrt(len(near[path[1]]) * len(near[path[2]]))
    dense = np.array([[float(j in near[i]) for j in range(n)] for i in range(n)])
    beta = 0.5 / max(np.linalg.eigvalsh(dense).max(), 1)
    for i in range(n):
        at = {i: 1.0} if near[i] else {}
        paths = {i: 1.0}
        for length in range(21):
            for j, chance in at.items():
                visits[i, j] += 0.15 * 0.85**length * chance
            for j, count in paths.items() if 0 < length <= 10 else ():
                walks[i, j] += beta**length * count
            at, before = {}, at
            for z, chance in before.items():
                for j in near[z]:
                    at[j] = at.get(j, 0) + chance / len(near[z])
            paths, others = {}, paths
            for z, count in others.items():
                for j in near[z]:
                    paths[j] = paths.get(j, 0) + count
    return dict(zip(WALKS, (three, (visits + visits.T) / 2, walks), strict=True))


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_pair_scores_against_the_double_loop(directed: bool, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    graph = random_graph(40, seed, directed=directed)
    monkeypatch.setattr(heuristics, "_PART", 30)
    monkeypatch.setattr(pairs, "_BLOCK_NUMBERS", 200)
    u, v = np.random.default_rng(seed).integers(0, 40, (2, 300))
    rows = np.array([5, 3, 39, 0, 17])
    for name, expected in naive_pair_scores(graph).items():
        scores = pair_scorers(graph)[name]
        close = {"rtol": 1e-5, "atol": 1e-6} if name in WALKS else {"rtol": 1e-6}
        np.testing.assert_allclose(scores.rows(rows), expected[rows], **close, err_msg=name)
        np.testing.assert_allclose(scores.at(u, v), expected[u, v], **close, err_msg=name)
        assert scores.at(u[:0], v[:0]).shape == (0,)
        assert scores.rows(rows).dtype == scores.at(u, v).dtype == torch.float32


def test_adamic_adar_and_attachment_are_those_of_networkx() -> None:
    known = nx.karate_club_graph()
    scores = pair_scorers(Graph.from_networkx(known))
    missing = np.array(list(nx.non_edges(known)))
    u, v = missing.T
    theirs = {"Adamic-Adar": nx.adamic_adar_index, "preferential attachment": nx.preferential_attachment}
    theirs |= {"resource allocation": nx.resource_allocation_index}
    for name, of in theirs.items():
        expected = [score for _, _, score in of(known, missing.tolist())]
        np.testing.assert_allclose(scores[name].at(u, v), expected, rtol=1e-6, err_msg=name)


@pytest.mark.parametrize("n", [3, 63, 64, 65, 700])
def test_steps_on_a_path_from_more_nodes_than_bits_fit(n: int) -> None:
    graph = Graph.from_edges([(i, i + 1) for i in range(n - 1)], nodes=range(n + 1))
    rows = np.arange(n + 1)[::-1]
    found = pair_scorers(graph)["shortest path"].rows(rows).numpy()
    expected = -np.abs(rows[:, None] - np.arange(n + 1)).astype(float)
    expected[0], expected[:, n], expected[0, n] = -(n + 1), -(n + 1), 0  # the last node is alone
    np.testing.assert_array_equal(found, expected)


def test_a_graph_without_links() -> None:
    graph = Graph.from_edges([("a", "a")], nodes="abc")
    found = {name: scores.rows(np.arange(3)).tolist() for name, scores in pair_scorers(graph).items()}
    zeros = [[0.0] * 3] * 3
    assert found.pop("shortest path") == [[0, -3, -3], [-3, 0, -3], [-3, -3, 0]]
    assert found == dict.fromkeys(found, zeros)


# -------------------------------------------------------------------- vectors


def normalised(dense: Matrix) -> Matrix:
    rows, columns = dense.sum(axis=1), dense.sum(axis=0)
    made = np.zeros_like(dense)
    for i in range(len(dense)):
        for j in range(len(dense)):
            if dense[i, j]:
                made[i, j] = dense[i, j] / math.sqrt(rows[i] * columns[j])
    return made


def projection(vectors: Matrix) -> Matrix:
    """Onto the space that the columns span."""
    q = np.linalg.qr(vectors)[0]
    return q @ q.T


def blocks(directed: bool) -> Graph:
    """Four blocks of 15 nodes, plainly: four eigenvalues, or singular values, far above the rest."""
    rng = np.random.default_rng(0)
    dense = rng.random((60, 60)) < 0.05 + 0.5 * np.kron(np.eye(4), np.ones((15, 15)))
    np.fill_diagonal(dense, False)
    weights = np.where(dense, rng.random((60, 60)) + 0.5, 0)
    return Graph.from_scipy(weights if directed else np.triu(weights) + np.triu(weights).T, directed=directed)


def test_plain_singular_vectors_against_a_dense_svd() -> None:
    graph = blocks(directed=True)
    dense = graph.adjacency.toarray().astype(float)
    u, s, _ = np.linalg.svd(dense + dense.T)
    found = plain_svd_vectors(graph, 4).astype(float)
    np.testing.assert_allclose(found @ found.T, (u[:, :4] * s[:4]) @ u[:, :4].T, atol=1e-3)


@pytest.mark.parametrize("directed", [False, True])
def test_singular_vectors_against_a_dense_svd(directed: bool) -> None:
    graph = blocks(directed)
    found = svd_vectors(graph, 4).astype(float)
    u, s, _ = np.linalg.svd(normalised(graph.adjacency.toarray().astype(float)))
    assert s[3] - s[4] > 0.1
    np.testing.assert_allclose((found**2).sum(axis=0), s[:4], rtol=1e-5)
    np.testing.assert_allclose(projection(found), projection(u[:, :4]), atol=1e-3)


@pytest.mark.parametrize("directed", [False, True])
def test_spectral_vectors_against_dense_eigenvectors(directed: bool) -> None:
    graph = blocks(directed)
    dense = graph.adjacency.toarray().astype(float)
    both = dense + dense.T if directed else dense
    values, vectors = np.linalg.eigh(normalised(both))
    assert values[-4] - values[-5] > 0.1
    found = spectral_vectors(graph, 4).astype(float)
    expected = vectors[:, -4:] / np.sqrt(both.sum(axis=1))[:, None]
    np.testing.assert_allclose(projection(found), projection(expected), atol=1e-4)
    np.testing.assert_allclose(found[:, 0], found[0, 0], rtol=1e-4, err_msg="the walk's first vector is constant")


def test_spectral_vectors_tell_components_apart() -> None:
    """The eigenvalue 1 of each of five components, which a Lanczos method may find once."""
    rings = [(c * 10 + i, c * 10 + (i + 1) % 10) for c in range(5) for i in range(10)]
    found = spectral_vectors(Graph.from_edges(rings), 5).reshape(5, 10, 5)
    np.testing.assert_allclose(found, found[:, :1].repeat(10, axis=1), atol=1e-3)
    assert np.linalg.matrix_rank(found[:, 0], tol=1e-2) == 5


def test_vectors_have_the_graphs_labels_and_a_width_that_fits() -> None:
    graph = random_graph(30, 1, directed=True)
    made = baseline_embeddings(graph, 8, seed=3)
    assert list(made) == ["spectral", "normalised SVD"]
    for embedding in made.values():
        assert embedding.nodes == graph.nodes and embedding.vectors.shape == (30, 8)
    tiny = baseline_embeddings(Graph.from_edges([("a", "b")]), 128)
    assert [x.dim for x in tiny.values()] == [1, 1]


def test_the_same_seed_gives_the_same_vectors_and_leaves_the_global_state_alone() -> None:
    graph, state = random_graph(30, 1), np.random.get_state()[1].copy()  # type: ignore[union-attr, index]
    for make in (svd_vectors, spectral_vectors):
        np.testing.assert_array_equal(make(graph, 4, 7), make(graph, 4, 7))
        assert (make(graph, 4, 7) != make(graph, 4, 8)).any()
    np.testing.assert_array_equal(np.random.get_state()[1], state)  # type: ignore[index]


@pytest.mark.parametrize("directed", [False, True])
def test_degree_features_against_the_loop(directed: bool) -> None:
    graph = random_graph(40, 3, directed=directed)
    near = neighbors(graph)
    found = degree_features(graph)
    assert found.nodes == graph.nodes
    for i, mine in enumerate(near):
        theirs = [len(near[j]) for j in mine]
        expected = [len(mine), math.log(1 + len(mine)), sum(theirs) / max(len(theirs), 1)]
        expected += [max(theirs, default=0), sum(theirs)]
        assert found.vectors[i].tolist() == pytest.approx(expected, rel=1e-6)
