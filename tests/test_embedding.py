"""Embedding: neighbors against loops in float64, every format there and back, and files that lie."""

from __future__ import annotations

import dataclasses
import errno
import io
import json
import math
import os
import struct
import sys
import tempfile
import tracemalloc
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from netfold import embedding as module
from netfold import files
from netfold.embedding import Embedding
from netfold.errors import InputError
from netfold.labels import Labels

FLOATS = st.floats(-(2.0**20), 2.0**20, width=32)
FORMATS = [".parquet", ".npz", ".npy", ".txt", ".w2v", ".bin"]
fast = settings(deadline=None, max_examples=25, suppress_health_check=[HealthCheck.too_slow])


def make(labels: Any, dim: int = 3, *, std: bool = False, seed: int = 0) -> Embedding:
    random = np.random.default_rng(seed)
    labels = Labels.of(labels)
    vectors = random.normal(size=(len(labels), dim))
    return Embedding(labels, vectors, random.uniform(0.1, 2, vectors.shape) if std else None)


@contextmanager
def peak_memory() -> Iterator[list[int]]:
    """The most bytes that Python and numpy held meanwhile, known afterwards."""
    peak: list[int] = []
    tracemalloc.start()
    try:
        yield peak
        peak.append(tracemalloc.get_traced_memory()[1])
    finally:
        tracemalloc.stop()


# -------------------------------------------------------------------- a frozen value keyed by label


def test_by_label() -> None:
    emb = Embedding(["a", "b", "c"], [[1, 2], [3, 4], [5, 6]])
    assert emb["b"].tolist() == [3, 4]
    assert emb[["c", "a"]].tolist() == [[5, 6], [1, 2]]
    assert emb[np.array(["c", "a"])].tolist() == [[5, 6], [1, 2]]
    assert emb[Labels.of(["c"])].tolist() == [[5, 6]]
    assert emb[[]].shape == (0, 2)
    assert ("b" in emb, "z" in emb, ["b"] in emb) == (True, False, False)
    assert (len(emb), emb.dim, list(emb)) == (3, 2, ["a", "b", "c"])
    tuples = Embedding([("a", 1), ("b", 2)], np.eye(2))
    assert tuples[("b", 2)].tolist() == [0, 1]
    numbers = Embedding([10, 20], np.eye(2))
    assert numbers[np.int64(20)].tolist() == [0, 1]


@pytest.mark.parametrize(
    "ask", [lambda e: e["anne"], lambda e: e[["ann", "anne"]], lambda e: e.nearest("anne"), lambda e: e.take(["anne"])]
)
def test_unknown_labels_suggest_known_ones(ask: Any) -> None:
    with pytest.raises(InputError, match="no node is labelled 'anne'; did you mean ann"):
        ask(make(["ann", "bob"]))


def test_repr() -> None:
    assert repr(make(range(77), 16)) == "Embedding(77 nodes, 16 dimensions)"
    assert repr(make(range(1200), 2, std=True)) == "Embedding(1,200 nodes, 2 dimensions, Gaussian)"


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16, np.int64])
@pytest.mark.parametrize("order", ["C", "F"])
def test_arrays_are_read_only_and_the_given_ones_stay(dtype: Any, order: Any) -> None:
    vectors, std = np.array([[1, 2], [3, 4]], dtype, order=order), np.array([[1, 1], [2, 2]], dtype, order=order)
    before = vectors.copy(), std.copy()
    emb = Embedding(["a", "b"], vectors, std)
    assert emb.std is not None
    for array in (emb.vectors, emb.std):
        assert array.dtype == np.float32 and array.flags.c_contiguous and not array.flags.writeable
    for array in (emb["a"], emb.coordinates):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 9
    assert vectors.flags.writeable and std.flags.writeable
    emb.nearest("a"), emb.nearest("a", metric="cosine"), emb.take(["b"]), emb.to_pandas()
    np.testing.assert_array_equal(vectors, before[0])
    np.testing.assert_array_equal(std, before[1])
    with pytest.raises(dataclasses.FrozenInstanceError):
        emb.std = None  # type: ignore[misc]


def test_a_float32_array_is_not_copied() -> None:
    vectors = np.ones((3, 2), np.float32)
    assert np.shares_memory(Embedding(range(3), vectors).vectors, vectors)


@pytest.mark.parametrize(
    ("vectors", "std", "why"),
    [
        ([1.0, 2.0], None, r"vectors has the shape \(2,\); a matrix"),
        (np.ones((2, 0)), None, "matrix"),
        (np.ones((2, 2, 2)), None, "matrix"),
        (np.ones((3, 2)), None, "vectors has 3 rows for 2 nodes"),
        ([[1, 2], [3]], None, "rows differ in length"),
        ([["x", "y"], ["z", "w"]], None, "vectors holds real numbers, not <U1"),
        (np.ones((2, 2), complex), None, "real numbers"),
        ([[1, 2], [3, math.nan]], None, "vectors of 'b' holds a number that is not finite"),
        ([[1, math.inf], [3, 4]], None, "vectors of 'a' holds"),
        ([[1, 2], [1e39, 4]], None, "vectors of 'b' holds a number that is not finite in float32"),
        (np.ones((2, 2)), np.ones((2, 3)), "std has 3 columns, vectors have 2"),
        (np.ones((2, 2)), np.ones((3, 2)), "std has 3 rows"),
        (np.ones((2, 2)), [[1, 1], [1, 0]], "standard deviation of 'b' is not above 0"),
        (np.ones((2, 2)), [[1, -1], [1, 1]], "standard deviation of 'a' is not above 0"),
        (np.ones((2, 2)), [[1, 1], [1e-60, 1]], "standard deviation of 'b' is not above 0"),
        (np.ones((2, 2)), [[1, 1], [math.nan, 1]], "std of 'b'"),
    ],
)
def test_refused(vectors: Any, std: Any, why: str) -> None:
    with pytest.raises(InputError, match=why):
        Embedding(["a", "b"], vectors, std)


def test_labels_must_differ() -> None:
    with pytest.raises(InputError, match="stands twice"):
        Embedding(["a", "a"], np.eye(2))


@pytest.mark.parametrize("std", [True, False])
def test_take(std: bool) -> None:
    emb = make("abcd", std=std)
    part = emb.take(["d", "b"])
    assert list(part.nodes) == ["d", "b"]
    np.testing.assert_array_equal(part.coordinates, emb.coordinates[[3, 1]])
    assert (part.std is None) == (not std)
    assert len(emb.take([])) == 0
    with pytest.raises(InputError, match="twice"):
        emb.take(["a", "a"])


def test_to_pandas() -> None:
    pytest.importorskip("pandas")
    emb = make([("x", 1), ("y", 2)], 2, std=True)
    table = emb.to_pandas()
    assert table.columns.tolist() == ["v0", "v1", "s0", "s1"]
    assert table.index.tolist() == [("x", 1), ("y", 2)] and table.index.nlevels == 1
    np.testing.assert_array_equal(table.to_numpy(), emb.coordinates)
    before = emb.coordinates.copy()
    table.iloc[0, 0] = 9
    np.testing.assert_array_equal(emb.coordinates, before)
    assert make("ab").to_pandas().columns.tolist() == ["v0", "v1", "v2"]


# -------------------------------------------------------------------- neighbors


def naive_score(metric: str, x: list[float], y: list[float]) -> float:
    dot = sum(a * b for a, b in zip(x, y, strict=True))
    if metric == "dot":
        return dot
    if metric == "euclidean":
        return math.sqrt(sum((a - b) ** 2 for a, b in zip(x, y, strict=True)))
    lengths = math.sqrt(sum(a * a for a in x)) * math.sqrt(sum(b * b for b in y))
    return dot / lengths if lengths else 0.0


def naive_nearest(
    rows: list[list[float]], query: list[float], k: int, metric: str, own: int = -1
) -> list[tuple[int, float]]:
    """The k best by a loop; scores are compared as float32, and Python's sort leaves equals in place."""
    sign = 1 if metric == "euclidean" else -1
    scored = [(i, float(np.float32(naive_score(metric, query, row)))) for i, row in enumerate(rows) if i != own]
    return sorted(scored, key=lambda pair: sign * pair[1])[:k]


def assert_same_neighbors(found: list[tuple[Any, float]], wanted: list[tuple[Any, float]], scale: float) -> None:
    """Equal but for the order of scores that rounding alone tells apart."""
    tolerance = 1e-6 * scale
    np.testing.assert_allclose([s for _, s in found], [s for _, s in wanted], rtol=1e-6, atol=tolerance)
    for (i, s), (j, t) in zip(found, wanted, strict=True):
        assert i == j or abs(s - t) <= tolerance + 1e-6 * abs(t)


MATRICES = st.integers(1, 4).flatmap(
    lambda dim: st.lists(
        st.lists(FLOATS | st.sampled_from([0.0, 1.0, -1.0]), min_size=dim, max_size=dim), min_size=1, max_size=12
    )
)


@settings(deadline=None, max_examples=150)
@given(MATRICES, st.integers(1, 15), st.sampled_from(["cosine", "euclidean", "dot"]), st.data())
def test_nearest_is_a_loop_over_all(rows: list[list[float]], k: int, metric: str, data: st.DataObject) -> None:
    emb = Embedding(range(len(rows)), rows)
    own = data.draw(st.integers(0, len(rows) - 1))
    scale = 1.0 if metric == "cosine" else max(abs(x) for row in rows for x in row) ** (2 if metric == "dot" else 1)
    assert_same_neighbors(emb.nearest(own, k, metric=metric), naive_nearest(rows, rows[own], k, metric, own), scale)
    assert_same_neighbors(emb.nearest(rows[own], k, metric=metric), naive_nearest(rows, rows[own], k, metric), scale)


@pytest.mark.parametrize("metric", ["cosine", "euclidean", "dot"])
@pytest.mark.parametrize("block", [1, 7, 64, 1 << 17])
@pytest.mark.parametrize("k", [1, 5, 999, 1000, 5000])
def test_blocks_do_not_show(metric: str, block: int, k: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_BLOCK", block)
    vectors = np.random.default_rng(1).integers(-2, 3, size=(1000, 4)).astype(float)  # full of ties
    emb = Embedding(range(1000), vectors)
    wanted = naive_nearest(vectors.tolist(), vectors[500].tolist(), k, metric, own=500)
    found = emb.nearest(500, k, metric=metric)
    assert len(found) == min(k, 999)
    assert [label for label, _ in found] == [label for label, _ in wanted]
    assert [score for _, score in found] == pytest.approx([score for _, score in wanted], rel=1e-6)


@pytest.mark.parametrize("metric", ["cosine", "euclidean", "dot"])
@pytest.mark.parametrize("dim", [1, 3, 17, 128])
def test_equal_vectors_come_in_order(metric: str, dim: int) -> None:
    row = np.random.default_rng(dim).normal(size=dim)
    emb = Embedding(range(333), np.tile(row, (333, 1)))
    found = emb.nearest(7, 20, metric=metric)
    assert [label for label, _ in found] == [i for i in range(21) if i != 7]
    assert len({score for _, score in found}) == 1


def test_extreme_vectors_are_told_apart() -> None:
    huge = Embedding("abcd", [[1e30, 0], [1e30, 1e29], [1e30, 1e30], [-1e30, 0]])
    tiny = Embedding("abcd", huge.vectors.astype(float) / 1e70 * 1e5)  # 1e-35
    for emb in (huge, tiny):
        for metric in ("cosine", "euclidean"):
            assert [x for x, _ in emb.nearest("a", metric=metric)] == ["b", "c", "d"]
        assert emb.nearest("a", 1, metric="cosine")[0][1] == pytest.approx(1 / math.hypot(1, 0.1))
    close = Embedding("abc", [[1e4, 1], [1e4, 1.001], [1e4, 1.002]])  # |x|² - 2xy + |y|² in float32 would say 0
    assert close.nearest("a", metric="euclidean") == [
        ("b", pytest.approx(1e-3, rel=1e-3)),
        ("c", pytest.approx(2e-3, rel=1e-3)),
    ]


def test_a_vector_of_zeros_has_no_direction() -> None:
    emb = Embedding("abc", [[0, 0], [1, 0], [-1, 0]])
    assert emb.nearest("a") == [("b", 0.0), ("c", 0.0)]
    assert emb.nearest("b") == [("a", 0.0), ("c", -1.0)]
    assert math.copysign(1, emb.nearest("a")[0][1]) == 1


def naive_wasserstein(m: Any, s: Any, n: Any, t: Any) -> float:
    """W2² = |m - n|² + tr(A + B - 2 (A^½ B A^½)^½) with A = diag(s²), B = diag(t²), by the general formula."""
    a, b = np.diag(np.square(s)), np.diag(np.square(t))
    root = np.diag(np.sqrt(np.diag(a)))
    middle = np.linalg.eigvalsh(root @ b @ root)
    return math.sqrt(np.sum((m - n) ** 2) + np.trace(a + b) - 2 * np.sum(np.sqrt(np.maximum(middle, 0))))


def test_euclidean_in_coordinates_is_the_wasserstein_distance() -> None:
    emb = make(range(12), 5, std=True)
    assert emb.std is not None
    assert emb.coordinates.shape == (12, 10)
    m, s = emb.vectors.astype(float), emb.std.astype(float)
    for i in range(12):
        found = dict(emb.nearest(i, 11))
        assert found == dict(emb.nearest(i, 11, metric="euclidean"))
        assert list(found.values()) == sorted(found.values())
        for j, distance in found.items():
            wanted = pytest.approx(naive_wasserstein(m[i], s[i], m[j], s[j]), rel=1e-6)
            assert distance == wanted
            assert np.linalg.norm(emb.coordinates[i].astype(float) - emb.coordinates[j]) == wanted
    assert emb.nearest(emb.coordinates[3], 1) == [(3, 0.0)]


def test_the_other_metrics_see_means_only() -> None:
    emb, points = make(range(9), 4, std=True), make(range(9), 4)
    for metric in ("cosine", "dot"):
        assert emb.nearest(2, metric=metric) == points.nearest(2, metric=metric)
        assert emb.nearest(emb.vectors[2], metric=metric) == points.nearest(points.vectors[2], metric=metric)
    assert points.nearest(2) == points.nearest(2, metric="cosine")
    assert points.coordinates is points.vectors


@pytest.mark.parametrize(
    ("query", "options", "why"),
    [
        ("a", {"k": 0}, "k=0 asks for no neighbor"),
        ("a", {"k": -3}, "k is at least 1"),
        ("a", {"k": 2.5}, "k=2.5 is not a whole number"),
        ("a", {"k": "5"}, "k='5' is not a whole number"),
        ("a", {"metric": "manhattan"}, "metric='manhattan' is not one of cosine, euclidean, dot"),
        ([1.0, 2.0], {}, r"the query has the shape \(2,\); give a label, or a vector: 3 numbers"),
        (np.ones((1, 3)), {}, "shape"),
        ([1.0, math.nan, 0.0], {}, "not finite"),
        (["a", "b", "c"], {}, "real numbers"),
        ([1, [2]], {}, "rows differ"),
        (("a", 1), {}, "no node is labelled"),
    ],
)
def test_questions_refused(query: Any, options: Any, why: str) -> None:
    with pytest.raises(InputError, match=why):
        make("abc").nearest(query, **options)


def test_a_query_needs_the_coordinates_of_gaussians() -> None:
    with pytest.raises(InputError, match=r"the coordinates \[mean, std\] of a node: 6 numbers"):
        make("abc", std=True).nearest([1.0, 2.0, 3.0])


def test_numbers_of_all_kinds_ask() -> None:
    emb = make([10, 20, 30])
    assert emb.nearest(np.int32(20), np.int64(2)) == emb.nearest(20, 2)
    assert emb.nearest(emb.vectors[1].astype(np.float16), 1)[0][0] == 20
    assert emb.nearest([1, 0, 0], 3) == emb.nearest(np.array([1.0, 0, 0]), 3)


def test_nobody_to_find() -> None:
    assert make("a").nearest("a") == []
    assert Embedding([], np.empty((0, 3))).nearest([1.0, 2.0, 3.0]) == []


@pytest.mark.parametrize("metric", ["cosine", "euclidean", "dot"])
def test_a_search_takes_little_memory(metric: str) -> None:
    emb = Embedding(range(200_000), np.ones((200_000, 64), np.float32))  # 49 MiB, and all of them tie
    emb.nearest(0, metric="cosine")  # the lengths of the vectors are kept
    with peak_memory() as peak:
        emb.nearest(5, 10, metric=metric)
    assert 1 << 10 < peak[0] < 8 << 20


# -------------------------------------------------------------------- files: there and back

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)
WORDS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=6).filter(lambda x: x.split() == [x])
INTS = st.integers(-(2**63), 2**63 - 1)
MIXED = st.one_of(
    TEXTS, INTS, st.floats(allow_nan=False, allow_infinity=False), st.none(), st.tuples(TEXTS, st.tuples(INTS))
)


def there_and_back(emb: Embedding, ending: str) -> Embedding:
    with tempfile.TemporaryDirectory() as folder:
        emb.save(Path(folder) / f"it's [1]*{ending}")
        return Embedding.load(Path(folder) / f"it's [1]*{ending}")


def assert_same(a: Embedding, b: Embedding, *, std: bool = True) -> None:
    assert (a.nodes.kind, list(a.nodes)) == (b.nodes.kind, list(b.nodes))
    assert [type(x) for x in a.nodes] == [type(x) for x in b.nodes]
    np.testing.assert_array_equal(a.vectors, b.vectors)
    assert not b.vectors.flags.writeable
    if std and a.std is not None:
        assert b.std is not None
        np.testing.assert_array_equal(a.std, b.std)
    else:
        assert b.std is None


@pytest.mark.parametrize("ending", FORMATS)
@fast
@given(st.lists(INTS, unique=True, max_size=8) | st.lists(WORDS, unique=True, max_size=8), st.integers(1, 4), st.data())
def test_integers_and_words(ending: str, labels: list[Any], dim: int, data: st.DataObject) -> None:
    if all(isinstance(x, str) and x.lstrip("-").isdigit() for x in labels):
        labels = [f"x{x}" for x in labels] if labels and isinstance(labels[0], str) else labels
    numbers = st.floats(width=32, allow_nan=False, allow_infinity=False)
    rows = data.draw(st.lists(numbers, min_size=len(labels) * dim, max_size=len(labels) * dim))
    emb = Embedding(labels, np.array(rows, np.float32).reshape(len(labels), dim))
    assert_same(emb, there_and_back(emb, ending))


@pytest.mark.parametrize("ending", [".parquet", ".npz"])
@pytest.mark.parametrize("std", [True, False])
@fast
@given(st.lists(MIXED, unique=True, max_size=8) | st.lists(TEXTS, unique=True, max_size=8))
def test_labels_of_all_kinds(ending: str, std: bool, labels: list[Any]) -> None:
    emb = make(labels, std=std)
    assert_same(emb, there_and_back(emb, ending))


@pytest.mark.parametrize("ending", FORMATS)
def test_many_dimensions_and_nodes(ending: str) -> None:
    emb = make([f"nœud-{i}" for i in range(3000)], 37)
    assert_same(emb, there_and_back(emb, ending))


@pytest.mark.parametrize("ending", FORMATS)
def test_std_is_kept_by_parquet_and_npz_only(ending: str) -> None:
    emb = make(range(5), 18, std=True)
    assert_same(emb, there_and_back(emb, ending), std=ending in (".parquet", ".npz"))


@pytest.mark.parametrize("ending", FORMATS)
def test_an_ending_in_capitals_and_no_nodes(ending: str) -> None:
    empty = Embedding([], np.empty((0, 3)))
    assert_same(empty, there_and_back(empty, ending.upper()))


@pytest.mark.parametrize("ending", [".npy", ".txt", ".w2v", ".bin"])
def test_labels_that_text_cannot_tell_apart(ending: str, tmp_path: Path) -> None:
    for odd in (("a", 1), 2.5, None, True):
        with pytest.raises(InputError, match=r"would become text .* use \.parquet or \.npz"):
            make(["x", odd]).save(tmp_path / f"e{ending}")
    spaced = ["line\nbreak", "", "line\u2028break"] + (
        [] if ending == ".npy" else ["two words", "tab\t", "no\u00a0break"]
    )
    for odd in spaced:
        with pytest.raises(InputError, match=r"the label '.*' is empty or has .* use \.parquet or \.npz"):
            make(["x", odd]).save(tmp_path / f"e{ending}")
    assert os.listdir(tmp_path) == []
    make(["7", "8"]).save(tmp_path / f"e{ending}")
    assert list(Embedding.load(tmp_path / f"e{ending}").nodes) == [7, 8]
    make(["7", "08"]).save(tmp_path / f"e{ending}", force=True)
    assert list(Embedding.load(tmp_path / f"e{ending}").nodes) == ["7", "08"]
    huge = [str(2**63), "1"]
    make(huge).save(tmp_path / f"e{ending}", force=True)
    assert list(Embedding.load(tmp_path / f"e{ending}").nodes) == huge


def test_npy_labels_may_hold_spaces(tmp_path: Path) -> None:
    emb = make(["two words", "é"])
    emb.save(tmp_path / "e.npy")
    assert_same(emb, Embedding.load(tmp_path / "e.npy"))
    assert sorted(os.listdir(tmp_path)) == ["e.labels.txt", "e.npy"]
    assert (tmp_path / "e.labels.txt").read_text(encoding="utf-8") == "two words\né\n"
    np.testing.assert_array_equal(np.load(tmp_path / "e.npy"), emb.vectors)


def test_npy_from_other_programs(tmp_path: Path) -> None:
    np.save(tmp_path / "e.npy", np.asfortranarray([[1.0, 2.0], [3.0, 4.0]]))
    (tmp_path / "e.labels.txt").write_bytes(b"a\r\nb")
    loaded = Embedding.load(tmp_path / "e.npy")
    assert list(loaded.nodes) == ["a", "b"]
    assert loaded.vectors.tolist() == [[1, 2], [3, 4]]


def test_word2vec_text_is_what_others_read(tmp_path: Path) -> None:
    emb = make(["a", "bé"], 2)
    emb.save(tmp_path / "e.txt")
    lines = (tmp_path / "e.txt").read_text(encoding="utf-8").split("\n")
    assert lines[0] == "2 2" and lines[-1] == "" and len(lines) == 4
    for label, line in zip(["a", "bé"], lines[1:3], strict=True):
        word, *numbers = line.rstrip().split(" ")
        assert word == label
        assert [np.float32(x) for x in numbers] == emb[label].tolist()


def test_word2vec_binary_is_what_others_read(tmp_path: Path) -> None:
    emb = make(["a", "bé"], 2)
    emb.save(tmp_path / "e.bin")
    with (tmp_path / "e.bin").open("rb") as file:
        assert file.readline() == b"2 2\n"
        for label in ("a", "bé"):
            word = b""
            while (ch := file.read(1)) != b" ":
                word += ch.replace(b"\n", b"")  # as word2vec and gensim do
            assert word.decode() == label
            assert list(struct.unpack("<2f", file.read(8))) == emb[label].tolist()
        assert file.read() == b"\n"


def test_word2vec_from_other_programs(tmp_path: Path) -> None:
    (tmp_path / "e.txt").write_bytes(b"2 3\r\nthe 0.5 -1e-3 2 \r\nof 1 2.25 3 \r\n")  # word2vec's trailing space
    loaded = Embedding.load(tmp_path / "e.txt")
    assert list(loaded.nodes) == ["the", "of"]
    assert loaded["of"].tolist() == [1, 2.25, 3]
    rows = b"the " + struct.pack("<2f", 1, 2) + b"of " + struct.pack("<2f", 3, 4)  # without line feeds
    (tmp_path / "e.bin").write_bytes(b"2 2\n" + rows)
    assert Embedding.load(tmp_path / "e.bin")[["of", "the"]].tolist() == [[3, 4], [1, 2]]


def test_parquet_is_what_others_read(tmp_path: Path) -> None:
    duckdb = pytest.importorskip("duckdb")
    labels: list[Any] = [1, "a", ("b", 2)]
    emb = make(labels, 2, std=True)
    emb.save(tmp_path / "e.parquet")
    rows = duckdb.sql(f"SELECT * FROM '{tmp_path / 'e.parquet'}'")
    assert rows.columns == ["node", "v0", "v1", "s0", "s1"]
    found = rows.fetchall()
    assert [json.loads(row[0]) for row in found] == [1, "a", ["b", 2]]
    np.testing.assert_array_equal(np.array([row[1:] for row in found], np.float32), emb.coordinates)
    make([7, 8], 2).save(tmp_path / "e.parquet", force=True)
    assert [row[0] for row in duckdb.sql(f"SELECT * FROM '{tmp_path / 'e.parquet'}'").fetchall()] == [7, 8]


def test_parquet_from_other_programs(tmp_path: Path) -> None:
    duckdb = pytest.importorskip("duckdb")
    folder = tmp_path / "node=5"  # which duckdb would otherwise read as a column
    folder.mkdir()
    target = folder / "e.parquet"
    duckdb.sql(f"COPY (SELECT 2.0 AS v1, 'x' AS note, 3::TINYINT AS node, 1 AS v0) TO '{target}'")
    loaded = Embedding.load(target)
    assert list(loaded.nodes) == [3] and loaded[3].tolist() == [1, 2]
    duckdb.sql(f"COPY (SELECT '[1]' AS node, 1.0 AS v0) TO '{target}'")
    assert list(Embedding.load(target).nodes) == ["[1]"]


def test_parquet_without_pandas_and_pyarrow(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("pandas", "pyarrow"):
        monkeypatch.setitem(sys.modules, name, None)
    for labels in (["a", "b"], [1, 2]):
        emb = make(labels, std=True)
        assert_same(emb, there_and_back(emb, ".parquet"))


def test_parquet_without_duckdb(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    make("ab").save(tmp_path / "e.parquet")
    monkeypatch.setitem(sys.modules, "duckdb", None)
    with pytest.raises(InputError, match=r"parquet needs duckdb \(pip install duckdb\)"):
        make("ab").save(tmp_path / "f.parquet")
    with pytest.raises(InputError, match="parquet needs duckdb"):
        Embedding.load(tmp_path / "e.parquet")
    assert os.listdir(tmp_path) == ["e.parquet"]


# -------------------------------------------------------------------- files: what goes wrong in writing


@pytest.mark.parametrize("name", ["e.csv", "e", "e.pkl", ".parquet"])
def test_unknown_endings(name: str, tmp_path: Path) -> None:
    for act in (make("ab").save, Embedding.load):
        with pytest.raises(InputError, match=r"names no format .*\.parquet, \.npz, \.npy, \.txt, \.w2v, \.bin"):
            act(tmp_path / name)  # type: ignore[operator]


@pytest.mark.parametrize("ending", FORMATS)
def test_existing_files_need_force(ending: str, tmp_path: Path) -> None:
    target = tmp_path / f"e{ending}"
    make("ab", seed=1).save(target)
    with pytest.raises(InputError, match="exists; give another name, or force"):
        make("ab", seed=2).save(target)
    assert_same(make("ab", seed=1), Embedding.load(target))
    make("cd", seed=2).save(target, force=True)
    assert_same(make("cd", seed=2), Embedding.load(target))


def test_npy_does_not_overwrite_a_text_beside_it(tmp_path: Path) -> None:
    (tmp_path / "e.labels.txt").write_text("mine")
    with pytest.raises(InputError, match=r"e\.labels\.txt exists"):
        make("ab").save(tmp_path / "e.npy")
    assert os.listdir(tmp_path) == ["e.labels.txt"] and (tmp_path / "e.labels.txt").read_text() == "mine"


@pytest.mark.parametrize("ending", FORMATS)
@pytest.mark.parametrize("call", ["fsync", "replace"])
def test_a_full_disk_leaves_what_was_there(
    ending: str, call: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tmp_path / f"e{ending}"
    make("ab", seed=1).save(target)
    before = sorted(os.listdir(tmp_path))

    def full(*_: Any, **__: Any) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(files.os, call, full)
        with pytest.raises(InputError, match="cannot be written: No space left on device"):
            make("cd", seed=2).save(target, force=True)
    assert sorted(os.listdir(tmp_path)) == before
    assert_same(make("ab", seed=1), Embedding.load(target))


def test_nowhere_to_write(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="missing is not a folder"):
        make("ab").save(tmp_path / "missing" / "e.npz")


# -------------------------------------------------------------------- files: what goes wrong in reading


def npy(array: npt.NDArray[Any], **options: Any) -> bytes:
    file = io.BytesIO()
    np.save(file, array, **options)
    return file.getvalue()


def npy_header(text: str) -> bytes:
    text = text.ljust(117) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text.encode()


def npz(compress: bool = False, **entries: Any) -> bytes:
    good = {"format": np.array(1), "vectors": np.ones((2, 2), np.float32), "int_ints": np.array([1, 2])} | entries
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED if compress else zipfile.ZIP_STORED) as archive:
        for name, content in good.items():
            if content is not None:
                archive.writestr(f"{name}.npy", content if isinstance(content, bytes) else npy(content))
    return file.getvalue()


def text_labels(*parts: bytes) -> dict[str, Any]:
    offsets = np.cumsum([0, *map(len, parts)])
    return {"int_ints": None, "text_offsets": offsets, "text_bytes": np.frombuffer(b"".join(parts), np.uint8)}


BOMB = npy_header("{'descr': '<f4', 'fortran_order': False, 'shape': (1000000000000, 128), }")
OBJECTS = npy(np.array([[{}, {}]], dtype=object), allow_pickle=True)
LIES: list[tuple[str, bytes, str]] = [
    (".txt", b"", "does not begin with the line"),
    (".txt", b"a 1 2\nb 3 4\n", "does not begin with the line"),
    (".txt", b"2\na 1\nb 2\n", "does not begin"),
    (".txt", b"9" * 1000 + b" 2\n", "does not begin"),
    (".txt", b"-1 2\na 1 2\n", "does not begin"),
    (".txt", b"999999999999 128\na 1 2\n", "too short"),
    (".txt", b"1 999999999999\na 1 2\n", "too short"),
    (".txt", b"1 0\na\n", "too short"),
    (".txt", b"2 2\na 1 2\n", r"2 rows of 2 numbers, and holds 1 of 2|too short"),
    (".txt", b"2 2\na 1.00 2.00\n", "2 rows of 2 numbers, and holds 1 of 2"),
    (".txt", b"1 2\na 1 2\nb 3 4\n", "declares 1 rows, and line 3 is one more"),
    (".txt", b"2 2\na 1 2\nb 3 4 5\n", "number of columns changed"),
    (".txt", b"1 2\na 1 2 3\n", "holds 1 of 3"),
    (".txt", b"2 2\na 1 2\n\nb 3 4\n", "line 3 is not a label and its numbers"),
    (".txt", b"1 2\na one two\n", "one"),
    (".txt", b"1 2\na nan 1\n", "vectors of 'a' holds a number that is not finite"),
    (".txt", b"1 2\na 1e99 1\n", "not finite"),
    (".txt", b"2 1\na 1\na 2\n", "the label 'a' stands twice"),
    (".txt", b"1 2\n\xff\xfe 1 2\n", "utf-8"),
    (".txt", b"0 2\na 1 2\n", "one more"),
    (".bin", b"", "does not begin"),
    (".bin", b"2 2\na 12345678\n", "too short"),
    (".bin", b"999999999999 2\na 12345678\n", "too short"),
    (".bin", b"1 999999999\na 12345678\n", "too short"),
    (".bin", b"2 1\na\x001234567890123456", "ends in row 0 of 2"),
    (".bin", b"2 1\na 1234\nbbbbbbb", "ends in row 1 of 2"),
    (".bin", b"1 1\na 1234\nb 1234\n", "goes on after"),
    (".bin", b"2 1\na 1234\na 1234\n", "stands twice"),
    (".bin", b"1 1\na " + struct.pack("<f", math.nan) + b"\n", "not finite"),
    (".bin", b"1 1\n\xff 1234\n", "utf-8"),
    (".npy", b"", "."),
    (".npy", b"\x80\x04K\x01.", "magic"),
    (".npy", OBJECTS, "does not fit"),
    (".npy", BOMB, "does not fit its"),
    (".npy", npy_header("{'descr': '<f4', 'fortran_order': False, 'shape': (-1, -1), }") + b"1234", "does not fit"),
    (".npy", npy_header("{'descr': '<f4', 'fortran_order': False, 'shape': (1" + "0" * 60 + ", 2), }"), "does not fit"),
    (".npy", npy_header("(" * 100), "."),
    (".npy", npy(np.ones((2, 2), np.float32))[:-1], "does not fit"),
    (".npy", npy(np.ones((2, 2), np.float32)) + b"x", "does not fit"),
    (".npy", npy(np.ones((3, 2))), "vectors has 3 rows for 2 nodes"),
    (".npy", npy(np.ones(2)), "a matrix"),
    (".npy", npy(np.array([[1, math.nan], [1, 1]])), "vectors of 'a' holds"),
    (".npy", npy(np.ones((2, 2), complex)), "does not fit"),
    (".npy", npz(), "magic"),
    (".npz", b"", "zip"),
    (".npz", npy(np.ones((2, 2))), "zip"),
    (".npz", npz()[:-30], "zip"),
    (".npz", npz(compress=True), "is compressed"),
    (".npz", npz(compress=True, vectors=np.zeros((10_000, 1000), np.float32)), "is compressed"),
    (".npz", npz(vectors=OBJECTS), "does not fit"),
    (".npz", npz(vectors=BOMB), "does not fit"),
    (".npz", npz(vectors=b"\x80\x04K\x01."), "magic"),
    (".npz", npz(vectors=None), "not an npz file that netfold wrote"),
    (".npz", npz(format=None), "not an npz file that netfold wrote"),
    (".npz", npz(format=np.array(2)), "has format 2; this netfold reads format 1"),
    (".npz", npz(format=np.array([], np.int64)), "."),
    (".npz", npz(int_ints=None), "holds no labels"),
    (".npz", npz(int_ints=np.array([1, 1])), "the label 1 stands twice"),
    (".npz", npz(int_ints=np.array([1.0, 2.0])), "damaged"),
    (".npz", npz(int_ints=np.array([[1], [2]])), "damaged|rows"),
    (".npz", npz(int_ints=np.array([1, 2, 3])), "vectors has 2 rows for 3 nodes"),
    (".npz", npz(std=np.zeros((2, 2), np.float32)), "standard deviation of 1"),
    (".npz", npz(std=np.ones((2, 1), np.float32)), "std has 1 columns"),
    (".npz", npz(vectors=np.full((2, 2), np.inf)), "not finite"),
    (".npz", npz(**text_labels(b"a", b"a")), "the label 'a' stands twice"),
    (".npz", npz(**text_labels(b"\xc3", b"\xa9")), "not UTF-8"),
    (".npz", npz(**(text_labels(b"a", b"b") | {"text_offsets": np.array([0, 2, 1])})), "damaged"),
    (".npz", npz(**(text_labels(b"a", b"b") | {"text_offsets": np.array([0, 2**40, 2])})), "damaged"),
    (".parquet", b"", "."),
    (".parquet", b"PAR1", "."),
    (".parquet", b"PAR1" + b"\0" * 100 + b"PAR1", "."),
    (".parquet", npz(), "."),
]


@pytest.mark.parametrize(("ending", "content", "why"), LIES, ids=[f"{i}{x[0]}" for i, x in enumerate(LIES)])
def test_files_that_lie(ending: str, content: bytes, why: str, tmp_path: Path) -> None:
    target = tmp_path / f"lie{ending}"
    target.write_bytes(content)
    (tmp_path / "lie.labels.txt").write_text("a\nb\n")
    with peak_memory() as peak, pytest.raises(InputError, match=rf"lie\{ending} cannot be read as .*: .*({why})"):
        Embedding.load(target)
    assert peak[0] < 4 << 20


PARQUET_LIES = [
    ("SELECT 1 AS v0", "columns are not node, v0"),
    ("SELECT 'a' AS node", "columns are not node, v0"),
    ("SELECT 'a' AS node, 1.0 AS v0, 2.0 AS v2", "columns are not node, v0"),
    ("SELECT 'a' AS node, 1.0 AS v0, 1.0 AS v1, 2.0 AS s0", "as many s0"),
    ("SELECT 'a' AS node, 'x' AS v0", "x"),
    ("SELECT 'a' AS node, [1.0] AS v0", "."),
    ("SELECT 'a' AS node, NULL::FLOAT AS v0", "the column v0 has no value in row 0"),
    ("SELECT NULL::VARCHAR AS node, 1.0 AS v0", "the column node has no value in row 0"),
    ("SELECT NULL::INTEGER AS node, 1.0 AS v0", "the column node has no value in row 0"),
    ("SELECT 'a' AS node, 'nan'::FLOAT AS v0", "not finite"),
    ("SELECT 1.5::DOUBLE AS node, 1.0 AS v0", "the column node holds DOUBLE"),
    ("SELECT DATE '2020-01-01' AS node, 1.0 AS v0", "the column node holds"),
    ("SELECT unnest(['a', 'a']) AS node, 1.0 AS v0", "stands twice"),
    ("SELECT 'a' AS node, 1.0 AS v0, 0.0 AS s0", "standard deviation of 'a'"),
]


@pytest.mark.parametrize(("query", "why"), PARQUET_LIES)
def test_parquet_that_is_no_embedding(query: str, why: str, tmp_path: Path) -> None:
    duckdb = pytest.importorskip("duckdb")
    duckdb.sql(f"COPY ({query}) TO '{tmp_path / 'lie.parquet'}'")
    with pytest.raises(InputError, match=rf"lie\.parquet cannot be read as an embedding: .*{why}"):
        Embedding.load(tmp_path / "lie.parquet")


def test_parquet_with_json_that_is_none(tmp_path: Path) -> None:
    duckdb = pytest.importorskip("duckdb")
    for text in ("[1", '{"a": 1}', "NaN"):
        query = f"COPY (SELECT '{text}' AS node, 1.0 AS v0) TO '{tmp_path / 'lie.parquet'}'"
        duckdb.sql(f"{query} (FORMAT parquet, KV_METADATA {{netfold_labels: 'json'}})")
        with pytest.raises(InputError, match=r"lie\.parquet cannot be read as an embedding: .*damaged"):
            Embedding.load(tmp_path / "lie.parquet")


def test_a_parquet_bomb(tmp_path: Path) -> None:
    duckdb = pytest.importorskip("duckdb")
    numbers = ", ".join(f"0.0::FLOAT AS v{j}" for j in range(60))
    query = f"SELECT 0::TINYINT AS node, {numbers} FROM range(400_000)"
    duckdb.sql(f"COPY ({query}) TO '{tmp_path / 'lie.parquet'}' (FORMAT parquet, CODEC zstd)")
    assert (tmp_path / "lie.parquet").stat().st_size < 90_000
    with pytest.raises(InputError, match="far more than its size can hold"):
        Embedding.load(tmp_path / "lie.parquet")


@pytest.mark.parametrize("ending", FORMATS)
def test_missing_files(ending: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=rf"e\{ending} does not exist"):
        Embedding.load(tmp_path / f"e{ending}")
    (tmp_path / f"e{ending}").mkdir()
    with pytest.raises(InputError, match=rf"e\{ending} cannot be read as an embedding: .*directory"):
        Embedding.load(tmp_path / f"e{ending}")


def test_npy_without_its_labels(tmp_path: Path) -> None:
    make("ab").save(tmp_path / "e.npy")
    (tmp_path / "e.labels.txt").unlink()
    with pytest.raises(InputError, match=r"e\.labels\.txt does not exist"):
        Embedding.load(tmp_path / "e.npy")


@pytest.mark.parametrize("ending", FORMATS)
@fast
@given(st.data())
def test_any_damage_is_refused_or_harmless(ending: str, data: st.DataObject) -> None:
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / f"e{ending}"
        make(["a", "bb", "ccc"], std=True).save(target)
        content = bytearray(target.read_bytes())
        if data.draw(st.booleans()):
            del content[data.draw(st.integers(0, len(content) - 1)) :]
        else:
            at = data.draw(st.integers(0, len(content) - 1))
            content[at : at + data.draw(st.integers(0, 4))] = data.draw(st.binary(max_size=4))
        target.write_bytes(content)
        try:
            loaded = Embedding.load(target)
        except InputError as e:
            assert str(target) in str(e)
            return
        assert loaded.vectors.shape == (len(loaded), loaded.dim)
        assert np.isfinite(loaded.vectors).all()
