"""Rows about new nodes: a base gives the known ones their vectors, and one of several ways the new ones theirs."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from netfold.errors import InputError
from netfold.studies.reproduce.table import GAP, Base, RecordedRow, Row, Table

if TYPE_CHECKING:
    from netfold.data.graph import Graph
    from netfold.evaluate import NodeSplit
    from netfold.studies.reproduce.tasks import Case, Entry

__all__ = ["WAYS", "FitModel", "entry", "split_of", "with_gaps"]

_FLOOR, _OWN, _TOP = "LocalAvg", "transform", "rerun"
WAYS = (_FLOOR, "LabelProp", _OWN, _TOP)
"""What a row with a base may have in the place of a model: two cheap ways, the base's own, and the base fitted anew."""

FitModel = Callable[..., tuple[Any, float]]
"""From a model's name, its options, a graph and perhaps vectors to the fitted model and its CPU seconds."""


def split_of(whole: Graph, parts: Callable[..., Any], given: Mapping[str, Any], seed: int) -> NodeSplit:
    """The new nodes: those that were not there `until` a year, or those that `split_nodes` holds back.

    What is known in the first case is the graph of that time: edges that came later between its nodes are not in it.
    """
    import numpy as np

    from netfold.evaluate import NodeSplit, split_nodes

    if "until" not in given:
        return split_nodes(whole, **given, seed=seed)
    if len(given) > 1:
        odd = next(name for name in given if name != "until")
        raise InputError(f"until={given['until']!r} says which nodes are new; leave out {odd}")
    known: Graph = parts(until=given["until"])
    if known.directed != whole.directed or (whole.nodes.find(known.nodes) < 0).any():
        raise InputError(f"the graph until {given['until']!r} is not a part of the whole one")
    new = np.flatnonzero(known.nodes.find(whole.nodes) < 0)
    if not len(new):
        raise InputError(f"until={given['until']!r} leaves no node of {whole.n_nodes:,} to come later")
    return NodeSplit(known, whole, new, {"until": given["until"], "by": "time"})


def entry(row: Row, base: Base, asked: Case, fit: FitModel) -> Entry:
    """A row ready to be evaluated; what it costs is counted without the base that it stands on.

    A base's own `transform` is asked about the new nodes that have a known neighbor unless the row's task says else,
    other models about those with a path to known ones.
    """
    from netfold.studies.reproduce.tasks import Entry

    split = asked.split
    if split is None:
        raise InputError(f"row {row.name!r} has a base, which is for new nodes (task out_of_sample)")
    again = partial(fit, base.model, base.config)
    fitted, _ = again(split.known)
    known = fitted.embedding_
    if row.model == _OWN:
        linked = row.task.get("linked", "neighbor")
        return Entry(partial(asked.evaluate, fitted, linked=linked), 0.0)
    if row.model == _TOP:
        rerun = partial(asked.evaluate, _TOP, base=known, rerun=lambda graph: again(graph)[0])
        return Entry(rerun, again(split.whole)[1])
    if row.model in WAYS:
        return Entry(partial(asked.evaluate, row.model, base=known), 0.0)
    model, cost = fit(row.model, row.config, split.known, known)
    return Entry(partial(asked.evaluate, model), cost)


def with_gaps(table: Table, rows: Mapping[str, RecordedRow]) -> dict[str, RecordedRow]:
    """The rows with (own - LocalAvg) / (rerun - LocalAvg) of the means over seeds, where the table asks for it.

    LocalAvg and the rerun are those rows that have the same base; where either is not there, or the rerun is no
    better, there is no such figure.
    """
    wanted = [figure for figure in table.figures if figure.endswith(GAP)]
    made = dict(rows)
    for row in table.rows if wanted else ():
        ends = [_of_way(table, rows, row.base, way) for way in (_FLOOR, _TOP)]
        if row.base and row.model not in (_FLOOR, _TOP) and all(ends):
            made[row.name] = _with_gaps(rows[row.name], [end.mean for end in ends if end], wanted)
    return made


def _with_gaps(row: RecordedRow, ends: list[Mapping[str, float]], wanted: list[str]) -> RecordedRow:
    mean = dict(row.mean)
    for figure in wanted:
        of = figure.removesuffix(GAP)
        if all(of in cells for cells in (mean, *ends)) and ends[1][of] > ends[0][of]:
            mean[figure] = float(f"{(mean[of] - ends[0][of]) / (ends[1][of] - ends[0][of]):.4g}")
    return dataclasses.replace(row, mean=mean)


def _of_way(table: Table, rows: Mapping[str, RecordedRow], base: str, way: str) -> RecordedRow | None:
    return next((rows[row.name] for row in table.rows if (row.base, row.model) == (base, way)), None)
