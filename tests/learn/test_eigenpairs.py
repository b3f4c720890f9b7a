"""The solver that goes on until it has converged, against numpy's dense one in float64."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy import sparse

from netfold.learn import solvers, sparse_rows
from netfold.learn.solvers import leading_eigenpairs, ridge_columns, signs
from netfold.learn.sparse_rows import SparseRows


def generator(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def random_symmetric(n: int, seed: int = 0, density: float = 0.02) -> sparse.csr_array:
    """Entries of both signs, so that eigenvalues of both signs lead."""
    half = sparse.random_array((n, n), density=density, random_state=seed, data_sampler=np.random.default_rng(1).normal)
    return sparse.csr_array(half + half.T)


def bipartite(n: int) -> sparse.csr_array:
    """Stars of five leaves each: λ and -λ have the same size, and each of the four values is there n / 6 times."""
    hubs = np.repeat(np.arange(0, n, 6), 5)
    leaves = np.setdiff1d(np.arange(n), np.arange(0, n, 6))[: len(hubs)]
    matrix = sparse.coo_array((np.ones(len(leaves)), (hubs[: len(leaves)], leaves)), shape=(n, n)).tocsr()
    return sparse.csr_array(matrix + matrix.T)


def solved(matrix: sparse.csr_array, rank: int, *, dtype: torch.dtype = torch.float64, **how):
    rows = SparseRows.from_scipy(matrix, dtype=dtype)
    return leading_eigenpairs(rows.matmul, matrix.shape[0], rank, generator(), like=rows.values, **how)


@pytest.fixture
def iterated(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small matrices are not taken apart exactly."""
    monkeypatch.setattr(solvers, "_EXACT", 0)


def test_values_and_vectors_are_those_of_numpy(iterated):
    matrix = random_symmetric(400)
    pairs = solved(matrix, 20, tolerance=1e-8)
    dense, vectors = np.linalg.eigh(matrix.toarray())
    order = np.argsort(-abs(dense))[:20]
    assert pairs.converged and (dense[order] < 0).any() and (dense[order] > 0).any()
    np.testing.assert_allclose(pairs.values.numpy(), dense[order], rtol=1e-10)
    overlaps = abs(np.einsum("nk,nk->k", pairs.vectors.numpy(), vectors[:, order]))
    np.testing.assert_allclose(overlaps, 1, atol=1e-9)


@pytest.mark.parametrize("upper", [False, True])
def test_rows_a_few_at_a_time_are_the_matrix(iterated, monkeypatch, upper):
    matrix = random_symmetric(400)
    whole = solved(matrix, 20, tolerance=1e-8, upper=upper)
    monkeypatch.setattr(sparse_rows, "_IN_CACHE", 700)
    rows = SparseRows.from_scipy(matrix, dtype=torch.float64)
    parts = leading_eigenpairs(rows, 400, 20, generator(), like=rows.values, tolerance=1e-8, upper=upper)
    assert parts.converged and len(parts.residuals) == len(whole.residuals)
    np.testing.assert_allclose(parts.values.numpy(), whole.values.numpy(), rtol=1e-12)
    np.testing.assert_allclose(parts.vectors.numpy(), whole.vectors.numpy(), atol=1e-7)


def test_products_in_parts_are_the_product_to_the_bit(monkeypatch):
    matrix, x = random_symmetric(300), torch.randn(300, 7, generator=generator())
    rows = SparseRows.from_scipy(matrix)
    monkeypatch.setattr(sparse_rows, "_IN_CACHE", 70)
    made = list(rows.matmul_parts(x))
    assert [part.stop - part.start for part, _ in made] == [10] * 30
    assert torch.equal(torch.cat([image for _, image in made]), rows.matmul(x))


def test_locked_vectors_do_not_grow_back(iterated, monkeypatch):
    """One value far above the others: locked first, and raised most by the filters after it."""
    matrix = random_symmetric(500)
    dense = np.linalg.eigvalsh(matrix.toarray())
    u = np.ones(500) / 500**0.5
    far = 20 * abs(dense).max()

    def product(x: torch.Tensor) -> torch.Tensor:
        column = torch.from_numpy(u).to(x)
        return SparseRows.from_scipy(matrix, dtype=x.dtype).matmul(x.contiguous()) + far * torch.outer(
            column, column @ x
        )

    like = torch.empty(0, dtype=torch.float32)
    pairs = leading_eigenpairs(product, 500, 30, generator(), like=like, tolerance=1e-4, upper=True)
    u32 = pairs.vectors.double().numpy()
    whole = matrix.toarray() + far * np.outer(u, u)
    np.testing.assert_allclose(pairs.values.numpy(), np.linalg.eigvalsh(whole)[::-1][:30], rtol=1e-4)
    np.testing.assert_allclose(u32.T @ u32, np.eye(30), atol=1e-5)


def test_of_two_entries_as_large_the_first_says_the_sign():
    x = torch.tensor([[0.0, 3.0, -1.0], [-2.0, -3.0, 1.0], [2.0, 1.0, 4.0]])
    assert solvers.ColumnBlocks(3, None, x).largest(x).tolist() == [-2.0, 3.0, 4.0]


def test_the_residual_is_what_it_says(iterated):
    matrix = random_symmetric(300)
    pairs = solved(matrix, 12, tolerance=1e-3)
    u, values = pairs.vectors.numpy(), pairs.values.numpy()
    residuals = np.linalg.norm(matrix @ u - u * values, axis=0) / abs(values).min()
    assert pairs.converged and pairs.residuals[-1] <= 1e-3
    assert residuals.max() <= 1e-3 * (1 + 1e-6)
    assert len(pairs.residuals) > 1 and pairs.residuals[0] > 1e-3


def test_the_upper_end_alone(iterated):
    matrix = random_symmetric(300)
    pairs = solved(matrix, 10, tolerance=1e-8, upper=True)
    np.testing.assert_allclose(pairs.values.numpy(), np.linalg.eigvalsh(matrix.toarray())[::-1][:10], rtol=1e-10)


@pytest.mark.parametrize("rank", [4, 30])
def test_values_of_both_signs_and_of_any_multiplicity(iterated, rank):
    """A block that is asked for both ends at once would mix them, and Lanczos from one vector find each once."""
    pairs = solved(bipartite(300), rank, tolerance=1e-6)
    np.testing.assert_allclose(abs(pairs.values.numpy()), 5**0.5, rtol=1e-10)
    gram = pairs.vectors.T @ pairs.vectors
    np.testing.assert_allclose(gram.numpy(), np.eye(rank), atol=1e-9)
    assert np.linalg.norm(bipartite(300) @ pairs.vectors.numpy() - pairs.vectors.numpy() * pairs.values.numpy()) < 1e-4


def test_a_large_first_value_does_not_drown_the_others_in_float32(iterated):
    matrix = random_symmetric(400)
    heavy = sparse.csr_array(matrix + 1e4 * sparse.csr_array(np.eye(400)[:, :1] @ np.eye(400)[:1]))
    pairs = solved(heavy, 10, dtype=torch.float32, tolerance=1e-2)
    dense = np.linalg.eigvalsh(heavy.toarray())
    expected = dense[np.argsort(-abs(dense))][:10]
    np.testing.assert_allclose(pairs.values.numpy(), expected, rtol=1e-2)


def test_small_matrices_are_exact():
    matrix = random_symmetric(90)
    pairs = solved(matrix, 90)
    dense = np.linalg.eigvalsh(matrix.toarray())
    assert pairs.converged and pairs.residuals == []
    np.testing.assert_allclose(pairs.values.numpy(), dense[np.argsort(-abs(dense), kind="stable")], atol=1e-12)


def test_it_says_that_it_has_not_converged(iterated):
    reports: list[tuple[int, float]] = []
    pairs = solved(random_symmetric(400), 20, tolerance=1e-12, rounds=2, report=lambda *x: reports.append(x))
    assert not pairs.converged and len(pairs.residuals) == 2
    assert reports == list(enumerate(pairs.residuals, 1))


def test_signs_are_settled_by_the_largest_entry(iterated):
    pairs = solved(random_symmetric(300), 8, tolerance=1e-8)
    u = pairs.vectors
    assert (u.gather(0, u.abs().argmax(0, keepdim=True)) > 0).all()
    assert signs(torch.tensor([[1.0, 0.5], [-3.0, 0.0]])).tolist() == [-1.0, 1.0]


def test_the_same_seed_gives_the_same_bits(iterated):
    once, again = (solved(random_symmetric(300), 8, dtype=torch.float32) for _ in range(2))
    assert once.vectors.numpy().tobytes() == again.vectors.numpy().tobytes()


# -------------------------------------------------------------------- ridge regressions


@pytest.mark.parametrize("width", [3, 40])
def test_ridge_columns_against_a_dense_solution_for_each(width):
    rng, n, beta, ridge = np.random.default_rng(0), 60, 10.0, 1e-2
    matrix = sparse.csc_array(sparse.random_array((n, n), density=0.15, rng=rng))
    hidden = torch.from_numpy(rng.normal(size=(n, width)))
    table, bias = ridge_columns(hidden, matrix, beta, ridge)
    wide, x = np.hstack([hidden.numpy(), np.ones((n, 1))]), matrix.toarray()
    for j in range(n):
        weights = np.where(x[:, j] != 0, beta**2, 1.0)
        system = wide.T @ (weights[:, None] * wide) + np.diag([ridge] * width + [0.0])
        exact = np.linalg.solve(system, wide.T @ (weights * x[:, j]))
        assert np.append(table[j].numpy(), bias[j]) == pytest.approx(exact, rel=1e-5, abs=1e-7)
