"""Nodes: what goes in comes out, in the same order and of the same type, and every node knows where it stands."""

from __future__ import annotations

import difflib
import time
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from netfold.data.nodes import Nodes
from netfold.errors import InputError

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
INTS = st.integers(-(2**63), 2**63 - 1)
PLAIN = st.one_of(TEXTS, st.integers(), st.floats(allow_nan=False, allow_infinity=False), st.booleans(), st.none())
ANY = st.one_of(PLAIN, st.tuples(PLAIN, PLAIN), st.tuples(TEXTS, st.tuples(INTS)))
LISTS = st.one_of(*(st.lists(kind, unique=True, max_size=12) for kind in (TEXTS, INTS, ANY)))

fast = settings(deadline=None, max_examples=80)


def with_types(x: Any) -> Any:
    return (tuple, [with_types(y) for y in x]) if isinstance(x, tuple) else (type(x), x)


@fast
@given(LISTS)
def test_what_goes_in_comes_out(given: list[Any]) -> None:
    labels = Nodes.of(given)
    assert [with_types(x) for x in labels] == [with_types(x) for x in given]
    assert [with_types(labels[i]) for i in range(len(labels))] == [with_types(x) for x in given]
    assert Nodes(labels.kind, labels.arrays()) == labels
    assert labels.find(given).tolist() == list(range(len(given)))


@fast
@given(LISTS, st.lists(ANY, max_size=6))
def test_find_is_a_search_from_the_front(given: list[Any], wanted: list[Any]) -> None:
    labels = Nodes.of(given)
    exact = labels.kind == "int"  # where all labels are integers, 1.0 and True are none of them

    def naive(x: Any) -> int:
        return next((i for i, y in enumerate(given) if x == y and (type(x) is int or not exact)), -1)

    assert labels.find(wanted).tolist() == [naive(x) for x in wanted]
    assert [x in labels for x in wanted] == [naive(x) >= 0 for x in wanted]


@fast
@given(LISTS, st.randoms(use_true_random=False))
def test_take_is_a_list_by_positions(given: list[Any], random: Any) -> None:
    rows = list(range(len(given)))
    random.shuffle(rows)
    rows = rows[: len(rows) // 2 + 1]
    assert list(Nodes.of(given).take(rows)) == [given[i] for i in rows]


@pytest.mark.parametrize(
    ("given", "kind"),
    [
        ([3, 1], "int"),
        (range(4, 0, -2), "int"),
        (np.array([3, 1], np.uint8), "int"),
        ([np.int32(3), np.int64(1)], "int"),
        (["a", "b"], "text"),
        (np.array(["a", "bé"]), "text"),
        ([], "text"),
        ([True, False], "json"),
        ([1, "1"], "json"),
        ([2**63], "json"),
    ],
)
def test_kinds(given: Any, kind: str) -> None:
    labels = Nodes.of(given)
    assert labels.kind == kind
    assert list(labels) == list(given)
    assert all(type(x) in (int, str, bool) for x in labels)


def test_nodes_are_frozen_and_the_array_given_is_not() -> None:
    given = np.array([3, 1, 2])
    labels = Nodes.of(given)
    given[0] = 9
    assert given.flags.writeable
    assert list(labels) == [3, 1, 2]
    for made in (labels, Nodes.of(["a", "b"])):
        assert not any(array.flags.writeable for array in made.arrays().values())
    with pytest.raises(TypeError):
        labels[0] = 5  # type: ignore[index]
    with pytest.raises(TypeError):
        hash(labels)


def test_a_sequence_like_any_other() -> None:
    labels = Nodes.of(["a", "b", "c", "d"])
    assert (labels[-1], labels[1:3], labels.index("c"), len(labels)) == ("d", ["b", "c"], 2, 4)
    assert repr(labels) == "Nodes(4: 'a', 'b', 'c', ...)"
    assert repr(Nodes.of([7])) == "Nodes(1: 7)"
    assert labels != Nodes.of(["a", "b", "c"])
    assert Nodes.of(["1"]) != Nodes.of([1])
    assert labels != ["a", "b", "c", "d"]
    assert Nodes.of(labels) is labels
    for out in (4, -5):
        with pytest.raises(IndexError):
            labels[out]


@pytest.mark.parametrize("given", [["a", "b", "a"], [1, 2, 1], np.array([5, 5]), [(1, 2), "x", (1, 2)], [1, 1.0]])
def test_a_node_is_there_once(given: Any) -> None:
    with pytest.raises(InputError, match="duplicate node"):
        Nodes.of(given)


@pytest.mark.parametrize("odd", [float("nan"), float("inf"), {"a": 1}, ["a"], ("a", ["b"]), ("a", {}), b"a", object()])
def test_what_names_no_node(odd: Any) -> None:
    with pytest.raises(InputError, match="nodes are strings, finite numbers, or tuples"):
        Nodes.of(["a", odd])
    for labels in (Nodes.of(["a"]), Nodes.of([1]), Nodes.of([1, "a"])):
        assert odd not in labels
        with pytest.raises(InputError, match="no node is called"):
            labels.positions([odd])


def test_unknown_nodes_suggest_known_ones() -> None:
    labels = Nodes.of(["Valjean", "Javert", "Cosette"])
    with pytest.raises(InputError, match="no node is called 'valjan'; did you mean Valjean?"):
        labels.positions(["Javert", "valjan"])
    with pytest.raises(InputError, match="nodes look like 10"):
        Nodes.of([10, 20]).positions(["zzz"])
    with pytest.raises(InputError, match="no node is called 1$"):
        Nodes.of([]).positions([1])
    assert labels.positions(x for x in ["Cosette", "Valjean"]).tolist() == [2, 0]


@pytest.mark.parametrize("kind", ["text", "int", "tuple"])
def test_close_names_among_many_are_those_of_a_search_of_all(kind: str) -> None:
    rng = np.random.default_rng(0)
    numbers = np.unique(rng.integers(10_000, 1_000_000, 2000)).tolist()
    syllables = ["ba", "Ko", "Éli", "ra", "mun", "st", "ye"]
    words = ["".join(rng.choice(syllables, 4)) + str(i % 100) for i in numbers]
    names = numbers if kind == "int" else list(dict.fromkeys(words if kind == "text" else [("w", x) for x in words]))
    nodes = Nodes.of(names)
    for i in rng.choice(len(names), 10).tolist():
        text = str(names[i]).upper()
        asked = text[:3] + text[4:] + "7"  # a letter less, and one more
        folded = {str(x).casefold(): str(x) for x in reversed(names)}
        close = difflib.get_close_matches(asked.casefold(), folded, 3)
        assert str(names[i]).casefold() in close
        assert f"did you mean {' or '.join(folded[x] for x in close)}?" in nodes.unknown(asked)
    start = time.process_time()
    assert nodes.unknown("x" * 1_000_000).endswith(f"nodes look like {names[0]}")
    assert time.process_time() - start < 1


def test_integers_out_of_range() -> None:
    with pytest.raises(InputError, match="use strings"):
        Nodes.of(np.array([2**63], np.uint64))
    assert Nodes.of([1, 2]).find([2**64, 2, -(2**70)]).tolist() == [-1, 1, -1]
    assert Nodes.of([0, 1]).find(["x", 0.0, None, 0]).tolist() == [-1, -1, -1, 0]


def test_text_that_is_no_unicode() -> None:
    with pytest.raises(InputError, match="not valid unicode"):
        Nodes.of(["a", "\ud800"])


def test_parse_reads_what_a_person_types() -> None:
    assert Nodes.of([1, 2]).parse("2") == 2
    assert Nodes.of([1, 2]).parse("x") == "x"
    assert Nodes.of(["1", "2"]).parse("2") == "2"
    assert Nodes.of([1, "2"]).parse("1") == 1
    assert Nodes.of([1, "2"]).parse("2") == "2"


@pytest.mark.parametrize(
    ("rows", "why"),
    [
        ([0, 0], "twice"),
        ([3], "row 3 is not among the rows 0 to 2"),
        ([-1], "row -1"),
        ([True, False, True], "np.flatnonzero"),
        ([[0]], "positions"),
        ([0.5], "positions"),
    ],
)
@pytest.mark.parametrize("given", [["a", "b", "c"], [5, 6, 7]])
def test_take_refuses(given: list[Any], rows: Any, why: str) -> None:
    with pytest.raises(InputError, match=why):
        Nodes.of(given).take(rows)


@pytest.mark.parametrize("offsets", [[], [0, 3, 2, 4], [1, 4], [0, 5], [0, -1, 4], [[0, 4]]])
def test_stored_offsets_that_do_not_fit(offsets: list[Any]) -> None:
    with pytest.raises(InputError, match="damaged"):
        Nodes("text", {"offsets": np.array(offsets), "bytes": np.zeros(4, np.uint8)})


@pytest.mark.parametrize(
    ("kind", "content"),
    [("text", b"\xff"), ("json", b"[1"), ("json", b'{"a": 1}'), ("json", b"NaN"), ("json", b"[" * 9999)],
)
def test_stored_text_that_cannot_be_read(kind: str, content: bytes) -> None:
    labels = Nodes(kind, {"offsets": np.array([0, len(content)]), "bytes": np.frombuffer(content, np.uint8)})
    for read in (list, lambda x: x[0]):
        with pytest.raises(InputError, match="damaged"):
            read(labels)


def test_nodes_are_one_list() -> None:
    with pytest.raises(InputError, match="2 axes"):
        Nodes.of(np.array([[1, 2], [3, 4]]))


def test_an_unknown_kind() -> None:
    with pytest.raises(InputError, match="unknown kind of nodes 'float'"):
        Nodes("float", {})


def test_a_number_without_its_zeros_is_answered_with_them() -> None:
    nodes = Nodes.of([f"{i:05}" for i in range(50)])
    assert nodes.unknown("7") == "no node is called '7'; did you mean 00007?"
    assert nodes.unknown("049") == "no node is called '049'; did you mean 00049?"
    assert "00077" not in nodes.unknown("77")
    assert "did you mean" not in Nodes.of(["ann", "bob"]).unknown("7")
