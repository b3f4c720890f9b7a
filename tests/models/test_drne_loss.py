"""DRNE's cell, loss, gradients and steps against the chapter's formulas written as plainly as can be, in float64."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from scipy import sparse

from drne_networks import (
    CHAPTER,
    LINEAR,
    N,
    all_batches,
    gradients,
    make_network,
    neighbors,
    random_matrix,
    sequences_of,
    summed,
)
from netfold.learn.training import Block, train
from netfold.models.drne import DRNE
from netfold.models.drne.batches import Sequences
from netfold.models.drne.network import EPS, Cell, DRNENetwork
from problems import problem_of

cells = pytest.mark.parametrize(
    "cell", [CHAPTER, LINEAR, Cell(normalized=False), Cell(linear=True)], ids=lambda c: repr(c)
)


def naive_cell(network: DRNENetwork, x, h, c):
    """One step of the chapter's equations, number by number."""
    k, cell = network.dim, network.cell
    sigmoid = (lambda z: z) if cell.linear else (lambda z: 1 / (1 + torch.exp(-z)))
    tanh = (lambda z: z) if cell.linear else torch.tanh

    def gate(which: int, j: int):
        column = which * k + j
        total = network.bias[column]
        for m in range(k):
            total = total + x[m] * network.input[m, column] + h[m] * network.recurrent[m, column]
        return total

    f, i, o = ([sigmoid(gate(which, j)) for j in range(k)] for which in range(3))
    c = [f[j] * c[j] + i[j] * tanh(gate(3, j)) for j in range(k)]
    shown = c
    if cell.normalized:
        mean = sum(c) / k
        deviation = torch.sqrt(sum((z - mean) ** 2 for z in c) / k + EPS)
        shown = [network.gain[j] / deviation * (c[j] - mean) for j in range(k)]
    return [o[j] * tanh(shown[j]) for j in range(k)], c


def naive_aggregate(network: DRNENetwork, sequence: list[int]) -> torch.Tensor:
    zero = torch.zeros((), dtype=torch.float64)
    h, c = [zero] * network.dim, [zero] * network.dim
    for u in sequence:
        alike = [w for w in sequence if network.colors[w] == network.colors[u]]
        h, c = naive_cell(network, sum(network.table[w] for w in alike) / len(alike), h, c)
    return torch.stack(h)


def naive_terms(network: DRNENetwork, sequences: Sequences, degrees) -> dict[str, torch.Tensor]:
    recursive = regular = torch.zeros((), dtype=torch.float64)
    for v in range(len(sequences)):
        made = naive_aggregate(network, neighbors(sequences, v))
        recursive = recursive + ((network.table[v] - made) ** 2).sum()
        said = torch.relu(sum(made[j] * network.degree_weight[j, 0] for j in range(network.dim)) + network.degree_bias)
        regular = regular + ((math.log(degrees[v] + 1) - said) ** 2).sum()
    return {"recursive": recursive, "regularization": network.lambda_ * regular}


# -------------------------------------------------------------------- the cell, the loss, the gradients


@cells
@pytest.mark.parametrize("k", [1, 2, 5])
def test_what_is_aggregated_equals_a_scalar_loop(cell, k):
    matrix = random_matrix()
    network = make_network(matrix, k=k, cell=cell)
    sequences = sequences_of(matrix)
    made = network.aggregate(sequences, network.table.detach())
    for v in range(N):
        torch.testing.assert_close(
            made[v], naive_aggregate(network, neighbors(sequences, v)).detach(), rtol=1e-11, atol=1e-13
        )


@cells
@pytest.mark.parametrize(("batch_size", "piece"), [(None, 10**6), (None, 12), (5, 10**6), (5, 7), (1, 1)])
def test_loss_and_gradients_equal_the_scalar_loop_however_it_is_cut(cell, batch_size, piece):
    matrix = random_matrix()
    network = make_network(matrix, cell=cell)
    expected = naive_terms(network, sequences_of(matrix), np.diff(matrix.indptr))
    sum(expected.values()).backward()
    wanted = gradients(network)
    assert all(g.norm() > 0 for name, g in wanted.items() if cell.normalized or name != "gain")
    sums = summed(network, all_batches(matrix, network, batch_size=batch_size, piece=piece))
    for name, value in expected.items():
        torch.testing.assert_close(sums[name], value.detach(), rtol=1e-11, atol=1e-13)
    for name, grad in gradients(network).items():
        assert (grad - wanted[name]).norm() <= 1e-10 * max(1.0, float(wanted[name].norm())), name


def test_gradients_equal_finite_differences():
    matrix = random_matrix()
    network = make_network(matrix)
    given = all_batches(matrix, network)
    summed(network, given)
    found, step = gradients(network), 1e-6
    rng = np.random.default_rng(0)
    with torch.no_grad():
        for name, p in network.named_parameters():
            for i in rng.choice(p.numel(), min(p.numel(), 6), replace=False):
                ends = []
                for move in (step, -2 * step, step):
                    p.view(-1)[i] += move
                    ends.append(float(sum(summed_values(network, given))))
                slope = (ends[0] - ends[1]) / (2 * step)
                assert float(found[name].view(-1)[i]) == pytest.approx(slope, rel=1e-5, abs=1e-6), name


def summed_values(network, given):
    return [value for batch in given for value in network.loss(batch).values()]


def test_loss_without_gradients_gives_the_same_values_and_touches_no_gradient():
    matrix = random_matrix()
    network = make_network(matrix)
    given = all_batches(matrix, network)
    with torch.no_grad():
        without = network.loss(given[0])
    assert all(p.grad is None for p in network.parameters())
    for name, value in network.loss(given[0]).items():
        torch.testing.assert_close(value, without[name], rtol=1e-13, atol=0)


@pytest.mark.parametrize("fixed", ["table", "theta"])
def test_what_is_held_fixed_gets_no_gradient_and_the_rest_the_same(fixed):
    matrix = random_matrix()
    network = make_network(matrix)
    given = all_batches(matrix, network, piece=12)
    summed(network, given)
    wanted = gradients(network)
    network.zero_grad(set_to_none=True)
    held = [network.table] if fixed == "table" else network.theta
    for p in held:
        p.requires_grad_(False)
    summed(network, given)
    for name, p in network.named_parameters():
        if not p.requires_grad:
            assert p.grad is None
        else:
            torch.testing.assert_close(p.grad, wanted[name], rtol=1e-12, atol=1e-14)


def test_a_batch_of_nodes_without_neighbors():
    matrix = sparse.csr_array((N, N), dtype=np.float32)
    network = make_network(matrix)
    given = all_batches(matrix, network)
    expected = network.table.detach().square().sum()
    torch.testing.assert_close(summed(network, given)["recursive"], expected)
    torch.testing.assert_close(network.table.grad, 2 * network.table.detach())


# -------------------------------------------------------------------- alternation


def test_each_step_moves_x_and_then_theta_at_the_new_x():
    """By hand with plain gradient descent: X <- X - lr dL/dX(X, theta), theta <- theta - lr dL/dtheta(new X, theta)."""
    matrix = random_matrix()
    network, by_hand = make_network(matrix), make_network(matrix)
    degrees, sequences, lr = np.diff(matrix.indptr), sequences_of(matrix), 0.003
    for parameters in ([by_hand.table], by_hand.theta):
        found = torch.autograd.grad(sum(naive_terms(by_hand, sequences, degrees).values()), parameters)
        with torch.no_grad():
            for p, g in zip(parameters, found, strict=True):
                p -= lr * g
    blocks = [Block([network.table], "sgd", lr), Block(network.theta, "sgd", lr)]
    train(network, lambda epoch: all_batches(matrix, network), blocks, epochs=1)
    for (name, p), q in zip(network.named_parameters(), by_hand.parameters(), strict=True):
        torch.testing.assert_close(p, q, rtol=1e-10, atol=1e-13, msg=name)


def test_the_blocks_are_x_and_all_the_rest():
    problem = problem_of(DRNE(lr=0.01), [(0, 1), (1, 2), (2, 3), (3, 4)])
    network, (first, second) = problem.network, problem.blocks
    assert [id(p) for p in first.parameters] == [id(network.table)]
    assert {id(p) for p in second.parameters} == {id(p) for p in network.parameters()} - {id(network.table)}
    assert {(b.optimizer, b.lr) for b in (first, second)} == {("adam", 0.01)}
