"""What an evaluation gives back: a table that says who is best, and what can be evaluated at all."""

from __future__ import annotations

import json
import math

import pytest

from netfold.data.embedding import Embedding
from netfold.errors import InputError
from netfold.evaluate import Result, reconstruction
from netfold.evaluate.result import judged, name_of, standing
from netfold.models import SDNE


def test_a_table_says_who_is_best() -> None:
    result = Result(
        "a task",
        "SDNE",
        {"AUC": 0.93, "error": 0.2, "pairs": 12345.0},
        {"score": "dot", "repeats": 1000, "honest": True, "share": 0.25, "k": [10, 2000]},
        {"cheap": {"AUC": 0.95, "error": 0.3}, "cheaper": {"AUC": float("nan"), "error": 0.2, "pairs": 7.0}},
        {"AUC": 0.0123},
        smaller_is_better=("error",),
    )
    assert repr(result).splitlines() == [
        "a task               AUC   error   pairs",
        "SDNE     0.9300 ± 0.0123  0.2000  12,345",
        "cheap             0.9500  0.3000       -",
        "cheaper                -  0.2000  7.0000",
        "best in AUC: cheap",
        "best in error, pairs: SDNE",
        "protocol: score dot; repeats 1,000; honest yes; share 0.25; k 10, 2,000",
    ]
    stored = json.loads(json.dumps(result.to_dict(), allow_nan=False))
    assert stored["best"] == {"AUC": "cheap", "error": "SDNE", "pairs": "SDNE"}
    assert stored["baselines"]["cheaper"] == {"AUC": None, "error": 0.2, "pairs": 7.0}
    assert stored["figures"] == result.figures and stored["protocol"]["k"] == [10, 2000]


def test_a_result_without_baselines_has_no_verdict() -> None:
    assert repr(Result("t", "x", {"a": float("nan")})) == "t  a\nx  -"
    assert repr(Result("t", "x", {"a": float("nan")}, deviations={"a": float("nan")})) == "t  a\nx  -"
    assert Result("t", "x", {"a": float("nan")}).best("a") == "x"


def test_what_is_no_embedding() -> None:
    with pytest.raises(InputError, match="a list was given to evaluate; give a fitted model or an Embedding"):
        reconstruction([[1, 2]], [("a", "b")])
    with pytest.raises(InputError, match="an SDNE was given to evaluate; give a fitted model"):
        reconstruction(SDNE(), [("a", "b")])
    assert name_of(Embedding("a", [[1]])) == "embedding"


def test_a_figure_that_is_0_for_all_has_no_winner() -> None:
    result = Result("links", "SDNE", {"AUC": 0.7, "p@10": 0.0}, {}, {"cheap": {"AUC": 0.6, "p@10": 0.0}})
    assert repr(result).splitlines()[-2:] == ["best in AUC: SDNE", "0 for all, without a winner: p@10"]
    nowhere = Result("t", "x", {"R²": math.nan, "F1": 0.5}, {}, {"y": {"R²": math.nan, "F1": 0.0}})
    assert repr(nowhere).splitlines()[-2:] == ["best in F1: x", "not defined for any: R²"]
    assert nowhere.to_dict()["best"] == {"R²": None, "F1": "x"}
    assert result.to_dict()["best"] == {"AUC": "SDNE", "p@10": None}
    errors = Result("links", "SDNE", {"MSE": 0.0}, {}, {"cheap": {"MSE": 0.0}}, smaller_is_better=("MSE",))
    assert repr(errors).splitlines()[-1] == "best in MSE: SDNE"


# -------------------------------------------------------------------- above, level, below


def test_two_standard_errors_of_the_paired_difference() -> None:
    ours, theirs = [0.80, 0.90, 0.70, 0.85, 0.75], [0.79, 0.88, 0.69, 0.83, 0.74]
    differences = [a - b for a, b in zip(ours, theirs, strict=True)]
    mean = sum(differences) / 5
    error = (sum((x - mean) ** 2 for x in differences) / 4) ** 0.5 / 5**0.5
    assert mean > 2 * error  # though each spreads far more than they differ
    assert standing(ours, theirs) == "above" and standing(theirs, ours) == "below"
    assert standing(ours, theirs, smaller=True) == "below"
    assert standing(ours, [*theirs[1:], theirs[0]]) == "level"
    assert standing(ours, ours) == "level" and standing([0.5], [0.4]) == ""
    assert standing([0.5, float("nan")], [0.4, 0.4]) == ""
    assert judged(2.1, 1.0) == "above" and judged(1.9, 1.0) == "level" and judged(-2.1, 1.0) == "below"


def test_a_table_of_repeats_says_who_is_level() -> None:
    near = [{"F1": 0.80}, {"F1": 0.82}, {"F1": 0.84}]
    rounds = {"SDNE": near, "cheap": [{"F1": 0.81}, {"F1": 0.80}, {"F1": 0.83}], "weak": [{"F1": 0.1}] * 3}
    result = Result.of_rounds("t", "SDNE", rounds, {"repeats": 3})
    assert result.level_with("F1") == ["cheap"] and result.to_dict()["level"] == {"F1": ["cheap"]}
    assert repr(result).splitlines()[-2] == "best in F1: SDNE (level with it: cheap)"
    assert result.deviations["F1"] == pytest.approx(0.02)
    once = Result.of_rounds("t", "SDNE", {name: listed[:1] for name, listed in rounds.items()}, {})
    assert not once.rounds and not once.deviations and once.level_with("F1") == []
