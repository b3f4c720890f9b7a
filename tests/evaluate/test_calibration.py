"""How far probabilities of links can be trusted: against loops, and where Gaussians are sure and right by design."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from gaussian_graphs import gaussians, neighbors, two_blocks
from netfold.data.embedding import Embedding
from netfold.data.graph import Graph
from netfold.errors import InputError
from netfold.evaluate import calibration, calibration_error, sample_negatives, split_edges
from netfold.evaluate.uncertainty_tasks import _probabilities

# -------------------------------------------------------------------- errors and probabilities


@pytest.mark.parametrize("bins", [1, 7, 10])
def test_calibration_error_against_the_loop(bins: int) -> None:
    rng = np.random.default_rng(0)
    p, y = np.append(rng.random(200), [0, 1, 1]), np.append(rng.random(200) < 0.4, [0, 1, 0])
    expected = 0.0
    for b in range(bins):
        mine = [i for i in range(203) if b / bins <= p[i] < (b + 1) / bins or (b == bins - 1 and p[i] == 1)]
        if mine:
            gap = abs(np.mean([p[i] for i in mine]) - np.mean([y[i] for i in mine]))
            expected += gap * len(mine) / 203
    assert calibration_error(p, y, bins) == pytest.approx(expected)


def test_calibration_error_of_sure_answers() -> None:
    assert calibration_error([1, 0, 1, 0], [1, 0, 1, 0]) == 0
    assert calibration_error([0, 1, 0, 1], [1, 0, 1, 0]) == 1
    assert calibration_error([], []) == 0


@pytest.mark.parametrize("method", ["platt", "isotonic"])
def test_probabilities_are_those_that_made_the_truth(method: str) -> None:
    rng = np.random.default_rng(1)
    scores = rng.normal(size=20_000) * 50 - 300
    chance = 1 / (1 + np.exp(-(scores + 300) / 25))
    found = _probabilities(scores, rng.random(20_000) < chance, scores, method)
    assert np.abs(found - chance).mean() < 0.02


def test_platt_is_the_logistic_curve_of_the_greatest_likelihood() -> None:
    rng = np.random.default_rng(2)
    scores, truth = rng.normal(size=300), rng.random(300) < 0.3
    found = _probabilities(scores, truth, scores, "platt")
    assert np.sum(found - truth) == pytest.approx(0, abs=0.01)  # the gradient of the likelihood
    assert np.sum((found - truth) * scores) == pytest.approx(0, abs=0.01)


# -------------------------------------------------------------------- links of the certain half


def test_calibration_against_loops() -> None:
    graph, _ = two_blocks()
    split = split_edges(graph, 0.3, seed=1)
    model = gaussians(graph, 4)
    found = calibration(model, split, method="isotonic", largest=2, seed=6)
    wrong = sample_negatives(graph, len(split.test), seed=6).pairs
    assert model.std is not None
    means, std = model.vectors.astype(np.float64), model.std.astype(np.float64)

    def w2(u: int, v: int) -> float:
        return -math.sqrt(sum((means[u] - means[v]) ** 2) + sum((std[u] - std[v]) ** 2))

    variance = [np.mean(sorted(row**2)[-2:]) for row in std]
    degrees = [len(x) for x in neighbors(split.train)]
    for certainty, row in (
        ([-x for x in variance], found.figures),
        (degrees, found.baselines["certainty by degree"]),
    ):
        order = sorted(range(100), key=lambda i: (-certainty[i], i))
        aucs = []
        for half in (set(order[:50]), set(order[50:])):
            right, others = ([w2(u, v) for u, v in x if {u, v} <= half] for x in (split.test, wrong))
            aucs.append(np.mean([(a > b) + (a == b) / 2 for a in right for b in others]))
        assert row["AUC certain"] == pytest.approx(aucs[0], abs=1e-6)
        assert row["certain - uncertain"] == pytest.approx(aucs[0] - aucs[1], abs=1e-6)
    rng, pairs = np.random.default_rng(6), np.concatenate([split.test, wrong])
    learned = np.concatenate([rng.permutation(len(x)) < len(x) // 2 for x in (split.test, wrong)])
    truth, scores = np.arange(len(pairs)) < len(split.test), np.array([w2(u, v) for u, v in pairs])
    p = _probabilities(scores[learned], truth[learned], scores[~learned], "isotonic")
    brier = np.mean([(a - b) ** 2 for a, b in zip(p, truth[~learned], strict=True)])
    assert found.figures["Brier"] == pytest.approx(brier, abs=1e-5)
    assert found.figures["ECE"] == pytest.approx(calibration_error(p, truth[~learned]), abs=1e-5)
    same = found.baselines["the same for all"]
    assert same["AUC"] == 0.5
    assert same["Brier"] == pytest.approx(0.25, abs=1e-3)
    assert same["ECE"] == pytest.approx(0, abs=0.01)
    assert {"ECE", "Brier", "AUC"} == {*found.baselines["means alone"]}
    assert found.best("Brier") in repr(found)
    assert found.protocol["split seed"] == 1
    assert found.protocol["seed"] == 6


def test_the_half_that_is_learned_from_is_not_the_half_that_is_tested() -> None:
    """Isotonic probabilities of random scores have no error where they were learned, and a large one elsewhere."""
    graph, _ = two_blocks(60)
    found = calibration(gaussians(graph, 0), split_edges(graph, 0.3), method="isotonic")
    assert found.figures["ECE"] > 0.02


@pytest.mark.parametrize("method", ["platt", "isotonic"])
def test_good_gaussians_are_sure_and_right(method: str) -> None:
    graph, group = two_blocks(200)
    split = split_edges(graph, 0.3)
    rng = np.random.default_rng(0)
    vague = rng.random(200) < 0.5
    means = np.where(vague[:, None], rng.normal(size=(200, 2)), np.eye(2)[group] * 5)
    model = Embedding(graph.nodes, means, np.where(vague, 1.0, 0.1)[:, None].repeat(2, axis=1))
    found = calibration(model, split, method=method)
    assert found.figures["certain - uncertain"] > 0.2
    assert found.figures["AUC certain"] > 0.7
    assert found.best("AUC certain") == "embedding"  # degree knows nothing of what is vague here
    assert found.figures["Brier"] < found.baselines["the same for all"]["Brier"]


def test_gaussians_of_one_width_gain_nothing_over_their_means() -> None:
    graph, _ = two_blocks()
    points = gaussians(graph, 1)
    model = Embedding(graph.nodes, points.vectors, np.ones_like(points.vectors))
    found = calibration(model, split_edges(graph, 0.3))
    assert found.baselines["means alone"] == {x: found.figures[x] for x in ("ECE", "Brier", "AUC")}


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"method": "beta"}, "method='beta' is not one of platt, isotonic"),
        ({"negatives": "all"}, "negatives='all' is not one of uniform, degree"),
        ({"bins": 0}, "bins=0 is not a whole number"),
        (
            {"model": Embedding(range(100), np.zeros((100, 2)))},
            "has no std; uncertainty is of Gaussians, which DVNE makes",
        ),
    ],
)
def test_calibration_refuses(given: dict[str, Any], message: str) -> None:
    graph, _ = two_blocks()
    with pytest.raises(InputError, match=message):
        calibration(**({"model": gaussians(graph, 0), "split": split_edges(graph, 0.3)} | given))


def test_calibration_refuses_what_it_cannot_halve_and_who_saw_the_edges() -> None:
    few = Graph.from_edges([(0, 1), (1, 2), (2, 3), (3, 4)])
    with pytest.raises(InputError, match="1 test edges and 1 non-edges cannot be halved; 2 of each are needed"):
        calibration(gaussians(few, 0), split_edges(few, 0.25))

    class Fitted:
        def __init__(self) -> None:
            self.embedding_, self.graph_facts_ = gaussians(few, 0), {"fingerprint": few.fingerprint}

    with pytest.raises(InputError, match="fitted to the whole graph, test edges included"):
        calibration(Fitted(), split_edges(few, 0.5))
