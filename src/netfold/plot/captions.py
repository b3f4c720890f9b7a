"""What is written: which nodes are named, and in what words."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from netfold.embedding import Embedding
from netfold.graph import Graph
from netfold.hypergraph import Hypergraph

_LONGEST = 28


def named(embedding: Embedding, labels: int | Iterable[Any], graph: Graph | Hypergraph | None) -> list[int]:
    """The rows of the nodes to name, the most important first."""
    if not isinstance(labels, int):
        return [int(row) for row in embedding.nodes.positions(labels)]
    if graph is None:
        weight: npt.NDArray[Any] = np.linalg.norm(embedding.vectors.astype(np.float64), axis=1)
    else:
        at = graph.nodes.find(embedding.nodes)
        weight = np.where(at >= 0, graph.degrees[at], 0) if graph.n_nodes else np.zeros(len(embedding))
    return [int(row) for row in np.argsort(-weight, kind="stable")[: max(labels, 0)]]


def heading(model: Any, embedding: Embedding, deviations: float = 0) -> str:
    """What is drawn, for a picture without a title of its own."""
    made_by = "" if model is embedding else f"{type(model).__name__} of "
    around = f", ellipses of {deviations:g} standard deviation{'s' * (deviations != 1)}" if deviations else ""
    return f"{made_by}{len(embedding):,} nodes in {embedding.dim:,} dimension{'s' * (embedding.dim > 1)}{around}"


def caption(label: Any, *, typed: bool = False) -> str:
    """A label on one line, and not a long one; of (type, label) the label alone, where the colour tells the type."""
    if typed and isinstance(label, tuple) and len(label) == 2:
        label = label[1]
    text = "".join(" " if unicodedata.category(c).startswith(("Cc", "Z")) else c for c in str(label))
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"
