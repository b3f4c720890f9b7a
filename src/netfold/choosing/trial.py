"""The candidates of a choice, fitted to a part of the data that is small enough to wait for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from netfold.comparison import Comparison, compare
from netfold.comparison.contenders import model_named
from netfold.errors import InputError
from netfold.graph import Graph
from netfold.hypergraph import Hypergraph

if TYPE_CHECKING:
    from netfold.choosing.choice import Choice

__all__ = ["neighborhood", "trial"]

_TASKS = {
    "near": ("reconstruction",),
    "link": ("link_prediction",),
    "classify": ("classification",),
    "roles": ("roles",),
    "new-nodes": ("out_of_sample",),
    "uncertainty": ("calibration", "link_prediction"),
}


def trial(
    choice: Choice, data: Any, labels: Mapping[Any, Any] | None, nodes: int, *, progress: bool = True
) -> Comparison:
    """Compare the choice with the others of its rule and the cheap baselines, on at most so many nodes."""
    if not isinstance(nodes, int) or nodes < 10:
        raise InputError(f"nodes={nodes!r} is no part to try models on; give a whole number of at least 10")
    whole = data if isinstance(data, Hypergraph) else Graph.of(data)
    part = neighborhood(whole, nodes, choice.seed)
    some = None if labels is None else {node: labels[node] for node in part.nodes if node in labels}
    others = [model_named(name, seed=choice.seed) for name in choice.rule.others]
    tasks = _tasks(choice.task, whole, labels)
    return compare([choice.model, *others], part, tasks, labels=some, seed=choice.seed, progress=progress)


def _tasks(task: str, data: Any, labels: Any) -> tuple[str, ...]:
    if isinstance(data, Hypergraph) and not (task == "classify" and labels is not None):
        return ("hyperedges",)
    if task == "roles" and labels is None:
        return ("centrality", "regular_equivalence")
    if task == "classify" and labels is None:
        raise InputError("to try models on classes, the classes of nodes are needed; give labels (--labels FILE)")
    return _TASKS[task]


def neighborhood(data: Graph | Hypergraph, nodes: int, seed: int = 0) -> Any:
    """The part of the data among at most so many nodes: those nearest to random ones, step by step.

    >>> neighborhood(Graph.from_edges([(i, i + 1) for i in range(100)]), 10)
    Graph(10 nodes, 9 edges, undirected)
    """
    if nodes >= data.n_nodes:
        return data
    if isinstance(data, Hypergraph):
        from netfold.expansions import clique_expansion

        return _within(data, _reached(clique_expansion(data), nodes, seed))
    return data.subgraph(_reached(data, nodes, seed))


def _reached(graph: Graph, nodes: int, seed: int) -> npt.NDArray[np.int64]:
    """Breadth first from random nodes that have a link, each start exhausted before the next."""
    from netfold.evaluate.edges import linked

    links, rng = linked(graph), np.random.default_rng(seed)
    seen, found = np.zeros(graph.n_nodes, dtype=bool), np.zeros(0, np.int64)
    for start in rng.permutation(np.flatnonzero(np.diff(links.indptr))):
        front = np.array([start]) if not seen[start] else np.zeros(0, np.int64)
        while len(front) and len(found) < nodes:
            front = front[: nodes - len(found)]
            seen[front] = True
            found = np.concatenate([found, front])
            near = np.unique(links[front].indices)
            front = rng.permutation(near[~seen[near]])
        if len(found) >= nodes:
            break
    return np.sort(found)


def _within(data: Hypergraph, rows: npt.NDArray[np.int64]) -> Hypergraph:
    """The hyperedges whose nodes are all among these rows."""
    kinds = []
    for kind in data.kinds:
        inside = np.isin(kind.rows, rows).all(axis=1)
        kinds.append((kind.roles, kind.types, np.searchsorted(rows, kind.rows[inside])))
    codes = np.asarray(data.type_codes)[rows]
    return Hypergraph.from_kinds(kinds, nodes=data.nodes.take(rows), node_types=codes, types=data.types)
