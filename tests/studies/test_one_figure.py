"""One model on one split has one figure by default, whichever command is asked: all models, all tasks."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import netfold as nf
from command import told
from netfold.errors import InputError
from netfold.evaluate.case import case
from netfold.evaluate.task import TASKS, Task
from netfold.models import MODELS
from netfold.show.report.tables import class_tasks, graph_tasks, tuple_tasks
from netfold.studies import compare as comparing
from netfold.studies.compare import compare, fit_choosing_score, fit_with_base
from netfold.studies.reproduce import Row, Run, Table, run
from netfold.studies.reproduce.table import Asked, Data
from zoo_hypergraphs import tags

SEED = 3
GRAPH, BLOCKS = nf.datasets.stochastic_block_model((12, 12), 0.6, 0.1, seed=1)
TUPLES = tags()
TYPES = {node: TUPLES.node_types[i] for i, node in enumerate(TUPLES.nodes)}
SMALL: dict[str, dict[str, Any]] = {
    "replay": {"days": 3, "every": 2},
    "visualization": {"perplexity": 5},
    "noise-robustness": {"fractions": [0.5]},
    "centrality": {"repeats": 2},
}
"""Arguments that save time, given to all."""
REPORTED = ("reconstruction", "regular-equivalence", "uncertainty", "classification", "clustering")
"""What a report measures: it is of models that were fitted to all that there is, and must be quick."""


SECONDS = "CPU-s"
"""A figure that no two runs share."""


def data_of(task: Task, name: str) -> tuple[Any, Mapping[Any, Any]]:
    if MODELS[name].reads == "hypergraph":
        return TUPLES, TYPES
    words = {node: {"word": [f"w{block}", f"v{node % 5}"]} for node, block in BLOCKS.items()}
    return (GRAPH.with_attributes(words) if task.needs_attributes else GRAPH), BLOCKS


def options(name: str) -> dict[str, Any]:
    trained = {"epochs": 2} if "epochs" in MODELS[name]().get_params() else {}
    return {"dim": 4, "seed": SEED} | trained


def pairs(*tasks: str) -> list[tuple[Task, str]]:
    some = [TASKS[name] for name in tasks or TASKS]
    return [(task, name) for task in some for name, cls in MODELS.items() if cls.reads in task.reads]


def same(one: Mapping[str, float], other: Mapping[str, float]) -> bool:
    """Equal in all figures that both have, but for seconds."""
    both = (one.keys() & other.keys()) - {SECONDS}
    return all(one[x] == other[x] or (math.isnan(one[x]) and math.isnan(other[x])) for x in both)


@cache
def evaluated(task: Task, name: str) -> tuple[Any, dict[str, float] | str]:
    """A fitted model, and what the function of `nf.evaluate` gives for it on the default split; or why it does not."""
    graph, classes = data_of(task, name)
    model = MODELS[name](**options(name))
    split, given = split_of(task, graph), dict(SMALL.get(task.name, {}))
    data = graph if split is None else getattr(split, "train", None) or split.known
    measure = nf.evaluate.held_out_hyperedges if task.name == "hyperedges" else task.measure
    if task.name != "uncertainty":
        given |= {"seed": SEED, "baselines": False}
    if task.split == "nodes":
        given["classes"] = classes
    fitted = fit_for(task, model, data)
    try:
        if task.refits:
            result = measure(
                lambda g: fitted if g.fingerprint == data.fingerprint else again(fitted, g), graph, **given
            )
        else:
            result = measure(fitted, classes if task.needs_classes else graph if split is None else split, **given)
    except InputError as e:
        return fitted, str(e)
    return fitted, dict(result.figures)


def fit_for(task: Task, model: Any, graph: Any) -> Any:
    """As every command fits a model for a task: for links, with the score of pairs that suits it and the data."""
    return (fit_choosing_score if task.name == "link-prediction" else fit_with_base)(model, graph)


def again(model: Any, graph: Any) -> Any:
    if model.graph_facts_["fingerprint"] == graph.fingerprint:
        return model
    if model.extends:
        raise InputError("there are no vectors of the graph with noise")
    return type(model)(**model.get_params()).fit(graph, progress=False)


def split_of(task: Task, graph: Any) -> Any:
    makers = {
        "edges": nf.evaluate.split_edges,
        "nodes": nf.evaluate.split_nodes,
        "hyperedges": nf.evaluate.split_hyperedges,
    }
    return makers[task.split](graph, seed=SEED) if task.split else None


@pytest.mark.parametrize("task, name", pairs(), ids=lambda x: getattr(x, "name", x))
def test_compare_and_reproduce_give_the_figure_of_evaluate(
    task: Task, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(comparing._Question, "baselines", lambda *a: None)  # not what is asked about here
    fitted, expected = evaluated(task, name)
    graph, classes = data_of(task, name)
    given = SMALL.get(task.name, {})
    found = compare(
        MODELS[name](**options(name)), graph, {task.name: given}, classes=classes, seed=SEED, progress=False
    )
    entry = next(x for x in found.entries if not x.cheap)
    asked = case(task.name, graph, lambda: classes, given, SEED)
    assert asked.graph.has_fingerprint(fitted.graph_facts_["fingerprint"])
    if isinstance(expected, str):
        assert entry.why and not entry.figures
        with pytest.raises(InputError):
            asked.evaluate(fitted, baselines=False)
        return
    assert not entry.why and task.headline[0] in expected
    assert same(expected, entry.figures) and expected.keys() == entry.figures.keys()
    ours = asked.evaluate(fitted, baselines=False).figures
    assert same(expected, ours) and expected.keys() == ours.keys()


@pytest.mark.parametrize(
    "task, name", [x for x in pairs() if x[0].name in REPORTED], ids=lambda x: getattr(x, "name", x)
)
def test_a_report_gives_the_figure_of_evaluate(task: Task, name: str) -> None:
    graph, classes = data_of(task, name)
    of_data = tuple_tasks(graph) if isinstance(graph, nf.Hypergraph) else graph_tasks(graph)
    tasks = of_data | class_tasks(classes, None if isinstance(graph, nf.Hypergraph) else graph)
    model, expected = evaluated(task, name)
    if isinstance(expected, str):
        with pytest.raises(InputError):
            tasks[task.words](model, False)
        return
    found = nf_figures(task, model, expected, graph, classes)
    ours = tasks[task.words](model, False).figures
    assert task.headline[0] in ours and same(found, ours)


def nf_figures(task: Task, model: Any, expected: dict[str, float], graph: Any, classes: Any) -> dict[str, float]:
    """With the report's seed, which is 0, where the task draws anything."""
    if task.name == "uncertainty":
        return expected
    data, beside = (classes, {"graph": None}) if task.needs_classes else (graph, {})
    return dict(task.measure(model, data, baselines=False, **beside).figures)


@pytest.mark.parametrize("task", TASKS.values(), ids=lambda task: task.name)
def test_the_command_prints_the_figure_of_evaluate(task: Task, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    name = {"uncertainty": "dvne", "calibration": "dvne", "hyperedges": "dhne"}.get(task.name, "sdne")
    graph, classes = data_of(task, name)
    files(graph, classes)
    args = ["evaluate", task.name, name, "edges.csv", "--dim", 4, "--epochs", 2, "--seed", SEED, "-q"]
    args += ["--classes", "classes.csv"] if task.takes_classes else []
    if task.needs_attributes:
        Path("words.csv").write_text("node,word\n" + words_of(graph))
        args += ["--attributes", "words.csv"]
    args += [x for key, value in SMALL.get(task.name, {}).items() for x in (f"--{key}", spelled(value))]
    said = told(*args)
    found = said["results"]["replaced"] if task.name == "hyperedges" else said
    read: Any = nf.read_hyperedges("edges.csv") if name == "dhne" else nf.read_edges("edges.csv")
    read = read.with_attributes("words.csv") if task.needs_attributes else read
    expected = case(task.name, read, lambda: classes, SMALL.get(task.name, {}), SEED)
    model = fit_for(task, MODELS[name](**options(name)), expected.graph)
    figures = expected.evaluate(model, baselines=False).figures
    assert {x: v for x, v in found["figures"].items() if v is not None and x != SECONDS} == {
        x: v for x, v in figures.items() if not math.isnan(v) and x != SECONDS
    }


def words_of(graph: nf.Graph) -> str:
    assert graph.attributes is not None
    rows, columns = graph.attributes["word"].values.tocoo().coords
    names = graph.attributes["word"].categories
    return "".join(f"{graph.nodes[i]},{names[j]}\n" for i, j in zip(rows.tolist(), columns.tolist(), strict=True))


def spelled(value: Any) -> str:
    return ",".join(map(str, value)) if isinstance(value, list) else str(value)


def files(graph: Any, classes: Mapping[Any, Any]) -> None:
    if isinstance(graph, nf.Hypergraph):
        lines = ["user,film,tag", *(f"u{i % 7},f{i % 5},t{i % 3}" for i in range(40))]
        Path("edges.csv").write_text("\n".join(lines) + "\n")
        return
    u, v = graph.adjacency.tocoo().coords
    Path("edges.csv").write_text("".join(f"{a},{b}\n" for a, b in zip(u.tolist(), v.tolist()) if a < b))
    Path("classes.csv").write_text("".join(f"{node},{x}\n" for node, x in classes.items()))


def test_a_table_records_the_figure_of_evaluate(tmp_path: Path) -> None:
    """The whole way of `netfold reproduce`, once."""
    path = tmp_path / "t.toml"
    row = Row("SDNE", "sdne", {"dim": 4, "epochs": 2})
    of = Table(path, "t", "p", "s", Data("karate"), Asked("link_prediction"), ("AUC", "MAP"), {}, (row,))
    found = run(of, Run(seeds=(SEED,), device="cpu")).rows["SDNE"].mean
    graph = nf.datasets.load("karate")
    split = nf.evaluate.split_edges(graph, seed=SEED)
    model = nf.SDNE(dim=4, epochs=2, seed=SEED, device="cpu").fit(split.train, progress=False)
    expected = nf.evaluate.link_prediction(model, split, seed=SEED, baselines=False).figures
    assert found["AUC"] == pytest.approx(expected["AUC"], rel=1e-5)
    assert found["MAP"] == pytest.approx(expected["MAP"], rel=1e-5)
    assert dataclasses.replace(of, task=Asked("link-prediction")).settings(row) != of.settings(row)  # as it is spelled
