"""From a task's name to what a model is fitted to and how it is then evaluated: one line for each task."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from functools import partial
from typing import TYPE_CHECKING, Any

from netfold.errors import InputError

if TYPE_CHECKING:
    from netfold.evaluate import EdgeSplit, Result
    from netfold.graph import Graph

__all__ = ["TASKS", "Case", "arguments_of", "case", "case_of_split"]

Labelled = Callable[[], Mapping[Any, Any]]
"""Gives the classes of nodes when they are needed; an `InputError` where there are none."""


@dataclass(frozen=True)
class Case:
    """The graph that a model is to be fitted to, and what then evaluates it: (model, baselines=) -> Result."""

    graph: Graph
    evaluate: Callable[..., Result]


def _of_graph(function: Any, graph: Graph, labels: Labelled, given: dict[str, Any], seed: int) -> Case:
    return Case(graph, partial(_evaluated, function, graph, seed=seed, **given))


def _of_labels(function: Any, graph: Graph, labels: Labelled, given: dict[str, Any], seed: int) -> Case:
    return Case(graph, partial(_evaluated, function, labels(), graph=graph, seed=seed, **given))


def _of_split(function: Any, graph: Graph, labels: Labelled, given: dict[str, Any], seed: int) -> Case:
    from netfold.evaluate import split_edges

    of_split = {name: given.pop(name) for name in _SPLITTING if name in given}
    return case_of_split(split_edges(graph, **of_split, seed=seed), given, seed)


def case_of_split(split: EdgeSplit, arguments: Mapping[str, Any], seed: int) -> Case:
    """Link prediction where the edges are hidden already."""
    from netfold.evaluate import link_prediction

    return Case(split.train, partial(_evaluated, link_prediction, split, seed=seed, **arguments))


def _evaluated(function: Any, data: Any, model: Any, baselines: bool, **given: Any) -> Result:
    made: Result = function(model, data, **given, baselines=baselines)
    return made


_SPLITTING = ("hidden", "keep")

TASKS: dict[str, Callable[..., Case]] = {
    "reconstruction": _of_graph,
    "centrality": _of_graph,
    "regular_equivalence": _of_graph,
    "classification": _of_labels,
    "clustering": _of_labels,
    "roles": _of_labels,
    "visualization": _of_labels,
    "link_prediction": _of_split,
}
"""The functions of `nf.evaluate` that a table may name, each by what it is given beside the model."""


def case(task: str, graph: Graph, labels: Labelled, arguments: Mapping[str, Any], seed: int) -> Case:
    """What a task asks of a graph: what to fit a model to, and how to evaluate it."""
    from netfold import evaluate

    _check_arguments(task, arguments)
    return TASKS[task](getattr(evaluate, task), graph, labels, dict(arguments), seed)


def arguments_of(task: str) -> list[str]:
    """The arguments that fix a task's protocol.

    >>> "score" in arguments_of("reconstruction")
    True
    """
    from netfold import evaluate

    own = _keywords(getattr(evaluate, task))
    splitting = list(_SPLITTING) if TASKS[task] is _of_split else []
    return splitting + [name for name in own if name not in ("seed", "baselines", "graph")]


def _keywords(function: Any) -> list[str]:
    parameters = inspect.signature(function).parameters.values()
    return [p.name for p in parameters if p.kind is p.KEYWORD_ONLY]


def _check_arguments(task: str, arguments: Mapping[str, Any]) -> None:
    if task not in TASKS:
        near = get_close_matches(task, TASKS, n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"there is {', '.join(TASKS)}"
        raise InputError(f"there is no task {task!r} to run; {hint}")
    known = arguments_of(task)
    unknown = [name for name in arguments if name not in known]
    if unknown:
        raise InputError(f"{task} has no argument {unknown[0]!r}; it has {', '.join(known)}")
