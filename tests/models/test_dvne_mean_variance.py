"""DVNE's mean_variance: the expectation over all ways to lose links, new and isolated nodes, and links ranked by it."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
import torch

import netfold as nf
from gaussian_graphs import gaussians, two_blocks
from netfold.evaluate import calibration, split_edges

EDGES = [("a", "b", 1.0), ("b", "c", 2.0), ("c", "a", 1.0), ("c", "d", 0.5), ("d", "e", 3.0), ("e", "a", 1.0)]


def graph(*, directed: bool = False) -> nf.Graph:
    return nf.Graph.from_edges(EDGES, nodes=[*"abcde", "z"], directed=directed)


def fitted(given: nf.Graph, **options: Any) -> nf.DVNE:
    return nf.DVNE(dim=3, hidden=6, epochs=10, device="cpu", **options).fit(given, progress=False)


def placed(model: nf.DVNE, row: np.ndarray) -> np.ndarray:
    """μ of a row of P, by the weights."""
    network: Any = model.network_
    first, code = network.first, network.code
    table, bias = (first.table.double().detach().numpy(), first.bias.double().detach().numpy())
    weight, offset = (x[0].double().detach().numpy() for x in (code.weights, code.biases))
    return (np.maximum(row @ table + bias, 0) @ weight + offset)[: model.dim]


@pytest.mark.parametrize("directed", [False, True])
def test_it_is_the_mean_over_all_ways_to_lose_links(directed: bool) -> None:
    given = graph(directed=directed)
    model = fitted(given)
    dense = given.adjacency.toarray().astype(np.float64)
    rows = np.where(dense.any(axis=1, keepdims=True), dense, dense.T)
    found = model.mean_variance(given, draws=6_000)
    for i, row in enumerate(rows[:5]):
        whole, at = placed(model, row / row.sum()), np.flatnonzero(row)
        moved = []
        for kept in product([0, 1], repeat=len(at)):
            left = row.copy()
            left[at] *= kept
            moved.append(((placed(model, left / (left.sum() or 1)) - whole) ** 2).sum())
        assert found[i] == pytest.approx(np.mean(moved), rel=0.05)
    assert found[5] == np.inf


def test_the_same_each_time_and_nothing_is_changed() -> None:
    given = graph()
    model = fitted(given, seed=3)
    before, state = model.embedding_.vectors.copy(), torch.random.get_rng_state()
    assert (model.mean_variance(given) == model.mean_variance(given)).all()
    assert (model.embedding_.vectors == before).all() and (torch.random.get_rng_state() == state).all()


def test_of_a_later_graph_links_with_known_nodes_are_read() -> None:
    model = fitted(graph())
    later = nf.Graph.from_edges([("new", "a"), ("new", "b"), ("lost", "found"), ("a", "b")])
    found = dict(zip(later.nodes, model.mean_variance(later), strict=True))
    assert 0 < found["new"] < np.inf
    assert found["lost"] == found["found"] == np.inf


def test_it_is_large_where_links_are_few_or_disagree() -> None:
    blocks, group = two_blocks(60)
    edges = [(int(u), int(v)) for u, v in zip(*blocks.adjacency.nonzero(), strict=True) if u < v]
    own = [[i for i in range(60) if group[i] == side] for side in (0, 1)]
    edges += [("one", own[0][0]), *(("sure", i) for i in own[0][:20])]
    edges += [("torn", i) for i in own[0][:10] + own[1][:10]]
    given = nf.Graph.from_edges(edges)
    model = nf.DVNE(dim=8, epochs=60, device="cpu").fit(given, progress=False)
    found = dict(zip(given.nodes, model.mean_variance(given), strict=True))
    assert found["one"] > found["torn"] > found["sure"]


def test_saved_and_loaded(tmp_path: Any) -> None:
    given = graph()
    model = fitted(given)
    model.save(tmp_path / "m")
    assert (nf.load(tmp_path / "m").mean_variance(given) == model.mean_variance(given)).all()


def test_refusals() -> None:
    given = graph()
    with pytest.raises(nf.InputError, match="not fitted yet"):
        nf.DVNE().mean_variance(given)
    model = fitted(given)
    with pytest.raises(nf.InputError, match="draws=0 is no number of times; give 1 or more"):
        model.mean_variance(given, draws=0)
    with pytest.raises(nf.InputError, match="fitted to an undirected graph and this one is directed"):
        model.mean_variance(graph(directed=True))


def test_its_old_name_is_answered() -> None:
    model = fitted(graph())
    with pytest.raises(AttributeError, match="^doubt is now called mean_variance$"):
        model.doubt(graph())  # type: ignore[attr-defined]
    assert not hasattr(model, "doubt") and not hasattr(model, "doubts")


# -------------------------------------------------------------------- links of the certain half


def test_calibration_by_mean_variance_ranks_nodes_by_it() -> None:
    blocks, _ = two_blocks()
    split = split_edges(blocks, 0.3, seed=1)
    model = nf.DVNE(dim=4, epochs=20, device="cpu").fit(split.train, progress=False)
    by_sensitivity = calibration(model, split, certainty="mean_variance", seed=2)
    by_variance = calibration(model, split, seed=2)
    assert by_sensitivity.protocol["certainty"] == "mean_variance"
    shown = {x: by_variance.figures[x] for x in ("AUC certain", "certain - uncertain")}
    assert by_sensitivity.baselines["certainty by variance"] == shown
    assert "certainty by variance" not in by_variance.baselines

    class Turned:
        """The same Gaussians, with the order the other way round."""

        embedding_, graph_facts_ = model.embedding_, model.graph_facts_

        def mean_variance(self, graph: nf.Graph) -> Any:
            return -model.mean_variance(graph)

    other = calibration(Turned(), split, certainty="mean_variance", seed=2)
    turned = by_sensitivity.figures["AUC certain"] - by_sensitivity.figures["certain - uncertain"]
    assert other.figures["AUC certain"] == pytest.approx(turned, abs=0.02)  # halves of 100, but for ties


def test_calibration_by_mean_variance_needs_a_model_that_has_it() -> None:
    blocks, _ = two_blocks()
    with pytest.raises(nf.InputError, match="certainty='mean_variance' needs a fitted model that has it, as DVNE"):
        calibration(gaussians(blocks, 0), split_edges(blocks, 0.3), certainty="mean_variance")
    with pytest.raises(nf.InputError, match="certainty='degree' is not one of variance, mean_variance"):
        calibration(gaussians(blocks, 0), split_edges(blocks, 0.3), certainty="degree")
