"""`netfold export MODEL -o FILE`: the embedding in a format that other programs read."""

from __future__ import annotations

from pathlib import Path

import click

from netfold.cli.inputs import embedding_at
from netfold.cli.output import check_new_file, force_flag, json_flag, say
from netfold.data.text import counted

__all__ = ["export"]


@click.command(epilog="Example: netfold export sdne.netfold -o vectors.parquet")
@click.argument("model")
@click.option(
    "-o",
    "--out",
    required=True,
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
@force_flag
@json_flag
def export(model: str, out: str, columns: str, force: bool, as_json: bool) -> None:
    """Write the embedding of MODEL to a file of the format that its ending names.

    parquet and npz keep everything; npy has the nodes in a file beside it; txt and w2v are word2vec's text, bin its
    binary. MODEL is a folder that `netfold fit` wrote, or a file exported before. Of vectors in parts (.parts) a name
    that ends in / becomes a folder with a parquet file for each part, one after another, whatever fits into memory.
    """
    from netfold.io.vectors import check_vectors_ending, write_shards

    if (Path(model) / "parts.json").exists() and (out.endswith("/") or not Path(out).suffix):
        shards = write_shards(Path(model), Path(out), force=force)
        say(shards, f"{shards['nodes']:,} nodes in {shards['files']:,} files\n{out}", as_json=as_json)
        return

    check_vectors_ending(Path(out))
    check_new_file(out, force=force)
    embedding = embedding_at(model)
    embedding.save(out, force=force, columns=columns)
    facts = {"nodes": len(embedding), "dim": embedding.dim, "path": out}
    say(facts, f"{counted(len(embedding), 'node')} in {counted(embedding.dim, 'dimension')}\n{out}", as_json=as_json)
