"""DVNE's idea: a row becomes a Gaussian; linked ones are drawn together, and a sample gives the row back."""

from __future__ import annotations

from ideas.pencil import BLUE, GREEN, GREY, INK, RED, Sheet

ROWS = {
    "i": (BLUE, (0, 0.34, 0.34, 0, 0.34, 0, 0, 0)),
    "j": (GREEN, (0.5, 0, 0.5, 0, 0, 0, 0, 0)),
    "k": (RED, (0, 0, 0, 0, 0, 0, 1, 0)),
}
"""Shares of a node's links: rows of D⁻¹S."""
CELL, TOP, STEP = 0.2, 2.55, 0.75


def dvne() -> Sheet:
    """Rows, encoder, Gaussians, decoder, rows."""
    sheet = Sheet(11, 3.6)
    sheet.words((1.45, 3.2), "rows: shares of a node's links", GREY, 9.5)
    for k, (name, (color, row)) in enumerate(ROWS.items()):
        sheet.row((0.65, TOP - k * STEP), row, color, rf"$x_{name}$", CELL)
    sheet.network((2.65, TOP - STEP), (3.55, TOP - STEP), (2.1, 1.1), "encoder")
    sheet.words((4.1, TOP - STEP + 0.2), "mean", INK, 9.5)
    sheet.words((4.1, TOP - STEP - 0.2), "deviation", INK, 9.5)
    sheet.frame((4.75, 0.6), 3.1, 2.4, "each node a Gaussian")
    _gaussians(sheet)
    sheet.network((8.1, TOP - STEP), (9.0, TOP - STEP), (1.1, 2.1), "decoder")
    sheet.row((9.25, TOP - STEP), ROWS["i"][1], BLUE, "", CELL)
    sheet.words((10.05, TOP - STEP + 0.3), r"$\hat x_i$", BLUE)
    sheet.words((10.05, TOP - STEP - 0.55), "L_2: a sample of the\nGaussian gives the\nrow back (alpha)", INK, 9)
    words = "L_1: by the 2-Wasserstein distance, i near to j, to which it is linked, and far from k, to which it is not"
    sheet.words((6.3, 0.28), words, INK, 9)
    return sheet


def _gaussians(sheet: Sheet) -> None:
    i, j, k = (5.6, 1.45), (6.35, 2.1), (7.3, 1.05)
    sheet.ellipse(i, 0.75, 0.45, BLUE, 20)
    sheet.ellipse(j, 0.95, 0.6, GREEN, -15)
    sheet.ellipse(k, 0.85, 0.6, RED, 50)
    for name, at, color in (("i", i, BLUE), ("j", j, GREEN), ("k", k, RED)):
        sheet.node(at, name, color, 0.12)
    sheet.arrow((5.72, 1.56), (5.92, 1.74), INK)
    sheet.arrow((6.24, 2.0), (6.04, 1.83), INK)
    sheet.arrow((6.35, 1.22), (5.95, 1.31), INK, bend=0)
    sheet.arrow((6.6, 1.18), (7.0, 1.1), INK, bend=0)
