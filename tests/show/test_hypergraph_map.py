"""The map of a hypergraph: a colour for each type, and a faint dot in the middle of each hyperedge."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import netfold as nf
from netfold import plot
from netfold.show.plot import _some, centroids, project


def triples() -> nf.Hypergraph:
    """Nodes labelled (type, label), as a file has them, and pairs of users beside the triples."""
    nodes = [*(("user", i) for i in range(4)), *(("film", i) for i in range(3)), *(("tag", x) for x in "ab")]
    rows = np.array([[u, 4 + f, 7 + t] for u, f, t in product(range(4), range(3), range(2)) if (u + f) % 2 == t])
    kinds = [
        (("user", "film", "tag"), ("user", "film", "tag"), rows),
        (("user", "user_2"), ("user", "user"), np.array([[0, 1], [2, 3]])),
    ]
    return nf.Hypergraph.from_kinds(kinds, nodes=nodes)


def model() -> nf.DHNE:
    return nf.DHNE(dim=4, epochs=2, batch_size=8).fit(triples(), progress=False)


def texts(figure: Any) -> list[str]:
    return [text.get_text() for text in figure.axes[0].texts]


def legend(figure: Any) -> list[str]:
    found = figure.axes[0].get_legend()
    return [] if found is None else [text.get_text() for text in found.get_texts()]


def dots(figure: Any) -> list[Any]:
    return [c for c in figure.axes[0].collections if type(c).__name__ == "PathCollection"]


def lines(figure: Any) -> list[Any]:
    return [c for c in figure.axes[0].collections if type(c).__name__ == "LineCollection"]


def test_nodes_are_coloured_by_type_and_named_without_it() -> None:
    figure = plot.map(model(), hypergraph=triples(), names=[("user", 3), ("tag", "a")])
    assert sorted(legend(figure)) == ["film", "tag", "user"]
    assert set(texts(figure)) == {"3", "a"}
    colors = dots(figure)[-1].get_facecolors()
    assert len(np.unique(colors[:4], axis=0)) == len(np.unique(colors[4:7], axis=0)) == 1
    assert len(np.unique(colors, axis=0)) == 3


def test_the_types_of_a_model_are_known_without_its_hypergraph() -> None:
    assert plot.by_type(model()) == plot.by_type(triples()) == {x: x[0] for x in triples().nodes}
    figure = plot.map(model())
    assert sorted(legend(figure)) == ["film", "tag", "user"] and len(dots(figure)) == 1 and not lines(figure)
    with pytest.raises(nf.InputError, match="an SDNE have no types"):
        plot.by_type(nf.SDNE())


def test_other_colours_can_be_given_and_one_type_needs_none() -> None:
    fitted = model()
    figure = plot.map(fitted, hypergraph=triples(), colors=dict.fromkeys(triples().nodes, "all"), names=1)
    assert legend(figure) == [] and texts(figure)[0].startswith("('")
    alike = nf.Hypergraph.from_tuples([("a", "b", "c"), ("c", "d", "a")])
    assert legend(plot.map(nf.DHNE(dim=2, epochs=1).fit(alike, progress=False), hypergraph=alike)) == []


def test_a_dot_is_the_mean_of_its_nodes_and_lines_go_to_them() -> None:
    fitted = model()
    points, _ = project(fitted.embedding_.vectors)
    found = centroids(points, fitted.embedding_, triples())
    for kind, (corners, middle) in zip(triples().kinds, found, strict=True):
        for row, nodes, mean in zip(kind.rows.tolist(), corners, middle, strict=True):
            assert np.allclose(mean, sum(points[i] for i in row) / len(row))
            assert np.allclose(nodes, points[row])
    figure = plot.map(fitted, hypergraph=triples())
    drawn = np.concatenate([c.get_offsets() for c in dots(figure)[:-1]])
    assert np.allclose(drawn, np.concatenate([middle for _, middle in found]))
    assert sum(len(c.get_segments()) for c in lines(figure)) == sum(kind.rows.size for kind in triples().kinds)


def test_under_pca_the_mean_of_the_points_is_the_point_of_the_mean() -> None:
    vectors = np.random.default_rng(0).normal(size=(9, 4))
    points, _ = project(vectors)
    turned = np.linalg.lstsq(vectors - vectors.mean(axis=0), points, rcond=None)[0]
    ((_, middle), _) = centroids(points, nf.Embedding(triples().nodes, vectors), triples())
    means = vectors[triples().kinds[0].rows].mean(axis=1)
    assert np.allclose(middle, (means - vectors.mean(axis=0)) @ turned, atol=1e-5)


def test_hyperedges_with_a_node_that_is_not_drawn_are_left_out() -> None:
    some = model().embedding_.take([x for x in triples().nodes if x != ("user", 3)])
    ((corners, _), (pairs, _)) = centroids(project(some.vectors)[0], some, triples())
    assert len(corners) == sum(3 not in row for row in triples().kinds[0].rows.tolist()) and len(pairs) == 1
    assert plot.map(some, hypergraph=triples())


def test_of_very_many_some_are_drawn_and_without_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("netfold.show.plot._SPOKES", 3)
    monkeypatch.setattr("netfold.show.plot._MOST", 6)
    figure = plot.map(model(), hypergraph=triples())
    assert not lines(figure) and sum(len(c.get_offsets()) for c in dots(figure)[:-1]) <= 7
    picked = _some(100, 200)
    assert len(picked) == 3 == len(set(picked.tolist()))


def test_what_is_no_hypergraph_is_refused(tmp_path: Path) -> None:
    with pytest.raises(nf.InputError, match="give a Hypergraph, or edges as graph="):
        plot.map(model(), tmp_path / "m.png", hypergraph=[("a", "b")])  # type: ignore[arg-type]
    assert not list(tmp_path.iterdir())


def test_the_picture_is_written(tmp_path: Path) -> None:
    plot.map(model(), tmp_path / "m.svg", hypergraph=triples(), method="tsne")
    assert "<svg" in (tmp_path / "m.svg").read_text()
