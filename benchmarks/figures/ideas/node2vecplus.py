"""node2vec++'s idea: the walk is node2vec's, but a node's vector is predicted from those around it, new or not."""

from __future__ import annotations

from itertools import pairwise

from ideas.pencil import BLUE, GREEN, GREY, INK, RED, Sheet

PLACES = {
    "a": (0.45, 2.6), "b": (1.15, 2.95), "v": (1.75, 2.2), "c": (2.55, 2.6), "d": (3.2, 2.05), "e": (0.9, 1.55),
    "f": (2.25, 1.3), "g": (3.05, 1.2),
}  # fmt: skip
EDGES = ("ab", "ae", "bv", "ev", "vc", "vf", "cd", "dg", "fg", "cf")
WALK = "abvcd"


def node2vecplus() -> Sheet:
    """A walk, the prediction of one of its nodes, and what is asked of it."""
    sheet = Sheet(11, 3.5)
    sheet.words((1.8, 3.3), "a random walk meets v", GREY, 9.5)
    for x, y in EDGES:
        sheet.edge(PLACES[x], PLACES[y])
    for x, y in pairwise(WALK):
        sheet.edge(PLACES[x], PLACES[y], RED, 3)
    for name, at in PLACES.items():
        sheet.node(at, name, GREEN if name == "v" else RED if name in WALK else GREY, hollow=name == "v")
    sheet.words((1.85, 0.55), "not a free vector of v's own:\nv is left out, and predicted", INK, 9)
    _predicted(sheet)
    sheet.words((9.35, 3.3), "node2vec's (or LINE's) objective", GREY, 9.5)
    for k, (name, color, words) in enumerate((("b", RED, "met on the walk"), ("g", GREY, "drawn at random"))):
        y = 2.6 - 1.1 * k
        sheet.arrow((8.0, 2.05), (8.7, y), color, both=k == 0)
        sheet.row((9.0, y), (0.7, 0.4, 0.8, 0.3), color, rf"$c_{name}$", 0.18)
        sheet.words((9.85, y), words, color, 9, ha="left")
    sheet.words(
        (9.35, 0.55), "f(v) is to tell them apart; h, g, eta, zeta\nand the contexts c are learned together", INK, 9
    )
    return sheet


def _predicted(sheet: Sheet) -> None:
    sheet.words((5.7, 3.3), "what DepthLGP would say of v", GREY, 9.5)
    for k, name in enumerate("bcef"):
        sheet.row((4.25, 2.75 - 0.45 * k), ((0.3 * k + 0.2) % 1, 0.6, (0.8 - 0.2 * k), 0.4), BLUE, rf"$h_{name}$", 0.18)
    sheet.arrow((5.05, 2.05), (5.5, 2.05))
    sheet.network((5.55, 2.05), (6.55, 2.05), (1.3, 0.7), "K, then g")
    sheet.arrow((6.6, 2.05), (7.0, 2.05))
    sheet.row((7.1, 2.05), (0.5, 0.7, 0.6, 0.4), GREEN, "", 0.18)
    sheet.words((7.46, 2.4), "f(v)", GREEN, 10, style="italic")
    sheet.words(
        (5.7, 0.55), "from the latent states h of its neighbors,\nand of theirs: the same for a new node", INK, 9
    )
