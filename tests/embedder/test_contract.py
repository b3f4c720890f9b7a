"""What every model promises; a model is tested here the moment it is listed in MODELS."""

from __future__ import annotations

import functools
import inspect
from pathlib import Path

import numpy as np
import pytest

import netfold as nf
import zoo
import zoo_hypergraphs
from netfold.embedder.options import options, parameters_table
from netfold.embedder.store import estimated_size
from netfold.evaluate import centrality, hyperedges, reconstruction
from netfold.learn import losses

FAST = {
    "sdne": {"dim": 8, "hidden": (16,), "epochs": 15},
    "drne": {"dim": 8, "epochs": 15},
    "dhne": {"dim": 8, "epochs": 15, "batch_size": 32},
    "dvne": {"dim": 8, "hidden": 16, "epochs": 15},
    "node2vec": {"dim": 8, "length": 20, "window": 3, "epochs": 15, "init": "none", "lr": 0.3},
    "line": {"dim": 8, "epochs": 15, "init": "none"},
    "depthlgp": {"dim": 8, "epochs": 15, "samples": 32, "hidden": 8, "lr": 0.03, "eta": 0.1, "starts": "given"},
    "node2vecplus": {"dim": 8, "length": 20, "window": 3, "epochs": 15, "init": "none", "lr": 0.3},
    "spectral": {"dim": 8},
    "degreefeatures": {"dim": 8},
    "graphwave": {"dim": 8},
    "joined": {"dim": 8, "of": "spectral,degreefeatures"},
}
"""Options that make each model quick on a small graph; and DepthLGP keep what it learns, whatever it is worth."""

PLACED_AMONG_OTHERS = ("depthlgp", "node2vecplus")
"""Models that place a new node by the vectors of others, among which is that of the node which it is wired as."""

ZOO_OF = {name: {"graph": zoo, "hypergraph": zoo_hypergraphs}[cls.reads] for name, cls in nf.MODELS.items()}
"""The small graphs, or hypergraphs, that a model is tried on. Below, a graph may be either."""

COMPUTED = ("spectral", "degreefeatures", "graphwave", "joined")
"""Models that are solved for and not trained: they have no epochs, and on small graphs no random numbers."""

models = pytest.mark.parametrize("name", sorted(nf.MODELS))
trained_and_graphs = pytest.mark.parametrize(
    ("name", "kind"),
    [(name, kind) for name in sorted(nf.MODELS) if name not in COMPUTED for kind in sorted(ZOO_OF[name].ZOO)],
)
models_and_graphs = pytest.mark.parametrize(
    ("name", "kind"), [(name, kind) for name in sorted(nf.MODELS) for kind in sorted(ZOO_OF[name].ZOO)]
)


def make(name: str, **changed):
    return nf.MODELS[name](**FAST[name] | changed)


def usual(name: str):
    return ZOO_OF[name].usual()


def one_of(name: str, kind: str):
    return ZOO_OF[name].ZOO[kind]()


def extends(name: str) -> bool:
    """Whether the model has vectors for new nodes."""
    return nf.MODELS[name]._extend is not nf.Embedder._extend


def given(name: str, graph) -> dict:
    """The vectors that a model is given which extends some."""
    return {"embedding": zoo.vectors(nf.Graph.of(graph))} if nf.MODELS[name].extends else {}


def fit(name: str, graph, **changed):
    return make(name, **changed).fit(graph, **given(name, graph), progress=False)


@functools.cache
def fitted(name: str, kind: str):
    """The model of one of these graphs, for all tests that look at it and change nothing."""
    return fit(name, one_of(name, kind))


def made(name: str, graph, **changed) -> np.ndarray:
    """The vectors that a model makes of a graph: those of its nodes or, where these were given, of a new one."""
    return vectors_of(fit(name, graph, **changed), name, graph)


def vectors_of(model, name: str, graph) -> np.ndarray:
    """The same, of a model that is fitted."""
    if not nf.MODELS[name].extends:
        return model.embedding_.vectors
    return model.transform(ZOO_OF[name].grown(graph, like=graph.nodes[1])).vectors


def test_every_model_option_and_loss_is_tested_and_explained():
    assert set(FAST) == set(nf.MODELS), "a model needs its quick options here"
    text = "".join(p.read_text() for p in Path(__file__).parents[1].rglob("test_*.py"))
    for name, cls in nf.MODELS.items():
        assert cls.__doc__ and ">>>" in cls.__doc__, f"{name} has no runnable example"
        for o in options(cls):
            assert len(o.help) > 10, f"{name}.{o.name} has no help"
            assert f"{o.name}=" in text or f'"{o.name}"' in text, f"no test sets {name}.{o.name}"
            assert f"`{o.name}`" in parameters_table(cls)
    for loss in losses.__all__:
        assert inspect.getdoc(getattr(losses, loss))
        assert f"losses.{loss}(" in text, f"no test of the loss {loss}"


@models_and_graphs
def test_shapes_nodes_and_finiteness(name, kind):
    graph = one_of(name, kind)
    emb = fitted(name, kind).embedding_
    assert emb.vectors.shape == (graph.n_nodes, 8) and emb.vectors.dtype == np.float32
    assert np.isfinite(emb.vectors).all()
    assert emb.nodes == graph.nodes
    assert np.array_equal(emb[graph.nodes[3]], emb.vectors[3])


@models_and_graphs
def test_same_seed_same_bits_other_seed_other_bits(name, kind):
    graph = one_of(name, kind)
    one, two, other = vectors_of(fitted(name, kind), name, graph), *(made(name, graph, seed=s) for s in (0, 1))
    assert one.tobytes() == two.tobytes()
    assert (one.tobytes() == other.tobytes()) is (name in COMPUTED)


@models_and_graphs
def test_the_input_is_not_changed(name, kind):
    graph, contents = one_of(name, kind), ZOO_OF[name].contents
    given = ZOO_OF[name].foreign(graph)
    before = contents(graph), contents(given)
    few = {} if name in COMPUTED else {"epochs": 2}
    fit(name, graph, **few)
    fit(name, given, **few)
    assert (contents(graph), contents(given)) == before


@models
def test_hyper_parameters_are_not_changed_by_fitting(name):
    model = make(name)
    before = model.get_params()
    model.fit(usual(name), **given(name, usual(name)), progress=False)
    assert model.get_params() == before


@models
def test_the_order_of_edges_does_not_matter(name):
    graph = usual(name)
    again = ZOO_OF[name].shuffled(graph)
    assert made(name, graph).tobytes() == made(name, again).tobytes()


@models
def test_the_names_of_nodes_do_not_matter(name):
    graph = usual(name)
    renamed = ZOO_OF[name].renamed(graph)
    assert made(name, graph).tobytes() == made(name, renamed).tobytes()


def to_the_end(name: str) -> dict:
    """Options with which training does as many epochs as it is to."""
    return {"tolerance": 0.0} if "tolerance" in make(name).get_params() else {}


def test_what_is_computed_has_no_epochs():
    assert {name for name, cls in nf.MODELS.items() if "epochs" not in {o.name for o in options(cls)}} == set(COMPUTED)


@trained_and_graphs
def test_the_objective_falls(name, kind):
    history = fit(name, one_of(name, kind), epochs=40, **to_the_end(name)).history_
    assert [r["epoch"] for r in history] == list(range(1, 41))
    assert history[-1]["objective"] < 0.9 * history[0]["objective"]
    terms = [k for k in history[0] if k not in ("epoch", "seconds", "objective")]
    for record in history:
        assert record["objective"] == pytest.approx(sum(record[t] for t in terms))


@models_and_graphs
def test_saved_and_loaded_it_is_the_same(name, kind, tmp_path):
    graph, model = one_of(name, kind), fitted(name, kind)
    model.save(tmp_path / "m.netfold")
    again = nf.load(tmp_path / "m.netfold")
    assert type(again) is type(model) and again.get_params() == model.get_params()
    assert again.embedding_.vectors.tobytes() == model.embedding_.vectors.tobytes()
    assert again.embedding_.nodes == graph.nodes and again.history_ == model.history_
    if not extends(name):
        return
    later = ZOO_OF[name].grown(graph, like=graph.nodes[1])
    assert again.transform(later).vectors.tobytes() == model.transform(later).vectors.tobytes()


@models_and_graphs
def test_a_new_node_wired_as_a_known_one_gets_its_vector(name, kind):
    graph, model = one_of(name, kind), fitted(name, kind)
    like = graph.nodes[1]
    if not extends(name):
        with pytest.raises(nf.InputError, match="'new'.* has no vectors for new nodes; fit DepthLGP"):
            model.transform(ZOO_OF[name].grown(graph, like))
        return
    assert list(model.transform(ZOO_OF[name].grown(graph, like)).nodes) == ["new"]
    new = model.transform(ZOO_OF[name].grown(graph, like), how="encode")  # what else is done with links: test_placing
    assert list(new.nodes) == ["new"]
    if name in PLACED_AMONG_OTHERS:
        assert np.isfinite(new.vectors).all() and np.isfinite(new.std).all() and (new.std > 0).all()
        return
    np.testing.assert_allclose(new["new"], model.embedding_[like], rtol=1e-4, atol=1e-5)


@models
def test_transforming_a_graph_without_new_nodes_gives_an_empty_embedding(name):
    graph = usual(name)
    assert len(fit(name, graph).transform(graph)) == 0


def neighborhoods(model, graph) -> float:
    """How well linked nodes are found."""
    return reconstruction(model, graph, baselines=False).figures["MAP"]


def degrees(model, graph) -> float:
    """How well a node's vector tells its degree."""
    return centrality(model, graph, measures=["degree"], baselines=False).figures["degree R²"]


def tuples(model, hypergraph) -> float:
    """How well hyperedges are separated from tuples that are none."""
    return hyperedges(model, hypergraph, known=hypergraph, duplicates="keep", baselines=False).figures["AUC"]


def held_back(model, graph) -> float:
    """How near a node is placed to its vector, when it counts as new: R²."""
    return 1 - float(model.network_.spread.errors.mean()) / model.embedding_.vectors.var(axis=0).mean()


LEARNS = {
    "sdne": neighborhoods,
    "drne": degrees,
    "dhne": tuples,
    "dvne": neighborhoods,
    "node2vec": neighborhoods,
    "line": neighborhoods,
    "depthlgp": held_back,
    "node2vecplus": neighborhoods,
    "spectral": neighborhoods,
    "degreefeatures": degrees,
    "graphwave": degrees,
    "joined": neighborhoods,
}
"""What each model is to learn, as a number that is larger where it did."""


@models
def test_what_is_learned_beats_a_random_start(name):
    graph = usual(name)
    if name in COMPUTED:
        noise = np.random.default_rng(0).normal(size=(graph.n_nodes, 8))
        untrained, learned = nf.Embedding(graph.nodes, noise), fit(name, graph)
        assert LEARNS[name](learned, graph) > LEARNS[name](untrained, graph) + 0.1
        return
    at_random = any(o.name == "init" and "none" in o.choices for o in options(nf.MODELS[name]))
    start = {"init": "none"} if at_random else {}
    untrained, learned = fit(name, graph, epochs=0, **start), fit(name, graph, epochs=100)
    assert LEARNS[name](learned, graph) > LEARNS[name](untrained, graph) + 0.1


@models
def test_small_graphs_work_with_the_defaults(name):
    graph = usual(name)
    short = {} if name in COMPUTED else {"epochs": 3}
    model = nf.MODELS[name](**short).fit(graph, **given(name, graph), progress=False)
    assert model.embedding_.vectors.shape == (graph.n_nodes, model.dim or model.graph_facts_["dim"])
    two = [("a", "b")]
    pair = nf.MODELS[name](**short).fit(two, **given(name, two), progress=False)
    assert np.isfinite(pair.embedding_.vectors).all()


@pytest.mark.parametrize(("name", "what"), [(n, what) for n in sorted(nf.MODELS) for what in ZOO_OF[n].BAD])
def test_what_cannot_be_embedded_is_refused_in_one_sentence(name, what):
    bad, message = ZOO_OF[name].BAD[what]
    with pytest.raises(nf.InputError, match=message) as refused:
        make(name).fit(bad, progress=False)
    assert "\n" not in str(refused.value)


@models
def test_a_model_that_is_not_fitted_says_so(name, tmp_path):
    with pytest.raises(nf.InputError, match="fit"):
        make(name).transform(usual(name))
    with pytest.raises(nf.InputError, match="fit"):
        make(name).save(tmp_path / "m")


@models
def test_a_device_that_is_not_there_is_refused(name):
    import torch

    if torch.cuda.is_available():
        pytest.skip("this machine has CUDA")
    with pytest.raises(nf.InputError, match="cuda"):
        fit(name, usual(name), device="cuda")


@models
def test_the_size_on_disk_is_estimated_before_training(name: str, tmp_path: Path):
    graph = usual(name)
    estimate = estimated_size(make(name), graph, given(name, graph).get("embedding"))
    fit(name, graph, **{} if name in COMPUTED else {"epochs": 1}).save(tmp_path / "model")
    size = (tmp_path / "model" / "tensors.safetensors").stat().st_size
    assert 0.7 * size < estimate <= size, (
        "all of the network; the header, and deviations where there are any, come on top"
    )
