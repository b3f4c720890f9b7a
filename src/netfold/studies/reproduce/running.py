"""Running a table: each row is measured for each seed, and the seeds are averaged."""

from __future__ import annotations

import datetime
import math
import statistics
import time
from collections.abc import Mapping, Sequence

from netfold._version import version
from netfold.errors import InputError, TrainingError
from netfold.studies.machine import machine
from netfold.studies.reproduce.measuring import Measured, Run, measured, sources
from netfold.studies.reproduce.new_nodes import with_gaps
from netfold.studies.reproduce.parallel import measured_in_processes
from netfold.studies.reproduce.table import Recorded, RecordedRow, Row, Table

__all__ = ["Run", "run"]

_Found = Mapping[tuple[int, str], Measured]
"""By the seed and the row's name."""


def run(table: Table, how: Run) -> Recorded:
    """Run every row of a table for every seed; nothing is written.

    Rows with equal settings share a fit, and rows with equal protocols the baselines. With `jobs` above 1 rows that
    share no fit, and seeds, run in processes of their own; a script that asks for that has its work under
    `if __name__ == "__main__":`. The figures are those of one process with as many threads as each of them has, but
    for the time of fits. After `limit` seconds the seeds that are done count, and those that are not are left out.
    """
    if table.status:
        raise InputError(f"the table {table.name!r} cannot be run: {table.status}")
    start = time.perf_counter()
    here = how.jobs == 1 and how.limit is None
    found = _measured_here(table, how) if here else measured_in_processes(table, how)
    seeds = _finished(table, how, found)
    rows = with_gaps(table, _rows(table, how, found, seeds))
    seconds = round(time.perf_counter() - start, 1)
    today = datetime.date.today().isoformat()
    where = machine(how.device) + (f"; {how.jobs} jobs" if how.jobs > 1 else "")
    return Recorded(today, where, version(), seeds, seconds, rows)


def _measured_here(table: Table, how: Run) -> _Found:
    return {(seed, name): x for seed in how.seeds for name, x in measured(table, table.rows, how, seed)}


def _finished(table: Table, how: Run, found: _Found) -> tuple[int, ...]:
    """The seeds for which every row was measured."""
    seeds = tuple(seed for seed in how.seeds if all((seed, row.name) in found for row in table.rows))
    if not seeds:
        raise TrainingError(f"no seed of {table.name} was done after {how.limit:g} s; give more time, or more jobs")
    return seeds


def _rows(table: Table, how: Run, found: _Found, seeds: Sequence[int]) -> dict[str, RecordedRow]:
    source, made = sources(table, quick=how.quick), {}
    for row in table.rows:
        own, beside = ([found[seed, name] for seed in seeds] for name in (row.name, source[row.name]))
        made[row.name] = _averaged(table, row, own, beside)
    return made


def _averaged(table: Table, row: Row, own: list[Measured], beside: list[Measured]) -> RecordedRow:
    """A row's figures over seeds, and the baselines of the row that they were measured with."""
    figures = _by_figure(table, [x.figures for x in own])
    cheap = {name: _by_figure(table, [x.baselines[name] for x in beside]) for name in beside[0].baselines}
    return RecordedRow(
        settings=table.settings(row),
        mean=_means(figures),
        sd={figure: _rounded(statistics.stdev(values)) for figure, values in figures.items() if len(values) > 1},
        baselines={name: means for name, values in cheap.items() if (means := _means(values))},
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
