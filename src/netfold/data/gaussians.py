"""Gaussians of nodes: how wide each is, its shadow in a plane, and the 2-Wasserstein distance of two."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from netfold.data.checks import Floats, check_at_least_one
from netfold.errors import InputError

__all__ = ["projected", "w2", "widths"]


_BLOCK = 1 << 20
"""Numbers that are looked at together: 8 MiB in float64."""


def widths(std: npt.NDArray[np.floating], largest: int) -> Floats:
    """The mean of the `largest` variances σ² of each Gaussian, of all where it has fewer: n x dim, made n.

    >>> widths(np.array([[1.0, 2.0, 3.0], [1.0, 1.0, 1.0]]), 2).tolist()
    [6.5, 1.0]
    """
    check_at_least_one(largest=largest)
    n, dim = std.shape
    count, step = min(int(largest), dim), max(1, _BLOCK // dim)
    means = np.empty(n)
    for start in range(0, n, step):
        variances = std[start : start + step].astype(np.float64) ** 2
        means[start : start + step] = np.partition(variances, dim - count, axis=1)[:, dim - count :].mean(axis=1)
    return means


def projected(std: npt.NDArray[np.floating], axes: npt.NDArray[np.floating]) -> Floats:
    """The covariance Wᵀ diag(σ²) W of each Gaussian in the plane of `axes` W: n x dim and dim x 2, made n x 2 x 2.

    A linear map of a Gaussian is a Gaussian, so this is all that there is to see of it from there.

    >>> projected(np.array([[3.0, 2.0, 1.0]]), np.array([[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]])).tolist()
    [[[9.0, 0.0], [0.0, 4.0]]]
    """
    variances, plane = std.astype(np.float64) ** 2, axes.astype(np.float64)
    products = plane[:, :, None] * plane[:, None, :]
    covariances: Floats = (variances @ products.reshape(len(plane), -1)).reshape(-1, plane.shape[1], plane.shape[1])
    return covariances


_SYMMETRY = 1e-8
"""How far a covariance may be from symmetric and from having no negative variance, as a share of its largest entry."""


def w2(mean_a: npt.ArrayLike, cov_a: npt.ArrayLike, mean_b: npt.ArrayLike, cov_b: npt.ArrayLike) -> float:
    """W2 of N(μ_a, Σ_a) and N(μ_b, Σ_b), with full covariances: what it costs to move the one onto the other.

    W2² = |μ_a - μ_b|² + Tr(Σ_a + Σ_b - 2 (Σ_a^½ Σ_b Σ_a^½)^½). A covariance is d x d, or d variances.

    It is computed as |μ_a - μ_b|² + ‖Σ_a^½ - Σ_b^½ U‖² with U the rotation that makes it least, which is the same
    number without the difference of near numbers: equal Gaussians are 0 apart to the last digits, and not to their
    square root. Where the covariances commute, U is the identity: for diagonal ones W2 is the Euclidean distance of
    [μ, σ], see `Embedding.coordinates`.

    >>> w2([0, 0], [[2, 1], [1, 2]], [3, 4], [[2, 1], [1, 2]])
    5.0
    >>> w2([0, 0], [1, 4], [0, 0], [1, 9])
    1.0
    """
    a, b = _mean(mean_a, "mean_a"), _mean(mean_b, "mean_b")
    if len(a) != len(b):
        raise InputError(f"mean_a has {len(a)} numbers and mean_b has {len(b)}; they need as many")
    root_a, root_b = _root(cov_a, len(a), "cov_a"), _root(cov_b, len(b), "cov_b")
    left, _, right = np.linalg.svd(root_b @ root_a)  # of all rotations, their product is nearest to Σ_b^½ Σ_a^½
    apart = root_a - root_b @ (left @ right)
    return float(np.hypot(np.linalg.norm(a - b), np.linalg.norm(apart)))


def _mean(values: npt.ArrayLike, name: str) -> Floats:
    numbers = _numbers(values, name)
    if numbers.ndim != 1 or not len(numbers):
        raise InputError(f"{name} has the shape {numbers.shape}; a mean is a vector of d numbers")
    return numbers


def _root(values: npt.ArrayLike, d: int, name: str) -> Floats:
    """Σ^½: symmetric, without negative eigenvalues."""
    numbers = _numbers(values, name)
    shape = numbers.shape
    numbers = np.diag(numbers) if numbers.ndim == 1 else numbers
    if numbers.shape != (d, d):
        raise InputError(f"{name} has the shape {shape}; for a mean of {d} numbers it is {d} x {d}, or {d} variances")
    slack = _SYMMETRY * np.abs(numbers).max()
    if np.abs(numbers - numbers.T).max() > slack:
        raise InputError(f"{name} is not symmetric; a covariance is")
    values, vectors = np.linalg.eigh((numbers + numbers.T) / 2)
    if values[0] < -slack:
        raise InputError(f"{name} has the variance {values[0]:g} in some direction; variances are at least 0")
    root: Floats = (vectors * np.sqrt(values.clip(min=0))) @ vectors.T
    return root


def _numbers(values: Any, name: str) -> Floats:
    try:
        numbers = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(f"{name} is not an array of real numbers") from None
    if not np.isfinite(numbers).all():
        raise InputError(f"{name} holds a number that is not finite")
    return numbers
