"""Gaussians in a picture: an ellipse around the point of each node."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from netfold.data.arrays import Floats
from netfold.data.checks import is_number
from netfold.data.embedding import Embedding
from netfold.data.gaussians import projected
from netfold.errors import InputError
from netfold.show.plot.kinds import Kinds
from netfold.show.plot.projection import imported

__all__ = ["check_uncertainty", "draw_ellipses", "half_axes"]

_MOST = 300
"""So many ellipses are told apart."""


def check_uncertainty(embedding: Embedding, deviations: Any, method: str) -> float:
    """How many deviations an ellipse reaches; an `InputError` where there are none to draw."""
    if not is_number(deviations) or deviations < 0:
        raise InputError(
            f"uncertainty={deviations!r} is not a number of standard deviations; give 1, or 0 for no ellipses"
        )
    if deviations and embedding.std is None:
        raise InputError(f"{embedding} has no std to draw; ellipses are of Gaussians, as DVNE makes them")
    if deviations and method != "pca":
        raise InputError(
            f"method={method!r} bends the space, and an ellipse in it has no shape there; ellipses need method='pca'"
        )
    return float(deviations)


def half_axes(covariances: Floats) -> tuple[Floats, Floats]:
    """The two half axes of the ellipse of one deviation (n x 2, the longer first), and the longer's angle in degrees.

    They are the roots of the covariance's eigenvalues, and it points along the first eigenvector.

    >>> half_axes(np.array([[[4.0, 0.0], [0.0, 9.0]]]))
    (array([[3., 2.]]), array([90.]))
    """
    values, vectors = np.linalg.eigh(covariances)
    longest = vectors[:, :, 1] * np.where(vectors[:, 1:, 1] < 0, -1, 1)  # upwards: of two directions, always the same
    return np.sqrt(values[:, ::-1].clip(min=0)), np.degrees(np.arctan2(longest[:, 1], longest[:, 0]))


def draw_ellipses(
    axes: Any, points: Floats, plane: Floats, embedding: Embedding, kinds: Kinds, deviations: float, named: list[int]
) -> None:
    """The ellipse that a Gaussian's shadow in the plane has at so many deviations, in the colour of its node.

    Of many nodes, those that are named have one, and others by chance.
    """
    assert embedding.std is not None
    rows = _some(len(embedding), named)
    lengths, angles = half_axes(projected(embedding.std[rows], plane))
    wide, high = (2 * deviations * lengths).T
    shade = imported("matplotlib.colors").to_rgba_array
    colors, faint = np.array(kinds.colors)[kinds.of_node[rows]], float(np.clip(5 / len(rows), 0.02, 0.15))
    drawn = imported("matplotlib.collections").EllipseCollection(
        wide, high, angles, units="xy", offsets=points[rows], offset_transform=axes.transData, linewidths=0.7,
        facecolors=shade(colors, faint), edgecolors=shade(colors, min(3 * faint + 0.2, 0.6)), zorder=1.5,
    )  # fmt: skip
    axes.add_collection(drawn)
    reach = (deviations * lengths[:, :1]).max(initial=0)
    axes.update_datalim([points.min(axis=0) - reach, points.max(axis=0) + reach])
    axes.autoscale_view()


def _some(count: int, named: list[int]) -> npt.NDArray[np.int64]:
    """All rows, or the named ones and as many others by chance as there is room for."""
    if count <= _MOST:
        return np.arange(count)
    others = np.random.default_rng(0).permutation(np.setdiff1d(np.arange(count), named))
    return np.sort(np.append(np.array(named[:_MOST], np.int64), others[: max(0, _MOST - len(named))]))
