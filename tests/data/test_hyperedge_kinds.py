"""Kinds of hyperedges: tuples that have the same roles, from tuples, arrays and names."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hypergraphs import HYPEREDGES
from netfold.data.hypergraph import Hypergraph, Kind
from netfold.data.kinds import default_roles
from netfold.errors import InputError


def test_plain_tuples_are_of_one_kind_where_their_types_are_the_same_in_any_order() -> None:
    types = {"u1": "user", "u2": "user", "f1": "film", "f2": "film", "t": "tag"}
    given = [("u1", "f1"), ("u1", "f1", "t"), ("f2", "u2"), ("t", "u2", "f1"), ("u1", "u2")]
    hypergraph = Hypergraph.from_tuples(given, types)
    assert [kind.roles for kind in hypergraph.kinds] == [("user", "film"), ("user", "film", "tag"), ("user", "user_2")]
    assert hypergraph.edges == (("u1", "f1"), ("u1", "f1", "t"), ("u2", "f2"), ("u2", "f1", "t"), ("u1", "u2"))
    assert hypergraph.tuples(hypergraph.kinds[0]) == [("u1", "f1"), ("u2", "f2")]
    assert [numbers.tolist() for numbers in hypergraph.edge_numbers()] == [[0, 2], [1, 3], [4]]
    assert [len(kind) for kind in hypergraph.kinds] == [2, 2, 1]
    assert not any(kind.ordered for kind in hypergraph.kinds)


@settings(deadline=None, max_examples=60)
@given(HYPEREDGES, st.lists(st.sampled_from("abc"), min_size=9, max_size=9))
def test_kinds_hold_every_edge_with_its_types(edges: list[tuple[int, ...]], types: list[str]) -> None:
    hypergraph = Hypergraph(edges, range(9), types)
    assert [sorted(edge) for edge in hypergraph.edges] == [sorted(edge) for edge in edges]
    assert len({tuple(sorted(kind.types)) for kind in hypergraph.kinds}) == len(hypergraph.kinds)
    for kind in hypergraph.kinds:
        assert all(
            hypergraph.node_types[i] == name for row in kind.rows for i, name in zip(row, kind.types, strict=True)
        )
        assert len(set(kind.roles)) == len(kind.roles) == kind.rows.shape[1]
    firsts = [numbers[0] for numbers in hypergraph.edge_numbers()]
    assert firsts == sorted(firsts)
    assert Hypergraph(hypergraph.edges, range(9), types).fingerprint == hypergraph.fingerprint
    again = Hypergraph.from_named(hypergraph.named_edges(), nodes=range(9), node_types=dict(enumerate(types)))
    assert again.fingerprint == hypergraph.fingerprint


def test_nodes_of_one_type_keep_the_order_in_which_an_edge_names_them() -> None:
    hypergraph = Hypergraph.from_tuples([(3, 1, 2), (2, 3, 1)])
    assert hypergraph.edges == ((3, 1, 2), (2, 3, 1))
    assert hypergraph.kinds[0].roles == ("node", "node_2", "node_3")


@pytest.mark.parametrize(
    ("types", "roles"),
    [
        (["a", "b"], ("a", "b")),
        (["a", "a", "b", "a"], ("a", "a_2", "b", "a_3")),
        (["a", "a_2", "a"], ("a", "a_2", "a_2_")),
        (["a", "a", "a_2", "a_2_"], ("a", "a_2__", "a_2", "a_2_")),
    ],
)
def test_roles_without_names_are_numbered(types: list[str], roles: tuple[str, ...]) -> None:
    assert default_roles(types) == roles


def test_order_matters_where_roles_of_one_type_have_names() -> None:
    rows = np.array([[0, 1]])
    assert Kind(("head", "tail"), ("entity", "entity"), rows).ordered
    assert not Kind(("entity", "entity_2"), ("entity", "entity"), rows).ordered
    assert not Kind(("who", "what"), ("user", "film"), rows).ordered


def test_from_kinds_is_from_tuples_with_arrays() -> None:
    types = {"u1": "user", "u2": "user", "f1": "film", "t": "tag"}
    made = Hypergraph.from_tuples([("u1", "f1", "t"), ("u2", "f1", "t"), ("u2", "f1")], types)
    nodes = ["u1", "f1", "t", "u2"]
    kinds = [
        (("user", "film", "tag"), ("user", "film", "tag"), np.array([[0, 1, 2], [3, 1, 2]])),
        Kind(("user", "film"), ("user", "film"), np.array([[3, 1]], np.int32)),
    ]
    for how in (
        {"node_types": ("user", "film", "tag", "user")},
        {"node_types": np.array([2, 0, 1, 2], np.int8), "types": ("film", "tag", "user", "unused")},
        {},
    ):
        again = Hypergraph.from_kinds(kinds, nodes=nodes, **how)  # type: ignore[arg-type]
        assert again.fingerprint == made.fingerprint
        assert (again.types, again.edges) == (made.types, made.edges)
        np.testing.assert_array_equal(again.incidence().toarray(), made.incidence().toarray())


def test_kinds_of_the_same_roles_are_one_and_empty_ones_none() -> None:
    made = Hypergraph.from_kinds(
        [
            (("a", "b"), ("x", "y"), [[0, 1]]),
            (("none", "here"), ("x", "y"), np.empty((0, 2), np.int64)),
            (("b", "a"), ("y", "x"), [[2, 0], [1, 0]]),
        ],
        nodes="pqr",
        node_types=["x", "y", "y"],
    )
    assert [kind.roles for kind in made.kinds] == [("a", "b")]
    assert made.kinds[0].rows.tolist() == [[0, 1], [0, 2], [0, 1]]
    assert Hypergraph.from_kinds([], nodes=[1, 2]).node_types == ("node", "node")
    assert Hypergraph.from_kinds([(("a", "b"), ("x", "y"), [])], nodes=[1], node_types=["x"]).kinds == ()


def test_rows_are_read_only_and_the_callers_array_is_not_changed() -> None:
    rows, codes = np.array([[0, 1]]), np.array([0, 1])
    made = Hypergraph.from_kinds([(("a", "b"), ("a", "b"), rows)], nodes="xy", node_types=codes, types=("a", "b"))
    for array in (made.kinds[0].rows, made.type_codes):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1
    assert rows.flags.writeable and codes.flags.writeable


TWO = ("a", "b")


@pytest.mark.parametrize(
    ("kind", "how", "why"),
    [
        ((TWO, TWO, [[0, 3]]), {}, r"names node 3; the 3 nodes are numbered from 0"),
        ((TWO, TWO, [[-1, 0]]), {}, "names node -1"),
        ((TWO, TWO, [[0, 1]]), {}, "'z' is in no edge, so that its type is not known; give node_types"),
        ((TWO, TWO, [[0, 1]]), {"node_types": "aab"}, "'y' of the type 'a' stands as 'b' in row 0"),
        ((TWO, ("a", "c"), [[0, 1]]), {"node_types": "abb"}, "nodes of the type 'c' can stand there"),
        ((TWO, TWO, [[0, 1], [1, 2]]), {}, "stands as"),
        ((TWO, TWO, [[0, 1]]), {"node_types": "ab"}, "2 types do not fit 3 nodes"),
        ((TWO, TWO, [[0, 1]]), {"node_types": [0, 1, 2], "types": TWO}, "the type number 2"),
        ((TWO, TWO, [[0, 1]]), {"node_types": [0.5, 1, 2], "types": TWO}, "one position among types for each node"),
        ((TWO, TWO, [[0, 1]]), {"node_types": [["a"], "b", "b"]}, "a type cannot be a key"),
        ((TWO, TWO, [[0.0, 1.0]]), {}, "integers in 2 columns"),
        ((TWO, TWO, [[0, 1, 2]]), {}, r"int64 in the shape \(1, 3\)"),
        ((TWO, ("a",), [[0, 1]]), {}, "1 type does not fit the 2 roles"),
        ((("a",), ("a",), [[0]]), {}, "joins fewer than two nodes"),
        ((("a", "a"), TWO, [[0, 1]]), {}, "the role 'a' twice"),
        ((("a", ""), TWO, [[0, 1]]), {}, "'' stands among the roles"),
        ((("a", 3), TWO, [[0, 1]]), {}, "3 stands among the roles"),
        ((TWO, TWO), {}, "a tuple stands among the kinds; give a Kind"),
        ((("head", "tail"), ("a", "a"), [[0, 1], [2, 2]]), {}, r"the edge \('z', 'z'\) names a node twice"),
    ],
)
def test_refused_kinds(kind: Any, how: dict[str, Any], why: str) -> None:
    with pytest.raises(InputError, match=why):
        Hypergraph.from_kinds([kind], nodes="xyz", **how)


def test_a_node_named_twice_is_found_wherever_it_stands(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("netfold.data.kinds._BLOCK", 4)
    rows = np.array([[i, i + 1, i + 2] for i in range(11)])
    rows[9] = [9, 3, 9]
    with pytest.raises(InputError, match=r"\(9, 3, 9\) names a node twice"):
        Hypergraph.from_kinds([(tuple("abc"), tuple("xxx"), rows)], nodes=range(20))


def test_from_named() -> None:
    edges = [{"head": "a", "tail": "b"}, {"who": "c", "what": "d"}, {"tail": "a", "head": "c"}]
    made = Hypergraph.from_named(edges)
    assert [kind.roles for kind in made.kinds] == [("head", "tail"), ("who", "what")]
    assert made.edges == (("a", "b"), ("c", "d"), ("c", "a"))
    assert list(made.named_edges()) == [edges[0], edges[1], {"head": "c", "tail": "a"}]
    typed = Hypergraph.from_named(edges, nodes="dcbae", node_types=dict(zip("abcde", "xyxyy", strict=True)))
    assert list(typed.nodes) == list("dcbae")
    assert [kind.types for kind in typed.kinds] == [("x", "y"), ("x", "y"), ("x", "x")]


@pytest.mark.parametrize(
    ("edge", "why"),
    [
        ({"a": 1}, "is not a dict of at least 2 roles"),
        (("a", "b"), "is not a dict of at least 2 roles"),
        ({"a": 1, "b": 1}, "names a node twice"),
        ({"a": 1, "b": [2]}, "cannot be a key"),
        ({"a": 1, 7: 2}, "7 stands among the roles"),
    ],
)
def test_refused_names(edge: Any, why: str) -> None:
    with pytest.raises(InputError, match=why):
        Hypergraph.from_named([edge])
