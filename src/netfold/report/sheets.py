"""One model of a page: its map, what it can be coloured by, its vectors, edges, losses and parameters."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from netfold.embedding import Embedding
from netfold.graph import Graph
from netfold.report.blocks import Blocks
from netfold.report.columns import columns_of, degrees_of
from netfold.report.components import lengths_of
from netfold.report.facts import cost, losses, parameters
from netfold.report.near import packed_vectors
from netfold.report.points import placed
from netfold.report.words import label_lines

if TYPE_CHECKING:
    from netfold.report import Sheet

__all__ = ["packed_sheet"]

_NAMED = 2_000
"""Nodes that the map may name unasked, the most important first."""
_LINKS = 30_000
"""Edges up to which they are drawn."""


def packed_sheet(sheet: Sheet, blocks: Blocks, method: str) -> dict[str, Any]:
    """Everything that the page shows of a model, its arrays put into blocks."""
    embedding, data = sheet.embedding, sheet.data
    named = np.argsort(-_weights(embedding, data), kind="stable")[:_NAMED]
    columns = columns_of(sheet.model, embedding, data, sheet.labels)
    made: dict[str, Any] = {"name": sheet.name, "kind": type(sheet.model).__name__}
    made |= {"nodes": len(embedding), "dim": embedding.dim, "gaussian": embedding.std is not None}
    made["labels"] = blocks.add_text(label_lines(embedding.nodes))
    made |= placed(embedding, method).packed(blocks)
    made["columns"] = [column.packed(blocks) for column in columns]
    made["named"] = blocks.add(named.astype(np.uint32))
    made["vectors"] = packed_vectors(embedding, blocks)
    if isinstance(data, Graph) and 0 < data.n_edges <= _LINKS:
        made["links"] = blocks.add(_links(embedding, data))
    made |= {"losses": losses(sheet.model), "parameters": parameters(sheet.model)}
    return made | {"cost": cost(sheet.model, embedding)}


def _weights(embedding: Embedding, data: Any) -> npt.NDArray[np.float64]:
    """Who is named first: nodes with most edges or, where none are known, with the longest vectors."""
    return lengths_of(embedding.vectors) if data is None else degrees_of(embedding, data)


def _links(embedding: Embedding, graph: Graph) -> npt.NDArray[np.uint32]:
    """The rows of both ends of each edge, self-loops and unknown nodes left out; each undirected edge once."""
    matrix = graph.adjacency.tocoo()
    u, v = matrix.coords
    kept = (u != v) if graph.directed else (u < v)
    at = embedding.nodes.find(graph.nodes)
    ends = np.column_stack([at[u[kept]], at[v[kept]]])
    return ends[(ends >= 0).all(axis=1)].astype(np.uint32)
