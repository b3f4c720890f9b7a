"""`netfold auto EDGES --task TASK -o FOLDER`: the best model for a task that a budget allows, fitted and saved."""

from __future__ import annotations

from typing import Any

import click

from netfold.cli.flags import TaskName
from netfold.cli.inputs import CLASSES_HELP, classes_of, data_of, either_flags
from netfold.cli.output import Interrupted, check_new_folder, force_flag, json_flag, say

__all__ = ["auto"]


@click.command(
    epilog="Example: netfold auto edges.csv --task classify --classes classes.csv --budget 60s -o best.netfold"
)
@click.argument("edges")
@click.option("--task", type=TaskName(), help="What the vectors are for; for short link, near, classify, cluster, "
              "new-nodes, tuples.  [default: link-prediction; hyperedges where EDGES holds those]")  # fmt: skip
@click.option("--classes", metavar="FILE", help=CLASSES_HELP)
@click.option("--budget", default="60s", show_default=True, metavar="TIME", help="Of all of it, the last fit included: "
              "60s or 5m on the clock, 60cpu in CPU seconds, or '20 trials'.")  # fmt: skip
@click.option("--memory", metavar="SIZE", help="Leave out what is estimated to need more, as 4GiB.  [default: all]")
@click.option("-o", "--out", required=True, metavar="FOLDER", help="The folder to write the model to.")
@force_flag
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Of all that is random.")
@click.option("--quiet", "-q", is_flag=True, help="Show no progress; the result is printed all the same.")
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

    check_new_folder(out, force=values["force"])
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
