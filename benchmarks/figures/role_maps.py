"""The pictures of roles: SDNE's map beside DRNE's of the same graph, and mirror images that fall on each other.

python benchmarks/figures/role_maps.py docs
"""

from __future__ import annotations

import sys
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
import torch

import netfold as nf
from netfold.show.plot import DPI, canvas, draw_edges, draw_points, write_around, write_names
from netfold.show.plot.kinds import Kinds
from netfold.show.plot.projection import as_compared, project

INCHES, NEAR = (18, 8.5), 5
NAMED = [
    "Valjean", "Gavroche", "Marius", "Javert", "Thenardier", "Fantine", "Enjolras", "Cosette", "Myriel", "Bamatabois",
    "Tholomyes", "Napoleon", "Labarre", "MotherPlutarch", "Boulatruelle", "Jondrette",
]  # fmt: skip
"""Main characters, and five who know one person each."""


def roles(path: Path) -> None:
    """Les Misérables by both models: the same colours, the same names, the same way down to the plane."""
    graph = nf.datasets.load("les_miserables")
    damped = nf.Graph(graph.adjacency.sqrt(), graph.nodes)  # as in the demo; DRNE reads no weights
    models = {
        "SDNE: who is near whom": nf.SDNE(dim=32, alpha=10).fit(damped, progress=False),
        "DRNE: who plays the same role": nf.DRNE().fit(graph, progress=False),
    }
    maps = [project(as_compared(model.embedding_, "tsne"), "tsne") for model in models.values()]
    figure, panels = canvas(*(names for _, names in maps), inches=INCHES)
    for axes, (title, model), (points, _) in zip(panels, models.items(), maps, strict=True):
        by_degree = nf.plot.by_degree(graph)
        draw_edges(axes, points, model.embedding_, graph)
        draw_points(axes, points, Kinds.of(model.embedding_, by_degree))
        write_around(axes, title, Kinds.of(model.embedding_, by_degree if axes is panels[-1] else None))
        print(f"{title}: {near(model.embedding_, graph)}")
    for axes, (points, _) in zip(panels, maps, strict=True):
        write_names(figure, axes, points, list(zip(graph.positions(NAMED).tolist(), NAMED, strict=True)))
    figure.savefig(path / "roles.png", dpi=DPI)


def near(embedding: nf.Embedding, graph: nf.Graph) -> str:
    """Whether the nearest are linked, and whether they have as many links."""
    linked, factor = [], []
    for i, label in enumerate(graph.nodes):
        rows = graph.positions([other for other, _ in embedding.nearest(label, NEAR)])
        linked += [graph.adjacency[i, row] > 0 for row in rows]
        factor += np.abs(np.log(graph.degrees[rows] / graph.degrees[i])).tolist()
    return f"of the {NEAR} nearest {np.mean(linked):.0%} are linked, degrees differ {np.exp(np.mean(factor)):.2f}-fold"


def mirrors(path: Path) -> None:
    """Graphs whose second half is the first again, mirrored: dots, and the rings of their images around them."""
    graphs = [nf.datasets.load("barbell"), nf.datasets.load("mirrored_karate")]
    images = [np.arange(30)[::-1], np.roll(np.arange(68), 34)]
    titles = ["Barbell: dots its left half, rings its right", "Karate club, twice: dots one copy, rings the other"]
    rounds = zip([5, 1], graphs, strict=True)  # nodes along the barbell's path differ only so many steps away
    models = [nf.DRNE(epochs=30, rounds=r).fit(graph, progress=False) for r, graph in rounds]
    maps = [project(model.embedding_.vectors) for model in models]
    figure, panels = canvas(*(names for _, names in maps), inches=INCHES)
    for axes, model, (points, _), graph, image, title in zip(panels, models, maps, graphs, images, titles, strict=True):
        x, half = model.embedding_.vectors, len(points) // 2
        print(f"{title}: images are at most {np.linalg.norm(x - x[image], axis=1).max():.0e} apart")
        kinds = Kinds.of(model.embedding_, nf.plot.by_degree(graph))
        draw_edges(axes, points, model.embedding_, graph)
        draw_points(axes, points[:half], Kinds(kinds.names, kinds.colors, kinds.of_node[:half]))
        rings = {"facecolors": "none", "edgecolors": np.array(kinds.colors)[kinds.of_node[half:]], "linewidths": 1.4}
        axes.scatter(*points[half:].T, s=150, zorder=2, **rings)
        write_around(axes, title, kinds)
    for axes, (points, _), graph in zip(panels, maps, graphs, strict=True):
        write_names(figure, axes, points, together(points, graph))
    figure.savefig(path / "mirrors.png", dpi=DPI)


def together(points: Any, graph: nf.Graph) -> list[tuple[int, str]]:
    """The first of the nodes in each place, and the numbers of them all; blanks keep them off the rings."""
    first = (np.linalg.norm(points[:, None] - points, axis=2) < 1e-3).argmax(axis=1)
    numbers = [label[1] if isinstance(label, tuple) else label for label in graph.nodes]
    return [(i, f" {runs({numbers[j] for j in np.flatnonzero(first == i)})} ") for i in np.unique(first)[::-1].tolist()]


def runs(numbers: set[int]) -> str:
    """0, 1, 2, 5 as 0-2, 5."""
    steps = [[n for _, n in run] for _, run in groupby(enumerate(sorted(numbers)), lambda pair: pair[1] - pair[0])]
    return ", ".join(f"{run[0]}-{run[-1]}" if len(run) > 2 else ", ".join(map(str, run)) for run in steps)


if __name__ == "__main__":
    torch.set_num_threads(1)
    for draw in (roles, mirrors):
        draw(Path(sys.argv[1]))
