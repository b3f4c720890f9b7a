"""Vectors of new nodes: figures against loops, reruns beside them, and nothing held out is seen."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score
from sklearn.multiclass import OneVsRestClassifier

from netfold.data.edges import edge_pairs
from netfold.data.embedding import Embedding
from netfold.data.graph import Graph
from netfold.data.scaling import Scaling
from netfold.errors import InputError
from netfold.evaluate import NodeSplit, hold_out_half, label_propagation, local_average, out_of_sample, split_nodes
from netfold.evaluate.new_node_tasks import attribute_methods, new_node_negatives
from weighted_graphs import vectors_of


def blocks_graph(n: int = 120, seed: int = 0) -> tuple[Graph, dict[str, int], npt.NDArray[np.int64]]:
    """Three groups of nodes that are linked among themselves, mostly."""
    rng = np.random.default_rng(seed)
    group = np.arange(n) % 3
    u, v = np.triu_indices(n, 1)
    some = rng.random(len(u)) < np.where(group[u] == group[v], 0.25, 0.01)
    names = [f"node {i}" for i in range(n)]
    edges = [(names[a], names[b]) for a, b in zip(u[some], v[some], strict=True)]
    return Graph.from_edges(edges, nodes=names), {x: int(g) for x, g in zip(names, group, strict=True)}, group


def one_hot(nodes: Any, groups: dict[str, int]) -> Embedding:
    return Embedding(nodes, np.eye(3)[[groups[x] for x in nodes]])


class Fitted:
    """A model of known nodes that extends by local averages, and notes what it was shown."""

    def __init__(self, known: Graph, embedding: Embedding):
        self._known, self.embedding_, self.shown = known, embedding, list[Graph]()

    def transform(self, graph: Graph) -> Embedding:
        self.shown.append(graph)
        new = np.flatnonzero(self.embedding_.nodes.find(graph.nodes) < 0)
        return local_average(NodeSplit(self._known, graph, new, {}), self.embedding_)


# -------------------------------------------------------------------- figures


def test_classes_against_scikit_learn() -> None:
    graph, _, _ = blocks_graph()
    rng = np.random.default_rng(4)
    labels = {x: list(rng.choice(5, rng.integers(1, 4), replace=False)) for x in graph.nodes}
    split = split_nodes(graph, 30)
    base, new = vectors_of(split.known, 5), vectors_of(split.whole, 6).take([graph.nodes[i] for i in split.new])
    found = out_of_sample(new, split, base=base, classes=labels, normalize="none", C=2.0)
    truth = np.array([[c in labels[x] for c in range(5)] for x in graph.nodes]).astype(int)
    known = split.whole.positions(split.known.nodes)
    classifier = OneVsRestClassifier(LogisticRegression(C=2.0, tol=1e-6, max_iter=10_000)).fit(
        base.vectors, truth[known]
    )
    scores = classifier.decision_function(new.vectors)
    told = np.zeros((30, 5), int)
    for i, row in enumerate(truth[split.new]):
        told[i, np.argsort(-scores[i])[: row.sum()]] = 1
    for kind in ("micro", "macro"):
        expected = f1_score(truth[split.new], told, average=kind, zero_division=0)
        assert found.figures[f"{kind}-F1"] == pytest.approx(expected)
    assert "AUC" not in found.figures
    assert found.name == "embedding"


def test_links_against_the_double_loop() -> None:
    graph, _, _ = blocks_graph()
    split = split_nodes(graph, 25, seed=1)
    base = vectors_of(split.known, 2)
    found = out_of_sample(lambda s: label_propagation(s, base), split, base=base, per_positive=2, seed=5)
    held_out = hold_out_half(split, seed=5)
    wrong = new_node_negatives(split, held_out.pairs, 2, 5)
    known, vectors = split.whole.positions(split.known.nodes), np.zeros((graph.n_nodes, 4))
    vectors[known], vectors[split.new] = base.vectors, label_propagation(held_out.split, base).vectors
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    right, others = ([unit[u] @ unit[v] for u, v in pairs] for pairs in (held_out.pairs, wrong))
    auc = np.mean([(a > b) + (a == b) / 2 for a in right for b in others])
    assert found.figures["AUC"] == pytest.approx(auc, abs=1e-4)
    assert found.figures == found.baselines["LabelProp"]
    assert found.protocol["positives"] == len(held_out.pairs)


def test_perfect_vectors_score_1_and_random_ones_chance() -> None:
    graph, groups, _ = blocks_graph(240)
    split = split_nodes(graph, 60)
    base = one_hot(split.known.nodes, groups)

    def perfect(part: NodeSplit) -> Embedding:
        return one_hot([part.whole.nodes[i] for i in part.new], groups)

    best = out_of_sample(perfect, split, base=base, classes=groups)
    assert best.figures["micro-F1"] == best.figures["macro-F1"] == best.figures["accuracy"] == 1
    assert best.name == "perfect"
    rng = np.random.default_rng(0)
    random = [
        out_of_sample(
            lambda s: Embedding(s.whole.nodes.take(s.new), rng.normal(size=(len(s.new), 3))),
            split,
            base=base,
            classes=groups,
            baselines=False,
            seed=seed,
        ).figures
        for seed in range(8)
    ]
    assert np.mean([x["micro-F1"] for x in random]) == pytest.approx(1 / 3, abs=0.08)
    assert np.mean([x["AUC"] for x in random]) == pytest.approx(0.5, abs=0.05)
    assert best.figures["AUC"] > 0.75 > 0.6 > np.mean([x["AUC"] for x in random])


# -------------------------------------------------------------------- what is asked of whom


def test_a_fitted_model_is_shown_half_of_the_edges_for_links() -> None:
    graph, groups, _ = blocks_graph()
    split = split_nodes(graph, 30)
    model = Fitted(split.known, one_hot(split.known.nodes, groups))
    found = out_of_sample(model, split, classes=groups)
    assert found.figures == found.baselines["LocalAvg"]
    assert found.name == "Fitted"
    assert len(model.shown) == 2
    assert model.shown[0].n_edges == graph.n_edges
    held_out = hold_out_half(split)
    assert model.shown[1].n_edges == held_out.split.whole.n_edges
    assert found.best("micro-F1") == "Fitted"  # nothing is better than it
    assert "held out" in repr(found) and "LabelProp" in repr(found)


def test_a_rerun_stands_beside() -> None:
    graph, groups, _ = blocks_graph()
    split = split_nodes(graph, 30)
    base, seen = one_hot(split.known.nodes, groups), list[Graph]()

    def fit(whole: Graph) -> Embedding:
        seen.append(whole)
        return one_hot(whole.nodes, groups)

    found = out_of_sample(lambda s: local_average(s, base), split, base=base, classes=groups, rerun=fit)
    assert found.baselines["rerun"]["micro-F1"] == 1
    assert [x.n_edges for x in seen] == [graph.n_edges, hold_out_half(split).split.whole.n_edges]
    given = out_of_sample(lambda s: local_average(s, base), split, base=base, classes=groups, rerun=fit(graph))
    assert "AUC" in given.figures and "AUC" not in given.baselines["rerun"]
    assert given.baselines["rerun"]["micro-F1"] == 1
    only = out_of_sample(lambda s: local_average(s, base), split, base=base, links=False, classes=groups)
    assert "AUC" not in only.figures


def test_a_way_that_needs_no_model_is_named() -> None:
    graph, groups, _ = blocks_graph()
    split = split_nodes(graph, 30)
    base, seen = vectors_of(split.known, 1), list[Graph]()

    def fit(whole: Graph) -> Embedding:
        seen.append(whole)
        return one_hot(whole.nodes, groups)

    by_function = out_of_sample(lambda s: local_average(s, base), split, base=base, classes=groups, rerun=fit)
    for way in ("LocalAvg", "LabelProp", "rerun"):
        found = out_of_sample(way, split, base=base, classes=groups, rerun=fit)
        assert found.name == way and found.figures == by_function.baselines[way]
        cheap = ("LocalAvg", "LabelProp", "majority of neighbors")
        assert found.baselines == {x: y for x, y in by_function.baselines.items() if x in cheap} | (
            {} if way == "rerun" else {"rerun": by_function.baselines["rerun"]}
        )
    assert len(seen) == 8  # two a call: each rerun is made once
    assert out_of_sample("LocalAvg", split, base=base, classes=groups, baselines=False).baselines == {}
    given = out_of_sample("rerun", split, base=base, classes=groups, rerun=fit(graph))
    assert "micro-F1" in given.figures and "AUC" not in given.figures  # it has seen the held-out edges

    def rerun(part: NodeSplit) -> Embedding:
        return local_average(part, base)

    beside = out_of_sample(rerun, split, base=base, classes=groups, rerun=fit)
    assert beside.name == "rerun" and beside.figures != beside.baselines["rerun"]  # a function may be called so


def test_nodes_that_cannot_be_reached_get_the_mean_and_are_counted() -> None:
    edges = [("a", "b"), ("b", "c"), ("x", "a"), ("y", "x"), ("z", "w")]
    graph = Graph.from_edges(edges, nodes="abcwxyz")
    split = NodeSplit(graph.subgraph([0, 1, 2]), graph, np.array([3, 4, 5, 6]), {})
    base = Embedding("abc", [[1.0, 0], [0, 1], [0, 1]])
    labels = dict(zip("abcwxyz", "pqqpqpq", strict=True))
    asked: list[list[str]] = []

    def extend(part: NodeSplit) -> Embedding:
        nodes = [part.whole.nodes[i] for i in part.new]
        asked.append(nodes)
        return Embedding(nodes, [[1.0, 0]] * len(nodes))

    by_path = out_of_sample(extend, split, base=base, classes=labels, links=False)
    by_edge = out_of_sample(extend, split, base=base, classes=labels, links=False, linked="neighbor")
    assert asked == [["x", "y"], ["x"]]
    assert by_path.protocol["without a path to known ones"] == 2
    assert by_path.protocol["model asked about"] == "those with a path to known ones"
    assert by_edge.protocol["model asked about"] == "those with a known neighbor"
    assert by_path.figures["accuracy"] == 0.5  # y is told p, z is told q as the mean of a, b, c is; x and w are not


def test_protocol_has_the_split_and_both_seeds() -> None:
    graph, groups, _ = blocks_graph()
    split = split_nodes(graph, 30, seed=7)
    base = one_hot(split.known.nodes, groups)
    found = out_of_sample(lambda s: local_average(s, base), split, base=base, classes=groups, seed=3)
    assert found.protocol["split seed"] == 7
    assert found.protocol["seed"] == 3
    assert found.protocol["new nodes"] == 30
    assert found.name == "function"
    again = out_of_sample(lambda s: local_average(s, base), split, base=base, classes=groups, seed=3)
    assert again.to_dict() == found.to_dict()


# -------------------------------------------------------------------- refusals


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"score": "w2"}, "score='w2' is not one of dot, cosine, distance"),
        ({"linked": "far"}, "linked='far' is not one of path, neighbor"),
        ({"normalize": "all"}, "normalize='all' is not one of none, rows, centred, columns"),
        ({"C": -1.0}, "C=-1.0 is not a finite number above 0"),
        ({"per_positive": 0}, "per_positive=0 is not a whole number"),
        ({"base": None}, "base=None and no fitted model was given; base is an Embedding of the known nodes"),
        ({"base": Embedding("a", [[1.0]])}, "no node is called"),
        ({"model": 3}, "an int was given; give a fitted model, a function from a NodeSplit to an Embedding, or one"),
        ({"model": "rerun"}, "model='rerun' is not one of LocalAvg, LabelProp"),
        ({"model": "LocalAvg", "base": None}, "base=None and no fitted model was given"),
        ({"model": lambda s: None}, "a NoneType was given to evaluate"),
        ({"model": lambda s: Embedding("q", [[1.0, 2, 3]])}, "none of the 30 new nodes has a vector"),
        ({"model": lambda s: vectors_of(s.whole, 0, 2)}, "the new nodes' vectors have 2 numbers and the known ones' 3"),
        ({"links": False, "classes": None}, "there is nothing to measure; give classes=, or a model"),
        ({"classes": {"node 0": 1, "nowhere": 2}}, "no node is called 'nowhere'"),
    ],
)
def test_refused(given: dict[str, Any], message: str) -> None:
    graph, groups, _ = blocks_graph()
    split = split_nodes(graph, 30)
    base = one_hot(split.known.nodes, groups)
    default: dict[str, Any] = {"model": lambda s: local_average(s, base), "base": base, "classes": groups}
    with pytest.raises(InputError, match=message):
        out_of_sample(split=split, **(default | given))


def test_a_model_that_knows_the_new_nodes_is_refused() -> None:
    graph, groups, _ = blocks_graph()
    split = split_nodes(graph, 30)
    first = graph.nodes[int(split.new[0])]
    with pytest.raises(
        InputError, match=f"the model was fitted to '{first}', which is a new node; fit it to split.known"
    ):
        out_of_sample(Fitted(graph, one_hot(graph.nodes, groups)), split, classes=groups)


def test_labels_of_one_side_are_refused() -> None:
    graph, groups, _ = blocks_graph()
    split = split_nodes(graph, 30)
    base = one_hot(split.known.nodes, groups)
    known_only = {x: groups[x] for x in split.known.nodes}
    with pytest.raises(InputError, match="classes name 90 known and 0 new nodes with a class; both are needed"):
        out_of_sample(lambda s: local_average(s, base), split, base=base, classes=known_only)


# -------------------------------------------------------------------- what a critic would ask


def test_the_classes_of_most_known_neighbors_by_a_loop() -> None:
    graph, groups, _ = blocks_graph(seed=3)
    split = split_nodes(graph, 40, seed=1)
    found = out_of_sample(vectors_of(split.whole, 2), split, base=vectors_of(split.known, 1), classes=groups)
    new, right = {graph.nodes[i] for i in split.new}, 0
    known = [groups[x] for x in graph.nodes if x not in new]
    for node in new:
        votes = [groups[x] for x in graph.neighbors(node) if x not in new] or known
        right += max(range(3), key=lambda c: (votes.count(c), known.count(c), -c)) == groups[node]
    row = found.baselines["majority of neighbors"]
    assert row["accuracy"] == pytest.approx(right / 40) and "AUC" not in row


@pytest.mark.parametrize("bipartite", [False, True])
def test_matched_negatives_have_the_degree_of_the_true_end(bipartite: bool) -> None:
    rng = np.random.default_rng(0)
    chance = rng.pareto(1.5, 600) + 0.5
    pairs = rng.choice(600, (4000, 2), p=chance / chance.sum())
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    graph = Graph.from_edges(pairs + np.array([0, 600]) if bipartite else pairs)
    split = split_nodes(graph, 60, seed=2)
    edges = hold_out_half(split).pairs
    plain, matched = (new_node_negatives(split, edges, 2, seed=0, matched=x) for x in (False, True))
    degrees, linked = graph.degrees, graph.adjacency.toarray() != 0
    ranks = np.argsort(np.argsort(degrees))
    assert len(matched) == 2 * len(edges) and not linked[matched[:, 0], matched[:, 1]].any()
    places = [ranks[x].mean() for x in (edges, matched, plain)]
    assert abs(places[0] - places[1]) < 0.25 * abs(places[0] - places[2])
    if graph.sides is not None:
        assert (graph.sides[matched].sum(axis=1) == 1).all()


def test_popularity_wins_nothing_against_matched_negatives() -> None:
    """Vectors that know degrees alone: well above chance against random partners, at chance against matched ones."""
    rng = np.random.default_rng(1)
    chance = rng.pareto(1.2, 800) + 0.3
    pairs = rng.choice(800, (6000, 2), p=chance / chance.sum())
    graph = Graph.from_edges(pairs[pairs[:, 0] != pairs[:, 1]])
    split = split_nodes(graph, 80, seed=0)
    sizes = Embedding(graph.nodes, np.log1p(graph.degrees)[:, None])
    new = [graph.nodes[i] for i in split.new]
    found = out_of_sample(lambda s: sizes.take(new), split, base=sizes.take(split.known.nodes), score="dot")
    assert found.figures["AUC"] > 0.75 and abs(found.figures["AUC degree-matched"] - 0.5) < 0.08
    model = Fitted(split.known, sizes.take(split.known.nodes))
    model.pair_score_ = "dot"  # type: ignore[attr-defined]
    by_own = out_of_sample(model, split, score="cosine")
    assert by_own.protocol["own score"] == "dot" and "AUC degree-matched, own score" in by_own.figures
    assert "AUC degree-matched, own score" not in out_of_sample(model, split, score="dot").figures


# -------------------------------------------------------------------- attributes


def with_numbers(graph: Graph, seed: int = 0) -> Graph:
    numbers = np.random.default_rng(seed).normal(size=(graph.n_nodes, 3)).tolist()
    rows = zip(graph.nodes, numbers, strict=True)
    return graph.with_attributes({node: dict(zip("abc", row, strict=True)) for node, row in rows})


@pytest.mark.parametrize(("name", "steps"), [("X alone", 0), ("P²X", 2)])
def test_attributes_averaged_over_the_links_that_new_nodes_have_by_loops(name: str, steps: int) -> None:
    graph = with_numbers(blocks_graph(40)[0])
    split = split_nodes(graph, 0.2, seed=1)
    known = [i for i in range(40) if i not in split.new]
    x = Scaling.fit(graph.attributes, known).block(graph.attributes).values.astype(np.float64)

    def averaged(rows: list[int]) -> dict[int, npt.NDArray[np.float64]]:
        now = {i: x[i] for i in rows}
        for _ in range(steps):
            then = {}
            for i in rows:
                near = [j for j in rows if graph.adjacency[i, j]]
                then[i] = sum(now[j] for j in near) / len(near) if near else now[i]
            now = then
        return now

    before, after = averaged(known), averaged(list(range(40)))
    wanted = np.array([before[i] if i in before else after[i] for i in range(40)])
    vectors = attribute_methods(3, 0)[name](split).vectors.astype(np.float64)
    assert np.allclose(vectors @ vectors.T, wanted @ wanted.T, atol=1e-4)  # three columns, three directions


def test_where_attributes_are_known_they_stand_beside_and_reach_nodes_without_links() -> None:
    graph, groups, _ = blocks_graph()
    ends = [(graph.nodes[a], graph.nodes[b]) for a, b in edge_pairs(graph).tolist()]
    graph = with_numbers(Graph.from_edges(ends, nodes=[*graph.nodes, "alone"]))
    split = NodeSplit(graph.subgraph(range(100)), graph, np.arange(100, 121), {})
    model = Fitted(split.known, vectors_of(split.known, 4))
    classes = {**groups, "alone": 0}
    result = out_of_sample(model, split, classes=classes, links=False)
    assert list(result.baselines) == ["LocalAvg", "LabelProp", "X alone", "P²X", "majority of neighbors"]
    assert "alone" not in model.shown[-1].nodes
    model.graph_facts_ = {"attributes": {}}
    reads = out_of_sample(model, split, classes=classes, links=False, baselines=False)
    assert "alone" in model.shown[-1].nodes
    assert reads.protocol["model asked about"] == "those with a path to known ones, or with attributes"
