"""`netfold index MODEL -o FOLDER`: an index for quick searches of a large embedding."""

from __future__ import annotations

import click

from netfold.cli.inputs import embedding_at
from netfold.cli.output import check_new_folder, force_flag, json_flag, say
from netfold.errors import InputError

__all__ = ["index"]


@click.command(
    epilog="Example: netfold index sdne.netfold -o sdne.index && netfold nearest sdne.netfold alice --index sdne.index"
)
@click.argument("model")
@click.option("-o", "--out", required=True, metavar="FOLDER", help="Where to write it.")
@click.option(
    "--recall",
    type=click.FloatRange(0, 1, min_open=True),
    default=0.99,
    show_default=True,
    help="The share of the 10 nearest that is to be found, on the model's own nodes.",
)
@click.option(
    "--metric",
    type=click.Choice(["cosine", "euclidean"]),
    help="How near is measured.  [default: cosine; euclidean for Gaussians]",
)
@force_flag
@json_flag
def index(model: str, out: str, recall: float, metric: str | None, force: bool, as_json: bool) -> None:
    """Write an index of a model's vectors, for `netfold nearest --index` and `netfold serve --index`.

    It pays from some 100,000 nodes on. What it finds is scored and ordered as without it; the share of the ten nearest
    that it finds on 200 nodes is printed, and that of the worst tenth of those. Where nodes have types, as user:u1,
    each type is indexed by itself. It needs the extra `search`.
    """
    check_new_folder(out, force=force)
    try:
        import faiss  # noqa: F401
    except ImportError:
        raise InputError(
            "faiss is not installed: pip install 'netfold[search]'; without an index, nearest is exact"
        ) from None
    built = embedding_at(model).index(recall=recall, metric=metric)
    built.save(out, force=force)
    facts = {"nodes": len(built), "metric": built.metric, "probes": built.probes, "recall": built.recall_}
    facts |= {"types": built.type_recalls, "path": out}
    say(facts, f"{built!r}\n{out}", as_json=as_json)
