"""`netfold explore MODEL [MODEL2]`: models in a browser, which asks them."""

from __future__ import annotations

import webbrowser
from typing import TYPE_CHECKING, Any

import click

from netfold.cli.inputs import later_flags
from netfold.cli.report import method_flag, sheets_of
from netfold.errors import InputError

if TYPE_CHECKING:
    from netfold.show.report import Sheet

__all__ = ["explore"]


@click.command(epilog="Example: netfold explore sdne.netfold drne.netfold --graph edges.csv --classes classes.csv")
@click.argument("models", metavar="MODEL [MODEL2]", nargs=-1, required=True)
@click.option(
    "--graph",
    "--edges",
    "edges",
    metavar="EDGES",
    multiple=True,
    help="The edges: who is linked, degrees, and nearest that are not linked; can be repeated as in `report`.",
)
@click.option(
    "--classes", metavar="FILE", multiple=True, help="Colour nodes by classes: a node and its class on each line."
)
@method_flag
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="Where to listen.  [default: a free one]")
@click.option("--browser/--no-browser", default=True, help="Open the page, or only print its address.")
@later_flags
def explore(
    models: tuple[str, ...],
    edges: tuple[str, ...],
    classes: tuple[str, ...],
    method: str,
    port: int,
    browser: bool,
    **reading: Any,
) -> None:
    """Look about in one model, or in two side by side, until Ctrl-C: a page in the browser, which asks this process.

    Nearest and not yet linked, with a verdict for each; a node's own links; a lasso, its table and export; groups and
    what each has in common; uncertainty; versions; and a new node that is placed by the links that you type. Only this
    machine can open the address that is printed, and only once: it has a token. `netfold report` makes a file instead.
    It needs the extra `serve`.
    """
    try:
        from netfold.serve.answers import Served
        from netfold.serve.explore import ExploreServer
    except ImportError as e:
        raise InputError(f"{e.name} is not installed: pip install 'netfold[serve]'") from None
    if len(models) > 2:
        raise InputError(f"explore shows one model, or two side by side; these are {len(models)}")
    from netfold.show.explore import Explorer

    sheets = sheets_of(models, edges, classes, reading)
    click.echo("drawing the map", err=True)
    explorer = Explorer(sheets, method=method)
    served = [_served(Served, sheet, path) for sheet, path in zip(sheets, models, strict=True)]
    server = ExploreServer(served, explorer)
    with server.listen(port) as listening:
        address = server.address(listening.getsockname()[1])
        click.echo(address)
        click.echo("Ctrl-C ends it; the address opens once, by its token", err=True)
        if browser:
            webbrowser.open(address)
        server.run(listening)


def _served(kind: Any, sheet: Sheet, path: str) -> Any:
    """The model as `netfold serve` has it, under the name that the page calls it."""
    from pathlib import Path

    from netfold.data.graph import Graph

    model = sheet.model if hasattr(sheet.model, "embedding_") else None
    graph = sheet.data if isinstance(sheet.data, Graph) else None
    return kind(sheet.name, Path(path), sheet.embedding, model, graph=graph)
