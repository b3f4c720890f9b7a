"""The numbers of every model on fixed small graphs stay what they were at commit 78c3cd0."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import fixed_vectors
import netfold as nf

STORED = Path(__file__).with_name("fixed_vectors.npz")


LATER = {"spectral", "degreefeatures", "graphwave", "joined"}
"""Models that there were not then; what they compute is told by their own tests, against dense algebra."""


def test_every_model_is_there() -> None:
    assert set(fixed_vectors.MODELS) | LATER == set(nf.MODELS)


@pytest.mark.parametrize("name", fixed_vectors.MODELS)
def test_numbers_are_as_before(name: str) -> None:
    found = fixed_vectors.vectors(name)
    with np.load(STORED) as stored:
        before = {key: stored[key] for key in stored.files if key.startswith(f"{name}/")}
    assert before and set(found) == set(before)
    for key, expected in before.items():
        finite = expected[np.isfinite(expected)]
        size = float(np.abs(finite).max()) if len(finite) else 0.0  # what is next to 0 has few digits that count
        np.testing.assert_allclose(found[key], expected, rtol=1e-4, atol=1e-5 * size, err_msg=key)
