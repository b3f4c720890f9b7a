"""Which tasks a report measures: those that the data of its models admits."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from netfold.graph import Graph
from netfold.hypergraph import Hypergraph
from netfold.report.tables import Task, graph_tasks, label_tasks, table, tuple_tasks

if TYPE_CHECKING:
    from netfold.report import Sheet

__all__ = ["tables_of"]


def tables_of(sheets: Iterable[Sheet]) -> list[dict[str, Any]]:
    """A table for each task; models of the same data, or with the same labels, are in one."""
    together: dict[str, list[Sheet]] = {}
    for sheet in sheets:
        key = sheet.data.fingerprint if sheet.data is not None else f"sheet {sheet.name}"
        together.setdefault(key, []).append(sheet)
    several = len(together) > 1
    return [found for group in together.values() for found in _of_group(group, several=several)]


def _of_group(group: list[Sheet], *, several: bool) -> list[dict[str, Any]]:
    data, made = group[0].data, []

    def add(name: str, task: Task, asked: list[Sheet]) -> None:
        of = f" · {', '.join(sheet.name for sheet in asked)}" if several else ""
        if asked:
            made.append(table(name + of, task, {sheet.name: sheet.model for sheet in asked}))

    for name, task in _tasks(data).items():
        add(name, task, [s for s in group if name != "uncertainty" or s.embedding.std is not None])
    for column in dict.fromkeys(name for sheet in group for name in sheet.labels):
        having = [s for s in group if column in s.labels]
        for name, task in label_tasks(_shared(column, having), data if isinstance(data, Graph) else None).items():
            add(f"{name} by {column}", task, having)
    return made


def _shared(column: str, sheets: list[Sheet]) -> dict[Any, Any]:
    """The classes of the nodes that all of these models have: a file may name others, who come later."""
    named = sheets[0].labels[column]
    return {node: named[node] for node in named if all(node in s.embedding for s in sheets)}


def _tasks(data: Graph | Hypergraph | None) -> dict[str, Task]:
    if data is None:
        return {}
    return tuple_tasks(data) if isinstance(data, Hypergraph) else graph_tasks(data)
