"""Small named hypergraphs that every model of hypergraphs must cope with; the names are those of `zoo`."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np

from netfold.data.graph import Graph
from netfold.data.hypergraph import Hypergraph


def tags() -> Hypergraph:
    """Users who like a genre give its films its tags: names that are strings, a film without any, a triple twice."""
    every = product(range(12), range(9), range(6))
    liked = [(f"user {u}", f"film {f}", f"tag {t}") for u, f, t in every if u % 3 == f % 3 == t % 3][::2]
    nodes = [f"{t} {i}" for t, n in (("user", 12), ("film", 10), ("tag", 6)) for i in range(n)]
    return Hypergraph([*liked, liked[0]], nodes, [name.split()[0] for name in nodes])


def facts() -> Hypergraph:
    """Two kinds: (head, relation, tail), where head and tail are of one type and not alike, and pairs that are."""
    rng = np.random.default_rng(2)
    heads = np.array([[*rng.choice(10, 2, replace=False), 10 + rng.integers(3)] for _ in range(40)])[:, [0, 2, 1]]
    pairs = np.array([rng.choice(10, 2, replace=False) for _ in range(20)])
    kinds = [
        (("head", "relation", "tail"), ("entity", "relation", "entity"), heads),
        (("entity", "entity_2"), ("entity", "entity"), pairs),
    ]
    return Hypergraph.from_kinds(kinds, nodes=range(13))


def papers() -> Hypergraph:
    """Authors in groups of five, together in twos, threes and fours: one type, in whatever order."""
    rng = np.random.default_rng(1)
    groups = [rng.permutation(5)[:size] + 5 * (i % 4) for i, size in enumerate([2] * 20 + [3] * 20 + [4] * 15)]
    return Hypergraph([group.tolist() for group in groups], range(20))


ZOO = {"tags": tags, "facts": facts, "papers": papers}
usual = papers


def grown(hypergraph: Hypergraph, like: Any) -> Hypergraph:
    """The hypergraph with a node `new` in tuples as a known one is."""
    (at,), new, kinds = hypergraph.nodes.positions([like]), hypergraph.n_nodes, []
    for kind in hypergraph.kinds:
        rows = kind.rows[(kind.rows == at).any(axis=1)]
        kinds.append((kind.roles, kind.types, np.concatenate([kind.rows, np.where(rows == at, new, rows)])))
    types = [*hypergraph.node_types, hypergraph.node_types[at]]
    return Hypergraph.from_kinds(kinds, nodes=[*hypergraph.nodes, "new"], node_types=types)


def shuffled(hypergraph: Hypergraph) -> Hypergraph:
    """The same tuples in another order, and so are the nodes in each."""
    rng = np.random.default_rng(0)
    edges = [hypergraph.edges[i] for i in rng.permutation(hypergraph.n_edges)]
    return Hypergraph([rng.permutation(edge).tolist() for edge in edges], hypergraph.nodes, hypergraph.node_types)


def renamed(hypergraph: Hypergraph) -> Hypergraph:
    """The same hypergraph, its nodes called otherwise."""
    names = [f"ñ {i}" for i in range(hypergraph.n_nodes)]
    return Hypergraph.from_kinds(hypergraph.kinds, nodes=names, node_types=hypergraph.node_types)


def foreign(hypergraph: Hypergraph) -> list[list[Any]]:
    """What a user may give instead."""
    return [list(edge) for edge in hypergraph.edges]


def contents(given: Any) -> Any:
    """All that fitting might have changed in one of these."""
    if isinstance(given, list):
        return repr(given)
    return given.nodes[:], given.type_codes.tobytes(), [kind.rows.tobytes() for kind in given.kinds]


BAD = {
    "no edges": (Hypergraph([], ["a", "b"]), "no hyperedges"),
    "one node": ([("a",)], "fewer than two"),
    "a graph": (Graph.from_edges([("a", "b")]), "reads a Hypergraph, not a Graph"),
    "a file": ("tags.csv", "tags.csv: there is no such file"),
    "a number": (17, "not an int"),
}
"""What no model of hypergraphs can embed, and a word of the sentence that says so."""
