"""Skip-gram's sums against scalar loops in float64, its batches and its start."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest
import torch
from scipy import sparse
from torch import Tensor

from netfold.learn import skipgram
from netfold.learn import skipgram as contexts_module
from netfold.learn.skipgram import (
    Noise,
    center_weights,
    distance_weights,
    negative_sum,
    pair_batches,
    pair_sum,
    places_of,
    window_batches,
    window_sum,
)
from netfold.learn.solvers import leading_eigenvectors
from netfold.learn.sparse_rows import SparseRows
from netfold.learn.starts import spectral_start
from netfold.learn.walks import Links


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def noise(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, dtype=torch.float64, generator=seeded(seed)).requires_grad_()


def log_sigmoid(x: Tensor) -> Tensor:
    return -torch.log(1 + torch.exp(-x))


def both_gradients(total: Tensor, *of: Tensor) -> list[Tensor]:
    return list(torch.autograd.grad(total, of, retain_graph=True))


def assert_same(fast: Tensor, slow: Tensor, *of: Tensor) -> None:
    torch.testing.assert_close(fast, slow, rtol=1e-10, atol=1e-12)
    for mine, naive in zip(both_gradients(fast, *of), both_gradients(slow, *of), strict=True):
        torch.testing.assert_close(mine, naive, rtol=1e-9, atol=1e-12)


# ---------------------------------------------------------------- the sums

WALKS = torch.tensor([[0, 1, 2, 1, 0, 3, 5], [4, 4, 5, 0, -1, -1, -1], [3, -1, -1, -1, -1, -1, -1]])
"""With a node that comes by again, a self-loop, and walks that ended early."""


def naive_windows(z: Tensor, c: Tensor, walks: Tensor, window: int) -> Tensor:
    total = z.new_zeros(())
    for walk in walks.tolist():
        for t, center in enumerate(walk):
            for s, context in enumerate(walk):
                if s != t and abs(s - t) <= window and min(center, context) >= 0:
                    total = total - (window - abs(s - t) + 1) / window * log_sigmoid(z[center] @ c[context])
    return total


@pytest.mark.parametrize("window", [1, 2, 5, 20])
def test_windows_against_a_loop(window):
    z, c = noise(6, 3), noise(6, 3, seed=1)
    assert_same(window_sum(z, c, WALKS, window), naive_windows(z, c, WALKS, window), z, c)


def test_long_walks_in_bands_and_pieces(monkeypatch):
    walks = torch.randint(0, 6, (5, 70), generator=seeded(2))
    walks[3, 41:] = -1
    z, c = noise(6, 3), noise(6, 3, seed=1)
    whole = window_sum(z, c, walks, 4)
    assert_same(whole, naive_windows(z, c, walks, 4), z, c)
    monkeypatch.setitem(skipgram.PIECE, "cpu", 500)
    assert_same(window_sum(z, c, walks, 4), whole, z, c)


def test_the_weights_are_the_chances_of_a_drawn_window():
    rng = np.random.default_rng(0)
    drawn = rng.integers(1, 6, 200_000)
    for distance, weight in enumerate(distance_weights(5).tolist()):
        assert distance == 0 or weight == pytest.approx((drawn >= distance).mean(), abs=0.005)


@pytest.mark.parametrize("window", [1, 3, 10])
def test_center_weights_against_a_loop(window):
    found = center_weights(WALKS, window)
    for b, walk in enumerate(WALKS.tolist()):
        for t, center in enumerate(walk):
            there = [abs(s - t) for s, x in enumerate(walk) if s != t and x >= 0 and center >= 0]
            naive = sum((window - distance + 1) / window for distance in there if distance <= window)
            assert found[b, t] == pytest.approx(naive, rel=1e-5)


def test_pairs_against_a_loop(monkeypatch):
    z, c, pairs = noise(6, 3), noise(6, 3, seed=1), torch.tensor([[0, 1, 1, 5, 0], [1, 0, 3, 5, 1]])
    slow = -sum(log_sigmoid(z[i] @ c[j]) for i, j in pairs.t().tolist())
    assert_same(pair_sum(z, c, pairs), slow, z, c)
    monkeypatch.setitem(skipgram.PIECE, "cpu", 6)
    assert_same(pair_sum(z, c, pairs), slow, z, c)


def test_one_table_for_both_ends():
    """LINE's first order: the gradients of both ends come together."""
    z, pairs = noise(6, 3), torch.tensor([[0, 1, 1, 5], [1, 0, 3, 5]])
    slow = -sum(log_sigmoid(z[i] @ z[j]) for i, j in pairs.t().tolist())
    assert_same(pair_sum(z, z, pairs), slow, z)


def test_negatives_against_a_loop(monkeypatch):
    z, c = noise(6, 3), noise(6, 3, seed=1)
    centers, drawn = torch.tensor([[0, 1, 1], [5, 3, 0]]), torch.tensor([[2, 2, 4, 0], [1, 5, 3, 3]])
    weights = torch.tensor([[0.5, 2.0, 1.0], [3.0, 0.1, 0.0]], dtype=torch.float64)
    slow = z.new_zeros(())
    for g in range(2):
        for t in range(3):
            for s in range(4):
                slow = slow - weights[g, t] * log_sigmoid(-z[centers[g, t]] @ c[drawn[g, s]])
    assert_same(negative_sum(z, c, centers, weights, drawn), slow, z, c)
    monkeypatch.setitem(skipgram.PIECE, "cpu", 10)
    assert_same(negative_sum(z, c, centers, weights, drawn), slow, z, c)


@pytest.mark.parametrize("scale", [0.0, 1.0, 1e4])
def test_scores_of_any_size_are_finite(scale):
    z, c = (scale * noise(6, 3)).float().detach().requires_grad_(), (scale * noise(6, 3, seed=1)).float().detach()
    total = window_sum(z, c, WALKS, 3) + negative_sum(z, c, WALKS[:1], torch.ones(1, 7), WALKS[:1])
    assert total.isfinite() and both_gradients(total, z)[0].isfinite().all()


def test_perfect_and_terrible_vectors():
    z = torch.eye(2, dtype=torch.float64) * 50
    same, other = torch.tensor([[0], [0]]), torch.tensor([[0], [1]])
    assert float(pair_sum(z, z, same)) == pytest.approx(0) and float(pair_sum(z, -z, same)) == pytest.approx(2500)
    assert float(pair_sum(z, z, other)) == pytest.approx(math.log(2))


def test_empty_batches_are_zero():
    z, c, none = noise(6, 3).detach(), noise(6, 3, seed=1).detach(), torch.zeros(0, dtype=torch.int64)
    assert float(pair_sum(z, c, none.view(2, 0))) == float(window_sum(z, c, none.view(0, 5), 2)) == 0


# ---------------------------------------------------------------- batches


def some_graph(n: int = 12) -> sparse.csr_array:
    rng = np.random.default_rng(1)
    dense = np.triu((rng.random((n, n)) < 0.3) * rng.uniform(0.5, 3, (n, n)), 1)
    dense[np.arange(n - 1), np.arange(1, n)] = 1
    dense = dense + dense.T
    dense[4], dense[:, 4] = 0, 0  # alone
    return sparse.csr_array(dense.astype(np.float32))


def windows(**changed) -> tuple[Links, list]:
    graph = some_graph()
    asked = {"p": 0.5, "q": 2, "walks": 3, "length": 9, "window": 2, "n_negatives": 5, "batch_size": 4} | changed
    return Links.from_scipy(graph), list(window_batches(Links.from_scipy(graph), Noise.of(graph), **asked)(seeded()))


def test_an_epoch_walks_from_every_node_with_links():
    links, batches = windows()
    starts = torch.cat([batch.nodes[batch.walks[:, 0]] for batch in batches])
    assert torch.equal(torch.bincount(starts, minlength=12), 3 * (links.degrees > 0).long())
    assert [len(batch.walks) for batch in batches] == [4] * 8 + [1]
    for batch in batches:
        assert torch.equal(batch.nodes, batch.nodes.unique())
        assert len(batch.context_nodes) == len(batch.context_nodes.unique())
        nodes = batch.nodes[batch.walks]
        assert links.linked(nodes[:, :-1].flatten(), nodes[:, 1:].flatten()).all()


def test_the_terms_of_a_batch_are_the_sums_of_its_parts():
    _, batches = windows()
    z, c, k = noise(12, 3), noise(12, 3, seed=1), 5
    batch = batches[0]
    terms = batch.terms(z[batch.nodes], c[batch.context_nodes])
    torch.testing.assert_close(terms["contexts"], naive_windows(z, c, batch.nodes[batch.walks], 2))
    slow, flat = z.new_zeros(()), batch.nodes[batch.walks].flatten().tolist()
    for i, (center, weight) in enumerate(zip(flat, center_weights(batch.walks, 2).flatten().tolist(), strict=True)):
        drawn = batch.context_nodes[batch.against.drawn[i // 20]]
        slow = slow - weight * k / len(drawn) * sum(log_sigmoid(-z[center] @ c[x]) for x in drawn)
    torch.testing.assert_close(terms["negatives"], slow, rtol=1e-6, atol=0)


def test_shared_negatives_are_k_for_each_pair_in_expectation():
    """The mean over many draws, against the sum over all nodes by their probabilities."""
    graph, z, c = some_graph(), noise(12, 3).detach(), noise(12, 3, seed=1).detach()
    noise_, k = Noise.of(graph), 5
    chances = torch.diff(noise_.sums, prepend=torch.zeros(1))
    found, exact = 0.0, 0.0
    for batch in (b for seed in range(60) for b in window_list(graph, noise_, k, seed)):
        found += float(batch.terms(z[batch.nodes], c[batch.context_nodes])["negatives"])
        centers = batch.nodes[batch.walks].flatten()
        per_center = -log_sigmoid(-z[centers] @ c.T) @ chances
        exact += k * float(center_weights(batch.walks, 2).flatten().double() @ per_center)
    assert found == pytest.approx(exact, rel=0.01)


def window_list(graph: sparse.csr_array, noise_: Noise, k: int, seed: int) -> list:
    asked = {"p": 1, "q": 1, "walks": 2, "length": 9, "window": 2, "n_negatives": k, "batch_size": 8}
    return list(window_batches(Links.from_scipy(graph), noise_, **asked)(seeded(seed)))


def test_nodes_are_drawn_by_degree_to_the_three_quarters():
    graph = some_graph()
    degrees = graph.sum(axis=1)
    due = degrees**0.75 / (degrees**0.75).sum()
    seen = torch.bincount(Noise.of(graph).draw(200_000, seeded()), minlength=12) / 200_000
    np.testing.assert_allclose(seen, due, atol=0.004)
    assert seen[4] == 0
    arcs = sparse.csr_array(np.array([[0, 1.0], [0, 0]]))
    assert torch.allclose(Noise.of(arcs).sums, torch.tensor([0.5, 1.0], dtype=torch.float64))  # a sink is drawn, too


def test_links_are_drawn_by_weight():
    graph = some_graph()
    links, weights = Links.from_scipy(graph), torch.from_numpy(graph.data)
    of = pair_batches(links, weights, Noise.of(graph), samples=50_001, n_negatives=5, batch_size=1000)
    batches = list(of(seeded()))
    assert [batch.pairs.shape[1] for batch in batches] == [1000] * 50 + [1]
    pairs = torch.cat([batch.nodes[batch.pairs] for batch in batches], dim=1)
    seen = torch.bincount(links.find(pairs[0], pairs[1]), minlength=graph.nnz) / 50_001
    np.testing.assert_allclose(seen, graph.data / graph.data.sum(), atol=0.004)
    assert all(torch.equal(b.against.centers.flatten()[: b.pairs.shape[1]], b.pairs[0]) for b in batches)
    assert float(sum(b.against.weights.sum() for b in batches)) * contexts_module.DRAWN == pytest.approx(5 * 50_001)


@pytest.mark.parametrize("pairs", [False, True])
def test_slopes_are_those_of_autograd_to_the_bit(pairs):
    graph = some_graph()
    batch = windows()[1][0]
    if pairs:
        links, weights = Links.from_scipy(graph), torch.from_numpy(graph.data)
        of = pair_batches(links, weights, Noise.of(graph), samples=50, n_negatives=5, batch_size=50)
        batch = next(of(seeded()))
    z = torch.randn(len(batch.nodes), 5, generator=seeded(0)).requires_grad_()
    c = torch.randn(len(batch.context_nodes), 5, generator=seeded(1)).requires_grad_()
    slow = batch.terms(z, c)
    terms, left, right = batch.terms_and_slopes(z.detach(), c.detach())
    assert all(torch.equal(terms[name], slow[name]) for name in slow)
    for mine, theirs in zip((left, right), torch.autograd.grad(sum(slow.values()), (z, c)), strict=True):
        assert torch.equal(mine, theirs) and mine.abs().sum() > 0


def check_table_slopes(batch, n):
    """Each row's place is found, at once and in pieces of one group or one walk."""
    for piece in (contexts_module.PIECE["cpu"], 1):
        with pytest.MonkeyPatch.context() as patch:
            patch.setitem(contexts_module.PIECE, "cpu", piece)
            check_slopes(batch, n)


def check_slopes(batch, n):
    z, c = (torch.randn(n, 5, generator=seeded(k), dtype=torch.float64).requires_grad_() for k in (0, 1))
    slow = batch.terms(z[batch.nodes], c[batch.context_nodes])
    terms, left, right = batch.table_slopes(z.detach(), c.detach())
    for name in slow:
        torch.testing.assert_close(terms[name], slow[name].detach(), rtol=1e-9, atol=1e-9)
    whole = torch.autograd.grad(sum(slow.values()), (z, c))
    for mine, at, theirs in zip((left, right), (batch.nodes, batch.context_nodes), whole, strict=True):
        torch.testing.assert_close(torch.zeros_like(theirs).index_add_(0, at, mine), theirs, rtol=1e-9, atol=1e-9)
        assert mine.abs().sum() > 0


@pytest.mark.parametrize("count", [1, 40, 50])
def test_slopes_of_tables_by_pairs_are_those_of_autograd(count):
    graph = some_graph()
    links, weights = Links.from_scipy(graph), torch.from_numpy(graph.data)
    of = pair_batches(links, weights, Noise.of(graph), samples=count, n_negatives=5, batch_size=count)
    check_table_slopes(next(of(seeded())), graph.shape[0])


@pytest.mark.parametrize("length, ends", [(40, False), (7, False), (7, True)])
def test_slopes_of_tables_by_walks_are_those_of_autograd(length, ends):
    graph = some_graph()
    of = window_batches(
        Links.from_scipy(graph), Noise.of(graph), p=1.0, q=1.0, walks=1, length=length, window=3, n_negatives=5,
        batch_size=9,
    )  # fmt: skip
    batch = next(of(seeded()))
    if ends:  # as in a directed graph
        walks = batch.walks.clone()
        walks[2, 3:], walks[5, 1:] = -1, -1
        weights = contexts_module._against(
            walks.clamp(min=0).flatten(), center_weights(walks, 3).flatten(), batch.against.drawn, 5
        )
        batch = dataclasses.replace(batch, walks=walks, against=weights)
    check_table_slopes(batch, graph.shape[0])


@pytest.mark.parametrize("n", [40, 100_000])
def test_distinct_nodes_are_those_of_unique(n):
    nodes = torch.randint(40, (6, 5), generator=seeded())
    for mine, theirs in zip(contexts_module._distinct(nodes, n), torch.unique(nodes, return_inverse=True), strict=True):
        assert torch.equal(mine, theirs)


def test_places_by_a_table_are_those_by_a_search():
    nodes, drawn = torch.tensor([1, 4, 7]), torch.tensor([[4, 9, 2], [9, 1, 0]])
    for n in (10, None):
        alone, places = places_of(nodes, drawn, n)
        assert alone.tolist() == [0, 2, 9] and places.tolist() == [[1, 5, 4], [5, 0, 3]]


def test_weights_of_whole_walks_are_those_of_each():
    whole = WALKS[:1].repeat(3, 1)
    assert torch.equal(center_weights(whole, 3)[0], center_weights(WALKS, 3)[0])
    assert torch.equal(center_weights(whole, 3)[2], center_weights(whole, 3)[0])


# ---------------------------------------------------------------- the start


def test_leading_eigenvectors_of_a_small_graph():
    dense = some_graph().toarray().astype(np.float64)
    dense = np.delete(np.delete(dense, 4, 0), 4, 1)
    roots = 1 / np.sqrt(dense.sum(axis=1))
    scaled = roots[:, None] * dense * roots
    top = np.sqrt(dense.sum(axis=1) / dense.sum())
    rows = SparseRows.from_scipy(sparse.csr_array(scaled), dtype=torch.float64)
    values, vectors = leading_eigenvectors(rows, 4, seeded(), without=torch.from_numpy(top), rounds=60)
    due, due_vectors = np.linalg.eigh(scaled - np.outer(top, top))
    np.testing.assert_allclose(values, due[::-1][:4], atol=1e-8)
    np.testing.assert_allclose(np.abs((vectors.numpy() * due_vectors[:, ::-1][:, :4]).sum(axis=0)), 1, atol=1e-6)


def test_the_start_is_nearer_to_the_optimum_than_chance():
    graph = some_graph(60)
    z, c = spectral_start(graph, 16, 2, 5, seeded())
    assert z.shape == c.shape == (60, 16) and not z[4].any() and not c[4].any()
    batches = window_list(graph, Noise.of(graph), 5, 0)

    def objective(z: Tensor, c: Tensor) -> float:
        return sum(float(sum(b.terms(z[b.nodes], c[b.context_nodes]).values())) for b in batches)

    constant = objective(*(torch.full((60, 1), s * math.sqrt(math.log(5))) for s in (1, -1)))
    assert objective(z, c) < 0.97 * constant < 0.7 * objective(torch.zeros(60, 1), torch.zeros(60, 1))


@pytest.mark.parametrize("dim", [1, 2, 40])
def test_the_start_has_any_width(dim):
    z, c = spectral_start(some_graph(), dim, 10, 1, seeded())
    assert z.shape == c.shape == (12, dim) and z.isfinite().all() and c.isfinite().all()
