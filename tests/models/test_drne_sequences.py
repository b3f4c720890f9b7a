"""DRNE's sequences of neighbors: packed by steps, drawn by degree, and no larger in memory than a piece."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from allocations import Allocations
from drne_networks import N, all_batches, make_network, neighbors, random_matrix, sequences_of
from netfold.data.graph import Graph
from netfold.models.drne import DRNE
from netfold.models.drne.batches import Packed, Sequences, batches, packed_pieces
from problems import problem_of

# -------------------------------------------------------------------- packing


def test_packed_steps_hold_every_neighbor_once_in_its_order():
    matrix = random_matrix()
    sequences = sequences_of(matrix)
    for piece in (1, 7, 10**6):
        seen = 0
        for rows, packed in packed_pieces(sequences, piece):
            lists = [[] for _ in rows]
            assert packed.alive == sorted(packed.alive, reverse=True)
            for now, before in packed.steps:
                assert now.stop - now.start == before.stop - before.start
                for r, u in enumerate(packed.entries[now].tolist()):
                    lists[r].append(u)
            assert lists == [neighbors(sequences, int(v)) for v in rows]
            longest = max(map(len, lists))
            assert sum(packed.alive) <= piece + longest  # bounded, but for one sequence
            seen += len(rows)
        assert seen == N


def test_packing_nothing():
    empty = Packed.of(Sequences(torch.zeros(4, dtype=torch.int64), torch.zeros(0, dtype=torch.int64)))
    assert empty.alive == [] and empty.steps == [] and len(empty.entries) == len(empty.last) == len(empty.before) == 0


# -------------------------------------------------------------------- drawing


def drawn(sequences: Sequences, degrees: torch.Tensor, most: int, seed: int) -> Sequences:
    generator = torch.Generator().manual_seed(seed)
    return sequences.sampled(
        most,
        lambda nodes: torch.empty(len(nodes), dtype=torch.float64).exponential_(generator=generator) / degrees[nodes],
    )


def test_only_long_sequences_are_drawn_from_and_stay_in_order():
    sequences = sequences_of(random_matrix())
    asked = []
    made = sequences.sampled(
        4, lambda nodes: asked.append(nodes) or torch.arange(len(nodes), dtype=torch.float64).flip(0)
    )
    for v in range(N):
        mine, all_of_them = neighbors(made, v), neighbors(sequences, v)
        assert mine == all_of_them[-4:]  # the smallest keys are the last ones
    assert sum(map(len, asked)) == sum(
        len(neighbors(sequences, v)) for v in range(N) if len(neighbors(sequences, v)) > 4
    )
    assert sequences.sampled(10**6, lambda nodes: 1 / 0) is sequences


def test_neighbors_are_drawn_without_repetition_in_proportion_to_degree():
    """All ordered draws of 2 from 4: P({a, b}) = p_a p_b / (1 - p_a) + p_b p_a / (1 - p_b). Chi-square at 0.1%."""
    degrees, runs = torch.tensor([1.0, 2.0, 3.0, 6.0]), 20_000
    starts = torch.arange(runs + 1) * 4
    made = drawn(Sequences(starts, torch.arange(4).repeat(runs)), degrees, 2, seed=0).nodes.view(runs, 2)
    assert bool((made[:, 0] < made[:, 1]).all())
    p = (degrees / degrees.sum()).tolist()
    pairs = [(a, b) for a in range(4) for b in range(a + 1, 4)]
    expected = np.array([p[a] * p[b] / (1 - p[a]) + p[b] * p[a] / (1 - p[b]) for a, b in pairs])
    assert expected.sum() == pytest.approx(1)
    counts = np.array([int(((made[:, 0] == a) & (made[:, 1] == b)).sum()) for a, b in pairs])
    chi_square = float((np.square(counts - runs * expected) / (runs * expected)).sum())
    assert chi_square < 20.5  # 5 degrees of freedom
    uniform = np.full(6, runs / 6)
    assert float((np.square(counts - uniform) / uniform).sum()) > 1000


def test_each_epoch_draws_anew_and_the_same_for_the_same_generator():
    matrix = random_matrix()
    network = make_network(matrix)
    one, same, other = (
        torch.cat([p.packed.entries for b in all_batches(matrix, network, most=3, seed=s) for p in b.pieces])
        for s in (1, 1, 2)
    )
    assert torch.equal(one, same) and not torch.equal(one, other)


def test_the_degree_that_is_asked_for_is_that_of_the_graph_not_of_the_draw():
    matrix = random_matrix()
    network = make_network(matrix)
    found = {}
    for batch in all_batches(matrix, network, most=2, batch_size=6):
        for piece in batch.pieces:
            found |= dict(zip(batch.nodes[piece.rows].tolist(), piece.log_degrees.tolist(), strict=True))
            assert max(piece.packed.alive, default=0) and len(piece.packed.alive) <= 2
    assert sorted(found) == list(range(N))
    np.testing.assert_allclose([found[v] for v in range(N)], np.log(np.diff(matrix.indptr) + 1.0))


# -------------------------------------------------------------------- size


def test_memory_is_bounded_by_pieces_and_nodes_read():
    """2,000 nodes, 40,000 neighbors: nothing has as many numbers as all neighbors' gates, nor as there are pairs."""
    graph = Graph.from_edges(np.random.default_rng(0).integers(0, 2000, (20_000, 2)))
    model = DRNE(dim=8, epochs=1, batch_size=200)
    network = problem_of(model, graph).network
    sequences = Sequences.of(model._read(graph).linked, network.colors.numpy())
    piece = 1000
    with Allocations() as largest:
        for batch in batches(sequences, network.colors, most=300, batch_size=200, piece=piece)(
            torch.Generator().manual_seed(0)
        ):
            network.loss(batch)
    bound = max(2 * piece, graph.n_nodes) * 4 * 8  # a piece's gates, or what all nodes add to the gates
    assert 0 < largest.numbers <= max(bound, len(sequences.nodes))
    assert bound < len(sequences.nodes) * 4 * 8 / 10 * 2 < graph.n_nodes**2
