"""Scores of pairs: those of rows, exact where vectors are equal, refused where they are not numbers."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from scipy import sparse

from naive_rankings import Model, random_graph
from netfold.data.embedding import Embedding
from netfold.data.graph import Graph
from netfold.errors import InputError
from netfold.evaluate import reconstruction
from netfold.evaluate import scores as pairs
from netfold.models.spectral import Spectral


@pytest.mark.parametrize("score", ["dot", "cosine", "distance", "paths", "w2", "decoder"])
def test_scores_of_pairs_are_those_of_rows(score: str, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(2)
    graph = random_graph(20, 5)
    model = Model(
        Embedding(graph.nodes, rng.normal(size=(20, 3)), rng.random((20, 3)) + 0.1), rng.normal(size=(20, 20))
    )
    scores = pairs.pair_scores(model, graph, score)
    every = scores.rows(np.arange(20))
    u, v = rng.integers(0, 20, (2, 100))
    monkeypatch.setattr(pairs, "_BLOCK_NUMBERS", 60)
    assert scores.at(u, v).tolist() == pytest.approx(every[u, v].tolist(), rel=1e-6)
    assert scores.at(u[:0], v[:0]).tolist() == []
    assert every.dtype == scores.at(u, v).dtype == torch.float32


def weighted_walks(weights: list[list[float]], added: float) -> list[list[float]]:
    """N of undirected links, entry by entry."""
    n = len(weights)
    d = [sum(row) for row in weights]
    tau = added * sum(d) / n
    return [[weights[i][j] / math.sqrt((d[i] + tau) * (d[j] + tau)) for j in range(n)] for i in range(n)]


@pytest.mark.parametrize(("isolated", "steps"), [(0, 3), (1, 3), (0, 5), (2, 5)])
def test_paths_are_those_of_so_many_steps_where_vectors_tell_all(isolated: int, steps: int) -> None:
    """Of n nodes with links three steps where n is below their mean degree to the power of 2.9, else five."""
    rng, n = np.random.default_rng(4), 9
    a = np.triu(rng.integers(0, 4, (n, n)), 1).astype(float)
    if steps == 5:  # a ring, of weights: 9 nodes are not fewer than 2 ** 2.9
        a = np.diag(rng.integers(1, 4, n - 1), 1) + 2.0 * (np.arange(n) == n - 1) * (np.arange(n) == 0)[:, None]
    a = np.pad(a + a.T, (0, isolated))
    n += isolated
    graph = Graph.from_scipy(sparse.csr_array(a))
    walks = weighted_walks(a.tolist(), 0.1)
    found = pairs.pair_scores(Embedding(range(n), rng.normal(size=(n, n + 2))), graph, "paths")  # n of them span all
    naive = walks
    for _ in range(steps - 1):
        naive = [[sum(naive[i][k] * walks[k][j] for k in range(n)) for j in range(n)] for i in range(n)]
    for i, row in enumerate(found.rows(np.arange(n)).tolist()):
        linked = [x * (sum(a[i]) > 0 and sum(a[j]) > 0) for j, x in enumerate(naive[i])]
        assert row == pytest.approx(linked, rel=1e-5, abs=1e-7)


def test_paths_know_the_sign_of_an_eigenvalue() -> None:
    """Two sides are told apart by an eigenvalue below 0, which a product of vectors takes for likeness."""
    sides = [(f"u{i}", f"v{j}") for i in range(6) for j in range(6) if (i, j) not in ((0, 0), (1, 2))]
    graph = Graph.from_edges(sides)
    model = Spectral(matrix="normalized", dim=2).fit(graph, progress=False)
    at = graph.nodes.positions(["u0", "v0", "u1"])
    across, within = (float(pairs.pair_scores(model, graph, "paths").at(at[:1], at[[x]])[0]) for x in (1, 2))
    assert across > 0.1 > within
    assert across == pytest.approx(float(pairs.pair_scores(model, graph, "paths").at(at[[1]], at[:1])[0]), rel=1e-5)


def test_paths_of_a_node_without_links_are_none_and_scales_do_not_count() -> None:
    graph = Graph.from_edges([("a", "b"), ("b", "c"), ("c", "a"), ("c", "d")], nodes="abcde")
    vectors = np.random.default_rng(0).normal(size=(5, 2))
    one, other = (pairs.pair_scores(Embedding("abcde", x), graph, "paths") for x in (vectors, vectors * [1e3, 1e-2]))
    assert (one.rows(np.array([4])) == 0).all()
    np.testing.assert_allclose(one.rows(np.arange(5)), other.rows(np.arange(5)), rtol=1e-5, atol=1e-7)
    nothing = pairs.pair_scores(Embedding("abcde", np.zeros((5, 2))), graph, "paths")
    assert (nothing.rows(np.arange(5)) == 0).all()


def test_equal_vectors_are_at_no_distance() -> None:
    vectors = np.random.default_rng(0).normal(size=(30, 50)) + 100
    vectors[15:] = vectors[:15]
    found = pairs.VectorScores(vectors, distance=True).rows(np.arange(30)).numpy()
    assert (found[np.arange(15), np.arange(15, 30)] == 0).all()
    exact = -np.linalg.norm(vectors[:, None] - vectors, axis=2)
    np.testing.assert_allclose(found, exact, rtol=1e-6, atol=0)


def test_scores_that_are_not_numbers_are_refused_and_infinite_ones_rank() -> None:
    graph = Graph.from_edges([("a", "b"), ("b", "a"), ("b", "c"), ("c", "b")], directed=True)
    embedding = Embedding("abc", [[1], [2], [3]])
    scores = np.array([[9, -np.inf, 2], [np.inf, 9, 1], [-np.inf, 5, 9]])
    # a: c (2), b (-inf) -> 1/2; b: a, c -> 1; c: b, a -> 1; pairs: b-a, c-b, a-c, b-c, then a-b and c-a tied
    found = reconstruction(Model(embedding, scores), graph, score="decoder", k=[5], baselines=False).figures
    assert found == pytest.approx({"MAP": 5 / 6, "precision@5": 3.5 / 5})
    scores[0, 1] = np.nan
    with pytest.raises(InputError, match="a score of two nodes is not a number"):
        reconstruction(Model(embedding, scores), graph, score="decoder")
