"""Scores of pairs: those of rows, exact where vectors are equal, refused where they are not numbers."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from naive_rankings import Model, random_graph
from netfold.data.embedding import Embedding
from netfold.data.graph import Graph
from netfold.errors import InputError
from netfold.evaluate import reconstruction
from netfold.evaluate import scores as pairs


@pytest.mark.parametrize("score", ["dot", "cosine", "distance", "w2", "decoder"])
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
