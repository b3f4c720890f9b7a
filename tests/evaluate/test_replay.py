"""Replaying what came after a fit: batches, the old classifier, the next batch's links."""

from __future__ import annotations

import numpy as np
import pytest

import netfold as nf
from netfold.data.edges import edge_pairs
from netfold.evaluate import NodeSplit, replay
from netfold.evaluate.evolving_tasks import REPLAY_WAYS, _auc, _batches, _pairs
from netfold.evaluate.new_node_tasks import label_propagation

GRAPH = nf.datasets.load("sbm", sizes=[30, 30, 30], p_in=0.3, p_out=0.02)
CLASSES = nf.datasets.classes("sbm", sizes=[30, 30, 30])


@pytest.fixture(scope="module")
def split() -> NodeSplit:
    """A tenth of the nodes is new, and so are some links among the others."""
    rng = np.random.default_rng(0)
    whole = GRAPH.subgraph(np.flatnonzero(np.diff(GRAPH.adjacency.indptr) > 2))
    nodes = list(whole.nodes)
    old = {x for i, x in enumerate(nodes) if i % 9}
    pairs = [(nodes[a], nodes[b]) for a, b in edge_pairs(whole).tolist()]
    stays = [x for x in pairs if {*x} <= old and rng.random() < 0.8]
    known = nf.Graph.from_edges(stays)
    new = np.flatnonzero(known.nodes.find(whole.nodes) < 0)
    return NodeSplit(known, whole, new, {})


@pytest.fixture(scope="module")
def model(split):
    return nf.Node2Vec(dim=8, epochs=3, length=20, window=3).fit(split.known, progress=False)


def ends(graph: nf.Graph) -> set[frozenset]:
    return {frozenset((graph.nodes[a], graph.nodes[b])) for a, b in edge_pairs(graph).tolist()}


def test_batches_are_all_that_came_each_once(split):
    batches = _batches(split, 4, seed=1)
    parts = [ends(x.edges) for x in batches]
    later = ends(split.whole) - ends(split.known)
    assert set().union(*parts) == later and sum(map(len, parts)) == len(later)
    assert max(map(len, parts)) - min(map(len, parts)) <= 1
    so_far = ends(split.known)
    for i, batch in enumerate(batches):
        so_far = so_far | parts[i]
        assert ends(batch.now) == so_far and set(batch.now.nodes) == {x for pair in so_far for x in pair}
        ahead = {frozenset(split.whole.nodes[k] for k in pair) for pair in batch.ahead.tolist()}
        there = set(batch.now.nodes)
        assert ahead == ({x for x in parts[i + 1] if x <= there} if i < 3 else set())
    assert [ends(x.edges) for x in _batches(split, 4, seed=2)] != parts


def test_the_figures_are_those_of_the_parts_put_together_by_hand(split, model):
    found = replay(model, split, classes=CLASSES, days=2, seed=1)
    assert (found.protocol["way"], *found.baselines) == (*REPLAY_WAYS, "majority of neighbors")
    first = _batches(split, 2, seed=1)[0]
    stream = nf.Evolving(model)
    stream.update(first.edges)
    new = np.flatnonzero(split.known.nodes.find(first.now.nodes) < 0)
    now = NodeSplit(split.known, first.now, new, {})
    here = {x: y for x, y in CLASSES.items() if x in first.now.nodes}
    placed = stream.embedding_.take([first.now.nodes[i] for i in new if first.now.nodes[i] in stream.embedding_])
    naive = nf.evaluate.out_of_sample(placed, now, base=model.embedding_, classes=here, baselines=False).figures
    for x in ("micro-F1", "macro-F1"):
        assert found.baselines["place"][x] == pytest.approx(naive[x], abs=1e-9)
    cheap = nf.evaluate.out_of_sample("LabelProp", now, base=model.embedding_, classes=here, links=False).figures
    assert found.baselines["LabelProp"]["micro-F1"] == pytest.approx(cheap["micro-F1"], abs=1e-9)
    voted = nf.evaluate.out_of_sample("LabelProp", now, base=model.embedding_, classes=here, links=False).baselines
    for x in ("micro-F1", "macro-F1"):
        assert found.baselines["majority of neighbors"][x] == pytest.approx(voted["majority of neighbors"][x], abs=1e-9)
    stream.settle(first.now, again=True)
    assert found.figures["CPU-s"] > 0
    both = [stream.embedding_, model.embedding_]
    right, wrong = _pairs(split, first, [nf.Evolving(model).embedding_, *both], seed=1)
    edges = ends(split.whole)
    names = split.whole.nodes
    for a, b in wrong.tolist():
        assert a != b and frozenset((names[a], names[b])) not in edges
    vectors = stream.embedding_
    cosines = []
    for pairs in (right, wrong):
        some = [(vectors[names[a]].astype(float), vectors[names[b]].astype(float)) for a, b in pairs.tolist()]
        cosines.append([x @ y / np.linalg.norm(x) / np.linalg.norm(y) for x, y in some])
    wins = [(x > y) + 0.5 * (x == y) for x in cosines[0] for y in cosines[1]]
    assert _auc(vectors, split.whole, "cosine", right, wrong) == pytest.approx(np.mean(wins), abs=1e-3)


def test_it_is_the_same_again_and_without_the_other_ways(split, model):
    one, two = (replay(model, split, classes=CLASSES, days=4, every=2, seed=3, baselines=x) for x in (True, False))
    for x in ("micro-F1", "macro-F1", "AUC"):
        assert one.figures[x] == two.figures[x]
    assert not two.baselines and one.smaller_is_better == ("CPU-s",)
    assert one.baselines["refit, aligned"]["micro-F1"] != one.baselines["refit"]["micro-F1"]


def test_a_model_that_cannot_settle_is_placed(split):
    spectral = nf.Spectral(dim=8).fit(split.known, progress=False)
    found = replay(spectral, split, days=3, every=2)
    assert found.protocol["way"] == "place"
    assert set(found.baselines) == {"place again", "LabelProp", "refit", "refit, aligned"}
    assert "micro-F1" not in found.figures


def test_what_cannot_be_replayed_is_refused(split, model):
    with pytest.raises(nf.InputError, match="leaves no next batch"):
        replay(model, split, days=1)
    with pytest.raises(nf.InputError, match="no 1000 batches"):
        replay(model, split, days=1000)
    with pytest.raises(nf.InputError, match="leaves no day to be measured"):
        replay(model, split, days=3, every=3)
    with pytest.raises(nf.InputError, match="which a fitted model does"):
        replay(model.embedding_, split)
    with pytest.raises(nf.InputError, match="classes name no old node"):
        replay(model, split, days=2, classes={x: CLASSES[x] for x in split.known.nodes})


def test_nodes_without_a_way_of_their_own_are_placed_again_where_label_propagation_puts_them(split, model):
    stream = nf.Evolving(model)
    for batch in _batches(split, 4, seed=1):
        stream.update(batch.edges)
    daily, spread = stream.embedding_, label_propagation(split, model)
    stream.update(again=True)
    apart = {when: np.abs(x[spread.nodes] - spread.vectors).max() for when, x in
             {"daily": daily, "again": stream.embedding_}.items()}  # fmt: skip
    assert apart["again"] < 1e-5 * np.abs(spread.vectors).max() < apart["daily"]
