"""DepthLGP's idea: what a new node reads of the graph, and a real fit in which it can be seen where each belongs."""

from __future__ import annotations

from typing import Any

import numpy as np
from ideas.pencil import BLUE, GREEN, GREY, INK, RED, Sheet, fitted_into

import netfold as nf

NEW = ("Joly", "Favourite", "Cosette", "MmeMagloire")
"""Characters who are held back, each of another circle."""


def depthlgp() -> Sheet:
    """Left the process on a graph, right what comes of it."""
    sheet = Sheet(11, 4.3)
    _process(sheet)
    _placed(sheet)
    return sheet


def _process(sheet: Sheet) -> None:
    known = {"a": (0.75, 3.1), "b": (0.5, 2.2), "c": (1.45, 2.55), "d": (0.75, 1.3), "e": (2.05, 3.45)}
    new = {"v": (2.45, 2.2), "w": (2.85, 1.25)}
    places = known | new
    for x, y in ("ab", "ac", "bc", "bd", "ce", "ae"):
        sheet.edge(places[x], places[y])
    for x, y in ("vc", "ve", "vw"):
        sheet.edge(places[x], places[y], GREEN, 1.6, "--")
    for name, at in known.items():
        sheet.node(at, name, BLUE)
    for name, at in new.items():
        sheet.node(at, name, GREEN, hollow=True)
    sheet.arrow((1.62, 2.58), (2.32, 2.36), RED, bend=-0.3)
    sheet.words((2.08, 2.72), "eta", RED, 10, style="italic")
    sheet.arrow((0.62, 2.08), (2.36, 2.05), RED, bend=0.4)
    sheet.words((1.62, 1.5), "zeta", RED, 10, style="italic")
    sheet.words((1.75, 4.05), "the graph has grown", GREY, 9.5)
    words = "a new node is drawn to its neighbors (eta),\nto theirs (zeta), and through other new ones:\n"
    sheet.words((1.75, 0.55), words + r"$z_* = -M_{**}^{-1} M_{*x}\, h_x$", INK, 9.5)
    sheet.network((3.75, 2.4), (4.75, 2.4), (0.9, 0.9), "f = g(z)")
    sheet.arrow((3.2, 2.4), (3.7, 2.4))
    sheet.arrow((4.8, 2.4), (5.3, 2.4))


def _placed(sheet: Sheet) -> None:
    graph = nf.datasets.les_miserables()
    graph = nf.Graph(graph.adjacency.sqrt(), graph.nodes)
    whole = nf.Node2Vec(dim=16, epochs=3).fit(graph, progress=False).embedding_
    rows = np.array([i for i, x in enumerate(graph.nodes) if x not in NEW])
    known = graph.subgraph(rows)
    base = nf.Embedding(known.nodes, whole.vectors[rows])
    placed = nf.DepthLGP().fit(known, base, progress=False).transform(graph)
    _, _, axes = np.linalg.svd(base.vectors - base.vectors.mean(axis=0), full_matrices=False)
    plane = np.concatenate([whole.vectors, placed.vectors]) @ axes[:2].T
    points = fitted_into(plane, (5.75, 0.45), 4.8, 2.9)
    sheet.frame((5.45, 0.2), 5.4, 3.6, "vectors of Les Misérables, those of four held back, who then arrive")
    scale = (points[1][0] - points[0][0]) / (plane[1][0] - plane[0][0])
    spread = np.sqrt((placed.std**2) @ (axes[:2].T ** 2)) * scale
    known_places = dict(zip(graph.nodes, points, strict=False))
    found = dict(zip(placed.nodes, points[graph.n_nodes :], strict=True))
    _draw(sheet, graph, known_places, found, dict(zip(placed.nodes, spread, strict=True)))


def _draw(sheet: Sheet, graph: Any, places: dict[Any, Any], found: dict[Any, Any], spread: dict[Any, Any]) -> None:
    for name, at in places.items():
        if name not in found:
            sheet.node(at, color="#b9cbd9", r=0.055)
    for name, at in found.items():
        for other in graph.neighbors(name):
            sheet.edge(at, found.get(other, places[other]), "#b5ddcf", 0.9)
        sheet.ellipse(at, *(4 * spread[name]), GREEN)
        sheet.node(at, color=GREEN, r=0.05)
        sheet.words(places[name], "×", RED, 13, zorder=5)
        sheet.words((at[0], at[1] + 2 * float(spread[name][1]) + 0.12), name, GREEN, 9)
    told = "dot: placed by its links; circle: two deviations\n× : the vector it has where the model saw it"
    sheet.words((5.65, 0.5), told, INK, 8.5, ha="left")
