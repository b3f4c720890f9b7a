"""Small named graphs that every model must cope with."""

from __future__ import annotations

import networkx as nx
import numpy as np

from netfold.graph import Graph


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
    """Three components, two isolated nodes, a self-loop, labels of several alphabets."""
    rings = [(f"α{i}", f"α{(i + 1) % 7}") for i in range(7)] + [("日本", "中国"), ("日本", "日本")]
    star = [("hub", f"leaf {i}") for i in range(6)]
    nodes = dict.fromkeys(x for e in rings + star for x in e)
    return Graph.from_edges(rings + star, nodes=[*nodes, "alone", "also alone"])


ZOO = {"karate": karate, "weighted": weighted, "directed": directed, "scattered": scattered}
