"""One html file: a template, a style, a script and the data, under a policy that lets nothing else in.

Where its script or WebGL is missing, a still picture of each map is what is seen.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import html
import json
import struct
import zlib
from collections.abc import Iterator, Sequence
from importlib.resources import files
from typing import Any

import numpy as np
import numpy.typing as npt

from netfold.data.text import printable

__all__ = ["CLASS_COLORS", "STILL_RATIO", "Blocks", "filled", "hashed", "html_page", "printable_facts", "still_picture"]


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

    def __init__(self, *, pack: bool = True) -> None:
        """Those of a file are packed; a server on the same machine sends them as they are."""
        self._pack = pack
        self._numbers: dict[bytes, int] = {}
        self._packed: list[tuple[bytes, bool]] = []

    def __len__(self) -> int:
        return len(self._packed)

    def content(self, number: int) -> bytes:
        """The bytes of a block that is not packed."""
        return self._packed[number][0]

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
            packed = gzip.compress(content, 6, mtime=0) if self._pack else content
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


def html_page(title: str, facts: dict[str, Any], blocks: Blocks, stills: Sequence[str] = ()) -> str:
    """The whole file.

    The policy names the style and the script by their hashes and allows nothing else: no other script, no request, no
    frame. Data stands in elements of a type that browsers do not execute.
    """
    style, script = _asset("report.css"), "\n".join(_asset(f"{name}.js") for name in _SCRIPTS)
    parts = {
        "policy": html.escape(_policy(script, style)),
        "title": html.escape(printable(title)),
        "search": _asset("search.html"),
        "style": style,
        "script": script,
        "facts": _json(printable_facts(facts)),
        "blocks": "\n".join(blocks.html()),
        "stills": "\n".join(f'<figure id="still-{i}">{still}</figure>' for i, still in enumerate(stills)),
    }
    return filled(_asset("report.html"), parts)


def printable_facts(value: Any) -> Any:
    """The same with every text in it as it may be shown: no name turns a line around, wherever it stands."""
    if isinstance(value, dict):
        return {printable_facts(name): printable_facts(x) for name, x in value.items()}
    if isinstance(value, (list, tuple)):
        return [printable_facts(x) for x in value]
    return printable(value) if isinstance(value, str) else value


def _policy(script: str, style: str) -> str:
    allowed = f"script-src {hashed(script)}; style-src {hashed(style)}; img-src data:"
    return f"default-src 'none'; {allowed}; base-uri 'none'; form-action 'none'"


def hashed(text: str) -> str:
    """A script or a style as a policy names it."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _asset(name: str) -> str:
    return (files("netfold.show.report") / "assets" / name).read_text(encoding="utf-8")


def _json(facts: dict[str, Any]) -> str:
    """Json that html cannot misread: `</script>` and `<!--` are written otherwise.

    >>> _json({"name": "</script>"})
    '{"name":"\\\\u003c/script>"}'
    """
    return json.dumps(facts, ensure_ascii=False, allow_nan=False, separators=(",", ":")).replace("<", "\\u003c")


def filled(template: str, parts: dict[str, str]) -> str:
    """The template with each {{name}} replaced, once and from left to right: what is put in is not looked at."""
    pieces = template.split("{{")
    text = [pieces[0]]
    for piece in pieces[1:]:
        name, _, rest = piece.partition("}}")
        text += [parts[name], rest]
    return "".join(text)


# -------------------------------------------------------------------- a still picture

CLASS_COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#8C6D1F")
"""As the map's (palette.js) on a light ground."""
_REST = "#9A9A9A"
_SCALE = ("#ADDC30", "#5EC962", "#28AE80", "#21918C", "#2C728E", "#3B528B", "#472D7B", "#440154")
"""Viridis, from few to many."""
_WIDTH, _HEIGHT, _LEGEND = 720, 480, 200
STILL_RATIO = 1.5
"""How much wider than high a still picture is."""
_RADII = ((200, 10), (2_000, 7), (20_000, 4), (200_000, 2))
"""Up to so many nodes, discs of this radius, at two pixels to one of the page."""


def still_picture(
    at: npt.NDArray[np.float64],
    slots: npt.NDArray[np.integer[Any]],
    names: Sequence[tuple[int, str]],
    legend: Sequence[tuple[int, str]],
    *,
    about: str,
    scale: bool = False,
) -> str:
    """A map as svg: a png of all points (n x 2, in the unit square, the y axis up), and names as text.

    `slots` has each node's colour: the rank of its class, or with `scale` a part of 255. `names` are rows and their
    words, the most important first; `legend` has slots and words; `about` says what is seen.
    """
    shown = np.clip(at, 0, 1)
    png = base64.b64encode(_png(_raster(shown, slots), scale)).decode("ascii")
    parts = [f'<image width="{_WIDTH}" height="{_HEIGHT}" href="data:image/png;base64,{png}"/>']
    parts += _names(shown, names)
    for i, (slot, words) in enumerate(legend):
        y = 24 + 22 * i
        parts.append(f'<circle cx="{_WIDTH + 14}" cy="{y}" r="5" fill="{_color(slot, scale)}"/>')
        parts.append(f'<text x="{_WIDTH + 26}" y="{y + 4}">{html.escape(words[:26])}</text>')
    frame = f'<svg viewBox="0 0 {_WIDTH + _LEGEND} {_HEIGHT}" role="img" aria-label="{html.escape(about)}">'
    return f"{frame}{''.join(parts)}</svg><figcaption>{html.escape(about)}</figcaption>"


def _names(at: npt.NDArray[np.float64], names: Sequence[tuple[int, str]]) -> list[str]:
    """As many names as there is room for, none over another."""
    taken: list[tuple[float, float, float]] = []
    texts = []
    for row, word in names:
        x, y, width = _inside(at[row, 0], _WIDTH) + 8, _HEIGHT - _inside(at[row, 1], _HEIGHT) + 4, 7.0 * len(word)
        clear = all(abs(y - b) > 14 or x > a + w or x + width < a for a, b, w in taken)
        if clear and x + width < _WIDTH + _LEGEND:
            taken.append((x, y, width))
            texts.append(f'<text x="{x:.0f}" y="{y:.0f}">{html.escape(word)}</text>')
    return texts


def _inside(part: Any, size: int) -> float:
    """A place in a picture with a margin of 12 pixels."""
    return 12 + float(part) * (size - 24)


def _raster(at: npt.NDArray[np.float64], slots: npt.NDArray[np.integer[Any]]) -> npt.NDArray[np.uint8]:
    """Discs of colours, numbered from 1 on a ground of 0, at two pixels to one; the last of two is above."""
    radius = next((r for most, r in _RADII if len(at) <= most), 1)
    pixels = np.zeros((2 * _HEIGHT, 2 * _WIDTH), np.uint8)
    x = np.rint(2 * (12 + at[:, 0] * (_WIDTH - 24))).astype(np.int64)
    y = np.rint(2 * (_HEIGHT - 12 - at[:, 1] * (_HEIGHT - 24))).astype(np.int64)
    ink = (slots + 1).astype(np.uint8)
    for dy in range(-radius, radius + 1):
        for dx in range(-radius, radius + 1):
            if dx * dx + dy * dy <= radius * radius:
                pixels[np.clip(y + dy, 0, 2 * _HEIGHT - 1), np.clip(x + dx, 0, 2 * _WIDTH - 1)] = ink
    return pixels


def _color(slot: int, scale: bool) -> str:
    """The colour of a class by its rank, or of a part of 254 of the scale."""
    if not scale:
        return CLASS_COLORS[slot] if slot < len(CLASS_COLORS) else _REST
    place = slot / 254 * (len(_SCALE) - 1)
    low = min(int(place), len(_SCALE) - 2)
    ends = [[int(x[i : i + 2], 16) for i in (1, 3, 5)] for x in _SCALE[low : low + 2]]
    return "#" + "".join(f"{round(a + (b - a) * (place - low)):02X}" for a, b in zip(*ends, strict=True))


def _png(pixels: npt.NDArray[np.uint8], scale: bool) -> bytes:
    """An indexed png; 0 is transparent."""
    colors = b"".join(bytes.fromhex(_color(max(i - 1, 0), scale)[1:]) for i in range(256))
    height, width = pixels.shape
    rows = np.concatenate([np.zeros((height, 1), np.uint8), pixels], axis=1).tobytes()  # each without a filter
    header = struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0)
    parts = [(b"IHDR", header), (b"PLTE", colors), (b"tRNS", b"\0"), (b"IDAT", zlib.compress(rows, 9)), (b"IEND", b"")]
    chunks = (struct.pack(">I", len(x)) + kind + x + struct.pack(">I", zlib.crc32(kind + x)) for kind, x in parts)
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunks)
