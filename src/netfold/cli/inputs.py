"""What a command reads: edges, hyperedges, saved models and classes, the flags that say how, and nodes as typed."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from netfold.cli.names import integer, spelled
from netfold.data.text import is_typed, type_in_words
from netfold.errors import InputError

if TYPE_CHECKING:
    from netfold.data.embedding import Embedding
    from netfold.data.graph import Graph
    from netfold.data.hypergraph import Hypergraph
    from netfold.data.nodes import Nodes
    from netfold.data.reading import HyperedgeReading, Reading
    from netfold.embedder.embedder import Embedder

_Data = TypeVar("_Data", "Graph", "Hypergraph")

__all__ = [
    "CLASSES_HELP",
    "HYPEREDGES",
    "INPUTS",
    "READING",
    "Reader",
    "Spelling",
    "attributes_flag",
    "check_there",
    "class_file",
    "classes_of",
    "column_flags",
    "columns_flag",
    "columns_of",
    "data_of",
    "directed_flag",
    "either_flags",
    "embedding_at",
    "graph_of",
    "hypergraph_of",
    "integer",
    "later_flags",
    "later_of",
    "model_of",
    "named_as",
    "named_as_known",
    "plain_names",
    "reading_flags",
    "refuse_reading_flags",
    "role_flags",
    "say_reading",
    "text_flags",
    "typed_flags",
    "weighted_flag",
]


_ROLES = ("source", "target", "weight", "time", "type")
READING = ("directed", "weighted", "bipartite", "delimiter", "header", "attributes", *_ROLES)
"""The names of the flags that say how a file of edges is read: arguments of `read_edges`."""

directed_flag: Callable[[Any], Any] = click.option(
    "--directed", is_flag=True, default=None, help="Each line is an edge from the first node to the second."
)


weighted_flag: Callable[[Any], Any] = click.option(
    "--weighted/--unweighted", default=None, help="Insist on a weight column, or pass it over."
)


_bipartite_flag: Callable[[Any], Any] = click.option(
    "--bipartite/--no-bipartite",
    default=None,
    help="The two columns are two sides, called user:1 and item:1; or they are not.  [default: one set, and said]",
)


class ColumnName(click.ParamType):  # type: ignore[type-arg]
    """The name of a column, or its place from 1, which Python counts from 0; where there may be `none`, - is False."""

    name = "column"

    def __init__(self, *, none: bool = False):
        self._none = none

    def get_metavar(self, param: click.Parameter, ctx: click.Context) -> str:
        return "COLUMN"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if value == "-" and self._none:
            return False
        if not isinstance(value, str) or not value.isdecimal():
            return value
        if int(value) < 1:
            self.fail("columns are counted from 1; give a name, or 1 for the first", param, ctx)
        return int(value) - 1


_ROLE_HELP = {
    "source": "The column of the nodes that edges start from: its name, or 1 for the first.  [default: detected]",
    "target": "The column of the nodes that edges lead to.  [default: detected]",
    "weight": "The column of weights.  [default: one called weight, w, value, count, ...]",
    "time": "The column of times, which is never a weight; - keeps none, which is quicker.  [default: detected]",
    "type": "The column that says what kind of edge it is; graphs pass it over.",
}


def role_flags(command: Any) -> Any:
    """The flags that say which column of a file of edges is what."""
    for role in reversed(_ROLES):
        command = click.option(f"--{role}", type=ColumnName(none=role == "time"), help=_ROLE_HELP[role])(command)
    return command


def _files_or_none(ctx: click.Context, flag: click.Parameter, value: tuple[str, ...]) -> tuple[str, ...] | None:
    return value or None


attributes_flag: Callable[[Any], Any] = click.option(
    "--attributes",
    multiple=True,
    metavar="FILE",
    callback=_files_or_none,
    help="What is known about nodes: a row a node, or node,feature[,value]; FILE:COLUMN,COLUMN reads those alone. "
    "Of a type of nodes of a hypergraph, TYPE=FILE.",
)


def reading_flags(command: Any) -> Any:
    """The flags that every command with a file of edges has."""
    return role_flags(weighted_flag(_bipartite_flag(attributes_flag(text_flags(command)))))


def text_flags(command: Any) -> Any:
    """The flags that every command with a file of text has."""
    for flag in (
        click.option(
            "--header/--no-header", default=None, help="Whether line 1 names the columns.  [default: detected]"
        ),
        click.option("--delimiter", metavar="CHAR", help="What separates the columns.  [default: detected]"),
    ):
        command = flag(command)
    return command


def graph_of(path: str, known: Nodes | None = None, **reading: Any) -> Graph:
    """The graph in a file of edges, or in a folder that `Graph.save` wrote; None stands for a flag not given.

    `known` are nodes that the file may name: a line 1 that does is no header.
    """
    flags = {name: value for name, value in reading.items() if value is not None}
    attributes = flags.pop("attributes", None)
    if any((Path(path) / name).exists() for name in ("graph.json", "parts.json")):
        refuse_reading_flags(path, flags)
        from netfold.data.graph import Graph

        return with_attributes(Graph.load(path), attributes)
    from netfold.io.edges import read_edges

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # what it would say of the header, the line below says
        graph = read_edges(path, **flags)
        if known is not None and graph.reading is not None and graph.reading.undecided:
            cells = [graph.reading.roles[end] for end in ("source", "target")]
            graph = read_edges(path, **flags | {"header": False}) if any(map(known.__contains__, cells)) else graph
    say_reading(path, graph.reading, graph)
    return with_attributes(graph if known is None else named_as(graph, known), attributes)


def with_attributes(graph: _Data, files: Sequence[str] | None) -> _Data:
    """The graph or hypergraph and what files say about its nodes; what was read is said on standard error."""
    if not files:
        return graph
    types = getattr(graph, "types", ())
    if len(types) > 1:
        given: Any = dict(_of_type(file, types) for file in files)
    elif len(files) > 1:
        raise InputError(f"--attributes is given {len(files)} times; the attributes of nodes are in one file")
    else:
        given = files[0]
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always", UserWarning)
        known: Any = graph.with_attributes(given)
    context = click.get_current_context(silent=True)
    if context is None or not context.params.get("quiet"):
        click.echo(f"read {', '.join(files)}: {known.attributes}", err=True)
    for warning in said:
        click.echo(f"read {warning.message}", err=True)
    return known  # type: ignore[no-any-return]


def _of_type(text: str, types: Sequence[str]) -> tuple[str, str]:
    """The type and the file in TYPE=FILE."""
    name, equals, file = text.partition("=")
    if not equals or name not in types:
        raise InputError(f"--attributes {text} does not say of which type; write {types[0]}={text.rpartition('=')[2]}")
    return name, file


_MOST_COLORED = 5_000_000
"""Edges of a file up to which reading it looks for two sides, a second's work; `netfold info` always does."""


def say_reading(path: str, reading: Reading | HyperedgeReading | None, graph: Graph | None = None) -> None:
    """Say on standard error what was read; --quiet leaves that out, unless something about it is not certain."""
    context = click.get_current_context(silent=True)
    quiet = context is not None and bool(context.params.get("quiet"))
    unsure = ("undecided", "shared", "missing", "twins", "direction_lost", "alike", "measures")
    uncertain = any(getattr(reading, fact, False) for fact in unsure)
    if reading is None or (quiet and not uncertain):
        return
    line = f"read {path}: {reading}{_sides(graph)}"
    said = set() if context is None else context.meta.setdefault("netfold.read", set())
    if line not in said:  # one file for several models is read for each, and said once
        said.add(line)
        click.echo(line, err=True)


def _sides(graph: Graph | None) -> str:
    """That a graph is bipartite, which changes what it is asked."""
    if graph is None or graph.n_edges > _MOST_COLORED or graph.sides is None:
        return ""
    left, right = (int((graph.sides == side).sum()) for side in (0, 1))
    return f"; bipartite: {left:,} and {right:,} nodes, and all edges between them"


def refuse_reading_flags(path: str, reading: dict[str, Any]) -> None:
    """A folder knows what it holds: a flag that would say otherwise is not passed over in silence."""
    flags = [f"--{name}" for name, value in reading.items() if value is not None]
    if flags:
        raise InputError(f"{path} is a folder that netfold wrote, and {flags[0]} is for a file of edges; leave it out")


def embedding_at(path: str) -> Embedding:
    """The embedding of a model folder (of its last version, or that of MODEL@5), or of a file that one was exported to.

    Of a model that has no versions it is read without loading torch.
    """
    from netfold.embedder.versions import split_version

    folder, version = split_version(path)
    check_there(str(folder))
    if folder.is_file() or (folder / "parts.json").exists():
        from netfold.data.embedding import Embedding

        return Embedding.load(folder)
    if version is not None or (folder / "versions").is_dir():
        whole: Embedding = model_of(path).embedding_
        return whole
    from netfold.models import load

    return load(path, only="embedding")


def model_of(path: str) -> Any:
    """The model in a folder, its last version or that of MODEL@5; or the embedding in a file or parts that hold one."""
    if Path(path).is_file() or (Path(path) / "parts.json").exists():
        return embedding_at(path)
    from netfold.embedder.versions import split_version

    folder, version = split_version(path)
    check_there(str(folder))
    from netfold.models import load

    if version is None and not (folder / "versions").is_dir():
        return load(folder)
    from netfold.embedder.evolving import Evolving

    return Evolving.open(path)


def check_there(path: str) -> None:
    """A path that is wrong is told as one, before anything is said of what should be in it."""
    if not Path(path).exists():
        raise InputError(f"{path}: there is no such file or folder; check its name")


def named_as(graph: Graph, known: Nodes) -> Graph:
    """The graph with its nodes spelled as the model's are: integers or text.

    A file holds integers or text by what happens to be in it: 7 is "7" in a file where another node is a name.
    """
    if {graph.nodes.kind, known.kind} != {"int", "text"}:
        return graph
    nodes = [str(x) if known.kind == "text" else integer(x) for x in graph.nodes]
    return replace(graph, nodes=nodes)  # type: ignore[arg-type]


HYPEREDGES = ("columns", "skip_loops", "delimiter", "header", "attributes")
"""The names of the flags that say how a file of hyperedges is read: arguments of `read_hyperedges`."""


columns_flag: Callable[[Any], Any] = click.option(
    "--columns",
    metavar="NAME,...",
    help="Read these columns alone; userId=user renames one, tail=tail:entity gives its type.",
)


def column_flags(command: Any) -> Any:
    """The flags that only files of hyperedges have."""
    loops = "Leave out hyperedges that name a node twice."
    return columns_flag(click.option("--skip-loops", is_flag=True, default=None, help=loops)(command))


def hypergraph_of(paths: Sequence[str], **reading: Any) -> Hypergraph:
    """The hypergraph in files of hyperedges, or in one of HIF json; None stands for a flag not given."""
    flags = {name: value for name, value in reading.items() if value is not None}
    attributes = flags.pop("attributes", None)
    if any(path.endswith((".json", ".json.gz")) for path in paths):
        return with_attributes(_from_hif(paths, flags), attributes)
    from netfold.io.hyperedges import read_hyperedges

    if "columns" in flags:
        flags["columns"] = columns_of(flags["columns"], header=flags.get("header", True))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # what it would say, the line below says
        hypergraph = read_hyperedges(list(paths), **flags)
    say_reading(", ".join(map(str, paths)), hypergraph.reading)
    return with_attributes(hypergraph, attributes)


def columns_of(text: str, *, header: bool = True) -> list[str | None] | dict[str, str]:
    """What --columns says, as `read_hyperedges` takes it.

    >>> columns_of("userId=user,tag"), columns_of("head:entity,-,tail:entity", header=False)
    ({'userId': 'user', 'tag': 'tag'}, ['head:entity', None, 'tail:entity'])
    """
    names = [part.strip() for part in text.split(",")]
    if not header:
        return [None if name == "-" else name for name in names]
    renamed = [name.partition("=") for name in names]
    return {(old if equals else old.partition(":")[0]): new if equals else old for old, equals, new in renamed}


def _from_hif(paths: Sequence[str], flags: dict[str, Any]) -> Hypergraph:
    from netfold.io.hif import read_hif

    if len(paths) > 1:
        raise InputError(f"{paths[0]} and {paths[1]} are several files, of which one is json; HIF json comes alone")
    if flags:
        flag = next(iter(flags)).replace("_", "-")
        raise InputError(f"{paths[0]} is HIF json, and --{flag} is for a file with columns; leave it out")
    return read_hif(paths[0])


class Spelling:
    """How a model spells its nodes, from types and from what a file has at a position.

    A file holds integers or text by what happens to be in it, and (type, node) where it has several types.
    """

    def __init__(self, known: Nodes):
        self._known = known
        self._typed = known.kind == "json" and len(known) > 0 and all(map(is_typed, known))
        self._texts = {node[0] for node in known if isinstance(node[1], str)} if self._typed else set()
        self._types = {node[0] for node in known} if self._typed else set()

    def node(self, name: str, plain: Any) -> Any:
        """The node of this type that is called so in a file."""
        if not self._typed:
            return next((x for x in (plain, str(plain), integer(plain)) if x in self._known), plain)
        if name in self._texts:
            return name, str(plain)
        return name, integer(plain) if name in self._types else plain


def plain_names(hypergraph: Hypergraph) -> list[Any]:
    """What a file calls its nodes, without their types."""
    several = len(hypergraph.types) > 1
    return [x[1] if several and is_typed(x) else x for x in hypergraph.nodes]


def named_as_known(hypergraph: Hypergraph, known: Nodes) -> Hypergraph:
    """The hypergraph with its nodes spelled as a model's are."""
    from netfold.data.hypergraph import Hypergraph

    nodes = list(map(Spelling(known).node, hypergraph.node_types, plain_names(hypergraph)))
    same: Any = {"types": hypergraph.types, "attributes": hypergraph.attributes}
    return Hypergraph.from_kinds(hypergraph.kinds, nodes=nodes, node_types=hypergraph.type_codes, **same)


def either_flags(command: Any) -> Any:
    """--hyperedges, and the flags on reading that either file has."""
    words = "Read a hyperedge a line; line 1 names their roles.  [default: detected]"
    command = column_flags(reading_flags(directed_flag(command)))
    return click.option("--hyperedges", is_flag=True, default=None, help=words)(command)


def data_of(path: str, flags: Mapping[str, Any]) -> Any:
    """The hypergraph in a file, where it is said or its first line says that it holds one, or else the graph."""
    if flags["hyperedges"] or _looks_typed(path, flags):
        return hypergraph_of([path], **_only(HYPEREDGES, flags, "hyperedges"))
    return graph_of(path, **_only(READING, flags, "edges"))


def _looks_typed(path: str, flags: Mapping[str, Any]) -> bool:
    """Three columns or more that are called after roles; --weighted, or that there is no header, says otherwise."""
    from netfold.io.layout import file_columns

    if flags["header"] is False or any(
        flags.get(x) is not None for x in ("directed", "weighted", "bipartite", *_ROLES)
    ):
        return path.endswith((".json", ".json.gz"))
    return file_columns(path, flags["delimiter"], flags["header"]).hyperedges


def typed_flags(flags: Mapping[str, Any]) -> list[str]:
    """The flags on reading as they are typed, for a command that reads the same file.

    >>> typed_flags({"directed": True, "weighted": False, "delimiter": ";", "header": None})
    ['--directed', '--unweighted', '--delimiter', ';']
    """
    switches = {
        "directed": ("--directed", ""),
        "weighted": ("--weighted", "--unweighted"),
        "bipartite": ("--bipartite", "--no-bipartite"),
        "header": ("--header", "--no-header"),
        "skip_loops": ("--skip-loops", ""),
    }
    words = [switches[x][0 if flags[x] else 1] for x in switches if flags.get(x) is not None]
    for name in ("delimiter", "columns", *_ROLES):
        value = flags.get(name)
        plain = "-" if value is False else str(value + 1) if isinstance(value, int) else str(value)
        words += [] if value is None else [f"--{name}", plain]
    for file in flags.get("attributes") or ():
        words += ["--attributes", file]
    return [word for word in words if word]


def _only(names: tuple[str, ...], flags: Mapping[str, Any], noun: str) -> dict[str, Any]:
    """The flags that have a meaning; a sentence about the first that has none."""
    known = dict.fromkeys((*READING, *HYPEREDGES))
    odd = next((name for name in known if flags.get(name) is not None and name not in names), None)
    if odd is not None:
        raise InputError(f"--{odd.replace('_', '-')} has no meaning for a file of {noun}; leave it out")
    return {name: flags[name] for name in names}


@dataclass(frozen=True)
class Reader:
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
    "graph": Reader(
        lambda command: click.argument("edges")(directed_flag(reading_flags(command))),
        READING,
        graph_of,
        "edges",
        "edges.csv",
        "EDGES is a file with an edge, and perhaps its weight, on each line (csv, tsv, blanks, parquet; plain, .gz or "
        ".zst), or a folder that Graph.save wrote.",
    ),
    "hypergraph": Reader(
        lambda command: click.argument("edges", nargs=-1, required=True)(
            column_flags(attributes_flag(text_flags(command)))
        ),
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
    return column_flags(reading_flags(command))


def later_of(model: Embedder, paths: tuple[str, ...], flags: Mapping[str, Any]) -> Any:
    """A later graph or hypergraph for a fitted model, with nodes of the sort that it has."""
    source = INPUTS[model.reads]
    other = next((name for name, value in flags.items() if value is not None and name not in source.names), None)
    if other is not None:
        flag, words = other.replace("_", "-"), f"{type_in_words(model)} reads {source.noun}"
        raise InputError(f"--{flag} has no meaning where {words}; leave it out")
    known, reading = model.embedding_.nodes, {name: flags[name] for name in source.names if name in flags}
    if not paths:
        return named_as(_without_edges(model, flags.get("attributes")), known)
    if model.reads == "hypergraph":
        return named_as_known(hypergraph_of(paths, **reading), known)
    if len(paths) > 1:
        raise InputError(f"{paths[1]} is one file too many; {type(model).__name__} reads its edges from one")
    if not any((Path(paths[0]) / name).exists() for name in ("graph.json", "parts.json")):
        reading["directed"] = bool(model.graph_facts_["directed"])
    return named_as(graph_of(paths[0], known, **reading), known)


def _without_edges(model: Embedder, attributes: Sequence[str] | None) -> Graph:
    """A graph of nodes of which attributes alone are known."""
    from netfold.data.graph import Graph

    if not attributes or model.reads == "hypergraph":
        also = "" if model.reads == "hypergraph" else ", or --attributes FILE for nodes without links"
        raise InputError(f"no file of edges is given; name one{also}")
    return with_attributes(Graph.from_edges([], directed=bool(model.graph_facts_["directed"])), attributes)


CLASSES_HELP = (
    "A node and one of its classes on each line, as 7,red; a node with a type as user:7,red. Of a table with more "
    "columns, FILE:COLUMN names that of the classes."
)


def class_file(path: str) -> tuple[str, str | None]:
    """The file and the column that FILE or FILE:COLUMN means."""
    if Path(path).exists() or ":" not in path:
        return path, None
    file, _, column = path.rpartition(":")
    return file, column


def classes_of(path: str, nodes: Nodes) -> dict[Any, tuple[Any, ...]]:
    """The classes of each node; nodes with types are spelled in the file as people type them, user:u1."""
    from netfold.io.classes import read_classes

    path, column = class_file(path)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always", UserWarning)
        if nodes.kind != "json":
            classes = read_classes(path, nodes, column=column)
        else:
            classes = _typed_classes(path, nodes, read_classes(path, column=column))
    for warning in said:
        click.echo(f"read {warning.message}", err=True)
    return classes


def _typed_classes(path: str, nodes: Nodes, classes: dict[Any, tuple[Any, ...]]) -> dict[Any, tuple[Any, ...]]:
    named = {spelled(node): node for node in nodes}
    unknown = [node for node in classes if str(node) not in named]
    if len(unknown) == len(classes):
        raise InputError(f"{path}: no node is called {unknown[0]}; nodes are called as {next(iter(named))}")
    if unknown:
        several = "nodes are" if len(unknown) > 1 else "nodes is"
        words = f"{len(unknown):,} of {len(classes):,} {several} not in the graph, and passed over ({unknown[0]})"
        warnings.warn(f"{path}: {words}", stacklevel=2)
    return {named[str(node)]: each for node, each in classes.items() if str(node) in named}
