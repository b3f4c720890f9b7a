"""DRNE's cell, loss and every gradient against the chapter's formulas written as plainly as can be, in float64."""

from __future__ import annotations

import math

import networkx as nx
import numpy as np
import pytest
import torch
from scipy import sparse
from torch.utils._python_dispatch import TorchDispatchMode

from netfold.graph import Graph
from netfold.models.drne import DRNE
from netfold.models.drne.batches import Packed, batches, packed_pieces
from netfold.models.drne.network import EPS, Cell, DRNENetwork
from netfold.models.drne.sequences import Sequences, colors
from netfold.training import Block, train

N, K = 23, 3
CHAPTER, LINEAR = Cell(), Cell(linear=True, normalized=False)
cells = pytest.mark.parametrize(
    "cell", [CHAPTER, LINEAR, Cell(normalized=False), Cell(linear=True)], ids=lambda c: repr(c)
)


def random_matrix(seed: int = 0) -> sparse.csr_array:
    """A graph with isolated nodes (0 and N - 1), a self-loop (3), a hub (5) and many ties of degree."""
    rng = np.random.default_rng(seed)
    dense = np.triu(rng.random((N, N)) < 0.15, 1)
    dense[5, 6:] = True
    dense = dense | dense.T
    dense[3, 3] = True
    dense[[0, -1]] = False
    dense[:, [0, -1]] = False
    return sparse.csr_array(dense.astype(np.float32))


def make_network(matrix: sparse.csr_array, k: int = K, cell: Cell = CHAPTER, seed: int = 1) -> DRNENetwork:
    """All parameters random, none at a value that would hide an error."""
    network = DRNENetwork(matrix.shape[0], k, lambda_=0.7, cell=cell).double()
    network.colors.copy_(torch.from_numpy(colors(matrix)))
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for p in network.parameters():
            p.uniform_(-0.6, 0.6, generator=generator)
        network.degree_bias.fill_(0.5)  # on, for some nodes, and off for others
    return network


def sequences_of(matrix: sparse.csr_array) -> Sequences:
    return Sequences.of(matrix, colors(matrix))


def neighbors(sequences: Sequences, v: int) -> list[int]:
    return sequences.nodes[sequences.starts[v] : sequences.starts[v + 1]].tolist()


def all_batches(matrix, network, *, batch_size=None, piece=10**6, most=10**6, seed=0):
    of = batches(
        sequences_of(matrix), network.colors, most=most, batch_size=batch_size, piece=piece, dtype=torch.float64
    )
    return list(of(torch.Generator().manual_seed(seed)))


def naive_cell(network: DRNENetwork, x, h, c):
    """One step of the chapter's equations, number by number."""
    k, cell = network.dim, network.cell
    sigmoid = (lambda z: z) if cell.linear else (lambda z: 1 / (1 + torch.exp(-z)))
    tanh = (lambda z: z) if cell.linear else torch.tanh

    def gate(which: int, j: int):
        column = which * k + j
        total = network.bias[column]
        for m in range(k):
            total = total + x[m] * network.input[m, column] + h[m] * network.recurrent[m, column]
        return total

    f, i, o = ([sigmoid(gate(which, j)) for j in range(k)] for which in range(3))
    c = [f[j] * c[j] + i[j] * tanh(gate(3, j)) for j in range(k)]
    shown = c
    if cell.normalized:
        mean = sum(c) / k
        deviation = torch.sqrt(sum((z - mean) ** 2 for z in c) / k + EPS)
        shown = [network.gain[j] / deviation * (c[j] - mean) for j in range(k)]
    return [o[j] * tanh(shown[j]) for j in range(k)], c


def naive_aggregate(network: DRNENetwork, sequence: list[int]) -> torch.Tensor:
    zero = torch.zeros((), dtype=torch.float64)
    h, c = [zero] * network.dim, [zero] * network.dim
    for u in sequence:
        alike = [w for w in sequence if network.colors[w] == network.colors[u]]
        h, c = naive_cell(network, sum(network.table[w] for w in alike) / len(alike), h, c)
    return torch.stack(h)


def naive_terms(network: DRNENetwork, sequences: Sequences, degrees) -> dict[str, torch.Tensor]:
    recursive = regular = torch.zeros((), dtype=torch.float64)
    for v in range(len(sequences)):
        made = naive_aggregate(network, neighbors(sequences, v))
        recursive = recursive + ((network.table[v] - made) ** 2).sum()
        said = torch.relu(sum(made[j] * network.degree_weight[j, 0] for j in range(network.dim)) + network.degree_bias)
        regular = regular + ((math.log(degrees[v] + 1) - said) ** 2).sum()
    return {"recursive": recursive, "regularization": network.lambda_ * regular}


def gradients(network: DRNENetwork) -> dict[str, torch.Tensor]:
    return {name: torch.zeros_like(p) if p.grad is None else p.grad.clone() for name, p in network.named_parameters()}


def summed(network: DRNENetwork, given) -> dict[str, torch.Tensor]:
    network.zero_grad()
    sums: dict[str, torch.Tensor] = {}
    for batch in given:
        for name, value in network.loss(batch).items():
            sums[name] = sums.get(name, 0) + value
    return sums


# -------------------------------------------------------------------- the cell, the loss, the gradients


@cells
@pytest.mark.parametrize("k", [1, 2, 5])
def test_what_is_aggregated_equals_a_scalar_loop(cell, k):
    matrix = random_matrix()
    network = make_network(matrix, k=k, cell=cell)
    sequences = sequences_of(matrix)
    made = network.aggregate(sequences, network.table.detach())
    for v in range(N):
        torch.testing.assert_close(
            made[v], naive_aggregate(network, neighbors(sequences, v)).detach(), rtol=1e-11, atol=1e-13
        )


@cells
@pytest.mark.parametrize(("batch_size", "piece"), [(None, 10**6), (None, 12), (5, 10**6), (5, 7), (1, 1)])
def test_loss_and_gradients_equal_the_scalar_loop_however_it_is_cut(cell, batch_size, piece):
    matrix = random_matrix()
    network = make_network(matrix, cell=cell)
    expected = naive_terms(network, sequences_of(matrix), np.diff(matrix.indptr))
    sum(expected.values()).backward()
    wanted = gradients(network)
    assert all(g.norm() > 0 for name, g in wanted.items() if cell.normalized or name != "gain")
    sums = summed(network, all_batches(matrix, network, batch_size=batch_size, piece=piece))
    for name, value in expected.items():
        torch.testing.assert_close(sums[name], value.detach(), rtol=1e-11, atol=1e-13)
    for name, grad in gradients(network).items():
        assert (grad - wanted[name]).norm() <= 1e-10 * max(1.0, float(wanted[name].norm())), name


def test_gradients_equal_finite_differences():
    matrix = random_matrix()
    network = make_network(matrix)
    given = all_batches(matrix, network)
    summed(network, given)
    found, step = gradients(network), 1e-6
    rng = np.random.default_rng(0)
    with torch.no_grad():
        for name, p in network.named_parameters():
            for i in rng.choice(p.numel(), min(p.numel(), 6), replace=False):
                ends = []
                for move in (step, -2 * step, step):
                    p.view(-1)[i] += move
                    ends.append(float(sum(summed_values(network, given))))
                slope = (ends[0] - ends[1]) / (2 * step)
                assert float(found[name].view(-1)[i]) == pytest.approx(slope, rel=1e-5, abs=1e-6), name


def summed_values(network, given):
    return [value for batch in given for value in network.loss(batch).values()]


def test_loss_without_gradients_gives_the_same_values_and_touches_no_gradient():
    matrix = random_matrix()
    network = make_network(matrix)
    given = all_batches(matrix, network)
    with torch.no_grad():
        without = network.loss(given[0])
    assert all(p.grad is None for p in network.parameters())
    for name, value in network.loss(given[0]).items():
        torch.testing.assert_close(value, without[name], rtol=1e-13, atol=0)


@pytest.mark.parametrize("fixed", ["table", "theta"])
def test_what_is_held_fixed_gets_no_gradient_and_the_rest_the_same(fixed):
    matrix = random_matrix()
    network = make_network(matrix)
    given = all_batches(matrix, network, piece=12)
    summed(network, given)
    wanted = gradients(network)
    network.zero_grad(set_to_none=True)
    held = [network.table] if fixed == "table" else network.theta
    for p in held:
        p.requires_grad_(False)
    summed(network, given)
    for name, p in network.named_parameters():
        if not p.requires_grad:
            assert p.grad is None
        else:
            torch.testing.assert_close(p.grad, wanted[name], rtol=1e-12, atol=1e-14)


def test_a_batch_of_nodes_without_neighbors():
    matrix = sparse.csr_array((N, N), dtype=np.float32)
    network = make_network(matrix)
    given = all_batches(matrix, network)
    expected = network.table.detach().square().sum()
    torch.testing.assert_close(summed(network, given)["recursive"], expected)
    torch.testing.assert_close(network.table.grad, 2 * network.table.detach())


# -------------------------------------------------------------------- alternation


def test_each_step_moves_x_and_then_theta_at_the_new_x():
    """By hand with plain gradient descent: X <- X - lr dL/dX(X, theta), theta <- theta - lr dL/dtheta(new X, theta)."""
    matrix = random_matrix()
    network, by_hand = make_network(matrix), make_network(matrix)
    degrees, sequences, lr = np.diff(matrix.indptr), sequences_of(matrix), 0.003
    for parameters in ([by_hand.table], by_hand.theta):
        found = torch.autograd.grad(sum(naive_terms(by_hand, sequences, degrees).values()), parameters)
        with torch.no_grad():
            for p, g in zip(parameters, found, strict=True):
                p -= lr * g
    blocks = [Block([network.table], "sgd", lr), Block(network.theta, "sgd", lr)]
    train(network, lambda epoch: all_batches(matrix, network), blocks, epochs=1)
    for (name, p), q in zip(network.named_parameters(), by_hand.parameters(), strict=True):
        torch.testing.assert_close(p, q, rtol=1e-10, atol=1e-13, msg=name)


def test_the_blocks_are_x_and_all_the_rest():
    model = DRNE(lr=0.01)
    network = model._network(5)
    first, second = model._blocks(network)
    assert [id(p) for p in first.parameters] == [id(network.table)]
    assert {id(p) for p in second.parameters} == {id(p) for p in network.parameters()} - {id(network.table)}
    assert {(b.optimizer, b.lr) for b in (first, second)} == {("adam", 0.01)}


# -------------------------------------------------------------------- the theorems


def connected_graph(seed: int) -> sparse.csr_array:
    graph = nx.barabasi_albert_graph(40, 2, seed=seed) if seed % 2 else nx.gnm_random_graph(40, 90, seed=seed)
    largest = graph.subgraph(max(nx.connected_components(graph), key=len))
    return sparse.csr_array(nx.to_scipy_sparse_array(largest, dtype=np.float32))


def of_the_proof(k: int) -> DRNENetwork:
    """The second row as the proof sets it: h_2 = Σ_u F(u) C(u). All gates of the others: f = 0, i = o = 1."""
    network = DRNENetwork(1, k, lambda_=0.0, cell=LINEAR).double()
    f, i, o, candidate = range(0, 4 * k, k)
    with torch.no_grad():
        network.bias[i : i + k] = network.bias[o : o + k] = 1
        network.bias[f + 1], network.bias[i + 1] = 1, 0
        network.input[0, i + 1] = network.input[1, candidate + 1] = 1
    return network


def counting(network: DRNENetwork, most: int) -> None:
    """Lemma 1 made explicit: a unary counter, s_t = (1, .., 1, 0, ..) with t ones, from which 1 / t is linear."""
    k = network.dim
    candidate = 3 * k
    with torch.no_grad():
        network.bias[candidate] = network.bias[candidate + 2] = 1  # 1 / 1, and the first 1 of the counter
        for j in range(1, most):  # if j are counted before, this neighbor makes it j + 1
            network.recurrent[1 + j, candidate] = 1 / (j + 1) - 1 / j
            network.recurrent[1 + j, candidate + 2 + j] = 1


def on_graph(network: DRNENetwork, matrix: sparse.csr_array, x: np.ndarray) -> None:
    network.table = torch.nn.Parameter(torch.tensor(x))
    network.colors = torch.from_numpy(colors(matrix))


def residual(network: DRNENetwork, matrix: sparse.csr_array, x: np.ndarray) -> float:
    on_graph(network, matrix, x)
    made = network.aggregate(sequences_of(matrix), network.table.detach()).numpy()
    loss = summed(network, all_batches(matrix, network, piece=31))["recursive"]
    assert float(loss) == pytest.approx(float(np.square(made - x).sum()), abs=1e-18)
    assert float(network.table.grad.norm()) < 1e-7  # optimal: nothing moves it
    return float(np.abs(made - x).max())


@pytest.mark.parametrize("seed", range(6))
def test_eigenvector_centrality_is_a_fixed_point(seed):
    """F = 1 / λ everywhere, whose mean over the neighbors is the last one's: that is what f = 0 keeps."""
    matrix = connected_graph(seed)
    values, vectors = np.linalg.eigh(matrix.toarray().astype(np.float64))
    network = of_the_proof(2)
    with torch.no_grad():
        network.input[0, 3 * 2] = 1
    x = np.column_stack([np.full(matrix.shape[0], 1 / values[-1]), np.abs(vectors[:, -1])])
    assert residual(network, matrix, x) < 1e-9


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("centrality", ["degree", "pagerank"])
def test_degree_and_pagerank_are_fixed_points(seed, centrality):
    """X_v = [1 / d_v, C(v), the counter at d_v], and h_T of the neighbors' is that again."""
    matrix = connected_graph(seed)
    degrees = np.diff(matrix.indptr)
    most = int(degrees.max())
    c = degrees.astype(np.float64)
    if centrality == "pagerank":  # the stationary walk, by its own definition
        walk = matrix.toarray().astype(np.float64) / degrees
        values, vectors = np.linalg.eig(walk)
        c = np.abs(vectors[:, np.argmax(values.real)].real)
    network = of_the_proof(2 + most)
    counting(network, most)
    counter = (np.arange(1, most + 1) <= degrees[:, None]).astype(np.float64)
    assert residual(network, matrix, np.column_stack([1 / degrees, c, counter])) < 1e-9


def test_another_vector_is_no_fixed_point():
    matrix = connected_graph(1)
    network = of_the_proof(2)
    x = np.column_stack([np.full(matrix.shape[0], 0.2), np.random.default_rng(0).random(matrix.shape[0])])
    on_graph(network, matrix, x)
    vectors = network.table.detach()
    assert float((network.aggregate(sequences_of(matrix), vectors) - vectors).abs().max()) > 0.1


# -------------------------------------------------------------------- order, automorphisms


def test_neighbors_come_by_degree_the_highest_last():
    matrix = random_matrix()
    sequences, degrees = sequences_of(matrix), np.diff(matrix.indptr)
    for v in range(N):
        mine = neighbors(sequences, v)
        assert sorted(mine) == matrix.indices[matrix.indptr[v] : matrix.indptr[v + 1]].tolist()
        assert [degrees[u] for u in mine] == sorted(degrees[u] for u in mine)


def test_numbering_the_nodes_otherwise_changes_nothing_else():
    matrix = random_matrix()
    moved = np.random.default_rng(3).permutation(N)
    other = sparse.csr_array(matrix.toarray()[np.ix_(moved, moved)])
    network, again = make_network(matrix), make_network(other)
    again.table = torch.nn.Parameter(network.table.detach()[moved])
    losses = [summed(x, all_batches(m, x)) for x, m in ((network, matrix), (again, other))]
    for name, value in losses[0].items():
        torch.testing.assert_close(value, losses[1][name], rtol=1e-12, atol=0)
    torch.testing.assert_close(again.table.grad, network.table.grad[moved], rtol=1e-11, atol=1e-13)


def test_colors_are_those_of_color_refinement():
    graph = nx.convert_node_labels_to_integers(
        nx.disjoint_union(nx.barbell_graph(4, 5), nx.gnm_random_graph(40, 60, 1))
    )
    matrix = sparse.csr_array(nx.to_scipy_sparse_array(graph, dtype=np.float32))
    naive = dict.fromkeys(graph, 0)
    for _ in range(len(graph)):
        naive = {v: (naive[v], tuple(sorted(naive[u] for u in graph[v]))) for v in graph}
        names = {x: i for i, x in enumerate(sorted(set(naive.values())))}
        naive = {v: names[x] for v, x in naive.items()}
    found = colors(matrix)
    pairs = set(zip(found.tolist(), naive.values(), strict=True))
    assert len(pairs) == len(set(found.tolist())) == len(set(naive.values())) > 10
    by_color = np.diff(matrix.indptr)[np.argsort(found, kind="stable")]
    assert (np.diff(by_color) >= 0).all()


def orbits(graph: nx.Graph) -> np.ndarray:
    """Which nodes some automorphism exchanges."""
    found = nx.utils.UnionFind(graph.nodes)
    matcher = nx.isomorphism.GraphMatcher(graph, graph)
    for mapping in matcher.isomorphisms_iter():
        for a, b in mapping.items():
            found.union(a, b)
    names = {}
    return np.array([names.setdefault(found[v], len(names)) for v in range(len(graph))])


def twins() -> nx.Graph:
    """Two copies of a lopsided graph, the second renumbered, joined by a node in the middle of both."""
    graph = nx.Graph([(0, 1), (1, 2), (2, 3), (3, 0), (1, 4), (4, 5), (3, 6), (6, 7), (7, 8)])
    turned = [4, 7, 1, 8, 0, 3, 6, 2, 5]
    graph.add_edges_from([(9 + turned[a], 9 + turned[b]) for a, b in list(graph.edges)])
    graph.add_edges_from([(18, 0), (18, 9 + turned[0])])
    return graph


@pytest.mark.parametrize("graph", [nx.barbell_graph(3, 3), twins(), nx.star_graph(4)], ids=["barbell", "twins", "star"])
def test_automorphic_nodes_that_start_equal_stay_equal(graph):
    kind = orbits(graph)
    assert len(set(kind)) < len(graph)
    matrix = sparse.csr_array(nx.to_scipy_sparse_array(graph, nodelist=range(len(graph)), dtype=np.float32))
    network = make_network(matrix, k=4)
    per_orbit = torch.rand(len(set(kind)), 4, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    with torch.no_grad():
        network.table.copy_(per_orbit[kind])
    blocks = [Block([network.table], "adam", 0.01), Block(network.theta, "adam", 0.01)]
    train(network, lambda epoch: all_batches(matrix, network, piece=5), blocks, epochs=60)
    for orbit in set(kind):
        rows = network.table.detach()[kind == orbit]
        torch.testing.assert_close(rows, rows[:1].expand_as(rows), rtol=0, atol=1e-10)
    assert len({tuple(row) for row in network.table.detach().round(decimals=4).tolist()}) == len(set(kind))


# -------------------------------------------------------------------- packing and drawing


def test_packed_steps_hold_every_neighbor_once_in_its_order():
    matrix = random_matrix()
    sequences = sequences_of(matrix)
    for piece in (1, 7, 10**6):
        seen = 0
        for rows, packed in packed_pieces(sequences, piece):
            lists = [[] for _ in rows]
            assert packed.alive == sorted(packed.alive, reverse=True)
            for now, before in packed.steps:
                assert now.stop - now.start == before.stop - before.start
                for r, u in enumerate(packed.entries[now].tolist()):
                    lists[r].append(u)
            assert lists == [neighbors(sequences, int(v)) for v in rows]
            longest = max(map(len, lists))
            assert sum(packed.alive) <= piece + longest  # bounded, but for one sequence
            seen += len(rows)
        assert seen == N


def test_packing_nothing():
    empty = Packed.of(Sequences(torch.zeros(4, dtype=torch.int64), torch.zeros(0, dtype=torch.int64)))
    assert empty.alive == [] and empty.steps == [] and len(empty.entries) == len(empty.last) == len(empty.before) == 0


def drawn(sequences: Sequences, degrees: torch.Tensor, most: int, seed: int) -> Sequences:
    generator = torch.Generator().manual_seed(seed)
    return sequences.sampled(
        most,
        lambda nodes: torch.empty(len(nodes), dtype=torch.float64).exponential_(generator=generator) / degrees[nodes],
    )


def test_only_long_sequences_are_drawn_from_and_stay_in_order():
    sequences = sequences_of(random_matrix())
    asked = []
    made = sequences.sampled(
        4, lambda nodes: asked.append(nodes) or torch.arange(len(nodes), dtype=torch.float64).flip(0)
    )
    for v in range(N):
        mine, all_of_them = neighbors(made, v), neighbors(sequences, v)
        assert mine == all_of_them[-4:]  # the smallest keys are the last ones
    assert sum(map(len, asked)) == sum(
        len(neighbors(sequences, v)) for v in range(N) if len(neighbors(sequences, v)) > 4
    )
    assert sequences.sampled(10**6, lambda nodes: 1 / 0) is sequences


def test_neighbors_are_drawn_without_repetition_in_proportion_to_degree():
    """All ordered draws of 2 from 4: P({a, b}) = p_a p_b / (1 - p_a) + p_b p_a / (1 - p_b). Chi-square at 0.1%."""
    degrees, runs = torch.tensor([1.0, 2.0, 3.0, 6.0]), 20_000
    starts = torch.arange(runs + 1) * 4
    made = drawn(Sequences(starts, torch.arange(4).repeat(runs)), degrees, 2, seed=0).nodes.view(runs, 2)
    assert bool((made[:, 0] < made[:, 1]).all())
    p = (degrees / degrees.sum()).tolist()
    pairs = [(a, b) for a in range(4) for b in range(a + 1, 4)]
    expected = np.array([p[a] * p[b] / (1 - p[a]) + p[b] * p[a] / (1 - p[b]) for a, b in pairs])
    assert expected.sum() == pytest.approx(1)
    counts = np.array([int(((made[:, 0] == a) & (made[:, 1] == b)).sum()) for a, b in pairs])
    chi_square = float((np.square(counts - runs * expected) / (runs * expected)).sum())
    assert chi_square < 20.5  # 5 degrees of freedom
    uniform = np.full(6, runs / 6)
    assert float((np.square(counts - uniform) / uniform).sum()) > 1000


def test_each_epoch_draws_anew_and_the_same_for_the_same_generator():
    matrix = random_matrix()
    network = make_network(matrix)
    one, same, other = (
        torch.cat([p.packed.entries for b in all_batches(matrix, network, most=3, seed=s) for p in b.pieces])
        for s in (1, 1, 2)
    )
    assert torch.equal(one, same) and not torch.equal(one, other)


def test_the_degree_that_is_asked_for_is_that_of_the_graph_not_of_the_draw():
    matrix = random_matrix()
    network = make_network(matrix)
    found = {}
    for batch in all_batches(matrix, network, most=2, batch_size=6):
        for piece in batch.pieces:
            found |= dict(zip(batch.nodes[piece.rows].tolist(), piece.log_degrees.tolist(), strict=True))
            assert max(piece.packed.alive, default=0) and len(piece.packed.alive) <= 2
    assert sorted(found) == list(range(N))
    np.testing.assert_allclose([found[v] for v in range(N)], np.log(np.diff(matrix.indptr) + 1.0))


# -------------------------------------------------------------------- size


class Allocations(TorchDispatchMode):
    """Watches every operation for the largest tensor that it makes."""

    numbers = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        out = func(*args, **(kwargs or {}))
        for made in out if isinstance(out, (tuple, list)) else (out,):
            if isinstance(made, torch.Tensor):
                self.numbers = max(self.numbers, made.numel())
        return out


def test_memory_is_bounded_by_pieces_and_nodes_read():
    """2,000 nodes, 40,000 neighbors: nothing has as many numbers as all neighbors' gates, nor as there are pairs."""
    graph = Graph.from_edges(np.random.default_rng(0).integers(0, 2000, (20_000, 2)))
    model = DRNE(dim=8, epochs=1, batch_size=200)
    network = model._network(graph.n_nodes)
    model._start(network, graph, None)
    sequences = model._sequences(network, graph)
    piece = 1000
    with Allocations() as largest:
        for batch in batches(sequences, network.colors, most=300, batch_size=200, piece=piece)(
            torch.Generator().manual_seed(0)
        ):
            network.loss(batch)
    bound = max(2 * piece, graph.n_nodes) * 4 * 8  # a piece's gates, or what all nodes add to the gates
    assert 0 < largest.numbers <= max(bound, len(sequences.nodes))
    assert bound < len(sequences.nodes) * 4 * 8 / 10 * 2 < graph.n_nodes**2


# -------------------------------------------------------------------- the trivial solution


def started(matrix: sparse.csr_array, lambda_: float, cell: Cell) -> DRNENetwork:
    network = DRNENetwork(matrix.shape[0], 4, lambda_=lambda_, cell=cell).double()
    network.colors.copy_(torch.from_numpy(colors(matrix)))
    network.start(torch.Generator().manual_seed(0), torch.from_numpy(np.diff(matrix.indptr)), "random")
    with torch.no_grad():
        network.table.mul_(0.2)  # a shorter way
    return network


@pytest.mark.parametrize("cell", [CHAPTER, Cell(normalized=False)], ids=["chapter", "plain"])
def test_all_vectors_zero_solve_the_recursion_and_only_the_regulariser_leaves_that(cell):
    """With b_C = 0, as at the start: X = 0 makes C = 0, and that h = 0."""
    matrix = connected_graph(1)
    for lambda_ in (0.0, 1.0):
        network = started(matrix, lambda_, cell)
        with torch.no_grad():
            network.table.zero_()
        assert float(summed(network, all_batches(matrix, network))["recursive"]) == 0
        moving = {name for name, grad in gradients(network).items() if grad.norm() > 1e-6}
        assert moving >= {"table", "bias"} if lambda_ else not moving


def test_without_the_regulariser_the_trivial_solution_is_reached_and_with_it_not():
    """By the cell without normalisation. C' has one size however small C is: with it, 0 does not draw what is near."""
    matrix = connected_graph(1)
    spreads = []
    for lambda_, normalized in ((0.0, False), (1.0, False), (0.0, True)):
        network = started(matrix, lambda_, Cell(normalized=normalized))
        blocks = [Block([network.table], "adam", 0.003), Block(network.theta, "adam", 0.003)]
        given = all_batches(matrix, network)
        train(network, lambda epoch, given=given: given, blocks, epochs=400, schedule="cosine")
        x = network.table.detach()
        spreads.append(float((x - x.mean(0)).norm(dim=1).mean()))
    assert spreads[0] < 0.01
    assert min(spreads[1:]) > 0.1
