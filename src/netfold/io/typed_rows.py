"""Rows of hyperedges cut from text, and the nodes of one type, collected from the columns of files and numbered."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from netfold.data.arrays import Ints32
from netfold.data.columns import Roles
from netfold.data.nodes import Nodes
from netfold.io.ends import TextEnds
from netfold.io.fields import Layout, Rows, cut_tidied, digit_grid, field_grid, separated_lines
from netfold.io.lines import LineError, is_integer
from netfold.io.numbers import PAD

__all__ = ["TupleLayout", "TypeNodes", "fast_tuple_rows", "parsed_tuples", "slow_tuple_rows"]


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


def parsed_tuples(line: int, text: bytes, layout: TupleLayout) -> Rows:
    """The hyperedges in a piece that begins with line `line`; a `LineError` names the line that is wrong."""
    rows = fast_tuple_rows(text, layout)
    return slow_tuple_rows(line, text, layout) if rows is None else rows


def fast_tuple_rows(text: bytes, layout: TupleLayout) -> Rows | None:
    """All lines at once, or None where one of them is out of the ordinary."""
    return cut_tidied(text, layout.delimiter, lambda regular: _cut(regular, layout))


def slow_tuple_rows(line: int, text: bytes, layout: TupleLayout) -> Rows:
    """Line by line, in plain Python."""
    fields: list[bytes] = []
    for number, cells in separated_lines(line, text, layout.of_edges):
        empty = next((name for i, name in zip(layout.columns, layout.names, strict=True) if not cells[i]), None)
        if empty is not None:
            raise LineError(number, f"the column {empty!r} is empty; a hyperedge needs a node in every column read")
        fields += [cells[i] for i in layout.columns]
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
        return None  # a run of blanks separates fields but once
    starts, ends = (places[:, layout.columns] for places in fields)
    return None if np.any(starts >= ends) else Rows(buffer, starts, ends, None, digits)


class TypeNodes:
    """Nodes as texts, numbered as they first appear; integers at last, where all of them are."""

    def __init__(self) -> None:
        self._table = TextEnds()
        self._only_texts = False

    def add(self, rows: Rows) -> Ints32:
        """The numbers of the nodes in these places (rows x columns)."""
        even, odd = self._table.add(rows)  # made for edges: every second node is the end of one
        codes = np.empty(rows.starts.size, np.int32)
        codes[0::2], codes[1::2] = even, odd
        return codes.reshape(rows.starts.shape)

    def add_texts(self, texts: list[bytes], width: int) -> Ints32:
        """The same of nodes that are apart already, row after row, and are strings whatever they look like."""
        self._only_texts = True
        return self._add(texts).reshape(-1, width)

    def add_integers(self, values: npt.NDArray[np.int64]) -> Ints32:
        """The same of integers (rows x columns)."""
        distinct, first, inverse = np.unique(values, return_index=True, return_inverse=True)
        order = np.argsort(first)  # so that they are numbered as they first appear, as texts are
        codes = np.empty(len(order), np.int32)
        codes[order] = self._add([b"%d" % x for x in distinct[order].tolist()])
        return codes[inverse].reshape(values.shape)

    def finish(self) -> tuple[Nodes, Ints32 | None]:
        """The nodes, and the new number of each old one where integers were put in ascending order."""
        texts = self._table.finish([])
        if self._only_texts or not all(is_integer(text.encode()) for text in texts):
            return texts, None
        values = np.array([int(text) for text in texts], np.int64)
        order = np.argsort(values)
        rank = np.empty(len(order), np.int32)
        rank[order] = np.arange(len(order), dtype=np.int32)
        return Nodes("int", {"ints": values[order]}), rank

    def _add(self, texts: list[bytes]) -> Ints32:
        bounds = np.zeros(len(texts) + 1, np.int64)
        np.cumsum([len(text) for text in texts], out=bounds[1:])
        bounds += PAD
        buffer = np.frombuffer(b"".join([bytes(PAD), *texts, bytes(PAD)]), np.uint8)
        return self.add(Rows(buffer, bounds[:-1], bounds[1:], None, False))
