"""What a command reads: edges from a file or a saved graph, an embedding from a model."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from netfold.errors import InputError

if TYPE_CHECKING:
    from netfold.embedding import Embedding
    from netfold.graph import Graph
    from netfold.labels import Labels

__all__ = [
    "READING",
    "check_there",
    "directed_flag",
    "embedding_of",
    "graph_of",
    "integer",
    "labelled_as",
    "model_of",
    "reading_flags",
    "refuse_reading_flags",
    "text_flags",
    "weighted_flag",
]

READING = ("directed", "weighted", "delimiter", "header")
"""The names of the flags that say how a file of edges is read: arguments of `read_edges`."""

directed_flag: Callable[[Any], Any] = click.option(
    "--directed", is_flag=True, default=None, help="Each line is an edge from the first node to the second."
)


weighted_flag: Callable[[Any], Any] = click.option(
    "--weighted/--unweighted", default=None, help="Insist on a weight column, or pass it over."
)


def reading_flags(command: Any) -> Any:
    """The flags that every command with a file of edges has."""
    return weighted_flag(text_flags(command))


def text_flags(command: Any) -> Any:
    """The flags that every command with a file of text has."""
    for flag in (
        click.option(
            "--header/--no-header", default=None, help="Whether line 1 names the columns.  [default: found out]"
        ),
        click.option("--delimiter", metavar="CHAR", help="What parts the columns.  [default: found out]"),
    ):
        command = flag(command)
    return command


def graph_of(path: str, **reading: Any) -> Graph:
    """The graph in a file of edges, or in a folder that `Graph.save` wrote; None stands for a flag not given."""
    given = {name: value for name, value in reading.items() if value is not None}
    if (Path(path) / "graph.json").exists():
        refuse_reading_flags(path, given)
        from netfold.graph import Graph

        return Graph.load(path)
    from netfold.io import read_edges

    return read_edges(path, **given)


def refuse_reading_flags(path: str, reading: dict[str, Any]) -> None:
    """A folder knows what it holds: a flag that would say otherwise is not passed over in silence."""
    given = [f"--{name}" for name, value in reading.items() if value is not None]
    if given:
        raise InputError(f"{path} is a folder that netfold wrote, and {given[0]} is for a file of edges; leave it out")


def embedding_of(path: str) -> Embedding:
    """The embedding of a model folder, or of a file that an embedding was exported to."""
    found = model_of(path)
    made: Embedding = getattr(found, "embedding_", found)
    return made


def model_of(path: str) -> Any:
    """The model in a folder, or the embedding in a file that one was exported to."""
    check_there(path)
    if Path(path).is_file():
        from netfold.embedding import Embedding

        return Embedding.load(path)
    from netfold.models import load

    return load(path)


def check_there(path: str) -> None:
    """A path that is wrong is told as one, before anything is said of what should be in it."""
    if not Path(path).exists():
        raise InputError(f"{path}: there is no such file or folder; check its name")


def labelled_as(graph: Graph, known: Labels) -> Graph:
    """The graph with labels of the kind that the model has.

    A file holds integers or text by what happens to be in it: 7 is "7" in a file where another label is a name.
    """
    from netfold.graph import Graph

    if {graph.nodes.kind, known.kind} != {"int", "text"}:
        return graph
    labels = [str(x) if known.kind == "text" else integer(x) for x in graph.nodes]
    return Graph(graph.adjacency, labels, directed=graph.directed)  # type: ignore[arg-type]


def integer(label: Any) -> Any:
    """A label as an integer, where it is written as one."""
    written = isinstance(label, str) and re.fullmatch("0|-?[1-9][0-9]{0,17}", label)
    return int(label) if written else label
