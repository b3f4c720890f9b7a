"""node2vec++: node2vec, or LINE, over vectors that a Laplacian Gaussian process predicts (Ma, Cui, Zhu, AAAI 2018)."""

from __future__ import annotations

from netfold.models.node2vecplus.model import Node2VecPlus

__all__ = ["Node2VecPlus"]
