"""Hypergraphs that the tests of several files use."""

from __future__ import annotations

from hypothesis import strategies as st

from netfold.data.hypergraph import Hypergraph

HYPEREDGES = st.lists(st.lists(st.integers(0, 8), min_size=2, max_size=5, unique=True).map(tuple), max_size=12)
"""Of the nodes 0 to 8."""

ROLES = ("head", "relation", "tail")
TYPES = ("entity", "relation", "entity")


def triples() -> Hypergraph:
    """Kinds with roles of their own, names that are tuples, a node in no edge."""
    nodes = [("entity", "a"), ("entity", 7), ("relation", "é"), ("entity", "lone")]
    kinds = [
        (ROLES, TYPES, [[0, 2, 1], [1, 2, 0], [0, 2, 1]]),
        (("entity", "relation"), ("entity", "relation"), [[1, 2]]),
    ]
    return Hypergraph.from_kinds(kinds, nodes=nodes, node_types=[name for name, _ in nodes])
