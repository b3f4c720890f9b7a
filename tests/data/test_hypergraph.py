"""Hypergraph: a frozen value, its incidence and adjacency against loops, its expansions."""

from __future__ import annotations

import dataclasses
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hypergraphs import HYPEREDGES
from memory import peak_memory
from netfold.data.graph import Graph
from netfold.data.hypergraph import Hypergraph, clique_expansion, star_expansion
from netfold.data.nodes import Nodes, typed_nodes
from netfold.errors import InputError
from netfold.evaluate.tuples import coded, coded_edges

# -------------------------------------------------------------------- the value


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
        (["ab"], "ab", (), "a tuple of at least 2 nodes"),
        ([7], "ab", (), "a tuple of at least 2 nodes"),
        ([("a", "b", "a")], "ab", (), "names a node twice"),
        ([("a", "x")], "ab", (), "no node is called 'x'"),
        ([("a", ["b"])], "ab", (), "no node is called"),
        ([("a", "b")], "ab", ("user",), "1 type does not fit 2 nodes"),
        ([("a", "b")], "ab", ("user", 3), "the type 3 is an int"),
        ([("a", "b")], "aba", (), "duplicate node"),
    ],
)
def test_refused(edges: Any, nodes: str, types: Any, why: str) -> None:
    with pytest.raises(InputError, match=why):
        Hypergraph(edges, Nodes.of(nodes), types)


def test_nodes_that_are_no_keys() -> None:
    with pytest.raises(InputError, match="cannot be a key"):
        Hypergraph.from_tuples([("a", ["b"])])


def test_frozen() -> None:
    given = [["a", "b"]]
    hypergraph = Hypergraph.from_tuples(given)
    given[0].append("c")
    assert hypergraph.edges == (("a", "b"),)
    with pytest.raises(dataclasses.FrozenInstanceError):
        hypergraph.edges = ()  # type: ignore[misc]


def test_types_and_their_codes_come_by_appearance() -> None:
    hypergraph = Hypergraph([("a", "b")], "abc", ("z", "y", "z"))
    assert hypergraph.types == ("z", "y")
    assert hypergraph.type_codes.tolist() == [0, 1, 0]
    assert hypergraph.degrees.tolist() == [1, 1, 0]
    assert Hypergraph([("a", "b")], "ab").types == ("node",)
    assert Hypergraph([], []).types == ()


def test_the_fingerprint_changes_with_every_part() -> None:
    rows = np.array([[0, 1], [2, 1]])

    def of(roles: Any = ("a", "b"), types: Any = ("a", "b"), rows: Any = rows, nodes: Any = "xyz") -> str:
        codes = np.array([0, 1, 0])
        made = Hypergraph.from_kinds([(roles, types, rows)], nodes=nodes, node_types=codes, types=types)
        return made.fingerprint

    others = [
        of(roles=("a", "c")),
        of(types=("a", "c")),
        of(rows=rows[:1]),
        of(rows=rows[::-1]),
        of(nodes="xyw"),
        of(nodes=[1, 2, 3]),
        of(rows=np.array([[0, 1], [0, 1]])),
    ]
    assert of() == of(rows=rows.astype(np.int32))
    assert len({of(), *others}) == 1 + len(others)
    apart = Hypergraph.from_tuples([("a", "b"), ("a", "b", "c"), ("b", "c")])
    grouped = Hypergraph.from_tuples([("a", "b"), ("b", "c"), ("a", "b", "c")])
    assert apart.fingerprint != Hypergraph(grouped.edges, apart.nodes).fingerprint


def test_nodes_with_types() -> None:
    of_type = {"user": Nodes.of([7, -1]), 'a "b"': Nodes.of(["x", 'é"\\']), "t": Nodes.of([("k", 1), 2.5])}
    pairs = [(name, label) for name, labels in of_type.items() for label in labels]
    made = typed_nodes(of_type)
    assert list(made) == pairs
    assert made == Nodes.of(pairs)
    assert typed_nodes({"user": Nodes.of([])}) == Nodes.of([])


@settings(deadline=None, max_examples=30)
@given(HYPEREDGES, st.lists(st.sampled_from("abc"), min_size=9, max_size=9))
def test_edges_as_rows_without_their_nodes(edges: list[tuple[int, ...]], types: list[str]) -> None:
    hypergraph = Hypergraph(edges, range(9), types)
    np.testing.assert_array_equal(coded_edges(hypergraph), coded(hypergraph.edges, hypergraph.nodes))


# -------------------------------------------------------------------- matrices and expansions


@settings(deadline=None, max_examples=60)
@given(HYPEREDGES)
def test_matrices_are_what_loops_make(edges: list[tuple[int, ...]]) -> None:
    hypergraph = Hypergraph(tuple(edges), Nodes.of(range(9)))
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


@settings(deadline=None, max_examples=40)
@given(HYPEREDGES, st.integers(1, 30))
def test_the_adjacency_matrix_is_the_same_in_blocks_of_any_size(edges: list[tuple[int, ...]], most: int) -> None:
    hypergraph = Hypergraph(edges, range(9))
    h = hypergraph.incidence().toarray()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("netfold.data.hypergraph._PAIRS", most)
        a = hypergraph.adjacency()
    np.testing.assert_array_equal(a.toarray(), h @ h.T - np.diag(h.sum(axis=1)))
    assert a.dtype == np.float32 and a.has_canonical_format
    assert np.all(a.data > 0) and a.nnz == np.count_nonzero(a.toarray())
    np.testing.assert_array_equal(hypergraph.degrees, h.sum(axis=1))


@settings(deadline=None, max_examples=40)
@given(st.lists(st.lists(st.integers(0, 8), min_size=2, max_size=2, unique=True).map(tuple), min_size=1, max_size=20))
def test_a_hypergraph_of_pairs_is_a_graph(pairs: list[tuple[int, int]]) -> None:
    graph = Graph.from_edges(pairs, nodes=range(9), duplicates="sum")
    hypergraph = Hypergraph(pairs, range(9))
    np.testing.assert_array_equal(hypergraph.adjacency().toarray(), graph.adjacency.toarray())
    assert clique_expansion(hypergraph).fingerprint == graph.fingerprint


def test_expansions() -> None:
    hypergraph = Hypergraph.from_tuples([("ann", "film", "drama"), ("bob", "film"), ("film", "bob")])
    clique = clique_expansion(hypergraph)
    assert repr(clique) == "Graph(4 nodes, 4 edges, undirected, weighted)"
    assert clique.adjacency[1, 3] == 2
    star = star_expansion(hypergraph)
    assert repr(star) == "Graph(7 nodes, 7 edges, undirected)"
    assert list(star.nodes) == [*hypergraph.nodes, ("edge", 0), ("edge", 1), ("edge", 2)]
    for i, edge in enumerate(hypergraph.edges):
        assert set(star.neighbors(("edge", i))) == set(edge)
    assert star.degrees[:4].tolist() == hypergraph.degrees.tolist()
    assert ("set", 2) in star_expansion(hypergraph, name="set").nodes
    taken = Hypergraph.from_tuples([(("edge", 0), "b")])
    with pytest.raises(
        InputError, match=r"a node is called \('edge', 0\), as an edge would be; call edges by another name="
    ):
        star_expansion(taken)
    assert list(star_expansion(taken, name="set").nodes) == [("edge", 0), "b", ("set", 0)]
    assert repr(star_expansion(Hypergraph([], "ab"))) == "Graph(2 nodes, 0 edges, undirected)"


def test_nothing_dense_is_made() -> None:
    n, rng = 30_000, np.random.default_rng(0)
    rows = np.stack([rng.integers(0, n // 3, 40_000) + k * n // 3 for k in range(3)], axis=1)
    kinds = [(tuple("abc"), tuple("abc"), rows)]
    hypergraph = Hypergraph.from_kinds(kinds, nodes=range(n), node_types=np.arange(n) // (n // 3), types=tuple("abc"))
    with peak_memory() as peak:
        a = hypergraph.adjacency()
    assert a.nnz > 230_000
    assert peak[0] < 30 << 20  # a square of bits would be 107 MiB
