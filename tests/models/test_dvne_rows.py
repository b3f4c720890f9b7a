"""The rows that DVNE reads of a graph: transition probabilities, some of them, and some of their entries."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from dvne_networks import N, dense, random_graph, rows_of
from netfold.learn.sparse_rows import dropped
from netfold.models.dvne.batches import steps


def test_rows_are_those_of_the_transition_matrix():
    graph = random_graph()
    assert (steps(graph.adjacency) != graph.transition()).nnz == 0


def test_a_sink_reads_the_arcs_that_enter_it():
    graph = random_graph(directed=True)
    found = steps(graph.adjacency, graph.adjacency.T).toarray()
    a = graph.adjacency.toarray()
    for i in range(N):
        row = a[i] if a[i].any() else a[:, i]
        np.testing.assert_allclose(found[i], row / (row.sum() or 1), rtol=1e-6)
    assert not a[7].any() and a[:, 7].any() and found[7].any()


@pytest.mark.parametrize("picked", [[], [4], [3, 0, 5, 2], list(range(N))[::-1]])
def test_rows_are_taken_as_scipy_takes_them(picked):
    graph = random_graph()
    whole = rows_of(graph)
    found, wanted = whole.take(torch.tensor(picked, dtype=torch.int64)), steps(graph.adjacency)[picked]
    right = torch.randn(N, 4, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    left = torch.randn(len(picked), 4, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    np.testing.assert_allclose(found.matmul(right), wanted.toarray() @ right.numpy(), atol=1e-7)
    into = torch.ones(N, 4, dtype=torch.float64)
    found.add_transposed_matmul(left, into)
    np.testing.assert_allclose(into, 1 + wanted.toarray().T @ left.numpy(), atol=1e-7)
    assert (found.touched is None) == (2 * len(np.unique(wanted.indices)) >= N)


def test_dropped_rows_are_the_same_rows_with_fewer_entries():
    rows = rows_of(random_graph())
    generator = torch.Generator().manual_seed(0)
    share, rounds = 0.0, 400
    for _ in range(rounds):
        seen = dropped(rows, 0.3, generator, sum_to_one=True)
        left, given_ = dense(seen), dense(rows)
        sums = left.sum(1)
        assert bool(torch.isclose(sums, torch.ones_like(sums)).logical_or(sums == 0).all())
        kept = left > 0
        assert not bool((kept & (given_ == 0)).any())
        for i in range(N):
            wanted = given_[i] * kept[i]
            assert torch.allclose(left[i] * wanted.sum(), wanted)
        share += float((seen.values == 0).double().mean()) / rounds
    assert share == pytest.approx(0.3, abs=0.02)
