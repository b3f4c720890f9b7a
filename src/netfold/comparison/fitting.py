"""Fitting any model, one that extends the vectors of another included."""

from __future__ import annotations

from typing import Any

from netfold.base import Embedder
from netfold.comparison.contenders import BASE, model_named

__all__ = ["fit"]


def fit(model: Embedder, graph: Any, *, progress: bool = False) -> Embedder:
    """Fit a model; one that extends the vectors of another, to those of a fit of that one with the same seed."""
    if not model.extends:
        return model.fit(graph, progress=progress)
    options = {"seed": model.seed, "device": model.device} | ({"dim": model.dim} if model.dim else {})
    known = model_named(BASE, **options).fit(graph, progress=progress)
    return model.fit(graph, known.embedding_, progress=progress)
