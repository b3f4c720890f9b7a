"""`netfold auto`: a model in a folder, its table wherever it is asked for, and one sentence where it cannot be."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import netfold as nf
from command import netfold, refuse, succeed, told
from zoo import karate

BUDGET = ["--budget", "3 trials", "--quiet"]


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    graph = karate()
    Path("edges.csv").write_text("".join(f"{a},{b}\n" for a, b in graph.to_networkx().edges))
    Path("classes.csv").write_text(
        "".join(f"{node},{'left' if i < 17 else 'right'}\n" for i, node in enumerate(graph.nodes))
    )
    Path("one.csv").write_text("".join(f"{node},left\n" for node in graph.nodes))
    Path("others.csv").write_text("nobody,left\nnoone,right\n")
    Path("few.csv").write_text("0,left\n1,right\n2,left\n")
    Path("triples.csv").write_text("user,film,tag\n" + "".join(f"u{i % 7},f{i % 5},t{i % 3}\n" for i in range(60)))
    rng = np.random.default_rng(0)
    pairs = [(i, j) for i in range(20) for j in range(15) if rng.random() < 0.3]
    Path("sales.csv").write_text("user,item\n" + "".join(f"u{i},i{j}\n" for i, j in pairs))


@pytest.mark.usefixtures("files")
def test_a_model_is_chosen_saved_and_keeps_its_table() -> None:
    args = ["auto", "edges.csv", "--task", "classify", "--classes", "classes.csv", *BUDGET, "-o", "best.netfold"]
    result = succeed(*args)
    assert "chosen: " in result.stdout and "micro-F1 " in result.stdout and result.stdout.endswith("best.netfold\n")
    model = nf.load("best.netfold")
    assert len(model.embedding_) == 34 and model.trials_.task == "classification"
    shown = succeed("info", "best.netfold").stdout
    assert "raced for classification within 3 trials:" in shown and repr(model.trials_) in shown
    assert told("info", "best.netfold")["trials"] == model.trials_.to_dict()
    assert "best.netfold exists" in refuse(*args)
    facts = told(*args, "--force")
    assert facts["trials"]["chosen"] == model.trials_.chosen and facts["path"] == "best.netfold"


@pytest.mark.usefixtures("files")
def test_progress_is_a_table_that_grows() -> None:
    result = succeed("auto", "edges.csv", "--task", "link", "--budget", "2 trials", "-o", "best.netfold")
    lines = result.stderr.splitlines()
    assert any(line.startswith("candidate ") and "AUC" in line and "CPU-s" in line for line in lines)
    assert any("±" in line for line in lines) and "chosen: " in result.stdout
    assert nf.load("best.netfold").pair_score_ in result.stderr
    assert (result.stdout + result.stderr).count("chosen: ") == 1, "a terminal shows both"


@pytest.mark.usefixtures("files")
def test_hyperedges_and_bipartite_graphs() -> None:
    succeed("auto", "triples.csv", "--budget", "1 trial", "-q", "-o", "tuples.netfold")
    assert nf.load("tuples.netfold").trials_.task == "hyperedges"
    succeed("auto", "sales.csv", "--task", "link-prediction", "--budget", "1 trial", "-q", "-o", "sales.netfold")
    assert nf.load("sales.netfold").trials_.task == "link-prediction"


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["edges.csv", "--task", "classify"], "needs the classes of nodes"),
        (["edges.csv", "--task", "classify", "--classes", "one.csv"], "at least 2 nodes and 2 classes"),
        (["edges.csv", "--task", "classify", "--classes", "others.csv"], "nobody"),
        (["edges.csv", "--task", "classify", "--classes", "few.csv"], "3 nodes have a class"),
        (["edges.csv", "--task", "clasify"], "did you mean 'classify'"),
        (["edges.csv", "--task", "tuples"], "asked of a hypergraph, and this is a graph"),
        (["triples.csv", "--task", "link"], "this is a hypergraph; for its hyperedges there is the task tuples"),
        (["edges.csv", "--budget", "soon"], "budget='soon' is not one"),
        (["edges.csv", "--memory", "much"], "--memory': 'much' is not a size in bytes"),
        (["nowhere.csv"], "no such file"),
    ],
)
def test_what_it_refuses(args: list[str], words: str) -> None:
    assert words in refuse("auto", *args, "-o", "best.netfold")


@pytest.mark.usefixtures("files")
def test_ctrl_c_before_there_is_a_model(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*args: Any, **more: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("netfold.studies.auto.raced", interrupted)
    said = refuse("auto", "edges.csv", "-o", "best.netfold", code=130)
    assert said == "netfold: interrupted before there was a model; best.netfold was not written\n"


@pytest.mark.usefixtures("files")
def test_short_names_of_tasks_are_understood_by_every_command() -> None:
    for args in (
        ["compare", "edges.csv", "node2vec", "--task", "near", "--epochs", 0, "--dim", 4, "-q"],
        ["evaluate", "near", "node2vec", "edges.csv", "--epochs", 0, "--dim", 4, "-q"],
        ["choose", "edges.csv", "--task", "link-prediction", "--no-probe"],
        ["choose", "edges.csv", "--task", "new-nodes", "--no-probe"],
        ["evaluate", "cluster", "node2vec", "edges.csv", "--classes", "classes.csv", "--epochs", 0, "--dim", 4, "-q"],
        ["evaluate", "tuples", "dhne", "triples.csv", "--epochs", 0, "--dim", 4, "-q"],
    ):
        result = netfold(*args)
        assert result.exit_code == 0, f"{args}: {result.output}"


@pytest.mark.usefixtures("files")
def test_a_fit_can_choose_the_score_of_pairs() -> None:
    args = ["fit", "sdne", "edges.csv", "--dim", 4, "--epochs", 3, "-q", "--choose-score"]
    facts = told(*args, "-o", "sdne.netfold")
    model = nf.load("sdne.netfold")
    assert facts["pair_score"] == model.pair_score_
    assert model.pair_score_ == nf.evaluate.choose_pair_score(
        lambda graph: nf.SDNE(dim=4, epochs=3).fit(graph, progress=False), nf.read_edges("edges.csv")
    )
    assert f"pairs scored by  {model.pair_score_}" in succeed("info", "sdne.netfold").stdout
    plain = told(*args[:-1], "-o", "plain.netfold")
    assert "pair_score" not in plain and not hasattr(nf.load("plain.netfold"), "pair_score_")
    Path("two.csv").write_text("a,b\nb,c\n")
    assert "holds out a tenth of the links" in refuse("fit", "sdne", "two.csv", "-o", "x", "--choose-score", "-q")


@pytest.mark.usefixtures("files")
def test_nearest_goes_by_the_score_that_was_chosen() -> None:
    model = nf.SDNE(dim=4, epochs=2).fit(nf.read_edges("edges.csv"), progress=False)
    for score, metric in (("dot", "dot"), ("distance", "euclidean"), ("decoder", "cosine")):
        model.pair_score_ = score
        model.save("m.netfold", force=True)
        assert told("nearest", "m.netfold", 0)["metric"] == metric
    assert told("nearest", "m.netfold", 0, "--metric", "dot")["metric"] == "dot"
