"""A table for the tests of what rows share, and of running them apart."""

from __future__ import annotations

import dataclasses
from typing import Any

from netfold.studies import reproduce


def three(tiny: reproduce.Table, **changed: Any) -> reproduce.Table:
    """The two rows of the tiny table, which share a fit, and between them one that shares the first's baselines."""
    first, second = tiny.rows
    other = dataclasses.replace(first, name="alone", config={**first.config, "epochs": 60} | changed)
    return dataclasses.replace(tiny, rows=(first, other, second))
