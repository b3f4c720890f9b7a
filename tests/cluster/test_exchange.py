"""Rows that travel: fetching and giving are adjoint, and the bytes are those that were counted."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from netfold.cluster.exchange import Exchange
from netfold.cluster.ranks import Ranks, start
from several import on_ranks


def adjoint(sizes: list[list[int]], seeds: list[int]) -> list[tuple[float, float, int, int]]:
    """<fetch(A), B> and <A, give(B)> over all ranks, and bytes sent and counted by hand, for several cuts."""
    ranks = start("cpu")
    answers = []
    for lengths, seed in zip(sizes, seeds, strict=True):
        lengths = lengths[: ranks.size]
        rng = np.random.default_rng([seed, ranks.rank])
        needs = [
            torch.from_numpy(np.flatnonzero(rng.random(n) < 0.5))
            if q != ranks.rank
            else torch.zeros(0, dtype=torch.int64)
            for q, n in enumerate(lengths)
        ]
        exchange = Exchange(ranks, needs)
        table = torch.from_numpy(rng.standard_normal((lengths[ranks.rank], 3)))
        there = torch.zeros((), dtype=torch.float64)
        back = torch.zeros_like(table)
        giving = exchange.giving(back)
        for q, rows in exchange.fetch(table, lent=bool(seed % 2)):
            assert rows.shape == (len(needs[q]), 3)
            other = torch.from_numpy(rng.standard_normal(tuple(rows.shape)))
            there += (rows * other).sum()
            giving.send(q, giving.zeros(q).add_(other) if seed % 2 else other)
        giving.finish()
        sums = ranks.sum_(torch.stack([there, (table * back).sum()]))
        by_hand = 8 * 3 * (sum(map(len, exchange.wanted)) + exchange.needed)
        answers.append((float(sums[0]), float(sums[1]), exchange.sent, by_hand))
    return answers


CUTS = [[5, 5, 5, 5], [7, 1, 3, 2], [4, 0, 6, 1], [1, 1, 1, 1], [0, 9, 0, 3]]


@pytest.mark.parametrize("size", [2, pytest.param(3, marks=pytest.mark.slow), pytest.param(4, marks=pytest.mark.slow)])
def test_fetching_and_giving_are_adjoint(size: int) -> None:
    """Of any cut, an empty rank among them, drawn anew for each of 20 seeds."""
    cuts = [CUTS[i % len(CUTS)] for i in range(20)]
    for answers in on_ranks(size, adjoint, cuts, list(range(20))):
        for there, back, sent, by_hand in answers:
            assert there == pytest.approx(back, rel=1e-12, abs=1e-12)
            assert sent == by_hand


@settings(max_examples=30, deadline=None)
@given(n=st.integers(0, 20))
def test_one_rank_exchanges_nothing(n: int) -> None:
    exchange = Exchange(Ranks(), [torch.zeros(0, dtype=torch.int64)])
    table: Any = torch.ones(n, 2)
    assert list(exchange.fetch(table)) == [] and exchange.sent == exchange.needed == 0
    exchange.giving(table).finish()
    assert bool((table == 1).all())
