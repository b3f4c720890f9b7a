"""`netfold compare EDGES MODEL ...`: several models and the cheap baselines in the same tasks, as one table."""

from __future__ import annotations

from typing import Any

import click

from netfold.cli.flags import TaskName, renamed_flag
from netfold.cli.inputs import CLASSES_HELP, classes_of, data_of, either_flags
from netfold.cli.output import json_flag, say
from netfold.errors import InputError
from netfold.evaluate.task import EDGES_BY, TASKS

__all__ = ["compare"]


@click.command(epilog="Example: netfold compare edges.csv sdne node2vec --task link-prediction --dim 64")
@click.argument("edges")
@click.argument("models", nargs=-1, required=True, metavar="MODEL...")
@click.option("--task", "tasks", multiple=True, type=TaskName(), help="Can be repeated.  [default: "
              "link-prediction; hyperedges where EDGES holds those]")  # fmt: skip
@click.option(
    "--by",
    type=click.Choice(EDGES_BY),
    help="Of tasks that hold out edges: random ones, or the latest by their time column.  [default: random]",
)
@click.option("--classes", metavar="FILE", help=CLASSES_HELP)
@renamed_flag("--labels", "--classes")
@click.option("--dim", type=click.IntRange(1), metavar="N", help="For every model.  [default: each model's own]")
@click.option("--epochs", type=click.IntRange(0), metavar="N", help="For every model that is trained.  [default: each "
              "model's own]")  # fmt: skip
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Of all that is random.")
@click.option("--quiet", "-q", is_flag=True, help="Show no progress; the result is printed all the same.")
@either_flags
@json_flag
def compare(
    edges: str, models: tuple[str, ...], tasks: tuple[str, ...], classes: str | None, as_json: bool, **values: Any
) -> None:
    """Fit each MODEL, and print its figures beside those of the others and of the cheap baselines.

    The splits are the same for all. A model that cannot do a task has a row that says why. Seconds and memory are those
    of a fit. `netfold evaluate TASK MODEL EDGES` has the flags of one model and of one task.
    """
    from netfold.studies.compare import compare as compared

    options = {name: values[name] for name in ("dim", "epochs", "seed") if values[name] is not None}
    chosen = [_model(name, options) for name in models]
    data = data_of(edges, values)
    names: Any = tasks or (("hyperedges",) if hasattr(data, "kinds") else ("link-prediction",))
    if values["by"] is not None:
        names = _split_by(values["by"], names)
    of_nodes = None if classes is None else classes_of(classes, data.nodes)
    comparison = compared(chosen, data, names, classes=of_nodes, seed=values["seed"], progress=not values["quiet"])
    say(comparison.to_dict(), repr(comparison), as_json=as_json)


def _model(name: str, options: dict[str, Any]) -> Any:
    """The model of this name with those of the options that it has: one that is computed has no epochs."""
    from netfold.studies.compare import model_named

    has = model_named(name).get_params()
    return model_named(name, **{key: value for key, value in options.items() if key in has})


def _split_by(by: str, names: tuple[str, ...]) -> dict[str, dict[str, str]]:
    """The tasks with what --by says of those that hold out edges."""
    if not any(TASKS[name].split == "edges" for name in names):
        raise InputError(f"--by is for tasks that hold out edges, as link-prediction, and {', '.join(names)} does not")
    return {name: {"by": by} if TASKS[name].split == "edges" else {} for name in names}
