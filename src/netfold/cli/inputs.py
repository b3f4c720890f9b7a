"""What models read on the command line, a graph or a hypergraph: each with its argument, its flags and its words."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from netfold.cli.hyperedges import HYPEREDGES, column_flags, hypergraph_of, labelled_as_known
from netfold.cli.reading import READING, directed_flag, graph_of, labelled_as, reading_flags, text_flags, weighted_flag
from netfold.errors import InputError

if TYPE_CHECKING:
    from netfold.base import Embedder

__all__ = ["INPUTS", "Input", "later_flags", "later_of"]


@dataclass(frozen=True)
class Input:
    """How a command reads what a model is fitted to."""

    add: Callable[[Any], Any]
    """Gives a command the argument and the flags."""
    names: tuple[str, ...]
    """Those of the flags."""
    read: Callable[..., Any]
    noun: str
    """What the value's edges are called."""
    file: str
    """An example."""
    help: str


INPUTS = {
    "graph": Input(
        lambda command: click.argument("edges")(directed_flag(reading_flags(command))),
        READING,
        graph_of,
        "edges",
        "edges.csv",
        "EDGES is a file with an edge, and perhaps its weight, on each line (csv, tsv, blanks, parquet; plain, .gz or "
        ".zst), or a folder that Graph.save wrote.",
    ),
    "hypergraph": Input(
        lambda command: click.argument("edges", nargs=-1, required=True)(column_flags(text_flags(command))),
        HYPEREDGES,
        hypergraph_of,
        "hyperedges",
        "triples.csv",
        "EDGES is a file with a hyperedge on each line, a column for each role (csv, tsv, blanks, parquet; plain, .gz "
        "or .zst), and the names of the roles in line 1: user,movie,tag, or head:entity where the type has another "
        "name. Several files are several kinds. Or one file of HIF json.",
    ),
}
"""By what `Embedder.reads` says."""


def later_flags(command: Any) -> Any:
    """The flags of either, for a command that learns only from the model which of them it reads."""
    return column_flags(weighted_flag(text_flags(command)))


def later_of(model: Embedder, paths: tuple[str, ...], given: Mapping[str, Any]) -> Any:
    """A later graph or hypergraph for a fitted model, with labels of the sort that its nodes have."""
    asked = INPUTS[model.reads]
    other = next((name for name, value in given.items() if value is not None and name not in asked.names), None)
    if other is not None:
        flag, words = other.replace("_", "-"), f"a {type(model).__name__} reads {asked.noun}"
        raise InputError(f"--{flag} has no meaning where {words}; leave it out")
    known, reading = model.embedding_.nodes, {name: given[name] for name in asked.names if name in given}
    if model.reads == "hypergraph":
        return labelled_as_known(hypergraph_of(paths, **reading), known)
    if len(paths) > 1:
        raise InputError(f"{paths[1]} is one file too many; {type(model).__name__} reads its edges from one")
    if not (Path(paths[0]) / "graph.json").exists():
        reading["directed"] = bool(model.graph_facts_["directed"])
    return labelled_as(graph_of(paths[0], **reading), known)
