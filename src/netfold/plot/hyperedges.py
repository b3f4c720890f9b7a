"""Hyperedges in a picture: the type of each node for its colour, and a faint point in the middle of each tuple."""

from __future__ import annotations

from typing import Any

import numpy as np

from netfold.embedding import Embedding
from netfold.errors import InputError
from netfold.hypergraph import Hypergraph
from netfold.plot.extra import imported
from netfold.plot.projection import Floats

__all__ = ["by_type", "centroids", "draw_hyperedges"]

_MOST, _SPOKES = 20_000, 400
"""So many hyperedges are drawn, and so many with lines to their nodes."""
_GREY = "#8A8A8A"


def by_type(given: Any) -> dict[Any, str]:
    """The type of each node of a hypergraph, or of a model of one, for the `colors` of a map.

    >>> by_type(Hypergraph.from_tuples([("ann", "Alien")], {"ann": "user", "Alien": "film"}))
    {'ann': 'user', 'Alien': 'film'}
    """
    if isinstance(given, Hypergraph):
        return dict(zip(given.nodes, given.node_types, strict=True))
    if getattr(given, "reads", None) != "hypergraph" or not hasattr(given, "embedding_"):
        raise InputError(f"the nodes of a {type(given).__name__} have no types; give a Hypergraph, or a model of one")
    types, codes = given.graph_facts_["types"], given.network_.type_codes.tolist()
    return {label: types[code] for label, code in zip(given.embedding_.nodes, codes, strict=True)}


def centroids(points: Floats, embedding: Embedding, hypergraph: Hypergraph) -> list[tuple[Floats, Floats]]:
    """For each kind, the points of the nodes of each hyperedge (m x N x 2) and their mean (m x 2).

    Hyperedges with a node that is not drawn are left out. Under PCA, which is linear, the mean of the points is the
    point of the mean.
    """
    at, found = embedding.nodes.find(hypergraph.nodes), []
    for kind in hypergraph.kinds:
        rows = at[kind.rows]
        corners = points[rows[(rows >= 0).all(axis=1)]]
        found.append((corners, corners.mean(axis=1)))
    return found


def draw_hyperedges(axes: Any, points: Floats, embedding: Embedding, hypergraph: Hypergraph) -> None:
    """A faint dot at the centroid of each hyperedge and, where they are few, thin lines from there to its nodes."""
    found = centroids(points, embedding, hypergraph)
    total = sum(len(middle) for _, middle in found)
    opacity = float(np.clip(150 / max(total, 1), 0.05, 0.45))
    for corners, middle in found:
        some = _some(len(middle), total)
        axes.scatter(*middle[some].T, s=7, c=_GREY, alpha=opacity, linewidths=0, zorder=1, rasterized=total > _SPOKES)
        if total <= _SPOKES:
            ends = np.broadcast_to(middle[:, None], corners.shape)
            lines = np.stack([ends, corners], axis=2).reshape(-1, 2, 2)
            look = {"colors": _GREY, "alpha": opacity / 2, "linewidths": 0.6, "zorder": 1}
            axes.add_collection(imported("matplotlib.collections").LineCollection(lines, **look), autolim=False)


def _some(count: int, total: int) -> Any:
    """This kind's part of those that are drawn: all, or as many by chance as its share."""
    if total <= _MOST:
        return slice(None)
    return np.random.default_rng(0).choice(count, max(1, count * _MOST // total), replace=False)
