"""`netfold map MODEL -o map.png`: a picture of the embedding."""

from __future__ import annotations

import click

from netfold.cli.reading import embedding_of, graph_of
from netfold.cli.saying import json_flag, say
from netfold.cli.writing import check_new_file, force_flag

__all__ = ["map_"]


@click.command("map", epilog="Example: netfold map sdne.netfold -o map.png --edges edges.csv --labels 20")
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
@force_flag
@json_flag
def map_(model: str, out: str, labels: int, method: str, edges: str | None, force: bool, as_json: bool) -> None:
    """Draw the nodes of MODEL as points of a plane, the main ones with their labels.

    MODEL is a folder that `netfold fit` wrote, or a file that an embedding was exported to. Needs matplotlib:
    pip install 'netfold[viz]'.
    """
    from netfold import plot

    plot.check_ending(out)
    check_new_file(out, force=force)
    embedding = embedding_of(model)
    graph = graph_of(edges) if edges is not None else None
    plot.map(embedding, out, labels=labels, method=method, graph=graph)
    facts = {"nodes": len(embedding), "method": method, "labels": min(labels, len(embedding)), "path": out}
    say(facts, f"{len(embedding):,} nodes by {method}\n{out}", as_json=as_json)
