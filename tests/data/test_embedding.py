"""Embedding: a frozen value keyed by label, and what is refused as one."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np
import pytest

from embeddings import make
from netfold.data.embedding import Embedding
from netfold.data.nodes import Nodes
from netfold.errors import InputError


def test_by_node() -> None:
    emb = Embedding(["a", "b", "c"], [[1, 2], [3, 4], [5, 6]])
    assert emb["b"].tolist() == [3, 4]
    assert emb[["c", "a"]].tolist() == [[5, 6], [1, 2]]
    assert emb[np.array(["c", "a"])].tolist() == [[5, 6], [1, 2]]
    assert emb[Nodes.of(["c"])].tolist() == [[5, 6]]
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
def test_unknown_nodes_suggest_known_ones(ask: Any) -> None:
    with pytest.raises(InputError, match="no node is called 'anne'; did you mean ann"):
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


def test_nodes_must_differ() -> None:
    with pytest.raises(InputError, match="duplicate node"):
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
