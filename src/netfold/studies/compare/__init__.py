"""Several models, the same questions, one table: `nf.compare`."""

from __future__ import annotations

from netfold.studies.compare.running import compare
from netfold.studies.compare.table import Comparison, Entry

__all__ = ["Comparison", "Entry", "compare"]
