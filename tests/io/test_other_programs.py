"""What other programs read and write, beside `test_formats`: METIS, packed files, list columns, gensim, Gephi."""

from __future__ import annotations

import sys
import types
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from test_formats import WRITERS, example

import netfold as nf
from edge_files import parquet, write, zstd
from netfold.data.embedding import Embedding
from netfold.data.graph import Graph
from netfold.errors import InputError
from netfold.io.classes import read_classes
from netfold.io.edges import read_edges
from netfold.io.formats import format_of
from refusals import refused

nx = pytest.importorskip("networkx")


# -------------------------------------------------------------------- in


@pytest.mark.parametrize("name", [x for x in WRITERS if x != "networkx edge list"])
def test_what_zstd_packs_is_recognised_by_its_name(name: str, tmp_path: Path) -> None:
    file, writer = WRITERS[name]
    writer(example(False, True, False), str(tmp_path / file))
    path = write(tmp_path, zstd((tmp_path / file).read_bytes()), f"{file}.zst")
    assert format_of(path) == name and read_edges(path).fingerprint == read_edges(tmp_path / file).fingerprint


def test_a_table_that_zstd_packs_is_not_looked_into_for_formats(tmp_path: Path) -> None:
    assert format_of(write(tmp_path, zstd(b"graph [ node [ id 0 ] ]\n"), "e.csv.zst")) is None


@pytest.mark.parametrize("weights", [True, False])
@pytest.mark.parametrize("integers", [True, False])
def test_multiline_adjacency_lists(weights: bool, integers: bool, tmp_path: Path) -> None:
    graph = example(False, weights, integers)
    nx.write_multiline_adjlist(graph, str(tmp_path / "g.txt"))
    assert format_of(tmp_path / "g.txt") == "multiline adjacency list"
    found = read_edges(tmp_path / "g.txt").to_networkx()
    edges = {(frozenset((a, b)), w) for a, b, w in graph.edges(data="weight", default=1)}
    assert {(frozenset((a, b)), w) for a, b, w in found.edges(data="weight")} == edges


METIS = "% a comment\n4 3\n2 3\n1\n1 4\n3\n"


@pytest.mark.parametrize(
    ("text", "weights"),
    [
        (METIS, [1, 1, 1]),
        ("4 3 001\n2 5 3 7\n1 5\n1 7 4 2.5\n3 2.5\n", [5, 7, 2.5]),
        ("4 3 011 2\n9 9 2 5 3 7\n9 9 1 5\n9 9 1 7 4 2.5\n9 9 3 2.5\n", [5, 7, 2.5]),
        ("4 3 100\n8 2 3\n8 1\n8 1 4\n8 3\n\n", [1, 1, 1]),
    ],
)
def test_metis(text: str, weights: list[float], tmp_path: Path) -> None:
    graph = read_edges(write(tmp_path, text, "g.metis"))
    assert list(graph.nodes) == [1, 2, 3, 4] and not graph.directed and str(graph.reading) == "METIS, 3 edges"
    assert [graph.adjacency[a - 1, b - 1] for a, b in ((1, 2), (1, 3), (3, 4))] == weights


def test_a_node_without_neighbors_has_an_empty_line_in_metis(tmp_path: Path) -> None:
    graph = read_edges(write(tmp_path, "3 1\n2\n1\n\n", "g.graph"))
    assert graph.n_nodes == 3 and graph.n_edges == 1


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("a b\n1 2\n", "line 1 should say how many nodes and edges"),
        ("4 3\n2\n1\n", "line 1 promises 4 nodes, and 2 lines follow"),
        ("2 1\n2\n3\n", "node 2 does not list neighbors between 1 and 2"),
        ("3 2\n2\n1\n\n", "line 1 promises 2 edges.* there are 1"),
        ("2 1\n2\n\n", "each listed at both of its ends"),
        ("2 1 1\n2\n1\n", "node 1 does not list neighbors"),
        ("2 1\n2\nx\n", "the METIS data are damaged"),
    ],
)
def test_damaged_metis(text: str, why: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=why):
        read_edges(write(tmp_path, text, "g.metis"))


def test_classes_from_parquet(tmp_path: Path) -> None:
    path = parquet(tmp_path, user_id=["u1", "u2", "u3"], segment=["red", None, "blue"], age=[17, 71, 40])
    with pytest.warns(UserWarning, match="1 of 3 rows has a node without a class"):
        assert read_classes(path, column="segment") == {"u1": ("red",), "u3": ("blue",)}
    nodes = Graph.from_edges([("u1", "u3")]).nodes
    with pytest.warns(UserWarning, match="1 of 3 nodes is not in the graph"):
        assert read_classes(path, nodes, column="age") == {"u1": (17,), "u3": (40,)}
    assert "say which holds the classes" in refused(read_classes, path)
    assert "no column 'sex'" in refused(read_classes, path, column="sex")
    assert read_classes(parquet(tmp_path, node=[1, 2], label=["a", "b"])) == {1: ("a",), 2: ("b",)}
    assert "alone" in refused(read_classes, parquet(tmp_path, node=[1]))


# -------------------------------------------------------------------- out


@pytest.mark.parametrize("std", [True, False])
@pytest.mark.parametrize("names", [["a", "b", "c"], [5, 6, 7], [("user", 1), ("user", 2), ("item", 1)]])
def test_one_list_column(std: bool, names: list[Any], tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    embedding = Embedding(names, rng.normal(size=(3, 5)), rng.random((3, 5)) + 0.1 if std else None)
    embedding.save(tmp_path / "v.parquet", columns="list")
    again = Embedding.load(tmp_path / "v.parquet")
    assert again.nodes == embedding.nodes and again.vectors.tobytes() == embedding.vectors.tobytes()
    assert (again.std is None) is not std and (not std or again.std.tobytes() == embedding.std.tobytes())
    table = pytest.importorskip("pyarrow.parquet").read_table(tmp_path / "v.parquet")
    assert table.column_names == ["node", "vector", "std"][: 2 + std]
    np.testing.assert_array_equal(np.stack(table["vector"].to_numpy()), embedding.vectors)


def test_lists_that_are_no_vectors(tmp_path: Path) -> None:
    for lists in ([[1.0, 2.0], [1.0]], [[], []], [[1.0, 2.0], None]):
        path = parquet(tmp_path, node=["a", "b"], vector=lists)
        assert "not all as long, or of no length" in refused(Embedding.load, path)
    embedding = Embedding(["a"], [[1.0]])
    assert "columns='list' (--columns list) is for .parquet" in refused(
        embedding.save, tmp_path / "v.npz", columns="list"
    )
    assert "columns='long' is not one of wide, list" in refused(embedding.save, tmp_path / "v.parquet", columns="long")


def test_keyed_vectors() -> None:
    """gensim's own where it is there; its two calls in any case."""
    embedding = Embedding([("user", 1), ("item", 1)], [[1.0, 0.0], [0.0, 2.0]])

    class KeyedVectors:
        def __init__(self, size: int):
            self.size = size

        def add_vectors(self, keys: list[str], vectors: Any) -> None:
            self.keys, self.vectors = keys, vectors

    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "gensim", types.ModuleType("gensim"))
        module = types.ModuleType("gensim.models")
        module.KeyedVectors = KeyedVectors  # type: ignore[attr-defined]
        patch.setitem(sys.modules, "gensim.models", module)
        made = embedding.to_keyed_vectors()
        assert made.size == 2 and made.keys == ["user:1", "item:1"]
        np.testing.assert_array_equal(made.vectors, embedding.vectors)
        assert "two nodes are called '1' as text" in refused(Embedding([1, "1"], np.eye(2)).to_keyed_vectors)
        patch.setitem(sys.modules, "gensim.models", None)
        assert "needs gensim, which is missing" in refused(embedding.to_keyed_vectors)


def test_keyed_vectors_of_gensim() -> None:
    pytest.importorskip("gensim")
    made = Embedding(["a", "b", "c"], [[1.0, 0.0], [1.0, 0.1], [-1.0, 1.0]]).to_keyed_vectors()
    assert made.most_similar("a", topn=1)[0][0] == "b" and made["c"].tolist() == [-1.0, 1.0]


@pytest.mark.parametrize("directed", [True, False])
def test_a_map_for_gephi(directed: bool, tmp_path: Path) -> None:
    names = ["a", "b & <c>", "\x1b[2J"]
    graph = Graph.from_edges([(names[0], names[1], 2.5), (names[1], names[2], 1)], directed=directed)
    embedding = Embedding(names, np.random.default_rng(0).normal(size=(3, 4)))
    colors = {"a": "vowel", names[1]: "no vowel"}
    figure = nf.plot.map(embedding, tmp_path / "map.gexf", graph=graph, colors=colors)
    found = nx.read_gexf(tmp_path / "map.gexf")
    labels = {i: facts["label"] for i, facts in found.nodes(data=True)}
    assert sorted(labels.values()) == sorted(["a", "b & <c>", "\\x1b[2J"]) and found.is_directed() is directed
    assert sorted((labels[u], labels[v], w) for u, v, w in found.edges(data="weight")) == [
        ("a", "b & <c>", 2.5),
        ("b & <c>", "\\x1b[2J", 1.0),
    ]
    places = np.array([[facts["viz"]["position"][x] for x in "xy"] for _, facts in found.nodes(data=True)])
    drawn = np.asarray(figure.axes[0].collections[-1].get_offsets())
    np.testing.assert_allclose(places / np.abs(places).max(), drawn / np.abs(drawn).max(), atol=1e-5)
    tones = [tuple(facts["viz"]["color"][x] for x in "rgb") for _, facts in found.nodes(data=True)]
    assert len(set(tones)) == 3
