"""Regular equivalence: similarities against dense inverses, Kendall's τ against loops, and no dense square."""

from __future__ import annotations

import math
import sys
from typing import Any

import networkx as nx
import numpy as np
import numpy.typing as npt
import pytest
from scipy import sparse

from netfold.data.embedding import Embedding
from netfold.data.graph import Graph
from netfold.errors import InputError
from netfold.evaluate import centralities as central
from netfold.evaluate import regular_equivalence, vs_similarity
from netfold.evaluate.baselines import degree_features
from netfold.evaluate.heuristics import pair_scorers
from netfold.evaluate.role_tasks import _pairs
from zoo import ZOO, karate, scattered


def dense_similarity(graph: Graph, alpha: float) -> npt.NDArray[np.float64]:
    """D⁻¹ (1 - α A / λ₁)⁻¹ D⁻¹ as it is written; 0 without links."""
    s = graph.adjacency.toarray()
    a = ((s + s.T) > 0).astype(float)
    np.fill_diagonal(a, 0)
    inner = np.linalg.inv(np.eye(len(a)) - alpha / np.linalg.eigvalsh(a)[-1] * a)
    d = a.sum(axis=1)
    inverse = np.diag([1 / x if x else 0 for x in d])
    return np.asarray(inverse @ inner @ inverse)


@pytest.mark.parametrize("alpha", [0.5, 0.97])
@pytest.mark.parametrize("name", ZOO)
def test_vs_similarity_is_the_dense_inverse(name: str, alpha: float) -> None:
    graph = ZOO[name]()
    expected = dense_similarity(graph, alpha)
    columns = np.array([3, 0, 11])
    np.testing.assert_allclose(vs_similarity(graph, columns, alpha), expected[:, columns], rtol=1e-7, atol=1e-9)


def test_vs_similarity_obeys_its_definition() -> None:
    """Leicht, Holme, Newman: D S D = (α / λ₁) A (D S D) + 1."""
    graph = karate()
    a, d = graph.adjacency.toarray().astype(float), np.diag(graph.degrees.astype(float))
    scaled = d @ vs_similarity(graph, np.arange(34)) @ d
    largest = np.linalg.eigvalsh(a)[-1]
    np.testing.assert_allclose(scaled, 0.97 / largest * a @ scaled + np.eye(34), atol=1e-7)


def naive_kendall(a: npt.NDArray[Any], b: npt.NDArray[Any]) -> float:
    """τ-b by all pairs of entries."""
    agree = ties_a = ties_b = total = 0
    for i in range(len(a)):
        for j in range(i):
            x, y = np.sign(a[i] - a[j]), np.sign(b[i] - b[j])
            agree, total = agree + x * y, total + 1
            ties_a, ties_b = ties_a + (x == 0), ties_b + (y == 0)
    return float(agree / math.sqrt((total - ties_a) * (total - ties_b)))


@pytest.mark.parametrize("score", ["dot", "distance"])
def test_kendall_tau_by_loops(draw: np.random.Generator, score: str) -> None:
    graph = Graph.from_networkx(nx.erdos_renyi_graph(13, 0.3, seed=4))
    x = draw.integers(-2, 3, size=(13, 2)).astype(np.float32)  # with ties
    linked = [i for i in range(13) if graph.degrees[i]]
    pairs = [(i, j) for i in linked for j in linked if i < j]
    similarity = dense_similarity(graph, 0.9).round(8)
    scores = [x[i] @ x[j] if score == "dot" else -np.float32(math.dist(x[i], x[j])) for i, j in pairs]
    expected = naive_kendall(np.array(scores), np.array([similarity[p] for p in pairs]))
    made = regular_equivalence(Embedding(graph.nodes, x), graph, alpha=0.9, score=score)
    assert made.figures["Kendall τ"] == pytest.approx(expected, abs=1e-6)
    assert made.protocol["pairs"] == len(pairs) and made.protocol["chosen"] == "all"


def test_vectors_whose_products_are_the_similarity_are_perfect(draw: np.random.Generator) -> None:
    graph = karate()
    values, vectors = np.linalg.eigh(dense_similarity(graph, 0.97))
    perfect = Embedding(range(34), vectors * np.sqrt(values))
    assert regular_equivalence(perfect, graph).figures["Kendall τ"] > 0.99
    random = Embedding(range(34), draw.normal(size=(34, 8)))
    made = regular_equivalence(random, graph)
    assert abs(made.figures["Kendall τ"]) < 0.2
    assert set(made.baselines) == {"spectral", "normalised SVD", *pair_scorers(graph), "degrees of neighbors"}
    assert not regular_equivalence(random, graph, baselines=False).baselines


def test_isolated_nodes_are_left_out_and_counted(draw: np.random.Generator) -> None:
    graph = scattered()
    embedding = Embedding(graph.nodes, draw.normal(size=(graph.n_nodes, 3)))
    protocol = regular_equivalence(embedding, graph).protocol
    linked = graph.n_nodes - 2
    assert protocol["nodes left out without links"] == 2
    assert protocol["pairs"] == linked * (linked - 1) // 2


def test_pairs_are_all_or_a_sample_each_once() -> None:
    nodes = np.array([2, 3, 5, 7, 11, 13])
    u, v = _pairs(nodes, 15, seed=0)
    assert {frozenset(p) for p in zip(u.tolist(), v.tolist(), strict=True)} == {
        frozenset((int(a), int(b))) for a in nodes for b in nodes if a < b
    }
    many = np.arange(700)
    u, v = _pairs(many, 5000, seed=1)
    keys = {frozenset(p) for p in zip(u.tolist(), v.tolist(), strict=True)}
    assert len(keys) == 5000 and all(len(x) == 2 for x in keys)
    assert len(np.unique(u)) <= 512 < len(np.unique(v))


def test_a_sample_of_pairs_agrees_with_all(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = Graph.from_networkx(nx.barabasi_albert_graph(150, 4, seed=2))
    features = degree_features(graph)
    whole = regular_equivalence(features, graph, score="distance", baselines=False)
    some = regular_equivalence(features, graph, score="distance", pairs=4000, baselines=False)
    assert some.protocol["pairs"] == 4000 and "random" in some.protocol["chosen"]
    assert some.figures["Kendall τ"] == pytest.approx(whole.figures["Kendall τ"], abs=0.06)
    module = sys.modules["netfold.evaluate.role_tasks"]
    monkeypatch.setattr(module, "_BLOCK_NUMBERS", 1000)  # columns in several blocks
    again = regular_equivalence(features, graph, score="distance", baselines=False)
    assert again.figures == pytest.approx(whole.figures)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"similarity": "rege"}, "similarity='rege' is not one of vs"),
        ({"alpha": 1}, "alpha=1 is not"),
        ({"pairs": 0}, "pairs=0"),
        ({"score": "sum"}, "score='sum'"),
        ({"graph": [(0, 1)]}, "fewer than 3 nodes"),
    ],
)
def test_what_regular_equivalence_refuses(draw: np.random.Generator, options: dict[str, Any], words: str) -> None:
    embedding = Embedding(range(34), draw.normal(size=(34, 2)))
    with pytest.raises(InputError, match=words):
        regular_equivalence(embedding, **({"graph": karate()} | options))


def test_no_dense_square(monkeypatch: pytest.MonkeyPatch) -> None:
    """3,000 nodes: a dense square would be 9 million numbers; nothing that large is made."""
    graph = Graph.from_networkx(nx.barabasi_albert_graph(3000, 3, seed=2))
    largest = [0]
    product = sparse.csr_array.__matmul__

    def watched(self: Any, other: Any) -> Any:
        made = product(self, other)
        largest[0] = max(largest[0], made.size if isinstance(made, np.ndarray) else 0)
        return made

    monkeypatch.setattr(sparse.csr_array, "__matmul__", watched)
    sources = np.arange(0, 3000, 10)
    central.betweenness(graph, np.tile(sources, 4))
    regular_equivalence(degree_features(graph), graph, pairs=20_000, baselines=False)
    assert 0 < largest[0] <= 1 << 21


def test_the_degrees_of_neighbors_are_multiplied_as_a_loop_does_it(draw: np.random.Generator) -> None:
    graph = karate()
    linked = graph.adjacency.toarray() > 0
    degrees = linked.sum(axis=1)
    around = [np.mean([degrees[j] for j in range(34) if linked[i, j]]) for i in range(34)]
    found = regular_equivalence(Embedding(range(34), draw.normal(size=(34, 2))), graph)
    product = regular_equivalence(Embedding(range(34), np.array(around)[:, None]), graph, score="dot", baselines=False)
    assert found.baselines["degrees of neighbors"] == pytest.approx(dict(product.figures), abs=1e-3)
