"""Small graphs and DRNE networks with random parameters, in float64, and what a pass over their batches gives."""

from __future__ import annotations

import networkx as nx
import numpy as np
import torch
from scipy import sparse

from netfold.models.drne.batches import Sequences, batches, colors
from netfold.models.drne.network import Cell, DRNENetwork

N, K = 23, 3
CHAPTER, LINEAR = Cell(), Cell(linear=True, normalized=False)


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


def connected_graph(seed: int) -> sparse.csr_array:
    graph = nx.barabasi_albert_graph(40, 2, seed=seed) if seed % 2 else nx.gnm_random_graph(40, 90, seed=seed)
    largest = graph.subgraph(max(nx.connected_components(graph), key=len))
    return sparse.csr_array(nx.to_scipy_sparse_array(largest, dtype=np.float32))


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


def gradients(network: DRNENetwork) -> dict[str, torch.Tensor]:
    return {name: torch.zeros_like(p) if p.grad is None else p.grad.clone() for name, p in network.named_parameters()}


def summed(network: DRNENetwork, given) -> dict[str, torch.Tensor]:
    network.zero_grad()
    sums: dict[str, torch.Tensor] = {}
    for batch in given:
        for name, value in network.loss(batch).items():
            sums[name] = sums.get(name, 0) + value
    return sums
