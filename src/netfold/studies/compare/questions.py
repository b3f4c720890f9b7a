"""What models are asked: each task with its split, drawn once, and the cheap baselines' answers to it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from netfold.errors import InputError
from netfold.studies.reproduce.tasks import Case, case

if TYPE_CHECKING:
    from netfold.evaluate import Result

__all__ = ["Question", "headline", "questions"]

_NEEDS_LABELS = ("classification", "clustering", "roles", "visualization")
_SCORED = ("link_prediction", "reconstruction")
"""The tasks whose pairs each model scores as it means them."""
_OF_THE_MODEL = ("calibration", "out_of_sample")
"""The tasks whose baselines start from the model's own vectors, so that every model has its own."""
_HEADLINES = {
    "link_prediction": ("AUC", "MAP"),
    "reconstruction": ("MAP",),
    "classification": ("micro-F1@10%", "micro-F1@50%"),
    "clustering": ("NMI",),
    "roles": ("accuracy@10%", "accuracy@80%"),
    "centrality": ("closeness R²", "betweenness R²", "k-core R²"),
    "regular_equivalence": ("Kendall τ",),
    "visualization": ("KL",),
    "hyperedges": ("AUC", "AP"),
    "calibration": ("Brier", "AUC certain"),
    "out_of_sample": ("micro-F1", "AUC"),
}
"""The figures of each task that the one table shows; `to_pandas` has them all."""


@dataclass(frozen=True)
class Question:
    """A task on this graph: what to fit to, and what then measures a model."""

    task: str
    case: Case
    scored: bool
    """Whether each model's pairs are scored as it means them."""

    def ask(self, model: Any, score: str) -> Result:
        """The figures of a fitted model; its own baselines where the task has those."""
        own = {"score": score} if self.scored else {}
        return self.case.evaluate(model, baselines=self.task in _OF_THE_MODEL, **own)

    def baselines(self, dim: int, seed: int) -> Result | None:
        """What costs about a second, under the same protocol, vectors as wide as the widest model's.

        Asked with random vectors in place of a model's, so that baselines do not depend on whether a model can do the
        task, and so that what is wrong with the question is said before anything is fitted.
        """
        if self.task in _OF_THE_MODEL:
            return None
        import numpy as np

        from netfold.data.embedding import Embedding

        nodes = self.case.graph.nodes
        vectors = np.random.default_rng(seed).normal(size=(len(nodes), dim)).astype(np.float32)
        return self.case.evaluate(Embedding(nodes, vectors), baselines=True)


def questions(tasks: Any, graph: Any, labels: Mapping[Any, Any] | None, seed: int) -> list[Question]:
    """The questions that tasks come to on a graph or a hypergraph; splits are drawn here, once for all models."""
    asked = _named(tasks)
    for task in asked:
        if labels is None and task in _NEEDS_LABELS:
            raise InputError(f"{task} needs the classes of nodes; give labels={{node: class}} (--labels FILE)")
    return [_question(task, graph, labels, dict(given), seed) for task, given in asked.items()]


def headline(task: str, figures: Iterable[str]) -> list[str]:
    """The few figures of a task that the table shows, of those that there are; the first, where none of them is.

    >>> headline("link_prediction", ["AUC", "AP", "MAP"]), headline("classification", ["micro-F1@30%"])
    (['AUC', 'MAP'], ['micro-F1@30%'])
    """
    given = list(figures)
    return [x for x in _HEADLINES[task] if x in given] or given[:1]


def _named(tasks: Any) -> dict[str, Mapping[str, Any]]:
    if isinstance(tasks, str):
        tasks = [tasks]
    if not isinstance(tasks, Iterable):
        raise InputError(f"tasks is a {type(tasks).__name__}; give names ({', '.join(_HEADLINES)})")
    given = tasks.items() if isinstance(tasks, Mapping) else [(task, {}) for task in tasks]
    made = {str(task).replace("-", "_"): arguments for task, arguments in given}
    unknown = next((task for task in made if task not in _HEADLINES), None)
    if unknown is not None or not made:
        raise InputError(f"there is no task {unknown or ''!r} to compare models in; there is {', '.join(_HEADLINES)}")
    return made


def _question(task: str, graph: Any, labels: Mapping[Any, Any] | None, given: dict[str, Any], seed: int) -> Question:
    scored = task in _SCORED and "score" not in given
    if task in _OWN:
        return Question(task, _OWN[task](graph, given, seed), scored)
    if task == "out_of_sample":
        given = {"new": 0.1, "by": "random", "linked": "neighbor", "classes": labels is not None} | given
    return Question(task, case(task, graph, lambda: labels or {}, given, seed), scored)


def _calibration(graph: Any, given: dict[str, Any], seed: int) -> Case:
    from netfold.data.graph import Graph
    from netfold.evaluate import calibration, split_edges

    _check_kind("calibration", graph, Graph)
    of_split = {name: given.pop(name) for name in ("hidden", "by", "keep") if name in given}
    split = split_edges(graph, **of_split, seed=seed)
    return Case(split.train, partial(_swapped, calibration, split, seed=seed, **given))


def _hyperedges(graph: Any, given: dict[str, Any], seed: int) -> Case:
    """A fifth of the hyperedges is hidden; asked about all, `evaluate.hyperedges` drops those that are known."""
    from netfold.data.hypergraph import Hypergraph
    from netfold.evaluate import hyperedges
    from netfold.studies.reproduce.tasks import known_of

    _check_kind("hyperedges", graph, Hypergraph)
    known = known_of(graph, given.pop("kept", 0.8), seed)
    return Case(known, partial(_swapped, hyperedges, graph, known=known, seed=seed, **given))


_OWN: dict[str, Callable[[Any, dict[str, Any], int], Case]] = {"calibration": _calibration, "hyperedges": _hyperedges}
"""Tasks that a table of a paper has otherwise, or not."""


def _swapped(function: Any, data: Any, model: Any, **given: Any) -> Result:
    made: Result = function(model, data, **given)
    return made


def _check_kind(task: str, graph: Any, kind: type) -> None:
    if not isinstance(graph, kind):
        raise InputError(f"{task} is for a {kind.__name__}, and the data are a {type(graph).__name__}")
