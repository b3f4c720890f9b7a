"""DepthLGP: deeply transformed high-order Laplacian Gaussian processes (Ma, Cui, Zhu, AAAI 2018)."""

from __future__ import annotations

from netfold.models.depthlgp.model import DepthLGP

__all__ = ["DepthLGP"]
