"""SDNE's loss and every gradient against the chapter's formulas written as plainly as can be, in float64."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy import sparse

from netfold.models.sdne import network as sdne
from netfold.models.sdne.network import SDNENetwork, batches

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
