"""`map`: an embedding as a picture, its nodes points of a plane. Needs matplotlib: pip install 'netfold[viz]'."""

from __future__ import annotations

import functools
import importlib
import os
import unicodedata
import warnings
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from netfold.embedding import Embedding
from netfold.errors import InputError
from netfold.files import check_writable, staged_file
from netfold.graph import Graph

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["check_ending", "map", "project"]

Floats = npt.NDArray[np.float64]

_ENDINGS = (".png", ".svg", ".pdf")
_PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#8C6D1F")
"""Okabe and Ito's colours, told apart by colour-blind readers too; their yellow, too light for a dot, made brown."""
_REST = "#9A9A9A"
_INK = "#222222"
_INCHES, _DPI = (12, 9), 100
_FONTS = (
    "DejaVu Sans", "Noto Sans CJK JP", "Noto Sans CJK SC", "Noto Sans", "PingFang SC", "Hiragino Sans", "Yu Gothic",
    "Microsoft YaHei", "Malgun Gothic", "Arial Unicode MS", "WenQuanYi Micro Hei", "Droid Sans Fallback",
)  # fmt: skip
"""The first comes with matplotlib: Latin, Greek, Cyrillic, Arabic. The others are used where they are installed."""
_LONGEST = 28
_MOST_EDGES = 20_000
_MANY = 2_000
"""Above so many points or lines they are drawn as pixels, in a vector file too."""
_LEAST_TSNE = 4
_NEAR = 20
"""Pixels; a label farther from its point gets a line to it."""


def map(
    model: Any,
    path: str | os.PathLike[str] | None = None,
    *,
    colors: Mapping[Any, Hashable] | Sequence[Hashable] | None = None,
    labels: int | Iterable[Any] = 12,
    method: str = "pca",
    title: str | None = None,
    graph: Any = None,
) -> Figure:
    """Draw the nodes of a model, or of an `Embedding`, and write the picture to `path` (.png, .svg, .pdf).

    `colors` gives each node's category, by label or in the order of the nodes; the seven largest have a colour of
    their own. `labels` is how many nodes are named (those with most neighbors where there is a `graph`, those farthest
    from the origin where not), or which. `method` is "pca" or "tsne". The edges of `graph` are drawn faintly.

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
    points, axis_names = project(_as_compared(embedding, method), method)
    kinds = _Kinds.of(embedding, colors)
    figure, axes = _canvas(axis_names)
    if known is not None:
        _draw_edges(axes, points, embedding, known)
    _draw_points(axes, points, kinds)
    named = _named(embedding, labels, known)
    _write_around(axes, _heading(model, embedding) if title is None else title, kinds)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing")  # a box in the picture says it as well
        _write_labels(figure, axes, points, [(row, _caption(embedding.nodes[row])) for row in named])
        if path is not None:
            with staged_file(path) as part:
                figure.savefig(part, format=Path(path).suffix.lower()[1:], dpi=_DPI)
    made: Figure = figure
    return made


def check_ending(path: str | os.PathLike[str]) -> None:
    """Refuse a name whose ending is that of no picture."""
    if Path(path).suffix.lower() not in _ENDINGS:
        raise InputError(f"{path} names no format of a picture; end it with one of {', '.join(_ENDINGS)}")


# -------------------------------------------------------------------- where the nodes are


def project(vectors: npt.NDArray[Any], method: str = "pca") -> tuple[Floats, tuple[str, str]]:
    """A point of the plane for each vector (n x 2), and what the two axes are.

    "pca" turns the cloud so that it is seen at its widest; "tsne" keeps neighborhoods, and nothing else, as they are.

    >>> points, names = project(np.array([[0, 0, 0], [3, 4, 0], [6, 8, 0]]))
    >>> points.round(6).tolist(), names[0]
    ([[-5.0, 0.0], [0.0, 0.0], [5.0, 0.0]], 'first principal component (100% of the variance)')
    """
    if method not in ("pca", "tsne"):
        raise InputError(f"method={method!r} is not one of pca, tsne")
    centred = np.asarray(vectors, np.float64) - np.mean(vectors, axis=0, dtype=np.float64)
    if method == "tsne" and len(centred) >= _LEAST_TSNE:
        return _tsne(centred), ("t-SNE: who is near whom counts, how far the others are does not", "")
    return _pca(centred)


def _as_compared(embedding: Embedding, method: str) -> Floats:
    """t-SNE of plain vectors keeps the neighbors that `nearest` names, which are those by cosine."""
    points = np.asarray(embedding.coordinates, np.float64)
    if method != "tsne" or embedding.std is not None:
        return points
    lengths = np.linalg.norm(points, axis=1, keepdims=True)
    return points / np.where(lengths > 0, lengths, 1.0)


def _pca(centred: Floats) -> tuple[Floats, tuple[str, str]]:
    """X V with V the two leading eigenvectors of XᵀX, each turned so that its largest entry is positive."""
    size = np.abs(centred).max(initial=0) or 1.0  # squares of what is left neither vanish nor overflow
    values, vectors = np.linalg.eigh((centred / size).T @ (centred / size))
    leading = vectors[:, ::-1][:, :2]
    leading = leading * np.sign(leading[np.abs(leading).argmax(axis=0), range(leading.shape[1])])
    points = centred @ leading
    shares = values[::-1] / (values.sum() or 1.0)
    names = [
        f"{n} principal component ({x:.0%} of the variance)" for n, x in zip(("first", "second"), shares, strict=False)
    ]
    if points.shape[1] == 1:
        return np.column_stack([points, np.zeros(len(points))]), (names[0], "")
    return points, (names[0], names[1])


def _tsne(centred: Floats) -> Floats:
    module = _imported("openTSNE")
    start, _ = _pca(centred)
    start *= 1e-4 / (start[:, 0].std() or 1.0)  # small, as the method asks
    perplexity = min(30.0, (len(centred) - 1) / 3)
    found = module.TSNE(perplexity=perplexity, random_state=0, initialization=start).fit(centred)
    return np.asarray(found, np.float64)


def _imported(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError:
        raise InputError(f"{name.split('.')[0]} is missing; install it with: pip install 'netfold[viz]'") from None


# -------------------------------------------------------------------- which colours, which labels


@dataclass(frozen=True)
class _Kinds:
    """The kind of each node, which gives it its colour."""

    names: tuple[str, ...]
    """For a legend; the last is that of the rest, where there is one."""
    colors: tuple[str, ...]
    of_node: npt.NDArray[np.int64]
    """Positions in both."""

    @staticmethod
    def of(embedding: Embedding, given: Mapping[Any, Hashable] | Sequence[Hashable] | None) -> _Kinds:
        if given is None:
            return _Kinds((), _PALETTE[:1], np.zeros(len(embedding), np.int64))
        listed = [given.get(x) for x in embedding.nodes] if isinstance(given, Mapping) else list(given)
        if len(listed) != len(embedding):
            raise InputError(
                f"{len(listed):,} colors do not fit {len(embedding):,} nodes; give each its own, or a dict"
            )
        largest = [kind for kind, _ in Counter(x for x in listed if x is not None).most_common(len(_PALETTE))]
        place = {kind: i for i, kind in enumerate(largest)}
        of_node = np.array([place.get(x, len(largest)) for x in listed], np.int64)
        rest = ("others",) if (of_node == len(largest)).any() else ()
        colors = (*_PALETTE[: len(largest)], _REST)
        return _Kinds((*(_caption(kind) for kind in largest), *rest), colors, of_node)


def _named(embedding: Embedding, labels: int | Iterable[Any], graph: Graph | None) -> list[int]:
    """The rows of the nodes to name, the most important first."""
    if not isinstance(labels, int):
        return [int(row) for row in embedding.nodes.positions(labels)]
    if graph is None:
        weight: npt.NDArray[Any] = np.linalg.norm(embedding.vectors.astype(np.float64), axis=1)
    else:
        at = graph.nodes.find(embedding.nodes)
        weight = np.where(at >= 0, graph.degrees[at], 0) if graph.n_nodes else np.zeros(len(embedding))
    return [int(row) for row in np.argsort(-weight, kind="stable")[: max(labels, 0)]]


def _heading(model: Any, embedding: Embedding) -> str:
    made_by = "" if model is embedding else f"{type(model).__name__} of "
    return f"{made_by}{len(embedding):,} nodes in {embedding.dim:,} dimension{'s' * (embedding.dim > 1)}"


def _caption(label: Any) -> str:
    """A label on one line, and not a long one."""
    text = "".join(" " if unicodedata.category(c).startswith(("Cc", "Z")) else c for c in str(label))
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"


# -------------------------------------------------------------------- drawing


def _canvas(names: tuple[str, str]) -> tuple[Any, Any]:
    """A figure that pyplot knows nothing of, with thin axes around the points."""
    figure = _imported("matplotlib.figure").Figure(figsize=_INCHES, dpi=_DPI)
    figure.set_layout_engine("constrained", w_pad=0.15, h_pad=0.15)
    _imported("matplotlib.backends.backend_agg").FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    axes.set_xticks([])
    axes.set_yticks([])
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    for side in ("left", "bottom"):
        axes.spines[side].set(linewidth=0.6, color=_REST)
    axes.set_xlabel(names[0], color="#666666", fontsize=11)
    axes.set_ylabel(names[1], color="#666666", fontsize=11)
    axes.margins(0.06)
    axes.set_aspect("equal", adjustable="datalim")  # a distance looks the same whichever way it goes
    return figure, axes


def _draw_edges(axes: Any, points: Floats, embedding: Embedding, graph: Graph) -> None:
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
    lines = _imported("matplotlib.collections").LineCollection(
        np.stack([points[u[keep]], points[v[keep]]], axis=1),
        linewidths=0.4 + 1.4 * weights * (weights < 1).any(),
        colors="#8A8A8A",
        alpha=opacity,
        zorder=1,
        rasterized=len(keep) > _MANY,
    )
    axes.add_collection(lines, autolim=False)


def _draw_points(axes: Any, points: Floats, kinds: _Kinds) -> None:
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


def _write_around(axes: Any, heading: str, kinds: _Kinds) -> None:
    axes.set_title(heading, loc="left", fontsize=15, color=_INK, family=_fonts(), parse_math=False, pad=12)
    if len(kinds.names) < 2:
        return
    line = _imported("matplotlib.lines").Line2D
    handles = [
        line([], [], linestyle="none", marker="o", markersize=8, color=color)
        for color, _ in zip(kinds.colors, kinds.names, strict=False)
    ]
    beside = {"loc": "upper left", "bbox_to_anchor": (1, 1), "frameon": False, "handletextpad": 0.2}
    legend = axes.legend(handles, ["x"] * len(handles), **beside)  # a name that begins with _ would be left out
    for text, name in zip(legend.get_texts(), kinds.names, strict=True):
        text.set(text=name, fontsize=11, color=_INK, family=_fonts(), parse_math=False)


@functools.cache
def _fonts() -> list[str]:
    installed = {font.name for font in _imported("matplotlib.font_manager").fontManager.ttflist}
    return [name for name in _FONTS if name in installed]


# -------------------------------------------------------------------- labels that do not overlap

Box = tuple[float, float, float, float]
"""Left, bottom, right, top, in pixels."""


def _write_labels(figure: Any, axes: Any, points: Floats, captions: list[tuple[int, str]]) -> None:
    """Each caption beside its point, the first ones first; one for which there is no room is left out."""
    figure.canvas.draw()  # fixes where everything is
    figure.set_layout_engine("none")  # and there it stays
    dots = axes.transData.transform(points)
    frame, taken = axes.get_window_extent(), list[Box]()
    stroke = _imported("matplotlib.patheffects").withStroke(linewidth=2.5, foreground="white", alpha=0.9)
    for row, caption in captions:
        text = axes.annotate(
            caption, points[row], (0, 0), textcoords="offset pixels", fontsize=11, color=_INK, zorder=4,
            family=_fonts(), parse_math=False, path_effects=[stroke], ha="left", va="baseline",
        )  # fmt: skip
        found = _place(text.get_window_extent(), dots[row], dots, taken, (frame.x0, frame.y0, frame.x1, frame.y1))
        if found is None:
            text.remove()
            continue
        offset, box, far = found
        text.set_position(offset)
        taken.append(box)
        if far:
            _lead(axes, points[row], dots[row], box)


Place = tuple[tuple[float, float], Box, bool]
"""A label's offset from its point, where it then is, and whether that is some way off."""


def _place(extent: Any, at: Floats, dots: Floats, taken: list[Box], frame: Box) -> Place | None:
    """The cheapest place: near its point, on few dots, on no other label, within the frame."""
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
    """Where the lower left corner may stand, from the point; and how far the label is then."""
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


def _lead(axes: Any, point: Floats, dot: Floats, box: Box) -> None:
    """A thin line from a point to its label, where the label had to go some way off."""
    end = np.clip(dot, [box[0] + 2, box[1] + 2], [box[2] - 2, box[3] - 2])
    x, y = zip(point, axes.transData.inverted().transform(end), strict=True)
    axes.plot(x, y, color="#777777", linewidth=0.6, zorder=3, scalex=False, scaley=False)
