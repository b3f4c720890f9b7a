"""LINE: its two orders, what each learns, and what it refuses."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import torch

import netfold as nf
from netfold.learn.layers import take_rows
from netfold.models.line import LINE
from netfold.models.line.network import line_terms
from problems import problem_of
from zoo import ZOO, directed, karate, scattered, weighted

QUICK = {"dim": 8, "epochs": 40, "samples": 200, "batch_size": 64}


def fit(graph, **changed) -> LINE:
    return LINE(**QUICK | changed).fit(graph, progress=False)


def lengths(vectors: np.ndarray) -> np.ndarray:
    return np.linalg.norm(vectors, axis=1)


# ---------------------------------------------------------------- what each order learns


def test_the_first_order_draws_linked_nodes_together():
    graph = karate()
    vectors = fit(graph, order="first", epochs=200).embedding_.vectors
    products = vectors @ vectors.T
    linked = graph.adjacency.toarray() > 0
    others = ~linked & ~np.eye(34, dtype=bool)
    assert products[linked].mean() > products[others].mean() + 0.3


def test_the_second_order_knows_nodes_by_whom_they_link_to():
    """Two hubs, unlinked, of the same leaves: as near as can be, though never linked."""
    graph = nf.Graph.from_edges(
        [(hub, leaf) for hub in ("a", "b") for leaf in range(6)] + [("c", 6 + i) for i in range(6)]
    )
    emb = fit(graph, order="second", epochs=300).embedding_
    assert emb["a"] @ emb["b"] > 0.9 > emb["a"] @ emb["c"] + 0.3


def test_both_orders_are_side_by_side_each_of_length_one():
    vectors = fit(weighted(), order="both").embedding_.vectors
    np.testing.assert_allclose(lengths(vectors[:, :4]), 1, rtol=1e-5)
    np.testing.assert_allclose(lengths(vectors[:, 4:]), 1, rtol=1e-5)


@pytest.mark.parametrize(
    ("order", "terms"), [("first", {"first"}), ("second", {"second"}), ("both", {"first", "second"})]
)
def test_the_history_has_the_terms_of_each_order(order, terms):
    history = fit(karate(), order=order, lr=0.5, init="none").history_
    names = set(history[0]) - {"epoch", "objective", "seconds"}
    assert names == {f"{term}_{kind}" for term in terms for kind in ("contexts", "negatives")}
    # a matrix of products u_i · u_j cannot be below 0 everywhere, so the first order's objective has not far to fall
    assert history[-1]["objective"] < (0.98 if order == "first" else 0.9) * history[0]["objective"]


def test_by_default_it_begins_at_the_eigenvectors_whatever_the_size():
    graph = karate()
    by_default, spectral, random = (fit(graph, epochs=0, init=x).embedding_.vectors for x in (None, "spectral", "none"))
    np.testing.assert_array_equal(by_default, spectral)
    assert np.abs(by_default - random).max() > 0.1


def test_the_terms_at_a_standstill_count_samples_and_negatives():
    still = {"lr": 1e-12, "epochs": 1, "init": "none"}
    record = fit(karate(), samples=1000, n_negatives=3, **still).history_[0]
    for order in ("first", "second"):
        assert record[f"{order}_contexts"] == pytest.approx(1000 * np.log(2), rel=0.02)
        assert record[f"{order}_negatives"] == pytest.approx(3000 * np.log(2), rel=0.02)
    small, large = karate(), nf.datasets.chung_lu(nodes=2000, edges=20_000)
    for graph, count in ((small, 10_000), (large, large.adjacency.nnz)):
        record = fit(graph, samples=None, batch_size=4096, **still).history_[0]
        assert record["second_contexts"] == pytest.approx(count * np.log(2), rel=0.02)


def test_the_loss_against_a_loop():
    model, graph = LINE(**QUICK), weighted()
    problem = problem_of(model, graph)
    network = problem.network.double()
    with torch.no_grad():
        for i, table in enumerate(network.tables):
            table.copy_(torch.randn(table.shape, dtype=torch.float64, generator=torch.Generator().manual_seed(i)))
    batch = next(iter(problem.batches(0)))
    terms = network.loss(batch)
    for order, z, c in (("first", network.first, network.first), ("second", network.second, network.contexts)):
        met = sum(-torch.log(torch.sigmoid(z[i] @ c[j])) for i, j in batch.nodes[batch.pairs].t().tolist())
        torch.testing.assert_close(terms[f"{order}_contexts"], met)


@pytest.mark.parametrize("in_tables", [True, False])
@pytest.mark.parametrize("order", ["first", "second", "both"])
def test_the_gradient_is_that_of_autograd(order, in_tables):
    """To the bit where rows are read once, as on a GPU, and not where they are read where they are."""
    problem = problem_of(LINE(**QUICK | {"order": order}), weighted())
    network, batch = problem.network.double(), next(iter(problem.batches(0)))
    batch = dataclasses.replace(batch, against=dataclasses.replace(batch.against, in_turn=in_tables))
    for i, table in enumerate(network.tables):
        torch.nn.init.normal_(table, generator=torch.Generator().manual_seed(i))
    network.loss(batch)
    found = [table.grad.to_dense() for table in network.tables]
    for table in network.tables:
        table.grad = None
    first, contexts = (take_rows(table, batch.context_nodes) for table in (network.first, network.contexts))
    sum(line_terms(batch, first, take_rows(network.second, batch.nodes), contexts).values()).backward()
    for mine, table in zip(found, network.tables, strict=True):
        torch.testing.assert_close(mine, table.grad.to_dense(), rtol=0, atol=1e-12 if in_tables else 0)
        assert mine.any()


# ---------------------------------------------------------------- kinds of graphs


@pytest.mark.parametrize("kind", sorted(ZOO))
@pytest.mark.parametrize("order", ["first", "second", "both"])
def test_every_graph_and_order(kind, order, tmp_path):
    graph = ZOO[kind]()
    model = fit(graph, order=order, epochs=3)
    vectors = model.embedding_.vectors
    assert vectors.shape == (graph.n_nodes, 8) and np.isfinite(vectors).all()
    assert vectors.tobytes() == fit(graph, order=order, epochs=3).embedding_.vectors.tobytes()
    assert vectors.tobytes() != fit(graph, order=order, epochs=3, seed=1).embedding_.vectors.tobytes()
    model.save(tmp_path / "m")
    assert nf.load(tmp_path / "m").embedding_.vectors.tobytes() == vectors.tobytes()


def test_arcs_matter_to_the_second_order_alone():
    graph = directed()
    turned = nf.Graph(graph.adjacency.T.tocsr(), graph.nodes, directed=True)
    first, second = (
        [fit(g, order=x, epochs=100).embedding_.vectors for g in (graph, turned)] for x in ("first", "second")
    )
    near = [np.corrcoef((a @ a.T).ravel(), (b @ b.T).ravel())[0, 1] for a, b in (first, second)]
    assert near[0] > 0.8 > near[1] + 0.1


def test_weights_of_any_size_are_borne():
    heavy = [("a", "b", 3e38), ("b", "c", 3e38), ("a", "c", 3e38), ("c", "d", 1e-38)]
    assert np.isfinite(fit(nf.Graph.from_edges(heavy)).embedding_.vectors).all()


def test_nodes_without_links_get_zero():
    emb = fit(scattered()).embedding_
    assert not emb["alone"].any() and emb["hub"].any()


def test_a_run_that_was_stopped_goes_on_to_the_same_bits(tmp_path):
    whole = fit(weighted(), epochs=6).embedding_.vectors
    model = LINE(**QUICK | {"epochs": 6})
    stop = {"checkpoint": tmp_path / "c", "checkpoint_every": 0, "progress": False}
    model.fit(weighted(), **stop, on_epoch=lambda record: record["epoch"] == 2)
    model.fit(weighted(), **stop)
    assert model.embedding_.vectors.tobytes() == whole.tobytes()


# ---------------------------------------------------------------- options, new nodes


@pytest.mark.parametrize("schedule", ["constant", "linear", "cosine"])
def test_training_stops_when_it_has_converged(schedule):
    assert len(fit(karate(), epochs=2000, schedule=schedule, tolerance=0.05, patience=5).history_) < 2000


def test_an_odd_width_cannot_be_halved():
    with pytest.raises(nf.InputError, match="dim=7.*even"):
        fit(karate(), dim=7)
    assert fit(karate(), dim=7, order="second", epochs=1).embedding_.dim == 7


def test_new_nodes_are_refused_with_the_remedy():
    with pytest.raises(nf.InputError, match="'x'.*DepthLGP"):
        fit(karate(), epochs=1).transform(nf.Graph.from_edges([("x", 0)]))


def test_an_unknown_order_is_refused():
    with pytest.raises(nf.InputError, match="order"):
        LINE(order="third")
