"""Small graphs and Laplacian Gaussian processes with random parameters, in float64, and what dense matrices give."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy import sparse

from netfold.models.lgp import SHARING
from netfold.models.lgp.neighborhoods import Caps, read_around
from netfold.models.lgp.posterior import Known, arrivals
from netfold.models.lgp.process import Process
from netfold.models.lgp.solve import solved

DIM = 4
sharings = pytest.mark.parametrize("sharing", SHARING)


def random_graph(n: int = 24, p: float = 0.15, seed: int = 0) -> np.ndarray:
    """A dense symmetric matrix of weights, connected by a ring."""
    rng = np.random.default_rng(seed)
    upper = np.triu((rng.random((n, n)) < p) * rng.uniform(0.2, 2, (n, n)), 1)
    for i in range(n):
        a, b = sorted((i, (i + 1) % n))
        upper[a, b] = upper[a, b] or 1.0
    return upper + upper.T


def random_process(n: int, sharing: str = "all", *, hidden: int = 0, seed: int = 0, **start: float) -> Process:
    """One with parameters anywhere."""
    process = Process(n, DIM, 0, sharing=sharing, hidden=hidden).double()
    process.kernel.starts.copy_(torch.tensor([start.get("eta", 1.3), start.get("zeta", 0.4)]))
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for p in process.parameters():
            p.copy_(torch.randn(p.shape, generator=generator, dtype=torch.float64))
        process.kernel.raw_weights.mul_(2).sub_(2)
    return process


def laplacian(matrix: torch.Tensor) -> torch.Tensor:
    return torch.diag(matrix.sum(0)) - matrix


def precision(matrix: np.ndarray, process: Process, k: int, n_new: int) -> torch.Tensor:
    """M = I + eta L(Â) + zeta L(ÂÂ) of dimension k, dense; known nodes first, new ones after them."""
    kernel = process.kernel
    weights, eta, zeta = kernel.weights(kernel.raw_weights), kernel.eta, kernel.zeta
    a = torch.cat([weights[:, k % weights.shape[1]], torch.ones(n_new, dtype=torch.float64)])
    hat = torch.diag(a) @ torch.from_numpy(matrix) @ torch.diag(a)
    second = laplacian(hat @ hat)
    return torch.eye(len(a), dtype=torch.float64) + eta[k % len(eta)] * laplacian(hat) + zeta[k % len(zeta)] * second


def predicted(matrix: np.ndarray, process: Process, n_new: int) -> torch.Tensor:
    """z_* = -M_**⁻¹ M_*x z_x, a dense solve for each dimension."""
    n, columns = len(matrix) - n_new, []
    for k in range(DIM):
        m = precision(matrix, process, k, n_new)
        columns.append(-torch.linalg.solve(m[n:, n:], m[n:, :n] @ process.latent[:, k]))
    return torch.stack(columns, dim=1)


def later(matrix: np.ndarray, n_new: int):
    """The last nodes of a graph as arrivals to the others."""
    csr, n = sparse.csr_array(matrix), len(matrix) - n_new
    known = np.where(np.arange(len(matrix)) < n, np.arange(len(matrix)), -1)
    fitted = sparse.csr_array(matrix[:n, :n])
    return csr, np.arange(n, len(matrix)), known, fitted


def known_and_new(matrix: np.ndarray, process: Process, n_new: int):
    csr, new, known, fitted = later(matrix, n_new)
    return Known.of(process, fitted), arrivals(csr, new, known, fitted)


def each_as_new(matrix: np.ndarray, process: Process) -> torch.Tensor:
    """The latent state of every node, as if it were new and all others known."""
    n = len(matrix)
    around = read_around(
        sparse.csr_array(matrix), np.arange(n), np.arange(n), Caps(), torch.Generator(), dtype=torch.float64
    )
    return solved(process.system(around)).detach()
