"""Published tables, run here: what a paper prints, what we reach, and what the cheap baselines reach.

`run` measures the rows of a table for each seed and averages them; `record` writes that run into the table's file.
"""

from __future__ import annotations

import dataclasses
import datetime
import json
import math
import re
import statistics
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from netfold._version import version
from netfold.errors import InputError, TrainingError
from netfold.io.files import staged_file
from netfold.studies.machine import machine
from netfold.studies.reproduce.measuring import Measured, Run, measured, sources
from netfold.studies.reproduce.page import last_verdict, lines, page, write_page
from netfold.studies.reproduce.parallel import measured_in_processes
from netfold.studies.reproduce.parsing import (
    folder_of_tables,
    is_installed,
    page_of,
    parse,
    read_table,
    read_tables,
    table_named,
)
from netfold.studies.reproduce.table import (
    FLOOR,
    GAP,
    TOP,
    Recorded,
    RecordedRow,
    Row,
    Table,
    Verdict,
    verdict,
    verdicts,
)

__all__ = [
    "Recorded", "RecordedRow", "Row", "Run", "Table", "Verdict", "folder_of_tables", "is_installed",
    "last_verdict", "lines", "page", "page_of", "read_table", "read_tables", "record", "recorded_text", "run",
    "table_named", "verdict", "verdicts", "with_gaps", "with_recorded", "write_page",
]  # fmt: skip

_MeasuredRows = Mapping[tuple[int, str], Measured]
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
    measured_rows = _measured_here(table, how) if here else measured_in_processes(table, how)
    seeds = _finished(table, how, measured_rows)
    rows = with_gaps(table, _rows(table, how, measured_rows, seeds))
    seconds = round(time.perf_counter() - start, 1)
    today = datetime.date.today().isoformat()
    where = machine(how.device) + (f"; {how.jobs} jobs" if how.jobs > 1 else "")
    return Recorded(today, where, version(), seeds, seconds, rows)


def _measured_here(table: Table, how: Run) -> _MeasuredRows:
    return {(seed, name): x for seed in how.seeds for name, x in measured(table, table.rows, how, seed)}


def _finished(table: Table, how: Run, measured_rows: _MeasuredRows) -> tuple[int, ...]:
    """The seeds for which every row was measured."""
    seeds = tuple(seed for seed in how.seeds if all((seed, row.name) in measured_rows for row in table.rows))
    if not seeds:
        raise TrainingError(f"no seed of {table.name} was done after {how.limit:g} s; give more time, or more jobs")
    return seeds


def _rows(table: Table, how: Run, measured_rows: _MeasuredRows, seeds: Sequence[int]) -> dict[str, RecordedRow]:
    source, rows = sources(table, quick=how.quick), {}
    for row in table.rows:
        own, beside = ([measured_rows[seed, name] for seed in seeds] for name in (row.name, source[row.name]))
        rows[row.name] = _averaged(table, row, own, beside)
    return rows


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
    columns = {figure: [x.get(figure, math.nan) for x in seeds] for figure in table.figures}
    return {figure: values for figure, values in columns.items() if not any(map(math.isnan, values))}


def _means(values: Mapping[str, list[float]]) -> dict[str, float]:
    return {figure: _rounded(statistics.fmean(of_seeds)) for figure, of_seeds in values.items()}


def _rounded(x: float) -> float:
    """To six digits: what is recorded is what verdicts are given on."""
    return float(f"{x:.6g}")


# -------------------------------------------------------------------- gaps that new nodes' vectors close


def with_gaps(table: Table, rows: Mapping[str, RecordedRow]) -> dict[str, RecordedRow]:
    """The rows with (own - LocalAvg) / (rerun - LocalAvg) of the means over seeds, where the table asks for it.

    LocalAvg and the rerun are those rows that have the same base; where either is not there, or the rerun is no
    better, there is no such figure.
    """
    wanted = [figure for figure in table.figures if figure.endswith(GAP)]
    wider = dict(rows)
    for row in table.rows if wanted else ():
        ends = [_of_way(table, rows, row.base, way) for way in (FLOOR, TOP)]
        if row.base and row.model not in (FLOOR, TOP) and all(ends):
            wider[row.name] = _with_gaps_of(rows[row.name], [end.mean for end in ends if end], wanted)
    return wider


def _with_gaps_of(row: RecordedRow, ends: list[Mapping[str, float]], wanted: list[str]) -> RecordedRow:
    mean = dict(row.mean)
    for figure in wanted:
        of = figure.removesuffix(GAP)
        if all(of in cells for cells in (mean, *ends)) and ends[1][of] > ends[0][of]:
            mean[figure] = float(f"{(mean[of] - ends[0][of]) / (ends[1][of] - ends[0][of]):.4g}")
    return dataclasses.replace(row, mean=mean)


def _of_way(table: Table, rows: Mapping[str, RecordedRow], base: str, way: str) -> RecordedRow | None:
    return next((rows[row.name] for row in table.rows if (row.base, row.model) == (base, way)), None)


# -------------------------------------------------------------------- recording: only that part of the file changes

_START = re.compile(r"^\[recorded\][^\n]*$", re.MULTILINE)
_BARE = re.compile("[A-Za-z0-9_-]+")


def record(table: Table, run: Recorded) -> Table:
    """Put a run in the place of the one recorded before; the table as it now is."""
    text = with_recorded(table.path, table.path.read_text(encoding="utf-8"), run)
    with staged_file(table.path) as part:
        part.write_text(text, encoding="utf-8")
    return parse(table.path, text)


def with_recorded(path: Path, text: str, run: Recorded) -> str:
    """The file's text with its last part, `[recorded]`, replaced; all before it stays as it is, byte for byte.

    Refused where that would change anything else: the file is then not laid out as it should be.
    """
    match = _START.search(text)
    before = text[: match.start()] if match else text
    changed = f"{before.rstrip()}\n\n{recorded_text(run, path.stem)}"
    old = parse(path, text)
    try:
        if parse(path, changed) == dataclasses.replace(old, recorded=run):
            return changed
    except InputError:
        pass
    raise InputError(f"{path}: [recorded] cannot be replaced alone; make it the last part of the file")


def recorded_text(run: Recorded, name: str) -> str:
    """A run as TOML.

    >>> rows = {"SDNE": RecordedRow("ab", {"MAP": 1.0})}
    >>> print(recorded_text(Recorded("2026-11-30", "a box", "0.1", (0,), 2.5, rows), "x"))
    [recorded] # by: netfold reproduce x --record
    date = "2026-11-30"
    machine = "a box"
    version = "0.1"
    seeds = [0]
    seconds = 2.5
    <BLANKLINE>
    [recorded.rows.SDNE]
    settings = "ab"
    mean = { MAP = 1.0 }
    <BLANKLINE>
    """
    head = [f"[recorded] # by: netfold reproduce {name} --record"]
    head += [f"{key} = {_text(getattr(run, key))}" for key in ("date", "machine", "version")]
    head += [f"seeds = {list(run.seeds)}", f"seconds = {run.seconds!r}", ""]
    rows = [line for name, row in run.rows.items() for line in _row(name, row)]
    return "\n".join(head + rows)


def _row(name: str, row: RecordedRow) -> list[str]:
    where = f"recorded.rows.{_key(name)}"
    lines = [f"[{where}]", f"settings = {_text(row.settings)}", f"mean = {_cells(row.mean)}"]
    lines += [f"sd = {_cells(row.sd)}"] if row.sd else []
    if row.baselines:
        lines += ["", f"[{where}.baselines]"]
        lines += [f"{_key(baseline)} = {_cells(cells)}" for baseline, cells in row.baselines.items()]
    return [*lines, ""]


def _cells(cells: Mapping[str, float]) -> str:
    return "{ " + ", ".join(f"{_key(figure)} = {float(x)!r}" for figure, x in cells.items()) + " }" if cells else "{}"


def _key(name: str) -> str:
    return name if _BARE.fullmatch(name) else _text(name)


def _text(text: str) -> str:
    """A basic string of TOML, whose escapes are JSON's but for the one character that JSON leaves alone."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
