"""`netfold prepare FILES OUT`: edges into a folder of parts, out of core; `netfold plan`: what training will take."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from netfold.cli.fit import hyper_parameters, name_typed
from netfold.cli.flags import Size, flags
from netfold.cli.inputs import directed_flag, text_flags, weighted_flag
from netfold.cli.output import force_flag, json_flag, say
from netfold.models import MODELS

__all__ = ["plan", "prepare"]


@click.command(epilog="Example: netfold prepare 'edges/*.parquet' big.parts --parts 256 --memory 8GB")
@click.argument("files", nargs=-1, required=True)
@click.argument("out")
@click.option(
    "--parts", type=click.IntRange(1, 4096), default=256, show_default=True, help="How many, at least a rank."
)
@click.option(
    "--memory", type=Size(), default="4GB", show_default=True, help="At most this much; GB is 10^9, GiB 2^30."
)
@directed_flag
@weighted_flag
@text_flags
@click.option("--source", help="The column of the nodes that edges start from, by its name.  [default: detected]")
@click.option("--target", help="The column of the nodes that edges lead to.  [default: detected]")
@click.option("--weight", help="The column of weights.  [default: one called weight, w, value, count, ...]")
@click.option("--quiet", "-q", is_flag=True, help="Say nothing of the stages.")
@force_flag
@json_flag
def prepare(files: tuple[str, ...], out: str, memory: int, quiet: bool, as_json: bool, **options: Any) -> None:
    """Write the graph in FILES as a folder of parts OUT, which `netfold fit` trains on any number of processes.

    FILES are csv, tsv or parquet, names, patterns in quotes, or folders that Spark or Dask wrote, and are read by the
    rules of every other command. It sorts on disk: the graph may be larger than memory. A run that was stopped goes on.
    """
    from netfold.io.prepare import prepare as prepare_files

    def report(words: str) -> None:
        if not quiet:
            click.echo(f"prepare: {words}", err=True)

    options["directed"] = bool(options["directed"])
    facts = prepare_files(list(files), out, memory=memory, report=report, **options)
    text = (
        f"{facts['nodes']:,} nodes and {facts['edges']:,} edges ({facts['arcs']:,} arcs) in {facts['parts']:,} parts, "
        f"the largest {facts['balance']:.2f} times the mean\nread: {facts['reading']}\n{out}"
    )
    say({"path": out, **facts}, text, as_json=as_json)


@click.command(
    epilog="Example: netfold plan big.parts sdne --dim 128 --ranks 8 --memory 141GB --wire 50GB",
    context_settings={"ignore_unknown_options": True, "allow_extra_args": True},
)
@click.argument("parts")
@click.argument("model")
@click.option("--ranks", type=click.IntRange(min=1), default=1, show_default=True, help="Processes: GPUs, as a rule.")
@click.option("--memory", type=Size(), help="What a rank has, as 141GB or 80GiB; options that fit are suggested.")
@click.option("--wire", type=Size(), help="Bytes a second that a rank can send: 50GB for 400 Gb/s, 1.25GB for 10 Gb/s.")
@click.option(
    "--time", "timed", is_flag=True, help="Estimate the seconds of an epoch, too: by some 10 s of short fits."
)
@json_flag
@click.pass_context
def plan(
    ctx: click.Context,
    parts: str,
    model: str,
    ranks: int,
    memory: int | None,
    wire: int | None,
    timed: bool,
    as_json: bool,
) -> None:
    """Say what fitting MODEL to a folder of PARTS takes: memory a rank, bytes an epoch, seconds on a wire, disk.

    Options of the model are given as to `netfold fit` (--dim, --hidden, ...); MODEL may stand before PARTS, as it does
    there. It is arithmetic on what `fit` allocates; nothing is trained, unless --time asks for short fits to small
    graphs with such degrees.
    """
    import dataclasses

    from netfold.io.parts import PartsFolder
    from netfold.studies.plan import computing, gib, suggestions
    from netfold.studies.plan import plan as planned

    if Path(model).is_dir() and not Path(parts).exists():  # as in `netfold fit MODEL EDGES`
        parts, model = model, parts
    model = name_typed(model)
    cls = MODELS[model]
    own = click.Command("plan", params=list(flags(cls)))
    inner = own.make_context(f"netfold plan {model}", list(ctx.args), parent=ctx)
    chosen = cls(**hyper_parameters(inner, cls, {**inner.params, "config": None}))
    folder = PartsFolder.open(Path(parts), "graph")
    answer = planned(folder, chosen, ranks=ranks, wire=wire)
    if timed:
        answer = dataclasses.replace(answer, epoch=computing(folder, chosen, ranks=ranks))
    facts: dict[str, Any] = {"path": parts, "model": cls.__name__, **dataclasses.asdict(answer)}
    lines = [str(answer)]
    if ranks > len(folder) and not answer.why:
        lines.append(f"{parts} has {len(folder)} parts: only as many ranks have work")
    if memory is not None:
        words = suggestions(folder, chosen, ranks, memory, wire=wire)
        facts |= {"fits": not words, "suggestions": words}
        lines.append(f"fits into {gib(memory)}" if not words else f"does not fit into {gib(memory)}; would fit:")
        lines += [f"  {word}" for word in words]
    say(facts, "\n".join(lines), as_json=as_json)
