"""What DepthLGP reads of a graph: later links, components of new nodes, and samples that are right on average."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy import sparse

from lgp_processes import DIM, later, predicted, random_graph, random_process
from netfold.data.graph import Graph
from netfold.learn.walks import Links
from netfold.models.lgp.neighborhoods import Caps, links_in, read_around, walked_roots
from netfold.models.lgp.posterior import Known, arrivals, grown, placed_at_once, placed_by_component
from netfold.models.lgp.process import Process


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


@pytest.mark.parametrize("caps", [Caps(), Caps(3, 2)])
def test_nodes_that_are_new_each_alone_are_means_over_paths(caps):
    matrix, process = random_graph(40, 0.3), random_process(40)
    csr, new = sparse.csr_array(matrix), np.array([3, 7, 20, 8])
    around = read_around(
        csr, new, np.arange(4), caps, torch.Generator().manual_seed(0), dtype=torch.float64
    )  # fmt: skip
    assert around.alone

    def slow() -> torch.Tensor:
        """By the system of all groups."""
        system = process.system(around)
        return process.vectors(system.right() / system.diagonal())

    gradients = []
    for vectors in (process(around), slow()):
        process.zero_grad()
        (vectors * torch.arange(vectors.numel(), dtype=torch.float64).view_as(vectors)).sum().backward()
        gradients.append([vectors.detach(), *(x.grad for x in process.parameters() if x.grad is not None)])
    assert len(gradients[0]) == len(gradients[1]) == 5  # and those of h, a, eta and zeta
    for fast, right in zip(*gradients, strict=True):  # rows of tables have sparse ones
        torch.testing.assert_close(fast, right, rtol=1e-10, atol=1e-10)


def test_a_node_that_is_new_alone_by_a_naive_loop():
    matrix, process = random_graph(30, 0.3), random_process(30)
    around = read_around(
        sparse.csr_array(matrix), np.array([4, 11]), np.arange(2), Caps(), torch.Generator(), dtype=torch.float64
    )
    a, h = torch.sigmoid(process.kernel.raw_weights + 3)[:, 0].tolist(), process.latent.detach().numpy()
    eta, zeta = process.kernel.eta.item(), process.kernel.zeta.item()
    for row, v in enumerate((4, 11)):
        top, bottom = np.zeros(DIM), 1.0
        for u in range(30):
            top, bottom = top + eta * matrix[v, u] * a[u] * h[u], bottom + eta * matrix[v, u] * a[u]
            for t in (t for t in range(30) if t != v):
                path = zeta * matrix[v, u] * a[u] ** 2 * matrix[u, t] * a[t]
                top, bottom = top + path * h[t], bottom + path
        want = process.vectors(torch.from_numpy(top / bottom)[None])[0]
        torch.testing.assert_close(process(around)[row], want, rtol=1e-10, atol=1e-10)


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
    links = Links.from_scipy(links_in(Graph.from_scipy(random_graph(30))))
    nodes, walk = walked_roots(links, 50, 4, torch.Generator().manual_seed(0))
    assert (np.diff(walk) >= 0).all() and set(walk) == set(range(50))
    for w in range(50):
        mine = nodes[walk == w]
        assert 1 < len(mine) <= 4 and len(set(mine)) == len(mine)
    pair = Links.from_scipy(sparse.csr_array([[0, 1.0], [1, 0]]))
    assert len(walked_roots(pair, 3, 4, torch.Generator().manual_seed(0))[0]) == 6


def test_a_group_without_known_neighbors_is_left_out():
    matrix = sparse.csr_array(np.kron(np.eye(2), [[0, 1.0], [1, 0]]))
    around = read_around(matrix, np.array([0, 1, 2]), np.array([0, 0, 1]), Caps(), torch.Generator())
    assert around.new.tolist() == [2] and around.known.tolist() == [3]
