"""DepthLGP's kernel, conditional mean and energy against dense matrices and loops, and the chapter's theorems."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from lgp_processes import DIM, each_as_new, known_and_new, precision, random_graph, random_process, sharings
from netfold.data.embedding import Embedding
from netfold.data.graph import Graph
from netfold.evaluate import label_propagation
from netfold.evaluate.splits import NodeSplit
from netfold.models.lgp.posterior import placed_at_once
from netfold.models.lgp.process import Kernel, Residual

# -------------------------------------------------------------------- the kernel and the conditional mean


@sharings
def test_the_kernel_is_positive_definite_and_at_most_one(sharing):
    matrix, process = random_graph(), random_process(20, sharing)
    for k in range(DIM):
        values = torch.linalg.eigvalsh(precision(matrix, process, k, 4).detach())
        assert values.min() >= 1 - 1e-12  # so that those of K are in (0, 1]


@sharings
def test_the_solution_is_the_conditional_mean_of_the_gaussian(sharing):
    matrix, process = random_graph(), random_process(17, sharing)
    known, new = known_and_new(matrix, process, 7)
    found = placed_at_once(known, new, None).latent
    for k in range(DIM):
        kernel = torch.linalg.inv(precision(matrix, process, k, 7).detach())
        mean = kernel[17:, :17] @ torch.linalg.solve(kernel[:17, :17], process.latent[:, k].detach())
        torch.testing.assert_close(found[:, k], mean, rtol=1e-9, atol=1e-9)


def test_a_start_means_the_same_on_every_graph():
    kernel, matrix = Kernel(3, 1, "all"), random_graph()
    kernel.start(2.0, 3.0, matrix[matrix > 0], matrix.sum(axis=0))
    eta, zeta = kernel.starts.tolist()
    assert eta * matrix[matrix > 0].mean() == pytest.approx(2)
    assert zeta * (matrix @ matrix).sum() == pytest.approx(1.5 * eta * matrix.sum(), rel=1e-6)
    kernel.start(2.0, 3.0, 10 * matrix[matrix > 0], 10 * matrix.sum(axis=0))
    assert kernel.starts.tolist() == pytest.approx([eta / 10, zeta / 100])


def energy(h: np.ndarray, a: np.ndarray, matrix: np.ndarray, eta: float, zeta: float) -> float:
    """The chapter's criterion, as it is printed."""
    n, total = len(h), 0.0
    for u in range(n):
        total += h[u] ** 2
        for v in range(n):
            total += eta / 2 * a[u] * matrix[u, v] * a[v] * (h[u] - h[v]) ** 2
            for w in range(n):
                two = a[u] * matrix[u, w] * a[w] * a[w] * matrix[w, v] * a[v]
                total += zeta / 2 * two * (h[u] - h[v]) ** 2
    return total


def test_the_solution_minimises_the_energy_of_the_chapter():
    matrix, process = random_graph(12), random_process(9)
    known, new = known_and_new(matrix, process, 3)
    found, rng = placed_at_once(known, new, None).latent[:, 0].numpy(), np.random.default_rng(1)
    kernel = process.kernel
    a = np.append(kernel.weights(kernel.raw_weights).detach().numpy()[:, 0], np.ones(3))
    of = [a, matrix, kernel.eta.item(), kernel.zeta.item()]
    h = process.latent.detach().numpy()[:, 0]
    least = energy(np.append(h, found), *of)
    for _ in range(5):
        step = rng.normal(0, 0.1, 3)
        ahead, back = (energy(np.append(h, found + s), *of) for s in (step, -step))
        assert ahead > least and ahead == pytest.approx(back, rel=1e-9)  # the gradient is 0


def test_label_propagation_is_the_limit_of_a_strong_first_order():
    matrix, process = random_graph(), random_process(18, eta=1e9, zeta=0.0)
    with torch.no_grad():
        process.kernel.raw_weights.fill_(50)  # a = 1
        process.kernel.raw_eta.zero_()
    known, new = known_and_new(matrix, process, 6)
    whole = Graph.from_scipy(matrix.astype(np.float32))
    split = NodeSplit(whole.subgraph(np.arange(18)), whole, np.arange(18, 24), {})
    vectors = Embedding(range(18), process.latent.detach().numpy())
    wanted = label_propagation(split, vectors).vectors
    np.testing.assert_allclose(placed_at_once(known, new, None).latent.numpy(), wanted, rtol=1e-4, atol=1e-5)


def test_without_hidden_units_a_vector_is_its_latent_state():
    process = random_process(5)
    x = torch.randn(3, DIM, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    process.mean.zero_()
    assert torch.equal(process.vectors(x), x)
    started = Residual(DIM, 8).double()
    started.start(torch.Generator().manual_seed(0))
    assert started.inward.abs().sum() > 0
    assert torch.equal(started(x), x)  # with them it is so at the start


# -------------------------------------------------------------------- the theorems


def network_through(points: torch.Tensor, values: torch.Tensor) -> Residual:
    """g with g(points[i]) = values[i] for distinct points: one kink between any two along a line."""
    line = torch.randn(DIM, dtype=torch.float64, generator=torch.Generator().manual_seed(3))
    at = (points @ line).sort().values
    kinks = torch.cat([at[:1] - 1, (at[1:] + at[:-1]) / 2])
    g = Residual(DIM, len(at)).double()
    with torch.no_grad():
        g.inward.copy_(line[:, None].expand(-1, len(at)))
        g.inward_bias.copy_(-kinks)
        inner = torch.nn.functional.leaky_relu(points @ g.inward + g.inward_bias, 0.01)
        g.outward.copy_(torch.linalg.solve(inner, values - points))
    return g


def test_expressive_power_any_vectors_can_be_recovered():
    matrix, process = random_graph(14), random_process(14)
    wanted = torch.randn(14, DIM, dtype=torch.float64, generator=torch.Generator().manual_seed(9))
    latent = each_as_new(matrix, process)
    process.g = network_through(latent, wanted)
    process.mean.zero_()
    torch.testing.assert_close(process.vectors(latent), wanted, rtol=0, atol=1e-6)


def test_second_order_is_needed_where_two_nodes_have_the_same_neighbors():
    path = np.array([[0, 1.0, 0], [1, 0, 1], [0, 1, 0]])  # 0 - 1 - 2: the ends have the same neighbor
    without, with_ = random_process(3, zeta=0.0), random_process(3)
    latent = each_as_new(path, without)
    torch.testing.assert_close(latent[0], latent[2], rtol=1e-12, atol=0)  # whatever g is, the ends get one vector
    latent = each_as_new(path, with_)
    assert (latent[0] - latent[2]).abs().max() > 0.01
    wanted = torch.tensor([[1.0, 2, 3, 4], [0, 0, 0, 0], [-1, 5, 0, 2]], dtype=torch.float64)
    torch.testing.assert_close(network_through(latent, wanted)(latent), wanted, rtol=0, atol=1e-8)
