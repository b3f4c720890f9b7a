"""Clustering and the map in the plane: agreement against loops over pairs, chance, and what is refused."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from netfold.data.embedding import Embedding
from netfold.data.graph import Graph
from netfold.errors import InputError
from netfold.evaluate import clustering, visualization, visualization_points
from netfold.evaluate.class_tasks import _neighbors_right, agreement

RNG = np.random.default_rng(8)
START = RNG.bit_generator.state
PLANE = "accuracy of 5 neighbors in the plane"


@pytest.fixture(autouse=True)
def same_numbers() -> None:
    """Every test draws the same, whichever ran before it."""
    RNG.bit_generator.state = START


def naiveagreement(a: list[int], b: list[int]) -> tuple[float, float]:
    """NMI over the mean entropy, and ARI from pairs of nodes that are together in both, one or none."""
    n, both, left, right = len(a), Counter(zip(a, b, strict=True)), Counter(a), Counter(b)
    shared = sum(c / n * math.log(c * n / (left[i] * right[j])) for (i, j), c in both.items())
    entropies = [-sum(c / n * math.log(c / n) for c in x.values()) for x in (left, right)]
    together = [[x[i] == x[j] for i in range(n) for j in range(i)] for x in (a, b)]
    agree = sum(p and q for p, q in zip(*together, strict=True))
    expected = sum(together[0]) * sum(together[1]) / len(together[0])
    most = (sum(together[0]) + sum(together[1])) / 2
    return shared / (sum(entropies) / 2), (agree - expected) / (most - expected)


def corners(n: int = 60, k: int = 3, noise: float = 0.05) -> tuple[Embedding, dict[Any, Any]]:
    own = np.arange(n) % k
    vectors = np.eye(k)[own] + noise * RNG.normal(size=(n, k))
    return Embedding([("node", i) for i in range(n)], vectors), {("node", i): f"c{c}" for i, c in enumerate(own)}


def two_blocks(n: int = 40) -> Graph:
    own = np.arange(n) % 2
    edges = [(i, j) for i in range(n) for j in range(i) if RNG.random() < (0.6 if own[i] == own[j] else 0.03)]
    return Graph.from_edges(edges, nodes=range(n))


# -------------------------------------------------------------------- clustering


def testagreement_is_what_loops_count() -> None:
    for _ in range(5):
        a, b = RNG.integers(0, 4, (2, 30))
        nmi, ari = naiveagreement(a.tolist(), b.tolist())
        assert agreement(a, b) == pytest.approx({"NMI": nmi, "ARI": ari})


def test_perfect_vectors_score_1_and_random_ones_chance() -> None:
    embedding, labels = corners()
    made = clustering(embedding, labels, repeats=2)
    assert made.figures == pytest.approx({"NMI": 1.0, "ARI": 1.0})
    assert made.deviations == {"NMI": 0.0, "ARI": 0.0}
    noise = Embedding(range(600), RNG.normal(size=(600, 3)))
    chance = clustering(noise, {i: i % 3 for i in range(600)}, repeats=2)
    assert abs(chance.figures["ARI"]) < 0.02 and chance.figures["NMI"] < 0.02
    assert abs(chance.baselines["shuffled classes"]["ARI"]) < 0.02


def test_clusters_are_as_many_as_said() -> None:
    embedding, labels = corners(60, 4)
    assert clustering(embedding, labels, repeats=1).protocol["clusters"] == 4
    one = clustering(embedding, labels, clusters=1, repeats=1)
    assert one.figures == {"NMI": 0.0, "ARI": 0.0}
    assert one.protocol["clusters"] == 1
    merged = clustering(embedding, labels, clusters=2, repeats=1).figures["NMI"]
    assert 0.4 < merged < 0.9


def test_equal_vectors_are_one_cluster() -> None:
    same = Embedding("abcd", np.ones((4, 2)))
    assert clustering(same, dict(zip("abcd", "xxyy", strict=True)), repeats=1).figures == {"NMI": 0.0, "ARI": 0.0}


def test_lengths_count_only_where_rows_are_not_normalized() -> None:
    own = np.arange(40) % 2
    lengths = np.where(own == 0, 1, 10)[:, None] * np.array([[1.0, 1.0]])
    embedding = Embedding(range(40), lengths + 0.01 * RNG.normal(size=(40, 2)))
    labels = {i: int(c) for i, c in enumerate(own)}
    assert clustering(embedding, labels, normalize="none", repeats=1).figures["ARI"] == 1.0
    assert clustering(embedding, labels, normalize="rows", repeats=1).figures["ARI"] < 0.5


def test_graph_baselines_of_clusters() -> None:
    graph = two_blocks()
    made = clustering(
        Embedding(graph.nodes, RNG.normal(size=(40, 2))), {i: i % 2 for i in range(40)}, graph=graph, repeats=2
    )
    assert list(made.baselines) == ["spectral", "normalised SVD", "plain SVD", "ProNE", "shuffled classes"]
    assert made.baselines["spectral"]["ARI"] > 0.8 and made.best("ARI") != "embedding"
    assert not clustering(EMBEDDING, LABELS, baselines=False).baselines


def test_unlabelled_nodes_are_left_out() -> None:
    embedding, labels = corners(30)
    few = {node: x for node, x in labels.items() if node[1] < 12}
    protocol = clustering(embedding, few, repeats=1).protocol
    assert (protocol["nodes with a class"], protocol["nodes left out without a class"]) == (12, 18)


EMBEDDING, LABELS = corners(12)


@pytest.mark.parametrize(
    ("labels", "options", "words"),
    [
        (LABELS | {("node", 0): ["c0", "c1"]}, {}, r"node \('node', 0\) has several classes"),
        (dict.fromkeys(LABELS, "x"), {}, "12 nodes with 1 class"),
        (LABELS | {"nobody": "x"}, {}, "no node is called 'nobody'"),
        (LABELS, {"clusters": 0}, "clusters=0 is not"),
        (LABELS, {"repeats": -1}, "repeats=-1 is not"),
        (LABELS, {"normalize": "x"}, "normalize='x'"),
    ],
)
def test_what_clustering_refuses(labels: Any, options: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=words):
        clustering(EMBEDDING, labels, **options)


# -------------------------------------------------------------------- visualization


def naive_neighbors_right(points: npt.NDArray[np.float64], codes: list[int], k: int) -> float:
    right = 0
    for i in range(len(points)):
        far = [(math.dist(points[i], points[j]), j) for j in range(len(points)) if j != i]
        votes = Counter(codes[j] for _, j in sorted(far)[:k])
        right += min(votes, key=lambda c: (-votes[c], c)) == codes[i]
    return right / len(points)


@pytest.mark.parametrize("n", [4, 40])
def test_neighbors_in_the_plane_by_loops(n: int) -> None:
    points, codes = RNG.normal(size=(n, 2)), RNG.integers(0, 3, n)
    assert _neighbors_right(points, codes) == naive_neighbors_right(points, codes.tolist(), min(5, n - 1))


def test_the_divergence_is_the_formula_of_the_points() -> None:
    """KL of the points returned, with p from the perplexity by bisection; Barnes-Hut keeps 3 perplexity neighbors."""
    n, perplexity = 40, 8
    embedding, labels = corners(n, 3, noise=0.3)
    made = visualization(embedding, labels, perplexity=perplexity)
    points = visualization_points(embedding, perplexity=perplexity).vectors.astype(np.float64)
    x = embedding.vectors.astype(np.float64)
    p = np.zeros((n, n))
    for i in range(n):
        far = np.array([sum((x[i] - x[j]) ** 2) for j in range(n)])
        near = [j for j in np.argsort(far, kind="stable") if j != i][: 3 * perplexity + 1]
        low, high = 0.0, 1e6
        for _ in range(200):
            beta = (low + high) / 2
            row = np.exp(-beta * (far[near] - far[near].min()))
            row /= row.sum()
            entropy = -sum(v * math.log(max(v, 1e-300)) for v in row)
            low, high = (beta, high) if entropy > math.log(perplexity) else (low, beta)
        p[i, near] = row
    p = (p + p.T) / p.sum() / 2
    q = np.array([[0 if i == j else 1 / (1 + sum((points[i] - points[j]) ** 2)) for j in range(n)] for i in range(n)])
    q /= q.sum()
    kl = sum(p[i, j] * math.log(p[i, j] / q[i, j]) for i in range(n) for j in range(n) if p[i, j] > 1e-12)
    assert made.figures["KL"] == pytest.approx(kl, rel=0.05)
    codes = [int(labels[node][1:]) for node in embedding.nodes]
    assert made.figures[PLANE] == naive_neighbors_right(points, codes, 5)


def test_equal_vectors_do_not_fly_apart_in_the_plane() -> None:
    """Begun at one place, Barnes-Hut drives copies away without end, and its divergence falls below 0."""
    vectors = np.repeat(np.random.default_rng(0).normal(size=(17, 4)), 4, axis=0)
    embedding = Embedding(range(68), vectors)
    assert visualization(embedding, perplexity=10).figures["KL"] >= 0
    assert np.abs(visualization_points(embedding, perplexity=10).vectors).max() < 1e3


def test_classes_apart_stay_apart_in_the_plane() -> None:
    embedding, labels = corners(45, noise=0.02)
    made = visualization(embedding, labels, perplexity=5)
    assert made.figures[PLANE] == 1.0
    assert made.smaller_is_better == ("KL",)
    mixed = visualization(embedding, {node: ("node", node[1] % 2)[1] for node in labels}, perplexity=5)
    assert mixed.figures[PLANE] < 0.8
    assert mixed.figures["KL"] == made.figures["KL"]  # classes do not move points


def test_some_nodes_are_mapped_and_some_are_labelled() -> None:
    embedding, labels = corners(60)
    made = visualization(embedding, labels, perplexity=5, nodes=30, seed=1)
    assert made.protocol["nodes"] == 30 and PLANE in made.figures
    shown = visualization_points(embedding, perplexity=5, nodes=30, seed=1)
    assert len(shown) == 30 and shown.dim == 2
    assert all(node in embedding for node in shown)
    assert list(visualization(Embedding(range(20), RNG.normal(size=(20, 1))), perplexity=5).figures) == ["KL"]


def test_graph_baselines_of_the_plane() -> None:
    graph = two_blocks(30)
    embedding = Embedding(graph.nodes, RNG.normal(size=(30, 3)))
    made = visualization(embedding, {i: i % 2 for i in range(30)}, graph=graph, perplexity=5)
    assert list(made.baselines) == ["spectral", "normalised SVD", "plain SVD", "ProNE"]
    assert made.baselines["spectral"][PLANE] > 0.8 > made.figures[PLANE]
    assert not visualization(embedding, graph=graph, perplexity=5, baselines=False).baselines


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"perplexity": 12}, "perplexity=12 is not a number above 0 and below the number of nodes, 12"),
        ({"perplexity": 0}, "perplexity=0"),
        ({"perplexity": 5, "nodes": 4}, "number of nodes, 4"),
        ({"perplexity": 5, "nodes": 0}, "nodes=0 is not"),
        ({"perplexity": 5, "normalize": "x"}, "normalize='x'"),
        ({"perplexity": 5, "classes": {"nobody": "x"}}, "no node is called 'nobody'"),
    ],
)
def test_what_visualization_refuses(options: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=words):
        visualization(EMBEDDING, **options)
