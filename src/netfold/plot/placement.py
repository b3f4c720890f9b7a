"""Labels that do not overlap: a place for each, near its point."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from netfold.plot.projection import Floats

Box = tuple[float, float, float, float]
"""Left, bottom, right, top, in pixels."""

Place = tuple[tuple[float, float], Box, bool]
"""A label's offset from its point, where it then is, and whether that is some way off."""

_NEAR = 20
"""Pixels; a label farther from its point gets a line to it."""


def place(extent: Any, at: Floats, dots: Floats, taken: list[Box], frame: Box) -> Place | None:
    """The cheapest place: near its point, on few dots, on no other label, within the frame."""
    best: Place | None = None
    least = float("inf")
    for dx, dy, distance in _spots(extent.width, extent.height):
        if distance >= least:  # those that follow are no nearer
            break
        left, bottom = at[0] + dx, at[1] + dy
        box = (left - 2, bottom - 2, left + extent.width + 2, bottom + extent.height + 2)
        if _outside(box, frame) or any(_overlap(box, other) for other in taken):
            continue
        cost = distance + 12 * _covered(dots, box)
        if cost < least:
            offset = (dx - (extent.x0 - at[0]), dy - (extent.y0 - at[1]))
            least, best = cost, (offset, box, distance > _NEAR)
    return best


def _spots(width: float, height: float) -> Iterator[tuple[float, float, float]]:
    """Where the lower left corner may stand, from the point; and how far the label is then."""
    for radius in (7, 14, 24, 36, 50, 70, 95):
        for angle in np.arange(16) * np.pi / 8:
            x, y = radius * np.cos(angle), radius * np.sin(angle)
            yield x - width * (1 - np.cos(angle)) / 2, y - height * (1 - np.sin(angle)) / 2, radius


def _overlap(a: Box, b: Box) -> bool:
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]


def _outside(box: Box, frame: Box) -> bool:
    return box[0] < frame[0] or box[1] < frame[1] or box[2] > frame[2] or box[3] > frame[3]


def _covered(dots: Floats, box: Box) -> int:
    x, y = dots[:, 0], dots[:, 1]
    return int(((x > box[0] - 3) & (x < box[2] + 3) & (y > box[1] - 3) & (y < box[3] + 3)).sum())
