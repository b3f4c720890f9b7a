"""netfold's Spectral, in the form that the job says."""

from __future__ import annotations

from typing import Any

from job import Job

import netfold.models.spectral.network  # noqa: F401  netfold imports torch where it is used, which is no part of a fit
from netfold.data.graph import Graph
from netfold.models import Spectral


def spectral(job: Job) -> Any:
    """The defaults, but for what the job says."""
    graph = Graph.from_scipy(job.adjacency, directed=False)
    model = Spectral(dim=job.dim, seed=job.seed, device="cpu", **job.options)
    return model.fit(graph, progress=False).embedding_.vectors
