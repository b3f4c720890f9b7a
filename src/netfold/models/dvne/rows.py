"""The rows that DVNE reads and writes: where a step of a random walk leads."""

from __future__ import annotations

import numpy as np
from scipy import sparse

__all__ = ["steps"]


def steps(out: sparse.csr_array, into: sparse.csr_array | sparse.csc_array | None = None) -> sparse.csr_array:
    """P = D⁻¹ S of some nodes, from the weights of the links that leave them and of those that enter: m x n.

    A row that no link leaves is that of the links that enter, if `into` is given: a sink would else have nothing to
    be told apart by. A row without either is empty; the others sum to 1.

    >>> steps(sparse.csr_array([[0.0, 3.0, 1.0]])).toarray().tolist()
    [[0.0, 0.75, 0.25]]
    """
    made = out
    if into is not None:
        sinks = np.diff(out.indptr) == 0
        made = sparse.csr_array(out + sparse.diags_array(sinks.astype(np.float32)) @ into)
        made.eliminate_zeros()
        made.sort_indices()
    sums = made @ np.ones(made.shape[1])  # in float64, as in Graph.transition
    data = (made.data / np.repeat(sums, np.diff(made.indptr))).astype(np.float32)
    return sparse.csr_array((data, made.indices, made.indptr), shape=made.shape)
