"""Where the nodes are: a point of the plane for each vector, and an ellipse around it for each Gaussian."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from netfold.data.checks import Floats, check_choice, is_number
from netfold.data.embedding import Embedding
from netfold.data.gaussians import projected
from netfold.errors import InputError
from netfold.learn.progress import slow_steps
from netfold.show.plot.kinds import Kinds

__all__ = ["check_uncertainty", "draw_ellipses", "half_axes"]


def imported(name: str) -> Any:
    """A module of that extra; where it is missing, the error says how to get it."""
    try:
        return importlib.import_module(name)
    except ImportError:
        raise InputError(f"{name.split('.')[0]} is missing; install it with: pip install 'netfold[viz]'") from None


_LEAST_TSNE = 4
_FEW = 250
_EVERY, _STEPS = 25, 750
"""Steps of openTSNE between two words on how far it is, and all of them: 250 and 500."""
_START = 1e-4
"""The deviation of the points that t-SNE begins with: small, as the method asks."""


_BLOCK = 1 << 20
"""Numbers that are looked at together."""


@dataclass(frozen=True, eq=False)
class Directions:
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


def principal_directions(vectors: npt.NDArray[Any], width: int, *, centred: bool = True) -> Directions:
    """The leading eigenvectors of XᵀX, each turned so that its largest entry is positive: PCA, where `centred`.

    >>> found = principal_directions(np.array([[0, 0, 0], [3, 4, 0], [6, 8, 0]]), 1)
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
    values, directions = np.linalg.eigh(gram)
    axes = directions[:, ::-1][:, :width]
    axes = axes * np.where(axes[np.abs(axes).argmax(axis=0), range(axes.shape[1])] < 0, -1, 1)
    values = values[::-1].clip(0)
    return Directions(middle, axes, values[:width] / (values.sum() or 1.0))


def blocks_of_rows(vectors: npt.NDArray[Any]) -> Iterator[slice]:
    """The rows of a matrix in parts of a bounded number of entries."""
    step = max(1, _BLOCK // max(vectors.shape[1], 1))
    for start in range(0, len(vectors), step):
        yield slice(start, min(start + step, len(vectors)))


def project(vectors: npt.NDArray[Any], method: str = "pca") -> tuple[Floats, tuple[str, str]]:
    """A point of the plane for each vector (n x 2), and what the two axes are.

    "pca" turns the cloud so that it is seen at its widest; "tsne" keeps neighborhoods, and nothing else, as they are.

    >>> points, names = project(np.array([[0, 0, 0], [3, 4, 0], [6, 8, 0]]))
    >>> points.round(6).tolist(), names[0]
    ([[-5.0, 0.0], [0.0, 0.0], [5.0, 0.0]], 'first principal component (100% of the variance)')
    """
    check_choice(("pca", "tsne"), method=method)
    directions = principal_directions(vectors, 2)
    centred = np.asarray(vectors, np.float64) - directions.middle
    points = centred @ _plane(directions)
    if method == "tsne" and len(centred) >= _LEAST_TSNE:
        return _tsne(centred, points), ("t-SNE: near neighbors are meaningful, distances between groups are not", "")
    return points, _names(directions.shares)


def as_compared(embedding: Embedding, method: str) -> Floats:
    """t-SNE of plain vectors keeps the neighbors that `nearest` names, which are those by cosine."""
    points = np.asarray(embedding.coordinates, np.float64)
    if method != "tsne" or embedding.std is not None:
        return points
    lengths = np.linalg.norm(points, axis=1, keepdims=True)
    return points / np.where(lengths > 0, lengths, 1.0)


def bulk(points: Floats) -> Floats:
    """Two corners (2 x 2) of what nine tenths of some points need, and half as much around them, where points are.

    >>> bulk(np.array([[x, x] for x in range(40)] + [[1000, 5]])).tolist()
    [[0.0, 0.0], [56.0, 39.0]]
    """
    low, high = np.quantile(points, [0.05, 0.95], axis=0)
    room = 0.5 * max(float((high - low).max()), 1e-9)
    return np.stack([np.maximum(low - room, points.min(axis=0)), np.minimum(high + room, points.max(axis=0))])


def principal_axes(vectors: npt.NDArray[Any]) -> Floats:
    """V (dim x 2), the two leading eigenvectors of XᵀX, X the centred vectors: what `project` by PCA multiplies with.

    Each is turned so that its largest entry is positive; where there is one dimension, the second is 0.
    """
    return _plane(principal_directions(vectors, 2))


def _plane(directions: Directions) -> Floats:
    """Two columns, whatever there is."""
    missing = np.zeros((len(directions.axes), 2 - directions.axes.shape[1]))
    return np.concatenate([directions.axes, missing], axis=1)


def _names(shares: Floats) -> tuple[str, str]:
    names = [
        f"{n} principal component ({x:.0%} of the variance)" for n, x in zip(("first", "second"), shares, strict=False)
    ]
    return names[0], names[1] if len(names) > 1 else ""


def _tsne(centred: Floats, start: Floats) -> Floats:
    """Begun with the two leading components `start`, and a little noise: what coincided would stay together for ever.

    Few nodes are taken exactly. The tree of Barnes and Hut, for more, counts points in one place as one: many pairs of
    them, as where roles are the same, and the others are driven apart without end.
    """
    start = start * (_START / (start[:, 0].std() or 1.0))
    start += np.random.default_rng(0).normal(size=start.shape) * _START / 10
    perplexity = min(30.0, (len(centred) - 1) / 3)
    if len(centred) <= _FEW:
        from sklearn.manifold import TSNE

        exact = TSNE(perplexity=perplexity, init=start.astype(np.float32), method="exact", random_state=0)
        return np.asarray(exact.fit_transform(centred), np.float64)
    done, said = [0], slow_steps(f"t-SNE of {len(centred):,} nodes", "steps")

    def step(*_: Any) -> bool:
        done[0] += _EVERY
        said(done[0], _STEPS)
        return False  # True would end it

    said(0, _STEPS)
    tsne = imported("openTSNE").TSNE(
        perplexity=perplexity, random_state=0, initialization=start, callbacks=step, callbacks_every_iters=_EVERY
    )
    return np.asarray(tsne.fit(centred), np.float64)


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
