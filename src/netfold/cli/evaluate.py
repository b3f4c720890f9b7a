"""`netfold evaluate TASK MODEL EDGES`: how good a model is at a task, beside cheap baselines."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import click

from netfold.cli.contenders import Contenders, Fit, fitting_command
from netfold.cli.evaluate_hyperedges import hyperedges
from netfold.cli.inputs import READING, classes_of, directed_flag, graph_of, labelled_as, model_of, reading_flags
from netfold.cli.output import json_flag, say
from netfold.cli.protocol_flags import TASKS, Asked, protocol_of
from netfold.embedder.embedder import Embedder
from netfold.errors import InputError

if TYPE_CHECKING:
    from netfold.data.graph import Graph
    from netfold.evaluate import Result

__all__ = ["evaluate"]


@click.group(epilog="Example: netfold evaluate link-prediction sdne edges.csv --hide 0.15 --dim 64")
def evaluate() -> None:
    """Measure how good a model is at a task, beside cheap baselines.

    `netfold evaluate TASK MODEL EDGES`, where MODEL is the name of a model, to be fitted here with the flags that
    `netfold fit` has, or a folder that `netfold fit` wrote, or a file that an embedding was exported to.
    """


def _example(task: str, model: str, asked: Asked) -> str:
    return f"Example: netfold evaluate {task} {model} edges.csv" + (" --labels labels.csv" if asked.labels else "")


def _contenders(name: str, asked: Asked) -> Contenders:
    return Contenders(
        name,
        help=asked.help,
        epilog=_example(name, "sdne", asked),
        reads="graph",
        of_model=lambda cls: _of_model(name, asked, cls),
        of_saved=lambda: _of_saved(name, asked),
    )


for _name, _asked in TASKS.items():
    evaluate.add_command(_contenders(_name, _asked))
evaluate.add_command(hyperedges)


# -------------------------------------------------------------------- the two kinds of command


def _of_model(task: str, asked: Asked, cls: type[Embedder]) -> click.Command:
    epilog = _example(task, cls.__name__.lower(), asked) + " --dim 64"
    return fitting_command(
        cls,
        help=asked.help,
        epilog=epilog,
        add=_with_flags(asked),
        run=lambda fit, seed, given: _say(given, _evaluated(asked, fit, seed, given)),
    )


def _of_saved(task: str, asked: Asked) -> click.Command:
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
    return click.command("MODEL", help=asked.help, epilog=epilog)(click.argument("model")(_with_flags(asked)(run)))


def _with_flags(asked: Asked) -> Callable[[Any], Any]:
    """The flags of the task, and those of reading."""

    def add(command: Any) -> Any:
        command = json_flag(reading_flags(directed_flag(click.argument("edges")(command))))
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
    from netfold.studies.reproduce.tasks import case, case_of_split

    graph = graph_of(given["edges"], **{name: given[name] for name in READING})
    arguments = protocol_of(given)
    if given.get("test") is not None:
        of = case_of_split(_split(graph, given), _without_splitting(arguments), seed)
    else:
        classes = _classes(given["labels"], graph) if asked.labels else {}
        of = case(asked.function, graph, lambda: classes, arguments, seed)
    return of.evaluate(fit(of.graph), baselines=True)


def _classes(path: str, graph: Graph) -> dict[Any, tuple[Any, ...]]:
    return classes_of(path, graph.nodes)


def _split(graph: Graph, given: Mapping[str, Any]) -> Any:
    from netfold.evaluate import EdgeSplit

    reading = {name: given[name] for name in READING} | {"directed": graph.directed}
    return EdgeSplit.of(graph, labelled_as(graph_of(given["test"], graph.nodes, **reading), graph.nodes))


def _without_splitting(arguments: dict[str, Any]) -> dict[str, Any]:
    names = {"hidden": "--hide", "by": "--by", "keep": "--keep"}
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
