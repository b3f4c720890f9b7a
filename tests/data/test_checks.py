"""What arguments must be."""

from __future__ import annotations

import math

import numpy as np
import pytest

from netfold.data.checks import (
    check_at_least_one,
    check_choice,
    check_count,
    check_counts,
    check_fractions,
    check_share,
    is_between,
    is_number,
    is_whole,
)
from netfold.errors import InputError


@pytest.mark.parametrize("x", [0, -3, 10**400, np.int64(7), np.uint8(7)])
def test_whole_numbers(x):
    assert is_whole(x)


@pytest.mark.parametrize("x", [True, np.True_, 1.0, np.float32(1), "1", None, [1]])
def test_what_is_no_whole_number(x):
    assert not is_whole(x)


@pytest.mark.parametrize("x", [0, -0.5, np.float32(0.25), np.int8(3), 1e308])
def test_numbers(x):
    assert is_number(x)


@pytest.mark.parametrize("x", [True, math.nan, math.inf, -math.inf, 10**400, "1", None, 1j, np.ones(2)])
def test_what_is_no_number(x):
    assert not is_number(x)
    assert not is_between(x, -math.inf, math.inf)


def test_between_is_strict():
    assert [is_between(x, 0, 1) for x in (0, 1e-9, 0.5, 1)] == [False, True, True, False]


def test_counts_are_bounded_and_named():
    check_count("nodes", np.int64(2), least=2, most=2)
    with pytest.raises(InputError, match=r"^nodes=1 is not a whole number of at least 2$"):
        check_count("nodes", 1, least=2)
    with pytest.raises(InputError, match=r"^nodes=3.0 is not a whole number of at least 2 and at most 1,000$"):
        check_count("nodes", 3.0, least=2, most=1000)
    with pytest.raises(InputError, match=r"^bins=0 is not a whole number of at least 1$"):
        check_at_least_one(largest=1, bins=0)


def test_some_counts_or_one():
    check_counts(k=5, hits=(1, np.int32(10)))
    for wrong in (0, [], [1, 0], [1.5], "12", True):
        with pytest.raises(InputError, match="does not fit: give whole numbers of at least 1"):
            check_counts(k=wrong)


def test_shares_and_fractions():
    check_share("noise", 0)
    check_share("noise", np.float32(1))
    for wrong in (-0.1, 1.1, math.nan, "0.5"):
        with pytest.raises(InputError, match="^noise=.* is not a number from 0 to 1$"):
            check_share("noise", wrong)
    assert check_fractions(0.5) == (0.5,)
    assert check_fractions([0.1, np.float64(0.9)]) == (0.1, 0.9)
    for wrong in ((), 0, 1, [0.5, 1.5], "0.5"):
        with pytest.raises(InputError, match="parts between 0 and 1"):
            check_fractions(wrong)


def test_names_among_known_ones():
    check_choice({"dot": 1, "cosine": 2}, score="dot")
    with pytest.raises(InputError, match="^score='w' is not one of dot, cosine$"):
        check_choice(("dot", "cosine"), score="w")
