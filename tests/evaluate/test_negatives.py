"""Negatives: never an edge, never twice, and as likely as their rule says."""

from __future__ import annotations

from itertools import combinations, permutations
from typing import Any

import networkx as nx
import numpy as np
import pytest
from scipy import stats

from netfold.data.edges import edge_pairs
from netfold.data.graph import Graph
from netfold.errors import InputError
from netfold.evaluate import negatives, sample_negatives

Pair = tuple[int, int]


def random_graph(n: int, seed: int, *, directed: bool = False, density: float = 0.2) -> Graph:
    rng = np.random.default_rng(seed)
    dense = rng.random((n, n)) < density
    return Graph.from_scipy((dense if directed else dense | dense.T).astype(float), directed=directed)


def non_edges(graph: Graph) -> set[Pair]:
    n, edges = graph.n_nodes, graph.adjacency.toarray() != 0
    pairs = permutations(range(n), 2) if graph.directed else combinations(range(n), 2)
    return {p for p in pairs if not edges[p]}


def as_set(pairs: Any) -> set[Pair]:
    return {(int(a), int(b)) for a, b in pairs}


@pytest.fixture(params=["listed", "drawn"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Small graphs by listing all non-edges, or by rejection, as large ones."""
    if request.param == "drawn":
        monkeypatch.setattr(negatives, "_FEW", 0)


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("kind", ["uniform", "degree"])
@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_negatives_are_different_pairs_without_an_edge(kind: str, directed: bool, seed: int) -> None:
    graph = random_graph(25, seed, directed=directed)
    free = non_edges(graph)
    exclude = np.array(sorted(free))[::2, ::-1]  # turned round: an undirected pair is the same either way
    for count in (1, 20, len(free) // 3):
        found = sample_negatives(graph, count, kind=kind, seed=seed)
        assert found.pairs.shape == (count, 2) and found.pairs.dtype == np.int64
        assert len(as_set(found.pairs)) == count and as_set(found.pairs) <= free
        assert (found.kind, found.protocol) == (kind, {"negatives": kind, "seed": seed})
    left = free - (as_set(exclude) if directed else as_set(exclude[:, ::-1]))
    some = sample_negatives(graph, len(left) // 2, kind=kind, exclude=exclude, seed=seed)
    assert as_set(some.pairs) <= left
    again = sample_negatives(graph, len(left) // 2, kind=kind, exclude=exclude, seed=seed)
    np.testing.assert_array_equal(some.pairs, again.pairs)
    other = sample_negatives(graph, len(left) // 2, kind=kind, exclude=exclude, seed=seed + 1)
    assert as_set(other.pairs) != as_set(some.pairs)


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("density", [0.1, 0.7])
def test_down_to_the_last_one(directed: bool, density: float) -> None:
    graph = random_graph(20, 3, directed=directed, density=density)
    free = non_edges(graph)
    assert as_set(sample_negatives(graph, len(free)).pairs) == free
    every = sample_negatives(graph, kind="all")
    assert as_set(every.pairs) == free and len(every.pairs) == len(free)
    assert every.protocol == {"negatives": "all"}
    assert repr(every) == f"Negatives({len(free):,} pairs)\nprotocol: negatives all"


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("block", [1, 100, 180])
def test_all_of_them_in_blocks(directed: bool, block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    graph = random_graph(60, 0, directed=directed)
    monkeypatch.setattr(negatives, "_BLOCK", block)
    found = sample_negatives(graph, kind="all", exclude=[[59, 58], [4, 4]]).pairs
    expected = non_edges(graph) - ({(59, 58)} if directed else {(58, 59)})
    assert [tuple(x) for x in found.tolist()] == sorted(expected)


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("directed", [False, True])
def test_uniform_negatives_are_uniform(directed: bool) -> None:
    graph = random_graph(12, 1, directed=directed)
    free = sorted(non_edges(graph))
    index = {p: i for i, p in enumerate(free)}
    counts = np.zeros(len(free))
    for seed in range(1500):
        for pair in as_set(sample_negatives(graph, 4, seed=seed).pairs):
            counts[index[pair]] += 1
    assert counts.sum() == 6000
    assert stats.chisquare(counts).pvalue > 0.001


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("directed", [False, True])
def test_ends_by_degree(directed: bool) -> None:
    """The first pair: in proportion to the product of its ends' degrees."""
    graph = random_graph(9, 4, directed=directed)
    pairs = edge_pairs(graph)
    leaving, entering = (np.bincount(side, minlength=9) for side in pairs.T)
    if not directed:
        leaving = entering = leaving + entering
    free = sorted(non_edges(graph))
    weights = np.array([leaving[a] * entering[b] for a, b in free], float)
    counts = np.zeros(len(free))
    for seed in range(4000):
        a, b = sample_negatives(graph, 1, kind="degree", seed=seed).pairs[0].tolist()
        counts[free.index((a, b))] += 1
    assert counts[weights == 0].sum() == 0
    some = weights > 0
    assert stats.chisquare(counts[some], weights[some] / weights.sum() * 4000).pvalue > 0.001


def test_negatives_by_degree_look_like_edges() -> None:
    graph = Graph.from_networkx(nx.barabasi_albert_graph(3000, 4, seed=1))
    of_edges = graph.degrees[edge_pairs(graph)].mean()
    by_degree, uniform = (sample_negatives(graph, 5000, kind=kind).pairs for kind in ("degree", "uniform"))
    assert graph.degrees[uniform].mean() == pytest.approx(graph.degrees.mean(), rel=0.1)
    assert graph.degrees[by_degree].mean() == pytest.approx(of_edges, rel=0.15)
    assert of_edges > 2 * graph.degrees.mean()


def test_a_graph_of_a_million_nodes_costs_what_its_edges_cost() -> None:
    n = 1_000_000
    ring = np.arange(n)
    graph = Graph.from_edges(np.stack([ring, (ring + 1) % n], axis=1))
    pairs = sample_negatives(graph, 100_000).pairs
    low, high = pairs.T
    assert (low < high).all() and (high - low != 1).all() and not ((low == 0) & (high == n - 1)).any()
    assert len(np.unique(low * n + high)) == 100_000


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"kind": "hard"}, "kind='hard' is not one of uniform, degree, all"),
        ({"count": None}, "count=None is no number of pairs; give a whole number of at least 1"),
        ({"count": 0}, "count=0 is no number"),
        ({"count": 2.0}, "count=2.0 is no number"),
        ({"count": 4}, "count=4: so many pairs that are no edges are asked for, and there are 3; ask"),
        ({"count": 2, "kind": "all"}, "kind='all' takes every pair that is no edge; leave out count=2"),
        ({"exclude": [[0, 9]]}, "exclude holds positions outside of 0 to 3"),
        ({"exclude": [0, 1]}, "exclude has the shape (2,) of int64; it is m x 2 positions of nodes"),
        ({"exclude": [[0.5, 1]]}, "exclude has the shape (1, 2) of float64"),
        ({"exclude": [[0, 2], [3, 0], [3, 1]]}, "no edges are asked for, and every pair is an edge"),
    ],
)
def test_what_cannot_be_drawn(change: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError) as caught:
        sample_negatives([("a", "b"), ("b", "c"), ("c", "d")], **({"count": 1} | change))
    assert said in str(caught.value)


def test_too_many_to_list(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError, match="199,989,999 pairs are no edges, above 50,000,000; draw some"):
        sample_negatives(Graph.from_edges([(0, 1)], nodes=range(20_000)), kind="all")
    star = Graph.from_edges([(0, i) for i in range(1, 30)], nodes=range(40))
    with pytest.raises(InputError, match="406 non-edges have ends with a degree above 0, and 407 were asked for"):
        sample_negatives(star, 407, kind="degree")
    monkeypatch.setattr(negatives, "_FEW", 0)
    with pytest.raises(InputError, match="only 406 non-edges came of drawing ends by degree, not 407; use kind='unif"):
        sample_negatives(star, 407, kind="degree")
