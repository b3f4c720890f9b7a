"""DepthLGP's mathematics against dense matrices, naive loops and the chapter's theorems, in float64."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy import sparse

from netfold import losses
from netfold.embedding import Embedding
from netfold.evaluate import label_propagation
from netfold.evaluate.node_splits import NodeSplit
from netfold.graph import Graph
from netfold.lgp import solve
from netfold.lgp.arrivals import arrivals, grown
from netfold.lgp.embedder import SHARING
from netfold.lgp.kernel import Kernel
from netfold.lgp.known import Known
from netfold.lgp.placing import placed_at_once, placed_by_component
from netfold.lgp.process import Process
from netfold.lgp.residual import Residual
from netfold.lgp.solve import factorised, matrices_of, solved
from netfold.lgp.spread import Spread, posterior_variances
from netfold.lgp.surroundings import Caps, linked, read_around, walked_seeds
from netfold.links import Links
from netfold.table_rows import take_rows
from netfold.training import AdamAndRows, RowAdagrad

DIM = 4
sharings = pytest.mark.parametrize("sharing", SHARING)


def random_graph(n: int = 24, p: float = 0.15, seed: int = 0) -> np.ndarray:
    """A dense symmetric matrix of weights, connected by a ring."""
    rng = np.random.default_rng(seed)
    upper = np.triu((rng.random((n, n)) < p) * rng.uniform(0.2, 2, (n, n)), 1)
    for i in range(n):
        a, b = sorted((i, (i + 1) % n))
        upper[a, b] = upper[a, b] or 1.0
    return upper + upper.T


def random_process(n: int, sharing: str = "all", *, hidden: int = 0, seed: int = 0, **start: float) -> Process:
    """One with parameters anywhere."""
    process = Process(n, DIM, 0, sharing=sharing, hidden=hidden).double()
    process.kernel.starts.copy_(torch.tensor([start.get("eta", 1.3), start.get("zeta", 0.4)]))
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for p in process.parameters():
            p.copy_(torch.randn(p.shape, generator=generator, dtype=torch.float64))
        process.kernel.raw_weights.mul_(2).sub_(2)
    return process


def laplacian(matrix: torch.Tensor) -> torch.Tensor:
    return torch.diag(matrix.sum(0)) - matrix


def precision(matrix: np.ndarray, process: Process, k: int, n_new: int) -> torch.Tensor:
    """M = I + eta L(Â) + zeta L(ÂÂ) of dimension k, dense; known nodes first, new ones after them."""
    kernel = process.kernel
    weights, eta, zeta = kernel.weights(kernel.raw_weights), kernel.eta, kernel.zeta
    a = torch.cat([weights[:, k % weights.shape[1]], torch.ones(n_new, dtype=torch.float64)])
    hat = torch.diag(a) @ torch.from_numpy(matrix) @ torch.diag(a)
    second = laplacian(hat @ hat)
    return torch.eye(len(a), dtype=torch.float64) + eta[k % len(eta)] * laplacian(hat) + zeta[k % len(zeta)] * second


def predicted(matrix: np.ndarray, process: Process, n_new: int) -> torch.Tensor:
    """z_* = -M_**⁻¹ M_*x z_x, a dense solve for each dimension."""
    n, columns = len(matrix) - n_new, []
    for k in range(DIM):
        m = precision(matrix, process, k, n_new)
        columns.append(-torch.linalg.solve(m[n:, n:], m[n:, :n] @ process.latent[:, k]))
    return torch.stack(columns, dim=1)


def later(matrix: np.ndarray, n_new: int):
    """The last nodes of a graph as arrivals to the others."""
    csr, n = sparse.csr_array(matrix), len(matrix) - n_new
    known = np.where(np.arange(len(matrix)) < n, np.arange(len(matrix)), -1)
    fitted = sparse.csr_array(matrix[:n, :n])
    return csr, np.arange(n, len(matrix)), known, fitted


def known_and_new(matrix: np.ndarray, process: Process, n_new: int):
    csr, new, known, fitted = later(matrix, n_new)
    return Known.of(process, fitted), arrivals(csr, new, known, fitted)


# ---------------------------------------------------------------- the kernel and the conditional mean


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


# ---------------------------------------------------------------- the theorems


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


def each_as_new(matrix: np.ndarray, process: Process) -> torch.Tensor:
    """The latent state of every node, as if it were new and all others known."""
    n = len(matrix)
    around = read_around(
        sparse.csr_array(matrix), np.arange(n), np.arange(n), Caps(), torch.Generator(), dtype=torch.float64
    )
    return solved(process.system(around)).detach()


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


# ---------------------------------------------------------------- the solver and its gradients


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
    for alone in (True, False):
        around = read_around(matrix, np.arange(9), np.arange(9), Caps(), torch.Generator(), dtype=torch.float64)
        assert around.alone
        process.zero_grad()
        made = process(replace(around, alone=alone))
        made.square().sum().backward()
        found.append([made.detach(), *(p.grad.to_dense() for p in process.parameters())])
    for one, two in zip(*found, strict=True):
        torch.testing.assert_close(one, two, rtol=1e-9, atol=1e-10)


@sharings
def test_factors_and_conjugate_gradients_agree(sharing, monkeypatch):
    known, new = known_and_new(random_graph(40), random_process(25, sharing), 15)
    system = known.system(new)
    found = solved(system)
    torch.testing.assert_close(factorised(system, system.right()), found, rtol=1e-9, atol=1e-10)
    monkeypatch.setattr(solve, "_STEPS", 0)
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


# ---------------------------------------------------------------- what is read of a graph


def test_a_later_graph_may_change_links_among_known_nodes():
    matrix, process = random_graph(), random_process(18)
    csr, new, known, fitted = later(matrix, 6)
    before = fitted.toarray()
    before[0, 5] = before[5, 0] = 0  # came since
    before[1, 2] = before[2, 1] = 9  # has lost weight since
    then = sparse.csr_array(before)
    found = placed_at_once(Known.of(process, then), arrivals(csr, new, known, then), None).latent
    torch.testing.assert_close(found, predicted(matrix, process, 6).detach(), rtol=1e-9, atol=1e-9)
    np.testing.assert_array_equal(grown(then, csr, new, known).toarray(), matrix)


def test_a_later_graph_need_not_repeat_links_among_known_nodes():
    matrix, process = random_graph(), random_process(18)
    _, _, known, fitted = later(matrix, 6)
    cut = matrix.copy()
    cut[:18, :18] = 0
    rows = np.random.default_rng(0).permutation(24)  # in any order
    new = np.flatnonzero(rows >= 18)
    found = arrivals(sparse.csr_array(cut[np.ix_(rows, rows)]), new, known[rows], fitted)
    want = predicted(matrix, process, 6).detach()[rows[new] - 18]
    torch.testing.assert_close(placed_at_once(Known.of(process, fitted), found, None).latent, want)
    whole = grown(fitted, sparse.csr_array(cut[np.ix_(rows, rows)]), new, known[rows])
    order = np.append(np.arange(18), rows[new])
    np.testing.assert_array_equal(whole.toarray(), matrix[np.ix_(order, order)])


def components(matrix: np.ndarray, process: Process, n_new: int, caps: Caps) -> torch.Tensor:
    csr, new, known, fitted = later(matrix, n_new)
    found, generator = arrivals(csr, new, known, fitted), torch.Generator().manual_seed(0)
    return placed_by_component(process, csr, found, caps, generator, variances=True).latent


def test_component_by_component_is_the_same_where_nothing_is_left_out():
    matrix = np.zeros((14, 14))
    edges = [(0, 1), (1, 2), (2, 3), (4, 5), (5, 6), (6, 7), (3, 4), (8, 9)]  # known
    edges += [(10, 11), (10, 0), (11, 2), (12, 6), (12, 5), (13, 8)]  # new: {10, 11}, {12}, {13}
    for a, b in edges:
        matrix[a, b] = matrix[b, a] = 1 + a / 10
    process = random_process(10)
    torch.testing.assert_close(components(matrix, process, 4, Caps()), predicted(matrix, process, 4).detach())
    matrix[13, 6] = matrix[6, 13] = 1  # a neighbor in common with 12: zeta links the components
    assert (components(matrix, process, 4, Caps()) - predicted(matrix, process, 4)).abs().max() > 1e-4
    first = random_process(10, zeta=0.0)
    torch.testing.assert_close(components(matrix, first, 4, Caps()), predicted(matrix, first, 4).detach())


def test_sampled_sums_are_right_in_expectation():
    matrix, process = random_graph(40, 0.5), random_process(40)
    csr, generator = sparse.csr_array(matrix), torch.Generator().manual_seed(0)
    new, group = np.array([3, 7, 20]), np.array([0, 0, 1])

    def sums(caps: Caps) -> torch.Tensor:
        system = process.system(read_around(csr, new, group, caps, generator, dtype=torch.float64)).detached()
        return torch.cat([system.right(), *system.degrees], dim=1)

    wanted = sums(Caps())
    one = torch.stack([sums(Caps(two_step=4)) for _ in range(225)])
    few = torch.stack([sums(Caps(one_step=6)) for _ in range(225)])
    assert one.std(0)[:, [0, DIM + 1]].min() > 0.01 and few.std(0).min() > 0.01
    for drawn, columns in ((one, slice(None)), (few, slice(DIM, DIM + 1))):  # d₂ and ζ see a link drawn twice over
        error = (drawn.mean(0) - wanted)[:, columns] / (drawn.std(0)[:, columns] / 15 + 1e-12)
        assert error.abs().max() < 4.5


def test_links_among_new_nodes_stay_symmetric_whatever_is_drawn():
    csr = sparse.csr_array(random_graph(30, 0.6))
    new, group = np.array([5, 1, 9, 2]), np.array([0, 0, 0, 1])
    around = read_around(csr, new, group, Caps(2, 2), torch.Generator().manual_seed(0), dtype=torch.float64)
    links = around.links
    dense = sparse.csr_array((links.values, links.col, links.crow), shape=(4, links.width)).toarray()[:, :4]
    want = csr.toarray()[np.ix_(new, new)]
    want[3, :3] = want[:3, 3] = 0
    np.testing.assert_array_equal(dense, want)
    assert len(around.beside) <= 8


def test_seeds_are_distinct_nodes_along_walks():
    links = Links.from_scipy(linked(sparse.csr_array(random_graph(30)), directed=False))
    nodes, walk = walked_seeds(links, 50, 4, torch.Generator().manual_seed(0))
    assert (np.diff(walk) >= 0).all() and set(walk) == set(range(50))
    for w in range(50):
        mine = nodes[walk == w]
        assert 1 < len(mine) <= 4 and len(set(mine)) == len(mine)
    pair = Links.from_scipy(sparse.csr_array([[0, 1.0], [1, 0]]))
    assert len(walked_seeds(pair, 3, 4, torch.Generator().manual_seed(0))[0]) == 6


def test_a_group_without_known_neighbors_is_left_out():
    matrix = sparse.csr_array(np.kron(np.eye(2), [[0, 1.0], [1, 0]]))
    around = read_around(matrix, np.array([0, 1, 2]), np.array([0, 0, 1]), Caps(), torch.Generator())
    assert around.new.tolist() == [2] and around.known.tolist() == [3]


# ---------------------------------------------------------------- how sure


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
    monkeypatch.setattr("netfold.lgp.spread._WORK", 0)
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


def test_the_risk_is_a_sum_of_squares():
    generator = torch.Generator().manual_seed(0)
    a, b = (torch.randn(3, 2, dtype=torch.float64, generator=generator) for _ in range(2))
    want = sum((float(a[i, j]) - float(b[i, j])) ** 2 for i in range(3) for j in range(2))
    assert float(losses.empirical_risk(a, b)) == pytest.approx(want, rel=1e-12)


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
