"""`nf.compare` and its command: the figures of one evaluation at a time, and rows that say why where there are none."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import netfold as nf
from command import netfold, sentences
from netfold.errors import InputError, TrainingError
from netfold.evaluate.scores import own_score
from netfold.evaluate.task import task_named
from netfold.studies.compare import compare, contenders
from zoo_hypergraphs import tags

GRAPH, BLOCKS = nf.datasets.stochastic_block_model((20, 20), 0.5, 0.05, seed=3)
QUICK: dict[str, Any] = {"dim": 6, "hidden": (8,), "epochs": 4}


def quick(**more: Any) -> nf.SDNE:
    return nf.SDNE(**QUICK | more)


# -------------------------------------------------------------------- figures


def test_a_row_is_what_one_evaluation_gives() -> None:
    asked = {"link_prediction": {"score": "own"}}  # as each model means it; the default is in test_one_figure.py
    found = compare([quick(), nf.DVNE(dim=4, hidden=8, epochs=2)], GRAPH, asked, seed=5, progress=False)
    split = nf.evaluate.split_edges(GRAPH, seed=5)
    for name, model, score in (
        ("SDNE", quick(), "decoder"),
        ("DVNE", nf.DVNE(dim=4, hidden=8, epochs=2), "w2"),
    ):
        model.fit(split.train, progress=False)
        expected = nf.evaluate.link_prediction(model, split, score=score, seed=5, baselines=False)
        entry = found.entry("link_prediction", name)
        assert entry is not None and entry.score == score
        assert entry.figures == pytest.approx(expected.figures, nan_ok=True)


def test_baselines_are_those_of_the_widest_model_and_come_once() -> None:
    found = compare([quick(), quick(dim=3)], GRAPH, "classification", classes=BLOCKS, progress=False)
    model = quick().fit(GRAPH, progress=False)
    expected = nf.evaluate.classification(model, BLOCKS, graph=GRAPH).baselines
    cheap = {x.method: x.figures for x in found.entries if x.cheap}
    assert cheap.keys() == expected.keys()
    for name, row in expected.items():
        assert cheap[name] == pytest.approx(row)
    assert found.methods[:2] == ["SDNE(dim=6, epochs=4, hidden=(8,))", "SDNE(dim=3, epochs=4, hidden=(8,))"]


def test_a_fit_serves_all_tasks_that_leave_the_same_graph(monkeypatch: pytest.MonkeyPatch) -> None:
    seen, fit = [], nf.SDNE.fit

    def watched(self: Any, graph: Any, *args: Any, **more: Any) -> Any:
        seen.append((self.dim, graph.fingerprint))
        return fit(self, graph, *args, **more)

    monkeypatch.setattr(nf.SDNE, "fit", watched)
    tasks = ["reconstruction", "classification", "link_prediction", "calibration"]
    compare([quick(), quick(dim=3)], GRAPH, tasks, classes=BLOCKS, seed=2, progress=False)
    train = nf.evaluate.split_edges(GRAPH, seed=2).train.fingerprint
    part = nf.evaluate.split_edges(nf.evaluate.split_edges(GRAPH, seed=2).train, 0.1).train.fingerprint
    graphs = (GRAPH.fingerprint, train, part)  # the last one chooses how pairs are scored
    assert sorted(seen) == sorted((dim, graph) for dim in (3, 6) for graph in graphs)


def test_arguments_of_a_task_and_a_score_for_all() -> None:
    tasks = {"link-prediction": {"held_out": 0.1, "score": "dot", "k": [7]}}
    found = compare(quick(), GRAPH, tasks, progress=False)
    entry = found.entry("link_prediction", "SDNE")
    assert entry is not None and entry.score == "dot" and "precision@7" in entry.figures
    assert found.protocols["link_prediction"]["held out"] == 0.1


def test_the_same_seed_gives_the_same_table() -> None:
    one, two = (compare(quick(), GRAPH, "link_prediction", seed=7, progress=False) for _ in range(2))
    strip = [[(x.method, dict(x.figures)) for x in found.entries] for found in (one, two)]
    assert repr(strip[0]) == repr(strip[1])


def test_hypergraphs() -> None:
    found = compare([nf.DHNE(dim=4, epochs=2), "sdne"], tags(), "hyperedges", progress=False)
    own = found.entry("hyperedges", "DHNE")
    assert own is not None and 0 <= own.figures["AUC"] <= 1
    assert found.entry("hyperedges", "pair co-occurrence").cheap  # type: ignore[union-attr]
    pairs = found.entry("hyperedges", "SDNE")  # of the pairs of nodes that share hyperedges
    assert pairs is not None and 0 <= pairs.figures["AUC"] <= 1 and pairs.score == "mean of the cosines of pairs"


@pytest.mark.parametrize("task", ["link_prediction", "classification", "centrality", "roles"])
def test_headlines_are_figures_that_the_task_has(task: str) -> None:
    found = compare(quick(), GRAPH, task, classes=BLOCKS, progress=False)
    entry = found.entry(task, "SDNE")
    assert entry is not None and task_named(task).headline_in(entry.figures) == list(task_named(task).headline)


# -------------------------------------------------------------------- rows that say why


def test_what_a_model_cannot_do_is_a_row() -> None:
    models = [nf.Node2Vec(dim=4, epochs=1), nf.DHNE(), nf.DVNE(dim=4, hidden=8, epochs=2)]
    found = compare(models, GRAPH, ["out_of_sample", "calibration"], classes=BLOCKS, progress=False)
    why = {(x.task, x.method): x.why for x in found.entries if x.why}
    assert "no vectors for new nodes" in why["out_of_sample", "Node2Vec"]
    assert "Hypergraph" in why["out_of_sample", "DHNE"] and "Hypergraph" in why["calibration", "DHNE"]
    assert "no std" in why["calibration", "Node2Vec"]
    assert ("calibration", "DVNE") not in why
    text = repr(found)
    assert "DHNE in out of sample, calibration: DHNE reads" in text  # said once
    node2vec = found.entry("out_of_sample", "Node2Vec")
    assert node2vec is not None and node2vec.seconds is not None and node2vec.seconds > 0  # it was fitted


@pytest.mark.parametrize("error", [TrainingError("the loss term x is nan"), MemoryError()])
def test_a_fit_that_fails_does_not_end_the_others(error: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*args: Any, **more: Any) -> None:
        raise error

    monkeypatch.setattr(nf.DRNE, "fit", fail)
    found = compare(["drne", quick()], GRAPH, "reconstruction", progress=False)
    entry = found.entry("reconstruction", "DRNE")
    assert entry is not None and entry.why == (str(error) or "there is not enough memory") and not entry.figures
    assert found.entry("reconstruction", "SDNE").figures  # type: ignore[union-attr]


def test_nobody_but_the_baselines() -> None:
    found = compare("dhne", GRAPH, "link_prediction", progress=False)
    assert found.best("link_prediction", "AUC").cheap
    assert repr(found).endswith("a cheap baseline wins")


def test_an_error_that_is_none_of_ours_is_not_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*args: Any, **more: Any) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(nf.SDNE, "fit", fail)
    with pytest.raises(ZeroDivisionError):
        compare("sdne", GRAPH, "reconstruction", progress=False)


# -------------------------------------------------------------------- models given


def test_models_given_are_not_touched() -> None:
    model = quick()
    compare(model, GRAPH, "reconstruction", progress=False)
    assert not hasattr(model, "embedding_") and model.get_params() == quick().get_params()


def test_a_model_that_extends_vectors_is_given_some() -> None:
    models = [nf.MODELS["depthlgp"](epochs=1), "sdne"]
    made = contenders(models, seed=0)
    assert made[0].name == "DepthLGP over Node2Vec" and made[0].width == nf.Node2Vec().dim
    found = compare(models[:1], GRAPH, "out_of_sample", classes=BLOCKS, progress=False)
    entry = found.entry("out_of_sample", "DepthLGP over Node2Vec")
    assert entry is not None and not entry.why and {"micro-F1", "AUC"} <= set(entry.figures)
    assert found.entry("out_of_sample", "LocalAvg of DepthLGP over Node2Vec") is not None


def test_names_take_the_seed_and_instances_keep_theirs() -> None:
    made = contenders(["sdne", nf.DRNE(seed=4)], seed=9)
    assert [x.model.seed for x in made] == [9, 4]


@pytest.mark.parametrize(
    ("models", "words"),
    [
        ([], "no model to compare"),
        (["sdn"], "did you mean sdne"),
        ([nf.SDNE], "SDNE is neither the name"),
        (7, "models is an int"),
        ([nf.SDNE(), "sdne"], "given twice"),
    ],
)
def test_what_is_no_model(models: Any, words: str) -> None:
    with pytest.raises(InputError, match=words):
        compare(models, GRAPH, progress=False)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"tasks": "links"}, "no task 'links'"),
        ({"tasks": []}, "no task ''"),
        ({"tasks": 3}, "tasks is an int"),
        ({"tasks": "classification"}, "needs the classes"),
        ({"tasks": {"link_prediction": {"hiden": 1}}}, "no argument 'hiden'"),
        ({"tasks": {"link_prediction": {"score": "sum"}}}, "score='sum'"),
        ({"tasks": "hyperedges"}, "is for a Hypergraph"),
        ({"tasks": "roles", "classes": {0: "a"}}, "at least 2"),
        ({"graph": "edges.csv"}, "no such file"),
    ],
)
def test_bad_questions_are_refused_before_any_fit(
    options: dict[str, Any], words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(nf.SDNE, "fit", lambda *a, **k: pytest.fail("a model was fitted"))
    with pytest.raises(InputError, match=words):
        compare("sdne", **{"graph": GRAPH, "progress": False} | options)


def test_a_hypergraph_is_no_graph() -> None:
    with pytest.raises(InputError, match="link_prediction is for a Graph"):
        compare("dhne", tags(), "link_prediction", progress=False)


def test_scores_that_models_are_meant_for() -> None:
    assert own_score(quick().fit(GRAPH, progress=False)) == "decoder"
    assert own_score(nf.DVNE(dim=3, hidden=4, epochs=1).fit(GRAPH, progress=False)) == "w2"
    assert own_score(nf.DRNE(dim=3, epochs=1).fit(GRAPH, progress=False)) == "cosine"


# -------------------------------------------------------------------- the command


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    u, v = GRAPH.adjacency.tocoo().coords
    Path("edges.csv").write_text("".join(f"{a},{b}\n" for a, b in zip(u.tolist(), v.tolist()) if a < b))
    Path("labels.csv").write_text("".join(f"{node},block {x}\n" for node, x in BLOCKS.items()))
    Path("triples.csv").write_text("user,film,tag\n" + "".join(f"u{i % 7},f{i % 5},t{i % 3}\n" for i in range(40)))


@pytest.mark.usefixtures("files")
def test_the_command_prints_the_table() -> None:
    args = ["compare", "edges.csv", "sdne", "dhne", "--task", "classification", "--classes", "labels.csv"]
    result = netfold(*args, "--dim", 4, "--epochs", 2, "--seed", 3)
    assert result.exit_code == 0, result.output
    assert "SDNE" in result.stdout and "spectral (cheap)" in result.stdout and "DHNE in classification" in result.stdout
    assert "compare: SDNE in classification (1 of 2)" in result.stderr
    facts = json.loads(netfold(*args, "--dim", 4, "--epochs", 2, "--seed", 3, "--json", "-q").stdout)
    models = [nf.SDNE(dim=4, epochs=2, seed=3)]
    expected = compare(models, nf.read_edges("edges.csv"), "classification", classes=BLOCKS, seed=3, progress=False)
    assert facts["entries"][0]["figures"] == expected.to_dict()["entries"][0]["figures"]


@pytest.mark.usefixtures("files")
def test_the_command_reads_hyperedges() -> None:
    args = ["compare", "triples.csv", "dhne", "--hyperedges", "--dim", 4, "--epochs", 1, "-q"]
    assert "pair co-occurrence (cheap)" in netfold(*args).stdout


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["edges.csv"], "missing argument"),
        (["edges.csv", "sdn"], "did you mean sdne"),
        (["edges.csv", "sdne", "--task", "links"], "no task 'links'; did you mean 'link'"),
        (["edges.csv", "sdne", "--task", "roles"], "--classes FILE"),
        (["nowhere.csv", "sdne"], "no such file"),
        (["edges.csv", "sdne", "--skip-loops"], "--skip-loops has no meaning"),
        (["triples.csv", "dhne", "--hyperedges", "--directed"], "--directed has no meaning"),
    ],
)
def test_what_the_command_refuses(args: list[str], words: str) -> None:
    result = netfold("compare", *args)
    assert result.exit_code == 2 and result.stdout == ""
    assert words in result.stderr and len(sentences(result.stderr).strip().splitlines()) == 1


@pytest.mark.usefixtures("files")
def test_ctrl_c(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*args: Any, **more: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(nf.SDNE, "fit", interrupted)
    result = netfold("compare", "edges.csv", "sdne", "-q")
    assert result.exit_code == 130 and result.stdout == "" and result.stderr.strip() == "netfold: interrupted"
