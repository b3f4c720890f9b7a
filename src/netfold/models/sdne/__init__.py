"""SDNE: structural deep network embedding (Wang, Cui, Zhu, KDD 2016; the chapter's first model)."""

from __future__ import annotations

from netfold.models.sdne.model import SDNE

__all__ = ["SDNE"]
