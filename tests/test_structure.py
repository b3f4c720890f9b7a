"""Roles, centralities and regular equivalence: against networkx, dense inverses and loops."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from typing import Any

import networkx as nx
import numpy as np
import numpy.typing as npt
import pytest
from scipy import sparse
from zoo import ZOO, karate, scattered

from netfold.embedding import Embedding
from netfold.errors import InputError
from netfold.evaluate import centralities as central
from netfold.evaluate import centrality, regular_equivalence, roles, vs_similarity
from netfold.evaluate.baselines import degree_features
from netfold.evaluate.regular_equivalence import _pairs
from netfold.graph import Graph

RNG = np.random.default_rng(12)
START = RNG.bit_generator.state

REFERENCES: dict[str, tuple[Callable[[Graph], Any], Callable[[Any], dict[Any, float]]]] = {
    "closeness": (central.closeness, nx.closeness_centrality),
    "betweenness": (central.betweenness, nx.betweenness_centrality),
    "eigenvector": (central.eigenvector, lambda g: nx.eigenvector_centrality(g, max_iter=10_000, tol=1e-11)),
    "core": (central.core_numbers, nx.core_number),
    "pagerank": (central.pagerank, lambda g: nx.pagerank(g, tol=1e-13, max_iter=1000)),
    "degree": (central.degree, nx.degree_centrality),
}


@pytest.fixture(autouse=True)
def same_numbers() -> None:
    """Every test draws the same, whichever ran before it."""
    RNG.bit_generator.state = START


def plain(graph: Graph) -> Any:
    """For networkx: no weights, no self-loops."""
    made = graph.to_networkx()
    made.remove_edges_from(list(nx.selfloop_edges(made)))
    for _, _, facts in made.edges(data=True):
        facts.clear()
    return made


# -------------------------------------------------------------------- centralities


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


# -------------------------------------------------------------------- centrality


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


def test_regression_is_what_normal_equations_give() -> None:
    graph, vectors = karate(), RNG.normal(size=(34, 3))
    embedding = Embedding(range(34), vectors)
    made = centrality(embedding, graph, measures=("closeness", "pagerank"), repeats=3, hidden=0.25, seed=5)
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


def test_random_vectors_do_no_better_than_the_mean() -> None:
    graph = Graph.from_networkx(nx.barabasi_albert_graph(400, 3, seed=1))
    made = centrality(Embedding(graph.nodes, RNG.normal(size=(400, 4))), graph, measures=["degree", "closeness"])
    for name in ("degree", "closeness"):
        assert made.figures[f"{name} R²"] < 0.05
        assert made.baselines["the mean"][f"{name} R²"] <= 0
    assert made.best("closeness MSE/mean") == "degree features"


def test_a_centrality_without_spread_has_no_figure() -> None:
    ring = Graph.from_networkx(nx.complete_graph(12))
    made = centrality(Embedding(ring.nodes, RNG.normal(size=(12, 2))), ring, measures=["betweenness"], repeats=2)
    assert all(math.isnan(x) for x in made.figures.values())


def test_sources_are_named_in_the_protocol() -> None:
    graph, embedding = karate(), Embedding(range(34), RNG.normal(size=(34, 2)))
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
        ({"hidden": 0}, "hidden=0 is not a part"),
        ({"hidden": 1.0}, "hidden=1.0 is not a part"),
        ({"repeats": 0}, "repeats=0"),
        ({"sources": 0}, "sources=0"),
        ({"graph": [(0, 1)]}, "2 nodes"),
        ({"graph": [(0, 1), (1, 99)]}, "no node is labelled 99"),
    ],
)
def test_what_centrality_refuses(options: dict[str, Any], words: str) -> None:
    embedding = Embedding(range(34), RNG.normal(size=(34, 2)))
    with pytest.raises(InputError, match=words):
        centrality(embedding, **({"graph": karate()} | options))


# -------------------------------------------------------------------- regular equivalence


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
def test_kendall_tau_by_loops(score: str) -> None:
    graph = Graph.from_networkx(nx.erdos_renyi_graph(13, 0.3, seed=4))
    x = RNG.integers(-2, 3, size=(13, 2)).astype(np.float32)  # with ties
    linked = [i for i in range(13) if graph.degrees[i]]
    pairs = [(i, j) for i in linked for j in linked if i < j]
    similarity = dense_similarity(graph, 0.9).round(8)
    scores = [x[i] @ x[j] if score == "dot" else -np.float32(math.dist(x[i], x[j])) for i, j in pairs]
    expected = naive_kendall(np.array(scores), np.array([similarity[p] for p in pairs]))
    made = regular_equivalence(Embedding(graph.nodes, x), graph, alpha=0.9, score=score)
    assert made.figures["Kendall τ"] == pytest.approx(expected, abs=1e-6)
    assert made.protocol["pairs"] == len(pairs) and made.protocol["chosen"] == "all"


def test_vectors_whose_products_are_the_similarity_are_perfect() -> None:
    graph = karate()
    values, vectors = np.linalg.eigh(dense_similarity(graph, 0.97))
    perfect = Embedding(range(34), vectors * np.sqrt(values))
    assert regular_equivalence(perfect, graph).figures["Kendall τ"] > 0.99
    random = Embedding(range(34), RNG.normal(size=(34, 8)))
    made = regular_equivalence(random, graph)
    assert abs(made.figures["Kendall τ"]) < 0.2
    assert set(made.baselines) == {
        *("spectral", "normalised SVD", "common neighbors", "Adamic-Adar", "preferential attachment", "shortest path")
    }
    assert not regular_equivalence(random, graph, baselines=False).baselines


def test_isolated_nodes_are_left_out_and_counted() -> None:
    graph = scattered()
    embedding = Embedding(graph.nodes, RNG.normal(size=(graph.n_nodes, 3)))
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
    module = sys.modules["netfold.evaluate.regular_equivalence"]
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
def test_what_regular_equivalence_refuses(options: dict[str, Any], words: str) -> None:
    embedding = Embedding(range(34), RNG.normal(size=(34, 2)))
    with pytest.raises(InputError, match=words):
        regular_equivalence(embedding, **({"graph": karate()} | options))


# -------------------------------------------------------------------- roles


def hubs() -> tuple[Graph, dict[Any, str]]:
    """Twenty stars in a ring: their hubs, and their leaves."""
    edges = [(f"hub {i}", f"hub {(i + 1) % 20}") for i in range(20)]
    edges += [(f"hub {i}", f"leaf {i} {j}") for i in range(20) for j in range(4)]
    graph = Graph.from_edges(edges)
    return graph, {x: x.split()[0] for x in graph.nodes}


def test_roles_that_degrees_tell() -> None:
    graph, known = hubs()
    random = Embedding(graph.nodes, RNG.normal(size=(100, 2)))
    made = roles(random, known, graph=graph)
    assert list(made.figures) == ["accuracy@10%", "accuracy@80%"]
    assert made.baselines["degree features"]["accuracy@80%"] == 1.0
    assert made.baselines["most frequent role"]["accuracy@80%"] == pytest.approx(0.8, abs=0.05)
    assert made.figures["accuracy@80%"] == pytest.approx(0.8, abs=0.05)
    assert made.best("accuracy@80%") == "degree features"
    assert roles(degree_features(graph), known, train=0.8).figures == {"accuracy@80%": 1.0}


def test_accuracy_is_that_of_scikit_learn_by_a_loop() -> None:
    from sklearn.linear_model import LogisticRegression

    n = 60
    x, role = RNG.normal(size=(n, 3)).astype(np.float32), RNG.integers(0, 3, n)
    x[:, 0] += role
    made = roles(Embedding(range(n), x), dict(enumerate(role.tolist())), train=0.5, repeats=2, seed=3)
    rng, each = np.random.default_rng(3), []
    for _ in range(2):
        order = rng.permutation(n)
        learned, asked = order[:30], order[30:]
        scaled = x.astype(np.float64)
        scaled = (scaled - scaled[learned].mean(axis=0)) / scaled[learned].std(axis=0)
        told = LogisticRegression(tol=1e-8).fit(scaled[learned], role[learned]).predict(scaled[asked])
        each.append(sum(a == b for a, b in zip(told, role[asked], strict=True)) / 30)
    assert made.figures["accuracy@50%"] == pytest.approx(sum(each) / 2)
    assert made.deviations["accuracy@50%"] == pytest.approx(abs(each[0] - each[1]) / math.sqrt(2))


def test_one_learned_role_is_the_answer() -> None:
    embedding = Embedding(range(4), RNG.normal(size=(4, 2)))
    made = roles(embedding, {0: "a", 1: "a", 2: "b", 3: "b"}, train=0.1, repeats=8)  # one node is learned from
    assert made.figures["accuracy@10%"] == pytest.approx(1 / 3)


@pytest.mark.parametrize(
    ("given", "options", "words"),
    [
        ({0: ["a", "b"], 1: "a"}, {}, "node 0 has several classes"),
        ({0: "a", 1: "a"}, {}, "1 classes"),
        ({0: "a", 9: "b"}, {}, "no node is labelled 9"),
        ({0: "a", 1: "b"}, {"train": 2}, "train=2"),
        ({0: "a", 1: "b"}, {"repeats": 0}, "repeats=0"),
        ({0: "a", 1: "b"}, {"normalize": "x"}, "normalize='x'"),
    ],
)
def test_what_roles_refuses(given: Any, options: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=words):
        roles(Embedding(range(4), np.eye(4)), given, **options)


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
