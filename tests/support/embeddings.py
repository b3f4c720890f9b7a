"""Embeddings made at random, and what tells whether two are the same."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import HealthCheck, settings

from netfold.data.embedding import Embedding
from netfold.data.nodes import Nodes

FORMATS = [".parquet", ".npz", ".npy", ".txt", ".w2v", ".bin"]
fast = settings(deadline=None, max_examples=25, suppress_health_check=[HealthCheck.too_slow])


def make(names: Any, dim: int = 3, *, std: bool = False, seed: int = 0) -> Embedding:
    random = np.random.default_rng(seed)
    nodes = Nodes.of(names)
    vectors = random.normal(size=(len(nodes), dim))
    return Embedding(nodes, vectors, random.uniform(0.1, 2, vectors.shape) if std else None)


def assert_same(a: Embedding, b: Embedding, *, std: bool = True) -> None:
    assert (a.nodes.kind, list(a.nodes)) == (b.nodes.kind, list(b.nodes))
    assert [type(x) for x in a.nodes] == [type(x) for x in b.nodes]
    np.testing.assert_array_equal(a.vectors, b.vectors)
    assert not b.vectors.flags.writeable
    if std and a.std is not None:
        assert b.std is not None
        np.testing.assert_array_equal(a.std, b.std)
    else:
        assert b.std is None
