"""The table of tasks: plain data that names what there is, and the same list wherever tasks are named."""

from __future__ import annotations

import inspect
import subprocess
import sys

import click
import pytest

import netfold as nf
from netfold.cli import main
from netfold.errors import InputError
from netfold.evaluate.case import case
from netfold.evaluate.scores import chosen_score
from netfold.evaluate.task import SCORES, TASKS, Task, task_named
from netfold.studies.choose import PURPOSES
from netfold.studies.choose.rules import RULES
from netfold.studies.reproduce import folder_of_tables, read_tables

NO_PROTOCOL = {"seed", "baselines", "graph", "known", "base", "rerun"}
"""Arguments of functions that say what is measured, not how."""
OF_DATA = {"held_out", "keep", "test", "kept", "until", "new", "by", "max_degree", "classes"}


def choices(command: str, flag: str) -> list[str]:
    found = main.get_command(click.Context(main), command)
    assert found is not None
    kind = next(p.type for p in found.params if flag in p.opts)
    assert isinstance(kind, click.Choice)
    return list(kind.choices)


# -------------------------------------------------------------------- one list


def test_every_command_has_all_tasks() -> None:
    group = main.get_command(click.Context(main), "evaluate")
    assert isinstance(group, click.Group)
    assert set(group.list_commands(click.Context(group))) == set(TASKS) == set(nf.evaluate.TASKS)
    assert choices("compare", "--task") == list(TASKS)
    assert {task.short for task in TASKS.values() if task.purpose} == set(PURPOSES) == {rule.task for rule in RULES}
    assert set(choices("choose", "--task")) == {*PURPOSES, "tuples", "cluster"} - {"near"}


def test_every_recorded_table_names_a_task() -> None:
    for table in read_tables(folder_of_tables()):
        assert task_named(table.task.name).function == table.task.name


def test_the_table_is_read_without_anything_heavy() -> None:
    code = "from netfold.evaluate import TASKS; import sys; print([m for m in sys.modules if m in sys.argv])"
    heavy = ["numpy", "scipy", "torch", "sklearn"]
    made = subprocess.run([sys.executable, "-c", code, *heavy], capture_output=True, text=True, check=True)
    assert made.stdout.strip() == "[]"


def test_names_of_the_package_are_functions_whatever_was_imported_before() -> None:

    assert all(callable(getattr(nf.evaluate, name)) for name in nf.evaluate.__all__ if name not in ("TASKS",))
    assert set(nf.evaluate.__all__) == set(dir(nf.evaluate))
    with pytest.raises(AttributeError, match="has no 'nothing'"):
        nf.evaluate.nothing  # noqa: B018


# -------------------------------------------------------------------- what a task says of itself


@pytest.mark.parametrize("task", TASKS.values(), ids=lambda task: task.name)
def test_arguments_are_those_of_the_function(task: Task) -> None:
    keywords = [p.name for p in inspect.signature(task.measure).parameters.values() if p.kind is p.KEYWORD_ONLY]
    own = set(keywords) - NO_PROTOCOL
    assert own <= set(task.arguments) and set(task.arguments) - own <= OF_DATA
    assert task.score in ("", "gaussian", "tuples", *SCORES) and set(task.smaller) <= set(task.headline)
    assert ("score" in task.arguments) <= bool(task.score)


def test_other_names() -> None:
    names = [name for task in TASKS.values() for name in (task.name, *task.aliases)]
    assert len(names) == len(set(names))
    assert task_named("new_nodes") is task_named("out_of_sample") is TASKS["out-of-sample"]
    with pytest.raises(InputError, match="no task 'linkprediction'; did you mean 'link-prediction'"):
        task_named("linkprediction")
    with pytest.raises(InputError, match="known: link-prediction, reconstruction"):
        task_named("zzz")


def test_what_is_held_out() -> None:
    graph = nf.Graph.from_edges([(i, (i + 1) % 20) for i in range(20)])
    assert case("link", graph, dict, {"held_out": 0.5}, 0).graph.n_edges == 10
    assert case("new-nodes", graph, dict, {"new": 4, "classes": False}, 0).graph.n_nodes == 16
    assert case("near", graph, dict, {}, 0).graph is graph
    with pytest.raises(InputError, match="reconstruction has no argument 'held_out'"):
        case("reconstruction", graph, dict, {"held_out": 0.5}, 0)


def test_hyperedges_are_held_out_as_evaluate_does() -> None:
    graph = nf.Hypergraph.from_tuples([(f"u{i % 7}", f"f{i % 5}", f"t{i % 3}") for i in range(40)])
    split = nf.evaluate.split_hyperedges(graph, seed=3)
    assert case("hyperedges", graph, dict, {}, 3).graph.fingerprint == split.train.fingerprint
    assert case("hyperedges", graph, dict, {"kept": 0.5}, 3).graph.n_edges == 20
    with pytest.raises(InputError, match="kept has no meaning beside it"):
        case("hyperedges", graph, dict, {"held_out": 0.5, "kept": 0.5}, 3)


def test_one_rule_of_scores() -> None:
    points = nf.Embedding("ab", [[1.0], [2.0]])
    gaussians = nf.Embedding("ab", [[1.0], [2.0]], [[1.0], [1.0]])
    for model in (points, gaussians):
        assert chosen_score("link-prediction", model) == chosen_score("reconstruction", model) == "cosine"
        assert chosen_score("regular-equivalence", model) == "dot" and chosen_score("calibration", model) == "w2"
        assert chosen_score("link-prediction", model, "dot") == "dot"
    assert chosen_score("noise-robustness", points) == chosen_score("link-prediction", points, "own") == "cosine"
    assert chosen_score("noise-robustness", gaussians) == chosen_score("link-prediction", gaussians, "own") == "w2"
