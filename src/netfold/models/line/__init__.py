"""LINE: large-scale information network embedding (Tang, Qu, Wang, Zhang, Yan, Mei, WWW 2015)."""

from __future__ import annotations

from netfold.models.line.model import LINE

__all__ = ["LINE"]
