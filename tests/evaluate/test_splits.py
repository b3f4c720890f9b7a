"""Splits of edges and of nodes: what is held out is held out, as much as asked, and by the rule that is named."""

from __future__ import annotations

from typing import Any

import networkx as nx
import numpy as np
import pytest

from netfold.data.edges import edge_pairs, keys_of, links, pairs_of, without_pairs
from netfold.data.graph import Graph
from netfold.errors import InputError
from netfold.evaluate import EdgeSplit, split_edges, split_nodes


def random_graph(n: int, seed: int, *, directed: bool = False, density: float = 0.1) -> Graph:
    """Weighted, with self-loops, labels that are tuples, isolated nodes and more than one component."""
    rng = np.random.default_rng(seed)
    dense = np.where(rng.random((n, n)) < density, rng.random((n, n)) + 0.5, 0)
    half = n // 2
    dense[:half, half:] = dense[half:, :half] = 0
    dense[-3:] = dense[:, -3:] = 0
    dense = dense if directed else np.triu(dense) + np.triu(dense, 1).T
    return Graph.from_scipy(dense, [("node", i) for i in range(n)], directed=directed)


def edges_of(graph: Graph) -> dict[tuple[int, int], float]:
    u, v = graph.adjacency.nonzero()
    return {(int(a), int(b)): float(graph.adjacency[a, b]) for a, b in zip(u, v, strict=True)}


# -------------------------------------------------------------------- pairs


@pytest.mark.parametrize("directed", [False, True])
def test_edges_as_pairs_and_keys(directed: bool) -> None:
    graph = random_graph(30, 1, directed=directed)
    pairs = edge_pairs(graph)
    expected = [(a, b) for a, b in sorted(edges_of(graph)) if (a != b if directed else a < b)]
    assert [tuple(x) for x in pairs.tolist()] == expected
    keys = keys_of(pairs[:, ::-1], 30, directed=directed)
    assert pairs_of(keys, 30).tolist() == (pairs[:, ::-1] if directed else pairs).tolist()
    dense = links(graph, directed=False, weights=False, loops="drop").toarray()
    either = graph.adjacency.toarray() + graph.adjacency.toarray().T > 0
    np.fill_diagonal(either, False)
    np.testing.assert_array_equal(dense, either)
    left = without_pairs(graph, pairs[:5, ::-1] if not directed else pairs[:5])
    assert set(map(tuple, edge_pairs(left).tolist())) == set(expected[5:])


# -------------------------------------------------------------------- edges


@pytest.mark.parametrize("keep", ["none", "connected"])
@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_train_and_test_are_the_whole_and_share_nothing(keep: str, directed: bool, seed: int) -> None:
    graph = random_graph(60, seed, directed=directed)
    before = edges_of(graph)
    split = split_edges(graph, 0.3, keep=keep, seed=seed)
    off_diagonal = graph.n_edges - graph.n_self_loops
    assert len(split.test) == round(0.3 * off_diagonal) and split.test.dtype == np.int64
    held_out = {(int(a), int(b)) for a, b in split.test}
    assert len(held_out) == len(split.test) and all(a != b for a, b in held_out)
    if not directed:
        assert all(a < b for a, b in held_out)
        held_out |= {(b, a) for a, b in held_out}
    left = edges_of(split.train)
    assert not held_out & set(left)
    assert left == {e: w for e, w in before.items() if e not in held_out}, "weights and self-loops stay"
    assert split.train.nodes == graph.nodes and split.train.directed == directed and split.whole is graph
    assert edges_of(graph) == before


@pytest.mark.parametrize("keep", ["none", "connected"])
@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_what_a_split_reports_against_networkx(keep: str, directed: bool, seed: int) -> None:
    split = split_edges(random_graph(60, seed, directed=directed), 0.25, keep=keep, seed=seed)
    whole, train = (nx.Graph(edge_pairs(x).tolist()) for x in (split.whole, split.train))
    train.add_nodes_from(range(60))
    component = {node: i for i, nodes in enumerate(nx.connected_components(train)) for node in nodes}
    assert split.figures == {
        "test edges": len(split.test),
        "isolated nodes made": sum(train.degree(x) == 0 for x in whole),
        "test edges across components": sum(component[a] != component[b] for a, b in split.test.tolist()),
    }
    if keep == "connected":
        assert split.figures["isolated nodes made"] == split.figures["test edges across components"] == 0
        assert nx.number_connected_components(train) == nx.number_connected_components(whole) + 60 - len(whole)


def test_every_edge_is_as_likely_to_be_held_out() -> None:
    graph = Graph.from_edges([(i, (i + 1) % 20) for i in range(20)])
    counts = np.zeros(20)
    for seed in range(400):
        np.add.at(counts, split_edges(graph, 0.25, seed=seed).test[:, 0], 1)
    assert counts.sum() == 400 * 5
    assert ((counts[1:19] - 100) ** 2 / 75).max() < 16  # 4 deviations of a binomial with 400 draws of 1/4


def test_the_forest_that_stays_is_random() -> None:
    ring = [(i, (i + 1) % 8) for i in range(8)]
    held_out = {tuple(split_edges(ring, 1 / 8, keep="connected", seed=seed).test[0].tolist()) for seed in range(100)}
    assert len(held_out) == 8


def test_of_two_directions_one_keeps_the_nodes_together() -> None:
    both = [(i, i + 1) for i in range(10)] + [(i + 1, i) for i in range(10)]
    split = split_edges(Graph.from_edges(both, directed=True), 0.5, keep="connected", seed=3)
    assert split.figures == {"test edges": 10, "isolated nodes made": 0, "test edges across components": 0}
    assert 0 < (split.test[:, 0] < split.test[:, 1]).sum() < 10, "either direction may stay"


def test_the_same_seed_holds_out_the_same_edges() -> None:
    graph = random_graph(60, 0)
    for keep in ("none", "connected"):
        first, again, other = (split_edges(graph, 0.2, keep=keep, seed=seed).test for seed in (1, 1, 2))
        np.testing.assert_array_equal(first, again)
        assert first.tolist() != other.tolist()


def test_as_much_as_can_be_held_out() -> None:
    ring = [(i, (i + 1) % 10) for i in range(10)] + [(0, 5)]
    assert len(split_edges(ring, 2 / 11, keep="connected").test) == 2
    with pytest.raises(InputError) as caught:
        split_edges(ring, 0.3, keep="connected")
    assert str(caught.value) == (
        "held_out=0.3 holds out 3 edges, and only 2 can be held out with keep='connected'; "
        "hold out at most 0.181, or use keep='none'"
    )
    assert len(split_edges(ring, 0.181, keep="connected").test) == 2


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"held_out": 0}, "held_out=0 is no share of the edges; give a number between 0 and 1"),
        ({"held_out": 1.0}, "held_out=1.0 is no share"),
        ({"held_out": float("nan")}, "held_out=nan is no share"),
        ({"held_out": "half"}, "held_out='half' is no share"),
        ({"held_out": 0.01}, "held_out=0.01 holds out 0 of 3 edges; hold out some, and leave some"),
        ({"held_out": 0.99}, "held_out=0.99 holds out 3 of 3 edges"),
        ({"keep": "tree"}, "keep='tree' is not one of none, connected"),
    ],
)
def test_what_cannot_be_held_out(change: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError) as caught:
        split_edges([("a", "b"), ("b", "c"), ("c", "d"), ("d", "d")], **change)
    assert said in str(caught.value)


def test_graphs_without_edges_cannot_be_split() -> None:
    with pytest.raises(InputError, match="holds out 0 of 0 edges"):
        split_edges(Graph.from_edges([("a", "a")]))
    with pytest.raises(InputError, match="holds out 0 of 0 edges"):
        split_edges(Graph.from_edges([]))


def test_repr() -> None:
    assert repr(split_edges(random_graph(60, 0), 0.2, seed=4)).splitlines()[1:] == [
        "test edges 15; isolated nodes made 3; test edges across components 7",
        "protocol: held out 0.2; keep none; seed 4",
    ]


# -------------------------------------------------------------------- a split that is given


@pytest.mark.parametrize("directed", [False, True])
def test_a_given_split(directed: bool) -> None:
    train = Graph.from_edges([("a", "b", 2.0), ("b", "c", 1.0), ("c", "d", 1.0)], directed=directed)
    split = EdgeSplit.of(train, [("c", "a"), ("d", "d"), ("b", "a"), ("d", "a")])
    assert split.train is train
    assert split.test.tolist() == ([[1, 0], [2, 0], [3, 0]] if directed else [[0, 2], [0, 3]])
    assert split.protocol["test edges left out (in training)"] == (0 if directed else 1)
    assert split.protocol["test edges left out (self-loops)"] == 1
    assert split.whole.n_edges == 3 + len(split.test) and split.whole.adjacency[0, 1] == 2
    assert EdgeSplit.of(split.train, split_edges(split.whole, 0.5).whole).test.tolist() == split.test.tolist()
    again = EdgeSplit.of(train, Graph.from_edges([("c", "a"), ("d", "a")], directed=directed))
    assert again.test.tolist() == split.test[-2:].tolist()


def test_given_splits_that_do_not_fit() -> None:
    train = Graph.from_edges([("a", "b"), ("b", "c")])
    with pytest.raises(InputError, match="no node is called 'x'"):
        EdgeSplit.of(train, [("a", "x")])
    with pytest.raises(InputError, match="none of the 1 test edges is new to the training graph"):
        EdgeSplit.of(train, [("b", "a")])
    with pytest.raises(InputError, match="none of the 0 test edges"):
        EdgeSplit.of(train, [("b", "b")])
    with pytest.raises(InputError, match="directed"):
        EdgeSplit.of(train, Graph.from_edges([("a", "c")], directed=True))


# -------------------------------------------------------------------- nodes


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("new", [0.2, 12, 1])
def test_known_and_new_nodes(directed: bool, new: float) -> None:
    graph = random_graph(60, 5, directed=directed)
    split = split_nodes(graph, new, seed=2)
    assert len(split.new) == 12 if new != 1 else len(split.new) == 1
    assert (np.diff(split.new) > 0).all()
    fresh = set(split.new.tolist())
    known = [i for i in range(60) if i not in fresh]
    assert list(split.known.nodes) == [graph.nodes[i] for i in known]
    np.testing.assert_array_equal(split.known.adjacency.toarray(), graph.adjacency.toarray()[known][:, known])
    pairs = edge_pairs(graph).tolist()
    linked_to_known = {x for a, b in pairs for x, y in ((a, b), (b, a)) if x in fresh and y not in fresh}
    assert split.figures == {
        "new nodes": len(fresh),
        "edges new-known": sum((a in fresh) != (b in fresh) for a, b in pairs),
        "edges new-new": sum(a in fresh and b in fresh for a, b in pairs),
        "new nodes without a known neighbor": len(fresh - linked_to_known),
    }
    assert split_nodes(graph, new, seed=2).new.tolist() == split.new.tolist()
    assert {tuple(split_nodes(graph, new, seed=s).new.tolist()) for s in range(8)} != {tuple(split.new.tolist())}


def test_the_latest_nodes_are_new() -> None:
    graph = random_graph(40, 1)
    times = np.random.default_rng(0).permutation(40)
    by_label = {graph.nodes[i]: int(times[i]) for i in range(40)}
    for given in (times, by_label, times.tolist()):
        split = split_nodes(graph, 0.25, by="time", times=given)
        assert split.new.tolist() == np.flatnonzero(times >= 30).tolist()
    after = split_nodes(graph, by="time", times=times, after=35)
    assert after.new.tolist() == np.flatnonzero(times > 35).tolist()
    assert after.protocol == {"after": 35, "by": "time"}


def test_equal_times_are_new_by_lot() -> None:
    times = [2000] * 10 + [2020] * 5
    edges = [(i, i + 1) for i in range(14)]
    found = [set(split_nodes(edges, 8, by="time", times=times, seed=s).new.tolist()) for s in range(20)]
    assert all({10, 11, 12, 13, 14} <= x for x in found)
    assert set.union(*found) == set(range(15))


def test_a_walk_meets_nodes_of_low_degree() -> None:
    graph = Graph.from_networkx(nx.barabasi_albert_graph(300, 3, seed=1))
    split = split_nodes(graph, 40, by="walk", max_degree=6, seed=1)
    assert len(split.new) == 40
    assert (graph.degrees[split.new] < 6).all()
    assert split.protocol == {"new": 40, "by": "walk", "seed": 1, "max_degree": 6}
    every = split_nodes(graph, int((graph.degrees < 6).sum()), by="walk", max_degree=6)
    assert every.new.tolist() == np.flatnonzero(graph.degrees < 6).tolist()


def test_a_walk_stays_near_where_it_began_and_starts_again_when_stuck() -> None:
    rings = [(c * 100 + i, c * 100 + (i + 1) % 100) for c in range(10) for i in range(100)]
    graph = Graph.from_edges(rings, nodes=[*range(1000), "alone"])
    for seed in range(5):
        near = split_nodes(graph, 12, by="walk", seed=seed)
        assert len(set((near.new // 100).tolist())) == 1 and near.new.max() < 1000
        places = set((near.new % 100).tolist())
        assert any({(s + i) % 100 for i in range(12)} == places for s in range(100)), "a stretch of the ring"
    assert len(split_nodes(graph, 1000, by="walk").new) == 1000
    with pytest.raises(InputError, match="0 nodes have 1 to 1 neighbors and 9 are to be new; ask for fewer, or raise"):
        split_nodes(graph, 9, by="walk", max_degree=2)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"new": 0}, "new=0 is neither a share of the nodes between 0 and 1 nor a count of them"),
        ({"new": 1.5}, "new=1.5 is neither"),
        ({"new": float("nan")}, "new=nan is neither"),
        ({"new": "3"}, "new='3' is neither"),
        ({"new": 4}, "new=4 makes 4 of 4 nodes new; some must be new and some known"),
        ({"new": 0.01}, "new=0.01 makes 0 of 4 nodes new"),
        ({"by": "age"}, "by='age' is not one of random, time, walk"),
        ({"by": "time"}, "by='time' needs times=: a mapping of node to number, or a number for each node"),
        ({"by": "time", "after": 3}, "by='time' needs times="),
        ({"times": [1, 2, 3, 4]}, "times= and after= are for by='time', not by='random'"),
        ({"by": "time", "times": [1, 2, 3]}, "times has the shape (3,); it needs a number for each of 4 nodes"),
        ({"by": "time", "times": {"a": 1, "b": 2, "c": 3}}, "times has nothing for the node 'd'"),
        ({"by": "time", "times": ["x"] * 4}, "times holds something that is no number"),
        ({"by": "time", "times": [1, 2, np.nan, 4]}, "the time of the node 'c' is not a number"),
        ({"by": "time", "times": [1, 2, 3, 4], "after": 4}, "after=4 makes 0 of 4 nodes new"),
        ({"by": "walk", "new": 3, "max_degree": 2}, "2 nodes have 1 to 1 neighbors and 3 are to be new"),
    ],
)
def test_what_cannot_be_new(change: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError) as caught:
        split_nodes([("a", "b"), ("b", "c"), ("c", "d")], **({"new": 1} | change))
    assert said in str(caught.value)
