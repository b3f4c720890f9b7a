"""`netfold evaluate TASK MODEL EDGES`: how good a model is at a task, beside cheap baselines."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from netfold.base import Embedder
from netfold.cli.fit import FitCommand, hyper_parameters
from netfold.cli.flags import flags
from netfold.cli.protocol_flags import TASKS, Asked, protocol_of
from netfold.cli.reading import READING, directed_flag, graph_of, labelled_as, model_of, reading_flags
from netfold.cli.saying import json_flag, say
from netfold.errors import InputError
from netfold.models import MODELS

if TYPE_CHECKING:
    from netfold.evaluate import Result
    from netfold.graph import Graph

__all__ = ["evaluate"]

_FITTED = {name: cls for name, cls in MODELS.items() if cls.reads == "graph"}
"""The models that the tasks are about: those of graphs."""

Fit = Callable[[Any], Any]
"""From the graph to learn from to a fitted model."""


class Contenders(click.Group):
    """A task: a subcommand for every model that can be fitted, and one for whatever is saved."""

    def __init__(self, name: str, asked: Asked):
        short = asked.help.split(":")[0] + "."
        super().__init__(name, help=_help(asked), short_help=short, epilog=_example(name, "sdne", asked))
        self._asked = asked

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_FITTED)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        return _of_model(str(self.name), self._asked, _FITTED[name]) if name in _FITTED else None

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        if args and args[0] not in _FITTED:
            if not Path(args[0]).exists():
                _check_reads_graphs(args[0])
                known = ", ".join(_FITTED)
                raise click.UsageError(f"{args[0]!r} is neither a model ({known}) nor a saved one; give its path", ctx)
            return "MODEL", _of_saved(str(self.name), self._asked), args
        return super().resolve_command(ctx, args)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The flags of the task, which stand after MODEL and EDGES, and then the models."""
        listed = [p for p in _of_saved(str(self.name), self._asked).params if isinstance(p, click.Option)]
        with formatter.section("Options, after MODEL and EDGES"):
            formatter.write_dl([record for p in listed if (record := p.get_help_record(ctx))])
        super().format_options(ctx, formatter)


@click.group(epilog="Example: netfold evaluate link-prediction sdne edges.csv --hide 0.15 --dim 64")
def evaluate() -> None:
    """Measure how good a model is at a task, beside cheap baselines.

    `netfold evaluate TASK MODEL EDGES`, where MODEL is the name of a model, to be fitted here with the flags that
    `netfold fit` has, or a folder that `netfold fit` wrote, or a file that an embedding was exported to.
    """


def _check_reads_graphs(name: str) -> None:
    if name in MODELS:
        raise InputError(
            f"{name} reads hypergraphs, and this task is for models of graphs ({', '.join(_FITTED)}); "
            "in Python there is evaluate.hyperedges"
        )


def _help(asked: Asked) -> str:
    model = "MODEL is the name of a model, whose options are listed by MODEL --help, or the path of a saved one."
    return f"{asked.help}\n\n{model}"


def _example(task: str, model: str, asked: Asked) -> str:
    return f"Example: netfold evaluate {task} {model} edges.csv" + (" --labels labels.csv" if asked.labels else "")


for _name, _asked in TASKS.items():
    evaluate.add_command(Contenders(_name, _asked))


# -------------------------------------------------------------------- the two kinds of command


def _of_model(task: str, asked: Asked, cls: type[Embedder]) -> click.Command:
    name = cls.__name__.lower()

    @click.option("--config", metavar="FILE.toml", help="Options of the model by name; flags on the command line win.")
    @click.option("--quiet", "-q", is_flag=True, help="Show no progress; the result is printed all the same.")
    @click.argument("edges")
    @click.pass_context
    def run(ctx: click.Context, /, **given: Any) -> None:
        model = cls(**hyper_parameters(ctx, cls, given))
        _say(given, _evaluated(asked, lambda graph: model.fit(graph, progress=not given["quiet"]), model.seed, given))

    epilog = _example(task, name, asked) + " --dim 64"
    short = str(cls.__doc__).splitlines()[0]
    decorated = _with_flags(asked)(run)
    command = click.command(name, cls=FitCommand, help=asked.help, short_help=short, epilog=epilog)(decorated)
    command.params += _apart(flags(cls), command, name)
    return command


def _apart(own: list[click.Option], command: click.Command, name: str) -> list[click.Option]:
    """A model's flags; one that the task has too is called after the model: --node2vec-negatives."""
    taken = {spelling for flag in command.params for spelling in flag.opts}
    for flag in own:
        flag.opts = [f"--{name}-{x.removeprefix('--')}" if x in taken else x for x in flag.opts]
    return own


def _of_saved(task: str, asked: Asked) -> click.Command:
    @click.argument("model")
    @click.argument("edges")
    @click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Of all that is random.")
    def run(model: str, seed: int, **given: Any) -> None:
        if asked.splits and given["test"] is None:
            raise InputError(
                f"{model} may have seen the edges that would be hidden; give the edges that it was fitted to and "
                "others in a file (--test FILE), or a model's name to fit one here"
            )
        saved = model_of(model)

        def same(graph: Graph) -> Any:
            if asked.splits:
                _check_fitted_to(saved, graph, model, given["edges"])
            return saved

        _say(given, _evaluated(asked, same, seed, given))

    if asked.splits:
        run = click.option("--test", metavar="FILE", help="Edges that the saved model has not seen.")(run)
    epilog = _example(task, "sdne.netfold", asked)
    return click.command("MODEL", help=asked.help, epilog=epilog)(_with_flags(asked)(run))


def _with_flags(asked: Asked) -> Callable[[Any], Any]:
    """The flags of the task, and those of reading."""

    def add(command: Any) -> Any:
        command = json_flag(reading_flags(directed_flag(command)))
        for flag in reversed(asked.flags):
            command = flag(command)
        if asked.labels:
            words = "A node and one of its classes on each line, as 7,red."
            command = click.option("--labels", required=True, metavar="FILE", help=words)(command)
        return command

    return add


# -------------------------------------------------------------------- what they do


def _evaluated(asked: Asked, fit: Fit, seed: int, given: Mapping[str, Any]) -> Result:
    """Read everything, then fit, then evaluate."""
    from netfold.reproduce.tasks import case, case_of_split

    graph = graph_of(given["edges"], **{name: given[name] for name in READING})
    arguments = protocol_of(given)
    if given.get("test") is not None:
        of = case_of_split(_split(graph, given), _without_splitting(arguments), seed)
    else:
        classes = _classes(given["labels"], graph) if asked.labels else {}
        of = case(asked.function, graph, lambda: classes, arguments, seed)
    return of.evaluate(fit(of.graph), baselines=True)


def _classes(path: str, graph: Graph) -> dict[Any, tuple[Any, ...]]:
    from netfold.io import read_labels

    return read_labels(path, graph.nodes)


def _split(graph: Graph, given: Mapping[str, Any]) -> Any:
    from netfold.evaluate import EdgeSplit

    reading = {name: given[name] for name in READING} | {"directed": graph.directed}
    return EdgeSplit.of(graph, labelled_as(graph_of(given["test"], **reading), graph.nodes))


def _without_splitting(arguments: dict[str, Any]) -> dict[str, Any]:
    names = {"hidden": "--hide", "keep": "--keep"}
    odd = next((flag for name, flag in names.items() if name in arguments), None)
    if odd:
        raise InputError(f"{odd} hides edges and --test gives those that are hidden; leave out one of them")
    return arguments


def _check_fitted_to(saved: Any, graph: Graph, model: str, edges: str) -> None:
    """A model that was fitted to other edges may have seen the test edges; an embedding does not tell."""
    facts = getattr(saved, "graph_facts_", None)
    if facts is not None and facts["fingerprint"] != graph.fingerprint:
        raise InputError(f"{model} was not fitted to {edges}, and may have seen the test edges; give those that it was")


def _say(given: Mapping[str, Any], result: Result) -> None:
    say(result.to_dict(), repr(result), as_json=given["as_json"])
