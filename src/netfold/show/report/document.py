"""One html file: a template, a style, a script and the data, under a policy that lets nothing else in."""

from __future__ import annotations

import base64
import gzip
import hashlib
import html
import json
from collections.abc import Iterator
from importlib.resources import files
from typing import Any

import numpy as np
import numpy.typing as npt

from netfold.data.text import printable

__all__ = ["Blocks", "html_page"]


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


_SCRIPTS = (
    "dom", "blocks", "names", "palette", "camera", "grid", "painter", "overlay", "near", "sheet", "search", "legend",
    "details", "map", "pointer", "charts", "tables", "main",
)  # fmt: skip
"""In the order in which they stand in the page; together they are one module."""


def html_page(title: str, facts: dict[str, Any], blocks: Blocks) -> str:
    """The whole file.

    The policy names the style and the script by their hashes and allows nothing else: no other script, no request, no
    frame. Data stands in elements of a type that browsers do not execute.
    """
    style, script = _asset("report.css"), "\n".join(_asset(f"{name}.js") for name in _SCRIPTS)
    parts = {
        "policy": html.escape(_policy(script, style)),
        "title": html.escape(printable(title)),
        "style": style,
        "script": script,
        "facts": _json(_printable(facts)),
        "blocks": "\n".join(blocks.html()),
    }
    return _filled(_asset("report.html"), parts)


def _printable(value: Any) -> Any:
    """The same with every text in it as it may be shown: no name turns a line around, wherever it stands."""
    if isinstance(value, dict):
        return {_printable(name): _printable(x) for name, x in value.items()}
    if isinstance(value, (list, tuple)):
        return [_printable(x) for x in value]
    return printable(value) if isinstance(value, str) else value


def _policy(script: str, style: str) -> str:
    allowed = f"script-src {_hash(script)}; style-src {_hash(style)}; img-src data:"
    return f"default-src 'none'; {allowed}; base-uri 'none'; form-action 'none'"


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _asset(name: str) -> str:
    return (files("netfold.show.report") / "assets" / name).read_text(encoding="utf-8")


def _json(facts: dict[str, Any]) -> str:
    """Json that html cannot misread: `</script>` and `<!--` are written otherwise.

    >>> _json({"name": "</script>"})
    '{"name":"\\\\u003c/script>"}'
    """
    return json.dumps(facts, ensure_ascii=False, allow_nan=False, separators=(",", ":")).replace("<", "\\u003c")


def _filled(template: str, parts: dict[str, str]) -> str:
    """The template with each {{name}} replaced, once and from left to right: what is put in is not looked at."""
    pieces = template.split("{{")
    text = [pieces[0]]
    for piece in pieces[1:]:
        name, _, rest = piece.partition("}}")
        text += [parts[name], rest]
    return "".join(text)
