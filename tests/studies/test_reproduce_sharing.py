"""Which rows of a table belong together: those that share a fit; and whose baselines each row has."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from netfold.studies import reproduce
from netfold.studies.reproduce.measuring import fitted_to, rows_together, sources
from netfold.studies.reproduce.parsing import parse
from netfold.studies.reproduce.table import Row
from published_tables import DECODER, TABLES
from three_rows import three

NEW_NODES = """
title = "Blocks, new nodes"
paper = "DepthLGP"
source = "Table 9"
figures = ["micro-F1"]
data = { name = "sbm", sizes = [25, 25] }
task = { name = "out_of_sample", new = 20 }
bases.line = { model = "line", config = { dim = 8 } }
bases.SDNE = { model = "sdne", config = { dim = 4 } }
rows = [
    { name = "a", model = "LocalAvg", base = "line" },
    { name = "b", model = "transform", base = "SDNE" },
    { name = "c", model = "depthlgp", base = "line" },
    { name = "d", model = "sdne", config = { dim = 4 } },
    { name = "e", model = "sdne", config = { dim = 4 }, task = { new = 30 } },
]
"""


def names(found: list[tuple[Row, ...]]) -> list[list[str]]:
    return [[row.name for row in rows] for rows in found]


def test_rows_that_share_a_fit_stay_together(tiny: reproduce.Table) -> None:
    assert names(rows_together(three(tiny), quick=False)) == [["vectors", DECODER], ["alone"]]
    assert names(rows_together(three(tiny, epochs=4), quick=False)) == [["vectors", "alone", DECODER]]


def test_a_base_is_fitted_in_one_place_also_where_a_row_is_the_same_model() -> None:
    table = parse(Path("x.toml"), NEW_NODES)
    assert names(rows_together(table, quick=False)) == [["a", "c"], ["b", "d"], ["e"]]
    assert sources(table, quick=False) == {"a": "a", "b": "b", "c": "a", "d": "b", "e": "e"}


def test_rows_fitted_to_different_parts_of_the_data_are_apart(tiny: reproduce.Table) -> None:
    task = dataclasses.replace(tiny.task, name="link_prediction", arguments={"held_out": 0.2})
    rows = [
        dataclasses.replace(tiny.rows[0], name=str(i), task=given)
        for i, given in enumerate([{}, {"keep": "connected"}, {"held_out": 0.2, "score": "dot"}, {"held_out": 0.3}])
    ]
    found = rows_together(dataclasses.replace(tiny, task=task, rows=tuple(rows)), quick=False)
    assert names(found) == [["0", "2"], ["1"], ["3"]]


@pytest.mark.parametrize("table", [t for t in TABLES if not t.status], ids=lambda t: t.name)
def test_no_two_groups_of_a_shipped_table_fit_the_same(table: reproduce.Table) -> None:
    found = rows_together(table, quick=False)
    assert sorted(row.name for rows in found for row in rows) == sorted(row.name for row in table.rows)
    fits = []
    for rows in found:
        fitted = [table.bases[row.base] if row.base else row for row in rows]
        fits.append(
            [
                (x.model, x.config, fitted_to(table, {**table.task.arguments, **row.task}))
                for x, row in zip(fitted, rows)
            ]
        )
    assert all(fit not in other for i, fit in enumerate(x[0] for x in fits) for other in fits[i + 1 :])
    assert all(fit == of[0] for of in fits for fit in of)
    source = sources(table, quick=False)
    assert all(source[source[name]] == source[name] for name in source)


def test_baselines_of_another_width_are_measured_anew(tiny: reproduce.Table) -> None:
    assert sources(three(tiny), quick=False) == {"vectors": "vectors", "alone": "vectors", DECODER: DECODER}
    assert sources(three(tiny, dim=5), quick=False)["alone"] == "alone"
    quick = dataclasses.replace(tiny.quick, config={"dim": 3})
    assert sources(dataclasses.replace(three(tiny, dim=5), quick=quick), quick=True)["alone"] == "vectors"


def test_baselines_that_start_from_a_models_own_vectors_are_that_rows_own() -> None:
    """Certainty by degree is measured on the scores of the model itself: those of another would be others."""
    table = next(t for t in TABLES if t.name == "dvne-cora-certain")
    source = sources(table, quick=False)
    assert source["plain split, std by evidence"] == "plain split, std by evidence"
    assert source["plain split, by mean variance"] == "plain split, by mean variance"  # asks by another certainty
    plain = dataclasses.replace(table.rows[0], name="again")
    assert sources(dataclasses.replace(table, rows=(*table.rows, plain)), quick=False)["again"] == "plain split"
