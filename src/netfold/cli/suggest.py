"""`netfold suggest MODEL --edges FILE`: the pairs that are not linked and have the best scores."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from netfold.cli.flags import PairScore
from netfold.cli.inputs import graph_of, later_of, model_of, named_as, reading_flags
from netfold.cli.names import node_typed, spelled
from netfold.cli.output import check_new_file, check_table, force_flag, json_flag, say, write_table
from netfold.learn.progress import slow_steps

if TYPE_CHECKING:
    from netfold.data.graph import Graph

__all__ = ["suggest"]

_PRINTED = 1000
"""Pairs that are printed where no file is given, unless -k says otherwise."""


@click.command(epilog="Example: netfold suggest sdne.netfold --edges edges.csv -k 1000 -o links.parquet")
@click.argument("model")
@click.option("--edges", required=True, metavar="FILE", help="The links that there are: a file of edges, or a graph.")
@click.option("-k", type=click.IntRange(min=1), default=_PRINTED, show_default=True, help="How many.")
@click.option("--node", metavar="NODE", help="Only pairs of this node.")
@click.option(
    "--score",
    type=PairScore(),
    help="How pairs are scored.  [default: the model's own]",
)
@click.option("-o", "--out", metavar="FILE", help="Write the pairs here; ends in .csv, .tsv or .parquet.")
@reading_flags
@force_flag
@click.option("--quiet", "-q", is_flag=True, help="Show no progress.")
@json_flag
def suggest(
    model: str,
    edges: str,
    k: int,
    node: str | None,
    score: str | None,
    out: str | None,
    force: bool,
    quiet: bool,
    as_json: bool,
    **reading: Any,
) -> None:
    """List the pairs of nodes that have no link in --edges and the best scores, the best first.

    MODEL is a folder that `netfold fit` wrote, or a file that an embedding was exported to. Where edges have directions
    both are scored; of a bipartite graph only pairs between its sides are. Every pair is looked at, so that the time
    grows with the square of the nodes; --node asks about one.
    """
    from netfold.data.embedding import Embedding
    from netfold.evaluate.suggestions import suggest as best_pairs
    from netfold.evaluate.suggestions import suggested_by

    if out is not None:
        check_table(out)
        check_new_file(out, force=force)
    known = model_of(model)
    nodes = known.nodes if isinstance(known, Embedding) else known.embedding_.nodes
    graph = _graph(known, edges, reading)
    asked = None if node is None else node_typed(nodes, node)
    said = None if quiet else slow_steps("suggest", "nodes")
    pairs = best_pairs(known, graph, k, node=asked, score=score, on_rows=said)
    facts: dict[str, Any] = {"score": score or suggested_by(known), "directed": graph.directed}
    facts |= {"bipartite": graph.sides is not None, "links": len(pairs), "path": out}
    if out is not None:
        columns = [list(column) for column in zip(*pairs, strict=True)] if pairs else [[], [], []]
        write_table(out, dict(zip(("source", "target", "score"), columns, strict=True)))
        say(facts, f"{len(pairs):,} pairs that are not linked, by {facts['score']}, are in\n{out}", as_json=as_json)
        return
    rows = [{"source": u, "target": v, "score": x} for u, v, x in pairs]
    text = "\n".join(f"{x:8.4f}  {spelled(u)}, {spelled(v)}" for u, v, x in pairs)
    say(facts | {"suggested": rows}, text or "all pairs are linked", as_json=as_json)


def _graph(known: Any, edges: str, reading: dict[str, Any]) -> Graph:
    from netfold.data.embedding import Embedding

    if isinstance(known, Embedding):
        return named_as(graph_of(edges, known.nodes, **reading), known.nodes)
    graph: Graph = later_of(known, (edges,), reading)
    return graph
