"""The data sets that need no file: small graphs that everybody knows, and which function makes each."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from netfold.data.checks import check_count
from netfold.data.graph import Graph
from netfold.data.hypergraph import Hypergraph
from netfold.errors import InputError
from netfold.studies.datasets import random_graphs

__all__ = ["BUILT_IN", "BuiltIn", "barbell", "davis", "karate", "les_miserables", "mirrored_karate"]


_CLUBS = {"Mr. Hi": 0, "Officer": 1}


def karate() -> Graph:
    """Zachary's karate club: 34 members, an edge weighs the number of contexts in which two of them met.

    >>> karate()
    Graph(34 nodes, 78 edges, undirected, weighted)
    """
    return Graph.from_networkx(_networkx().karate_club_graph())


def karate_classes() -> dict[int, int]:
    """The faction that each member joined: 0 that of Mr. Hi (node 0), 1 that of the officer (node 33)."""
    club = _networkx().karate_club_graph().nodes(data="club")
    return {node: _CLUBS[name] for node, name in club}


def les_miserables() -> Graph:
    """The characters of Les Misérables; an edge weighs the number of scenes in which two of them appear.

    >>> les_miserables()
    Graph(77 nodes, 254 edges, undirected, weighted)
    """
    return Graph.from_networkx(_networkx().les_miserables_graph())


def davis() -> Graph:
    """Davis' southern women: 18 women, and the 14 events that each attended.

    >>> davis()
    Graph(32 nodes, 89 edges, undirected)
    """
    return Graph.from_networkx(_networkx().davis_southern_women_graph())


def davis_classes() -> dict[str, str]:
    """Which node is a woman, and which an event."""
    women = set(_networkx().davis_southern_women_graph().graph["top"])
    return {node: "woman" if node in women else "event" for node in davis().nodes}


def barbell(clique: int = 10, path: int = 10) -> Graph:
    """Two cliques joined by a path: nodes 0 to clique-1, then those of the path, then the other clique.

    >>> barbell()
    Graph(30 nodes, 101 edges, undirected)
    """
    check_count("clique", clique, least=3)
    check_count("path", path, least=0)
    n = 2 * clique + path
    u, v = np.triu_indices(clique, 1)
    steps = np.arange(clique - 1, clique + path)
    ends = np.concatenate([u, u + clique + path, steps]), np.concatenate([v, v + clique + path, steps + 1])
    return Graph.from_edges(np.stack(ends, axis=1), nodes=range(n))


def barbell_classes(clique: int = 10, path: int = 10) -> dict[int, str]:
    """The role of each node, that of its mirror image: in a clique, where the path begins, or how far along it."""
    n = barbell(clique, path).n_nodes
    depth = np.minimum(np.arange(n), np.arange(n)[::-1]) - clique + 1
    return {i: "clique" if d < 0 else "gate" if d == 0 else f"path {d}" for i, d in enumerate(depth.tolist())}


def mirrored_karate() -> Graph:
    """Two karate clubs, ("a", i) and ("b", i), joined by one edge between ("a", 0) and its mirror image ("b", 0).

    The struc2vec paper's test of roles: a member and the mirror image are far apart and play the same part. Edges have
    no weights, as there.

    >>> mirrored_karate()
    Graph(68 nodes, 157 edges, undirected)
    """
    edges = [(u, v) for u, v in _networkx().karate_club_graph().edges]
    copies = [((side, u), (side, v)) for side in "ab" for u, v in edges]
    return Graph.from_edges([*copies, (("a", 0), ("b", 0))], nodes=[(side, i) for side in "ab" for i in range(34)])


def mirrored_karate_classes() -> dict[tuple[str, int], int]:
    """The member that each node is a copy of."""
    return {(side, i): i for side in "ab" for i in range(34)}


def _networkx() -> Any:
    try:
        return importlib.import_module("networkx")
    except ImportError:
        raise InputError(
            "this graph comes with networkx, which is missing; install it with: pip install 'netfold[demo]'"
        ) from None


class BuiltIn(NamedTuple):
    """A function that makes a graph, or a graph and the classes of its nodes."""

    make: Callable[..., Any]
    classes: Callable[..., dict[Any, Any]] | None = None
    """What makes the classes, with the same options, where `make` gives the graph alone."""

    @property
    def options(self) -> dict[str, Any]:
        """The options, and their defaults."""
        return {p.name: p.default for p in inspect.signature(self.make).parameters.values()}

    def graph(self, name: str, options: dict[str, Any]) -> Graph | Hypergraph:
        """The graph alone."""
        check_options(name, options, self.options)
        result = self.make(**options)
        data: Graph | Hypergraph = result[0] if isinstance(result, tuple) else result
        return data

    def classes_of_nodes(self, name: str, options: dict[str, Any]) -> dict[Any, Any] | None:
        """The class of each node; None where there are none."""
        check_options(name, options, self.options)
        if self.classes is not None:
            return self.classes(**options)
        result = self.make(**options)
        return result[1] if isinstance(result, tuple) else None


BUILT_IN = {
    "karate": BuiltIn(karate, karate_classes),
    "les_miserables": BuiltIn(les_miserables),
    "davis": BuiltIn(davis, davis_classes),
    "barbell": BuiltIn(barbell, barbell_classes),
    "mirrored_karate": BuiltIn(mirrored_karate, mirrored_karate_classes),
    "sbm": BuiltIn(random_graphs.stochastic_block_model),
    "planted_roles": BuiltIn(random_graphs.planted_roles),
    "planted_triples": BuiltIn(random_graphs.planted_triples, random_graphs.planted_triples_classes),
    "chung_lu": BuiltIn(random_graphs.chung_lu),
    "kronecker": BuiltIn(random_graphs.kronecker),
}


def check_options(name: str, options: dict[str, Any], known: dict[str, Any]) -> None:
    """Refuse an option that a data set does not have."""
    odd = next((option for option in options if option not in known), None)
    if odd is not None:
        has = f"its options are {', '.join(known)}" if known else "it has no options"
        raise InputError(f"the data set {name!r} has no option {odd!r}; {has}")
