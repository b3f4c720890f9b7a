"""Link prediction against loops over pairs, on splits where the answer is known."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import netfold as nf
from link_splits import cliques, model_of, random_graph
from naive_rankings import Matrix, Model, naive_area, naive_average_precision, naive_step_precision, precision_at
from netfold.data.embedding import Embedding
from netfold.data.graph import Graph
from netfold.errors import InputError
from netfold.evaluate import EdgeSplit, choose_pair_score, held_out, link_prediction, sample_negatives, split_edges
from netfold.evaluate.pairs import isolated_as_average
from netfold.evaluate.scores import chosen_score, pair_scores
from netfold.models import SDNE, DepthLGP, load
from refusals import refused

# -------------------------------------------------------------------- loops


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
        model,
        split,
        score="decoder",
        isolated="own",
        per_positive=2,
        k=[5, 30],
        hits=[1, 3],
        seed=seed,
        baselines=False,
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
    free, wanted = candidates(split)
    rows = [([scores[i, j] for j in others], [bool(wanted[i, j]) for j in others]) for i, others in free.items()]
    found = [naive_average_precision(row, hits) for row, hits in rows if any(hits)]
    return sum(found) / len(found)


def naive_precision(scores: Matrix, split: EdgeSplit, k: int) -> float:
    free, wanted = candidates(split)
    pairs = [(i, j) for i, others in free.items() for j in others]
    return precision_at(k, [scores[p] for p in pairs], [bool(wanted[p]) for p in pairs])


def test_a_graph_is_no_split() -> None:
    graph = nf.Graph.from_edges([(0, 1), (1, 2)])
    with pytest.raises(InputError, match=r"a Graph is no split; split = nf.evaluate.split_edges\(graph\) holds"):
        link_prediction(nf.Embedding(range(3), np.eye(3)), graph)  # type: ignore[arg-type]


def test_sampled_nodes() -> None:
    split = split_edges(random_graph(60, 2), 0.2)
    model = model_of(split, 1, 50)
    found = link_prediction(model, split, score="decoder", isolated="own", nodes=20, seed=3)
    assert not any(x.startswith("precision@") for x in found.figures), "a global ranking needs all pairs"
    assert found.protocol["nodes ranked from"] == 20 and found.deviations["MAP"] > 0
    some = np.unique(split.test)
    rows = set(np.random.default_rng(3).choice(some, 20, replace=False).tolist())
    arcs = [(a, b) for a, b in split.test.tolist()] + [(b, a) for a, b in split.test.tolist()]
    scores = (model.scores.astype(float) + model.scores.T) / 2
    places = [x for (a, _), x in zip(arcs, naive_places(scores, split), strict=True) if a in rows]
    assert found.figures["MRR"] == pytest.approx(sum(1 / x for x in places) / len(places))
    assert list(found.baselines["spectral"]) == list(found.figures)


# -------------------------------------------------------------------- known answers


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
    how = {"negatives": "all", "k": [1], "baselines": False}
    found = link_prediction(Embedding("abcde", vectors), split, isolated="own", **how)
    # cosines: a-b .995, c-e -1; negatives a-d -.7, b-d -.6, a-e 0, b-e -.1, d-e -.7
    assert found.figures["AUC"] == pytest.approx(5 / 10)
    assert found.figures["AUC known ends"] == 1.0
    assert found.protocol["negative pairs"] == 5
    # as an average pair of a, b, c, d: all pairs with e are equal, above a-d and b-d and below a-b
    average = link_prediction(Embedding("abcde", vectors), split, **how)
    assert average.figures["AUC"] == pytest.approx((5 + 2 + 3 / 2) / 10)
    assert average.figures["AUC known ends"] == 1.0
    assert average.protocol["nodes without training links"] == "as an average pair"
    assert found.protocol["nodes without training links"] == "by their own vectors"


@pytest.mark.parametrize("score", ["cosine", "dot", "distance"])
def test_pairs_with_an_isolated_node_are_average_pairs(score: str) -> None:
    train = Graph.from_edges([(i, (i + k) % 50) for i in range(50) for k in (1, 3)], nodes=range(53))
    vectors = np.random.default_rng(4).normal(size=(53, 6))
    vectors[50:] = 0
    own = pair_scores(Embedding(range(53), vectors), train, score)
    ours = isolated_as_average(own, train)
    every = np.arange(53)
    before, after = own.rows(every).numpy(), ours.rows(every).numpy()
    assert np.array_equal(before[:50, :50], after[:50, :50]) and not np.array_equal(before, after)
    values = np.unique(np.concatenate([after[50:].ravel(), after[:, 50:].ravel()]))
    assert len(values) == 1
    pairs = before[:50, :50][~np.eye(50, dtype=bool)].astype(float)
    assert abs(values[0] - pairs.mean()) < 3 * pairs.std() / 25**0.5  # 25 x 25 of them were looked at
    u, v = np.repeat(every, 53), np.tile(every, 53)
    assert np.array_equal(ours.at(u, v).numpy().reshape(53, 53), after)
    whole = Graph.from_edges([(0, 1), (1, 2)])
    scores = pair_scores(Embedding(range(3), np.eye(3)), whole, score)
    assert isolated_as_average(scores, whole) is scores, "where none is isolated, nothing changes"


def test_baselines_score_isolated_nodes_alike() -> None:
    split = split_edges(random_graph(60, 2), 0.6)
    assert split.figures["isolated nodes made"]
    embedding = Embedding(split.train.nodes, np.random.default_rng(0).normal(size=(60, 4)))
    ours, before = (link_prediction(embedding, split, isolated=x, k=[5]).baselines for x in ("average", "own"))
    for name in ours:
        assert ours[name]["AUC"] != before[name]["AUC"]
        assert ours[name]["AUC known ends"] == before[name]["AUC known ends"]


# -------------------------------------------------------------------- the score belongs to the data


@pytest.mark.parametrize("best", ["dot", "cosine", "distance"])
def test_the_score_that_finds_held_out_links_is_chosen(best: str, monkeypatch: pytest.MonkeyPatch) -> None:
    rng, n = np.random.default_rng(0), 120
    blocks = np.arange(n) % 3
    if best == "distance":  # places on a line from the origin: the product knows nothing, nor does the cosine
        vectors = np.stack([1 + blocks, np.zeros(n)], axis=1) + rng.normal(0, 0.01, (n, 2))
    else:  # directions; for the product, lengths say how many links a node has
        angles = blocks * 2.1 + rng.normal(0, 0.02 if best == "dot" else 0.3, n)
        lengths = (0.2 + 2 * (np.arange(n) < 60)) if best == "dot" else rng.uniform(0.2, 5, n)
        vectors = np.stack([np.cos(angles), np.sin(angles)], axis=1) * lengths[:, None]
    likely = blocks[:, None] == blocks
    if best == "dot":
        likely &= (np.arange(n) < 60)[:, None] | (np.arange(n) < 60)
    linked = np.triu(likely & (rng.random((n, n)) < 0.5), 1)
    graph = Graph.from_edges(np.argwhere(linked).tolist(), nodes=range(n))
    fits: list[Graph] = []

    def fit(part: Graph) -> Embedding:
        fits.append(part)
        return Embedding(range(n), vectors)

    monkeypatch.setattr(held_out, "_FEWEST", 10**6)  # no sums: links know the blocks as well
    assert choose_pair_score(fit, graph) == best
    assert len(fits) == 1 and fits[0].n_edges == graph.n_edges - round(0.1 * graph.n_edges)


def test_a_chosen_score_is_used_wherever_none_is_asked_for(tmp_path: Path) -> None:
    split = split_edges(random_graph(60, 2), 0.2)
    model = nf.SDNE(dim=4, epochs=2).fit(split.train, progress=False)
    plain = link_prediction(model, split, baselines=False)
    assert plain.protocol["score"] == "cosine" and "score chosen by" not in plain.protocol
    model.pair_score_ = "dot"
    model.save(tmp_path / "m")
    found = link_prediction(nf.load(tmp_path / "m"), split, baselines=False)
    assert found.figures == link_prediction(model, split, score="dot", baselines=False).figures
    assert found.protocol["score chosen by"] == "a fit without a tenth of the training links"
    assert nf.evaluate.reconstruction(model, split.train, baselines=False).protocol["score"] == "dot"
    assert chosen_score("calibration", model) == "w2", "a task of Gaussians"
    model.pair_score_ = "decoder"
    assert chosen_score("out-of-sample", model) == "cosine", "new nodes have vectors alone"
    assert chosen_score("link-prediction", model, "cosine") == "cosine"
    again = model.fit(split.train, progress=False)
    assert not hasattr(again, "pair_score_"), "it was chosen on other data"


def test_too_few_links_choose_nothing() -> None:
    assert choose_pair_score(lambda graph: Embedding(range(5), np.eye(5)), [(0, 1), (1, 2), (3, 4)]) is None


def test_no_test_edge_between_known_ends() -> None:
    split = EdgeSplit.of(Graph.from_edges([("a", "b")], nodes="abcd"), [("c", "d")])
    found = link_prediction(Embedding("abcd", np.eye(4)), split, k=[1], baselines=False)
    assert np.isnan(found.figures["AUC known ends"])
    assert "-" in repr(found).splitlines()[1].split()


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


@pytest.mark.parametrize("way", ["as it is", "some", "model", ".npz", ".parquet", "extended"])
def test_an_embedding_that_saw_the_test_edges_is_refused(way: str, tmp_path: Path) -> None:
    graph = random_graph(20, 1, density=0.3)
    split = split_edges(graph, 0.2)

    def made(fitted: Any) -> Embedding:
        model = SDNE(dim=2, hidden=(4,), epochs=1).fit(fitted, progress=False)
        embedding = model.embedding_
        assert embedding.fitted_to == fitted.fingerprint
        if way == "some":
            return embedding.take(list(embedding.nodes))
        if way == "model":
            model.save(tmp_path / "model", force=True)
            return load(tmp_path / "model").embedding_
        if way == "extended":
            return DepthLGP(epochs=1).fit(split.train, embedding, progress=False).embedding_
        if way.startswith("."):
            embedding.save(tmp_path / f"e{way}", force=True)
            return Embedding.load(tmp_path / f"e{way}")
        return embedding

    said = "the embedding was fitted to the whole graph, test edges included; fit it to split.train"
    assert refused(link_prediction, made(graph), split) == said
    assert 0 <= link_prediction(made(split.train), split, k=[3], baselines=False).figures["AUC"] <= 1
    unknown = Embedding(graph.nodes, made(graph).vectors)
    assert 0 <= link_prediction(unknown, split, k=[3], baselines=False).figures["AUC"] <= 1


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            {"score": "euclid"},
            "score='euclid' is not a score of pairs; there are dot, cosine, distance, paths, w2, decoder, resource",
        ),
        ({"score": "decoder"}, "Embedding has no decoder"),
        ({"negatives": "hard"}, "kind='hard' is not one of uniform, degree, all"),
        ({"per_positive": 0}, "per_positive=0 does not fit: give whole numbers of at least 1"),
        ({"per_positive": 10**6}, "pairs that are no edges are asked for, and there are 164"),
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
    with pytest.raises(InputError, match="no node is called 'n0'"):
        link_prediction(Embedding("ab", np.ones((2, 2))), split)
