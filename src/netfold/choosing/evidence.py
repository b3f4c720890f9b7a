"""`Evidence`: a figure of our own tables, looked up when it is shown, so that it says what was last measured."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from netfold.models import MODELS
from netfold.reproduce import RecordedRow, Row, Table, folder_of_tables, table_named
from netfold.reproduce.verdicts import number, ranked_baselines

__all__ = ["Evidence"]


@dataclass(frozen=True)
class Evidence:
    """A figure of a row of a table in benchmarks/tables, which docs/results.md shows."""

    table: str
    figure: str
    row: str = ""
    """Empty: the first."""
    beside: str = ""
    """Another row to stand beside it, where the cheap methods are rows."""

    def __str__(self) -> str:
        """Ours beside the best cheap baseline, whoever wins.

        >>> str(Evidence("sdne-grqc-links", "AUC")).split()[-1]
        '(sdne-grqc-links)'
        """
        table, row = self.found()
        measured = self.measured()
        if row is None or measured is None:
            return f"not measured yet ({self.table})"
        cheap = self._rivals(table, measured)
        beside = f" beside {number(cheap[0][1])} by {cheap[0][0]}" if cheap else ""
        ours = f"{_name(row)}: {self.figure} {number(measured.mean[self.figure])}"
        return f"{ours}{beside} ({self.table})"

    def measured(self) -> RecordedRow | None:
        """What was recorded of the row with the settings that the table now has; None where the figure is not there."""
        table, row = self.found()
        recorded = table.found(row) if row is not None else None
        return recorded if recorded is not None and self.figure in recorded.mean else None

    def _rivals(self, table: Table, measured: RecordedRow) -> list[tuple[str, float]]:
        """The cheap methods with their figures, the best first; a table about new nodes has them as rows."""
        cheap = ranked_baselines(measured, self.figure, smaller=table.smaller(self.figure))
        found = Evidence(self.table, self.figure, self.beside).measured() if self.beside else None
        return cheap if found is None else [(self.beside, found.mean[self.figure]), *cheap]

    def found(self) -> tuple[Table, Row | None]:
        """The table and its row; None where it has no such row."""
        table = _table(self.table)
        return table, next((row for row in table.rows if self.row in ("", row.name)), None)


def _name(row: Row) -> str:
    model = MODELS[row.model].__name__ if row.model in MODELS else row.model
    return row.name if row.name.startswith(model) else f"{model}, {row.name}"


@cache
def _table(name: str) -> Table:
    return table_named(folder_of_tables(), name)
