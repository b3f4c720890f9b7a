"""From a task, data and arguments to a `Case`: what a model is fitted to, and what then measures it.

The command line, `compare` and `reproduce` all ask through `case`, so that one model on one split has one figure.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from numbers import Real
from typing import Any

import numpy as np

from netfold.data.graph import Graph
from netfold.data.hypergraph import Hypergraph, clique_expansion
from netfold.data.text import type_in_words
from netfold.errors import InputError
from netfold.evaluate.hyperedge_tasks import HyperedgeSplit, held_out_hyperedges, split_hyperedges
from netfold.evaluate.negatives import sampled_negatives
from netfold.evaluate.result import Result
from netfold.evaluate.scores import knows_attributes
from netfold.evaluate.splits import EdgeSplit, NodeSplit, split_edges, split_nodes
from netfold.evaluate.task import SAMPLERS, Task, check_renamed, task_named
from netfold.evaluate.tuples import Order, TupleIndex, coded_edges, decoded, stacked

__all__ = ["Case", "case", "case_of_split", "known_of", "new_to", "split_of", "tested_of"]

ClassesReader = Callable[[], Mapping[Any, Any]]
"""Gives the classes of nodes when they are needed; an `InputError` where there are none."""
Parts = Callable[..., Any]
"""Gives a part of the data by its name ("test", "test_negatives"), or the data as they were `until=` a year."""
Splitted = EdgeSplit | NodeSplit | HyperedgeSplit


@dataclass(frozen=True)
class Case:
    """What a model is to be fitted to, and what then measures it: (model, baselines=) -> Result."""

    graph: Graph | Hypergraph
    evaluate: Callable[..., Result]
    split: NodeSplit | None = None
    """Where the task is about new nodes."""


def case(
    task: str,
    graph: Graph | Hypergraph,
    classes: ClassesReader,
    arguments: Mapping[str, Any],
    seed: int,
    parts: Parts | None = None,
) -> Case:
    """What a task asks of a graph or a hypergraph; what is held out is drawn here, by the seed.

    `arguments` are those of `Task.arguments`. `parts` gives the parts of a data set that come apart; without it,
    hyperedges are held out at random.

    >>> ring = Graph.from_edges([(i, (i + 1) % 10) for i in range(10)])
    >>> case("link-prediction", ring, dict, {"held_out": 0.3}, seed=0).graph
    Graph(10 nodes, 7 edges, undirected)
    """
    known = task_named(task)
    _check_arguments(known, arguments)
    return _BY_SPLIT[known.split](_Question(known, graph, classes, parts, seed), dict(arguments))


def case_of_split(task: str, split: Splitted, classes: ClassesReader, arguments: Mapping[str, Any], seed: int) -> Case:
    """The same, where it is known what is held out."""
    known = task_named(task)
    if isinstance(split, NodeSplit):
        return _of_new_nodes(known, split, classes, dict(arguments), seed)
    measure = held_out_hyperedges if isinstance(split, HyperedgeSplit) else known.measure
    return Case(split.train, partial(_measured, measure, split, seed=seed, **arguments))


# -------------------------------------------------------------------- by what is held out


@dataclass(frozen=True)
class _Question:
    """A task, the data that there are for it, and the seed of all that is drawn."""

    task: Task
    graph: Any
    classes: ClassesReader
    parts: Parts | None
    seed: int

    def checked(self) -> Any:
        """The graph, or the hypergraph; an `InputError` where it is not what the task reads."""
        kinds = {"graph": Graph, "hypergraph": Hypergraph}
        if not isinstance(self.graph, tuple(kinds[kind] for kind in self.task.reads)):
            names = " or a ".join(kinds[kind].__name__ for kind in self.task.reads)
            raise InputError(f"{self.task.function} is for a {names}, and the data are {type_in_words(self.graph)}")
        if self.task.needs_attributes and getattr(self.graph, "attributes", None) is None:
            raise InputError(
                f"{self.task.function} asks about attributes of nodes, and the graph has none; read them with it "
                "(attributes=, --attributes FILE)"
            )
        return self.graph

    def part(self, name: str = "", **options: Any) -> Any:
        """A part of the data that comes apart."""
        if self.parts is not None:
            return self.parts(name, **options) if name else self.parts(**options)
        if options:
            raise InputError(f"these data cannot be had with {', '.join(options)}; they are all that there is")
        raise InputError(f"there is no part {name!r} of these data; test='known' asks about what was fitted")


def _nothing_held_out(question: _Question, arguments: dict[str, Any]) -> Case:
    """Of a hypergraph, the baselines have the clique expansion."""
    data, measure = question.checked(), question.task.measure
    drawn: dict[str, Any] = {"seed": question.seed} if "seed" in inspect.signature(measure).parameters else {}
    if not question.task.needs_classes:
        return Case(data, partial(_measured, measure, data, **drawn, **arguments))
    graph = clique_expansion(data) if isinstance(data, Hypergraph) else data
    return Case(data, partial(_measured, measure, question.classes(), graph=graph, **drawn, **arguments))


def _edges_held_out(question: _Question, arguments: dict[str, Any]) -> Case:
    graph = question.checked()
    of_split = {name: arguments[name] for name in question.task.held_out(arguments)}
    split = split_edges(graph, **of_split, seed=question.seed)
    if question.task.refits:
        measure = partial(_measured_by_fits, question.task.measure, graph, seed=question.seed, **arguments)
        return Case(split.train, measure)
    rest = {name: x for name, x in arguments.items() if name not in of_split}
    return case_of_split(question.task.name, split, question.classes, rest, question.seed)


def _nodes_held_out(question: _Question, arguments: dict[str, Any]) -> Case:
    of_split = {name: arguments.pop(name) for name in question.task.held_out(arguments)}
    split = split_of(question.checked(), question.part, of_split, question.seed)
    return _of_new_nodes(question.task, split, question.classes, arguments, question.seed)


def _of_new_nodes(task: Task, split: NodeSplit, classes: ClassesReader, arguments: dict[str, Any], seed: int) -> Case:
    of_nodes = classes() if arguments.pop("classes", True) else None
    return Case(split.known, partial(_measured, task.measure, split, classes=of_nodes, seed=seed, **arguments), split)


def _hyperedges_held_out(question: _Question, options: dict[str, Any]) -> Case:
    """The parts that a data set comes in; or a random share, where it has none or where a share is asked for."""
    whole: Hypergraph = question.checked()
    of_parts = {"test", "kept", "duplicates"} & options.keys()
    if "held_out" in options or (question.parts is None and not of_parts):
        _check_one_way(options)
        split = split_hyperedges(whole, options.pop("held_out", 0.2), seed=question.seed)
        return case_of_split(question.task.name, split, question.classes, options, question.seed)
    if question.parts is None and "test" not in options:  # asked about all: those that are known are dropped
        known, test, arguments = known_of(whole, options.pop("kept", 0.8), question.seed), whole, options
    else:
        known = known_of(whole, options.pop("kept", 1.0), question.seed)
        test, arguments = tested_of(whole, known, question.part, options, question.seed)
    return Case(known, partial(_measured, question.task.measure, test, known=known, seed=question.seed, **arguments))


_BY_SPLIT: dict[str, Callable[[_Question, dict[str, Any]], Case]] = {
    "": _nothing_held_out,
    "edges": _edges_held_out,
    "nodes": _nodes_held_out,
    "hyperedges": _hyperedges_held_out,
}


# -------------------------------------------------------------------- measuring


def _measured(measure: Callable[..., Result], data: Any, model: Any, baselines: bool, **arguments: Any) -> Result:
    cheap = {"baselines": baselines} if "baselines" in inspect.signature(measure).parameters else {}
    return measure(model, data, **arguments, **cheap)


def _measured_by_fits(
    measure: Callable[..., Result], graph: Graph, model: Any, baselines: bool, **arguments: Any
) -> Result:
    """The model is fitted to the training graph; the task fits others like it to that graph with noise."""
    return measure(partial(_fitted_like, model), graph, **arguments, baselines=baselines)


def _fitted_like(model: Any, graph: Graph) -> Any:
    """The model itself where it was fitted to this graph, else another with its options; vectors stay as they are."""
    if not hasattr(model, "graph_facts_") or graph.has_fingerprint(model.graph_facts_["fingerprint"]):
        return model
    if model.extends:
        raise InputError(f"{type(model).__name__} extends an embedding, and there is none of the graph with noise")
    same = graph if knows_attributes(model) else graph.with_attributes(None)
    return type(model)(**model.get_params()).fit(same, progress=False)


def _check_arguments(task: Task, arguments: Mapping[str, Any]) -> None:
    check_renamed(**arguments)
    unknown = next((name for name in arguments if name not in task.arguments), None)
    if unknown is not None:
        raise InputError(f"{task.function} has no argument {unknown!r}; it has {', '.join(task.arguments)}")


def _check_one_way(arguments: Mapping[str, Any]) -> None:
    odd = next((name for name in ("test", "kept", "duplicates") if name in arguments), None)
    if odd is not None:
        raise InputError(
            f"held_out says which hyperedges are asked about; {odd} has no meaning beside it: leave it out"
        )


# -------------------------------------------------------------------- what is known, and what is asked about


def known_of(whole: Hypergraph, share: Any, seed: int) -> Hypergraph:
    """A random share of the hyperedges, and all nodes.

    >>> known_of(Hypergraph.from_tuples([("a", "b"), ("b", "c"), ("c", "a"), ("a", "d")]), 0.5, seed=0)
    Hypergraph(4 nodes, 2 edges)
    """
    if not isinstance(share, Real) or isinstance(share, bool) or not 0 < float(share) <= 1:
        raise InputError(f"kept={share!r} is not a share of the hyperedges, above 0 and at most 1")
    count = max(1, round(float(share) * whole.n_edges))
    if count == whole.n_edges:
        return whole
    chosen = np.sort(np.random.default_rng(seed).permutation(whole.n_edges)[:count])
    kinds = [
        (kind.roles, kind.types, kind.rows[np.isin(numbers, chosen)])
        for kind, numbers in zip(whole.kinds, whole.edge_numbers(), strict=True)
    ]
    same: Any = {"node_types": whole.type_codes, "types": whole.types, "attributes": whole.attributes}
    return Hypergraph.from_kinds(kinds, nodes=whole.nodes, **same)


def tested_of(
    whole: Hypergraph, known: Hypergraph, parts: Callable[[str], Any], options: dict[str, Any], seed: int
) -> tuple[Any, dict[str, Any]]:
    """The hyperedges asked about, and the arguments of `evaluate.hyperedges` beside `known` and the seed.

    `test`: "test", that part of the data, or "known", what was fitted. `negatives`: as `evaluate.hyperedges` has them,
    or "fixed", the part "test_negatives". Where not all of the training hyperedges are known, the question stays that
    of all: what is not known among them is neither asked about nor a negative.
    """
    arguments, test = dict(options), options.get("test", "test")
    arguments.pop("test", None)
    if test not in ("test", "known"):
        raise InputError(f"test={test!r} is not one of test, known")
    if arguments.get("negatives") == "fixed":
        arguments["negatives"] = parts("test_negatives")
    if test == "known":
        return known, {"duplicates": "keep"} | arguments
    hypergraph = parts("test")
    return (hypergraph, arguments) if known is whole else _as_of_all(whole, hypergraph, arguments, seed)


def _as_of_all(
    whole: Hypergraph, hypergraph: Hypergraph, arguments: dict[str, Any], seed: int
) -> tuple[Any, dict[str, Any]]:
    """The positives and negatives that there would be if all were known."""
    rows, of_all = coded_edges(hypergraph), coded_edges(whole)
    order = Order(whole)
    test = TupleIndex(rows, whole.n_nodes, order)
    positives = rows[test.first & ~TupleIndex(of_all, whole.n_nodes, order).holds(rows)]
    truth = TupleIndex(stacked(of_all, rows), whole.n_nodes, order)
    how, count = arguments.pop("negatives", "replaced"), arguments.pop("per_positive", 5)
    if how not in SAMPLERS or how == "all":
        raise InputError(f"negatives={how!r} where a share is kept; it can be replaced or uniform")
    wrong = sampled_negatives(how, positives, whole, truth, count, seed)
    return decoded(positives, whole.nodes), arguments | {"negatives": decoded(wrong, whole.nodes)}


def split_of(whole: Graph, parts: Callable[..., Any], arguments: Mapping[str, Any], seed: int) -> NodeSplit:
    """The new nodes: those that were not there `until` a year, or those that `split_nodes` holds back.

    What is known in the first case is the graph of that time: edges that came later between its nodes are not in it.
    """
    if "until" not in arguments:
        return split_nodes(whole, **arguments, seed=seed)
    if len(arguments) > 1:
        odd = next(name for name in arguments if name != "until")
        raise InputError(f"until={arguments['until']!r} says which nodes are new; leave out {odd}")
    known: Graph = parts(until=arguments["until"])
    if known.directed != whole.directed or (whole.nodes.find(known.nodes) < 0).any():
        raise InputError(f"the graph until {arguments['until']!r} is not a part of the whole one")
    new = np.flatnonzero(known.nodes.find(whole.nodes) < 0)
    if not len(new):
        raise InputError(f"until={arguments['until']!r} leaves no node of {whole.n_nodes:,} to come later")
    return NodeSplit(known, whole, new, {"until": arguments["until"], "by": "time"})


def new_to(model: Any, whole: Graph) -> NodeSplit:
    """The nodes of a graph that a fitted model has not met, as the new ones."""
    if not hasattr(model, "embedding_"):
        raise InputError("these are vectors, which place no new node; give a model that was fitted to the known nodes")
    met = model.embedding_.nodes.find(whole.nodes) >= 0
    if met.all() or not met.any():
        which = "all" if met.any() else "none"
        raise InputError(
            f"the model was fitted to {which} of the {whole.n_nodes:,} nodes; give a graph with new ones too"
        )
    known = whole.subgraph(np.flatnonzero(met))
    return NodeSplit(known, whole, np.flatnonzero(~met), {"by": "the nodes that the model has not met"})
