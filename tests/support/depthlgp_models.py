"""A DepthLGP that is fitted in no time."""

from __future__ import annotations

from typing import Any

from netfold.data.embedding import Embedding
from netfold.data.graph import Graph
from netfold.models.depthlgp import DepthLGP

FAST: dict[str, Any] = {"epochs": 4, "samples": 64, "hidden": 8, "starts": "given"}
"""All that is learned is kept, so that it can be looked at; what is chosen has its own tests."""


def fitted(graph: Graph, vectors: Embedding, **changed: Any) -> DepthLGP:
    return DepthLGP(**FAST | changed).fit(graph, vectors, progress=False)
