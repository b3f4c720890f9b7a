"""Schedules and optimisers, step by step, against their formulas."""

from __future__ import annotations

import math
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from bowls import Bowl, one_batch
from netfold.learn.optimizers import OPTIMIZERS, Adam16, RowAdagrad, grad_of, rounded_at_random
from netfold.learn.training import SCHEDULES, Block, train


@pytest.mark.parametrize(
    ("name", "factors"),
    [
        ("constant", [1, 1, 1, 1]),
        ("linear", [1, 0.75, 0.5, 0.25]),
        ("cosine", [1, 0.5 + math.sqrt(0.125), 0.5, 0.5 - math.sqrt(0.125)]),
    ],
)
def test_schedules_scale_the_rate_of_each_epoch(name: str, factors: list[float]) -> None:
    class Slope(nn.Module):
        """A slope of 1 everywhere, so that a step of SGD is the rate itself."""

        def __init__(self) -> None:
            super().__init__()
            self.x = nn.Parameter(torch.zeros(1, dtype=torch.float64))

        def loss(self, batch: Any) -> dict[str, Tensor]:
            return {"x": self.x[0]}

    network, steps = Slope(), []
    at = [0.0]

    def step(record: dict[str, float]) -> None:
        steps.append(at[0] - network.x.item())
        at[0] = network.x.item()

    train(network, lambda epoch: [0], [Block([network.x], "sgd", 0.2)], epochs=4, schedule=name, on_epoch=step)
    assert steps == pytest.approx([0.2 * f for f in factors])
    assert set(SCHEDULES) == {"constant", "linear", "cosine"}


def naive_row_adagrad(weights: Any, gradients: list[Any], lr: float, eps: float = 1e-8) -> Any:
    """s_i += mean_j g_ij²;  w_i -= lr g_i / (√s_i + eps), number by number."""
    weights = [list(map(float, row)) for row in weights]
    sums = [0.0] * len(weights)
    for gradient in gradients:
        for i, row in enumerate(gradient):
            sums[i] += sum(g * g for g in row) / len(row)
            for j, g in enumerate(row):
                weights[i][j] -= lr * g / (math.sqrt(sums[i]) + eps)
    return weights


@pytest.mark.parametrize("shape", [(5, 3), (4, 1), (6,)])
def test_row_adagrad_is_its_formula(shape: tuple[int, ...]) -> None:
    rng = np.random.default_rng(0)
    start, gradients = rng.normal(size=shape), [rng.normal(size=shape) * 10.0**k for k in (0, -2, 2, 1)]
    gradients[1][0] = 0  # a row that is not touched
    p = torch.tensor(start, requires_grad=True)
    optimizer = RowAdagrad([p], lr=0.3)
    for g in gradients:
        p.grad = torch.tensor(g)
        optimizer.step()
    as_rows = [x.reshape(len(x), -1) for x in (start, *gradients)]  # a vector: rows of one number
    expected = naive_row_adagrad(as_rows[0], as_rows[1:], 0.3)
    np.testing.assert_allclose(p.detach().numpy().reshape(len(start), -1), expected, rtol=1e-12)
    assert optimizer.state[p]["squares"].shape == (len(start), 1)


def test_row_adagrad_leaves_a_row_without_gradient_where_it_is() -> None:
    p = torch.ones(2, 2, requires_grad=True)
    optimizer = RowAdagrad([p], lr=1.0)
    p.grad = torch.tensor([[0.0, 0.0], [1.0, 1.0]])
    optimizer.step()
    assert p.detach()[0].tolist() == [1.0, 1.0]
    assert p.detach()[1].tolist() == pytest.approx([0.0, 0.0])


def test_adam_is_its_formula() -> None:
    network = Bowl(x=2.0, y=0.0)
    train(network, one_batch, [Block([network.x], "adam", 0.1)], epochs=3)
    x, m, v = 2.0, 0.0, 0.0
    for t in (1, 2, 3):
        g = 2 * x
        m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g * g
        x -= 0.1 * (m / (1 - 0.9**t)) / (math.sqrt(v / (1 - 0.999**t)) + 1e-8)
    assert network.x.item() == pytest.approx(x, rel=1e-12)


# -------------------------------------------------------------------- in 16 bits


def test_rounding_at_random_keeps_the_expectation() -> None:
    chances = torch.arange(1 << 16, dtype=torch.int32)
    for value in (1.0, 1.0013, -3.14159, 1e-20, 12345.678):
        x = torch.full((1 << 16,), value)
        rounded = rounded_at_random(x, chances).view(torch.bfloat16).double()
        assert float(rounded.mean()) == pytest.approx(float(x[0]), rel=1e-9)
        assert len(rounded.unique()) == (1 if float(x[0].bfloat16()) == float(x[0]) else 2)


@pytest.mark.parametrize("kind", [torch.float32, torch.bfloat16])
def test_adam_in_16_bits_stays_beside_adam(kind: torch.dtype) -> None:
    """Gradients whose squares fall a hundredfold: rounded to the nearest, their mean would never follow."""
    rng, start = torch.Generator().manual_seed(0), torch.randn(40, 16, generator=torch.Generator().manual_seed(1))
    p, plain = nn.Parameter(start.clone().to(kind)), nn.Parameter(start.clone())
    mine, adam = Adam16([p], lr=0.01), torch.optim.Adam([plain], lr=0.01)
    for i in range(400):
        grad = torch.randn(40, 16, generator=rng) * (1.0 if i < 200 else 0.1)
        grad_of(p).copy_(grad)
        plain.grad = grad.clone()
        mine.step()
        adam.step()
    moved = (plain - start).detach()
    apart = (p.float() - plain).detach()
    walk = 0.02 * moved.norm() if kind == torch.float32 else math.sqrt(400) * 2**-8 * start.norm()
    assert apart.norm() < walk and moved.norm() > 3
    assert abs(float((apart * start.sign()).mean())) < 4 * float(apart.std()) / math.sqrt(apart.numel())  # no drift
    squares = mine.state[p]["squares"].view(torch.bfloat16).float()
    torch.testing.assert_close(squares.mean(), adam.state[plain]["exp_avg_sq"].mean(), rtol=0.01, atol=0)
    assert mine.state[p]["squares"].dtype == mine.state[p]["mean"].dtype == torch.int16
    held, stalled = adam.state[plain]["exp_avg_sq"].mean(), torch.tensor(1.0).bfloat16()
    assert (stalled * 0.999).bfloat16() == stalled and held < 0.5, "to the nearest it would stay where it was"


def test_a_vector_is_stepped_as_adam_does() -> None:
    ours, theirs = (nn.Parameter(torch.tensor([1.0, -2.0])) for _ in range(2))
    mine, adam = Adam16([ours], lr=0.1), torch.optim.Adam([theirs], lr=0.1)
    for g in ([0.5, 1.0], [-0.1, 2.0]):
        ours.grad, theirs.grad = torch.tensor(g), torch.tensor(g)
        mine.step()
        adam.step()
    torch.testing.assert_close(ours, theirs)


# -------------------------------------------------------------------- without a compiler


@pytest.mark.parametrize(
    ("name", "theirs"), [("adam", torch.optim.Adam), ("sgd", torch.optim.SGD), ("rmsprop", torch.optim.RMSprop)]
)
def test_steps_and_states_are_those_of_torch_to_the_bit(name, theirs):
    start = torch.randn(7, 3, generator=torch.Generator().manual_seed(0))
    ours, others = (torch.nn.Parameter(start.clone()) for _ in range(2))
    mine, other = (
        OPTIMIZERS[name]([ours], lr=0.1),
        theirs([others], lr=0.1, **({} if name == "rmsprop" else {"fused": True})),
    )
    for i in range(4):
        for p, optimizer in ((ours, mine), (others, other)):
            optimizer.zero_grad(set_to_none=False)
            (p.square().sum() * (1 + i)).backward()
            optimizer.step()
    assert torch.equal(ours, others)
    one, two = mine.state_dict(), other.state_dict()
    assert one["param_groups"] == two["param_groups"] and one["state"].keys() == two["state"].keys()
    assert all(torch.equal(x, two["state"][0][k]) for k, x in one["state"].get(0, {}).items())
    mine.load_state_dict(two)


def test_a_fit_loads_no_compiler():
    code = """
import sys
import netfold as nf
graph = nf.datasets.chung_lu(60, 150)
for model in (nf.SDNE(dim=4, hidden=(8,), epochs=2), nf.DRNE(dim=4, epochs=2), nf.LINE(dim=4, epochs=1)):
    model.fit(graph, progress=False)
print(sorted({"torch._dynamo", "sympy"} & set(sys.modules)))
"""
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert said.strip() == "[]"
