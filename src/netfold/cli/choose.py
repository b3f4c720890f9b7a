"""`netfold auto`, `netfold choose` and `netfold compare`: which model, by a race, by rules, or side by side."""

from __future__ import annotations

from typing import Any

import click

from netfold.cli.flags import Size, TaskName, renamed_flag
from netfold.cli.inputs import CLASSES_HELP, classes_of, data_of, either_flags, typed_flags
from netfold.cli.output import (
    Interrupted,
    check_new_folder,
    force_flag,
    json_flag,
    model_out_flag,
    quiet_flag,
    say,
    seed_flag,
)
from netfold.errors import InputError
from netfold.evaluate.task import EDGES_BY, TASKS

__all__ = ["auto", "choose", "compare"]


@click.command(
    epilog="Example: netfold auto edges.csv --task classify --classes classes.csv --budget 60s -o best.netfold"
)
@click.argument("edges")
@click.option("--task", type=TaskName(), help="What the vectors are for; for short link, near, classify, cluster, "
              "new-nodes, tuples.  [default: link-prediction; hyperedges where EDGES holds those]")  # fmt: skip
@click.option("--classes", metavar="FILE", help=CLASSES_HELP)
@click.option("--budget", default="60s", show_default=True, metavar="TIME", help="Of all of it, the last fit included: "
              "60s or 5m on the clock, 60cpu in CPU seconds, or '20 trials'.")  # fmt: skip
@click.option("--memory", type=Size(), help="Leave out what is estimated to need more, as 4GiB.  [default: all]")
@model_out_flag
@force_flag
@seed_flag
@quiet_flag
@either_flags
@json_flag
def auto(edges: str, task: str | None, classes: str | None, out: str, as_json: bool, **values: Any) -> None:
    """Race models for a task on EDGES within a budget, and save the best, fitted to all of it.

    Candidates, cheap ones first, are compared on parts of the data that are held out; the better go on with more epochs
    and more parts. The figure in the end is of data that chose nothing. One that is level with the best, and cheaper,
    is taken. Ctrl-C ends the race, and the best so far is fitted and saved. `netfold choose --no-probe` says what would
    be raced, and why, and fits nothing; the rules are in docs/auto.md.
    """
    from netfold.studies.auto import raced
    from netfold.studies.machine import Budget

    check_new_folder(out, force=values["force"])
    Budget.of(values["budget"])  # before a large file is read
    data = data_of(edges, values)
    name = task or ("hyperedges" if hasattr(data, "kinds") else "link-prediction")
    of_nodes = None if classes is None else classes_of(classes, data.nodes)
    options = {x: values[x] for x in ("budget", "memory", "seed")}
    try:
        model = raced(data, name, classes=of_nodes, progress=not values["quiet"], **options)
    except KeyboardInterrupt as e:  # what was measured by then would have been fitted
        raise Interrupted(f"interrupted before there was a model; {out} was not written") from e
    model.save(out, force=values["force"])
    trials = model.trials_
    facts = {"model": type(model).__name__, "path": out, "nodes": len(model.embedding_), "dim": model.embedding_.dim}
    text = [trials.table(), *trials.lines(), out] if values["quiet"] else [*trials.lines(), out]
    say(facts | {"trials": trials.to_dict()}, "\n".join(text), as_json=as_json)


_PURPOSES = [x.short for x in TASKS.values() if (x.purpose or x.short in ("tuples", "cluster")) and x.short != "near"]
"""What `nf.choose` can be asked for; "near" where nothing is said."""


@click.command(epilog="Example: netfold choose edges.csv --task link --try")
@click.argument("edges")
@click.option("--task", type=TaskName(_PURPOSES), help="What the vectors are for.  [default: who is near whom]")
@click.option("--try", "trying", is_flag=True, help="Fit the choice and its rivals to a part of EDGES, and compare.")
@click.option("--sample", type=click.IntRange(10), metavar="N", help="Nodes of that part, at most.  [default: 1000]")
@click.option("--classes", metavar="FILE", help=f"For --try. {CLASSES_HELP}")
@renamed_flag("--labels", "--classes")
@click.option("--probe/--no-probe", default=True, help="Whether to estimate the cost by short fits.  [default: probe]")
@seed_flag
@quiet_flag
@either_flags
@json_flag
def choose(edges: str, task: str | None, as_json: bool, **values: Any) -> None:
    """Look at EDGES and say which model to fit, with which settings, why, what it costs here, and how.

    EDGES is a file of edges, or of hyperedges (a column for each role, named in line 1). The cost is estimated from
    fits of a few epochs to small graphs like this one, in about ten seconds. What `netfold auto` would race instead is
    listed, with why. The rules of choice, with their evidence, are in docs/choosing.md.
    """
    from netfold.studies.choose import choose as chosen

    _check(values)
    data = data_of(edges, values)
    if values["probe"] and not values["quiet"]:
        click.echo("choose: short fits, about ten seconds", err=True)
    time = data.reading.time if data.reading is not None else None
    choice = chosen(data, task, time_column=time, probe=values["probe"], seed=values["seed"])
    commands = choice.commands(edges, typed_flags(values))
    *lines, _ = choice.lines()
    raced = ["auto: netfold auto would race these on parts of the data, the cheap first, and take the best:"]
    raced += [f"  {line}" for line in choice.race_lines()]
    facts, text = choice.to_dict() | {"commands": commands}, [*lines, *raced]
    if values["trying"]:
        classes = None if values["classes"] is None else classes_of(values["classes"], data.nodes)
        tried = choice.trial(data, classes=classes, nodes=values["sample"] or 1000, progress=not values["quiet"])
        facts, text = facts | {"trial": tried.to_dict()}, [*text, "", repr(tried), ""]
    say(facts, "\n".join([*text, *commands]), as_json=as_json)


def _check(values: dict[str, Any]) -> None:
    for name in ("sample", "classes"):
        if values[name] is not None and not values["trying"]:
            raise InputError(f"--{name} is for --try; add that, or leave it out")


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
@seed_flag
@quiet_flag
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
