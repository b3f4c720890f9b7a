"""DVNE as people use it: Gaussians, distances, new nodes, what it reads of a graph and what it refuses."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import torch
from scipy import sparse

import netfold as nf
from netfold.data.gaussians import w2
from netfold.embedder.options import options
from netfold.evaluate import split_edges
from netfold.models.dvne import DVNE
from netfold.models.dvne.batches import _steps_more
from zoo import ZOO, directed, karate, scattered, weighted

FAST = {"dim": 8, "hidden": 16, "epochs": 15}
graphs = pytest.mark.parametrize("kind", sorted(ZOO))


def fit(graph, **changed) -> DVNE:
    return DVNE(**FAST | changed).fit(graph, progress=False)


def coordinates(graph, **changed) -> np.ndarray:
    return fit(graph, **changed).embedding_.coordinates


def two_cliques(size: int = 6) -> nf.Graph:
    cliques = [(c, a, b) for c in "xy" for a in range(size) for b in range(a)]
    return nf.Graph.from_edges([((c, a), (c, b)) for c, a, b in cliques] + [(("x", 0), ("y", 0))])


# -------------------------------------------------------------------- Gaussians


@graphs
@pytest.mark.parametrize("energy", ["w2", "w2_squared", "kl"])
def test_every_node_gets_a_mean_and_a_deviation(kind, energy):
    graph = ZOO[kind]()
    emb = fit(graph, energy=energy, dropout=0.2).embedding_
    assert emb.nodes == graph.nodes
    for array in (emb.vectors, emb.std):
        assert array.shape == (graph.n_nodes, 8) and array.dtype == np.float32 and np.isfinite(array).all()
    assert emb.std.min() > 0


@graphs
def test_same_seed_same_bits_other_seed_other_bits(kind):
    one, two, other = (coordinates(ZOO[kind](), seed=s, dropout=0.3) for s in (1, 1, 2))
    assert one.tobytes() == two.tobytes() != other.tobytes()


def test_the_global_random_state_is_untouched():
    state = torch.get_rng_state()
    fit(karate(), dropout=0.5)
    assert torch.equal(state, torch.get_rng_state())


@graphs
def test_the_objective_falls_and_is_the_sum_of_its_terms(kind):
    history = fit(ZOO[kind](), epochs=60, tolerance=0.0, patience=5).history_
    assert len(history) == 60 and history[-1]["objective"] < 0.9 * history[0]["objective"]
    for record in history:
        assert record["objective"] == pytest.approx(record["first_order"] + record["second_order"])
        assert record["second_order"] > 0


def test_the_second_order_falls_where_it_alone_counts():
    history = fit(karate(), epochs=200, alpha=1000.0, lr=0.01, tolerance=0.0).history_
    assert history[-1]["second_order"] < 0.2 * history[0]["second_order"]


def test_training_stops_when_the_objective_stands_still():
    complete = list(itertools.combinations(range(6), 2))  # no triplets, whose draws would move the objective
    assert len(fit(complete, epochs=50, lr=1e-12, alpha=1e-9, tolerance=0.9, patience=4).history_) == 5


@pytest.mark.parametrize(
    "change",
    [
        {"alpha": 5.0}, {"repulsion": 10.0}, {"dropout": 0.4}, {"energy": "kl"}, {"batch_size": 20}, {"lr": 0.01},
        {"schedule": "constant"}, {"hidden": 17}, {"optimizer": "rmsprop"},
    ],
    ids=str,
)  # fmt: skip
def test_every_option_changes_what_is_learned(change):
    assert coordinates(karate()).tobytes() != coordinates(karate(), **change).tobytes()


def test_more_repulsion_drives_nodes_apart():
    little, some, much = (fit(two_cliques(), repulsion=r, epochs=60).distance(("x", 1), ("y", 1)) for r in (0.1, 1, 10))
    assert little < some < much


def test_with_reach_the_ends_of_a_path_come_closer():
    path = nf.Graph.from_edges([(i, i + 1) for i in range(20)])
    near, far = (fit(path, reach=r, epochs=100, lr=0.01).distance(0, 4) for r in (1, 6))
    assert far < 0.8 * near
    assert coordinates(path, reach=3).tobytes() == coordinates(path, reach=3).tobytes()


def test_a_node_without_links_is_the_least_certain():
    graph = nf.Graph.from_edges([(0, 1), (1, 2), (2, 0), (2, 3)], nodes=range(5))
    found = fit(graph, epochs=50).embedding_
    widths = found.uncertainty(found.nodes)
    assert widths.argmax() == 4 and widths[4] == pytest.approx(widths[:4].max(), rel=1e-5)
    assert np.isfinite(found.coordinates).all()


def test_without_widening_an_isolated_node_has_what_the_network_says_of_an_empty_row():
    graph = nf.Graph.from_edges([(0, 1), (1, 2), (2, 0), (2, 3)], nodes=range(5))
    plain, wide = fit(graph, epochs=50, widen=False), fit(graph, epochs=50)
    empty = plain.network_.embed(sparse.csr_array((1, 5), dtype=np.float32))
    assert np.allclose(plain.embedding_.coordinates[4], empty[0], rtol=1e-5)
    assert np.array_equal(plain.embedding_.coordinates[:4], wide.embedding_.coordinates[:4])
    assert wide.embedding_.uncertainty(4) > plain.embedding_.uncertainty(4)


def test_a_walk_that_may_restart_goes_as_far_as_a_geometric_law_says():
    reach, restart, shape = 6, 0.4, torch.Size([200_000])
    steps = 1 + _steps_more(reach, restart, shape, torch.Generator().manual_seed(1))
    law = [restart * (1 - restart) ** (s - 1) for s in range(1, reach)]
    wanted = np.array([*law, 1 - sum(law)])
    seen = np.bincount(steps.numpy(), minlength=reach + 1)[1:] / len(steps)
    assert np.abs(seen - wanted).max() < 4 * np.sqrt(0.25 / len(steps))
    alike = np.bincount((1 + _steps_more(reach, 0.0, shape, torch.Generator().manual_seed(1))).numpy())[1:]
    assert np.abs(alike / len(steps) - 1 / reach).max() < 4 * np.sqrt(0.25 / len(steps))
    ring = nf.Graph.from_edges([(i, (i + 1) % 12) for i in range(12)])
    assert coordinates(ring, reach=4, restart=0.5).tobytes() != coordinates(ring, reach=4).tobytes()
    assert coordinates(ring, restart=0.5).tobytes() == coordinates(ring).tobytes()  # without a reach nothing walks


def test_cliques_are_told_apart():
    model = fit(two_cliques(), epochs=100, lr=0.01)
    assert {node[0] for node, _ in model.embedding_.nearest(("x", 3), k=5)} == {"x"}


def test_hidden_links_are_found_better_than_by_chance():
    graph, _ = nf.datasets.stochastic_block_model([30, 30, 30], 0.4, 0.02, seed=1)
    split = split_edges(graph, 0.2, seed=1)
    model = fit(split.train, epochs=60, lr=0.005, dropout=0.3)
    found = nf.evaluate.link_prediction(model, split, score="w2", baselines=False).figures
    assert found["AUC"] > 0.75


# -------------------------------------------------------------------- distances


def test_distances_are_w2_and_take_nodes_or_lists():
    model = fit(weighted())
    emb = model.embedding_
    a, b, c = "Valjean", "Javert", "Cosette"
    gaussians = {x: (emb[x], emb.std[emb.nodes.positions([x])[0]] ** 2.0) for x in (a, b, c)}
    assert model.distance(a, b) == pytest.approx(w2(*gaussians[a], *gaussians[b]), rel=1e-6)
    assert isinstance(model.distance(a, b), float) and model.distance(a, a) == 0
    assert model.distance(a, [b, c]).tolist() == [model.distance(a, b), model.distance(a, c)]
    assert model.distance([b, c], a).tolist() == model.distance(a, [b, c]).tolist()
    assert model.distance([a, b], [b, c]).tolist() == [model.distance(a, b), model.distance(b, c)]
    assert model.distance([], a).shape == (0,)
    nearest = emb.nearest(a, k=1)[0]
    assert nearest[1] == pytest.approx(model.distance(a, nearest[0]), rel=1e-6)


def test_a_tuple_is_one_node_and_an_array_several():
    model = fit(two_cliques())
    assert model.distance(("x", 1), [("x", 2), ("y", 3)]).shape == (2,)
    assert fit(karate()).distance(0, np.array([1, 2, 3])).shape == (3,)


def test_distances_of_what_is_not_there_are_refused():
    model = fit(karate())
    with pytest.raises(nf.InputError, match="99"):
        model.distance(0, 99)
    with pytest.raises(nf.InputError, match="2 nodes cannot be paired with 3"):
        model.distance([0, 1], [2, 3, 4])
    with pytest.raises(nf.InputError, match="not fitted"):
        DVNE().distance(0, 1)


# -------------------------------------------------------------------- new nodes


@graphs
def test_a_new_node_wired_as_a_known_one_gets_its_gaussian(kind):
    graph = ZOO[kind]()
    model, like = fit(graph), graph.nodes[1]
    wired = [("new", b, w) for _, b, w in graph.to_networkx().edges(like, data="weight")]
    new = model.transform(nf.Graph.from_edges(wired, directed=graph.directed))
    assert list(new.nodes) == ["new"]
    known = model.embedding_.take([like])
    np.testing.assert_allclose(new.coordinates, known.coordinates, rtol=1e-4, atol=1e-5)


def test_only_the_shares_of_a_new_nodes_links_matter():
    model = fit(karate())
    one, ten = (model.transform([("new", 0, w), ("new", 5, 3 * w)]).coordinates for w in (1, 10))
    np.testing.assert_allclose(one, ten, rtol=1e-6)


def test_what_else_a_later_graph_holds_is_not_read():
    model = fit(karate())
    alone = model.transform([("new", 0), ("new", 5)])
    more = model.transform([("new", 0), ("new", 5), ("new", "newer"), ("newer", 7), (0, 30), (1, 2)])
    assert more["new"].tobytes() == alone["new"].tobytes() and set(more.nodes) == {"new", "newer"}


def test_a_new_sink_is_placed_by_the_arcs_that_enter_it():
    graph = directed()
    model = fit(graph)
    entering = [(int(i), "new") for i in np.flatnonzero(graph.adjacency[:, 39].toarray())]  # 39 is a sink
    assert entering and not graph.neighbors(39)
    later = nf.Graph.from_edges([*entering, ("new", "newer"), ("newer", 5)], directed=True)
    np.testing.assert_allclose(model.transform(later)["new"], model.embedding_[39], rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("kind", ["karate", "directed"])
def test_a_new_node_without_a_known_neighbor_is_refused_by_name(kind):
    graph = ZOO[kind]()
    later = nf.Graph.from_edges([("ann", 1), ("bob", "cid")], directed=graph.directed)
    with pytest.raises(nf.InputError, match="'bob', 'cid': no links to any known node"):
        fit(graph).transform(later)


def test_no_new_nodes_make_an_empty_embedding():
    assert len(fit(karate()).transform(karate())) == 0


# -------------------------------------------------------------------- sorts of graphs


def test_weights_are_read_as_shares():
    graph = weighted()
    plain = nf.Graph.from_scipy((graph.adjacency != 0).astype(np.float32), graph.nodes)
    tenfold = nf.Graph.from_scipy(graph.adjacency * 16, graph.nodes)
    assert coordinates(graph).tobytes() != coordinates(plain).tobytes()
    assert coordinates(graph).tobytes() == coordinates(tenfold).tobytes()


def test_isolated_nodes_share_one_gaussian_and_others_do_not():
    model = fit(scattered(), epochs=40)
    assert model.distance("alone", "also alone") == 0
    assert model.distance("alone", "hub") > 0


def test_sinks_do_not_share_one_gaussian():
    edges = [(a, b) for a in range(5) for b in range(5) if a < b]
    graph = nf.Graph.from_edges([*edges, (0, "sink"), (1, "sink"), (3, "other sink")], directed=True)
    assert fit(graph).distance("sink", "other sink") > 0


def test_a_graph_and_its_reverse_differ():
    graph = directed()
    turned = nf.Graph(graph.adjacency.T.tocsr(), graph.nodes, directed=True)
    assert coordinates(graph).tobytes() != coordinates(turned).tobytes()


def test_self_loops_are_read_in_rows_and_are_no_triplets():
    ring = [(i, (i + 1) % 6) for i in range(6)]
    plain, looped = nf.Graph.from_edges(ring), nf.Graph.from_edges([*ring, (0, 0), (3, 3)])
    assert coordinates(plain).tobytes() != coordinates(looped).tobytes()
    with pytest.raises(nf.InputError, match="all 2 edges are self-loops"):
        fit(nf.Graph.from_edges([(0, 0), (1, 1)]))


@pytest.mark.parametrize("n", [2, 3, 5])
def test_complete_graphs_have_no_triplets_and_learn_their_rows(n):
    graph = nf.Graph.from_edges(itertools.combinations(range(n), 2))
    history = fit(graph, epochs=60, tolerance=0.0, lr=0.02, batch_size=1).history_
    assert all(r["first_order"] == 0 for r in history)
    assert history[0]["second_order"] > history[-1]["second_order"] > 0
    with pytest.raises(nf.InputError, match="no triplet has a far node"):
        fit(graph, alpha=0.0)


def test_a_node_linked_with_all_others_is_embedded_too():
    star = nf.Graph.from_edges([("hub", leaf) for leaf in "abcdef"] + [("a", "b"), ("c", "d")])
    model = fit(star, epochs=60, lr=0.01)
    assert np.isfinite(model.embedding_.coordinates).all()
    assert model.distance("a", "b") < model.distance("a", "e")


@pytest.mark.parametrize("names", ["abc", [10, 20, 30], [("a", 1), ("b", 2), ("c", 3)]])
def test_three_nodes_with_any_names(names):
    a, b, c = names
    model = DVNE(epochs=3).fit(nf.Graph.from_edges([(a, b), (b, c)]), progress=False)
    assert model.embedding_.std.shape == (3, 64) and model.distance(a, c) >= 0


def test_the_order_of_edges_and_the_names_of_nodes_do_not_matter():
    graph = karate()
    edges = list(graph.to_networkx().edges)
    turned = nf.Graph.from_edges([e[::-1] for e in edges[::-1]], nodes=range(34))
    renamed = nf.Graph(graph.adjacency, [f"ñ {i}" for i in range(34)])
    assert coordinates(graph).tobytes() == coordinates(turned).tobytes() == coordinates(renamed).tobytes()


# -------------------------------------------------------------------- kept and resumed


@graphs
def test_saved_and_loaded_it_is_the_same(kind, tmp_path):
    graph = ZOO[kind]()
    model = fit(graph, dropout=0.1, repulsion=2.0, energy="kl")
    model.save(tmp_path / "m.netfold")
    again = nf.load(tmp_path / "m.netfold")
    assert isinstance(again, DVNE) and again.get_params() == model.get_params()
    assert again.embedding_.coordinates.tobytes() == model.embedding_.coordinates.tobytes()
    later = nf.Graph.from_edges([("new", graph.nodes[2])], directed=graph.directed)
    assert again.transform(later).coordinates.tobytes() == model.transform(later).coordinates.tobytes()
    a, b = graph.nodes[1], graph.nodes[2]
    assert again.distance(a, b) == model.distance(a, b)


@pytest.mark.parametrize("alpha", [0.0, 0.6])
def test_a_run_that_was_stopped_goes_on_to_the_same_bits(alpha, tmp_path):
    graph, changed = weighted(), {"alpha": alpha, "dropout": 0.2, "batch_size": 50, "epochs": 12}
    whole = coordinates(graph, **changed)
    for last in (5, 9, None):
        model = DVNE(**FAST | changed)
        model.fit(graph, progress=False, checkpoint=tmp_path / "c", on_epoch=lambda r, last=last: r["epoch"] == last)
    assert len(model.history_) == 12
    assert model.embedding_.coordinates.tobytes() == whole.tobytes()


def test_options_say_what_they_take():
    assert len({o.name for o in options(DVNE)}) == 22
    numbers = ({"alpha": -1}, {"repulsion": 0.0}, {"dropout": 1.0}, {"shared": -1}, {"hidden": 0}, {"lr": 0})
    for bad in (*numbers, {"energy": "w1"}, {"std": "none"}):
        with pytest.raises(nf.InputError, match=f"{next(iter(bad))}="):
            DVNE(**bad)
