"""SDNE's loss and every gradient against the chapter's formulas written as plainly as can be, in float64."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import torch
from scipy import sparse
from torch.utils._python_dispatch import TorchDispatchMode

from netfold.data.graph import Graph
from netfold.evaluate import reconstruction
from netfold.learn import losses
from netfold.learn.optimizers import grad_of
from netfold.models import SDNE
from netfold.models.sdne import batches as sdne
from netfold.models.sdne.batches import batches
from netfold.models.sdne.network import SDNENetwork

N = 23


def random_matrix(*, directed: bool, weighted: bool, seed: int = 0) -> sparse.csr_array:
    """A graph with isolated nodes (0 and N - 1) and self-loops (3, 4)."""
    rng = np.random.default_rng(seed)
    dense = (rng.random((N, N)) < 0.2) * (rng.uniform(0.2, 1.0, (N, N)) if weighted else 1.0)
    if not directed:
        dense = np.triu(dense, 1) + np.triu(dense, 1).T
    np.fill_diagonal(dense, 0)
    dense[3, 3] = dense[4, 4] = 0.5 if weighted else 1.0
    dense[[0, -1]] = 0
    dense[:, [0, -1]] = 0
    return sparse.csr_array(dense)


def make_network(widths: tuple[int, ...], activation: str, output: str, seed: int = 1) -> SDNENetwork:
    network = SDNENetwork(N, widths, activation, output, alpha=0.3, beta=5.0, nu=0.7).double()
    generator = torch.Generator().manual_seed(seed)
    network.start(generator, 4.0)
    with torch.no_grad():
        for name, p in network.named_parameters():
            if "bias" in name:
                p.uniform_(-0.5, 0.5, generator=generator)
    return network


def naive_terms(network: SDNENetwork, s: np.ndarray) -> dict[str, torch.Tensor]:
    """Eqs. (1) to (5), dense, entry by entry where the chapter has an index."""
    x = torch.tensor(s)
    y = network.activation(x @ network.first.table + network.first.bias)
    for w, b in zip(network.encoder.weights, network.encoder.biases, strict=True):
        y = network.activation(y @ w + b)
    hidden = y
    for w, b in zip(network.decoder.weights, network.decoder.biases, strict=True):
        hidden = network.activation(hidden @ w + b)
    found = hidden @ network.last.table.T + network.last.bias
    if network.output == "sigmoid":
        found = 1 / (1 + torch.exp(-found))
    second = first = torch.zeros((), dtype=torch.float64)
    for i in range(N):
        for j in range(N):
            b_ij = network.beta if s[i, j] != 0 else 1.0
            second = second + ((found[i, j] - x[i, j]) * b_ij) ** 2
            first = first + s[i, j] * ((y[i] - y[j]) ** 2).sum()
    weights = [network.first.table, *network.encoder.weights, *network.decoder.weights, network.last.table]
    reg = 0.5 * sum((w**2).sum() for w in weights)
    return {"second_order": second, "first_order": network.alpha * first, "regularization": network.nu * reg}


def gradients(network: SDNENetwork) -> dict[str, torch.Tensor]:
    return {name: p.grad.clone() for name, p in network.named_parameters()}


@pytest.mark.parametrize("output", ["linear", "sigmoid"])
@pytest.mark.parametrize("widths", [(4,), (7, 4), (9, 7, 4)])
@pytest.mark.parametrize(("directed", "weighted"), [(False, False), (False, True), (True, False), (True, True)])
@pytest.mark.parametrize("batch_size", [None, 5])
def test_loss_and_gradients_equal_the_dense_formula(output, widths, directed, weighted, batch_size, monkeypatch):
    monkeypatch.setattr(SDNENetwork, "chunk_rows", lambda self: 4)  # several chunks a batch
    matrix = random_matrix(directed=directed, weighted=weighted)
    network = make_network(widths, "tanh", output)
    expected = naive_terms(network, matrix.toarray())
    sum(expected.values()).backward()
    wanted = gradients(network)
    network.zero_grad()
    sums: dict[str, torch.Tensor] = {}
    for batch in batches(matrix, network, batch_size, torch.float64)(torch.Generator().manual_seed(3)):
        for name, value in network.loss(batch).items():
            sums[name] = sums.get(name, 0) + value
    for name, value in expected.items():
        torch.testing.assert_close(sums[name], value.detach(), rtol=1e-9, atol=1e-12)
    for name, grad in gradients(network).items():
        assert (grad - wanted[name]).norm() <= 1e-9 * wanted[name].norm(), name


@pytest.mark.parametrize("activation", ["sigmoid", "leaky_relu", "linear"])
def test_every_activation_is_differentiated(activation):
    matrix = random_matrix(directed=False, weighted=True)
    network = make_network((6, 4), activation, "linear")
    expected = naive_terms(network, matrix.toarray())
    sum(expected.values()).backward()
    wanted = gradients(network)
    network.zero_grad()
    (batch,) = batches(matrix, network, None, torch.float64)(torch.Generator())
    network.loss(batch)
    for name, grad in gradients(network).items():
        assert (grad - wanted[name]).norm() <= 1e-9 * wanted[name].norm(), name


def test_the_gradient_of_eq_3_has_b_squared_where_the_chapter_prints_b():
    """The chapter's erratum: ∂L_2nd/∂X̂ = 2 (X̂ - X) ⊙ B ⊙ B."""
    matrix = random_matrix(directed=False, weighted=True)
    x, network = torch.tensor(matrix.toarray()), make_network((4,), "tanh", "linear")
    network.alpha = network.nu = 0.0
    (batch,) = batches(matrix, network, None, torch.float64)(torch.Generator())
    network.loss(batch)
    with torch.no_grad():
        y = torch.tanh(x @ network.first.table + network.first.bias)
        error = y @ network.last.table.T + network.last.bias - x
        b = torch.where(x != 0, network.beta, 1.0)
        right, printed = (2 * error * b * b).T @ y, (2 * error * b).T @ y
    torch.testing.assert_close(network.last.table.grad, right, rtol=1e-9, atol=1e-12)
    assert (network.last.table.grad - printed).norm() > 0.1 * right.norm()


def test_loss_without_gradients_gives_the_same_values_and_touches_no_gradient():
    matrix = random_matrix(directed=False, weighted=False)
    network = make_network((7, 4), "tanh", "linear")
    (batch,) = batches(matrix, network, None, torch.float64)(torch.Generator())
    with torch.no_grad():
        without = network.loss(batch)
    assert all(p.grad is None for p in network.parameters())
    for name, value in network.loss(batch).items():
        torch.testing.assert_close(value, without[name], rtol=1e-12, atol=0)


def test_first_order_is_twice_the_trace_with_the_laplacian():
    matrix = random_matrix(directed=False, weighted=True)
    y = torch.randn(N, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    laplacian = torch.tensor(np.diag(matrix.sum(axis=1)) - matrix.toarray())
    found = losses.first_order(y, (laplacian + laplacian.T) @ y)
    torch.testing.assert_close(found, 2 * torch.trace(y.T @ laplacian @ y), rtol=1e-12, atol=0)
    naive = sum(matrix[i, j] * float((y[i] - y[j]).square().sum()) for i in range(N) for j in range(N))
    assert float(found) == pytest.approx(naive, rel=1e-12)


def test_half_squares_of_many_numbers_keep_their_digits():
    """51 million equal numbers in one sum of float32 would come out 0.3% short."""
    table = torch.full((1 << 20, 9), 0.1)
    assert float(losses.half_squares([table])) == pytest.approx(0.5 * 9 * (1 << 20) * float(table[0, 0]) ** 2, rel=1e-4)


def test_half_squares_against_a_loop():
    weights = [torch.randn(3, 2, dtype=torch.float64), torch.randn(2, 5, dtype=torch.float64)]
    naive = sum(0.5 * float(w[i, j]) ** 2 for w in weights for i in range(w.shape[0]) for j in range(w.shape[1]))
    assert float(losses.half_squares(weights)) == pytest.approx(naive, rel=1e-12)


def test_the_column_block_estimate_is_unbiased(monkeypatch):
    """Over all blocks of columns of one size, the estimated loss and gradient average to the exact ones."""
    matrix = random_matrix(directed=False, weighted=True)
    network = make_network((5, 3), "tanh", "sigmoid")
    (exact,) = batches(matrix, network, None, torch.float64)(torch.Generator())
    value = network.loss(exact)["second_order"]
    wanted = gradients(network)
    network.zero_grad()
    shift, size, sums = N, 4, 0.0
    for start in range(shift):  # every column is in exactly `size` of these blocks
        columns = (torch.arange(size) + start) % N
        sums = sums + network.loss(dataclasses.replace(exact, columns=columns))["second_order"] / shift
    torch.testing.assert_close(sums, value, rtol=1e-10, atol=0)
    for name, p in network.named_parameters():
        assert (p.grad / shift - wanted[name]).norm() <= 1e-9 * wanted[name].norm(), name


def test_large_sigmoid_graphs_draw_fresh_columns_each_epoch(monkeypatch):
    monkeypatch.setattr(sdne, "DENSE_LIMIT", 10)
    monkeypatch.setattr(sdne, "COLUMNS", 6)
    network = make_network((4,), "tanh", "sigmoid").float()
    of = batches(random_matrix(directed=False, weighted=True), network, None)
    drawn = [next(iter(of(torch.Generator().manual_seed(s)))).columns for s in (1, 1, 2)]
    assert all(len(set(c.tolist())) == 6 for c in drawn)
    assert torch.equal(drawn[0], drawn[1]) and not torch.equal(drawn[0], drawn[2])


@pytest.mark.parametrize("batch_size", [1, 5, 22, None])
@pytest.mark.parametrize("directed", [False, True])
def test_batches_hold_every_node_once_with_all_its_edges(batch_size, directed):
    matrix = random_matrix(directed=directed, weighted=True)
    network = make_network((4,), "tanh", "linear")
    weight, nodes = 0.0, 0
    for batch in batches(matrix, network, batch_size, torch.float64)(torch.Generator().manual_seed(0)):
        weight += sum(c.times * float(c.links.values.sum()) for c in batch.chunks)
        nodes += sum(len(c.rows) for c in batch.chunks if c.decoded)
        assert all(c.links.width == sum(len(x.rows) for x in batch.chunks) for c in batch.chunks)
    assert nodes == N
    assert weight == pytest.approx(2 * matrix.sum(), rel=1e-9)  # first order over ALL edges, not those inside a batch


def test_no_array_of_n_by_n_numbers_is_made():
    """Training, embedding and evaluation of 3,000 nodes: no tensor has as many numbers as there are pairs."""
    rng = np.random.default_rng(0)
    ends = rng.integers(0, 3000, (9000, 2))
    graph = Graph.from_edges(ends)
    for output in ("linear", "sigmoid"):
        with LargestTensor() as largest:
            model = SDNE(dim=8, hidden=(16,), epochs=2, output=output).fit(graph, progress=False)
            reconstruction(model, graph, score="cosine", baselines=False)
            reconstruction(model, graph, score="decoder", baselines=False)
        assert 0 < largest.numbers < graph.n_nodes**2


class LargestTensor(TorchDispatchMode):
    """Watches every operation for the largest tensor that it makes."""

    numbers = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        out = func(*args, **(kwargs or {}))
        for made in out if isinstance(out, (tuple, list)) else (out,):
            if isinstance(made, torch.Tensor) and made.layout == torch.strided:
                self.numbers = max(self.numbers, made.numel())
        return out


@pytest.mark.parametrize("chunk", [3, 100])
def test_tables_in_16_bits_have_the_sums_and_gradients_of_32(chunk, monkeypatch):
    """Where few columns of a chunk have entries, and where most do."""
    monkeypatch.setattr(SDNENetwork, "chunk_rows", lambda self: chunk)
    matrix = random_matrix(directed=False, weighted=True).astype(np.float32)
    wide, narrow = (make_network((70, 4), "tanh", "linear").float() for _ in range(2))
    narrow.keep_tables(torch.bfloat16)
    wide.load_state_dict(narrow.state_dict())  # the same numbers
    assert narrow.first.table.dtype == torch.bfloat16 and wide.first.table.dtype == torch.float32
    (batch,) = batches(matrix, wide, None)(torch.Generator())
    ours, theirs = narrow.loss(batch), wide.loss(batch)
    for name, value in theirs.items():
        torch.testing.assert_close(ours[name], value, rtol=1e-5, atol=1e-6)
    for mine, other in zip(narrow.parameters(), wide.parameters(), strict=True):
        assert grad_of(mine).dtype == torch.float32
        torch.testing.assert_close(grad_of(mine), other.grad, rtol=1e-4, atol=1e-4)
    narrow.keep_tables(torch.float32)
    assert torch.equal(narrow.first.table, wide.first.table)
