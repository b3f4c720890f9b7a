"""What is known of a model and of its data: parameters, losses, seconds, memory, counts."""

from __future__ import annotations

import math
import unicodedata
from typing import Any

import numpy as np

from netfold.data.checks import unique_values
from netfold.data.embedding import Embedding
from netfold.data.graph import Graph
from netfold.data.hypergraph import Hypergraph
from netfold.data.nodes import Nodes
from netfold.data.statistics import Counts, graph_counts, hypergraph_counts
from netfold.data.text import as_typed, printable
from netfold.embedder.embedder import Embedder, loss_curves
from netfold.embedder.options import options

__all__ = ["cost", "data_facts", "losses", "node_line", "node_lines", "parameters"]


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
