"""`netfold export MODEL` and `netfold transform MODEL EDGES`: vectors of known nodes, and of new ones, in files."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import click

from netfold.cli.inputs import embedding_at, later_flags, later_of, model_of
from netfold.cli.output import check_new_file, force_flag, json_flag, say
from netfold.cli.tuples import node_types
from netfold.data.text import counted, is_typed
from netfold.errors import InputError

__all__ = ["export", "transform"]


@click.command(epilog="Example: netfold export sdne.netfold -o vectors.parquet")
@click.argument("model")
@click.option(
    "-o",
    "--out",
    metavar="FILE",
    help="Ends in .parquet, .npz, .npy, .csv, .tsv, .txt, .w2v or .bin; a folder/ of parquet for MODEL in parts.",
)
@click.option(
    "--columns",
    type=click.Choice(("wide", "list")),
    default="wide",
    show_default=True,
    help="Of parquet: a column for each number, or one list column, as vector stores want it.",
)
@click.option(
    "--for",
    "program",
    type=click.Choice(("embedding-atlas",)),
    help="Write parquet that this program opens: places on a map and nearest nodes, not the vectors.",
)
@click.option("--to", "address", metavar="URL", help="In place of -o: a PostgreSQL with pgvector, postgresql://...")
@click.option("--table", metavar="NAME", help="With --to: the view that shows the newest version.  [default: nodes]")
@click.option(
    "--index",
    type=click.Choice(("hnsw", "ivfflat", "none")),
    help="With --to: the index in the database, whose recall is measured.  [default: hnsw]",
)
@force_flag
@json_flag
def export(
    model: str,
    out: str | None,
    columns: str,
    address: str | None,
    table: str | None,
    index: str | None,
    program: str | None,
    force: bool,
    as_json: bool,
) -> None:
    """Write the embedding of MODEL to a file of the format that its ending names, or into a database.

    parquet and npz keep everything; npy has the nodes in a file beside it; txt and w2v are word2vec's text, bin its
    binary. MODEL is a folder that `netfold fit` wrote, or a file exported before. Of vectors in parts (.parts) a name
    that ends in / becomes a folder with a parquet file for each part, one after another, whatever fits into memory.

    With --to a new table (nodes_v7) is filled and indexed, and the view `nodes` then reads it: all of it, or nothing.
    The recall of the index on 200 nodes is printed. What is there already is not written again. It needs the extra
    `postgres`; a password is better in ~/.pgpass than in the URL.
    """
    from netfold.io.vectors import check_vectors_ending, write_shards

    if (out is None) == (address is None):
        raise InputError("say where to: -o FILE, or --to postgresql://...; one of the two")
    if program is not None and address is not None:
        raise InputError(f"--for {program} is for a file; leave --to out and give -o map.parquet")
    if address is not None:
        _to_database(model, address, table or "nodes", index or "hnsw", as_json=as_json)
        return
    if table is not None or index is not None:
        raise InputError("--table and --index are for a database, --to postgresql://...; leave them out for a file")
    assert out is not None
    if (Path(model) / "parts.json").exists() and (out.endswith("/") or not Path(out).suffix):
        shards = write_shards(Path(model), Path(out), force=force)
        say(shards, f"{shards['nodes']:,} nodes in {shards['files']:,} files\n{out}", as_json=as_json)
        return

    check_vectors_ending(Path(out))
    check_new_file(out, force=force)
    if program is not None and Path(out).suffix != ".parquet":
        raise InputError(f"{program} opens parquet, and {out} does not end in .parquet; give -o map.parquet")
    embedding = embedding_at(model)
    if program is None:
        embedding.save(out, force=force, columns=columns)
    else:
        from netfold.show.explore import write_atlas

        write_atlas(embedding, out)
    facts = {"nodes": len(embedding), "dim": embedding.dim, "path": out}
    say(facts, f"{counted(len(embedding), 'node')} in {counted(embedding.dim, 'dimension')}\n{out}", as_json=as_json)


def _to_database(model: str, address: str, name: str, index: str, *, as_json: bool) -> None:
    from netfold.io.vectors.postgres import VectorTable, write_postgres

    embedding, types, placed = _known_of(model)
    table = VectorTable(embedding, types, placed, index)
    facts = write_postgres(address, name, table, lambda text: click.echo(text, err=True))
    lines = [f"{counted(facts['nodes'], 'node')} in {facts['table']}, shown by the view {name}"]
    if not facts["written"]:
        lines.append("it was there already, and nothing was written")
    if "recall" in facts:
        lines.append(f"recall@10 {facts['recall']:.3f} by {facts['index']} after SET {facts['setting']}")
        if facts["recall"] < 0.95:
            other = "ivfflat" if facts["index"] == "hnsw" else "hnsw"
            lines.append(f"that is below .95; try --index {other}, or none, which misses nothing")
    if facts.get("older"):
        lines.append(f"older versions stay until you drop them: {', '.join(facts['older'])}")
    say(facts, "\n".join(lines), as_json=as_json)


def _known_of(path: str) -> tuple[Any, list[str] | None, dict[Any, str]]:
    """The embedding, the type of each node where its name does not say it, and when nodes were placed by updates."""
    from netfold.embedder.versions import deltas_of, split_version

    folder, version = split_version(path)
    placed: dict[Any, str] = {}
    if (folder / "versions").is_dir():
        for delta in deltas_of(folder, version, since_base=True):
            placed |= {} if delta.is_base else {delta.names[i]: delta.time for i in delta.placed.tolist()}
    embedding = embedding_at(path)
    types = None
    if (folder / "manifest.json").exists() and not (folder / "versions").is_dir():
        from netfold.io.tensors import read_manifest

        if read_manifest(folder, "model", hashed=False).get("model") == "DHNE" and not all(map(is_typed, embedding)):
            types = node_types(model_of(path))
    return embedding, types, {x: time for x, time in placed.items() if x in embedding}


# -------------------------------------------------------------------- transform


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
