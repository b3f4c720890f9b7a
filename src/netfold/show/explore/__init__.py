"""`Explorer`: what the explorer's page is given of one or two models, and what it is answered, however it asks.

`netfold explore` asks over HTTP (`serve/explore`), a notebook through its kernel (`ExplorerWidget`). The page is
the report's modules and its own as one script, for a server or inside a notebook's cell.
"""

from __future__ import annotations

import csv
import html
import io
import math
import os
import threading
from collections.abc import Callable, Sequence
from functools import cached_property
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from netfold.data.checks import Ints, is_whole
from netfold.data.gaussians import widths
from netfold.data.graph import Graph
from netfold.data.text import as_typed, printable
from netfold.errors import InputError
from netfold.show.explore.groups import described_groups, linked_rows, region_names
from netfold.show.report import Sheet
from netfold.show.report.document import Blocks, filled, hashed, printable_facts
from netfold.show.report.points import placed
from netfold.show.report.sheets import Classes, NodeNumbers, link_ends, packed_map

if TYPE_CHECKING:
    from netfold.data.embedding import Embedding

__all__ = [
    "POLICY",
    "Explorer",
    "answered",
    "cell_page",
    "explorer_script",
    "explorer_style",
    "notebook_widget",
    "served_page",
    "write_atlas",
]


_DRAWN = 500_000
"""Links up to which all of them can be drawn."""
_OF_NODE = 3_000
"""Links about one node that are drawn."""
_MOST_NEAREST, _MOST_ROWS, _MOST_TYPED = 1_000, 100_000, 1_000
_LANDING = 5
"""Nodes in whose middle a new one is drawn, where the map is not linear."""
_NO_ROW = 0xFFFFFFFF
_EXACT, _TOGETHER = 20_000, 64


class Explorer:
    """One or two models as the page sees them: `facts` and `blocks` once, and then an answer to each question.

    Nodes are rows of a sheet's embedding; names that people type are looked up by the page.
    """

    def __init__(self, sheets: Sequence[Sheet], *, method: str = "auto", title: str | None = None):
        if not 1 <= len(sheets) <= 2:
            raise InputError(f"the explorer shows one model, or two side by side; these are {len(sheets)}")
        self.blocks = Blocks(pack=False)
        self.title = title or " · ".join(sheet.name for sheet in sheets)
        self._shown = [_Shown(sheet, self.blocks, method) for sheet in sheets]

    @cached_property
    def facts(self) -> dict[str, Any]:
        """What the page starts with: all but what a block holds or a question answers."""
        sheets = [shown.facts for shown in self._shown]
        if len(sheets) == 2:
            first, second = (shown.sheet.embedding.nodes for shown in self._shown)
            for facts, own, other in zip(sheets, (first, second), (second, first), strict=True):
                rows = other.find(own)
                same = len(own) == len(other) and bool((rows == np.arange(len(own))).all())
                facts["twins"] = None if same else self.blocks.add(np.where(rows < 0, _NO_ROW, rows).astype(np.uint32))
        return dict(printable_facts({"title": self.title, "sheets": sheets}))

    def block(self, number: int) -> bytes:
        """The bytes of a block."""
        if not 0 <= number < len(self.blocks):
            raise InputError(f"there is no block {number}")
        return self.blocks.content(number)

    def ask(self, question: str, body: Any) -> dict[str, Any]:
        """The answer to a question of the page: `_ANSWERS` has them. `body` says of which `sheet`."""
        if question not in _ANSWERS:
            raise InputError(f"the explorer answers {', '.join(_ANSWERS)}, not {question[:40]!r}")
        if not isinstance(body, dict):
            raise InputError('a question is an object, as {"sheet": 0}')
        shown = self._shown[_whole(body, "sheet", 0, len(self._shown) - 1, 0)]
        return _ANSWERS[question](shown, body)


class _Shown:
    """One model of the page."""

    def __init__(self, sheet: Sheet, blocks: Blocks, method: str):
        self.sheet, self.blocks = sheet, blocks
        self.embedding: Embedding = sheet.embedding
        self._busy = threading.Lock()  # torch's number of threads is one for all
        self.facts, self.points, self.columns = packed_map(sheet, blocks, method)
        self.parts, _ = self.points.in_box()
        self._add_links()
        self._add_versions()
        self.facts["metric"] = "cosine" if self.embedding.std is None else "W2"
        self.facts["places"] = hasattr(sheet.model, "transform") and getattr(sheet.model, "reads", "") == "graph"
        classes = next((x for x in self.columns if isinstance(x, Classes) and len(x.names) > 1), None)
        named = np.frombuffer(blocks.content(self.facts["named"]["block"]), "<u4").astype(np.int64)
        self.facts["regions"] = region_names(self.parts, classes, named, self.embedding.nodes)

    def _add_links(self) -> None:
        """The links in a random order, so that the first of them are a fair part of all."""
        graph = self.sheet.data
        if isinstance(graph, Graph):
            self.facts["edges"] = len(self._ends)
            if 0 < len(self._ends) <= _DRAWN:
                order = np.random.default_rng(0).permutation(len(self._ends))
                self.facts["links"] = self.blocks.add(self._ends[order])

    def _add_versions(self) -> None:
        """Which update placed each node, where the model is one whose network changes."""
        path = getattr(self.sheet.model, "path", None)
        until = getattr(self.sheet.model, "version", 0)
        if path is None or not until:
            return
        from netfold.embedder.versions import deltas_of

        born, versions = np.zeros(len(self.embedding), np.uint16), []
        for i, delta in enumerate(deltas_of(path, until), 1):
            names = list(delta.names)
            rows = self.embedding.nodes.find([names[j] for j in delta.placed.tolist()])
            born[rows[rows >= 0]] = i
            gone = [as_typed(names[j]) for j in delta.gone.tolist()]
            versions.append({"number": delta.number, "time": delta.time, "gone": len(gone), "left": gone[:5]})
            versions[-1] |= {"placed": len(delta.placed), "alarm": delta.facts.get("alarm")}
        origin = Classes("origin", ("fitted", "placed"), (born > 0).astype(np.int64))
        self.columns.append(origin)
        self.facts["columns"].append(origin.packed(self.blocks))
        self.facts |= {"versions": versions, "born": self.blocks.add(born)}

    @cached_property
    def _ends(self) -> npt.NDArray[np.uint32]:
        """m x 2: the rows of each link, once."""
        return link_ends(self.embedding, self.sheet.data)

    @cached_property
    def _linked(self) -> sparse.csr_array | None:
        """n x n: whether a link joins two nodes, whatever its direction; None where no graph is known."""
        if not isinstance(self.sheet.data, Graph):
            return None
        return linked_rows(self._ends, len(self.embedding))

    def _neighbors(self, row: int) -> Ints:
        if self._linked is None:
            return np.zeros(0, np.int64)
        start, stop = self._linked.indptr[row : row + 2]
        return np.sort(self._linked.indices[start:stop]).astype(np.int64)

    # ---------------------------------------------------------------- questions

    def near(self, body: dict[str, Any]) -> dict[str, Any]:
        """The k nodes nearest to a `row`, exactly those of `Embedding.nearest`; with `unlinked` no neighbors of it."""
        own, row = self.embedding, self._row(body, "row")
        k, unlinked = _whole(body, "k", 1, _MOST_NEAREST, 10), bool(body.get("unlinked"))
        beside = self._neighbors(row)
        most = min(k + (len(beside) if unlinked else 0), len(own))
        found = own.nearest(own.nodes[row], most) if len(own) > 1 else []
        rows = own.nodes.find([node for node, _ in found])
        linked = np.isin(rows, beside)
        keep = np.flatnonzero(~linked if unlinked else np.ones(len(rows), bool))[:k]
        return {
            "rows": rows[keep].tolist(),
            "scores": [found[i][1] for i in keep.tolist()],
            "linked": linked[keep].tolist() if self._linked is not None else None,
        }

    def links(self, body: dict[str, Any]) -> dict[str, Any]:
        """The links of a `row` and, with `steps` 2, those of its neighbors; `first` of them are its own."""
        row, steps = self._row(body, "row"), _whole(body, "steps", 1, 2, 1)
        beside = self._neighbors(row)
        ends = [np.column_stack([np.full(len(beside), row), beside])]
        if steps == 2 and self._linked is not None:
            for other in beside.tolist():
                farther = self._neighbors(other)
                farther = farther[(farther != row) & ~((farther < other) & np.isin(farther, beside))]  # each link once
                ends.append(np.column_stack([np.full(len(farther), other), farther]))
                if sum(map(len, ends)) > _OF_NODE:
                    break
        listed = np.concatenate(ends)
        shown = listed[:_OF_NODE]
        return {"ends": shown.ravel().tolist(), "first": len(beside), "cut": len(listed) > len(shown)}

    def groups(self, body: dict[str, Any]) -> dict[str, Any]:
        """Groups of like vectors (`Embedding.groups`), as a column, and what the nodes of each have in common."""
        k = None if body.get("k") is None else _whole(body, "k", 2, 50)
        with self._busy:
            found = self.embedding.groups(k)
        graph = self.sheet.data if isinstance(self.sheet.data, Graph) else None
        columns = [x for x in self.columns if x.name != "length of the vector"]
        groups = described_groups(found, self.embedding, graph, self._linked, columns)
        column = Classes("group", tuple(f"group {i + 1}" for i in range(found.k)), found.codes)
        facts = {"column": column.packed(self.blocks), "groups": groups, "chosen": found.chosen}
        return dict(printable_facts(facts))

    def place(self, body: dict[str, Any]) -> dict[str, Any]:
        """Where a node with this `name` and these `links`, rows that are there, would be; nothing is kept of it."""
        own, model, name = self.embedding, self.sheet.model, body.get("name")
        if not isinstance(name, str) or not 0 < len(name.strip()) <= 200:
            raise InputError("a new node needs a name of 1 to 200 characters")
        rows, node = self._rows(body, "links", _MOST_TYPED), own.nodes.parse(name.strip())
        if node in own:
            raise InputError(f"{name.strip()!r} is on the map already; give the new node another name")
        if not rows:
            raise InputError("type the names of nodes that it is linked to")
        if not self.facts["places"]:
            raise InputError(f"{self.sheet.name} has no way to place a node by its links; explore a model of a graph")
        directed = bool(getattr(model, "graph_facts_", {}).get("directed", False))
        later = Graph.from_edges([(node, own.nodes[row]) for row in dict.fromkeys(rows)], directed=directed)
        with self._busy:
            new = model.transform(later).take([node])
        near = own.nearest(new.vectors[0] if new.std is None else new.coordinates[0], 10)
        nearest = own.nodes.find([x for x, _ in near])
        at = self.points.where(new.vectors)
        at = self.parts[nearest[:_LANDING]].mean(axis=0)[None] if at is None else at
        exact = self.points.directions is not None
        answer = {"x": float(at[0, 0]), "y": float(at[0, 1]), "exact": exact, "rows": nearest.tolist()}
        answer |= {"scores": [x for _, x in near], "links": list(dict.fromkeys(rows))}
        return answer | ({} if new.std is None else {"uncertainty": float(widths(new.std, 10)[0])})

    def table(self, body: dict[str, Any]) -> dict[str, Any]:
        """The nodes at `rows` as csv: names as people type them, places on the map, and every column."""
        rows = self._rows(body, "rows", _MOST_ROWS)
        lines: list[list[Any]] = [["node", "x", "y", *(column.name for column in self.columns)]]
        columns = [_words_of(column) for column in self.columns]
        for row in rows:
            x, y = self.parts[row].tolist()
            lines.append(
                [as_typed(self.embedding.nodes[row]), f"{x:.6f}", f"{y:.6f}", *(word(row) for word in columns)]
            )
        return {"csv": _csv(lines)}

    def verdicts(self, body: dict[str, Any]) -> dict[str, Any]:
        """Pairs that were accepted or rejected as links, as csv: `pairs` of [row, row, score, "accept" or "reject"]."""
        nodes, lines = self.embedding.nodes, [["source", "target", "score", "verdict"]]
        for pair in _list(body, "pairs", _MOST_ROWS):
            if not isinstance(pair, list) or len(pair) != 4 or pair[3] not in ("accept", "reject"):
                raise InputError('a verdict is [row, row, score, "accept" or "reject"]')
            u, v = self._rows({"rows": pair[:2]}, "rows", 2)
            if type(pair[2]) not in (int, float) or not math.isfinite(pair[2]):
                raise InputError("the score of a verdict is a number")
            lines.append([as_typed(nodes[u]), as_typed(nodes[v]), f"{pair[2]:.6g}", pair[3]])
        return {"csv": _csv(lines)}

    def _row(self, body: dict[str, Any], name: str) -> int:
        return _whole(body, name, 0, len(self.embedding) - 1)

    def _rows(self, body: dict[str, Any], name: str, most: int) -> list[int]:
        rows, n = _list(body, name, most), len(self.embedding)
        if not all(type(x) is int and 0 <= x < n for x in rows):
            raise InputError(f"{name} are whole numbers from 0 to {n - 1}")
        return rows


_ANSWERS: dict[str, Callable[[_Shown, dict[str, Any]], dict[str, Any]]] = {
    "near": _Shown.near,
    "links": _Shown.links,
    "groups": _Shown.groups,
    "place": _Shown.place,
    "table": _Shown.table,
    "verdicts": _Shown.verdicts,
}
"""What the page asks."""


def write_atlas(embedding: Embedding, path: str | os.PathLike[str], *, method: str = "auto", k: int = 15) -> None:
    """A parquet file that embedding-atlas opens: node, x, y, and the k nearest as `neighbors` (ids and distances).

    Ids are row numbers, as it wants them; a distance is 1 - cosine, or W2 of Gaussians. The nearest are exact up to
    20,000 nodes, and beyond that those of an index, where faiss is installed.
    """
    from netfold.io.vectors.parquet import write_places

    nodes, n = embedding.nodes, len(embedding)
    search = embedding.nearest if n <= _EXACT else embedding.index().nearest
    k = min(k, n - 1)
    ids, distances = np.zeros((n, k), np.int64), np.zeros((n, k))
    for start in range(0, n, _TOGETHER) if k else ():
        rows = range(start, min(start + _TOGETHER, n))
        for row, near in zip(rows, search([nodes[i] for i in rows], k), strict=True):
            ids[row] = nodes.find([node for node, _ in near])
            distances[row] = [score if embedding.std is not None else 1 - score for _, score in near]
    write_places(Path(path), nodes, placed(embedding, method).at, ids, distances)


def _whole(body: dict[str, Any], name: str, low: int, high: int, default: int | None = None) -> int:
    value: Any = body.get(name, default)
    if not is_whole(value) or not low <= value <= high:
        raise InputError(f"{name} is a whole number from {low} to {high}")
    return int(value)


def _list(body: dict[str, Any], name: str, most: int) -> list[Any]:
    value = body.get(name)
    if not isinstance(value, list) or len(value) > most:
        raise InputError(f"{name} is a list of at most {most:,}")
    return value


def _words_of(column: Classes | NodeNumbers) -> Callable[[int], Any]:
    """What a node has in a column, as a table says it."""
    if isinstance(column, NodeNumbers):
        return lambda row: f"{column.values[row]:.6g}"
    names = (*column.names, "")
    return lambda row: names[min(int(column.codes[row]), len(names) - 1)]


def _csv(lines: list[list[Any]]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(lines)
    return text.getvalue()


# -------------------------------------------------------------------- the page


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
