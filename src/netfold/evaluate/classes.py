"""What a task knows of nodes: their classes as a matrix of yes and no, random splits of them, means over repeats."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from netfold.data.checks import Bools, Floats, Ints
from netfold.data.nodes import Nodes
from netfold.data.text import counted, type_in_words
from netfold.errors import InputError

__all__ = [
    "NodeClasses",
    "Split",
    "classes_of_nodes",
    "node_splits",
    "normalized",
    "percent",
]

Split = tuple[Ints, Ints]
"""The rows to learn from, and those to be asked about."""


@dataclass(frozen=True, eq=False)
class NodeClasses:
    """The classes of the nodes that have any.

    >>> classes = classes_of_nodes({"a": "red", "b": ["red", "blue"], "c": []}, Nodes.of("abc"))
    >>> classes.names, classes.indicator.tolist(), classes.without
    (['blue', 'red'], [[False, True], [True, True]], 1)
    """

    nodes: list[Any]
    """The nodes that have a class, in the order given."""
    names: list[Any]
    """Every class, in the order of its text."""
    indicator: Bools
    """nodes x classes: which node has which class."""
    without: int
    """How many other nodes there are."""

    @cached_property
    def codes(self) -> Ints:
        """The class of each node where it has one: its place among `names`."""
        return np.asarray(np.argmax(self.indicator, axis=1), np.int64)

    @cached_property
    def one_each(self) -> bool:
        """Whether every node has exactly one class."""
        return bool((self.indicator.sum(axis=1) == 1).all())

    def nodes_at(self, nodes: Nodes) -> Ints:
        """Where the nodes with a class are among others; -1 for those that are not."""
        return np.asarray(nodes.find(self.nodes), np.int64)

    @property
    def facts(self) -> dict[str, Any]:
        """What a protocol says of them."""
        facts = {"nodes with a class": len(self.nodes), "classes": len(self.names)}
        return facts | ({"nodes left out without a class": self.without} if self.without else {})


def classes_of_nodes(classes: Any, nodes: Nodes, *, one_each: bool = False) -> NodeClasses:
    """Read {node: class} or {node: collection of classes}; every node must be among `nodes`.

    A list, a set, a tuple or an array is a collection of classes; anything else is one class.
    """
    if not hasattr(classes, "items") or hasattr(classes, "columns"):
        table = hasattr(classes, "columns")
        how = "dict(zip(frame['node'], frame['class'])) makes one" if table else "nf.read_classes reads one from a file"
        words = "classes are a mapping {node: class or list of classes}"
        raise InputError(f"{words}, not {type_in_words(classes)}; {how}")
    of_node = {node: _classes_of(node, value) for node, value in classes.items()}
    nodes.positions(list(of_node))
    some = {node: own for node, own in of_node.items() if own}
    names = sorted({x for own in some.values() for x in own}, key=str)
    if min(len(some), len(names)) < 2:
        count = f"{counted(len(some), 'node')} with {counted(len(names), 'class', 'classes')} in all"
        raise InputError(f"classes give {count}; at least 2 nodes and 2 classes are needed")
    if len(some) == len(names) == sum(map(len, some.values())):
        raise InputError(
            f"each of the {len(some)} nodes has a class of its own, so that none can be learned from another"
        )
    if one_each and (several := [node for node, own in some.items() if len(own) > 1]):
        raise InputError(f"node {several[0]!r} has several classes; this task takes one class a node")
    return NodeClasses(list(some), names, _indicator(some.values(), names), len(nodes) - len(some))


def node_splits(n: int, train: float, repeats: int, seed: int) -> Iterator[Split]:
    """Random splits of 0..n-1: a part `train` to learn from and the rest, at least one row each.

    Splits of one seed are nested: what a smaller part learns from, a larger one does too.
    """
    rng, size = np.random.default_rng(seed), min(max(round(train * n), 1), n - 1)
    for _ in range(repeats):
        order = rng.permutation(n)
        yield order[:size], order[size:]


def normalized(vectors: Floats, how: str, learned: Ints | slice = slice(None)) -> Floats:
    """Rows of length 1 ("rows"), the same around the mean of the learned rows ("centred"), columns of mean 0 and
    deviation 1 over the learned rows ("columns"), or "none"."""
    if how == "centred":
        return normalized(vectors - vectors[learned].mean(axis=0), "rows")
    if how == "rows":
        length = np.linalg.norm(vectors, axis=1, keepdims=True)
        return np.asarray(vectors / np.where(length > 0, length, 1))
    if how == "columns":
        spread = vectors[learned].std(axis=0)
        return np.asarray((vectors - vectors[learned].mean(axis=0)) / np.where(spread > 0, spread, 1))
    return vectors


def percent(part: float) -> str:
    """A part in a figure's name.

    >>> percent(0.1), percent(0.015)
    ('10%', '1.5%')
    """
    return f"{100 * part:g}%"


def _indicator(classes: Any, names: list[Any]) -> Bools:
    place, of_nodes = {x: i for i, x in enumerate(names)}, list(classes)
    indicator = np.zeros((len(of_nodes), len(names)), bool)
    for i, own in enumerate(of_nodes):
        indicator[i, [place[x] for x in own]] = True
    return indicator


def _classes_of(node: Any, value: Any) -> set[Any]:
    several = isinstance(value, (list, tuple, set, frozenset, np.ndarray))
    try:
        classes = set(value) if several else {value}
    except TypeError:
        raise InputError(f"node {node!r} has a class that cannot be a key: {value!r}; use text or numbers") from None
    if any(x is None or (isinstance(x, float) and math.isnan(x)) for x in classes):
        raise InputError(f"node {node!r} has the class {value!r}; leave out the nodes that have none")
    return classes
