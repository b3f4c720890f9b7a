"""Node2Vec: what it learns, from walks of every kind, and what it refuses."""

from __future__ import annotations

import os

import numpy as np
import pytest
import torch

import netfold as nf
from netfold.models.node2vec import Node2Vec
from problems import problem_of
from zoo import ZOO, directed, karate, scattered, weighted

QUICK = {"dim": 8, "length": 20, "window": 3, "epochs": 15}


def fit(graph, **changed) -> Node2Vec:
    return Node2Vec(**QUICK | changed).fit(graph, progress=False)


def two_cliques(size: int = 8) -> nf.Graph:
    pairs = [(a, b) for a in range(size) for b in range(a)]
    return nf.Graph.from_edges([*pairs, *((a + size, b + size) for a, b in pairs), (0, size)])


def scores(model: Node2Vec) -> np.ndarray:
    """z_i · c_j of all pairs."""
    network = model.network_
    return (network.vectors @ network.contexts.t()).numpy(force=True)


# ---------------------------------------------------------------- what it learns


@pytest.mark.parametrize("init", ["spectral", "none"])
def test_nodes_that_walks_meet_together_are_near(init):
    model = fit(two_cliques(), init=init, epochs=60, lr=0.3 if init == "none" else 0.1)
    vectors = model.embedding_.vectors
    vectors = vectors - vectors.mean(axis=0)
    inside = np.arange(16) < 8
    products = vectors @ vectors.T
    assert products[np.ix_(inside, inside)].min() > products[np.ix_(inside, ~inside)].max()


def test_training_ends_at_the_logarithm_of_how_often_nodes_meet():
    """At the optimum z_i · c_j = log(#(i, j) / (#i k P(j))) (Levy and Goldberg 2014), if there is room for it."""
    graph = two_cliques(4)
    options = {"dim": 16, "init": "none", "lr": 0.3, "walks": 50, "epochs": 60, "window": 1, "n_negatives": 3}
    found = scores(fit(graph, **options))
    met = graph.adjacency.toarray()  # within one step, walks from all nodes: in proportion to links, about
    chances = met.sum(axis=1) ** 0.75 / (met.sum(axis=1) ** 0.75).sum()
    due = np.log(met / met.sum(axis=1, keepdims=True) / chances / 3, where=met > 0, out=np.zeros_like(met))
    np.testing.assert_allclose(found[met > 0], due[met > 0], atol=0.35)
    assert found[met == 0].max() < due[met > 0].min() - 1


def test_p_and_q_change_what_is_learned():
    graph = karate()
    plain, near, far = (fit(graph, **bias).embedding_.vectors for bias in ({}, {"q": 8.0}, {"p": 8.0, "q": 0.1}))
    assert not np.allclose(plain, near, atol=1e-2) and not np.allclose(plain, far, atol=1e-2)


def test_walks_follow_arcs():
    graph = directed()
    turned = nf.Graph(graph.adjacency.T.tocsr(), graph.nodes, directed=True)
    assert not np.allclose(fit(graph).embedding_.vectors, fit(turned).embedding_.vectors, atol=1e-2)


def test_weights_are_heeded():
    graph = weighted()
    bare = nf.Graph.from_scipy((graph.adjacency > 0).astype(np.float32), graph.nodes)
    assert not np.allclose(fit(graph).embedding_.vectors, fit(bare).embedding_.vectors, atol=1e-2)


@pytest.mark.parametrize("init", ["spectral", "none"])
def test_nodes_without_links_get_zero(init):
    emb = fit(scattered(), init=init).embedding_
    assert not emb["alone"].any() and not emb["also alone"].any() and emb["hub"].any()


@pytest.mark.parametrize("directed", [False, True])
def test_weights_of_any_size_are_borne(directed):
    heavy = [("a", "b", 3e38), ("b", "c", 3e38), ("a", "c", 3e38), ("c", "d", 1e-38), ("d", "e", 1e-38), ("e", "c", 1)]
    emb = fit(nf.Graph.from_edges(heavy, directed=directed), p=0.5, q=2.0).embedding_
    assert np.isfinite(emb.vectors).all() and np.abs(emb.vectors).max() < 100


def test_the_spectral_start_has_the_lower_objective():
    one, other = (fit(karate(), init=x, epochs=1).history_[0]["objective"] for x in ("spectral", "none"))
    assert one < 0.9 * other


# ---------------------------------------------------------------- epochs, options, new nodes


def test_an_epoch_counts_every_pair_once():
    """Whatever the batches: the first epoch's objective at a standstill is that of a start at 0."""
    whole = 34 * 2 * (19 + 18 * 2 / 3 + 17 / 3)  # pairs of walks of 20 nodes in a window of 3, by their weights
    for batch_size in (1000, 5):
        record = fit(karate(), init="none", lr=1e-12, epochs=1, batch_size=batch_size).history_[0]
        assert record["contexts"] == pytest.approx(whole * np.log(2), rel=1e-3)
        assert record["negatives"] == pytest.approx(5 * whole * np.log(2), rel=1e-3)
    doubled = fit(karate(), init="none", lr=1e-12, epochs=1, walks=2, n_negatives=3).history_[0]
    assert doubled["negatives"] == pytest.approx(2 * 3 * whole * np.log(2), rel=1e-3)


@pytest.mark.parametrize("schedule", ["constant", "linear", "cosine"])
def test_the_objective_falls_from_a_random_start(schedule):
    history = fit(weighted(), init="none", schedule=schedule, epochs=30).history_
    assert history[-1]["objective"] < 0.8 * history[0]["objective"]


def test_training_stops_when_it_has_converged():
    model = fit(karate(), epochs=500, tolerance=0.01, patience=5)
    assert 5 < len(model.history_) < 500


def test_a_step_touches_only_the_rows_that_it_reads():
    graph = nf.Graph.from_edges([(i, i + 1) for i in range(400)])
    model = Node2Vec(**QUICK)
    problem = problem_of(model, graph)
    network, batch = problem.network, next(iter(problem.batches(0)))
    network.loss(batch)
    assert network.vectors.grad.is_sparse and network.vectors.grad._nnz() == len(batch.nodes)
    assert network.contexts.grad.is_sparse and network.contexts.grad._nnz() == len(batch.context_nodes)


def test_the_gradient_is_that_of_autograd():
    problem = problem_of(Node2Vec(**QUICK), weighted())
    network, batch = problem.network.double(), next(iter(problem.batches(0)))
    for i, table in enumerate((network.vectors, network.contexts)):
        torch.nn.init.normal_(table, generator=torch.Generator().manual_seed(i))
    z, c = (x.detach().clone().requires_grad_() for x in (network.vectors, network.contexts))
    sum(batch.terms(z[batch.nodes], c[batch.context_nodes]).values()).backward()
    network.loss(batch)
    for mine, theirs in ((network.vectors.grad, z.grad), (network.contexts.grad, c.grad)):
        torch.testing.assert_close(mine.to_dense(), theirs, rtol=1e-9, atol=1e-9)
        assert theirs.any()


def test_a_run_that_was_stopped_goes_on_to_the_same_bits(tmp_path):
    whole = fit(weighted(), epochs=8).embedding_.vectors
    model = Node2Vec(**QUICK | {"epochs": 8})
    stop = {"checkpoint": tmp_path / "c", "checkpoint_every": 0, "progress": False}
    model.fit(weighted(), **stop, on_epoch=lambda record: record["epoch"] == 3)
    model.fit(weighted(), **stop)
    assert len(model.history_) == 8 and model.embedding_.vectors.tobytes() == whole.tobytes()


def test_the_global_random_state_is_left_alone():
    before = torch.random.get_rng_state(), np.random.get_state()[1].copy()
    fit(karate(), p=0.5, q=2.0)
    assert torch.equal(before[0], torch.random.get_rng_state())
    assert np.array_equal(before[1], np.random.get_state()[1])


@pytest.mark.parametrize("kind", sorted(ZOO))
def test_saved_and_loaded_it_is_the_same(kind, tmp_path):
    model = fit(ZOO[kind](), epochs=2)
    model.save(tmp_path / "m")
    again = nf.load(tmp_path / "m")
    assert again.get_params() == model.get_params()
    assert again.embedding_.vectors.tobytes() == model.embedding_.vectors.tobytes()
    torch.testing.assert_close(again.network_.contexts, model.network_.contexts)


def test_new_nodes_are_refused_with_the_remedy():
    model = fit(karate(), epochs=1)
    assert len(model.transform(karate())) == 0
    with pytest.raises(nf.InputError, match="'x'.*DepthLGP"):
        model.transform(nf.Graph.from_edges([("x", 0)]))


@pytest.mark.parametrize(
    "bad", [{"p": 0.0}, {"q": -1.0}, {"length": 1}, {"window": 0}, {"n_negatives": 0}, {"walks": 0}]
)
def test_options_out_of_range_are_refused(bad):
    with pytest.raises(nf.InputError, match=next(iter(bad))):
        Node2Vec(**bad)


# ---------------------------------------------------------------- quality on real graphs

real = pytest.mark.skipif(not os.environ.get("NETFOLD_DATA"), reason="NETFOLD_DATA is not set")


@real
@pytest.mark.slow
def test_blogcatalog_is_classified_as_well_as_by_gensim():
    graph = nf.datasets.load("blogcatalog")
    model = Node2Vec(epochs=3).fit(graph, progress=False)
    found = nf.evaluate.classification(model, nf.datasets.classes("blogcatalog"), train=0.9, baselines=False)
    assert found.figures["micro-F1@90%"] > 0.42
