"""The starts: the truncated SVD against numpy's, and contrastive divergence against dense rows."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy import sparse

from netfold.learn import solvers
from netfold.learn.solvers import truncated_svd
from netfold.learn.sparse_rows import SparseRows
from netfold.learn.starts import RBM, SparseRBM, contrastive_divergence, deep_belief_network, unit_scale


def blocks(n: int = 60, seed: int = 0) -> np.ndarray:
    """Two groups with many links inside and few across."""
    rng = np.random.default_rng(seed)
    same = np.arange(n)[:, None] % 2 == np.arange(n) % 2
    upper = np.triu(rng.random((n, n)) < np.where(same, 0.4, 0.03), 1)
    return (upper | upper.T).astype(np.float64)


def rows_of(dense: np.ndarray, dtype: torch.dtype = torch.float64) -> SparseRows:
    return SparseRows.from_scipy(sparse.csr_array(dense), dtype=dtype)


def test_truncated_svd_against_numpy():
    dense = blocks()
    s, v = truncated_svd(rows_of(dense), 6, torch.Generator().manual_seed(0), rounds=20)
    _, exact, vt = np.linalg.svd(dense)
    np.testing.assert_allclose(s.numpy(), exact[:6], rtol=1e-5)
    np.testing.assert_allclose(v.numpy() @ v.numpy().T, vt[:6].T @ vt[:6], atol=1e-3)
    np.testing.assert_allclose(v.T @ v, np.eye(6), atol=1e-10)


def test_of_many_rows_half_of_the_orthonormalising_gives_the_same(monkeypatch):
    rows = rows_of(np.random.default_rng(3).normal(size=(60, 40)))
    s, v = truncated_svd(rows, 6, torch.Generator().manual_seed(0))
    monkeypatch.setattr(solvers, "_LARGE", 10)
    fewer, less = truncated_svd(rows, 6, torch.Generator().manual_seed(0))
    torch.testing.assert_close(fewer, s, rtol=1e-5, atol=0)
    torch.testing.assert_close(less @ less.T, v @ v.T, rtol=0, atol=1e-4)
    torch.testing.assert_close(less.T @ less, torch.eye(6, dtype=less.dtype), rtol=0, atol=1e-5)


def test_truncated_svd_of_more_directions_than_there_are():
    dense = blocks(8)
    s, v = truncated_svd(rows_of(dense), 8, torch.Generator().manual_seed(0))
    np.testing.assert_allclose(s.numpy(), np.linalg.svd(dense)[1], atol=1e-8)
    assert v.shape == (8, 8)


def test_sparse_contrastive_divergence_equals_the_dense_one():
    """With the same draws, the reconstruction that is never written down gives what it would have given."""
    dense = torch.tensor(blocks(20))
    rbm = SparseRBM.start(20, 5, torch.Generator().manual_seed(1), 0.3)
    w, b, c = (x.double() for x in (rbm.weight, rbm.visible + 0.1, rbm.hidden - 0.2))
    rbm = SparseRBM(w, b, c)
    (dw, db, dc), error = rbm.divergence(rows_of(dense.numpy()), torch.Generator().manual_seed(2))
    h = torch.sigmoid(dense @ w + c)
    drawn = torch.bernoulli(h, generator=torch.Generator().manual_seed(2))
    again = drawn @ w.T + b
    h_again = torch.sigmoid(again @ w + c)
    torch.testing.assert_close(dw, dense.T @ h - again.T @ h_again)
    torch.testing.assert_close(db, (dense - again).sum(0))
    torch.testing.assert_close(dc, (h - h_again).sum(0))
    torch.testing.assert_close(error, (dense - again).square().sum())


def test_a_binary_rbm_learns_its_patterns():
    patterns = torch.tensor([[1.0, 1, 0, 0], [0, 0, 1, 1]]).repeat(50, 1)
    generator = torch.Generator().manual_seed(0)
    rbm = RBM.start(4, 2, generator, 0.1)
    errors: list[float] = []
    contrastive_divergence(
        rbm, [lambda: patterns], 100, generator, epochs=300, lr=0.05, report=lambda epoch, error: errors.append(error)
    )
    assert errors[-1] < 0.2 * errors[0]


def test_a_deep_belief_network_tells_the_groups_apart():
    dense = blocks()
    rows = rows_of(dense, torch.float32)
    assert unit_scale([rows]) == pytest.approx(np.sqrt((dense**2).mean()), rel=1e-6)
    scaled = rows.with_values(rows.values / unit_scale([rows]))
    reported: list[int] = []
    stack = deep_belief_network(
        [scaled],
        (12, 4),
        torch.Generator().manual_seed(0),
        epochs=600,
        report=lambda layer, _, __: reported.append(layer),
    )
    assert [tuple(r.weight.shape) for r in stack] == [(60, 12), (12, 4)] and reported.count(1) == 600
    top = stack[1].up(stack[0].up(scaled)).numpy()
    centres = [top[i::2].mean(0) for i in range(2)]
    nearer = np.linalg.norm(top - centres[0], axis=1) < np.linalg.norm(top - centres[1], axis=1)
    assert (nearer == (np.arange(60) % 2 == 0)).mean() > 0.9
