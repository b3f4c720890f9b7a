"""Cleora, with its defaults."""

from __future__ import annotations

from typing import Any

import numpy as np
import pycleora
from job import Job


def cleora(job: Job) -> Any:
    """Repeated averages over neighbors, whitened; isolated nodes are unknown to it and get zeros."""
    lines = (f"{u} {v}" for u, v in job.edges())
    graph = pycleora.SparseMatrix.from_iterator(lines, "complex::reflexive::node", num_workers=1)
    vectors = np.zeros((job.n_nodes, job.dim), np.float32)
    vectors[np.array(graph.entity_ids, dtype=np.int64)] = pycleora.embed(graph, job.dim, seed=job.seed, num_workers=1)
    return vectors
