"""Groups of nodes in words: what the nodes of a group have in common, and names for the regions of a map."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from netfold.data.checks import Floats, Ints
from netfold.data.embedding import Embedding
from netfold.data.graph import Graph
from netfold.data.groups import NodeGroups
from netfold.data.nodes import Nodes
from netfold.evaluate.centralities import core_numbers
from netfold.show.report.sheets import Classes, NodeNumbers, node_line

__all__ = ["clustering_coefficients", "described_groups", "linked_rows", "region_names"]

_APART = 0.5
"""Deviations of all nodes by which the mean of a group must differ to be said."""
_SHARE = 0.5
"""Of a group, what has something to be said to have it in common."""
_FEW, _MOST_REGIONS, _SEEN = 150, 14, 20_000
"""Nodes from which a map has regions, how many, and nodes that these are found from."""
_WEDGES = 50_000_000
"""Pairs of neighbors, over all nodes, up to which triangles are counted."""
_TYPICAL = 5


def described_groups(
    groups: NodeGroups,
    embedding: Embedding,
    graph: Graph | None,
    linked: sparse.csr_array | None,
    columns: Sequence[Classes | NodeNumbers],
) -> list[dict[str, Any]]:
    """For each group its size, the means of its figures, what its nodes have in common, and those nearest its middle.

    `linked` is over the rows of the embedding. Means of a group that are within half a deviation of those of all nodes
    are figures, but nothing that the group has in common.
    """
    figures = _figures(embedding, graph, linked, columns)
    hubs = _shared_neighbors(groups, linked)
    described = []
    for g in range(groups.k):
        rows = np.flatnonzero(groups.codes == g)
        means = {name: float(values[rows].mean()) for name, values in figures.items()}
        common = [*_apart(means, figures), *_classes_of(rows, columns)]
        if hubs and hubs[g][1] >= _SHARE and len(rows) > 1:
            common.append(f"{hubs[g][1]:.0%} are linked to {node_line(embedding.nodes[hubs[g][0]])}")
        described.append(
            {"size": len(rows), "means": means, "common": common, "typical": _typical(embedding, rows).tolist()}
        )
    return described


def linked_rows(ends: npt.NDArray[np.uint32], n: int) -> sparse.csr_array:
    """n x n: the number of links between two rows, in either direction, from the ends of each link (m x 2)."""
    u, v = ends.T.astype(np.int64)
    ones = np.ones(2 * len(u))
    return sparse.csr_array((ones, (np.concatenate([u, v]), np.concatenate([v, u]))), (n, n))


def _figures(
    embedding: Embedding,
    graph: Graph | None,
    linked: sparse.csr_array | None,
    columns: Sequence[Classes | NodeNumbers],
) -> dict[str, Floats]:
    """A number for each node, by name."""
    figures = {x.name: x.values for x in columns if isinstance(x, NodeNumbers)}
    if graph is None or linked is None:
        return figures
    at = graph.nodes.find(embedding.nodes)
    cores = core_numbers(graph) if graph.n_nodes else np.zeros(0)
    figures["core number"] = np.where(at >= 0, cores[at], 0.0) if len(cores) else np.zeros(len(at))
    degrees = np.diff(linked.indptr).astype(np.float64)
    figures.setdefault("degree", degrees)
    beside = (linked > 0) @ degrees / np.maximum(degrees, 1)
    figures["degree of neighbors"] = np.asarray(beside)
    if float(np.square(degrees).sum()) <= _WEDGES:
        figures["clustering"] = clustering_coefficients(linked)
    return figures


def clustering_coefficients(linked: sparse.csr_array) -> Floats:
    """Of the pairs of a node's neighbors the share that is linked; 0 where it has fewer than two.

    >>> kite = sparse.csr_array(np.array([[0, 1, 1, 1], [1, 0, 1, 0], [1, 1, 0, 0], [1, 0, 0, 0]]))
    >>> clustering_coefficients(kite).round(3).tolist()
    [0.333, 1.0, 1.0, 0.0]
    """
    own = sparse.csr_array((np.ones(linked.nnz, np.float64), linked.indices, linked.indptr), linked.shape)
    degrees = np.diff(own.indptr).astype(np.float64)
    triangles: Floats = np.asarray((own @ own).multiply(own).sum(axis=1)).ravel()
    pairs = degrees * (degrees - 1)
    return np.asarray(triangles / np.where(pairs > 0, pairs, 1))


def _apart(means: dict[str, float], figures: dict[str, Floats]) -> list[str]:
    """The two figures in which a group differs most from all nodes, in words."""
    far = []
    for name, mean in means.items():
        values = figures[name]
        spread = float(values.std())
        apart = abs(mean - float(values.mean())) / spread if spread > 0 else 0.0
        if apart >= _APART:
            far.append((apart, f"{name} {_plain(mean)} (of all {_plain(float(values.mean()))})"))
    return [words for _, words in sorted(far, reverse=True)[:2]]


def _classes_of(rows: Ints, columns: Sequence[Classes | NodeNumbers]) -> list[str]:
    """The class of each column that at least half of some nodes are of, where it is rarer among all."""
    said = []
    for column in columns:
        if not isinstance(column, Classes) or len(column.names) < 2:
            continue
        counts = np.bincount(column.codes[rows], minlength=len(column.names) + 1)[: len(column.names)]
        every = np.bincount(column.codes, minlength=len(column.names) + 1)[: len(column.names)]
        best = int(counts.argmax())
        share, usual = counts[best] / len(rows), every[best] / max(len(column.codes), 1)
        if share >= _SHARE and share > usual + 0.1:
            said.append(f"{share:.0%} are {column.names[best]} by {column.name} (of all {usual:.0%})")
    return said


def _shared_neighbors(groups: NodeGroups, linked: sparse.csr_array | None) -> list[tuple[int, float]]:
    """For each group the node that most of its nodes are linked to, and their share."""
    if linked is None:
        return []
    n = len(groups)
    member = sparse.csr_array((np.ones(n), (groups.codes, np.arange(n))), (groups.k, n))
    counts = sparse.csr_array(member @ (linked > 0))
    best = []
    for g, size in enumerate(groups.sizes):
        start, stop = counts.indptr[g : g + 2]
        if start == stop:
            best.append((0, 0.0))
            continue
        place = start + int(counts.data[start:stop].argmax())
        best.append((int(counts.indices[place]), float(counts.data[place] / size)))
    return best


def _typical(embedding: Embedding, rows: Ints) -> Ints:
    """The nodes of a group that are nearest to the middle of its directions."""
    vectors = embedding.vectors[rows].astype(np.float64)
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    vectors = vectors / np.where(lengths > 0, lengths, 1)
    return np.asarray(rows[np.argsort(-(vectors @ vectors.mean(axis=0)), kind="stable")[:_TYPICAL]])


def region_names(parts: Floats, classes: Classes | None, named: Ints, nodes: Nodes) -> list[dict[str, Any]]:
    """Names for regions of a map of `parts` (n x 2), the largest first: their class, or who has most links there.

    Small maps, where the nodes themselves are named, have none. `named` are rows, the most important first.
    """
    n = len(parts)
    if n < _FEW:
        return []
    from sklearn.cluster import KMeans

    k = int(np.clip(round(np.sqrt(n / 40)), 4, _MOST_REGIONS))
    rng = np.random.default_rng(0)
    some = parts if n <= _SEEN else parts[rng.choice(n, _SEEN, replace=False)]
    found = KMeans(min(k, len(np.unique(some, axis=0))), n_init=2, random_state=0).fit(some).predict(parts)
    regions = []
    for region in range(int(found.max()) + 1):
        rows = np.flatnonzero(found == region)
        if len(rows) >= max(5, n // 200):
            x, y = np.median(parts[rows], axis=0).tolist()
            regions.append({"x": x, "y": y, "size": len(rows), "name": _region(rows, classes, named, nodes)})
    return sorted((x for x in regions if x["name"]), key=lambda x: -x["size"])


def _region(rows: Ints, classes: Classes | None, named: Ints, nodes: Nodes) -> str:
    if classes is not None:
        counts = np.bincount(classes.codes[rows], minlength=len(classes.names) + 1)[: len(classes.names)]
        if counts.max() >= _SHARE * len(rows):
            name = classes.names[int(counts.argmax())]
            return f"{classes.name} {name}" if name.isdecimal() else name
    inside = named[np.isin(named, rows)]
    return f"around {node_line(nodes[int(inside[0])])}" if len(inside) else ""


def _plain(x: float) -> str:
    return f"{x:,.0f}" if abs(x) >= 100 else f"{x:.3g}"
