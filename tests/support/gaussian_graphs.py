"""Graphs of two blocks, the neighbors in them by loops, and Gaussians drawn at random for their nodes."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from netfold.data.embedding import Embedding
from netfold.data.graph import Graph


def gaussians(graph: Graph, seed: int, dim: int = 5) -> Embedding:
    rng = np.random.default_rng(seed)
    return Embedding(graph.nodes, rng.normal(size=(graph.n_nodes, dim)), rng.random((graph.n_nodes, dim)) + 0.1)


def two_blocks(n: int = 100, seed: int = 0) -> tuple[Graph, npt.NDArray[np.int64]]:
    rng = np.random.default_rng(seed)
    group = np.arange(n) % 2
    u, v = np.triu_indices(n, 1)
    some = rng.random(len(u)) < np.where(group[u] == group[v], 0.2, 0.01)
    return Graph.from_edges(np.stack([u[some], v[some]], axis=1), nodes=range(n)), group


def neighbors(graph: Graph) -> list[set[int]]:
    dense = graph.adjacency.toarray()
    n = len(dense)
    return [{j for j in range(n) if j != i and (dense[i, j] or dense[j, i])} for i in range(n)]
