"""`netfold transform MODEL EDGES -o FILE`: vectors for nodes that the model never saw."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from netfold.cli.reading import graph_of, reading_flags
from netfold.cli.saying import json_flag, say
from netfold.cli.writing import check_new_file, force_flag

if TYPE_CHECKING:
    from netfold.graph import Graph
    from netfold.labels import Labels

__all__ = ["transform"]


@click.command(epilog="Example: netfold transform sdne.netfold tomorrow.csv -o new.parquet")
@click.argument("model")
@click.argument("edges")
@click.option("-o", "--out", required=True, metavar="FILE", help="Ends in .parquet, .npz, .npy, .txt, .w2v or .bin.")
@reading_flags
@force_flag
@json_flag
def transform(model: str, edges: str, out: str, force: bool, as_json: bool, **reading: Any) -> None:
    """Give the new nodes in EDGES their vectors.

    MODEL is a folder that `netfold fit` wrote. EDGES holds the new nodes and their edges to known ones, as a file or
    as a saved graph; it is read as directed where the model's graph was.
    """
    from netfold import formats
    from netfold.models import load

    formats.writer(Path(out))  # refuses an unknown ending
    check_new_file(out, force=force)
    known = load(model)
    if not (Path(edges) / "graph.json").exists():
        reading["directed"] = bool(known.graph_facts_["directed"])
    graph = _labelled_as(graph_of(edges, **reading), known.embedding_.nodes)
    new = known.transform(graph)
    new.save(out, force=force)
    facts = {"model": type(known).__name__, "nodes": graph.n_nodes, "new_nodes": len(new)}
    facts |= {"dim": new.dim, "path": out}
    say(facts, f"{len(new):,} of {graph.n_nodes:,} nodes are new, and have their vectors in\n{out}", as_json=as_json)


def _labelled_as(graph: Graph, known: Labels) -> Graph:
    """The graph with labels of the kind that the model has.

    A file holds integers or text by what happens to be in it: 7 is "7" in a file where another label is a name.
    """
    from netfold.graph import Graph

    if {graph.nodes.kind, known.kind} != {"int", "text"}:
        return graph
    labels = [str(x) if known.kind == "text" else _integer(x) for x in graph.nodes]
    return Graph(graph.adjacency, labels, directed=graph.directed)  # type: ignore[arg-type]


def _integer(label: str) -> int | str:
    return int(label) if re.fullmatch("0|-?[1-9][0-9]{0,17}", label) else label
