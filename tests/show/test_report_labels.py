"""Classes in a report: a file may name nodes that a model does not have, and is then measured on those that it has."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from netfold.data.embedding import Embedding
from netfold.show.report import Sheet, write
from report_pages import facts_of


def embedding(n: int) -> Embedding:
    draw = np.random.default_rng(2)
    return Embedding(range(n), draw.normal(size=(n, 3)) + 4 * np.eye(3)[np.arange(n) % 2])


def test_classes_of_nodes_that_come_later_are_passed_over(tmp_path: Path) -> None:
    classes = {i: "ab"[i % 2] for i in range(40)}
    write([Sheet("known", embedding(30), None, {"circle": classes})], tmp_path / "r.html", method="pca")
    tables = {x["title"]: x for x in facts_of((tmp_path / "r.html").read_text())["tables"]}
    assert set(tables) == {"classification by circle", "clustering by circle"}
    for found in tables.values():
        assert found["notes"] == [] and found["rows"][0]["name"] == "known"
    assert tables["classification by circle"]["rows"][0]["values"][-1] > 0.9


def test_where_no_node_is_left_a_note_says_why(tmp_path: Path) -> None:
    one = {0: "a", 99: "b"}
    write([Sheet("known", embedding(30), None, {"circle": one})], tmp_path / "r.html", method="pca")
    (first, *_) = facts_of((tmp_path / "r.html").read_text())["tables"]
    assert first["rows"] == [] and "at least 2 nodes and 2 classes are needed" in first["notes"][0]
