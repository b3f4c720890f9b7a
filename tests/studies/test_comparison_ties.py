"""A model that a cheap baseline equals has not won alone, and the table says so."""

from __future__ import annotations

import pytest

from netfold.studies.compare.table import Comparison, Entry


def verdict(*entries: Entry) -> str:
    return repr(Comparison("data", entries)).splitlines()[-1]


def entry(method: str, cheap: bool, **figures: float) -> Entry:
    return Entry("link_prediction", method, cheap, figures)


@pytest.mark.parametrize("cheap", [0.75, 0.74998])
def test_a_tie_as_printed_is_said(cheap: float) -> None:
    said = verdict(entry("SDNE", False, AUC=0.75, MAP=0.5), entry("spectral", True, AUC=cheap, MAP=0.4))
    assert said == "link prediction: SDNE is best in AUC and MAP; a cheap baseline is level with it in AUC"


def test_what_is_less_is_not_level() -> None:
    said = verdict(entry("SDNE", False, AUC=0.75), entry("spectral", True, AUC=0.7499))
    assert said == "link prediction: SDNE is best in AUC"


def test_two_models_that_are_level_are_no_cheap_win() -> None:
    assert "cheap" not in verdict(entry("SDNE", False, AUC=0.75), entry("DVNE", False, AUC=0.75))


def test_a_cheap_winner_wins() -> None:
    said = verdict(entry("SDNE", False, AUC=0.7), entry("spectral", True, AUC=0.75))
    assert said == "link prediction: spectral is best in AUC; a cheap baseline wins"


def test_how_pairs_are_scored_is_said_where_it_is_not_the_default() -> None:
    own = [
        Entry("link_prediction", name, figures={"AUC": 0.7}, score=x)
        for name, x in (("SDNE", "decoder"), ("LINE", "cosine"))
    ]
    said = "link prediction: pairs are scored of SDNE by decoder; LINE by cosine (as was chosen for each, or given)"
    assert said in repr(Comparison("data", tuple(own)))
    assert "scored" not in repr(Comparison("data", tuple(own[1:])))


def test_two_standard_errors_over_repeats_are_level() -> None:
    def of(method: str, cheap: bool, *values: float) -> Entry:
        return Entry(
            "classification", method, cheap, {"micro-F1@10%": sum(values) / 3}, rounds={"micro-F1@10%": values}
        )

    ours, near, far = of("SDNE", False, 0.8, 0.9, 0.7), of("SVD", True, 0.81, 0.85, 0.7), of("SVD", True, 0.7, 0.8, 0.6)
    assert verdict(ours, near).endswith(
        "SDNE is best in micro-F1@10%; a cheap baseline is level with it in micro-F1@10%"
    )
    assert verdict(ours, far).endswith("SDNE is best in micro-F1@10%")
    better = of("SVD", True, 0.85, 0.91, 0.69)
    said = "SVD is best in micro-F1@10%; a cheap baseline wins; SDNE is level with it in micro-F1@10%"
    assert verdict(ours, better).endswith(said)
