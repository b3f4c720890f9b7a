"""`Comparison`: what several models and the cheap baselines did in several tasks, as one table."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from netfold.data.text import enumerated, html_box, html_table, text_table
from netfold.embedder.pair_score import short_score
from netfold.errors import InputError
from netfold.evaluate.result import json_figures, standing
from netfold.evaluate.task import SCORES, task_named

if TYPE_CHECKING:
    import pandas

__all__ = ["Comparison", "Entry"]


@dataclass(frozen=True)
class Entry:
    """What one method did in one task."""

    task: str
    method: str
    cheap: bool = False
    """Whether it is a baseline that costs about a second."""
    figures: Mapping[str, float] = field(default_factory=dict)
    deviations: Mapping[str, float] = field(default_factory=dict)
    seconds: float | None = None
    """Of the fit, on the clock; none of a baseline."""
    bytes: int | None = None
    """The peak of memory of the fit above where it stood before (see `Meter`)."""
    score: str = ""
    """How its pairs were scored, where a task has pairs."""
    why: str = ""
    """Why there are no figures; empty where there are."""
    rounds: Mapping[str, Sequence[float]] = field(default_factory=dict)
    """Each figure's values in the repeats of a task, on the same splits for all methods; empty where there are none."""


@dataclass(frozen=True, repr=False)
class Comparison:
    """Figures of models and of cheap baselines under the same protocols; printed, a table and who wins.

    >>> entries = [Entry("link_prediction", "SDNE", figures={"AUC": 0.93}, seconds=8.0, bytes=90 << 20),
    ...            Entry("link_prediction", "Adamic-Adar", True, {"AUC": 0.95})]
    >>> Comparison("Graph(9 nodes, 9 edges, undirected)", tuple(entries))
    Graph(9 nodes, 9 edges, undirected), seed 0
    link prediction         AUC  fit s  fit MiB
    SDNE                 0.9300    8.0       90
    Adamic-Adar (cheap)  0.9500
    link prediction: Adamic-Adar is best in AUC; a cheap baseline wins
    """

    data: str
    """What was asked about, in words."""
    entries: tuple[Entry, ...]
    seed: int = 0
    smaller_is_better: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """By task, the figures of which less is better."""
    protocols: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """By task, every choice that moves a figure."""

    @property
    def tasks(self) -> list[str]:
        """The tasks, in the order asked."""
        return list(dict.fromkeys(x.task for x in self.entries))

    @property
    def methods(self) -> list[str]:
        """Everything that was compared, models before baselines."""
        return list(dict.fromkeys(x.method for x in sorted(self.entries, key=lambda x: x.cheap)))

    def entry(self, task: str, method: str) -> Entry | None:
        """What a method did in a task; None where it took no part."""
        return next((x for x in self.entries if (x.task, x.method) == (task, method)), None)

    def best(self, task: str, figure: str) -> Entry:
        """Who does best in a figure of a task: a model, where no baseline is better than it."""
        sign = -1 if figure in self.smaller_is_better.get(task, ()) else 1
        known = [x for x in self.entries if x.task == task and not math.isnan(x.figures.get(figure, math.nan))]
        if not known:
            raise InputError(f"nobody has the figure {figure!r} in {task!r}; known: {', '.join(self._figures(task))}")
        return max(known, key=lambda x: (sign * x.figures[figure], not x.cheap))

    def has_winner(self, task: str, figure: str) -> bool:
        """Whether a figure of a task tells methods apart: not where all of them have 0."""
        values = [x.figures.get(figure, math.nan) for x in self.entries if x.task == task]
        return figure in self.smaller_is_better.get(task, ()) or any(x for x in values if not math.isnan(x))

    def to_pandas(self) -> pandas.DataFrame:
        """A row for each method in each task, with all figures; what a task does not have is NaN."""
        import pandas as pd

        facts = ("task", "method", "cheap", "seconds", "bytes", "score", "why")
        return pd.DataFrame([{name: getattr(x, name) for name in facts} | dict(x.figures) for x in self.entries])

    def to_dict(self) -> dict[str, Any]:
        """Everything, as JSON can hold it: a figure that could not be computed is None."""
        entries = [
            asdict(x) | {"figures": json_figures(x.figures), "deviations": json_figures(x.deviations)}
            for x in self.entries
        ]
        best = {task: {x: self._winner(task, x) for x in self._headline(task)} for task in self.tasks}
        protocols = {task: dict(facts) for task, facts in self.protocols.items()}
        return {"data": self.data, "seed": self.seed, "entries": entries, "best": best, "protocols": protocols}

    def __repr__(self) -> str:
        return "\n".join(
            [f"{self.data}, seed {self.seed}", *self._table(), *self._scores(), *self._reasons(), *self._verdicts()]
        )

    def _repr_html_(self) -> str:
        """The same table in a notebook, the best of each figure in bold, and who wins below."""
        groups = [(task, figure) for task in self.tasks for figure in self._headline(task)]
        several = len(self.tasks) > 1
        head = ["", *(f"{_words(task)}: {x}" if several else x for task, x in groups), "fit s", "fit MiB"]
        best = {
            (self.methods.index(self.best(task, x).method), j)
            for j, (task, x) in enumerate(groups, 1)
            if self.has_winner(task, x)
        }
        rows = [self._row(name, groups) for name in self.methods]
        caption = "\n".join([*self._scores(), *self._reasons(), *self._verdicts()])
        return html_box(f"{self.data}, seed {self.seed}", html_table(head, rows, best=best, caption=caption))

    # ---------------------------------------------------------------- as text

    def _table(self) -> list[str]:
        groups = [(task, figure) for task in self.tasks for figure in self._headline(task)]
        first = {task: self._headline(task)[0] for task in self.tasks if self._headline(task)}
        several = len(self.tasks) > 1
        above = [["", *(_words(t) if first[t] == x else "" for t, x in groups), "", ""]] if several else []
        head = ["" if several else _words(self.tasks[0]), *(x for _, x in groups), "fit s", "fit MiB"]
        return [text_table([*above, head, *(self._row(name, groups) for name in self.methods)], range(1, len(head)))]

    def _row(self, method: str, groups: list[tuple[str, str]]) -> list[str]:
        own = [x for x in self.entries if x.method == method]
        by_task = {x.task: x for x in own}
        cells = [_cell(by_task[task].figures.get(x)) if task in by_task else "" for task, x in groups]
        seconds = max((x.seconds for x in own if x.seconds is not None), default=None)
        memory = max((x.bytes for x in own if x.bytes is not None), default=None)
        cost = ["" if seconds is None else f"{seconds:,.1f}", "" if memory is None else f"{memory / 2**20:,.0f}"]
        return [method + (" (cheap)" if own[0].cheap else ""), *cells, *cost]

    def _scores(self) -> list[str]:
        """How pairs were scored, where that is not the default of the task."""
        lines = []
        for task in self.tasks:
            by: dict[str, list[str]] = {}
            for x in self.entries:
                if x.task == task and x.score:
                    by.setdefault(x.score, []).append(x.method)
            default = task_named(task).score
            if default in SCORES and by.keys() - {default}:
                words = "; ".join(f"{', '.join(methods)} by {short_score(x)}" for x, methods in by.items())
                lines.append(f"{_words(task)}: pairs are scored of {words} (as was chosen for each, or given)")
        return lines

    def _reasons(self) -> list[str]:
        """Why a method has no figures, said once where it is the same in several tasks."""
        reasons: dict[tuple[str, str], list[str]] = {}
        for x in self.entries:
            if x.why:
                reasons.setdefault((x.method, x.why), []).append(_words(x.task))
        return [f"{method} in {', '.join(tasks)}: {why}" for (method, why), tasks in reasons.items()]

    def _verdicts(self) -> list[str]:
        return [self._verdict(task, self._best(task)) for task in self.tasks]

    def _best(self, task: str) -> dict[str, Entry]:
        return {x: self.best(task, x) for x in self._headline(task) if self.has_winner(task, x)}

    def _winner(self, task: str, figure: str) -> str | None:
        return self.best(task, figure).method if self.has_winner(task, figure) else None

    def _verdict(self, task: str, best: Mapping[str, Entry]) -> str:
        level = [figure for figure, entry in best.items() if not entry.cheap and self._reached(entry, figure)]
        beside = f"; a cheap baseline is level with it in {enumerated(level)}" if level else ""
        for figure, entry in best.items():
            models = self._level_models(entry, figure) if entry.cheap else []
            beside += f"; {enumerated(models)} is level with it in {figure}" if models else ""
        zeros = [x for x in self._headline(task) if not self.has_winner(task, x)]
        level_at_0 = f"{enumerated(zeros)} {'is' if len(zeros) == 1 else 'are'} 0 for all" if zeros else ""
        if zeros and not best:
            return f"{_words(task)}: {level_at_0}"
        return _verdict(task, best) + beside + (f"; {level_at_0}" if zeros else "")

    def _reached(self, best: Entry, figure: str) -> bool:
        """Whether a cheap baseline has the same figure, as it is printed, or is level over the repeats."""
        cheap = [x for x in self.entries if x.task == best.task and x.cheap]
        same = _cell(best.figures[figure]) in (_cell(x.figures.get(figure)) for x in cheap)
        return same or any(self._is_level(best, x, figure) for x in cheap)

    def _is_level(self, one: Entry, other: Entry, figure: str) -> bool:
        """By two standard errors of the difference, repeat by repeat."""
        a, b = one.rounds.get(figure, ()), other.rounds.get(figure, ())
        return len(a) == len(b) > 1 and standing(a, b) == "level"

    def _level_models(self, best: Entry, figure: str) -> list[str]:
        """The models that are level with a cheap method that is best."""
        models = [x for x in self.entries if x.task == best.task and not x.cheap]
        return [x.method for x in models if self._is_level(best, x, figure)]

    def _figures(self, task: str) -> list[str]:
        return list(dict.fromkeys(name for x in self.entries if x.task == task for name in x.figures))

    def _headline(self, task: str) -> list[str]:
        """The headline figures that somebody has."""
        known = [x.figures for x in self.entries if x.task == task]
        some = [x for x in self._figures(task) if any(not math.isnan(row.get(x, math.nan)) for row in known)]
        return task_named(task).headline_in(some)


def _verdict(task: str, best: Mapping[str, Entry]) -> str:
    if not best:
        return f"{_words(task)}: nobody has a figure"
    wins: dict[str, list[str]] = {}
    for figure, entry in best.items():
        wins.setdefault(entry.method, []).append(figure)
    said = "; ".join(f"{method} is best in {enumerated(figures)}" for method, figures in wins.items())
    cheap = [entry.cheap for entry in best.values()]
    return f"{_words(task)}: {said}" + ("; a cheap baseline wins" if all(cheap) else "")


def _words(task: str) -> str:
    return task.replace("_", " ")


def _cell(x: float | None) -> str:
    return "-" if x is None or math.isnan(x) else f"{x:.4f}"
