"""DHNE: deep hyper-network embedding (Tu, Cui, Wang, Wang, Zhu, AAAI 2018; the chapter's third model)."""

from __future__ import annotations

from netfold.models.dhne.model import DHNE

__all__ = ["DHNE"]
