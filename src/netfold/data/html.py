"""What a notebook shows of a value: facts, tables and curves as html. Every word is escaped: names may be anything."""

from __future__ import annotations

import html
import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from netfold.data.text import printable

__all__ = ["html_box", "html_facts", "html_table", "svg_curves"]

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
