"""The tuples against which DHNE learns: no hyperedges, no node twice, drawn as they should be."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
import torch
from scipy import stats

from dhne_networks import sorted_alike
from netfold.models.dhne.tuples import Form, TupleNegatives, TupleSet, TypeNoise, possible_tuples

PLAIN = Form(("user", "film", "tag"), (0, 1, 2), ordered=False)
LOOSE = Form(("node", "node_2", "node_3"), (0, 0, 0), ordered=False)
STRICT = Form(("head", "relation", "tail"), (0, 1, 0), ordered=True)


@pytest.mark.parametrize("large", [False, True])
def test_a_set_of_tuples_knows_its_own_and_no_other(large, monkeypatch):
    if large:
        monkeypatch.setattr("netfold.models.dhne.tuples._LARGEST", 30)  # digits overflow at once
    rng = np.random.default_rng(0)
    for form, sizes in ((PLAIN, (4, 5, 3)), (LOOSE, (5, 5, 5)), (STRICT, (4, 3, 4))):
        every = np.array(list(itertools.product(*map(range, sizes))))
        mine = every[rng.choice(len(every), 20)]
        known = TupleSet(torch.from_numpy(mine), sizes, form.alike)
        kept = {tuple(sorted_alike(form, row)) for row in mine.tolist()}
        expected = [tuple(sorted_alike(form, row)) in kept for row in every.tolist()]
        assert known.holds(torch.from_numpy(every)).tolist() == expected and len(known) == len(kept)
        assert sorted(map(tuple, known.rows.tolist())) == sorted(tuple(sorted_alike(form, r)) for r in mine.tolist())


def test_tuples_too_long_for_one_number_are_told_apart():
    rng = np.random.default_rng(0)
    rows = torch.from_numpy(rng.integers(0, 2**31, (50, 6)))
    known = TupleSet(rows, [2**31] * 6, [])
    other = rows.clone()
    other[:, 0] ^= 1
    assert known.holds(rows).all() and not known.holds(other).any()


def drawn(form, rows, sizes, *, per_positive=5, replaced=1.1, weights=None, seed=0):
    known = TupleSet(torch.as_tensor(rows), [sizes[t] for t in form.types], form.alike)
    noise = [TypeNoise(sizes[t], weights) for t in form.types]
    negatives = TupleNegatives(form, known, noise, replaced, possible_tuples(form, sizes))
    return known, negatives.draw(known.rows, per_positive, torch.Generator().manual_seed(seed))[0]


@pytest.mark.parametrize(("form", "sizes"), [(PLAIN, (4, 5, 3)), (LOOSE, (6,)), (STRICT, (5, 3))])
@pytest.mark.parametrize("replaced", [1.0, 1.1, 2.5, 9.0])
def test_no_negative_is_a_hyperedge_or_names_a_node_twice(form, sizes, replaced):
    rng = np.random.default_rng(0)
    all_of_them = itertools.product(*(range(sizes[t]) for t in form.types))
    every = [r for r in all_of_them if _distinct(form, r) and list(r) == sorted_alike(form, r)]
    rows = np.array(every)[rng.choice(len(every), len(every) // 2, replace=False)]  # half of all there are
    known, made = drawn(form, rows, sizes, replaced=replaced)
    kept = {tuple(sorted_alike(form, row)) for row in rows.tolist()}
    assert 0 < len(made) <= 5 * len(rows)
    for row in made.tolist():
        assert tuple(sorted_alike(form, row)) not in kept and _distinct(form, row)
        assert all(0 <= x < sizes[t] for x, t in zip(row, form.types, strict=True))
    if replaced == 1.0:  # one place from a hyperedge
        assert all(
            any(sum(a != b for a, b in zip(row, k, strict=True)) == 1 for k in known.rows.tolist())
            for row in made.tolist()
        )


def _distinct(form, row) -> bool:
    return len(set(zip(form.types, row, strict=True))) == len(row)


def test_which_position_and_which_node_is_drawn():
    """One hyperedge among many tuples: positions evenly, replacing nodes uniformly, two positions in a tenth."""
    sizes, per = (8, 8, 8), 40_000
    _, made = drawn(PLAIN, [[3, 4, 5]], sizes, per_positive=per)
    changed = (made != torch.tensor([3, 4, 5])).numpy()
    one = changed.sum(axis=1) == 1
    assert stats.chisquare(changed[one].sum(axis=0)).pvalue > 1e-3
    nodes = made.numpy()[one & changed[:, 1], 1]
    assert stats.chisquare(np.bincount(nodes, minlength=8)[[0, 1, 2, 3, 5, 6, 7]]).pvalue > 1e-3
    # two chosen in .1, and both differ in .875²; what was drawn again as it was, 1/8 of a position, is drawn anew
    both = 0.1 * (7 / 8) ** 2 / (0.1 * (1 - 1 / 64) + 0.9 * 7 / 8)
    assert (changed.sum(axis=1) == 2).mean() == pytest.approx(both, abs=5 * math.sqrt(both / per))


def test_noise_goes_by_weight():
    weights = torch.tensor([0.0, 1, 2, 0, 5])
    found = TypeNoise(5, weights).at(
        torch.rand(50_000, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    )
    counts = np.bincount(found.numpy(), minlength=5)
    assert counts[0] == counts[3] == 0
    assert stats.chisquare(counts[[1, 2, 4]], 50_000 * np.array([1, 2, 5]) / 8).pvalue > 1e-3
    ends = torch.tensor([0.0, 1 - 1e-16], dtype=torch.float64)
    assert TypeNoise(5, weights).at(ends).tolist() == [1, 4] and TypeNoise(5).at(ends).tolist() == [0, 4]
    assert TypeNoise(3, torch.zeros(3)).at(ends).tolist() == [0, 2]  # no node has a degree: all alike


def test_where_every_tuple_is_a_hyperedge_there_are_no_negatives():
    every = np.array(list(itertools.product(range(2), range(3), range(2))))
    assert len(drawn(PLAIN, every, (2, 3, 2))[1]) == 0
    pairs = np.array(list(itertools.combinations(range(4), 2)))
    form = Form(("node", "node_2"), (0, 0), ordered=False)
    assert possible_tuples(form, [4]) == 6 and len(drawn(form, pairs, (4,))[1]) == 0
    assert possible_tuples(STRICT, [4, 3]) == 4 * 3 * 3


def test_only_one_tuple_is_no_hyperedge_and_it_is_found():
    every = np.array(list(itertools.product(range(2), range(3), range(2))))
    _, made = drawn(PLAIN, every[1:], (2, 3, 2), replaced=3.0)
    assert len(made) > 0 and (made == 0).all()
