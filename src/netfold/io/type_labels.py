"""The labels of one type of nodes, collected from the columns of files and numbered."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from netfold.io.digits import PAD
from netfold.io.ends import TextEnds
from netfold.io.lines import is_integer
from netfold.io.rows import Rows
from netfold.labels import Labels

__all__ = ["TypeLabels"]

Codes = npt.NDArray[np.int32]


class TypeLabels:
    """Labels as texts, numbered as they first appear; integers at last, where all of them are."""

    def __init__(self) -> None:
        self._table = TextEnds()
        self._only_texts = False

    def add(self, rows: Rows) -> Codes:
        """The numbers of the labels in these places (rows x columns)."""
        even, odd = self._table.add(rows)  # made for edges: every second label is the end of one
        codes = np.empty(rows.starts.size, np.int32)
        codes[0::2], codes[1::2] = even, odd
        return codes.reshape(rows.starts.shape)

    def add_texts(self, texts: list[bytes], width: int) -> Codes:
        """The same of labels that are apart already, row after row, and are strings whatever they look like."""
        self._only_texts = True
        return self._add(texts).reshape(-1, width)

    def add_integers(self, values: npt.NDArray[np.int64]) -> Codes:
        """The same of integers (rows x columns)."""
        distinct, first, inverse = np.unique(values, return_index=True, return_inverse=True)
        order = np.argsort(first)  # so that they are numbered as they first appear, as texts are
        codes = np.empty(len(order), np.int32)
        codes[order] = self._add([b"%d" % x for x in distinct[order].tolist()])
        return codes[inverse].reshape(values.shape)

    def finish(self) -> tuple[Labels, Codes | None]:
        """The labels, and the new number of each old one where integers were put in ascending order."""
        texts = self._table.finish([])
        if self._only_texts or not all(is_integer(text.encode()) for text in texts):
            return texts, None
        values = np.array([int(text) for text in texts], np.int64)
        order = np.argsort(values)
        rank = np.empty(len(order), np.int32)
        rank[order] = np.arange(len(order), dtype=np.int32)
        return Labels("int", {"ints": values[order]}), rank

    def _add(self, texts: list[bytes]) -> Codes:
        bounds = np.zeros(len(texts) + 1, np.int64)
        np.cumsum([len(text) for text in texts], out=bounds[1:])
        bounds += PAD
        buffer = np.frombuffer(b"".join([bytes(PAD), *texts, bytes(PAD)]), np.uint8)
        return self.add(Rows(buffer, bounds[:-1], bounds[1:], None, False))
