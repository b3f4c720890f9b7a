"""Reconstruction figures against loops over all pairs, and the ways in which a node's place could be mistaken."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from naive_rankings import Matrix, naive_map, naive_precision, naive_scores, random_graph
from netfold.data.embedding import Embedding
from netfold.data.graph import Graph
from netfold.errors import InputError
from netfold.evaluate import pairs, reconstruction
from netfold.models import SDNE


def distinct_vectors(n: int, seed: int) -> Matrix:
    """Small whole numbers: products are exact, and equal scores are equal however they are computed."""
    return np.random.default_rng(seed).integers(-4, 5, (n, 4)).astype(float) + 0.5


# -------------------------------------------------------------------- figures


@pytest.mark.parametrize("score", ["dot", "cosine", "distance"])
@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_against_the_double_loop(score: str, directed: bool, seed: int) -> None:
    n = 12 + 5 * seed
    graph = random_graph(n, seed, directed=directed, loops=seed % 2 == 0)
    if score == "dot":
        vectors = distinct_vectors(n, seed)  # with ties
    else:
        vectors = np.random.default_rng(seed).normal(size=(n, 4)).astype(np.float32).astype(float)
    embedding = Embedding(graph.nodes, vectors)
    found = reconstruction(embedding, graph, score=score, k=[1, 5, 40], baselines=False).figures
    scores, links = naive_scores(vectors, score), graph.adjacency.toarray()
    assert found["MAP"] == pytest.approx(naive_map(scores, links), rel=1e-6)
    for k in (1, 5, 40):
        assert found[f"precision@{k}"] == pytest.approx(naive_precision(scores, links, k)), k


def test_worked_out_by_hand() -> None:
    # a - b and a - c - d on a line at 0, 1, 3, 7. Rankings by distance:
    # a: b c d -> b, c at 1, 2: (1/1 + 2/2) / 2 = 1;  b: a c d -> a at 1: 1
    # c: b a d -> a, d at 2, 3: (1/2 + 2/3) / 2 = 7/12;  d: c b a -> c at 1: 1.
    #  MAP = (1 + 1 + 7/12 + 1) / 4 = 43/48
    # pairs by distance: ab ba (1, linked), bc cb (2), ac ca (3, linked), cd dc (4, linked), bd db, ad da
    graph = Graph.from_edges([("a", "b"), ("a", "c"), ("c", "d")])
    found = reconstruction(Embedding("abcd", [[0], [1], [3], [7]]), graph, score="distance", k=[1, 2, 3, 4, 6, 8, 12])
    assert found.figures == pytest.approx(
        {"MAP": 43 / 48, "precision@1": 1, "precision@2": 1, "precision@3": 2 / 3, "precision@4": 1 / 2,
         "precision@6": 4 / 6, "precision@8": 6 / 8, "precision@12": 6 / 12}
    )  # fmt: skip
    assert found.protocol == {
        "score": "distance", "ranked": "all ordered pairs but the diagonal", "ties": "share their places", "nodes": 4,
        "seed": 0,
    }  # fmt: skip
    assert list(found.baselines) == [
        "common neighbors", "Adamic-Adar", "resource allocation", "preferential attachment", "paths of three",
        "spectral", "normalised SVD",
    ]  # fmt: skip
    # common neighbors: a-d share c, b-c share a, others none. a: d, then b and c tied, both linked: (1/2 + 2/3) / 2;
    # b: c, then a (linked) and d tied: (1/2 + 1/3) / 2; c as a and d as b: MAP = (7/12 + 5/12 + 7/12 + 5/12) / 4
    assert found.baselines["common neighbors"]["MAP"] == pytest.approx(1 / 2)


@pytest.mark.parametrize("directed", [False, True])
def test_edges_against_pairs_that_are_none(directed: bool) -> None:
    graph = random_graph(14, 3, directed=directed, loops=True)
    vectors = distinct_vectors(14, 3)
    scores, links = naive_scores(vectors, "dot"), graph.adjacency.toarray()
    every = [(i, j) for i in range(14) for j in range(14) if (i != j if directed else i < j)]
    right = [scores[i, j] for i, j in every if links[i, j]]
    wrong = [scores[i, j] for i, j in every if not links[i, j]]
    auc = np.mean([(a > b) + 0.5 * (a == b) for a in right for b in wrong])
    embedding = Embedding(graph.nodes, vectors)
    found = reconstruction(embedding, graph, score="dot", k=[3], per_positive=1, negatives="all")
    assert found.figures["AUC"] == pytest.approx(auc) and 0 < found.figures["AP"] <= 1
    assert {"AUC", "AP"} <= set(found.baselines["Adamic-Adar"]) and found.protocol["negatives"] == "all"
    some = reconstruction(embedding, graph, score="dot", k=[3], per_positive=1, baselines=False)
    assert "AUC" in some.figures and some.protocol["negatives"] == "uniform"
    with pytest.raises(InputError, match="per_positive"):
        reconstruction(embedding, graph, per_positive=-1)


def test_more_pairs_asked_for_than_there_are() -> None:
    graph = Graph.from_edges([("a", "b"), ("b", "c")])
    found = reconstruction(Embedding("abc", [[1, 0], [0, 1], [1, 1]]), graph, k=[6, 7])
    assert set(found.figures) == {"MAP", "precision@6"}
    assert found.figures["precision@6"] == pytest.approx(4 / 6)


def test_a_perfect_embedding_scores_one_and_a_random_one_as_chance_has_it() -> None:
    cliques = np.kron(np.eye(10), np.ones((6, 6))) - np.eye(60)
    graph = Graph.from_scipy(cliques)
    perfect = reconstruction(Embedding(graph.nodes, np.kron(np.eye(10), np.ones((6, 1)))), graph, k=[300]).figures
    assert perfect == {"MAP": 1.0, "precision@300": 1.0}
    rng = np.random.default_rng(0)
    dense = np.triu(rng.random((300, 300)) < 0.1, 1)
    graph = Graph.from_scipy((dense | dense.T).astype(float))
    random = reconstruction(Embedding(graph.nodes, rng.normal(size=(300, 16))), graph, k=[5000]).figures
    density = graph.adjacency.nnz / (300 * 299)
    assert random["precision@5000"] == pytest.approx(density, abs=0.02)
    assert density < random["MAP"] < density + 0.05  # a little above: AP of few links has a tail


def test_self_loops_and_weights_are_ignored() -> None:
    plain = random_graph(15, 3)
    embedding = Embedding(plain.nodes, np.random.default_rng(0).normal(size=(15, 3)))
    heavy = plain.to_scipy() * 7.5
    heavy.setdiag(3.0)
    looped = Graph.from_scipy(heavy, plain.nodes)
    assert looped.n_self_loops == 15
    assert reconstruction(embedding, looped, k=[20]).figures == reconstruction(embedding, plain, k=[20]).figures


def test_a_node_that_only_links_to_itself_is_not_averaged() -> None:
    edges, vectors = [("a", "b"), ("c", "c")], [[1, 0], [1, 0.1], [0, 1]]
    assert reconstruction(Embedding("abc", vectors), Graph.from_edges(edges), k=[1]).figures["MAP"] == 1.0


def test_gaussians_are_compared_by_their_distance_and_their_means() -> None:
    graph = Graph.from_edges([("a", "b"), ("c", "d")])
    means, std = [[0.1, 1], [0, 1], [0.1, 1], [0, 1]], [[1, 1], [1, 1], [9, 9], [9, 9]]
    embedding = Embedding("abcd", means, std)
    assert reconstruction(embedding, graph, score="w2", k=[4]).figures == {"MAP": 1.0, "precision@4": 1.0}
    assert reconstruction(embedding, graph, score="distance", k=[4]).figures["precision@4"] < 1
    assert reconstruction(embedding, graph, score="dot", k=[4]).figures["precision@4"] < 1
    assert reconstruction(embedding, graph, score="w2").protocol["spectral vectors scored by"] == "distance"
    with pytest.raises(InputError, match="score='w2' compares Gaussians and these nodes have no std"):
        reconstruction(Embedding("abcd", means), graph, score="w2")


def test_near_vectors_far_from_the_origin_are_told_apart() -> None:
    """|a|² + |b|² - 2ab in float32 loses what tells these apart."""
    graph = Graph.from_edges([(i, i + 1) for i in range(0, 40, 2)])
    line = np.repeat(np.arange(20) * 0.25, 2) + np.tile([0, 0.0625], 20)
    vectors = np.stack([1000 + line, np.full(40, 2000.0)], axis=1)
    assert reconstruction(Embedding(range(40), vectors), graph, score="distance", k=[40]).figures == {
        "MAP": 1.0, "precision@40": 1.0,
    }  # fmt: skip


def test_sampled_nodes() -> None:
    graph = random_graph(40, 2)
    vectors = np.random.default_rng(1).normal(size=(40, 4)).astype(np.float32).astype(float)
    embedding = Embedding(graph.nodes, vectors)
    found = reconstruction(embedding, graph, nodes=10, seed=5)
    assert set(found.figures) == {"MAP"}, "a global ranking needs all pairs"
    assert found.protocol["nodes"] == 10
    rows = np.random.default_rng(5).choice(40, 10, replace=False)
    expected = naive_map(naive_scores(vectors, "cosine"), graph.adjacency.toarray(), rows)
    assert found.figures["MAP"] == pytest.approx(expected, rel=1e-6)
    assert found == reconstruction(embedding, graph, nodes=10, seed=5)
    assert found != reconstruction(embedding, graph, nodes=10, seed=6)
    assert reconstruction(embedding, graph, nodes=40) == reconstruction(embedding, graph)


def test_a_hundred_thousand_pairs() -> None:
    rng = np.random.default_rng(0)
    dense = np.triu(rng.random((400, 400)) < 0.5, 1)
    graph = Graph.from_scipy((dense | dense.T).astype(float))
    vectors = rng.normal(size=(400, 8)).astype(np.float32)
    found = reconstruction(Embedding(graph.nodes, vectors), graph, k=[100_000], baselines=False).figures
    unit = vectors.astype(float) / np.linalg.norm(vectors.astype(float), axis=1, keepdims=True)
    scores = (unit @ unit.T).astype(np.float32)
    np.fill_diagonal(scores, -np.inf)
    order = np.argsort(-scores.ravel(), kind="stable")[:100_000]
    links = graph.adjacency.toarray().ravel()
    assert found["precision@100000"] == pytest.approx(links[order].mean(), abs=1.1e-5)  # a pair and its mirror tie


def test_nodes_with_nothing_to_find_are_not_sampled() -> None:
    edges = [(f"n{i}", f"n{i + 1}") for i in range(0, 20, 2)]
    graph = Graph.from_edges([*edges, ("x0", "x0")], nodes=[f"x{i}" for i in range(50)] + [f"n{i}" for i in range(20)])
    embedding = Embedding(graph.nodes, np.random.default_rng(0).normal(size=(70, 3)))
    found = reconstruction(embedding, graph, nodes=30, baselines=False)
    assert found.protocol["nodes"] == 20
    assert not found.deviations, "all that have neighbors were asked"
    assert found.figures["MAP"] == reconstruction(embedding, graph, baselines=False).figures["MAP"]
    assert reconstruction(embedding, graph, nodes=10, baselines=False).deviations["MAP"] > 0


# -------------------------------------------------------------------- the decoder, and the order of nodes

GRAPH = random_graph(28, 7)


@pytest.fixture(scope="module", params=["linear", "sigmoid"])
def fitted(request: pytest.FixtureRequest) -> SDNE:
    return SDNE(dim=4, hidden=(8,), epochs=5, output=request.param).fit(GRAPH, progress=False)


@pytest.mark.parametrize("score", ["dot", "cosine", "distance", "decoder"])
@pytest.mark.parametrize("numbers", [1, 100, 700])
def test_blocks_change_nothing(score: str, numbers: int, monkeypatch: pytest.MonkeyPatch, fitted: SDNE) -> None:
    n = fitted.graph_facts_["n_nodes"]
    twins = np.repeat(np.random.default_rng(1).normal(size=(n // 4, 3)), 4, axis=0)  # ties everywhere
    given = fitted if score == "decoder" else Embedding(fitted.embedding_.nodes, twins)
    whole = reconstruction(given, GRAPH, score=score, k=[3, 50, 111]).figures
    monkeypatch.setattr(pairs, "_BLOCK_NUMBERS", numbers)
    assert reconstruction(given, GRAPH, score=score, k=[3, 50, 111]).figures == pytest.approx(whole, rel=1e-12)


def naive_reconstruct(model: SDNE, rows: Matrix) -> Matrix:
    """x̂ with dense matrices in float64."""
    state = {k: v.double().numpy() for k, v in model.network_.state_dict().items()}
    h = np.tanh(rows @ state["first.table"] + state["first.bias"])
    for stack in ("encoder", "decoder"):
        for i in range(len(model.hidden)):
            h = np.tanh(h @ state[f"{stack}.weights.{i}"] + state[f"{stack}.biases.{i}"])
    x = h @ state["last.table"].T + state["last.bias"]
    return 1 / (1 + np.exp(-x)) if model.output == "sigmoid" else x


def test_the_decoder_score_is_the_dense_reconstruction(fitted: SDNE) -> None:
    links = GRAPH.adjacency.toarray().astype(float)
    scores = naive_reconstruct(fitted, links)
    scores = (scores + scores.T) / 2  # what it writes of a pair, from either end
    found = reconstruction(fitted, GRAPH, score="decoder", k=[10, 60]).figures
    assert found["MAP"] == pytest.approx(naive_map(scores, links), rel=1e-6)
    assert found["precision@10"] == pytest.approx(naive_precision(scores, links, 10))
    assert found["precision@60"] == pytest.approx(naive_precision(scores, links, 60))
    assert found["MAP"] > naive_map(np.random.default_rng(0).normal(size=scores.shape), links)


@pytest.mark.parametrize("score", ["dot", "cosine", "distance", "decoder"])
def test_the_order_of_nodes_does_not_matter(score: str, fitted: SDNE) -> None:
    shuffled = GRAPH.subgraph(np.random.default_rng(3).permutation(GRAPH.n_nodes))
    assert shuffled.nodes != GRAPH.nodes
    straight = reconstruction(fitted, GRAPH, score=score, k=[7, 80]).figures
    assert reconstruction(fitted, shuffled, score=score, k=[7, 80]).figures == pytest.approx(straight)


@pytest.mark.parametrize("score", ["cosine", "decoder"])
def test_a_part_of_the_graph(score: str, fitted: SDNE) -> None:
    rows = np.array([5, 3, 20, 1, 0, 17, 11, 8])
    part = GRAPH.subgraph(rows)
    links = part.adjacency.toarray()
    over_all = np.zeros((len(rows), GRAPH.n_nodes))
    over_all[:, rows] = links
    decoded = naive_reconstruct(fitted, over_all)[:, rows]
    vectors = fitted.embedding_.vectors[rows].astype(float)
    scores = naive_scores(vectors, score) if score == "cosine" else (decoded + decoded.T) / 2
    assert reconstruction(fitted, part, score=score, k=[1]).figures["MAP"] == pytest.approx(naive_map(scores, links))


# -------------------------------------------------------------------- refusals


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            {"score": "euclid"},
            "score='euclid' is not a score of pairs; there are dot, cosine, distance, paths, w2, decoder",
        ),
        ({"score": "decoder"}, "Embedding has no decoder; score by dot, cosine or distance"),
        ({"k": []}, "k=[] does not fit: give whole numbers of at least 1"),
        ({"k": [5, 0]}, "k=[5, 0] does not fit: give whole numbers of at least 1"),
        ({"k": [2.5]}, "k=[2.5]"),
        ({"nodes": 0}, "nodes=0 does not fit"),
        ({"nodes": 2.0}, "nodes=2.0"),
        ({"k": [True, "a"]}, "k=[True, 'a']"),
    ],
)
def test_what_cannot_be_asked(change: dict[str, Any], said: str) -> None:
    graph = Graph.from_edges([("a", "b")])
    with pytest.raises(InputError) as caught:
        reconstruction(Embedding("ab", [[1], [2]]), graph, **change)
    assert said in str(caught.value)


def test_graphs_that_do_not_fit() -> None:
    embedding = Embedding("ab", [[1], [2]])
    with pytest.raises(InputError, match="no node is called 'c'"):
        reconstruction(embedding, [("a", "c")])
    with pytest.raises(InputError, match="no edges between two nodes"):
        reconstruction(embedding, Graph.from_edges([("a", "a")], nodes="ab"))
