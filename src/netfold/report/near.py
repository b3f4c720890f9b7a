"""Vectors that a page carries, so that it can say which nodes are nearest to one."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from netfold.embedding import Embedding
from netfold.report.blocks import Blocks
from netfold.report.components import blocks_of_rows, leading, lengths_of

__all__ = ["packed_vectors"]

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
    width, kept = max(1, min(dim, most // max(n, 1))), 1.0
    if gaussian or width < dim:
        found = leading(vectors, width, centred=gaussian)
        vectors, kept = found.of(vectors), float(found.shares.sum())
    levels, kind = (32_767, np.int16) if 2 * n * width <= most else (127, np.int8)
    unit = (float(np.abs(vectors).max(initial=0)) or 1.0) / levels
    made = {"metric": "W2" if gaussian else "cosine", "width": width, "of": dim, "kept": kept, "unit": unit}
    return made | {"numbers": blocks.add(np.rint(vectors / unit).astype(kind))}


def _of_length_one(vectors: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    lengths, made = lengths_of(vectors)[:, None], np.empty_like(vectors)
    for rows in blocks_of_rows(vectors):
        made[rows] = vectors[rows] / np.where(lengths[rows] > 0, lengths[rows], 1)
    return made
