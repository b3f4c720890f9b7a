"""The rows that DVNE reads, P = D⁻¹ S; and nodes without links, of which nothing is known: their Gaussians say so."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from netfold.data.embedding import Embedding
from netfold.data.gaussians import widths
from netfold.data.graph import Graph

__all__ = ["steps", "widened"]


def steps(out: sparse.csr_array, into: sparse.csr_array | sparse.csc_array | None = None) -> sparse.csr_array:
    """P = D⁻¹ S of some nodes, from the weights of the links that leave them and of those that enter: m x n.

    A row that no link leaves is that of the links that enter, if `into` is given: a sink would else have nothing
    that separates it from others. A row without either is empty; the others sum to 1.

    >>> steps(sparse.csr_array([[0.0, 3.0, 1.0]])).toarray().tolist()
    [[0.0, 0.75, 0.25]]
    """
    weights = out
    if into is not None:
        sinks = np.diff(out.indptr) == 0
        weights = sparse.csr_array(out + sparse.diags_array(sinks.astype(np.float32)) @ into)
        weights.eliminate_zeros()
        weights.sort_indices()
    sums = weights @ np.ones(weights.shape[1])  # in float64, as in Graph.transition
    data = (weights.data / np.repeat(sums, np.diff(weights.indptr))).astype(np.float32)
    return sparse.csr_array((data, weights.indices, weights.indptr), shape=weights.shape)


_LARGEST = 10
"""Of how many variances the mean is a node's uncertainty, see `Embedding.uncertainty`."""


def widened(embedding: Embedding, graph: Graph) -> Embedding:
    """Nodes without links, which share the Gaussian of an empty row, with the largest uncertainty of any other node.

    An empty row is encoded as one of very many links is, which looks certain. Their widest deviations are scaled, and
    the others left, so that they stay about as far from everybody as they were.
    """
    assert embedding.std is not None
    out, into = np.diff(graph.adjacency.indptr), np.bincount(graph.adjacency.indices, minlength=graph.n_nodes)
    isolated = out + into == 0
    if not isolated.any() or isolated.all():
        return embedding
    width, rows = widths(embedding.std, _LARGEST), np.flatnonzero(isolated)
    factor = width[~isolated].max() / width[rows[0]]
    if factor <= 1:
        return embedding
    std, widest = embedding.std.copy(), np.argsort(-embedding.std[rows[0]])[:_LARGEST]
    std[np.ix_(rows, widest)] *= np.sqrt(factor)
    return Embedding(embedding.nodes, embedding.vectors, std)
