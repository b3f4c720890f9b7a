"""`Kinds`: which colour each node has."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from netfold.data.embedding import Embedding
from netfold.data.graph import Graph
from netfold.data.hypergraph import Hypergraph
from netfold.data.text import counted, printable
from netfold.errors import InputError
from netfold.evaluate.centralities import core_numbers, degree

__all__ = ["Range", "by_attribute", "by_core", "by_degree"]


_LONGEST = 28


def named(embedding: Embedding, names: int | Iterable[Any], graph: Graph | Hypergraph | None) -> list[int]:
    """The rows of the nodes to name, the most important first."""
    if not isinstance(names, int):
        return [int(row) for row in embedding.nodes.positions(names)]
    if graph is None:
        weight: npt.NDArray[Any] = np.linalg.norm(embedding.vectors.astype(np.float64), axis=1)
    else:
        at = graph.nodes.find(embedding.nodes)
        weight = np.where(at >= 0, graph.degrees[at], 0) if graph.n_nodes else np.zeros(len(embedding))
    return [int(row) for row in np.argsort(-weight, kind="stable")[: max(names, 0)]]


def heading(model: Any, embedding: Embedding, deviations: float = 0) -> str:
    """What is drawn, for a picture without a title of its own."""
    made_by = "" if model is embedding else f"{type(getattr(model, 'model', model)).__name__} of "
    around = f", ellipses of {deviations:g} standard deviation{'s' * (deviations != 1)}" if deviations else ""
    return f"{made_by}{counted(len(embedding), 'node')} in {counted(embedding.dim, 'dimension')}{around}"


def caption(node: Any, *, typed: bool = False) -> str:
    """A node on one line, and not a long one; of (type, name) the name alone, where the colour tells the type."""
    if typed and isinstance(node, tuple) and len(node) == 2:
        node = node[1]
    text = printable("".join(" " if unicodedata.category(c).startswith(("Cc", "Z")) else c for c in str(node)))
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"


_MOST = 5
"""As many shades of a scale as are told apart at a glance."""


@dataclass(frozen=True, order=True)
class Range:
    """The numbers from `low` to `high`, both included, as a kind of node; kinds like this have an order.

    >>> print(Range(4, 9, "degree"), Range(1, 1, "core"), Range(1990, 2004, "year"), sep=" | ")
    degree 4-9 | core 1 | year 1990-2004
    """

    low: float
    high: float
    measure: str

    def __str__(self) -> str:
        low, high = (_as_text(x) for x in (self.low, self.high))
        return f"{printable(self.measure)} {low}" + (f"-{high}" if self.high > self.low else "")


def _as_text(x: float) -> str:
    """A number for a legend; up to four digits without a comma, which a year has not."""
    if not isinstance(x, int):
        return f"{x:,.4g}"
    return str(x) if abs(x) < 10_000 else f"{x:,}"


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


def by_attribute(graph: Graph | Hypergraph, name: str) -> dict[Any, Range | str]:
    """Each node's category of an attribute, or its range where it is a number; nodes of which it is missing are not in.

    >>> ring = Graph.from_edges([(1, 2), (2, 3)], attributes={1: {"age": 17}, 2: {"age": 71}, 3: {"age": None}})
    >>> {node: str(age) for node, age in by_attribute(ring, "age").items()}
    {1: 'age 17', 2: 'age 71'}
    """
    if graph.attributes is None:
        raise InputError(f"the graph has no attributes, and {name!r} is to be one; read them (attributes=)")
    column = graph.attributes[name]
    known = np.flatnonzero(column.known)
    nodes = [graph.nodes[i] for i in known.tolist()]
    if column.kind == "category":
        return dict(zip(nodes, (column.categories[code] for code in column.values[known].tolist()), strict=True))
    if column.kind != "number":
        raise InputError(f"{printable(name)} is of the kind {column.kind}; colours are of a number or a category")
    values = column.values[known].astype(np.float64)
    whole = bool(np.all(values == np.rint(values)) and np.all(np.abs(values) < 2**53))
    bounds = [(int(low), int(high)) if whole else (low, high) for low, high in _bounds(values)]
    ranges = [Range(low, high, name) for low, high in bounds]
    return {node: ranges[i] for node, i in zip(nodes, np.searchsorted([x.high for x in ranges], values), strict=True)}


def _in_ranges(measure: str, graph: Graph, values: npt.NDArray[np.float64]) -> dict[Any, Range]:
    numbers = np.rint(values).astype(np.int64)
    ranges = [Range(int(low), int(high), measure) for low, high in _bounds(numbers)]
    of_node = np.searchsorted([x.high for x in ranges], numbers)
    return {node: ranges[i] for node, i in zip(graph.nodes, of_node.tolist(), strict=True)}


def _bounds(numbers: npt.NDArray[Any]) -> list[tuple[float, float]]:
    """The least and the greatest number of each range.

    Each takes whole numbers until it has its share of the nodes that are left, as nearly as may be: where most nodes
    have the same number, the others still get ranges of their own, which plain quantiles would not give them.
    """
    distinct, counts = np.unique(numbers, return_counts=True)
    bounds: list[tuple[float, float]] = []
    for ranges_left in range(_MOST, 0, -1):
        if distinct.size:
            taken = int(np.abs(counts.cumsum() - counts.sum() / ranges_left).argmin()) + 1
            bounds.append((float(distinct[0]), float(distinct[taken - 1])))
            distinct, counts = distinct[taken:], counts[taken:]
    return bounds


_PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#8C6D1F")
"""Okabe and Ito's colours, told apart by colour-blind readers too; their yellow, too light for a dot, made brown."""
_SCALE = ("#FCA636", "#E16462", "#B12A90", "#6A00A8", "#0D0887")
"""Matplotlib's plasma without its yellow: the darker the more, in grey and to colour-blind readers too."""
REST = "#9A9A9A"


@dataclass(frozen=True)
class Kinds:
    """The kind of each node, which gives it its colour."""

    names: tuple[str, ...]
    """For a legend; the last is that of the rest, where there is one."""
    colors: tuple[str, ...]
    of_node: npt.NDArray[np.int64]
    """Positions in both."""

    @staticmethod
    def of(embedding: Embedding, colors: Mapping[Any, Hashable] | Sequence[Hashable] | None) -> Kinds:
        """The largest kinds, each with a colour, and the rest; all nodes alike where no kinds are given.

        Kinds that are ranges of a number come in their order, in shades of one scale.
        """
        if colors is None:
            return Kinds((), _PALETTE[:1], np.zeros(len(embedding), np.int64))
        listed = [colors.get(x) for x in embedding.nodes] if isinstance(colors, Mapping) else list(colors)
        if len(listed) != len(embedding):
            raise InputError(
                f"{len(listed):,} colors do not fit {len(embedding):,} nodes; give each its own, or a dict"
            )
        shades = _shades(Counter(x for x in listed if x is not None))
        if not shades:
            raise InputError(f"colors gives no node a kind; it should give it by node, as {embedding.nodes[0]!r}")
        place = {kind: i for i, kind in enumerate(shades)}
        of_node = np.array([place.get(x, len(shades)) for x in listed], np.int64)
        rest = ("others",) if (of_node == len(shades)).any() else ()
        return Kinds((*(caption(kind) for kind in shades), *rest), (*shades.values(), REST), of_node)


def _shades(count: Counter[Hashable]) -> dict[Hashable, str]:
    """The kinds that get a colour of their own, in the order of a legend."""
    ranges = sorted(kind for kind in count if isinstance(kind, Range))
    if count and len(ranges) == len(count):
        steps = np.linspace(0, len(_SCALE) - 1, len(ranges)).round().astype(int)
        return {kind: _SCALE[i] for kind, i in zip(ranges, steps, strict=True)}
    largest = (kind for kind, _ in count.most_common(len(_PALETTE)))
    return dict(zip(largest, _PALETTE, strict=False))
