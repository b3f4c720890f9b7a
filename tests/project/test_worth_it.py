"""The page on when a deep model is worth it has the figures that are recorded, and the verdicts follow from them."""

from __future__ import annotations

import itertools
import sys
from pathlib import Path

import pytest

import netfold as nf

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks" / "figures"))
import proximity_pairs
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


def test_pairs_of_first_and_second_order_are_those_of_a_loop() -> None:
    graph = nf.Graph.from_edges([("a", "b"), ("b", "c"), ("c", "a"), ("c", "d"), ("e", "f"), ("g", "g")])
    near = {u: {v for v in graph.nodes if v != u and graph.adjacency[i, graph.nodes.positions([v])[0]]}
            for i, u in enumerate(graph.nodes)}  # fmt: skip
    every = list(itertools.combinations(graph.nodes, 2))
    linked = {(u, v) for u, v in every if v in near[u]}
    shared = {(u, v) for u, v in every if near[u] & near[v]}
    assert proximity_pairs.pairs(graph) == (len(linked), len(shared), len(linked & shared)) == (5, 5, 3)
