"""Running a table: each row is fitted and evaluated for each seed, and the seeds are averaged."""

from __future__ import annotations

import datetime
import json
import math
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

from netfold.errors import InputError
from netfold.reproduce.machine import machine, version
from netfold.reproduce.new_nodes import entry, with_gaps
from netfold.reproduce.tables import COST, GAP, Cells, Data, Recorded, RecordedRow, Row, Table
from netfold.reproduce.tasks import Case, Entry, case

if TYPE_CHECKING:
    from netfold.evaluate import Result
    from netfold.graph import Graph
    from netfold.hypergraph import Hypergraph

__all__ = ["Run", "run"]


@dataclass(frozen=True)
class Run:
    """How a table is run: for which seeds, in full or quickly, where, and whom to tell."""

    seeds: Sequence[int] = (0, 1, 2)
    quick: bool = False
    device: str = "auto"
    say: Callable[[str], object] = lambda line: None
    """Told what is being done, line by line."""
    progress: bool = False
    """Whether fits show theirs."""


def run(table: Table, how: Run) -> Recorded:
    """Run every row of a table for every seed; nothing is written.

    Rows with equal settings share a fit, and rows with equal protocols the baselines.
    """
    if table.status:
        raise InputError(f"the table {table.name!r} cannot be run: {table.status}")
    start = time.perf_counter()
    measured = [_of_seed(table, how, seed) for seed in how.seeds]
    rows = {row.name: _averaged(table, row, [of[row.name] for of in measured]) for row in table.rows}
    seconds = round(time.perf_counter() - start, 1)
    today = datetime.date.today().isoformat()
    return Recorded(today, machine(how.device), version(), tuple(how.seeds), seconds, with_gaps(table, rows))


@dataclass(frozen=True)
class _Measured:
    """What one row gave for one seed."""

    figures: Mapping[str, float]
    baselines: Cells


@dataclass
class _Fits:
    """The models of one seed, each fitted once."""

    table: Table
    how: Run
    seed: int
    kept: dict[str, tuple[Any, float]] = field(default_factory=dict)

    def __call__(
        self, row: Row, model: str, config: Mapping[str, Any], graph: Any, base: Any = None
    ) -> tuple[Any, float]:
        """A model fitted to a graph, and to the vectors of the row's base; and the processor time of that."""
        quick = self.table.quick.config if self.how.quick else {}
        options = {**config, **quick, "seed": self.seed, "device": self.how.device}
        key = _key(model, options, graph.fingerprint, "" if base is None else row.base)
        if key not in self.kept:
            what = row.name if model == row.model else f"{model} for {row.name}"
            self.how.say(f"{self.table.name}, seed {self.seed}: {what} is fitted")
            self.kept[key] = self._fitted(model, options, graph, base)
        return self.kept[key]

    def _fitted(self, model: str, options: Mapping[str, Any], graph: Any, base: Any) -> tuple[Any, float]:
        from netfold.models import MODELS
        from netfold.options import config_from_json

        cls, start = MODELS[model], time.process_time()
        vectors = {} if base is None else {"embedding": base}
        fitted = cls(**config_from_json(cls, options)).fit(graph, **vectors, progress=self.how.progress)
        return fitted, time.process_time() - start


@dataclass
class _Shared:
    """What rows of one seed have in common: the data, fits, baselines."""

    graph: Graph | Hypergraph
    labels: Callable[[], Mapping[Any, Any]]
    parts: Callable[..., Any]
    fits: _Fits
    baselines: dict[str, Cells] = field(default_factory=dict)


def _of_seed(table: Table, how: Run, seed: int) -> dict[str, _Measured]:
    how.say(f"{table.name}, seed {seed}: {table.data}")
    shared = _loaded(table.data, _Fits(table, how, seed))
    return {row.name: _of_row(table, row, how, seed, shared) for row in table.rows}


def _loaded(data: Data, fits: _Fits) -> _Shared:
    from netfold import datasets

    drawn = {"seed": fits.seed} if "seed" in datasets.options(data.name) else {}
    options = {**drawn, **data.options}

    def part(name: str | None = None, **others: Any) -> Any:
        named = {} if name is None else {"part": name}
        return datasets.load(data.name, **options | named | others)

    return _Shared(datasets.load(data.name, **options), lambda: datasets.labels(data.name, **options), part, fits)


def _of_row(table: Table, row: Row, how: Run, seed: int, shared: _Shared) -> _Measured:
    arguments = {**table.task.arguments, **row.task, **(table.quick.task if how.quick else {})}
    try:
        asked = case(table.task.name, shared.graph, shared.labels, arguments, seed, shared.parts)
    except InputError as e:
        raise InputError(f"{table.path}: {e}") from None
    found = _entered(table, row, asked, partial(shared.fits, row))
    how.say(f"{table.name}, seed {seed}: {row.name} is evaluated")
    key = _key(arguments, found.beside)
    result = found.evaluate(baselines=key not in shared.baselines)
    baselines = shared.baselines.setdefault(key, result.baselines)
    _check_result(table, result, quick=how.quick)
    return _Measured({**result.figures, COST: found.cost}, baselines)


def _entered(table: Table, row: Row, asked: Case, fit: Callable[..., tuple[Any, float]]) -> Entry:
    if row.base:
        return entry(row, table.bases[row.base], asked, fit)
    model, cost = fit(row.model, row.config, asked.graph)
    beside = model.dim if asked.split is None else [row.model, dict(row.config)]
    return Entry(partial(asked.evaluate, model), cost, beside)


def _check_result(table: Table, result: Result, *, quick: bool) -> None:
    """What the table says of its figures is what the task gives."""
    wanted = [figure for figure in table.figures if figure != COST and not figure.endswith(GAP)]
    missing = [figure for figure in wanted if figure not in result.figures]
    if missing and (not quick or len(missing) == len(wanted)):
        given = ", ".join(result.figures)
        raise InputError(f"{table.path}: {table.task.name} gave no figure {missing[0]!r}; it gave {given}")
    odd = [x for x in wanted if x in result.figures and table.smaller(x) != (x in result.smaller_is_better)]
    if odd:
        raise InputError(f"{table.path}: smaller_is_better and {table.task.name} disagree about {odd[0]!r}")


def _averaged(table: Table, row: Row, measured: list[_Measured]) -> RecordedRow:
    own = _by_figure(table, [x.figures for x in measured])
    of_baselines = {name: _by_figure(table, [x.baselines[name] for x in measured]) for name in measured[0].baselines}
    return RecordedRow(
        settings=table.settings(row),
        mean=_means(own),
        sd={figure: _rounded(statistics.stdev(values)) for figure, values in own.items() if len(values) > 1},
        baselines={name: means for name, values in of_baselines.items() if (means := _means(values))},
    )


def _by_figure(table: Table, seeds: list[Mapping[str, float]]) -> dict[str, list[float]]:
    """The values of each of the table's figures that every seed has."""
    found = {figure: [x.get(figure, math.nan) for x in seeds] for figure in table.figures}
    return {figure: values for figure, values in found.items() if not any(map(math.isnan, values))}


def _means(values: Mapping[str, list[float]]) -> dict[str, float]:
    return {figure: _rounded(statistics.fmean(given)) for figure, given in values.items()}


def _rounded(x: float) -> float:
    """To six digits: what is recorded is what verdicts are given on."""
    return float(f"{x:.6g}")


def _key(*parts: Any) -> str:
    return json.dumps(parts, sort_keys=True, default=str)
