"""Link prediction against loops over pairs, on splits where the answer is known."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from netfold.embedding import Embedding
from netfold.errors import InputError
from netfold.evaluate import EdgeSplit, link_prediction, sample_negatives, split_edges
from netfold.graph import Graph
from netfold.models import SDNE

Matrix = npt.NDArray[np.float64]


def random_graph(n: int, seed: int, *, directed: bool = False, density: float = 0.15) -> Graph:
    rng = np.random.default_rng(seed)
    dense = rng.random((n, n)) < density
    dense = dense if directed else np.triu(dense) | np.triu(dense).T
    dense[-1] = dense[:, -1] = False
    return Graph.from_scipy(dense.astype(float), [f"n{i}" for i in range(n)], directed=directed)


class Model:
    """Whatever has an embedding and a decoder."""

    def __init__(self, embedding: Embedding, scores: Matrix):
        self.embedding_, self.scores = embedding, scores.astype(np.float32)

    def pair_decoder(self, graph: Graph) -> Any:
        made = self.scores if graph.directed else (self.scores + self.scores.T) / 2
        return made.__getitem__


def model_of(split: EdgeSplit, seed: int, levels: int) -> Model:
    """Random scores, different in the two directions; few levels make many ties."""
    n = split.train.n_nodes
    rng = np.random.default_rng(seed)
    scores = rng.integers(0, levels, (n, n)).astype(float)
    return Model(Embedding(split.train.nodes, rng.normal(size=(n, 3))), scores)


def naive_area(positive: list[float], negative: list[float]) -> float:
    """How often a test edge scores above a negative; a tie is half."""
    wins = [1.0 if p > q else 0.5 if p == q else 0.0 for p in positive for q in negative]
    return sum(wins) / len(wins)


def naive_step_precision(positive: list[float], negative: list[float]) -> float:
    """scikit-learn's AP: Σ over score levels of (recall gained there) x (precision down to there)."""
    found, total = 0.0, 0
    for level in sorted({*positive, *negative}, reverse=True):
        here, above = sum(p == level for p in positive), sum(p >= level for p in positive)
        total = above + sum(q >= level for q in negative)
        found += here / len(positive) * above / total
    return found


def naive_places(scores: Matrix, split: EdgeSplit) -> list[float]:
    """Each test edge's end among the nodes that are neither a training nor a test neighbor."""
    train = split.train.adjacency.toarray()
    arcs = [(int(a), int(b)) for a, b in split.test]
    if not split.train.directed:
        arcs += [(b, a) for a, b in arcs]
    places = []
    for i, j in arcs:
        others = [x for x in range(len(scores)) if x != i and not train[i, x] and (i, x) not in arcs]
        above = sum(scores[i, x] > scores[i, j] for x in others)
        places.append(1 + above + sum(scores[i, x] == scores[i, j] for x in others) / 2)
    return places


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("levels", [4, 10**6])
@pytest.mark.parametrize("seed", range(3))
def test_against_loops(directed: bool, levels: int, seed: int) -> None:
    split = split_edges(random_graph(24, seed, directed=directed), 0.25, seed=seed)
    model = model_of(split, seed, levels)
    result = link_prediction(
        model, split, score="decoder", per_positive=2, k=[5, 30], hits=[1, 3], seed=seed, baselines=False
    )
    scores = model.scores.astype(float)
    scores = scores if directed else (scores + scores.T) / 2  # a pair is one thing
    drawn = sample_negatives(split.whole, 2 * len(split.test), seed=seed).pairs
    positive, negative = ([scores[a, b] for a, b in pairs.tolist()] for pairs in (split.test, drawn))
    figures = result.figures
    assert figures["AUC"] == pytest.approx(naive_area(positive, negative))
    assert figures["AP"] == pytest.approx(naive_step_precision(positive, negative))
    train = split.train.adjacency.toarray()
    kept = [any(train[i, j] or train[j, i] for j in range(24) if j != i) for i in range(24)]
    known = [[scores[a, b] for a, b in pairs.tolist() if kept[a] and kept[b]] for pairs in (split.test, drawn)]
    assert figures["AUC known ends"] == pytest.approx(naive_area(*known))
    places = naive_places(scores, split)
    assert figures["MRR"] == pytest.approx(sum(1 / x for x in places) / len(places))
    for k in (1, 3):
        assert figures[f"hits@{k}"] == pytest.approx(sum(x <= k for x in places) / len(places))
    assert figures["MAP"] == pytest.approx(naive_map(scores, split))
    for k in (5, 30):
        assert figures[f"precision@{k}"] == pytest.approx(naive_precision(scores, split, k))
    assert list(figures) == [
        "AUC", "AP", "AUC known ends", "MAP", "precision@5", "precision@30", "hits@1", "hits@3", "MRR",
    ]  # fmt: skip


def candidates(split: EdgeSplit) -> tuple[dict[int, list[int]], Matrix]:
    """The nodes that may follow each, and where the test edges are."""
    n, train = split.train.n_nodes, split.train.adjacency.toarray()
    wanted = np.zeros((n, n))
    for a, b in split.test.tolist():
        wanted[a, b] = 1
        if not split.train.directed:
            wanted[b, a] = 1
    return {i: [j for j in range(n) if j != i and not train[i, j]] for i in range(n)}, wanted


def naive_map(scores: Matrix, split: EdgeSplit) -> float:
    """Walk down the places; at each, the chance of a hit times the precision to be expected if there is one."""
    free, wanted = candidates(split)
    found = []
    for i, others in free.items():
        right = sum(wanted[i, j] for j in others)
        if right:
            total, place, hits = 0.0, 0, 0.0
            for level in sorted({scores[i, j] for j in others}, reverse=True):
                tied = [j for j in others if scores[i, j] == level]
                r, g = sum(wanted[i, j] for j in tied), len(tied)
                for p in range(g):
                    total += r / g * (hits + 1 + p * (r - 1) / max(g - 1, 1)) / (place + p + 1)
                place, hits = place + g, hits + r
            found.append(total / right)
    return sum(found) / len(found)


def naive_precision(scores: Matrix, split: EdgeSplit, k: int) -> float:
    free, wanted = candidates(split)
    pairs = [(i, j) for i, others in free.items() for j in others]
    found, left = 0.0, k
    for level in sorted({scores[p] for p in pairs}, reverse=True):
        tied = [p for p in pairs if scores[p] == level]
        taken = min(left, len(tied))
        found += sum(wanted[p] for p in tied) * taken / len(tied)
        left -= taken
    return found / k


# -------------------------------------------------------------------- known answers


def cliques(count: int, size: int) -> tuple[Graph, Embedding]:
    dense = np.kron(np.eye(count), np.ones((size, size))) - np.eye(count * size)
    graph = Graph.from_scipy(dense)
    return graph, Embedding(graph.nodes, np.kron(np.eye(count), np.ones((size, 1))))


@pytest.mark.parametrize("score", ["cosine", "dot", "distance"])
def test_a_perfect_embedding_scores_one(score: str) -> None:
    graph, perfect = cliques(8, 7)
    split = split_edges(graph, 0.2, seed=1)
    result = link_prediction(perfect, split, score=score, k=[10, 60], hits=[1], baselines=False)
    assert len(split.test) == 34
    ones = ["AUC", "AP", "AUC known ends", "MAP", "precision@10", "precision@60", "hits@1", "MRR"]
    assert result.figures == dict.fromkeys(ones, 1.0)


def test_a_random_embedding_is_at_chance() -> None:
    rng = np.random.default_rng(0)
    dense = np.triu(rng.random((300, 300)) < 0.1, 1)
    split = split_edges(Graph.from_scipy((dense | dense.T).astype(float)), 0.5)
    embedding = Embedding(split.train.nodes, rng.normal(size=(300, 16)))
    found = link_prediction(embedding, split, per_positive=4, k=[20_000], hits=[30], baselines=False).figures
    free = 300 * 299 - split.train.adjacency.nnz
    density = 2 * len(split.test) / free
    assert found["AUC"] == pytest.approx(0.5, abs=0.02) and found["AP"] == pytest.approx(0.2, abs=0.02)
    assert found["precision@20000"] == pytest.approx(density, abs=0.01)
    assert found["hits@30"] == pytest.approx(30 / (300 * (1 - 0.1)), abs=0.02)
    assert density < found["MAP"] < density + 0.05


def test_equal_vectors_are_at_chance_too() -> None:
    """No order of nodes helps where all pairs tie."""
    graph, _ = cliques(6, 6)
    split = split_edges(graph, 0.2)
    found = link_prediction(Embedding(graph.nodes, np.ones((36, 2))), split, k=[50], hits=[1, 36], baselines=False)
    free = 36 * 35 - split.train.adjacency.nnz
    assert found.figures["AUC"] == 0.5
    assert found.figures["precision@50"] == pytest.approx(2 * len(split.test) / free)
    assert found.figures["hits@1"] == 0 and found.figures["hits@36"] == 1


def test_ends_without_an_edge_in_training() -> None:
    # e loses its only edge: a - b is found, c - e cannot be, whatever the vectors are
    train = Graph.from_edges([("a", "c"), ("b", "c"), ("c", "d")], nodes="abcde")
    split = EdgeSplit.of(train, [("a", "b"), ("c", "e")])
    vectors = [[1, 0], [1, 0.1], [0, 1], [-1, 1], [0, -1]]
    found = link_prediction(Embedding("abcde", vectors), split, negatives="all", k=[1], baselines=False)
    # cosines: a-b .995, c-e -1; negatives a-d -.7, b-d -.6, a-e 0, b-e -.1, d-e -.7
    assert found.figures["AUC"] == pytest.approx(5 / 10)
    assert found.figures["AUC known ends"] == 1.0
    assert found.protocol["negative pairs"] == 5


def test_no_test_edge_between_known_ends() -> None:
    split = EdgeSplit.of(Graph.from_edges([("a", "b")], nodes="abcd"), [("c", "d")])
    found = link_prediction(Embedding("abcd", np.eye(4)), split, k=[1], baselines=False)
    assert np.isnan(found.figures["AUC known ends"])
    assert "-" in repr(found).splitlines()[1].split()


# -------------------------------------------------------------------- the table


def test_baselines_see_the_training_graph_alone() -> None:
    graph, perfect = cliques(5, 8)
    split = split_edges(graph, 0.2, seed=3)
    found = link_prediction(perfect, split, k=[20], seed=2)
    assert list(found.baselines) == [
        "common neighbors", "Adamic-Adar", "preferential attachment", "shortest path", "spectral", "normalised SVD",
    ]  # fmt: skip
    for name, row in found.baselines.items():
        assert list(row) == list(found.figures), name
    # whoever is in the same clique shares neighbors in training, and nobody else does
    for name in ("common neighbors", "Adamic-Adar", "shortest path"):
        assert found.baselines[name]["AUC"] == found.baselines[name]["MAP"] == 1.0
    assert found.baselines["preferential attachment"]["AUC"] < 0.8
    assert found.baselines["spectral"]["AUC"] > 0.99
    assert found.best("MAP") == "embedding"


def test_the_baselines_are_measured_as_the_model_is() -> None:
    """A model that has common neighbors as its scores gets the figures of common neighbors."""
    split = split_edges(random_graph(40, 2), 0.2)
    links = split.train.adjacency.toarray().astype(bool)
    np.fill_diagonal(links, False)
    shared = links.astype(float) @ links.astype(float)
    model = Model(Embedding(split.train.nodes, np.random.default_rng(0).normal(size=(40, 4))), shared)
    found = link_prediction(model, split, score="decoder", k=[7, 50])
    assert found.baselines["common neighbors"] == pytest.approx(found.figures)
    assert found.protocol["spectral vectors scored by"] == "dot"


def test_the_protocol_says_what_was_done() -> None:
    split = split_edges(random_graph(40, 2), 0.2, keep="connected", seed=8)
    embedding = Embedding(split.train.nodes, np.random.default_rng(0).normal(size=(40, 4)))
    found = link_prediction(embedding, split, negatives="degree", per_positive=3, seed=5, baselines=False)
    assert found.protocol == {
        "hidden": 0.2,
        "keep": "connected",
        "split seed": 8,
        "test edges": len(split.test),
        "isolated nodes made": 0,
        "test edges across components": 0,
        "score": "cosine",
        "negatives": "degree",
        "seed": 5,
        "negative pairs": 3 * len(split.test),
        "negatives are no edges of": "the whole graph",
        "ranked": "ordered pairs but the diagonal and training pairs",
        "hits and MRR": "without the other test edges of the node",
        "ties": "share their places",
        "nodes ranked from": 40,
    }
    assert (
        found.to_dict()
        == link_prediction(embedding, split, negatives="degree", per_positive=3, seed=5, baselines=False).to_dict()
    )


def test_sampled_nodes() -> None:
    split = split_edges(random_graph(60, 2), 0.2)
    model = model_of(split, 1, 50)
    found = link_prediction(model, split, score="decoder", nodes=20, seed=3)
    assert not any(x.startswith("precision@") for x in found.figures), "a global ranking needs all pairs"
    assert found.protocol["nodes ranked from"] == 20 and found.deviations["MAP"] > 0
    some = np.unique(split.test)
    rows = set(np.random.default_rng(3).choice(some, 20, replace=False).tolist())
    arcs = [(a, b) for a, b in split.test.tolist()] + [(b, a) for a, b in split.test.tolist()]
    scores = (model.scores.astype(float) + model.scores.T) / 2
    places = [x for (a, _), x in zip(arcs, naive_places(scores, split), strict=True) if a in rows]
    assert found.figures["MRR"] == pytest.approx(sum(1 / x for x in places) / len(places))
    assert list(found.baselines["spectral"]) == list(found.figures)


def test_paths_that_would_take_minutes_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    module = sys.modules[link_prediction.__module__]
    split = split_edges(random_graph(30, 2), 0.2)
    embedding = Embedding(split.train.nodes, np.random.default_rng(0).normal(size=(30, 4)))
    starts = len(np.unique(np.concatenate([split.test, sample_negatives(split.whole, len(split.test)).pairs])[:, 0]))
    assert starts < 30
    monkeypatch.setattr(module, "_MOST_STEPS", starts * split.train.adjacency.nnz)
    found = link_prediction(embedding, split, k=[5])
    assert list(found.baselines["shortest path"]) == ["AUC", "AP", "AUC known ends"]
    left = ["MAP", "precision@5", "hits@10", "hits@50", "MRR"]
    assert found.protocol["shortest path left out (too many steps) of"] == left
    line = next(x for x in repr(found).splitlines() if x.startswith("shortest path"))
    assert line.split()[-5:] == ["-"] * 5
    monkeypatch.setattr(module, "_MOST_STEPS", 1)
    assert link_prediction(embedding, split, k=[5]).baselines["shortest path"] == {}


def test_infinite_scores_rank_and_those_that_are_no_numbers_are_refused() -> None:
    graph, _ = cliques(4, 5)
    split = split_edges(graph, 0.2)
    inside = graph.adjacency.toarray() > 0
    model = Model(Embedding(graph.nodes, np.ones((20, 1))), np.where(inside, np.inf, -np.inf))
    found = link_prediction(model, split, score="decoder", k=[8], hits=[1], baselines=False).figures
    assert set(found.values()) == {1.0}
    model.scores[:] = np.nan
    with pytest.raises(InputError, match="a score of two nodes is not a number"):
        link_prediction(model, split, score="decoder")


# -------------------------------------------------------------------- refusals


def test_a_model_that_saw_the_test_edges_is_refused() -> None:
    graph = random_graph(20, 1, density=0.3)
    split = split_edges(graph, 0.2)
    model = SDNE(dim=2, hidden=(4,), epochs=1)
    with pytest.raises(InputError) as caught:
        link_prediction(model.fit(graph, progress=False), split)
    assert str(caught.value) == ("the SDNE was fitted to the whole graph, test edges included; fit it to split.train")
    result = link_prediction(model.fit(split.train, progress=False), split, score="decoder", k=[3], baselines=False)
    assert result.name == "SDNE" and 0 <= result.figures["AUC"] <= 1


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"score": "euclid"}, "score='euclid' is not one of dot, cosine, distance, w2, decoder"),
        ({"score": "decoder"}, "Embedding has no decoder"),
        ({"negatives": "hard"}, "kind='hard' is not one of uniform, degree, all"),
        ({"per_positive": 0}, "per_positive=0 does not fit: give whole numbers of at least 1"),
        ({"per_positive": 10**6}, "pairs were asked for and"),
        ({"k": []}, "k=[] does not fit"),
        ({"hits": [0]}, "hits=[0] does not fit"),
        ({"nodes": -1}, "nodes=-1 does not fit"),
    ],
)
def test_what_cannot_be_asked(change: dict[str, Any], said: str) -> None:
    graph = random_graph(20, 1)
    with pytest.raises(InputError) as caught:
        link_prediction(Embedding(graph.nodes, np.ones((20, 2))), split_edges(graph, 0.2), **change)
    assert said in str(caught.value)


def test_nodes_without_a_vector() -> None:
    split = split_edges(random_graph(20, 1), 0.2)
    with pytest.raises(InputError, match="no node is labelled 'n0'"):
        link_prediction(Embedding("ab", np.ones((2, 2))), split)


@pytest.mark.slow
@pytest.mark.skipif(not os.environ.get("NETFOLD_DATA"), reason="needs NETFOLD_DATA")
def test_cheap_baselines_on_gr_qc_are_where_others_found_them() -> None:
    """15% hidden: common neighbors .81-.84 / .213, Adamic-Adar .86-.91 / .275 at 1,000 / 10,000 pairs."""
    from netfold import datasets

    graph = datasets.load("ca_grqc")
    split = split_edges(graph, 0.15)
    assert len(split.test) == 2173
    rows = link_prediction(Embedding(graph.nodes, np.ones((5242, 1))), split).baselines
    assert 0.79 < rows["common neighbors"]["precision@1000"] < 0.85
    assert rows["common neighbors"]["precision@10000"] == pytest.approx(0.213, abs=0.006)
    assert 0.85 < rows["Adamic-Adar"]["precision@1000"] < 0.92
    assert rows["Adamic-Adar"]["precision@10000"] == pytest.approx(0.277, abs=0.006)
