"""Random graphs of weights, names in no order, and random vectors for their nodes."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from netfold.data.embedding import Embedding
from netfold.data.graph import Graph


def random_graph(n: int, seed: int, *, directed: bool = False, density: float = 0.15) -> Graph:
    rng = np.random.default_rng(seed)
    dense = np.where(rng.random((n, n)) < density, rng.random((n, n)).round(2) + 0.1, 0)
    dense = dense if directed else np.triu(dense) + np.triu(dense, 1).T
    return Graph.from_scipy(sparse.csr_array(dense), [f"n{i}" for i in rng.permutation(n)], directed=directed)


def vectors_of(graph: Graph, seed: int, dim: int = 4) -> Embedding:
    return Embedding(graph.nodes, np.random.default_rng(seed).normal(size=(graph.n_nodes, dim)))
