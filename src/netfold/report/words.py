"""Labels as a page shows them."""

from __future__ import annotations

import unicodedata
from typing import Any

from netfold.labels import Labels

__all__ = ["label_lines", "spelled"]

_LONGEST = 200
_HIDDEN = ("Cc", "Cs", "Zl", "Zp")
"""Categories of characters that break a line, or that are none."""


def spelled(label: Any) -> str:
    """A label on one line; (type, label) as it is typed on the command line.

    >>> spelled(("user", 7)), spelled("Zoë"), spelled((1, 2)), spelled("two\\nlines")
    ('user:7', 'Zoë', '(1, 2)', 'two lines')
    """
    typed = isinstance(label, tuple) and len(label) == 2 and isinstance(label[0], str)
    text = f"{label[0]}:{label[1]}" if typed else str(label)
    if not text.isprintable():
        text = "".join(" " if unicodedata.category(c) in _HIDDEN else c for c in text)
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"


def label_lines(nodes: Labels) -> str:
    """All labels, one a line."""
    if nodes.kind == "int":
        return "\n".join(map(str, nodes))
    return "\n".join(map(spelled, nodes))
