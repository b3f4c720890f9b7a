"""`main`: the program `netfold` and its verbs."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import click

from netfold._version import version
from netfold.cli.choose import auto, choose, compare
from netfold.cli.evaluate import evaluate
from netfold.cli.export import export, transform
from netfold.cli.fit import fit
from netfold.cli.info import info
from netfold.cli.nearest import groups, index, nearest, suggest
from netfold.cli.output import exit_code, one_line, sigterm_like_ctrl_c
from netfold.cli.prepare import plan, prepare
from netfold.cli.report import demo, map_, report
from netfold.cli.reproduce import datasets, reproduce
from netfold.cli.serve import explore, serve
from netfold.cli.tuples import complete, score
from netfold.cli.update import diff, update, versions
from netfold.errors import InputError

__all__ = ["main"]


class Program(click.Group):
    """A group that ends every run, however it went, with the exit code and the one sentence that `outcome` gives it.

    Its help says of each verb what it does in a whole sentence, which click would cut.
    """

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        rows = [(name, verb.get_short_help_str(limit=1000)) for name, verb in sorted(self.commands.items())]
        with formatter.section("Commands"):
            formatter.write_dl(rows)

    def main(self, args: Any = None, prog_name: str | None = None, *rest: Any, **extra: Any) -> Any:
        argv = list(sys.argv[1:] if args is None else args)
        _escape_what_stdout_cannot_show()
        run = super().main
        extra |= {"standalone_mode": False, "obj": tuple(argv)}

        def checked() -> Any:
            if sys.stdout is None:
                raise InputError("standard output is closed, and there is nowhere to print to; give it /dev/null")
            return run(argv, "netfold", *rest, **extra)

        with sigterm_like_ctrl_c(), _plain_warnings():
            code = exit_code(checked)
        sys.exit(code)


@click.group(
    cls=Program,
    epilog="Example: netfold fit sdne edges.csv -o sdne.netfold && netfold nearest sdne.netfold alice -k 5",
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
)
@click.option("--version", is_flag=True, is_eager=True, expose_value=False, help="Show the version and exit.",
              callback=lambda ctx, _, wanted: _show_version(ctx) if wanted else None)  # fmt: skip
def main() -> None:
    """Fold a network into vectors: fit a model to edges, then ask it for neighbors, new nodes, files and a picture.

    Results go to standard output, progress and messages to standard error. The exit code is 0 when all went well, 1
    when training failed or netfold has a bug, 2 when something given cannot be used, 3 when an update's drift is an
    alarm, 130 after Ctrl-C, 143 after SIGTERM. NETFOLD_TRACEBACK=1 in the environment shows where an error arose.
    """


for verb in (
    auto,
    prepare,
    plan,
    fit,
    transform,
    update,
    versions,
    diff,
    nearest,
    index,
    suggest,
    groups,
    score,
    complete,
    serve,
    explore,
    export,
    info,
    map_,
    report,
    datasets,
    evaluate,
    compare,
    choose,
    reproduce,
    demo,
):
    main.add_command(verb)


def _escape_what_stdout_cannot_show() -> None:
    """A name that the terminal's encoding lacks becomes \\u escapes, never a traceback."""
    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(errors="backslashreplace")


@contextmanager
def _plain_warnings() -> Iterator[None]:
    """A warning is one line as every message is, not a line of our code."""
    before = warnings.showwarning
    if before is warnings._showwarning_orig:  # type: ignore[attr-defined]  # not where a test or a user records them
        warnings.showwarning = lambda message, *_, **__: click.echo(f"netfold: {one_line(str(message))}", err=True)
    try:
        yield
    finally:
        warnings.showwarning = before


def _show_version(ctx: click.Context) -> None:
    click.echo(f"netfold {version()}")
    ctx.exit()
