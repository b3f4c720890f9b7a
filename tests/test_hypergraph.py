"""Hypergraph: incidence and adjacency against loops."""

from __future__ import annotations

import dataclasses
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from netfold.errors import InputError
from netfold.hypergraph import Hypergraph
from netfold.labels import Labels

EDGES = st.lists(st.lists(st.integers(0, 8), min_size=2, max_size=5, unique=True).map(tuple), max_size=12)


@settings(deadline=None, max_examples=60)
@given(EDGES)
def test_matrices_are_what_loops_make(edges: list[tuple[int, ...]]) -> None:
    hypergraph = Hypergraph(tuple(edges), Labels.of(range(9)))
    h, together = np.zeros((9, len(edges))), np.zeros((9, 9))
    for e, edge in enumerate(edges):
        for i in edge:
            h[i, e] = 1
        for i, j in combinations(edge, 2):
            together[i, j] += 1
            together[j, i] += 1
    np.testing.assert_array_equal(hypergraph.incidence().toarray(), h)
    adjacency = hypergraph.adjacency()
    np.testing.assert_array_equal(adjacency.toarray(), together)
    np.testing.assert_array_equal(adjacency.toarray(), h @ h.T - np.diag(h.sum(axis=1)))
    assert adjacency.nnz == np.count_nonzero(together)
    assert (hypergraph.n_nodes, hypergraph.n_edges) == (9, len(edges))


def test_from_tuples() -> None:
    hypergraph = Hypergraph.from_tuples([["ann", "film", "drama"], ("bob", "film")])
    assert list(hypergraph.nodes) == ["ann", "film", "drama", "bob"]
    assert hypergraph.edges == (("ann", "film", "drama"), ("bob", "film"))
    assert hypergraph.node_types == ("node",) * 4
    assert repr(hypergraph) == "Hypergraph(4 nodes, 2 edges)"
    assert list(Hypergraph.from_tuples([(9, 2), (5, 2, 1)]).nodes) == [1, 2, 5, 9]
    assert Hypergraph.from_tuples([]).adjacency().shape == (0, 0)


def test_types() -> None:
    types = {"ann": "user", "film": "movie", "bob": "user"}
    hypergraph = Hypergraph.from_tuples([("ann", "film"), ("bob", "film")], types)
    assert hypergraph.node_types == ("user", "movie", "user")
    assert repr(hypergraph) == "Hypergraph(3 nodes, 2 edges, 2 types)"
    with pytest.raises(InputError, match="does not say which type 'zoe' is"):
        Hypergraph.from_tuples([("ann", "zoe")], types)


@pytest.mark.parametrize(
    ("edges", "nodes", "types", "why"),
    [
        ([("a",)], "ab", (), "fewer than two nodes"),
        ([()], "ab", (), "fewer than two nodes"),
        (["ab"], "ab", (), "a tuple of two labels"),
        ([7], "ab", (), "a tuple of two labels"),
        ([("a", "b", "a")], "ab", (), "names a node twice"),
        ([("a", "x")], "ab", (), "no node is labelled 'x'"),
        ([("a", ["b"])], "ab", (), "no node is labelled"),
        ([("a", "b")], "ab", ("user",), "1 types do not fit 2 nodes"),
        ([("a", "b")], "ab", ("user", 3), "the type 3 is a int"),
        ([("a", "b")], "aba", (), "stands twice"),
    ],
)
def test_refused(edges: Any, nodes: str, types: Any, why: str) -> None:
    with pytest.raises(InputError, match=why):
        Hypergraph(edges, Labels.of(nodes), types)


def test_labels_that_are_no_keys() -> None:
    with pytest.raises(InputError, match="cannot be a key"):
        Hypergraph.from_tuples([("a", ["b"])])


def test_frozen() -> None:
    given = [["a", "b"]]
    hypergraph = Hypergraph.from_tuples(given)
    given[0].append("c")
    assert hypergraph.edges == (("a", "b"),)
    with pytest.raises(dataclasses.FrozenInstanceError):
        hypergraph.edges = ()  # type: ignore[misc]
