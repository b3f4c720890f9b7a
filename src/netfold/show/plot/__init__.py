"""`map`: an embedding as a picture, its nodes points of a plane. Needs matplotlib: pip install 'netfold[viz]'.

The frame, edges, points, names that do not overlap, and hyperedges as faint middles of tuples are drawn here.
"""

from __future__ import annotations

import functools
import os
import warnings
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from netfold.data.checks import Floats
from netfold.data.embedding import Embedding
from netfold.data.graph import Graph
from netfold.data.hypergraph import Hypergraph
from netfold.data.interop import edges_once
from netfold.data.text import as_typed, counted, printable, type_in_words
from netfold.errors import InputError, renamed
from netfold.io.files import check_writable, staged_file
from netfold.io.formats import write_gexf
from netfold.show.plot.kinds import REST, Kinds, Range, by_attribute, by_core, by_degree, caption, heading, named
from netfold.show.plot.projection import (
    as_compared,
    bulk,
    check_uncertainty,
    draw_ellipses,
    imported,
    principal_axes,
    project,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["Range", "by_attribute", "by_core", "by_degree", "by_type", "check_ending", "map", "project"]

_ENDINGS = (".png", ".svg", ".pdf", ".gexf")


@renamed(labels="names")
def map(
    model: Any,
    path: str | os.PathLike[str] | None = None,
    *,
    colors: Mapping[Any, Hashable] | Sequence[Hashable] | None = None,
    names: int | Iterable[Any] = 12,
    method: str = "pca",
    title: str | None = None,
    graph: Any = None,
    hypergraph: Hypergraph | None = None,
    uncertainty: float = 0,
) -> Figure:
    """Draw the nodes of a model, or of an `Embedding`, and write the picture to `path` (.png, .svg, .pdf).

    `colors` gives each node's category, by node or in the order of the nodes; the seven largest have a colour of
    their own. `by_degree(graph)` and `by_core(graph)` make categories of a number, coloured from light to dark, and
    `by_attribute(graph, name)` those of an attribute of nodes.
    `names` is how many nodes are named (those with most neighbors where there is a `graph`, those farthest from the
    origin where not), or which. `method` is "pca" or "tsne". The edges of `graph` are drawn faintly.
    `path` ends in .png, .svg, .pdf, or .gexf: places, colours and edges for Gephi.

    The nodes of a `hypergraph`, or of a model of one, are coloured by their types where nothing else is said, and in
    the middle of the nodes of each hyperedge is a faint dot.

    With `uncertainty` the points are the means of Gaussians, by PCA, and around each is the ellipse that its Gaussian
    has in that plane at so many standard deviations (of more than 300 nodes, around those named and others by chance).

    >>> embedding = Embedding(["a", "b", "c"], [[1, 0, 0], [1, 1, 0], [0, 2, 1]])
    >>> figure = map(embedding, colors={"a": "vowel", "b": "consonant", "c": "consonant"})
    >>> [text.get_text() for text in figure.axes[0].texts]
    ['c', 'b', 'a']
    """
    if path is not None:
        check_ending(path)
        check_writable(Path(path), force=True)
    embedding = getattr(model, "embedding_", model)
    if not isinstance(embedding, Embedding) or not len(embedding):
        raise InputError(f"this {type(model).__name__} has no vectors to draw; give a fitted model or an Embedding")
    known = None if graph is None else Graph.of(graph)
    colors, typed = _colors(model, colors, hypergraph)
    deviations = check_uncertainty(embedding, uncertainty, method)
    seen = embedding.vectors if deviations else as_compared(embedding, method)
    points, axis_names = project(seen, method)
    kinds = Kinds.of(embedding, colors)
    rows = named(embedding, names, hypergraph if known is None else known)
    figure, (axes,) = canvas(axis_names)
    if known is not None:
        draw_edges(axes, points, embedding, known)
    if hypergraph is not None:
        draw_hyperedges(axes, points, embedding, hypergraph)
    if deviations:
        draw_ellipses(axes, points, principal_axes(seen), embedding, kinds, deviations, rows)
    draw_points(axes, points, kinds)
    write_around(axes, heading(model, embedding, deviations) if title is None else title, kinds)
    rows = _leave_out_far(figure, axes, points, rows) if isinstance(names, int) else rows
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing")  # a box in the picture says it as well
        write_names(figure, axes, points, [(row, caption(embedding.nodes[row], typed=typed)) for row in rows])
        if path is not None and Path(path).suffix.lower() == ".gexf":
            _write_gexf(Path(path), embedding, points, kinds, known)
        elif path is not None:
            with staged_file(path) as part:
                figure.savefig(part, format=Path(path).suffix.lower()[1:], dpi=DPI)
    drawn: Figure = figure
    return drawn


def _write_gexf(path: Path, embedding: Embedding, points: Floats, kinds: Kinds, graph: Graph | None) -> None:
    """The map for Gephi and the like: places, colours, and all edges among the nodes drawn."""
    span = float(np.abs(points).max(initial=0)) or 1.0
    triples: list[tuple[int, int, float]] = []
    if graph is not None:
        at, (rows, columns, weights, _) = embedding.nodes.find(graph.nodes), edges_once(graph.adjacency, graph.directed)
        ends = np.stack([at[rows], at[columns]], axis=1)
        there = (ends >= 0).all(axis=1)
        triples = [(i, j, w) for (i, j), w in zip(ends[there].tolist(), weights[there].tolist(), strict=True)]
    colors = np.array(kinds.colors)[kinds.of_node].tolist()
    names = [as_typed(node) for node in embedding.nodes]
    directed = graph is not None and graph.directed
    write_gexf(path, names, points / span * _GEXF_WIDTH, colors, triples, directed=directed)


_GEXF_WIDTH = 1000.0
"""Half of the width of a map in GEXF, which programs take for pixels."""


def _colors(model: Any, colors: Any, hypergraph: Any) -> tuple[Any, bool]:
    """What nodes are coloured by, and whether that is their type."""
    if hypergraph is not None and not isinstance(hypergraph, Hypergraph):
        raise InputError(f"hypergraph is {type_in_words(hypergraph)}; give a Hypergraph, or edges as graph=")
    of = hypergraph if hypergraph is not None else model if getattr(model, "reads", "graph") == "hypergraph" else None
    if colors is not None or of is None:
        return colors, False
    types = by_type(of)
    return (types, True) if len(set(types.values())) > 1 else (None, False)


def check_ending(path: str | os.PathLike[str]) -> None:
    """Refuse a name whose ending is that of no picture."""
    if Path(path).suffix.lower() not in _ENDINGS:
        raise InputError(f"{path} names no format of a picture; end it with one of {', '.join(_ENDINGS)}")


# -------------------------------------------------------------------- what is drawn

Box = tuple[float, float, float, float]
"""Left, bottom, right, top, in pixels."""

Place = tuple[tuple[float, float], Box, bool]
"""A name's offset from its point, where it then is, and whether that is some way off."""

_NEAR = 20
"""Pixels; a name farther from its point gets a line to it."""


def place(extent: Any, at: Floats, dots: Floats, taken: list[Box], frame: Box) -> Place | None:
    """The cheapest place: near its point, on few dots, on no other name, within the frame."""
    best: Place | None = None
    least = float("inf")
    for dx, dy, distance in _spots(extent.width, extent.height):
        if distance >= least:  # those that follow are no nearer
            break
        left, bottom = at[0] + dx, at[1] + dy
        box = (left - 2, bottom - 2, left + extent.width + 2, bottom + extent.height + 2)
        if _outside(box, frame) or any(_overlap(box, other) for other in taken):
            continue
        cost = distance + 12 * _covered(dots, box)
        if cost < least:
            offset = (dx - (extent.x0 - at[0]), dy - (extent.y0 - at[1]))
            least, best = cost, (offset, box, distance > _NEAR)
    return best


def _spots(width: float, height: float) -> Iterator[tuple[float, float, float]]:
    """Where the lower left corner may stand, from the point; and how far the name is then."""
    for radius in (7, 14, 24, 36, 50, 70, 95):
        for angle in np.arange(16) * np.pi / 8:
            x, y = radius * np.cos(angle), radius * np.sin(angle)
            yield x - width * (1 - np.cos(angle)) / 2, y - height * (1 - np.sin(angle)) / 2, radius


def _overlap(a: Box, b: Box) -> bool:
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]


def _outside(box: Box, frame: Box) -> bool:
    return box[0] < frame[0] or box[1] < frame[1] or box[2] > frame[2] or box[3] > frame[3]


def _covered(dots: Floats, box: Box) -> int:
    x, y = dots[:, 0], dots[:, 1]
    return int(((x > box[0] - 3) & (x < box[2] + 3) & (y > box[1] - 3) & (y < box[3] + 3)).sum())


_INK = "#222222"
_INCHES, DPI = (12, 9), 100
_FONTS = (
    "DejaVu Sans", "Noto Sans CJK JP", "Noto Sans CJK SC", "Noto Sans", "PingFang SC", "Hiragino Sans", "Yu Gothic",
    "Microsoft YaHei", "Malgun Gothic", "Arial Unicode MS", "WenQuanYi Micro Hei", "Droid Sans Fallback",
)  # fmt: skip
"""The first comes with matplotlib: Latin, Greek, Cyrillic, Arabic. The others are used where they are installed."""
_MOST_EDGES = 20_000
_MANY = 2_000
"""Above so many points or lines they are drawn as pixels, in a vector file too."""


def canvas(*names: tuple[str, str], inches: tuple[float, float] = _INCHES) -> tuple[Any, list[Any]]:
    """A figure that pyplot knows nothing of, with a panel for each pair of names of axes, side by side."""
    figure = imported("matplotlib.figure").Figure(figsize=inches, dpi=DPI)
    figure.set_layout_engine("constrained", w_pad=0.15, h_pad=0.15)
    imported("matplotlib.backends.backend_agg").FigureCanvasAgg(figure)
    panels = [figure.add_subplot(1, len(names), i + 1) for i in range(len(names))]
    for axes, pair in zip(panels, names, strict=True):
        _frame(axes, pair)
    return figure, panels


def _frame(axes: Any, names: tuple[str, str]) -> None:
    """Thin axes around the points."""
    axes.set_xticks([])
    axes.set_yticks([])
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    for side in ("left", "bottom"):
        axes.spines[side].set(linewidth=0.6, color=REST)
    axes.set_xlabel(names[0], color="#666666", fontsize=11)
    axes.set_ylabel(names[1], color="#666666", fontsize=11)
    axes.margins(0.06)
    axes.set_aspect("equal", adjustable="datalim")  # a distance looks the same whichever way it goes


def _leave_out_far(figure: Any, axes: Any, points: Floats, rows: Sequence[int]) -> list[int]:
    """Where a few points far off would press all others into a heap, show the others, and say how many are outside.

    The rows that are named and still seen.
    """
    low, high = bulk(points)
    if not ((high - low) < _CROWDED * np.ptp(points, axis=0)).any():
        return list(rows)
    figure.canvas.draw()  # fixes how wide and high the panel is: a distance is to look the same whichever way it goes
    box = axes.get_window_extent()
    half = np.array([box.width, box.height]) * max((high - low) / [box.width, box.height]) * 0.53
    middle = (low + high) / 2
    low, high = middle - half, middle + half
    axes.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]))
    seen = ((points >= low) & (points <= high)).all(axis=1)
    if (outside := int((~seen).sum())) > 0:
        axes.set_xlabel(f"{axes.get_xlabel()}; {counted(outside, 'node')} far off, outside the picture")
    return [row for row in rows if seen[row]]


_CROWDED = 0.5
"""A picture of all is changed where most nodes have less than this share of its width or height."""


def draw_edges(axes: Any, points: Floats, embedding: Embedding, graph: Graph) -> None:
    """The heaviest edges among the nodes drawn, the heavier the wider."""
    coo = graph.adjacency.tocoo()
    at = embedding.nodes.find(graph.nodes)
    u, v = (at[ends] for ends in coo.coords)
    keep = np.flatnonzero((u >= 0) & (v >= 0) & ((u < v) | (graph.directed & (u != v))))
    keep = keep[np.argsort(-coo.data[keep], kind="stable")[:_MOST_EDGES]]
    if not len(keep):
        return
    weights = np.sqrt(coo.data[keep] / coo.data[keep].max())
    opacity = float(np.clip(100 / len(keep), 0.03, 0.35))
    lines = imported("matplotlib.collections").LineCollection(
        np.stack([points[u[keep]], points[v[keep]]], axis=1),
        linewidths=0.4 + 1.4 * weights * (weights < 1).any(),
        colors="#8A8A8A",
        alpha=opacity,
        zorder=1,
        rasterized=len(keep) > _MANY,
    )
    axes.add_collection(lines, autolim=False)


def draw_points(axes: Any, points: Floats, kinds: Kinds) -> None:
    """Dots that leave room for one another, in the order of the nodes: no kind covers another by coming last."""
    n = len(points)
    size = float(np.clip(6000 / n, 6, 70))
    axes.scatter(
        points[:, 0],
        points[:, 1],
        s=size,
        c=np.array(kinds.colors)[kinds.of_node],
        edgecolors="white" if n <= _MANY else "none",
        linewidths=0.6,
        alpha=1.0 if n <= _MANY else 0.8,
        zorder=2,
        rasterized=n > _MANY,
    )


def write_around(axes: Any, heading: str, kinds: Kinds) -> None:
    """The heading, and a legend where there are two kinds or more."""
    heading = "\n".join(printable(line) for line in heading.split("\n"))
    axes.set_title(heading, loc="left", fontsize=15, color=_INK, family=_fonts(), parse_math=False, pad=12)
    if len(kinds.names) < 2:
        return
    line = imported("matplotlib.lines").Line2D
    handles = [
        line([], [], linestyle="none", marker="o", markersize=8, color=color)
        for color, _ in zip(kinds.colors, kinds.names, strict=False)
    ]
    beside = {"loc": "upper left", "bbox_to_anchor": (1, 1), "frameon": False, "handletextpad": 0.2}
    legend = axes.legend(handles, ["x"] * len(handles), **beside)  # a name that begins with _ would be left out
    for text, name in zip(legend.get_texts(), kinds.names, strict=True):
        text.set(text=name, fontsize=11, color=_INK, family=_fonts(), parse_math=False)


def write_names(figure: Any, axes: Any, points: Floats, captions: list[tuple[int, str]]) -> None:
    """Each caption beside its point, the first ones first; one for which there is no room is left out."""
    figure.canvas.draw()  # fixes where everything is
    figure.set_layout_engine("none")  # and there it stays
    dots = axes.transData.transform(points)
    frame, taken = axes.get_window_extent(), list[Box]()
    stroke = imported("matplotlib.patheffects").withStroke(linewidth=2.5, foreground="white", alpha=0.9)
    for row, words in captions:
        text = axes.annotate(
            words, points[row], (0, 0), textcoords="offset pixels", fontsize=11, color=_INK, zorder=4,
            family=_fonts(), parse_math=False, path_effects=[stroke], ha="left", va="baseline",
        )  # fmt: skip
        spot = place(text.get_window_extent(), dots[row], dots, taken, (frame.x0, frame.y0, frame.x1, frame.y1))
        if spot is None:
            text.remove()
            continue
        offset, box, far = spot
        text.set_position(offset)
        taken.append(box)
        if far:
            _lead(axes, points[row], dots[row], box)


def _lead(axes: Any, point: Floats, dot: Floats, box: Box) -> None:
    """A thin line from a point to its name, where the name had to go some way off."""
    end = np.clip(dot, [box[0] + 2, box[1] + 2], [box[2] - 2, box[3] - 2])
    x, y = zip(point, axes.transData.inverted().transform(end), strict=True)
    axes.plot(x, y, color="#777777", linewidth=0.6, zorder=3, scalex=False, scaley=False)


@functools.cache
def _fonts() -> list[str]:
    installed = {font.name for font in imported("matplotlib.font_manager").fontManager.ttflist}
    return [name for name in _FONTS if name in installed]


_MOST, _SPOKES = 20_000, 400
"""So many hyperedges are drawn, and so many with lines to their nodes."""
_GREY = "#8A8A8A"


def by_type(data: Any) -> dict[Any, str]:
    """The type of each node of a hypergraph, or of a model of one, for the `colors` of a map.

    >>> by_type(Hypergraph.from_tuples([("ann", "Alien")], {"ann": "user", "Alien": "film"}))
    {'ann': 'user', 'Alien': 'film'}
    """
    if isinstance(data, Hypergraph):
        return dict(zip(data.nodes, data.node_types, strict=True))
    if getattr(data, "reads", None) != "hypergraph" or not hasattr(data, "embedding_"):
        raise InputError(f"the nodes of {type_in_words(data)} have no types; give a Hypergraph, or a model of one")
    types, codes = data.graph_facts_["types"], data.network_.type_codes.tolist()
    return {node: types[code] for node, code in zip(data.embedding_.nodes, codes, strict=True)}


def centroids(points: Floats, embedding: Embedding, hypergraph: Hypergraph) -> list[tuple[Floats, Floats]]:
    """For each kind, the points of the nodes of each hyperedge (m x N x 2) and their mean (m x 2).

    Hyperedges with a node that is not drawn are left out. Under PCA, which is linear, the mean of the points is the
    point of the mean.
    """
    at, centers = embedding.nodes.find(hypergraph.nodes), []
    for kind in hypergraph.kinds:
        rows = at[kind.rows]
        corners = points[rows[(rows >= 0).all(axis=1)]]
        centers.append((corners, corners.mean(axis=1)))
    return centers


def draw_hyperedges(axes: Any, points: Floats, embedding: Embedding, hypergraph: Hypergraph) -> None:
    """A faint dot at the centroid of each hyperedge and, where they are few, thin lines from there to its nodes."""
    centers = centroids(points, embedding, hypergraph)
    total = sum(len(middle) for _, middle in centers)
    opacity = float(np.clip(150 / max(total, 1), 0.05, 0.45))
    for corners, middle in centers:
        some = _some(len(middle), total)
        axes.scatter(*middle[some].T, s=7, c=_GREY, alpha=opacity, linewidths=0, zorder=1, rasterized=total > _SPOKES)
        if total <= _SPOKES:
            ends = np.broadcast_to(middle[:, None], corners.shape)
            lines = np.stack([ends, corners], axis=2).reshape(-1, 2, 2)
            look = {"colors": _GREY, "alpha": opacity / 2, "linewidths": 0.6, "zorder": 1}
            axes.add_collection(imported("matplotlib.collections").LineCollection(lines, **look), autolim=False)


def _some(count: int, total: int) -> Any:
    """This kind's part of those that are drawn: all, or as many by chance as its share."""
    if total <= _MOST:
        return slice(None)
    return np.random.default_rng(0).choice(count, max(1, count * _MOST // total), replace=False)
