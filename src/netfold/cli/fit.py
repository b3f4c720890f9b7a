"""`netfold fit MODEL EDGES -o FOLDER`: one subcommand for each model, its flags those of the model's options."""

from __future__ import annotations

import inspect
import re
import shlex
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from netfold.cli.flags import ModelFlag, flags, from_toml
from netfold.cli.inputs import INPUTS, embedding_at, named_as
from netfold.cli.output import Interrupted, check_new_folder, force_flag, json_flag, say
from netfold.data.text import counted
from netfold.embedder.embedder import Embedder
from netfold.errors import InputError
from netfold.io.files import check_room
from netfold.models import MODELS

if TYPE_CHECKING:
    from netfold.data.embedding import Embedding
    from netfold.data.nodes import Nodes

__all__ = ["fit"]


class ModelCommands(click.Group):
    """A subcommand for every model there is, made when it is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(MODELS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        return _command(MODELS[name]) if name in MODELS else None

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        if args and args[0] not in MODELS:
            raise click.UsageError(f"no model is called {args[0]!r}; known: {', '.join(MODELS)}", ctx)
        return super().resolve_command(ctx, args)


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

    @click.option("-o", "--out", required=True, metavar="FOLDER", help="The folder to write the model to.")
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
    @click.option("--quiet", "-q", is_flag=True, help="Show no progress; the result is printed all the same.")
    @json_flag
    @click.pass_context
    def run(ctx: click.Context, /, **options: Any) -> None:
        try:
            _fit(ctx, cls, **options)
        except KeyboardInterrupt as e:
            raise Interrupted(_how_to_go_on(ctx)) from e

    usual = "--embedding vectors.parquet" if cls.extends else "--dim 64"
    epilog = f"Example: netfold fit {name} {source.file} -o {name}.netfold {usual} --checkpoint {name}.state"
    short = str(cls.__doc__).splitlines()[0]
    command = click.command(name, cls=FitCommand, help=_help(cls), short_help=short, epilog=epilog)(run)
    command.params += [*([_EMBEDDING] if cls.extends else []), *flags(cls)]
    return command


_EMBEDDING = click.Option(
    ["--embedding"],
    required=True,
    metavar="FILE",
    help="The vectors to extend: .parquet, .npz, .npy, .csv, .tsv, .txt, .w2v, .bin, or the folder of a fitted model.",
)


def _help(cls: type[Embedder]) -> str:
    """The class's docstring up to its examples and options, and what EDGES may be."""
    words = re.split(">>>|^Parameters$", inspect.cleandoc(str(cls.__doc__)), maxsplit=1, flags=re.MULTILINE)[0]
    return f"{words}\n{INPUTS[cls.reads].help}"


def _fit(ctx: click.Context, cls: type[Embedder], edges: Any, out: str, **options: Any) -> None:
    model = cls(**hyper_parameters(ctx, cls, options))
    check_new_folder(out, force=options["force"])
    _check_apart(out, options["checkpoint"])
    source = INPUTS[cls.reads]
    graph = source.read(edges, **{name: options[name] for name in source.names})
    embedding = embedding_at(options["embedding"]) if cls.extends else None
    graph = graph if embedding is None else named_as(graph, embedding.nodes)
    check_room(Path(out), _least_size(model, graph.nodes, embedding))
    start = time.perf_counter()
    training = {name: options[name] for name in ("checkpoint", "checkpoint_every")}
    model.fit(graph, embedding, **training, progress=not options["quiet"])
    seconds = time.perf_counter() - start
    model.save(out, force=options["force"])
    facts = {"model": cls.__name__, "path": out, "nodes": graph.n_nodes, "edges": graph.n_edges}
    facts |= {"dim": model.embedding_.dim, **_training(model)}
    facts |= {"seconds": round(seconds, 3), "checkpoint": options["checkpoint"]}
    say(facts, _summary(facts, source.noun), as_json=options["as_json"])


def _least_size(model: Embedder, nodes: Nodes, embedding: Embedding | None) -> int:
    """Bytes that the model will take on the disk at least: its nodes and their vectors. The network comes on top."""
    dim = model.dim if embedding is None else embedding.dim
    return 4 * dim * len(nodes) + sum(array.nbytes for array in nodes.arrays().values())


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
    return {"epochs": len(model.history_), "objective": last.get("objective"), "losses": losses}


def _summary(facts: dict[str, Any], noun: str) -> str:
    terms = ", ".join(f"{name} {value:.4g}" for name, value in facts["losses"].items())
    ended = f"; objective {facts['objective']:.4g} ({terms})" if terms else ""
    sizes = f"{counted(facts['nodes'], 'node')} and {counted(facts['edges'], noun.removesuffix('s'))}"
    took = f"{counted(facts['epochs'], 'epoch')} in {facts['seconds']:.1f} s"
    return f"{facts['model']} of {sizes} in {counted(facts['dim'], 'dimension')}: {took}{ended}\n{facts['path']}"


def _how_to_go_on(ctx: click.Context) -> str:
    command, checkpoint = ["netfold", *ctx.obj], ctx.params["checkpoint"]
    if checkpoint and (Path(checkpoint) / "manifest.json").exists():
        return f"interrupted; the training so far is in {checkpoint}; to go on, run: {shlex.join(command)}"
    if checkpoint:
        return (
            f"interrupted before there was anything to keep in {checkpoint}; to start again, run: {shlex.join(command)}"
        )
    command += ["--checkpoint", f"{str(ctx.params['out']).rstrip('/')}.state"]
    return f"interrupted, and nothing was kept; a run that can be interrupted and go on is: {shlex.join(command)}"
