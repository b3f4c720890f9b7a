"""Which of the new nodes' edges are held out, and which pairs stand against them."""

from __future__ import annotations

import numpy as np
import pytest

from netfold.data.edges import edge_pairs
from netfold.data.graph import Graph
from netfold.errors import InputError
from netfold.evaluate import NodeSplit, hold_out_half, local_average, out_of_sample, split_nodes
from netfold.evaluate.new_node_tasks import new_node_negatives
from weighted_graphs import random_graph, vectors_of


@pytest.mark.parametrize("directed", [False, True])
def test_half_of_the_new_nodes_edges_are_held_out(directed: bool) -> None:
    split = split_nodes(random_graph(40, 1, directed=directed), 10)
    held_out = hold_out_half(split, seed=2)
    before, after = ({*map(tuple, edge_pairs(x).tolist())} for x in (split.whole, held_out.split.whole))
    theirs = {pair for pair in before if set(pair) & set(split.new.tolist())}
    gone = {*map(tuple, held_out.pairs.tolist())}
    assert gone <= theirs
    assert before - after == gone
    assert len(gone) == len(held_out.pairs) == round(len(theirs) / 2)
    assert held_out.split.known is split.known
    assert (
        hold_out_half(split, seed=2).pairs.tolist()
        == held_out.pairs.tolist()
        != hold_out_half(split, seed=3).pairs.tolist()
    )
    assert len(hold_out_half(split, held_out=0.1).pairs) == round(len(theirs) / 10)


@pytest.mark.parametrize("directed", [False, True])
def test_negatives_keep_a_new_node_and_are_no_edges(directed: bool) -> None:
    split = split_nodes(random_graph(30, 3, directed=directed), 9)
    held_out = hold_out_half(split)
    made = new_node_negatives(split, held_out.pairs, 50, 0)
    dense = split.whole.adjacency.toarray()
    assert len(made) == 50 * len(held_out.pairs)
    ends = set()
    for (u, v), (a, b) in zip(made, np.repeat(held_out.pairs, 50, axis=0), strict=True):
        assert u != v and not dense[u, v]
        assert {a, b} & {u, v} & set(split.new.tolist())
        assert u == a or v == b
        ends |= {u, v}
    assert ends == set(range(30))  # any node can be the other end


def test_a_new_node_that_knows_everybody_has_no_negatives() -> None:
    star = Graph.from_edges([(0, i) for i in range(1, 6)])
    split = NodeSplit(star.subgraph([1, 2, 3, 4, 5]), star, np.array([0]), {})
    with pytest.raises(InputError, match="the new nodes have edges with all others"):
        out_of_sample(lambda s: local_average(s, vectors_of(split.known, 0)), split, base=vectors_of(split.known, 0))


def test_nothing_to_hide_is_refused() -> None:
    graph = Graph.from_edges([("a", "b")], nodes="abc")
    split = NodeSplit(graph.subgraph([0, 1]), graph, np.array([2]), {})
    with pytest.raises(InputError, match="the new nodes have 0 edges, of which held_out=0.5 holds out none"):
        hold_out_half(split)
    with pytest.raises(InputError, match="held_out=1 is no share of the new nodes' edges"):
        hold_out_half(split, held_out=1)
    with pytest.raises(InputError, match="none of the 1 new nodes is linked to a known one"):
        labels = {"a": 1, "b": 2, "c": 1}
        out_of_sample(lambda s: s, split, base=vectors_of(split.known, 0), classes=labels, links=False)
