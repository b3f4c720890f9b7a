"""`Trials`: what was tried before a model was chosen, as one table that the model keeps, in its file too."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from netfold.data.text import printable, text_table
from netfold.embedder.pair_score import short_score

if TYPE_CHECKING:
    import pandas

__all__ = ["Trial", "Trials"]

_MOST = 10_000
"""Rows that a file may hold."""
_LONGEST = 60
"""Characters of a candidate in the table as text."""


@dataclasses.dataclass(frozen=True)
class Trial:
    """One candidate with so many epochs, and what came of it."""

    candidate: str
    """The model and its settings, as Python has them."""
    epochs: int | None = None
    """None where it has none."""
    nodes: int = 0
    """Of the part of the graph that it was fitted to."""
    folds: int = 0
    """On how many inner parts it was measured."""
    figure: float | None = None
    deviation: float | None = None
    """The standard error of the figure."""
    cpu: float | None = None
    """CPU seconds of a fit."""
    bytes: int | None = None
    """The peak of memory of a fit."""
    score: str = ""
    """How pairs were scored, where there are pairs."""
    why: str = ""
    """Why there is no figure; empty where there is."""


@dataclasses.dataclass(frozen=True, repr=False)
class Trials:
    """Candidates with their figures on inner parts of the data, the one that was chosen, and its figure on another.

    >>> rows = (Trial("Spectral()", None, 100, 1, 0.91, 0.02, 0.1, 2 << 20), Trial("SDNE()", why="left out"))
    >>> Trials("link-prediction", "AUC", "10s", rows, "Spectral()", "the best", 0.9, 0.01, "50 edges")
    candidate   epochs  folds              AUC  CPU-s  MiB
    Spectral()              1  0.9100 ± 0.0200    0.1    2
    SDNE()                                                  left out
    chosen: Spectral(): the best
    AUC 0.9000 ± 0.0100 on 50 edges
    """

    task: str
    figure: str
    budget: str
    rows: tuple[Trial, ...]
    chosen: str
    reason: str
    value: float | None = None
    """The figure of the chosen model on data that chose nothing."""
    deviation: float | None = None
    on: str = ""
    """What those data are, in words."""
    smaller_is_better: bool = False
    spent: float | None = None
    """Of the budget, in its unit."""

    def lines(self) -> list[str]:
        """What was chosen, why, and how good it is."""
        said = [f"chosen: {self.chosen}: {self.reason}"]
        if self.value is not None:
            said.append(f"{self.figure} {_plus_minus(self.value, self.deviation)} on {self.on}")
        return said

    def table(self) -> str:
        """The rows as text."""
        head = ["candidate", "epochs", "folds", self.figure, "CPU-s", "MiB", ""]
        return text_table([head, *(_cells(row) for row in self.rows)], right=range(1, 6))

    def to_pandas(self) -> pandas.DataFrame:
        """A row for each trial."""
        import pandas as pd

        return pd.DataFrame([dataclasses.asdict(row) for row in self.rows])

    def to_dict(self) -> dict[str, Any]:
        """Everything, as JSON can hold it."""
        return dataclasses.asdict(self) | {"rows": [dataclasses.asdict(row) for row in self.rows]}

    @staticmethod
    def from_dict(facts: Any) -> Trials:
        """What `to_dict` gave, perhaps from a file: a TypeError where it is anything else."""
        if not isinstance(facts, Mapping) or not isinstance(facts.get("rows"), list) or len(facts["rows"]) > _MOST:
            raise TypeError("its trials are not a table")
        rows = tuple(_checked(Trial, row) for row in facts["rows"])
        table: Trials = _checked(Trials, {**facts, "rows": rows})
        return table

    def __repr__(self) -> str:
        return "\n".join([self.table(), *self.lines()])


def _checked(cls: Any, facts: Any) -> Any:
    """An instance of plain values of the types that its fields have."""
    kinds = {"str": (str,), "int": (int,), "float": (int, float), "bool": (bool,), "tuple[Trial, ...]": (tuple,)}
    fields = {f.name: f for f in dataclasses.fields(cls)}
    if not isinstance(facts, Mapping) or not set(facts) <= set(fields):
        raise TypeError("a trial has unknown parts")
    for name, value in facts.items():
        words = str(fields[name].type).split(" | ")
        if not (value is None and "None" in words) and type(value) not in kinds[words[0]]:
            raise TypeError(f"{name} of a trial is a {type(value).__name__}")
    return cls(**facts)


def _cells(row: Trial) -> list[str]:
    name = row.candidate if len(row.candidate) <= _LONGEST else f"{row.candidate[: _LONGEST - 3]}..."
    figure = "" if row.figure is None else _plus_minus(row.figure, row.deviation)
    numbers = ["" if row.epochs is None else str(row.epochs), str(row.folds) if row.folds else "", figure]
    cost = ["" if row.cpu is None else f"{row.cpu:,.1f}", "" if row.bytes is None else f"{row.bytes / 2**20:,.0f}"]
    return [printable(name), *numbers, *cost, printable(row.why or short_score(row.score))]


def _plus_minus(x: float, deviation: float | None) -> str:
    spread = "" if deviation is None or not math.isfinite(deviation) else f" ± {deviation:.4f}"
    return f"{x:.4f}{spread}"
