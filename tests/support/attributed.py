"""Small graphs whose nodes have attributes of every kind, some of them missing."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
from scipy import sparse

from netfold.data.attributes import Attributes, Column
from netfold.data.graph import Graph
from netfold.data.scaling import Scaling

__all__ = ["attributed", "cold", "dense_columns", "linked_groups", "sparse_columns", "turned"]


def sparse_columns(n: int, *, words: int = 60, seed: int = 0) -> Attributes:
    """Words (60: wide), a category of 3 (narrow) and a number; each is missing for some nodes."""
    rng = np.random.default_rng(seed)
    missing = rng.random(n) < 0.2
    matrix = sparse.random_array((n, words), density=0.15, rng=rng).tolil()
    matrix[np.flatnonzero(missing)] = 0
    group = np.where(rng.random(n) < 0.2, -1, np.arange(n) % 3)
    year = np.where(rng.random(n) < 0.3, np.nan, rng.normal(1990, 8, n))
    return Attributes(
        (
            Column("words", "words", matrix.tocsr(), tuple(f"w{i}" for i in range(words)), missing),
            Column("group", "category", group, ("a", "b", "c")),
            Column("year", "number", year),
        )
    )


def dense_columns(n: int, *, seed: int = 0) -> Attributes:
    """A vector of 7 and a number, each missing for some nodes."""
    rng = np.random.default_rng(seed)
    text = rng.normal(size=(n, 7))
    text[rng.random(n) < 0.2] = np.nan
    return Attributes(
        (
            Column("text", "vector", text),
            Column("year", "number", np.where(rng.random(n) < 0.3, np.nan, rng.normal(size=n))),
        )
    )


def attributed(graph: Graph, attributes: Attributes | None) -> Graph:
    """The graph with these attributes, or with none."""
    return dataclasses.replace(graph, attributes=attributes)


def linked_groups(n: int = 60, *, seed: int = 0, **more: Any) -> Graph:
    """Two groups whose members are linked among themselves, and share words."""
    rng = np.random.default_rng(seed)
    group = np.arange(n) % 2
    same = group[:, None] == group
    dense = np.triu(rng.random((n, n)) < np.where(same, 0.3, 0.02), 1)
    words = rng.random((n, 20)) < np.where((np.arange(20) < 10) == group[:, None], 0.5, 0.05)
    column = Column("words", "words", sparse.csr_array(words.astype(np.float32)), tuple(f"w{i}" for i in range(20)))
    links = sparse.csr_array((dense | dense.T).astype(np.float32))
    return Graph(links, range(n), directed=False, attributes=Attributes((column,)), **more)


def cold(graph: Graph, rows: Any, names: Any) -> Graph:
    """Nodes of these names without any link, that have the attributes of some rows of a graph."""
    assert graph.attributes is not None
    m = len(names)
    empty = sparse.csr_array((m, m), dtype=np.float32)
    return Graph(empty, names, directed=graph.directed, attributes=graph.attributes.rows(rows))


def turned(attributes: Attributes) -> tuple[Attributes, list[list[int]]]:
    """The columns from last to first, and the words of each too.

    With, of each of these columns, where its numbers stand in the block of the attributes as they were.
    """
    slices = Scaling.fit(attributes).block(attributes).slices
    columns, orders = [], []
    for column, (start, stop) in zip(reversed(attributes.columns), reversed(slices), strict=True):
        order = list(range(start, stop))
        if column.kind == "words":
            values, names = column.values[:, ::-1], tuple(reversed(column.categories))
            column, order = Column(column.name, "words", values, names, ~column.known), order[::-1]
        columns.append(column)
        orders.append(order)
    return Attributes(tuple(columns)), orders
