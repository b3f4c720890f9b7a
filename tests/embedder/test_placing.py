"""How new nodes are placed: each way against a naive loop, and what `fit` chooses."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy import sparse

import netfold as nf
from netfold.embedder.placing import ROUNDS, KnownLinks, Placing, mean_of_neighbors
from netfold.models.sdne.network import Neighbors


def blocks(seed: int = 0, sizes=(30, 30, 30), inside: float = 0.4, between: float = 0.02):
    rng, block = np.random.default_rng(seed), np.repeat(np.arange(len(sizes)), sizes)
    i, j = np.nonzero(np.triu(rng.random((len(block),) * 2) < np.where(block[:, None] == block, inside, between), 1))
    return nf.Graph.from_edges(np.column_stack([i, j]), nodes=range(len(block))), block


def later(links: dict) -> nf.Graph:
    return nf.Graph.from_edges([(new, old) for new, ends in links.items() for old in ends])


LATER = {"a": [0, 1, 2], "b": [31, 33, 70], "c": [61]}


def dense_objective(network, y, x, near, known, weight):
    """‖(x̂ - x) ⊙ B‖² + weight Σ l_j ‖y - y_j‖², column by column."""
    hidden = network.decoder(y[None])[0]
    total = y.new_zeros(())
    for j in range(len(x)):
        wrong = hidden @ network.last.table[j] + network.last.bias[j] - x[j]
        total = total + (network.beta if x[j] > 0 else 1.0) ** 2 * wrong**2
        total = total + weight * near[j] * ((y - known[j]) ** 2).sum()
    return total


@pytest.mark.parametrize("options", [{"hidden": (12,)}, {"hidden": (), "activation": "linear"}])
def test_sdne_refines_to_where_the_dense_objective_is_least(options):
    graph, _ = blocks(sizes=(12, 12))
    model = nf.SDNE(dim=4, epochs=30, **options).fit(graph, progress=False)
    network, known = model.network_.double(), torch.tensor(model.embedding_.vectors, dtype=torch.float64)
    model.network_.float()
    row = np.zeros(24, np.float32)
    row[[0, 1, 13]] = 1, 2, 1
    links = KnownLinks(sparse.csr_array(row[None]), None)
    y = model._refine(links, model._encode(links), 3.0)[0]
    network = model.network_.double()
    x, at = torch.tensor(row, dtype=torch.float64), torch.tensor(y, dtype=torch.float64, requires_grad=True)
    near = dense_objective(network, at, x, 2 * x, known, 3.0)
    (slope,) = torch.autograd.grad(near, at)
    start = torch.tensor(model.network_.float().embed(links.out)[0], dtype=torch.float64, requires_grad=True)
    (before,) = torch.autograd.grad(dense_objective(model.network_.double(), start, x, 2 * x, known, 3.0), start)
    share = 1e-3 if not options["hidden"] else 0.2  # exact, or some steps that go most of the way
    assert slope.norm() < share * before.norm()


TOGETHER = nf.Graph.from_edges(
    [("a", 0), ("a", 1), ("b", 31), ("a", "b"), ("c", 61), ("d", 62), ("c", "c")], [1, 2, 1, 3, 1, 1, 5]
)


def test_the_mean_reads_links_among_new_nodes_in_rounds():
    graph, _ = blocks()
    model = nf.Node2Vec(dim=4, epochs=1, length=10, window=2).fit(graph, progress=False)
    new, known = model.transform(TOGETHER, how="mean"), model.embedding_.vectors.astype(np.float64)
    a, b = (known[0] + 2 * known[1]) / 3, known[31]
    for _ in range(ROUNDS):
        a, b = (known[0] + 2 * known[1] + 3 * b) / 6, (known[31] + 3 * a) / 4
    np.testing.assert_allclose(new["a"], a, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(new["b"], b, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(new["c"], known[61], rtol=1e-5, atol=1e-6)  # whose loop says nothing


@pytest.mark.parametrize("how", ["refine", "mean"])
@pytest.mark.parametrize("make", [lambda: nf.SDNE(dim=4, hidden=(8,)), lambda: nf.DVNE(dim=4, hidden=8, epochs=3)])
def test_a_link_between_new_nodes_moves_its_ends_towards_each_other_and_nobody_else(make, how):
    graph, _ = blocks()
    model = make().fit(graph, progress=False)
    edges = [("a", 0), ("a", 1), ("b", 31), ("b", 33), ("c", 61), ("c", 62)]
    apart, linked = (model.transform(nf.Graph.from_edges(x), how=how) for x in (edges, [*edges, ("a", "b")]))
    assert apart["c"].tobytes() == linked["c"].tobytes()
    assert np.linalg.norm(linked["a"] - linked["b"]) < np.linalg.norm(apart["a"] - apart["b"])
    encoded = [model.transform(nf.Graph.from_edges(x), how="encode") for x in (edges, [*edges, ("a", "b")])]
    assert encoded[0].vectors.tobytes() == encoded[1].vectors.tobytes()  # which reads rows over known nodes
    with pytest.raises(nf.InputError, match="'z'"):
        model.transform([*edges, ("z", "a")], how=how)


def test_sdne_weighs_links_among_new_nodes_as_those_with_known_ones():
    rng = np.random.default_rng(0)
    links, among = (sparse.csr_array(np.triu(rng.random((5, n)) < 0.6, -2) * rng.random((5, n))) for n in (9, 5))
    known, placed = rng.normal(size=(9, 3)), rng.normal(size=(5, 3)).astype(np.float32)
    near = 2.5 * links
    own = Neighbors.of(near, known.astype(np.float32)).with_placed(among, placed, links)
    for i in range(5):
        weights = [*(near.toarray()[i]), *(2.5 * among.toarray()[i])]
        assert own.sums[i] == pytest.approx(sum(weights), rel=1e-5)
        pull = sum(w * y for w, y in zip(weights, [*known, *placed], strict=True))
        np.testing.assert_allclose(own.pull[i], pull, rtol=1e-4, atol=1e-6)


def test_dvne_refines_by_new_neighbors_as_by_known_ones():
    graph, _ = blocks(sizes=(12, 12))
    model = nf.DVNE(dim=3, hidden=8, epochs=2).fit(graph, progress=False)
    row = np.zeros((2, 24), np.float32)
    row[0, [0, 1, 13]], row[1, [14, 15]] = 1, 1
    alone = sparse.csr_array(row.copy())
    alone[0, 13] = 0
    alone.eliminate_zeros()  # node 0's third neighbor is said to be known, or to be a new one that is placed there
    known, start = model.embedding_, model._encode(KnownLinks(sparse.csr_array(row), None))
    among, placed = sparse.csr_array([[0, 1.0], [0, 0]]), np.hstack([known.vectors, known.std])[[0, 13]]
    one, two = (
        model.network_.refine(sparse.csr_array(row), near, known, start, 1.0, model._generator(3), None, beside)
        for near, beside in ((sparse.csr_array(row), None), (alone, (among, placed)))
    )
    np.testing.assert_allclose(one, two, rtol=1e-4, atol=1e-5)


def test_the_slope_of_sdne_is_that_of_the_dense_objective():
    graph, _ = blocks(sizes=(12, 12))
    model = nf.SDNE(dim=4, hidden=(12,), epochs=10).fit(graph, progress=False)
    from netfold.learn.sparse_rows import SparseRows
    from netfold.models.sdne.network import _FixedTerms

    network, known = model.network_.double(), torch.tensor(model.embedding_.vectors).double()
    row = torch.zeros(24, dtype=torch.float64)
    row[[0, 5]] = 1.5
    rows = SparseRows.from_scipy(sparse.csr_array(row[None].numpy()), dtype=torch.float64)
    terms = _FixedTerms(rows, row.sum()[None, None], (row @ known)[None], 0.7)
    y = torch.full((4,), 0.3, dtype=torch.float64, requires_grad=True)
    (naive,) = torch.autograd.grad(dense_objective(network, y, row, row, known, 0.7), y)
    torch.testing.assert_close(2 * network._slope(y.detach()[None], terms)[0], naive, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("energy", ["w2", "w2_squared", "kl"])
@pytest.mark.parametrize("attributes", ["none", "sparse", "dense"])
def test_the_slope_of_dvne_is_that_of_a_naive_sum(energy, attributes):
    from netfold.learn.sparse_rows import DenseBeside, SparseRows
    from netfold.models.dvne.network import ENERGIES, DVNENetwork, _Around, deviation

    torch.manual_seed(0)
    more = 0 if attributes == "none" else 2
    network = DVNENetwork(24, 8, 3, alpha=0.6, repulsion=2.0, energy=energy, attributes=more).double()
    network.start(torch.Generator().manual_seed(1))
    for bias in (network.last.bias, network.decoder.biases[0]):
        torch.nn.init.normal_(bias)
    network.requires_grad_(False)
    codes = torch.cat([torch.randn(24, 3), torch.rand(24, 3) + 0.2], dim=1).double()
    ends, far, row = [[0, 5], [7]], [3, 9, 20], np.zeros((2, 24 + more))
    row[0, [0, 5]], row[1, 7], row[:, 24:] = (0.25, 0.75), 1.0, np.array([[-0.4, 1.5], [0.7, 0.1]])[:, :more]
    sparse_part = row if attributes != "dense" else np.where(np.arange(26) < 24, row, 0)
    rows = SparseRows.from_scipy(sparse.csr_array(sparse_part), dtype=torch.float64)
    if attributes == "dense":
        rows = DenseBeside.beside(rows, torch.tensor(row[:, 24:]))
    noise = torch.randn(3, dtype=torch.float64)
    around = _Around(torch.tensor([0, 0, 1]), codes[[0, 5, 7]], codes[far], rows, noise, 0.7)
    x = torch.randn(2, 6, dtype=torch.float64, requires_grad=True)
    total = 0.0
    for i in range(2):
        mean, std = x[i, :3], deviation(x[i, 3:])
        code = torch.cat([mean, std])

        def apart(j, code=code):
            return ENERGIES[energy](code[None], codes[j][None])[0]

        total = total + 0.7 * sum(apart(j) ** 2 for j in ends[i]) / len(ends[i])
        total = total + 0.7 * 2.0 * sum(torch.exp(-apart(k)) for k in far) / 3
        hidden = torch.relu((mean + std * noise) @ network.decoder.weights[0] + network.decoder.biases[0])
        for j in np.flatnonzero(row[i]):
            out = hidden @ network.last.table[j] + network.last.bias[j]
            out = torch.sigmoid(out) if j < 24 else out
            total = total + network.alpha / 2 * (row[i, j] * (row[i, j] - out)) ** 2
    (naive,) = torch.autograd.grad(total, x)
    last = network.last.table[rows.col.long()], network.last.bias[rows.col.long()]
    torch.testing.assert_close(network._slope(x.detach(), around, last), naive, rtol=1e-9, atol=1e-9)


def test_refined_gaussians_of_dvne_have_a_lower_objective_and_deviations():
    graph, _ = blocks()
    model = nf.DVNE(dim=4, hidden=16, epochs=10).fit(graph, progress=False)
    new = model.transform(later(LATER), how="refine")
    assert new.std is not None and (new.std > 0).all() and np.isfinite(new.vectors).all()
    assert not np.array_equal(new.vectors, model.transform(later(LATER), how="encode").vectors)


@pytest.mark.parametrize("name", ["sdne", "dvne", "drne", "node2vec", "line"])
def test_the_mean_is_that_of_known_neighbors(name):
    graph, _ = blocks()
    model = nf.MODELS[name](dim=4, epochs=2).fit(graph, progress=False)
    new = model.transform(later(LATER), how="mean")
    for node, ends in LATER.items():
        np.testing.assert_allclose(new[node], np.mean([model.embedding_[x] for x in ends], axis=0), rtol=1e-5)
        if new.std is not None:
            std = np.mean([model.embedding_.std[model.embedding_.nodes.positions([x])[0]] for x in ends], axis=0)
            np.testing.assert_allclose(new.std[new.nodes.positions([node])[0]], std, rtol=1e-5)


def test_directed_links_count_both_ways_in_the_mean():
    graph = nf.Graph.from_edges([(i, (i + k) % 12) for i in range(12) for k in (1, 2, 3)], directed=True)
    model = nf.SDNE(dim=3, hidden=(6,), epochs=3).fit(graph, progress=False)
    arcs = nf.Graph.from_edges([("new", 1), (5, "new"), (6, "new")], directed=True)
    expected = np.mean([model.embedding_[x] for x in (1, 5, 6)], axis=0)
    np.testing.assert_allclose(model.transform(arcs, how="mean")["new"], expected, rtol=1e-5)
    assert np.isfinite(model.transform(arcs, how="refine").vectors).all()


def test_a_known_node_with_the_links_it_had_gets_the_vector_it_has():
    graph, _ = blocks()
    model = nf.SDNE(dim=4, hidden=(8,), epochs=5).fit(graph, progress=False)
    again = model.transform(graph, how="encode", known=True)
    assert again.nodes == graph.nodes
    np.testing.assert_allclose(again.vectors, model.embedding_.vectors, rtol=1e-5, atol=1e-6)
    some = model.transform(graph, how="encode", known=[3, 50])
    assert list(some.nodes) == [3, 50]
    moved = model.transform([(3, x) for x in range(60, 80)], known=[3])
    assert np.linalg.norm(moved[3] - model.embedding_[60]) < np.linalg.norm(model.embedding_[3] - model.embedding_[60])


def test_fit_takes_the_mean_or_the_objective_where_neighbors_are_alike_and_the_encoder_where_they_are_not():
    graph, _ = blocks(sizes=(80,) * 4, inside=0.04, between=0.001)
    assert nf.SDNE(dim=32, hidden=(64,)).fit(graph, progress=False).placing_.how != "encode"
    rng = np.random.default_rng(0)  # two sides, each of two kinds: neighbors are never alike
    kind = np.arange(160) // 40
    i, j = np.nonzero(rng.random((160, 160)) < np.where(kind[:, None] + 2 == kind, 0.5, 0.0))
    across = nf.Graph.from_edges(np.column_stack([i, j]), nodes=range(160))
    chosen = nf.SDNE(dim=8, hidden=(32,), alpha=0.0).fit(across, progress=False).placing_
    assert chosen.how != "mean" and chosen.agreement["mean"] < chosen.agreement["encode"]


def test_new_vectors_are_as_long_as_known_ones():
    graph, _ = blocks(sizes=(60, 60, 60), inside=0.15, between=0.01)
    split = nf.evaluate.split_nodes(graph, 30, seed=1)
    for model in (nf.SDNE(dim=16, hidden=(32,), epochs=50), nf.DVNE(dim=8, hidden=32, epochs=20)):
        model.fit(split.known, progress=False)
        center = model.embedding_.vectors.mean(axis=0)
        known, new = (np.median(np.linalg.norm(x.vectors - center, axis=1))
                      for x in (model.embedding_, model.transform(split.whole)))  # fmt: skip
        assert 0.75 < new / known < 1.34


def test_what_was_chosen_is_kept_in_the_file(tmp_path):
    graph, _ = blocks()
    model = nf.SDNE(dim=4, hidden=(8,)).fit(graph, progress=False)
    model.save(tmp_path / "m")
    again = nf.load(tmp_path / "m")
    assert again.placing_ == model.placing_ and model.placing_.agreement
    assert again.transform(later(LATER)).vectors.tobytes() == model.transform(later(LATER)).vectors.tobytes()


def test_a_file_that_says_nothing_of_it_means_the_encoder_and_nonsense_is_refused():
    assert Placing.from_facts(None).how == "encode"
    for bad in ({"how": "guess", "weight": 1.0, "scale": 1.0, "agreement": {}}, 3,
                {"how": "mean", "weight": float("inf"), "scale": 1.0, "agreement": {}}):  # fmt: skip
        with pytest.raises(TypeError, match="place new nodes"):
            Placing.from_facts(bad)


def test_ways_that_a_model_does_not_have_are_refused():
    graph, _ = blocks()
    line = nf.LINE(dim=4, epochs=1).fit(graph, progress=False)
    with pytest.raises(nf.InputError, match="how='encode' is not a way in which LINE .*; give mean"):
        line.transform(later(LATER), how="encode")
    written = nf.SDNE(dim=4, hidden=(8,), epochs=1, output="sigmoid").fit(graph, progress=False)
    with pytest.raises(nf.InputError, match="output='linear'"):
        written.transform(later(LATER), how="refine")
    with pytest.raises(nf.InputError, match="'lost'"):
        line.transform([("lost", "x"), ("x", "lost"), ("a", 1)], how="mean")


def test_thinning_leaves_each_node_a_link():
    matrix = sparse.csr_array((np.random.default_rng(0).random((40, 30)) < 0.2).astype(np.float32))
    thin = KnownLinks(matrix, None).thinned(0.9, np.random.default_rng(1)).out
    assert thin.nnz < 0.35 * matrix.nnz and np.array_equal(np.diff(thin.indptr) > 0, np.diff(matrix.indptr) > 0)
    assert (thin.multiply(matrix != 0) != thin).nnz == 0
    known = nf.Embedding(range(30), np.random.default_rng(2).normal(size=(30, 3)).astype(np.float32))
    dense = matrix.toarray() @ known.vectors / np.maximum(1, matrix.toarray().sum(1))[:, None]
    np.testing.assert_allclose(mean_of_neighbors(matrix, known), dense, rtol=1e-5, atol=1e-6)
