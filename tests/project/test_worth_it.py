"""The page on when a deep model is worth it has the figures that are recorded, and the verdicts follow from them."""

from __future__ import annotations

import itertools
import sys
from pathlib import Path

import netfold as nf
from netfold.studies.reproduce import verdicts
from published_tables import TABLES

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks" / "figures"))
import proximity_pairs
import worth_it

sys.path.pop(0)


def test_the_table_is_that_of_the_recorded_tables() -> None:
    assert worth_it.page() == worth_it.PAGE.read_text(encoding="utf-8"), "run python benchmarks/figures/worth_it.py"
    assert worth_it.PAGE.read_text(encoding="utf-8").count("](results.md#") >= 20


def test_its_words_are_the_verdicts_of_the_tables() -> None:
    lines = [
        x for x in worth_it.PAGE.read_text(encoding="utf-8").splitlines() if "](results.md#" in x and x.endswith(" |")
    ]
    assert {line.split("|")[-2].strip() for line in lines} == {"above", "level", "below"}
    table = next(t for t in TABLES if t.name == "dvne-cora-links")
    row = next(row for row in table.rows if row.name == "connectivity kept")
    recorded = table.recorded_for(row)
    assert recorded is not None
    word = verdicts(table, row, recorded)["AUC"].to_rival
    assert next(x for x in lines if "few edges a node" in x).endswith(f" {word} |")


def test_pairs_of_first_and_second_order_are_those_of_a_loop() -> None:
    graph = nf.Graph.from_edges([("a", "b"), ("b", "c"), ("c", "a"), ("c", "d"), ("e", "f"), ("g", "g")])
    near = {u: {v for v in graph.nodes if v != u and graph.adjacency[i, graph.nodes.positions([v])[0]]}
            for i, u in enumerate(graph.nodes)}  # fmt: skip
    every = list(itertools.combinations(graph.nodes, 2))
    linked = {(u, v) for u, v in every if v in near[u]}
    shared = {(u, v) for u, v in every if near[u] & near[v]}
    assert proximity_pairs.pairs(graph) == (len(linked), len(shared), len(linked & shared)) == (5, 5, 3)
