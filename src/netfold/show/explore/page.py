"""The explorer's page: the report's modules and its own as one script, for a server or inside a notebook's cell."""

from __future__ import annotations

import html
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from netfold.data.text import printable
from netfold.errors import InputError
from netfold.show.report.document import filled, hashed

if TYPE_CHECKING:
    from netfold.show.explore import Explorer

__all__ = ["POLICY", "answered", "cell_page", "explorer_script", "explorer_style", "notebook_widget", "served_page"]

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
"""What the page of a server may do: run its own script, wear its own style, and ask its own server."""

_REPORT = (
    "dom",
    "names",
    "palette",
    "camera",
    "grid",
    "painter",
    "overlay",
    "sheet",
    "search",
    "legend",
    "map",
    "pointer",
)
_OWN = ("ask", "view", "address", "nodes", "selection", "groups", "newcomers", "versions", "explore")
"""In the order in which they stand in the script; together they are one module."""


def served_page(title: str) -> str:
    """For a server: the style and the script are asked for beside it."""
    head = '<link rel="stylesheet" href="explore.css">'
    return _page(title, head, '<script type="module" src="explore.js"></script>')


def cell_page(title: str) -> str:
    """For a frame that has nothing beside it: both stand in the page, which allows them by their hashes alone."""
    script, style = explorer_script(), explorer_style()
    allowed = f"script-src {hashed(script)}; style-src {hashed(style)}; img-src data:"
    policy = html.escape(f"default-src 'none'; {allowed}; base-uri 'none'; form-action 'none'")
    head = f'<meta http-equiv="Content-Security-Policy" content="{policy}"><style>{style}</style>'
    return _page(title, head, f'<script type="module">{script}</script>')


def explorer_script() -> str:
    """All of its script."""
    report, own = files("netfold.show.report") / "assets", files("netfold.show.explore") / "assets"
    parts = [(report / f"{name}.js").read_text(encoding="utf-8") for name in _REPORT]
    return "\n".join([*parts, *((own / f"{name}.js").read_text(encoding="utf-8") for name in _OWN)])


def explorer_style() -> str:
    """The report's style, and what is other here."""
    report, own = files("netfold.show.report") / "assets", files("netfold.show.explore") / "assets"
    return "\n".join([(report / "report.css").read_text("utf-8"), (own / "explore.css").read_text("utf-8")])


def _page(title: str, head: str, script: str) -> str:
    template = (files("netfold.show.explore") / "assets" / "explore.html").read_text(encoding="utf-8")
    search = (files("netfold.show.report") / "assets" / "search.html").read_text(encoding="utf-8")
    return filled(template, {"title": html.escape(printable(title)), "head": head, "search": search, "script": script})


def notebook_widget(explorer: Explorer) -> Any:
    """The page in the cell of a notebook, whose kernel answers it: a widget of anywidget (the extra `notebook`)."""
    import anywidget
    import traitlets

    class ExplorerWidget(anywidget.AnyWidget):
        _esm = (files("netfold.show.explore") / "assets" / "widget.js").read_text(encoding="utf-8")
        page = traitlets.Unicode(cell_page(explorer.title)).tag(sync=True)

    widget = ExplorerWidget()
    widget.on_msg(lambda _, content, __: widget.send(*answered(explorer, content)))
    return widget


def answered(explorer: Explorer, content: Any) -> tuple[dict[str, Any], list[bytes]]:
    """What the kernel sends back for a question of a cell's page: the answer or an error, and the bytes of a block."""
    if not isinstance(content, dict) or not isinstance(content.get("netfold"), str):
        return {"error": "that is no question"}, []
    own, question, body = {"netfold": content["netfold"]}, content.get("question"), content.get("body")
    try:
        if question == "facts":
            return own | {"answer": explorer.facts}, []
        if question == "block":
            number = body.get("number") if isinstance(body, dict) else None
            return dict(own), [explorer.block(number if type(number) is int else -1)]
        return own | {"answer": explorer.ask(str(question), body)}, []
    except InputError as e:
        return own | {"error": str(e)}, []
