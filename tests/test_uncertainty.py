"""Variance against degree, calibration and noise, each against loops, and planted cases that must come out."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from scipy import sparse

from netfold.embedding import Embedding
from netfold.errors import InputError
from netfold.evaluate import (
    calibration,
    calibration_error,
    noise_robustness,
    sample_negatives,
    split_edges,
    uncertainty,
)
from netfold.evaluate.calibration import _probabilities
from netfold.evaluate.edges import edge_pairs
from netfold.evaluate.noise import with_noise
from netfold.evaluate.uncertainty import node_variance
from netfold.graph import Graph

Matrix = npt.NDArray[np.float64]


def random_graph(n: int, seed: int, *, directed: bool = False) -> Graph:
    """Degrees that differ widely, a self-loop, an isolated node at the end; labels in no order."""
    rng = np.random.default_rng(seed)
    love = rng.random(n) ** 2
    dense = rng.random((n, n)) < np.outer(love, love)
    dense = dense if directed else np.triu(dense) | np.triu(dense).T
    dense[0, 0] = True
    dense[-1] = dense[:, -1] = False
    return Graph.from_scipy(dense.astype(float), [f"n{i}" for i in rng.permutation(n)], directed=directed)


def gaussians(graph: Graph, seed: int, dim: int = 5) -> Embedding:
    rng = np.random.default_rng(seed)
    return Embedding(graph.nodes, rng.normal(size=(graph.n_nodes, dim)), rng.random((graph.n_nodes, dim)) + 0.1)


def two_blocks(n: int = 100, seed: int = 0) -> tuple[Graph, npt.NDArray[np.int64]]:
    rng = np.random.default_rng(seed)
    group = np.arange(n) % 2
    u, v = np.triu_indices(n, 1)
    some = rng.random(len(u)) < np.where(group[u] == group[v], 0.2, 0.01)
    return Graph.from_edges(np.stack([u[some], v[some]], axis=1), nodes=range(n)), group


def neighbors(graph: Graph) -> list[set[int]]:
    dense = graph.adjacency.toarray()
    n = len(dense)
    return [{j for j in range(n) if j != i and (dense[i, j] or dense[j, i])} for i in range(n)]


# -------------------------------------------------------------------- variance against degree


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("largest", [1, 3, 10])
def test_variance_by_degree_against_the_loop(directed: bool, largest: int) -> None:
    graph = random_graph(60, 2, directed=directed)
    model = gaussians(graph, 3).take(list(graph.nodes)[::-1])  # rows in another order than the graph's
    degrees = [len(x) for x in neighbors(graph)]
    found = uncertainty(model, graph, largest=largest, bins=4)
    assert model.std is not None
    std = model.std[model.nodes.positions(graph.nodes)].astype(np.float64)
    variance = [float(np.mean(sorted(row**2)[::-1][:largest])) for row in std]
    np.testing.assert_allclose(node_variance(model, graph, largest), variance, rtol=1e-10)
    rows = [i for i in range(60) if degrees[i]]
    low, high = (f(math.log10(degrees[i]) for i in rows) for f in (min, max))
    bins: dict[int, list[int]] = {}
    for i in rows:
        bins.setdefault(min(3, int((math.log10(degrees[i]) - low) / (high - low) * 4 + 1e-12)), []).append(i)
    expected = {}
    for b in sorted(bins):
        a, z = (f(degrees[i] for i in bins[b]) for f in (min, max))
        name = f"variance at degree {a}" if a == z else f"variance at degree {a}-{z}"
        expected[name] = np.mean([variance[i] for i in bins[b]])
    assert found.figures == pytest.approx({"Spearman": naive_spearman(variance, degrees, rows)} | expected)
    assert found.protocol["left out without a link"] == 60 - len(rows)


def naive_spearman(x: list[float], y: list[int], rows: list[int]) -> float:
    """Pearson's correlation of places, equals sharing theirs."""

    def places(values: list[Any]) -> list[float]:
        return [sum(b < a for b in values) + sum(b == a for b in values) / 2 for a in values]

    return float(np.corrcoef(places([x[i] for i in rows]), places([y[i] for i in rows]))[0, 1])


def test_variance_that_falls_with_degree_is_found_and_random_variance_is_not() -> None:
    graph = random_graph(200, 0)
    degrees = np.array([len(x) for x in neighbors(graph)])
    std = np.repeat(1 / np.sqrt(1 + degrees)[:, None], 3, axis=1)
    falling = uncertainty(Embedding(graph.nodes, np.zeros((200, 3)), std), graph)
    assert falling.figures["Spearman"] == pytest.approx(-1)
    means = [value for name, value in falling.figures.items() if name != "Spearman"]
    assert means == sorted(means, reverse=True)
    assert abs(uncertainty(gaussians(graph, 1), graph).figures["Spearman"]) < 0.25


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"largest": 0}, "largest=0 is not a whole number of at least 1"),
        ({"bins": 1.5}, "bins=1.5 is not a whole number of at least 1"),
        ({"model": Embedding("abc", np.eye(3))}, r"Embedding\(3 nodes, 3 dimensions\) has no std; uncertainty is of"),
        ({"model": Embedding("ab", np.eye(2), np.ones((2, 2)))}, "no node is labelled 'c'"),
        ({"model": Embedding("abc", np.eye(3), np.ones((3, 3)))}, "no two linked nodes differ in variance"),
        ({"graph": [("a", "b")]}, "no two linked nodes differ in degree"),
        ({"graph": Graph.from_edges([("a", "a")], nodes="abc")}, "no two linked nodes differ in degree"),
    ],
)
def test_uncertainty_refuses(given: dict[str, Any], message: str) -> None:
    default = {
        "model": Embedding("abc", np.eye(3), [[1, 1, 1], [2, 2, 2], [3, 3, 3]]),
        "graph": [("a", "b"), ("b", "c")],
    }
    with pytest.raises(InputError, match=message):
        uncertainty(**(default | given))


# -------------------------------------------------------------------- calibration


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
        ({"model": Embedding(range(100), np.zeros((100, 2)))}, "has no std; uncertainty is of Gaussians"),
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


# -------------------------------------------------------------------- noise


@pytest.mark.parametrize("directed", [False, True])
def test_noise_is_added_with_weights_of_the_graph(directed: bool) -> None:
    rng = np.random.default_rng(0)
    dense = np.where(rng.random((12, 12)) < 0.2, rng.integers(2, 9, (12, 12)), 0).astype(float)
    dense = dense if directed else np.triu(dense) + np.triu(dense, 1).T
    graph = Graph.from_scipy(sparse.csr_array(dense), directed=directed)
    pairs = sample_negatives(graph, 20).pairs
    made = with_noise(graph, pairs).adjacency.toarray()
    added = {*map(tuple, pairs.tolist())} | (set() if directed else {*map(tuple, pairs[:, ::-1].tolist())})
    for i in range(12):
        for j in range(12):
            assert (made[i, j] in dense[dense > 0]) if (i, j) in added else made[i, j] == dense[i, j]
    assert graph.adjacency.toarray().tolist() == dense.tolist()


def test_each_fit_sees_the_training_graph_and_so_much_noise() -> None:
    graph, group = two_blocks()
    seen = list[Graph]()

    def fit(train: Graph) -> Embedding:
        seen.append(train)
        return Embedding(train.nodes, np.eye(2)[group])

    found = noise_robustness(fit, graph, fractions=(0.05, 0.5), hidden=0.25, seed=3)
    split = split_edges(graph, 0.25, seed=3)
    edges, test = ({*map(tuple, x.tolist())} for x in (edge_pairs(graph), split.test))
    parts = [{*map(tuple, edge_pairs(x).tolist())} for x in seen]
    assert parts[0] == edges - test
    for part, share in zip(parts[1:], (0.05, 0.5), strict=True):
        noise = part - parts[0]
        assert parts[0] <= part
        assert len(noise) == round(share * len(parts[0]))
        assert not noise & edges
    assert parts[1] < parts[2]
    negatives = {*map(tuple, sample_negatives(graph, len(test), seed=3).pairs.tolist())}
    assert not negatives & parts[2]
    assert found.figures["decline@5%"] == found.figures["decline@50%"] == 0  # vectors that do not look at the graph
    right, wrong = ([float(group[u] == group[v]) for u, v in x] for x in (test, negatives))
    assert found.figures["AUC"] == pytest.approx(np.mean([(a > b) + (a == b) / 2 for a in right for b in wrong]))
    assert {"Adamic-Adar", "spectral", "normalised SVD"} == {*found.baselines}


def test_a_fit_that_noise_spoils_declines() -> None:
    graph, group = two_blocks(150)
    clean = split_edges(graph, 0.2).train.n_edges

    def fit(train: Graph) -> Embedding:
        share = (train.n_edges - clean) / clean
        noise = np.random.default_rng(0).normal(size=(150, 2))
        return Embedding(train.nodes, np.eye(2)[group] + 4 * share * noise)

    found = noise_robustness(fit, graph, baselines=False)
    assert 0 < found.figures["decline@5%"] < found.figures["decline@25%"] < found.figures["decline@50%"] < 0.5
    assert set(found.smaller_is_better) == {"decline@5%", "decline@25%", "decline@50%"}


def test_noise_spoils_the_baselines_too_and_repeats_have_a_deviation() -> None:
    graph, group = two_blocks(150)
    perfect = Embedding(range(150), np.eye(2)[group])
    found = noise_robustness(lambda train: perfect, graph, fractions=[2.0], repeats=3)
    assert found.baselines["Adamic-Adar"]["decline@200%"] > 0.02
    assert found.deviations["AUC"] > 0
    assert found.protocol["repeats"] == 3
    assert found.protocol["score"] == "cosine"
    assert found.best("decline@200%") == "embedding"
    rounds = [noise_robustness(lambda train: perfect, graph, fractions=2.0, seed=s).figures["AUC"] for s in range(3)]
    assert found.figures["AUC"] == pytest.approx(np.mean(rounds))
    assert found.deviations["AUC"] == pytest.approx(np.std(rounds, ddof=1))


def test_gaussians_are_compared_by_w2() -> None:
    graph, _ = two_blocks()
    found = noise_robustness(lambda train: gaussians(train, 0), graph, baselines=False, fractions=0.1)
    assert found.protocol["score"] == "w2"
    assert 0.3 < found.figures["AUC"] < 0.7


@pytest.mark.parametrize("fractions", [(), (0.0,), (0.1, -1), ("a",), None])
def test_noise_refuses(fractions: Any) -> None:
    graph, _ = two_blocks()
    with pytest.raises(InputError, match="are not parts of the edges above 0, such as"):
        noise_robustness(lambda train: gaussians(train, 0), graph, fractions=fractions)


def test_noise_refuses_no_repeats_and_a_full_graph() -> None:
    graph, _ = two_blocks()
    with pytest.raises(InputError, match="repeats=0 is not a whole number of at least 1"):
        noise_robustness(lambda train: gaussians(train, 0), graph, repeats=0)
    full = Graph.from_scipy(np.ones((6, 6)) - np.eye(6))
    with pytest.raises(InputError, match="are no edges"):
        noise_robustness(lambda train: gaussians(train, 0), full)
