"""Nodes without links: of them nothing is known, and their Gaussians say so."""

from __future__ import annotations

import numpy as np

from netfold.embedding import Embedding
from netfold.gaussians import widths
from netfold.graph import Graph

__all__ = ["widened"]

_LARGEST = 10
"""Of how many variances the mean is a node's uncertainty, see `Embedding.uncertainty`."""


def widened(made: Embedding, graph: Graph) -> Embedding:
    """Nodes without links, which share the Gaussian of an empty row, with the largest uncertainty of any other node.

    An empty row is encoded as one of very many links is, which looks certain. Their widest deviations are scaled, and
    the others left, so that they stay about as far from everybody as they were.
    """
    assert made.std is not None
    out, into = np.diff(graph.adjacency.indptr), np.bincount(graph.adjacency.indices, minlength=graph.n_nodes)
    lonely = out + into == 0
    if not lonely.any() or lonely.all():
        return made
    width, rows = widths(made.std, _LARGEST), np.flatnonzero(lonely)
    factor = width[~lonely].max() / width[rows[0]]
    if factor <= 1:
        return made
    std, widest = made.std.copy(), np.argsort(-made.std[rows[0]])[:_LARGEST]
    std[np.ix_(rows, widest)] *= np.sqrt(factor)
    return Embedding(made.nodes, made.vectors, std)
