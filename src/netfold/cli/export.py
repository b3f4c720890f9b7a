"""`netfold export MODEL -o FILE`: the embedding in a format that other programs read."""

from __future__ import annotations

from pathlib import Path

import click

from netfold.cli.inputs import embedding_at
from netfold.cli.output import check_new_file, force_flag, json_flag, say
from netfold.data.text import counted
from netfold.errors import InputError

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
@click.option(
    "--for",
    "program",
    type=click.Choice(("embedding-atlas",)),
    help="Write parquet that this program opens: places on a map and nearest nodes, not the vectors.",
)
@force_flag
@json_flag
def export(model: str, out: str, columns: str, program: str | None, force: bool, as_json: bool) -> None:
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
