"""Small random graphs that cost a model as much a node as a large one does: the same degrees, the same weights."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from netfold.graph import Graph
from netfold.hypergraph import Hypergraph
from netfold.labels import Labels

__all__ = ["stand_in"]

Rows = npt.NDArray[np.int64]


def stand_in(data: Graph | Hypergraph, nodes: int, seed: int = 0) -> Any:
    """A random graph of so many nodes with degrees and weights as these data have; the data, where no larger.

    What a fit costs goes with how many links a node has, which a part of the graph would not keep: of the neighbors of
    its nodes, most would be outside.

    >>> ring = Graph.from_edges([(i, (i + k) % 1000) for i in range(1000) for k in (1, 2, 3)])
    >>> small = stand_in(ring, 200)
    >>> small.n_nodes, bool(5.5 < small.degrees.mean() <= 6.1)
    (200, True)
    """
    if nodes >= data.n_nodes:
        return data
    rng = np.random.default_rng(seed)
    return _hypergraph(data, nodes, rng) if isinstance(data, Hypergraph) else _graph(data, nodes, rng)


def _graph(graph: Graph, nodes: int, rng: np.random.Generator) -> Graph:
    """Each of some nodes sends half of its links (all that leave it, where directed) to nodes drawn by degree."""
    leaving = graph.degrees
    entering = np.bincount(graph.adjacency.indices, minlength=graph.n_nodes) if graph.directed else leaving
    picked = _spread_over(leaving, nodes)
    sent = leaving[picked] if graph.directed else (leaving[picked] + rng.integers(0, 2, nodes)) // 2
    u = np.repeat(np.arange(nodes), np.minimum(sent, nodes - 1))
    v = _drawn(entering[picked], len(u), rng)
    u, v = (
        np.append(x[u != v], nodes - k) for x, k in ((u, 1), (v, 2))
    )  # the largest two are linked: one edge at least
    weights = rng.choice(graph.adjacency.data, len(u)) if graph.is_weighted else None
    return Graph.from_codes(u, v, weights, nodes=Labels.of(range(nodes)), directed=graph.directed)


def _hypergraph(data: Hypergraph, nodes: int, rng: np.random.Generator) -> Hypergraph:
    """As large a share of the hyperedges as of the nodes, each position a node of its type drawn by degree."""
    share, degrees = nodes / data.n_nodes, np.asarray(data.degrees)
    codes = np.asarray(data.type_codes)
    mine = {t: np.flatnonzero(codes == t) for t in range(len(data.types))}
    picked = {t: rows[_spread_over(degrees[rows], max(2, round(share * len(rows))))] for t, rows in mine.items()}
    kept = np.sort(np.concatenate(list(picked.values())))
    kinds = []
    for kind in data.kinds:
        count = max(2, round(share * len(kind)))
        columns = [_of_type(picked[data.types.index(t)], degrees, count, rng) for t in kind.types]
        rows = np.searchsorted(kept, np.stack(columns, axis=1))
        whole = np.array([len(set(row)) == len(row) for row in rows.tolist()])
        kinds.append((kind.roles, kind.types, rows[whole]))
    return Hypergraph.from_kinds(kinds, nodes=range(len(kept)), node_types=codes[kept], types=data.types)


def _of_type(rows: Rows, degrees: npt.NDArray[Any], count: int, rng: np.random.Generator) -> Rows:
    return rows[_drawn(degrees[rows], count, rng)]


def _spread_over(degrees: npt.NDArray[Any], count: int) -> Rows:
    """Nodes at even places of the order by degree: few of them, and the largest degrees in proportion."""
    places = ((np.arange(min(count, len(degrees))) + 0.5) * len(degrees) / min(count, len(degrees))).astype(np.int64)
    order: Rows = np.argsort(degrees, kind="stable")
    return order[places]


def _drawn(degrees: npt.NDArray[Any], count: int, rng: np.random.Generator) -> Rows:
    sums = np.cumsum(np.maximum(degrees, 1e-9))
    made: Rows = np.searchsorted(sums, rng.random(count) * sums[-1], side="right").astype(np.int64)
    return made
