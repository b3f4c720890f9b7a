"""What a report tells of a model and its data in facts, and in tables that are what `evaluate` says."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import netfold as nf
from netfold import evaluate
from netfold.data.embedding import Embedding
from netfold.embedder.trials import Trial, Trials
from netfold.show.report.sheets import cost, data_facts, losses, parameters
from netfold.show.report.tables import class_tasks, graph_tasks, task_table, trial_tables, tuple_tasks
from report_pages import hypergraph, points, rng
from zoo import karate, scattered

# -------------------------------------------------------------------- facts


def test_parameters_say_what_was_changed(sdne: nf.SDNE) -> None:
    rows = {row["name"]: row for row in parameters(sdne)}
    assert rows["dim"]["value"] == "4" and rows["dim"]["changed"] and not rows["seed"]["changed"]
    assert rows["hidden"]["value"] == "6" and len(rows["alpha"]["help"]) > 10
    assert parameters(points()) == []


def test_losses_are_thinned_evenly() -> None:
    model = nf.SDNE()
    model.history_ = [
        {"epoch": i + 1, "a": float(i), "b": 1.0, "objective": i + 1.0, "seconds": 0.1} for i in range(1000)
    ]
    found = losses(model)
    assert len(found["epochs"]) == 400 and found["epochs"][0] == 1 and found["epochs"][-1] == 1000
    assert list(found["terms"]) == ["objective", "b", "a"]
    assert found["terms"]["a"] == [e - 1 for e in found["epochs"]]
    assert max(np.diff(found["epochs"])) <= 3
    assert losses(points()) == {"epochs": [], "terms": {}}
    model.history_[0]["a"] = float("nan")
    assert losses(model)["terms"]["a"][0] is None  # json has no such number
    assert dict(cost(model_with_network(model), points()))["training"] == "1 min 40 s"


def model_with_network(model: Any) -> Any:
    import torch

    model.network_ = torch.nn.Linear(3, 2)
    return model


def test_cost_counts_numbers_and_bytes(sdne: nf.SDNE) -> None:
    found = dict(cost(sdne, sdne.embedding_))
    count = sum(x.numel() for x in sdne.network_.state_dict().values())
    assert found["numbers in the network"] == f"{count:,}" and found["memory of the vectors"] == "544 bytes"
    assert found["epochs"] == "5"
    assert dict(cost(points(), points())) == {"memory of the vectors": "600 bytes"}


def test_facts_of_data() -> None:
    found = dict(data_facts(scattered()))
    assert found["nodes without an edge"] == "2" and found["nodes"] == str(scattered().n_nodes)
    typed = dict(data_facts(hypergraph()))
    assert typed["types"] == "user 6, film 5" and typed["hyperedges"] == "15"


# -------------------------------------------------------------------- tables


def test_a_table_is_what_evaluate_says(sdne: nf.SDNE) -> None:
    graph = karate()
    made = task_table("reconstruction", graph_tasks(graph)["reconstruction"], {"SDNE": sdne, "points": sdne.embedding_})
    expected = evaluate.reconstruction(sdne, graph, k=[100], nodes=34, per_positive=1)
    assert made["figures"] == list(expected.figures)
    rows = {row["name"]: row for row in made["rows"]}
    assert rows["SDNE"]["values"] == rows["points"]["values"] == list(expected.figures.values())
    assert rows["spectral"]["values"] == list(expected.baselines["spectral"].values())
    assert [row["of"] for row in made["rows"][:3]] == ["model", "model", "baseline"]
    assert "score cosine" in made["protocol"]


def test_what_cannot_be_measured_says_why(sdne: nf.SDNE) -> None:
    other = Embedding(range(5), np.eye(5))
    made = task_table("reconstruction", graph_tasks(karate())["reconstruction"], {"other": other, "SDNE": sdne})
    assert made["rows"][0]["name"] == "SDNE" and made["rows"][1]["of"] == "baseline"
    assert made["notes"][0].startswith("other: no node is called")
    none = task_table("x", graph_tasks(karate())["reconstruction"], {"other": other})
    assert none["rows"] == [] and len(none["notes"]) == 1


def test_tasks_of_labels_take_several_classes() -> None:
    embedding = points(20)
    one = {f"node {i}": i % 2 for i in range(20)}
    several = {f"node {i}": (i % 2, 2) for i in range(20)}
    assert list(class_tasks(one, None)) == ["classification", "clustering"]
    assert list(class_tasks(several, None)) == ["classification"]
    made = task_table("classes", class_tasks(one, None)["classification"], {"points": embedding})
    assert made["figures"] == ["micro-F1@10%", "macro-F1@10%", "micro-F1@50%", "macro-F1@50%"]
    assert made["rows"][-1]["name"] == "most frequent classes" and made["rows"][0]["spread"][0] is not None


def test_large_data_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    from netfold.show.report import tables

    monkeypatch.setattr(tables, "_NODES", 10)
    assert graph_tasks(karate()) == {} and tuple_tasks(hypergraph()) == {}
    monkeypatch.setattr(tables, "_NODES", 100)
    monkeypatch.setattr(tables, "_WHOLE", 20)
    monkeypatch.setattr(tables, "_SOME", 8)
    monkeypatch.setattr(tables, "_COMPARED", 20)
    monkeypatch.setattr(tables, "_TUPLES", 4)
    monkeypatch.setattr(tables, "_CLASSIFIED", 12)
    tasks = graph_tasks(karate())
    assert "regular equivalence" not in tasks
    made = tasks["reconstruction"](Embedding(range(34), rng().normal(size=(34, 3))), True)
    assert made.protocol["nodes"] == 8 and not made.baselines
    known = hypergraph()
    vectors = Embedding(known.nodes, rng().normal(size=(known.n_nodes, 3)))
    assert tuple_tasks(known)["reconstruction of hyperedges"](vectors, True).protocol["positives"] == 4
    told = class_tasks({i: i % 2 for i in range(34)}, None)["classification"](Embedding(range(34), np.eye(34)), False)
    assert told.protocol["nodes with a class"] == 12


# -------------------------------------------------------------------- what was tried


def test_what_was_tried_has_a_table_with_those_that_were_not(sdne: nf.SDNE, tmp_path: Path) -> None:
    rows = (
        Trial("SDNE()", 7, 34, 1, 0.9, 0.01, 1.5, 3 << 20, "dot"),
        Trial("Spectral()", None, 34, 3, 0.8, None, 0.1, 1 << 20),
        Trial("LINE()", why="about 9 s a fit estimated, 1 s left"),
        Trial("DVNE()", why="about 9 s a fit estimated, 1 s left"),
    )
    sheet = nf.report.Sheet("best", sdne, karate())
    assert trial_tables([sheet]) == []
    sdne.trials_ = Trials("link-prediction", "AUC", "10 s", rows, "SDNE()", "the best", 0.88, 0.02, "20 edges")
    try:
        (table,) = trial_tables([sheet])
        nf.report.write([sheet], tmp_path / "r.html", evaluate=False)
    finally:
        del sdne.trials_
    assert table["title"] == "tried for link-prediction · best" and table["figures"] == ["AUC", "CPU-s", "MiB"]
    assert [row["name"] for row in table["rows"]] == ["SDNE(), 7 epochs", "Spectral()"]
    assert table["rows"][0]["values"] == [0.9, 1.5, 3.0] and table["rows"][0]["spread"] == [0.01, None, None]
    assert table["notes"] == [
        "chosen: SDNE(): the best", "AUC 0.8800 ± 0.0200 on 20 edges",
        "LINE(), DVNE(): about 9 s a fit estimated, 1 s left",
    ]  # fmt: skip
    assert "tried for link-prediction" in (tmp_path / "r.html").read_text(encoding="utf-8")
