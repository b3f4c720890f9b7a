"""Words and tables for people: columns of text, names in an error message, and what could have been meant."""

from __future__ import annotations

import unicodedata
from collections.abc import Container, Iterable, Mapping, Sequence
from difflib import get_close_matches
from typing import Any

__all__ = [
    "as_typed", "counted", "did_you_mean", "enumerated", "is_typed", "listed", "printable", "text_table",
    "type_in_words", "with_article",
]  # fmt: skip

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
