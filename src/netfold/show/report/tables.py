"""The tables of a report: the tasks that its models' data admit, measured as `evaluate` does by default.

Large data are bounded: fewer nodes are ranked and fewer pairs compared, which the protocol then says.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from netfold import evaluate
from netfold.data.graph import Graph
from netfold.data.hypergraph import Hypergraph
from netfold.errors import InputError
from netfold.evaluate.result import Result, facts_in_words
from netfold.evaluate.scores import own_score
from netfold.evaluate.task import TASKS

if TYPE_CHECKING:
    from netfold.embedder.trials import Trials
    from netfold.show.report import Sheet

__all__ = ["class_tasks", "graph_tasks", "tables_of", "task_table", "trial_tables", "tuple_tasks"]


_NODES, _EDGES = 200_000, 3_000_000
"""A graph with more is not evaluated here."""
_WHOLE, _SOME = 5_000, 1_000
"""Up to so many nodes all are ranked, and of more so many."""
_COMPARED = 50_000
"""Nodes up to which the baselines take seconds."""
_PAIRS, _TUPLES, _CLASSIFIED = 100_000, 20_000, 4_000

Measure = Callable[..., Result]
"""From a model, and whether the baselines are wanted, to what was measured; reconstruction takes a `score` too."""
ModelsByName = Mapping[str, Any]


def graph_tasks(graph: Graph) -> dict[str, Measure]:
    """What a model of a graph can be asked: to give the graph back, and whether like nodes are alike."""
    if graph.n_nodes > _NODES or graph.n_edges > _EDGES:
        return {}
    compared = graph.n_nodes <= _COMPARED
    nodes = graph.n_nodes if graph.n_nodes <= _WHOLE else _SOME
    counts = [k for k in (100, 1000, 10_000) if k <= 2 * graph.n_edges] or [graph.n_edges]

    def given_back(model: Any, cheap: bool, score: str | None = None) -> Result:
        return evaluate.reconstruction(
            model, graph, score=score, k=counts, nodes=nodes, per_positive=1, baselines=cheap and compared
        )

    def alike(model: Any, cheap: bool) -> Result:
        fewer: dict[str, Any] = {} if graph.n_nodes <= _WHOLE else {"pairs": _PAIRS}
        return evaluate.regular_equivalence(model, graph, **fewer, baselines=cheap and compared)

    def open_(model: Any, cheap: bool) -> Result:
        result = evaluate.uncertainty(model, graph)
        own = {name: result.figures[name] for name in TASKS["uncertainty"].headline_in(result.figures)}
        return dataclasses.replace(result, figures=own)

    tasks: dict[str, Measure] = {"reconstruction": given_back, "regular-equivalence": alike, "uncertainty": open_}
    return {TASKS[name].words: task for name, task in tasks.items() if compared or task is not alike}


def class_tasks(classes: Mapping[Any, Any], graph: Graph | None) -> dict[str, Measure]:
    """What a model can be asked where classes of nodes are known, of at most 4,000 nodes."""
    some = _sampled(classes)
    beside = graph if graph is not None and graph.n_nodes <= _COMPARED else None
    several = any(isinstance(x, (list, tuple, set)) and len(x) > 1 for x in some.values())

    def predicted(model: Any, cheap: bool) -> Result:
        result = evaluate.classification(model, some, graph=beside, train=(0.1, 0.5), baselines=cheap)
        own = {name: x for name, x in result.figures.items() if "F1" in name}  # micro-F1 of one class each is accuracy
        return dataclasses.replace(result, figures=own)

    def grouped(model: Any, cheap: bool) -> Result:
        return evaluate.clustering(model, some, graph=beside, baselines=cheap)

    tasks: dict[str, Measure] = {"classification": predicted} | ({} if several else {"clustering": grouped})
    return {TASKS[name].words: task for name, task in tasks.items()}


def tuple_tasks(hypergraph: Hypergraph) -> dict[str, Measure]:
    """What a model of hyperedges can be asked: to tell them from other tuples."""
    if hypergraph.n_nodes > _NODES or hypergraph.n_edges > _EDGES:
        return {}
    tuples: Any = hypergraph
    if hypergraph.n_edges > _TUPLES:
        chosen = np.random.default_rng(0).choice(hypergraph.n_edges, _TUPLES, replace=False)
        tuples = [hypergraph.edges[i] for i in np.sort(chosen).tolist()]

    def given_back(model: Any, cheap: bool) -> Result:
        return evaluate.hyperedges(model, tuples, known=hypergraph, duplicates="keep", baselines=cheap)

    return {"reconstruction of hyperedges": given_back}


def task_table(
    title: str, task: Measure, models: ModelsByName, own: Measure | None = None, beside: Sequence[str] = ()
) -> dict[str, Any]:
    """One task for the page: a row for each model, then the baselines beside the first; or why there is none.

    With `own`, which measures by the score that a model is meant for, a model whose score is not the default has a
    second row. `beside` are sentences that stand under the figures.
    """
    results: dict[str, Result] = {}
    notes: list[str] = list(beside)
    for name, model in models.items():
        try:
            results[name] = task(model, not results)
            score = own_score(model)
            if own is not None and score not in ("cosine", results[name].protocol.get("score")):
                results[f"{name}, pairs by {_SCORES.get(score, score)}"] = own(model, False)
        except InputError as e:
            notes.append(f"{name}: {e}")
    if not results:
        return {"title": title, "figures": [], "rows": [], "protocol": "", "notes": notes}
    first = next(iter(results.values()))
    figures = list(first.figures)
    rows = [_row(name, x.figures, figures, x.deviations, of="model") for name, x in results.items()]
    rows += [_row(name, x, figures, {}, of="baseline") for name, x in first.baselines.items()]
    protocol = _protocol(results)
    if len(results) > 1 and first.baselines:
        protocol += f"; baselines that are vectors as wide as those of {next(iter(results))}"
    table = {"title": title, "figures": figures, "rows": rows, "protocol": protocol, "notes": notes}
    return table | {"smaller": [x for x in figures if x in first.smaller_is_better]}


_SCORES = {"decoder": "its decoder", "w2": "W2", "paths": "paths of a few steps"}
"""Scores in words."""


def _row(
    name: str, values: Mapping[str, float], figures: Sequence[str], spread: Mapping[str, float], *, of: str
) -> dict[str, Any]:
    numbers = [_finite(values.get(x)) for x in figures]
    return {"name": name, "of": of, "values": numbers, "spread": [_finite(spread.get(x)) for x in figures]}


def _finite(x: float | None) -> float | None:
    return None if x is None or not math.isfinite(x) else float(x)


def _protocol(results: Mapping[str, Result]) -> str:
    """How it was measured: what is the same for all, and what each model has of its own."""
    first = next(iter(results.values())).protocol
    same = {k: v for k, v in first.items() if all(r.protocol.get(k) == v for r in results.values())}
    own = [
        f"{name}: {facts_in_words(rest)}"
        for name, r in results.items()
        if (rest := {k: v for k, v in r.protocol.items() if k not in same})
    ]
    return "; ".join([facts_in_words(same), *own] if same else own)


def _sampled(classes: Mapping[Any, Any]) -> dict[Any, Any]:
    nodes = list(classes)
    if len(nodes) > _CLASSIFIED:
        chosen = np.random.default_rng(0).choice(len(nodes), _CLASSIFIED, replace=False)
        nodes = [nodes[i] for i in np.sort(chosen).tolist()]
    return {node: classes[node] for node in nodes}


def tables_of(sheets: Iterable[Sheet], on_task: Callable[[str], object] | None = None) -> list[dict[str, Any]]:
    """A table for each task; models of the same data, or with the same classes, are in one.

    `on_task` is told what is measured next.
    """
    together: dict[str, list[Sheet]] = {}
    for sheet in sheets:
        key = sheet.data.fingerprint if sheet.data is not None else f"sheet {sheet.name}"
        together.setdefault(key, []).append(sheet)
    several = len(together) > 1
    return [table for group in together.values() for table in _of_group(group, several, on_task)]


def trial_tables(sheets: Iterable[Sheet]) -> list[dict[str, Any]]:
    """What was tried before a model was chosen (`nf.auto`, `nf.tune`), a table for each model that was."""
    raced = [(sheet.name, sheet.model.trials_) for sheet in sheets if hasattr(sheet.model, "trials_")]
    return [_trial_table(name, trials) for name, trials in raced]


def _trial_table(name: str, trials: Trials) -> dict[str, Any]:
    figures = [trials.figure, "CPU-s", "MiB"]
    tried = [x for x in trials.rows if x.figure is not None]
    rows = []
    for x in tried:
        epochs = "" if x.epochs is None else f", {x.epochs} epochs"
        held = None if x.bytes is None else x.bytes / 2**20
        numbers = {trials.figure: x.figure, "CPU-s": x.cpu, "MiB": held}
        known = {k: v for k, v in numbers.items() if v is not None}
        spread = {} if x.deviation is None else {trials.figure: x.deviation}
        rows.append(_row(f"{x.candidate}{epochs}", known, figures, spread, of="baseline"))
    left = {why: [x.candidate for x in trials.rows if x.why == why] for why in (x.why for x in trials.rows) if why}
    notes = [*trials.lines(), *(f"{', '.join(candidates)}: {why}" for why, candidates in left.items())]
    protocol = f"on inner parts of the data, within {trials.budget}; ± is the standard error"
    table = {"title": f"tried for {trials.task} · {name}", "figures": figures, "rows": rows, "protocol": protocol}
    smaller = ["CPU-s", "MiB", *([trials.figure] if trials.smaller_is_better else [])]
    return table | {"notes": notes, "smaller": smaller}


def _of_group(group: list[Sheet], several: bool, on_task: Callable[[str], object] | None) -> list[dict[str, Any]]:
    data, tables = group[0].data, []

    def add(name: str, task: Measure, sheets: list[Sheet]) -> None:
        of = f" · {', '.join(sheet.name for sheet in sheets)}" if several else ""
        own = partial(task, score="own") if name == TASKS["reconstruction"].words else None
        models = {sheet.name: sheet.model for sheet in sheets}
        if sheets:
            if on_task is not None:
                on_task(f"{name} of {', '.join(models)}")
            tables.append(task_table(name + of, task, models, own, _beside(name, data)))

    for name, task in _tasks(data).items():
        add(name, task, [s for s in group if name != "uncertainty" or s.embedding.std is not None])
    for column in dict.fromkeys(name for sheet in group for name in sheet.classes):
        having = [s for s in group if column in s.classes]
        for name, task in class_tasks(_shared(column, having), data if isinstance(data, Graph) else None).items():
            add(f"{name} by {column}", task, having)
    return tables


def _beside(task: str, data: Any) -> list[str]:
    """What is to be said beside the figures of a large graph, of which only a part is measured."""
    if not isinstance(data, Graph) or data.n_nodes <= _WHOLE:
        return []
    of = f"of {data.n_nodes:,} nodes"
    if task == TASKS["reconstruction"].words:
        return [f"MAP is over {_SOME:,} random nodes {of} (± half of its 95% interval); netfold evaluate ranks more."]
    return [f"Over {_PAIRS:,} random pairs {of}."] if task == TASKS["regular-equivalence"].words else []


def _shared(column: str, sheets: list[Sheet]) -> dict[Any, Any]:
    """The classes of the nodes that all of these models have: a file may name others, who come later."""
    named = sheets[0].classes[column]
    return {node: named[node] for node in named if all(node in s.embedding for s in sheets)}


def _tasks(data: Graph | Hypergraph | None) -> dict[str, Measure]:
    if data is None:
        return {}
    return tuple_tasks(data) if isinstance(data, Hypergraph) else graph_tasks(data)
