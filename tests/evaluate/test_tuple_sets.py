"""Tuples as rows of numbers: sets of them against Python's, and the order that named roles have."""

from __future__ import annotations

import numpy as np
import pytest

from netfold.data.hypergraph import Hypergraph
from netfold.evaluate import hyperedges
from netfold.evaluate.negatives import all_negatives, sampled_negatives
from netfold.evaluate.tuples import Codes, Order, TupleIndex, coded, coded_edges, coded_like, decoded, stacked
from typed_tuples import Scorer, as_sets


@pytest.mark.parametrize("seed", range(5))
def test_a_set_of_tuples_is_a_set_of_sets(seed: int) -> None:
    rng, n = np.random.default_rng(seed), 7

    def drawn(m: int) -> Codes:
        sizes = rng.integers(2, 5, m)
        return coded([tuple(rng.choice(n, k, replace=False)) for k in sizes], Hypergraph.from_tuples([range(n)]).nodes)

    rows, asked = drawn(30), drawn(200)
    held = TupleIndex(rows, n)
    assert held.holds(asked).tolist() == [x in set(as_sets(rows)) for x in as_sets(asked)]
    assert held.first.tolist() == [x not in as_sets(rows)[:i] for i, x in enumerate(as_sets(rows))]


def test_a_set_of_long_tuples_does_not_overflow() -> None:
    n, rng = 10**6, np.random.default_rng(0)
    rows = np.stack([rng.choice(n, 12, replace=False) for _ in range(50)])
    other = rows.copy()
    other[:, 11] = (other[:, 11] + 1) % n
    held = TupleIndex(rows, n)
    assert held.holds(rows[:, ::-1]).all()
    assert not held.holds(other).any()
    assert held.holds(rows[:, :5]).sum() == 0


def test_an_empty_set_holds_nothing() -> None:
    empty = TupleIndex(np.empty((0, 0), np.int64), 5)
    assert not empty.holds(np.array([[0, 1], [2, 3]])).any()
    assert not TupleIndex(np.empty((0, 3), np.int64), 5).holds(np.array([[0, 1], [2, 3]])).any()
    assert TupleIndex(np.empty((0, 3), np.int64), 5).holds(np.empty((0, 2), np.int64)).tolist() == []


def facts(rows: list[list[int]], roles: tuple[str, ...] = ("head", "relation", "tail")) -> Hypergraph:
    """(head, relation, tail) of entities 0 to 4 and relations 5 and 6, and a pair of entities in whatever order."""
    of = {"head": "entity", "tail": "entity", "relation": "relation"}
    kinds = [(roles, [of[role] for role in roles], rows), (("entity", "entity_2"), ("entity", "entity"), [[0, 1]])]
    return Hypergraph.from_kinds(kinds, nodes="abcdexy", node_types=["entity"] * 5 + ["relation"] * 2)


def test_order_matters_where_roles_of_one_type_have_names() -> None:
    known = facts([[0, 5, 1], [2, 5, 3]])
    order = Order(known)
    held = TupleIndex(coded_edges(known), known.n_nodes, order)
    asked = np.array([[0, 5, 1], [1, 5, 0], [5, 0, 1], [1, 0, -1], [0, 1, -1], [2, 5, 3], [3, 5, 2]])
    assert order.matters(asked).tolist() == [True, True, False, False, False, True, True]
    assert held.holds(asked).tolist() == [True, False, False, True, True, True, False]
    again = TupleIndex(np.array([[0, 5, 1], [1, 5, 0], [0, 5, 1], [0, 1, -1], [1, 0, -1]]), known.n_nodes, order)
    assert again.first.tolist() == [True, True, False, True, False]


def test_rows_come_in_the_order_of_the_known_roles() -> None:
    known, turned = facts([[0, 5, 1]]), facts([[1, 5, 0], [3, 6, 2]], ("tail", "relation", "head"))
    assert coded_like(known, turned).tolist() == [[0, 5, 1], [2, 6, 3], [0, 1, -1]]
    renumbered = Hypergraph.from_named(
        [{"tail": "b", "relation": "x", "head": "a"}], node_types=dict.fromkeys("ab", "entity") | {"x": "relation"}
    )
    assert coded_like(known, renumbered).tolist() == [[0, 5, 1]]
    assert coded_like(known, [("b", "x", "a"), ("b", "a")]).tolist() == [[1, 5, 0], [1, 0, -1]]


def test_a_turned_fact_is_neither_known_nor_a_leak() -> None:
    known = facts([[0, 5, 1], [2, 5, 3]])
    found = hyperedges(Scorer(lambda x: np.arange(len(x))), [("b", "x", "a"), ("a", "x", "b"), ("b", "a")], known=known)
    assert found.protocol["positives"] == 1
    assert found.protocol["in the training data (drop)"] == 2
    rows = coded([("b", "x", "a"), ("c", "e")], known.nodes)
    truth = TupleIndex(stacked(coded_edges(known), rows), known.n_nodes, Order(known))
    every = decoded(all_negatives(rows, known, truth), known.nodes)
    triples = [(h, r, t) for h in "abcde" for r in "xy" for t in "abcde" if h != t]
    assert {x for x in every if len(x) == 3} == {*triples} - {("a", "x", "b"), ("c", "x", "d"), ("b", "x", "a")}
    assert len(every) == 40 - 3 + 10 - 2
    drawn = decoded(sampled_negatives("replaced", rows[:1], known, truth, 2000, 0), known.nodes)
    assert ("d", "x", "c") in drawn  # a fact the other way round is none
    assert not {*drawn} & {("a", "x", "b"), ("c", "x", "d"), ("b", "x", "a")}


def test_codes_and_back() -> None:
    nodes = Hypergraph.from_tuples([("a", ("t", 1)), ("b", "a")]).nodes
    tuples = [("b", ("t", 1)), ("a", "b", ("t", 1))]
    assert decoded(coded(tuples, nodes), nodes) == tuples
