"""Edges or nodes held out, so that they can be predicted: never a test edge or a new node in the training graph."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse
from scipy.sparse.csgraph import connected_components, minimum_spanning_tree

from netfold.data.checks import Ints, check_choice, is_between, is_number
from netfold.data.edges import (
    Pairs,
    edge_pairs,
    keys_of,
    links,
    neighbor_counts,
    pair_times,
    pairs_of,
    with_pairs,
    without_pairs,
)
from netfold.data.graph import Graph
from netfold.data.text import counted
from netfold.errors import InputError, renamed
from netfold.evaluate.result import facts_in_words
from netfold.evaluate.task import EDGES_BY, KEEP, NEW_NODES_BY

__all__ = ["EdgeSplit", "NodeSplit", "split_edges", "split_nodes"]


_PATIENCE = 1000
"""Steps of a walk that meet no node of use before it starts elsewhere."""


@dataclass(frozen=True, eq=False, repr=False)
class NodeSplit:
    """A graph, the nodes of it that count as new, and the graph among the others.

    Of attributes, a category that new nodes alone have, or words that they alone have, are missing there: a model of
    the others cannot know them.
    """

    known: Graph
    """The nodes that are not new and the edges among them."""
    whole: Graph
    new: Ints
    """Positions in `whole`, in increasing order."""
    protocol: Mapping[str, Any]
    """How the new nodes were chosen."""

    def __post_init__(self) -> None:
        if self.whole.attributes is not None:
            known = np.delete(np.arange(self.whole.n_nodes), self.new)
            seen = self.whole.attributes.as_seen_by(known)
            if seen is not self.whole.attributes:
                object.__setattr__(self, "whole", self.whole.with_attributes(seen))

    @cached_property
    def figures(self) -> dict[str, int]:
        """How many nodes are new, how they are linked, and how many of them to no known node."""
        is_new = np.zeros(self.whole.n_nodes, dtype=bool)
        is_new[self.new] = True
        ends = is_new[edge_pairs(self.whole)]
        to_known = links(self.whole, directed=False, weights=False, loops="drop")[self.new] @ ~is_new
        return {
            "new nodes": len(self.new),
            "edges new-known": int((ends.sum(axis=1) == 1).sum()),
            "edges new-new": int(ends.all(axis=1).sum()),
            "new nodes without a known neighbor": int((to_known == 0).sum()),
        }

    def __repr__(self) -> str:
        return f"NodeSplit of {self.whole}\n{facts_in_words(self.figures)}\nprotocol: {facts_in_words(self.protocol)}"


def split_nodes(
    graph: Any,
    new: float = 0.1,
    *,
    by: str = "random",
    times: Any = None,
    after: float | None = None,
    max_degree: int = 16,
    seed: int = 0,
) -> NodeSplit:
    """Hold back some nodes: a share of all (`new` below 1) or a count.

    `by="random"`: any. `by="time"`: the latest by `times` ({node: number}, or a number for each node), equals in
    random order, or all that are later than `after`, whatever `new` is. `by="walk"`: the rule of the DepthLGP paper:
    nodes with at least 1 and fewer than `max_degree` neighbors, as a random walk meets them; it starts again at a
    random one of those where it meets no further one for long.

    >>> split_nodes([(1, 2), (2, 3), (3, 4)], 1, by="time", times={1: 2001, 2: 1999, 3: 2015, 4: 2008})
    NodeSplit of Graph(4 nodes, 3 edges, undirected)
    new nodes 1; edges new-known 2; edges new-new 0; new nodes without a known neighbor 0
    protocol: new 1; by time; seed 0
    """
    whole = Graph.of(graph)
    check_choice(NEW_NODES_BY, by=by)
    if (times is not None or after is not None) and by != "time":
        raise InputError(f"times= and after= are for by='time', not by={by!r}")
    protocol: dict[str, Any] = {"new": new, "by": by, "seed": seed}
    if after is not None:
        rows = np.flatnonzero(_times(times, whole) > after)
        protocol = {"after": after, "by": by}
        _check_some(len(rows), whole.n_nodes, f"after={after:g}")
    else:
        count = _count(new, whole.n_nodes)
        rng = np.random.default_rng(seed)
        if by == "random":
            rows = rng.choice(whole.n_nodes, count, replace=False)
        elif by == "time":
            rows = np.lexsort((rng.random(whole.n_nodes), _times(times, whole)))[-count:]
        else:
            rows = _walked(links(whole, directed=False, weights=False, loops="drop"), count, max_degree, rng)
            protocol["max_degree"] = max_degree
    rows = np.sort(rows).astype(np.int64)
    known = np.delete(np.arange(whole.n_nodes), rows)
    return NodeSplit(whole.subgraph(known), whole, rows, protocol)


def _count(new: Any, n: int) -> int:
    number = float(new) if is_number(new) else 0.0
    if not number > 0 or (number >= 1 and not number.is_integer()):
        raise InputError(f"new={new!r} is neither a share of the nodes between 0 and 1 nor a count of them")
    count = round(number * n) if number < 1 else int(number)
    _check_some(count, n, f"new={number:g}")
    return count


def _check_some(count: int, n: int, what: str) -> None:
    if not 0 < count < n:
        raise InputError(f"{what} makes {count:,} of {n:,} nodes new; some must be new and some known")


def _times(times: Any, graph: Graph) -> npt.NDArray[np.float64]:
    """A time for each node, in order."""
    if times is None:
        raise InputError("by='time' needs times=: a mapping of node to number, or a number for each node")
    if isinstance(times, Mapping):
        missing = next((x for x in graph.nodes if x not in times), None)
        if missing is not None:
            raise InputError(f"times has nothing for the node {missing!r}; every node needs a time")
        times = [times[x] for x in graph.nodes]
    try:
        values = np.asarray(times, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError("times holds something that is no number; give years, days or seconds") from None
    if values.shape != (graph.n_nodes,):
        raise InputError(f"times has the shape {values.shape}; it needs a number for each of {graph.n_nodes:,} nodes")
    if np.isnan(values).any():
        raise InputError(f"the time of the node {graph.nodes[int(np.argmax(np.isnan(values)))]!r} is not a number")
    return values


def _walked(links: sparse.csr_array, count: int, max_degree: int, rng: np.random.Generator) -> Ints:
    """The first `count` nodes of low degree that a random walk meets."""
    degrees = np.diff(links.indptr)
    wanted = (degrees > 0) & (degrees < max_degree)
    if wanted.sum() < count:
        raise InputError(
            f"{int(wanted.sum()):,} nodes have 1 to {max_degree - 1} neighbors and {count:,} are to be new; "
            "ask for fewer, or raise max_degree"
        )
    idle, at = _PATIENCE, -1
    for _ in range(count):
        while at < 0 or not wanted[at]:
            if idle >= _PATIENCE:
                at, idle = int(rng.choice(np.flatnonzero(wanted))), 0
            else:
                at, idle = int(rng.choice(links.indices[links.indptr[at] : links.indptr[at + 1]])), idle + 1
        wanted[at], idle = False, 0
    return np.flatnonzero((degrees > 0) & (degrees < max_degree) & ~wanted)


@dataclass(frozen=True, eq=False, repr=False)
class EdgeSplit:
    """A training graph, and the edges that were held out from it."""

    train: Graph
    """All nodes, and the edges that are left."""
    test: Pairs
    """m x 2 positions of the held-out edges; an undirected edge once, the lower position first."""
    whole: Graph
    """The graph before anything was held out."""
    protocol: Mapping[str, Any]
    """How the held-out edges were chosen."""

    @staticmethod
    def of(train: Any, test: Any) -> EdgeSplit:
        """A split that somebody else made: a training graph, and a graph (or edges) of test edges among its nodes.

        Test edges that are in the training graph too, and self-loops, are left out and counted in the protocol.

        >>> EdgeSplit.of([("a", "b"), ("b", "c")], [("a", "c"), ("b", "a")]).protocol
        {'split': 'given', 'test edges left out (in training)': 1, 'test edges left out (self-loops)': 0}
        """
        known = Graph.of(train)
        test_graph = test if isinstance(test, Graph) else Graph.from_edges(test, directed=known.directed)
        if test_graph.directed != known.directed:
            raise InputError("one of the training and the test edges is directed; both are, or none is")
        pairs = known.positions(test_graph.nodes)[edge_pairs(test_graph)]
        keys, taken = (keys_of(x, known.n_nodes, directed=known.directed) for x in (pairs, edge_pairs(known)))
        test = pairs_of(np.setdiff1d(keys, taken), known.n_nodes)
        if not len(test):
            raise InputError(f"none of the {len(pairs):,} test edges is new to the training graph; give held-out edges")
        facts = {
            "split": "given",
            "test edges left out (in training)": len(pairs) - len(test),
            "test edges left out (self-loops)": test_graph.n_self_loops,
        }
        return EdgeSplit(known, test, with_pairs(known, test), facts)

    @cached_property
    def figures(self) -> dict[str, int]:
        """How many test edges there are, how many nodes they left without any, how many cross training components."""
        before, after = (neighbor_counts(x) > 0 for x in (self.whole, self.train))
        component = connected_components(self.train.adjacency, directed=True, connection="weak")[1]
        return {
            "test edges": len(self.test),
            "isolated nodes made": int((before & ~after).sum()),
            "test edges across components": int(np.diff(component[self.test], axis=1).astype(bool).sum()),
        }

    def __repr__(self) -> str:
        return f"EdgeSplit of {self.whole}\n{facts_in_words(self.figures)}\nprotocol: {facts_in_words(self.protocol)}"


@renamed(hidden="held_out")
def split_edges(
    graph: Any, held_out: float = 0.2, *, by: str = "random", keep: str = "none", seed: int = 0
) -> EdgeSplit:
    """Hold out a share of the edges between two different nodes: random ones, or with `by="time"` the latest.

    Times are those of the graph (`graph.times`, from the time column of its table); equals are in random order.

    `keep="none"` holds out any; `keep="connected"` never those of a random spanning forest, so that no test edge
    crosses components of the training graph and no node loses all of its edges. Self-loops are never held out, weights
    are kept, and edges of a directed graph are held out one direction at a time (its components are the weak ones).

    >>> split_edges([(i, (i + 1) % 50) for i in range(50)], 0.02, keep="connected")
    EdgeSplit of Graph(50 nodes, 50 edges, undirected)
    test edges 1; isolated nodes made 0; test edges across components 0
    protocol: held out 0.02; keep connected; seed 0
    """
    whole = Graph.of(graph)
    check_choice(KEEP, keep=keep)
    check_choice(EDGES_BY, by=by)
    if not is_between(held_out, 0, 1):
        raise InputError(f"held_out={held_out!r} is no share of the edges; give a number between 0 and 1")
    edges = edge_pairs(whole)
    count = round(held_out * len(edges))
    if not 0 < count < len(edges):
        what = f"held_out={held_out:g} holds out {count:,} of {len(edges):,} edges"
        raise InputError(f"{what}; hold out some, and leave some")
    rng = np.random.default_rng(seed)
    free = np.arange(len(edges))
    if keep == "connected":
        free = np.delete(free, _forest(edges, whole.n_nodes, rng))
        if count > len(free):
            most = np.floor(1000 * len(free) / len(edges)) / 1000
            raise InputError(
                f"held_out={held_out:g} holds out {count:,} edges, and only {len(free):,} can be held out with "
                f"keep='connected'; hold out at most {most:g}, or use keep='none'"
            )
    chosen = rng.choice(free, count, replace=False) if by == "random" else _latest(whole, free, count, rng)
    test = edges[np.sort(chosen)]
    protocol = {"held out": float(held_out), **({} if by == "random" else {"by": by}), "keep": keep, "seed": seed}
    return EdgeSplit(without_pairs(whole, test), test, whole, protocol)


def _latest(graph: Graph, free: Ints, count: int, rng: np.random.Generator) -> Ints:
    """The latest of these edges."""
    times = pair_times(graph)
    if times is None:
        raise InputError("by='time' needs edges with times; read them with a time column (time=, --time)")
    if np.isnan(times).any():
        raise InputError(
            f"{counted(int(np.isnan(times).sum()), 'edge has', 'edges have')} no time; by='time' needs one for each"
        )
    return free[np.lexsort((rng.random(len(free)), times[free]))[-count:]]


def _forest(edges: Pairs, n: int, rng: np.random.Generator) -> npt.NDArray[np.int64]:
    """Which edges make a random spanning forest: the minimal one under a random order of the edges."""
    order = rng.permutation(len(edges))
    _, first = np.unique(keys_of(edges[order], n, directed=False), return_index=True)  # of two directions, one
    u, v = edges[order[first]].T
    tree = minimum_spanning_tree(sparse.csr_array((first + 1.0, (u, v)), shape=(n, n)))  # 0 would be no edge
    return order[tree.data.astype(np.int64) - 1]
