"""Graphs of a hypergraph, for comparison: what they lose is what hyperedges are for."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from netfold.data.graph import Graph, unchecked
from netfold.data.hypergraph import Hypergraph
from netfold.data.nodes import Nodes
from netfold.errors import InputError

__all__ = ["clique_expansion", "star_expansion"]


def clique_expansion(hypergraph: Hypergraph) -> Graph:
    """The graph in which all nodes of an edge are linked to one another, each link weighing in how many edges two are.

    Its adjacency matrix is A = H Hᵀ - D_v; which pairs were in one edge cannot be read off it.

    >>> clique_expansion(Hypergraph.from_tuples([("ann", "film", "drama"), ("bob", "film")]))
    Graph(4 nodes, 4 edges, undirected)
    """
    return unchecked(hypergraph.adjacency(), hypergraph.nodes, False)


def star_expansion(hypergraph: Hypergraph, name: str = "edge") -> Graph:
    """The bipartite graph of nodes and edges: a node is linked to every edge that it is in.

    Its adjacency matrix is [[0, H], [Hᵀ, 0]]. The i-th edge is called (`name`, i), after the nodes; a `name` with
    which a node is called so already is refused.

    >>> star_expansion(Hypergraph.from_tuples([("ann", "film", "drama"), ("bob", "film")])).neighbors(("edge", 1))
    ['film', 'bob']
    """
    edges = [(name, i) for i in range(hypergraph.n_edges)]
    taken = np.flatnonzero(hypergraph.nodes.find(edges) >= 0)
    if taken.size:
        raise InputError(f"a node is called {edges[taken[0]]!r}, as an edge would be; call edges by another name=")
    h = hypergraph.incidence()
    whole = sparse.csr_array(sparse.block_array([[None, h], [h.T, None]], format="csr", dtype=np.float32))
    return Graph(whole, Nodes.of([*hypergraph.nodes, *edges]))
