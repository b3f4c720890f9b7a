"""`netfold map MODEL -o map.png`: a picture of the embedding."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from netfold.cli.flags import renamed_flag
from netfold.cli.inputs import (
    attributes_flag,
    class_file,
    classes_of,
    graph_of,
    hypergraph_of,
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

__all__ = ["map_"]

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
