"""Rankings with ties: average precision over all orders, the best of a long one, and a mean over sampled nodes."""

from __future__ import annotations

from itertools import pairwise, permutations

import numpy as np
import pytest
import torch

from naive_rankings import naive_average_precision, precision_at, random_graph
from netfold.data.embedding import Embedding
from netfold.evaluate import average_precision
from netfold.evaluate import scores as scores_of
from netfold.evaluate.ranking import Best, rank


def test_the_naive_figures_are_means_over_all_orders_of_ties() -> None:
    scores, hits = [3.0, 2.0, 2.0, 2.0, 1.0, 1.0], [False, True, False, True, True, False]
    orders = [o for o in permutations(range(6)) if all(scores[a] >= scores[b] for a, b in pairwise(o))]
    assert len(orders) == 12
    found = []
    for order in orders:
        places = [place for place, i in enumerate(order, 1) if hits[i]]
        found.append(sum(found / place for found, place in enumerate(places, 1)) / 3)
    assert naive_average_precision(scores, hits) == pytest.approx(sum(found) / 12)


def test_average_precision_is_the_mean_over_all_orders_of_ties() -> None:
    linked = torch.tensor([[False, True, True], [False, False, False], [True, False, False]])
    # all tie. Row 0, hits at places 1 2, 1 3 or 2 3: (1 + 5/6 + 7/12) / 3 = 29/36; row 1 has no link and is left out;
    # row 2, the hit at 1, 2 or 3: (1 + 1/2 + 1/3) / 3 = 11/18
    assert average_precision(torch.zeros(3, 3), linked).tolist() == pytest.approx([29 / 36, 11 / 18])
    assert average_precision(torch.zeros(2, 3), linked[1:2].expand(2, 3)).tolist() == []


@pytest.mark.parametrize("seed", range(5))
def test_average_precision_with_ties_against_the_loop(seed: int) -> None:
    rng = np.random.default_rng(seed)
    scores, linked = rng.integers(0, 1 + 3 * seed, (7, 30)).astype(float), rng.random((7, 30)) < 0.3
    expected = [naive_average_precision(list(a), list(b)) for a, b in zip(scores, linked, strict=True)]
    assert average_precision(torch.tensor(scores), torch.tensor(linked)).tolist() == pytest.approx(expected)


def test_average_precision_of_the_ends_of_a_long_row() -> None:
    """Far down a ranking, the difference of harmonic numbers still has its digits."""
    n = 200_000
    scores = torch.arange(n, 0, -1).float()[None].repeat(2, 1)
    scores[1, -2:] = 0
    linked = torch.zeros(2, n, dtype=torch.bool)
    linked[:, -2:] = True
    both = (1 / (n - 1) + 2 / n) / 2
    assert average_precision(scores, linked).tolist() == pytest.approx([both, both], abs=1e-10)


@pytest.mark.parametrize("levels", [1, 3, 1000])
@pytest.mark.parametrize("part", [1, 7, 500])
def test_the_best_pairs_whatever_the_parts(levels: int, part: int) -> None:
    rng = np.random.default_rng(levels)
    scores, hits = rng.integers(0, levels, 500).astype(np.float32), rng.random(500) < 0.3
    scores[rng.random(500) < 0.2] = -np.inf  # left out
    best = Best(100)
    for start in range(0, 500, part):
        best.add(scores[start : start + part], hits[start : start + part])
    kept = scores > -np.inf
    assert len(best) == 100
    for k in (1, 2, 50, 99, 100):
        assert best.precision(k) == pytest.approx(precision_at(k, list(scores[kept]), list(hits[kept]))), k


def test_fewer_pairs_than_asked_for() -> None:
    best = Best(10)
    best.add(np.float32([1, -np.inf, 1, 0]), np.array([True, True, False, True]))
    assert len(best) == 3
    assert [best.precision(k) for k in (1, 2, 3)] == [0.5, 0.5, 2 / 3]


def test_the_confidence_interval_covers_the_whole_in_about_95_of_100_samples() -> None:
    graph = random_graph(300, 4)
    embedding = Embedding(graph.nodes, np.random.default_rng(1).normal(size=(300, 4)))
    scores = scores_of.pair_scores(embedding, graph, "cosine")
    whole = rank(scores, graph.adjacency, np.arange(300), k=1)
    assert not whole.sampled and not whole.interval
    covered = 0
    for seed in range(200):
        rows = np.random.default_rng(seed).choice(300, 40, replace=False)
        part = rank(scores, graph.adjacency, rows, k=1)
        assert part.sampled and part.best is None
        covered += abs(part.precisions.mean() - whole.precisions.mean()) <= part.interval["MAP"]
    assert 180 <= covered <= 199
