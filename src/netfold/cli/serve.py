"""`netfold serve MODEL...` and `netfold explore MODEL`: a model that answers over HTTP, and a page that asks it."""

from __future__ import annotations

import webbrowser
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from netfold.cli.inputs import check_there, graph_of, later_flags, named_as
from netfold.cli.report import method_flag, sheets_of
from netfold.errors import InputError

if TYPE_CHECKING:
    from netfold.show.report import Sheet

__all__ = ["explore", "serve"]


@click.command(epilog="Example: netfold serve sdne.netfold --port 8000 --token-file tokens.txt")
@click.argument("models", nargs=-1, required=True, metavar="[NAME=]MODEL...")
@click.option(
    "--host", default="127.0.0.1", show_default=True, help="The address; any but this machine's needs tokens."
)
@click.option("--port", type=click.IntRange(0, 65535), default=8000, show_default=True, help="0 takes a free one.")
@click.option("--token-file", metavar="FILE", help="Lines 'read TOKEN' or 'admin TOKEN'; who asks needs one.")
@click.option("--allow-host", multiple=True, metavar="NAME", help="A name that it is asked under, as behind a proxy.")
@click.option("--index", metavar="FOLDER", help="Search by this index, or 'auto' to build one; for one model.")
@click.option("--edges", metavar="FILE", help="The graph, for pairs scored by a decoder or by paths; for one model.")
@click.option("--vectors-only", is_flag=True, help="Serve vectors and neighbors alone, without loading torch.")
@click.option("--watch", is_flag=True, help="Load a new version as soon as it is written.")
@click.option("--log-names", is_flag=True, help="Write what was asked into the log, names of nodes too.")
@click.option("--threads", type=click.IntRange(1, 64), default=2, show_default=True, help="Answers computed at a time.")
def serve(
    models: Sequence[str],
    host: str,
    port: int,
    token_file: str | None,
    allow_host: Sequence[str],
    index: str | None,
    edges: str | None,
    **options: Any,
) -> None:
    """Answer over HTTP, until Ctrl-C or SIGTERM: vectors, nearest nodes, scores, completions, places of new nodes.

    MODEL is a folder that `netfold fit` wrote, or a file that an embedding was exported to. Without a token file only
    this machine can ask. /openapi.json has the routes, /healthz and /metrics are for those who watch. The log, a line
    of JSON for each request, goes to standard error. It needs the extra `serve`.
    """
    try:
        from netfold.serve.answers import Served
        from netfold.serve.app import Server, ServerSettings, read_tokens
    except ImportError as e:
        raise InputError(f"{e.name} is not installed: pip install 'netfold[serve]'") from None
    paths = _named(models)
    if len(paths) > 1 and (index or edges):
        raise InputError("--index and --edges are for one model; serve several without")
    tokens = {} if token_file is None else read_tokens(token_file)
    settings = ServerSettings(host=host, tokens=tokens, hosts=tuple(allow_host), **options)

    def load(name: str, path: str) -> Served:
        served = Served.load(name, path, vectors_only=settings.vectors_only, index=index)
        if edges is not None:
            served.graph = named_as(graph_of(edges, served.embedding.nodes), served.embedding.nodes)
        if served.without_graph:
            click.echo(f"{served.without_graph} (all other questions are answered)", err=True)
        return served

    # no name here holds what was loaded, so that a newer version can take its memory
    server = Server([load(*x) for x in paths.items()], settings, dict.fromkeys(paths, index) if index else {})
    with server.listen(port) as listening:
        at = f"[{host}]" if ":" in host else host
        click.echo(f"serving {', '.join(paths)} at http://{at}:{listening.getsockname()[1]}", err=True)
        server.run(listening)


def _named(models: Sequence[str]) -> dict[str, str]:
    """Each model's path by the name that it is served under: the one that is given, or the path's own."""
    paths: dict[str, str] = {}
    for word in models:
        name, equals, path = word.partition("=")
        if not equals or Path(word).exists():
            path = word
            name = Path(word).name.split(".")[0] or "model"
        if "@" not in path:
            check_there(path)
        if name in paths:
            raise InputError(f"two models are called {name}; name them: one={paths[name]} other={path}")
        paths[name] = path
    return paths


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
