"""scikit-network's spectral embeddings, with their defaults."""

from __future__ import annotations

from typing import Any

from job import Job
from sknetwork.embedding import SVD, Spectral


def spectral(job: Job) -> Any:
    """Eigenvectors of the random walk's Laplacian."""
    return Spectral(n_components=job.dim).fit_transform(job.adjacency)


def svd(job: Job) -> Any:
    """Singular vectors of the adjacency matrix."""
    return SVD(n_components=job.dim).fit_transform(job.adjacency)
