"""node2vec (Grover, Leskovec, KDD 2016), of which DeepWalk (Perozzi, Al-Rfou, Skiena, KDD 2014) is p = q = 1."""

from __future__ import annotations

from netfold.models.node2vec.model import Node2Vec

__all__ = ["Node2Vec"]
