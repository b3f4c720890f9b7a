"""The arrays of a page: each once, packed as text in elements of their own that no browser executes."""

from __future__ import annotations

import base64
import gzip
import hashlib
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["Blocks"]

_PAYS = 0.95
"""Packed to no less than this, bytes are left as they are: the browser is spared the unpacking."""


class Blocks:
    """Arrays by number. A page asks for one by what `add` gave for it, and unpacks it when it is first needed.

    >>> blocks = Blocks()
    >>> blocks.add(np.arange(3, dtype=np.uint16)), blocks.add(np.arange(3, dtype=np.uint16))
    ({'block': 0, 'kind': 'uint16'}, {'block': 0, 'kind': 'uint16'})
    >>> list(blocks.html())
    ['<script type="text/plain" id="block-0">AAABAAIA</script>']
    """

    def __init__(self) -> None:
        self._numbers: dict[bytes, int] = {}
        self._packed: list[tuple[bytes, bool]] = []

    def add(self, array: npt.NDArray[Any]) -> dict[str, Any]:
        """A reference to an array of whole numbers, little-endian in the page."""
        kind = array.dtype.newbyteorder("<")
        return {"block": self._number(np.ascontiguousarray(array, dtype=kind).tobytes()), "kind": array.dtype.name}

    def add_text(self, text: str) -> dict[str, Any]:
        """A reference to a text, as UTF-8."""
        return {"block": self._number(text.encode("utf-8", "replace")), "kind": "text"}

    def _number(self, content: bytes) -> int:
        key = hashlib.sha256(content).digest()
        if key not in self._numbers:
            self._numbers[key] = len(self._packed)
            packed = gzip.compress(content, 6, mtime=0)
            pays = len(packed) < _PAYS * len(content)
            self._packed.append((packed if pays else content, pays))
        return self._numbers[key]

    def html(self) -> Iterator[str]:
        """The elements: base64 has no character that html gives a meaning."""
        for i, (content, is_gzip) in enumerate(self._packed):
            kind = ' data-packed="gzip"' if is_gzip else ""
            text = base64.b64encode(content).decode("ascii")
            yield f'<script type="text/plain" id="block-{i}"{kind}>{text}</script>'
