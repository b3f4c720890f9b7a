"""DVNE's triplets: all valid ones and no other, drawn uniformly, or by walks of several steps."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.stats import chisquare

from dvne_networks import make_network, nodes_of, random_graph, rows_of, triplets_of, valid_triplets
from netfold.data.edges import links
from netfold.data.graph import Graph
from netfold.models.dvne.batches import Triplets, batches


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_every_number_is_another_valid_triplet_and_all_have_one(seed, directed):
    graph = random_graph(seed, directed=directed)
    triplets, wanted = triplets_of(graph), valid_triplets(graph)
    found = triplets.at(torch.arange(len(triplets))).T.tolist()
    assert len(triplets) == len(wanted) == len(found)
    assert set(map(tuple, found)) == set(wanted)


@settings(max_examples=60, deadline=None)
@given(arrays(np.bool_, st.integers(2, 8).map(lambda n: (n, n))))
def test_so_it_is_in_any_small_graph(pattern):
    graph = Graph.from_scipy(pattern.astype(np.float32), directed=True)
    triplets = triplets_of(graph)
    found = [tuple(t) for t in triplets.at(torch.arange(len(triplets))).T.tolist()]
    assert sorted(found) == valid_triplets(graph)


def test_drawn_triplets_are_uniform_over_all_valid_ones():
    """Not merely over edges: a node of degree d is taken d (n - 1 - d) times, so the hub less often than by edges."""
    graph = random_graph(1)
    network, wanted = make_network(), valid_triplets(graph)
    of = batches(rows_of(graph), triplets_of(graph), 40 * len(wanted), network, 10**9)
    (batch,) = of(torch.Generator().manual_seed(3))
    nodes = nodes_of(batch, graph)
    drawn = nodes[batch.triplets].T.tolist()
    counts = dict.fromkeys(wanted, 0)
    for t in drawn:
        counts[tuple(t)] += 1  # a KeyError would be an edge as a negative, or a node twice
    assert chisquare(list(counts.values())).pvalue > 1e-3


def test_a_node_linked_with_all_others_has_no_triplet_and_others_have_theirs():
    star = Graph.from_edges([(0, k) for k in range(1, 5)])
    triplets = triplets_of(star)
    found = triplets.at(torch.arange(len(triplets))).T.tolist()
    assert found == [[i, 0, k] for i in range(1, 5) for k in range(1, 5) if i != k]
    complete = Graph.from_edges(itertools.combinations(range(4), 2))
    assert len(triplets_of(complete)) == 0


def test_an_arc_in_either_direction_makes_two_nodes_neighbors():
    graph = Graph.from_edges([("a", "b"), ("c", "a")], nodes="abcd", directed=True)
    triplets = triplets_of(graph)
    found = {tuple(t) for t in triplets.at(torch.arange(len(triplets))).T.tolist()}
    assert {(0, 1, 3), (0, 2, 3)} == {t for t in found if t[0] == 0}  # never b or c as far from a


def test_with_reach_the_near_node_is_where_a_walk_of_so_many_steps_leads():
    graph = Graph.from_edges([(0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (5, 6), (6, 7)])
    triplets = Triplets.of(links(graph, directed=False, weights=False, loops="all"))
    generator = torch.Generator().manual_seed(3)
    numbers = torch.randint(len(triplets), (60_000,), generator=generator)
    i, _, k = before = triplets.at(numbers)
    walked = triplets.walked(before, 3, generator)
    assert torch.equal(walked[0], i) and torch.equal(walked[2], k)
    assert not ((walked[1] == i) | (walked[1] == k)).any()
    # from the end 0 by 1: a walk of one step leads to 1; of two to 0 (not taken: 1) or 2; of three to 1 or 3
    here = i == 0
    far = k[here] > 3  # of those that k does not stop
    got = torch.bincount(walked[1][here][far], minlength=8) / far.sum()
    exact = torch.tensor([0, 1 / 3 + 1 / 6 + (1 / 2 + 1 / 4) / 3, 1 / 6, 1 / 12, 0, 0, 0, 0])
    torch.testing.assert_close(got, exact, atol=0.02, rtol=0)
    assert torch.equal(triplets.walked(before, 1, generator), before)
