"""Hyperedges of users, films and tags, tuples as sets of numbers, and a model that only scores."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from netfold.data.hypergraph import Hypergraph
from netfold.evaluate.tuples import Codes

Triple = tuple[Any, ...]


class Scorer:
    """A model that has nothing but a score for tuples."""

    def __init__(self, score: Any):
        self.score = score


def typed(seed: int, m: int = 40, sizes: tuple[int, int, int] = (6, 8, 5)) -> tuple[Hypergraph, list[Triple]]:
    """Users, films and tags; the hyperedges that are known and those that are not, all different."""
    rng = np.random.default_rng(seed)
    users, films, tags = ([f"{name} {i}" for i in range(n)] for name, n in zip("uft", sizes, strict=True))
    every = list(itertools.product(users, films, tags))
    chosen = [every[i] for i in rng.choice(len(every), m, replace=False)]
    nodes = [*users, *films, *tags]
    return Hypergraph(tuple(chosen[: 3 * m // 4]), nodes, tuple(x[0] for x in nodes)), chosen[3 * m // 4 :]


def as_sets(rows: Codes) -> list[frozenset[int]]:
    return [frozenset(x for x in row if x >= 0) for row in rows.tolist()]
