"""What is said of a figure beside its target, the paper and the baselines."""

from __future__ import annotations

from typing import Any

import pytest

from netfold.studies.reproduce import verdict, verdicts
from netfold.studies.reproduce.table import RecordedRow, SeedSpread, beside_auc, number, summary
from published_tables import TABLES


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


@pytest.mark.parametrize(
    "ours, given, error, said",
    [
        (0.90, {"published": 0.88}, 0.011, "level with the paper"),
        (0.90, {"published": 0.88}, 0.009, "above the paper"),
        (0.86, {"published": 0.88}, 0.011, "level with the paper"),
        (0.86, {"published": 0.88}, 0.009, "below the paper by 0.0200"),
        (0.90, {"smaller": True, "published": 0.88}, 0.011, "level with the paper"),
        (0.87, {"target": 0.88}, 0.006, "level with the target"),
        (0.87, {"target": 0.88}, 0.004, "misses the target by 0.0100"),
        (0.88, {"target": 0.87}, 0.100, "reaches the target"),
        (0.90, {"baselines": {"SVD": 0.92, "x": 0.1}}, 0.011, "a baseline is level: SVD"),
        (0.92, {"baselines": {"SVD": 0.90, "x": 0.1}}, 0.011, "a baseline is level: SVD"),
        (0.90, {"baselines": {"SVD": 0.92}}, 0.009, "a baseline wins: SVD"),
        (0.92, {"baselines": {"SVD": 0.90}}, 0.009, "no baseline wins"),
    ],
)  # fmt: skip
def test_two_standard_errors_decide(ours: float, given: dict[str, Any], error: float, said: str) -> None:
    assert str(verdict(ours, **given, spread=SeedSpread(error))) == said


def test_baselines_are_compared_seed_by_seed() -> None:
    """Ours is above by little and always, which the deviation of either hides."""
    ours, theirs = (0.70, 0.80, 0.90, 0.75, 0.85), (0.69, 0.785, 0.89, 0.745, 0.84)
    spread = SeedSpread(0.035, ours, {"SVD": theirs})
    differences = [a - b for a, b in zip(ours, theirs, strict=True)]
    mean = sum(differences) / 5
    expected = (sum((x - mean) ** 2 for x in differences) / 4) ** 0.5 / 5**0.5
    assert spread.of_difference("SVD") == pytest.approx(expected)
    assert str(verdict(0.8, baselines={"SVD": sum(theirs) / 5}, spread=spread)) == "no baseline wins"
    apart = SeedSpread(0.035, (), {"SVD": theirs})
    deviation = (sum((x - sum(theirs) / 5) ** 2 for x in theirs) / 4) ** 0.5
    assert apart.of_difference("SVD") == pytest.approx((0.035**2 + deviation**2 / 5) ** 0.5)
    assert str(verdict(0.8, baselines={"SVD": 0.79}, spread=apart)) == "a baseline is level: SVD"
    assert SeedSpread(0.035).of_difference("SVD") == 0.035


def test_a_level_figure_counts_as_reached() -> None:
    level = verdict(0.87, target=0.88, published=0.88, baselines={"SVD": 0.871}, spread=SeedSpread(0.02))
    assert summary([level]) == (
        "1 of 1 targets reached; at least the paper in 1 of 1 figures; a baseline is level in 1"
    )


def test_many_verdicts_in_a_few_words() -> None:
    given = [verdict(1, target=0.5, published=2), verdict(1, target=2, published=0.5), verdict(1, baselines={"x": 2})]
    assert summary(given) == (
        "1 of 2 targets reached; at least the paper in 1 of 2 figures; a baseline wins 1 of 3 figures"
    )
    assert summary([]) == "nothing to compare with"
    assert summary([verdict(2, baselines={"x": 1}), verdict(1)]) == "no baseline wins"


def test_numbers_keep_their_digits() -> None:
    assert [number(x) for x in (0, 1, 0.25, 0.001909, 12.345, 1234.5, -0.5)] == [
        "0", "1.0000", "0.2500", "0.00191", "12.35", "1,234.50", "-0.5000",
    ]  # fmt: skip


def test_a_decline_stands_beside_its_auc() -> None:
    row = RecordedRow(
        "", {"decline@5%": 0.02}, {}, {"Adamic-Adar": {"AUC": 0.7, "decline@5%": -0.01}, "x": {"AUC": 0.6}}
    )
    assert beside_auc(row, "Adamic-Adar", "decline@5%") == "Adamic-Adar, at AUC 0.7000"
    assert (
        beside_auc(row, "Adamic-Adar", "AUC")
        == "Adamic-Adar"
        == beside_auc(RecordedRow("", {}), "Adamic-Adar", "decline@5%")
    )


def test_what_knows_less_does_not_win_by_losing_less() -> None:
    """A decline of 0 at an AUC below ours is no win; at one above ours it is."""
    table = next(t for t in TABLES if t.name == "dvne-cora-noise")
    row, own = table.rows[0], {"decline@25%": 0.04, "AUC": 0.9}
    for auc, rival in ((0.89, ""), (0.9, "PageRank, at AUC 0.9000")):
        recorded = RecordedRow("", own, {}, {"PageRank": {"AUC": auc, "decline@25%": 0.0}})
        found = verdicts(table, row, recorded, 1)
        assert found["decline@25%"].rival == rival and (found["decline@25%"].winner is not None) == bool(rival)
        assert found["AUC"].rival == "PageRank"
