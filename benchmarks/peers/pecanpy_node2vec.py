"""PecanPy's node2vec with its defaults: p = q = 1, 10 walks of 80 from each node, a window of 10, one pass."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from job import Job

_OLD = {
    "bool8": "bool_", "object0": "object_", "int0": "intp", "uint0": "uintp", "float_": "float64",
    "longfloat": "longdouble", "singlecomplex": "complex64", "complex_": "complex128", "cfloat": "complex128",
    "clongfloat": "clongdouble", "longcomplex": "clongdouble", "void0": "void", "bytes0": "bytes_", "str0": "str_",
    "string_": "bytes_", "unicode_": "str_",
}  # fmt: skip
for _name, _now in _OLD.items():  # names that nptyping, which it imports, asks for, and numpy 2 no longer has
    if _name not in vars(np):
        setattr(np, _name, getattr(np, _now))
from pecanpy.pecanpy import SparseOTF  # noqa: E402


def node2vec(job: Job) -> Any:
    """Walks drawn on the fly, the mode that its command line has as default; one thread. It reads a file of edges."""
    path = Path("edges.tsv")
    path.write_text("".join(f"{u}\t{v}\n" for u, v in job.edges()))
    graph = SparseOTF(p=1, q=1, workers=1, random_state=job.seed)
    graph.read_edg(str(path), weighted=False, directed=False)
    vectors = np.zeros((job.n_nodes, job.dim), np.float32)
    vectors[np.array(graph.nodes, dtype=np.int64)] = graph.embed(dim=job.dim)
    return vectors
