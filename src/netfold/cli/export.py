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
    "-o", "--out", required=True, metavar="FILE", help="Ends in .parquet, .npz, .npy, .csv, .tsv, .txt, .w2v or .bin."
)
@force_flag
@json_flag
def export(model: str, out: str, force: bool, as_json: bool) -> None:
    """Write the embedding of MODEL to a file of the format that its ending names.

    parquet and npz keep everything; npy has the nodes in a file beside it; txt and w2v are word2vec's text, bin its
    binary. MODEL is a folder that `netfold fit` wrote, or a file exported before.
    """
    from netfold.io.vectors import check_vectors_ending

    check_vectors_ending(Path(out))
    check_new_file(out, force=force)
    embedding = embedding_at(model)
    embedding.save(out, force=force)
    facts = {"nodes": len(embedding), "dim": embedding.dim, "path": out}
    say(facts, f"{counted(len(embedding), 'node')} in {counted(embedding.dim, 'dimension')}\n{out}", as_json=as_json)
