"""What a figure of ours means beside the paper's, the target and the cheap baselines."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from netfold.studies.reproduce.table import RecordedRow, Row, Table

__all__ = ["Verdict", "number", "ranked_baselines", "summary", "verdict", "verdicts"]


@dataclass(frozen=True)
class Verdict:
    """How far one figure is past the target and past the paper (below 0: short of it), and the baseline that wins."""

    target: float | None = None
    published: float | None = None
    winner: str | None = None
    smaller: bool = False
    baselines: int = 0
    """How many there were."""

    def __str__(self) -> str:
        parts = [self._target(), self._published(), f"a baseline wins: {self.winner}" if self.winner else ""]
        otherwise = "no baseline wins" if self.baselines else "nothing to compare with"
        return "; ".join(part for part in parts if part) or otherwise

    def _target(self) -> str:
        if self.target is None:
            return ""
        return "reaches the target" if self.target >= 0 else f"misses the target by {number(-self.target)}"

    def _published(self) -> str:
        if self.published is None:
            return ""
        if self.published == 0:
            return "equal to the paper"
        better, worse = ("better than", "worse than") if self.smaller else ("above", "below")
        if self.published > 0:
            return f"{better} the paper"
        return f"{worse} the paper by {number(-self.published)}"


def verdict(
    ours: float,
    *,
    published: float | None = None,
    target: float | None = None,
    baselines: Mapping[str, float] | None = None,
    smaller: bool = False,
) -> Verdict:
    """The verdict on one figure; equal to a baseline is no loss.

    >>> print(verdict(0.88, published=0.836, target=0.88, baselines={"spectral": 0.9}))
    reaches the target; above the paper; a baseline wins: spectral
    >>> print(verdict(0.7, published=0.68, target=0.65, smaller=True))
    misses the target by 0.0500; worse than the paper by 0.0200
    """
    sign = -1 if smaller else 1

    def past(other: float | None) -> float | None:
        return None if other is None else round(sign * (ours - other), 9)

    cheap = baselines or {}
    better = {name: sign * (x - ours) for name, x in cheap.items() if sign * (x - ours) > 1e-9}
    winner = max(better, key=better.__getitem__) if better else None
    return Verdict(past(target), past(published), winner, smaller, len(cheap))


def ranked_baselines(measured: RecordedRow, figure: str, *, smaller: bool = False) -> list[tuple[str, float]]:
    """The baselines that have a figure, with their numbers, the best first."""
    values = {name: cells[figure] for name, cells in measured.baselines.items() if figure in cells}
    return sorted(values.items(), key=lambda item: item[1], reverse=not smaller)


def verdicts(table: Table, row: Row, measured: RecordedRow) -> dict[str, Verdict]:
    """The verdict on each figure that a row gave."""
    published = table.published.get(row.published, {})
    judged = {}
    for figure in table.figures:
        if figure in measured.mean:
            judged[figure] = verdict(
                measured.mean[figure],
                published=published.get(figure),
                target=row.target.get(figure),
                baselines=dict(ranked_baselines(measured, figure)),
                smaller=table.smaller(figure),
            )
    return judged


def summary(all_of_them: Iterable[Verdict]) -> str:
    """Many verdicts in a few words.

    >>> summary([verdict(0.9, target=0.8), verdict(0.7, target=0.8, baselines={"spectral": 0.75})])
    '1 of 2 targets reached; a baseline wins 1 of 2 figures'
    """
    listed = list(all_of_them)
    targets = [x.target >= 0 for x in listed if x.target is not None]
    papers = [x.published >= 0 for x in listed if x.published is not None]
    lost = [x for x in listed if x.winner]
    parts = [f"{sum(targets)} of {len(targets)} targets reached"] if targets else []
    parts += [f"at least the paper in {sum(papers)} of {len(papers)} figures"] if papers else []
    parts += [f"a baseline wins {len(lost)} of {len(listed)} figures"] if lost else []
    return "; ".join(parts) or "nothing to compare with"


def number(x: float) -> str:
    """A figure as tables show it: four digits after the point, more where it is small.

    >>> number(0.8364), number(12.3), number(0.00191)
    ('0.8364', '12.30', '0.00191')
    """
    if x == 0 or abs(x) >= 10:
        return f"{x:,.2f}" if abs(x) >= 10 else "0"
    return f"{x:.4f}" if abs(x) >= 0.01 else f"{x:.3g}"
