"""`netfold evaluate TASK MODEL EDGES`: how good a model is at a task; a subcommand for each task of the table."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from netfold.cli.fit import FitCommand, hyper_parameters, name_typed
from netfold.cli.flags import PairScore, flags, renamed_flag
from netfold.cli.inputs import CLASSES_HELP, INPUTS, classes_of, graph_of, model_of, named_as, named_as_known
from netfold.cli.output import json_flag, quiet_flag, say, seed_flag
from netfold.embedder.embedder import Embedder
from netfold.errors import InputError
from netfold.evaluate.task import (
    AGGREGATES,
    CALIBRATORS,
    CENTRALITIES,
    CERTAINTIES,
    CLASS_RULES,
    CLASSIFIERS,
    EDGES_BY,
    ISOLATED,
    KEEP,
    LINKED,
    NEGATIVES,
    NORMALIZE,
    SAMPLERS,
    SCORES_OF_VECTORS,
    TASKS,
    Task,
    task_named,
)
from netfold.models import MODELS

if TYPE_CHECKING:
    from netfold.evaluate.case import Case

__all__ = ["evaluate"]

Fit = Callable[[Any], Any]
"""From the data to learn from to a fitted model."""


class _Tasks(click.Group):
    """The tasks, by any of their names."""

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        try:
            return super().get_command(ctx, task_named(name).name)
        except InputError:
            return None


@click.group(cls=_Tasks, epilog="Example: netfold evaluate link-prediction sdne edges.csv --held-out 0.15 --dim 64")
def evaluate() -> None:
    """Measure how good a model is at a task, beside cheap baselines.

    `netfold evaluate TASK MODEL EDGES`, where MODEL is the name of a model, to be fitted here with the flags that
    `netfold fit` has, or a folder that `netfold fit` wrote, or a file that an embedding was exported to.
    """


class _Models(click.Group):
    """A task: a subcommand for every model that can be fitted, and one for whatever is saved."""

    def __init__(self, task: Task):
        words = "MODEL is the name of a model, whose options are listed by MODEL --help, or the path of a saved one."
        short = task.question.split(":")[0] + "."
        super().__init__(task.name, help=f"{_help(task)}\n\n{words}", short_help=short, epilog=_example(task))
        self._task = task
        self._fitted = {name: cls for name, cls in MODELS.items() if cls.reads in task.reads}

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self._fitted)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        return _of_model(self._task, self._fitted[name]) if name in self._fitted else None

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        if args and args[0] not in self._fitted:
            if not Path(args[0]).exists():
                with suppress(InputError):
                    args = [name_typed(args[0]), *args[1:]]
                if args[0] in self._fitted:
                    return super().resolve_command(ctx, args)
                self._check_reads(args[0])
                known = ", ".join(self._fitted)
                raise click.UsageError(f"{args[0]!r} is neither a model ({known}) nor a saved one; give its path", ctx)
            return "MODEL", _of_saved(self._task, args[0]), args
        return super().resolve_command(ctx, args)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The flags of the task, which stand after MODEL and EDGES, and then the models."""
        listed = [p for p in _of_saved(self._task).params if isinstance(p, click.Option)]
        with formatter.section("Options, after MODEL and EDGES"):
            formatter.write_dl([record for p in listed if (record := p.get_help_record(ctx))])
        super().format_options(ctx, formatter)

    def _check_reads(self, name: str) -> None:
        if name in MODELS:
            kinds, own = " or ".join(f"{kind}s" for kind in self._task.reads), ", ".join(self._fitted)
            other = "" if "hypergraph" in self._task.reads else "; netfold evaluate hyperedges is for the others"
            raise InputError(
                f"{name} reads {MODELS[name].reads}s, and this task is for models of {kinds} ({own}){other}"
            )


_SAVED = {
    "edges": "A model given by name is fitted to the edges that are left. A saved one must not have seen the test "
    "edges: EDGES are then those it was fitted to, and --test names a file of others.",
    "hyperedges": "A model given by name is fitted to the hyperedges that are left. A saved one must not have seen the "
    "test hyperedges: EDGES are then those it was fitted to, and --test names a file of others. Hyperedges that were "
    "never seen and all that were held out have figures of their own, where some are listed twice.",
    "nodes": "A model given by name is fitted to the nodes that are left. Of a saved one, the new nodes are those of "
    "EDGES that it was not fitted to.",
}
"""What is held out from whom, by `Task.split`."""


def _help(task: Task) -> str:
    fits = "A model of each graph, with and without more edges, is fitted here: a saved one will not do."
    parts = [task.question + ".", fits if task.refits else _SAVED.get(task.split, "")]
    return "\n\n".join(x for x in (*parts, "" if "graph" in task.reads else INPUTS["hypergraph"].help) if x)


_EXAMPLES = {"uncertainty": "dvne", "calibration": "dvne", "roles": "drne", "hyperedges": "dhne"}


def _example(task: Task, model: str = "", more: str = "") -> str:
    name = model or _EXAMPLES.get(task.name, "sdne")
    reads = MODELS[name].reads if name in MODELS else task.reads[0]
    classes = " --classes classes.csv" if task.needs_classes else ""
    return f"Example: netfold evaluate {task.name} {name} {INPUTS[reads].file}{classes}{more}"


# -------------------------------------------------------------------- the two kinds of command


def _of_model(task: Task, cls: type[Embedder]) -> click.Command:
    """The command that fits a model: its flags and those of the task."""

    @click.option("--config", metavar="FILE.toml", help="Options of the model by name; flags on the command line win.")
    @quiet_flag
    @click.pass_context
    def command(ctx: click.Context, /, **values: Any) -> None:
        from netfold.studies.compare import fit_choosing_score, fit_with_base

        model = cls(**hyper_parameters(ctx, cls, values))
        data, classes = _read(task, cls.reads, values)
        chooses = task.name == "link-prediction" and values[f"{_PREFIX}score"] is None
        fit = fit_choosing_score if chooses else fit_with_base
        _measure(
            task,
            data,
            classes,
            lambda graph: fit(model, graph, progress=not values["quiet"]),
            model.seed,
            values,
        )

    name, short = cls.__name__.lower(), str(cls.__doc__).splitlines()[0]
    command_of_model = click.command(
        name, cls=FitCommand, help=_help(task), short_help=short, epilog=_example(task, name, " --dim 64")
    )(_with_flags(task, cls.reads)(command))
    command_of_model.params += _apart(flags(cls), command_of_model, name)
    return command_of_model


def _apart(own: list[click.Option], command: click.Command, name: str) -> list[click.Option]:
    """A model's flags; one that the task has too is called after the model: --node2vec-negatives."""
    taken = {spelling for flag in command.params for spelling in flag.opts}
    for flag in own:
        flag.opts = [f"--{name}-{x.removeprefix('--')}" if x in taken else x for x in flag.opts]
    return own


def _of_saved(task: Task, path: str = "") -> click.Command:
    """The command that measures what is saved, as it is."""
    reads = _reads(task, path)

    @seed_flag
    def command(model: str, seed: int, **values: Any) -> None:
        if task.refits:
            raise InputError(f"{task.name} fits models itself; give the name of one in the place of {model}")
        if _tested(task) and values["test"] is None:
            raise InputError(
                f"{model} may have seen the {task.split} that would be held out; give the {task.split} that it was "
                "fitted to and others in a file (--test FILE), or a model's name to fit one here"
            )
        saved = model_of(model)
        data, classes = _read(task, reads, values)
        if task.split == "nodes":
            data = named_as(data, getattr(saved, "embedding_", saved).nodes)
            values |= {"new_nodes_of": saved}

        def same(graph: Any) -> Any:
            if _tested(task):
                _check_fitted_to(saved, graph, model, values["edges"], task.split)
            return saved

        _measure(task, data, classes, same, seed, values)

    if _tested(task):
        words = f"{task.split.capitalize()} that the saved model has not seen."
        command = click.option("--test", metavar="FILE", help=words)(command)
    others = " --test others.csv" if _tested(task) else ""
    epilog = _example(task, f"{_EXAMPLES.get(task.name, 'sdne')}.netfold", others)
    with_flags = click.argument("model")(_with_flags(task, reads)(command))
    return click.command("MODEL", help=_help(task), epilog=epilog)(with_flags)


def _tested(task: Task) -> bool:
    """Whether a saved model needs a file of what it has not seen."""
    return task.split in ("edges", "hyperedges") and not task.refits


def _reads(task: Task, path: str) -> str:
    """What a saved model reads, by its manifest; plain vectors are taken to be those of a graph."""
    if len(task.reads) == 1:
        return task.reads[0]
    try:
        saved = json.loads((Path(path) / "manifest.json").read_text(encoding="utf-8"))["model"]
        return MODELS[str(saved).lower()].reads
    except (OSError, ValueError, KeyError, TypeError):
        return "graph"


def _with_flags(task: Task, reads: str) -> Callable[[Any], Any]:
    """The flags of the task, and those of reading."""

    def add(command: Any) -> Any:
        command = json_flag(INPUTS[reads].add(command))
        for argument in reversed([x for x in task.arguments if x not in _NO_FLAG]):
            command = _flag(task, argument)(command)
        if task.takes_classes:
            command = click.option("--classes", required=task.needs_classes, metavar="FILE", help=CLASSES_HELP)(command)
            command = renamed_flag("--labels", "--classes")(command)
        if "held_out" in task.arguments:
            command = renamed_flag("--hide", "--held-out")(command)
        return command

    return add


# -------------------------------------------------------------------- what they do


def _read(task: Task, reads: str, values: Mapping[str, Any]) -> tuple[Any, dict[Any, tuple[Any, ...]] | None]:
    """The data, and the classes of nodes where a file of them is given."""
    input_of = INPUTS[reads]
    data = input_of.read(values["edges"], **{name: values[name] for name in input_of.names})
    classes = values.get("classes")
    return data, None if classes is None else classes_of(classes, data.nodes)


def _measure(
    task: Task, data: Any, classes: dict[Any, tuple[Any, ...]] | None, fit: Fit, seed: int, values: Mapping[str, Any]
) -> None:
    """Fit once, evaluate (hyperedges: under each sampler of negatives), and print."""
    arguments = _protocol(values)
    if task.takes_classes and not task.needs_classes:
        arguments["classes"] = classes is not None
    if task.name != "hyperedges":
        case = _case(task, data, classes, arguments, seed, values)
        result = case.evaluate(fit(case.graph), baselines=True)
        say(result.to_dict(), repr(result), as_json=values["as_json"])
        return
    cases = {x: _case(task, data, None, arguments | {"negatives": x}, seed, values) for x in arguments["negatives"]}
    model = fit(next(iter(cases.values())).graph)
    results = {name: case.evaluate(model, baselines=True) for name, case in cases.items()}
    facts = {"task": task.name, "results": {name: result.to_dict() for name, result in results.items()}}
    say(facts, "\n\n".join(map(repr, results.values())), as_json=values["as_json"])


def _case(
    task: Task,
    data: Any,
    classes: dict[Any, tuple[Any, ...]] | None,
    arguments: dict[str, Any],
    seed: int,
    values: Mapping[str, Any],
) -> Case:
    """What is held out at random or, for a saved model, what the file of test edges or the model's nodes say."""
    from netfold.evaluate.case import case, case_of_split

    if values.get("test") is None and "new_nodes_of" not in values:
        return case(task.name, data, lambda: classes or {}, arguments, seed)
    odd = next(iter(task.held_out(arguments)), None)
    if odd is not None:
        other = "--test gives those that are" if values.get("test") else "the saved model says which are"
        raise InputError(f"{_spelled(odd)} holds out {task.split} and {other} held out; leave out one of them")
    return case_of_split(task.name, _split(task, data, values), lambda: classes or {}, arguments, seed)


def _split(task: Task, data: Any, values: Mapping[str, Any]) -> Any:
    from netfold.evaluate import EdgeSplit, HyperedgeSplit
    from netfold.evaluate.case import new_to

    if "new_nodes_of" in values:
        return new_to(values["new_nodes_of"], data)
    input_of = INPUTS[task.reads[0]]
    reading = {name: values[name] for name in input_of.names}
    if task.split == "hyperedges":
        return HyperedgeSplit(data, named_as_known(input_of.read([values["test"]], **reading), data.nodes), {})
    test = graph_of(values["test"], data.nodes, **reading | {"directed": data.directed})
    return EdgeSplit.of(data, named_as(test, data.nodes))


def _check_fitted_to(saved: Any, graph: Any, model: str, edges: Any, noun: str) -> None:
    """A model that was fitted to other edges may have seen the test edges; an embedding does not say."""
    facts = getattr(saved, "graph_facts_", None)
    if facts is not None and not graph.has_fingerprint(facts["fingerprint"]):
        files = edges if isinstance(edges, str) else ", ".join(edges)
        raise InputError(
            f"{model} was not fitted to {files}, and may have seen the test {noun}; give those that it was"
        )


# -------------------------------------------------------------------- the flags of arguments

_PREFIX = "protocol_"
"""Before the name of an argument, so that it is not taken for an option of the model."""
_NO_FLAG = ("alpha", "similarity", "until", "classes", "test", "kept", "duplicates")
"""Arguments that the command line leaves at their defaults: --alpha is the model's, and others are of data sets in
parts. `classes` is whether --classes is given."""


def _protocol(values: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of the task that were given."""
    cut = len(_PREFIX)
    return {name[cut:]: x for name, x in values.items() if name.startswith(_PREFIX) and x is not None}


class _Numbers(click.ParamType):  # type: ignore[type-arg]
    """Numbers separated by commas, each within bounds."""

    name = "numbers"

    def __init__(self, kind: type, low: float, high: float = float("inf")):
        self._kind, self._low, self._high = kind, low, high

    def get_metavar(self, param: click.Parameter, ctx: click.Context) -> str:
        return "N,N,..." if self._kind is int else "X,X,..."

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if not isinstance(value, str):
            return value
        try:
            numbers = tuple(self._kind(part) for part in value.split(","))
            if not all(self._low <= x <= self._high for x in numbers):
                raise ValueError
        except ValueError:
            kind = "whole numbers" if self._kind is int else "numbers"
            bound = f"of at least {self._low:g}" + (f" and at most {self._high:g}" if self._high < float("inf") else "")
            self.fail(f"{value!r} is not a list of {kind} {bound}, separated by commas", param, ctx)
        return numbers


class _Words(click.ParamType):  # type: ignore[type-arg]
    """Words separated by commas, each one of those known."""

    name = "words"

    def __init__(self, known: tuple[str, ...]):
        self._known = known

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        words = tuple(value.split(",")) if isinstance(value, str) else value
        wrong = [word for word in words if word not in self._known]
        if wrong:
            self.fail(f"{wrong[0]!r} is not one of {', '.join(self._known)}", param, ctx)
        return words


_SHARE = click.FloatRange(0, 1, min_open=True, max_open=True)
_COUNT = click.IntRange(1)
_FLAGS: dict[str, tuple[Any, str]] = {
    "held_out": (_SHARE, "The share of {split} to hold out.  [default: 0.2]"),
    "by": (click.Choice(EDGES_BY), "Random edges, or the latest by their time column.  [default: random]"),
    "keep": (click.Choice(KEEP), "connected: no held-out edge may cross components.  [default: none]"),
    "score": (
        PairScore(),
        "How a pair of nodes is scored; own: as the model means it; or by links alone (paths of three, ...), or a sum, "
        "as '2 paths + 0.5 cosine'.  [default: {score}]",
    ),
    "isolated": (
        click.Choice(ISOLATED),
        "How pairs with a node that training leaves without links are scored.  [default: average]",
    ),
    "negatives": (click.Choice(NEGATIVES), "How pairs that are no edges are drawn.  [default: uniform]"),
    "per_positive": (_COUNT, "So many for each test edge.  [default: 1]"),
    "k": (_Numbers(int, 1), "Precision among so many best pairs.  [default: 100,1000,10000]"),
    "hits": (_Numbers(int, 1), "Hits among so many best.  [default: 10,50]"),
    "nodes": (_COUNT, "Rank from so many random nodes in larger graphs.  [default: 20000]"),
    "train": (_Numbers(float, 0.001, 0.999), "Shares of nodes to learn from, as 0.1,0.9."),
    "classifier": (click.Choice(CLASSIFIERS), "One for each class against the rest.  [default: logistic]"),
    "rule": (click.Choice(CLASS_RULES), "top-k: how many classes a node has is known.  [default: top-k]"),
    "normalize": (
        click.Choice(NORMALIZE),
        "Vectors of length 1 (around 0 or around their mean), or coordinates of mean 0 and deviation 1.",
    ),
    "C": (click.FloatRange(min=0, min_open=True), "The larger, the weaker (C)."),
    "repeats": (_COUNT, "How many random splits are averaged."),
    "clusters": (click.IntRange(2), "How many.  [default: as there are classes]"),
    "sources": (_COUNT, "Count paths from so many random nodes."),
    "measures": (_Words(CENTRALITIES), f"Of {', '.join(CENTRALITIES)}.  [default: all]"),
    "pairs": (click.IntRange(2), "Compare so many random pairs in larger graphs.  [default: 1000000]"),
    "perplexity": (click.FloatRange(min=0, min_open=True), "Of the t-SNE.  [default: 30]"),
    "largest": (_COUNT, "A node's variance is the mean of so many largest.  [default: 10]"),
    "bins": (_COUNT, "Of the degree, or of probabilities.  [default: 10]"),
    "method": (click.Choice(CALIBRATORS), "How a probability is learned from a score.  [default: platt]"),
    "certainty": (click.Choice(CERTAINTIES), "What says which nodes are certain.  [default: variance]"),
    "fractions": (_Numbers(float, 0.001), "Edges to add, as parts of those there are.  [default: 0.05,0.25,0.5]"),
    "new": (click.FloatRange(0, min_open=True), "The share of nodes that are new, or how many.  [default: 0.1]"),
    "max_degree": (_COUNT, "Of new nodes that a walk draws, fewer neighbors than these.  [default: 16]"),
    "days": (click.IntRange(2), "Batches that the later edges come in.  [default: 10]"),
    "every": (_COUNT, "Train and measure after so many batches.  [default: 1]"),
    "mu": (click.FloatRange(min=0), "How fast nodes are held when settling.  [default: 1]"),
    "links": (None, "Whether half of the new nodes' links are held out and predicted.  [default: links]"),
    "linked": (click.Choice(LINKED), "What a new node has to known ones.  [default: what the model can place]"),
    "aggregate": (
        click.Choice(AGGREGATES), "Score a tuple by the cosines of its pairs.  [default: the model's own score]",
    ),
}  # fmt: skip
"""By the argument: the type, and the help."""
_OF_TASK: dict[tuple[str, str], tuple[Any, str]] = {
    ("out-of-sample", "by"): (
        click.Choice(["random", "walk"]),
        "How they are drawn; walk: as in DepthLGP's paper.  [default: random]",
    ),
    ("replay", "by"): (click.Choice(["random", "walk"]), "How new nodes are drawn.  [default: random]"),
    ("replay", "score"): (click.Choice(SCORES_OF_VECTORS), "How a pair is scored.  [default: cosine]"),
    ("centrality", "held_out"): (_SHARE, "The share of nodes to be asked about.  [default: 0.2]"),
    ("reconstruction", "per_positive"): (_COUNT, "AUC too, against so many for each edge."),
    ("visualization", "nodes"): (_COUNT, "Map so many random nodes of larger graphs.  [default: 10000]"),
    ("calibration", "negatives"): (click.Choice(NEGATIVES[:2]), _FLAGS["negatives"][1]),
    ("cold-start", "by"): (click.Choice(["random", "walk"]), "How they are drawn.  [default: random]"),
    ("cold-start", "score"): (click.Choice(SCORES_OF_VECTORS), "How a pair is scored.  [default: cosine]"),
    ("out-of-sample", "score"): (click.Choice(SCORES_OF_VECTORS), "How a pair is scored.  [default: cosine]"),
    ("hyperedges", "per_positive"): (_COUNT, "So many for each hyperedge.  [default: 5]"),
    ("hyperedges", "negatives"): (
        _Words(SAMPLERS),
        "How tuples that are no hyperedges are drawn, separated by commas: replaced changes one position of a "
        "hyperedge, or two in a tenth of the cases; uniform all of them; all takes every tuple.",
    ),
}
"""Where a task means something else by it."""


def _flag(task: Task, argument: str) -> Callable[[Any], Any]:
    kind, words = _OF_TASK.get((task.name, argument), _FLAGS[argument])
    score = "w2 of Gaussians, else cosine" if task.score == "gaussian" else task.score
    if task.name == "link-prediction":
        score = "the one chosen with the model, or by another fit without a tenth of the links"
    help = words.format(split=task.split, score=score)
    name, spelled = f"{_PREFIX}{argument}", _spelled(argument)
    if kind is None:
        return click.option(f"{spelled}/--no-{spelled.removeprefix('--')}", name, default=None, help=help)
    some: dict[str, Any] = (
        {"default": ",".join(SAMPLERS[:2]), "show_default": True} if task.split == "hyperedges" else {}
    )
    return click.option(spelled, name, type=kind, help=help, **(some if argument == "negatives" else {}))


def _spelled(argument: str) -> str:
    """The flag of an argument."""
    return "--" + {"C": "penalty"}.get(argument, argument).replace("_", "-")


for _task in TASKS.values():
    evaluate.add_command(_Models(_task))
