"""`netfold nearest MODEL LABEL`: the nodes nearest to one."""

from __future__ import annotations

import click

from netfold.cli.reading import embedding_of
from netfold.cli.saying import json_flag, say, shown

__all__ = ["nearest"]


@click.command(epilog="Example: netfold nearest sdne.netfold alice -k 5   (a label that begins with a dash: ... -- -7)")
@click.argument("model")
@click.argument("label")
@click.option("-k", type=click.IntRange(min=1), default=10, show_default=True, help="How many.")
@click.option(
    "--metric",
    type=click.Choice(["cosine", "euclidean", "dot"]),
    help="How near is measured.  [default: cosine; euclidean for Gaussians]",
)
@json_flag
def nearest(model: str, label: str, k: int, metric: str | None, as_json: bool) -> None:
    """List the nodes nearest to LABEL, the nearest first, each with its score.

    MODEL is a folder that `netfold fit` wrote, or a file that an embedding was exported to. The score is a similarity
    (cosine, dot) or a distance (euclidean).
    """
    embedding = embedding_of(model)
    query = embedding.nodes.parse(label)
    found = embedding.nearest(query, k, metric=metric)
    used = metric or ("cosine" if embedding.std is None else "euclidean")
    rows = [{"label": near, "score": score} for near, score in found]
    text = "\n".join(f"{score:8.4f}  {shown(near)}" for near, score in found)
    say({"label": query, "metric": used, "nearest": rows}, text, as_json=as_json)
