"""netfold's SDNE."""

from __future__ import annotations

from typing import Any

from job import Job

import netfold.models.sdne.network  # noqa: F401  netfold imports torch where it is used, which is no part of a fit
from netfold.data.graph import Graph
from netfold.models import SDNE


def sdne(job: Job) -> Any:
    """The defaults, but for what the job says."""
    options = {name: tuple(x) if isinstance(x, list) else x for name, x in job.options.items()}
    graph = Graph.from_scipy(job.adjacency, directed=False)
    return SDNE(dim=job.dim, seed=job.seed, device="cpu", **options).fit(graph, progress=False).embedding_.vectors
