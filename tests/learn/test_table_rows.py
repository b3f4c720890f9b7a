"""The rows of a table that a step reads and moves: sparse gradients, and the optimizer that takes them."""

from __future__ import annotations

import math

import pytest
import torch

from netfold.learn.layers import take_rows
from netfold.learn.optimizers import RowAdagrad


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def test_the_gradient_of_taken_rows_is_sparse_and_adds_up():
    table = torch.nn.Parameter(torch.randn(50, 3, generator=seeded()))
    at = torch.tensor([7, 2, 31])  # in no order
    for times in (1, 2):
        take_rows(table, at).square().sum().backward()
        assert table.grad.is_sparse and table.grad._nnz() == 3
        torch.testing.assert_close(table.grad.to_dense()[at], times * 2 * table.detach()[at])
    table.grad.zero_()
    take_rows(table, at[:2]).square().sum().backward()
    torch.testing.assert_close(table.grad.to_dense()[at[:2]], 2 * table.detach()[at[:2]])
    table.grad = torch.ones(50, 3)
    take_rows(table, at).sum().backward()
    assert float(table.grad.sum()) == 150 + 9


def test_row_adagrad_moves_the_same_by_a_sparse_gradient():
    start, at = torch.randn(20, 4, generator=seeded()), [torch.tensor([1, 5]), torch.tensor([5, 9, 19])]
    tables = [torch.nn.Parameter(start.clone()) for _ in range(2)]
    optimizers = [RowAdagrad([t], lr=0.3, prior=2.0) for t in tables]
    for nodes in at:
        for table, optimizer, rows in zip(
            tables, optimizers, (lambda t, n: take_rows(t, n), lambda t, n: t[n]), strict=True
        ):
            optimizer.zero_grad(set_to_none=False)
            rows(table, nodes).pow(3).sum().backward()
            optimizer.step()
    torch.testing.assert_close(tables[0], tables[1])
    torch.testing.assert_close(*(o.state_dict()["state"][0]["squares"] for o in optimizers))
    assert not torch.equal(tables[0].detach(), start)


def test_the_prior_holds_the_first_steps_back():
    table = torch.nn.Parameter(torch.ones(1, 1))
    table.grad = torch.full((1, 1), 3.0)
    RowAdagrad([table], lr=0.5, prior=16.0).step()
    assert float(table.detach()) == pytest.approx(1 - 0.5 * 3 / math.sqrt(16 + 9))
