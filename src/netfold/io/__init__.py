"""Reading and writing: files in, values out."""

from __future__ import annotations

from netfold.io.classes import read_labels
from netfold.io.edges import read_edges

__all__ = ["read_edges", "read_labels"]
