"""One model of a page: what is known of it and of its data, its map and what that is coloured by, vectors, edges."""

from __future__ import annotations

import math
import unicodedata
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from netfold.data.checks import unique_values
from netfold.data.edges import links
from netfold.data.embedding import Embedding
from netfold.data.gaussians import widths
from netfold.data.graph import Graph
from netfold.data.hypergraph import Hypergraph
from netfold.data.nodes import Nodes
from netfold.data.statistics import Counts, graph_counts, hypergraph_counts
from netfold.data.text import as_typed, counted, printable
from netfold.embedder.embedder import Embedder, loss_curves
from netfold.embedder.options import options
from netfold.errors import InputError
from netfold.show.plot import by_attribute, by_type
from netfold.show.report.document import CLASS_COLORS, STILL_RATIO, Blocks, still_picture
from netfold.show.report.points import Points, lengths_of, packed_vectors, placed

if TYPE_CHECKING:
    from netfold.show.report import Sheet

__all__ = [
    "Classes",
    "NodeNumbers",
    "cost",
    "data_facts",
    "degrees_of",
    "link_ends",
    "losses",
    "node_line",
    "node_lines",
    "packed_map",
    "packed_sheet",
    "parameters",
    "sheet_columns",
]


_LONGEST = 200
_HIDDEN = ("Cc", "Cs", "Zl", "Zp")
"""Categories of characters that break a line, or that are none."""


def node_line(label: Any) -> str:
    """A label on one line; (type, label) as it is typed on the command line.

    >>> node_line(("user", 7)), node_line("Zoë"), node_line((1, 2)), node_line("two\\nlines")
    ('user:7', 'Zoë', '(1, 2)', 'two lines')
    """
    text = as_typed(label)
    if not text.isprintable():
        text = printable("".join(" " if unicodedata.category(c) in _HIDDEN else c for c in text))
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"


def node_lines(nodes: Nodes) -> str:
    """All nodes, one a line."""
    if nodes.kind == "int":
        return "\n".join(map(str, nodes))
    return "\n".join(map(node_line, nodes))


_DRAWN = 400
"""Epochs of a curve that are drawn: no screen shows more."""

FactRows = list[tuple[str, str]]
"""Names and values, both in words."""


def parameters(model: Any) -> list[dict[str, Any]]:
    """Each option of a model: its value, whether that is the default, and what it means."""
    if not isinstance(model, Embedder):
        return []
    rows = []
    for o in options(type(model)):
        value = o.plain(getattr(model, o.name))
        changed = value != o.plain(o.default)
        rows.append({"name": o.name, "value": _words(value), "changed": changed, "help": o.help})
    return rows


def losses(model: Any) -> dict[str, Any]:
    """The epochs, and each loss term by name: at most 400 of them, evenly apart, the first and the last among them."""
    history = getattr(model, "history_", [])
    if not history:
        return {"epochs": [], "terms": {}}
    rows = unique_values(np.linspace(0, len(history) - 1, min(len(history), _DRAWN)).round().astype(int)).tolist()
    terms = {name: [_finite(x) for x in values] for name, values in loss_curves([history[i] for i in rows]).items()}
    return {"epochs": [history[i]["epoch"] for i in rows], "terms": terms}


def _finite(x: float | None) -> float | None:
    return x if x is not None and math.isfinite(x) else None


def cost(model: Any, embedding: Embedding) -> FactRows:
    """Seconds of training and bytes of what was trained, as far as the saved model tells."""
    rows: FactRows = []
    history = getattr(model, "history_", [])
    if history:
        seconds = sum(record.get("seconds", 0.0) for record in history)
        rows += [("training", _time(seconds)), ("epochs", f"{len(history):,}")]
        rows += [("per epoch", _time(seconds / len(history)))]
        if seconds > 0:
            rows += [("nodes per second", f"{len(embedding) * len(history) / seconds:,.0f}")]
    if hasattr(model, "network_"):
        tensors = list(model.network_.state_dict().values())
        count, size = sum(x.numel() for x in tensors), sum(x.numel() * x.element_size() for x in tensors)
        rows += [("numbers in the network", f"{count:,}"), ("memory of the network", _bytes(size))]
    size = embedding.vectors.nbytes + (0 if embedding.std is None else embedding.std.nbytes)
    return [*rows, ("memory of the vectors", _bytes(size))]


def data_facts(data: Graph | Hypergraph) -> FactRows:
    """Counts of a graph or of a hypergraph."""
    rows = _of_hypergraph(data) if isinstance(data, Hypergraph) else _of_graph(data)
    rows += [] if data.attributes is None else [("attributes", str(data.attributes))]
    return [*rows, ("fingerprint", data.fingerprint[:16])]


def _of_graph(graph: Graph) -> FactRows:
    counts = graph_counts(graph)
    rows = [("nodes", f"{counts.nodes:,}"), ("edges", f"{counts.edges:,}")]
    rows += [("directed", _words(counts.directed)), ("weighted", _words(counts.weighted))]
    if counts.weighted and counts.weights is not None:
        rows.append(("weights", f"{counts.weights.least:g} to {counts.weights.largest:g}"))
    rows += [("self-loops", f"{counts.self_loops:,}"), ("connected components", f"{counts.components:,}")]
    return rows + _degrees(counts)


def _of_hypergraph(hypergraph: Hypergraph) -> FactRows:
    counts = hypergraph_counts(hypergraph)
    types = ", ".join(f"{node_line(name)} {count:,}" for name, count in counts.types.items())
    kinds = "; ".join(f"{', '.join(map(node_line, kind.roles))} {len(kind):,}" for kind in hypergraph.kinds)
    rows = [("nodes", f"{counts.nodes:,}"), ("hyperedges", f"{counts.edges:,}"), ("types", types), ("kinds", kinds)]
    return rows + _degrees(counts)


def _degrees(counts: Counts) -> FactRows:
    of = counts.degrees
    if of is None:
        return []
    spread = f"{of.least:,} to {of.largest:,}, {of.mean:,.1f} in the mean"
    return [("nodes without an edge", f"{counts.isolated:,}"), ("degrees", spread)]


def _words(value: Any) -> str:
    """A value on one line.

    >>> _words([500, 100]), _words(True), _words(None), _words(1e-05)
    ('500, 100', 'yes', 'none', '1e-05')
    """
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return ", ".join(map(_words, value)) or "none"
    return "none" if value is None else str(value)


def _time(seconds: float) -> str:
    """Seconds in the unit that a person would choose.

    >>> _time(0.0123), _time(4.2), _time(615), _time(7500)
    ('12.3 ms', '4.20 s', '10 min 15 s', '2 h 5 min')
    """
    if seconds < 1:
        return f"{seconds * 1000:.3g} ms"
    if seconds < 60:
        return f"{seconds:.2f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"


def _bytes(size: int) -> str:
    """Bytes in the unit that a person would choose.

    >>> _bytes(800), _bytes(3 << 20)
    ('800 bytes', '3.0 MiB')
    """
    value, units = float(size), ["bytes", "KiB", "MiB", "GiB"]
    while value >= 1024 and len(units) > 1:
        value, units = value / 1024, units[1:]
    return f"{value:.0f} bytes" if units[0] == "bytes" else f"{value:.1f} {units[0]}"


_MOST = 60_000
"""Classes that have a number of their own."""
_LEVELS = 65_535
_ATTRIBUTES = 12
"""Attributes that nodes can be coloured by."""
_LARGEST = 10
"""Variances whose mean is a node's uncertainty, as `Embedding.uncertainty` has it."""
_WIDE = 20
"""A column of numbers that are mostly small against its largest is coloured by the logarithm."""


@dataclass(frozen=True, eq=False)
class Classes:
    """A class for each node, the largest first; nodes without one have the number after the last."""

    name: str
    names: tuple[str, ...]
    codes: npt.NDArray[np.int64]

    @staticmethod
    def of(name: str, embedding: Embedding, classes: Mapping[Any, Any]) -> Classes:
        """Of {node: class}, or of {node: several classes}, of which the first counts."""
        listed = [_first(classes.get(node)) for node in embedding.nodes]
        largest = [x for x, _ in Counter(x for x in listed if x is not None).most_common(_MOST)]
        if not largest:
            example = node_line(embedding.nodes[0])
            raise InputError(f"the classes {name!r} are of no node that the model has; nodes are named as {example}")
        place = {x: i for i, x in enumerate(largest)}
        codes = np.array([place.get(x, len(largest)) for x in listed], np.int64)
        return Classes(name, tuple(map(node_line, largest)), codes)

    def packed(self, blocks: Blocks) -> dict[str, Any]:
        """For the page."""
        kind = np.uint8 if len(self.names) < 256 else np.uint16
        counts = np.bincount(self.codes, minlength=len(self.names) + 1).tolist()
        facts = {"name": self.name, "classes": self.names, "counts": counts}
        return facts | {"codes": blocks.add(self.codes.astype(kind))}


@dataclass(frozen=True, eq=False)
class NodeNumbers:
    """A number for each node, none of them below 0."""

    name: str
    values: npt.NDArray[np.float64]

    def packed(self, blocks: Blocks) -> dict[str, Any]:
        """For the page."""
        low, high = float(self.values.min(initial=math.inf)), float(self.values.max(initial=-math.inf))
        facts = {"name": self.name, "low": low, "high": high, "unit": _unit(self.values)}
        return facts | {
            "values": blocks.add(self.parts()),
            "whole": bool((self.values == np.rint(self.values)).all()),
        }

    def parts(self) -> npt.NDArray[np.uint16]:
        """In 16 bits between the least and the largest, or between their logarithms of 1 + x / unit."""
        unit = _unit(self.values)
        at = self.values if unit is None else np.log1p(self.values / unit)
        first, last = float(at.min()), float(at.max())
        return np.rint((at - first) / ((last - first) or 1.0) * _LEVELS).astype(np.uint16)


def sheet_columns(
    model: Any, embedding: Embedding, data: Graph | Hypergraph | None, classes: Mapping[str, Any]
) -> list[Classes | NodeNumbers]:
    """Every column there is: classes, types, uncertainty, degrees and, last, the lengths of the vectors."""
    columns: list[Classes | NodeNumbers] = [Classes.of(name, embedding, own) for name, own in classes.items()]
    typed = model if getattr(model, "reads", "graph") == "hypergraph" else data
    if isinstance(typed, Hypergraph) or typed is model:
        columns.append(Classes.of("type", embedding, by_type(typed)))
    if embedding.std is not None:
        columns.append(NodeNumbers("uncertainty", widths(embedding.std, _LARGEST)))
    if data is not None:
        columns.append(NodeNumbers("degree", degrees_of(embedding, data)))
        columns += _of_attributes(embedding, data)
    lengths = NodeNumbers("length of the vector", lengths_of(embedding.vectors))
    return [x for x in (*columns, lengths) if isinstance(x, Classes) or _spread(x.values)]


def _of_attributes(embedding: Embedding, data: Graph | Hypergraph) -> list[Classes | NodeNumbers]:
    """The first attributes that are numbers, in ranges, or categories."""
    named = [] if data.attributes is None else data.attributes.columns
    chosen = [x.name for x in named if x.kind in ("number", "category") and x.known.any()][:_ATTRIBUTES]
    values = {name: by_attribute(data, name) for name in chosen}
    return [
        Classes.of(name, embedding, {node: str(x) for node, x in own.items()})
        for name, own in values.items()
        if any(node in embedding.nodes for node in own)
    ]


def degrees_of(embedding: Embedding, data: Graph | Hypergraph) -> npt.NDArray[np.float64]:
    """How many neighbors each node has, in either direction; 0 where the data does not know it."""
    at = data.nodes.find(embedding.nodes)
    if isinstance(data, Graph) and data.directed:
        own = np.diff(links(data, directed=False, weights=False, loops="keep").indptr).astype(np.float64)
    else:
        own = data.degrees.astype(np.float64)
    return np.where(at >= 0, own[at], 0.0) if len(own) else np.zeros(len(at))


def _first(value: Any) -> Any:
    if isinstance(value, (list, tuple, set, frozenset)):
        return min(value, key=str) if isinstance(value, (set, frozenset)) and value else next(iter(value), None)
    return value


def _spread(values: npt.NDArray[np.float64]) -> bool:
    """Whether the numbers differ by more than rounding."""
    low, high = float(values.min(initial=math.inf)), float(values.max(initial=-math.inf))
    return high - low > 1e-5 * max(abs(high), 1e-30)


def _unit(values: npt.NDArray[np.float64]) -> float | None:
    """What the logarithm counts in, or None where numbers are coloured as they are."""
    usual = float(np.median(values))
    return max(usual, 1e-30) if values.max() > _WIDE * max(usual, 1e-30) else None


_NAMED = 2_000
"""Nodes that the map may name unasked, the most important first."""
_LINKS = 30_000
"""Edges up to which they are drawn."""


def packed_sheet(sheet: Sheet, blocks: Blocks, method: str) -> dict[str, Any]:
    """Everything that the page shows of a model, its arrays put into blocks."""
    facts, points, columns = packed_map(sheet, blocks, method)
    named = _by_weight(sheet.embedding, sheet.data)
    facts["still"] = _still(sheet.name, sheet.embedding, points, columns, named)
    facts["vectors"] = packed_vectors(sheet.embedding, blocks)
    if isinstance(sheet.data, Graph) and 0 < sheet.data.n_edges <= _LINKS:
        facts["links"] = blocks.add(link_ends(sheet.embedding, sheet.data))
    facts |= {"losses": losses(sheet.model), "parameters": parameters(sheet.model)}
    return facts | {"cost": cost(sheet.model, sheet.embedding)}


def packed_map(sheet: Sheet, blocks: Blocks, method: str) -> tuple[dict[str, Any], Points, list[Classes | NodeNumbers]]:
    """What a map needs: names, places, columns, and who is named first; and those places and columns themselves."""
    embedding, data = sheet.embedding, sheet.data
    columns = sheet_columns(sheet.model, embedding, data, sheet.classes)
    facts: dict[str, Any] = {"name": sheet.name, "kind": type(sheet.model).__name__}
    facts |= {"nodes": len(embedding), "dim": embedding.dim, "gaussian": embedding.std is not None}
    facts["names"] = blocks.add_text(node_lines(embedding.nodes))
    points = placed(embedding, method)
    facts |= points.packed(blocks)
    facts["columns"] = [column.packed(blocks) for column in columns]
    facts["named"] = blocks.add(_by_weight(embedding, data).astype(np.uint32))
    return facts, points, columns


def _by_weight(embedding: Embedding, data: Any) -> npt.NDArray[np.int64]:
    """Who is named first: nodes with most edges or, where none are known, with the longest vectors."""
    weights = lengths_of(embedding.vectors) if data is None else degrees_of(embedding, data)
    return np.argsort(-weights, kind="stable")[:_NAMED]


_STILL_NAMES = 24


def _still(
    name: str,
    embedding: Embedding,
    points: Points,
    columns: list[Classes | NodeNumbers],
    named: npt.NDArray[np.int64],
) -> str:
    """The map as a picture, for where there is no script or no WebGL: the first view, by the first column."""
    parts, (left, bottom, right, top) = points.in_box()
    across = max(right - left, STILL_RATIO * (top - bottom), 1e-9)  # one scale for both axes
    at = 0.5 + (parts - [(left + right) / 2, (bottom + top) / 2]) * [1 / across, STILL_RATIO / across]
    column = columns[0] if columns else None
    slots, legend = _colored(column, len(embedding))
    words = [(i, node_line(embedding.nodes[i])[:40]) for i in named[:_STILL_NAMES].tolist()]
    about = f"{node_line(name)}: {counted(len(embedding), 'node')}, by {points.method}."
    about += f" Colours: {node_line(column.name)}." if column is not None else ""
    return still_picture(at, slots, words, legend, about=about, scale=isinstance(column, NodeNumbers))


def _colored(column: Classes | NodeNumbers | None, n: int) -> tuple[npt.NDArray[np.int64], list[tuple[int, str]]]:
    """The colour of each node, and what the colours mean."""
    if column is None:
        return np.zeros(n, np.int64), []
    if isinstance(column, NodeNumbers):
        low, high = float(column.values.min()), float(column.values.max())
        return column.parts().astype(np.int64) * 254 // _LEVELS, [(0, f"{low:,.4g}"), (254, f"{high:,.4g}")]
    most = len(CLASS_COLORS)
    legend = list(enumerate(column.names[:most]))
    more = len(column.names) > most or bool((column.codes == len(column.names)).any())
    return np.minimum(column.codes, most), [*legend, *([(most, "others")] if more else [])]


def link_ends(embedding: Embedding, graph: Graph) -> npt.NDArray[np.uint32]:
    """The rows of both ends of each edge, self-loops and unknown nodes left out; each undirected edge once."""
    matrix = graph.adjacency.tocoo()
    u, v = matrix.coords
    once = (u != v) if graph.directed else (u < v)
    at = embedding.nodes.find(graph.nodes)
    ends = np.column_stack([at[u[once]], at[v[once]]])
    return ends[(ends >= 0).all(axis=1)].astype(np.uint32)
