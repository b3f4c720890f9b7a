"""Node2VecPlus: node2vec's objective, and LINE's, over vectors that are predicted."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import netfold as nf
from netfold.data.graph import Graph
from netfold.models.node2vecplus import Node2VecPlus
from problems import problem_of

FAST = {"dim": 8, "epochs": 3, "length": 20, "window": 3, "hidden": 8}
bases = pytest.mark.parametrize("base", ["node2vec", "line"])


@pytest.fixture(scope="module")
def blocks() -> Graph:
    """120 nodes in 4 blocks."""
    return nf.datasets.stochastic_block_model((30,) * 4, p_in=0.25, p_out=0.005, seed=3)[0]


def fitted(graph: Graph, **changed) -> Node2VecPlus:
    return Node2VecPlus(**FAST | changed).fit(graph, progress=False)


@bases
def test_a_new_node_lands_in_the_block_it_is_linked_with(blocks, base):
    model = fitted(blocks, base=base, epochs=20 if base == "line" else 3)
    for block in range(4):
        new = model.transform([("new", 30 * block + i) for i in range(5)])
        near = [node for node, _ in model.embedding_.nearest(new["new"], k=10)]
        assert sum(node // 30 == block for node in near) >= 9
        assert (new.std > 0).all()


def log_sigmoid(x: float) -> float:
    return -np.log1p(np.exp(-x))


@bases
def test_the_objective_is_that_of_the_base_over_predicted_vectors(base):
    ring = Graph.from_edges([(i, (i + d) % 9) for i in range(9) for d in (1, 3)])
    model = fitted(ring, base=base, epochs=1, one_step=0, two_step=0, batch_size=4)
    network = model.network_.double()
    vectors = network.vectors(model._sums().each_as_new()[0].double()).detach().numpy()
    contexts = network.contexts.detach().numpy()
    batch = next(iter(problem_of(model, ring).batches(0)))
    network.float()
    terms = {name: term.item() for name, term in network.loss(batch).items()}
    read, against = batch.read, batch.read.against
    names = read.context_nodes.numpy()
    orders = {"": (vectors, contexts)} if base == "node2vec" else {}
    if base == "line":
        orders = {"first_": (vectors[:, :4], vectors[:, :4]), "second_": (vectors[:, 4:], contexts)}
    for order, (z, c) in orders.items():
        met = 0.0
        if base == "line":
            met = -sum(log_sigmoid(z[names[i]] @ c[names[j]]) for i, j in read.pairs.T.tolist())
        else:
            for walk in read.walks.tolist():
                for t in range(len(walk)):
                    for s in range(max(0, t - 3), min(len(walk), t + 4)):
                        weight = 0 if s == t else (4 - abs(s - t)) / 3
                        met -= weight * log_sigmoid(z[names[walk[t]]] @ c[names[walk[s]]])
        drawn = 0.0
        for centers, weights, others in zip(against.centers, against.weights, against.drawn, strict=True):
            for i, w in zip(centers.tolist(), weights.tolist(), strict=True):
                drawn -= w * sum(log_sigmoid(-z[names[i]] @ c[names[v]]) for v in others.tolist())
        assert terms[f"{order}contexts"] == pytest.approx(met, rel=1e-4)
        assert terms[f"{order}negatives"] == pytest.approx(drawn, rel=1e-4)


@bases
def test_every_parameter_is_trained(blocks, base):
    start, trained = (fitted(blocks, base=base, epochs=e).network_ for e in (0, 3))
    for (name, before), (_, after) in zip(start.named_parameters(), trained.named_parameters(), strict=True):
        assert not torch.equal(before, after), name


def test_the_vectors_of_known_nodes_are_predicted_from_their_neighbors(blocks):
    model = fitted(blocks)
    again, network = model.embedding_.vectors, model.network_
    with torch.no_grad():
        network.latent[7] += 100  # its own latent state is not read for its own vector
    model.known_ = None
    moved = model._embed(model._read(blocks)).vectors
    near = np.zeros(120, dtype=bool)
    matrix = blocks.adjacency
    near[matrix[[7]].indices] = True
    assert np.allclose(moved[7], again[7], rtol=1e-3, atol=1e-4)
    assert np.abs(moved[near] - again[near]).max() > 1


@pytest.mark.parametrize(
    "changed",
    [
        {"p": 0.2}, {"q": 4.0}, {"window": 5}, {"length": 10}, {"n_negatives": 2}, {"init": "none"}, {"lr": 0.3},
        {"shared_lr": 0.03}, {"schedule": "constant"}, {"batch_size": 16}, {"one_step": 2}, {"two_step": 1},
        {"sharing": "halves"},
    ],
)  # fmt: skip
def test_the_options_change_what_is_learned(blocks, changed):
    one, two = (fitted(blocks, epochs=2, **x).embedding_.vectors for x in ({}, changed))
    assert one.tobytes() != two.tobytes()


def test_days_go_by_and_a_run_goes_on(blocks, tmp_path):
    model = fitted(blocks)
    new = model.transform([("x", 0), ("x", 1)])
    model.save(tmp_path / "m")
    stream = nf.Evolving.open(tmp_path / "m")
    stream.update([("x", 0), ("x", 1)])
    assert stream.embedding_["x"].tobytes() == new["x"].tobytes()
    assert "y" in nf.Evolving.open(tmp_path / "m").update([("y", "x")]).placed

    stop = {"checkpoint": tmp_path / "c", "checkpoint_every": 0.0, "progress": False}
    Node2VecPlus(**FAST).fit(blocks, on_epoch=lambda r: r["epoch"] == 1, **stop)
    again = Node2VecPlus(**FAST).fit(blocks, **stop)
    assert again.embedding_.vectors.tobytes() == fitted(blocks).embedding_.vectors.tobytes()


def test_what_cannot_be_fitted_is_refused(blocks):
    with pytest.raises(nf.InputError, match="dim=7 does not halve"):
        fitted(blocks, dim=7, base="line")
    with pytest.raises(nf.InputError, match="no edges but self-loops"):
        fitted(Graph.from_edges([("a", "a"), ("b", "b")]))
    with pytest.raises(nf.InputError, match="learns vectors of its own"):
        Node2VecPlus().fit(blocks, nf.Embedding([0], [[1.0]]))


def test_arcs_and_self_loops_count_as_links_and_as_nothing(blocks):
    edges = [*blocks.to_networkx().edges, (0, 0), (5, 5)]
    looped = Graph.from_edges(edges, nodes=range(120))
    np.testing.assert_array_equal(fitted(looped).embedding_.vectors, fitted(blocks).embedding_.vectors)
    arcs = Graph.from_edges(list(blocks.to_networkx().edges), nodes=range(120), directed=True)
    np.testing.assert_array_equal(fitted(arcs).embedding_.vectors, fitted(blocks).embedding_.vectors)
