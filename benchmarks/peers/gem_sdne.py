"""GEM's SDNE, as `nxt_gem` keeps it alive: dense rows of both ends of every edge, tensorflow."""

from __future__ import annotations

from typing import Any

import networkx
from gem.embedding.sdne import SDNE
from job import Job

_EPOCHS = 30
_SETTINGS = {"beta": 5, "alpha": 1e-5, "nu1": 1e-6, "nu2": 1e-6, "K": 3, "n_units": [500, 300], "rho": 0.3}
"""Those of its own example on a block model, as are the 30 epochs, the step and the batch."""


def sdne(job: Job) -> Any:
    """It has no defaults."""
    graph = networkx.empty_graph(job.n_nodes)
    graph.add_edges_from(job.edges())

    def trained(epochs: int) -> Any:
        model = SDNE(d=job.dim, **_SETTINGS, n_iter=epochs, xeta=0.01, n_batch=500)
        return model.learn_embedding(graph=graph.to_directed(), is_weighted=True, no_python=True)

    return trained(_EPOCHS) if job.clock.allows(trained, _EPOCHS) else None
