"""How sure DepthLGP is: variances of the posterior, through g, and as its errors show them."""

from __future__ import annotations

import pytest
import torch
from scipy import sparse

from lgp_processes import DIM, known_and_new, precision, random_graph, random_process, sharings
from netfold.models.lgp.posterior import Known
from netfold.models.lgp.process import Residual, Spread
from netfold.models.lgp.solve import posterior_variances


@sharings
def test_posterior_variances_are_those_of_the_gaussian(sharing, monkeypatch):
    matrix, process = random_graph(30), random_process(18, sharing)
    known, new = known_and_new(matrix, process, 12)
    system, generator = known.system(new), torch.Generator().manual_seed(0)
    exact = posterior_variances(system, generator)
    for k in range(exact.shape[1]):
        kernel = torch.linalg.inv(precision(matrix, process, k, 12).detach())
        rest = kernel[18:, 18:] - kernel[18:, :18] @ torch.linalg.solve(kernel[:18, :18], kernel[:18, 18:])
        torch.testing.assert_close(exact[:, k], rest.diagonal(), rtol=1e-8, atol=0)
    monkeypatch.setattr("netfold.models.lgp.solve._WORK", 0)
    estimated = posterior_variances(system, generator)
    assert ((estimated - exact).abs() / exact).max() < 0.3 and not torch.equal(estimated, exact)
    assert (estimated >= 1 / system.diagonal() - 1e-12).all() and (estimated <= 1).all()


def test_variances_pass_through_g_by_its_jacobian():
    g = random_process(3, hidden=6).g
    generator = torch.Generator().manual_seed(2)
    x = torch.randn(5, DIM, dtype=torch.float64, generator=generator)
    variances = torch.rand(5, DIM, dtype=torch.float64, generator=generator)
    found = g.spread(x, variances)
    for i in range(5):
        jacobian = torch.autograd.functional.jacobian(lambda row: g(row[None])[0], x[i])
        torch.testing.assert_close(found[i], jacobian.square() @ variances[i])


def test_the_spread_learns_how_much_of_the_error_goes_with_the_links():
    generator = torch.Generator().manual_seed(0)
    variances = torch.rand(4000, 1, generator=generator) * 0.9 + 0.05
    latent, scale = torch.zeros(4000, DIM), torch.tensor([1.0, 2, 3, 4])
    noise = torch.randn(4000, DIM, generator=generator) * scale
    sizes = []
    for share in (1.0, 0.5, 0.0):
        spread = Spread(DIM)
        size = share * variances / variances.mean() + 1 - share
        spread.measure(Residual(DIM, 0), latent, variances, noise * size.sqrt())
        sizes.append(float(spread.share))
        made = spread.deviations(Residual(DIM, 0), latent, variances)
        if share:
            torch.testing.assert_close(made, size.sqrt() * scale, rtol=0.15, atol=0)
    assert sizes[0] > 0.9 and sizes[1] == pytest.approx(0.5, abs=0.1) and sizes[2] == pytest.approx(0.1)


def test_a_process_taken_at_its_word_has_the_spread_of_its_draws():
    """h drawn from the prior, five times as wide: its scale is found, and a node's deviation given the others."""
    matrix, process = random_graph(200, 0.03), random_process(200)
    with torch.no_grad():
        process.kernel.raw_weights.fill_(50)
        generator = torch.Generator().manual_seed(1)
        root = torch.linalg.cholesky(torch.linalg.inv(precision(matrix, process, 0, 0)))
        process.latent.copy_(5 * root @ torch.randn(200, DIM, dtype=torch.float64, generator=generator))
    predicted, diagonal = Known.of(process, sparse.csr_array(matrix)).each_as_new()
    process.spread.of_process(process.latent.detach(), predicted, diagonal)
    torch.testing.assert_close(process.spread.errors.sqrt(), torch.full((DIM,), 5.0).double(), rtol=0.15, atol=0)
    made = process.spread.deviations(process.g, predicted, 1 / diagonal)
    torch.testing.assert_close(made, (process.spread.errors / diagonal).sqrt())
