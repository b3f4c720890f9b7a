"""The models that a task of `netfold evaluate` can be put to: those that are fitted, and whatever is saved."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import click

from netfold.cli.fit import FitCommand, hyper_parameters
from netfold.cli.flags import flags
from netfold.embedder.embedder import Embedder
from netfold.errors import InputError
from netfold.models import MODELS

__all__ = ["Contenders", "Fit", "fitting_command"]

Fit = Callable[[Any], Any]
"""From the graph to learn from to a fitted model."""


class Contenders(click.Group):
    """A task: a subcommand for every model that can be fitted, and one for whatever is saved.

    `reads` is what those models read; `of_model` makes the command of one, and `of_saved` the other, MODEL.
    """

    def __init__(
        self,
        name: str,
        *,
        help: str,
        epilog: str,
        reads: str,
        of_model: Callable[[type[Embedder]], click.Command],
        of_saved: Callable[[], click.Command],
    ):
        words = "MODEL is the name of a model, whose options are listed by MODEL --help, or the path of a saved one."
        super().__init__(name, help=f"{help}\n\n{words}", short_help=help.split(":")[0] + ".", epilog=epilog)
        self._fitted = {x: cls for x, cls in MODELS.items() if cls.reads == reads}
        self._reads, self._of_model, self._of_saved = reads, of_model, of_saved

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: D102
        return list(self._fitted)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:  # noqa: D102
        return self._of_model(self._fitted[name]) if name in self._fitted else None

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:  # noqa: D102
        if args and args[0] not in self._fitted:
            if not Path(args[0]).exists():
                self._check_reads(args[0])
                known = ", ".join(self._fitted)
                raise click.UsageError(f"{args[0]!r} is neither a model ({known}) nor a saved one; give its path", ctx)
            return "MODEL", self._of_saved(), args
        return super().resolve_command(ctx, args)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The flags of the task, which stand after MODEL and EDGES, and then the models."""
        listed = [p for p in self._of_saved().params if isinstance(p, click.Option)]
        with formatter.section("Options, after MODEL and EDGES"):
            formatter.write_dl([record for p in listed if (record := p.get_help_record(ctx))])
        super().format_options(ctx, formatter)

    def _check_reads(self, name: str) -> None:
        if name in MODELS:
            own = ", ".join(self._fitted)
            other = "" if self._reads == "hypergraph" else "; netfold evaluate hyperedges is for the others"
            raise InputError(
                f"{name} reads {MODELS[name].reads}s, and this task is for models of {self._reads}s ({own}){other}"
            )


def fitting_command(
    cls: type[Embedder],
    *,
    help: str,
    epilog: str,
    add: Callable[[Any], Any],
    run: Callable[[Fit, int, Mapping[str, Any]], None],
) -> click.Command:
    """The command that fits a model: its flags and those that `add` gives it; `run` gets what fits, and the seed."""

    @click.option("--config", metavar="FILE.toml", help="Options of the model by name; flags on the command line win.")
    @click.option("--quiet", "-q", is_flag=True, help="Show no progress; the result is printed all the same.")
    @click.pass_context
    def command(ctx: click.Context, /, **given: Any) -> None:
        model = cls(**hyper_parameters(ctx, cls, given))
        run(lambda graph: model.fit(graph, progress=not given["quiet"]), model.seed, given)

    name, short = cls.__name__.lower(), str(cls.__doc__).splitlines()[0]
    made = click.command(name, cls=FitCommand, help=help, short_help=short, epilog=epilog)(add(command))
    made.params += _apart(flags(cls), made, name)
    return made


def _apart(own: list[click.Option], command: click.Command, name: str) -> list[click.Option]:
    """A model's flags; one that the task has too is called after the model: --node2vec-negatives."""
    taken = {spelling for flag in command.params for spelling in flag.opts}
    for flag in own:
        flag.opts = [f"--{name}-{x.removeprefix('--')}" if x in taken else x for x in flag.opts]
    return own
