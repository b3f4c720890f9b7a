"""What is said of a figure beside its target, the paper and the baselines."""

from __future__ import annotations

from typing import Any

import pytest

from netfold.studies.reproduce import verdict
from netfold.studies.reproduce.table import number, summary


@pytest.mark.parametrize(
    "ours, given, said",
    [
        (0.9, {"target": 0.88}, "reaches the target"),
        (0.88, {"target": 0.88}, "reaches the target"),
        (0.87, {"target": 0.88}, "misses the target by 0.0100"),
        (0.9, {"published": 0.836}, "above the paper"),
        (0.8, {"published": 0.836}, "below the paper by 0.0360"),
        (0.836, {"published": 0.836}, "equal to the paper"),
        (0.5, {"smaller": True, "target": 0.68}, "reaches the target"),
        (0.7, {"smaller": True, "published": 0.68}, "worse than the paper by 0.0200"),
        (0.7, {"smaller": True, "target": 0.68}, "misses the target by 0.0200"),
        (0.6, {"smaller": True, "published": 0.68}, "better than the paper"),
        (0.9, {"baselines": {"spectral": 0.91, "SVD": 0.95, "degree": 0.1}}, "a baseline wins: SVD"),
        (0.9, {"baselines": {"spectral": 0.9}}, "no baseline wins"),
        (0.9, {}, "nothing to compare with"),
        (0.9, {"smaller": True, "baselines": {"spectral": 0.91, "SVD": 0.2}}, "a baseline wins: SVD"),
        (0.1, {"smaller": True, "baselines": {"spectral": 0.91}}, "no baseline wins"),
        (0.9, {"target": 0.8, "published": 0.95, "baselines": {"SVD": 1.0}},
         "reaches the target; below the paper by 0.0500; a baseline wins: SVD"),
    ],
)  # fmt: skip
def test_a_verdict(ours: float, given: dict[str, Any], said: str) -> None:
    assert str(verdict(ours, **given)) == said


def test_many_verdicts_in_a_few_words() -> None:
    given = [verdict(1, target=0.5, published=2), verdict(1, target=2, published=0.5), verdict(1, baselines={"x": 2})]
    assert summary(given) == (
        "1 of 2 targets reached; at least the paper in 1 of 2 figures; a baseline wins 1 of 3 figures"
    )
    assert summary([]) == "nothing to compare with"


def test_numbers_keep_their_digits() -> None:
    assert [number(x) for x in (0, 1, 0.25, 0.001909, 12.345, 1234.5, -0.5)] == [
        "0", "1.0000", "0.2500", "0.00191", "12.35", "1,234.50", "-0.5000",
    ]  # fmt: skip
