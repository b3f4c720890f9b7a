"""Centralities against networkx, and how well vectors tell them against normal equations."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import networkx as nx
import numpy as np
import numpy.typing as npt
import pytest

from netfold.data.embedding import Embedding
from netfold.data.graph import Graph
from netfold.errors import InputError
from netfold.evaluate import centralities as central
from netfold.evaluate import centrality, role_tasks
from netfold.evaluate.baselines import degree_features
from zoo import ZOO, karate, scattered

REFERENCES: dict[str, tuple[Callable[[Graph], Any], Callable[[Any], dict[Any, float]]]] = {
    "closeness": (central.closeness, nx.closeness_centrality),
    "betweenness": (central.betweenness, nx.betweenness_centrality),
    "eigenvector": (central.eigenvector, lambda g: nx.eigenvector_centrality(g, max_iter=10_000, tol=1e-11)),
    "core": (central.core_numbers, nx.core_number),
    "pagerank": (central.pagerank, lambda g: nx.pagerank(g, tol=1e-13, max_iter=1000)),
    "degree": (central.degree, nx.degree_centrality),
}


def plain(graph: Graph) -> Any:
    """For networkx: no weights, no self-loops."""
    made = graph.to_networkx()
    made.remove_edges_from(list(nx.selfloop_edges(made)))
    for _, _, facts in made.edges(data=True):
        facts.clear()
    return made


# -------------------------------------------------------------------- the measures


@pytest.mark.parametrize("measure", REFERENCES)
@pytest.mark.parametrize("name", ZOO)
def test_centralities_are_those_of_networkx(name: str, measure: str) -> None:
    graph = ZOO[name]()
    mine, theirs = REFERENCES[measure]
    expected = theirs(plain(graph))
    np.testing.assert_allclose(mine(graph), [expected[x] for x in graph.nodes], atol=1e-6)


@pytest.mark.parametrize("measure", REFERENCES)
def test_centralities_of_more_than_one_block(measure: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """More sources than a word has bits, and than a block of path counts."""
    monkeypatch.setattr(central, "_BLOCK_NUMBERS", 1000)
    graph = Graph.from_networkx(nx.connected_watts_strogatz_graph(150, 4, 0.1, seed=3))
    mine, theirs = REFERENCES[measure]
    expected = theirs(plain(graph))
    np.testing.assert_allclose(mine(graph), [expected[x] for x in graph.nodes], atol=1e-6)


def test_centralities_of_tiny_and_empty_graphs() -> None:
    edge = Graph.from_edges([("a", "b")])
    assert central.closeness(edge).tolist() == [1.0, 1.0]
    assert central.betweenness(edge).tolist() == [0.0, 0.0]
    np.testing.assert_allclose(central.eigenvector(edge), 0.5**0.5)
    two = Graph.from_edges([("a", "b"), ("c", "d")])  # an eigenvalue twice: no part is preferred
    np.testing.assert_allclose(central.eigenvector(two), 0.5)
    lonely = Graph.from_edges([], nodes="abc")
    for name in ("closeness", "betweenness", "k-core", "degree"):
        assert central.MEASURES[name](lonely).tolist() == [0.0, 0.0, 0.0]
    np.testing.assert_allclose(central.pagerank(lonely), 1 / 3)
    with pytest.raises(InputError, match="a walk that comes back"):
        central.eigenvector(lonely)
    with pytest.raises(InputError, match="a walk that comes back"):
        central.eigenvector(Graph.from_edges([(i, i + 1) for i in range(9)], directed=True))


def test_sampled_sources_estimate_without_bias() -> None:
    graph = scattered()
    n = graph.n_nodes
    each = [central.betweenness(graph, np.array([i])) for i in range(n)]
    np.testing.assert_allclose(np.mean(each, axis=0), central.betweenness(graph), atol=1e-12)
    some = np.array([0, 3, 4, 8])
    path = dict(nx.all_pairs_shortest_path_length(plain(graph)))
    labels = list(graph.nodes)
    for v, found in enumerate(central.closeness(graph, some)):
        others = [labels[s] for s in some if s != v]
        far = [path[s][labels[v]] for s in others if labels[v] in path[s]]
        expected = len(far) / sum(far) * len(far) / len(others) if far else 0
        assert found == pytest.approx(expected)


def test_core_numbers_are_scaled_by_their_maximum() -> None:
    graph = karate()
    np.testing.assert_allclose(central.MEASURES["k-core"](graph), central.core_numbers(graph) / 4)


# -------------------------------------------------------------------- told from vectors


def naive_regression(
    x: npt.NDArray[np.float64], y: npt.NDArray[np.float64], order: Any, size: int
) -> tuple[float, float]:
    """MSE over the mean of all, and R², of one split: normal equations with a column of ones."""
    design = np.hstack([x, np.ones((len(x), 1))])
    learned, hidden = order[:size], order[size:]
    weights = np.linalg.solve(design[learned].T @ design[learned], design[learned].T @ y[learned])
    errors = [(y[i] - design[i] @ weights) ** 2 for i in hidden]
    middle = sum(y[i] for i in hidden) / len(hidden)
    spread = sum((y[i] - middle) ** 2 for i in hidden)
    return sum(errors) / len(errors) / (sum(y) / len(y)), 1 - sum(errors) / spread


def test_regression_is_what_normal_equations_give(draw: np.random.Generator) -> None:
    graph, vectors = karate(), draw.normal(size=(34, 3))
    embedding = Embedding(range(34), vectors)
    made = centrality(embedding, graph, measures=("closeness", "pagerank"), repeats=3, held_out=0.25, seed=5)
    rng = np.random.default_rng(5)
    orders = [rng.permutation(34) for _ in range(3)]
    x = embedding.vectors.astype(np.float64)
    for name in ("closeness", "pagerank"):
        each = [naive_regression(x, central.MEASURES[name](graph), order, round(0.75 * 34)) for order in orders]
        assert made.figures[f"{name} MSE/mean"] == pytest.approx(np.mean([a for a, _ in each]))
        assert made.figures[f"{name} R²"] == pytest.approx(np.mean([b for _, b in each]))
        assert made.deviations[f"{name} R²"] == pytest.approx(np.std([b for _, b in each], ddof=1))
    assert made.smaller_is_better == ["closeness MSE/mean", "pagerank MSE/mean"]


def test_vectors_that_hold_the_centralities_are_perfect() -> None:
    graph = karate()
    columns = np.stack([of(graph) for of in central.MEASURES.values()], axis=1)
    made = centrality(Embedding(graph.nodes, columns), graph)
    assert len(made.figures) == 12
    for name in central.MEASURES:
        assert made.figures[f"{name} R²"] == pytest.approx(1, abs=1e-6)
        assert made.figures[f"{name} MSE/mean"] == pytest.approx(0, abs=1e-9)
        assert made.baselines["the mean"][f"{name} R²"] < 0.01
    assert made.baselines["degree features"]["degree R²"] == pytest.approx(1)
    assert made.best("betweenness MSE/mean") == "embedding"


def test_random_vectors_do_no_better_than_the_mean(draw: np.random.Generator) -> None:
    graph = Graph.from_networkx(nx.barabasi_albert_graph(400, 3, seed=1))
    made = centrality(Embedding(graph.nodes, draw.normal(size=(400, 4))), graph, measures=["degree", "closeness"])
    for name in ("degree", "closeness"):
        assert made.figures[f"{name} R²"] < 0.05
        assert made.baselines["the mean"][f"{name} R²"] <= 0
    assert made.best("closeness MSE/mean") == "degree features"


def test_a_centrality_without_spread_has_no_figure(draw: np.random.Generator) -> None:
    ring = Graph.from_networkx(nx.complete_graph(12))
    made = centrality(Embedding(ring.nodes, draw.normal(size=(12, 2))), ring, measures=["betweenness"], repeats=2)
    assert all(math.isnan(x) for x in made.figures.values())


def test_sources_are_named_in_the_protocol(draw: np.random.Generator) -> None:
    graph, embedding = karate(), Embedding(range(34), draw.normal(size=(34, 2)))
    assert centrality(embedding, graph, measures="closeness").protocol["shortest paths from"] == "all nodes"
    few = centrality(embedding, graph, measures="closeness", sources=10)
    assert few.protocol["shortest paths from"] == "10 random nodes"
    assert few.figures != centrality(embedding, graph, measures="closeness").figures
    assert "shortest paths from" not in centrality(embedding, graph, measures="degree").protocol


def test_an_embedding_of_another_order_and_more_nodes() -> None:
    graph = scattered()
    own = degree_features(graph).vectors
    labels = [*graph.nodes][::-1]
    turned = Embedding([*labels, "another"], np.vstack([own[::-1], np.ones((1, 5))]))
    made = centrality(turned, graph, measures=["degree"], repeats=3)
    assert made.figures == pytest.approx(made.baselines["degree features"])


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"measures": ["fame"]}, "measures='fame' is not one of closeness, betweenness"),
        ({"measures": []}, "measures is empty"),
        ({"held_out": 0}, "held_out=0 is not a part"),
        ({"held_out": 1.0}, "held_out=1.0 is not a part"),
        ({"repeats": 0}, "repeats=0"),
        ({"sources": 0}, "sources=0"),
        ({"graph": [(0, 1)]}, "2 nodes"),
        ({"graph": [(0, 1), (1, 99)]}, "no node is called 99"),
    ],
)
def test_what_centrality_refuses(draw: np.random.Generator, options: dict[str, Any], words: str) -> None:
    embedding = Embedding(range(34), draw.normal(size=(34, 2)))
    with pytest.raises(InputError, match=words):
        centrality(embedding, **({"graph": karate()} | options))


def naive_ridge(x: npt.NDArray[np.float64], y: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Weights by the largest penalty within a standard error of the least error where each row in turn is really left
    out, the means taken anew."""

    def solved(a: npt.NDArray[np.float64], b: npt.NDArray[np.float64], penalty: float) -> npt.NDArray[np.float64]:
        return np.linalg.solve(a.T @ a + penalty * np.eye(a.shape[1]), a.T @ b)

    largest = np.linalg.norm(x, 2) ** 2
    errors = []
    for penalty in role_tasks._PENALTIES * largest:
        error = []
        for i in range(len(x)):
            a, b = np.delete(x, i, axis=0), np.delete(y, i)
            weights = solved(a - a.mean(axis=0), b - b.mean(), penalty)
            error.append((y[i] - b.mean() - (x[i] - a.mean(axis=0)) @ weights) ** 2)
        errors.append(error)
    least = min(errors, key=np.mean)
    bound = np.mean(least) + np.std(least, ddof=1) / len(x) ** 0.5
    best = max(i for i, error in enumerate(errors) if np.mean(error) <= bound)
    return solved(x, y, role_tasks._PENALTIES[best] * largest)


@pytest.mark.parametrize("columns", [7, 11, 20])
def test_ridge_leaves_out_each_row_in_turn(columns: int, draw: np.random.Generator) -> None:
    x = draw.normal(size=(12, columns))
    y = x[:, :3] @ draw.normal(size=(3, 2)) + draw.normal(size=(12, 2))
    x, y = x - x.mean(axis=0), y - y.mean(axis=0)
    expected = np.stack([naive_ridge(x, y[:, j]) for j in range(2)], axis=1)
    np.testing.assert_allclose(role_tasks._ridge(x, y), expected, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("columns", [13, 24, 25, 26, 27, 60])
def test_many_columns_are_regularised_and_said(columns: int, draw: np.random.Generator) -> None:
    """Least squares of 26 random columns for 27 nodes gave R² of -1,000 and less."""
    embedding = Embedding(range(34), draw.normal(size=(34, columns)))
    many = centrality(embedding, karate(), measures=["closeness", "degree"], baselines=False)
    assert all(-10 < x < 0.5 for name, x in many.figures.items() if name.endswith("R²"))
    said = f"ridge, as {columns} columns are many for 27 nodes to learn from"
    assert many.protocol["regression"] == ("linear" if columns == 13 else said)


def test_vectors_that_hold_a_centrality_among_many_columns_say_it(draw: np.random.Generator) -> None:
    graph = karate()
    columns = np.hstack([np.stack([of(graph) for of in central.MEASURES.values()], axis=1), np.zeros((34, 30))])
    made = centrality(Embedding(graph.nodes, columns), graph)
    assert all(made.figures[f"{name} R²"] > 0.99 for name in central.MEASURES)
