"""`Facts`: what is looked at in a graph or a hypergraph before a model is chosen; bounded work at any size."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from netfold.data.edges import links
from netfold.data.graph import Graph
from netfold.data.hypergraph import Hypergraph

__all__ = ["Facts", "facts_of"]

_WEDGES = 2000
"""So many pairs of neighbors are looked at for the clustering."""


@dataclass(frozen=True)
class Facts:
    """What the rules of choice know of the data."""

    nodes: int
    edges: int
    hyperedges: bool = False
    types: tuple[str, ...] = ()
    """Of a hypergraph's nodes."""
    directed: bool = False
    weighted: bool = False
    isolated: int = 0
    self_loops: int = 0
    mean_degree: float = 0.0
    """Nodes linked in either direction, as all degrees here; in a hypergraph, hyperedges."""
    median_degree: float = 0.0
    largest_degree: int = 0
    clustering: float = 0.0
    """The share of pairs of a node's neighbors that are linked, over all such pairs (transitivity), by a sample."""
    two_steps: float = 0.0
    """How many paths of two steps there are, in either direction."""
    largest_weight: float = 1.0
    """Over the median weight."""
    time_column: str | None = None

    def __str__(self) -> str:
        kind = f"{len(self.types)} types" if self.hyperedges else "directed" if self.directed else "undirected"
        noun = "hyperedges" if self.hyperedges else "edges"
        parts = [f"{self.nodes:,} nodes", f"{self.edges:,} {noun if self.edges != 1 else noun[:-1]}", kind]
        parts += ["weighted"] if self.weighted else []
        parts += [f"degrees {self.median_degree:g} (median) to {self.largest_degree:,}"]
        parts += [] if self.hyperedges else [f"clustering {self.clustering:.2f}"]
        parts += [f"{self.isolated:,} isolated"] if self.isolated else []
        parts += [f"a time column ({self.time_column})"] if self.time_column else []
        return ", ".join(parts)


def facts_of(data: Graph | Hypergraph, time_column: str | None = None, seed: int = 0) -> Facts:
    """The facts about a graph or a hypergraph.

    >>> facts = facts_of(Graph.from_edges([("a", "b"), ("b", "c"), ("c", "a"), ("c", "d")]))
    >>> facts.mean_degree, facts.largest_degree, facts.two_steps
    (2.0, 3, 10.0)
    """
    if isinstance(data, Hypergraph):
        return Facts(
            data.n_nodes,
            data.n_edges,
            True,
            tuple(map(str, data.types)),
            time_column=time_column,
            **_spread(np.asarray(data.degrees)),
        )
    near, weights = links(data, directed=False, weights=False, loops="drop"), data.adjacency.data
    degrees = np.diff(near.indptr).astype(np.float64)
    spread = float(weights.max() / np.median(weights)) if len(weights) else 1.0
    return Facts(
        data.n_nodes,
        data.n_edges,
        directed=data.directed,
        weighted=data.is_weighted,
        self_loops=data.n_self_loops,
        clustering=_clustering(near, seed),
        two_steps=float(np.sum(degrees * (degrees - 1))),
        largest_weight=spread,
        time_column=time_column,
        **_spread(degrees),
    )


def _spread(degrees: Any) -> dict[str, Any]:
    if not len(degrees):
        return {}
    return {
        "isolated": int((degrees == 0).sum()),
        "mean_degree": float(degrees.mean()),
        "median_degree": float(np.median(degrees)),
        "largest_degree": int(degrees.max()),
    }


def _clustering(links: Any, seed: int) -> float:
    """The share of random wedges (two links of one node) whose ends are linked; a node has d (d - 1) / 2 of them."""
    degrees = np.diff(links.indptr).astype(np.float64)
    chances = degrees * (degrees - 1)
    if not chances.sum():
        return 0.0
    rng = np.random.default_rng(seed)
    sums = np.cumsum(chances)
    middles = np.searchsorted(sums, rng.random(_WEDGES) * sums[-1], side="right")
    closed = [_closed(links, links.indices[slice(*links.indptr[i : i + 2])], rng) for i in middles]
    return float(np.mean(closed))


def _closed(links: Any, neighbors: Any, rng: np.random.Generator) -> bool:
    first = int(rng.integers(len(neighbors)))
    second = (first + 1 + int(rng.integers(len(neighbors) - 1))) % len(neighbors)
    row = links.indices[slice(*links.indptr[neighbors[first] : neighbors[first] + 2])]
    at = int(np.searchsorted(row, neighbors[second]))
    return at < len(row) and bool(row[at] == neighbors[second])
