"""Spectral: its matrices against dense ones in float64, its vectors against eigenvectors, and nodes that come back."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import torch
from scipy import sparse
from scipy.special import iv

import netfold as nf
import zoo
from netfold.learn import solvers, sparse_rows
from netfold.learn.sparse_rows import SparseRows
from netfold.models.spectral import network as spectral

FORMS = ("adjacency", "log", "ppmi", "normalized", "laplacian", "propagation", "prone")
EIGEN = FORMS[:5]
forms = pytest.mark.parametrize("matrix", FORMS)


def fit(graph, **options) -> nf.Spectral:
    return nf.Spectral(**{"dim": 6} | options).fit(graph, progress=False)


def loops(weights: np.ndarray, matrix: str, share: float) -> np.ndarray:
    """The matrix of a form, entry by entry, of the weights of an undirected graph."""
    n, d = len(weights), weights.sum(axis=1)
    more, out = share * d.mean(), np.zeros_like(weights)
    for i in range(n):
        for j in range(n):
            a = weights[i, j]
            if a == 0:
                continue
            out[i, j] = {
                "adjacency": a / weights.max(),
                "log": np.log(1 + a) / np.log(1 + weights.max()),
                "ppmi": max(0.0, np.log(a * d.sum() / (d[i] * d[j]))),
                "normalized": a / np.sqrt((d[i] + more) * (d[j] + more)),
                "laplacian": a / (d[i] + more),
            }[matrix]
    return out


def dense(graph) -> np.ndarray:
    return graph.adjacency.toarray().astype(np.float64)


@pytest.mark.parametrize("matrix", EIGEN)
@pytest.mark.parametrize(("share", "power"), [(0.0, 0.5), (0.3, 1.0), (0.1, 2.0)])
def test_vectors_are_eigenvectors_times_a_power_of_their_values(matrix, share, power):
    graph = zoo.weighted()
    model = fit(graph, matrix=matrix, regularization=share, power=power)
    m = loops(dense(graph), matrix, share)
    values, vectors = np.linalg.eig(m)
    order = np.argsort(-(values.real if matrix == "laplacian" else abs(values)))[:6]
    values, vectors = values.real[order], vectors.real[:, order]
    got = model.embedding_.vectors.astype(np.float64)
    lengths = np.linalg.norm(got, axis=0)
    scale = 1.0
    if matrix == "laplacian":  # those of the random walk are of length 1 under the degrees
        d = np.sqrt(dense(graph).sum(axis=1) * 1.0 + share * dense(graph).sum(axis=1).mean())
        vectors = vectors / np.linalg.norm(vectors * d[:, None], axis=0)
        scale = np.linalg.norm(vectors, axis=0)
    cosines = abs(np.einsum("nk,nk->k", got, vectors / np.linalg.norm(vectors, axis=0))) / lengths
    np.testing.assert_allclose(cosines, 1, atol=1e-4)
    expected = abs(values) ** power * scale
    np.testing.assert_allclose(lengths / lengths[0], expected / expected[0], rtol=1e-3)
    assert np.square(got).sum(axis=1).mean() == pytest.approx(1, rel=1e-5)


def test_negative_eigenvalues_count():
    """A path of three: √2, 0 and -√2; the two that lead are equal but for their sign."""
    model = fit([("a", "b"), ("b", "c")], matrix="adjacency", dim=2, power=0.0)
    middle, end = model.embedding_["b"], model.embedding_["a"]
    assert sorted(np.sign(middle * end)) == [-1, 1]


@pytest.mark.parametrize("matrix", ["adjacency", "log", "normalized"])
def test_directed_graphs_have_left_and_right_vectors(matrix):
    graph = zoo.directed()
    model = fit(graph, matrix=matrix, dim=8, power=0.5, regularization=0.0)
    a = dense(graph)
    out, into = a.sum(axis=1), a.sum(axis=0)
    if matrix == "normalized":
        a = np.divide(a, np.sqrt(np.outer(out, into)), out=np.zeros_like(a), where=a > 0)
    u, s, vt = np.linalg.svd(a)
    got = model.embedding_.vectors.astype(np.float64)
    for block, vectors, linked in ((got[:, :4], u[:, :4], out > 0), (got[:, 4:], vt[:4].T, into > 0)):
        spans = (block[linked] @ np.linalg.pinv(block[linked]), vectors[linked] @ np.linalg.pinv(vectors[linked]))
        np.testing.assert_allclose(spans[0], spans[1], atol=1e-3)
        lengths = np.linalg.norm(block[linked], axis=0)
        np.testing.assert_allclose(lengths / lengths[0], np.sqrt(s[:4] / s[0]), rtol=1e-3)


@pytest.mark.parametrize("matrix", [*EIGEN, "propagation"])
@pytest.mark.parametrize("graph", [zoo.karate, zoo.weighted, zoo.directed, zoo.scattered])
def test_a_known_node_s_own_row_gives_its_vector_back(matrix, graph):
    known = graph()
    model = fit(known, matrix=matrix, dim=4, **({"regularization": 0.0} if matrix == "propagation" else {}))
    for node in [known.nodes[1], known.nodes[5]]:
        new = model.transform(zoo.grown(known, node))
        np.testing.assert_allclose(new["new"], model.embedding_[node], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("matrix", EIGEN)
def test_iterated_it_is_the_same_up_to_the_residual(matrix, monkeypatch):
    graph, _ = nf.datasets.stochastic_block_model((120, 120, 120), 0.2, 0.02, seed=1)
    exact = fit(graph, matrix=matrix, dim=3)
    monkeypatch.setattr(solvers, "_EXACT", 0)
    monkeypatch.setattr(spectral, "_EXACT", 0)
    model = fit(graph, matrix=matrix, dim=3, tolerance=1e-4)
    assert model.history_[-1]["residual"] <= 1e-4 and len(model.history_) > 1
    np.testing.assert_allclose(model.embedding_.vectors, exact.embedding_.vectors, atol=0.01)


def test_history_holds_the_residual_of_each_round_and_survives_a_checkpoint(tmp_path, monkeypatch):
    monkeypatch.setattr(solvers, "_EXACT", 0)
    graph, _ = nf.datasets.stochastic_block_model((120, 120, 120), 0.2, 0.02, seed=1)
    once = nf.Spectral(dim=8).fit(graph, checkpoint=tmp_path / "c", progress=False)
    assert [r["epoch"] for r in once.history_] == list(range(1, len(once.history_) + 1))
    assert once.history_[-1]["residual"] < once.history_[0]["residual"]
    monkeypatch.setattr(spectral.SpectralNetwork, "solve", None)  # what was computed is not computed again
    again = nf.Spectral(dim=8).fit(graph, checkpoint=tmp_path / "c", progress=False)
    assert again.embedding_.vectors.tobytes() == once.embedding_.vectors.tobytes()
    assert again.history_ == once.history_


def test_it_warns_where_it_has_not_converged(monkeypatch):
    monkeypatch.setattr(solvers, "_EXACT", 0)
    graph, _ = nf.datasets.stochastic_block_model((200, 200), 0.1, 0.05, seed=1)
    with pytest.warns(UserWarning, match=r"have not converged in rounds=1: a residual is .*, above tolerance=1e-06"):
        fit(graph, rounds=1, tolerance=1e-6)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fit(graph)


@forms
def test_isolated_nodes_have_the_mean_place(matrix):
    graph = zoo.scattered()
    vectors = fit(graph, matrix=matrix, dim=4).embedding_
    linked = np.asarray(vectors[[x for x in graph.nodes if x not in ("alone", "also alone")]])
    np.testing.assert_allclose(vectors["alone"], linked.mean(axis=0), atol=1e-5)
    np.testing.assert_array_equal(vectors["alone"], vectors["also alone"])


def test_a_new_node_without_links_is_refused():
    later = nf.Graph.from_edges([("new", 1), ("apart", "also apart")])
    with pytest.raises(nf.InputError, match="'apart'.*no links to any known node, and Spectral"):
        fit(zoo.karate()).transform(later)


@pytest.mark.parametrize("matrix", ["adjacency", "ppmi", "normalized", "laplacian", "propagation", "prone"])
def test_a_factor_on_all_weights_changes_nothing(matrix):
    """But for log, whose point that is."""
    graph = zoo.weighted()
    heavy = nf.Graph(graph.adjacency * np.float32(1024), graph.nodes, directed=False)
    once, again = (fit(g, matrix=matrix, dim=3).embedding_.vectors for g in (graph, heavy))
    np.testing.assert_allclose(abs(once), abs(again), atol=1e-4)


def test_dimensions_beyond_the_rank_are_zero():
    model = fit(nf.datasets.karate(), dim=64, matrix="adjacency")
    assert model.embedding_.vectors.shape == (34, 64)
    assert not model.embedding_.vectors[:, 34:].any() and np.isfinite(model.embedding_.vectors).all()


# -------------------------------------------------------------------- forms without eigenvectors of their matrix


@pytest.mark.parametrize("share", [0.0, 0.1, 2.0])
def test_propagation_is_averages_around_the_mean(share):
    graph = zoo.weighted()
    with_one_more = sparse.block_diag([graph.adjacency, sparse.csr_array((1, 1))], format="csr")
    graph = nf.Graph(with_one_more, [*graph.nodes, "alone"], directed=False)
    model = fit(graph, matrix="propagation", steps=3, regularization=share)
    a = dense(graph)
    d = a.sum(axis=1)
    loop, linked = share * d.mean(), np.flatnonzero(d > 0)
    x = torch.randn(len(a), 6, generator=model._generator(0)).double().numpy()
    for _ in range(3):
        y = [(sum(a[i, j] * x[j] for j in range(len(a))) + loop * x[i]) / (d[i] + loop) for i in linked]
        y = np.array(y) - np.mean(y, axis=0)
        x[linked] = y / np.linalg.norm(y, axis=1, keepdims=True)
    x, got = x[linked], model.embedding_.vectors[linked].astype(np.float64)
    np.testing.assert_allclose(got @ np.linalg.pinv(got), x @ np.linalg.pinv(x), atol=1e-4)
    gram = got.T @ got / len(got)
    np.testing.assert_allclose(gram, np.eye(6) / 6, atol=1e-4)


@pytest.mark.parametrize("matrix", ["propagation", "prone"])
@pytest.mark.parametrize("graph", [zoo.karate, zoo.weighted, zoo.scattered])
def test_a_known_node_is_part_of_its_own_average_and_a_new_one_is_not(matrix, graph):
    known = graph()
    model = fit(known, matrix=matrix, dim=4)
    a = dense(known)
    basis = model.network_.basis.double().numpy()
    loop = 0.1 * a.sum(axis=1).mean() if matrix == "propagation" else a[a > 0].mean()
    for i in (1, 5):
        others = sum(a[i, j] * basis[j] for j in range(len(a)))
        pair = [(others + loop * basis[i]) / (a[i].sum() + loop), others / a[i].sum()]
        if matrix == "propagation":
            pair = [x - model.network_.shift.double().numpy() for x in pair]
        pair = [x / np.linalg.norm(x) for x in pair]
        if matrix == "propagation":
            pair = [x @ model.network_.turn.double().numpy() for x in pair]
        new = model.transform(zoo.grown(known, known.nodes[i]))["new"]
        for got, expected in zip((model.embedding_[known.nodes[i]], new), pair, strict=True):
            np.testing.assert_allclose(got, expected, atol=1e-4)
        assert not np.allclose(*pair, atol=1e-3)


def test_the_seed_matters_where_vectors_start_at_random():
    graph = zoo.karate()
    for matrix in FORMS:
        once, again, other = (fit(graph, matrix=matrix, seed=s).embedding_.vectors.tobytes() for s in (0, 0, 1))
        assert once == again and (once != other) is (matrix in ("propagation", "prone"))


def test_the_log_matrix_of_prone_is_that_of_a_loop():
    a = dense(zoo.weighted())
    n, d = len(a), a.sum(axis=1)
    parts = np.array([sum(a[i, j] / d[i] for i in range(n)) ** 0.75 for j in range(n)])
    expected = np.zeros_like(a)
    for i in range(n):
        for j in range(n):
            if a[i, j]:
                expected[i, j] = np.log(a[i, j] / d[i]) - np.log(parts[j] / parts.sum())
    np.testing.assert_allclose(spectral._log_matrix(sparse.csr_array(a)).toarray(), expected, atol=1e-12)


@pytest.mark.parametrize("loop", [0.5, 1.0])
def test_the_filter_of_prone_is_the_polynomial_of_the_dense_laplacian(loop):
    a = dense(zoo.karate())
    n, d = len(a), a.sum(axis=1)
    laplacian = np.eye(n) - (a + loop * np.eye(n)) / (d + loop)[:, None]
    inner = 0.5 * (laplacian - 0.2 * np.eye(n)) @ (laplacian - 0.2 * np.eye(n)) - np.eye(n)
    chebyshev = [np.eye(n), inner]
    while len(chebyshev) < 10:
        chebyshev.append(2 * inner @ chebyshev[-1] - chebyshev[-2])
    kernel = sum((1 if k == 0 else 2) * (-1) ** k * iv(k, 0.5) * t for k, t in enumerate(chebyshev))
    x = np.random.default_rng(0).normal(size=(n, 3))
    walk = SparseRows.from_scipy(sparse.csr_array(a / d[:, None]), dtype=torch.float64)
    got = spectral._gaussian(walk, torch.from_numpy(d)[:, None], loop, torch.from_numpy(x))
    np.testing.assert_allclose(got.numpy(), kernel @ x, atol=1e-10)


# -------------------------------------------------------------------- what walks see together


@pytest.mark.parametrize("window", [2, 3, 5])
def test_the_matrix_of_walks_is_that_of_a_loop_over_their_steps(window, monkeypatch):
    monkeypatch.setattr(spectral, "_BLOCK", 100)  # some rows at a time
    weights = dense(zoo.karate())
    links = sparse.csr_array(weights)
    degrees, n = weights.sum(axis=1), len(weights)
    walk = weights / degrees[:, None]
    expected = np.zeros((n, n))
    reached = np.eye(n)
    for _ in range(window):
        reached = reached @ walk
        expected += reached
    for i in range(n):
        for j in range(n):
            chance = expected[i, j] * degrees.sum() / window / degrees[j]
            expected[i, j] = np.log(max(chance, 1.0))
    result = spectral.walk_information(links, window)
    np.testing.assert_allclose(result.toarray(), expected, atol=1e-12)
    assert result.nnz == (expected > 0).sum() and result.has_sorted_indices


def test_one_step_is_ppmi_and_more_steps_are_their_own_eigenvectors():
    graph = zoo.karate()
    one = spectral.walk_information(sparse.csr_array(dense(graph)), 1).toarray()
    np.testing.assert_allclose(one, loops(dense(graph), "ppmi", 0.0), atol=1e-9)
    model = fit(graph, matrix="ppmi", window=3, dim=5, power=1.0)
    matrix = spectral.walk_information(sparse.csr_array(dense(graph)), 3).toarray()
    values, vectors = np.linalg.eigh((matrix + matrix.T) / 2)
    order = np.argsort(-np.abs(values))[:5]
    wanted = vectors[:, order] * np.abs(values[order])
    found = model.embedding_.vectors.astype(np.float64)
    wanted /= np.sqrt(np.square(wanted).sum(1).mean())
    np.testing.assert_allclose(np.abs(found.T @ wanted), np.abs(wanted.T @ wanted), atol=1e-3)
    assert not np.allclose(found, fit(graph, matrix="ppmi", dim=5, power=1.0).embedding_.vectors, atol=1e-2)
    assert not model.network_._made, "what was made for the fit is gone"


@pytest.mark.parametrize("steps", [1, 2, 3])
def test_the_matrix_of_grarep_is_that_of_a_loop_over_its_entries(steps, monkeypatch):
    monkeypatch.setattr(spectral, "_BLOCK", 100)
    weights = dense(zoo.karate())
    n, walk = len(weights), weights / weights.sum(axis=1)[:, None]
    reached = np.linalg.matrix_power(walk, steps)
    expected = np.zeros((n, n))
    for i in range(n):
        for j in range(n):
            if reached[i, j] > 0:
                expected[i, j] = max(0.0, np.log(reached[i, j] / sum(reached[k, j] for k in range(n))) - np.log(1 / n))
    result = spectral.step_information(sparse.csr_array(weights), steps)
    np.testing.assert_allclose(result.toarray(), expected, atol=1e-12)


def test_grarep_has_a_block_for_each_step_and_is_saved(tmp_path):
    graph = zoo.karate()
    model = fit(graph, matrix="grarep", window=3, dim=32)
    links, start = sparse.csr_array(dense(graph)), 0
    for k, wide in ((1, 11), (2, 10), (3, 11)):
        u, s, _ = np.linalg.svd(spectral.step_information(links, k).toarray())
        wanted = u[:, :wide] * np.sqrt(s[:wide])
        wanted /= np.linalg.norm(wanted, axis=1, keepdims=True)
        own = model.embedding_.vectors[:, start : start + wide].astype(np.float64)
        np.testing.assert_allclose(own @ own.T, wanted @ wanted.T, atol=1e-3)
        start += wide
    model.save(tmp_path / "model")
    again = nf.load(tmp_path / "model")
    assert np.array_equal(again.embedding_.vectors, model.embedding_.vectors)
    a, b = graph.nodes[0], graph.nodes[1]
    new = again.transform(nf.Graph.from_edges([("new", a), ("new", b)]))
    np.testing.assert_allclose(new["new"], (model.embedding_[a] + model.embedding_[b]) / 2, atol=1e-6)
    assert "neighbors of neighbors" in model._unspread()
    padded = nf.Graph.from_scipy(np.pad(dense(graph), (0, 1)))
    alone = fit(padded, matrix="grarep", window=2, dim=8).embedding_.vectors
    np.testing.assert_allclose(alone[-1], alone[:-1].mean(axis=0), atol=1e-6)
    assert fit(graph, matrix="grarep", window=5, dim=2).embedding_.dim == 2


def test_with_a_window_new_nodes_are_where_their_neighbors_are(tmp_path):
    graph = zoo.karate()
    model = fit(graph, matrix="ppmi", window=2, dim=4)
    a, b = graph.nodes[0], graph.nodes[1]
    model.save(tmp_path / "model")
    new = nf.load(tmp_path / "model").transform(nf.Graph.from_edges([("new", a), ("new", b)]))
    np.testing.assert_allclose(new["new"], (model.embedding_[a] + model.embedding_[b]) / 2, atol=1e-6)


def test_too_many_pairs_for_a_window_are_refused(monkeypatch):
    monkeypatch.setattr(spectral, "_MOST_ENTRIES", 100)
    with pytest.raises(nf.InputError, match="window=2 makes more than 100 pairs"):
        fit(zoo.karate(), matrix="ppmi", window=2)


def test_a_window_is_not_spread_over_ranks():
    assert "neighbors of neighbors" in nf.Spectral(matrix="ppmi", window=2)._unspread()
    assert nf.Spectral(matrix="ppmi")._unspread() == "" == nf.Spectral(window=2)._unspread()


def test_the_filter_in_pieces_is_the_filter_to_the_bit(monkeypatch):
    whole = fit(zoo.karate(), matrix="prone", dim=5).embedding_.vectors
    monkeypatch.setattr(sparse_rows, "_IN_CACHE", 20)  # four rows of five numbers at a time
    assert np.array_equal(fit(zoo.karate(), matrix="prone", dim=5).embedding_.vectors, whole)
