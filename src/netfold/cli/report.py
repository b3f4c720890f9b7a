"""`netfold map`, `netfold report` and `netfold demo`: a picture, a page, and both of small data."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from netfold.cli.flags import renamed_flag
from netfold.cli.inputs import (
    READING,
    attributes_flag,
    class_file,
    classes_of,
    graph_of,
    hypergraph_of,
    later_flags,
    later_of,
    model_of,
    named_as,
    named_as_known,
)  # fmt: skip
from netfold.cli.output import check_new_file, force_flag, json_flag, say
from netfold.data.text import counted
from netfold.errors import InputError

if TYPE_CHECKING:
    from netfold.data.graph import Graph
    from netfold.data.nodes import Nodes
    from netfold.show.report import Sheet

__all__ = ["demo", "map_", "method_flag", "report", "sheets_of"]


_MEASURES = ("degree", "core")


@click.command("map", epilog="Example: netfold map sdne.netfold -o map.png --edges edges.csv --color degree")
@click.argument("model")
@click.option("-o", "--out", required=True, metavar="FILE", help="Ends in .png, .svg, .pdf, or .gexf (for Gephi).")
@renamed_flag("--labels", "--names")
@click.option("--names", type=click.IntRange(min=0), default=12, show_default=True, help="How many nodes to name.")
@click.option(
    "--method",
    type=click.Choice(["pca", "tsne"]),
    default="pca",
    show_default=True,
    help="Down to the plane: the directions of largest variance, or neighborhoods.",
)
@click.option(
    "--edges",
    metavar="EDGES",
    multiple=True,
    help="Draw these too, and name the nodes that have most of them; can be repeated where hyperedges are in files.",
)
@click.option(
    "--color",
    metavar="WHAT",
    help="degree or core, light to dark by how much of it a node has in EDGES; a file: a node and its class a line; "
    "or one of --attributes.",
)
@attributes_flag
@click.option(
    "--uncertainty",
    metavar="DEVIATIONS",
    type=click.FloatRange(min=0),
    default=0,
    help="Draw the ellipse of each node's Gaussian, which DVNE makes, at so many standard deviations, as 1.",
)
@force_flag
@json_flag
def map_(
    model: str,
    out: str,
    names: int,
    method: str,
    edges: tuple[str, ...],
    color: str | None,
    attributes: tuple[str, ...] | None,
    uncertainty: float,
    force: bool,
    as_json: bool,
) -> None:
    """Draw the nodes of MODEL as points of a plane, the main ones with their names.

    MODEL is a folder that `netfold fit` wrote, or a file that an embedding was exported to. Nodes of a hypergraph are
    coloured by their types, and each of its EDGES is a faint dot in the middle of its nodes. Needs matplotlib:
    pip install 'netfold[viz]'.
    """
    from netfold import plot

    plot.check_ending(out)
    check_new_file(out, force=force)
    _check_color(color, edges)
    drawn = model_of(model)
    embedding, of_tuples = getattr(drawn, "embedding_", drawn), getattr(drawn, "reads", "graph") == "hypergraph"
    if of_tuples and color in _MEASURES:
        raise InputError(f"--color {color} is for a graph; nodes of a hypergraph are coloured by type, or by a file")
    hypergraph = None
    if of_tuples and edges:
        hypergraph = named_as_known(hypergraph_of(edges, attributes=attributes), embedding.nodes)
    graph = _graph(edges, embedding.nodes, attributes) if edges and not of_tuples else None
    colors = _colors(color, graph or hypergraph, embedding.nodes)
    plot.map(
        drawn,
        out,
        colors=colors,
        names=names,
        method=method,
        graph=graph,
        hypergraph=hypergraph,
        uncertainty=uncertainty,
    )
    facts = {"nodes": len(embedding), "method": method, "names": min(names, len(embedding)), "path": out}
    say(facts, f"{counted(len(embedding), 'node')} by {method}\n{out}", as_json=as_json)


def _graph(edges: tuple[str, ...], nodes: Nodes, attributes: tuple[str, ...] | None) -> Graph:
    if len(edges) > 1:
        raise InputError(f"--edges is given {len(edges)} times; the edges of a graph are in one file")
    return named_as(graph_of(edges[0], nodes, attributes=attributes), nodes)


def _check_color(color: str | None, edges: tuple[str, ...]) -> None:
    if color in _MEASURES and not edges:
        raise InputError(f"--color {color} is counted in edges, and none are given; add --edges EDGES")
    if color is not None and color not in _MEASURES and not edges and not Path(class_file(color)[0]).is_file():
        what = f"--color {color} names no file of nodes and their classes, and is neither degree nor core"
        raise InputError(f"{what}; an attribute of nodes needs --edges EDGES and --attributes FILE")


def _colors(color: str | None, graph: Any, nodes: Nodes) -> dict[Any, Any] | None:
    """The kind of each node; of a node that the file gives several classes, the first."""
    if color is None:
        return None
    if color in _MEASURES and graph is not None:
        from netfold import plot

        return {"degree": plot.by_degree, "core": plot.by_core}[color](graph)
    if graph is not None and graph.attributes is not None and color in graph.attributes.names:
        from netfold import plot

        return dict(plot.by_attribute(graph, color))
    if not Path(class_file(color)[0]).is_file():
        named = "" if graph is None or graph.attributes is None else f" ({', '.join(graph.attributes.names)})"
        raise InputError(f"--color {color} is neither a file of classes, degree or core, nor an attribute{named}")
    return {node: classes[0] for node, classes in classes_of(color, nodes).items()}


# -------------------------------------------------------------------- report


method_flag: Callable[[Any], Any] = click.option(
    "--method",
    type=click.Choice(["auto", "pca", "tsne"]),
    default="auto",
    show_default=True,
    help="Down to the plane; auto is tsne for up to 5,000 nodes that are points, and pca otherwise.",
)


@click.command(epilog="Example: netfold report sdne.netfold -o report.html --edges edges.csv --classes classes.csv")
@click.argument("models", metavar="MODEL...", nargs=-1, required=True)
@click.option("-o", "--out", required=True, metavar="FILE", help="The page to write, as report.html.")
@click.option(
    "--edges",
    metavar="EDGES",
    multiple=True,
    help="Measure the models on these, beside cheap baselines, and colour nodes by degree; can be repeated where "
    "hyperedges are in several files, or where some models read edges and others hyperedges.",
)
@click.option(
    "--classes",
    metavar="FILE",
    multiple=True,
    help="Colour nodes by their classes, and measure how well the models predict them: a node and one of its classes "
    "on each line, as 7,red; can be repeated.",
)
@renamed_flag("--labels", "--classes")
@method_flag
@click.option("--title", metavar="TEXT", help="The heading.  [default: the models' names]")
@later_flags
@click.option("--evaluate/--no-evaluate", default=True, help="Whether to measure the models, which may take a minute.")
@force_flag
@json_flag
def report(
    models: tuple[str, ...],
    out: str,
    edges: tuple[str, ...],
    classes: tuple[str, ...],
    method: str,
    title: str | None,
    evaluate: bool,
    force: bool,
    as_json: bool,
    **reading: Any,
) -> None:
    """Write one page about one or several models that opens in any browser, without a network.

    A map to move about in, with a search that flies to a node and lists its nearest; loss curves; evaluation beside
    cheap baselines; parameters, data, time and memory. MODEL is a folder that `netfold fit` wrote, or a file that an
    embedding was exported to; of several, each is a tab.
    """
    check_new_file(out, force=force)
    missing = next((path for path in classes if not Path(class_file(path)[0]).is_file()), None)
    if missing is not None:
        raise InputError(f"--classes {missing} names no file; it should have a node and its class on each line")
    from netfold.show.report import write

    sheets = sheets_of(models, edges, classes, reading)
    write(sheets, out, title=title, method=method, evaluate=evaluate, force=force, on_task=_measuring)
    size = Path(out).stat().st_size
    counts = [len(x.embedding) for x in sheets]
    facts = {"models": [x.name for x in sheets], "nodes": counts, "bytes": size, "path": out}
    words = ", ".join(f"{x.name} of {counted(len(x.embedding), 'node')}" for x in sheets)
    say(facts, f"{words}; {size / 1e6:,.1f} MB\n{out}", as_json=as_json)


def _measuring(task: str) -> None:
    click.echo(f"report: {task}", err=True)


def sheets_of(
    models: Sequence[str], edges: tuple[str, ...], classes: Sequence[str], reading: Mapping[str, Any]
) -> list[Sheet]:
    """The models of some paths, with their edges and classes, each with a name of its own."""
    from netfold.show.report import Sheet

    loaded = [model_of(path) for path in models]
    files = _dealt(edges, {_reads(model) for model in loaded}, reading["delimiter"])
    sheets = []
    for name, model in zip(_names(models, loaded), loaded, strict=True):
        nodes, own = getattr(model, "embedding_", model).nodes, files[_reads(model)]
        columns = dict(zip(_stems(classes), (classes_of(path, nodes) for path in classes), strict=True))
        sheets.append(Sheet(name, model, _data(model, own, reading) if own else None, columns))
    return sheets


def _reads(model: Any) -> str:
    """Plain vectors are taken to be those of a graph."""
    return str(getattr(model, "reads", "graph"))


def _dealt(edges: tuple[str, ...], kinds: set[str], delimiter: str | None) -> dict[str, tuple[str, ...]]:
    """Which files the models of a kind read: all, or where there are both kinds, those that look like theirs."""
    if len(kinds) == 1:
        return dict.fromkeys(kinds, edges)
    from netfold.io.layout import file_columns

    typed = {path for path in edges if file_columns(path, delimiter).hyperedges}
    return {"hypergraph": tuple(x for x in edges if x in typed), "graph": tuple(x for x in edges if x not in typed)}


def _names(paths: Sequence[str], models: Sequence[Any]) -> list[str]:
    """The kind of each model, or its file's name where two are of a kind, or that is no model."""
    own = [getattr(x, "model", x) for x in models]
    kinds = [type(x).__name__ if hasattr(x, "embedding_") else Path(p).stem for x, p in zip(own, paths, strict=True)]
    count = Counter(kinds)
    return [kind if count[kind] == 1 else str(path) for kind, path in zip(kinds, paths, strict=True)]


def _stems(paths: Sequence[str]) -> list[str]:
    """What columns of classes are called: their files' names, whole where two would be the same."""
    stems = [Path(path).name.split(".")[0] for path in paths]
    return [stem if stems.count(stem) == 1 else path for stem, path in zip(stems, paths, strict=True)]


def _data(model: Any, edges: tuple[str, ...], reading: Mapping[str, Any]) -> Any:
    """The edges as the model names its nodes."""
    if hasattr(model, "reads"):
        return later_of(model, edges, reading)
    if len(edges) > 1:
        raise InputError(f"--edges is given {len(edges)} times; the edges of a graph are in one file")
    options = {name: value for name, value in reading.items() if name in READING}
    return named_as(graph_of(edges[0], model.nodes, **options), model.nodes)


@click.command(epilog="Example: netfold demo demo && open demo/report.html")
@click.argument("folder", type=click.Path(path_type=Path), default=Path("demo"))
def demo(folder: Path) -> None:
    """Fit the five models to small data and write models, pictures and a report into FOLDER (demo, if not given)."""
    import torch

    from netfold.show.demo import run_demo

    torch.set_num_threads(1)  # so small a graph trains many times faster without threads that wait for one another
    run_demo(folder)
