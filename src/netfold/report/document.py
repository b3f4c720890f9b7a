"""One html file: a template, a style, a script and the data, under a policy that lets nothing else in."""

from __future__ import annotations

import base64
import hashlib
import html
import json
from importlib.resources import files
from typing import Any

from netfold.report.blocks import Blocks

__all__ = ["page"]

_SCRIPTS = (
    "dom", "blocks", "labels", "palette", "camera", "grid", "painter", "overlay", "near", "sheet", "search", "legend",
    "details", "map", "pointer", "charts", "tables", "main",
)  # fmt: skip
"""In the order in which they stand in the page; together they are one module."""


def page(title: str, facts: dict[str, Any], blocks: Blocks) -> str:
    """The whole file.

    The policy names the style and the script by their hashes and allows nothing else: no other script, no request, no
    frame. Data stands in elements of a type that browsers do not execute.
    """
    style, script = _asset("report.css"), "\n".join(_asset(f"{name}.js") for name in _SCRIPTS)
    parts = {
        "policy": html.escape(_policy(script, style)),
        "title": html.escape(title),
        "style": style,
        "script": script,
        "facts": _json(facts),
        "blocks": "\n".join(blocks.html()),
    }
    return _filled(_asset("report.html"), parts)


def _policy(script: str, style: str) -> str:
    allowed = f"script-src {_hash(script)}; style-src {_hash(style)}; img-src data:"
    return f"default-src 'none'; {allowed}; base-uri 'none'; form-action 'none'"


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _asset(name: str) -> str:
    return (files("netfold.report") / "assets" / name).read_text(encoding="utf-8")


def _json(facts: dict[str, Any]) -> str:
    """Json that html cannot misread: `</script>` and `<!--` are written otherwise.

    >>> _json({"label": "</script>"})
    '{"label":"\\\\u003c/script>"}'
    """
    return json.dumps(facts, ensure_ascii=False, allow_nan=False, separators=(",", ":")).replace("<", "\\u003c")


def _filled(template: str, parts: dict[str, str]) -> str:
    """The template with each {{name}} replaced, once and from left to right: what is put in is not looked at."""
    pieces = template.split("{{")
    made = [pieces[0]]
    for piece in pieces[1:]:
        name, _, rest = piece.partition("}}")
        made += [parts[name], rest]
    return "".join(made)
