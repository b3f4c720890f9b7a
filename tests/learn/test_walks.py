"""Walks against the exact probabilities of their steps, and links against dense matrices."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy import sparse, stats

from netfold.learn import walks as walks_module
from netfold.learn.walks import Links, random_walks

KINDS = {"plain": (False, False), "weighted": (True, False), "directed": (False, True), "both": (True, True)}
"""Whether weighted, whether directed."""
kinds = pytest.mark.parametrize("kind", KINDS)
biases = pytest.mark.parametrize(("p", "q"), [(1, 1), (0.25, 4), (4, 0.25), (0.01, 1), (0.5, 2), (30, 0.05)])


def some_matrix(kind: str, n: int = 9, seed: int = 3) -> np.ndarray:
    """Random links, triangles and a self-loop among them; every node has some."""
    weighted, directed = KINDS[kind]
    rng = np.random.default_rng(seed)
    dense = (rng.random((n, n)) < 0.35) * (rng.uniform(0.1, 5, (n, n)) if weighted else 1.0)
    dense[np.arange(n), (np.arange(n) + 1) % n] = 1  # a ring
    dense[2, 2] = 1
    return dense if directed else np.maximum(dense, dense.T)


def links_of(dense: np.ndarray) -> Links:
    return Links.from_scipy(sparse.csr_array(dense.astype(np.float32)))


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def exact_step(dense: np.ndarray, t: int, v: int, p: float, q: float) -> np.ndarray:
    """The probabilities of Grover and Leskovec's Eq. (2), one neighbor after another."""
    weights = np.zeros(len(dense))
    for x in range(len(dense)):
        if dense[v, x] > 0:
            alpha = 1 / p if x == t else 1.0 if dense[t, x] > 0 else 1 / q
            weights[x] = dense[v, x] * alpha
    return weights / weights.sum()


def chance(dense: np.ndarray, walks: np.ndarray, p: float, q: float) -> float:
    """The p-value of all steps after the first, against the exact probabilities, pair (t, v) by pair."""
    n = len(dense)
    triples = np.concatenate([walks[:, i : i + 3] for i in range(walks.shape[1] - 2)])
    triples = triples[(triples >= 0).all(axis=1)]
    counts = np.zeros((n, n, n))
    np.add.at(counts, tuple(triples.T), 1)
    statistic, freedom = 0.0, 0
    for t, v in np.argwhere(counts.sum(axis=2) > 0):
        expected = exact_step(dense, t, v, p, q) * counts[t, v].sum()
        assert not counts[t, v][expected == 0].any(), "a step along no link"
        enough = expected >= 5
        if enough.sum() > 1:
            seen = np.append(counts[t, v][enough], counts[t, v][~enough].sum())
            due = np.append(expected[enough], expected[~enough].sum())
            some = due > 0
            statistic += ((seen[some] - due[some]) ** 2 / due[some]).sum()
            freedom += some.sum() - 1
    assert freedom >= 20
    return float(stats.chi2.sf(statistic, freedom))


# ---------------------------------------------------------------- steps


@kinds
@biases
def test_steps_have_their_exact_probabilities(kind, p, q):
    dense = some_matrix(kind)
    walks = random_walks(links_of(dense), torch.arange(9).repeat(3000), 6, seeded(), p=p, q=q).numpy()
    assert chance(dense, walks, p, q) > 1e-3


@kinds
@pytest.mark.parametrize(("p", "q"), [(0.25, 4), (4, 0.25)])
def test_steps_from_lists_have_the_same_probabilities(kind, p, q, monkeypatch):
    monkeypatch.setattr(walks_module, "_ROUNDS", 0)
    monkeypatch.setitem(walks_module.PIECE, "cpu", 1000)  # several pieces
    dense = some_matrix(kind)
    walks = random_walks(links_of(dense), torch.arange(9).repeat(3000), 6, seeded(), p=p, q=q).numpy()
    assert chance(dense, walks, p, q) > 1e-3


def test_a_few_rounds_and_then_lists(monkeypatch):
    monkeypatch.setattr(walks_module, "_ROUNDS", 1)
    dense = some_matrix("weighted")
    walks = random_walks(links_of(dense), torch.arange(9).repeat(3000), 6, seeded(), p=0.3, q=3).numpy()
    assert chance(dense, walks, 0.3, 3) > 1e-3


def test_the_test_of_steps_can_fail():
    dense = some_matrix("plain")
    walks = random_walks(links_of(dense), torch.arange(9).repeat(3000), 6, seeded(), p=1, q=1.2).numpy()
    assert chance(dense, walks, 1, 1.2) > 1e-3
    assert chance(dense, walks, 1, 1) < 1e-6


@kinds
def test_first_steps_are_in_proportion_to_weights(kind):
    dense = some_matrix(kind)
    walks = random_walks(links_of(dense), torch.full((40_000,), 2), 2, seeded(), p=0.1, q=7).numpy()
    due = dense[2] / dense[2].sum() * len(walks)
    seen = np.bincount(walks[:, 1], minlength=9)
    assert stats.chisquare(seen[due > 0], due[due > 0]).pvalue > 1e-3
    assert not seen[due == 0].any()


def test_where_almost_nothing_is_accepted_steps_are_still_exact():
    """On a tree no two neighbors of a node are linked: with p = q = 500 all alpha are 1/500."""
    dense = np.zeros((9, 9))
    for child in range(1, 9):
        dense[child, (child - 1) // 2] = dense[(child - 1) // 2, child] = child
    walks = random_walks(links_of(dense), torch.arange(9).repeat(1500), 6, seeded(), p=500, q=500).numpy()
    assert chance(dense, walks, 500, 500) > 1e-3


def test_deepwalk_rejects_nothing(monkeypatch):
    monkeypatch.setattr(walks_module._Step, "__call__", None)
    assert random_walks(links_of(some_matrix("weighted")), torch.arange(9), 5, seeded()).shape == (9, 5)


# ---------------------------------------------------------------- walks


def test_a_walk_ends_where_there_is_no_link():
    dense = np.zeros((5, 5))
    dense[0, 1] = dense[1, 2] = dense[3, 3] = 1
    walks = random_walks(links_of(dense), torch.tensor([0, 1, 2, 3, 4]), 4, seeded(), p=0.5, q=2)
    assert walks.tolist() == [[0, 1, 2, -1], [1, 2, -1, -1], [2, -1, -1, -1], [3, 3, 3, 3], [4, -1, -1, -1]]


def test_a_leaf_turns_back_at_once_however_large_p_is():
    star = np.zeros((4, 4))
    star[0, 1:] = star[1:, 0] = 1
    walks = random_walks(links_of(star), torch.tensor([1] * 50), 9, seeded(), p=1e9, q=1)
    assert (walks[:, 1::2] == 0).all()
    leaves = walks[:, 0::2]
    assert (leaves[:, 1:] != leaves[:, :-1]).all()  # from the hub, never back to the leaf it came from


def test_walks_come_from_the_generator_alone():
    links, nodes, state = links_of(some_matrix("both")), torch.arange(9), torch.random.get_rng_state()
    one, two, other = (random_walks(links, nodes, 30, seeded(s), p=0.5, q=2) for s in (1, 1, 2))
    assert torch.equal(one, two) and not torch.equal(one, other)
    assert torch.equal(state, torch.random.get_rng_state())


def test_no_walks_and_no_steps():
    links = links_of(some_matrix("plain"))
    assert random_walks(links, torch.zeros(0, dtype=torch.int64), 4, seeded(), p=2, q=2).shape == (0, 4)
    assert random_walks(links, torch.arange(9), 1, seeded(), p=2, q=2).tolist() == [[i] for i in range(9)]


# ---------------------------------------------------------------- links


@kinds
def test_links_are_those_of_the_matrix(kind):
    dense = some_matrix(kind, n=13)
    links, n = links_of(dense), len(dense)
    assert (links.shares is None) == (kind in ("plain", "directed")) and not links.some_end
    i, j = (torch.from_numpy(x.ravel()) for x in np.indices((n, n)))
    there = torch.from_numpy(dense.ravel() > 0)
    assert torch.equal(links.linked(i, j), there)
    found = links.find(i, j)
    assert torch.equal(found >= 0, there) and torch.equal(links.ends[found[there]], j[there])
    share = torch.from_numpy((dense / dense.sum(axis=1, keepdims=True)).ravel())
    torch.testing.assert_close(links.share(found), share, rtol=1e-6, atol=1e-9)
    turned = links.turned[found[there]]
    assert torch.equal(turned, links.find(j[there], i[there]))


def test_a_table_full_of_other_links_changes_no_answer(monkeypatch):
    monkeypatch.setattr("netfold.learn.walks._SLOTS", 1)
    dense = some_matrix("plain", n=40)
    i, j = (torch.from_numpy(x.ravel()) for x in np.indices((40, 40)))
    assert torch.equal(links_of(dense).linked(i, j), torch.from_numpy(dense.ravel() > 0))


def test_heavy_rows_take_no_digits_from_light_ones():
    dense = np.zeros((4, 4))
    dense[0, 1], dense[0, 2], dense[1, 0], dense[1, 2], dense[2, 3] = 1e30, 3e30, 1e-30, 3e-30, 1
    links = links_of(dense)
    for row in (0, 1):
        drawn = links.drawn(torch.full((40_000,), row), torch.rand(40_000, dtype=torch.float64, generator=seeded()))
        assert set(drawn.tolist()) == {2 * row, 2 * row + 1}
        assert (drawn == 2 * row).double().mean() == pytest.approx(0.25, abs=0.01)


@kinds
def test_draws_stay_within_their_row(kind):
    links = links_of(some_matrix(kind))
    ends = torch.tensor([0.0, np.nextafter(1, 0)], dtype=torch.float64)
    for row in range(9):
        first, last = links.drawn(torch.tensor([row, row]), ends).tolist()
        assert (first, last) == (int(links.starts[row]), int(links.starts[row + 1]) - 1)


@pytest.mark.slow
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA")
def test_a_generator_of_the_cpu_gives_the_same_walks_on_a_gpu():
    matrix = sparse.csr_array(some_matrix("both").astype(np.float32))
    one, two = (
        random_walks(Links.from_scipy(matrix, d), torch.arange(9, device=d), 20, seeded(), p=0.5, q=2).cpu()
        for d in ("cpu", "cuda")
    )
    assert torch.equal(one, two)
