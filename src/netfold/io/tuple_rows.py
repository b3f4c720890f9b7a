"""Pieces of text cut into the columns of hyperedges: with numpy where the text is regular, line by line where not."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from netfold.io.columns import Roles
from netfold.io.digits import PAD
from netfold.io.lines import LineError
from netfold.io.rows import Layout, Rows, cut_tidied, digit_grid, field_grid, parted_lines

__all__ = ["TupleLayout", "fast_tuple_rows", "slow_tuple_rows", "tuple_rows"]

_MARGIN = bytes(PAD)


@dataclass(frozen=True)
class TupleLayout:
    """How the lines of a file of hyperedges are to be read."""

    delimiter: bytes
    width: int
    """How many columns there are, those included that are passed over."""
    columns: tuple[int, ...]
    """Where the nodes of a hyperedge stand."""
    names: tuple[str, ...]
    """What those columns are called."""
    integers: bool
    """Whether all columns look like integers."""

    @property
    def of_edges(self) -> Layout:
        """The same for what cuts the lines of edges; only the delimiter and the width matter there."""
        return Layout(self.delimiter, self.width, Roles(0, 1, None), 1, self.integers)


def tuple_rows(line: int, text: bytes, layout: TupleLayout) -> Rows:
    """The hyperedges in a piece that begins with line `line`; a `LineError` names the line that is wrong."""
    rows = fast_tuple_rows(text, layout)
    return slow_tuple_rows(line, text, layout) if rows is None else rows


def fast_tuple_rows(text: bytes, layout: TupleLayout) -> Rows | None:
    """All lines at once, or None where one of them is out of the ordinary."""
    return cut_tidied(text, layout.delimiter, lambda regular: _cut(regular, layout))


def slow_tuple_rows(line: int, text: bytes, layout: TupleLayout) -> Rows:
    """Line by line, in plain Python."""
    fields: list[bytes] = []
    for number, parts in parted_lines(line, text, layout.of_edges):
        empty = next((name for i, name in zip(layout.columns, layout.names, strict=True) if not parts[i]), None)
        if empty is not None:
            raise LineError(number, f"the column {empty!r} is empty; a hyperedge needs a label in every column read")
        fields += [parts[i] for i in layout.columns]
    bounds = np.zeros(len(fields) + 1, np.int64)
    np.cumsum([len(field) for field in fields], out=bounds[1:])
    places = (bounds + PAD)[:-1].reshape(-1, len(layout.columns)), (bounds + PAD)[1:].reshape(-1, len(layout.columns))
    return Rows(np.frombuffer(b"".join([_MARGIN, *fields, _MARGIN]), np.uint8), *places, None, False)


def _cut(text: bytes, layout: TupleLayout) -> Rows | None:
    buffer = np.frombuffer(b"".join([_MARGIN, text, _MARGIN]), np.uint8)
    body, of_edges = buffer[PAD:-PAD], layout.of_edges
    newlines = body == 10
    n = int(np.count_nonzero(newlines))
    fields = digit_grid(buffer, body, n, of_edges) if layout.integers else None
    digits = fields is not None
    fields = fields or field_grid(buffer, body, newlines, n, of_edges)
    if fields is None or (layout.delimiter == b" " and np.any(fields[0] >= fields[1])):
        return None  # a run of blanks parts fields but once
    starts, ends = (places[:, layout.columns] for places in fields)
    return None if np.any(starts >= ends) else Rows(buffer, starts, ends, None, digits)
