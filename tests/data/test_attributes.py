"""What is known about nodes: values, missing ones, rows, storage, and the scaling that makes numbers of them."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse

import netfold as nf
from netfold.data.attributes import Attributes, Column
from netfold.data.edges import with_pairs, without_pairs
from netfold.data.nodes import Nodes
from netfold.data.scaling import Block, Scaling
from netfold.errors import InputError

NAN = float("nan")


def words(rows: list[list[str] | None], name: str = "word") -> Column:
    """A column of words; None is a row of which nothing is known."""
    names = sorted({x for row in rows if row is not None for x in row})
    matrix = np.zeros((len(rows), len(names)))
    for i, row in enumerate(rows):
        for x in row or []:
            matrix[i, names.index(x)] += 1
    return Column(name, "words", sparse.csr_array(matrix), tuple(names), np.array([row is None for row in rows]))


def mixed() -> Attributes:
    return Attributes(
        (
            Column("year", "number", [1999, 2001, NAN, 2010, 1990]),
            Column("topic", "category", [0, 1, 1, -1, 0], ("art", "law")),
            words([["a", "b", "b"], ["b"], [], None, ["c", "a"]]),
            Column("text", "vector", [[1, 2], [3, 4], [NAN, NAN], [0, 1], [-1, 0.5]]),
        )
    )


# -------------------------------------------------------------------- values


def test_what_is_known_is_told_column_by_column() -> None:
    known = mixed().known
    assert known.tolist() == [[1, 1, 1, 1], [1, 1, 1, 1], [0, 1, 1, 0], [1, 0, 0, 1], [1, 1, 1, 1]]
    assert mixed().n_entries == 4 + 4 + 5 + 8
    assert str(mixed()) == "year: number, topic: category of 2, word: 3 words, text: vector of 2; 4 values missing"


def test_rows_take_order_and_minus_one_is_nothing_known() -> None:
    taken = mixed().rows([4, -1, 0])
    assert taken.known.tolist() == [[1, 1, 1, 1], [0, 0, 0, 0], [1, 1, 1, 1]]
    assert taken["year"].values[[0, 2]].tolist() == [1990, 1999]
    assert taken["word"].values.toarray().tolist() == [[1, 0, 1], [0, 0, 0], [1, 2, 0]]
    empty = mixed().rows([])
    assert empty.n_nodes == 0 and empty.rows([-1, -1]).known.sum() == 0
    with pytest.raises(InputError, match="positions -1 to 4"):
        mixed().rows([5])


def test_alignment_by_names() -> None:
    nodes, to = Nodes.of(["a", "b", "c", "d", "e"]), Nodes.of(["e", "x", "a"])
    assert mixed().aligned(nodes, to) == mixed().rows([4, -1, 0])
    assert mixed().aligned(nodes, nodes) == mixed()


def test_equality_and_hash_are_by_content() -> None:
    assert mixed() == mixed() and hash(mixed()) == hash(mixed())
    other = Attributes((Column("year", "number", [1999, 2001, NAN, 2010, 1991]), *mixed().columns[1:]))
    assert mixed() != other and mixed() != "x"
    known = Attributes((words([[], ["a"]]),))
    assert known != Attributes((words([None, ["a"]]),)), "a row without words is not a missing one"


def test_arrays_are_read_only_and_apart_from_the_callers() -> None:
    years = np.array([1.0, 2.0], np.float32)
    column = Column("year", "number", years)
    years[0] = 7
    assert column.values.tolist() == [1, 2]
    with pytest.raises(ValueError):
        column.values[0] = 3
    with pytest.raises(ValueError):
        mixed()["word"].values.data[0] = 3


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: Column("", "number", [1]), "at least 1 character"),
        (lambda: Column("x", "text", [1]), "kind='text' is not one of number, category, words, vector"),
        (lambda: Column("x", "number", [1, math.inf]), "row 1 is not finite"),
        (lambda: Column("x", "number", [[1]]), "has 1 axes"),
        (lambda: Column("x", "number", ["a"]), "does not hold numbers"),
        (lambda: Column("x", "vector", [[1, NAN]]), "row 0 is missing in part"),
        (lambda: Column("x", "category", [0, 2], ("a", "b")), "outside of -1 to 1"),
        (lambda: Column("x", "category", [0.5], ("a",)), "one integer a node"),
        (lambda: Column("x", "category", [0], ("a", "b", "a")), "'a' twice"),
        (lambda: Column("x", "words", np.array([[-1.0]]), ("a",)), "at least 0"),
        (lambda: Column("x", "words", np.array([[1.0]]), ()), "0 names for 1 column"),
        (lambda: Column("x", "words", np.array([[1.0]]), ("a",), np.array([True])), "is said to be missing"),
        (lambda: Column("x", "number", [1], (), np.array([True])), "only words"),
        (lambda: Attributes(()), "at least one column"),
        (lambda: Attributes((Column("x", "number", [1]), Column("x", "number", [1]))), "two attributes are called 'x'"),
        (lambda: Attributes((Column("x", "number", [1]), Column("y", "number", [1, 2]))), "y has 2 rows and x 1"),
        (lambda: mixed()["yaer"], "did you mean year"),
    ],
)
def test_what_does_not_fit_is_refused(make: Any, said: str) -> None:
    with pytest.raises(InputError, match=said):
        make()


def test_kinds_that_few_rows_do_not_tell_are_turned() -> None:
    numbers = Column("group", "number", [3, NAN, 4.5])
    assert numbers.as_kind("category").values.tolist() == [0, -1, 1]
    assert numbers.as_kind("words").values.toarray().tolist() == [[1, 0], [0, 0], [0, 1]]
    assert numbers.as_kind("category").as_kind("number").values[[0, 2]].tolist() == [3, 4.5]
    assert numbers.as_kind("vector").known.tolist() == [True, False, True]
    with pytest.raises(InputError, match="topic is of the kind category, and number is needed"):
        mixed()["topic"].as_kind("number")


# -------------------------------------------------------------------- storage


def test_attributes_and_scaling_come_back_from_json_and_arrays() -> None:
    attributes = mixed()
    facts = json.loads(json.dumps(attributes.to_dict()))
    assert Attributes.from_dict(facts, attributes.arrays()) == attributes
    scaling = Scaling.fit(attributes)
    again = Scaling.from_dict(json.loads(json.dumps(scaling.to_dict())), scaling.arrays())
    before, after = scaling.block(attributes), again.block(attributes)
    assert np.array_equal(before.values.toarray(), after.values.toarray()) and before.slices == after.slices
    assert all(x.dtype in (np.float64, np.int64, np.uint8) for x in scaling.arrays().values())


@pytest.mark.parametrize("name", sorted(mixed().arrays()))
def test_a_damaged_array_is_refused(name: str) -> None:
    """Cut by one: nothing may be read beyond what is there."""
    arrays = dict(mixed().arrays())
    arrays[name] = arrays[name][:-1]
    with pytest.raises(InputError):
        Attributes.from_dict(mixed().to_dict(), arrays)


def test_damaged_facts_are_refused() -> None:
    arrays = mixed().arrays()
    for facts in ({}, {"n_nodes": 5}, {"n_nodes": 5, "columns": [["year"]]}, {"n_nodes": 4, **_columns()}, None):
        with pytest.raises(InputError):
            Attributes.from_dict(facts, arrays)
    outside = {**arrays, "2.indices": arrays["2.indices"] + 1}
    with pytest.raises(InputError, match="outside of its names"):
        Attributes.from_dict(mixed().to_dict(), outside)
    scaling = Scaling.fit(mixed())
    bad = scaling.to_dict()
    bad["columns"][0][5] = NAN
    with pytest.raises(InputError, match="year is damaged"):
        Scaling.from_dict(bad, scaling.arrays())
    with pytest.raises(InputError, match="damaged"):
        Scaling.from_dict(scaling.to_dict(), {})


def _columns() -> dict[str, Any]:
    return {"columns": mixed().to_dict()["columns"]}


# -------------------------------------------------------------------- scaling


def naive(attributes: Attributes, train: list[int]) -> np.ndarray:
    """Every number by a loop over entries in float64, in the order of the columns."""
    n, share, parts = attributes.n_nodes, 1 / len(attributes), []
    for column in attributes.columns:
        known = [i for i in train if column.known[i]]
        if column.kind == "number":
            values = [float(column.values[i]) for i in known]
            mean = sum(values) / len(values)
            deviation = math.sqrt(sum((x - mean) ** 2 for x in values) / len(values))
            block = np.array([[(float(x) - mean) / deviation if x == x else 0] for x in column.values])
        elif column.kind == "category":
            names = sorted({int(column.values[i]) for i in known})
            block = np.zeros((n, len(names)))
            for i in range(n):
                if column.values[i] in names:
                    block[i, names.index(column.values[i])] = 1
        elif column.kind == "words":
            counts = column.values.toarray().astype(float)
            block = np.zeros(counts.shape)
            for j in range(counts.shape[1]):
                having = sum(counts[i, j] > 0 for i in train)
                idf = math.log((1 + len(known)) / (1 + having)) + 1 if having else 0
                block[:, j] = counts[:, j] * idf
            for i in range(n):
                length = math.sqrt(sum(x * x for x in block[i]))
                block[i] /= length if length else 1
        else:
            block = np.nan_to_num(column.values.astype(float))
        squares = [sum(x * x for x in block[i]) for i in known]
        parts.append(block * math.sqrt(share / (sum(squares) / len(squares))))
    return np.hstack(parts)


@pytest.mark.parametrize("train", [[0, 1, 2, 3, 4], [0, 1, 4], [1, 2, 0]])
def test_scaling_is_that_of_a_naive_loop(train: list[int]) -> None:
    block = Scaling.fit(mixed(), train).block(mixed())
    assert sparse.issparse(block.values) and block.values.dtype == np.float32
    assert np.allclose(block.values.toarray(), naive(mixed(), train), atol=1e-6)


def test_each_column_has_the_same_mean_square_whatever_its_width() -> None:
    block = Scaling.fit(mixed()).block(mixed())
    dense = block.values.toarray().astype(float)
    for i, (start, stop) in enumerate(block.slices):
        squares = (dense[:, start:stop] ** 2).sum(axis=1)
        assert math.isclose(squares[block.known[:, i]].mean(), 1 / 4, rel_tol=1e-6)
        assert not squares[~block.known[:, i]].any(), "what is missing is 0 in the values"


def test_nothing_but_training_rows_is_looked_at() -> None:
    wild = Column("year", "number", [1999, 2001, NAN, 2010, 9e9])
    changed = Attributes((wild, *mixed().columns[1:]))
    same = [Scaling.fit(x, [0, 1, 2, 3]).block(x).values.toarray()[:4] for x in (mixed(), changed)]
    assert np.array_equal(*same)


def test_numbers_and_vectors_alone_are_dense() -> None:
    attributes = Attributes((mixed().columns[0], mixed().columns[3]))
    block = Scaling.fit(attributes).block(attributes)
    assert isinstance(block.values, np.ndarray) and block.values.shape == (5, 3) and block.width == 3
    assert np.allclose(block.values, naive(attributes, [0, 1, 2, 3, 4]), atol=1e-6)


def test_columns_are_known_by_name_in_any_order() -> None:
    scaling = Scaling.fit(mixed())
    turned = Attributes(mixed().columns[::-1])
    assert np.array_equal(scaling.block(turned).values.toarray(), scaling.block(mixed()).values.toarray())
    letters = mixed()["word"]
    other = Column("word", "words", letters.values[:, [2, 0, 1]], ("c", "a", "b"), letters.missing)
    again = Attributes((mixed().columns[0], mixed().columns[1], other, mixed().columns[3]))
    assert np.array_equal(scaling.block(again).values.toarray(), scaling.block(mixed()).values.toarray())


def test_a_constant_and_a_column_that_is_never_known() -> None:
    attributes = Attributes((Column("one", "number", [0.1, 0.1, NAN]), Column("no", "number", [NAN, NAN, 4])))
    block = Scaling.fit(attributes, [0, 1]).block(attributes)
    assert not block.values.any()
    assert block.known.tolist() == [[True, False], [True, False], [False, False]], "no unit for it: nothing is known"


def test_a_category_that_was_not_there_is_named_or_missing() -> None:
    scaling = Scaling.fit(mixed(), [0, 4])
    with pytest.raises(InputError, match="the node 'b' has 'law' as topic, which no node had .*'art'"):
        scaling.block(mixed(), nodes=list("abcde"))
    with pytest.raises(InputError, match="row 1 has 'law'"):
        scaling.block(mixed())
    assert scaling.block(mixed(), unseen="missing").known[:, 1].tolist() == [True, False, False, False, True]
    with pytest.raises(InputError, match="unseen"):
        scaling.block(mixed(), unseen="ignore")


def test_words_that_were_not_there_are_passed_over_and_said() -> None:
    scaling = Scaling.fit(Attributes((words([["a"], ["a", "b"]]),)))
    new = Attributes((words([["a", "z"], ["y"], [], None]),))
    with pytest.warns(UserWarning, match=r"2 words of word \('y', 'z'\) were not there"):
        block = scaling.block(new)
    assert block.known[:, 0].tolist() == [True, False, True, False], "a row of unknown words alone says nothing"
    assert np.allclose(block.values.toarray(), [[1, 0], [0, 0], [0, 0], [0, 0]])
    both = words([["a"], ["a", "b"], ["c"]])
    held = Scaling.fit(Attributes((both,)), [0, 1]).block(Attributes((both,)))
    assert held.known[:, 0].tolist() == [True, True, False], "the same, whether or not the table names the word"


def test_other_columns_are_refused_and_absent_ones_missing() -> None:
    scaling = Scaling.fit(mixed())
    with pytest.raises(InputError, match="'yaer' was not there when the model was fitted; did you mean year"):
        scaling.block(Attributes((Column("yaer", "number", [1]),)))
    block = scaling.block(Attributes((Column("year", "number", [1999]),)))
    assert block.known.tolist() == [[True, False, False, False]] and block.width == scaling.width
    with pytest.raises(InputError, match="have 3 numbers, and the model's have 2"):
        scaling.block(Attributes((Column("text", "vector", [[1, 2, 3]]),)))


def test_no_wide_array_is_made_of_words() -> None:
    """200,000 nodes and 50,000 words would be 37 GiB."""
    n, v = 200_000, 50_000
    matrix = sparse.random_array((n, v), density=1e-5, format="csr", rng=np.random.default_rng(0), dtype=np.float32)
    attributes = Attributes((Column("word", "words", matrix, tuple(map(str, range(v)))),))
    block = Scaling.fit(attributes).block(attributes)
    assert isinstance(block, Block) and block.values.nnz == matrix.nnz == attributes.n_entries


# -------------------------------------------------------------------- graphs carry them


def test_a_graph_carries_its_attributes_along() -> None:
    graph = nf.Graph.from_edges([("a", "b"), ("b", "c"), ("c", "d"), ("d", "e")])
    with_them = nf.Graph(graph.adjacency, graph.nodes, attributes=mixed())
    assert with_them.subgraph([4, 0]).attributes == mixed().rows([4, 0])
    pairs = np.array([[0, 1]])
    assert without_pairs(with_them, pairs).attributes == mixed()
    assert with_pairs(with_them, np.array([[0, 4]])).attributes == mixed()
    assert graph.fingerprint != with_them.fingerprint
    assert nf.evaluate.split_edges(with_them, 0.25).train.attributes == mixed()
    split = nf.evaluate.split_nodes(with_them, 2)
    assert split.known.attributes == mixed().rows(np.delete(np.arange(5), split.new))
    with pytest.raises(InputError, match="attributes of 5 nodes do not fit a graph of 2"):
        nf.Graph(sparse.csr_array((2, 2)), Nodes.of(["a", "b"]), attributes=mixed())
    with pytest.raises(InputError, match=r"attributes is a dict; say graph.with_attributes"):
        nf.Graph(graph.adjacency, graph.nodes, attributes={"a": 1})  # type: ignore[arg-type]


# -------------------------------------------------------------------- saved graphs


@pytest.mark.parametrize("parts", [1, 3])
def test_a_saved_graph_has_its_attributes(tmp_path: Path, parts: int) -> None:
    graph = nf.Graph.from_edges([("a", "b"), ("b", "c"), ("c", "d"), ("d", "e")])
    whole = nf.Graph(graph.adjacency, graph.nodes, attributes=mixed())
    whole.save(tmp_path / "g.parts", parts=parts)
    again = nf.Graph.load(tmp_path / "g.parts")
    assert again.attributes is not None
    assert again.attributes.aligned(again.nodes, whole.nodes) == mixed()
    assert parts > 1 or again.fingerprint == whole.fingerprint
    graph.save(tmp_path / "plain.parts", parts=parts)
    assert not (tmp_path / "plain.parts" / "attributes.safetensors").exists()


def test_a_changed_file_of_attributes_is_refused(tmp_path: Path) -> None:
    graph = nf.Graph.from_edges([("a", "b"), ("b", "c"), ("c", "d"), ("d", "e")])
    nf.Graph(graph.adjacency, graph.nodes, attributes=mixed()).save(tmp_path / "g.parts")
    path = tmp_path / "g.parts" / "attributes.safetensors"
    data = path.read_bytes()
    for changed in (data[:-1] + bytes([data[-1] ^ 1]), data[:-1], b""):
        path.write_bytes(changed)
        with pytest.raises(InputError, match="g.parts"):
            nf.Graph.load(tmp_path / "g.parts")
    path.unlink()
    with pytest.raises(InputError, match="g.parts"):
        nf.Graph.load(tmp_path / "g.parts")


def test_a_graph_in_parts_with_attributes_is_not_spread(tmp_path: Path) -> None:
    from netfold.embedder.parts import is_spread

    graph = nf.Graph.from_edges([("a", "b"), ("b", "c"), ("c", "d"), ("d", "e")])
    for name, own in (("plain", None), ("known", mixed())):
        nf.Graph(graph.adjacency, graph.nodes, attributes=own).save(tmp_path / f"{name}.parts", parts=2)
    model = nf.SDNE(dim=2)
    assert is_spread(model, tmp_path / "plain.parts") and not is_spread(model, tmp_path / "known.parts")


# -------------------------------------------------------------------- hypergraphs


def test_attributes_of_typed_nodes() -> None:
    types = {("user", 1): "user", ("user", 2): "user", ("film", 7): "film", ("film", 8): "film"}
    edges = [{"user": ("user", 1), "film": ("film", 7)}, {"user": ("user", 2), "film": ("film", 8)}]
    tuples = nf.Hypergraph.from_named(edges, node_types=types)
    known = tuples.with_attributes({"film": {8: {"year": 1999}, 7: {"year": 2000}}, "user": {1: {"age": 17}}})
    assert known.attributes is not None and known.attributes.names == ("film.year", "user.age")
    at = [list(known.nodes).index(x) for x in (("film", 7), ("film", 8), ("user", 1))]
    assert known.attributes["film.year"].values[at[:2]].tolist() == [2000, 1999]
    assert known.attributes.known.sum(axis=0).tolist() == [2, 1]
    assert known.fingerprint != tuples.fingerprint and tuples.attributes is None
    assert nf.evaluate.split_hyperedges(known, 0.5).train.attributes == known.attributes
    with pytest.warns(UserWarning, match="attributes of film: 1 node is in no edge, and passed over"):
        tuples.with_attributes({"film": {8: {"year": 1999}, 99: {"year": 2000}}})
    with pytest.raises(InputError, match="say which type the attributes in films.csv are of"):
        tuples.with_attributes("films.csv")
    for table, said in (
        (mixed(), "do not fit 4 nodes"),
        ({"flim": {7: {"year": 1}}}, "'flim' is neither a type nor a node; did you mean film"),
        ({"film": {70: {"year": 1}}}, "no node that has attributes is in the graph: they look like 70"),
        ({"film": np.zeros((3, 2))}, "attributes of film of 3 nodes do not fit 2 nodes"),
    ):
        with pytest.raises(InputError, match=said):
            tuples.with_attributes(table)
    assert known.with_attributes(None).attributes is None


# -------------------------------------------------------------------- colours


def test_colors_by_attribute() -> None:
    graph = nf.Graph.from_edges([("a", "b"), ("b", "c"), ("c", "d"), ("d", "e")])
    known = nf.Graph(graph.adjacency, graph.nodes, attributes=mixed())
    assert nf.plot.by_attribute(known, "topic") == {"a": "art", "b": "law", "c": "law", "e": "art"}
    years = nf.plot.by_attribute(known, "year")
    assert {node: str(x) for node, x in years.items()}["d"] == "year 2010" and "c" not in years
    with pytest.raises(InputError, match="word is of the kind words"):
        nf.plot.by_attribute(known, "word")
    with pytest.raises(InputError, match="has no attributes"):
        nf.plot.by_attribute(graph, "word")
