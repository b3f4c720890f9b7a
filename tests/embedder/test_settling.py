"""Settling and refitting: training that goes on from vectors that others stand on."""

from __future__ import annotations

import copy
import shutil

import numpy as np
import pytest
import torch
from scipy import sparse

import netfold as nf
from netfold.embedder.changes import shares_that_stayed
from netfold.embedder.settling import Anchors
from netfold.embedder.versions import deltas_of

BLOCKS = [(a, b) for c in range(3) for a in range(10 * c, 10 * c + 10) for b in range(10 * c, a) if (a + b) % 3]
EDGES = [*BLOCKS, (0, 10), (10, 20)]
DAY = [("x", 0), ("x", 1), ("y", 11), ("y", 12), ("z", "x"), ("z", "y"), ("p", "q")]
MAKE = {
    "sdne": lambda: nf.SDNE(dim=4, hidden=(8,), epochs=30),
    "sdne in batches": lambda: nf.SDNE(dim=4, hidden=(), epochs=10, batch_size=7),
    "dvne": lambda: nf.DVNE(dim=4, hidden=8, epochs=5, batch_size=16),
    "node2vec": lambda: nf.Node2Vec(dim=4, epochs=2, length=10, window=2, batch_size=8),
    "line": lambda: nf.LINE(dim=4, epochs=2),
    "line, second order": lambda: nf.LINE(dim=4, epochs=2, order="second"),
}
GRAPH = nf.Graph.from_edges(EDGES)


def fit(name: str):
    return MAKE[name]().fit(GRAPH, progress=False)


def evolved(name: str):
    stream = nf.Evolving(fit(name))
    stream.update([*DAY, (0, 29)], gone=[5, (0, 1)])
    return stream


def edge_weights(graph: nf.Graph) -> dict:
    entries = graph.adjacency.tocoo()
    nodes = list(graph.nodes)
    return {(nodes[i], nodes[j]): float(w) for i, j, w in zip(*entries.coords, entries.data, strict=True)}


# ---------------------------------------------------------------- the network as it is now


def test_the_network_of_today_is_the_base_and_all_that_changed():
    stream = nf.Evolving(fit("node2vec"))
    stream.update(DAY)
    stream.update([(0, 29, 1.0), ("x", 0, 2.5)], gone=[3, (0, 2), "y"])
    stream.update([("new", 3), (3, 4)])  # 3 is back, without the links that it had
    edges = dict.fromkeys([*EDGES, *DAY], 1.0)
    edges = {k: w for k, w in edges.items() if not {3, "y"} & {*k} and set(k) != {0, 2}}
    edges |= {(0, 29): 1.0, ("x", 0): 2.5, ("new", 3): 1.0, (3, 4): 1.0}
    wanted = {pair: w for (a, b), w in edges.items() for pair in ((a, b), (b, a))}
    now = stream.network(GRAPH)
    assert edge_weights(now) == wanted
    assert set(now.nodes) == {*stream.embedding_.nodes, "p", "q"} and not now.directed
    assert edge_weights(stream.network(now)) == wanted  # the network of today itself
    with pytest.raises(nf.InputError, match="neither what the model was trained on nor the network of today: 'far'"):
        stream.network([*edges, ("far", 1)])
    with pytest.raises(nf.InputError, match="is not in it"):
        stream.network(nf.Graph.from_edges([k for k in edges if "new" not in k]))
    with pytest.raises(nf.InputError, match="weigh 1 in it, not 2.5"):
        stream.network(nf.Graph.from_edges(list(edges)))
    shuffled = GRAPH.subgraph(np.arange(30)[::-1])  # the same graph, its nodes in another order
    assert shuffled.fingerprint != GRAPH.fingerprint and edge_weights(stream.network(shuffled)) == wanted
    untouched = nf.Evolving(fit("node2vec"))
    assert untouched.network(GRAPH) is GRAPH


def test_directed_networks_are_put_together_too():
    arcs = [(i, (i + k) % 12) for i in range(12) for k in (1, 2, 3)]
    base = nf.Graph.from_edges(arcs, directed=True)
    stream = nf.Evolving(nf.SDNE(dim=3, hidden=(6,), epochs=2).fit(base, progress=False))
    stream.update([("out", 1), (5, "in"), (1, 0)], gone=[(0, 1)])
    wanted = {(a, b): 1.0 for a, b in [*arcs, ("out", 1), (5, "in"), (1, 0)] if (a, b) != (0, 1)}
    assert edge_weights(stream.network(base)) == wanted
    day = stream.settle(base, mu=0.1)
    assert "in" in stream.embedding_ and day.version == 2


def test_how_much_of_a_neighborhood_stayed_as_a_loop_counts_it():
    rng = np.random.default_rng(0)
    before, after = (np.triu(rng.integers(0, 3, (8, 8)), 1).astype(np.float32) for _ in range(2))
    after[0, 1:] = before[0, 1:]
    for directed in (False, True):
        one, two = (x if directed else x + x.T for x in (before, after))
        shares = shares_that_stayed(sparse.csr_array(one), sparse.csr_array(two), directed=directed)
        for i in range(8):
            was, now = ([*x[i], *(x[:, i] if directed else ())] for x in (one, two))
            pairs = [(a, b) for a, b in zip(was, now, strict=True) if a or b]
            stayed = sum(min(a, b) / max(a, b) for a, b in pairs)
            assert shares[i] == pytest.approx((1 + stayed) / (1 + len(pairs)))


def test_what_is_known_of_today_alone_says_nearly_the_same_of_what_stayed():
    stream = evolved("node2vec")
    now, before = stream._now(GRAPH)
    same, guessed = stream._now(now)
    one, two = (shares_that_stayed(x, now.adjacency, directed=False) for x in (before, guessed))
    assert edge_weights(same) == edge_weights(now)
    both = np.array([x != "x" for x in now.nodes])
    np.testing.assert_allclose(one[both], two[both])
    untouched = [now.nodes.positions([x])[0] for x in (25, 15)]
    assert (
        (one[untouched] == 1).all() and (one <= 1).all() and one[now.nodes.positions(["z"])[0]] == pytest.approx(1 / 3)
    )


# ---------------------------------------------------------------- settle


@pytest.mark.parametrize("name", sorted(MAKE))
def test_held_fast_it_is_placing(name):
    """mu = 1e6: nobody is anywhere else than an update left it, to 1e-4."""
    stream = evolved(name)
    before = stream.embedding_
    day = stream.settle(GRAPH, mu=1e6, epochs=3)
    after = stream.embedding_
    assert set(after.nodes) == {*before.nodes, "p", "q"} and day.version == 2
    assert sorted(day.placed) == ["p", "q"] and day.drift["moved"] < 1e-4
    assert np.abs(after[list(before)] - before.vectors).max() < 1e-4
    if before.std is not None:
        assert np.abs(after.take(list(before)).std - before.std).max() < 1e-4


@pytest.mark.parametrize("name", sorted(MAKE))
def test_settled_again_what_came_since_the_fit_is_held_where_its_links_of_today_put_it(name):
    """mu = 1e6 after a settling: who the fit did not have is at the mean of all neighbors, by a loop; others stay."""
    stream = evolved(name)
    first = stream.network(GRAPH)
    stream.settle(GRAPH, epochs=1)
    stream.update([("x", 20, 2.0), ("v", "x", 1.0), ("v", 3, 1.0), ("p", 4, 1.0)])
    before, now = stream.embedding_, stream.network(first)
    stream.settle(first, mu=1e6, epochs=2, again=True)
    after = stream.embedding_
    late = [x for x in now.nodes if x not in GRAPH.nodes]
    assert sorted(late) == ["p", "q", "v", "x", "y", "z"]
    weights = edge_weights(now)
    place = {x: before.take([x]).coordinates[0].astype(np.float64) for x in now.nodes}
    for _ in range(300):
        for x in late:
            near = [(y, w) for (a, y), w in weights.items() if a == x]
            place[x] = sum(w * place[y] for y, w in near) / sum(w for _, w in near)
    for x in now.nodes:
        np.testing.assert_allclose(after.take([x]).coordinates[0], place[x], atol=2e-4)
    assert np.abs(place["x"] - before.take(["x"]).coordinates[0]).max() > 1e-2


@pytest.mark.parametrize("name", sorted(MAKE))
def test_not_held_at_all_it_is_a_warm_refit(name):
    """mu = 0: training from the parameters of before, by hand; and it moves."""
    from netfold.learn.training import train

    stream = evolved(name)
    old, now = stream.model, stream.network(GRAPH)
    anchors = stream._anchors(*stream._now(GRAPH), again=False)
    stream.settle(GRAPH, mu=0, epochs=2)
    model = type(old)(**old.get_params())
    data = model._read(now)
    problem = model._problem(data, torch.device("cpu"), None, resumed=True)
    fresh = anchors.known < 0
    n, width = GRAPH.n_nodes, problem.network.state_dict()
    for key, tensor in old.network_.state_dict().items():
        if tensor.ndim and len(tensor) == n:
            width[key].zero_()
            width[key][torch.from_numpy(~fresh)] = tensor[torch.from_numpy(anchors.known[~fresh])]
        else:
            width[key].copy_(tensor)
    model._begin(problem.network, anchors.known, anchors.coordinates[fresh], anchors.shares[fresh] > 0)
    train(problem.network, problem.batches, problem.blocks, epochs=2, schedule=problem.schedule)
    model.network_ = problem.network
    assert model._embed(data).vectors.tobytes() == stream.embedding_.vectors.tobytes()
    known = [x for x in range(30) if x != 5]
    assert np.abs(stream.embedding_[known] - old.embedding_[known]).max() > 1e-3


@pytest.mark.parametrize("name", ["sdne", "sdne in batches", "node2vec", "line"])
def test_columns_of_new_nodes_begin_at_zero_and_change_nothing(name):
    """On the first day what the network says of old nodes is what it said, to the bit."""
    model = fit(name)
    stream = nf.Evolving(model)
    stream.update([("x", 0), ("x", 1), ("y", 11), ("y", "x")])
    stream.settle(GRAPH, mu=0, epochs=0)
    assert stream.embedding_.vectors[:30].tobytes() == model.embedding_.vectors.tobytes()
    if name.startswith("sdne"):  # and what it writes in the old columns
        whole = nf.Graph.from_edges([*EDGES, ("x", 0), ("x", 1), ("y", 11), ("y", "x")])
        written = stream.model.reconstruct(whole, whole.positions(range(30)))
        old = model.reconstruct(GRAPH, GRAPH.positions(range(30)))
        np.testing.assert_array_equal(written[:, :30], old)
        assert not written[:, 30:].any()


def test_an_untouched_row_of_dvne_is_what_it_was():
    """Rows of P sum to 1: a new link changes the others of that row, and no other row."""
    model = fit("dvne")
    stream = nf.Evolving(model)
    stream.update([("x", 0), ("x", 1)])
    stream.settle(GRAPH, mu=0, epochs=0)
    assert stream.embedding_[list(range(2, 30))].tobytes() == model.embedding_[list(range(2, 30))].tobytes()


@pytest.mark.parametrize("name", ["sdne", "dvne", "node2vec", "line"])
def test_the_anchor_and_its_gradient_are_the_formula(name):
    """(mu/2) Σ c_i |y_i - y_i^old|², of Gaussians W2², by a loop in float64; the gradient by autograd of the whole."""
    from netfold.embedder.settling import _Held

    model, mu = fit(name), 3.0
    data = model._read(GRAPH)
    problem = model._problem(data, torch.device("cpu"), None, resumed=True)
    problem.network.load_state_dict(model.network_.state_dict())
    rng = np.random.default_rng(0)
    w = model.embedding_.coordinates.shape[1]
    anchors = Anchors(np.arange(30), rng.normal(size=(30, w)).astype(np.float32), rng.random(30))
    codes = model._codes(problem.network, data)
    held = _Held(problem, codes, anchors, mu)
    nodes = torch.randperm(30, generator=torch.Generator().manual_seed(0))[:20]
    step = 1e-2
    if name in ("node2vec", "line"):  # whose tables can be in float64: what they read is no matrix in float32
        problem.network.double()
        held._old, held._weights, step = held._old.double(), held._weights.double(), 1e-5
    problem.network.zero_grad()
    term = held._anchor(nodes)
    own = codes(torch.arange(30)).detach().double().numpy()
    np.testing.assert_allclose(own, model.embedding_.coordinates, atol=1e-6)
    naive = 0.0
    for i in nodes.tolist():
        naive += mu / 2 * anchors.shares[i] * sum((own[i, k] - float(anchors.coordinates[i, k])) ** 2 for k in range(w))
    assert float(term) == pytest.approx(naive, rel=1e-5)
    if w == 2 * model.dim:  # of Gaussians with diagonal covariances it is W2 to the old one
        from netfold.data.gaussians import w2

        one, old = own[nodes[0]], anchors.coordinates[nodes[0]].astype(float)
        d = model.dim
        distance = w2(one[:d], np.diag(one[d:] ** 2), old[:d], np.diag(np.abs(old[d:]) ** 2))
        assert distance**2 <= ((one - old) ** 2).sum() + 1e-6
    table = {"sdne": "first", "dvne": "first", "node2vec": "vectors", "line": "first"}[name]
    parameter = getattr(problem.network, table)
    parameter = getattr(parameter, "table", parameter)
    grad = parameter.grad.to_dense() if parameter.grad.is_sparse else parameter.grad
    row, col = int(nodes[1]), 1
    values = []
    for sign in (1, -1):
        with torch.no_grad():
            parameter[row, col] += sign * step
            values.append(float(held._anchor(nodes)))
            parameter[row, col] -= sign * step
    assert float(grad[row, col]) == pytest.approx((values[0] - values[1]) / (2 * step), rel=2e-2, abs=1e-3)


@pytest.mark.parametrize("name", ["sdne", "node2vec"])
def test_the_more_it_is_held_the_less_it_moves(name):
    moved = []
    for mu in (0.0, 1.0, 100.0, 1e4):
        stream = evolved(name)
        moved.append(stream.settle(GRAPH, mu=mu, epochs=5).drift["moved"])
    assert moved == sorted(moved, reverse=True) and moved[0] > 10 * moved[-1]


def test_each_node_is_held_once_an_epoch():
    for name in sorted(MAKE):
        model = fit(name)
        data = model._read(GRAPH)
        problem = model._problem(data, torch.device("cpu"), None, resumed=True)
        assert sum(1 for _ in problem.batches(0)) == problem.steps, name


def test_a_settled_model_is_a_model():
    stream = evolved("sdne")
    old = copy.copy(stream.model)
    stream.settle(GRAPH, mu=1.0, epochs=2)
    assert stream.model is not old and len(old.embedding_) == 30  # the one before is as it was
    model = stream.model
    assert model.history_[-1]["epoch"] == len(old.history_) + 2 and "anchor" in model.history_[-1]
    assert model.embedding_.fitted_to == model.graph_facts_["fingerprint"] and model.get_params() == old.get_params()
    assert stream.origin("x") == stream.origin(0) == "settled"
    with pytest.raises(nf.InputError, match="no node is called"):
        stream.origin(5)
    again = stream.update([("w", "x"), ("w", "z")])
    assert list(again.placed) == ["w"] and stream.origin("w") == "placed" and again.version == 3
    now = stream.network(stream.network(nf.Graph.from_edges(
        [*(x for x in [*EDGES, *DAY, (0, 29), ("w", "x"), ("w", "z")] if 5 not in x and {*x} != {0, 1})])))  # fmt: skip
    assert stream.settle(now, mu=1.0, epochs=1).version == 4


def test_what_cannot_settle_says_so():
    stream = nf.Evolving(nf.Spectral(dim=4).fit(GRAPH, progress=False))
    with pytest.raises(nf.InputError, match="Spectral has no training that could go on"):
        stream.settle(GRAPH)
    stream = evolved("node2vec")
    for wrong in (-1.0, float("nan"), float("inf"), "much"):
        with pytest.raises(nf.InputError, match="is not a weight"):
            stream.settle(GRAPH, mu=wrong)
    with pytest.raises(nf.InputError, match="epochs=-1 is not a number"):
        stream.settle(GRAPH, epochs=-1)
    with pytest.raises(nf.InputError, match="no graph is given"):
        stream.settle(None)
    heavy = nf.Evolving(nf.SDNE(dim=2, hidden=(4,), epochs=2).fit(GRAPH, progress=False))
    heavy.update([("rich", 0, 1e20)])
    with pytest.raises(nf.InputError, match="of another scale"):
        heavy.settle(GRAPH)
    base = fit("node2vec")
    extended = nf.DepthLGP(epochs=1).fit(GRAPH, base.embedding_, progress=False)
    with pytest.raises(nf.InputError, match="DepthLGP extends the vectors of another model"):
        nf.Evolving(extended).refit(GRAPH)


# ---------------------------------------------------------------- refit


@pytest.mark.parametrize("name", ["sdne", "dvne", "line"])
def test_a_refit_is_a_fit_turned_into_the_old_space(name):
    stream = evolved(name)
    before, now = stream.embedding_, stream.network(GRAPH)
    day = stream.refit(GRAPH)
    fresh = MAKE[name]().fit(now, progress=False)
    found = nf.align(fresh, before)
    assert stream.embedding_.vectors.tobytes() == found.of(fresh.embedding_).vectors.tobytes()
    assert day.drift["residual"] == pytest.approx(found.residual) and stream.origin("x") == "fitted"
    assert day.drift["moved"] == pytest.approx(found.residual, rel=0.05)
    assert stream.model.embedding_.vectors.tobytes() == fresh.embedding_.vectors.tobytes()
    placed = stream.update([("w", 21), ("w", 22)]).placed  # new nodes come into the old space too
    if name != "line":
        here = found.of(fresh.transform([("w", 21), ("w", 22)]))
        np.testing.assert_allclose(placed["w"], here["w"], atol=1e-5)
        np.testing.assert_allclose(stream.transform([("w", 21), ("w", 22)])["w"], here["w"], atol=1e-5)
    else:
        np.testing.assert_allclose(placed["w"], stream.embedding_[[21, 22]].mean(axis=0), atol=1e-5)
    own = nf.Evolving(fit(name))
    assert "residual" not in own.refit(GRAPH, align=False).drift
    assert own.embedding_.vectors.tobytes() == fit(name).embedding_.vectors.tobytes()  # the same graph, the same bits


def test_settling_goes_on_in_the_space_that_a_refit_was_turned_into():
    stream = evolved("sdne")
    base = stream.network(GRAPH)
    stream.refit(GRAPH)
    stream.update([("w", 21), ("w", 22)])
    before = stream.embedding_
    stream.settle(base, mu=1e6, epochs=2)
    assert np.abs(stream.embedding_[list(before)] - before.vectors).max() < 1e-4
    stream.settle(stream.network(nf.Graph.from_edges([(*x,) for x in _pairs(base)] + [("w", 21), ("w", 22)])), mu=0.0)
    assert stream.version == 5


def _pairs(graph):
    return {tuple(sorted(x, key=str)) for x in edge_weights(graph)}


def test_there_and_back_is_where_it_was():
    rng = np.random.default_rng(0)
    old = nf.Embedding(range(9), rng.normal(size=(9, 4)).astype(np.float32))
    new = nf.Embedding(range(9), rng.normal(size=(9, 4)).astype(np.float32))
    found = nf.align(new, old)
    np.testing.assert_allclose(found.back(found.of(new)).vectors, new.vectors, atol=1e-5)


# ---------------------------------------------------------------- versions


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    path = tmp_path_factory.mktemp("models") / "m"
    fit("dvne").save(path)
    return path


@pytest.fixture
def folder(saved, tmp_path):
    shutil.copytree(saved, tmp_path / "m")
    return tmp_path / "m"


def test_trained_versions_are_kept_opened_and_gone_on_from(folder):
    stream = nf.Evolving.open(folder)
    stream.update([*DAY, (0, 29)], gone=[5])
    placed = stream.embedding_
    stream.settle(GRAPH, mu=1.0, epochs=1)
    third = stream.update([("v", 2), ("v", "x")])
    stream.refit(stream.network(_today(stream, placed)))
    stream.update([("late", "v")])
    kinds = [(x.number, x.how) for x in deltas_of(folder)]
    assert kinds == [(1, "placed"), (2, "settled"), (3, "placed"), (4, "fitted"), (5, "placed")]
    again = nf.Evolving.open(folder)
    assert again.embedding_.nodes == stream.embedding_.nodes
    assert again.embedding_.vectors.tobytes() == stream.embedding_.vectors.tobytes()
    assert again.embedding_.std.tobytes() == stream.embedding_.std.tobytes()
    assert [again.origin(x) for x in ("late", "v", 0)] == ["placed", "fitted", "fitted"]
    assert nf.load(folder, version=1).embedding_.vectors.tobytes() == placed.vectors.tobytes()
    at_three = nf.load(f"{folder}@3")
    assert [at_three.origin(x) for x in ("v", "x", 0)] == ["placed", "settled", "settled"]
    assert at_three.embedding_["v"].tobytes() == third.placed["v"].tobytes()
    assert at_three.embedding_.take(["v"]).std.tobytes() == third.placed.std.tobytes()
    assert len(nf.load(f"{folder}@0").embedding_) == 30
    assert [sorted(nf.Evolving.open(folder, version=x)._nodes_of_fit(), key=str) for x in (3, 5)] == [
        sorted(x.embedding_.nodes, key=str) for x in (nf.load(f"{folder}@0"), nf.load(f"{folder}@4"))
    ]


def _today(stream, placed):
    """Everything that came, as a person has it who keeps the edges."""
    edges = [x for x in [*EDGES, *DAY, (0, 29), ("v", 2), ("v", "x")] if 5 not in x]
    return nf.Graph.from_edges(edges)


def test_compaction_leaves_trained_versions_alone(folder):
    stream = nf.Evolving.open(folder)
    for i in range(3):
        stream.update([(f"a{i}", i)])
    stream.settle(GRAPH, mu=10.0, epochs=1)
    for i in range(4):
        stream.update([(f"b{i}", i)], gone=["a1"] if i == 1 else None)
    stream.update([("a1", 7)])
    before = stream.embedding_
    assert stream.compact(keep=2) == 3 + 1 + 3
    assert [x.number for x in deltas_of(folder)] == [1, 2, 3, 4, 7, 8, 9]
    again = nf.Evolving.open(folder)
    assert all(again.embedding_[x].tobytes() == before[x].tobytes() for x in before) and len(again.embedding_) == len(
        before
    )
    assert nf.load(f"{folder}@2").origin("a1") == "placed" and again.origin("a0") == "settled"


def test_a_returned_node_survives_compaction(tmp_path):
    fit("node2vec").save(tmp_path / "m")
    stream = nf.Evolving.open(tmp_path / "m")
    stream.update(gone=[3])
    stream.update([(3, "y"), ("y", 4)])
    stream.update(gone=["y"])
    stream.update([("z", 8)])
    now = edge_weights(stream.network(GRAPH))
    stream.compact(keep=1)
    again = nf.Evolving.open(tmp_path / "m")
    assert 3 in again and 3 in again.embedding_ and again.origin("y") == "gone"
    assert edge_weights(again.network(GRAPH)) == now and not any(3 in x for x in now)


def test_a_killed_training_leaves_the_version_before_and_a_foreign_model_is_refused(folder, monkeypatch):
    from netfold.io import tensors

    stream = nf.Evolving.open(folder)
    stream.update(DAY)
    with monkeypatch.context() as patched:
        patched.setattr(tensors, "write_manifest", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            stream.settle(GRAPH, epochs=1)
    assert stream.version == 1 and stream.origin("x") == "placed" and nf.Evolving.open(folder).version == 1
    stream.settle(GRAPH, epochs=1)
    other = folder.parent / "other"
    fit("dvne").save(other)
    shutil.rmtree(folder / "versions" / "0002" / "model")
    shutil.copytree(other, folder / "versions" / "0002" / "model")
    with pytest.raises(nf.InputError, match="is not the model that version 2 was written with"):
        nf.Evolving.open(folder)
    assert nf.load(f"{folder}@1").version == 1


def test_the_alarm_watches_what_a_training_left(folder):
    stream = nf.Evolving.open(folder)
    usual = stream.calibrate(stream.model.embedding_)
    assert usual["kept"] == 1.0
    before = shutil.copytree(folder / "versions" / "usual", folder.parent / "usual")
    assert stream.settle(GRAPH, mu=1e6, epochs=1).alarm is None
    assert stream.update([("x", 0)]).drift["kept"] > 0.9
    at = folder / "versions" / "usual"
    shutil.rmtree(at)
    shutil.copytree(before, at)  # as if it was killed after the version and before the panel was kept anew
    torn = nf.Evolving.open(folder)
    assert torn._usual.base == 1 and torn._usual.kept == 1.0
    np.testing.assert_array_equal(torn._usual.nearest, stream._usual.nearest)
    stream.model.set_params(seed=7, epochs=0)
    day = stream.refit(stream.network([*EDGES, ("x", 0)]))
    assert "of the nearest nodes are the same after the training" in str(day.alarm)


# ---------------------------------------------------------------- with attributes


def _attributed(graph: nf.Graph, more: dict | None = None) -> nf.Graph:
    """The three blocks by their words, some nodes without any; of new nodes what `more` says."""
    known = [x for x in graph.nodes if isinstance(x, int) and x % 7]
    words = {x: {"word": ["abc"[x // 10], "every"] if x in known else None} for x in graph.nodes}
    return graph.with_attributes(words | (more or {}))


@pytest.mark.parametrize("name", ["sdne", "sdne in batches", "dvne"])
def test_settling_with_attributes(name: str):
    """A large mu moves nobody, a small one moves; new words are not read; attributes place nodes afterwards."""
    known = _attributed(GRAPH)
    model = MAKE[name]().fit(known, progress=False)
    day = _attributed(nf.Graph.from_edges(DAY), {"x": {"word": ["a"]}, "y": {"word": ["b", "unseen"]}})
    for mu, moved in ((1e9, False), (0.1, True)):
        stream = nf.Evolving(copy.deepcopy(model))
        with pytest.warns(UserWarning, match="unseen"):
            stream.update(day)
        assert "q" in stream.network(known).nodes
        stream.settle(known, mu=mu)
        old = stream.embedding_[list(GRAPH.nodes)]
        apart = np.abs(old - model.embedding_[list(GRAPH.nodes)]).max()
        assert (apart > 1e-4) == moved
        assert "attributes" in stream.model.graph_facts_
        placed = stream.model.transform(nf.Graph.of([], attributes={"new": {"word": ["a", "every"]}}))
        assert np.isfinite(placed["new"]).all()


def test_a_day_places_nodes_by_attributes_alone():
    known = _attributed(GRAPH)
    model = nf.SDNE(dim=4, hidden=(8,), epochs=30).fit(known, progress=False)
    stream = nf.Evolving(copy.deepcopy(model))
    new = nf.Graph.of([], attributes={"alone": {"word": ["b", "every"]}})
    day = stream.update(new)
    assert list(day.placed.nodes) == ["alone"]
    np.testing.assert_allclose(stream.embedding_["alone"], model.transform(new)["alone"])


def test_settling_refuses_what_was_fitted_otherwise():
    plain, known = fit("sdne"), _attributed(GRAPH)
    with pytest.raises(nf.InputError, match="fitted without attributes"):
        nf.Evolving(plain).settle(known)
    model = MAKE["sdne"]().fit(known, progress=False)
    with pytest.raises(nf.InputError, match="fitted with attributes"):
        nf.Evolving(model).settle(GRAPH)
