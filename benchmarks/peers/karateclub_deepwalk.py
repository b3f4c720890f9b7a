"""karateclub's DeepWalk with its defaults: 10 walks of 80 from each node, a window of 5, one pass."""

from __future__ import annotations

from typing import Any

import networkx
from job import Job
from karateclub import DeepWalk


def deepwalk(job: Job) -> Any:
    """One thread; it wants a networkx graph of the nodes 0 to n - 1 (which it changes)."""
    graph = networkx.empty_graph(job.n_nodes)
    graph.add_edges_from(job.edges())
    model = DeepWalk(dimensions=job.dim, workers=1, seed=job.seed)
    model.fit(graph)
    return model.get_embedding()
