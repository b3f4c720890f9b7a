"""Tables as text and as HTML, and how things are said: counts, articles, near names, what a terminal may be shown."""

from __future__ import annotations

import html
import math
import unicodedata
from collections.abc import Collection, Container, Iterable, Mapping, Sequence
from difflib import get_close_matches
from typing import Any

__all__ = [
    "as_typed",
    "counted",
    "did_you_mean",
    "enumerated",
    "html_box",
    "html_facts",
    "html_table",
    "is_typed",
    "listed",
    "printable",
    "svg_curves",
    "text_table",
    "type_in_words",
    "with_article",
]


_LISTED = 5
"""How many nodes an error message names."""
_HIDDEN = ("Cc", "Cs", "Zl", "Zp")
"""Controls of the terminal, halves of characters, and what breaks a line."""
_TURNING = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\ufeff")
"""What turns the direction of the text that follows, so that it reads as something else."""


def text_table(rows: Iterable[Sequence[str]], right: Container[int] = ()) -> str:
    """Rows in columns that are two spaces apart, those in `right` aligned to the right; no line ends in spaces.

    >>> print(text_table([["figure", "ours", ""], ["MAP", "0.9", "reached"]], right=[1]))
    figure  ours
    MAP      0.9  reached
    """
    cells = list(rows)
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]

    def line(row: Sequence[str]) -> str:
        last = max((i for i, cell in enumerate(row) if cell), default=0)
        parts = [x.rjust(w) if i in right else x.ljust(w) for i, (x, w) in enumerate(zip(row, widths, strict=True))]
        return "  ".join([*parts[:last], parts[last] if last in right and row[last] else row[last]])

    return "\n".join(map(line, cells))


def listed(nodes: Sequence[Any]) -> str:
    """A few nodes for an error message.

    >>> listed(["a", "b"]), listed(range(1000))
    ("'a', 'b'", '0, 1, 2, 3, 4 and 995 more')
    """
    more = f" and {len(nodes) - _LISTED:,} more" if len(nodes) > _LISTED else ""
    return ", ".join(repr(x) for x in nodes[:_LISTED]) + more


def counted(n: int, one: str, several: str = "") -> str:
    """A number with its noun.

    >>> counted(1, "node"), counted(2000, "node"), counted(0, "row names", "rows name")
    ('1 node', '2,000 nodes', '0 rows name')
    """
    return f"{n:,} {one if n == 1 else several or one + 's'}"


def with_article(word: str) -> str:
    """A word after its article: "an" where it is spoken with a vowel first.

    >>> [with_article(x) for x in ("SDNE", "DVNE", "LINE", "int", "ndarray", "user", "HIF")]
    ['an SDNE', 'a DVNE', 'a LINE', 'an int', 'an ndarray', 'a user', 'an HIF']
    """
    first = word[:1].lower()
    spelled = word.isupper() and len(word) > 1 and word != "LINE"  # letter by letter
    an = first in "aefhilmnorsx" if spelled else first in "aeiou" and not word.lower().startswith(("use", "uni", "eu"))
    return f"{'an' if (an and first) or word == 'ndarray' else 'a'} {word}"


def type_in_words(x: Any) -> str:
    """What something is, for an error message.

    >>> type_in_words(7), type_in_words([])
    ('an int', 'a list')
    """
    return with_article(type(x).__name__)


def enumerated(words: Iterable[str]) -> str:
    """Words as a sentence lists them.

    >>> enumerated(["a", "b", "c"])
    'a, b and c'
    """
    *rest, last = words
    return f"{', '.join(rest)} and {last}" if rest else last


def did_you_mean(
    word: str,
    known: Iterable[str],
    otherwise: str = "",
    *,
    most: int = 1,
    cutoff: float = 0.6,
    quoted: bool = False,
    written: Mapping[str, str] | None = None,
) -> str:
    """A hint at the known words that are nearest to one that is not known; `otherwise` where none is near.

    `written` has how a known word is written in the hint, where that is not as it is compared.

    >>> did_you_mean("lr_", ["dim", "lr"], "it has dim, lr"), did_you_mean("x", ["dim", "lr"], "it has dim, lr")
    ('did you mean lr?', 'it has dim, lr')
    >>> did_you_mean("zoe", ["zoë", "joe"], most=2, written={"zoë": "Zoë", "joe": "Joe"})
    'did you mean Zoë or Joe?'
    """
    near = get_close_matches(word, list(known), n=most, cutoff=cutoff)
    names = dict.fromkeys(written[x] if written is not None else x for x in near)
    if not names:
        return otherwise
    return f"did you mean {' or '.join(repr(x) if quoted else x for x in names)}?"


def printable(name: Any) -> str:
    """A name as it is, but for characters that would break the line, turn it around or command the terminal.

    >>> printable("Müller"), printable("a\\x1b[2J"), printable(("x", 1)), printable("x\\u202egnp.exe")
    ('Müller', 'a\\\\x1b[2J', "('x', 1)", 'x\\\\u202egnp.exe')
    """
    text = str(name)
    if text.isprintable():  # no such character is, and most names are
        return text
    return "".join(ascii(c)[1:-1] if c in _TURNING or unicodedata.category(c) in _HIDDEN else c for c in text)


def is_typed(node: Any) -> bool:
    """Whether a node is called (type, name), as `read_hyperedges` calls them."""
    return isinstance(node, tuple) and len(node) == 2 and isinstance(node[0], str)


def as_typed(node: Any) -> str:
    """A node as people type it: ("user", "u1") is user:u1.

    >>> as_typed(("user", 7)), as_typed("Zoë"), as_typed((1, 2))
    ('user:7', 'Zoë', '(1, 2)')
    """
    return f"{node[0]}:{node[1]}" if is_typed(node) else str(node)


# -------------------------------------------------------------------- HTML


_LONGEST, _LONGEST_FACT = 120, 600
"""Characters of a name that are shown, and of a sentence."""
_COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#7f7f7f")
"""Told apart by colour-blind readers, and seen on light and on dark."""
_DRAWN = 200
"""Points of a curve."""
_WIDTH, _HEIGHT = 360, 120


def _escaped(word: Any, most: int = _LONGEST) -> str:
    """A word as text of html, without what would break the line.

    >>> _escaped("<b>"), _escaped("two\\nlines"), _escaped("x" * 200)[-2:]
    ('&lt;b&gt;', 'two\\\\nlines', 'x…')
    """
    text = printable(word)
    return html.escape(text if len(text) <= most else text[: most - 1] + "…")


def html_box(title: Any, *parts: str) -> str:
    """A value in a notebook: its heading and parts that are html already."""
    return f'<div><p style="margin:.3em 0"><strong>{_escaped(title)}</strong></p>{"".join(parts)}</div>'


def html_facts(rows: Iterable[tuple[str, Any]]) -> str:
    """Names and values, a line each.

    >>> html_facts([("nodes", "3")]).count("<tr>")
    1
    """
    lines = (
        f'<tr><th style="text-align:left;font-weight:normal;opacity:.7">{_escaped(name)}</th>'
        f'<td style="text-align:left">{_escaped(value, _LONGEST_FACT)}</td></tr>'
        for name, value in rows
    )
    return f"<table>{''.join(lines)}</table>"


def html_table(
    head: Sequence[Any], rows: Iterable[Sequence[Any]], *, best: Collection[tuple[int, int]] = (), caption: str = ""
) -> str:
    """A table whose first column is of names and whose others are of numbers; cells (row, column) in `best` are bold.

    >>> "<strong>0.9</strong>" in html_table(["", "AUC"], [["SDNE", "0.9"], ["<i>", "0.8"]], best=[(0, 1)])
    True
    """
    lines = [_row("th", map(_escaped, head))]
    for i, row in enumerate(rows):
        cells = (f"<strong>{_escaped(x)}</strong>" if (i, j) in best else _escaped(x) for j, x in enumerate(row))
        lines.append(_row("td", cells))
    under = f'<p style="opacity:.7;margin:.3em 0">{_escaped_lines(caption)}</p>' if caption else ""
    return f"<table>{''.join(lines)}</table>{under}"


def _row(tag: str, cells: Iterable[str]) -> str:
    sides = ("left", "right")
    written = (f'<{tag} style="text-align:{sides[j > 0]}">{cell}</{tag}>' for j, cell in enumerate(cells))
    return f"<tr>{''.join(written)}</tr>"


def _escaped_lines(text: str) -> str:
    return "<br>".join(html.escape(printable(line)) for line in text.split("\n"))


def svg_curves(curves: Mapping[str, Sequence[float]]) -> str:
    """Curves over their epochs, in one frame; by logarithms where they span more than a factor of 50.

    >>> svg_curves({"objective": [3.0, 2.0, 1.5]}).count("<polyline")
    1
    >>> svg_curves({"objective": []})
    ''
    """
    thinned = {name: _thinned(values) for name, values in curves.items()}
    known = [y for points in thinned.values() for _, y in points]
    if not known:
        return ""
    low, high = min(known), max(known)
    log = low > 0 and high / low > 50
    ends = (math.log(low), math.log(high)) if log else (low, high)
    last = max(len(values) for values in curves.values())
    lines = [
        f'<polyline fill="none" stroke="{_COLORS[i % len(_COLORS)]}" stroke-width="1.5" '
        f'points="{_path(points, last, ends, log)}"><title>{_escaped(name)}</title></polyline>'
        for i, (name, points) in enumerate(thinned.items())
    ]
    text = 'font-size="10" fill="currentColor" font-family="sans-serif"'
    marks = f'<text x="4" y="10" {text}>{high:.4g}</text><text x="4" y="{_HEIGHT - 3}" {text}>{low:.4g}</text>'
    marks += f'<text x="{_WIDTH - 4}" y="{_HEIGHT - 3}" text-anchor="end" {text}>epoch {last:,}</text>'
    names = " ".join(
        f'<span style="color:{_COLORS[i % len(_COLORS)]}">■</span> {_escaped(name)}' for i, name in enumerate(curves)
    )
    frame = f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH}" height="{_HEIGHT}" role="img">'
    scale = " (logarithmic)" if log else ""
    return f"{frame}<title>Loss by epoch</title>{''.join(lines)}{marks}</svg><br><small>{names}{scale}</small>"


def _thinned(values: Sequence[float]) -> list[tuple[int, float]]:
    """At most so many finite points as are drawn, the last among them."""
    step = max(1, math.ceil(len(values) / _DRAWN))
    rows = sorted({*range(0, len(values), step), len(values) - 1} - {-1})
    return [(i, values[i]) for i in rows if math.isfinite(values[i])]


def _path(points: Sequence[tuple[int, float]], last: int, ends: tuple[float, float], log: bool) -> str:
    low, high = ends
    span = (high - low) or 1.0
    room, across = 14, max(last - 1, 1)
    return " ".join(
        f"{4 + (_WIDTH - 8) * i / across:.1f},"
        f"{room + (_HEIGHT - 2 * room) * (high - (math.log(y) if log else y)) / span:.1f}"
        for i, y in points
    )
