"""`netfold groups MODEL -o groups.csv`: nodes in groups of like vectors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from netfold.cli.inputs import embedding_at, graph_of, named_as
from netfold.cli.names import spelled
from netfold.cli.output import check_new_file, check_table, force_flag, json_flag, say, write_table

if TYPE_CHECKING:
    from netfold.data.embedding import Embedding
    from netfold.data.groups import NodeGroups

__all__ = ["groups"]


@click.command(epilog="Example: netfold groups sdne.netfold -o groups.csv")
@click.argument("model")
@click.option("-k", type=click.IntRange(min=1), help="How many groups.  [default: chosen by the silhouette]")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Of k-means.")
@click.option("-o", "--out", metavar="FILE", help="Write node and group here; ends in .csv, .tsv or .parquet.")
@click.option("--edges", metavar="EDGES", help="Say what the nodes of each group have in common in this graph.")
@force_flag
@json_flag
def groups(
    model: str, k: int | None, seed: int, out: str | None, edges: str | None, force: bool, as_json: bool
) -> None:
    """Put the nodes of MODEL into groups by k-means of their vectors at length 1; group 0 is the largest.

    Without -k, numbers from 2 to 50 are tried on up to 5,000 nodes, and the one with the best mean silhouette is taken
    and said, with the silhouette: near 0, the groups are not apart.
    """
    if out is not None:
        check_table(out)
        check_new_file(out, force=force)
    embedding = embedding_at(model)
    of_nodes: NodeGroups = embedding.groups(k, seed=seed)
    facts: dict[str, Any] = {"nodes": len(of_nodes), "groups": of_nodes.k, "sizes": of_nodes.sizes}
    facts |= {"silhouettes": {str(x): value for x, value in of_nodes.silhouettes.items()}, "path": out}
    if edges is not None:
        facts["common"] = _common(of_nodes, embedding, edges)
    said = f"{len(of_nodes):,} nodes in {of_nodes.k:,} groups" + (f"; {of_nodes.chosen}" if k is None else "")
    said += "".join(f"\n  group {i}: {'; '.join(x)}" for i, x in enumerate(facts.get("common", [])) if x)
    if out is not None:
        write_table(out, {"node": list(of_nodes.nodes), "group": of_nodes.codes.tolist()})
        say(facts, f"{said}\n{out}", as_json=as_json)
        return
    members = of_nodes.to_dict()
    text = "\n".join(f"{group:4}  {spelled(node)}" for node, group in members.items())
    rows = [{"node": node, "group": group} for node, group in members.items()]
    say(facts | {"members": rows}, f"{said}\n{text}", as_json=as_json)


def _common(of_nodes: NodeGroups, embedding: Embedding, edges: str) -> list[list[str]]:
    """What the nodes of each group have in common, in words."""
    from netfold.show.explore.groups import described_groups, linked_rows
    from netfold.show.report.sheets import link_ends

    graph = named_as(graph_of(edges, embedding.nodes), embedding.nodes)
    linked = linked_rows(link_ends(embedding, graph), len(embedding))
    return [x["common"] for x in described_groups(of_nodes, embedding, graph, linked, [])]
