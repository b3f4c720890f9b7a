"""DHNE's idea: each type has an autoencoder of its own, and what is scored is the tuple as a whole."""

from __future__ import annotations

from ideas.pencil import BLUE, GREEN, GREY, INK, RED, Sheet

TUPLE = {
    "user": ("ann", BLUE, (0, 0, 0, 0, 0.9, 0, 0.5, 0, 0, 0.7)),
    "film": ("Alien", RED, (0.9, 0, 0.6, 0, 0, 0, 0, 0.8, 0.4, 0)),
    "tag": ("lonely", GREEN, (0.5, 0, 0, 0.4, 0, 0.9, 0, 0, 0, 0)),
}
CELL, TOP, STEP = 0.18, 2.75, 0.95


def dhne() -> Sheet:
    """Rows of A by type, encoders, vectors, one layer for the tuple, its score."""
    sheet = Sheet(11, 3.7)
    sheet.words((1.0, 3.35), "a hyperedge", GREY, 9.5)
    sheet.words((3.15, 3.35), "rows of A: with whom, how often", GREY, 9.5)
    sheet.words((6.75, 3.35), "vectors", GREY, 9.5)
    for k, (name, (label, color, row)) in enumerate(TUPLE.items()):
        y = TOP - k * STEP
        sheet.node((0.42, y), "", color, 0.15)
        sheet.words((0.7, y + 0.02), f"{label}\n", color, 10, ha="left")
        sheet.words((0.7, y - 0.1), name, GREY, 8.5, ha="left")
        sheet.row((2.25, y), row, color, rf"$A_{{{name}}}$", CELL)
        sheet.network((4.3, y), (5.3, y), (0.72, 0.4), "encoder")
        sheet.arrow((5.35, y), (6.2, y))
        sheet.row((6.4, y), (0.8, 0.3, 0.9, 0.5), color, "", 0.18)
        sheet.arrow((7.25, y), (8.0, TOP - STEP + (1 - k) * 0.35))
    _around(sheet)
    return sheet


def _around(sheet: Sheet) -> None:
    y = TOP - STEP
    for a, b in ((TOP, y), (y, TOP - 2 * STEP)):
        sheet.edge((0.42, a), (0.42, b), GREY, 2.2)
    sheet.network((8.05, y), (8.85, y), (1.3, 0.8), "L")
    sheet.arrow((8.9, y), (9.5, y))
    sheet.words((9.75, y), "S", INK, 15, weight="bold")
    sheet.words((10.25, y - 0.02), "the score\nof the tuple", GREY, 9, ha="center")
    words = "one nonlinear layer for the\nwhole tuple: no sum over\nits nodes can tell what\nbelongs together"
    sheet.words((9.85, y - 1.0), words, INK, 9)
    sheet.words((9.95, 2.75), "L_1: hyperedges score high,\ntuples that are none low", INK, 9)
    sheet.words(
        (5.3, 0.28), "L_2: from its vector each node's row is given back by a decoder of its type (alpha)", INK, 9
    )
