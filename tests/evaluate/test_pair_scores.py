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
from netfold.embedder.pair_score import OF_LINKS, OF_MODELS, weighted_scores
from netfold.errors import InputError
from netfold.evaluate import choose_pair_score, link_prediction, pairs, reconstruction, split_edges
from netfold.evaluate.heuristics import pair_scorers, scores_of_links
from netfold.evaluate.scores import chosen_score, pair_scores
from netfold.models.spectral import Spectral

SUMS = (
    "cosine + personalised PageRank + 0.5 paths of three + 0.5 resource allocation",
    "2 dot + preferential attachment",
)


@pytest.mark.parametrize("score", [*OF_MODELS, *OF_LINKS, *SUMS])
def test_scores_of_pairs_are_those_of_rows(score: str, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(2)
    graph = random_graph(20, 5)
    model = Model(
        Embedding(graph.nodes, rng.normal(size=(20, 3)), rng.random((20, 3)) + 0.1), rng.normal(size=(20, 20))
    )
    scores = pair_scores(model, graph, score)
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
    found = pair_scores(Embedding(range(n), rng.normal(size=(n, n + 2))), graph, "paths")  # n of them span all
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
    across, within = (float(pair_scores(model, graph, "paths").at(at[:1], at[[x]])[0]) for x in (1, 2))
    assert across > 0.1 > within
    assert across == pytest.approx(float(pair_scores(model, graph, "paths").at(at[[1]], at[:1])[0]), rel=1e-5)


def test_paths_of_a_node_without_links_are_none_and_scales_do_not_count() -> None:
    graph = Graph.from_edges([("a", "b"), ("b", "c"), ("c", "a"), ("c", "d")], nodes="abcde")
    vectors = np.random.default_rng(0).normal(size=(5, 2))
    one, other = (pair_scores(Embedding("abcde", x), graph, "paths") for x in (vectors, vectors * [1e3, 1e-2]))
    assert (one.rows(np.array([4])) == 0).all()
    np.testing.assert_allclose(one.rows(np.arange(5)), other.rows(np.arange(5)), rtol=1e-5, atol=1e-7)
    nothing = pair_scores(Embedding("abcde", np.zeros((5, 2))), graph, "paths")
    assert (nothing.rows(np.arange(5)) == 0).all()


@pytest.mark.parametrize("score", SUMS)
def test_a_sum_of_scores_is_the_sum_of_their_surprises(score: str) -> None:
    """-log of the share of random pairs that have as much, by counting; beyond all of them by the rule of the tail."""
    graph, rng = random_graph(60, 3), np.random.default_rng(1)
    model = Embedding(graph.nodes, rng.normal(size=(60, 4)))
    every = np.arange(60)
    linked = [i for i in range(60) if graph.adjacency[[i]].nnz or graph.adjacency[:, [i]].nnz]
    some = np.random.default_rng(0).choice(linked, len(linked), replace=False).tolist()
    left, right = some[: len(some) // 2], some[len(some) // 2 :]
    heuristics = pair_scorers(graph)
    single = {name: heuristics.get(name) or pair_scores(model, graph, name) for _, name in weighted_scores(score)}
    together = [(weight, single[name].rows(every).double().numpy()) for weight, name in weighted_scores(score)]
    found = pair_scores(model, graph, score).rows(every).numpy()
    samples = [(weight, values, [values[i, j] for i in left for j in right]) for weight, values in together]
    checked = 0
    for i, j in zip(left, right, strict=False):
        naive = 0.0
        for weight, values, sample in samples:
            as_much = sum(x >= values[i, j] for x in sample)
            naive += weight * -math.log(as_much / len(sample))
        assert found[i, j] == pytest.approx(naive, rel=1e-5, abs=1e-6)
        checked += 1
    assert checked == len(left) > 20
    top = max(zip(left, left, strict=True), key=lambda pair: found[pair])  # a node with itself is no random pair
    naive = 0.0
    for weight, values, sample in samples:
        x, most = values[top], max(sample)
        step = most - np.quantile(sample, 0.99)
        beyond = math.log1p(max(x - most, 0) / step)
        known = sorted(set(sample))
        shares = [-math.log(sum(y >= k for y in sample) / len(sample)) for k in known]
        naive += weight * (float(np.interp(x, known, shares)) + beyond)
    assert found[top] == pytest.approx(naive, rel=1e-5)


def test_order_above_all_random_pairs_is_kept_and_what_is_alike_counts_nothing() -> None:
    graph = Graph.from_edges([(i, i + 1) for i in range(9)])
    nobody = pairs.RowScores(lambda rows: torch.zeros(len(rows), 10), 10)
    likely = pairs.RowScores(lambda rows: torch.arange(10.0).repeat(len(rows), 1) * 1000, 10)
    known = pairs.ScoreSum([(1.0, pairs.RowScores(lambda rows: torch.ones(len(rows), 10), 10))], graph)
    assert (known.rows(np.arange(3)) == 0).all()
    both = pairs.ScoreSum([(1.0, nobody), (2.0, likely)], graph).rows(np.array([0]))[0].tolist()
    assert both == sorted(both) and len(set(both[5:])) == 5


def test_a_pair_with_an_isolated_node_has_the_average_of_each() -> None:
    graph = Graph.from_edges([(i, (i + k) % 12) for i in range(12) for k in (1, 2)], nodes=range(13))
    model = Embedding(range(13), np.random.default_rng(2).normal(size=(13, 3)))
    scores = pair_scores(model, graph, "cosine + 0.5 paths of three")
    placed = pairs.isolated_as_average(scores, graph)
    linked = np.random.default_rng(0).choice(12, 12, replace=False)
    u, v = np.repeat(linked[:6], 6), np.tile(linked[6:], 6)
    naive = 0.0
    for weight, x in [(1.0, pair_scores(model, graph, "cosine")), (0.5, scores_of_links(graph)["paths of three"])]:
        sample = sorted(x.at(u, v).double().tolist())
        known = sorted(set(sample))
        shares = [-math.log(sum(y >= k for y in sample) / len(sample)) for k in known]
        naive += weight * float(np.interp(sum(sample) / len(sample), known, shares))
    assert placed.at(np.array([12]), np.array([3]))[0] == pytest.approx(naive, rel=1e-5)
    assert placed.rows(np.array([4]))[0, 12] == placed.at(np.array([4]), np.array([12]))[0]


def test_a_sum_is_chosen_where_vectors_know_nothing_and_for_links_alone() -> None:
    rng = np.random.default_rng(3)
    blocks = np.arange(80) % 4
    linked = np.triu((blocks[:, None] == blocks) & (rng.random((80, 80)) < 0.5), 1)
    graph = Graph.from_edges(np.argwhere(linked).tolist(), nodes=range(80))
    noise = Embedding(range(80), rng.normal(size=(80, 8)))
    chosen = str(choose_pair_score(lambda part: noise, graph))
    counts = {name: weight for weight, name in weighted_scores(chosen)}
    assert sum(counts.get(x, 0) for x in OF_LINKS) > 2 * sum(counts.get(x, 0) for x in OF_MODELS), chosen
    split = split_edges(graph, 0.2)
    model = Spectral(dim=4).fit(split.train, progress=False)
    model.pair_score_ = "0.5 distance + cosine + 2 personalised PageRank"
    found = link_prediction(model, split, baselines=False)
    assert found.protocol["score"] == model.pair_score_ and found.figures["AUC"] > 0.8
    assert chosen_score("reconstruction", model) == "cosine", "what links say knows those that are looked for"
    model.pair_score_ = "resource allocation"
    assert chosen_score("reconstruction", model) == "cosine"


def test_what_is_remembered_is_the_callers_to_change() -> None:
    asked: list[int] = []

    def of_rows(rows: object) -> torch.Tensor:
        asked.append(1)
        return torch.ones(1, 3)

    scores = pairs.Remembered(pairs.RowScores(of_rows, 3, cost=7))
    for _ in range(2):
        values = scores.at(np.array([0]), np.array([1]))
        assert values.tolist() == [1]
        values[:] = 5
    assert len(asked) == 1 and scores.cost == 7


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
