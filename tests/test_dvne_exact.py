"""DVNE's triplets, energies, loss and every gradient against the chapter's formulas written plainly, in float64."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import sparse
from scipy.stats import chisquare
from torch.utils._python_dispatch import TorchDispatchMode

from netfold import losses
from netfold.graph import Graph
from netfold.models.dvne import DVNE
from netfold.models.dvne.batches import Batch, batches, dropped
from netfold.models.dvne.network import ENERGIES, LEAST, DVNENetwork, deviation, kl, w2
from netfold.models.dvne.rows import steps
from netfold.models.dvne.triplets import Triplets, linked
from netfold.sparse_rows import SparseRows

N, S, L = 15, 6, 3
energies = pytest.mark.parametrize("energy", sorted(ENERGIES))


def random_graph(seed: int = 0, *, directed: bool = False) -> Graph:
    """Weighted, with isolated nodes (0 and N - 1), a self-loop (3), a hub (5) and, where directed, a sink (7)."""
    rng = np.random.default_rng(seed)
    dense = rng.uniform(0.5, 2, (N, N)) * (rng.random((N, N)) < 0.2)
    dense[5, 6:] = 1
    dense = dense if directed else dense + dense.T
    np.fill_diagonal(dense, 0)
    dense[3, 3] = 1.5
    dense[[0, -1]] = 0
    dense[:, [0, -1]] = 0
    if directed:
        dense[7] = 0
    return Graph.from_scipy(dense.astype(np.float32), directed=directed)


def valid_triplets(graph: Graph) -> list[tuple[int, int, int]]:
    a = graph.adjacency.toarray()
    near = (a > 0) | (a.T > 0)
    return [
        (i, j, k)
        for i, j, k in itertools.permutations(range(len(a)), 3)
        if near[i, j] and not near[i, k]
    ]  # fmt: skip


def triplets_of(graph: Graph) -> Triplets:
    return Triplets.of(linked(graph.adjacency, directed=graph.directed))


def rows_of(graph: Graph) -> SparseRows:
    matrix = steps(graph.adjacency, graph.adjacency.T if graph.directed else None)
    return SparseRows.from_scipy(matrix, dtype=torch.float64)


def make_network(n: int = N, *, alpha: float = 0.7, energy: str = "w2", chunk: int | None = None) -> DVNENetwork:
    """All parameters random, none at a value that would hide an error."""
    network = DVNENetwork(n, S, L, alpha=alpha, repulsion=1.3, energy=energy).double()
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for p in network.parameters():
            p.uniform_(-0.8, 0.8, generator=generator)
    if chunk:
        network.chunk_rows = lambda: chunk  # type: ignore[method-assign]
    return network


def whole_batch(graph: Graph, network: DVNENetwork, *, batch_size: int | None = None, seed: int = 0) -> list[Batch]:
    of = batches(rows_of(graph), triplets_of(graph), graph.n_edges, network, batch_size or graph.n_edges)
    return list(of(torch.Generator().manual_seed(seed)))


# -------------------------------------------------------------------- triplets


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_every_number_is_another_valid_triplet_and_all_have_one(seed, directed):
    graph = random_graph(seed, directed=directed)
    triplets, wanted = triplets_of(graph), valid_triplets(graph)
    found = triplets.at(torch.arange(len(triplets))).T.tolist()
    assert len(triplets) == len(wanted) == len(found)
    assert set(map(tuple, found)) == set(wanted)


@settings(max_examples=60, deadline=None)
@given(arrays(np.bool_, st.integers(2, 8).map(lambda n: (n, n))))
def test_so_it_is_in_any_small_graph(pattern):
    graph = Graph.from_scipy(pattern.astype(np.float32), directed=True)
    triplets = triplets_of(graph)
    found = [tuple(t) for t in triplets.at(torch.arange(len(triplets))).T.tolist()]
    assert sorted(found) == valid_triplets(graph)


def test_drawn_triplets_are_uniform_over_all_valid_ones():
    """Not merely over edges: a node of degree d is taken d (n - 1 - d) times, so the hub less often than by edges."""
    graph = random_graph(1)
    network, wanted = make_network(), valid_triplets(graph)
    of = batches(rows_of(graph), triplets_of(graph), 40 * len(wanted), network, 10**9)
    (batch,) = of(torch.Generator().manual_seed(3))
    nodes = _nodes(batch, graph)
    drawn = nodes[batch.triplets].T.tolist()
    counts = dict.fromkeys(wanted, 0)
    for t in drawn:
        counts[tuple(t)] += 1  # a KeyError would be an edge as a negative, or a node twice
    assert chisquare(list(counts.values())).pvalue > 1e-3


def _nodes(batch: Batch, graph: Graph) -> np.ndarray:
    """Which node is at each place of a batch: by its row, where rows differ."""
    rows = np.concatenate([dense(chunk.rows).numpy() for chunk in batch.chunks])
    every = dense(rows_of(graph)).numpy()
    assert len(np.unique(every, axis=0)) == len(every) - 1, "all rows differ but those of the two isolated nodes"
    found = np.array([np.flatnonzero((every == row).all(axis=1))[0] for row in rows])
    found[np.flatnonzero(found == 0)[1:]] = N - 1
    return found


def dense(rows: SparseRows) -> torch.Tensor:
    return rows.matmul(torch.eye(rows.width, dtype=rows.values.dtype))


def test_a_node_linked_with_all_others_has_no_triplet_and_others_have_theirs():
    star = Graph.from_edges([(0, k) for k in range(1, 5)])
    triplets = triplets_of(star)
    found = triplets.at(torch.arange(len(triplets))).T.tolist()
    assert found == [[i, 0, k] for i in range(1, 5) for k in range(1, 5) if i != k]
    complete = Graph.from_edges(itertools.combinations(range(4), 2))
    assert len(triplets_of(complete)) == 0


def test_an_arc_in_either_direction_makes_two_nodes_neighbors():
    graph = Graph.from_edges([("a", "b"), ("c", "a")], nodes="abcd", directed=True)
    triplets = triplets_of(graph)
    found = {tuple(t) for t in triplets.at(torch.arange(len(triplets))).T.tolist()}
    assert {(0, 1, 3), (0, 2, 3)} == {t for t in found if t[0] == 0}  # never b or c as far from a


# -------------------------------------------------------------------- rows


def test_rows_are_those_of_the_transition_matrix():
    graph = random_graph()
    assert (steps(graph.adjacency) != graph.transition()).nnz == 0


def test_a_sink_reads_the_arcs_that_enter_it():
    graph = random_graph(directed=True)
    found = steps(graph.adjacency, graph.adjacency.T).toarray()
    a = graph.adjacency.toarray()
    for i in range(N):
        row = a[i] if a[i].any() else a[:, i]
        np.testing.assert_allclose(found[i], row / (row.sum() or 1), rtol=1e-6)
    assert not a[7].any() and a[:, 7].any() and found[7].any()


@pytest.mark.parametrize("picked", [[], [4], [3, 0, 5, 2], list(range(N))[::-1]])
def test_rows_are_taken_as_scipy_takes_them(picked):
    graph = random_graph()
    whole = rows_of(graph)
    found, wanted = whole.take(torch.tensor(picked, dtype=torch.int64)), steps(graph.adjacency)[picked]
    right = torch.randn(N, 4, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    left = torch.randn(len(picked), 4, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    np.testing.assert_allclose(found.matmul(right), wanted.toarray() @ right.numpy(), atol=1e-7)
    into = torch.ones(N, 4, dtype=torch.float64)
    found.add_transposed_matmul(left, into)
    np.testing.assert_allclose(into, 1 + wanted.toarray().T @ left.numpy(), atol=1e-7)
    assert (found.touched is None) == (2 * len(np.unique(wanted.indices)) >= N)


def test_dropped_rows_are_the_same_rows_with_fewer_entries():
    rows = rows_of(random_graph())
    generator = torch.Generator().manual_seed(0)
    share, rounds = 0.0, 400
    for _ in range(rounds):
        seen = dropped(rows, 0.3, generator)
        left, given_ = dense(seen), dense(rows)
        sums = left.sum(1)
        assert bool(torch.isclose(sums, torch.ones_like(sums)).logical_or(sums == 0).all())
        kept = left > 0
        assert not bool((kept & (given_ == 0)).any())
        for i in range(N):
            wanted = given_[i] * kept[i]
            assert torch.allclose(left[i] * wanted.sum(), wanted)
        share += float((seen.values == 0).double().mean()) / rounds
    assert share == pytest.approx(0.3, abs=0.02)


# -------------------------------------------------------------------- energies


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
    (w2(a, b).square() + torch.exp(-w2(a, b))).sum().backward()
    assert bool(torch.isfinite(a.grad).all())
    if not apart:
        assert not bool(a.grad.any())


def test_the_first_order_does_not_see_the_level_of_the_deviations():
    """W2 compares them: what is added to all is not seen, so that only L_2 says how large they are."""
    generator = torch.Generator().manual_seed(0)
    a, b = (torch.rand(7, 2 * L, dtype=torch.float64, generator=generator) for _ in range(2))
    raised = torch.tensor([0.0] * L + [3.0] * L, dtype=torch.float64)
    assert torch.allclose(w2(a, b), w2(a + raised, b + raised))


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


# -------------------------------------------------------------------- the loss


def naive_code(network: DVNENetwork, row: torch.Tensor) -> torch.Tensor:
    y = torch.relu(row @ network.first.table + network.first.bias)
    out = y @ network.code.weights[0] + network.code.biases[0]
    return torch.cat([out[:L], torch.nn.functional.elu(out[L:]) + 1])


def naive_loss(network: DVNENetwork, batch: Batch, energy: str) -> tuple[torch.Tensor, torch.Tensor]:
    """L_1 over the triplets and alpha M / n L_2 with dense rows, one node and one triplet after another."""
    rows = [row for chunk in batch.chunks for row in dense(chunk.rows)]
    codes = [naive_code(network, row) for row in rows]
    first = torch.zeros((), dtype=torch.float64)
    for i, j, k in batch.triplets.T.tolist():
        near, far = (ENERGIES[energy](codes[i][None], codes[x][None])[0] for x in (j, k))
        first = first + near**2 + network.repulsion * torch.exp(-far)
    second, at = torch.zeros((), dtype=torch.float64), 0
    for chunk in batch.chunks:
        for noise in chunk.noise if chunk.noise is not None else ():
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
def test_triplets_walked_in_pieces_are_those_walked_at_once(energy, monkeypatch):
    generator = torch.Generator().manual_seed(0)
    network, codes = make_network(energy=energy), torch.rand(N, 2 * L, dtype=torch.float64, generator=generator) + 0.1
    triplets = torch.randint(N, (3, 700), generator=generator)
    monkeypatch.setattr("netfold.models.dvne.network.PIECE", {"cpu": 1})  # at least 256: three pieces
    total, pull = network._first_order(codes, triplets)
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
    written = {int(c) for chunk in batch.chunks if chunk.noise is not None for c in chunk.rows.col}
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


def test_an_epoch_estimates_the_whole_objective_without_bias():
    """E over epochs of the sum = M (E over D of L_1 + alpha E over nodes of L_2): L_2 in full, L_1 in expectation."""
    graph = random_graph(1)
    network = make_network()
    whole = Triplets.of(linked(graph.adjacency, directed=False))
    codes = network.encode(rows_of(graph)).detach()
    i, j, k = codes[whole.at(torch.arange(len(whole)))]
    per_triplet = float(losses.triplet_energies(w2(i, j), w2(i, k), network.repulsion)) / len(whole)
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
        nodes = _nodes(batch, graph)
        assert len(set(nodes[nodes > 0])) == (nodes > 0).sum(), "no node is encoded twice"
        written += nodes[: sum(len(c.rows) for c in batch.chunks if c.noise is not None)].tolist()
        triplets += batch.triplets.shape[1]
        assert batch.times == graph.n_edges / N
        for i, j, k in nodes[batch.triplets].T:
            assert graph.adjacency[i, j] and not graph.adjacency[i, k]
    assert triplets == graph.n_edges
    assert sorted(set(written) - {0, N - 1}) == list(range(1, N - 1)) and len(written) == N


def test_without_a_weight_on_the_second_order_nothing_is_written():
    network = make_network(alpha=0.0)
    for batch in whole_batch(random_graph(), network, batch_size=5):
        assert all(chunk.noise is None for chunk in batch.chunks)
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


class Allocations(TorchDispatchMode):
    """Watches every operation for the largest tensor that it makes."""

    numbers = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        out = func(*args, **(kwargs or {}))
        for made in out if isinstance(out, (tuple, list)) else (out,):
            if isinstance(made, torch.Tensor) and not made.is_sparse and made.layout == torch.strided:
                self.numbers = max(self.numbers, made.numel())
        return out


def test_nothing_is_made_as_large_as_there_are_pairs():
    n = 3000
    graph = Graph.from_edges(np.random.default_rng(0).integers(0, n, (3 * n, 2)), nodes=range(n))
    model = DVNE(dim=4, hidden=8)
    network = model._network(n)
    network.start(model._generator(0))
    with Allocations() as largest:
        for batch in model._batches(graph, network)(0):
            network.loss(batch)
    assert largest.numbers <= n * 8 * 4 < n * n / 50


def test_a_hub_of_thousands_of_links_is_no_trouble():
    n = 5000
    links = sparse.csr_array((np.ones(n - 1, np.float32), (np.zeros(n - 1, np.int64), np.arange(1, n))), shape=(n, n))
    graph = Graph.from_scipy(sparse.csr_array(links + links.T))
    model = DVNE(dim=4, hidden=8, epochs=2).fit(graph, progress=False)
    assert np.isfinite(model.embedding_.coordinates).all()


def test_with_reach_the_near_node_is_where_a_walk_of_so_many_steps_leads():
    graph = Graph.from_edges([(0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (5, 6), (6, 7)])
    triplets = Triplets.of(linked(graph.adjacency, directed=False))
    generator = torch.Generator().manual_seed(3)
    numbers = torch.randint(len(triplets), (60_000,), generator=generator)
    i, _, k = before = triplets.at(numbers)
    walked = triplets.walked(before, 3, generator)
    assert torch.equal(walked[0], i) and torch.equal(walked[2], k)
    assert not ((walked[1] == i) | (walked[1] == k)).any()
    # from the end 0 by 1: a walk of one step leads to 1; of two to 0 (not taken: 1) or 2; of three to 1 or 3
    here = i == 0
    far = k[here] > 3  # of those that k does not stop
    got = torch.bincount(walked[1][here][far], minlength=8) / far.sum()
    exact = torch.tensor([0, 1 / 3 + 1 / 6 + (1 / 2 + 1 / 4) / 3, 1 / 6, 1 / 12, 0, 0, 0, 0])
    torch.testing.assert_close(got, exact, atol=0.02, rtol=0)
    assert torch.equal(triplets.walked(before, 1, generator), before)
