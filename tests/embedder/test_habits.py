"""What people do with models of other libraries: pickle them, fit them to a file, and misspell their options."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import joblib
import numpy as np
import pytest
import torch
from test_contract import ZOO_OF, extends, fit, models, usual

import netfold as nf
from command import EDGES, environ, refuse, told
from netfold.data.embedding import Embedding
from netfold.embedder import embedder
from refusals import refused

# -------------------------------------------------------------------- pickle


def assert_same(one: Embedding, other: Embedding) -> None:
    assert one.nodes == other.nodes and one.vectors.tobytes() == other.vectors.tobytes()
    assert (one.std is None) == (other.std is None)
    if one.std is not None and other.std is not None:
        assert one.std.tobytes() == other.std.tobytes()


@models
def test_a_pickled_model_is_the_same_model(name: str, tmp_path: Path) -> None:
    graph = usual(name)
    model = fit(name, graph)
    joblib.dump(model, tmp_path / "model")
    for again in (pickle.loads(pickle.dumps(model)), joblib.load(tmp_path / "model")):  # noqa: S301
        assert type(again) is type(model) and again.get_params() == model.get_params()
        assert again.history_ == model.history_ and again.graph_facts_ == model.graph_facts_
        assert_same(again.embedding_, model.embedding_)
        if extends(name):
            later = ZOO_OF[name].grown(graph, like=graph.nodes[1])
            assert_same(again.transform(later), model.transform(later))
        if name == "dhne":
            tuples = [tuple(graph.nodes[i] for i in row) for kind in graph.kinds for row in kind.rows[:20].tolist()]
            assert np.array_equal(again.score(tuples), model.score(tuples))


@models
def test_a_model_that_is_not_fitted_pickles(name: str) -> None:
    model = nf.MODELS[name](dim=5, seed=3)
    again = pickle.loads(pickle.dumps(model))  # noqa: S301
    assert again.get_params() == model.get_params() and not hasattr(again, "embedding_")


@pytest.mark.parametrize(
    ("name", "options"),
    [
        *(("sdne", {"activation": x}) for x in ("sigmoid", "tanh", "leaky_relu")),
        *(("sdne", {"output": x}) for x in ("linear", "sigmoid")),
        *(("dhne", {"scale": x}) for x in ("column", "log", "binary")),
        *(("dvne", {"energy": x}) for x in ("w2", "w2_squared", "kl")),
    ],
)
def test_networks_of_every_kind_pickle(name: str, options: dict[str, str]) -> None:
    model = fit(name, usual(name), epochs=1, **options)
    again = pickle.loads(pickle.dumps(model))  # noqa: S301
    assert_same(again.embedding_, model.embedding_)


# -------------------------------------------------------------------- names of files


def test_a_file_is_read(edges_csv: Path) -> None:
    wanted = nf.SDNE(dim=3, epochs=2).fit(nf.read_edges(edges_csv), progress=False)
    for name in (edges_csv, str(edges_csv)):
        assert_same(nf.SDNE(dim=3, epochs=2).fit(name, progress=False).embedding_, wanted.embedding_)
    Path("later.csv").write_text("new,Ann\nnew,Bob\n")
    assert_same(wanted.transform("later.csv"), wanted.transform(nf.read_edges("later.csv")))
    nf.read_edges(edges_csv).save("graph")
    assert_same(nf.SDNE(dim=3, epochs=2).fit("graph", progress=False).embedding_, wanted.embedding_)
    assert "nowhere.csv" in refused(nf.SDNE().fit, "nowhere.csv")


def test_a_later_file_is_read_as_the_graph_was(edges_csv: Path) -> None:
    model = nf.SDNE(dim=3, epochs=2).fit(nf.read_edges(edges_csv, directed=True), progress=False)
    Path("later.csv").write_text("new,Ann\nnew,Bob\n")
    assert_same(model.transform("later.csv"), model.transform(nf.read_edges("later.csv", directed=True)))


def test_a_file_of_hyperedges_is_read(here: Path) -> None:
    rows = [f"u{i % 3},m{i % 4},t{i % 5}\n" for i in range(30)]
    Path("triples.csv").write_text("user,movie,tag\n" + "".join(rows))
    wanted = nf.DHNE(dim=3, epochs=1).fit(nf.read_hyperedges("triples.csv"), progress=False)
    assert_same(nf.DHNE(dim=3, epochs=1).fit("triples.csv", progress=False).embedding_, wanted.embedding_)


def test_tables_and_graphs_of_others_are_fitted() -> None:
    pd, nx = pytest.importorskip("pandas"), pytest.importorskip("networkx")
    table = pd.DataFrame([line.split(",")[:2] for line in EDGES.splitlines()], columns=["source", "target"])
    edges = list(table.itertuples(index=False, name=None))
    wanted = nf.SDNE(dim=3, epochs=2).fit(edges, progress=False).embedding_
    for graph in (table, nx.Graph(edges), nf.Graph.from_edges(edges).adjacency):
        vectors = nf.SDNE(dim=3, epochs=2).fit(graph, progress=False).embedding_.vectors
        assert vectors.tobytes() == wanted.vectors.tobytes()


# -------------------------------------------------------------------- names of options and models


@pytest.mark.parametrize(
    ("cls", "name", "said"),
    [
        ("SDNE", "dimm", "SDNE has no option 'dimm'; did you mean dim?"),
        ("SDNE", "random_state", "SDNE has no option 'random_state'; here it is called seed"),
        ("SDNE", "n_components", "SDNE has no option 'n_components'; here it is called dim"),
        ("LINE", "walk_length", "LINE has no option 'walk_length'; it has dim, epochs, seed"),
        ("Node2Vec", "walk_length", "Node2Vec has no option 'walk_length'; here it is called length"),
    ],
)
def test_options_by_other_names(cls: str, name: str, said: str) -> None:
    assert refused(getattr(nf, cls), **{name: 3}).startswith(said)
    assert refused(getattr(nf, cls)().set_params, **{name: 3}).startswith(said)


def test_models_by_other_names() -> None:
    for name, said in (("sdne", "did you mean SDNE?"), ("DeepWalk", "Node2Vec with p = q = 1"), ("xyzzy", "'xyzzy'")):
        with pytest.raises(AttributeError, match=f"netfold has no '{name}'.*{said}" if name != "xyzzy" else said):
            getattr(nf, name)
    deep = nf.Node2Vec()
    assert (deep.p, deep.q) == (1.0, 1.0), "DeepWalk is said to be its defaults"


QUICK = ("--dim", "3", "--epochs", "2", "--quiet")


@pytest.mark.usefixtures("edges_csv")
@pytest.mark.parametrize(("typed", "model"), [("SDNE", "SDNE"), ("deepwalk", "Node2Vec"), ("DeepWalk", "Node2Vec")])
def test_fit_takes_models_as_they_are_typed(typed: str, model: str) -> None:
    facts = told("fit", typed, "edges.csv", "-o", "m", *QUICK)
    assert facts["model"] == model


@pytest.mark.usefixtures("edges_csv")
def test_fit_and_evaluate_answer_what_is_misspelled() -> None:
    assert "no model is called 'snde' (did you mean sdne?)" in refuse("fit", "snde", "edges.csv", "-o", "m")
    assert "no model is called 'gpt'; the models are sdne, drne" in refuse("fit", "gpt", "edges.csv", "-o", "m")
    told("evaluate", "reconstruction", "SDNE", "edges.csv", *QUICK)
    assert "'snde' is neither a model" in refuse("evaluate", "reconstruction", "snde", "edges.csv")


# -------------------------------------------------------------------- busy machines


@pytest.fixture
def two_threads(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(before)


@pytest.mark.usefixtures("two_threads")
def test_small_problems_use_one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    def threads(graph: nf.Graph) -> int:
        seen: list[int] = []
        nf.SDNE(dim=2, epochs=1).fit(graph, progress=False, on_epoch=lambda _: seen.append(torch.get_num_threads()))
        assert torch.get_num_threads() == 2, "what the caller had comes back"
        return seen[0]

    graph = nf.datasets.karate()
    assert threads(graph) == 1
    with monkeypatch.context() as patch:
        patch.setattr(embedder, "_SMALL", 100)
        assert threads(graph) == 2
    monkeypatch.setenv("OMP_NUM_THREADS", "2")
    assert threads(graph) == 2, "the environment says how many"
    with pytest.raises(ZeroDivisionError):
        nf.SDNE(dim=2, epochs=1).fit(graph, progress=False, on_epoch=lambda _: 1 / 0)
    assert torch.get_num_threads() == 2


@pytest.mark.usefixtures("two_threads")
def test_a_small_problem_has_the_bits_of_one_thread() -> None:
    graph = nf.datasets.les_miserables()
    vectors = nf.SDNE(dim=4, epochs=5).fit(graph, progress=False).embedding_.vectors
    torch.set_num_threads(1)
    assert vectors.tobytes() == nf.SDNE(dim=4, epochs=5).fit(graph, progress=False).embedding_.vectors.tobytes()


def test_waiting_is_passive_unless_the_environment_says_otherwise() -> None:
    code = "import os, netfold; print(os.environ['OMP_WAIT_POLICY'])"
    without = {name: value for name, value in environ().items() if name != "OMP_WAIT_POLICY"}
    for environment, wanted in ((without, "PASSIVE"), (without | {"OMP_WAIT_POLICY": "ACTIVE"}, "ACTIVE")):
        said = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True, env=environment)
        assert said.stdout.strip() == wanted


@pytest.mark.usefixtures("two_threads")
def test_who_imported_torch_first_is_told_where_the_machine_is_busy(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def told(load: float) -> bool:
        caplog.clear()
        monkeypatch.setattr("os.getloadavg", lambda: (load, load, load))
        with monkeypatch.context() as patch:
            patch.setattr(embedder, "_SMALL", 0)
            nf.SDNE(dim=2, epochs=1).fit(nf.datasets.karate(), progress=False)
        return "spin while they wait" in caplog.text

    monkeypatch.setattr("os.cpu_count", lambda: 4)
    monkeypatch.delenv("OMP_WAIT_POLICY", raising=False)
    assert told(5.0)
    assert not told(4.0), "each program has a core"
    monkeypatch.setenv("OMP_WAIT_POLICY", "PASSIVE")
    assert not told(5.0), "they sleep"
    monkeypatch.delenv("OMP_WAIT_POLICY")
    torch.set_num_threads(1)
    assert not told(5.0), "one thread waits for nobody"


@pytest.mark.parametrize("name", ["load", "Embedder", "Evolving"])
def test_what_opens_a_model_knows_every_one(name: str) -> None:
    code = (
        f"import netfold as nf; nf.{name}; from netfold.embedder.embedder import Embedder; print(len(Embedder.models))"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True, env=environ())
    assert int(said.stdout) == len(nf.MODELS)


def test_what_fit_makes_is_missed_with_a_hint_before_it() -> None:
    model = nf.SDNE(dim=2)
    with pytest.raises(AttributeError, match=r"no attribute 'embedding_'; it is not fitted yet, call fit\(graph\)"):
        model.embedding_  # noqa: B018
    with pytest.raises(AttributeError, match="'SDNE' object has no attribute 'vectors'$"):
        model.vectors  # noqa: B018
    assert not hasattr(model, "embedding_") and not hasattr(copy.copy(model), "history_")
