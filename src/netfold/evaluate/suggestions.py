"""`suggest`: the pairs of nodes that have no link and the best scores, of all pairs, a block of rows at a time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from netfold.data.checks import Ints, check_at_least_one
from netfold.data.graph import Graph
from netfold.data.nodes import Nodes
from netfold.data.text import listed
from netfold.errors import InputError
from netfold.evaluate.pairs import PairScores, blocks, finite
from netfold.evaluate.result import embedding_of
from netfold.evaluate.scores import own_score, pair_scores

__all__ = ["suggest", "suggested_by"]

Suggestion = tuple[Any, Any, float]
"""Two nodes, and the score of their pair."""


def suggest(
    model: Any,
    graph: Any,
    k: int = 1000,
    *,
    node: Any = None,
    score: str | None = None,
    on_rows: Callable[[int, int], object] | None = None,
) -> list[Suggestion]:
    """The k best pairs of the model's nodes that `graph` does not link: (node, node, score), the best first.

    Of an undirected graph a pair is there once; of a directed one both directions are scored, (from, to). Where the
    graph is bipartite (`Graph.sides`), only pairs between its sides are suggested. With `node`, pairs of that node, it
    being named first unless the edge would lead to it. `score` is one of `pair_scores`, by default the model's own
    (`suggested_by`). Of equal scores, the pair of the earlier nodes comes first.

    Every pair is scored, blocks of rows at a time: the memory is bounded, the time grows with the square of the nodes.
    `on_rows` is told how many rows of how many are done.

    >>> from netfold.data.embedding import Embedding
    >>> vectors = Embedding("abcd", [[1, 0], [1, 0.1], [0.9, 0.1], [0, 1]])
    >>> [(u, v) for u, v, _ in suggest(vectors, [("a", "b"), ("c", "d")], k=2)]
    [('b', 'c'), ('a', 'c')]
    """
    check_at_least_one(k=k)
    if getattr(model, "reads", "graph") != "graph":
        raise InputError(f"{type(model).__name__} scores tuples, not pairs; complete (netfold complete) says what fits")
    nodes = embedding_of(model).nodes
    known = _over(nodes, Graph.of(graph))
    scores = pair_scores(model, known, score or suggested_by(model))
    best = _Best(k)
    if node is not None:
        _of_node(best, scores, known, int(nodes.positions([node])[0]))
    else:
        _of_all(best, scores, known, on_rows)
    u, v, values = best.ordered(known.n_nodes)
    return [(nodes[a], nodes[b], x) for a, b, x in zip(u.tolist(), v.tolist(), values.tolist(), strict=True)]


def suggested_by(model: Any) -> str:
    """The score that pairs are suggested by: the one that the model keeps (`pair_score_`), or else its own."""
    chosen = getattr(model, "pair_score_", None)
    return own_score(model) if chosen in (None, "decoder") else str(chosen)


def _over(nodes: Nodes, graph: Graph) -> Graph:
    """The graph's links among all nodes that a model knows; a node that it does not know cannot be scored."""
    at = nodes.find(graph.nodes)
    unknown = np.flatnonzero(at < 0)
    if len(unknown):
        names = listed([graph.nodes[i] for i in unknown])
        raise InputError(f"{names}: the model has no vector; leave such edges out, or fit it to this graph")
    if len(nodes) == graph.n_nodes and np.array_equal(at, np.arange(len(nodes))):
        return graph
    entries = graph.adjacency.tocoo()
    ends = (at[entries.coords[0]], at[entries.coords[1]])
    over = sparse.csr_array((entries.data, ends), shape=(len(nodes), len(nodes)))
    known = None if graph.attributes is None else graph.attributes.aligned(graph.nodes, nodes)
    return Graph(over, nodes, directed=graph.directed, attributes=known)


def _of_all(best: _Best, scores: PairScores, graph: Graph, on_rows: Callable[[int, int], object] | None) -> None:
    n, done = graph.n_nodes, 0
    for block in blocks(np.arange(n), n):
        values = finite(scores.rows(block))
        free = _unlinked(graph, block)
        if not graph.directed:
            free &= np.arange(n) > block[:, None]
        at = np.flatnonzero(free.ravel() & (values.ravel() >= best.limit))
        best.add(values.ravel()[at], at + int(block[0]) * n)
        done += len(block)
        if on_rows is not None:
            on_rows(done, n)


def _of_node(best: _Best, scores: PairScores, graph: Graph, row: int) -> None:
    """Pairs of one node: (node, other) and, where edges have directions, (other, node)."""
    n, block = graph.n_nodes, np.array([row])
    at = np.flatnonzero(_unlinked(graph, block)[0])
    best.add(finite(scores.rows(block))[0, at], at + row * n)
    if graph.directed:
        into = np.flatnonzero(_unlinked(_turned(graph), block)[0])
        best.add(finite(scores.at(into, np.full(len(into), row))), into * n + row)


def _turned(graph: Graph) -> Graph:
    return Graph(sparse.csr_array(graph.adjacency.T), graph.nodes, directed=True)


def _unlinked(graph: Graph, block: Ints) -> npt.NDArray[np.bool_]:
    """Which nodes each of some rows could get a link to: m x n."""
    free = np.ones((len(block), graph.n_nodes), bool)
    if graph.sides is not None:
        free = graph.sides[block, None] + graph.sides == 1  # -1 is no side
    free[np.arange(len(block)), block] = False
    i, j = graph.adjacency[block].tocoo().coords
    free[i, j] = False
    return free


class _Best:
    """The k best of the pairs that were added, by their keys u n + v; of equal scores those of the smaller keys."""

    def __init__(self, k: int):
        self._k = k
        self._scores, self._keys = np.empty(0, np.float32), np.empty(0, np.int64)
        self.limit = np.float32(-np.inf)
        """What a further pair must have at least."""

    def add(self, scores: npt.NDArray[np.float32], keys: Ints) -> None:
        self._scores = np.concatenate([self._scores, scores])
        self._keys = np.concatenate([self._keys, keys.astype(np.int64)])
        if len(self._scores) > self._k:
            self.limit = np.partition(self._scores, -self._k)[-self._k]
            above, equal = np.flatnonzero(self._scores > self.limit), np.flatnonzero(self._scores == self.limit)
            equal = equal[np.argsort(self._keys[equal], kind="stable")][: self._k - len(above)]
            chosen = np.concatenate([above, equal])
            self._scores, self._keys = self._scores[chosen], self._keys[chosen]

    def ordered(self, n: int) -> tuple[Ints, Ints, npt.NDArray[np.float32]]:
        """Both ends of each pair and its score, the best first."""
        order = np.lexsort((self._keys, -self._scores))
        return self._keys[order] // n, self._keys[order] % n, self._scores[order]
