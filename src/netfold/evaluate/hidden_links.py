"""Edges of new nodes that are hidden, to be told from pairs that are none."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from netfold.errors import InputError
from netfold.evaluate.checks import is_between
from netfold.evaluate.edges import Pairs, edge_pairs, keys_of, without_pairs
from netfold.evaluate.node_splits import NodeSplit

__all__ = ["HiddenLinks", "hide_half", "new_node_negatives"]

_ROUNDS = 100


@dataclass(frozen=True, eq=False)
class HiddenLinks:
    """A split some of whose new nodes' edges are not shown."""

    split: NodeSplit
    """The same nodes; its whole graph lacks the hidden edges."""
    pairs: Pairs
    """m x 2 positions of the hidden edges, each with a new node at one end at least."""


def hide_half(split: NodeSplit, *, hidden: float = 0.5, seed: int = 0) -> HiddenLinks:
    """Hide a share of the edges that new nodes have, with known ones and among themselves, to be predicted.

    >>> from netfold.evaluate.node_splits import split_nodes
    >>> hide_half(split_nodes([(1, 2), (2, 3), (3, 4), (4, 1)], 1)).split.whole
    Graph(4 nodes, 3 edges, undirected)
    """
    if not is_between(hidden, 0, 1):
        raise InputError(f"hidden={hidden!r} is no share of the new nodes' edges; give a number between 0 and 1")
    edges = edge_pairs(split.whole)
    theirs = edges[np.isin(edges, split.new).any(axis=1)]
    count = round(hidden * len(theirs))
    if not count:
        raise InputError(f"the new nodes have {len(theirs):,} edges, of which hidden={hidden:g} hides none")
    drawn = np.random.default_rng(seed).choice(len(theirs), count, replace=False)
    pairs = theirs[np.sort(drawn)]
    protocol = {**split.protocol, "hidden edges of new nodes": count}
    return HiddenLinks(NodeSplit(split.known, without_pairs(split.whole, pairs), split.new, protocol), pairs)


def new_node_negatives(split: NodeSplit, pairs: Pairs, per_positive: int, seed: int) -> Pairs:
    """For each of some edges of new nodes, so many pairs: its new node and a random node that it has no edge with.

    An edge between two new nodes keeps a random one of them; an edge from a new node is replaced by pairs from it. A
    pair that is an edge of the whole graph is drawn anew, 100 times at most: then it is left out.
    """
    rng, n, directed = np.random.default_rng(seed), split.whole.n_nodes, split.whole.directed
    taken = keys_of(edge_pairs(split.whole), n, directed=directed)
    is_new = np.isin(pairs, split.new)
    other = np.where(is_new.all(axis=1), rng.integers(2, size=len(pairs)), is_new.argmin(axis=1))
    made, other = np.repeat(pairs, per_positive, axis=0), np.repeat(other, per_positive)
    left = np.arange(len(made))
    for _ in range(_ROUNDS):
        made[left, other[left]] = rng.integers(n, size=len(left))
        drawn = made[left]
        left = left[(drawn[:, 0] == drawn[:, 1]) | np.isin(keys_of(drawn, n, directed=directed), taken)]
        if not len(left):
            break
    return np.delete(made, left, axis=0)
