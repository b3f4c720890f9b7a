"""What DepthLGP minimises, and the optimizer that steps its parameters and its tables."""

from __future__ import annotations

import pytest
import torch

from netfold.learn import losses
from netfold.learn.layers import take_rows
from netfold.learn.optimizers import AdamAndRows, RowAdagrad


def test_the_risk_is_a_sum_of_squares():
    generator = torch.Generator().manual_seed(0)
    a, b = (torch.randn(3, 2, dtype=torch.float64, generator=generator) for _ in range(2))
    want = sum((float(a[i, j]) - float(b[i, j])) ** 2 for i in range(3) for j in range(2))
    assert float(losses.empirical_risk(a, b)) == pytest.approx(want, rel=1e-12)
    cosines = [float(x @ y) / float(x @ x) ** 0.5 / float(y @ y) ** 0.5 for x, y in zip(a, b, strict=True)]
    assert float(losses.direction_risk(a, b)) == pytest.approx(sum(1 - c for c in cosines), rel=1e-9)


def test_one_optimizer_steps_parameters_as_adam_and_tables_as_row_adagrad():
    def run(make) -> list[torch.Tensor]:
        generator = torch.Generator().manual_seed(0)
        weight, table = (torch.randn(5, 3, dtype=torch.float64, generator=generator).requires_grad_() for _ in range(2))
        optimizers = make(weight, table)
        for _ in range(7):
            nodes = torch.randperm(5, generator=generator)[:2]
            for optimizer in optimizers:
                optimizer.zero_grad(set_to_none=False)
            (weight.sin().sum() + (take_rows(table, nodes) * weight.detach()[:2]).sum()).backward()
            for optimizer in optimizers:
                optimizer.step()
        return [weight.detach(), table.detach()]

    both = run(lambda w, t: [AdamAndRows([w, t], lr=0.01, row_lr=0.3, prior=2.0)])
    apart = run(lambda w, t: [torch.optim.Adam([w], lr=0.01), RowAdagrad([t], lr=0.3, prior=2.0)])
    for one, two in zip(both, apart, strict=True):
        torch.testing.assert_close(one, two, rtol=1e-10, atol=1e-12)
