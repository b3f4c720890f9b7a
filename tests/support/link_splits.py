"""Graphs of which some edges are to be held out, and models that score the pairs of a split."""

from __future__ import annotations

import numpy as np

from naive_rankings import Model
from netfold.data.embedding import Embedding
from netfold.data.graph import Graph
from netfold.evaluate import EdgeSplit


def random_graph(n: int, seed: int, *, directed: bool = False, density: float = 0.15) -> Graph:
    rng = np.random.default_rng(seed)
    dense = rng.random((n, n)) < density
    dense = dense if directed else np.triu(dense) | np.triu(dense).T
    dense[-1] = dense[:, -1] = False
    return Graph.from_scipy(dense.astype(float), [f"n{i}" for i in range(n)], directed=directed)


def cliques(count: int, size: int) -> tuple[Graph, Embedding]:
    dense = np.kron(np.eye(count), np.ones((size, size))) - np.eye(count * size)
    graph = Graph.from_scipy(dense)
    return graph, Embedding(graph.nodes, np.kron(np.eye(count), np.ones((size, 1))))


def model_of(split: EdgeSplit, seed: int, levels: int) -> Model:
    """Random scores, different in the two directions; few levels make many ties."""
    n = split.train.n_nodes
    rng = np.random.default_rng(seed)
    scores = rng.integers(0, levels, (n, n)).astype(float)
    return Model(Embedding(split.train.nodes, rng.normal(size=(n, 3))), scores)
