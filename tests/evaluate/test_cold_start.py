"""Nodes with attributes and without links: the task, and the baselines that attributes give to every task."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import sparse

import netfold as nf
from netfold.data.scaling import Scaling
from netfold.errors import InputError
from netfold.evaluate.baselines import (
    SmoothedRows,
    attribute_embeddings,
    baseline_embeddings,
    main_directions,
    nearest_by_attributes,
)
from netfold.evaluate.case import case
from netfold.evaluate.class_tasks import propagation_scorer
from netfold.evaluate.pairs import isolated_as_average
from netfold.evaluate.scores import pair_scores
from netfold.evaluate.splits import NodeSplit
from netfold.studies.datasets import stochastic_block_model


def words_of_blocks(blocks: dict[int, int], seed: int = 0) -> dict[int, dict[str, Any]]:
    """Six words a node, most of them of its block."""
    rng = np.random.default_rng(seed)
    rows = {}
    for node, block in blocks.items():
        own = rng.integers(12, size=5) + 12 * block
        rows[node] = {"word": [f"w{i}" for i in [*own, *rng.integers(36, size=1)]]}
    return rows


@pytest.fixture(scope="module")
def known() -> tuple[nf.Graph, dict[int, int]]:
    graph, blocks = stochastic_block_model((40, 40, 40), 0.2, 0.01)
    return graph.with_attributes(words_of_blocks(blocks)), blocks


class Seen:
    """A model that places new nodes at random, and keeps the graph that it was asked about."""

    def __init__(self, split: NodeSplit):
        self.embedding_ = attribute_embeddings(split.known, 4)["X alone"]
        self.dim = 4

    def transform(self, graph: nf.Graph) -> nf.Embedding:
        self.graph = graph
        new = [x for x in graph.nodes if x not in self.embedding_.nodes]
        return nf.Embedding(new, np.random.default_rng(0).normal(size=(len(new), self.embedding_.dim)))


# -------------------------------------------------------------------- the task


def test_a_category_that_new_nodes_alone_have_is_missing_to_a_model_of_the_others(known: Any) -> None:
    graph, blocks = known
    city = {node: {"city": f"c{node % 7}" if node % 5 else f"only {node}"} for node in graph.nodes}
    split = nf.evaluate.split_nodes(graph.with_attributes(city), 0.2, seed=1)
    rare = [split.whole.nodes[i] for i in split.new if split.whole.nodes[i] % 5 == 0]
    assert rare, "one of them is new"
    at = split.whole.positions(rare)
    assert not split.whole.attributes.known[at].any()
    assert split.whole.attributes.known.sum() == graph.n_nodes - len(rare)
    assert nf.evaluate.out_of_sample(Seen(split), split, classes=blocks, links=False).figures  # and baselines run
    model = nf.Spectral(dim=4, matrix="attributes").fit(split.known, progress=False)
    result = nf.evaluate.cold_start(model, split, classes=blocks)
    assert result.protocol["new nodes of which nothing is known"] == len(rare)
    words = graph.with_attributes({x: {"word": [f"w{x}"] if x in rare else ["tea", f"v{x % 3}"]} for x in graph.nodes})
    seen = nf.evaluate.NodeSplit(words.subgraph(np.delete(np.arange(120), split.new)), words, split.new, {}).whole
    assert np.flatnonzero(~seen.attributes.known[:, 0]).tolist() == at.tolist()
    assert seen.attributes["word"].values[at].nnz == 0


def test_a_model_sees_attributes_of_new_nodes_and_none_of_their_links(known: Any) -> None:
    graph, blocks = known
    split = nf.evaluate.split_nodes(graph, 12, seed=1)
    model = Seen(split)
    result = nf.evaluate.cold_start(model, split, classes=blocks)
    assert model.graph.degrees[split.new].tolist() == [0] * 12
    assert model.graph.attributes == graph.attributes
    assert model.graph.n_edges == split.known.n_edges
    assert set(result.figures) == {"micro-F1", "macro-F1", "accuracy", "AUC", "AP", "AUC degree-matched"}
    names = ["X alone", "P²X", "10 nearest by X", "label propagation, and X", "most frequent classes", "popularity"]
    assert list(result.baselines) == names
    assert set(result.baselines["popularity"]) == {"AUC", "AP", "AUC degree-matched"}
    assert result.baselines["P²X"]["micro-F1"] > 0.8 > result.figures["micro-F1"]
    assert result.baselines["P²X"]["AUC"] > 0.7 and result.baselines["10 nearest by X"]["AUC"] > 0.7
    assert result.protocol["new nodes of which nothing is known"] == 0


def test_the_figures_of_new_nodes_do_not_depend_on_their_links(known: Any) -> None:
    """The same baselines of classes whether or not the whole graph has the new nodes' links."""
    graph, blocks = known
    split = nf.evaluate.split_nodes(graph, 12, seed=2)
    cut = nf.evaluate.cold_start(Seen(split), split, classes=blocks, links=False)
    from netfold.evaluate.cold_start_tasks import without_links_of_new

    bare = NodeSplit(split.known, without_links_of_new(split), split.new, split.protocol)
    again = nf.evaluate.cold_start(Seen(bare), bare, classes=blocks, links=False)
    assert cut.baselines == again.baselines and cut.figures == again.figures


def test_vectors_of_all_nodes_are_measured_too(known: Any) -> None:
    graph, blocks = known
    split = nf.evaluate.split_nodes(graph, 12, seed=1)
    right = nf.Embedding(graph.nodes, np.eye(3)[[blocks[x] for x in graph.nodes]])
    result = nf.evaluate.cold_start(right, split, classes=blocks, baselines=False)
    assert result.figures["micro-F1"] == 1 and result.figures["AUC"] > 0.8 and not result.baselines


def test_what_cannot_be_asked_is_said(known: Any) -> None:
    graph, blocks = known
    plain = graph.with_attributes(None)
    split = nf.evaluate.split_nodes(plain, 12)
    with pytest.raises(InputError, match=r"cold_start asks about nodes by their attributes, and the graph has none"):
        nf.evaluate.cold_start(nf.Embedding(plain.nodes, np.ones((120, 2))), split)
    with pytest.raises(InputError, match="asks about attributes of nodes, and the graph has none"):
        case("cold-start", plain, dict, {}, 0)
    split = nf.evaluate.split_nodes(graph, 12)
    with pytest.raises(InputError, match="nothing to measure"):
        nf.evaluate.cold_start(Seen(split), split, links=False)
    with pytest.raises(InputError, match="score"):
        nf.evaluate.cold_start(Seen(split), split, score="w2")
    assert case("cold", graph, lambda: blocks, {"new": 6}, 0).graph.n_nodes == 114


# -------------------------------------------------------------------- baselines with attributes


@pytest.mark.parametrize("steps", [0, 1, 2])
@pytest.mark.parametrize("dense", [False, True])
def test_smoothed_rows_are_those_of_a_naive_loop(steps: int, dense: bool) -> None:
    graph = nf.Graph.from_edges(
        [("a", "b", 2.0), ("b", "c", 1.0), ("c", "a", 0.5), ("c", "d", 3.0)], nodes=["a", "b", "c", "d", "alone"]
    )
    rng = np.random.default_rng(0)
    x = rng.random((5, 4)) * (rng.random((5, 4)) < 0.6)
    expected = x.copy()
    for _ in range(steps):
        rows = []
        for i in range(5):
            near = [(graph.adjacency[i, j], expected[j]) for j in range(5) if graph.adjacency[i, j]]
            total = sum(w for w, _ in near)
            rows.append(sum(w / total * row for w, row in near) if near else expected[i])
        expected = np.array(rows)
    found = SmoothedRows(graph, x if dense else sparse.csr_array(x), steps)
    assert np.allclose(found.times(np.eye(4)), expected, atol=1e-12)
    assert np.allclose(found.turned(np.eye(5)), expected.T, atol=1e-12)
    directions = main_directions(found, 2)
    u, s, _ = np.linalg.svd(expected)
    assert np.allclose(np.abs(found.times(directions)), np.abs(u[:, :2] * s[:2]), atol=1e-6)


def test_attributes_give_every_task_two_more_baselines(known: Any) -> None:
    graph, blocks = known
    plain = graph.with_attributes(None)
    assert set(baseline_embeddings(graph, 8)) - set(baseline_embeddings(plain, 8)) == {"X alone", "P²X"}
    vectors = attribute_embeddings(graph, 8)["P²X"]
    both = {
        name: nf.evaluate.classification(vectors, blocks, graph=g, train=0.3, repeats=1).baselines
        for name, g in (("known", graph), ("plain", plain))
    }
    assert {"X alone", "P²X"} <= set(both["known"]) and not {"X alone", "P²X"} & set(both["plain"])
    assert both["known"]["P²X"]["micro-F1@30%"] > 0.9
    split = nf.evaluate.split_edges(graph, 0.2)
    links = nf.evaluate.link_prediction(attribute_embeddings(split.train, 8)["P²X"], split, k=[10])
    assert {"X alone", "P²X"} <= set(links.baselines)


def test_nearest_by_attributes_are_those_of_a_naive_loop() -> None:
    rng = np.random.default_rng(1)
    x = rng.random((9, 5)) * (rng.random((9, 5)) < 0.5)
    x[4] = 0
    rows, without = np.array([8, 0, 4]), np.array([2, 8])
    found = nearest_by_attributes(sparse.csr_array(x), rows, 3, without).toarray()
    for i, row in zip(rows, found, strict=True):
        cosine = {
            j: x[i] @ x[j] / (np.linalg.norm(x[i]) * np.linalg.norm(x[j]))
            for j in range(9)
            if j != i and j not in without and x[i] @ x[j] > 0
        }
        best = sorted(cosine, key=lambda j: (-cosine[j], j))[:3]
        expected = np.zeros(9)
        expected[best] = [cosine[j] for j in best]
        assert np.allclose(row, expected, atol=1e-12)


def test_classes_spread_to_where_a_dense_solution_has_them() -> None:
    """F = (I - 0.9 D^-½ W D^-½)⁻¹ Y; a node that nothing reaches gets what is frequent."""
    w = np.zeros((7, 7))
    for i, j, weight in ((0, 1, 1.0), (1, 2, 2.0), (2, 3, 0.5), (3, 0, 1.0), (4, 5, 1.0)):
        w[i, j] = w[j, i] = weight
    at, learned, tested = np.array([6, 5, 4, 3, 2, 1, 0]), np.array([6, 3, 2]), np.array([0, 1, 4, 5])
    truth = np.array([[True, False, False], [False, True, False], [True, False, False]])
    d = np.where(w.sum(1) > 0, 1 / np.sqrt(np.where(w.sum(1) > 0, w.sum(1), 1)), 0)
    y = np.zeros((7, 3))
    y[at[learned]] = truth
    spread = np.linalg.solve(np.eye(7) - 0.9 * d[:, None] * w * d, y)[at[tested]]
    found = propagation_scorer(sparse.csr_array(w), at)(truth, learned, tested)
    assert np.all(found[:, 2] == -np.inf)  # no learned node has it
    assert np.allclose(found[1:, :2], (spread / spread.sum(1, keepdims=True).clip(1e-30))[1:, :2] - 0.5, atol=1e-6)
    assert np.allclose(found[0, :2], [2 / 3 - 0.5, 1 / 3 - 0.5], atol=1e-6)  # node 6 has no links


def test_propagation_with_attributes_stands_beside_that_of_links(known: Any) -> None:
    graph, blocks = known
    vectors = attribute_embeddings(graph, 8)["P²X"]
    rows = nf.evaluate.classification(vectors, blocks, graph=graph, train=0.1, repeats=1).baselines
    assert rows["label propagation"]["micro-F1@10%"] > 0.7
    assert rows["label propagation, and X"]["micro-F1@10%"] > 0.9
    split = nf.evaluate.split_nodes(graph, 0.2)
    cold = nf.evaluate.cold_start(vectors, split, classes=blocks).baselines
    assert cold["label propagation, and X"]["micro-F1"] > 0.9


def test_scaling_of_the_baselines_is_that_of_models(known: Any) -> None:
    graph, _ = known
    block = Scaling.fit(graph.attributes).block(graph.attributes)
    vectors = attribute_embeddings(graph, 36)["X alone"].vectors.astype(float)
    assert np.allclose(vectors @ vectors.T, (block.values @ block.values.T).toarray(), atol=1e-3)


def test_a_node_without_links_has_its_own_place_where_attributes_give_it_one() -> None:
    graph = nf.Graph.from_edges([("a", "b"), ("b", "c")], nodes=["a", "b", "c", "d", "e"])
    rows = {x: {"w": ["x"]} for x in "abcd"}
    with pytest.warns(UserWarning, match="of 1 node of 5 nothing is known"):
        graph = graph.with_attributes(rows)
    vectors = nf.Embedding("abcde", [[1, 0], [1, 1], [0, 1], [1, 0], [1, 0]])
    scores = pair_scores(vectors, graph, "dot")
    average = isolated_as_average(scores, graph)
    own = isolated_as_average(scores, graph, attributed=True)
    pair = np.array([3]), np.array([0])
    assert own.at(*pair) == scores.at(*pair) == 1 and average.at(*pair) != 1
    nothing = np.array([4]), np.array([0])
    assert own.at(*nothing) != 1, "of e neither links nor attributes are known"
