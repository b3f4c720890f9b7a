"""How central a node is: the classic measures, of a graph's links without weights and self-loops.

Definitions and scales are networkx's: in a directed graph closeness looks at paths into a node, a degree counts the
links of both directions, and eigenvector centrality comes from who links to a node.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from netfold.data.checks import Floats, Ints
from netfold.data.edges import links
from netfold.data.graph import Graph
from netfold.data.paths import breadth_first
from netfold.errors import InputError

__all__ = [
    "MEASURES",
    "betweenness",
    "closeness",
    "core_numbers",
    "degree",
    "eigenvector",
    "largest_eigenpair",
    "pagerank",
]


_WORD = 64
_DENSE = 5
_BLOCK_NUMBERS = 1 << 21
"""Path counts that are alive at a time: 16 MiB in float64."""


def degree(graph: Graph) -> Floats:
    """The number of neighbors, divided by n - 1.

    >>> degree(Graph.from_edges([("a", "b"), ("b", "c")])).tolist()
    [0.5, 1.0, 0.5]
    """
    return _both(graph).sum(axis=1) / max(graph.n_nodes - 1, 1)


def closeness(graph: Graph, sources: Ints | None = None) -> Floats:
    """r / Σ_u d(u, v) · r / (n - 1), with r other nodes u from which v is reached (Wasserman and Faust).

    Breadth-first searches from 64 nodes at a time, see `breadth_first`.
    Exact, unless only some `sources` u are given; their sum and number are then scaled up.
    """
    into, n = sparse.csr_array(_arcs(graph).T), graph.n_nodes
    chosen = np.arange(n) if sources is None else sources
    reached, total, others = np.zeros(n), np.zeros(n), np.full(n, len(chosen))
    others[chosen] -= 1
    for start in range(0, len(chosen), _WORD):
        for steps, new in breadth_first(into, chosen[start : start + _WORD]):
            arrived = np.bitwise_count(new).sum(axis=1).astype(np.float64)
            reached += arrived
            total += steps * arrived
    mean = np.where(reached > 0, total, 1) / np.maximum(reached, 1)
    return np.asarray(reached / mean / np.maximum(others, 1), np.float64)


def betweenness(graph: Graph, sources: Ints | None = None) -> Floats:
    """Σ_st σ_st(v) / σ_st / ((n - 1)(n - 2)): the part of the shortest paths between two others that v is on (Brandes).

    Exact, unless only some `sources` s are given; their sum is then scaled by n over their number. The time is that of
    twice as many sparse products as the longest path has steps, so that a graph like a long chain is slow.
    """
    arcs, n = _arcs(graph), graph.n_nodes
    chosen = np.arange(n) if sources is None else sources
    size = max(1, _BLOCK_NUMBERS // max(n, 1))
    total, into = np.zeros(n), sparse.csr_array(arcs.T)
    for start in range(0, len(chosen), size):
        total += _dependencies(arcs, into, chosen[start : start + size])
    return total * (n / max(len(chosen), 1)) / max((n - 1) * (n - 2), 1)


def eigenvector(graph: Graph) -> Floats:
    """The leading eigenvector of Aᵀ, x_v ∝ Σ_{u links to v} x_u: not negative, and of length 1."""
    arcs = _arcs(graph)
    if _has_no_cycle(arcs):  # all eigenvalues are 0
        raise InputError("eigenvector centrality needs a walk that comes back to where it began; this graph has none")
    return largest_eigenpair(sparse.csr_array(arcs.T), symmetric=not graph.directed)[1]


def largest_eigenpair(matrix: sparse.csr_array, *, symmetric: bool = True) -> tuple[float, Floats]:
    """The largest eigenvalue of a matrix without negative entries, and its eigenvector: positive, of length 1."""
    from scipy.sparse.linalg import eigs, eigsh

    start = np.ones(matrix.shape[0])  # it has a part in every such eigenvector, and the result the same of each
    if len(start) < _DENSE:  # too few for ARPACK
        return _by_power(matrix, start)
    pair: Any = eigsh(matrix, 1, which="LA", v0=start) if symmetric else eigs(matrix, 1, which="LR", v0=start)
    vector = np.abs(pair[1][:, 0])
    return float(pair[0][0].real), np.asarray(vector / np.linalg.norm(vector))


def core_numbers(graph: Graph) -> Floats:
    """The largest k for which a node is in the k-core: what is left while nodes of a degree below k are taken away."""
    both = _both(graph)
    degrees, core = both.sum(axis=1), np.zeros(graph.n_nodes)
    left, k = np.ones(graph.n_nodes, bool), 0.0
    while left.any():
        k = max(k, degrees[left].min())
        while (peeled := np.flatnonzero(left & (degrees <= k))).size:
            core[peeled], left[peeled] = k, False
            degrees = degrees - both[peeled].sum(axis=0)
    return core


def pagerank(graph: Graph, damping: float = 0.85, tolerance: float = 1e-12) -> Floats:
    """Where a walk is in the long run that follows a link with the chance `damping` and else jumps anywhere.

    From a node without links it jumps. Iterated until the sum of changes is below `tolerance`.
    """
    arcs, n = _arcs(graph), graph.n_nodes
    out = arcs.sum(axis=1)
    walk = sparse.csr_array((sparse.diags_array(1 / np.where(out > 0, out, 1)) @ arcs).T)
    rank, change = np.full(n, 1 / max(n, 1)), np.inf
    while change > tolerance:
        jumps = 1 - damping + damping * rank[out == 0].sum()
        after = np.asarray(damping * (walk @ rank) + jumps / n)
        rank, change = after, float(np.abs(after - rank).sum())
    return rank


def _scaled_cores(graph: Graph) -> Floats:
    core = core_numbers(graph)
    return np.asarray(core / max(core.max(initial=0), 1))


MEASURES: dict[str, Callable[[Graph], Floats]] = {
    "closeness": closeness,
    "betweenness": betweenness,
    "eigenvector": eigenvector,
    "k-core": _scaled_cores,
    "pagerank": pagerank,
    "degree": degree,
}
"""By name; the k-core as a part of its maximum, without which an error in it has no scale."""


def _arcs(graph: Graph) -> sparse.csr_array:
    """1 where one node links to another."""
    return links(graph, directed=True, weights=False, loops="drop")


def _both(graph: Graph) -> sparse.csr_array:
    """How many links two nodes have: of both directions together, where directed."""
    arcs = _arcs(graph)
    return sparse.csr_array(arcs + arcs.T) if graph.directed else arcs


def _by_power(matrix: sparse.csr_array, vector: Floats) -> tuple[float, Floats]:
    for _ in range(1000):
        vector = vector + matrix @ vector
        vector = vector / np.linalg.norm(vector)
    return float(np.linalg.norm(matrix @ vector)), vector


def _dependencies(links: sparse.csr_array, into: sparse.csr_array, sources: Ints) -> Floats:
    """Σ_s δ_s(v) over some sources, with δ_s(v) = Σ_{w behind v} σ_sv / σ_sw (1 + δ_s(w)), all sources at once."""
    own = (sources, np.arange(len(sources)))
    paths, steps = _path_counts(into, own)
    behind = np.zeros_like(paths)  # δ
    for far in range(int(steps.max()), 0, -1):
        share = np.divide(1 + behind, paths, out=np.zeros_like(paths), where=steps == far)
        behind += np.where(steps == far - 1, (links @ share) * paths, 0)
    behind[own] = 0
    total: Floats = behind.sum(axis=1)
    return total


def _path_counts(into: sparse.csr_array, own: tuple[Ints, Ints]) -> tuple[Floats, npt.NDArray[np.int32]]:
    """σ, how many shortest paths lead from each source to each node, and in how many steps, -1 where none: n x m."""
    paths = np.zeros((into.shape[0], len(own[0])))
    paths[own] = 1
    front, steps = paths.copy(), np.where(paths > 0, np.int32(0), np.int32(-1))
    while front.any():
        front = np.where(steps < 0, into @ front, 0)
        steps[front > 0] = steps.max() + 1
        paths += front
    return paths, steps


def _has_no_cycle(links: sparse.csr_array) -> bool:
    from scipy.sparse.csgraph import connected_components

    parts, _ = connected_components(links, connection="strong")
    return bool(parts == links.shape[0])
