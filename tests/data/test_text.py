"""Words and tables for people."""

from __future__ import annotations

import pytest

from netfold.data.text import as_typed, did_you_mean, enumerated, is_typed, listed, printable, text_table


def by_hand(rows: list[list[str]], right: list[int]) -> str:
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    cells = [[x.rjust(w) if i in right else x.ljust(w) for i, (x, w) in enumerate(zip(r, widths))] for r in rows]
    return "\n".join("  ".join(row).rstrip() for row in cells)


@pytest.mark.parametrize("right", [[], [0], [1], [2], [1, 2], [0, 1, 2]])
def test_tables_are_padded_columns_whose_lines_end_where_the_text_does(right):
    rows = [["task", "AUC", "fit s"], ["SDNE", "0.9", ""], ["", "", ""], ["x" * 9, "", "12.5"], ["y", "-", "1"]]
    assert text_table(rows, right) == by_hand(rows, right)


def test_a_table_keeps_the_spaces_of_its_values():
    assert text_table([("name", "a "), ("longer", "b")]) == "name    a \nlonger  b"


def test_columns_of_different_rows_must_be_as_many():
    with pytest.raises(ValueError, match="zip"):
        text_table([["a", "b"], ["c"]])


def test_a_few_nodes_are_listed_and_the_others_counted():
    assert listed(["a"]) == "'a'"
    assert listed(list(range(5))) == "0, 1, 2, 3, 4"
    assert listed(list(range(2005))) == "0, 1, 2, 3, 4 and 2,000 more"


def test_words_of_a_sentence():
    assert enumerated(["a"]) == "a"
    assert enumerated(["a", "b"]) == "a and b"
    assert enumerated(x for x in "abc") == "a, b and c"


def test_what_could_have_been_meant():
    known = {"karate": 1, "cora": 2, "corax": 3}
    assert did_you_mean("karat", known) == "did you mean karate?"
    assert did_you_mean("karat", known, quoted=True) == "did you mean 'karate'?"
    assert did_you_mean("corra", known, most=2) == "did you mean cora or corax?"
    assert did_you_mean("zzz", known, "there is none") == "there is none"
    assert did_you_mean("zzz", known) == ""
    same = {"user:u1": "user:u1", "u1": "user:u1"}
    assert did_you_mean("u1x", same, most=3, cutoff=0.3, written=same) == "did you mean user:u1?"


def test_nodes_as_people_type_and_read_them():
    assert is_typed(("user", "u1")) and not is_typed((1, "u1")) and not is_typed(("a", "b", "c")) and not is_typed("ab")
    assert as_typed(("user", "u1")) == "user:u1"
    assert printable("two\nlines\u2028here") == "two\\nlines\\u2028here"
