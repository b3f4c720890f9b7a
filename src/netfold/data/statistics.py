"""What is counted of a graph or a hypergraph: the facts that `netfold info` and a report tell of it; and AUC."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.sparse.csgraph import connected_components

from netfold.data.checks import Floats
from netfold.data.edges import linked_nodes
from netfold.data.graph import Graph
from netfold.data.hypergraph import Hypergraph

__all__ = [
    "Counts",
    "GraphCounts",
    "HypergraphCounts",
    "Summary",
    "area_under_curve",
    "graph_counts",
    "hypergraph_counts",
]


@dataclass(frozen=True)
class Summary:
    """The least, the mean and the largest of some numbers."""

    least: float
    mean: float
    largest: float


@dataclass(frozen=True)
class Counts:
    """What is counted of both."""

    nodes: int
    edges: int
    isolated: int
    """Nodes that are in no edge, at either end."""
    degrees: Summary | None
    """Of the nodes, as `degrees` has them; None where there are no nodes."""


@dataclass(frozen=True)
class GraphCounts(Counts):
    """What is counted of a graph."""

    directed: bool
    weighted: bool
    self_loops: int
    components: int
    """Weakly connected ones, where directed."""
    weights: Summary | None
    """Of the edges; None where there are none."""
    sides: tuple[int, int] | None
    """Nodes on each side of a bipartite graph, as `Graph.sides` has them; None where it is not bipartite."""


@dataclass(frozen=True)
class HypergraphCounts(Counts):
    """What is counted of a hypergraph; its `kinds` have their own lengths."""

    types: dict[str, int]
    """How many nodes are of each type."""


def graph_counts(graph: Graph) -> GraphCounts:
    """Count what there is of a graph.

    >>> graph_counts(Graph.from_edges([("a", "b"), ("b", "c")], nodes=["a", "b", "c", "d"], directed=True))
    ... # doctest: +NORMALIZE_WHITESPACE
    GraphCounts(nodes=4, edges=2, isolated=1, degrees=Summary(least=0, mean=0.5, largest=1), directed=True,
    weighted=False, self_loops=0, components=2, weights=Summary(least=1.0, mean=1.0, largest=1.0), sides=None)
    """
    a = graph.adjacency
    return GraphCounts(
        nodes=graph.n_nodes,
        edges=graph.n_edges,
        isolated=int((~linked_nodes(graph)).sum()),
        degrees=_spread(graph.degrees),
        directed=graph.directed,
        weighted=graph.is_weighted,
        self_loops=graph.n_self_loops,
        components=int(connected_components(a, directed=graph.directed, connection="weak")[0]),
        weights=_spread(a.data),
        sides=None if graph.sides is None else (int((graph.sides == 0).sum()), int((graph.sides == 1).sum())),
    )


def hypergraph_counts(hypergraph: Hypergraph) -> HypergraphCounts:
    """Count what there is of a hypergraph.

    >>> hypergraph_counts(Hypergraph.from_tuples([("a", "b", "c"), ("b", "c")])).degrees
    Summary(least=1, mean=1.6666666666666667, largest=2)
    """
    degrees = hypergraph.degrees
    of_type = np.bincount(hypergraph.type_codes, minlength=len(hypergraph.types)).tolist()
    return HypergraphCounts(
        nodes=hypergraph.n_nodes,
        edges=hypergraph.n_edges,
        isolated=int((degrees == 0).sum()),
        degrees=_spread(degrees),
        types=dict(zip(hypergraph.types, of_type, strict=True)),
    )


def _spread(values: npt.NDArray[np.int64] | npt.NDArray[np.float32]) -> Summary | None:
    if not len(values):
        return None
    return Summary(values.min().item(), float(values.mean()), values.max().item())


def area_under_curve(right: Floats, wrong: Floats) -> float:
    """The share of pairs (one right, one wrong) that are in order, ties by half.

    >>> area_under_curve(np.array([0.9, 0.4]), np.array([0.4, 0.1]))
    0.875
    """
    ordered = np.sort(wrong)
    below, at_most = (np.searchsorted(ordered, right, side=side) for side in ("left", "right"))
    return float((below.sum() + at_most.sum()) / 2 / (len(right) * len(wrong))) if len(wrong) else 0.5
