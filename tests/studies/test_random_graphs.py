"""Random graphs against their definitions: block models, Chung and Lu's, Kronecker's."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from typing import Any

import numpy as np
import pytest

from memory import peak_memory
from netfold import datasets
from netfold.studies.datasets.random_graphs import distinct_integers


def close(found: float, expected: float, sigma: float) -> bool:
    """Within five standard deviations: one failure in two million."""
    return abs(found - expected) <= 5 * sigma


@pytest.mark.parametrize("count, among", [(1, 6), (2, 6), (4, 6), (0, 3), (3, 3)])
def test_distinct_takes_every_set_as_often(count: int, among: int):
    rng, runs = np.random.default_rng(0), 3000
    found = Counter(tuple(sorted(distinct_integers(rng, count, among).tolist())) for _ in range(runs))
    sets = list(itertools.combinations(range(among), count))
    p = 1 / len(sets)
    assert set(found) == set(sets)
    assert all(close(found[s] / runs, p, math.sqrt(p * (1 - p) / runs)) for s in sets)


def test_every_pair_of_a_block_model_is_linked_as_often_as_it_should_be():
    sizes, p_in, p_out, runs = (4, 1, 3), 0.6, 0.2, 1500
    total = np.zeros((8, 8))
    for seed in range(runs):
        graph, blocks = datasets.stochastic_block_model(sizes, p_in, p_out, seed=seed)
        total += graph.adjacency.toarray()
    assert blocks == dict(enumerate([0, 0, 0, 0, 1, 2, 2, 2]))
    for i, j in itertools.product(range(8), repeat=2):
        p = 0.0 if i == j else p_in if blocks[i] == blocks[j] else p_out
        assert close(total[i, j] / runs, p, math.sqrt(p * (1 - p) / runs)), (i, j)


def test_the_block_model_of_the_benchmark():
    graph, blocks = datasets.stochastic_block_model()
    block = np.array([blocks[i] for i in range(10_000)])
    rows, columns = graph.adjacency.nonzero()
    inside, n_in, n_out = int((block[rows] == block[columns]).sum()) // 2, 10 * 1000 * 999 // 2, 45 * 1000 * 1000
    assert close(inside, n_in * 0.01, math.sqrt(n_in * 0.01))
    assert close(graph.n_edges - inside, n_out / 900, math.sqrt(n_out / 900))
    assert graph.degrees.mean() == pytest.approx(20, abs=0.3) and inside / graph.n_edges == pytest.approx(0.5, abs=0.01)
    assert graph.n_self_loops == 0 and not graph.is_weighted


def test_block_models_at_the_edges():
    full, _ = datasets.stochastic_block_model([3, 4], 1, 1)
    assert full.n_edges == 21
    empty, blocks = datasets.stochastic_block_model([1], 1, 1)
    assert empty.n_edges == 0 and blocks == {0: 0}
    apart, _ = datasets.stochastic_block_model(np.array([3, 4]), 0, 1)
    assert apart.n_edges == 12


def weights(nodes: int, edges: int, exponent: float) -> np.ndarray[Any, Any]:
    """Chung and Lu's weights by their definition, i₀ found by halving."""
    b = 1 - 1 / (exponent - 1)

    def shares(start: float) -> np.ndarray[Any, Any]:
        w = (np.arange(nodes) + 1 + start) ** b - (np.arange(nodes) + start) ** b
        return w / w.sum()

    low, high = 0.0, 100.0 * nodes
    if shares(0)[0] <= (2 * edges) ** -0.5:
        return shares(0)
    for _ in range(100):
        mid = (low + high) / 2
        low, high = (mid, high) if shares(mid)[0] > (2 * edges) ** -0.5 else (low, mid)
    return shares(high)


def test_chung_lu_is_its_definition():
    nodes, edges, runs, p = 9, 8, 1200, weights(9, 8, 2.5)
    ours = np.mean([datasets.chung_lu(nodes, edges, seed=s).adjacency.toarray() for s in range(runs)], axis=0)
    rng, naive = np.random.default_rng(9), np.zeros((nodes, nodes))
    for _ in range(runs):
        found: set[tuple[int, int]] = set()
        while len(found) < edges:
            u, v = sorted(rng.choice(nodes, 2, p=p).tolist())
            found |= {(u, v)} if u < v else set()
        for u, v in found:
            naive[u, v] += 1 / runs
            naive[v, u] += 1 / runs
    assert np.all(np.abs(ours - naive) <= 5 * np.sqrt(2 * 0.25 / runs))
    assert ours.sum() == pytest.approx(2 * edges)


def test_degrees_of_chung_lu_follow_the_power_law():
    nodes, edges = 100_000, 400_000
    graph = datasets.chung_lu(nodes, edges, exponent=2.5, seed=1)
    assert (graph.n_nodes, graph.n_edges, graph.n_self_loops, graph.is_weighted) == (nodes, edges, 0, False)
    expected = 2 * edges * weights(nodes, edges, 2.5)
    for part in (slice(0, 100), slice(100, 1000), slice(1000, 10_000), slice(10_000, None)):
        assert graph.degrees[part].sum() == pytest.approx(expected[part].sum(), rel=0.07)
    assert expected[0] == pytest.approx(math.sqrt(2 * edges), rel=1e-3)
    tail = graph.degrees[graph.degrees >= 30]  # Hill's estimate; half a unit, for degrees are whole numbers
    assert 1 + 1 / np.log(tail / 29.5).mean() == pytest.approx(2.5, abs=0.25)


def test_each_bit_of_a_kronecker_edge_falls_into_the_quarters():
    graph = datasets.kronecker(18, 20_000, seed=2)
    assert (graph.n_nodes, graph.n_edges, graph.n_self_loops, graph.is_weighted) == (2**18, 20_000, 0, False)
    u, v = graph.adjacency.nonzero()
    for bit in range(18):
        ones = (u >> bit & 1) + (v >> bit & 1)
        shares = np.bincount(ones, minlength=3) / len(u)
        assert shares == pytest.approx([0.57, 0.38, 0.05], abs=0.02)  # the same edge again and loops cost a little


@pytest.mark.parametrize("make", [lambda: datasets.chung_lu(100_000, 500_000), lambda: datasets.kronecker(17, 500_000)])
def test_large_random_graphs_need_memory_for_their_edges_only(make: Any):
    with peak_memory() as peak:
        graph = make()
    assert graph.n_edges == 500_000 and peak[0] < 120 * graph.n_edges


@pytest.mark.slow
@pytest.mark.parametrize("name, size", [("chung_lu", {"nodes": 10**6}), ("kronecker", {"scale": 20})])
def test_five_million_edges(name: str, size: dict[str, int]):
    graph = datasets.load(name, edges=5_000_000, **size)
    assert graph.n_edges == 5_000_000 and graph.n_self_loops == 0
