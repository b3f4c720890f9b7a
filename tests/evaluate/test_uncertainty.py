"""Variance against degree, by loops and where it falls by design."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from gaussian_graphs import gaussians, neighbors
from netfold.data.embedding import Embedding
from netfold.data.graph import Graph
from netfold.errors import InputError
from netfold.evaluate import uncertainty
from netfold.evaluate.uncertainty_tasks import node_variance


def random_graph(n: int, seed: int, *, directed: bool = False) -> Graph:
    """Degrees that differ widely, a self-loop, an isolated node at the end; labels in no order."""
    rng = np.random.default_rng(seed)
    love = rng.random(n) ** 2
    dense = rng.random((n, n)) < np.outer(love, love)
    dense = dense if directed else np.triu(dense) | np.triu(dense).T
    dense[0, 0] = True
    dense[-1] = dense[:, -1] = False
    return Graph.from_scipy(dense.astype(float), [f"n{i}" for i in rng.permutation(n)], directed=directed)


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
        ({"model": Embedding("ab", np.eye(2), np.ones((2, 2)))}, "no node is called 'c'"),
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
