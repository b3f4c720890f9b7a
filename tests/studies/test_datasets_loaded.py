"""Data sets as graphs, hypergraphs and labels: toys of every kind, and the real ones where they are."""

from __future__ import annotations

import hashlib
import itertools
import math
import os
from pathlib import Path

import pytest

import netfold as nf
from netfold import datasets
from netfold.studies.datasets.built_in import BUILT_IN
from refusals import refused

needs_data = pytest.mark.skipif(not os.environ.get("NETFOLD_DATA"), reason="NETFOLD_DATA is not set")


# -------------------------------------------------------------------- toys


def test_a_graph_has_its_direction_its_weights_and_its_isolated_nodes(toys: Path):
    toy = datasets.load("toy")
    assert not toy.directed and not toy.is_weighted  # a year is no weight
    assert list(toy.nodes) == [3, 5, 7, 9, 11] and toy.n_edges == 3
    assert toy.neighbors(3) == [7, 9] and toy.neighbors(9) == [3, 9] and toy.neighbors(5) == []
    arrows = datasets.load("arrows")
    assert arrows.directed and arrows.n_edges == 2
    assert not datasets.load("arrows", directed=False).directed
    assert datasets.load("heavy").adjacency[0, 1] == 2.5


def test_a_graph_with_years_can_be_had_as_it_was(toys: Path):
    then = datasets.load("toy", until=2015)
    assert list(then.nodes) == [3, 7] and then.neighbors(3) == [7] and not then.directed
    later = datasets.load("toy", until=2016)
    assert list(later.nodes) == [3, 7, 9] and later.n_edges == 3  # nodes without an edge have no year
    assert datasets.load("toy", until=2015, directed=True).directed
    assert "until=2014 leaves no edge of 'toy'; its first is of 2015" in refused(datasets.load, "toy", until=2014)
    assert "edges with years, and 'arrows' has source, target" in refused(datasets.load, "arrows", until=1)


def test_labels_are_tuples_by_the_labels_of_the_graph(toys: Path):
    assert datasets.classes("toy") == {3: (0, 1), 7: (1,), 9: (0,), 11: (1,), 5: (0,)}
    assert datasets.classes("triples") == {("film", 0): ("drama", "comedy"), ("film", 1): ("drama",)}
    assert datasets.classes("texts") == {5: ("x",), 6: ("y",), 7: ("y",), 8: ("x",)}
    assert datasets.classes("texts", part="test") == {4: ("x",)}
    message = refused(datasets.classes, "arrows")
    assert "'arrows'" in message and "toy, triples, texts" in message


def test_a_hypergraph_has_the_nodes_of_all_parts(toys: Path):
    parts = {part: datasets.load("triples", part=part) for part in ("train", "test", "test_negatives")}
    nodes = [("user", 0), ("user", 1), ("film", 0), ("film", 1), ("tag", 0), ("tag", 1)]
    assert all(list(part.nodes) == nodes for part in parts.values())
    assert parts["train"].node_types == ("user", "user", "film", "film", "tag", "tag")
    assert parts["train"].edges[:2] == ((("user", 0), ("film", 0), ("tag", 1)),) * 2
    assert parts["test"].edges == ((("user", 1), ("film", 0), ("tag", 0)),)
    assert parts["test_negatives"].edges == ((("user", 1), ("film", 1), ("tag", 1)),)
    assert datasets.load("triples").n_edges == 3
    message = refused(datasets.load, "triples", part="valid")
    assert "'valid'" in message and "train, test, test_negatives" in message


def naive_cosines(counts: dict[int, dict[int, int]]) -> dict[tuple[int, int], float]:
    """S of tf-idf rows of length 1, entry by entry."""
    n, idf = len(counts), {}
    for term in {t for words in counts.values() for t in words}:
        idf[term] = 1 + math.log((1 + n) / (1 + sum(term in words for words in counts.values())))
    rows = {d: {t: c * idf[t] for t, c in words.items()} for d, words in counts.items()}
    length = {d: math.sqrt(sum(x * x for x in row.values())) for d, row in rows.items()}
    return {
        (a, b): sum(x * rows[b].get(t, 0) for t, x in rows[a].items()) / length[a] / length[b]
        for a, b in itertools.permutations(rows, 2)
    }


def test_documents_are_linked_by_the_cosine_of_their_words(toys: Path):
    graph = datasets.load("texts")
    assert list(graph.nodes) == [5, 6, 7, 8] and graph.n_self_loops == 0
    expected = naive_cosines({5: {0: 2, 1: 1}, 6: {1: 3, 2: 1}, 7: {2: 2, 0: 1}, 8: {3: 1}})
    dense = graph.adjacency.toarray()
    for (a, b), s in expected.items():
        i, j = graph.positions([a, b])
        assert dense[i, j] == pytest.approx(s, rel=1e-6)
    assert graph.degrees.tolist() == [2, 2, 2, 0]
    assert datasets.load("texts", part="all").n_nodes == 5
    assert "train, test, all" in refused(datasets.load, "texts", part="some")


def test_an_unknown_option_is_refused(toys: Path):
    assert "no option 'part'; its options are directed" in refused(datasets.load, "toy", part="train")
    assert "no option 'sed'" in refused(datasets.classes, "texts", sed=1)


# -------------------------------------------------------------------- the real ones


@needs_data
@pytest.mark.slow
@pytest.mark.parametrize("name", [n for n in datasets.names() if n not in BUILT_IN])
def test_a_data_set_has_the_counts_of_the_catalogue(name: str):
    known, graph = datasets.describe(name), datasets.load(name)
    assert graph.n_nodes == known.nodes
    if known.kind == "hypergraph":
        assert graph.n_edges + datasets.load(name, part="test").n_edges == known.edges
    else:
        assert (graph.n_edges, graph.directed, graph.is_weighted) == (known.edges, known.directed, known.weighted)
    for file in known.files:
        assert tuple(datasets.table(name, file.name)) == file.columns
    if known.classes is not None:
        found = datasets.classes(name)
        assert len({c for classes in found.values() for c in classes}) == known.classes
        graph.nodes.positions(list(found))


@needs_data
def test_karate_and_barbell_are_the_graphs_in_their_files():
    for name in ("karate", "barbell"):
        known = datasets.describe(name)
        path = Path(os.environ["NETFOLD_DATA"], name, "edges.csv.gz")
        assert hashlib.sha256(path.read_bytes()).hexdigest() == known.file("edges").sha256
        assert nf.read_edges(path).fingerprint == datasets.load(name).fingerprint
    columns = datasets.table("karate", "labels")
    assert datasets.classes("karate") == {i: (c,) for i, c in zip(*(columns[k].tolist() for k in columns), strict=True)}


@needs_data
def test_dblp_of_2015_is_the_network_of_the_paper():
    edges = datasets.table("dblp_coauthor", "edges")
    before = edges["year"] == 2015
    assert before.sum() == 205_804 and max(edges["source"][before].max(), edges["target"][before].max()) == 59_276
