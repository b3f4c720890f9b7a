"""What stands in a table of link prediction beside the model: cheap baselines, measured as it is, and the protocol."""

from __future__ import annotations

import os

import numpy as np
import pytest

from link_splits import cliques, random_graph
from naive_rankings import Model
from netfold.data.embedding import Embedding
from netfold.evaluate import link_prediction, link_tasks, sample_negatives, split_edges


def test_baselines_see_the_training_graph_alone() -> None:
    graph, perfect = cliques(5, 8)
    split = split_edges(graph, 0.2, seed=3)
    found = link_prediction(perfect, split, k=[20], seed=2)
    assert list(found.baselines) == [
        "common neighbors", "Adamic-Adar", "resource allocation", "preferential attachment", "shortest path",
        "paths of three", "personalised PageRank", "Katz", "spectral", "normalised SVD",
        "links alone",
    ]  # fmt: skip
    for name, row in found.baselines.items():
        assert list(row) == list(found.figures), name
    # whoever is in the same clique shares neighbors in training, and nobody else does
    for name in ("common neighbors", "Adamic-Adar", "resource allocation", "shortest path", "paths of three"):
        assert found.baselines[name]["AUC"] == found.baselines[name]["MAP"] == 1.0
    assert found.baselines["preferential attachment"]["AUC"] < 0.8
    assert found.baselines["spectral"]["AUC"] > 0.99
    assert found.best("MAP") == "embedding"


def test_the_baselines_are_measured_as_the_model_is() -> None:
    """A model that has common neighbors as its scores gets the figures of common neighbors."""
    split = split_edges(random_graph(40, 2), 0.2)
    links = split.train.adjacency.toarray().astype(bool)
    np.fill_diagonal(links, False)
    shared = links.astype(float) @ links.astype(float)
    model = Model(Embedding(split.train.nodes, np.random.default_rng(0).normal(size=(40, 4))), shared)
    found = link_prediction(model, split, score="decoder", k=[7, 50])
    assert found.baselines["common neighbors"] == pytest.approx(found.figures)
    assert found.protocol["spectral vectors scored by"] == "dot"


def test_the_protocol_says_what_was_done() -> None:
    split = split_edges(random_graph(40, 2), 0.2, keep="connected", seed=8)
    embedding = Embedding(split.train.nodes, np.random.default_rng(0).normal(size=(40, 4)))
    found = link_prediction(embedding, split, negatives="degree", per_positive=3, seed=5, baselines=False)
    assert found.protocol == {
        "held out": 0.2,
        "keep": "connected",
        "split seed": 8,
        "test edges": len(split.test),
        "isolated nodes made": 0,
        "test edges across components": 0,
        "score": "cosine",
        "nodes without training links": "as an average pair",
        "negatives": "degree",
        "seed": 5,
        "negative pairs": 3 * len(split.test),
        "negatives are no edges of": "the whole graph",
        "ranked": "ordered pairs but the diagonal and training pairs",
        "hits and MRR": "without the other test edges of the node",
        "ties": "share their places",
        "nodes ranked from": 40,
    }
    assert (
        found.to_dict()
        == link_prediction(embedding, split, negatives="degree", per_positive=3, seed=5, baselines=False).to_dict()
    )


def test_paths_that_would_take_minutes_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    module = sys.modules[link_prediction.__module__]
    split = split_edges(random_graph(30, 2), 0.2)
    embedding = Embedding(split.train.nodes, np.random.default_rng(0).normal(size=(30, 4)))
    starts = len(np.unique(np.concatenate([split.test, sample_negatives(split.whole, len(split.test)).pairs])[:, 0]))
    assert starts < 30
    monkeypatch.setattr(module, "_MOST_STEPS", starts * split.train.adjacency.nnz)
    found = link_prediction(embedding, split, k=[5])
    assert list(found.baselines["shortest path"]) == ["AUC", "AP", "AUC known ends"]
    left = ["MAP", "precision@5", "hits@10", "hits@50", "MRR"]
    assert found.protocol["shortest path left out (too many steps) of"] == left
    line = next(x for x in repr(found).splitlines() if x.startswith("shortest path"))
    assert line.split()[-5:] == ["-"] * 5
    monkeypatch.setattr(module, "_MOST_STEPS", 1)
    assert link_prediction(embedding, split, k=[5]).baselines["shortest path"] == {}


@pytest.mark.slow
@pytest.mark.skipif(not os.environ.get("NETFOLD_DATA"), reason="needs NETFOLD_DATA")
def test_cheap_baselines_on_gr_qc_are_where_others_found_them() -> None:
    """15% held out: common neighbors .81-.84 / .213, Adamic-Adar .86-.91 / .275 at 1,000 / 10,000 pairs."""
    from netfold import datasets

    graph = datasets.load("ca_grqc")
    split = split_edges(graph, 0.15)
    assert len(split.test) == 2173
    rows = link_prediction(Embedding(graph.nodes, np.ones((5242, 1))), split).baselines
    assert 0.79 < rows["common neighbors"]["precision@1000"] < 0.85
    assert rows["common neighbors"]["precision@10000"] == pytest.approx(0.213, abs=0.006)
    assert 0.85 < rows["Adamic-Adar"]["precision@1000"] < 0.92
    assert rows["Adamic-Adar"]["precision@10000"] == pytest.approx(0.277, abs=0.006)


def test_walks_that_would_take_minutes_are_followed_from_some_nodes(monkeypatch: pytest.MonkeyPatch) -> None:
    split = split_edges(random_graph(60, 2), 0.3)
    vectors = Embedding(split.train.nodes, np.random.default_rng(0).normal(size=(60, 4)))
    whole, score = link_prediction(vectors, split, k=[10], per_positive=3), "0.5 cosine + 0.5 personalised PageRank"
    all_pairs = link_prediction(vectors, split, k=[10], score=score, baselines=False)
    monkeypatch.setattr(link_tasks, "_MOST_PRODUCTS", 25 * 20 * split.train.adjacency.nnz)  # from 25 nodes
    monkeypatch.setattr(link_tasks, "_FEWEST_PAIRS", 20)
    found = link_prediction(vectors, split, k=[10], per_positive=3)
    assert found.figures == whole.figures and found.baselines["Adamic-Adar"] == whole.baselines["Adamic-Adar"]
    assert (
        "25 nodes" in found.protocol["personalised PageRank by a sample"] and "Katz by a sample" not in whole.protocol
    )
    some, every = (x.baselines["personalised PageRank"] for x in (found, whole))
    assert (
        "precision@10" not in some and abs(some["AUC"] - every["AUC"]) < 0.15 and abs(some["MAP"] - every["MAP"]) < 0.2
    )
    walked = link_prediction(vectors, split, k=[10], score=score, baselines=False)
    assert "25 nodes" in walked.protocol[f"{walked.name} by a sample"] and walked.protocol["nodes ranked from"] == 25
    assert "precision@10" not in walked.figures and abs(walked.figures["AUC"] - all_pairs.figures["AUC"]) < 0.15
    few = link_prediction(vectors, split, k=[10], score=score, baselines=False, nodes=5)
    assert few.protocol["nodes ranked from"] == 5, "no more than were asked for"
    monkeypatch.setattr(link_tasks, "_FEWEST_PAIRS", 10**6)
    assert "AUC" not in link_prediction(vectors, split, k=[10]).baselines["personalised PageRank"]
