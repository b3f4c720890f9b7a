"""Regressions over tensors."""

from __future__ import annotations

import math

import numpy as np
import torch

from netfold.learn.solvers import logistic_regression


def test_logistic_regression_is_where_the_gradient_is_zero():
    """By a loop in float64; and of columns that are copies of others, and that tell all rows apart."""
    rng = np.random.default_rng(4)
    x = rng.normal(size=(80, 3))
    truth = rng.random(80) < 1 / (1 + np.exp(-(x @ [1.0, -2.0, 0.0] - 1)))
    for columns, ridge in ((x, 0.7), (np.hstack([x, x]), 0.7), (np.where(truth[:, None], 1.0, -1.0), 0.1)):
        w, b = logistic_regression(torch.from_numpy(columns), torch.from_numpy(truth), ridge)
        slope, constant = ridge * w.numpy(), 0.0
        for row, right in zip(columns, truth, strict=True):
            error = 1 / (1 + math.exp(-(row @ w.numpy() + float(b)))) - right
            slope, constant = slope + error * row, constant + error
        assert np.abs(slope).max() < 1e-6 and abs(constant) < 1e-6 < np.abs(w.numpy()).min()
