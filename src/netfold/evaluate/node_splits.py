"""Nodes of a graph held back, so that a model meets them after it was fitted."""

from __future__ import annotations

import numbers
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from netfold.errors import InputError
from netfold.evaluate.checks import check_choice
from netfold.evaluate.edges import edge_pairs, linked
from netfold.evaluate.result import facts_in_words
from netfold.graph import Graph

__all__ = ["NodeSplit", "split_nodes"]

_BY = ("random", "time", "walk")
_PATIENCE = 1000
"""Steps of a walk that meet no node of use before it starts elsewhere."""

Rows = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False, repr=False)
class NodeSplit:
    """A graph, the nodes of it that count as new, and the graph among the others."""

    known: Graph
    """The nodes that are not new and the edges among them."""
    whole: Graph
    new: Rows
    """Positions in `whole`, in increasing order."""
    protocol: Mapping[str, Any]
    """How the new nodes were chosen."""

    @cached_property
    def figures(self) -> dict[str, int]:
        """How many nodes are new, how they are linked, and how many of them to no known node."""
        is_new = np.zeros(self.whole.n_nodes, dtype=bool)
        is_new[self.new] = True
        ends = is_new[edge_pairs(self.whole)]
        to_known = linked(self.whole)[self.new] @ ~is_new
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

    `by="random"`: any. `by="time"`: the latest by `times` ({label: number}, or a number for each node), equals in
    random order, or all that are later than `after`, whatever `new` is. `by="walk"`: the rule of the DepthLGP paper:
    nodes with at least 1 and fewer than `max_degree` neighbors, as a random walk meets them; it starts again at a
    random one of those where it meets no further one for long.

    >>> split_nodes([(1, 2), (2, 3), (3, 4)], 1, by="time", times={1: 2001, 2: 1999, 3: 2015, 4: 2008})
    NodeSplit of Graph(4 nodes, 3 edges, undirected)
    new nodes 1; edges new-known 2; edges new-new 0; new nodes without a known neighbor 0
    protocol: new 1; by time; seed 0
    """
    whole = Graph.of(graph)
    check_choice(_BY, by=by)
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
            rows = _walked(linked(whole), count, max_degree, rng)
            protocol["max_degree"] = max_degree
    rows = np.sort(rows).astype(np.int64)
    known = np.delete(np.arange(whole.n_nodes), rows)
    return NodeSplit(whole.subgraph(known), whole, rows, protocol)


def _count(new: Any, n: int) -> int:
    asked = float(new) if isinstance(new, numbers.Real) else 0.0
    if not asked > 0 or (asked >= 1 and not asked.is_integer()):
        raise InputError(f"new={new!r} is neither a share of the nodes between 0 and 1 nor a count of them")
    count = round(asked * n) if asked < 1 else int(asked)
    _check_some(count, n, f"new={asked:g}")
    return count


def _check_some(count: int, n: int, what: str) -> None:
    if not 0 < count < n:
        raise InputError(f"{what} makes {count:,} of {n:,} nodes new; some must be new and some known")


def _times(times: Any, graph: Graph) -> npt.NDArray[np.float64]:
    """A time for each node, in order."""
    if times is None:
        raise InputError("by='time' needs times=: a mapping of label to number, or a number for each node")
    if isinstance(times, Mapping):
        missing = next((x for x in graph.nodes if x not in times), None)
        if missing is not None:
            raise InputError(f"times has nothing for the node {missing!r}; every node needs a time")
        times = [times[x] for x in graph.nodes]
    try:
        made = np.asarray(times, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError("times holds something that is no number; give years, days or seconds") from None
    if made.shape != (graph.n_nodes,):
        raise InputError(f"times has the shape {made.shape}; it needs a number for each of {graph.n_nodes:,} nodes")
    if np.isnan(made).any():
        raise InputError(f"the time of the node {graph.nodes[int(np.argmax(np.isnan(made)))]!r} is not a number")
    return made


def _walked(links: sparse.csr_array, count: int, max_degree: int, rng: np.random.Generator) -> Rows:
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
