"""SDNE's idea, from a fit to eight nodes: rows, vectors and rows again are those of the model."""

from __future__ import annotations

from typing import Any

import numpy as np
from ideas.pencil import BLUE, GREEN, GREY, INK, RED, Sheet, fitted_into

import netfold as nf

NODES = "abcdefgh"
EDGES = ["ab", "ac", "ad", "bc", "cd", "de", "ef", "eg", "fg", "gh", "fh"]
COLORS = {"a": BLUE, "d": RED, "v": GREEN}
CELL, TOP, STEP = 0.19, 2.35, 0.78


def sdne() -> Sheet:
    """Graph, rows, encoder, vectors, decoder, rows."""
    graph = nf.Graph.from_edges([tuple(edge) for edge in EDGES], nodes=list(NODES))
    model = nf.SDNE(dim=2, hidden=(6,), alpha=0.02, beta=4, epochs=600).fit(graph, progress=False)
    new = model.transform(nf.Graph.from_edges([("v", "f"), ("v", "h"), ("f", "h")]))
    sheet = Sheet(11, 3.6)
    _graph(sheet)
    rows = {"a": _row(graph, "a"), "d": _row(graph, "d"), "v": np.isin(list(NODES), ["f", "h"]).astype(float)}
    for k, (name, row) in enumerate(rows.items()):
        sheet.row((3.15, TOP - k * STEP), row, COLORS[name], rf"$s_{name}$", CELL)
    sheet.network((4.85, TOP - STEP), (5.75, TOP - STEP), (2.1, 0.9), "encoder")
    _plane(sheet, model, new)
    sheet.network((8.1, TOP - STEP), (9.0, TOP - STEP), (0.9, 2.1), "decoder")
    given = model.network_.reconstruct(graph.adjacency)
    for k, name in enumerate(("a", "d")):
        sheet.row((9.42, TOP - k * STEP), given[NODES.index(name)], COLORS[name], rf"$\hat x_{name}$", CELL)
    for x in (3.15, 9.42):
        for i, name in enumerate(NODES):
            sheet.words((x + (i + 0.5) * CELL, 2.95), name, GREY, 8, style="italic")
    sheet.words((3.15 + 4 * CELL, 3.2), "rows of the graph", GREY, 9.5)
    sheet.words((9.42 + 4 * CELL, 3.2), "rows again", GREY, 9.5)
    sheet.words((10.06, 0.95), "second order: to be the\nrow that was read; a link\ncounts beta times", INK, 9)
    sheet.words((6.92, 0.3), "first order: linked nodes are drawn together (alpha)", INK, 9)
    sheet.words((3.9, 0.3), "a new node: one more row", GREEN, 9)
    return sheet


def _row(graph: nf.Graph, name: str) -> Any:
    return np.asarray(graph.adjacency[[NODES.index(name)]].todense()).ravel()


def _graph(sheet: Sheet) -> None:
    places = {"a": (0.3, 2.35), "b": (0.75, 2.8), "c": (1.15, 2.25), "d": (0.7, 1.75)}
    places |= {"e": (1.35, 1.35), "f": (1.5, 0.75), "g": (2.05, 1.3), "h": (2.25, 0.65), "v": (0.8, 0.45)}
    for a, b in EDGES:
        sheet.edge(places[a], places[b])
    for b in "fh":
        sheet.edge(places["v"], places[b], GREEN, style="--")
    for name, at in places.items():
        sheet.node(at, name, COLORS.get(name, GREY), hollow=name == "v")
    sheet.words((1.2, 3.2), "the graph", GREY, 9.5)


def _plane(sheet: Sheet, model: Any, new: Any) -> None:
    sheet.frame((6.0, 0.6), 1.85, 2.35, "vectors")
    every = np.concatenate([model.embedding_.vectors, new.vectors])
    places = dict(zip((*NODES, "v"), fitted_into(every, (6.25, 0.85), 1.35, 1.85), strict=True))
    for a, b in EDGES:
        sheet.edge(places[a], places[b], "#c9ccd1", 1)
    for name in sorted(places, key=lambda x: x in COLORS):
        sheet.node(places[name], name, COLORS.get(name, GREY), 0.13, hollow=name == "v")
