"""DVNE's loss and every gradient against the chapter's formulas written plainly, in float64, and its constraints."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from scipy import sparse

from allocations import Allocations
from dvne_networks import (
    L,
    N,
    S,
    dense,
    energies,
    make_network,
    nodes_of,
    random_graph,
    rows_of,
    valid_triplets,
    whole_batch,
)
from netfold.data.edges import links
from netfold.data.graph import Graph
from netfold.learn import losses, skipgram
from netfold.models.dvne import DVNE
from netfold.models.dvne.batches import Batch, Triplets, batches
from netfold.models.dvne.network import ENERGIES, DVNENetwork, w2_of_rows
from problems import problem_of

# -------------------------------------------------------------------- formulas


def naive_code(network: DVNENetwork, row: torch.Tensor) -> torch.Tensor:
    y = torch.relu(row @ network.first.table + network.first.bias)
    out = y @ network.code.weights[0] + network.code.biases[0]
    return torch.cat([out[:L], torch.nn.functional.elu(out[L:]) + 1])


def naive_loss(network: DVNENetwork, batch: Batch, energy: str) -> tuple[torch.Tensor, torch.Tensor]:
    """L_1 over the triplets and alpha M / n L_2 with dense rows, one node and one triplet after another."""
    rows = list(dense(batch.seen))
    codes = [naive_code(network, row) for row in rows]
    first = torch.zeros((), dtype=torch.float64)
    for i, j, k in batch.triplets.T.tolist():
        near, far = (ENERGIES[energy](codes[i][None], codes[x][None])[0] for x in (j, k))
        first = first + near**2 + network.repulsion * torch.exp(-far)
    second, at = torch.zeros((), dtype=torch.float64), 0
    for chunk in batch.chunks:
        for noise in chunk.noise:
            z = codes[at][:L] + codes[at][L:] * noise
            hidden = torch.relu(z @ network.decoder.weights[0] + network.decoder.biases[0])
            back = torch.sigmoid(hidden @ network.last.table.T + network.last.bias)
            second = second + ((rows[at] * (rows[at] - back)) ** 2).sum()
            at += 1
    return first, network.alpha * batch.times * second


@energies
@pytest.mark.parametrize("chunk", [None, 2, 5])
def test_the_loss_and_all_gradients_are_those_of_the_dense_formula(energy, chunk):
    graph = random_graph()
    network, plain = make_network(energy=energy, chunk=chunk), make_network(energy=energy)
    (batch,) = whole_batch(graph, network)
    assert len(batch.chunks) > 1 or chunk is None
    found, wanted = network.loss(batch), naive_loss(plain, batch, energy)
    sum(wanted).backward()
    assert list(found) == ["first_order", "second_order"]
    assert [float(x) for x in found.values()] == pytest.approx([x.item() for x in wanted], rel=1e-10)
    assert wanted[1].item() > 0
    for (name, p), q in zip(network.named_parameters(), plain.parameters(), strict=True):
        assert float(q.grad.abs().max()) > 0, name
        torch.testing.assert_close(p.grad, q.grad, rtol=1e-9, atol=1e-12, msg=name)


@energies
def test_what_is_passed_back_by_hand_is_what_autograd_passes_back(energy, monkeypatch):
    """A graph that takes several parts of rows, of columns and of triplets, in float64."""
    graph = Graph.from_edges(np.random.default_rng(0).integers(0, 400, (1500, 2)), nodes=range(400))
    network, plain = (make_network(400, energy=energy, chunk=90) for _ in range(2))
    monkeypatch.setattr("netfold.learn.sparse_rows._IN_CACHE", 64 * S)
    (batch,) = whole_batch(graph, network)
    found, codes = network.loss(batch), plain.encode(batch.seen)
    i, j, k = codes[batch.triplets]
    near, far = ENERGIES[energy](i, j), ENERGIES[energy](i, k)
    first, start = losses.triplet_energies(near, far, plain.repulsion), 0
    second = torch.zeros((), dtype=torch.float64)
    for chunk in batch.chunks:
        term, _ = plain._second_order(chunk, codes[start : start + len(chunk.rows)])
        second, start = second + plain.alpha * batch.times * term, start + len(chunk.rows)
    (first + second).backward()
    assert [float(x) for x in found.values()] == pytest.approx([first.item(), second.item()], rel=1e-12)
    for (name, p), q in zip(network.named_parameters(), plain.parameters(), strict=True):
        assert float((p.grad - q.grad).norm()) <= 1e-9 * float(q.grad.norm()), name


@energies
def test_triplets_walked_in_pieces_are_those_walked_at_once(energy, monkeypatch):
    generator = torch.Generator().manual_seed(0)
    network, codes = make_network(energy=energy), torch.rand(N, 2 * L, dtype=torch.float64, generator=generator) + 0.1
    triplets = torch.randint(N, (3, 700), generator=generator)
    monkeypatch.setattr("netfold.models.dvne.network.PIECE", {"cpu": 1})  # at least 256: three pieces
    total, pull = network._first_order(codes, triplets, learns=True)
    codes.requires_grad_()
    i, j, k = codes[triplets]
    whole = losses.triplet_energies(ENERGIES[energy](i, j), ENERGIES[energy](i, k), network.repulsion)
    torch.testing.assert_close(total, whole.detach())
    torch.testing.assert_close(pull, torch.autograd.grad(whole, codes)[0])


def test_the_gradient_is_that_of_finite_differences():
    network = make_network()
    (batch,) = whole_batch(random_graph(), network)
    sum(network.loss(batch).values())  # adds to grad
    for p in network.parameters():
        grads, step = p.grad.clone(), 1e-6
        for at in np.ndindex(*p.shape) if p.numel() < 40 else [(1, 2), (6, 0), (9, 5)]:
            before = p[at].item()
            values = []
            for move in (step, -step):
                with torch.no_grad():
                    p[at] = before + move
                    values.append(float(sum(network.loss(batch).values())))
            with torch.no_grad():
                p[at] = before
            assert float(grads[at]) == pytest.approx((values[0] - values[1]) / (2 * step), rel=1e-4, abs=1e-7)


def test_the_sums_of_the_chapter():
    near, far = torch.tensor([0.5, 2.0]), torch.tensor([0.0, math.log(4)])
    assert float(losses.triplet_energies(near, far)) == pytest.approx(0.25 + 4 + 1 + 0.25)
    assert float(losses.triplet_energies(near, far, 10)) == pytest.approx(0.25 + 4 + 10 + 2.5)
    given_ = torch.tensor([1.0, 0.5, 0.25])
    assert float(losses.weighed_squares(torch.tensor([0.5, 0.5, 1.0]), given_)) == pytest.approx(0.25 + 0.1875**2)
    empty = torch.zeros(0)
    assert float(losses.triplet_energies(empty, empty)) == float(losses.weighed_squares(empty, empty)) == 0
    assert float(losses.triplet_energies(torch.zeros(1), torch.full((1,), 1e9))) == 0


def test_zeros_of_a_row_have_no_part_in_the_second_order():
    """X is its own weight: whatever is written at a zero costs nothing, in ‖X ∘ (X - G(Z))‖² as in the sparse sum."""
    network = make_network()
    (batch,) = whole_batch(random_graph(), network)
    before = float(network.loss(batch)["second_order"])
    written = {int(c) for chunk in batch.chunks for c in chunk.rows.col}
    never = [j for j in range(N) if j not in written]
    assert never == [0, N - 1]
    with torch.no_grad():
        network.last.bias[never] += 5
    assert float(network.loss(batch)["second_order"]) == before


def test_a_constant_satisfies_the_second_order_of_a_regular_graph():
    """What L_2 can and cannot say: with zeros left out, x̂ = 1/d everywhere is perfect where all degrees are d."""
    ring = Graph.from_edges([(i, (i + 1) % 8) for i in range(8)])
    network = make_network(8)
    with torch.no_grad():
        network.last.table.zero_()
        network.last.bias.zero_()  # σ(0) = 1/2 = 1/d
    (batch,) = whole_batch(ring, network)
    assert float(network.loss(batch)["second_order"]) == 0


# -------------------------------------------------------------------- an epoch


def test_an_epoch_estimates_the_whole_objective_without_bias():
    """E over epochs of the sum = M (E over D of L_1 + alpha E over nodes of L_2): L_2 in full, L_1 in expectation."""
    graph = random_graph(1)
    network = make_network()
    whole = Triplets.of(links(graph, directed=False, weights=False, loops="all"))
    codes = network.encode(rows_of(graph)).detach()
    i, j, k = codes[whole.at(torch.arange(len(whole)))]
    per_triplet = float(losses.triplet_energies(w2_of_rows(i, j), w2_of_rows(i, k), network.repulsion)) / len(whole)
    count = graph.n_edges - graph.n_self_loops
    sums = []
    with torch.no_grad():
        of = batches(rows_of(graph), whole, count, network, 8)
        for seed in range(300):
            sums.append(sum(float(network.loss(b)["first_order"]) for b in of(torch.Generator().manual_seed(seed))))
    error = np.std(sums) / np.sqrt(len(sums))
    assert abs(np.mean(sums) - count * per_triplet) < 4 * error < 0.1 * count * per_triplet


@pytest.mark.parametrize("batch_size", [1, 7, None])
def test_each_node_is_written_once_an_epoch_and_each_place_is_its_node(batch_size):
    graph = random_graph()
    network = make_network(chunk=4)
    written, triplets = [], 0
    for batch in whole_batch(graph, network, batch_size=batch_size):
        nodes = nodes_of(batch, graph)
        assert len(set(nodes[nodes > 0])) == (nodes > 0).sum(), "no node is encoded twice"
        written += nodes[: sum(len(c.rows) for c in batch.chunks)].tolist()
        triplets += batch.triplets.shape[1]
        assert batch.times == graph.n_edges / N
        for i, j, k in nodes[batch.triplets].T:
            assert graph.adjacency[i, j] and not graph.adjacency[i, k]
    assert triplets == graph.n_edges
    assert sorted(set(written) - {0, N - 1}) == list(range(1, N - 1)) and len(written) == N


@pytest.mark.parametrize(("stays", "steps", "rate"), [(100_000, 16, 1.0), (10, 8, 2.0)])
def test_a_large_graph_has_fewer_steps_at_a_higher_rate_and_all_of_an_epoch_in_them(stays, steps, rate, monkeypatch):
    monkeypatch.setattr(skipgram, "_STAYS", stays)
    graph = Graph.from_edges(np.random.default_rng(0).integers(0, 600, (3000, 2)), nodes=range(600))
    problem = problem_of(DVNE(dim=4, hidden=8, lr=0.01), graph)
    epoch = list(problem.batches(0))
    assert len(epoch) == steps and problem.blocks[0].lr == pytest.approx(0.01 * rate)
    written = [sum(len(chunk.rows) for chunk in batch.chunks) for batch in epoch]
    assert sum(written) == 600 and sum(batch.triplets.shape[1] for batch in epoch) > 2900
    assert problem_of(DVNE(dim=4, hidden=8, lr=0.01, batch_size=500), graph).blocks[0].lr == 0.01


def test_without_a_weight_on_the_second_order_nothing_is_written():
    network = make_network(alpha=0.0)
    for batch in whole_batch(random_graph(), network, batch_size=5):
        assert not batch.chunks
        assert float(network.loss(batch)["second_order"]) == 0
    assert network.last.table.grad is None


@energies
def test_the_pairwise_constraints_of_the_chapter_hold_after_training(energy):
    """W2(i, j) < W2(i, k) for j linked with i and k not: for nearly all triplets of two cliques joined by an edge."""
    edges = [(a, b) for c in (range(6), range(6, 12)) for a in c for b in c if a < b]
    graph = Graph.from_edges([*edges, (0, 6)])
    options = {"dim": 4, "hidden": 32, "epochs": 150, "lr": 0.01, "tolerance": 0.0}
    model = DVNE(**options, energy=energy).fit(graph, progress=False)
    d = [[model.distance(i, j) for j in range(12)] for i in range(12)]
    triplets = valid_triplets(graph)
    assert np.mean([d[i][j] < d[i][k] for i, j, k in triplets]) > 0.95


# -------------------------------------------------------------------- size


def test_nothing_is_made_as_large_as_there_are_pairs():
    n = 3000
    graph = Graph.from_edges(np.random.default_rng(0).integers(0, n, (3 * n, 2)), nodes=range(n))
    model = DVNE(dim=4, hidden=8)
    with Allocations() as largest:
        problem = problem_of(model, graph)
        for batch in problem.batches(0):
            problem.network.loss(batch)
    assert largest.numbers <= n * 8 * 4 < n * n / 50


def test_a_hub_of_thousands_of_links_is_no_trouble():
    n = 5000
    links = sparse.csr_array((np.ones(n - 1, np.float32), (np.zeros(n - 1, np.int64), np.arange(1, n))), shape=(n, n))
    graph = Graph.from_scipy(sparse.csr_array(links + links.T))
    model = DVNE(dim=4, hidden=8, epochs=2).fit(graph, progress=False)
    assert np.isfinite(model.embedding_.coordinates).all()
