"""DRNE's vectors at the length that L_reg's read-out says: against a loop, for new nodes, and what products know."""

from __future__ import annotations

import numpy as np
import pytest

import netfold as nf
from netfold.evaluate import regular_equivalence
from netfold.models.drne.batches import neighbors

OPTIONS = {"dim": 6, "epochs": 30, "device": "cpu"}


def said_by_a_loop(model: nf.DRNE, aggregated: np.ndarray) -> np.ndarray:
    weight = model.network_.degree_weight.detach().double().numpy()[:, 0]
    bias = float(model.network_.degree_bias.detach())
    return np.array([np.exp(max(sum(a * w for a, w in zip(h, weight)), -bias) + bias) - 1 for h in aggregated])


@pytest.mark.parametrize(("rounds", "vectors"), [(1, "last"), (2, "all")])
def test_lengths_and_directions_are_what_a_loop_over_neighbors_says(rounds: int, vectors: str) -> None:
    graph = nf.Graph.from_edges([(0, 1), (1, 2), (2, 0), (2, 3), (3, 4), (4, 5)], nodes=range(7))
    options = {**OPTIONS, "rounds": rounds, "vectors": vectors}
    plain = nf.DRNE(**options).fit(graph, progress=False)
    model = nf.DRNE(**options, length="readout").fit(graph, progress=False)
    once = nf.DRNE(**{**options, "dim": plain.network_.dim, "rounds": 1, "vectors": "last"}).fit(graph, progress=False)
    said, near = said_by_a_loop(model, once.embedding_.vectors.astype(np.float64)), neighbors(graph)
    weight = np.tile(
        model.network_.degree_weight.detach().double().numpy()[:, 0], rounds + 1 if vectors == "all" else 1
    )
    for i in range(6):
        around = near[[i]].indices
        own = plain.embedding_.vectors[i].astype(np.float64)
        wanted = weight / np.linalg.norm(weight) + 0.3 * own / np.linalg.norm(own)
        wanted *= sum(said[j] for j in around) / len(around) / np.linalg.norm(wanted)
        np.testing.assert_allclose(model.embedding_.vectors[i], wanted, rtol=2e-4, atol=1e-5)
    assert (model.embedding_.vectors[6] == 0).all()
    assert "said" not in dict(plain.network_.named_buffers())


def test_a_new_node_is_as_long_as_its_known_neighbors_say(tmp_path) -> None:
    graph = nf.datasets.load("karate")
    model = nf.DRNE(**OPTIONS, length="readout").fit(graph, progress=False)
    a, b = graph.nodes[0], graph.nodes[33]
    later = nf.Graph.from_edges([("new", a), ("new", b)])
    said = model.network_.said.numpy()
    found = model.transform(later)
    assert np.linalg.norm(found["new"]) == pytest.approx((said[0] + said[33]) / 2, rel=1e-5)
    model.save(tmp_path / "m.netfold")
    assert (nf.load(tmp_path / "m.netfold").transform(later)["new"] == found["new"]).all()


def test_products_then_know_who_is_equivalent() -> None:
    graph = nf.datasets.load("les_miserables")
    plain, long = (
        regular_equivalence(nf.DRNE(epochs=60, device="cpu", **x).fit(graph, progress=False), graph, score="dot")
        for x in ({}, {"length": "readout"})
    )
    assert long.figures["Kendall τ"] > 0.35 > plain.figures["Kendall τ"]
    assert long.baselines["degrees of neighbors"]["Kendall τ"] > 0.5
