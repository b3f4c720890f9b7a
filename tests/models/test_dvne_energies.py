"""DVNE's energies and deviations are their formulas, and have gradients where nodes coincide."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from dvne_networks import L, energies
from netfold.data.graph import Graph
from netfold.models.dvne import DVNE
from netfold.models.dvne.network import ENERGIES, LEAST, deviation, kl, w2_of_rows


def naive_energy(name: str, a: torch.Tensor, b: torch.Tensor) -> float:
    total = 0.0
    for d in range(L):
        (ma, sa), (mb, sb) = (float(a[d]), float(a[L + d])), (float(b[d]), float(b[L + d]))
        if name == "kl":  # of N(b) from N(a)
            total += 0.5 * (sb**2 / sa**2 + (ma - mb) ** 2 / sa**2 - 1 + math.log(sa**2 / sb**2))
        else:
            total += (ma - mb) ** 2 + (sa - sb) ** 2
    return math.sqrt(total) if name == "w2" else total


@energies
def test_energies_are_their_formulas(energy):
    generator = torch.Generator().manual_seed(0)
    a, b = (torch.rand(7, 2 * L, dtype=torch.float64, generator=generator) + 0.1 for _ in range(2))
    found = ENERGIES[energy](a, b)
    for x, y, e in zip(a, b, found, strict=True):
        assert float(e) == pytest.approx(naive_energy(energy, x, y), abs=1e-12)
    assert torch.autograd.gradcheck(ENERGIES[energy], (a.requires_grad_(), b.requires_grad_()))


def test_kl_is_torchs():
    a, b = (torch.rand(5, 2 * L, dtype=torch.float64) + 0.1 for _ in range(2))
    one, two = (torch.distributions.Normal(x[:, :L], x[:, L:]) for x in (a, b))
    assert torch.allclose(kl(a, b), torch.distributions.kl_divergence(two, one).sum(1))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("apart", [0.0, 1e-30, 1e-12])
def test_the_gradient_of_w2_is_finite_at_coincident_nodes(apart, dtype):
    a = torch.ones(2, 2 * L, dtype=dtype)
    a.requires_grad_()
    b = a.detach() + apart
    (w2_of_rows(a, b).square() + torch.exp(-w2_of_rows(a, b))).sum().backward()
    assert bool(torch.isfinite(a.grad).all())
    if not apart:
        assert not bool(a.grad.any())


def test_the_first_order_does_not_see_the_level_of_the_deviations():
    """W2 compares them: what is added to all is not seen, so that only L_2 says how large they are."""
    generator = torch.Generator().manual_seed(0)
    a, b = (torch.rand(7, 2 * L, dtype=torch.float64, generator=generator) for _ in range(2))
    raised = torch.tensor([0.0] * L + [3.0] * L, dtype=torch.float64)
    assert torch.allclose(w2_of_rows(a, b), w2_of_rows(a + raised, b + raised))


def test_coincident_nodes_train():
    """Twins have one row, and so one code for ever: as j, and as k, they are at the distance 0."""
    graph = Graph.from_edges([("a", "hub"), ("b", "hub"), ("hub", "c"), ("c", "d"), ("d", "e")])
    model = DVNE(dim=2, hidden=4, epochs=30, tolerance=0.0).fit(graph, progress=False)
    assert model.distance("a", "b") == 0
    assert np.isfinite(model.embedding_.coordinates).all()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_the_deviation_is_elu_plus_1_and_never_0(dtype):
    x = torch.tensor([-1e4, -100.0, -20.0, -3.0, -1e-3, 0.0, 1e-3, 2.0, 1e4], dtype=dtype).requires_grad_()
    found = deviation(x)
    wanted = [y + 1 if y > 0 else max(math.exp(y), LEAST) for y in x.tolist()]
    assert found.tolist() == pytest.approx(wanted, rel=1e-6)
    assert torch.allclose(found[3:], torch.nn.functional.elu(x[3:]) + 1)
    assert float(found.detach().min()) > 0
    assert float(torch.nn.functional.elu(torch.tensor(-20.0)) + 1) == 0, "written so, it would be 0"
    found.sum().backward()
    slopes = [1.0 if y > 0 else math.exp(y) if math.exp(y) > LEAST else 0.0 for y in x.tolist()]
    assert x.grad.tolist() == pytest.approx(slopes, rel=1e-6)
