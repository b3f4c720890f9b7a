"""Leading directions of many vectors, in blocks of rows: for the map, and for vectors short enough to travel."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["Leading", "blocks_of_rows", "leading", "lengths_of"]

Floats = npt.NDArray[np.float64]

_BLOCK = 1 << 20
"""Numbers that are looked at together."""


@dataclass(frozen=True, eq=False)
class Leading:
    """Directions of a cloud of vectors, those of most variance (or, about the origin, of most length) first."""

    middle: Floats
    """What is subtracted before."""
    axes: Floats
    """dim x width, orthonormal."""
    shares: Floats
    """The part of the whole variance that each direction has."""

    def of(self, vectors: npt.NDArray[Any]) -> Floats:
        """The vectors in these directions: n x width."""
        parts = [(vectors[rows] - self.middle) @ self.axes for rows in blocks_of_rows(vectors)]
        return np.concatenate(parts) if parts else np.zeros((0, self.axes.shape[1]))


def leading(vectors: npt.NDArray[Any], width: int, *, centred: bool = True) -> Leading:
    """The leading eigenvectors of XᵀX, each turned so that its largest entry is positive.

    >>> found = leading(np.array([[0, 0, 0], [3, 4, 0], [6, 8, 0]]), 1)
    >>> found.axes.round(6).T.tolist(), found.shares.round(6).tolist()
    ([[0.6, 0.8, 0.0]], [1.0])
    """
    dim = vectors.shape[1]
    middle = vectors.mean(axis=0, dtype=np.float64) if centred and len(vectors) else np.zeros(dim)
    size = max((float(np.abs(vectors[rows] - middle).max()) for rows in blocks_of_rows(vectors)), default=0) or 1.0
    gram = np.zeros((dim, dim))
    for rows in blocks_of_rows(vectors):
        part = (vectors[rows] - middle) / size  # squares of what is left neither vanish nor overflow
        gram += part.T @ part
    values, found = np.linalg.eigh(gram)
    axes = found[:, ::-1][:, :width]
    axes = axes * np.where(axes[np.abs(axes).argmax(axis=0), range(axes.shape[1])] < 0, -1, 1)
    values = values[::-1].clip(0)
    return Leading(middle, axes, values[:width] / (values.sum() or 1.0))


def lengths_of(vectors: npt.NDArray[Any]) -> Floats:
    """The length of each vector, in float64: squares of float32 may overflow.

    >>> lengths_of(np.array([[3, 4], [0, 0]], np.float32)).tolist()
    [5.0, 0.0]
    """
    found = np.empty(len(vectors))
    for rows in blocks_of_rows(vectors):
        found[rows] = np.linalg.norm(vectors[rows].astype(np.float64), axis=1)
    return found


def blocks_of_rows(vectors: npt.NDArray[Any]) -> Iterator[slice]:
    """The rows of a matrix in parts of a bounded number of entries."""
    step = max(1, _BLOCK // max(vectors.shape[1], 1))
    for start in range(0, len(vectors), step):
        yield slice(start, min(start + step, len(vectors)))
