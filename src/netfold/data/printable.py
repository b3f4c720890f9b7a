"""Names of a file that anyone may have written, made fit to print."""

from __future__ import annotations

import unicodedata
from typing import Any

__all__ = ["printable"]

_HIDDEN = ("Cc", "Cs", "Zl", "Zp")
"""Controls of the terminal, halves of characters, and what breaks a line."""
_TURNING = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\ufeff")
"""What turns the direction of the text that follows, so that it reads as something else."""


def printable(name: Any) -> str:
    """A name as it is, but for characters that would break the line, turn it around or command the terminal.

    >>> printable("Müller"), printable("a\\x1b[2J"), printable(("x", 1)), printable("x\\u202egnp.exe")
    ('Müller', 'a\\\\x1b[2J', "('x', 1)", 'x\\\\u202egnp.exe')
    """
    text = str(name)
    if text.isprintable():  # no such character is, and most names are
        return text
    return "".join(ascii(c)[1:-1] if c in _TURNING or unicodedata.category(c) in _HIDDEN else c for c in text)
