"""Gaussians with diagonal covariances, as an `Embedding` with `std` holds them: how wide they are, and in a plane."""

from __future__ import annotations

import numbers

import numpy as np
import numpy.typing as npt

from netfold.errors import InputError

__all__ = ["projected", "widths"]

Floats = npt.NDArray[np.float64]

_BLOCK = 1 << 20
"""Numbers that are looked at together: 8 MiB in float64."""


def widths(std: npt.NDArray[np.floating], largest: int) -> Floats:
    """The mean of the `largest` variances σ² of each Gaussian, of all where it has fewer: n x dim, made n.

    >>> widths(np.array([[1.0, 2.0, 3.0], [1.0, 1.0, 1.0]]), 2).tolist()
    [6.5, 1.0]
    """
    if not isinstance(largest, numbers.Integral) or isinstance(largest, bool) or largest < 1:
        raise InputError(f"largest={largest!r} is not a whole number of at least 1")
    n, dim = std.shape
    count, step = min(int(largest), dim), max(1, _BLOCK // dim)
    made = np.empty(n)
    for start in range(0, n, step):
        variances = std[start : start + step].astype(np.float64) ** 2
        made[start : start + step] = np.partition(variances, dim - count, axis=1)[:, dim - count :].mean(axis=1)
    return made


def projected(std: npt.NDArray[np.floating], axes: npt.NDArray[np.floating]) -> Floats:
    """The covariance Wᵀ diag(σ²) W of each Gaussian in the plane of `axes` W: n x dim and dim x 2, made n x 2 x 2.

    A linear map of a Gaussian is a Gaussian, so this is all that there is to see of it from there.

    >>> projected(np.array([[3.0, 2.0, 1.0]]), np.array([[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]])).tolist()
    [[[9.0, 0.0], [0.0, 4.0]]]
    """
    variances, plane = std.astype(np.float64) ** 2, axes.astype(np.float64)
    products = plane[:, :, None] * plane[:, None, :]
    made: Floats = (variances @ products.reshape(len(plane), -1)).reshape(-1, plane.shape[1], plane.shape[1])
    return made
