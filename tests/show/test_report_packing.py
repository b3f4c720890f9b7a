"""What is packed into a report is what was given: arrays, texts, labels, vectors, columns."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from netfold.data.embedding import Embedding
from netfold.data.graph import Graph
from netfold.errors import InputError
from netfold.show.report.document import Blocks
from netfold.show.report.points import packed_vectors
from netfold.show.report.sheets import Classes, NodeNumbers, degrees_of, node_line, node_lines, sheet_columns
from report_pages import HOSTILE, KINDS, gaussians, hypergraph, in_page, points, rng
from zoo import scattered

# -------------------------------------------------------------------- blocks, words


@pytest.mark.parametrize("kind", KINDS)
def test_arrays_come_back_as_they_were(kind: str) -> None:
    blocks, many = Blocks(), np.iinfo(KINDS[kind]).max
    random = rng().integers(0, many, 1000).astype(KINDS[kind])
    plain = np.zeros(1000, KINDS[kind])
    for array in (random, plain, random.astype(random.dtype.newbyteorder(">"))):
        np.testing.assert_array_equal(in_page(blocks, blocks.add(array)), array)
    assert 'data-packed="gzip"' in list(blocks.html())[-1]
    assert len(list(blocks.html())) == 2  # the third is the first again


def test_texts_come_back_as_they_were() -> None:
    blocks = Blocks()
    for text in ("", "Zoë\n名前\n</script>", "a\n" * 5000):
        assert in_page(blocks, blocks.add_text(text)) == text


def test_labels_are_lines() -> None:
    labels: list[Any] = ["plain", "two\nlines", "tab\there", "", ("user", 7), (1, 2), 3, "x" * 500, "\u2028", HOSTILE]
    lines = node_lines(Embedding(labels, np.ones((10, 1))).nodes).split("\n")
    assert lines[:7] == ["plain", "two lines", "tab here", "", "user:7", "(1, 2)", "3"]
    assert lines[7] == "x" * 199 + "…" and lines[8] == " " and lines[9] == HOSTILE
    assert node_lines(Embedding([5, 6], np.ones((2, 1))).nodes) == "5\n6"
    assert node_line("\ud800") == " "


# -------------------------------------------------------------------- vectors, and the nearest by them


def naive_nearest(numbers: npt.NDArray[Any], facts: dict[str, Any], row: int) -> list[tuple[int, float]]:
    """What the page computes, by loops."""
    vectors = numbers.reshape(-1, facts["width"]).astype(float) * facts["unit"]
    scores = []
    for i in range(len(vectors)):
        dot = sum(a * b for a, b in zip(vectors[i], vectors[row], strict=True))
        distance = sum((a - b) ** 2 for a, b in zip(vectors[i], vectors[row], strict=True)) ** 0.5
        scores.append((-dot if facts["metric"] == "cosine" else distance, i))
    best = sorted(x for x in scores if x[1] != row)[:10]
    return [(i, -x if facts["metric"] == "cosine" else x) for x, i in best]


@pytest.mark.parametrize("embedding", [points(), gaussians()])
def test_the_page_finds_the_nearest_that_the_embedding_does(embedding: Embedding) -> None:
    blocks = Blocks()
    facts = packed_vectors(embedding, blocks)
    numbers = in_page(blocks, facts["numbers"])
    assert numbers.dtype == np.int16 and facts["width"] == facts["of"]
    assert facts["kept"] == pytest.approx(1)
    for row in range(0, 30, 3):
        expected = embedding.nearest(embedding.nodes[row])
        found = naive_nearest(numbers, facts, row)
        assert [embedding.nodes[i] for i, _ in found] == [label for label, _ in expected]
        assert [x for _, x in found] == pytest.approx([x for _, x in expected], abs=5e-4)


def test_vectors_that_are_too_many_are_shortened() -> None:
    vectors = rng().normal(size=(400, 20)) * np.r_[np.full(4, 5.0), np.full(16, 0.3)]
    embedding, blocks = Embedding(range(400), vectors), Blocks()
    small = packed_vectors(embedding, blocks, most=400 * 20)
    assert in_page(blocks, small["numbers"]).dtype == np.int8 and small["width"] == 20
    short = packed_vectors(embedding, blocks, most=400 * 4)
    numbers = in_page(blocks, short["numbers"])
    assert (short["width"], short["of"], len(numbers)) == (4, 20, 1600)
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    s = np.linalg.svd(unit, compute_uv=False)
    assert short["kept"] == pytest.approx(float((s[:4] ** 2).sum() / (s**2).sum()), rel=1e-5)
    for row in (0, 9):
        found, expected = naive_nearest(numbers, short, row), embedding.nearest(row)
        assert len({i for i, _ in found} & {i for i, _ in expected}) >= 4
    assert packed_vectors(Embedding("ab", [[0, 0], [0, 0]]), blocks)["unit"] > 0


# -------------------------------------------------------------------- columns


def test_classes_come_by_size_and_the_rest_last() -> None:
    embedding = Embedding("abcdef", np.ones((6, 1)))
    given = {"a": "small", "b": ("large", "other"), "c": ["large"], "d": {"large"}, "e": (), "unknown": "x"}
    column = Classes.of("group", embedding, given)
    assert column.names == ("large", "small") and column.codes.tolist() == [1, 0, 0, 0, 2, 2]
    blocks = Blocks()
    packed = column.packed(blocks)
    assert packed["counts"] == [3, 1, 2]
    assert in_page(blocks, packed["codes"]).tolist() == [1, 0, 0, 0, 2, 2]
    with pytest.raises(InputError, match="the classes 'group' are of no node that the model has; .* as a$"):
        Classes.of("group", embedding, {"z": 1})


def test_many_classes_have_16_bits() -> None:
    embedding, blocks = Embedding(range(700), np.ones((700, 1))), Blocks()
    packed = Classes.of("own", embedding, {i: i for i in range(700)}).packed(blocks)
    codes = in_page(blocks, packed["codes"])
    assert codes.dtype == np.uint16 and [packed["classes"][c] for c in codes] == [str(i) for i in range(700)]


@pytest.mark.parametrize("values", [[0.0, 1.5, 4.0], [1.0, 2.0, 3.0, 5000.0], [0.0, 0.0, 0.0, 7.0], [3.0, 3.0]])
def test_numbers_come_back_by_the_scale(values: list[float]) -> None:
    blocks = Blocks()
    packed = NodeNumbers("x", np.array(values)).packed(blocks)
    parts = in_page(blocks, packed["values"]) / 65535
    low, high, unit = packed["low"], packed["high"], packed["unit"]
    for part, value in zip(parts, values, strict=True):
        if unit is None:
            back = low + (high - low) * part
        else:
            first, last = np.log1p(low / unit), np.log1p(high / unit)
            back = unit * np.expm1(first + (last - first) * part)
        assert back == pytest.approx(value, rel=2e-3, abs=1e-4)


def test_what_a_model_can_be_coloured_by() -> None:
    graph = scattered()
    embedding = Embedding([*graph.nodes, "stranger"], rng().normal(size=(graph.n_nodes + 1, 3)))
    found = sheet_columns(embedding, embedding, graph, {"half": {x: i % 2 for i, x in enumerate(graph.nodes)}})
    assert [x.name for x in found] == ["half", "degree", "length of the vector"]
    degree = found[1]
    assert isinstance(degree, NodeNumbers)
    assert degree.values.tolist() == [*(float(len(graph.neighbors(x))) for x in graph.nodes), 0.0]
    one_way = Graph.from_edges([("a", "b"), ("b", "a"), ("c", "a")], directed=True)
    assert degrees_of(Embedding("abcd", np.eye(4)), one_way).tolist() == [2, 1, 1, 0]  # neighbors in either direction
    flat = Embedding("ab", [[0, 1], [1, 0]], [[1, 1], [2, 1]])
    names = [x.name for x in sheet_columns(flat, flat, None, {})]
    assert names == ["uncertainty"]  # vectors of one length are no column
    width = sheet_columns(flat, flat, None, {})[0]
    assert isinstance(width, NodeNumbers) and width.values.tolist() == flat.uncertainty(["a", "b"]).tolist()  # type: ignore[union-attr]


def test_types_are_a_column() -> None:
    known = hypergraph()
    embedding = Embedding(known.nodes, rng().normal(size=(known.n_nodes, 3)))
    column = sheet_columns(embedding, embedding, known, {})[0]
    assert isinstance(column, Classes) and column.name == "type"
    assert [column.names[c] for c in column.codes] == list(known.node_types)
