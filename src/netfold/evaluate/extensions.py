"""Vectors for new nodes from those of known ones, the two cheap ways."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import cg

from netfold.embedding import Embedding
from netfold.evaluate.node_splits import NodeSplit
from netfold.evaluate.result import embedding_of

__all__ = ["label_propagation", "local_average", "reached"]

Floats = npt.NDArray[np.float64]
_PRECISION = 1e-8
"""The residual, relative to the right side, at which label propagation has converged."""


def local_average(split: NodeSplit, embedding: Any) -> Embedding:
    """LocalAvg: x_v = Σ_u w_uv x_u / Σ_u w_uv over the known neighbors u of each new node v.

    Edges count in either direction. A node without known neighbors gets the mean of all known vectors.
    """
    known, (to_known, _) = _known_vectors(split, embedding), _weights(split)
    total = np.asarray(to_known.sum(axis=1))
    found = (to_known @ known) / np.where(total > 0, total, 1)[:, None]
    return _new_vectors(split, np.where(total[:, None] > 0, found, known.mean(axis=0)))


def label_propagation(split: NodeSplit, embedding: Any) -> Embedding:
    """LabelProp: where propagation with known vectors held fast ends, each new node at the mean of all its neighbors.

    That is (D_nn - W_nn) X_n = W_nk X_k, D the sums of rows of W over new (n) and known (k) nodes, solved by conjugate
    gradients. Edges count in either direction. A node without a path to known ones gets the mean of all known vectors.
    """
    known, (to_known, among) = _known_vectors(split, embedding), _weights(split)
    some = np.flatnonzero(reached(split))
    made = np.tile(known.mean(axis=0), (len(split.new), 1))
    inner, outer = sparse.csr_array(among[some][:, some]), sparse.csr_array(to_known[some])
    degrees = np.asarray(inner.sum(axis=1)) + np.asarray(outer.sum(axis=1))
    scale = 1 / np.sqrt(degrees)  # D^-½ (D - W) D^-½ has a diagonal of ones, whatever the weights
    system = sparse.eye_array(len(some)) - sparse.diags_array(scale) @ inner @ sparse.diags_array(scale)
    right = scale[:, None] * (outer @ known)
    for j in range(known.shape[1]):
        made[some, j] = scale * cg(sparse.csr_array(system), right[:, j], rtol=_PRECISION)[0]
    return _new_vectors(split, made)


def reached(split: NodeSplit, *, by: str = "path") -> npt.NDArray[np.bool_]:
    """Which new nodes a path leads to from a known one, or (`by="neighbor"`) an edge; in the order of `split.new`."""
    to_known, among = _weights(split)
    beside = np.diff(to_known.indptr) > 0
    if by == "neighbor":
        return beside
    count, component = connected_components(among, directed=False)
    return np.bincount(component, beside, minlength=count)[component] > 0


def _weights(split: NodeSplit) -> tuple[sparse.csr_array, sparse.csr_array]:
    """Weights between new and known nodes (in the order of `split.known`), and among new ones, in either direction."""
    matrix = split.whole.adjacency.astype(np.float64)
    both = sparse.csr_array(matrix + matrix.T if split.whole.directed else matrix)
    rows = both[split.new]
    among = sparse.csr_array(rows[:, split.new])
    among.setdiag(0)
    among.eliminate_zeros()
    return sparse.csr_array(rows[:, split.whole.positions(split.known.nodes)]), among


def _known_vectors(split: NodeSplit, embedding: Any) -> Floats:
    found = embedding_of(embedding)
    return found.vectors[found.nodes.positions(split.known.nodes)].astype(np.float64)


def _new_vectors(split: NodeSplit, vectors: Floats) -> Embedding:
    return Embedding(split.whole.nodes.take(split.new), vectors.astype(np.float32))
