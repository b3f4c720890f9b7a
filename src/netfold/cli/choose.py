"""`netfold choose EDGES`: which model, with which settings, why, and what it will cost here."""

from __future__ import annotations

from typing import Any

import click

from netfold.cli.flags import TaskName, renamed_flag
from netfold.cli.inputs import CLASSES_HELP, classes_of, data_of, either_flags, typed_flags
from netfold.cli.output import json_flag, say
from netfold.errors import InputError
from netfold.evaluate.task import TASKS

__all__ = ["choose"]

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
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Of all that is random.")
@click.option("--quiet", "-q", is_flag=True, help="Show no progress; the result is printed all the same.")
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
