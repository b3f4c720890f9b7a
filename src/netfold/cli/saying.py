"""What a command prints: a result for a person, or one JSON object for a program."""

from __future__ import annotations

import json
import sys
import unicodedata
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import click

__all__ = ["json_flag", "say", "shown", "table"]

json_flag: Callable[[Any], Any] = click.option(
    "--json", "as_json", is_flag=True, help="Print one JSON object on standard output, and nothing else there."
)


def say(facts: Mapping[str, Any], text: str, *, as_json: bool) -> None:
    """Print the facts as JSON where they were asked for, and the text where not."""
    click.echo(_json(facts) if as_json else text)


def shown(label: Any) -> str:
    """A label as it is, but for characters that would break the line or command the terminal.

    >>> shown("Müller"), shown("a\\x1b[2J"), shown(("x", 1))
    ('Müller', 'a\\\\x1b[2J', "('x', 1)")
    """
    hidden = ("Cc", "Zl", "Zp")
    return "".join(ascii(c)[1:-1] if unicodedata.category(c) in hidden else c for c in str(label))


def table(rows: Iterable[tuple[str, object]]) -> str:
    """Names and values in two columns.

    >>> print(table([("nodes", 77), ("directed", "no")]))
    nodes     77
    directed  no
    """
    listed = list(rows)
    width = max(len(name) for name, _ in listed)
    return "\n".join(f"{name:<{width}}  {value}" for name, value in listed)


def _json(facts: Mapping[str, Any]) -> str:
    text = json.dumps(facts, ensure_ascii=False)
    try:
        text.encode(sys.stdout.encoding or "utf-8")
    except UnicodeEncodeError:  # the stream's own escapes would not be JSON's
        return json.dumps(facts)
    return text
