"""What every model promises; a model is tested here the moment it is listed in MODELS."""

from __future__ import annotations

import inspect
from pathlib import Path

import numpy as np
import pytest
from zoo import ZOO, karate, weighted

import netfold as nf
from netfold import losses
from netfold.evaluate import centrality, reconstruction
from netfold.options import options, parameters_table

FAST = {"sdne": {"dim": 8, "hidden": (16,), "epochs": 15}, "drne": {"dim": 8, "epochs": 15}}
"""Options that make each model quick on a small graph."""

models = pytest.mark.parametrize("name", sorted(nf.MODELS))
graphs = pytest.mark.parametrize("kind", sorted(ZOO))


def make(name: str, **changed):
    return nf.MODELS[name](**FAST[name] | changed)


def fit(name: str, graph, **changed):
    return make(name, **changed).fit(graph, progress=False)


def test_every_model_option_and_loss_is_tested_and_explained():
    assert set(FAST) == set(nf.MODELS), "a model needs its quick options here"
    text = "".join(p.read_text() for p in Path(__file__).parent.glob("test_*.py"))
    for name, cls in nf.MODELS.items():
        assert cls.__doc__ and ">>>" in cls.__doc__, f"{name} has no runnable example"
        for o in options(cls):
            assert len(o.help) > 10, f"{name}.{o.name} has no help"
            assert f"{o.name}=" in text or f'"{o.name}"' in text, f"no test sets {name}.{o.name}"
            assert f"`{o.name}`" in parameters_table(cls)
    for loss in losses.__all__:
        assert inspect.getdoc(getattr(losses, loss))
        assert f"losses.{loss}(" in text, f"no test of the loss {loss}"


@models
@graphs
def test_shapes_labels_and_finiteness(name, kind):
    graph = ZOO[kind]()
    emb = fit(name, graph).embedding_
    assert emb.vectors.shape == (graph.n_nodes, 8) and emb.vectors.dtype == np.float32
    assert np.isfinite(emb.vectors).all()
    assert emb.nodes == graph.nodes
    assert np.array_equal(emb[graph.nodes[3]], emb.vectors[3])


@models
@graphs
def test_same_seed_same_bits_other_seed_other_bits(name, kind):
    graph = ZOO[kind]()
    one, two, other = (fit(name, graph, seed=s).embedding_.vectors for s in (1, 1, 2))
    assert one.tobytes() == two.tobytes()
    assert one.tobytes() != other.tobytes()


@models
def test_the_input_is_not_changed(name):
    graph = weighted()
    before = graph.fingerprint, graph.adjacency.data.tobytes(), graph.adjacency.indices.tobytes()
    given = graph.to_networkx()
    edges = sorted(given.edges(data="weight"))
    fit(name, graph)
    fit(name, given)
    assert before == (
        nf.Graph.from_networkx(given).fingerprint,
        graph.adjacency.data.tobytes(),
        graph.adjacency.indices.tobytes(),
    )
    assert sorted(given.edges(data="weight")) == edges


@models
def test_hyper_parameters_are_not_changed_by_fitting(name):
    model = make(name)
    before = model.get_params()
    model.fit(karate(), progress=False)
    assert model.get_params() == before


@models
def test_the_order_of_edges_does_not_matter(name):
    graph = karate()
    edges = list(graph.to_networkx().edges)
    rng = np.random.default_rng(0)
    turned = [edges[i] if rng.random() < 0.5 else edges[i][::-1] for i in rng.permutation(len(edges))]
    again = nf.Graph.from_edges(turned)
    assert fit(name, graph).embedding_.vectors.tobytes() == fit(name, again).embedding_.vectors.tobytes()


@models
def test_the_names_of_nodes_do_not_matter(name):
    graph = karate()
    renamed = nf.Graph(graph.adjacency, nf.Graph.from_edges([(f"ñ {i}", f"ñ {i}") for i in range(34)]).nodes)
    assert fit(name, graph).embedding_.vectors.tobytes() == fit(name, renamed).embedding_.vectors.tobytes()


@models
@graphs
def test_the_objective_falls(name, kind):
    history = fit(name, ZOO[kind](), epochs=40, tolerance=0.0).history_
    assert [r["epoch"] for r in history] == list(range(1, 41))
    assert history[-1]["objective"] < 0.9 * history[0]["objective"]
    terms = [k for k in history[0] if k not in ("epoch", "seconds", "objective")]
    for record in history:
        assert record["objective"] == pytest.approx(sum(record[t] for t in terms))


@models
@graphs
def test_saved_and_loaded_it_is_the_same(name, kind, tmp_path):
    graph = ZOO[kind]()
    model = fit(name, graph)
    model.save(tmp_path / "m.netfold")
    again = nf.load(tmp_path / "m.netfold")
    assert type(again) is type(model) and again.get_params() == model.get_params()
    assert again.embedding_.vectors.tobytes() == model.embedding_.vectors.tobytes()
    assert again.embedding_.nodes == graph.nodes and again.history_ == model.history_
    later = grown(graph, like=graph.nodes[1])
    assert again.transform(later).vectors.tobytes() == model.transform(later).vectors.tobytes()


def grown(graph: nf.Graph, like) -> nf.Graph:
    """The graph with a node `new` wired as a known one is."""
    nx_graph = graph.to_networkx()
    for _, b, w in list(nx_graph.edges(like, data="weight")):
        nx_graph.add_edge("new", b, weight=w)
    for a, _, w in list(nx_graph.in_edges(like, data="weight")) if graph.directed else []:
        nx_graph.add_edge(a, "new", weight=w)
    return nf.Graph.from_networkx(nx_graph)


@models
@graphs
def test_a_new_node_wired_as_a_known_one_gets_its_vector(name, kind):
    graph = ZOO[kind]()
    model = fit(name, graph)
    like = graph.nodes[1]
    new = model.transform(grown(graph, like))
    assert list(new.nodes) == ["new"]
    np.testing.assert_allclose(new["new"], model.embedding_[like], rtol=1e-4, atol=1e-5)


@models
def test_transforming_a_graph_without_new_nodes_gives_an_empty_embedding(name):
    graph = karate()
    assert len(fit(name, graph).transform(graph)) == 0


def neighborhoods(model, graph) -> float:
    """How well linked nodes are found."""
    return reconstruction(model, graph, baselines=False).figures["MAP"]


def degrees(model, graph) -> float:
    """How well a node's vector tells its degree."""
    return centrality(model, graph, measures=["degree"], baselines=False).figures["degree R²"]


LEARNS = {"sdne": neighborhoods, "drne": degrees}
"""What each model is to learn, as a number that is larger where it did."""


@models
def test_what_is_learned_beats_a_random_start(name):
    graph = karate()
    start = {"pretrain": "none"} if "pretrain" in make(name).get_params() else {}
    untrained, learned = fit(name, graph, epochs=0, **start), fit(name, graph, epochs=100)
    assert LEARNS[name](learned, graph) > LEARNS[name](untrained, graph) + 0.1


@models
def test_small_graphs_work_with_the_defaults(name):
    model = nf.MODELS[name](epochs=3).fit(karate(), progress=False)
    assert model.embedding_.vectors.shape == (34, model.dim)
    pair = nf.MODELS[name](epochs=3).fit([("a", "b")], progress=False)
    assert np.isfinite(pair.embedding_.vectors).all()


@models
@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (nf.Graph.from_edges([], nodes=["a", "b"]), "no edges"),
        (nf.Graph.from_edges([("a", "a")]), "at least 2"),
        (nf.Hypergraph.from_tuples([("a", "b", "c")]), "hypergraph"),
        ("edges.csv", "read_edges"),
        (17, "cannot be read as a graph"),
    ],
)
def test_what_cannot_be_embedded_is_refused_in_one_sentence(name, bad, message):
    with pytest.raises(nf.InputError, match=message):
        make(name).fit(bad, progress=False)


@models
def test_a_model_that_is_not_fitted_says_so(name, tmp_path):
    with pytest.raises(nf.InputError, match="fit"):
        make(name).transform(karate())
    with pytest.raises(nf.InputError, match="fit"):
        make(name).save(tmp_path / "m")


@models
def test_a_device_that_is_not_there_is_refused(name):
    import torch

    if torch.cuda.is_available():
        pytest.skip("this machine has CUDA")
    with pytest.raises(nf.InputError, match="cuda"):
        make(name, device="cuda").fit(karate(), progress=False)
