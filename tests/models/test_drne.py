"""DRNE as people use it: roles, new nodes, isolated nodes, what it reads of a graph and what it refuses."""

from __future__ import annotations

from itertools import pairwise

import networkx as nx
import numpy as np
import pytest
import torch

import netfold as nf
from netfold.embedder.options import options
from netfold.models.drne import DRNE
from problems import problem_of
from zoo import ZOO, directed, karate, scattered, weighted

FAST = {"dim": 8, "epochs": 15}
graphs = pytest.mark.parametrize("kind", sorted(ZOO))


def fit(graph, **changed) -> DRNE:
    return DRNE(**FAST | changed).fit(graph, progress=False)


# -------------------------------------------------------------------- vectors


@graphs
@pytest.mark.parametrize("options", [{}, {"rounds": 0}, {"rounds": 3, "vectors": "all"}, {"init": "degree"}])
def test_shapes_nodes_and_finiteness(kind, options):
    graph = ZOO[kind]()
    emb = fit(graph, **options).embedding_
    assert emb.vectors.shape == (graph.n_nodes, 8) and emb.vectors.dtype == np.float32
    assert np.isfinite(emb.vectors).all() and emb.nodes == graph.nodes


@graphs
@pytest.mark.parametrize("start", ["common", "random"])
def test_same_seed_same_bits_other_seed_other_bits(kind, start):
    graph = ZOO[kind]()
    one, two, other = (fit(graph, seed=s, init=start, max_neighbors=3).embedding_.vectors for s in (1, 1, 2))
    assert one.tobytes() == two.tobytes()
    assert one.tobytes() != other.tobytes()


def test_the_global_random_state_is_untouched():
    state = torch.get_rng_state()
    fit(karate(), max_neighbors=3)
    assert torch.equal(state, torch.get_rng_state())


@graphs
def test_the_objective_falls_and_is_the_sum_of_its_terms(kind):
    history = fit(ZOO[kind](), epochs=60, tolerance=0.0, patience=5).history_
    assert len(history) == 60 and history[-1]["objective"] < 0.9 * history[0]["objective"]
    assert {"recursive", "regularization"} < set(history[0])
    for record in history:
        assert record["objective"] == pytest.approx(record["recursive"] + record["regularization"])


def test_training_stops_when_the_objective_stands_still():
    assert len(fit(karate(), epochs=50, lr=1e-12, tolerance=1e-3, patience=4).history_) == 5


def test_lambda_weighs_the_regulariser():
    """Before anything moves, twice the weight is twice the term."""
    one, two = (fit(karate(), epochs=1, lr=1e-9, lambda_=x, schedule="constant").history_[0] for x in (0.5, 1.0))
    assert two["regularization"] == pytest.approx(2 * one["regularization"], rel=1e-5)
    assert two["recursive"] == pytest.approx(one["recursive"], rel=1e-5)


def test_both_kinds_of_vectors_come_together_as_the_recursion_is_solved():
    graph = karate()
    near = []
    for epochs in (1, 200):
        table, made = (fit(graph, epochs=epochs, tolerance=0.0, rounds=r).embedding_.vectors for r in (0, 1))
        near.append(np.linalg.norm(table - made, axis=1).mean())
    assert near[1] < 0.3 * near[0]


def test_every_round_aggregates_what_the_last_one_made():
    graph = karate()
    by_round = [fit(graph, rounds=r).embedding_.vectors for r in range(4)]
    model = fit(graph, rounds=3)
    model.network_.double()
    sequences = model._drawn(graph.adjacency)
    for before, after in pairwise(by_round):
        again = model.network_.aggregate(sequences, torch.tensor(before).double())
        np.testing.assert_allclose(after, again, atol=1e-6)
    assert np.abs(by_round[3] - by_round[2]).max() > 1e-3


def test_all_rounds_side_by_side():
    graph = karate()
    side = fit(graph, dim=12, rounds=2, vectors="all").embedding_.vectors
    for r in range(3):
        assert np.array_equal(side[:, 4 * r : 4 * r + 4], fit(graph, dim=4, rounds=r).embedding_.vectors)
    with pytest.raises(nf.InputError, match=r"dim=8 cannot be parted among X and 2 round\(s\);.* a multiple of 3"):
        fit(graph, dim=8, rounds=2, vectors="all")


@pytest.mark.parametrize("vectors", ["last", "all"])
def test_a_new_node_linked_as_a_known_one_gets_its_vectors_of_all_rounds(vectors):
    graph = karate()
    model = fit(graph, rounds=3, vectors=vectors)
    twin = [("twin", other) for other in graph.nodes if graph.adjacency[0, graph.nodes.positions([other])[0]]]
    found = model.transform(nf.Graph.from_edges(twin))["twin"]
    own = model.embedding_[graph.nodes[0]]
    if vectors == "all":  # a new node has no X: what its neighbors aggregate to stands there
        assert np.array_equal(found[:2], found[2:4])
        found, own = found[2:], own[2:]
    np.testing.assert_allclose(found, own, atol=1e-6)


def test_the_start_by_degree_differs_with_the_degree_alone():
    graph = karate()
    x = fit(graph, init="degree", rounds=0, epochs=0).embedding_.vectors
    for degree in np.unique(graph.degrees):
        assert len(np.unique(x[graph.degrees == degree], axis=0)) == 1
    assert len(np.unique(x, axis=0)) == len(np.unique(graph.degrees))


# -------------------------------------------------------------------- roles


@pytest.mark.parametrize("batch_size", [None, 7])
@pytest.mark.parametrize("graph", [nx.barbell_graph(10, 10), nx.star_graph(6)], ids=["barbell", "star"])
def test_mirror_images_fall_together_and_roles_apart(graph, batch_size):
    """From a common start, to the last bits; the barbell's roles are its colors: 1 + 1 + 5 of them."""
    model = fit(graph, epochs=100, tolerance=0.0, batch_size=batch_size)
    color = model.network_.colors.numpy()
    x = model.embedding_.vectors.astype(np.float64)
    centers = np.stack([x[color == c].mean(axis=0) for c in np.unique(color)])
    within = max(np.abs(x[color == c] - centers[c]).max() for c in np.unique(color))
    between = min(np.linalg.norm(a - b) for i, a in enumerate(centers) for b in centers[:i])
    assert len(centers) == (7 if len(graph) == 30 else 2)
    assert within < 1e-5 < 0.01 < between


def test_mirrored_karate_falls_together():
    """68 nodes, in two steps an epoch: every person and their mirror image have one vector."""
    graph = nf.datasets.mirrored_karate()
    model = fit(graph, epochs=30)
    color, x = model.network_.colors.numpy(), model.embedding_.vectors
    counts = np.bincount(color)
    assert len(color) == 68 and (counts % 2 == 0).all() and len(counts) > 20
    for c in range(len(counts)):
        np.testing.assert_allclose(x[color == c], x[color == c][:1].repeat(counts[c], 0), rtol=0, atol=1e-4)
    assert len(np.unique(x.round(3), axis=0)) > 20


def test_the_nearest_of_a_role_is_one_of_that_role():
    """Two stars far apart: the hub's nearest is the other hub, a leaf's a leaf."""
    edges = [("hub", f"leaf {i}") for i in range(5)] + [("center", f"tip {i}") for i in range(5)]
    edges += [("hub", "way"), ("way", "path"), ("path", "road"), ("road", "center")]
    emb = fit(edges, epochs=60).embedding_
    assert emb.nearest("hub", k=1)[0][0] == "center"
    assert emb.nearest("leaf 0", k=9)[-1][0].split()[0] in ("leaf", "tip")


# -------------------------------------------------------------------- what of a graph is read


def test_weights_are_not_read():
    graph = weighted()
    plain = nf.Graph.from_scipy((graph.adjacency > 0).astype(np.float32), nodes=graph.nodes)
    assert fit(graph).embedding_.vectors.tobytes() == fit(plain).embedding_.vectors.tobytes()


def test_directions_are_not_read():
    graph = directed()
    both = nf.Graph.from_scipy(((graph.adjacency + graph.adjacency.T) > 0).astype(np.float32), nodes=graph.nodes)
    assert fit(graph).embedding_.vectors.tobytes() == fit(both).embedding_.vectors.tobytes()


@pytest.mark.parametrize("rounds", [0, 1, 2])
@pytest.mark.parametrize("start", ["common", "degree", "random"])
def test_an_isolated_node_has_the_vector_zero(rounds, start):
    emb = fit(scattered(), rounds=rounds, init=start).embedding_
    assert not emb["alone"].any() and not emb["also alone"].any()
    assert all(emb[x].any() for x in ("hub", "leaf 0", "日本", "α0"))


def test_many_neighbors_are_drawn_from():
    graph = nf.Graph.from_networkx(nx.barabasi_albert_graph(60, 3, seed=0))
    few, more, all_of_them = (fit(graph, max_neighbors=s).embedding_.vectors for s in (4, 60, 300))
    assert more.tobytes() == all_of_them.tobytes() != few.tobytes()


@pytest.mark.parametrize("batch_size", [1, 10, 34, 1000])
def test_any_batch_size_visits_every_node_once_and_parts_no_color(batch_size):
    model, graph = DRNE(batch_size=batch_size), karate()
    problem = problem_of(model, graph)
    given = [[int(v) for p in b.pieces for v in b.nodes[p.rows]] for b in problem.batches(0)]
    color = problem.network.colors.tolist()
    assert sorted(v for rows in given for v in rows) == list(range(34))
    assert sum(len({color[v] for v in rows}) for rows in given) == len(set(color)) < 34
    assert len(given) == {1: len(set(color)), 10: 4, 34: 1, 1000: 1}[batch_size]


# -------------------------------------------------------------------- new nodes


def grown(graph: nf.Graph, like) -> nf.Graph:
    """The graph with a node `new` wired as a known one is, in both directions."""
    made = graph.to_networkx()
    for _, b in list(made.edges(like)):
        made.add_edge("new", b)
    for a, _ in list(made.in_edges(like)) if graph.directed else ():
        made.add_edge(a, "new")
    return nf.Graph.from_networkx(made)


@graphs
@pytest.mark.parametrize("most", [2, 300])
def test_a_new_node_wired_as_a_known_one_gets_its_vector(kind, most):
    graph = ZOO[kind]()
    model = fit(graph, max_neighbors=most)
    like = graph.nodes[1]
    new = model.transform(grown(graph, like))
    assert list(new.nodes) == ["new"]
    np.testing.assert_allclose(new["new"], model.embedding_[like], rtol=1e-5, atol=1e-6)


def test_a_new_node_is_the_same_whichever_others_are_new():
    model = fit(karate(), max_neighbors=3)
    edges = [("a", i) for i in range(8)]
    alone = model.transform(nf.Graph.from_edges(edges))["a"]
    among = model.transform(nf.Graph.from_edges([("b", 33), ("c", 4), ("a", "b"), *edges]))
    np.testing.assert_allclose(among["a"], alone, rtol=1e-5, atol=1e-6)
    assert set(among.nodes) == {"a", "b", "c"}


def test_a_new_node_without_a_known_neighbor_is_refused_by_name():
    with pytest.raises(nf.InputError, match="'x', 'y': no links to any known node, and DRNE can place"):
        fit(karate()).transform(nf.Graph.from_edges([("x", "y"), ("z", 3)]))


# -------------------------------------------------------------------- kept and refused


@graphs
def test_saved_and_loaded_it_is_the_same(kind, tmp_path):
    graph = ZOO[kind]()
    model = fit(graph, max_neighbors=3)
    model.save(tmp_path / "m.netfold")
    again = nf.load(tmp_path / "m.netfold")
    assert type(again) is DRNE and again.get_params() == model.get_params() and again.history_ == model.history_
    assert again.embedding_.vectors.tobytes() == model.embedding_.vectors.tobytes()
    later = grown(graph, like=graph.nodes[1])
    assert again.transform(later).vectors.tobytes() == model.transform(later).vectors.tobytes()


def test_a_run_that_was_stopped_goes_on_to_the_same_bits(tmp_path):
    whole = fit(karate(), max_neighbors=3, batch_size=10)
    stopped = DRNE(**FAST, max_neighbors=3, batch_size=10)
    at = tmp_path / "state"
    stopped.fit(karate(), progress=False, checkpoint=at, on_epoch=lambda r: r["epoch"] == 6)
    assert len(stopped.history_) == 6
    stopped.fit(karate(), progress=False, checkpoint=at)
    assert stopped.embedding_.vectors.tobytes() == whole.embedding_.vectors.tobytes()


def test_small_graphs_work_with_the_defaults():
    pair = DRNE(epochs=3).fit([("a", "b")], progress=False).embedding_
    assert pair.vectors.shape == (2, 16) and np.array_equal(pair["a"], pair["b"])
    assert DRNE(epochs=3, dim=1).fit(karate(), progress=False).embedding_.dim == 1


def test_every_option_is_explained():
    assert all(len(o.help) > 10 for o in options(DRNE))


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ({"dim": 0}, "dim=0 is not allowed; it is a whole number of at least 1"),
        ({"lambda_": -1.0}, "lambda_=-1.0 is not allowed"),
        ({"max_neighbors": 0}, "max_neighbors=0 is not allowed"),
        ({"init": "zero"}, "init='zero' is not allowed; it is one of degree, common, random"),
        ({"vectors": "h"}, "vectors='h' is not allowed; it is one of last, all"),
        ({"batch_size": 0}, "batch_size=0 is not allowed"),
        ({"lr": 0.0}, "lr=0.0 is not allowed"),
        ({"schedule": "step"}, "schedule='step' is not allowed"),
    ],
)
def test_what_is_not_an_option_is_refused(bad, message):
    with pytest.raises(nf.InputError, match=message):
        DRNE(**bad)
