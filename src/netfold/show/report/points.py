"""What a page carries of an embedding: points of the plane, ellipses, and vectors to find the nearest by."""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from netfold.data.checks import Floats, check_choice
from netfold.data.embedding import Embedding
from netfold.data.gaussians import projected, widths
from netfold.show.plot.projection import (
    Directions,
    as_compared,
    blocks_of_rows,
    half_axes,
    principal_directions,
    project,
)
from netfold.show.report.document import Blocks

__all__ = ["METHODS", "Points", "lengths_of", "packed_vectors", "placed"]


def lengths_of(vectors: npt.NDArray[Any]) -> Floats:
    """The length of each vector, in float64: squares of float32 may overflow.

    >>> lengths_of(np.array([[3, 4], [0, 0]], np.float32)).tolist()
    [5.0, 0.0]
    """
    lengths = np.empty(len(vectors))
    for rows in blocks_of_rows(vectors):
        lengths[rows] = np.linalg.norm(vectors[rows].astype(np.float64), axis=1)
    return lengths


METHODS = ("auto", "pca", "tsne")
_LEAST, _FEW, _TSNE = 4, 250, 5_000
"""From so many nodes on there is a t-SNE, up to so many it is exact, and up to so many taken by default: seconds."""
_LEVELS = 65_535
_ELLIPSE = 0.03
"""Most ellipses are to be no wider than this part of the map."""


@dataclass(frozen=True, eq=False)
class Points:
    """The map of an embedding."""

    at: Floats
    """n x 2."""
    method: str
    """In words."""
    ellipses: Floats | None
    """n x 3: both half axes of one standard deviation and the angle of the first; None where nodes are points."""
    exact: bool
    """Whether the ellipses are the Gaussians' own, seen in the plane."""
    directions: Directions | None = None
    """Of a linear map: what a vector is seen along."""

    def packed(self, blocks: Blocks) -> dict[str, Any]:
        """For the page: positions as 16-bit parts of their box, and the box that is shown first."""
        parts, home = self.in_box()
        levels = np.rint(parts * _LEVELS).astype(np.uint16)
        facts = {"method": self.method, "xy": blocks.add(levels), "home": home}
        return facts | ({"ellipses": self._ellipses(blocks, self._span)} if self.ellipses is not None else {})

    @property
    def _span(self) -> float:
        return max(float(np.ptp(self.at, axis=0).max()), 1e-30)

    def in_box(self) -> tuple[Floats, list[float]]:
        """The points as parts of their box, one scale for both axes, and the part that is shown first."""
        parts = self.as_parts(self.at)
        return parts, _home(parts)

    def as_parts(self, at: Floats) -> Floats:
        """Points of the plane as parts of the box that this map has."""
        low, high = self.at.min(axis=0), self.at.max(axis=0)
        parts: Floats = (at - (low + high - self._span) / 2) / self._span
        return parts

    def where(self, vectors: npt.NDArray[Any]) -> Floats | None:
        """Where vectors that are not on the map would be, as parts of its box; None where the map is not linear."""
        if self.directions is None:
            return None
        at = self.directions.of(vectors)
        return self.as_parts(at if at.shape[1] == 2 else np.column_stack([at, np.zeros(len(at))]))

    def _ellipses(self, blocks: Blocks, span: float) -> dict[str, Any]:
        """Roots of the half axes and the angle in 8 bits each, and how much of σ is drawn."""
        assert self.ellipses is not None
        axes, angle = self.ellipses[:, :2] / span, self.ellipses[:, 2]
        most = float(axes.max(initial=0)) or 1.0
        parts = np.column_stack([np.sqrt(axes / most), (angle / np.pi) % 1])
        packed = blocks.add(np.rint(parts * 255).astype(np.uint8))
        return {"parts": packed, "most": most, "drawn": _drawn(axes), "exact": self.exact}


def placed(embedding: Embedding, method: str = "auto") -> Points:
    """A point for each node, by "pca" or "tsne"; "auto" is t-SNE for up to 5,000 nodes that are points, PCA otherwise.

    PCA is linear, so that a Gaussian is an ellipse there: N(Vᵀμ, VᵀΣV) with the directions V of most variance of μ.
    """
    check_choice(METHODS, method=method)
    if len(embedding) >= _LEAST and (method == "tsne" or (method == "auto" and _takes_tsne(embedding))):
        at, _ = project(as_compared(embedding, "tsne"), "tsne")
        return Points(at, _TSNE_WORDS, _discs(embedding), exact=False)
    directions = principal_directions(embedding.vectors, 2)
    at = directions.of(embedding.vectors)
    if at.shape[1] == 1:
        at = np.column_stack([at, np.zeros(len(at))])
    shares = f"{directions.shares.sum():.0%} of the variance"
    words = f"PCA: the two directions of most variance ({shares}); distances are those of this projection"
    return Points(at, words, _shadows(embedding, directions), exact=True, directions=directions)


_TSNE_WORDS = "t-SNE: near neighbors are meaningful, distances between groups are not"


def _takes_tsne(embedding: Embedding) -> bool:
    n = len(embedding)
    fits = n <= _FEW or (n <= _TSNE and importlib.util.find_spec("openTSNE") is not None)
    return embedding.std is None and fits


def _shadows(embedding: Embedding, directions: Directions) -> Floats | None:
    """The half axes and the angle of VᵀΣV, in blocks of rows."""
    if embedding.std is None:
        return None
    plane = np.zeros((embedding.dim, 2))
    plane[:, : directions.axes.shape[1]] = directions.axes
    parts = [half_axes(projected(embedding.std[rows], plane)) for rows in blocks_of_rows(embedding.std)]
    return np.concatenate([np.column_stack([lengths, np.radians(angles)]) for lengths, angles in parts])


def _discs(embedding: Embedding) -> Floats | None:
    """Where the map is not linear: the root of the mean variance in every direction."""
    if embedding.std is None:
        return None
    size = np.sqrt(widths(embedding.std, embedding.dim))
    return np.column_stack([size, size, np.zeros(len(size))])


def _home(parts: Floats) -> list[float]:
    """Left, bottom, right, top of what is shown first: nearly all, but not the empty room about a few far off."""
    low, high = np.quantile(parts, [0.01, 0.99], axis=0)
    room = 0.25 * max(float((high - low).max()), 1e-3)
    left, bottom = np.maximum(low - room, parts.min(axis=0))
    right, top = np.minimum(high + room, parts.max(axis=0))
    return [float(left), float(bottom), float(right), float(top)]


def _drawn(axes: Floats) -> float:
    """The share of σ that is drawn: 1, or a round number at which most ellipses leave room for others."""
    usual = float(np.quantile(axes[:, 0], 0.8)) if len(axes) else 0.0
    steps = [1.0, 0.5, 0.2, 0.1, 0.05, 0.02, 0.01]
    return next((x for x in steps if x * usual <= _ELLIPSE), steps[-1])


_BYTES = 8 << 20
"""What the vectors of one model may take."""


def packed_vectors(embedding: Embedding, blocks: Blocks, *, most: int = _BYTES) -> dict[str, Any]:
    """What `Embedding.nearest` compares by default, in whole numbers: x = number * unit.

    Cosines of points are products of vectors of length 1; W2 of Gaussians is the distance of `coordinates`. They have
    16 bits where that fits into `most` bytes, 8 where not and, where even that is too much, as many leading directions
    as fit: the page says how many, and what part of the squares they keep.
    """
    gaussian = embedding.std is not None
    vectors: npt.NDArray[Any] = embedding.coordinates if gaussian else _of_length_one(embedding.vectors)
    n, dim = vectors.shape
    width, share = max(1, min(dim, most // max(n, 1))), 1.0
    if gaussian or width < dim:
        directions = principal_directions(vectors, width, centred=gaussian)
        vectors, share = directions.of(vectors), float(directions.shares.sum())
    levels, kind = (32_767, np.int16) if 2 * n * width <= most else (127, np.int8)
    unit = (float(np.abs(vectors).max(initial=0)) or 1.0) / levels
    facts = {"metric": "W2" if gaussian else "cosine", "width": width, "of": dim, "kept": share, "unit": unit}
    return facts | {"numbers": blocks.add(np.rint(vectors / unit).astype(kind))}


def _of_length_one(vectors: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    lengths, scaled = lengths_of(vectors)[:, None], np.empty_like(vectors)
    for rows in blocks_of_rows(vectors):
        scaled[rows] = vectors[rows] / np.where(lengths[rows] > 0, lengths[rows], 1)
    return scaled
