"""PecanPy's node2vec with its defaults: p = q = 1, 10 walks of 80 from each node, a window of 10, one pass."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from job import Job
from pecanpy.pecanpy import SparseOTF


def node2vec(job: Job) -> Any:
    """Walks drawn on the fly, the mode that its command line has as default; one thread. It reads a file of edges."""
    path = Path("edges.tsv")
    path.write_text("".join(f"{u}\t{v}\n" for u, v in job.edges()))
    graph = SparseOTF(p=1, q=1, workers=1, random_state=job.seed)
    graph.read_edg(str(path), weighted=False, directed=False)
    vectors = np.zeros((job.n_nodes, job.dim), np.float32)
    vectors[np.array(graph.nodes, dtype=np.int64)] = graph.embed(dim=job.dim)
    return vectors
