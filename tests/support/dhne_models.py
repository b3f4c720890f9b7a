"""Hypergraphs that DHNE must cope with, and short fits to them."""

from __future__ import annotations

import functools
import itertools

import numpy as np
import pytest

from netfold.data.hypergraph import Hypergraph
from netfold.models.dhne import DHNE
from zoo_hypergraphs import facts

CHAPTERS = {"hidden": 0, "products": 0, "nu": 0.0, "replaced": 1.1, "scale": "log", "dropout": 0.0, "lr": 0.01}
"""As the chapter has it: the similarity without products, and nothing that keeps a model from learning by heart."""
FAST = {**CHAPTERS, "dim": 8, "epochs": 4, "batch_size": 32}
MORE = {"dim": 16, "epochs": 100, "lr": 0.02, "batch_size": 16, "hold_out": False}
"""Until what was given is known by heart."""


def triples(seed: int = 0) -> Hypergraph:
    """Users, films and tags with names of three sorts, a film that nobody saw, an edge given twice."""
    rng = np.random.default_rng(seed)
    users, films, tags = [f"user {i}" for i in range(9)], list(range(8)), [("tag", i) for i in range(5)]
    every = list(itertools.product(users, films[:-1], tags))
    edges = [every[i] for i in rng.choice(len(every), 60, replace=False)]
    types = ["user"] * 9 + ["film"] * 8 + ["tag"] * 5
    return Hypergraph([*edges, edges[0]], [*users, *films, *tags], types)


def papers() -> Hypergraph:
    """Authors together in twos, threes and fours: one type, in whatever order."""
    rng = np.random.default_rng(1)
    names = [f"ß{i}" for i in range(20)]
    sizes = [2] * 20 + [3] * 20 + [4] * 15
    return Hypergraph([[names[i] for i in rng.choice(20, k, replace=False)] for k in sizes], names)


def pairs() -> Hypergraph:
    """A graph, said as a hypergraph."""
    return Hypergraph.from_tuples([(i, (i * 7 + 3) % 25) for i in range(25) if i != (i * 7 + 3) % 25])


ZOO = {"triples": triples, "papers": papers, "facts": facts, "pairs": pairs}
zoo = pytest.mark.parametrize("kind", sorted(ZOO))


def fit(hypergraph, **changed) -> DHNE:
    return DHNE(**FAST | changed).fit(hypergraph, progress=False)


@functools.cache
def learned() -> DHNE:
    return fit(triples(), **MORE)
