"""Where the nodes are: a point of the plane for each vector."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np
import numpy.typing as npt

from netfold.data.embedding import Embedding
from netfold.errors import InputError

__all__ = []


def imported(name: str) -> Any:
    """A module of that extra; where it is missing, the error says how to get it."""
    try:
        return importlib.import_module(name)
    except ImportError:
        raise InputError(f"{name.split('.')[0]} is missing; install it with: pip install 'netfold[viz]'") from None


Floats = npt.NDArray[np.float64]

_LEAST_TSNE = 4
_FEW = 250
_START = 1e-4
"""The deviation of the points that t-SNE begins with: small, as the method asks."""


def project(vectors: npt.NDArray[Any], method: str = "pca") -> tuple[Floats, tuple[str, str]]:
    """A point of the plane for each vector (n x 2), and what the two axes are.

    "pca" turns the cloud so that it is seen at its widest; "tsne" keeps neighborhoods, and nothing else, as they are.

    >>> points, names = project(np.array([[0, 0, 0], [3, 4, 0], [6, 8, 0]]))
    >>> points.round(6).tolist(), names[0]
    ([[-5.0, 0.0], [0.0, 0.0], [5.0, 0.0]], 'first principal component (100% of the variance)')
    """
    if method not in ("pca", "tsne"):
        raise InputError(f"method={method!r} is not one of pca, tsne")
    centred = np.asarray(vectors, np.float64) - np.mean(vectors, axis=0, dtype=np.float64)
    if method == "tsne" and len(centred) >= _LEAST_TSNE:
        return _tsne(centred), ("t-SNE: who is near whom counts, how far the others are does not", "")
    return _pca(centred)


def as_compared(embedding: Embedding, method: str) -> Floats:
    """t-SNE of plain vectors keeps the neighbors that `nearest` names, which are those by cosine."""
    points = np.asarray(embedding.coordinates, np.float64)
    if method != "tsne" or embedding.std is not None:
        return points
    lengths = np.linalg.norm(points, axis=1, keepdims=True)
    return points / np.where(lengths > 0, lengths, 1.0)


def principal_axes(vectors: npt.NDArray[Any]) -> Floats:
    """V (dim x 2), the two leading eigenvectors of XᵀX, X the centred vectors: what `project` by PCA multiplies with.

    Each is turned so that its largest entry is positive; where there is one dimension, the second is 0.
    """
    return _axes(np.asarray(vectors, np.float64) - np.mean(vectors, axis=0, dtype=np.float64))[0]


def _axes(centred: Floats) -> tuple[Floats, Floats]:
    """The principal axes, and each one's share of the variance."""
    size = np.abs(centred).max(initial=0) or 1.0  # squares of what is left neither vanish nor overflow
    values, vectors = np.linalg.eigh((centred / size).T @ (centred / size))
    leading = vectors[:, ::-1][:, :2]
    leading = leading * np.sign(leading[np.abs(leading).argmax(axis=0), range(leading.shape[1])])
    if leading.shape[1] == 1:
        leading = np.column_stack([leading, np.zeros(len(leading))])
    return leading, values[::-1] / (values.sum() or 1.0)


def _pca(centred: Floats) -> tuple[Floats, tuple[str, str]]:
    leading, shares = _axes(centred)
    names = [
        f"{n} principal component ({x:.0%} of the variance)" for n, x in zip(("first", "second"), shares, strict=False)
    ]
    return centred @ leading, (names[0], names[1] if len(names) > 1 else "")


def _tsne(centred: Floats) -> Floats:
    """Begun with the two leading components, and a little noise: what coincided would stay together for ever.

    Few nodes are taken exactly. The tree of Barnes and Hut, for more, counts points in one place as one: many pairs of
    them, as where roles are the same, and the others are driven apart without end.
    """
    start, _ = _pca(centred)
    start *= _START / (start[:, 0].std() or 1.0)
    start += np.random.default_rng(0).normal(size=start.shape) * _START / 10
    perplexity = min(30.0, (len(centred) - 1) / 3)
    if len(centred) <= _FEW:
        from sklearn.manifold import TSNE

        exact = TSNE(perplexity=perplexity, init=start.astype(np.float32), method="exact", random_state=0)
        return np.asarray(exact.fit_transform(centred), np.float64)
    found = imported("openTSNE").TSNE(perplexity=perplexity, random_state=0, initialization=start).fit(centred)
    return np.asarray(found, np.float64)
