"""Small graphs, their triplets and rows, and DVNE networks with random parameters, in float64."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import torch

from netfold.data.edges import links
from netfold.data.graph import Graph
from netfold.learn.sparse_rows import SparseRows
from netfold.models.dvne.batches import Batch, Triplets, batches, steps
from netfold.models.dvne.network import ENERGIES, DVNENetwork

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
    return Triplets.of(links(graph, directed=False, weights=False, loops="all"))


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


def dense(rows: SparseRows) -> torch.Tensor:
    return rows.matmul(torch.eye(rows.width, dtype=rows.values.dtype))


def nodes_of(batch: Batch, graph: Graph) -> np.ndarray:
    """Which node is at each place of a batch: by its row, where rows differ."""
    rows = dense(batch.seen).numpy()
    every = dense(rows_of(graph)).numpy()
    assert len(np.unique(every, axis=0)) == len(every) - 1, "all rows differ but those of the two isolated nodes"
    found = np.array([np.flatnonzero((every == row).all(axis=1))[0] for row in rows])
    found[np.flatnonzero(found == 0)[1:]] = N - 1
    return found
