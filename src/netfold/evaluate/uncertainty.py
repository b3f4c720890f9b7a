"""Whether the variance of Gaussian vectors says something about their nodes."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from netfold.errors import InputError
from netfold.evaluate.checks import check_at_least_one
from netfold.evaluate.edges import linked
from netfold.evaluate.result import Result, embedding_of, name_of
from netfold.graph import Graph

__all__ = ["node_variance", "uncertainty"]

Floats = npt.NDArray[np.float64]


def uncertainty(model: Any, graph: Any, *, largest: int = 10, bins: int = 10) -> Result:
    """The variance of nodes against their degree; in the DVNE paper it falls.

    A node's variance is the mean of its `largest` variances. `Spearman` is its rank correlation with the degree (the
    number of nodes linked in either direction) over all nodes with a link. The other figures are its mean in each of
    `bins` bins of equal width in log10 of the degree, named by the degrees in it; an empty bin has none.

    >>> from netfold.embedding import Embedding
    >>> vectors = Embedding("abc", [[0], [1], [2]], [[2], [1], [2]])
    >>> uncertainty(vectors, [("a", "b"), ("b", "c")], bins=2).figures
    {'Spearman': -1.0, 'variance at degree 1': 4.0, 'variance at degree 2': 1.0}
    """
    from scipy.stats import spearmanr

    known = Graph.of(graph)
    check_at_least_one(largest=largest, bins=bins)
    variance, degrees = node_variance(model, known, largest), np.diff(linked(known).indptr)
    rows = np.flatnonzero(degrees)
    _check_spread("degree", degrees[rows])
    _check_spread("variance", variance[rows])
    figures = {"Spearman": float(spearmanr(variance[rows], degrees[rows]).statistic)}
    figures |= _by_degree(variance[rows], degrees[rows], bins)
    protocol: dict[str, Any] = {"variance": f"mean of a node's {largest} largest"}
    protocol |= {
        "bins": f"{bins} of equal width in log10 degree",
        "nodes": len(rows),
        "left out without a link": known.n_nodes - len(rows),
    }
    return Result("uncertainty", name_of(model), figures, protocol, smaller_is_better=("Spearman",))


def node_variance(model: Any, graph: Graph, largest: int = 10) -> Floats:
    """The mean of the `largest` variances (all, where there are fewer) of each node of the graph."""
    return np.asarray(embedding_of(model).uncertainty(graph.nodes, largest=largest))


def _by_degree(variance: Floats, degrees: npt.NDArray[Any], bins: int) -> dict[str, float]:
    """The mean variance of each bin that holds a node."""
    logs = np.log10(degrees)
    edges = np.linspace(logs.min(), logs.max(), bins + 1)
    place = np.searchsorted(edges[1:-1], logs, side="right")
    figures = {}
    for b in np.unique(place):
        mine = degrees[place == b]
        span = f"{mine.min()}" if mine.min() == mine.max() else f"{mine.min()}-{mine.max()}"
        figures[f"variance at degree {span}"] = float(variance[place == b].mean())
    return figures


def _check_spread(what: str, values: npt.NDArray[Any]) -> None:
    if not len(values) or values.min() == values.max():
        raise InputError(f"no two linked nodes differ in {what}; variance can only be set against what differs")
