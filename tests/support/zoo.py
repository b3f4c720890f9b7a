"""Small named graphs that every model of graphs must cope with, and what can be done to them."""

from __future__ import annotations

from typing import Any

import networkx as nx
import numpy as np
from scipy import sparse

from netfold.data.embedding import Embedding
from netfold.data.graph import Graph
from netfold.data.hypergraph import Hypergraph


def karate() -> Graph:
    """34 people, weights taken away."""
    return Graph.from_edges(np.array(nx.karate_club_graph().edges), nodes=range(34))


def weighted() -> Graph:
    """Les Misérables: names, weights from 1 to 31."""
    return Graph.from_networkx(nx.les_miserables_graph())


def directed() -> Graph:
    """A random digraph with a sink (39) and a source (0)."""
    rng = np.random.default_rng(5)
    pairs = rng.integers(0, 40, (160, 2))
    pairs = pairs[(pairs[:, 0] != 39) & (pairs[:, 1] != 0)]
    return Graph.from_edges(np.concatenate([pairs, [[1, 39], [0, 2]]]), nodes=range(40), directed=True)


def scattered() -> Graph:
    """Three components, two isolated nodes, a self-loop, names of several alphabets."""
    rings = [(f"α{i}", f"α{(i + 1) % 7}") for i in range(7)] + [("日本", "中国"), ("日本", "日本")]
    star = [("hub", f"leaf {i}") for i in range(6)]
    nodes = dict.fromkeys(x for e in rings + star for x in e)
    return Graph.from_edges(rings + star, nodes=[*nodes, "alone", "also alone"])


ZOO = {"karate": karate, "weighted": weighted, "directed": directed, "scattered": scattered}
usual = karate


def grown(graph: Graph, like: Any) -> Graph:
    """The graph with a node `new` wired as a known one is."""
    nx_graph = graph.to_networkx()
    for _, b, w in list(nx_graph.edges(like, data="weight")):
        nx_graph.add_edge("new", b, weight=w)
    for a, _, w in list(nx_graph.in_edges(like, data="weight")) if graph.directed else []:
        nx_graph.add_edge(a, "new", weight=w)
    return Graph.from_networkx(nx_graph)


def shuffled(graph: Graph) -> Graph:
    """The same edges in another order, some turned around; nodes are integers."""
    edges = list(graph.to_networkx().edges)
    rng = np.random.default_rng(0)
    turned = [edges[i] if rng.random() < 0.5 else edges[i][::-1] for i in rng.permutation(len(edges))]
    return Graph.from_edges(turned)


def renamed(graph: Graph) -> Graph:
    """The same graph, its nodes called otherwise."""
    return Graph(graph.adjacency, Graph.from_edges([(f"ñ {i}", f"ñ {i}") for i in range(graph.n_nodes)]).nodes)


def vectors(graph: Graph, dim: int = 8) -> Embedding:
    """Vectors that linked nodes have alike: noise, averaged along edges, whatever the nodes are called."""
    links = graph.adjacency + graph.adjacency.T + sparse.eye_array(graph.n_nodes)
    means, made = links / links.sum(axis=1)[:, None], np.random.default_rng(0).normal(size=(graph.n_nodes, dim))
    for _ in range(3):
        made = means @ made
    return Embedding(graph.nodes, 3 + 10 * made)


def foreign(graph: Graph) -> nx.Graph:
    """What a user may give instead."""
    return graph.to_networkx()


def contents(given: Any) -> Any:
    """All that fitting might have changed in one of these."""
    if isinstance(given, nx.Graph):
        return sorted(given.nodes), sorted(given.edges(data=True), key=str)
    return given.nodes[:], given.adjacency.data.tobytes(), given.adjacency.indices.tobytes()


BAD = {
    "no edges": (Graph.from_edges([], nodes=["a", "b"]), "no edges"),
    "one node": (Graph.from_edges([("a", "a")]), "at least 2"),
    "a hypergraph": (Hypergraph.from_tuples([("a", "b", "c")]), "hypergraph"),
    "a file": ("edges.csv", "edges.csv: there is no such file"),
    "a number": (17, "cannot be read as a graph"),
}
"""What no model of graphs can embed, and a word of the sentence that says so."""
