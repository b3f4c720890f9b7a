"""The equations of new nodes: solved in several ways that agree, with the gradients of a dense solve."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy import sparse

from lgp_processes import (
    DIM,
    each_as_new,
    known_and_new,
    later,
    precision,
    predicted,
    random_graph,
    random_process,
    sharings,
)
from netfold.learn.sparse_rows import SparseRows
from netfold.models.lgp import solve
from netfold.models.lgp.neighborhoods import Caps, read_around
from netfold.models.lgp.posterior import Known, placed_at_once
from netfold.models.lgp.solve import factorised, matrices_of, solved, solved_in_blocks, summed_times


@sharings
def test_gradients_through_the_solve_are_those_of_a_dense_one(sharing):
    matrix, process = random_graph(), random_process(18, sharing)
    csr, new, _, _ = later(matrix, 6)
    generator = torch.Generator().manual_seed(5)
    around = read_around(csr, new, np.zeros(6, np.int64), Caps(), generator, n_known=18, dtype=torch.float64)
    weight = torch.randn(6, DIM, dtype=torch.float64, generator=generator)
    (solved(process.system(around)) * weight).sum().backward()
    found = {name: p.grad.to_dense() for name, p in process.named_parameters() if p.grad is not None}
    process.zero_grad()
    (predicted(matrix, process, 6) * weight).sum().backward()
    assert set(found) == {"latent", "kernel.raw_eta", "kernel.raw_zeta", "kernel.raw_weights"}
    for name, grad in found.items():
        torch.testing.assert_close(grad, process.get_parameter(name).grad, rtol=1e-8, atol=1e-10)
        assert grad.abs().max() > 0


@sharings
def test_nodes_that_are_alone_need_no_solver(sharing):
    matrix, process = sparse.csr_array(random_graph()), random_process(24, sharing, hidden=5)
    found = []
    for largest in (1, 2):
        around = read_around(matrix, np.arange(9), np.arange(9), Caps(), torch.Generator(), dtype=torch.float64)
        assert around.alone
        process.zero_grad()
        made = process(replace(around, largest=largest))
        made.square().sum().backward()
        found.append([made.detach(), *(p.grad.to_dense() for p in process.parameters())])
    for one, two in zip(*found, strict=True):
        torch.testing.assert_close(one, two, rtol=1e-9, atol=1e-10)


def test_groups_solved_each_for_itself_are_solved_together():
    matrix, process = sparse.csr_array(random_graph(30)), random_process(30, "all")
    new, group = np.array([0, 3, 9, 4, 0, 7, 11, 12]), np.array([0, 0, 0, 2, 5, 5, 6, 6])
    around = read_around(matrix, new, group, Caps(), torch.Generator(), dtype=torch.float64)
    assert around.largest == 3 and around.place.tolist() == [0, 1, 2, 3, 6, 7, 9, 10]
    weight = torch.randn(8, DIM, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    found = []
    for way in (solved, lambda system: solved_in_blocks(system, around.place, around.largest)):
        process.zero_grad()
        latent = way(process.system(around))
        (latent * weight).sum().backward()
        grads = [p.grad.to_dense() for p in process.parameters() if p.grad is not None]
        found.append([latent.detach(), *grads])
    assert len(found[0]) == 5
    for one, two in zip(*found, strict=True):
        torch.testing.assert_close(one, two, rtol=1e-9, atol=1e-11)
        assert one.abs().max() > 0


@sharings
def test_factors_and_conjugate_gradients_agree(sharing, monkeypatch):
    known, new = known_and_new(random_graph(40), random_process(25, sharing), 15)
    system = known.system(new)
    found = solved(system)
    torch.testing.assert_close(factorised(system, system.right()), found, rtol=1e-9, atol=1e-10)
    cg = solve.conjugate_gradients
    monkeypatch.setattr(solve, "conjugate_gradients", lambda *args, steps=0: cg(*args, steps=steps))
    torch.testing.assert_close(solved(system), found, rtol=1e-9, atol=1e-10)  # by factors, as no step is allowed
    monkeypatch.setattr(solve, "_ENTRIES", 0)
    torch.testing.assert_close(solved(system), found, rtol=1e-9, atol=1e-10)  # by patience


def test_the_equations_are_those_of_the_dense_matrix():
    matrix, process = random_graph(), random_process(15, "none")
    known, new = known_and_new(matrix, process, 9)
    system = known.system(new)
    for k, own in enumerate(matrices_of(system)):
        m = precision(matrix, process, k, 9).detach()
        np.testing.assert_allclose(own.toarray(), m[15:, 15:], atol=1e-12)
        torch.testing.assert_close(system.diagonal()[:, k], m[15:, 15:].diagonal(), rtol=1e-10, atol=0)
        torch.testing.assert_close(system.right()[:, k], -m[15:, :15] @ process.latent[:, k].detach())
        identity = torch.eye(9, dtype=torch.float64)
        columns = torch.stack([system.times(e[:, None].expand(-1, DIM))[:, k] for e in identity], dim=1)
        torch.testing.assert_close(columns, m[15:, 15:])


def test_a_long_chain_of_new_nodes_is_solved_in_float32():
    n = 400
    chain = np.zeros((n, n))
    chain[np.arange(n - 1), np.arange(1, n)] = chain[np.arange(1, n), np.arange(n - 1)] = 1
    process = random_process(2, eta=1e5, zeta=0.0).float()
    known, new = known_and_new(np.roll(chain, (1, 1), (0, 1)), process, n - 2)  # known nodes at both ends
    found = placed_at_once(known, new, None).latent
    want = predicted(np.roll(chain, (1, 1), (0, 1)), process.double(), n - 2).detach()
    torch.testing.assert_close(found.double(), want, rtol=1e-3, atol=1e-3)


@sharings
def test_all_known_nodes_are_placed_as_new_by_a_few_products(sharing):
    matrix, process = random_graph(), random_process(24, sharing)
    latent, diagonal = Known.of(process, sparse.csr_array(matrix)).each_as_new()
    torch.testing.assert_close(latent, each_as_new(matrix, process), rtol=1e-10, atol=1e-12)
    for v in (0, 7):
        order = [*(u for u in range(24) if u != v), v]
        others = random_process(24, sharing)
        others.kernel.raw_weights = torch.nn.Parameter(process.kernel.raw_weights[order[:-1]].detach())
        for k in range(diagonal.shape[1]):
            m = precision(matrix[np.ix_(order, order)], others, k, 1)
            assert diagonal[v, k].item() == pytest.approx(m[-1, -1].item(), rel=1e-12)


@pytest.mark.parametrize("of", [[0, 0, 1, 3], [0, 1, 2, 3], []])
def test_sums_of_rows_times_a_matrix_by_a_naive_loop(of):
    """Sums of no rows are 0, the last ones too; and what is asked of no row at all has slopes of 0."""
    rng, count = np.random.default_rng(0), 5
    dense_rows = rng.normal(size=(len(of), 6)) * (rng.random((len(of), 6)) < 0.6)
    rows = SparseRows.from_scipy(sparse.csr_array(dense_rows), dtype=torch.float64)
    weights, dense = (torch.from_numpy(rng.normal(size=x)).requires_grad_() for x in (len(of), (6, 2)))
    got = summed_times(rows, torch.tensor(of, dtype=torch.int64), count, weights, dense)
    expected = torch.zeros(count, 2, dtype=torch.float64) * dense.sum()
    for r, i in enumerate(of):
        own = torch.zeros(count, 1, dtype=torch.float64)
        own[i] = 1
        expected = expected + own * weights[r] * (torch.from_numpy(dense_rows[r]) @ dense)
    torch.testing.assert_close(got, expected)
    by = torch.from_numpy(rng.normal(size=(count, 2)))
    slopes = torch.autograd.grad((got * by).sum(), (weights, dense))
    wanted = torch.autograd.grad((expected * by).sum(), (weights, dense), allow_unused=True)
    for one, other, x in zip(slopes, wanted, (weights, dense), strict=True):
        torch.testing.assert_close(one, torch.zeros_like(x) if other is None else other)
