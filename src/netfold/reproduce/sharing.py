"""What rows of a table have in common: the fit that they stand on, and the baselines beside them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from netfold.reproduce.tables import Row, Table
from netfold.reproduce.tasks import NEW_NODES, fitted_to

__all__ = ["arguments_of_row", "groups", "key", "sources"]


def arguments_of_row(table: Table, row: Row, *, quick: bool) -> dict[str, Any]:
    """The protocol of a row: the table's, the row's own, and what `--quick` changes."""
    return {**table.task.arguments, **row.task, **(table.quick.task if quick else {})}


def groups(table: Table, *, quick: bool) -> list[tuple[Row, ...]]:
    """The rows, together where they share a fit: one model or base, set alike, fitted to the same part of the data.

    Rows of different groups have no fit in common, so that they can be run apart.
    """
    found: dict[str, list[Row]] = {}
    for row in table.rows:
        fitted = table.bases[row.base] if row.base else row
        part = fitted_to(arguments_of_row(table, row, quick=quick))
        found.setdefault(key(fitted.model, fitted.config, part), []).append(row)
    return [tuple(rows) for rows in found.values()]


def sources(table: Table, *, quick: bool) -> dict[str, str]:
    """For each row the row that its baselines are measured with: the first of the table that has the same ones.

    Baselines depend on the protocol and on the width of the vectors; those about new nodes, on the vectors themselves.
    """
    first: dict[str, str] = {}
    return {row.name: first.setdefault(_baselines(table, row, quick=quick), row.name) for row in table.rows}


def key(*parts: Any) -> str:
    """The same text for the same values."""
    return json.dumps(parts, sort_keys=True, default=str)


def _baselines(table: Table, row: Row, *, quick: bool) -> str:
    arguments = arguments_of_row(table, row, quick=quick)
    if row.base:
        return key(arguments, table.bases[row.base].model, table.bases[row.base].config)
    if table.task.name == NEW_NODES:
        return key(arguments, row.model, row.config)
    return key(arguments, _width(row, table.quick.config if quick else {}))


def _width(row: Row, changed: Mapping[str, Any]) -> int:
    from netfold.models import MODELS
    from netfold.options import config_from_json

    cls = MODELS[row.model]
    return int(cls(**config_from_json(cls, {**row.config, **changed})).dim)
