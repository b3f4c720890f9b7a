"""A table's figures as text: the cells that the terminal and the page both show."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from netfold.reproduce.tables import RecordedRow, Row, Table
from netfold.reproduce.verdicts import number, ranked_baselines, verdicts

__all__ = ["Line", "aligned", "lines"]


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


def lines(table: Table, row: Row, found: RecordedRow | None) -> Iterator[Line]:
    """A line for each figure of which anything is known: ours, the paper's, or the target."""
    judged = verdicts(table, row, found) if found else {}
    published = table.published.get(row.published, {})
    mean, sd = (found.mean, found.sd) if found else ({}, {})
    for figure in table.figures:
        if figure in mean or figure in published or figure in row.target:
            smaller = table.smaller(figure)
            cheap = ranked_baselines(found, figure, smaller=smaller) if found else []
            yield Line(
                row=row.name,
                figure=figure,
                paper=_cell(published.get(figure)),
                ours=_cell(mean.get(figure)) or "-",
                spread=f" ± {number(sd[figure])}" if figure in sd else "",
                target=f"{'≤' if smaller else '≥'} {number(row.target[figure])}" if figure in row.target else "",
                verdict=str(judged.get(figure, "not run yet" if found is None else "not measured")),
                baselines=tuple(f"{number(x)} ({name})" for name, x in cheap),
            )


def aligned(rows: Sequence[Sequence[str]]) -> str:
    """Rows of text in columns.

    >>> print(aligned([["figure", "ours"], ["MAP", "0.9"]]))
    figure  ours
    MAP     0.9
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join("  ".join(x.ljust(w) for x, w in zip(row, widths, strict=True)).rstrip() for row in rows)


def _cell(x: float | None) -> str:
    return "" if x is None else number(x)
