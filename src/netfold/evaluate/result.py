"""`Result`: what was measured, of the thing given and of cheap baselines, and how."""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from netfold.data.text import html_box, html_table, text_table, type_in_words
from netfold.errors import InputError

if TYPE_CHECKING:
    from netfold.data.embedding import Embedding

__all__ = ["CpuSeconds", "Result", "embedding_of", "facts_in_words", "json_figures", "judged", "name_of", "standing"]


def standing(ours: Sequence[float], theirs: Sequence[float], *, smaller: bool = False) -> str:
    """Whether ours is "above" theirs, "level" or "below", by two standard errors of the difference, round by round.

    The rounds are paired: the same seeds, or the same splits. Of one round nothing can be said, which is an empty text.
    `smaller` figures are above where they are less.

    >>> standing([0.82, 0.84, 0.83], [0.80, 0.83, 0.81]), standing([0.82, 0.84, 0.83], [0.80, 0.86, 0.81])
    ('above', 'level')
    """
    differences = [(b - a if smaller else a - b) for a, b in zip(ours, theirs, strict=True)]
    if len(differences) < 2 or any(map(math.isnan, differences)):
        return ""
    return judged(statistics.fmean(differences), statistics.stdev(differences) / math.sqrt(len(differences)))


def judged(difference: float, error: float) -> str:
    """The same of a difference and its standard error; what differs by rounding alone is level.

    >>> judged(0.02, 0.005), judged(0.02, 0.02), judged(-0.02, 0.0)
    ('above', 'level', 'below')
    """
    if abs(difference) <= max(2 * error, 1e-9):
        return "level"
    return "above" if difference > 0 else "below"


class CpuSeconds(dict[str, float]):
    """What was spent under each name, in seconds of the processor."""

    @contextmanager
    def of(self, name: str) -> Iterator[None]:
        """Count what is done here under a name, beside what was counted before."""
        start = time.process_time()
        yield
        self[name] = self.get(name, 0.0) + time.process_time() - start


@dataclass(frozen=True, repr=False)
class Result:
    """Figures with the protocol that they depend on, beside those of cheap baselines under the same protocol.

    >>> Result("link prediction", "SDNE", {"AUC": 0.93}, {"score": "dot"}, {"Adamic-Adar": {"AUC": 0.95}})
    link prediction     AUC
    SDNE             0.9300
    Adamic-Adar      0.9500
    best in AUC: Adamic-Adar
    protocol: score dot
    """

    task: str
    name: str
    """What was evaluated: the row's name in the table."""
    figures: Mapping[str, float]
    protocol: Mapping[str, Any] = field(default_factory=dict)
    """Every choice that moves a figure."""
    baselines: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    """The same figures of each cheap method."""
    deviations: Mapping[str, float] = field(default_factory=dict)
    """How far figures spread: the standard deviation over repeats, or half a confidence interval; the protocol says."""
    smaller_is_better: Collection[str] = ()
    rounds: Mapping[str, Mapping[str, Sequence[float]]] = field(default_factory=dict)
    """Where there were repeats: by method and figure the values of all, on the same splits."""
    seconds: Mapping[str, float] = field(default_factory=dict, compare=False)
    """What baselines cost, made and measured, where it was counted: seconds of the processor."""

    @staticmethod
    def of_rounds(
        task: str,
        name: str,
        rounds: Mapping[str, Sequence[Mapping[str, float]]],
        protocol: Mapping[str, Any],
        smaller_is_better: Collection[str] = (),
        seconds: Mapping[str, float] | None = None,
    ) -> Result:
        """The means of what each method did in rounds, alike for all; `name` is the thing given.

        >>> Result.of_rounds("t", "x", {"x": [{"F1": 0.5}, {"F1": 0.75}]}, {}).figures
        {'F1': 0.625}
        """
        by_figure = {m: {x: [each[x] for each in listed] for x in listed[0]} for m, listed in rounds.items()}
        means = {method: {x: _mean(values) for x, values in row.items()} for method, row in by_figure.items()}
        own = by_figure[name]
        deviations = {x: _deviation(values) for x, values in own.items() if len(values) > 1}
        cheap = {method: row for method, row in means.items() if method != name}
        several = by_figure if len(rounds[name]) > 1 else {}
        return Result(task, name, means[name], protocol, cheap, deviations, smaller_is_better, several, seconds or {})

    def level_with(self, figure: str) -> list[str]:
        """The methods that are level with the best one in a figure, by two standard errors over its rounds."""
        best, smaller = self.best(figure), figure in self.smaller_is_better
        values = {method: row[figure] for method, row in self.rounds.items() if figure in row}
        if best not in values:
            return []
        others = {method: x for method, x in values.items() if method != best}
        return [method for method, x in others.items() if standing(values[best], x, smaller=smaller) == "level"]

    def best(self, figure: str) -> str:
        """The method that does best in a figure: the thing given, where none is better than it."""
        sign = -1 if figure in self.smaller_is_better else 1
        rows = {self.name: self.figures} | dict(self.baselines)
        known = {name: sign * row[figure] for name, row in rows.items() if not math.isnan(row.get(figure, math.nan))}
        return max(known, key=known.__getitem__, default=self.name)

    def has_winner(self, figure: str) -> bool:
        """Whether a figure tells methods apart: not where all of them have 0, or none has it."""
        values = self._values(figure)
        return any(values) or (figure in self.smaller_is_better and bool(values))

    def _values(self, figure: str) -> list[float]:
        """What it is for all methods that have it."""
        rows = [self.figures, *self.baselines.values()]
        return [row[figure] for row in rows if not math.isnan(row.get(figure, math.nan))]

    def to_dict(self) -> dict[str, Any]:
        """Everything, as JSON can hold it: a figure that could not be computed is None."""
        return {
            "task": self.task,
            "name": self.name,
            "figures": json_figures(self.figures),
            "deviations": json_figures(self.deviations),
            "baselines": {name: json_figures(row) for name, row in self.baselines.items()},
            "best": {x: self.best(x) if self.has_winner(x) else None for x in self.figures},
            "level": {x: self.level_with(x) for x in self.figures},
            "protocol": dict(self.protocol),
        }

    def _cells(self) -> list[list[str]]:
        """The table: a head, what was evaluated, and the baselines."""
        cells = [[self.task, *self.figures], [self.name, *(self._cell(x) for x in self.figures)]]
        return cells + [[name, *(_number(row.get(x)) for x in self.figures)] for name, row in self.baselines.items()]

    def _repr_html_(self) -> str:
        """The same table in a notebook, the best of each figure in bold, and the protocol below."""
        head, *rows = self._cells()
        names = [row[0] for row in rows]
        best = {(names.index(self.best(x)), j) for j, x in enumerate(self.figures, 1) if self.has_winner(x)}
        protocol = [f"protocol: {facts_in_words(self.protocol)}"] if self.protocol else []
        caption = "\n".join([*self._verdict(), *protocol])
        return html_box(self.task, html_table(["", *head[1:]], rows, best=best, caption=caption))

    def __repr__(self) -> str:
        cells = self._cells()
        lines = text_table(cells, right=range(1, len(cells[0])))
        protocol = [f"protocol: {facts_in_words(self.protocol)}"] if self.protocol else []
        return "\n".join([lines, *self._verdict(), *protocol])

    def _cell(self, figure: str) -> str:
        spread = self.deviations.get(figure)
        return _number(self.figures[figure]) + (
            f" ± {spread:.4f}" if spread is not None and math.isfinite(spread) else ""
        )

    def _verdict(self) -> list[str]:
        if not self.baselines:
            return []
        wins: dict[str, list[str]] = {}
        for figure in self.figures:
            if self.has_winner(figure):
                level = self.level_with(figure)
                beside = f" (level with it: {', '.join(level)})" if level else ""
                wins.setdefault(self.best(figure) + beside, []).append(figure)
        lines = [f"best in {', '.join(figures)}: {name}" for name, figures in wins.items()]
        without = [figure for figure in self.figures if not self.has_winner(figure)]
        zeros = [figure for figure in without if self._values(figure)]
        unknown = [figure for figure in without if figure not in zeros]
        lines += [f"0 for all, without a winner: {', '.join(zeros)}"] if zeros else []
        return [*lines, *([f"not defined for any: {', '.join(unknown)}"] if unknown else [])]


def embedding_of(model: Any) -> Embedding:
    """The embedding of a fitted model, or the embedding given."""
    from netfold.data.embedding import Embedding

    embedding = getattr(model, "embedding_", model)
    if not isinstance(embedding, Embedding):
        kind = type_in_words(model)
        raise InputError(f"{kind} was given to evaluate; give a fitted model or an Embedding (nf.Embedding(nodes, X))")
    return embedding


def name_of(model: Any) -> str:
    """What a table calls it: the model's class, also of one that was updated (`Evolving`), or "embedding"."""
    return type(getattr(model, "model", model)).__name__ if hasattr(model, "embedding_") else "embedding"


def facts_in_words(facts: Mapping[str, Any]) -> str:
    """Facts on one line.

    >>> facts_in_words({"held out": 0.15, "nodes": 5242, "weighted": False, "k": (10, 100)})
    'held out 0.15; nodes 5,242; weighted no; k 10, 100'
    """
    return "; ".join(f"{name} {_fact(value)}" for name, value in facts.items())


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)


def _deviation(values: Sequence[float]) -> float:
    """Of a sample; not a number where a value is none."""
    return math.nan if any(map(math.isnan, values)) else statistics.stdev(values)


def _number(x: float | None) -> str:
    if x is None or math.isnan(x):
        return "-"
    return f"{x:.4f}" if abs(x) < 1000 else f"{x:,.0f}"


def json_figures(row: Mapping[str, float]) -> dict[str, float | None]:
    """Figures as JSON can hold them: None for what is no number."""
    return {name: None if math.isnan(x) else float(x) for name, x in row.items()}


def _fact(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:g}"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, (tuple, list)):
        return ", ".join(map(_fact, value))
    return str(value)
