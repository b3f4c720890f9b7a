"""How good an embedding is: plain functions over values, each with its figures and the protocol it used."""

from __future__ import annotations

import numbers
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from scipy import sparse
from torch import Tensor

from netfold.errors import InputError
from netfold.graph import Graph

__all__ = ["Result", "reconstruction"]

_SCORES = ("dot", "cosine", "distance", "decoder")
_BLOCK_NUMBERS = 1 << 24
"""Scores that are alive at a time."""


@dataclass(frozen=True)
class Result:
    """What was measured, and how."""

    figures: dict[str, float]
    protocol: dict[str, Any] = field(default_factory=dict)

    def __repr__(self) -> str:
        return "Result(" + ", ".join(f"{k} {v:.4f}" for k, v in self.figures.items()) + ")"


def reconstruction(
    model: Any,
    graph: Any,
    *,
    score: str = "cosine",
    k: Sequence[int] = (100, 1000, 10_000),
    seed: int = 0,
    nodes: int = 20_000,
) -> Result:
    """How well an embedding gives back the graph that it was learned from.

    MAP: for each node with neighbors, all others are ranked by score, and AP = Σ_j precision@j Δ(j) / |neighbors|;
    the mean over nodes. precision@k: one global ranking of ordered pairs. A node is never paired with itself.

    `score`: `dot`, `cosine`, `distance` (minus the Euclidean distance in `coordinates`) or `decoder` (the model's own
    reconstruction). Blocks of rows at a time; above `nodes` nodes, MAP is over that many random ones.

    >>> from netfold.embedding import Embedding
    >>> graph = Graph.from_edges([("a", "b"), ("c", "d")])
    >>> reconstruction(Embedding("abcd", [[1, 0], [1, 0], [0, 1], [0, 1]]), graph, k=[4])
    Result(MAP 1.0000, precision@4 1.0000)
    """
    known = Graph.of(graph)
    if known.n_edges == known.n_self_loops:
        raise InputError("the graph has no edges between two nodes; there is nothing to give back")
    _check_counts(k, nodes)
    scorer = _scorer(model, known, score)
    rows = np.arange(known.n_nodes)
    if known.n_nodes > nodes:
        rows = np.sort(np.random.default_rng(seed).choice(known.n_nodes, nodes, replace=False))
    precisions, best = [], _Best(max(k))
    for block in _blocks(rows, known.n_nodes):
        scores = scorer(block)
        scores[torch.arange(len(block)), torch.from_numpy(block)] = -torch.inf
        linked = _linked(known, block)
        precisions.append(average_precision(scores, linked))
        best.add(scores, linked)
    hits = best.hits()
    figures = {"MAP": float(torch.cat(precisions).mean())}
    whole = len(rows) == known.n_nodes  # a global ranking needs all pairs
    figures |= {f"precision@{x}": float(hits[:x].double().mean()) for x in k if whole and x <= len(hits)}
    protocol = {
        "task": "reconstruction",
        "score": score,
        "ranked": "all ordered pairs but the diagonal",
        "nodes": len(rows),
    }
    return Result(figures, protocol)


def average_precision(scores: Tensor, linked: Tensor) -> Tensor:
    """AP of each row that has any link: Σ_j precision@j Δ(j) / Σ_j Δ(j), ties in the order of columns."""
    some = linked.any(1)
    hit = linked[some].gather(1, scores[some].argsort(dim=1, descending=True, stable=True))
    place = torch.arange(1, hit.shape[1] + 1)
    return ((hit.cumsum(1) / place) * hit).sum(1, dtype=torch.float64) / hit.sum(1)


def _check_counts(k: Sequence[int], nodes: int) -> None:
    if not k or not all(isinstance(x, numbers.Integral) and x > 0 for x in (*k, nodes)):
        raise InputError(f"k={list(k)} and nodes={nodes} are whole numbers of at least 1")


class _Best:
    """The k best pairs seen so far, and whether each is a link."""

    def __init__(self, k: int):
        self._k = k
        self._scores, self._linked = torch.empty(0), torch.empty(0, dtype=torch.bool)

    def add(self, scores: Tensor, linked: Tensor) -> None:
        flat = scores.flatten()
        limit = flat.topk(min(self._k, len(flat))).values[-1]
        at = torch.nonzero(flat >= limit)[:, 0]  # all that tie there: `topk` alone would pick any of them
        scores = torch.cat([self._scores, flat[at]])
        linked = torch.cat([self._linked, linked.flatten()[at]])
        order = scores.argsort(descending=True, stable=True)[: self._k]
        self._scores, self._linked = scores[order], linked[order]

    def hits(self) -> Tensor:
        return self._linked[self._scores > -torch.inf]


def _scorer(model: Any, graph: Graph, score: str) -> Callable[[npt.NDArray[np.int64]], Tensor]:
    """A function of rows that gives their scores against all nodes, in the graph's order.

    Computed in float64 and rounded afterwards, so that equal vectors tie whichever block they are in.
    """
    if score not in _SCORES:
        raise InputError(f"score={score!r} is not one of {', '.join(_SCORES)}")
    if score == "decoder":
        return _decoder(model, graph)
    embedding = getattr(model, "embedding_", model)
    at = embedding.nodes.positions(graph.nodes)
    vectors = torch.tensor((embedding.coordinates if score == "distance" else embedding.vectors)[at]).double()
    if score == "distance":
        return lambda rows: -torch.cdist(vectors[rows], vectors).float()
    if score == "cosine":
        vectors = torch.nn.functional.normalize(vectors)
    return lambda rows: (vectors[rows] @ vectors.T).float()


def _decoder(model: Any, graph: Graph) -> Callable[[npt.NDArray[np.int64]], Tensor]:
    """The model's own scores, which come in the order of the nodes that it was fitted to."""
    if not hasattr(model, "reconstruct"):
        raise InputError(f"{type(model).__name__} has no decoder; score by dot, cosine or distance")
    nodes = model.embedding_.nodes
    at = nodes.positions(graph.nodes)
    if len(nodes) == graph.n_nodes and np.array_equal(at, np.arange(len(nodes))):
        return lambda rows: torch.from_numpy(model.reconstruct(graph, rows))
    links = graph.adjacency.tocoo()
    ends = (at[links.coords[0]], at[links.coords[1]])
    over = sparse.csr_array((links.data, ends), shape=(len(nodes), len(nodes)))
    seen = Graph(over, nodes, directed=graph.directed)
    return lambda rows: torch.from_numpy(model.reconstruct(seen, at[rows])[:, at])


def _blocks(rows: npt.NDArray[np.int64], n: int) -> Iterator[npt.NDArray[np.int64]]:
    size = max(1, min(_BLOCK_NUMBERS // n, -(-n // 2)))  # never all rows at once
    for start in range(0, len(rows), size):
        yield rows[start : start + size]


def _linked(graph: Graph, rows: npt.NDArray[np.int64]) -> Tensor:
    linked = torch.zeros(len(rows), graph.n_nodes, dtype=torch.bool)
    picked = graph.adjacency[rows].tocoo()
    linked[torch.from_numpy(picked.coords[0].astype(np.int64)), torch.from_numpy(picked.coords[1].astype(np.int64))] = (
        True
    )
    linked[torch.arange(len(rows)), torch.from_numpy(rows)] = False
    return linked
