"""What the pictures of ideas are drawn with: nodes, rows of a matrix, networks, arrows, words, on a sheet in inches."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from netfold.show.plot.projection import imported

BLUE, RED, GREEN, INK, GREY, PALE = "#0072b2", "#d55e00", "#009e73", "#222222", "#8a8f96", "#e6e8eb"
"""Okabe and Ito's, which everybody tells apart."""
DPI = 110

Point = tuple[float, float]


class Sheet:
    """A page of so many inches; (0, 0) is its lower left corner."""

    def __init__(self, width: float, height: float):
        self.figure = imported("matplotlib.figure").Figure(figsize=(width, height), dpi=DPI)
        self.axes = self.figure.add_axes((0, 0, 1, 1))
        self.axes.set(xlim=(0, width), ylim=(0, height), aspect="equal")
        self.axes.set_axis_off()
        self._shapes = imported("matplotlib.patches")
        self._level = 3.0

    def save(self, path: Path) -> None:
        """As the ending says."""
        self.figure.savefig(path)

    def words(self, at: Point, text: str, color: str = INK, size: float = 10, ha: str = "center", **more: Any) -> None:
        """Text whose middle is there; `ha` is left, center or right."""
        self.axes.text(*at, text, color=color, fontsize=size, ha=ha, va="center", **more)

    def node(self, at: Point, text: str = "", color: str = GREY, r: float = 0.15, *, hollow: bool = False) -> None:
        """A disc with a letter, over those before; a hollow one is of a node that is new, or asked about."""
        self._level += 0.01
        look = {"facecolor": "white", "edgecolor": color, "linestyle": "--"} if hollow else {"facecolor": color}
        self.axes.add_patch(self._shapes.Circle(at, r, linewidth=1.6, zorder=self._level, **look))
        self.words(at, text, color if hollow else "white", zorder=self._level, weight="bold", style="italic")

    def ellipse(self, at: Point, width: float, height: float, color: str, angle: float = 0) -> None:
        """A Gaussian, as its outline."""
        look = {"facecolor": color, "alpha": 0.18, "linewidth": 0}
        self.axes.add_patch(self._shapes.Ellipse(at, width, height, angle=angle, zorder=1, **look))
        look = {"facecolor": "none", "edgecolor": color, "linewidth": 1.4}
        self.axes.add_patch(self._shapes.Ellipse(at, width, height, angle=angle, zorder=2, **look))

    def edge(self, a: Point, b: Point, color: str = GREY, width: float = 1.3, style: str = "-") -> None:
        """A line, under the nodes."""
        self.axes.plot(*zip(a, b, strict=True), style, color=color, linewidth=width, zorder=0, solid_capstyle="round")

    def arrow(
        self, a: Point, b: Point, color: str = GREY, *, both: bool = False, bend: float = 0, width: float = 1.4
    ) -> None:
        """From a to b, or from each to the other."""
        look = {"arrowstyle": "<|-|>" if both else "-|>", "color": color, "linewidth": width, "mutation_scale": 11}
        look |= {"connectionstyle": f"arc3,rad={bend}", "shrinkA": 0, "shrinkB": 0, "zorder": 2}
        self.axes.add_patch(self._shapes.FancyArrowPatch(a, b, **look))

    def row(self, at: Point, values: Iterable[float], color: str, name: str = "", cell: float = 0.2) -> None:
        """A row of a matrix, its middle left there: the fuller a cell, the larger its number (0 to 1)."""
        x, y = at
        for i, value in enumerate(values):
            place = (x + i * cell, y - cell / 2)
            self.axes.add_patch(self._shapes.Rectangle(place, cell, cell, facecolor=PALE, edgecolor="white", zorder=1))
            full = {"facecolor": color, "alpha": float(np.clip(value, 0, 1)), "linewidth": 0, "zorder": 2}
            self.axes.add_patch(self._shapes.Rectangle(place, cell, cell, edgecolor="none", **full))
        self.words((x - 0.1, y), name, color, ha="right")

    def network(self, left: Point, right: Point, heights: tuple[float, float], name: str) -> None:
        """Layers that widen or narrow from left to right."""
        (a, y), (b, _), (h, k) = left, right, (heights[0] / 2, heights[1] / 2)
        shape = [(a, y - h), (a, y + h), (b, y + k), (b, y - k)]
        self.axes.add_patch(self._shapes.Polygon(shape, facecolor="#f3f4f6", edgecolor=GREY, linewidth=1.2, zorder=1))
        self.words(((a + b) / 2, y), name, INK, 9.5)

    def frame(self, corner: Point, width: float, height: float, title: str = "") -> None:
        """A part of the page: the space of vectors."""
        look = {"boxstyle": "round,pad=0.02,rounding_size=0.12", "facecolor": "#fbfbfc", "edgecolor": PALE}
        self.axes.add_patch(self._shapes.FancyBboxPatch(corner, width, height, linewidth=1.2, zorder=-1, **look))
        self.words((corner[0] + width / 2, corner[1] + height + 0.18), title, GREY, 9.5)


def fitted_into(points: npt.NDArray[Any], corner: Point, width: float, height: float) -> list[Point]:
    """Points of a plane, moved and scaled into a part of the page, their shape kept."""
    low, span = points.min(axis=0), np.ptp(points, axis=0)
    scale = min(width / span[0], height / span[1])
    start = np.array(corner) + (np.array((width, height)) - scale * span) / 2
    return [(float(x), float(y)) for x, y in start + scale * (points - low)]


def around(middle: Point, radius: float, count: int, turned: float = 0.0) -> Sequence[Point]:
    """The corners of a regular polygon."""
    angles = turned + 2 * np.pi * np.arange(count) / count
    return [(middle[0] + radius * float(np.cos(a)), middle[1] + radius * float(np.sin(a))) for a in angles]
