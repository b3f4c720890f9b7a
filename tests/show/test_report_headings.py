"""The headings of a report's tables name the models that are in them, and no others."""

from __future__ import annotations

import numpy as np

from netfold.data.embedding import Embedding
from netfold.data.graph import Graph
from netfold.show.report import Sheet
from netfold.show.report.tables import tables_of
from zoo import karate, weighted


def embedding(graph: Graph, *, std: bool) -> Embedding:
    rng = np.random.default_rng(3)
    shape = (graph.n_nodes, 3)
    return Embedding(graph.nodes, rng.normal(size=shape), rng.uniform(0.1, 2, size=shape) if std else None)


def titles(*sheets: Sheet) -> list[str]:
    return [made["title"] for made in tables_of(sheets)]


def test_the_table_of_uncertainty_names_only_models_that_have_one() -> None:
    """Models of several graphs: each table says whose it is."""
    first, second = karate(), weighted()
    point = Sheet("points", embedding(first, std=False), first)
    wide = Sheet("gaussians", embedding(first, std=True), first)
    other = Sheet("others", embedding(second, std=False), second)
    assert titles(point, wide, other) == [
        "reconstruction · points, gaussians",
        "regular equivalence · points, gaussians",
        "uncertainty · gaussians",
        "reconstruction · others",
        "regular equivalence · others",
    ]
    [table] = [made for made in tables_of([point, wide, other]) if made["title"].startswith("uncertainty")]
    assert [row["name"] for row in table["rows"]] == ["gaussians"] and not table["notes"]


def test_models_of_one_graph_need_no_names_in_headings() -> None:
    graph = karate()
    both = [Sheet(name, embedding(graph, std=std), graph) for name, std in (("points", False), ("gaussians", True))]
    assert titles(*both) == ["reconstruction", "regular equivalence", "uncertainty"]
    assert titles(both[0]) == ["reconstruction", "regular equivalence"]


def test_a_table_by_labels_names_the_models_that_have_them() -> None:
    first, second = karate(), weighted()
    classes = {node: i % 2 for i, node in enumerate(first.nodes)}
    having = Sheet("having", embedding(first, std=False), first, {"club": classes})
    beside = Sheet("beside", embedding(first, std=False), first)
    other = Sheet("others", embedding(second, std=False), second)
    by_club = [title for title in titles(having, beside, other) if "club" in title]
    assert by_club == ["classification by club · having", "clustering by club · having"]
