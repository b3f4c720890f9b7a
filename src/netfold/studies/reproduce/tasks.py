"""From a task's name to what a model is fitted to and how it is then evaluated: one line for each task."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from netfold.data.checks import is_number
from netfold.data.hypergraph import Hypergraph
from netfold.data.text import did_you_mean
from netfold.errors import InputError

if TYPE_CHECKING:
    from netfold.data.graph import Graph
    from netfold.data.hypergraph import Hypergraph
    from netfold.evaluate import EdgeSplit, NodeSplit, Result

__all__ = [
    "NEW_NODES",
    "TASKS",
    "Case",
    "Entry",
    "arguments_of",
    "asked_of",
    "case",
    "case_of_split",
    "fitted_to",
    "known_of",
]


def known_of(whole: Hypergraph, kept: Any, seed: int) -> Hypergraph:
    """A random share of the hyperedges, and all nodes.

    >>> known_of(Hypergraph.from_tuples([("a", "b"), ("b", "c"), ("c", "a"), ("a", "d")]), 0.5, seed=0)
    Hypergraph(4 nodes, 2 edges)
    """
    if not is_number(kept) or not 0 < float(kept) <= 1:
        raise InputError(f"kept={kept!r} is not a share of the hyperedges, above 0 and at most 1")
    count = max(1, round(float(kept) * whole.n_edges))
    if count == whole.n_edges:
        return whole
    chosen = np.sort(np.random.default_rng(seed).permutation(whole.n_edges)[:count])
    kinds = [
        (kind.roles, kind.types, kind.rows[np.isin(numbers, chosen)])
        for kind, numbers in zip(whole.kinds, whole.edge_numbers(), strict=True)
    ]
    return Hypergraph.from_kinds(kinds, nodes=whole.nodes, node_types=whole.type_codes, types=whole.types)


def asked_of(
    whole: Hypergraph, known: Hypergraph, parts: Callable[[str], Any], given: dict[str, Any], seed: int
) -> tuple[Any, dict[str, Any]]:
    """The hyperedges asked about, and the arguments of `evaluate.hyperedges` beside `known` and the seed.

    `test`: "test", that part of the data, or "known", what was fitted. `negatives`: as `evaluate.hyperedges` has them,
    or "fixed", the part "test_negatives". Where not all of the training hyperedges are known, the question stays that
    of all: what is not known among them is neither asked about nor a negative.
    """
    arguments, test = dict(given), given.get("test", "test")
    arguments.pop("test", None)
    if test not in ("test", "known"):
        raise InputError(f"test={test!r} is not one of test, known")
    if arguments.get("negatives") == "fixed":
        arguments["negatives"] = parts("test_negatives")
    if test == "known":
        return known, {"duplicates": "keep"} | arguments
    asked = parts("test")
    return (asked, arguments) if known is whole else _as_of_all(whole, asked, arguments, seed)


def _as_of_all(
    whole: Hypergraph, asked: Hypergraph, arguments: dict[str, Any], seed: int
) -> tuple[Any, dict[str, Any]]:
    """The positives and negatives that there would be if all were known."""
    from netfold.evaluate.negatives import SAMPLERS, sampled_negatives
    from netfold.evaluate.tuples import Order, TupleIndex, coded_edges, decoded, stacked

    rows, of_all = coded_edges(asked), coded_edges(whole)
    order = Order(whole)
    test = TupleIndex(rows, whole.n_nodes, order)
    positives = rows[test.first & ~TupleIndex(of_all, whole.n_nodes, order).holds(rows)]
    truth = TupleIndex(stacked(of_all, rows), whole.n_nodes, order)
    how, count = arguments.pop("negatives", "replaced"), arguments.pop("per_positive", 5)
    if how not in SAMPLERS or how == "all":
        raise InputError(f"negatives={how!r} where a share is kept; it can be replaced or uniform")
    wrong = sampled_negatives(how, positives, whole, truth, count, seed)
    return decoded(positives, whole.nodes), arguments | {"negatives": decoded(wrong, whole.nodes)}


Labelled = Callable[[], Mapping[Any, Any]]
"""Gives the classes of nodes when they are needed; an `InputError` where there are none."""
Parts = Callable[..., Any]
"""Gives a part of the data by its name ("test", "test_negatives"), or the data as they were `until=` a year."""


@dataclass(frozen=True)
class Case:
    """What a model is to be fitted to, and what then evaluates it: (model, baselines=) -> Result."""

    graph: Graph | Hypergraph
    evaluate: Callable[..., Result]
    split: NodeSplit | None = None
    """Where the task is about new nodes."""


@dataclass(frozen=True)
class Entry:
    """A row that is fitted: what evaluates it, given baselines=; the CPU seconds."""

    evaluate: Callable[..., Result]
    cost: float


@dataclass(frozen=True)
class _Asked:
    """A task, the data that there are for it, and the seed of all that is drawn."""

    task: str
    graph: Any
    labels: Labelled
    parts: Parts
    seed: int

    @property
    def function(self) -> Any:
        """That of `nf.evaluate`."""
        from netfold import evaluate

        return getattr(evaluate, self.task)

    def checked(self, *kinds: type) -> Any:
        """The graph, or the hypergraph; an `InputError` where it is not of these kinds."""
        if not isinstance(self.graph, kinds):
            names = " or a ".join(kind.__name__ for kind in kinds)
            raise InputError(f"{self.task} is for a {names}, and the data are a {type(self.graph).__name__}")
        return self.graph


def _of_graph(asked: _Asked, given: dict[str, Any]) -> Case:
    from netfold.data.graph import Graph

    graph = asked.checked(Graph)
    return Case(graph, partial(_evaluated, asked.function, graph, seed=asked.seed, **given))


def _of_labels(asked: _Asked, given: dict[str, Any]) -> Case:
    """Of a hypergraph, the baselines have the clique expansion."""
    from netfold.data.expansions import clique_expansion
    from netfold.data.graph import Graph
    from netfold.data.hypergraph import Hypergraph

    data = asked.checked(Graph, Hypergraph)
    graph = clique_expansion(data) if isinstance(data, Hypergraph) else data
    return Case(data, partial(_evaluated, asked.function, asked.labels(), graph=graph, seed=asked.seed, **given))


def _of_split(asked: _Asked, given: dict[str, Any]) -> Case:
    from netfold.data.graph import Graph
    from netfold.evaluate import split_edges

    of_split = {name: given.pop(name) for name in _SPLITTING if name in given}
    split = split_edges(asked.checked(Graph), **of_split, seed=asked.seed)
    return Case(split.train, partial(_evaluated, asked.function, split, seed=asked.seed, **given))


def _of_variance(asked: _Asked, given: dict[str, Any]) -> Case:
    """Nothing is drawn, and nothing cheap stands beside it: it is set against the degree itself."""
    from netfold.data.graph import Graph

    graph = asked.checked(Graph)
    return Case(graph, lambda model, baselines: asked.function(model, graph, **given))


def _of_noise(asked: _Asked, given: dict[str, Any]) -> Case:
    """The model is fitted to the training graph; the evaluation fits others like it to that graph with noise."""
    from netfold.data.graph import Graph
    from netfold.evaluate import split_edges

    graph = asked.checked(Graph)
    of_split = {name: given[name] for name in _SPLITTING if name in given}

    def evaluate(model: Any, baselines: bool) -> Result:
        fit = partial(_fitted_like, model)
        made: Result = asked.function(fit, graph, **given, seed=asked.seed, baselines=baselines)
        return made

    return Case(split_edges(graph, **of_split, seed=asked.seed).train, evaluate)


def _fitted_like(model: Any, graph: Graph) -> Any:
    """The model itself where it was fitted to this graph, and else another with its options."""
    if model.graph_facts_["fingerprint"] == graph.fingerprint:
        return model
    return type(model)(**model.get_params()).fit(graph, progress=False)


def _of_tuples(asked: _Asked, given: dict[str, Any]) -> Case:
    from netfold.data.hypergraph import Hypergraph

    whole: Hypergraph = asked.checked(Hypergraph)
    known = known_of(whole, given.pop("kept", 1.0), asked.seed)
    test, arguments = asked_of(whole, known, asked.parts, given, asked.seed)
    return Case(known, partial(_evaluated, asked.function, test, known=known, seed=asked.seed, **arguments))


def _of_new_nodes(asked: _Asked, given: dict[str, Any]) -> Case:
    from netfold.data.graph import Graph
    from netfold.studies.reproduce.new_nodes import split_of

    of_split = {name: given.pop(name) for name in _HELD_BACK if name in given}
    split = split_of(asked.checked(Graph), asked.parts, of_split, asked.seed)
    labels = asked.labels() if given.pop("classes", True) else None
    return Case(split.known, partial(_evaluated, asked.function, split, labels=labels, seed=asked.seed, **given), split)


def case_of_split(split: EdgeSplit, arguments: Mapping[str, Any], seed: int) -> Case:
    """Link prediction where the edges are hidden already."""
    from netfold.evaluate import link_prediction

    return Case(split.train, partial(_evaluated, link_prediction, split, seed=seed, **arguments))


def _evaluated(function: Any, data: Any, model: Any, baselines: bool, **given: Any) -> Result:
    made: Result = function(model, data, **given, baselines=baselines)
    return made


NEW_NODES = "out_of_sample"
"""The task whose baselines start from the vectors of what is evaluated."""
_SPLITTING = ("hidden", "keep")
_TUPLES = ("test", "kept")
_HELD_BACK = ("until", "new", "by", "max_degree")
_OF_DATA: dict[str, tuple[str, ...]] = {
    "link_prediction": _SPLITTING,
    "calibration": _SPLITTING,
    "hyperedges": _TUPLES,
    NEW_NODES: (*_HELD_BACK, "classes"),
}
"""What a table says of the data beside the arguments of the function."""
_NO_PROTOCOL = ("seed", "baselines", "graph", "known", "base", "labels", "rerun")
"""Arguments that a table does not set."""

TASKS: dict[str, Callable[..., Case]] = {
    "reconstruction": _of_graph,
    "centrality": _of_graph,
    "regular_equivalence": _of_graph,
    "classification": _of_labels,
    "clustering": _of_labels,
    "roles": _of_labels,
    "visualization": _of_labels,
    "link_prediction": _of_split,
    "calibration": _of_split,
    "uncertainty": _of_variance,
    "noise_robustness": _of_noise,
    "hyperedges": _of_tuples,
    NEW_NODES: _of_new_nodes,
}
"""The functions of `nf.evaluate` that a table may name, each by what it is given beside the model."""


def case(
    task: str,
    graph: Graph | Hypergraph,
    labels: Labelled,
    arguments: Mapping[str, Any],
    seed: int,
    parts: Parts | None = None,
) -> Case:
    """What a task asks of a graph or a hypergraph: what to fit a model to, and how to evaluate it."""
    _check_arguments(task, arguments)
    return TASKS[task](_Asked(task, graph, labels, parts or _no_parts, seed), dict(arguments))


def _no_parts(name: str = "", **options: Any) -> Any:
    if options:
        raise InputError(f"these data cannot be had with {', '.join(options)}; they are all that there is")
    raise InputError(f"there is no part {name!r} of these data; test='known' asks about what was fitted")


def fitted_to(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Those arguments of a task that say which part of the data a model is fitted to.

    >>> fitted_to({"hidden": 0.1, "score": "dot"})
    {'hidden': 0.1}
    """
    return {name: x for name, x in arguments.items() if name in (*_SPLITTING, "kept", *_HELD_BACK)}


def arguments_of(task: str) -> list[str]:
    """The arguments that fix a task's protocol.

    >>> "score" in arguments_of("reconstruction")
    True
    """
    from netfold import evaluate

    own = _keywords(getattr(evaluate, task))
    return [*_OF_DATA.get(task, ()), *(name for name in own if name not in _NO_PROTOCOL)]


def _keywords(function: Any) -> list[str]:
    parameters = inspect.signature(function).parameters.values()
    return [p.name for p in parameters if p.kind is p.KEYWORD_ONLY]


def _check_arguments(task: str, arguments: Mapping[str, Any]) -> None:
    if task not in TASKS:
        hint = did_you_mean(task, TASKS, f"there is {', '.join(TASKS)}", quoted=True)
        raise InputError(f"there is no task {task!r} to run; {hint}")
    known = arguments_of(task)
    unknown = [name for name in arguments if name not in known]
    if unknown:
        raise InputError(f"{task} has no argument {unknown[0]!r}; it has {', '.join(known)}")
