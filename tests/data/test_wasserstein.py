"""W2 of Gaussians: the closed form with matrix square roots, the diagonal case, and the laws of a metric."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.linalg import sqrtm

import netfold as nf
from netfold.data.gaussians import w2


def gaussian(rng, d: int):
    """A mean, and a full covariance with variances from about 0.01 to 10."""
    turn = np.linalg.qr(rng.normal(size=(d, d)))[0]
    return rng.normal(size=d), turn @ np.diag(10.0 ** rng.uniform(-2, 1, d)) @ turn.T


def by_the_chapter(mean_a, cov_a, mean_b, cov_b) -> float:
    root = sqrtm(cov_a)
    inner = sqrtm(root @ cov_b @ root)
    return float(np.sqrt(((mean_a - mean_b) ** 2).sum() + np.trace(cov_a + cov_b - 2 * inner).real))


@pytest.mark.parametrize("d", [1, 2, 5, 20])
def test_it_is_the_chapters_formula(d):
    rng = np.random.default_rng(d)
    for _ in range(5):
        (mean_a, cov_a), (mean_b, cov_b) = gaussian(rng, d), gaussian(rng, d)
        assert w2(mean_a, cov_a, mean_b, cov_b) == pytest.approx(
            by_the_chapter(mean_a, cov_a, mean_b, cov_b), abs=1e-10
        )


@pytest.mark.parametrize("d", [1, 3, 64])
def test_diagonal_covariances_make_it_the_distance_of_mean_and_deviation(d):
    """The commutative case of the chapter: W2² = |μ_a - μ_b|² + ‖Σ_a^½ - Σ_b^½‖²."""
    rng = np.random.default_rng(d)
    for _ in range(5):
        mean, std = rng.normal(size=(2, d)), rng.uniform(0.01, 3, (2, d))
        euclidean = np.linalg.norm(np.append(mean[0] - mean[1], std[0] - std[1]))
        full = w2(mean[0], np.diag(std[0] ** 2), mean[1], np.diag(std[1] ** 2))
        assert full == pytest.approx(euclidean, abs=1e-10)
        assert full == w2(mean[0], std[0] ** 2, mean[1], std[1] ** 2)
        emb = nf.Embedding("ab", mean, std)
        apart = np.linalg.norm(emb.coordinates[0] - emb.coordinates[1])
        assert apart == pytest.approx(euclidean, rel=1e-6)


def test_commuting_covariances_that_are_not_diagonal():
    rng = np.random.default_rng(0)
    turn = np.linalg.qr(rng.normal(size=(4, 4)))[0]
    a, b = rng.uniform(0.1, 2, (2, 4))
    found = w2(np.zeros(4), turn @ np.diag(a**2) @ turn.T, np.zeros(4), turn @ np.diag(b**2) @ turn.T)
    assert found == pytest.approx(np.linalg.norm(a - b), abs=1e-10)


# no factor between 0 and 1e-100: its square, a variance, would be 0
numbers = st.floats(-10, 10).map(lambda x: 0.0 if abs(x) < 1e-100 else x)


@st.composite
def three_gaussians(draw):
    d = draw(st.integers(1, 4))
    factors = draw(arrays(np.float64, (3, d, d), elements=numbers))
    means = draw(arrays(np.float64, (3, d), elements=numbers))
    return [(m, f @ f.T) for m, f in zip(means, factors, strict=True)]  # any covariance, singular ones too


@settings(max_examples=100, deadline=None)
@given(three_gaussians())
def test_it_is_a_metric(three):
    a, b, c = three
    near, far = w2(*a, *b), w2(*b, *c)
    assert near >= 0 and near == pytest.approx(w2(*b, *a), abs=1e-6)  # symmetry
    assert w2(*a, *a) == pytest.approx(0, abs=1e-6)  # identity
    assert w2(*a, *c) <= near + far + 1e-6  # the triangle inequality


def test_equal_gaussians_are_at_0_to_the_last_digits():
    """The chapter's trace, a difference of equal numbers, is only good to the root of those digits."""
    rng = np.random.default_rng(1)
    mean, cov = gaussian(rng, 30)
    assert w2(mean, cov, mean, cov) < 1e-12
    assert w2(mean, cov, mean + 1e-9, cov) == pytest.approx(1e-9 * np.sqrt(30), rel=1e-5)


def test_points_are_gaussians_without_variance():
    assert w2([1.0, 2.0], np.zeros((2, 2)), [4.0, 6.0], np.zeros((2, 2))) == 5.0
    assert w2([0.0], [0.0], [0.0], [4.0]) == 2.0


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (([0, 0], np.eye(2), [0], [1]), "mean_a has 2 numbers and mean_b has 1"),
        (([[0, 0]], np.eye(2), [0, 0], np.eye(2)), r"mean_a has the shape \(1, 2\)"),
        (([], [], [], []), "mean_a has the shape"),
        (([0, 0], np.eye(3), [0, 0], np.eye(2)), r"cov_a has the shape \(3, 3\); .* 2 x 2, or 2 variances"),
        (([0, 0], [1, 2, 3], [0, 0], np.eye(2)), r"cov_a has the shape \(3,\)"),
        (([0, 0], np.eye(2), [0, 0], [[1, 2], [0, 1]]), "cov_b is not symmetric"),
        (([0, 0], np.eye(2), [0, 0], [[1, 2], [2, 1]]), "cov_b has the variance -1 "),
        (([0, 0], np.eye(2), [0, np.nan], np.eye(2)), "mean_b holds a number that is not finite"),
        (([0, 0], np.eye(2), ["a", "b"], np.eye(2)), "mean_b is not an array of real numbers"),
        (([0, 0], [[1], [1, 2]], [0, 0], np.eye(2)), "cov_a is not an array of real numbers"),
    ],
)
def test_what_is_no_gaussian_is_refused(args, message):
    with pytest.raises(nf.InputError, match=message):
        w2(*args)
