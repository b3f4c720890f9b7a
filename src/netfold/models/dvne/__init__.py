"""DVNE: deep variational network embedding in Wasserstein space (Zhu, Cui, Wang, Zhu, KDD 2018)."""

from __future__ import annotations

from netfold.models.dvne.model import DVNE

__all__ = ["DVNE"]
