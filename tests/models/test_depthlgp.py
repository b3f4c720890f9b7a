"""DepthLGP as its users meet it."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import netfold as nf
from depthlgp_models import fitted
from netfold.data.embedding import Embedding
from netfold.data.graph import Graph
from netfold.models.depthlgp import DepthLGP


@pytest.fixture(scope="module")
def model(blocks: Graph, vectors: Embedding) -> DepthLGP:
    return fitted(blocks, vectors)


def test_known_nodes_keep_the_vectors_that_were_given(model, vectors, blocks):
    assert model.embedding_.vectors.tobytes() == vectors.vectors.tobytes()
    assert model.embedding_.nodes == blocks.nodes and model.embedding_.std is None
    assert set(model.history_[0]) == {"epoch", "risk", "objective", "seconds"}


def test_the_vectors_may_come_in_another_order_and_with_others(blocks, vectors, model):
    order = np.random.default_rng(0).permutation(len(vectors))
    more = Embedding([*(vectors.nodes[i] for i in order), "else"], np.vstack([vectors.vectors[order], np.ones((1, 6))]))
    again = fitted(blocks, more)
    assert again.embedding_.nodes == blocks.nodes
    new = [("new", 0), ("new", 1)]
    assert again.transform(new).vectors.tobytes() == model.transform(new).vectors.tobytes()


def test_a_fitted_model_can_be_given_instead_of_its_vectors(blocks):
    line = nf.LINE(dim=6, epochs=1).fit(blocks, progress=False)
    assert fitted(blocks, line, epochs=0).embedding_.vectors.tobytes() == line.embedding_.vectors.tobytes()


def test_a_new_node_lands_in_the_block_it_is_linked_with(model, vectors):
    for block in range(5):
        new = model.transform([("new", 40 * block + i) for i in range(5)])
        near = [node for node, _ in model.embedding_.nearest(new["new"], k=10, metric="euclidean")]
        assert sum(node // 40 == block for node in near) >= 9


def test_a_new_node_is_placed_through_other_new_nodes(model):
    chain = model.transform([("x", 3), ("x", 5), ("x", 7), ("y", "x"), ("z", "y")])
    assert sorted(chain.nodes) == ["x", "y", "z"]
    centers = model.embedding_.vectors.reshape(5, 40, 6).mean(axis=1)
    for node in ("x", "y"):
        assert np.argmin(np.linalg.norm(centers - chain[node], axis=1)) == 0
    assert chain.std is not None and (chain.take(["z"]).std > chain.take(["x"]).std).all()


def test_a_node_on_one_weak_edge_is_less_sure_than_one_with_twenty(model):
    new = model.transform([("weak", 0, 0.1), ("one", 0, 1.0), *(("many", i, 1.0) for i in range(20))])
    weak, one, many = (new.take([x]).std for x in ("weak", "one", "many"))
    assert (weak > one).all() and (one > 1.2 * many).all() and (many > 0).all()


def test_the_deviations_are_those_of_the_errors(blocks, vectors):
    split = nf.evaluate.split_nodes(blocks, 40, seed=1)
    model = fitted(split.known, vectors, epochs=10, samples=256)
    new = model.transform(split.whole)
    wrong = (new.vectors - vectors[list(new.nodes)]) / new.std
    assert 0.6 < float((wrong**2).mean()) ** 0.5 < 1.6


def test_uncertainty_can_be_left_out(blocks, vectors, model):
    sure = fitted(blocks, vectors, uncertainty=False)
    new = sure.transform([("new", 0), ("new", 1)])
    assert new.std is None
    assert new.vectors.tobytes() == model.transform([("new", 0), ("new", 1)]).vectors.tobytes()


@pytest.mark.parametrize("prior", ["mean", "zero"])
@pytest.mark.parametrize("routine", ["exact", "sampled"])
def test_nodes_without_a_path_are_named_and_get_what_the_prior_expects(blocks, vectors, prior, routine):
    model = fitted(blocks, vectors, prior=prior, routine=routine, hidden=0)
    with pytest.warns(UserWarning, match="'far', 'away': no path to any known node"):
        new = model.transform(Graph.from_edges([("new", 1), ("far", "away")]))
    expected = vectors.vectors.mean(axis=0) if prior == "mean" else np.zeros(6)
    np.testing.assert_allclose(new["far"], expected, atol=1e-5)
    assert np.abs(new["new"] - expected).max() > 0.01
    assert (new.take(["far"]).std > new.take(["new"]).std).all()


@pytest.mark.parametrize("routine", ["exact", "sampled"])
@pytest.mark.parametrize("edges", [[], [("lone", "lone")]])
def test_a_new_node_may_come_alone(blocks, vectors, routine, edges):
    model = fitted(blocks, vectors, routine=routine, hidden=0)
    for nodes in (["lone"], ["lone", "other"]):
        with pytest.warns(UserWarning, match="'lone'.*: no path to any known node"):
            new = model.transform(Graph.from_edges(edges, nodes=nodes))
        assert list(new.nodes) == nodes
        np.testing.assert_allclose(new["lone"], vectors.vectors.mean(axis=0), atol=1e-5)
    assert len(model.transform(Graph.from_edges([], nodes=[]))) == 0
    stream = nf.Evolving(model)
    assert stream.update(Graph.from_edges(edges, nodes=["lone"])).unreached == ["lone"]
    assert sorted(stream.update([("next", "lone"), ("next", 0)]).placed) == ["lone", "next"]  # it waited for a link


def test_both_routines_agree_where_nothing_is_left_out(blocks, vectors):
    new = [("x", 3), ("x", "y"), ("y", 90), ("z", 170), ("z", 171)]
    found = [fitted(blocks, vectors, routine=r, one_step=0, two_step=0).transform(new) for r in ("exact", "sampled")]
    np.testing.assert_allclose(found[0].vectors, found[1].vectors, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(found[0].std, found[1].std, rtol=1e-4)
    few = fitted(blocks, vectors, routine="sampled", one_step=2, two_step=1).transform(new)
    assert np.abs(few.vectors - found[0].vectors).max() > 1e-3


@pytest.mark.parametrize("sharing", ["all", "none"])
def test_both_routines_are_as_sure_of_nodes_without_a_path(blocks, vectors, sharing):
    """Linked with one another they are not as free as a node without any link."""
    models = [fitted(blocks, vectors, routine=r, sharing=sharing) for r in ("exact", "sampled")]
    with pytest.warns(UserWarning, match="no path"):
        found = [m.transform(Graph.from_edges([("x", "y"), ("z", 0)], nodes=["x", "y", "z", "w", 0])) for m in models]
    np.testing.assert_allclose(found[0].vectors, found[1].vectors, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(found[0].std, found[1].std, rtol=1e-4)
    assert (found[1].take(["w"]).std > found[1].take(["x"]).std).all()


def test_what_is_said_of_known_nodes_may_be_all_or_nothing(model, blocks):
    only = [("new", 0, 1.0), ("new", 60, 2.0)]
    edges = [(a, b, w) for a, b, w in blocks.to_networkx().edges(data="weight")]
    few, all_ = (model.transform(Graph.from_edges(x)) for x in (only, edges + only))
    np.testing.assert_allclose(few.vectors, all_.vectors, rtol=1e-5, atol=1e-6)
    more = model.transform(Graph.from_edges([*only, (0, 199, 5.0)]))
    assert np.abs(more.vectors - few.vectors).max() > 1e-4  # a link that has come among known nodes counts


def test_the_unit_of_weights_does_not_matter(blocks, vectors):
    heavy = Graph(blocks.adjacency * 64, blocks.nodes)
    here, there = fitted(blocks, vectors), fitted(heavy, vectors)
    one, two = here.transform([("new", 0, 1.0), ("new", 1, 1.0)]), there.transform([("new", 0, 64.0), ("new", 1, 64.0)])
    np.testing.assert_allclose(one.vectors, two.vectors, rtol=1e-3, atol=1e-4)


def test_arcs_count_in_either_direction_and_self_loops_not(vectors, blocks):
    arcs = Graph(blocks.adjacency, blocks.nodes, directed=True)
    model = fitted(arcs, vectors)
    here, there = (Graph.from_edges([pair, (0, 0)], directed=True) for pair in (("new", 7), (7, "new")))
    assert model.transform(here).vectors.tobytes() == model.transform(there).vectors.tobytes()
    with pytest.raises(nf.InputError, match="fitted to a directed graph and this one is undirected"):
        model.transform([("new", 7)])


# ---------------------------------------------------------------- day after day


def test_each_batch_stands_on_the_last(blocks, vectors, tmp_path):
    model = fitted(blocks, vectors)
    first = model.transform([("x", 0), ("x", 1), ("x", 2)])
    model.save(tmp_path / "m")
    stream = nf.Evolving.open(tmp_path / "m")
    day = stream.update([("x", 0), ("x", 1), ("x", 2)])
    assert day.placed["x"].tobytes() == first["x"].tobytes() and np.array_equal(stream.std("x"), first.std[0])
    assert len(stream.embedding_) == 201 and stream.embedding_["x"].tobytes() == first["x"].tobytes()
    assert stream.embedding_.vectors[:200].tobytes() == vectors.vectors.tobytes()
    second = stream.update([("y", "x"), ("y", 40)]).placed
    assert list(second.nodes) == ["y"]  # x is no longer new, and stays
    at_once = model.transform([("x", 0), ("x", 1), ("x", 2), ("y", "x"), ("y", 40)])
    assert np.abs(second["y"] - at_once["y"]).max() < 0.5 * np.abs(second["y"] - vectors.vectors).max()
    again = nf.load(tmp_path / "m", version=2)
    assert again.embedding_["y"].tobytes() == second["y"].tobytes() and again.std("y") is not None


def test_edges_that_come_among_known_nodes_are_kept(blocks, vectors):
    model = fitted(blocks, vectors)
    before = model.transform([("new", 0)]).vectors
    stream = nf.Evolving(model)
    stream.update([(0, 199), (0, 150)])
    assert len(stream.embedding_) == 200
    assert np.abs(stream.update([("new", 0)]).placed.vectors - before).max() > 1e-4


# ---------------------------------------------------------------- what is refused, saved, prepared


def test_what_cannot_be_extended_is_refused(blocks, vectors):
    with pytest.raises(nf.InputError, match=r"extends an embedding and none was given; call fit\(graph, embedding\)"):
        DepthLGP().fit(blocks)
    with pytest.raises(nf.InputError, match="no edges but self-loops; there is nothing to learn from"):
        DepthLGP().fit([("a", "a"), ("b", "b")], Embedding(["a", "b"], [[1.0], [2.0]]))
    with pytest.raises(nf.InputError, match="an ndarray was given"):
        DepthLGP().fit(blocks, vectors.vectors)
    with pytest.raises(nf.InputError, match="has 6 numbers a node and dim=8; leave dim at 0"):
        DepthLGP(dim=8).fit(blocks, vectors)
    with pytest.raises(nf.InputError, match="3, 199: in the graph, but without a vector"):
        DepthLGP().fit(blocks, vectors.take([i for i in range(200) if i not in (3, 199)]))
    with pytest.raises(nf.InputError, match="LINE learns vectors of its own"):
        nf.LINE().fit(blocks, vectors)
    with pytest.raises(nf.InputError, match="not fitted"):
        nf.Evolving(DepthLGP())
    with pytest.raises(nf.InputError, match=r"partial_fit is now nf.Evolving\(model\).update\(edges\)"):
        DepthLGP().partial_fit(blocks)
    with pytest.raises(nf.InputError, match="not fitted"):
        DepthLGP().prepare()


def test_dim_may_be_said_where_it_is_right(blocks, vectors):
    assert fitted(blocks, vectors, dim=6, epochs=0).embedding_.dim == 6


def test_saved_and_loaded_it_is_the_same(model, tmp_path):
    model.save(tmp_path / "m")
    again = nf.load(tmp_path / "m")
    new = [("new", 0), ("new", 77)]
    for one, two in zip(
        (model.transform(new).vectors, model.transform(new).std),
        (again.prepare().transform(new).vectors, again.transform(new).std),
        strict=True,
    ):
        assert one.tobytes() == two.tobytes()


def test_a_graph_in_the_file_that_is_none_is_refused(model, tmp_path):
    import copy

    broken = copy.deepcopy(model.network_)
    broken.graph.ends[0] = 10**6
    with pytest.raises(nf.InputError, match="damaged: the graph in it is none"):
        broken.graph.matrix()


def test_a_new_fit_forgets_what_was_prepared(blocks, vectors):
    model = fitted(blocks, vectors).prepare()
    new = [("new", 0)]
    before = model.transform(new).vectors
    model.fit(blocks, Embedding(vectors.nodes, -vectors.vectors), progress=False)
    assert np.abs(model.transform(new).vectors - before).max() > 0.1


def test_many_new_nodes_are_placed_in_one_go(blocks, vectors):
    """So many that variances are estimated, which the nodes' number alone decides."""
    model, rng = fitted(blocks, vectors), np.random.default_rng(0)
    edges = [(f"n{i}", int(v)) for i in range(1500) for v in rng.integers(0, 200, 3)]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        new = model.transform(Graph.from_edges(edges))
    assert len(new) == 1500 and np.isfinite(new.vectors).all() and (new.std > 0).all()
