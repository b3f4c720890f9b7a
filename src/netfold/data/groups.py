"""`NodeGroups`: nodes in groups of like vectors, and how many groups there are."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from netfold.data.checks import Floats, Ints, is_whole, unique_values
from netfold.data.nodes import Nodes
from netfold.data.text import counted
from netfold.errors import InputError

if TYPE_CHECKING:
    from netfold.data.embedding import Embedding

__all__ = ["CANDIDATES", "NodeGroups", "grouped"]

CANDIDATES = (2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 15, 20, 25, 30, 40, 50)
"""The numbers of groups that are tried where none is said."""
_LEARNED, _JUDGED = 5000, 2000
"""Random nodes that candidates are learned from, and judged on."""
_STARTS = 4
_MANY = 100_000
"""Nodes above which the groups are learned from a random part, and the rest join the nearest."""


@dataclass(frozen=True, eq=False, repr=False)
class NodeGroups:
    """The group of each node, 0 being the largest.

    >>> from netfold.data.embedding import Embedding
    >>> groups = Embedding("abcd", [[1, 0], [1, 0.1], [0, 1], [0.1, 1]]).groups()
    >>> groups
    NodeGroups(4 nodes in 2 groups; k = 2 of 2 to 3 by the silhouette, 0.93)
    >>> groups["a"] == groups["b"] != groups["c"] == groups["d"]
    True
    """

    nodes: Nodes
    codes: Ints
    """The group of each node."""
    silhouettes: Mapping[int, float] = field(default_factory=dict)
    """By number of groups, where it was chosen: between -1 and 1, and near 0 where groups are not apart."""

    @property
    def k(self) -> int:
        """How many groups there are."""
        return int(self.codes.max()) + 1

    @property
    def sizes(self) -> list[int]:
        """How many nodes each group has."""
        return [int(x) for x in np.bincount(self.codes)]

    def __getitem__(self, node: Any) -> int:
        """The group of a node."""
        return int(self.codes[self.nodes.positions([node])[0]])

    def __len__(self) -> int:
        return len(self.nodes)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.nodes)

    def to_dict(self) -> dict[Any, int]:
        """{node: group}, as `nf.evaluate` takes classes."""
        return dict(zip(self.nodes, self.codes.tolist(), strict=True))

    @property
    def chosen(self) -> str:
        """How the number of groups was chosen, in words; empty where it was said."""
        if not self.silhouettes:
            return ""
        tried = list(self.silhouettes)
        best = max(self.silhouettes, key=self.silhouettes.__getitem__)
        return f"k = {best} of {tried[0]} to {tried[-1]} by the silhouette, {self.silhouettes[best]:.2f}"

    @property
    def in_words(self) -> str:
        """How many nodes and groups there are, and how that was chosen."""
        said = f"{counted(len(self), 'node')} in {counted(self.k, 'group')}"
        return f"{said}; {self.chosen}" if self.chosen else said

    def __repr__(self) -> str:
        return f"NodeGroups({self.in_words})"


def grouped(embedding: Embedding, k: int | None, seed: int) -> NodeGroups:
    """NodeGroups by k-means of the vectors at length 1, so that groups are of like directions.

    Where `k` is None, each of `CANDIDATES` up to n - 1 is learned from up to 5,000 random nodes and judged by the mean
    silhouette of up to 2,000 of them, (b - a) / max(a, b) with a the mean distance to one's own group and b that to the
    nearest other; the largest wins, of equals the smaller number.
    """
    rng, x = np.random.default_rng(seed), _unit(embedding.vectors)
    different = len(np.unique(x, axis=0))
    silhouettes: dict[int, float] = {}
    if k is None:
        silhouettes = _silhouettes(x, different, rng)
        k = max(silhouettes, key=silhouettes.__getitem__) if silhouettes else 1
    elif not is_whole(k) or not 1 <= k <= len(x):
        raise InputError(f"k={k!r} is not a number of groups; give one from 1 to {len(x):,}, or None")
    learned = x if len(x) <= _MANY else x[rng.choice(len(x), _MANY, replace=False)]
    codes = _kmeans(learned, min(int(k), different), rng).predict(x)
    _, codes = np.unique(codes, return_inverse=True)
    rank = np.argsort(np.argsort(-np.bincount(codes), kind="stable"), kind="stable")
    return NodeGroups(embedding.nodes, rank[codes].astype(np.int64), silhouettes)


def _silhouettes(x: npt.NDArray[np.float32], different: int, rng: np.random.Generator) -> dict[int, float]:
    from sklearn.metrics import silhouette_score

    some = x[rng.permutation(len(x))[:_LEARNED]]
    scores: dict[int, float] = {}
    for k in (k for k in CANDIDATES if k < min(different, len(some))):
        codes = _kmeans(some, k, rng).predict(some)[:_JUDGED]
        if 1 < len(unique_values(codes)) < len(codes):
            scores[k] = float(silhouette_score(some[:_JUDGED], codes))
    return scores


def _kmeans(x: npt.NDArray[np.float32], k: int, rng: np.random.Generator) -> Any:
    from sklearn.cluster import KMeans

    return KMeans(k, n_init=_STARTS, random_state=int(rng.integers(1 << 31))).fit(x)


def _unit(vectors: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    """At length 1; a vector of zeros stays."""
    lengths: Floats = np.linalg.norm(vectors.astype(np.float64), axis=1, keepdims=True)
    return (vectors / np.where(lengths > 0, lengths, 1)).astype(np.float32)
