"""`write`: a report of models as one html file that needs nothing else: maps, losses, evaluation, parameters, data.

>>> import pathlib, tempfile
>>> from netfold import report
>>> from netfold.data.embedding import Embedding
>>> points = Embedding(["ann", "bob", "cid"], [[1, 0], [1, 1], [0, 2]])
>>> path = pathlib.Path(tempfile.mkdtemp(), "report.html")
>>> report.write([report.Sheet("by hand", points)], path)
>>> "default-src 'none'" in path.read_text().replace("&#x27;", "'")
True
"""

from __future__ import annotations

import html
import importlib.util
import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from netfold.data.checks import check_choice
from netfold.data.embedding import Embedding
from netfold.data.graph import Graph
from netfold.data.hypergraph import Hypergraph
from netfold.data.text import counted, printable, type_in_words
from netfold.errors import InputError, renamed
from netfold.io.files import check_writable, staged_file
from netfold.show.report.document import Blocks, html_page
from netfold.show.report.points import METHODS
from netfold.show.report.sheets import data_facts, packed_sheet
from netfold.show.report.tables import tables_of, trial_tables

__all__ = ["METHODS", "Page", "Sheet", "write"]


@renamed(labels="classes")
@dataclass(frozen=True, eq=False)
class Sheet:
    """One model of a report, with what is known of its nodes."""

    name: str
    """What the page calls it."""
    model: Any
    """A fitted model, or an `Embedding`."""
    data: Any = None
    """The `Graph`, or anything that `Graph.of` reads, or the `Hypergraph` that it is to be measured on."""
    classes: Mapping[str, Mapping[Any, Any]] = field(default_factory=dict)
    """Columns of classes by name: {node: class}, or {node: several classes}."""

    def __post_init__(self) -> None:
        if not isinstance(self.embedding, Embedding) or not len(self.embedding):
            kind = type(self.model).__name__
            raise InputError(f"this {kind} has no vectors to report on; give a fitted model or an Embedding")
        if self.data is not None and not isinstance(self.data, Hypergraph):
            object.__setattr__(self, "data", Graph.of(self.data))
        if self.data is not None and (self.data.nodes.find(self.embedding.nodes) < 0).all():
            example, other = self.embedding.nodes[0], self.data.nodes[0] if len(self.data.nodes) else "none"
            raise InputError(
                f"{self.name} and the data have no node in common: one has {example!r}, the other {other!r}; give the "
                "edges that it was fitted to"
            )

    @property
    def embedding(self) -> Embedding:
        """The vectors."""
        vectors: Embedding = getattr(self.model, "embedding_", self.model)
        return vectors


def write(
    sheets: Iterable[Sheet],
    path: str | os.PathLike[str],
    *,
    title: str | None = None,
    method: str = "auto",
    evaluate: bool = True,
    force: bool = False,
    on_task: Callable[[str], object] | None = None,
) -> None:
    """Write a report of one or more models to an html file that opens without a network.

    Each sheet is a map with its loss curves, parameters and cost. `method` places the nodes: "pca", "tsne", or "auto",
    which is t-SNE for up to 5,000 nodes that are points and PCA otherwise. Models of the same data share a table for
    each task, beside cheap baselines, unless `evaluate` is False; `on_task` is told what is measured next.
    """
    listed = _checked(sheets, method)
    check_writable(Path(path), force=force)
    text = _html(listed, title, method, evaluate, on_task)
    with staged_file(path) as part:
        part.write_text(text, encoding="utf-8")


class Page:
    """A report that a notebook shows in its cell, as `model.show()` gives it: an iframe that holds the whole page.

    The page keeps its own policy inside: it asks for nothing, and its script sees nothing of the notebook (`sandbox`).

    >>> from netfold.data.embedding import Embedding
    >>> Page([Sheet("by hand", Embedding(["ann", "bob", "cid"], [[1, 0], [1, 1], [0, 2]]))])
    Page(by hand: 3 nodes; a notebook shows it, netfold.report.write makes a file of it)
    """

    def __init__(
        self, sheets: Iterable[Sheet], *, title: str | None = None, method: str = "auto", evaluate: bool = False
    ):
        self._sheets = _checked(sheets, method)
        most = max(len(sheet.embedding) for sheet in self._sheets)
        if most > _IN_CELL:
            raise InputError(
                f"a cell of a notebook holds maps of up to {_IN_CELL:,} nodes and this one has {most:,}; "
                "write a file with nf.report.write, or show the vectors of some (embedding.take)"
            )
        self.html = _html(self._sheets, title, method, evaluate)
        self._explores, self._method = not evaluate and len(self._sheets) <= 2, method

    def __repr__(self) -> str:
        of = ", ".join(f"{printable(x.name)}: {counted(len(x.embedding), 'node')}" for x in self._sheets)
        return f"Page({of}; a notebook shows it, netfold.report.write makes a file of it)"

    def _repr_html_(self) -> str:
        look = 'title="netfold report" style="width:100%;height:700px;border:0"'
        return f'<iframe sandbox="allow-scripts" {look} srcdoc="{html.escape(self.html)}"></iframe>'

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        """With anywidget (the extra `notebook`) the explorer, which asks the kernel; the page for where none is."""
        bundle: dict[str, Any] = {"text/plain": repr(self), "text/html": self._repr_html_()}
        if self._explores and importlib.util.find_spec("anywidget") is not None:
            from netfold.show.explore import Explorer, notebook_widget

            widget = notebook_widget(Explorer(self._sheets, method=self._method))
            shown = widget._repr_mimebundle_()
            bundle |= {k: v for k, v in (shown[0] if isinstance(shown, tuple) else shown).items() if k not in bundle}
        return bundle


_IN_CELL = 100_000
"""Nodes of a page that becomes a part of a notebook's file: some megabytes."""


def _checked(sheets: Iterable[Sheet], method: str) -> list[Sheet]:
    listed = list(sheets) if isinstance(sheets, Iterable) else [sheets]
    odd = next((sheet for sheet in listed if not isinstance(sheet, Sheet)), None)
    if odd is not None:
        raise InputError(
            f"a report has sheets, and {type_in_words(odd)} is none; give [nf.report.Sheet(name, model, graph)]"
        )
    if not listed:
        raise InputError("no model is given to report on; give one Sheet or more")
    names = [sheet.name for sheet in listed]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise InputError(f"two sheets are called {twice!r}; give each its own name")
    check_choice(METHODS, method=method)
    return listed


def _html(
    sheets: list[Sheet],
    title: str | None,
    method: str,
    evaluate: bool,
    on_task: Callable[[str], object] | None = None,
) -> str:
    """The whole page."""
    blocks, heading = Blocks(), title or " · ".join(sheet.name for sheet in sheets)
    packed = [packed_sheet(sheet, blocks, method) for sheet in sheets]
    stills = [facts.pop("still") for facts in packed]
    tables = [*trial_tables(sheets), *(tables_of(sheets, on_task) if evaluate else [])]
    facts = {"title": heading, "sheets": packed, "tables": tables, "data": _data(sheets)}
    return html_page(heading, facts, blocks, stills)


def _data(sheets: list[Sheet]) -> list[dict[str, Any]]:
    """Facts of each graph or hypergraph, and whose it is."""
    by_data: dict[str, dict[str, Any]] = {}
    for sheet in sheets:
        if sheet.data is not None:
            entry = by_data.setdefault(sheet.data.fingerprint, {"of": [], "facts": [], "notes": []})
            entry["facts"] = entry["facts"] or data_facts(sheet.data)
            entry["of"].append(sheet.name)
            fitted = getattr(sheet.model, "graph_facts_", {}).get("fingerprint")
            if fitted is not None and not sheet.data.has_fingerprint(fitted):
                entry["notes"].append(f"{sheet.name} was fitted to other edges than these.")
    return list(by_data.values())
