"""DRNE: deep recursive network embedding (Tu, Cui, Wang, Yu, Zhu, KDD 2018; the chapter's second model)."""

from __future__ import annotations

from netfold.models.drne.model import DRNE

__all__ = ["DRNE"]
