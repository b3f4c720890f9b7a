"""The page on when a deep model is worth it has the figures that are recorded, and the verdicts follow from them."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks" / "figures"))
import worth_it

sys.path.pop(0)


def test_the_table_is_that_of_the_recorded_tables() -> None:
    assert worth_it.page() == worth_it.PAGE.read_text(encoding="utf-8"), "run python benchmarks/figures/worth_it.py"
    assert worth_it.PAGE.read_text(encoding="utf-8").count("](results.md#") >= 20


@pytest.mark.parametrize(
    ("ours", "best", "sd", "seeds", "smaller", "word"),
    [
        (0.9, 0.8, 0.01, 4, False, "above"),
        (0.9, 0.8, 0.01, 4, True, "below"),
        (0.805, 0.8, 0.01, 4, False, "level"),
        (0.792, 0.8, 0.01, 4, False, "level"),
        (0.78, 0.8, 0.01, 4, False, "below"),
        (0.9, 0.8, None, 1, False, "one seed"),
    ],
)
def test_verdicts(ours: float, best: float, sd: float | None, seeds: int, smaller: bool, word: str) -> None:
    assert worth_it.verdict(ours, best, sd, seeds, smaller) == word
