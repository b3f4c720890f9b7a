"""Short fits to smaller data: stand-ins, parts of the data, and the cost estimated from them."""

from __future__ import annotations

import os
import time
from typing import Any

import networkx as nx
import numpy as np
import pytest

import netfold as nf
from netfold.studies.choose import choose, neighborhood
from netfold.studies.choose.facts import _BUDGET, _EPOCHS, _cost, _Probe, estimated_cost, stand_in
from netfold.studies.compare import fit_with_base
from zoo import karate
from zoo_hypergraphs import facts as two_kinds
from zoo_hypergraphs import tags

# -------------------------------------------------------------------- stand-ins


def many(n: int = 3000, **kind: Any) -> nf.Graph:
    pairs = np.array(nx.barabasi_albert_graph(n, 4, seed=1).edges)
    return nf.Graph.from_edges(pairs, nodes=range(n), **kind)


def test_a_stand_in_has_the_degrees_of_the_graph() -> None:
    graph = many()
    small = stand_in(graph, 600)
    assert small.n_nodes == 600 and not small.directed and not small.is_weighted
    assert small.degrees.mean() == pytest.approx(graph.degrees.mean(), rel=0.1)
    assert np.median(small.degrees) == pytest.approx(np.median(graph.degrees), abs=2)
    assert 600 > small.degrees.max() > 0.3 * graph.degrees.max()


def test_a_stand_in_keeps_direction_weights_and_isolated_nodes() -> None:
    graph = many(directed=True)
    small = stand_in(graph, 500)
    assert small.directed and small.n_edges / 500 == pytest.approx(graph.n_edges / 3000, rel=0.15)
    heavy = nf.Graph(many().adjacency * np.float32(3), range(3000))
    made = stand_in(heavy, 500)
    assert made.is_weighted and np.median(made.adjacency.data) == 3
    alone = nf.Graph.from_edges([(i, i + 1) for i in range(0, 1000, 2)], nodes=range(2000))
    assert 0.3 < (stand_in(alone, 400).degrees == 0).mean() < 0.7
    assert stand_in(nf.Graph.from_edges([(0, 1)], nodes=range(10_000)), 60).n_edges == 1


def test_a_stand_in_is_drawn_by_the_seed_and_no_larger_than_the_data() -> None:
    graph = many(800)
    assert stand_in(graph, 800) is graph and stand_in(graph, 10**6) is graph
    assert stand_in(graph, 100, seed=1).fingerprint == stand_in(graph, 100, seed=1).fingerprint
    assert stand_in(graph, 100, seed=1).fingerprint != stand_in(graph, 100, seed=2).fingerprint


@pytest.mark.parametrize("make", [tags, two_kinds])
def test_a_stand_in_of_hyperedges(make: Any) -> None:
    whole = make()
    small = stand_in(whole, whole.n_nodes // 2)
    assert small.types == whole.types and len(small.kinds) == len(whole.kinds)
    assert abs(small.n_nodes - whole.n_nodes // 2) <= len(whole.types)
    for kind, other in zip(small.kinds, whole.kinds, strict=True):
        assert kind.roles == other.roles and 0 < len(kind) <= len(other) * 0.6 + 2
        assert all(len(set(row)) == len(row) for row in kind.rows.tolist())


# -------------------------------------------------------------------- parts


def test_a_part_of_the_data_is_connected_and_bounded() -> None:
    graph = many()
    part = neighborhood(graph, 200)
    assert part.n_nodes == 200 and nx.is_connected(part.to_networkx())
    assert neighborhood(graph, 3000) is graph
    rings = nf.Graph.from_networkx(nx.disjoint_union_all([nx.cycle_graph(10)] * 30))
    assert neighborhood(rings, 45).n_nodes == 45
    assert set(part.nodes) <= set(graph.nodes)
    for a, b in list(part.to_networkx().edges)[:50]:
        assert b in graph.neighbors(a)


def test_a_part_of_hyperedges() -> None:
    part = neighborhood(tags(), 12)
    assert part.n_nodes == 12 and part.types == tags().types
    whole = {frozenset(x) for x in tags().edges}
    assert part.n_edges and all(frozenset(x) in whole for x in part.edges)


# -------------------------------------------------------------------- the cost


def test_the_line_through_two_probes() -> None:
    probes = [_Probe(500, 0.02, 0.5, 1e6), _Probe(2000, 0.05, 0.8, 3e6)]
    made = _cost(probes, epochs=10, nodes=10_000)
    slope = (0.05 - 0.02) / 1500
    seconds = 10 * (0.05 + slope * 8000) + 0.8 + 0.3 / 1500 * 8000
    assert made.seconds == pytest.approx(seconds) and made.bytes == round(3e6 + 2e6 / 1500 * 8000)
    assert made.probed == (500, 2000)


def test_a_probe_of_all_nodes_is_taken_as_it_is_and_a_falling_line_goes_through_0() -> None:
    one, two = _Probe(500, 0.02, 0.5, 9.0), _Probe(900, 0.04, 0.1, 5.0)
    assert _cost([one, two], epochs=7, nodes=900).seconds == pytest.approx(7 * 0.04 + 0.1)
    assert _cost([one, two], epochs=0, nodes=1800).seconds == pytest.approx(0.2)
    assert _cost([one], epochs=3, nodes=500).seconds == pytest.approx(3 * 0.02 + 0.5)


def test_a_cost_that_is_linear_is_estimated() -> None:
    """A fit that says that an epoch took 10 ms and 1 µs a node."""
    sizes = []

    def pretend(model: Any, data: Any) -> None:
        sizes.append(data.n_nodes)
        model.history_ = [{"seconds": 0.01 + 1e-6 * data.n_nodes}] * model.epochs

    made = estimated_cost(pretend, nf.SDNE(epochs=100), many(5000), budget=60)
    assert made.seconds == pytest.approx(100 * 0.015, rel=0.05) and made.nodes == 5000
    assert sizes == [60, 600, 2400, 5000] and made.probed == (600, 2400, 5000)


class Clock:
    """A clock on which only what is said to take time does."""

    def __init__(self) -> None:
        self.now = 0.0
        self.fits: list[tuple[int, int]] = []

    def perf_counter(self) -> float:
        return self.now

    def fit(self, model: Any, data: Any) -> None:
        """Epochs of 1 ms a node, and as much again before them."""
        self.now += 1e-3 * data.n_nodes * (model.epochs + 1)
        self.fits.append((data.n_nodes, model.epochs))
        model.history_ = [{"seconds": 1e-3 * data.n_nodes}] * model.epochs


@pytest.mark.parametrize(
    ("budget", "fits"),
    [
        (1.0, [(60, 1), (600, 3), (150, 3)]),  # the first is over the budget: a smaller one for the line
        (9.0, [(60, 1), (600, 3), (2400, 1)]),  # no time for three epochs
        (60.0, [(60, 1), (600, 3), (2400, 3), (3000, 3)]),
    ],
)
def test_probes_end_with_the_budget(
    budget: float, fits: list[tuple[int, int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    clock, graph = Clock(), many(3000)
    monkeypatch.setattr("netfold.studies.choose.facts.time", clock)
    monkeypatch.setattr("netfold.studies.machine.time", clock)
    made = estimated_cost(clock.fit, nf.SDNE(epochs=50), graph, budget=budget)
    assert clock.fits == fits
    assert made.seconds == pytest.approx(1e-3 * 3000 * 51) and _BUDGET < 10


def test_a_probe_has_few_epochs_and_leaves_model_and_graph_alone() -> None:
    graph, model, epochs = karate(), nf.SDNE(dim=4, hidden=(8,)), []
    before = graph.fingerprint

    def watched(model: Any, data: Any) -> None:
        epochs.append(model.epochs)
        fit_with_base(model, data)

    made = estimated_cost(watched, model, graph)
    assert epochs == [1, _EPOCHS] and made.probed == (34,)
    assert graph.fingerprint == before and not hasattr(model, "embedding_") and model.epochs == 200
    assert "estimated from short fits, the last to all nodes" in str(made)
    assert made.seconds > 0


@pytest.mark.slow
@pytest.mark.skipif(not os.environ.get("NETFOLD_DATA"), reason="needs the data sets")
def test_a_real_fit_costs_about_what_was_estimated() -> None:
    graph = nf.datasets.load("cora")
    choice = choose(graph, "link")
    start = time.perf_counter()
    choice.model.fit(graph, progress=False)
    real = time.perf_counter() - start
    assert choice.cost is not None and real / 3 < choice.cost.seconds < 3 * real
