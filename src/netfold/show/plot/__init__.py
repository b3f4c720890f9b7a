"""`map`: an embedding as a picture, its nodes points of a plane. Needs matplotlib: pip install 'netfold[viz]'."""

from __future__ import annotations

import os
import warnings
from collections.abc import Hashable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from netfold.data.embedding import Embedding
from netfold.data.graph import Graph
from netfold.data.hypergraph import Hypergraph
from netfold.errors import InputError, renamed
from netfold.io.files import check_writable, staged_file
from netfold.show.plot.drawing import (
    DPI,
    by_type,
    canvas,
    draw_edges,
    draw_hyperedges,
    draw_points,
    write_around,
    write_names,
)
from netfold.show.plot.ellipses import check_uncertainty, draw_ellipses
from netfold.show.plot.kinds import Kinds, Range, by_core, by_degree, caption, heading, named
from netfold.show.plot.projection import as_compared, principal_axes, project

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["Range", "by_core", "by_degree", "by_type", "check_ending", "map", "project"]

_ENDINGS = (".png", ".svg", ".pdf")


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
    their own. `by_degree(graph)` and `by_core(graph)` make categories of a number, coloured from light to dark.
    `names` is how many nodes are named (those with most neighbors where there is a `graph`, those farthest from the
    origin where not), or which. `method` is "pca" or "tsne". The edges of `graph` are drawn faintly.

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
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing")  # a box in the picture says it as well
        write_names(figure, axes, points, [(row, caption(embedding.nodes[row], typed=typed)) for row in rows])
        if path is not None:
            with staged_file(path) as part:
                figure.savefig(part, format=Path(path).suffix.lower()[1:], dpi=DPI)
    drawn: Figure = figure
    return drawn


def _colors(model: Any, colors: Any, hypergraph: Any) -> tuple[Any, bool]:
    """What nodes are coloured by, and whether that is their type."""
    if hypergraph is not None and not isinstance(hypergraph, Hypergraph):
        raise InputError(f"hypergraph is a {type(hypergraph).__name__}; give a Hypergraph, or edges as graph=")
    of = hypergraph if hypergraph is not None else model if getattr(model, "reads", "graph") == "hypergraph" else None
    if colors is not None or of is None:
        return colors, False
    types = by_type(of)
    return (types, True) if len(set(types.values())) > 1 else (None, False)


def check_ending(path: str | os.PathLike[str]) -> None:
    """Refuse a name whose ending is that of no picture."""
    if Path(path).suffix.lower() not in _ENDINGS:
        raise InputError(f"{path} names no format of a picture; end it with one of {', '.join(_ENDINGS)}")
