"""A graph's edges as pairs of positions, and as sorted keys that sets of pairs are compared by."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy import sparse

from netfold.data.graph import Graph

__all__ = ["Pairs", "edge_pairs", "keys_of", "linked", "pair_times", "pairs_of", "with_pairs", "without_pairs"]

Pairs = npt.NDArray[np.int64]
"""m x 2 positions of nodes."""


def edge_pairs(graph: Graph) -> Pairs:
    """The edges between two different nodes, m x 2: an undirected edge once, the lower position first.

    >>> edge_pairs(Graph.from_edges([("b", "a"), ("a", "a"), ("b", "c")], nodes="abc")).tolist()
    [[0, 1], [1, 2]]
    """
    u, v = (x.astype(np.int64) for x in graph.adjacency.tocoo().coords)
    kept = u != v if graph.directed else u < v
    return np.stack([u[kept], v[kept]], axis=1)


def pair_times(graph: Graph) -> npt.NDArray[np.float64] | None:
    """When each of `edge_pairs` was first there; None where the graph does not say."""
    if graph.times is None:
        return None
    u, v = graph.adjacency.tocoo().coords
    return graph.times[u != v if graph.directed else u < v]


def keys_of(pairs: Pairs, n: int, *, directed: bool) -> npt.NDArray[np.int64]:
    """One number u n + v for each pair; an undirected pair has its lower position first."""
    u, v = pairs[:, 0], pairs[:, 1]
    return u * n + v if directed else np.minimum(u, v) * n + np.maximum(u, v)


def pairs_of(keys: npt.NDArray[np.int64], n: int) -> Pairs:
    """The pairs that `keys_of` made these of."""
    return np.stack(np.divmod(keys, max(n, 1)), axis=1)


def linked(graph: Graph) -> sparse.csr_array:
    """1 where two different nodes are linked in either direction: n x n, float64."""
    u, v = edge_pairs(graph).T
    ends = np.concatenate([u, v]), np.concatenate([v, u])
    made = sparse.csr_array((np.ones(len(ends[0])), ends), shape=graph.adjacency.shape)
    made.sum_duplicates()
    made.data[:] = 1  # two nodes with an edge each way
    return made


def with_pairs(graph: Graph, pairs: Pairs, weights: npt.ArrayLike = 1.0) -> Graph:
    """The graph and more edges, of these weights.

    >>> with_pairs(Graph.from_edges([(0, 1), (1, 2)]), np.array([[0, 2]])).n_edges
    3
    """
    u, v, w = *pairs.T, np.broadcast_to(np.asarray(weights, np.float32), len(pairs))
    if not graph.directed:
        u, v, w = np.concatenate([u, v]), np.concatenate([v, u]), np.tile(w, 2)
    more = sparse.csr_array((w, (u, v)), shape=graph.adjacency.shape)
    return Graph(sparse.csr_array(graph.adjacency + more), graph.nodes, directed=graph.directed)


def without_pairs(graph: Graph, pairs: Pairs) -> Graph:
    """The graph without some of its edges; its nodes and its other weights stay."""
    n, entries = graph.n_nodes, graph.adjacency.tocoo()
    u, v = (x.astype(np.int64) for x in entries.coords)
    gone = keys_of(pairs, n, directed=graph.directed)
    kept = ~np.isin(keys_of(np.stack([u, v], axis=1), n, directed=graph.directed), gone)
    left = sparse.coo_array((entries.data[kept], (u[kept], v[kept])), shape=(n, n))
    times = None if graph.times is None else graph.times[kept]
    return Graph(left.tocsr(), graph.nodes, directed=graph.directed, times=times)
