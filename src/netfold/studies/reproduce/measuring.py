"""Measuring rows of a table for one seed: each is fitted and evaluated, and what rows share is made once."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

from netfold.data.checks import is_whole
from netfold.errors import InputError
from netfold.evaluate.task import task_named
from netfold.studies.reproduce.table import COST, GAP, OWN, TOP, WAYS, Base, Cells, Data, Row, Table

if TYPE_CHECKING:
    from netfold.data.embedding import Embedding
    from netfold.data.graph import Graph
    from netfold.data.hypergraph import Hypergraph
    from netfold.evaluate.case import Case
    from netfold.evaluate.result import Result

__all__ = [
    "FittedRow",
    "Measured",
    "Run",
    "arguments_of_row",
    "fitted_to",
    "key",
    "measured",
    "measured_baselines",
    "rows_together",
    "sources",
]


def arguments_of_row(table: Table, row: Row, *, quick: bool) -> dict[str, Any]:
    """The protocol of a row: the table's, the row's own, and what `--quick` changes."""
    return {**table.task.arguments, **row.task, **(table.quick.task if quick else {})}


def fitted_to(table: Table, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Those arguments of a protocol that say which part of the data a model is fitted to."""
    return {name: arguments[name] for name in task_named(table.task.name).held_out(arguments)}


def rows_together(table: Table, *, quick: bool) -> list[tuple[Row, ...]]:
    """The rows, together where they share a fit: one model or base, set alike, fitted to the same part of the data.

    Rows of different groups have no fit in common, so that they can be run apart.
    """
    together: dict[str, list[Row]] = {}
    for row in table.rows:
        fitted = table.bases[row.base] if row.base else row
        part = fitted_to(table, arguments_of_row(table, row, quick=quick))
        together.setdefault(key(fitted.model, fitted.config, part), []).append(row)
    return [tuple(rows) for rows in together.values()]


def sources(table: Table, *, quick: bool) -> dict[str, str]:
    """For each row the row that its baselines are measured with: the first of the table that has the same ones.

    Baselines depend on the protocol and on the width of the vectors; those that start from a model's own, on the model.
    """
    first: dict[str, str] = {}
    return {row.name: first.setdefault(_baselines(table, row, quick=quick), row.name) for row in table.rows}


def key(*parts: Any) -> str:
    """The same text for the same values."""
    return json.dumps(parts, sort_keys=True, default=str)


def _baselines(table: Table, row: Row, *, quick: bool) -> str:
    arguments = arguments_of_row(table, row, quick=quick)
    if row.base:
        return key(arguments, table.bases[row.base].model, table.bases[row.base].config)
    if task_named(table.task.name).baselines == "own":
        return key(arguments, row.model, row.config)
    return key(arguments, _width(row, table.quick_config(row.model) if quick else {}))


def _width(row: Row, changed: Mapping[str, Any]) -> int:
    from netfold.embedder.options import config_from_json
    from netfold.models import MODELS

    cls = MODELS[row.model]
    return int(cls(**config_from_json(cls, {**row.config, **changed})).dim)


@dataclass(frozen=True)
class Run:
    """How a table is run: for which seeds, in full or quickly, where, in how many processes, and whom to tell."""

    seeds: Sequence[int] = (0, 1, 2)
    quick: bool = False
    device: str = "auto"
    say: Callable[[str], object] = lambda line: None
    """Told what is being done, line by line."""
    progress: bool = False
    """Whether fits show theirs; where there are several processes, none does."""
    jobs: int = 1
    """Processes that run at a time; 1 is this one."""
    baselines: bool = True
    """Whether cheap baselines are measured beside the models; without, the table's own stay when the run is merged."""
    limit: float | None = None
    """Seconds after which the seeds that are not done are given up; where there is a limit, this process runs none."""

    def __post_init__(self) -> None:
        if not len(self.seeds):
            raise InputError("no seed is given to run a table with; give one or more")
        if self.limit is not None and not self.limit > 0:
            raise InputError(f"limit={self.limit!r} is not a time; give seconds above 0, or None")
        if not is_whole(self.jobs) or self.jobs < 1:
            raise InputError(f"jobs={self.jobs!r} is not a number of processes; give 1 or more")


@dataclass(frozen=True)
class Measured:
    """What one row gave for one seed; its baselines are empty where they are measured with another row."""

    figures: Mapping[str, float]
    baselines: Cells
    training: Mapping[str, float] = field(default_factory=dict)
    """Epochs, and the objective of the last one, where a model was trained for this row."""


def measured(table: Table, rows: Sequence[Row], how: Run, seed: int) -> Iterator[tuple[str, Measured]]:
    """Each of some rows of a table by its name, one after the other."""
    how.say(f"{table.name}, seed {seed}: {table.data}")
    shared = _loaded(table.data, _Fits(table, how, seed))
    source = sources(table, quick=how.quick)
    for row in rows:
        beside = how.baselines and source[row.name] == row.name
        yield row.name, _of_row(table, row, how, shared, baselines=beside)


def measured_baselines(table: Table, how: Run, seed: int) -> Iterator[tuple[str, Cells]]:
    """The baselines of each row that has its own, by the row's name: of random vectors as wide as the model's."""
    shared = _loaded(table.data, _Fits(table, how, seed))
    for row in (row for row in table.rows if sources(table, quick=how.quick)[row.name] == row.name):
        how.say(f"{table.name}, seed {seed}: baselines of {row.name}")
        arguments = _for_vectors(table, row, arguments_of_row(table, row, quick=how.quick))
        question = _case(table, shared, arguments)
        result = question.evaluate(_random_vectors(question, _width(row, {}), seed), baselines=True)
        yield row.name, _beside(result)


def _random_vectors(question: Case, dim: int, seed: int) -> Embedding:
    import numpy as np

    from netfold.data.embedding import Embedding

    nodes = question.graph.nodes
    return Embedding(nodes, np.random.default_rng(seed).normal(size=(len(nodes), dim)).astype(np.float32))


def _for_vectors(table: Table, row: Row, arguments: dict[str, Any]) -> dict[str, Any]:
    """The arguments with the score that plain vectors are compared under, beside this model."""
    from netfold.evaluate.scores import of_vectors
    from netfold.models import MODELS

    task = task_named(table.task.name)
    if not task.score or task.score == "tuples":
        return arguments
    wanted = arguments.get("score", task.score)
    if wanted in ("own", "gaussian"):
        decoded = wanted == "own" and hasattr(MODELS[row.model], "pair_decoder")
        wanted = "w2" if row.model == "dvne" else "decoder" if decoded else "cosine"
    return arguments | {"score": of_vectors(wanted)}


@dataclass
class _Fits:
    """The models of one seed, each fitted once."""

    table: Table
    how: Run
    seed: int
    fitted: dict[str, tuple[Any, float]] = field(default_factory=dict)

    def __call__(
        self, row: Row, model: str, config: Mapping[str, Any], graph: Any, base: Any = None
    ) -> tuple[Any, float]:
        """A model fitted to a graph, and to the vectors of the row's base; and the processor time of that."""
        quick = self.table.quick_config(model) if self.how.quick else {}
        options = {**config, **quick, "seed": self.seed, "device": self.how.device}
        name = key(model, options, graph.fingerprint, "" if base is None else row.base)
        if name not in self.fitted:
            what = row.name if model == row.model else f"{model} for {row.name}"
            self.how.say(f"{self.table.name}, seed {self.seed}: {what} is fitted")
            self.fitted[name] = self._fitted(model, options, graph, base)
        return self.fitted[name]

    def _fitted(self, model: str, options: Mapping[str, Any], graph: Any, base: Any) -> tuple[Any, float]:
        from netfold.embedder.options import config_from_json
        from netfold.models import MODELS
        from netfold.studies.compare import readable

        cls, start = MODELS[model], time.process_time()
        vectors = {} if base is None else {"embedding": base}
        own = cls(**config_from_json(cls, options))
        fitted = own.fit(readable(own, graph), **vectors, progress=self.how.progress)
        return fitted, time.process_time() - start


@dataclass(frozen=True)
class _Shared:
    """What rows of one seed have in common: the data, and the fits."""

    graph: Graph | Hypergraph
    classes: Callable[[], Mapping[Any, Any]]
    parts: Callable[..., Any]
    fits: _Fits


def _loaded(data: Data, fits: _Fits) -> _Shared:
    from netfold.studies import datasets

    drawn = {"seed": fits.seed} if "seed" in datasets.options(data.name) else {}
    options = {**drawn, **data.options}

    def part(name: str | None = None, **others: Any) -> Any:
        named = {} if name is None else {"part": name}
        return datasets.load(data.name, **options | named | others)

    return _Shared(datasets.load(data.name, **options), lambda: datasets.classes(data.name, **options), part, fits)


def _of_row(table: Table, row: Row, how: Run, shared: _Shared, *, baselines: bool) -> Measured:
    seed = shared.fits.seed
    question = _case(table, shared, arguments_of_row(table, row, quick=how.quick))
    fitted = _entered(table, row, question, partial(shared.fits, row))
    how.say(f"{table.name}, seed {seed}: {row.name} is evaluated")
    result = fitted.evaluate(baselines=baselines)
    _check_result(table, result, quick=how.quick)
    beside = _beside(result) if baselines else {}
    return Measured({**_plain(result.figures), COST: fitted.cost}, beside, fitted.training)


def _beside(result: Result) -> dict[str, dict[str, float]]:
    """The figures of each baseline, and what it cost where that was counted."""
    spent = {name: {COST: x} for name, x in result.seconds.items()}
    return {name: _plain(cells) | spent.get(name, {}) for name, cells in result.baselines.items()}


def _case(table: Table, shared: _Shared, arguments: dict[str, Any]) -> Case:
    from netfold.evaluate.case import case

    try:
        return case(table.task.name, shared.graph, shared.classes, arguments, shared.fits.seed, shared.parts)
    except InputError as e:
        raise InputError(f"{table.path}: {e}") from None


def _plain(figures: Mapping[str, float]) -> dict[str, float]:
    return {name: float(x) for name, x in figures.items()}


@dataclass(frozen=True)
class FittedRow:
    """A row that is fitted: what evaluates it, given baselines=; the CPU seconds."""

    evaluate: Callable[..., Result]
    cost: float
    training: Mapping[str, float] = field(default_factory=dict)


def _training(model: Any) -> dict[str, float]:
    """Epochs and last objective of a model that was trained; of one that was computed nothing."""
    history = getattr(model, "history_", [])
    if not history or "objective" not in history[-1]:
        return {}
    return {"epochs": float(len(history)), "objective": float(history[-1]["objective"])}


def _entered(table: Table, row: Row, question: Case, fit: Callable[..., tuple[Any, float]]) -> FittedRow:
    if row.base:
        return _entry_of_base(row, table.bases[row.base], question, fit)
    model, cost = fit(row.model, row.config, question.graph)
    return FittedRow(partial(question.evaluate, model), cost, _training(model))


def _entry_of_base(row: Row, base: Base, question: Case, fit: Callable[..., tuple[Any, float]]) -> FittedRow:
    """A row ready to be evaluated; what it costs is counted without the base that it stands on.

    A base's own `transform` (by the way that it chose, or by config's `how`) is asked about the new nodes that have a
    known neighbor unless the row's task says else, other models about those with a path to known ones.
    """
    split = question.split
    if split is None:
        raise InputError(f"row {row.name!r} has a base, which is for new nodes (task out_of_sample)")
    again = partial(fit, base.model, base.config)
    fitted, _ = again(split.known)
    known = fitted.embedding_
    if row.model == OWN:
        linked, how = row.task.get("linked", "neighbor"), row.config.get("how")
        own = fitted if how is None else lambda later: fitted.transform(later.whole, how=how)
        return FittedRow(partial(question.evaluate, own, base=known, linked=linked), 0.0)
    if row.model == TOP:
        rerun = partial(question.evaluate, TOP, base=known, rerun=lambda graph: again(graph)[0])
        return FittedRow(rerun, again(split.whole)[1])
    if row.model in WAYS:
        return FittedRow(partial(question.evaluate, row.model, base=known), 0.0)
    model, cost = fit(row.model, row.config, split.known, known)
    return FittedRow(partial(question.evaluate, model), cost, _training(model))


def _check_result(table: Table, result: Result, *, quick: bool) -> None:
    """What the table says of its figures is what the task gives."""
    wanted = [figure for figure in table.figures if figure != COST and not figure.endswith(GAP)]
    missing = [figure for figure in wanted if figure not in result.figures]
    if missing and (not quick or len(missing) == len(wanted)):
        names = ", ".join(result.figures)
        raise InputError(f"{table.path}: {table.task.name} gave no figure {missing[0]!r}; it gave {names}")
    odd = [x for x in wanted if x in result.figures and table.smaller(x) != (x in result.smaller_is_better)]
    if odd:
        raise InputError(f"{table.path}: smaller_is_better and {table.task.name} disagree about {odd[0]!r}")
