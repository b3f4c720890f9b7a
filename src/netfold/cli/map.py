"""`netfold map MODEL -o map.png`: a picture of the embedding."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from netfold.cli.reading import embedding_of, graph_of, labelled_as
from netfold.cli.saying import json_flag, say
from netfold.cli.writing import check_new_file, force_flag
from netfold.errors import InputError

if TYPE_CHECKING:
    from netfold.graph import Graph
    from netfold.labels import Labels

__all__ = ["map_"]

_MEASURES = ("degree", "core")


@click.command("map", epilog="Example: netfold map sdne.netfold -o map.png --edges edges.csv --color degree")
@click.argument("model")
@click.option("-o", "--out", required=True, metavar="FILE", help="Ends in .png, .svg or .pdf.")
@click.option("--labels", type=click.IntRange(min=0), default=12, show_default=True, help="How many nodes to name.")
@click.option(
    "--method",
    type=click.Choice(["pca", "tsne"]),
    default="pca",
    show_default=True,
    help="Down to the plane: the directions of largest variance, or neighborhoods.",
)
@click.option("--edges", metavar="EDGES", help="Draw these edges too, and name the nodes that have most of them.")
@click.option(
    "--color",
    metavar="WHAT",
    help="degree or core, light to dark by how much of it a node has in EDGES; or a file: a node and its class a line.",
)
@force_flag
@json_flag
def map_(
    model: str, out: str, labels: int, method: str, edges: str | None, color: str | None, force: bool, as_json: bool
) -> None:
    """Draw the nodes of MODEL as points of a plane, the main ones with their labels.

    MODEL is a folder that `netfold fit` wrote, or a file that an embedding was exported to. Needs matplotlib:
    pip install 'netfold[viz]'.
    """
    from netfold import plot

    plot.check_ending(out)
    check_new_file(out, force=force)
    _check_color(color, edges)
    embedding = embedding_of(model)
    graph = labelled_as(graph_of(edges), embedding.nodes) if edges is not None else None
    colors = _colors(color, graph, embedding.nodes)
    plot.map(embedding, out, colors=colors, labels=labels, method=method, graph=graph)
    facts = {"nodes": len(embedding), "method": method, "labels": min(labels, len(embedding)), "path": out}
    say(facts, f"{len(embedding):,} nodes by {method}\n{out}", as_json=as_json)


def _check_color(color: str | None, edges: str | None) -> None:
    if color in _MEASURES and edges is None:
        raise InputError(f"--color {color} is counted in edges, and none are given; add --edges EDGES")
    if color is not None and color not in _MEASURES and not Path(color).is_file():
        raise InputError(f"--color {color} names no file of nodes and their classes, and is neither degree nor core")


def _colors(color: str | None, graph: Graph | None, nodes: Labels) -> dict[Any, Any] | None:
    """The kind of each node; of a node that the file gives several classes, the first."""
    if color is None:
        return None
    if color in _MEASURES and graph is not None:
        from netfold import plot

        return {"degree": plot.by_degree, "core": plot.by_core}[color](graph)
    from netfold.io import read_labels

    return {node: classes[0] for node, classes in read_labels(color, nodes).items()}
