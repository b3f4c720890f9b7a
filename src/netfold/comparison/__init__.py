"""Several models, the same questions, one table: `nf.compare`."""

from __future__ import annotations

from netfold.comparison.running import compare
from netfold.comparison.table import Comparison, Entry

__all__ = ["Comparison", "Entry", "compare"]
