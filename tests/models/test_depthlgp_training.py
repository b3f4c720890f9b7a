"""How DepthLGP learns: what is shared, what moves, what is drawn, and runs that were stopped."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import netfold as nf
import zoo
from depthlgp_models import FAST, fitted
from netfold.data.embedding import Embedding
from netfold.data.graph import Graph
from netfold.models.depthlgp import DepthLGP
from netfold.models.depthlgp.network import _take


@pytest.mark.parametrize("sharing", ["all", "halves", "weights", "none"])
def test_every_sharing_learns(blocks, vectors, sharing):
    model = fitted(blocks, vectors, sharing=sharing, epochs=12, lr=0.02)
    assert model.history_[-1]["risk"] < 0.9 * model.history_[0]["risk"]
    kernel = model.network_.kernel
    groups = {"all": 1, "halves": 2, "weights": 6, "none": 6}[sharing]
    assert len(set(kernel.eta.tolist())) == len(set(kernel.zeta.tolist())) == groups
    assert kernel.weights(kernel.raw_weights).shape == (200, 6 if sharing == "none" else 1)
    assert np.isfinite(model.transform([("new", 0)]).vectors).all()


def test_what_starts_at_zero_stays_there_and_steps_move_the_rest(blocks, vectors):
    model = fitted(blocks, vectors, zeta=0.0, eta=3.0)
    assert model.network_.kernel.zeta.item() == 0 and model.network_.kernel.starts.tolist() == [3, 0]
    assert model.network_.kernel.eta.item() not in (0, 3)
    held = fitted(blocks, vectors, node_lr=0.0)
    assert torch.equal(held.network_.latent, held.network_.latent.new_tensor(vectors.vectors) - held.network_.mean)
    assert not held.network_.kernel.raw_weights.any() and held.network_.kernel.raw_eta.any()
    moved = fitted(blocks, vectors, node_lr=0.1)
    assert moved.network_.kernel.raw_weights.any()
    assert not torch.equal(moved.network_.latent, held.network_.latent)


def test_the_options_of_sampling_change_what_is_drawn(blocks, vectors):
    new, usual = [("new", 0)], fitted(blocks, vectors).transform([("new", 0)]).vectors
    for changed in ({"roots": 1}, {"batch_size": 8}, {"two_step": 2}, {"one_step": 3}, {"schedule": "constant"}):
        assert fitted(blocks, vectors, **changed).transform(new).vectors.tobytes() != usual.tobytes()


def test_a_noisy_node_is_weighed_down():
    """A bot that follows everybody at random, and has a vector of its own, loses its weight."""
    rng, groups = np.random.default_rng(0), np.repeat(np.arange(6), 10)
    edges = [(i, j) for i in range(60) for j in range(i) if groups[i] == groups[j] and rng.random() < 0.5]
    edges += [("bot", int(i)) for i in rng.permutation(60)[:50]]
    places = np.vstack([rng.normal(size=(6, 4))[groups], rng.normal(0, 5, (1, 4))])
    graph = Graph.from_edges(edges, nodes=[*range(60), "bot"])
    model = DepthLGP(epochs=0, hidden=0, eta=5.0, zeta=0.0, starts="given").fit(
        graph, Embedding(graph.nodes, places), progress=False
    )
    network, raw = model.network_, model.network_.kernel.raw_weights
    batches = list(model._sampler(network, model.embedding_, 256, 64)(model._generator(0)))
    for _ in range(10):  # steps on the weights alone
        raw.grad = None
        sum(network.loss(batch)["risk"] for batch in batches).backward()
        raw.data -= 0.5 * raw.grad.to_dense().sign()
    a = network.kernel.weights(raw).detach().numpy()[:, 0]
    assert a[60] < 0.2 < 0.7 < np.median(a[:60])


def test_a_run_that_was_stopped_goes_on_to_the_same_bits(blocks, vectors, tmp_path):
    whole = fitted(blocks, vectors).transform([("new", 0)]).vectors
    stop = {"checkpoint": tmp_path / "c", "checkpoint_every": 0.0, "progress": False}
    DepthLGP(**FAST).fit(blocks, vectors, on_epoch=lambda r: r["epoch"] == 2, **stop)
    again = DepthLGP(**FAST).fit(blocks, vectors, **stop)
    assert len(again.history_) == 4
    assert again.transform([("new", 0)]).vectors.tobytes() == whole.tobytes()
    other = Embedding(vectors.nodes, vectors.vectors + 1)
    with pytest.raises(nf.InputError, match="another"):
        DepthLGP(**FAST).fit(blocks, other, **stop)


def test_a_pair_and_a_path_can_be_fitted():
    for edges in ([("a", "b")], [("a", "b"), ("b", "c"), ("c", "c")]):
        graph = Graph.from_edges(edges)
        model = DepthLGP(epochs=1, samples=4).fit(graph, zoo.vectors(graph, 3), progress=False)
        assert np.isfinite(model.transform([("new", "a")]).std).all()


# ---------------------------------------------------------------- where it starts, and whether training helped


def test_the_chosen_start_places_held_back_nodes_best_and_training_is_kept_only_where_it_helps(blocks, vectors):
    from netfold.models.depthlgp.network import _MULTIPLES, _POWERS, WORTH

    model = DepthLGP(epochs=0).fit(blocks, vectors, progress=False)
    data = model._read(blocks, vectors)
    batch = model._alone(model.network_, data)
    best, kernel = model.network_.agreement(batch), model.network_.kernel
    given = DepthLGP(epochs=0, starts="given").fit(blocks, vectors, progress=False).network_.kernel.starts
    degrees = torch.from_numpy(np.asarray(data.links.sum(axis=1), np.float32))
    for eta, zeta in _MULTIPLES:
        kernel.starts.copy_(given * given.new_tensor([eta, zeta]))
        assert 1 - model.network_.agreement(batch) >= WORTH * (1 - best) - 1e-6
    model.network_.choose_starts(batch, degrees)
    for power in _POWERS:
        kernel.weigh(degrees, power)
        assert 1 - model.network_.agreement(batch) >= WORTH * (1 - best) - 1e-6
    bad = DepthLGP(epochs=3, samples=32, lr=3.0, node_lr=3.0).fit(blocks, vectors, progress=False)  # learns nonsense
    assert float(bad.network_.kernel.raw_eta.detach().abs().max()) == 0
    np.testing.assert_allclose(
        bad.network_.latent.detach().numpy(), vectors.vectors - vectors.vectors.mean(0), atol=1e-4
    )


def test_nodes_that_judge_are_never_held_back_in_training(blocks, vectors):
    model = DepthLGP(samples=64)
    data = model._read(blocks, vectors)
    network = model._started(data, __import__("torch").device("cpu"))
    judges = model._held_back(data)
    for batch in model._sampler(network, vectors, 64, 16, judges)(model._generator(1, 0)):
        assert not np.isin(batch.around.new.numpy(), judges).any()


def test_agreement_is_the_mean_cosine_around_the_mean(blocks, vectors):
    model = DepthLGP(epochs=0).fit(blocks, vectors, progress=False)
    batch = model._alone(model.network_, model._read(blocks, vectors))
    placed, mean = model.network_(batch.around).detach().double().numpy(), vectors.vectors.astype(np.float64).mean(0)
    cosines = [(a - mean) @ (b - mean) / np.linalg.norm(a - mean) / np.linalg.norm(b - mean)
               for a, b in zip(placed, batch.vectors.double().numpy(), strict=True)]  # fmt: skip
    assert model.network_.agreement(batch) == pytest.approx(float(np.mean(cosines)), rel=1e-4)


def test_of_nearly_equal_starts_the_one_nearest_label_propagation_is_taken():
    taken = []
    agreements = {"first": 0.90, "hardly better": 0.9049, "better": 0.92, "as good": 0.9199}
    _take(taken.append, list(agreements), lambda: agreements[taken[-1]])
    assert taken == [*agreements, "better"]
    agreements["better"] = 0.9049
    agreements["as good"] = 0.901
    _take(taken.append, list(agreements), lambda: agreements[taken[-1]])
    assert taken[-1] == "first"


@pytest.mark.parametrize("power", [0.0, 0.25, 1.0])
def test_neighbors_are_weighed_by_a_power_of_their_degree(power):
    from netfold.models.lgp.process import Kernel

    degrees = torch.tensor([0.0, 1.0, *range(30, 46), 1.5, 2.0, 100.0])
    kernel = Kernel(len(degrees), 3, "all")
    kernel.weigh(degrees, power)
    least = sorted(x for x in degrees.tolist() if x > 0)[1]  # of 20 that have links, two have at most this
    due = [1 / (1 + np.exp(-3)) * min(1.0, (least / x) ** power if x > 0 else 1.0) for x in degrees.tolist()]
    np.testing.assert_allclose(kernel.weights(kernel.raw_weights.detach())[:, 0], due, rtol=1e-5)


def test_where_starts_are_chosen_eta_zeta_and_a_are_learned_and_h_and_g_stay(blocks, vectors, monkeypatch):
    monkeypatch.setattr(DepthLGP, "_keep_best", lambda self, data: None)  # what was learned stays, whatever it is worth
    model = DepthLGP(epochs=3, samples=64, lr=0.1, node_lr=0.05).fit(blocks, vectors, progress=False)
    start = model._started(model._read(blocks, vectors), torch.device("cpu"))
    np.testing.assert_allclose(model.network_.latent.detach(), vectors.vectors - vectors.vectors.mean(0), atol=1e-5)
    assert not any(bool(x.any()) for x in (model.network_.g.outward, model.network_.g.outward_bias))
    moved = (model.network_.kernel.raw_weights - start.kernel.raw_weights).detach().abs()
    assert float(moved.max()) > 0.05 and float(model.network_.kernel.raw_eta.detach().abs().max()) > 0


def test_new_vectors_are_as_long_as_known_ones_and_the_file_keeps_by_how_much(blocks, vectors, tmp_path):
    import netfold as nf

    model = DepthLGP(epochs=0).fit(blocks, vectors, progress=False)
    judges = model._alone(model.network_, model._read(blocks, vectors))
    mean = vectors.vectors.mean(axis=0)
    placed, known = (np.median(np.linalg.norm(x.detach().numpy() - mean, axis=1))
                     for x in (model.network_(judges.around), judges.vectors))  # fmt: skip
    assert placed == pytest.approx(known, rel=1e-4) and model.placing_.scale == model.network_.scale > 1
    given = DepthLGP(epochs=0, starts="given").fit(blocks, vectors, progress=False)
    assert given.network_.scale == 1 and given.placing_.scale == 1
    model.save(tmp_path / "m")
    links = [("new", blocks.nodes[0]), ("new", blocks.nodes[5])]
    assert nf.load(tmp_path / "m").transform(links).vectors.tobytes() == model.transform(links).vectors.tobytes()
