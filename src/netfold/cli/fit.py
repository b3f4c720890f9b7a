"""`netfold fit MODEL EDGES -o FOLDER`: one subcommand for each model, its flags those of the model's options."""

from __future__ import annotations

import importlib
import inspect
import os
import re
import shlex
import time
from pathlib import Path
from typing import Any

import click

from netfold.cli.flags import ModelFlag, flags, from_toml
from netfold.cli.inputs import INPUTS, embedding_at, named_as, refuse_reading_flags
from netfold.cli.output import Interrupted, check_new_folder, force_flag, json_flag, model_out_flag, quiet_flag, say
from netfold.data.text import counted
from netfold.embedder.embedder import Embedder
from netfold.embedder.store import estimated_size
from netfold.errors import InputError
from netfold.io.files import check_room
from netfold.learn.progress import part
from netfold.models import MODELS, name_of_model

__all__ = ["fit", "hyper_parameters", "name_typed"]


def name_typed(text: str) -> str:
    """The model that a person means who types `text`; of DeepWalk it is said what it is here."""
    name = name_of_model(text)
    if name == "node2vec" and "walk" in text.lower():
        click.echo("deepwalk is node2vec with p = q = 1, which are its defaults", err=True)
    return name


class ModelCommands(click.Group):
    """A subcommand for every model there is, made when it is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(MODELS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        return _command(MODELS[name]) if name in MODELS else None

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        return super().resolve_command(ctx, [name_typed(args[0]), *args[1:]] if args else args)


@click.group(cls=ModelCommands, epilog="Example: netfold fit sdne edges.csv -o sdne.netfold --dim 64 --hidden 500,100")
def fit() -> None:
    """Fit a model to a graph, or to a hypergraph, and save it.

    `netfold fit MODEL --help` lists a model's options.
    """


class FitCommand(click.Command):
    """One whose help shows the model's own options apart from those that every model has."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        flags = [p for p in self.get_params(ctx) if isinstance(p, click.Option)]
        own = [p for p in flags if isinstance(p, ModelFlag)]
        for title, listed in (("Options", [p for p in flags if p not in own]), (f"Options of {self.name}", own)):
            with formatter.section(title):
                formatter.write_dl([record for p in listed if (record := p.get_help_record(ctx))])


def _command(cls: type[Embedder]) -> click.Command:
    name, source = cls.__name__.lower(), INPUTS[cls.reads]

    @model_out_flag
    @force_flag
    @source.add
    @click.option("--config", metavar="FILE.toml", help="Options of the model by name; flags on the command line win.")
    @click.option(
        "--checkpoint", metavar="FOLDER", help="Keep the training's state here; the same command goes on from it."
    )
    @click.option(
        "--checkpoint-every",
        type=click.FloatRange(min=0),
        metavar="SECONDS",
        default=30.0,
        show_default=True,
        help="The least time between two states.",
    )
    @quiet_flag
    @click.option("--profile", is_flag=True, help="Print where the time went: reading, the start, epochs by part, ...")
    @json_flag
    @click.pass_context
    def run(ctx: click.Context, /, **options: Any) -> None:
        try:
            if options.pop("profile"):
                _profiled(ctx, cls, options)
            else:
                _fit(ctx, cls, **options)
        except KeyboardInterrupt as e:
            raise Interrupted(_how_to_go_on(ctx)) from e

    usual = "--embedding vectors.parquet" if cls.extends else "--dim 64"
    epilog = f"Example: netfold fit {name} {source.file} -o {name}.netfold {usual} --checkpoint {name}.state"
    short = str(cls.__doc__).splitlines()[0]
    command = click.command(name, cls=FitCommand, help=_help(cls), short_help=short, epilog=epilog)(run)
    command.params += [*([_EMBEDDING] if cls.extends else []), *([] if cls.reads != "graph" else [_CHOOSE_SCORE])]
    command.params += flags(cls)
    return command


_EMBEDDING = click.Option(
    ["--embedding"],
    required=True,
    metavar="FILE",
    help="The vectors to extend: .parquet, .npz, .npy, .csv, .tsv, .txt, .w2v, .bin, or the folder of a fitted model.",
)


_CHOOSE_SCORE = click.Option(
    ["--choose-score"],
    is_flag=True,
    help="Choose how pairs of nodes are scored, by one more fit without a tenth of the links; later commands use it.",
)


def _help(cls: type[Embedder]) -> str:
    """The class's docstring up to its examples and options, and what EDGES may be."""
    words = re.split(">>>|^Parameters$", inspect.cleandoc(str(cls.__doc__)), maxsplit=1, flags=re.MULTILINE)[0]
    return f"{words}\n{INPUTS[cls.reads].help}"


def _fit(ctx: click.Context, cls: type[Embedder], edges: Any, out: str, **options: Any) -> None:
    model = cls(**hyper_parameters(ctx, cls, options))
    several = os.environ.get("WORLD_SIZE", "1") != "1"
    if isinstance(edges, str) and (several or (Path(edges) / "parts.json").exists()):
        from netfold.embedder.parts import is_spread

        if is_spread(model, edges, options["embedding"] if cls.extends else None):
            refuse_reading_flags(edges, {name: options[name] for name in INPUTS[cls.reads].names})
            _fit_parts(model, edges, out, options)
            return
    check_new_folder(out, force=options["force"])
    _check_apart(out, options["checkpoint"])
    source = INPUTS[cls.reads]
    with part("reading"):
        graph = source.read(edges, **{name: options[name] for name in source.names})
    embedding = embedding_at(options["embedding"]) if cls.extends else None
    graph = graph if embedding is None else named_as(graph, embedding.nodes)
    check_room(Path(out), estimated_size(model, graph, embedding))
    start = time.perf_counter()
    training = {name: options[name] for name in ("checkpoint", "checkpoint_every")}
    model.fit(graph, embedding, **training, progress=not options["quiet"])
    seconds = time.perf_counter() - start
    if options.get("choose_score"):
        _choose_score(model, graph, embedding)
    with part("saving"):
        model.save(out, force=options["force"])
    facts = {"model": cls.__name__, "path": out, "nodes": graph.n_nodes, "edges": graph.n_edges}
    facts |= {"dim": model.embedding_.dim, **_training(model)}
    facts |= {"seconds": round(seconds, 3), "checkpoint": options["checkpoint"]}
    facts |= {"pair_score": model.pair_score_} if hasattr(model, "pair_score_") else {}
    trained = "epochs" in model.get_params()
    say(facts, _summary(facts, source.noun, trained=trained), as_json=options["as_json"])


def _profiled(ctx: click.Context, cls: type[Embedder], options: dict[str, Any]) -> None:
    """The same, and where the time went, on standard error: standard output is the result's."""
    from netfold.learn.progress import profile

    with profile() as spent:
        with part("imports"):  # of a short fit the larger part
            importlib.import_module("torch")
        _fit(ctx, cls, **options)
    click.echo(str(spent), err=True)


def _choose_score(model: Embedder, graph: Any, embedding: Any) -> None:
    """The score that suits a model like this one, fitted to all but a tenth of the links."""
    from netfold.evaluate.link_tasks import choose_pair_score

    copy = type(model)(**model.get_params())
    score = choose_pair_score(lambda part: copy.fit(part, embedding, progress=False), graph, seed=model.seed)
    if score is None:
        raise InputError(f"--choose-score holds out a tenth of the links, and there are {graph.n_edges}; leave it out")
    model.pair_score_ = score


def _fit_parts(model: Embedder, edges: str, out: str, options: dict[str, Any]) -> None:
    """The same for a folder of parts: every rank runs this, and rank 0 speaks."""
    from netfold.cluster.ranks import start
    from netfold.io.parts import PartsFolder
    from netfold.studies.plan import plan

    ranks = start(model.device)
    folder = ranks.together(lambda: PartsFolder.open(edges, "graph"))
    kept = model.extends and ranks.size > 1  # what is learned is as large as the graph, and stays in the checkpoint

    def check() -> None:
        if kept and options["checkpoint"] is None:
            raise InputError(
                f"several ranks keep what {type(model).__name__} has learned in a checkpoint; add --checkpoint FOLDER, "
                f"and then run the same command without torchrun to write {out}"
            )
        if model.extends and out.rstrip("/").endswith(".parts"):
            raise InputError(
                f"{out}: {type(model).__name__} is a model, not a folder of vectors; let it end in .netfold"
            )
        if ranks.size > 1 and not kept and not out.rstrip("/").endswith(".parts"):
            raise InputError(f"{out}: several ranks write a folder of parts; let its name end in .parts")
        if ranks.first:
            check_new_folder(out, force=options["force"])
            _check_apart(out, options["checkpoint"])
            expected = plan(folder, model, ranks=ranks.size)
            check_room(Path(out), expected.vectors)
            if options["checkpoint"] is not None:
                check_room(Path(options["checkpoint"]), 2 * expected.state)

    ranks.together(check)
    start_time = time.perf_counter()
    training = {name: options[name] for name in ("checkpoint", "checkpoint_every")}
    try:
        model.fit(edges, options.get("embedding"), **training, progress=not options["quiet"])
    except KeyboardInterrupt as e:
        if ranks.first:
            raise
        interrupted = Interrupted("interrupted")
        interrupted.silent = True
        raise interrupted from e
    seconds = time.perf_counter() - start_time
    if not kept:
        model.save(out, force=options["force"])
    path = options["checkpoint"] if kept else out
    facts = {"model": type(model).__name__, "path": path, "nodes": folder.n_nodes, "arcs": folder.n_arcs}
    facts |= {"dim": model.embedding_.dim, **_training(model), "ranks": ranks.size}
    facts |= {"seconds": round(seconds, 3), "checkpoint": options["checkpoint"]}
    if ranks.first:
        trained = "epochs" in model.get_params()
        say(facts, _summary(facts | {"edges": folder.n_arcs}, "arcs", trained=trained), as_json=options["as_json"])


def _check_apart(out: str, checkpoint: str | None) -> None:
    """The model takes the place of whatever has its name: a state in there would be in the way, or be lost."""
    model = Path(out).resolve()
    if checkpoint is not None and model in (Path(checkpoint).resolve(), *Path(checkpoint).resolve().parents):
        raise InputError(f"the checkpoint {checkpoint} is in {out}, where the model will be; give another folder")


def hyper_parameters(ctx: click.Context, cls: type, values: dict[str, Any]) -> dict[str, Any]:
    """What the command line says, over what the file says, over the defaults."""
    default = click.core.ParameterSource.DEFAULT
    names = [str(p.name) for p in ctx.command.params if isinstance(p, ModelFlag)]
    typed = {name: values[name] for name in names if ctx.get_parameter_source(name) is not default}
    return (from_toml(values["config"], cls) if values["config"] else {}) | typed


def _training(model: Embedder) -> dict[str, Any]:
    last = model.history_[-1] if model.history_ else {}
    losses = {name: value for name, value in last.items() if name not in ("epoch", "seconds", "objective")}
    facts = {"epochs": len(model.history_), "objective": last.get("objective"), "losses": losses}
    return facts | ({"held_out": model.held_out_} if model.held_out_ else {})


def _summary(facts: dict[str, Any], noun: str, *, trained: bool) -> str:
    terms = ", ".join(f"{name} {value:.4g}" for name, value in facts["losses"].items())
    ended = f"; objective {facts['objective']:.4g} ({terms})" if terms else ""
    scored = f"; pairs are scored by {facts['pair_score']}" if "pair_score" in facts else ""
    sizes = f"{counted(facts['nodes'], 'node')} and {counted(facts['edges'], noun.removesuffix('s'))}"
    done = f"{counted(facts['epochs'], 'epoch')} in {facts['seconds']:.1f} s{ended}"
    if not trained:
        done = f"computed in {facts['seconds']:.1f} s" + (f"; {terms}" if terms else "")
    if "held_out" in facts:
        from netfold.embedder.stopping import held_out_in_words

        done += f"; {held_out_in_words(facts['held_out'])}"
    said = f"{facts['model']} of {sizes} in {counted(facts['dim'], 'dimension')}: {done}{scored}"
    return f"{said}\n{facts['path']}"


def _how_to_go_on(ctx: click.Context) -> str:
    command, checkpoint = ["netfold", *ctx.obj], ctx.params["checkpoint"]
    if checkpoint and "RANK" in os.environ:
        return f"interrupted; the training so far is in {checkpoint}; the same torchrun command goes on from it"
    if checkpoint and any(Path(checkpoint).glob("**/manifest.json")):
        return f"interrupted; the training so far is in {checkpoint}; to go on, run: {shlex.join(command)}"
    if checkpoint:
        return (
            f"interrupted before there was anything to keep in {checkpoint}; to start again, run: {shlex.join(command)}"
        )
    command += ["--checkpoint", f"{str(ctx.params['out']).rstrip('/')}.state"]
    return f"interrupted, and nothing was kept; a run that can be interrupted and go on is: {shlex.join(command)}"
