"""Nodes by a number: few ranges of it, each with about as many nodes, which a picture colours from light to dark."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from netfold.evaluate.centralities import core_numbers, degree
from netfold.graph import Graph

__all__ = ["Range", "by_core", "by_degree"]

_MOST = 5
"""As many shades of a scale as are told apart at a glance."""

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, order=True)
class Range:
    """The numbers from `low` to `high`, both included, as a kind of node; kinds like this have an order.

    >>> print(Range(4, 9, "degree"), Range(1, 1, "core"), sep=" | ")
    degree 4-9 | core 1
    """

    low: int
    high: int
    measure: str

    def __str__(self) -> str:
        return f"{self.measure} {self.low:,}" + (f"-{self.high:,}" if self.high > self.low else "")


def by_degree(graph: Any) -> dict[Any, Range]:
    """Each node's range of the degree, for the `colors` of a map: at most five, with about as many nodes each.

    A degree is the number of links to others, of both directions together; weights are not read.

    >>> star = by_degree([("hub", leaf) for leaf in "abc"])
    >>> str(star["hub"]), str(star["a"])
    ('degree 3', 'degree 1')
    """
    known = Graph.of(graph)
    return _in_ranges("degree", known, degree(known) * max(known.n_nodes - 1, 1))


def by_core(graph: Any) -> dict[Any, Range]:
    """Each node's range of core numbers (`evaluate.centralities.core_numbers`), otherwise as `by_degree`.

    >>> triangle = by_core([("a", "b"), ("b", "c"), ("c", "a"), ("c", "tail")])
    >>> str(triangle["c"]), str(triangle["tail"])
    ('core 2', 'core 1')
    """
    known = Graph.of(graph)
    return _in_ranges("core", known, core_numbers(known))


def _in_ranges(measure: str, graph: Graph, values: npt.NDArray[np.float64]) -> dict[Any, Range]:
    numbers = np.rint(values).astype(np.int64)
    ranges = [Range(low, high, measure) for low, high in _bounds(numbers)]
    of_node = np.searchsorted([x.high for x in ranges], numbers)
    return {label: ranges[i] for label, i in zip(graph.nodes, of_node.tolist(), strict=True)}


def _bounds(numbers: Ints) -> list[tuple[int, int]]:
    """The least and the greatest number of each range.

    Each takes whole numbers until it has its share of the nodes that are left, as nearly as may be: where most nodes
    have the same number, the others still get ranges of their own, which plain quantiles would not give them.
    """
    distinct, counts = np.unique(numbers, return_counts=True)
    bounds: list[tuple[int, int]] = []
    for ranges_left in range(_MOST, 0, -1):
        if distinct.size:
            taken = int(np.abs(counts.cumsum() - counts.sum() / ranges_left).argmin()) + 1
            bounds.append((int(distinct[0]), int(distinct[taken - 1])))
            distinct, counts = distinct[taken:], counts[taken:]
    return bounds
