"""Vectors of all nodes of a split's whole graph: the known ones', and those that a model makes for the new ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from netfold.embedding import Embedding
from netfold.errors import InputError
from netfold.evaluate.extensions import label_propagation, local_average, reached
from netfold.evaluate.node_splits import NodeSplit
from netfold.evaluate.result import embedding_of

__all__ = ["LINKED", "Method", "cheap_methods", "extending", "known_vectors", "refitting"]

LINKED = ("path", "neighbor")

Method = Callable[[NodeSplit], Embedding]
"""From a split to vectors of all nodes of its whole graph."""


def known_vectors(model: Any, base: Any, split: NodeSplit) -> Embedding:
    """The vectors of the known nodes: `base`, or what the model was fitted to, which must not be new nodes too."""
    if base is None and not hasattr(model, "embedding_"):
        raise InputError("base=None and no fitted model was given; base is an Embedding of the known nodes")
    if hasattr(model, "embedding_"):
        met = split.new[model.embedding_.nodes.find(split.whole.nodes.take(split.new)) >= 0]
        if len(met):
            first = split.whole.nodes[int(met[0])]
            raise InputError(f"the model was fitted to {first!r}, which is a new node; fit it to split.known")
    return embedding_of(model if base is None else base).take(split.known.nodes)


def extending(model: Any, known: Embedding, linked: str) -> Method:
    """The known vectors, and new ones by the model, a function, or as they are given."""
    if isinstance(model, Embedding):
        return lambda split: _joined(split, known, model)
    if hasattr(model, "transform"):
        return lambda split: _joined(split, known, model.transform(_linked(split, linked).whole))
    if callable(model):
        return lambda split: _joined(split, known, model(_linked(split, linked)))
    kind = type(model).__name__
    raise InputError(f"a {kind} was given; give a fitted model, a function from a NodeSplit to an Embedding, or one")


def refitting(rerun: Any) -> Method:
    """What a function from a graph to a model gives for the whole graph, or the vectors that are given."""
    if not callable(rerun):
        return lambda split: embedding_of(rerun).take(split.whole.nodes)
    return lambda split: embedding_of(rerun(split.whole)).take(split.whole.nodes)


def cheap_methods(known: Embedding) -> dict[str, Method]:
    """LocalAvg and LabelProp."""
    return {
        "LocalAvg": lambda split: _joined(split, known, local_average(split, known)),
        "LabelProp": lambda split: _joined(split, known, label_propagation(split, known)),
    }


def _joined(split: NodeSplit, known: Embedding, new: Any) -> Embedding:
    """The vectors of all nodes; a new one without gets the mean of the known ones."""
    found = embedding_of(new)
    if found.dim != known.dim:
        raise InputError(f"the new nodes' vectors have {found.dim} numbers and the known ones' {known.dim}")
    at = found.nodes.find(split.whole.nodes.take(split.new))
    if not (at >= 0).any():
        raise InputError(f"none of the {len(split.new):,} new nodes has a vector; give those of the new nodes")
    vectors = np.tile(known.vectors.mean(axis=0), (split.whole.n_nodes, 1))
    vectors[split.whole.positions(known.nodes)] = known.vectors
    vectors[split.new[at >= 0]] = found.vectors[at[at >= 0]]
    return Embedding(split.whole.nodes, vectors)


def _linked(split: NodeSplit, by: str) -> NodeSplit:
    """The split without the new nodes that a model cannot be asked about."""
    good = reached(split, by=by)
    if good.all():
        return split
    if not good.any():
        raise InputError(f"none of the {len(split.new):,} new nodes is linked to a known one")
    rows = np.delete(np.arange(split.whole.n_nodes), split.new[~good])
    new = np.searchsorted(rows, split.new[good])
    return NodeSplit(split.known, split.whole.subgraph(rows), new, split.protocol)
