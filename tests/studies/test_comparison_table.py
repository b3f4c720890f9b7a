"""The table of a comparison: who is best, its text, and what pandas and JSON get of it."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest

from netfold.errors import InputError
from netfold.studies.compare import Comparison, Entry


def table(**more: Any) -> Comparison:
    entries = (
        Entry("clustering", "SDNE", figures={"NMI": 0.5, "ARI": 0.1}, seconds=2.0, bytes=3 << 20),
        Entry("clustering", "DRNE", why="no"),
        Entry("clustering", "spectral", True, {"NMI": 0.5, "ARI": math.nan}),
        Entry("centrality", "SDNE", figures={"closeness R²": 0.2, "cost": 3.0}, seconds=5.0, bytes=1 << 20),
        Entry("centrality", "degree features", True, {"closeness R²": 0.9, "cost": 4.0}),
    )
    return Comparison("a graph", entries, smaller_is_better={"centrality": ("cost",)}, **more)


def test_best() -> None:
    found = table()
    assert found.best("clustering", "NMI").method == "SDNE"  # a tie is no loss
    assert found.best("clustering", "ARI").method == "SDNE"  # what is not a number does not win
    assert found.best("centrality", "closeness R²").cheap
    assert found.best("centrality", "cost").method == "SDNE"
    with pytest.raises(InputError, match="known: NMI, ARI"):
        found.best("clustering", "AUC")


def test_the_text() -> None:
    assert repr(table()).splitlines() == [
        "a graph, seed 0",
        "                         clustering    centrality",
        "                                NMI  closeness R²  fit s  fit MiB",
        "SDNE                         0.5000        0.2000    5.0        3",
        "DRNE                              -",
        "spectral (cheap)             0.5000",
        "degree features (cheap)                    0.9000",
        "DRNE in clustering: no",
        "clustering: SDNE is best in NMI; a cheap baseline is level with it in NMI",
        "centrality: degree features is best in closeness R²; a cheap baseline wins",
    ]


def test_pandas_and_json() -> None:
    found = table()
    frame = found.to_pandas()
    assert frame.shape == (5, 11) and frame["NMI"].notna().sum() == 2
    facts = json.loads(json.dumps(found.to_dict()))
    assert facts["best"] == {"clustering": {"NMI": "SDNE"}, "centrality": {"closeness R²": "degree features"}}
    assert facts["entries"][2]["figures"]["ARI"] is None


def test_where_nobody_has_a_figure() -> None:
    found = Comparison("x", (Entry("calibration", "SDNE", why="it has no std"),))
    assert repr(found).endswith("SDNE in calibration: it has no std\ncalibration: nobody has a figure")
    assert found.to_dict()["best"] == {"calibration": {}}


def test_a_figure_that_is_0_for_all_has_no_winner() -> None:
    figures = {"AUC": 0.0, "MAP": 0.0}
    rows = (Entry("link_prediction", "SDNE", figures=figures), Entry("link_prediction", "cheap", True, figures))
    table = Comparison("Graph", rows)
    assert set(table.to_dict()["best"]["link_prediction"].values()) == {None}
    assert "best" not in repr(table).splitlines()[-1] and "0 for all" in repr(table).splitlines()[-1]
