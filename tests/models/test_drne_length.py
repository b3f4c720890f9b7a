"""What L_reg's read-out says, as the length of DRNE's vectors or beside them: against a loop, and for new nodes."""

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


def test_beside_vectors_are_the_degrees_that_a_loop_over_neighbors_says(tmp_path) -> None:
    graph = nf.Graph.from_edges([(0, 1), (1, 2), (2, 0), (2, 3), (3, 4), (4, 5)], nodes=range(7))
    plain = nf.DRNE(**OPTIONS | {"dim": 8, "vectors": "all"}).fit(graph, progress=False)
    model = nf.DRNE(**OPTIONS | {"dim": 12, "vectors": "readout"}).fit(graph, progress=False)
    assert np.array_equal(model.embedding_.vectors[:, :8], plain.embedding_.vectors)
    said, near = said_by_a_loop(model, plain.embedding_.vectors[:, 4:].astype(np.float64)), neighbors(graph)

    def columns(own: float, around: list[int]) -> list[float]:
        total = sum(said[j] for j in around)
        return [own / 3, np.log1p(own) / np.log(4), total / len(around) / 3, total / 9]  # 3: the largest degree

    for i in range(6):
        wanted = columns(said[i], near[[i]].indices.tolist())
        np.testing.assert_allclose(model.embedding_.vectors[i, 8:], wanted, rtol=2e-4, atol=1e-5)
    assert (model.embedding_.vectors[6] == 0).all()
    later = nf.Graph.from_edges([("new", 1), ("new", 5)])
    found = model.transform(later)["new"]
    own = said_by_a_loop(model, found[None, 4:8].astype(np.float64))[0]
    np.testing.assert_allclose(found[8:], columns(own, [1, 5]), rtol=2e-4, atol=1e-5)
    model.save(tmp_path / "m.netfold")
    assert (nf.load(tmp_path / "m.netfold").transform(later)["new"] == found).all()


def test_a_width_that_leaves_no_room_is_refused() -> None:
    graph = nf.datasets.load("karate")
    for dim in (4, 7):
        with pytest.raises(nf.InputError, match=f"dim={dim} .* take 4 more than a multiple of 2"):
            nf.DRNE(dim=dim, vectors="readout").fit(graph, progress=False)


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
