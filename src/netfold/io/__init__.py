"""Reading and writing: files in, values out."""

from __future__ import annotations

from netfold.io.classes import read_labels
from netfold.io.edges import read_edges
from netfold.io.hif import read_hif, write_hif
from netfold.io.hyperedges import read_hyperedges

__all__ = ["read_edges", "read_hif", "read_hyperedges", "read_labels", "write_hif"]
