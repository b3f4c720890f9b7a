"""`netfold transform MODEL EDGES -o FILE`: vectors for nodes that the model never saw."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import click

from netfold.cli.inputs import later_flags, later_of, model_of
from netfold.cli.output import check_new_file, force_flag, json_flag, say
from netfold.data.text import counted
from netfold.errors import InputError

__all__ = ["transform"]


@click.command(epilog="Example: netfold transform sdne.netfold tomorrow.csv -o new.parquet")
@click.argument("model")
@click.argument("edges", nargs=-1)
@click.option(
    "-o", "--out", required=True, metavar="FILE", help="Ends in .parquet, .npz, .npy, .csv, .tsv, .txt, .w2v or .bin."
)
@click.option(
    "--how",
    type=click.Choice(["encode", "refine", "mean"]),
    help="By the encoder, the objective or the mean of neighbors.  [default: what fit chose on known nodes]",
)
@click.option(
    "--known", is_flag=True, help="Give the known nodes in EDGES, too, the vectors that their links there give them."
)
@later_flags
@force_flag
@json_flag
def transform(
    model: str,
    edges: tuple[str, ...],
    out: str,
    how: str | None,
    known: bool,
    force: bool,
    as_json: bool,
    **reading: Any,
) -> None:
    """Give the new nodes in EDGES their vectors.

    MODEL is a folder that `netfold fit` wrote. EDGES holds the new nodes and their edges to known ones, as a file or
    as a saved graph; it is read as directed where the model's graph was. Of a model that `netfold update` wrote to,
    the last version places them, or MODEL@5. For a model of a hypergraph it is one or several files of hyperedges, as
    for `netfold fit`. Nodes of which only attributes are known need no EDGES: --attributes FILE alone places them, by a
    model that was fitted with attributes.
    """
    from netfold.io.vectors import check_vectors_ending

    check_vectors_ending(Path(out))
    check_new_file(out, force=force)
    fitted = model_of(model)
    if not hasattr(fitted, "transform"):
        raise InputError(f"{model} holds vectors alone, which place no node; DepthLGP does (netfold fit depthlgp)")
    graph = later_of(fitted, edges, reading)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always", UserWarning)
        try:
            new = fitted.transform(graph, how=how, known=known)
        except InputError as e:
            if not any(fitted.origin(node) == "placed" for node in graph.nodes if hasattr(fitted, "origin")):
                raise
            raise InputError(
                f"{e} (nodes placed since the fit count as new here; netfold update places by them)"
            ) from None
    for warning in said:
        click.echo(f"netfold: {warning.message}", err=True)
    new.save(out, force=force)
    count = int((fitted.embedding_.nodes.find(new.nodes) < 0).sum()) if known else len(new)
    facts = {"model": type(getattr(fitted, "model", fitted)).__name__, "nodes": graph.n_nodes, "new_nodes": count}
    facts |= {"dim": new.dim, "path": out}
    of, also = counted(graph.n_nodes, "node"), f" and {counted(len(new) - count, 'known one')}" if known else ""
    words = f"vectors of {counted(count, 'new node')}{also} ({of} in all)" if len(new) else ""
    words = words or f"none of {of} is new: no vectors"
    say(facts, f"{words}\n{out}", as_json=as_json)
