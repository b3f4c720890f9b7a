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
from netfold.evaluate.result import judged, standing
from netfold.evaluate.task import task_named
from netfold.io.files import staged_file
from netfold.studies.machine import machine
from netfold.studies.reproduce.measuring import Measured, Run, measured, measured_baselines, sources
from netfold.studies.reproduce.page import last_verdict, lines, page, write_page
from netfold.studies.reproduce.parallel import measured_in_processes
from netfold.studies.reproduce.parsing import (
    folder_of_tables,
    is_installed,
    page_of,
    parse,
    read_run,
    read_table,
    read_tables,
    table_named,
)
from netfold.studies.reproduce.table import (
    COST,
    FLOOR,
    GAP,
    TOP,
    Recorded,
    RecordedRow,
    Row,
    SeedValues,
    Table,
    Verdict,
    verdict,
    verdicts,
    with_cheap_rows,
)

__all__ = [
    "Recorded", "RecordedRow", "Row", "Run", "Table", "Verdict", "baselines_alone", "folder_of_tables", "is_installed",
    "joined_runs", "last_verdict", "lines", "merged", "page", "page_of", "read_run", "read_table", "read_tables",
    "record", "recorded_text", "run", "table_named", "verdict", "verdicts", "with_baselines",
    "with_cheap_rows", "with_gaps", "with_recorded", "write_page", "write_run",
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
        seeds=_values(figures),
        baseline_seeds={name: by_seed for name, values in cheap.items() if (by_seed := _values(values))},
        training=_trained([x.training for x in own]),
    )


def _trained(seeds: list[Mapping[str, float]]) -> dict[str, float]:
    """Epochs and last objective, means over seeds."""
    return {name: _rounded(statistics.fmean(x[name] for x in seeds)) for name in seeds[0]}


def _values(figures: Mapping[str, list[float]]) -> dict[str, tuple[float, ...]]:
    """Seed by seed, where there are several; the time of a fit is no figure to be compared so."""
    several = {figure: values for figure, values in figures.items() if figure != COST and len(values) > 1}
    return {figure: tuple(map(_rounded, values)) for figure, values in several.items()}


def _by_figure(table: Table, seeds: list[Mapping[str, float]]) -> dict[str, list[float]]:
    """The values of each of the table's figures that every seed has, and what it cost, which is no figure of all."""
    names = dict.fromkeys((*table.figures, COST))
    columns = {figure: [x.get(figure, math.nan) for x in seeds] for figure in names}
    return {figure: values for figure, values in columns.items() if not any(map(math.isnan, values))}


def _means(values: Mapping[str, list[float]]) -> dict[str, float]:
    return {figure: _rounded(statistics.fmean(of_seeds)) for figure, of_seeds in values.items()}


def _rounded(x: float) -> float:
    """To six digits: what is recorded is what verdicts are given on."""
    return float(f"{x:.6g}")


# -------------------------------------------------------------------- baselines anew


def with_baselines(table: Table, how: Run) -> Recorded:
    """What was recorded, with the cheap baselines measured anew for the same seeds; no model is fitted.

    For tasks whose baselines are the same for all models of a width. Baselines that were recorded and that are not
    measured any more stay as they were.
    """
    _check_shared(table)
    if table.recorded is None:
        raise InputError(f"the baselines of {table.name!r} cannot be measured without its models, and none is recorded")
    start, rows = time.perf_counter(), dict(table.recorded.rows)
    source = sources(table, quick=False)
    by_source = _baselines_of(table, how, table.recorded.seeds)
    for row in table.rows:
        if table.recorded_for(row) is not None:
            rows[row.name] = _beside(table, rows[row.name], by_source[source[row.name]])
    spent = round(time.perf_counter() - start, 1)
    how.say(f"{table.name}: baselines of {len(table.recorded.seeds)} seeds in {spent} s")
    return dataclasses.replace(table.recorded, rows=rows)


def baselines_alone(table: Table, how: Run) -> Recorded:
    """A run of the cheap baselines alone, whose rows have no figures of models: `merged` puts them beside those."""
    _check_shared(table)
    start, source = time.perf_counter(), sources(table, quick=False)
    by_source = _baselines_of(table, how, how.seeds)
    empty = {row.name: RecordedRow(table.settings(row), {}) for row in table.rows}
    rows = {row.name: _beside(table, empty[row.name], by_source[source[row.name]]) for row in table.rows}
    seconds, today = round(time.perf_counter() - start, 1), datetime.date.today().isoformat()
    return Recorded(today, machine("cpu"), version(), tuple(how.seeds), seconds, rows)


def _check_shared(table: Table) -> None:
    task = task_named(table.task.name)
    if task.baselines != "shared" or task.refits:
        raise InputError(f"the baselines of {table.name!r} cannot be measured without its models; run the table")


def _baselines_of(table: Table, how: Run, seeds: Sequence[int]) -> dict[str, list[Mapping[str, Mapping[str, float]]]]:
    """For each row that has baselines of its own, what they are for each seed."""
    by_source: dict[str, list[Mapping[str, Mapping[str, float]]]] = {}
    for seed in seeds:
        for name, figures in measured_baselines(table, how, seed):
            by_source.setdefault(name, []).append(figures)
    return by_source


def _beside(table: Table, row: RecordedRow, seeds: list[Mapping[str, Mapping[str, float]]]) -> RecordedRow:
    columns = {name: _by_figure(table, [x[name] for x in seeds]) for name in seeds[0]}
    means = {name: averaged for name, figures in columns.items() if (averaged := _means(figures))}
    values = {name: by_seed for name, figures in columns.items() if (by_seed := _values(figures))}
    return dataclasses.replace(row, baselines={**row.baselines, **means}, baseline_seeds=values)


# -------------------------------------------------------------------- gaps that new nodes' vectors close


def with_gaps(table: Table, rows: Mapping[str, RecordedRow]) -> dict[str, RecordedRow]:
    """The rows with (own - LocalAvg) / (rerun - LocalAvg) of the means over seeds, where the table asks for it.

    LocalAvg and the rerun are those rows that have the same base. Where either is not there, where the rerun is not
    above LocalAvg by two standard errors over the seeds, or where a row is above the rerun, which is then no top, there
    is no such figure: its denominator would be noise.
    """
    wanted = [figure for figure in table.figures if figure.endswith(GAP)]
    wider = dict(rows)
    for row in (row for row in table.rows if wanted and row.name in rows):
        ends = [_of_way(table, rows, row.base, way) for way in (FLOOR, TOP)]
        if row.base and row.model not in (FLOOR, TOP) and all(ends):
            alike = [rows[x.name] for x in table.rows if x.base == row.base and x.name in rows]
            count = len(table.recorded.seeds) if table.recorded else 1
            wider[row.name] = _with_gaps_of(rows[row.name], [end for end in ends if end], alike, wanted, count)
    return wider


def _with_gaps_of(
    row: RecordedRow, ends: list[RecordedRow], alike: list[RecordedRow], wanted: list[str], count: int
) -> RecordedRow:
    floor, top = ends
    mean = {figure: x for figure, x in row.mean.items() if figure not in wanted}
    for figure in wanted:
        of = figure.removesuffix(GAP)
        if not all(of in cells for cells in (mean, floor.mean, top.mean)):
            continue
        highest = max(x.mean.get(of, -math.inf) for x in alike)
        if highest <= top.mean[of] and _is_above(top, floor, of, count):
            mean[figure] = float(f"{(mean[of] - floor.mean[of]) / (top.mean[of] - floor.mean[of]):.4g}")
    return dataclasses.replace(row, mean=mean)


def _is_above(one: RecordedRow, other: RecordedRow, figure: str, count: int) -> bool:
    """By two standard errors of the paired difference or, where values were not kept of so many seeds, of both apart.

    Of one seed nobody knows.
    """
    a, b = one.seeds.get(figure, ()), other.seeds.get(figure, ())
    if len(a) == len(b) > 1:
        return standing(a, b) == "above"
    if not (figure in one.sd and figure in other.sd):
        return False
    error = math.hypot(*(x.sd[figure] / math.sqrt(count) for x in (one, other)))
    return judged(one.mean[figure] - other.mean[figure], error) == "above"


def _of_way(table: Table, rows: Mapping[str, RecordedRow], base: str, way: str) -> RecordedRow | None:
    return next((rows[x.name] for x in table.rows if (x.base, x.model) == (base, way) and x.name in rows), None)


# -------------------------------------------------------------------- recording: only that part of the file changes

_START = re.compile(r"^\[recorded\][^\n]*$", re.MULTILINE)
_BARE = re.compile("[A-Za-z0-9_-]+")


def record(table: Table, run: Recorded) -> Table:
    """Put a run in the place of the one recorded before; the table as it now is."""
    text = with_recorded(table.path, table.path.read_text(encoding="utf-8"), run)
    with staged_file(table.path) as part:
        part.write_text(text, encoding="utf-8")
    return parse(table.path, text)


def write_run(table: Table, run: Recorded, path: Path) -> None:
    """Write a run into a file of its own, which `read_run` reads: for a machine that has not the table's file."""
    text = f"table = {_text(table.name)}\n\n{recorded_text(run, table.name)}"
    with staged_file(path) as part:
        part.write_text(text, encoding="utf-8")


def joined_runs(runs: Sequence[Recorded]) -> Recorded:
    """Runs of the same rows, each for other seeds, as one run of all these seeds.

    Figures are those that every run has; the date is the last, and where runs were made on different days or machines,
    or by different versions, it is said of which seeds.
    """
    ordered = sorted(runs, key=lambda run: run.seeds)
    seeds = tuple(seed for run in ordered for seed in run.seeds)
    first = ordered[0]
    if len(set(seeds)) < len(seeds):
        raise InputError(f"two of these runs are of the same seed; their seeds are {', '.join(map(str, seeds))}")
    alike = [{name: row.settings for name, row in run.rows.items()} for run in ordered]
    if any(x != alike[0] for x in alike):
        raise InputError("these runs are not of the same rows, set alike; merge them one by one")
    if len(runs) == 1:
        return first
    rows = {name: _joined_row([run.rows[name] for run in ordered], ordered) for name in first.rows}
    date, seconds = max(run.date for run in runs), round(sum(run.seconds for run in runs), 1)
    versions = ", ".join(sorted({run.version for run in runs}))
    return Recorded(date, _machines(ordered), versions, seeds, seconds, rows)


def _machines(runs: Sequence[Recorded]) -> str:
    """Where runs were made: one machine for all, or which seeds on which, and when if that was not one day."""
    days = {run.date for run in runs}
    seeds: dict[str, list[int]] = {}
    for run in runs:
        seeds.setdefault(run.machine + (f" on {run.date}" if len(days) > 1 else ""), []).extend(run.seeds)
    if len(seeds) == 1:
        return next(iter(seeds))
    several = {
        where: f"seed{'s' if len(those) > 1 else ''} {', '.join(map(str, those))}" for where, those in seeds.items()
    }
    return "; ".join(f"{those}: {where}" for where, those in several.items())


def _joined_row(rows: Sequence[RecordedRow], runs: Sequence[Recorded]) -> RecordedRow:
    counts = [len(run.seeds) for run in runs]

    def column(parts: Sequence[tuple[Mapping[str, float], SeedValues]]) -> dict[str, list[float]]:
        """Each figure's values, seed by seed; of a part that did not keep them, its mean for each."""
        known = [name for name in parts[0][0] if all(name in mean for mean, _ in parts)]
        each = {name: zip(parts, counts, strict=True) for name in known}
        return {
            name: [x for (mean, values), n in pairs for x in values.get(name, (mean[name],) * n)]
            for name, pairs in each.items()
        }

    figures = column([(row.mean, row.seeds) for row in rows])
    names = [name for name in rows[0].baselines if all(name in row.baselines for row in rows)]
    cheap = {x: column([(row.baselines[x], row.baseline_seeds.get(x, {})) for row in rows]) for x in names}
    training = column([(row.training, {}) for row in rows])
    return RecordedRow(
        rows[0].settings,
        _means(figures),
        {figure: _rounded(statistics.stdev(values)) for figure, values in figures.items()},
        {name: _means(values) for name, values in cheap.items()},
        _values(figures),
        {name: _values(values) for name, values in cheap.items()},
        training=_means(training),
    )


def merged(table: Table, run: Recorded) -> Recorded:
    """What was recorded with the rows of another run in the place of their own; rows that it has not stay.

    A run of all rows, but those that are not run, takes the place of what was recorded. Refused is a row that the table
    has not, or has set otherwise.
    """
    by_name = {row.name: row for row in table.rows}
    for name, recorded in run.rows.items():
        if name not in by_name:
            raise InputError(f"{table.path} has no row {name!r}, of which this is a run")
        if recorded.settings != table.settings(by_name[name]):
            raise InputError(f"{table.path}: row {name!r} is set otherwise than it was in this run; run it again")
    alone = not all(row.mean for row in run.rows.values())
    if table.recorded is None and alone:
        raise InputError(
            f"nothing is recorded of {table.name!r} that baselines could stand beside; merge its models first"
        )
    if table.recorded is None:
        return run
    seeds = ", ".join(map(str, run.seeds))
    words = f"Run on {run.date} with netfold {run.version} and seeds {seeds} on {run.machine}"
    known = {
        name: row
        for name, row in _to_all_alike(table, run.rows).items()
        if row.mean or table.recorded_for(by_name[name])
    }
    new = {name: _taken_in(table, row, by_name[name], words) for name, row in known.items()}
    if set(new) >= {row.name for row in table.rows if not row.not_run or table.recorded_for(row)} and not alone:
        whole = {name: dataclasses.replace(row, run="") for name, row in new.items()}
        return dataclasses.replace(run, rows=with_gaps(dataclasses.replace(table, recorded=run), whole))
    rows = {name: x for name, x in (dict(table.recorded.rows) | new).items() if name in by_name}
    ordered = {row.name: rows[row.name] for row in table.rows if row.name in rows}
    return dataclasses.replace(table.recorded, rows=with_gaps(table, ordered))


def _to_all_alike(table: Table, rows: Mapping[str, RecordedRow]) -> dict[str, RecordedRow]:
    """The rows of a run, and those of baselines alone for every row of the table that has the same ones."""
    source, wider = sources(table, quick=False), dict(rows)
    for name, row in rows.items():
        alike = [x for x in table.rows if source[x.name] == source[name] and x.name not in wider]
        for other in alike if not row.mean else ():
            wider[other.name] = dataclasses.replace(row, settings=table.settings(other))
    return wider


def _taken_in(table: Table, new: RecordedRow, row: Row, words: str) -> RecordedRow:
    """A row of a run: one of models alone has the baselines that its protocol has in the table, one of baselines alone
    the figures that it had."""
    old = table.recorded_for(row)
    if not new.mean and old is not None:
        both = {**old.baselines, **new.baselines}
        return dataclasses.replace(old, baselines=both, baseline_seeds={**old.baseline_seeds, **new.baseline_seeds})
    new = dataclasses.replace(new, run=words)
    beside = _with_same_baselines(table, row)
    if new.baselines or beside is None:
        return new
    return dataclasses.replace(new, baselines=beside.baselines, baseline_seeds=beside.baseline_seeds)


def _with_same_baselines(table: Table, row: Row) -> RecordedRow | None:
    """What was recorded of a row that has the same baselines, and where they were kept seed by seed if any has that."""
    source = sources(table, quick=False)
    alike = [x for x in map(table.recorded_for, (r for r in table.rows if source[r.name] == source[row.name])) if x]
    return max((x for x in alike if x.baselines), key=lambda x: len(x.baseline_seeds), default=None)


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
    lines += [f"seeds = {_lists(row.seeds)}"] if row.seeds else []
    lines += [f"run = {_text(row.run)}"] if row.run else []
    lines += [f"training = {_cells(row.training)}"] if row.training else []
    if row.baselines:
        lines += ["", f"[{where}.baselines]"]
        lines += [f"{_key(baseline)} = {_cells(cells)}" for baseline, cells in row.baselines.items()]
    if row.baseline_seeds:
        lines += ["", f"[{where}.baseline_seeds]"]
        lines += [f"{_key(baseline)} = {_lists(values)}" for baseline, values in row.baseline_seeds.items()]
    return [*lines, ""]


def _lists(values: SeedValues) -> str:
    pairs = (f"{_key(figure)} = [{', '.join(repr(float(x)) for x in each)}]" for figure, each in values.items())
    return "{ " + ", ".join(pairs) + " }"


def _cells(cells: Mapping[str, float]) -> str:
    return "{ " + ", ".join(f"{_key(figure)} = {float(x)!r}" for figure, x in cells.items()) + " }" if cells else "{}"


def _key(name: str) -> str:
    return name if _BARE.fullmatch(name) else _text(name)


def _text(text: str) -> str:
    """A basic string of TOML, whose escapes are JSON's but for the one character that JSON leaves alone."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
