"""Parts of a graph's edges hidden, so that they can be predicted: never a test edge in the training graph."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse
from scipy.sparse.csgraph import connected_components, minimum_spanning_tree

from netfold.errors import InputError
from netfold.evaluate.checks import check_choice, is_between
from netfold.evaluate.edges import Pairs, edge_pairs, keys_of, linked, pairs_of, with_pairs, without_pairs
from netfold.evaluate.node_splits import NodeSplit, split_nodes
from netfold.evaluate.result import facts_in_words
from netfold.graph import Graph

__all__ = ["EdgeSplit", "NodeSplit", "split_edges", "split_nodes"]

_KEEP = ("none", "connected")


@dataclass(frozen=True, eq=False, repr=False)
class EdgeSplit:
    """A training graph, and the edges that were hidden from it."""

    train: Graph
    """All nodes, and the edges that are left."""
    test: Pairs
    """m x 2 positions of the hidden edges; an undirected edge once, the lower position first."""
    whole: Graph
    """The graph before anything was hidden."""
    protocol: Mapping[str, Any]
    """How the hidden edges were chosen."""

    @staticmethod
    def of(train: Any, test: Any) -> EdgeSplit:
        """A split that somebody else made: a training graph, and a graph (or edges) of test edges among its nodes.

        Test edges that are in the training graph too, and self-loops, are left out and counted in the protocol.

        >>> EdgeSplit.of([("a", "b"), ("b", "c")], [("a", "c"), ("b", "a")]).protocol
        {'split': 'given', 'test edges left out (in training)': 1, 'test edges left out (self-loops)': 0}
        """
        known = Graph.of(train)
        given = test if isinstance(test, Graph) else Graph.from_edges(test, directed=known.directed)
        if given.directed != known.directed:
            raise InputError("one of the training and the test edges is directed; both are, or none is")
        asked = known.positions(given.nodes)[edge_pairs(given)]
        keys, taken = (keys_of(x, known.n_nodes, directed=known.directed) for x in (asked, edge_pairs(known)))
        test = pairs_of(np.setdiff1d(keys, taken), known.n_nodes)
        if not len(test):
            raise InputError(f"none of the {len(asked):,} test edges is new to the training graph; give hidden edges")
        facts = {
            "split": "given",
            "test edges left out (in training)": len(asked) - len(test),
            "test edges left out (self-loops)": given.n_self_loops,
        }
        return EdgeSplit(known, test, with_pairs(known, test), facts)

    @cached_property
    def figures(self) -> dict[str, int]:
        """How many test edges there are, how many nodes they left without any, how many cross training components."""
        before, after = (np.diff(linked(x).indptr) > 0 for x in (self.whole, self.train))
        component = connected_components(self.train.adjacency, directed=True, connection="weak")[1]
        return {
            "test edges": len(self.test),
            "isolated nodes made": int((before & ~after).sum()),
            "test edges across components": int(np.diff(component[self.test], axis=1).astype(bool).sum()),
        }

    def __repr__(self) -> str:
        return f"EdgeSplit of {self.whole}\n{facts_in_words(self.figures)}\nprotocol: {facts_in_words(self.protocol)}"


def split_edges(graph: Any, hidden: float = 0.2, *, keep: str = "none", seed: int = 0) -> EdgeSplit:
    """Hide a random share of the edges between two different nodes.

    `keep="none"` hides any; `keep="connected"` never hides those of a random spanning forest, so that no test edge
    crosses components of the training graph and no node loses all of its edges. Self-loops are never hidden, weights
    are kept, and edges of a directed graph are hidden one direction at a time (its components are the weak ones).

    >>> split_edges([(i, (i + 1) % 50) for i in range(50)], 0.02, keep="connected")
    EdgeSplit of Graph(50 nodes, 50 edges, undirected)
    test edges 1; isolated nodes made 0; test edges across components 0
    protocol: hidden 0.02; keep connected; seed 0
    """
    whole = Graph.of(graph)
    check_choice(_KEEP, keep=keep)
    if not is_between(hidden, 0, 1):
        raise InputError(f"hidden={hidden!r} is no share of the edges; give a number between 0 and 1")
    edges = edge_pairs(whole)
    count = round(hidden * len(edges))
    if not 0 < count < len(edges):
        raise InputError(f"hidden={hidden:g} hides {count:,} of {len(edges):,} edges; hide some, and leave some")
    rng = np.random.default_rng(seed)
    free = np.arange(len(edges))
    if keep == "connected":
        free = np.delete(free, _forest(edges, whole.n_nodes, rng))
        if count > len(free):
            most = np.floor(1000 * len(free) / len(edges)) / 1000
            raise InputError(
                f"hidden={hidden:g} hides {count:,} edges, and only {len(free):,} can be hidden with keep='connected'; "
                f"hide at most {most:g}, or use keep='none'"
            )
    test = edges[np.sort(rng.choice(free, count, replace=False))]
    protocol = {"hidden": float(hidden), "keep": keep, "seed": seed}
    return EdgeSplit(without_pairs(whole, test), test, whole, protocol)


def _forest(edges: Pairs, n: int, rng: np.random.Generator) -> npt.NDArray[np.int64]:
    """Which edges make a random spanning forest: the minimal one under a random order of the edges."""
    order = rng.permutation(len(edges))
    _, first = np.unique(keys_of(edges[order], n, directed=False), return_index=True)  # of two directions, one
    u, v = edges[order[first]].T
    tree = minimum_spanning_tree(sparse.csr_array((first + 1.0, (u, v)), shape=(n, n)))  # 0 would be no edge
    return order[tree.data.astype(np.int64) - 1]
