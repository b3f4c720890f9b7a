"""`nf.compare`: fit each model to what each task leaves, measure all of them alike, time it; one table."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from netfold.data.hypergraph import Hypergraph, clique_expansion
from netfold.data.text import type_in_words
from netfold.embedder.embedder import Embedder
from netfold.errors import InputError, TrainingError, is_out_of_memory, renamed
from netfold.evaluate.task import TASKS, Task, task_named
from netfold.io.edges import graph_or_hypergraph
from netfold.models import MODELS, name_of_model
from netfold.studies.compare.table import Comparison, Entry
from netfold.studies.machine import Meter

if TYPE_CHECKING:
    from netfold.evaluate.case import Case
    from netfold.evaluate.result import Result

__all__ = [
    "BASE",
    "Comparison",
    "Contender",
    "Entry",
    "compare",
    "contenders",
    "fit_choosing_score",
    "fit_with_base",
    "model_named",
    "readable",
]


BASE = "node2vec"
"""Whose vectors a model that extends those of another is given."""


@dataclass(frozen=True)
class Contender:
    """An unfitted model, and what a table calls it."""

    name: str
    model: Embedder

    @property
    def width(self) -> int:
        """How many numbers its vectors will have; 0 stands for as many as those that it extends."""
        return self.model.dim or MODELS[BASE]().dim


def contenders(models: Any, seed: int) -> list[Contender]:
    """Copies of the models given, by name (then with this seed) or as instances; their classes' names, where one each.

    >>> from netfold.models import SDNE
    >>> [x.name for x in contenders(["drne", SDNE(dim=8), SDNE(dim=16)], seed=0)]
    ['DRNE', 'SDNE(dim=8)', 'SDNE(dim=16)']
    """
    one = isinstance(models, (str, Embedder))
    if not one and not isinstance(models, Iterable):
        raise InputError(f"models is {type_in_words(models)}; give names ({', '.join(MODELS)}) or models")
    copies = [_model(x, seed) for x in ([models] if one else models)]
    if not copies:
        raise InputError(f"there is no model to compare; give one or more of {', '.join(MODELS)}")
    kinds = Counter(type(model).__name__ for model in copies)
    names = [_called(m, several=kinds[type(m).__name__] > 1) for m in copies]
    twice = next((name for name, count in Counter(names).items() if count > 1), None)
    if twice:
        raise InputError(f"{twice} is given twice with the same options; leave one out, or change an option")
    return [Contender(name, model) for name, model in zip(names, copies, strict=True)]


def model_named(name: str, **options: Any) -> Embedder:
    """An unfitted model by its name on the command line."""
    return MODELS[name_of_model(name)](**options)


def _called(model: Embedder, *, several: bool) -> str:
    over = f" over {MODELS[BASE].__name__}" if model.extends else ""
    return (repr(model) if several else type(model).__name__) + over


def _model(model: Any, seed: int) -> Embedder:
    if isinstance(model, str):
        return model_named(model, seed=seed)
    if not isinstance(model, Embedder):
        kind = getattr(model, "__name__", type(model).__name__)
        raise InputError(f"{kind} is neither the name of a model ({', '.join(MODELS)}) nor one with options, nf.SDNE()")
    return type(model)(**model.get_params())


def fit_with_base(
    model: Embedder,
    graph: Any,
    *,
    progress: bool = False,
    on_epoch: Callable[[dict[str, float]], object] | None = None,
) -> Embedder:
    """Fit a model; one that extends the vectors of another, to those of a fit of that one with the same seed.

    A model that reads no attributes is fitted to the links alone: side by side with others, that is what it is.
    """
    own = readable(model, graph)
    if not model.extends:
        return model.fit(own, progress=progress, on_epoch=on_epoch)
    options = {"seed": model.seed, "device": model.device} | ({"dim": model.dim} if model.dim else {})
    base = model_named(BASE, **options)
    known = base.fit(readable(base, graph), progress=progress, on_epoch=on_epoch)
    return model.fit(own, known.embedding_, progress=progress, on_epoch=on_epoch)


def readable(model: Embedder, graph: Any) -> Any:
    """The graph as a model reads it: without attributes, where it reads none; of a hypergraph, where it reads graphs,
    its pairs of nodes that share hyperedges (the clique expansion).

    >>> from netfold.data.graph import Graph
    >>> ring = Graph.from_edges([(1, 2), (2, 3)], attributes={i: {"age": i} for i in (1, 2, 3)})
    >>> readable(model_named("line"), ring).attributes is None
    True
    """
    if isinstance(graph, Hypergraph) and model.reads == "graph":
        graph = clique_expansion(graph)
    known = getattr(graph, "attributes", None)
    return graph if known is None or model._reads_attributes() else graph.with_attributes(None)


def fit_choosing_score(model: Embedder, graph: Any, *, progress: bool = False) -> Embedder:
    """Fit a model, and one like it to all but a tenth of the links, which choose the score of pairs that it keeps.

    This is how a model is fitted where links are predicted and no score is asked for.
    """
    from netfold.evaluate.link_tasks import choose_pair_score

    def like(part: Any) -> Embedder:
        return fit_with_base(type(model)(**model.get_params()), part, progress=progress)

    score = choose_pair_score(like, graph, seed=model.seed)
    fit_with_base(model, graph, progress=progress)
    if score is not None:
        model.pair_score_ = score
    return model


@renamed(labels="classes")
def compare(
    models: Any,
    graph: Any,
    tasks: Any = "link_prediction",
    *,
    classes: Mapping[Any, Any] | None = None,
    seed: int = 0,
    progress: bool = True,
) -> Comparison:
    """Fit models and set them side by side with the cheap baselines, in the same tasks on the same splits.

    `models` are names ("sdne") or models with options (`nf.SDNE(dim=64)`), which are copied and fitted here, to what
    each task leaves of the graph. `tasks` are names, those of `nf.evaluate.TASKS` ("link_prediction", "classification",
    "out_of_sample" for new nodes, "hyperedges" for a hypergraph), or a mapping from names to their arguments:
    {"link_prediction": {"held_out": 0.1}}. `classes` are the classes of nodes, where a task needs them. A model that
    cannot do a task has a row that says why. Figures are those that `nf.evaluate` and `netfold evaluate` give by
    default. In link prediction the score of pairs is chosen for each model, by another fit without a tenth of the
    training links (`nf.evaluate.choose_pair_score`); {"link_prediction": {"score": "cosine"}} says it for all.

    >>> from netfold.studies.datasets import stochastic_block_model
    >>> graph, blocks = stochastic_block_model((30, 30), 0.4, 0.02)
    >>> found = compare(["node2vec", "dhne"], graph, "classification", classes=blocks, progress=False)
    >>> found.methods[2:]
    ['spectral', 'normalised SVD', 'plain SVD', 'ProNE', 'majority of neighbors', 'most frequent classes']
    >>> found.entry("classification", "DHNE").why
    'DHNE reads a Hypergraph, not a Graph; make one with nf.read_hyperedges or Hypergraph.from_tuples'
    """
    rivals = contenders(models, seed)
    data = graph_or_hypergraph(graph, "hypergraph" if all(x.model.reads == "hypergraph" for x in rivals) else "graph")
    questions = _questions(tasks, data, classes, seed)
    run = _Run(seed, _Saying(progress, len(questions) * len(rivals)))
    width = max(x.width for x in rivals)
    cheap = [entry for question in questions for entry in run.baselines(question, width)]
    own = [entry for contender in rivals for entry in run.contender(contender, questions)]
    return Comparison(repr(data), (*own, *cheap), seed, run.smaller, run.protocols)


@dataclass(frozen=True)
class _Question:
    """A task on these data, whose split is drawn once for all models."""

    task: Task
    case: Case
    chooses_score: bool = False
    """Whether the score of pairs is chosen for each model, by another fit to a part of what it is fitted to."""

    def baselines(self, dim: int, seed: int) -> Result | None:
        """What costs about a second, under the same protocol, vectors as wide as the widest model's.

        Asked with random vectors in place of a model's, so that baselines do not depend on whether a model can do the
        task, and so that what is wrong with the question is said before anything is fitted.
        """
        if self.task.baselines != "shared":
            return None
        import numpy as np

        from netfold.data.embedding import Embedding

        nodes = self.case.graph.nodes
        vectors = np.random.default_rng(seed).normal(size=(len(nodes), dim)).astype(np.float32)
        return self.case.evaluate(Embedding(nodes, vectors), baselines=True)


def _questions(tasks: Any, graph: Any, classes: Mapping[Any, Any] | None, seed: int) -> list[_Question]:
    """What tasks come to on a graph or a hypergraph."""
    from netfold.evaluate.case import case

    arguments = _arguments(tasks)
    for task in arguments:
        if classes is None and task.needs_classes:
            raise InputError(
                f"{task.function} needs the classes of nodes; give classes={{node: class}} (--classes FILE)"
            )
    questions = []
    for task, own in arguments.items():
        optional = {"classes": classes is not None} if task.takes_classes and not task.needs_classes else {}
        one = case(task.name, graph, lambda: classes or {}, optional | dict(own), seed)
        questions.append(_Question(task, one, task.name == "link-prediction" and "score" not in own))
    return questions


def _arguments(tasks: Any) -> dict[Task, Mapping[str, Any]]:
    """The arguments of each task that is named."""
    if isinstance(tasks, str):
        tasks = [tasks]
    if not isinstance(tasks, Iterable):
        raise InputError(f"tasks is {type_in_words(tasks)}; give names ({', '.join(TASKS)})")
    pairs = tasks.items() if isinstance(tasks, Mapping) else [(task, {}) for task in tasks]
    by_task = {task_named(task): arguments for task, arguments in pairs}
    if not by_task:
        raise InputError(f"there is no task '' to compare models in; known: {', '.join(TASKS)}")
    return by_task


@dataclass
class _Saying:
    """Tells on standard error what is being done; models show their own progress on a terminal alone."""

    wanted: bool
    total: int
    done: int = 0

    def __call__(self, words: str) -> None:
        if self.wanted and sys.stderr is not None:
            print(f"compare: {words}", file=sys.stderr, flush=True)

    @property
    def bars(self) -> bool:
        return self.wanted and sys.stderr is not None and sys.stderr.isatty()


@dataclass
class _Fitted:
    """A fit, its cost, or why there is none."""

    model: Embedder | None = None
    seconds: float | None = None
    bytes: int | None = None
    why: str = ""


@dataclass
class _Run:
    """What results say beside figures, as it is learned."""

    seed: int
    say: _Saying
    smaller: dict[str, tuple[str, ...]] = field(default_factory=dict)
    protocols: dict[str, Mapping[str, Any]] = field(default_factory=dict)

    def baselines(self, question: _Question, dim: int) -> list[Entry]:
        self.say(f"the cheap baselines in {_words(question)}")
        result = question.baselines(dim, self.seed)
        return [] if result is None else self._cheap(question, result)

    def contender(self, contender: Contender, questions: list[_Question]) -> Iterable[Entry]:
        """All tasks of one model: a fit serves all that leave the same graph, and is let go before the next model."""
        fits: dict[str, _Fitted] = {}
        for question in questions:
            self.say.done += 1
            self.say(f"{contender.name} in {_words(question)} ({self.say.done} of {self.say.total})")
            graph = question.case.graph
            if graph.fingerprint not in fits:
                fits[graph.fingerprint] = _fit(contender.model, graph, progress=self.say.bars)
            fitted = fits[graph.fingerprint]
            if question.chooses_score:
                _choose_score(fitted, graph)
            yield from self._answers(question, contender, fitted)

    def _answers(self, question: _Question, contender: Contender, fitted: _Fitted) -> list[Entry]:
        task = question.task.function
        cost: dict[str, Any] = {"seconds": fitted.seconds, "bytes": fitted.bytes}
        if fitted.model is None:
            return [Entry(task, contender.name, **cost, why=fitted.why)]
        try:
            result = question.case.evaluate(fitted.model, baselines=question.task.baselines == "own")
        except Exception as e:
            return [Entry(task, contender.name, **cost, why=_why(e))]
        score = str(result.protocol["score"]) if question.task.score else ""
        rounds = result.rounds.get(result.name, {})
        own = Entry(task, contender.name, False, result.figures, result.deviations, **cost, score=score, rounds=rounds)
        return [own, *self._cheap(question, result, f" of {contender.name}")]

    def _cheap(self, question: _Question, result: Result, suffix: str = "") -> list[Entry]:
        """A result's baselines as entries; what it says of the protocol is kept, and of figures."""
        task = question.task.function
        self.smaller[task] = tuple(result.smaller_is_better)
        self.protocols.setdefault(task, {k: v for k, v in result.protocol.items() if k != "score"})
        return [
            Entry(task, name + suffix, True, row, rounds=result.rounds.get(name, {}))
            for name, row in result.baselines.items()
        ]


def _fit(model: Embedder, graph: Any, *, progress: bool) -> _Fitted:
    """Fit a copy, so that the same options can be fitted to another graph."""
    copy, meter = type(model)(**model.get_params()), Meter()
    try:
        with meter:
            fit_with_base(copy, graph, progress=progress)
    except Exception as e:
        return _Fitted(why=_why(e))
    return _Fitted(copy, meter.seconds, meter.bytes)


def _choose_score(fitted: _Fitted, graph: Any) -> None:
    """Let a fitted model have the score of pairs that suits it here, as `fit_choosing_score` does."""
    from netfold.evaluate.link_tasks import choose_pair_score

    model = fitted.model
    if model is None or hasattr(model, "pair_score_"):
        return
    copy = type(model)(**model.get_params())
    score = choose_pair_score(lambda part: fit_with_base(copy, part), graph, seed=model.seed)
    if score is not None:
        model.pair_score_ = score


def _why(e: Exception) -> str:
    """What a row says of a refusal, a training that failed, or too little memory; any other error goes on its way."""
    if is_out_of_memory(e):
        return "there is not enough memory"
    if not isinstance(e, (InputError, TrainingError)):
        raise e
    return " ".join(str(e).split())


def _words(question: _Question) -> str:
    return question.task.words
