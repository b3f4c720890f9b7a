"""Sums of scores: what each counts is learned from held-out links, and judged by others."""

from __future__ import annotations

import math

import numpy as np
import pytest

from netfold.data.edges import edge_pairs
from netfold.data.embedding import Embedding
from netfold.data.graph import Graph
from netfold.embedder.pair_score import OF_LINKS, weighted_scores
from netfold.evaluate import choose_pair_score, held_out, link_prediction
from netfold.evaluate.held_out import HeldOutPairs, learned_weights, out_of_fold
from netfold.evaluate.negatives import sample_negatives
from netfold.evaluate.pairs import separation
from netfold.evaluate.splits import split_edges


def loss(right: np.ndarray, wrong: np.ndarray, weights: list[float], added: float) -> float:
    """Of logistic regression, pair by pair, and half of the squared weights."""
    total = sum(w * w for w in weights) / 2
    for sign, rows in ((1, right), (-1, wrong)):
        for row in rows.tolist():
            total += math.log1p(math.exp(-sign * (sum(w * x for w, x in zip(weights, row, strict=True)) + added)))
    return total


def some_pairs(seed: int, m: int = 200) -> tuple[np.ndarray, np.ndarray]:
    """What three scores say: the first knows a little, the second the contrary, the third is noise."""
    rng = np.random.default_rng(seed)
    right, wrong = rng.exponential(1, (m, 3)), rng.exponential(1, (m, 3))
    right[:, 0] += 1.0
    wrong[:, 1] += 1.0
    return right, wrong


def test_no_other_weights_have_a_smaller_loss() -> None:
    right, wrong = some_pairs(0)
    weights, added = learned_weights(right, wrong)
    least = loss(right, wrong, weights.tolist(), added)
    assert weights[0] > 0.5 and weights[1] == 0 and (weights >= 0).all()
    for k in range(4):
        for step in (-0.01, 0.01):
            other = [*weights.tolist(), added]
            other[k] += step
            if min(other[:3]) >= 0:
                assert loss(right, wrong, other[:3], other[3]) > least


def test_weights_are_those_of_scikit_learn_where_none_is_held_at_0() -> None:
    from sklearn.linear_model import LogisticRegression

    right, wrong = (x[:, [0, 2]] for x in some_pairs(1))
    right[:, 1] += 0.3
    y = np.repeat([1, 0], [len(right), len(wrong)])
    model = LogisticRegression(C=1.0, tol=1e-10, max_iter=1000).fit(np.concatenate([right, wrong]), y)
    weights, added = learned_weights(right, wrong)
    np.testing.assert_allclose(weights, model.coef_[0], atol=1e-4)
    assert added == pytest.approx(model.intercept_[0], abs=1e-4)


def test_what_says_the_same_of_all_counts_nothing() -> None:
    right, wrong = (np.column_stack([x[:, 0], np.full(len(x), 3.0)]) for x in some_pairs(2))
    assert learned_weights(right, wrong)[0][1] < 1e-3


def test_a_sum_is_judged_by_pairs_that_its_weights_were_not_learned_from() -> None:
    """Of many scores that know nothing the weights that were learned look good on the very pairs, and not on others."""
    rng, found, inside = np.random.default_rng(3), [], []
    for _ in range(20):
        right, wrong = rng.exponential(1, (30, 12)), rng.exponential(1, (30, 12))
        told = [np.ones(30, bool)] * 2
        found.append(separation(*out_of_fold(right, wrong, told))["AUC"])
        weights, _ = learned_weights(right, wrong)
        inside.append(separation(right @ weights, wrong @ weights)["AUC"])
    assert np.mean(inside) > 0.65
    assert np.mean(found) < 0.55


def blocks_graph(n: int = 120, isolated: int = 0) -> Graph:
    rng, block = np.random.default_rng(5), np.arange(n) % 4
    linked = np.triu((block[:, None] == block) & (rng.random((n, n)) < 0.4), 1)
    return Graph.from_edges(np.argwhere(linked).tolist(), nodes=range(n + isolated))


def held(graph: Graph, products: float = 1e9) -> HeldOutPairs:
    split = split_edges(graph, 0.1)
    wrong = sample_negatives(graph, len(split.test)).pairs
    return HeldOutPairs(split.train, split.test, wrong, products)


def test_what_links_say_is_added_to_what_vectors_say_and_nothing_that_takes_too_long() -> None:
    graph = blocks_graph()
    noisy = np.eye(4)[np.arange(120) % 4] + np.random.default_rng(6).normal(0, 0.7, (120, 4))
    model = Embedding(range(120), noisy)
    score, values = held(graph).best(model)
    names = {name for _, name in weighted_scores(score)}
    alone = max(separation(*held(graph).values(model, x))["AUC"] for x in ("dot", "cosine", "distance"))
    assert names & set(OF_LINKS) and separation(*values)["AUC"] > alone
    cheap = {name for _, name in weighted_scores(held(graph, products=0).best(model)[0])}
    assert not cheap & {"paths of three", "personalised PageRank"}


def test_where_little_is_held_out_no_sum_is_learned(monkeypatch: pytest.MonkeyPatch) -> None:
    model = Embedding(range(120), np.random.default_rng(0).normal(size=(120, 4)))
    asked = held(blocks_graph())
    monkeypatch.setattr(held_out, "_FEWEST", 10**6)
    assert len(weighted_scores(asked.best(model)[0])) == 1


def test_that_a_node_has_no_links_left_is_not_learned() -> None:
    """Whoever lost all links is held-out more often than not: a score that says nothing else would learn just that."""
    ring = [(i, (i + 1) % 60) for i in range(60)]
    graph = Graph.from_edges([*ring, *((i, 60 + i) for i in range(60))], nodes=range(120))
    pairs = edge_pairs(graph)
    out = pairs[(pairs[:, 1] >= 60)][:30]
    train = Graph.from_edges([x for x in pairs.tolist() if x not in out.tolist()], nodes=range(120))
    wrong = sample_negatives(graph, 30).pairs
    asked = HeldOutPairs(train, out, wrong, 1e9)
    model = Embedding(range(120), np.random.default_rng(0).normal(size=(120, 3)))
    assert asked._told[0].sum() == 0
    assert len(weighted_scores(asked.best(model)[0])) == 1


def test_beside_a_model_stands_what_links_alone_say_learned_as_its_score_is() -> None:
    split = split_edges(blocks_graph(), 0.2)
    noise = Embedding(range(120), np.random.default_rng(1).normal(size=(120, 4)))
    found = link_prediction(noise, split, k=(10,), hits=(1,))
    nothing = Embedding(range(120), np.ones((120, 1)))
    words = choose_pair_score(lambda graph: nothing, split.train)
    assert words is not None and {name for _, name in weighted_scores(words)} <= set(OF_LINKS)
    alone = link_prediction(nothing, split, score=words, k=(10,), hits=(1,), baselines=False)
    assert found.baselines["links alone"] == alone.figures
    assert found.baselines["links alone"]["AUC"] > found.figures["AUC"] + 0.2
    assert "links alone" not in link_prediction(noise, split, score="cosine", k=(10,), hits=(1,)).baselines
