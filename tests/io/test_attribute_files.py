"""Attributes of nodes from files, dicts, tables, arrays and other libraries: what is recognised, what is refused."""

from __future__ import annotations

import gzip
import warnings
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import netfold as nf
from netfold.data.attribute_tables import attribute_table
from netfold.data.attributes import Attributes, Column
from netfold.errors import InputError
from netfold.io.attributes import read_attributes

WIDE = "paper,year,topic,words\na,1999,art,tea|rice\nb,,law,tea\nc,2001,art,\n"


@pytest.fixture
def edges(tmp_path: Path) -> Path:
    path = tmp_path / "edges.csv"
    path.write_text("source,target\na,b\nb,c\nc,d\n")
    return path


def written(folder: Path, text: str, name: str = "papers.csv") -> Path:
    path = folder / name
    path.write_text(text)
    return path


def attributes_of(graph: nf.Graph) -> Attributes:
    assert graph.attributes is not None
    return graph.attributes


# -------------------------------------------------------------------- files


def test_a_wide_table_beside_the_edges(edges: Path, tmp_path: Path) -> None:
    path = written(tmp_path, WIDE)
    with pytest.warns(UserWarning, match="attributes: of 1 node of 4 nothing is known"):
        graph = nf.read_edges(edges, attributes=path)
    found = attributes_of(graph)
    assert str(found) == "year: number, topic: category of 2, words: 2 words; 5 values missing"
    assert found.known.tolist() == [[1, 1, 1], [0, 1, 1], [1, 1, 0], [0, 0, 0]]
    assert found["words"].values.toarray().tolist() == [[1, 1], [0, 1], [0, 0], [0, 0]]
    assert found["words"].categories == ("rice", "tea")


def test_some_columns_alone(edges: Path, tmp_path: Path) -> None:
    path = written(tmp_path, WIDE)
    with pytest.warns(UserWarning, match="nothing is known"):
        graph = nf.read_edges(edges, attributes=f"{path}:topic,year")
    assert attributes_of(graph).names == ("topic", "year")
    with pytest.raises(InputError, match=r"papers.csv: no attribute is called 'yaer'; did you mean year"):
        nf.read_edges(edges, attributes=f"{path}:yaer")


@pytest.mark.parametrize("header", ["node,feature\n", "node,word\n", ""])
def test_a_long_table(edges: Path, tmp_path: Path, header: str) -> None:
    path = written(tmp_path, header + "a,118\na,125\nb,118\nc,7\nd,7\nd,7\n")
    found = attributes_of(nf.read_edges(edges, attributes=path))
    (column,) = found.columns
    assert column.name == (header.strip().partition(",")[2] or "feature") and column.kind == "words"
    assert column.categories == ("118", "125", "7")
    assert column.values.toarray().tolist() == [[1, 1, 0], [1, 0, 0], [0, 0, 1], [0, 0, 2]]


def test_a_long_table_has_a_bound(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("netfold.data.attribute_tables._FEATURES", 2)
    text = "node,feature\na,x\nb,y\na,y\n"
    assert str(read_attributes(written(tmp_path, text)).attributes) == "feature: 2 words"
    with pytest.raises(InputError, match=r"papers.csv: there are more than 2 features; leave out those that a single"):
        read_attributes(written(tmp_path, text + "c,z\n"))


def test_a_long_table_with_values_and_compressed(edges: Path, tmp_path: Path) -> None:
    path = tmp_path / "papers.csv.gz"
    path.write_bytes(gzip.compress(b"node,feature,value\na,x,0.5\nb,y,2\nc,x,0\nd,,\n"))
    found = attributes_of(nf.read_edges(edges, attributes=path))
    assert found["feature"].values.toarray().tolist() == [[0.5, 0], [0, 2], [0, 0], [0, 0]]
    assert found.known.all(), "d is named, and has none"
    bad = written(tmp_path, "node,feature,value\na,year,1999\na,city,Rome\n")
    with pytest.raises(InputError, match=r"the node 'a' has 'Rome' as value of 'city'.*wide table"):
        nf.read_edges(edges, attributes=bad)


def test_integers_and_texts_are_those_of_the_graph(tmp_path: Path) -> None:
    numbers = written(tmp_path, "1,2\n2,3\n", "numbers.csv")
    path = written(tmp_path, "id,year\n3,5\n1,4\n2,6\n")
    assert attributes_of(nf.read_edges(numbers, header=False, attributes=path))["year"].values.tolist() == [4, 6, 5]
    texts = written(tmp_path, "source,target\n1,2\n2,x\n", "texts.csv")
    with pytest.warns(UserWarning, match="1 node is in no edge, and kept as nodes without links; of 1 node of 3"):
        graph = nf.read_edges(texts, attributes=path)
    assert list(graph.nodes) == ["1", "2", "x", "3"] and graph.degrees.tolist() == [1, 2, 1, 0]


def test_unknown_nodes_are_nodes_without_links(edges: Path, tmp_path: Path) -> None:
    path = written(tmp_path, "node,year\na,1\nb,2\nc,3\nd,4\nnew,5\n")
    with pytest.warns(UserWarning, match="1 node is in no edge"):
        graph = nf.read_edges(edges, attributes=path)
    assert graph.n_nodes == 5 and graph.degrees[-1] == 0 and graph.n_edges == 3
    assert attributes_of(graph)["year"].values.tolist() == [1, 2, 3, 4, 5]
    strange = written(tmp_path, "node,year\nu1,1\nu2,2\n")
    with pytest.raises(InputError, match="no node that has attributes is in the graph: they look like 'u1'"):
        nf.read_edges(edges, attributes=strange)


def test_parquet_keeps_its_types(edges: Path, tmp_path: Path) -> None:
    path = tmp_path / "papers.parquet"
    table = pd.DataFrame(
        {"node": list("abcd"), "year": [1.5, None, 2, 3], "vec": [[1.0, 2.0], [3.0, 4.0], None, [0.0, 1.0]]}
    )
    table.to_parquet(path)
    found = attributes_of(nf.read_edges(edges, attributes=path))
    assert str(found) == "year: number, vec: vector of 2; 2 values missing"
    assert found["vec"].values[[0, 3]].tolist() == [[1, 2], [0, 1]]
    long = tmp_path / "long.parquet"
    pd.DataFrame({"node": list("aabcd"), "word": list("xyxzz")}).to_parquet(long)
    assert str(attributes_of(nf.read_edges(edges, attributes=long))) == "word: 3 words"


def test_names_say_kinds(edges: Path, tmp_path: Path) -> None:
    path = written(tmp_path, "node,group:category,year\na,1,1999\nb,2,2000\nc,1,2001\nd,,2002\n")
    found = attributes_of(nf.read_edges(edges, attributes=path))
    assert str(found) == "group: category of 2, year: number; 1 value missing"
    assert found["group"].categories == ("1", "2")


def test_numbered_columns_are_one_vector(tmp_path: Path) -> None:
    names = [f"emb_{i}" for i in range(8)]
    text = ",".join(["node", *names, "age"]) + "\n" + "".join(f"{x}" + ",1" * 9 + "\n" for x in "ab")
    found = read_attributes(written(tmp_path, text)).attributes
    assert str(found) == "emb: vector of 8, age: number"
    few = read_attributes(written(tmp_path, "node,x1,x2\na,1,2\nb,3,4\n")).attributes
    assert str(few) == "x1: number, x2: number"


def test_free_text_is_refused_with_advice(edges: Path, tmp_path: Path) -> None:
    rows = "".join(f"{x},a study of {i} things by hand\n" for i, x in enumerate("abcd"))
    with pytest.raises(
        InputError, match=r"title holds free text .*vector with a text model, call the column title:words"
    ):
        nf.read_edges(edges, attributes=written(tmp_path, "node,title\n" + rows))
    found = attributes_of(nf.read_edges(edges, attributes=written(tmp_path, "node,title:words\n" + rows)))
    assert found["title"].values.sum() == 28
    names = "".join(f"n{i},name{i}\n" for i in range(30))
    with pytest.raises(InputError, match="another text for 30 of 30 nodes"):
        read_attributes(written(tmp_path, "node,name\n" + names))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "the file is empty; it should hold a node and what is known of it on each line"),
        ("node,year\n", "there are no attributes"),
        ("a\nb\n", "there are no attributes"),
        ("node,year,x\na,1,2\nb,2\n", r"papers.csv, line 3: .* has 2 fields where line 1 has 3"),
        ("node,year,x,y\na,1,2,3\na,2,2,3\n", "the node 'a' has two rows"),
        ("node,x,x,y\na,1,2,3\n", "two columns are called 'x'"),
        ('node,x\na,"1\n', "line 2: a quote is opened"),
        ("node,year:number\na,1\nb,x\n", "the node 'b' has 'x' as year, which is no number"),
        ("node,v:vector\na,1 2\nb,1\n", "the node 'b' has 1 number, and others 2 in v"),
        ("node,year\na,1999\nb,inf\n", "the node 'b' has 'inf' as year; leave out what is not known"),
        ("node,year\na,1\n,2\n", "row 2, after 'a', names no node"),
        ("node,word\na,tea\n,tea\n", "the feature 'tea' has no node"),
        (
            "node,year\na,x\n" + "".join(f"n{i},{i}\n" for i in range(10)),
            "a number for 10 of 11 nodes, and 'x' for 'a'",
        ),
        ("node,year\nu,1\nv,2\n", "papers.csv: no node that has attributes is in the graph: they look like 'u'"),
    ],
)
def test_what_is_wrong_with_a_file_is_said(edges: Path, tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        nf.read_edges(edges, attributes=written(tmp_path, text))


def test_missing_numbers_are_missing(tmp_path: Path) -> None:
    found = read_attributes(written(tmp_path, "node,x,y\na,NA,na\nb,1,no\nc,nan,\n")).attributes
    assert found["x"].known.tolist() == [False, True, False]
    assert found["y"].categories == ("na", "no"), "of categories only the empty text is missing"


# -------------------------------------------------------------------- values of Python


def test_dicts() -> None:
    table = attribute_table(
        {
            1: {"age": 17, "old": False, "likes": ["tea", "art"], "at": [0.5, 1], "n": {"x": 2.5}, "ids": [118, 125]},
            2: {"age": None, "old": True, "likes": set(), "at": None, "n": {}, "ids": [118]},
        }
    )
    said = "age: number, old: category of 2, likes: 2 words, at: vector of 2, n: 1 words and 1 more; 2 values missing"
    assert table.nodes == [1, 2] and str(table.attributes) == said
    assert table.attributes["ids"].values.toarray().tolist() == [[1, 1], [1, 0]]
    assert table.attributes["n"].values.toarray().tolist() == [[2.5], [0]]
    for bad, words in (
        ({1: {"a": 1}, 2: {"a": "x"}}, r"the attribute a is an int here and a str there \(the node 2\)"),
        ({1: 7}, "the attributes of 1 are an int; give a dict"),
        ({1: {}}, "at least one column"),
        (7, "an int cannot be read as attributes"),
        ({1: {"a": object()}}, "the attribute a is an object for 1; a value is a number, a text"),
        ({None: {"a": 1}}, "row 1 names no node"),
    ):
        with pytest.raises(InputError, match=words):
            attribute_table(bad)
    assert attribute_table({1: {"a": 1}, 2: {"a": "x"}}, kinds={"a": "category"}).attributes["a"].categories == (
        "1",
        "x",
    )


def test_frames() -> None:
    graph = nf.Graph.from_edges([("a", "b"), ("b", "c")])
    frame = pd.DataFrame({"id": ["c", "a", "b"], "year": [3, 1, 2], "topic": ["x", None, "y"]})
    found = attributes_of(graph.with_attributes(frame))
    assert found["year"].values.tolist() == [1, 2, 3] and found["topic"].known.tolist() == [False, True, True]
    assert attributes_of(graph.with_attributes(frame.set_index("id"))) == found
    long = pd.DataFrame({"node": ["a", "a", "b", "c"], "word": [1, 2, 1, 3]})
    assert str(attributes_of(graph.with_attributes(long))) == "word: 3 words"


def test_arrays_are_in_the_order_of_the_nodes() -> None:
    graph = nf.Graph.from_edges([("a", "b"), ("b", "c")])
    dense = np.array([[1.0, -2, 3], [4, 5, 6], [np.nan] * 3])
    assert str(attributes_of(graph.with_attributes(dense))) == "x: vector of 3; 1 value missing"
    assert str(attributes_of(graph.with_attributes(np.eye(3, 40)))) == "x: 40 words"
    assert str(attributes_of(graph.with_attributes(np.eye(3, 40), kinds={"x": "vector"}))) == "x: vector of 40"
    assert str(attributes_of(graph.with_attributes(sparse.csr_array(np.eye(3))))) == "x: 3 words"
    assert str(attributes_of(graph.with_attributes(np.arange(3.0)))) == "x: number"
    with pytest.raises(InputError, match="attributes of 2 nodes do not fit a graph of 3"):
        graph.with_attributes(np.zeros((2, 2)))
    with pytest.raises(InputError, match="below 0 is a vector"):
        graph.with_attributes(sparse.csr_array(-np.eye(3)))
    assert (
        str(attributes_of(graph.with_attributes(sparse.csr_array(-np.eye(3)), kinds={"x": "vector"})))
        == "x: vector of 3"
    )
    with pytest.raises(InputError, match=r"as a vector it would be 3 x 100,000,000 numbers, above 134,217,728; leave"):
        graph.with_attributes(sparse.csr_array((3, 100_000_000)), kinds={"x": "vector"})


def test_few_rows_of_an_array_are_what_the_model_was_fitted_to() -> None:
    rng = np.random.default_rng(0)
    rare, common = (rng.random((12, 40)) < 0.06) * 1.0, np.maximum(rng.normal(size=(12, 40)), 0)
    ring = nf.Graph.from_edges([(i, (i + 1) % 12) for i in range(12)])
    for x, kind, other in ((rare, "words", common[:1]), (common, "vector", np.eye(1, 40))):
        known = attributes_of(ring.with_attributes(x))
        later = attribute_table(other).attributes
        assert known["x"].kind == kind != later["x"].kind
        turned = later["x"].as_kind(kind).values
        assert np.allclose(turned.toarray() if kind == "words" else turned, other)
    with pytest.raises(InputError, match="of the kind vector, and words is needed"):
        Column("x", "vector", [[-1.0, 2.0]]).as_kind("words")


def test_numbered_columns_that_are_nearly_empty_are_words_as_in_an_array(tmp_path: Path) -> None:
    x = np.eye(12, 40)
    text = ",".join(["node", *(f"w{i}" for i in range(40))]) + "\n"
    text += "".join(f"n{i}," + ",".join(str(int(v)) for v in row) + "\n" for i, row in enumerate(x))
    found = read_attributes(written(tmp_path, text)).attributes
    assert str(found) == "w: 40 words" and np.array_equal(found["w"].values.toarray(), x)


def test_from_edges_and_of_take_them() -> None:
    graph = nf.Graph.of([], attributes={"new": {"word": ["x"]}})
    assert list(graph.nodes) == ["new"] and graph.n_edges == 0 and attributes_of(graph).n_nodes == 1
    ring = nf.Graph.from_edges([(1, 2), (2, 3), (3, 1)], attributes={1: {"x": 1}, 2: {"x": 1}, 3: {"x": 2}})
    assert attributes_of(ring)["x"].values.tolist() == [1, 1, 2]
    assert attributes_of(nf.Graph.of(ring.adjacency, attributes=np.arange(3.0))).n_nodes == 3
    frame = pd.DataFrame({"source": ["a"], "target": ["b"], "when": ["2024-01-01"]})
    timed = nf.Graph.of(frame, attributes={"a": {"x": 1}, "b": {"x": 2}})
    assert timed.times is not None and attributes_of(timed)["x"].values.tolist() == [1, 2]
    assert ring.with_attributes(None).attributes is None


def test_networkx_gives_them_where_asked() -> None:
    import networkx as nx

    karate: Any = nx.karate_club_graph()
    assert nf.Graph.from_networkx(karate).attributes is None, "the classes are among them"
    assert str(nf.Graph.from_networkx(karate, attributes=True).attributes) == "club: category of 2"
    karate.nodes[3]["age"] = 7
    assert str(nf.Graph.from_networkx(karate, attributes=["age"]).attributes) == "age: number; 33 values missing"


def test_torch_geometric_gives_x_where_asked() -> None:
    import torch

    data = SimpleNamespace(edge_index=torch.tensor([[0, 1], [1, 0]]), num_nodes=2, x=torch.tensor([[0.5, -1], [2, 3]]))
    assert nf.Graph.from_pyg(data).attributes is None
    found = nf.Graph.from_pyg(data, attributes=True).attributes
    assert found is not None and found["x"].values.tolist() == [[0.5, -1], [2, 3]]
    with pytest.raises(InputError, match="no x"):
        nf.Graph.from_pyg(SimpleNamespace(edge_index=data.edge_index, num_nodes=2), attributes=True)


def test_what_is_whole_is_not_warned_of(edges: Path, tmp_path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        nf.read_edges(edges, attributes=written(tmp_path, "node,year\na,1\nb,2\nc,3\nd,4\n"))
