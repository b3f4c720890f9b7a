"""docs/results.md: every table of every paper, with what we reach; made of nothing but the tables."""

from __future__ import annotations

import dataclasses
import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from netfold.evaluate.task import task_named
from netfold.io.files import staged_file
from netfold.studies.reproduce.table import (
    CHEAP_MODELS,
    COST,
    VOTE,
    WAYS,
    Base,
    Recorded,
    RecordedRow,
    Row,
    Table,
    beside_auc,
    number,
    ranked_baselines,
    summary,
    verdicts,
    with_cheap_rows,
)

__all__ = ["PAPERS", "Line", "last_verdict", "lines", "page", "write_page"]


@dataclass(frozen=True)
class Line:
    """One figure of one of our rows, as text."""

    row: str
    figure: str
    paper: str
    ours: str
    spread: str
    target: str
    verdict: str
    baselines: tuple[str, ...]
    """Each with its number, the best first."""


def lines(table: Table, row: Row, recorded: RecordedRow | None, seeds: int | None = None) -> Iterator[Line]:
    """A line for each figure of which anything is known: ours over so many seeds, the paper's, or the target."""
    judged = verdicts(table, row, recorded, seeds) if recorded else {}
    published = table.published.get(row.published, {})
    mean, sd = (recorded.mean, recorded.sd) if recorded else ({}, {})
    for figure in table.figures:
        if figure in mean or figure in published or figure in row.target:
            smaller = table.smaller(figure)
            cheap = ranked_baselines(recorded, figure, smaller=smaller) if recorded else []
            yield Line(
                row=row.name,
                figure=figure,
                paper=_cell(published.get(figure)),
                ours=_cell(mean.get(figure)) or "-",
                spread=f" ± {number(sd[figure])}" if figure in sd else "",
                target=f"{'≤' if smaller else '≥'} {number(row.target[figure])}" if figure in row.target else "",
                verdict=str(judged.get(figure, _unmeasured(row) if recorded is None else "not measured")),
                baselines=tuple(f"{number(x)} ({_called(recorded, name, figure)})" for name, x in cheap),
            )


def _unmeasured(row: Row) -> str:
    return "not run here" if row.not_run else "not run yet"


def _called(recorded: RecordedRow | None, name: str, figure: str) -> str:
    return name if recorded is None else beside_auc(recorded, name, figure)


def _cell(x: float | None) -> str:
    return "" if x is None else number(x)


PAPERS = {
    "SDNE": "SDNE: D. Wang, P. Cui, W. Zhu, KDD 2016",
    "DRNE": "DRNE: K. Tu, P. Cui, X. Wang, P. S. Yu, W. Zhu, KDD 2018",
    "DHNE": "DHNE: K. Tu, P. Cui, X. Wang, F. Wang, W. Zhu, AAAI 2018",
    "DVNE": "DVNE: D. Zhu, P. Cui, D. Wang, W. Zhu, KDD 2018",
    "DepthLGP": "DepthLGP: J. Ma, P. Cui, W. Zhu, AAAI 2018",
    "netfold": "Of our own",
}
"""The papers in the page's order, and how each is called there; others follow by name."""

_HEAD = """# Published tables beside ours

Made by `netfold reproduce NAME --record` from [benchmarks/tables](../benchmarks/tables): do not edit. Ours is the mean
over seeds ± the standard deviation. "Best cheap baseline" is the best of what costs about a second, under the same
protocol; where it wins, the verdict says so. [Evaluating honestly](evaluating.md) says what the protocols mean.

A verdict is by two standard errors over the seeds (of the paired differences, where the values of each seed were kept;
rows of before that have the errors of both apart, or of ours alone): *above*, *level* or *below*. With fewer than five
seeds it is provisional, and with one it compares two numbers. Of a decline under noise a baseline wins only if its AUC
without noise is at least ours, as what knows little loses little. Of a row "not run here" the reason stands below its
table; "not run yet" has none but time.
"""


def page(tables: Sequence[Table]) -> str:
    """The whole page, as Markdown: the same text for the same tables."""
    ordered = sorted(tables, key=lambda table: (_place(table.paper), table.paper, table.name))
    parts = [_HEAD, *_front(ordered), "## All tables\n", _index(ordered)]
    for paper in dict.fromkeys(table.paper for table in ordered):
        parts += [f"## {PAPERS.get(paper, paper)}\n"]
        parts += [_section(table) for table in ordered if table.paper == paper]
    return "\n".join(parts)


def write_page(tables: Sequence[Table], path: Path) -> None:
    """Write the page, whole or not at all."""
    with staged_file(path) as part:
        part.write_text(page(tables), encoding="utf-8")


def last_verdict(table: Table) -> str:
    """A table in a few words: why it cannot be run, or how the last run went."""
    if table.status:
        return table.status
    recorded = {row.name: table.recorded_for(row) for row in table.rows}
    if table.recorded is None:
        return "not run yet"
    if any(x is None and name in table.recorded.rows for name, x in recorded.items()):
        return "set otherwise since it was run"
    new = Counter(_unmeasured(row) for row in table.rows if recorded[row.name] is None)
    known = {name: x for name, x in recorded.items() if x is not None}
    rows = [(row, with_cheap_rows(table, row, known)) for row in table.rows if row.name in known]
    said = summary(v for row, x in rows for v in verdicts(table, row, x).values())
    return "; ".join(
        [said, *(f"{n} row{'s' if n > 1 else ''} {what}" for what, n in sorted(new.items(), reverse=True))]
    )


def _place(paper: str) -> int:
    return list(PAPERS).index(paper) if paper in PAPERS else len(PAPERS)


def _index(tables: Sequence[Table]) -> str:
    rows = [[f"[{t.name}](#{t.name})", t.paper, t.title, last_verdict(t)] for t in tables]
    return _markdown(["table", "paper", "what", "where it stands"], rows)


_LEFT_OUT = ("-parameters", "-variance", "-certain", "-sparse")
"""Ends of the names of tables that are about settings, about variance, or the same question many times."""
_STANDINGS = {"above": "ours", "level": "level", "below": "the cheap one", "": "level"}
_PRINTED = "as printed"
"""In the name of a row that is the paper's model to the letter, and not the best of ours."""
_GPU = "NVIDIA"
_ENOUGH = 5
"""Seeds of a verdict that is not provisional."""


def _front(tables: Sequence[Table]) -> list[str]:
    """One line for each question: the best of ours, the best cheap method, what each costs, and who wins."""
    rows = [cells for table in tables if not table.name.endswith(_LEFT_OUT) for cells in _questions(table)]
    if not rows:
        return []
    wins = Counter(row[-1].split(" (")[0] for row in rows)
    few = sum("seed" in row[-1] for row in rows)
    head = ["question", "best of ours", "CPU-s", "best cheap", "CPU-s", "who wins"]
    text = f"""## Is it worth it?

The first figure of each question that a table asks: ours wins {wins["ours"]}, a cheap method {wins["the cheap one"]},
and {wins["level"]} are level; {few} of these verdicts are of fewer than five seeds, and provisional. Rows "as printed"
are the papers' models, and not among ours here; models that are computed and not trained (Spectral, GraphWave,
DegreeFeatures) are among the cheap. Costs are seconds of the processor: of ours what a fit took (where a GPU helped,
what the processor did; ≤: all that the cores had while a whole row ran, with its evaluation; empty where neither was
kept), of a cheap method what it took to make and to measure it; where that was not counted, about one second, or up to
thirty for one that follows walks from every node (personalised PageRank, Katz, paths of three). Where cheap methods
are marked with an asterisk, they were recorded before there were as many as now (`netfold reproduce NAME --baselines
--record` measures them all, or of new nodes the table run again): a win there has stood against fewer.
"""
    return [text, _markdown(head, rows)]


def _questions(table: Table) -> Iterator[list[str]]:
    """The rows that share a protocol, or a base, are one question, and their best one answers it."""
    groups: dict[str, list[Row]] = {}
    for row in table.rows:
        if table.recorded_for(row) is not None:
            protocol = sorted((name, str(value)) for name, value in row.task.items() if name != "score")
            groups.setdefault(row.base or str(protocol), []).append(row)
    known = {row.name: x for rows in groups.values() for row in rows if (x := table.recorded_for(row))}
    figure = next(iter(task_named(table.task.name).headline_in(table.figures)), "")
    for rows in groups.values():
        own = [row for row in rows if figure in known[row.name].mean and row.model not in (*WAYS, *CHEAP_MODELS)]
        if own:
            words = "" if len(groups) == 1 else f", {own[0].base or own[0].name}"
            yield _answer(table, own, known, figure, words)


def _answer(table: Table, rows: list[Row], recorded: Mapping[str, RecordedRow], figure: str, words: str) -> list[str]:
    smaller, alike = table.smaller(figure), [recorded[row.name] for row in rows]
    rows = [row for row in rows if _PRINTED not in row.name] or rows
    row = max(rows, key=lambda row: (-1 if smaller else 1) * recorded[row.name].mean[figure])
    ours = _beside_the_best(with_cheap_rows(table, row, recorded), alike, figure, smaller=smaller)
    cheap = ranked_baselines(ours, figure, smaller=smaller)
    spread = f" ± {number(ours.sd[figure])}" if figure in ours.sd else ""
    seeds = table.seeds_of(ours, figure)
    few = "" if seeds >= _ENOUGH else f" ({seeds} seed{'s' if seeds > 1 else ''})"
    older = "*" if _has_older_baselines(table, row, ours if row.base else recorded[row.name]) else ""
    own, rival = _told_apart(ours.mean[figure], cheap[0][1] if cheap else math.nan)
    return [
        f"[{table.name}](#{table.name}){words}: {figure}",
        f"{row.name}: {own}{spread}",
        _cost(table, ours),
        f"{cheap[0][0]}: {rival}{older}" if cheap else "none was measured",
        _seconds(ours.baselines[cheap[0][0]].get(COST)) if cheap else "",
        f"{_STANDINGS[verdicts(table, row, ours)[figure].to_rival]}{few}" if cheap else "nothing to compare with",
    ]


def _beside_the_best(ours: RecordedRow, alike: Sequence[RecordedRow], figure: str, *, smaller: bool) -> RecordedRow:
    """A row with each baseline as it is best in any row of the question, as some score the pairs of cheap vectors
    otherwise; of as many seeds as beside this one."""

    def seeds(x: RecordedRow, name: str) -> int:
        return len(x.baseline_seeds.get(name, {}).get(figure, ()))

    cells, values = dict(ours.baselines), dict(ours.baseline_seeds)
    for x in alike:
        for name, found in x.baselines.items():
            known = cells.get(name, {}).get(figure)
            if known is None or figure not in found or seeds(x, name) != seeds(ours, name):
                continue
            if found[figure] < known if smaller else found[figure] > known:
                cells[name], values[name] = found, x.baseline_seeds.get(name, {})
    return dataclasses.replace(ours, baselines=cells, baseline_seeds=values)


def _has_older_baselines(table: Table, row: Row, recorded: RecordedRow) -> bool:
    """Whether some were recorded before values of seeds and costs were kept, when there were fewer of them; of new
    nodes with a base, before the vote of their neighbors was one."""
    if row.base:
        return task_named(table.task.name).name == "out-of-sample" and VOTE not in recorded.baselines
    known = recorded.baseline_seeds
    return any(name not in known and COST not in cells for name, cells in recorded.baselines.items())


def _told_apart(ours: float, theirs: float) -> tuple[str, str]:
    """Both as tables show them, and with all recorded digits where they would look alike."""
    alike = number(ours) == number(theirs)
    return (f"{ours:.6g}", f"{theirs:.6g}") if alike else (number(ours), number(theirs))


def _seconds(x: float | None) -> str:
    """One digit after the point below ten; nothing where it was not counted."""
    return f"{x:,.0f}" if x and x >= 10 else f"{x:.1f}" if x else ""


def _cost(table: Table, ours: RecordedRow) -> str:
    """The processor time of the fit; where that was not kept, what all cores had in a row's share of the run."""
    if COST in ours.mean:
        return _seconds(ours.mean[COST])
    run = table.recorded
    where = ours.run or (run.machine if run else "")
    if _GPU in where:
        return "on a GPU"
    if run is None or ours.run:
        return ""
    rows = sum(not row.run for row in run.rows.values())
    cores = max(map(int, re.findall(r"(\d+) cores?", where)), default=1)
    return f"≤ {max(1, cores * run.seconds / len(run.seeds) / max(rows, 1)):,.0f}"


def _section(table: Table) -> str:
    arguments = "; ".join(f"{name} {_words(value)}" for name, value in table.task.arguments.items())
    said = [f"### {table.name}\n", f"{table.title}. {table.source}."]
    said += [f"Data: {table.data}. Task: {table.task.name}{f' ({arguments})' if arguments else ''}."]
    said += [table.notes] if table.notes else []
    said += [f"**Not run here: {table.status}.**"] if table.status else []
    parts = ["\n".join(said) + "\n", *_ours(table)]
    return "\n".join([*parts, *_published(table)])


def _ours(table: Table) -> list[str]:
    if not table.rows or (table.recorded is None and table.status):
        return []
    known = {row.name: x for row in table.rows if (x := table.recorded_for(row)) is not None}
    rows = [cells for row in table.rows for cells in _figures(table, row, known)]
    paragraphs = [_markdown(["row", "figure", "paper", "ours", "best cheap baseline", "target", "verdict"], rows)]
    paragraphs += [_settings(table)]
    return paragraphs + ([_how(table.recorded)] if table.recorded else [])


def _figures(table: Table, row: Row, known: Mapping[str, RecordedRow]) -> Iterable[list[str]]:
    for x in lines(table, row, with_cheap_rows(table, row, known) if row.name in known else None):
        ours = x.ours if x.ours == "-" else f"**{x.ours}**{x.spread}"
        yield [x.row, x.figure, x.paper, ours, x.baselines[0] if x.baselines else "", x.target, x.verdict]


def _settings(table: Table) -> str:
    said = [f"- base {name}: {_set(base)}." for name, base in table.bases.items()]
    for row in table.rows:
        scored = "".join(f"; {name} {_words(value)}" for name, value in row.task.items())
        guess = f" Guessed, as the paper is silent: {row.guess}." if row.guess else ""
        of = f" of {row.base}" if row.base else ""
        left_out = f" Not run here: {row.not_run}." if row.not_run and table.recorded_for(row) is None else ""
        said.append(f"- {row.name}: {_set(row)}{of}{scored}.{guess}{_trained(table.recorded_for(row))}{left_out}")
    return "\n".join(said) + "\n"


def _trained(recorded: RecordedRow | None) -> str:
    """How long a row's model was trained, and what its objective was then."""
    known = recorded.training if recorded else {}
    if not known:
        return ""
    return f" Trained for {known['epochs']:,.0f} epochs, to an objective of {known['objective']:.4g}."


def _set(of: Row | Base) -> str:
    """A model and its options, or one of the ways that have none."""
    from netfold.models import MODELS

    config = ", ".join(f"{name} {_words(value)}" for name, value in of.config.items()) or "the defaults"
    if of.model in WAYS:
        return f"{of.model} with {config}" if of.config else of.model
    return f"{MODELS[of.model].__name__} with {config}"


def _how(run: Recorded) -> str:
    seeds = ", ".join(map(str, run.seeds))
    said = [f"Run on {run.date} with netfold {run.version} and seeds {seeds}: {run.seconds:,.0f} s on {run.machine}."]
    said += [f"{name}: {row.run}." for name, row in run.rows.items() if row.run]
    return " ".join(said) + "\n"


def _published(table: Table) -> list[str]:
    """All that the paper prints, the longer side downwards."""
    methods = list(table.published)
    figures = [figure for figure in table.figures if any(figure in cells for cells in table.published.values())]
    if not methods:
        return []

    def cell(method: str, figure: str) -> str:
        value = table.published[method].get(figure)
        return "" if value is None else f"{value:g}"

    if len(figures) > len(methods):
        rows = [[figure, *(cell(method, figure) for method in methods)] for figure in figures]
        return ["In the paper:\n", _markdown(["figure", *methods], rows)]
    rows = [[method, *(cell(method, figure) for figure in figures)] for method in methods]
    return ["In the paper:\n", _markdown(["method", *figures], rows)]


def _markdown(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    listed = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |" for row in listed) + "\n"


def _words(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value)
