"""Tuples that are no hyperedges: of the same types, uniform where they should be, never one that is known."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from netfold.data.hypergraph import Hypergraph
from netfold.errors import InputError
from netfold.evaluate import hyperedges
from netfold.evaluate.negatives import all_negatives, sampled_negatives
from netfold.evaluate.tuples import TupleIndex, coded, decoded, stacked
from typed_tuples import Scorer, Triple, as_sets, typed


def truth_of(known: Hypergraph, test: list[Triple]) -> TupleIndex:
    return TupleIndex(stacked(coded(known.edges, known.nodes), coded(test, known.nodes)), known.n_nodes)


@pytest.mark.parametrize("kind", ["replaced", "uniform"])
def test_negatives_keep_types_and_are_never_hyperedges(kind: str) -> None:
    known, test = typed(2, m=100)
    positives = coded(test, known.nodes)
    made = sampled_negatives(kind, positives, known, truth_of(known, test), 20, 0)
    assert len(made) == 20 * len(test)
    hyper = {frozenset(x) for x in (*known.edges, *test)}
    for each, origin in zip(decoded(made, known.nodes), np.repeat(positives, 20, axis=0), strict=True):
        assert frozenset(each) not in hyper
        assert [x[0] for x in each] == [known.nodes[i][0] for i in origin]


def test_replaced_changes_one_position_nine_times_in_ten() -> None:
    known, test = typed(3, m=60, sizes=(40, 50, 60))
    positives = coded(test, known.nodes)
    made = sampled_negatives("replaced", positives, known, truth_of(known, test), 400, 0)
    changed = made != np.repeat(positives, 400, axis=0)
    assert set(changed.sum(axis=1)) == {1, 2}
    assert np.mean(changed.sum(axis=1) == 2) == pytest.approx(0.1, abs=0.02)
    assert changed.mean(axis=0) == pytest.approx([1.1 / 3] * 3, abs=0.03)


def test_uniform_is_uniform_over_what_is_no_hyperedge() -> None:
    known, test = typed(4, m=20, sizes=(3, 4, 3))
    rows = sampled_negatives("uniform", coded(test, known.nodes), known, truth_of(known, test), 1000, 1)
    _, counts = np.unique(rows, axis=0, return_counts=True)
    expected = len(rows) / (36 - 20)
    assert len(counts) == 16
    assert np.sum((counts - expected) ** 2 / expected) < 37.7  # chi-square of 15, the 1 in 1000 point


def test_all_negatives_are_all_once() -> None:
    known, test = typed(5)
    made = all_negatives(coded(test, known.nodes), known, truth_of(known, test))
    assert len({*as_sets(made)}) == len(made) == 6 * 8 * 5 - 40
    assert not truth_of(known, test).holds(made).any()
    alike = Hypergraph((("a", "b", "c"),), "abcde")  # one type, and pairs as well as triples
    rows = coded([("e", "d", "c"), ("a", "d")], alike.nodes)
    made = all_negatives(rows, alike, TupleIndex(rows, 5))
    assert sorted(map(len, as_sets(made))) == [2] * 9 + [3] * 9
    assert len({*as_sets(made)}) == 18


def test_types_in_any_order_are_one_kind() -> None:
    known = Hypergraph((("u0", "f0"), ("f1", "u1")), ["u0", "u1", "f0", "f1", "f2"], ("u", "u", "f", "f", "f"))
    made = all_negatives(coded(known.edges, known.nodes), known, truth_of(known, []))
    assert len(made) == 2 * 3 - 2


def test_a_node_is_never_named_twice() -> None:
    known = Hypergraph((("a", "b"), ("c", "d", "e")), "abcdef")
    rows = coded(known.edges, known.nodes)
    for kind in ("replaced", "uniform"):
        made = sampled_negatives(kind, rows, known, TupleIndex(rows, 6), 200, 0)
        assert len(made) == 400
        assert sorted(set(map(len, as_sets(made)))) == [2, 3]
        assert [len(x) for x in as_sets(made)] == [2] * 200 + [3] * 200


def test_what_cannot_be_replaced_is_left_out() -> None:
    known = Hypergraph((*itertools.combinations("abc", 2), ("d", "e", "f")), "abcdefg", tuple("xxxyyyy"))
    rows = coded(known.edges, known.nodes)
    made = sampled_negatives("replaced", rows, known, TupleIndex(rows, 7), 2, 0)
    assert [x for x in decoded(made, known.nodes) if len(x) == 2] == []
    assert len(made) == 2
    with pytest.raises(InputError, match="no tuple was found that is not a hyperedge"):
        complete = Hypergraph(tuple(itertools.combinations("abc", 2)), "abc")
        hyperedges(Scorer(lambda x: [0] * len(x)), complete, known=complete, duplicates="keep")


def test_all_negatives_of_many_nodes_are_refused() -> None:
    known = Hypergraph(((0, 1, 2),), range(200))
    with pytest.raises(InputError, match="negatives='all' are 8,000,000 tuples here"):
        hyperedges(Scorer(lambda x: [0] * len(x)), known, known=known, negatives="all", duplicates="keep")
