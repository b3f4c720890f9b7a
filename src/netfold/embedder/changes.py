"""What has changed since a model was trained: deltas added up, and the network that they make of the one it knew."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from netfold.data.graph import Graph
from netfold.data.nodes import Nodes
from netfold.embedder.versions import Delta
from netfold.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["Changes", "shares_that_stayed", "weights_among"]


class Changes:
    """All that updates have changed since the base: what deltas add up to."""

    def __init__(self) -> None:
        self.vectors: dict[Any, npt.NDArray[np.float32]] = {}
        self.std: dict[Any, npt.NDArray[np.float32]] = {}
        self.gone: set[Any] = set()
        self.left: set[Any] = set()
        """Those that are gone, or were and came back: the links that they had in the base are no more."""
        self.unreached: set[Any] = set()
        self.links: dict[Any, dict[Any, float]] = {}
        """Of every node that a changed link has: its changed links, those that leave it; 0 for one that is gone."""
        self.into: dict[Any, dict[Any, float]] = {}
        """Those that enter it; the same as `links` in an undirected graph."""

    def take(self, delta: Delta) -> None:
        """Add what a delta says."""
        names = list(delta.names)
        for row in delta.gone.tolist():
            self.drop(names[row])
        for i, row in enumerate(delta.placed.tolist()):
            node = names[row]
            self.vectors[node] = delta.vectors[i]
            self.unreached.discard(node)
            if delta.std is not None and delta.std[i].any():
                self.std[node] = delta.std[i]
        self.unreached |= {names[row] for row in delta.unreached.tolist()}
        for u, v, w in zip(delta.sources.tolist(), delta.targets.tolist(), delta.weights.tolist(), strict=True):
            self.link(names[u], names[v], w)

    def link(self, u: Any, v: Any, weight: float) -> None:
        """Take in a link; its ends are there."""
        self.links.setdefault(u, {})[v] = weight
        self.into.setdefault(v, {})[u] = weight
        self.gone -= {u, v}

    def drop(self, node: Any) -> None:
        """Take out a node and its links."""
        self.gone.add(node)
        self.left.add(node)
        self.unreached.discard(node)
        for mine, other in ((self.links, self.into), (self.into, self.links)):
            for end in mine.pop(node, {}):
                other.get(end, {}).pop(node, None)
        self.vectors.pop(node, None)
        self.std.pop(node, None)

    def overlaid(self, lost: list[Any], links: list[tuple[Any, Any, float]]) -> Changes:
        """With more links and without what is lost; of these only what is touched is copied."""
        after = Changes()
        after.vectors = {x: v for x, v in self.vectors.items() if x not in lost} if lost else self.vectors
        after.std, after.gone, after.unreached = self.std, self.gone | set(lost), self.unreached - set(lost)
        touched = {x for u, v, _ in links for x in (u, v)} | self.unreached
        near = {y for x in touched for y in (*self.links.get(x, {}), *self.into.get(x, {}))}
        for x in (touched | near) - set(lost):
            after.links[x] = {y: w for y, w in self.links.get(x, {}).items() if y not in lost}
            after.into[x] = {y: w for y, w in self.into.get(x, {}).items() if y not in lost}
        for u, v, w in links:
            after.link(u, v, w)
        return after

    def unplaced(self, lost: list[Any], links: list[tuple[Any, Any, float]]) -> Changes:
        """With more links, without what is lost, and nobody placed yet: all of it is copied."""
        after = self.copy()
        for node in lost:
            after.drop(node)
        for u, v, w in links:
            after.link(u, v, w)
        after.vectors, after.std = {}, {}
        return after

    def copy(self) -> Changes:
        """The same, which further changes leave as it is."""
        other = Changes()
        other.vectors, other.std = dict(self.vectors), dict(self.std)
        other.gone, other.left, other.unreached = set(self.gone), set(self.left), set(self.unreached)
        other.links, other.into = ({x: dict(y) for x, y in ends.items()} for ends in (self.links, self.into))
        return other

    def near(self, node: Any) -> dict[Any, float]:
        """A node's neighbors by changed links in either direction, and what these weigh together."""
        out, into = self.links.get(node, {}), self.into.get(node, {})
        same = all(into.get(y) == w for y, w in out.items()) and len(out) == len(into)
        total = dict(out)
        for y, w in {} if same else into.items():
            total[y] = total.get(y, 0.0) + w
        return {y: w for y, w in total.items() if y not in self.gone}

    def all_links(self) -> list[tuple[Any, Any, float]]:
        """Every changed link, from, to and weight."""
        return [(u, v, w) for u, ends in self.links.items() for v, w in ends.items()]

    def as_delta(self, last: Delta, dim: int) -> Delta:
        """All of it as one delta in the place of the last."""
        codes = {x: (v, self.std.get(x)) for x, v in self.vectors.items()}
        back = [(x, x, 0.0) for x in self.left - self.gone]  # a link of weight 0 says that it is there again
        links = [*self.all_links(), *back]
        merged = Delta.of(last.number, last.time, codes, list(self.left), list(self.unreached), links, dim)
        return dataclasses.replace(merged, facts=last.facts)

    # ---------------------------------------------------------------- the network

    def network_from(self, base: Graph) -> Graph:
        """The network as it is now, from the one that was trained on: its nodes that are there, and then new ones."""
        if not (self.links or self.left or self.unreached):
            return base
        stays, cut = np.ones(base.n_nodes, bool), np.zeros(base.n_nodes, bool)
        stays[_found(base.nodes, self.gone)] = False
        cut[_found(base.nodes, self.left)] = True
        fresh = dict.fromkeys([*self.vectors, *sorted(self.unreached, key=str)])
        nodes = Nodes.of([*base.nodes.take(np.flatnonzero(stays)), *(x for x in fresh if x not in base.nodes)])
        place = np.cumsum(stays) - 1
        entries = base.adjacency.tocoo()
        alive = ~np.logical_or(*((cut | ~stays)[x] for x in entries.coords))
        row, column = (place[x][alive].astype(np.int64) for x in entries.coords)
        sources, targets, weights = self._positions(nodes)
        same = ~np.isin(row * len(nodes) + column, sources * len(nodes) + targets)
        some = weights > 0
        ends = [np.concatenate([a[same], b[some]]) for a, b in ((row, sources), (column, targets))]
        values = np.concatenate([entries.data[alive][same], weights[some]])
        adjacency = sparse.coo_array((values, tuple(ends)), shape=(len(nodes), len(nodes))).tocsr()
        adjacency.sort_indices()
        known = None if base.attributes is None else base.attributes.aligned(base.nodes, nodes)  # -1: new, not known
        return Graph(adjacency, nodes, directed=base.directed, attributes=known)

    def check_network(self, graph: Graph, there: set[Any]) -> None:
        """Refuse a graph that is not the network as it is now, whose nodes are `there`, as far as changes tell."""
        odd = next((x for x in graph.nodes if x not in there), None)
        if odd is None and graph.n_nodes < len(there):
            odd = min(there - {*graph.nodes}, key=str)
        if odd is not None:
            which = "it" if odd in there else "the stream"
            words = "this graph is neither what the model was trained on nor the network of today"
            raise InputError(f"{words}: {odd!r} is not in {which}")
        sources, targets, weights = self._positions(graph.nodes)
        here = graph.adjacency[sources, targets] if len(weights) else weights
        wrong = np.flatnonzero(np.abs(here - weights) > 1e-6 * np.maximum(1, weights))
        if len(wrong):
            u, v, w = graph.nodes[sources[wrong[0]]], graph.nodes[targets[wrong[0]]], weights[wrong[0]]
            raise InputError(
                f"this graph is not the network of today: {u!r}, {v!r} weigh {here[wrong[0]]:g} in it, not {w:g}"
            )

    def weights_before(self, now: Graph) -> sparse.csr_array:
        """The weights that links had, where only those of now are known: of one that changed, that it did. n x n."""
        sources, targets, weights = self._positions(now.nodes)
        gone, shape = weights == 0, now.adjacency.shape
        changed = sparse.coo_array((np.ones(len(weights), np.float32), (sources, targets)), shape=shape).tocsr()
        no_more = sparse.coo_array((np.ones(int(gone.sum()), np.float32), (sources[gone], targets[gone])), shape=shape)
        return sparse.csr_array(now.adjacency - now.adjacency.multiply(changed) + no_more)

    def _positions(self, nodes: Nodes) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.float32]]:
        """Changed links as positions of their ends among nodes, and their weights."""
        links = [x for x in self.all_links() if x[0] != x[1]]
        sources, targets = (nodes.positions([x[i] for x in links]) for i in (0, 1))
        return sources, targets, np.array([w for *_, w in links], np.float32)


def _found(nodes: Nodes, some: Iterable[Any]) -> npt.NDArray[np.int64]:
    """The positions of those of some nodes that are among others."""
    at = nodes.find(list(some))
    return at[at >= 0]


def weights_among(graph: Graph, nodes: Nodes) -> sparse.csr_array:
    """The weights of a graph's links among some nodes, of which it may not have all: n x n."""
    at, entries = nodes.find(graph.nodes), graph.adjacency.tocoo()
    row, column = (at[x] for x in entries.coords)
    both = (row >= 0) & (column >= 0)
    return sparse.csr_array((entries.data[both], (row[both], column[both])), shape=(len(nodes), len(nodes)))


def shares_that_stayed(before: sparse.csr_array, after: sparse.csr_array, *, directed: bool) -> npt.NDArray[np.float64]:
    """c_i of each node, from the weights of links before and after: n. Links that leave and that enter both count."""
    if directed:
        before, after = (sparse.csr_array(sparse.hstack([x, x.T])) for x in (before, after))
    both, either = before.minimum(after).tocsr(), before.maximum(after).tocsr()
    for matrix in (both, either):
        matrix.eliminate_zeros()
    inverse = sparse.csr_array((1 / either.data, either.indices, either.indptr), shape=either.shape)
    stayed = np.asarray(both.multiply(inverse).sum(axis=1), np.float64).ravel()
    shares: npt.NDArray[np.float64] = (1 + stayed) / (1 + np.diff(either.indptr))
    return shares
