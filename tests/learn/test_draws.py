"""Random numbers that are computed where they are needed, against SplitMix64 in whole numbers of Python."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from netfold.learn.draws import FEW, TABLE, normal, numbers_below, permutation, uniform
from netfold.learn.skipgram import batch_by_size

WORD = (1 << 64) - 1


def splitmix64(key: int, i: int) -> int:
    z = (key + (i + 1) * 0x9E3779B97F4A7C15) & WORD
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & WORD
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & WORD
    return z ^ (z >> 31)


@pytest.mark.parametrize(("dtype", "digits"), [(torch.float64, 53), (torch.float32, 24)])
def test_many_are_splitmix64_of_a_key_that_the_generator_draws(dtype, digits):
    key = int(torch.randint(1 << 62, (), generator=torch.Generator().manual_seed(7)))
    drawn = uniform((3, FEW), torch.Generator().manual_seed(7), "cpu", dtype=dtype)
    assert drawn.shape == (3, FEW) and drawn.dtype == dtype
    for i in (0, 1, FEW - 1, FEW, 2 * FEW + 5, 3 * FEW - 1):  # in every piece, at both of its ends
        assert float(drawn.flatten()[i]) == (splitmix64(key, i) >> (64 - digits)) / 2**digits


def test_few_are_those_of_torch_so_that_small_runs_stay_as_they_were():
    expected = torch.rand(4, 5, dtype=torch.float64, generator=torch.Generator().manual_seed(3))
    assert torch.equal(uniform((4, 5), torch.Generator().manual_seed(3), "cpu"), expected)
    expected = torch.randn(4, 5, generator=torch.Generator().manual_seed(3))
    assert torch.equal(normal((4, 5), torch.Generator().manual_seed(3), "cpu"), expected)


def test_draws_go_on_with_the_generator():
    generator = torch.Generator().manual_seed(1)
    first, second = (uniform((FEW + 1,), generator, "cpu") for _ in range(2))
    assert not torch.equal(first, second)
    assert abs(float(torch.corrcoef(torch.stack([first, second]))[0, 1])) < 0.02


def test_many_are_spread_evenly_and_normal_ones_have_their_moments():
    x = uniform((1 << 20,), torch.Generator().manual_seed(0), "cpu").numpy()
    counts = np.histogram(x, bins=64, range=(0, 1))[0]
    assert ((counts - len(x) / 64) ** 2 / (len(x) / 64)).sum() < 120  # chi² with 63 degrees: 1 in 20,000 is above
    z = normal((1 << 20,), torch.Generator().manual_seed(0), "cpu").double()
    assert abs(float(z.mean())) < 0.005 and abs(float(z.var()) - 1) < 0.01 and abs(float((z**4).mean()) - 3) < 0.05
    assert bool(z.isfinite().all())


def seeded() -> torch.Generator:
    return torch.Generator().manual_seed(5)


def test_orders_and_integers_of_large_graphs_are_those_of_the_uniform_numbers():
    numbers = uniform((1000,), seeded(), "cpu", few=0)
    order = permutation(1000, seeded(), "cpu", large=True)
    assert order.tolist() == sorted(range(1000), key=numbers.tolist().__getitem__)
    below = numbers_below(10**13, 1000, seeded(), "cpu", large=True)
    assert below.tolist() == [int(x * 10**13) for x in numbers.tolist()]
    assert int(numbers_below(7, 100_000, seeded(), "cpu", large=True).bincount().min()) > 100_000 / 7 - 600


def test_orders_and_integers_of_small_graphs_are_torch_s():
    assert torch.equal(permutation(99, seeded(), "cpu", large=False), torch.randperm(99, generator=seeded()))
    drawn = torch.randint(50, (99,), generator=seeded())
    assert torch.equal(numbers_below(50, 99, seeded(), "cpu", large=False), drawn)


def test_a_step_meets_half_of_a_large_graph_and_small_ones_stay():
    assert TABLE >= 100_000 * 256
    assert batch_by_size(4096, 100_000, 2) == 4096 and batch_by_size(4096, 100_001, 2) == 50_000
    assert batch_by_size(64, 100_000, 160) == 64 and batch_by_size(64, 2_000_000, 160) == 12_500
