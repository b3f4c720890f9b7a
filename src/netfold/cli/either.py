"""A file of edges or of hyperedges, for commands that take either."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click

from netfold.cli.hyperedges import HYPEREDGES, column_flags, hypergraph_of
from netfold.cli.reading import READING, directed_flag, graph_of, reading_flags
from netfold.errors import InputError

__all__ = ["data_of", "either_flags", "typed_flags"]


def either_flags(command: Any) -> Any:
    """--hyperedges, and the flags on reading that either file has."""
    words = "Read a hyperedge a line; line 1 names their roles.  [default: found out]"
    command = column_flags(reading_flags(directed_flag(command)))
    return click.option("--hyperedges", is_flag=True, default=None, help=words)(command)


def data_of(path: str, given: Mapping[str, Any]) -> Any:
    """The hypergraph in a file, where it is said or its first line says that it holds one, or else the graph."""
    if given["hyperedges"] or _looks_typed(path, given):
        return hypergraph_of([path], **_only(HYPEREDGES, given, "hyperedges"))
    return graph_of(path, **_only(READING, given, "edges"))


def _looks_typed(path: str, given: Mapping[str, Any]) -> bool:
    """Three columns or more that are called after roles; --weighted, or that there is no header, says otherwise."""
    from netfold.io.first_look import file_columns

    if given["header"] is False or given["weighted"] is not None or given["directed"]:
        return path.endswith((".json", ".json.gz"))
    return file_columns(path, given["delimiter"]).hyperedges


def typed_flags(given: Mapping[str, Any]) -> list[str]:
    """The flags on reading as they are typed, for a command that reads the same file.

    >>> typed_flags({"directed": True, "weighted": False, "delimiter": ";", "header": None})
    ['--directed', '--unweighted', '--delimiter', ';']
    """
    switches = {
        "directed": ("--directed", ""),
        "weighted": ("--weighted", "--unweighted"),
        "header": ("--header", "--no-header"),
        "skip_loops": ("--skip-loops", ""),
    }
    words = [switches[x][0 if given[x] else 1] for x in switches if given.get(x) is not None]
    for name in ("delimiter", "columns"):
        words += [f"--{name}", given[name]] if given.get(name) is not None else []
    return [word for word in words if word]


def _only(names: tuple[str, ...], given: Mapping[str, Any], noun: str) -> dict[str, Any]:
    """The flags that have a meaning; a sentence about the first that has none."""
    known = dict.fromkeys((*READING, *HYPEREDGES))
    odd = next((name for name in known if given.get(name) is not None and name not in names), None)
    if odd is not None:
        raise InputError(f"--{odd.replace('_', '-')} has no meaning for a file of {noun}; leave it out")
    return {name: given[name] for name in names}
