"""The map: what is drawn where, in which colour, and that no label stands on another."""

from __future__ import annotations

import itertools
import sys
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest

import netfold as nf
from netfold import plot
from netfold.show.plot import check_ending, project, projection


def cloud(n: int = 60, dim: int = 6, seed: int = 0) -> nf.Embedding:
    return nf.Embedding([f"node {i}" for i in range(n)], np.random.default_rng(seed).normal(size=(n, dim)))


def texts(figure: Any) -> list[str]:
    return [text.get_text() for text in figure.axes[0].texts]


def legend(figure: Any) -> list[str]:
    found = figure.axes[0].get_legend()
    return [] if found is None else [text.get_text() for text in found.get_texts()]


def dots(figure: Any) -> Any:
    return next(c for c in figure.axes[0].collections if type(c).__name__ == "PathCollection")


# -------------------------------------------------------------------- to the plane


def test_pca_is_the_svd_of_the_centred_vectors() -> None:
    x = np.random.default_rng(1).normal(size=(40, 5)) * [5, 1, 3, 1, 1]
    points, names = project(x)
    u, s, _ = np.linalg.svd(x - x.mean(axis=0), full_matrices=False)
    assert np.allclose(np.abs(points), np.abs(u[:, :2] * s[:2]))
    assert f"{s[0] ** 2 / (s**2).sum():.0%}" in names[0]


def test_pca_keeps_distances_in_the_plane_and_does_not_care_where_the_cloud_is() -> None:
    x = np.random.default_rng(2).normal(size=(9, 2))
    points, _ = project(x)
    distances = np.linalg.norm(x[:, None] - x, axis=2)
    assert np.allclose(np.linalg.norm(points[:, None] - points, axis=2), distances)
    assert np.allclose(project(x + 7)[0], points)


@pytest.mark.parametrize("scale", [1e-30, 1e30])
def test_pca_of_tiny_and_huge_numbers(scale: float) -> None:
    x = np.random.default_rng(3).normal(size=(9, 4))
    assert np.allclose(project(x * scale)[0] / scale, project(x)[0])


def test_pca_of_one_dimension_lies_on_a_line() -> None:
    points, names = project(np.array([[1.0], [2.0], [4.0]]))
    assert np.allclose(points[:, 1], 0) and np.allclose(np.abs(np.diff(points[:, 0])), [1, 2])
    assert names[1] == ""


def test_tsne_parts_clusters_and_is_the_same_every_time() -> None:
    rng = np.random.default_rng(4)
    x = np.concatenate([rng.normal(size=(20, 8)), rng.normal(size=(20, 8)) + 20])
    points, _ = project(x, "tsne")
    centres = points[:20].mean(axis=0), points[20:].mean(axis=0)
    spread = max(np.linalg.norm(points[:20] - centres[0], axis=1).max(), 1e-9)
    assert np.linalg.norm(centres[0] - centres[1]) > 2 * spread
    assert np.array_equal(project(x, "tsne")[0], points)


@pytest.mark.parametrize("places, copies, dim", [(20, 3, 4), (40, 20, 16)])
def test_tsne_of_nodes_that_coincide_keeps_together(places: int, copies: int, dim: int) -> None:
    """Few, and more than are taken exactly: begun without noise, these went 455 and 1,393 units away."""
    x = np.repeat(np.random.default_rng(8).normal(size=(places, dim)), copies, axis=0)
    points, _ = project(x, "tsne")
    groups = points.reshape(places, copies, 2)
    centres = groups.mean(axis=1, keepdims=True)
    assert np.abs(points).max() < 100
    assert np.linalg.norm(groups - centres, axis=2).max() < 0.1 * np.abs(points).max()


def test_tsne_says_how_far_it_is_and_ends_at_all_of_its_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("openTSNE")
    told: list[tuple[int, int]] = []
    monkeypatch.setattr(projection, "slow_steps", lambda what, unit: lambda *x: told.append(x))
    project(np.random.default_rng(0).normal(size=(300, 4)), "tsne")
    assert told[0] == (0, 750) and told[-1] == (750, 750) and len(told) > 20


def test_tsne_of_too_few_is_pca() -> None:
    x = np.random.default_rng(5).normal(size=(3, 4))
    assert np.array_equal(project(x, "tsne")[0], project(x)[0])


def test_an_unknown_method_is_refused() -> None:
    with pytest.raises(nf.InputError, match="pca, tsne"):
        plot.map(cloud(), method="umap")


# -------------------------------------------------------------------- files


@pytest.mark.parametrize(
    "ending, start", [("png", b"\x89PNG"), ("svg", b"<?xml"), ("pdf", b"%PDF"), ("PNG", b"\x89PNG")]
)
def test_written_in_every_format_over_what_was_there(ending: str, start: bytes, tmp_path: Path) -> None:
    path = tmp_path / f"map.{ending}"
    path.write_text("old")
    plot.map(cloud(), path)
    assert path.read_bytes().startswith(start)
    assert [p.name for p in tmp_path.iterdir()] == [path.name]


def test_the_picture_is_1200_by_900(tmp_path: Path) -> None:
    plot.map(cloud(), tmp_path / "map.png")
    header = (tmp_path / "map.png").read_bytes()[16:24]
    assert [int.from_bytes(header[:4]), int.from_bytes(header[4:])] == [1200, 900]


def test_the_same_picture_every_time(tmp_path: Path) -> None:
    for name in ("a.png", "b.png"):
        plot.map(cloud(), tmp_path / name)
    assert (tmp_path / "a.png").read_bytes() == (tmp_path / "b.png").read_bytes()


@pytest.mark.parametrize("name", ["map.gif", "map", "map.png.txt"])
def test_an_unknown_ending_is_refused_before_drawing(name: str, tmp_path: Path) -> None:
    with pytest.raises(nf.InputError, match=r"\.png"):
        check_ending(tmp_path / name)
    with pytest.raises(nf.InputError, match=r"\.png"):
        plot.map(None, tmp_path / name)


def test_a_missing_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(nf.InputError, match="make it first"):
        plot.map(cloud(), tmp_path / "no" / "map.png")


@pytest.mark.parametrize("name", ["matplotlib", "openTSNE"])
def test_a_missing_library_is_named_with_its_extra(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for loaded in [m for m in sys.modules if m.split(".")[0] == name] + [name]:
        monkeypatch.setitem(sys.modules, loaded, None)
    with pytest.raises(nf.InputError, match=rf"{name} is missing.*netfold\[viz\]"):
        plot.map(cloud(300), method="tsne")  # fewer are taken exactly, which needs no openTSNE


def test_pyplot_is_left_alone() -> None:
    sys.modules.pop("matplotlib.pyplot", None)
    plot.map(cloud())
    assert "matplotlib.pyplot" not in sys.modules


def test_what_has_no_vectors_is_refused() -> None:
    with pytest.raises(nf.InputError, match="no vectors"):
        plot.map(nf.SDNE())
    with pytest.raises(nf.InputError, match="no vectors"):
        plot.map(nf.Embedding([], np.zeros((0, 3))))


# -------------------------------------------------------------------- labels


def test_the_longest_vectors_are_named_and_with_a_graph_the_best_connected() -> None:
    embedding = nf.Embedding(["a", "b", "c", "d"], [[0, 1], [9, 0], [0, 5], [1, 1]])
    assert texts(plot.map(embedding, names=2)) == ["b", "c"]
    star = nf.Graph.from_edges([("d", "a"), ("d", "b"), ("d", "c"), ("d", "elsewhere"), ("a", "b")])
    assert texts(plot.map(embedding, names=1, graph=star)) == ["d"]
    assert texts(plot.map(embedding, names=0)) == []
    assert sorted(texts(plot.map(embedding, names=99))) == ["a", "b", "c", "d"]
    assert texts(plot.map(embedding, names=["c", "a"])) == ["c", "a"]
    with pytest.raises(nf.InputError, match="no node"):
        plot.map(embedding, names=["zz"])
    with pytest.raises(nf.InputError, match="map: labels is now called names"):
        plot.map(embedding, labels=2)  # type: ignore[call-arg]


@pytest.mark.parametrize("n, named", [(60, 60), (800, 150)])
def test_no_label_stands_on_another_or_outside(n: int, named: int) -> None:
    figure = plot.map(cloud(n, 2), names=named)
    boxes = [text.get_window_extent() for text in figure.axes[0].texts]
    frame = figure.axes[0].get_window_extent()
    assert len(boxes) > 20
    for a, b in itertools.combinations(boxes, 2):
        assert a.x1 <= b.x0 or b.x1 <= a.x0 or a.y1 <= b.y0 or b.y1 <= a.y0
    assert all(frame.x0 <= b.x0 and b.x1 <= frame.x1 and frame.y0 <= b.y0 and b.y1 <= frame.y1 for b in boxes)


def test_labels_stay_where_they_were_placed_when_the_picture_is_written(tmp_path: Path) -> None:
    figure = plot.map(cloud(), tmp_path / "map.png", colors=[i % 3 for i in range(60)])
    before = [text.get_window_extent().bounds for text in figure.axes[0].texts]
    figure.canvas.draw()
    assert np.allclose([text.get_window_extent().bounds for text in figure.axes[0].texts], before)


def test_odd_labels_are_drawn_as_they_are(tmp_path: Path) -> None:
    labels = ["Müller", "日本語", "Ελλάδα", "Достоевский", "$x^2$", r"\alpha", "_hidden", "two\nlines", "x" * 99, ""]
    embedding = nf.Embedding(labels, np.random.default_rng(0).normal(size=(10, 3)))
    figure = plot.map(embedding, tmp_path / "map.png", colors=labels, names=10, title="50% of $ \\ _")
    assert {*labels[:7], "two lines"} <= set(texts(figure))
    assert any(x.endswith("…") and len(x) == 28 for x in texts(figure))
    assert "_hidden" in legend(figure) or "others" in legend(figure)


# -------------------------------------------------------------------- colours


def test_colors_by_label_or_in_order() -> None:
    embedding = nf.Embedding(["a", "b", "c"], [[1, 0], [0, 1], [1, 1]])
    by_label = plot.map(embedding, colors={"a": "red wine", "b": "beer", "c": "beer"})
    in_order = plot.map(embedding, colors=["red wine", "beer", "beer"])
    assert legend(by_label) == legend(in_order) == ["beer", "red wine"]
    colors = dots(by_label).get_facecolors()
    assert np.array_equal(colors, dots(in_order).get_facecolors())
    assert np.array_equal(colors[1], colors[2]) and not np.array_equal(colors[0], colors[1])


def test_more_kinds_than_colours_and_nodes_of_no_kind_are_others() -> None:
    kinds = [i % 11 for i in range(59)] + [None]
    figure = plot.map(cloud(), colors=kinds)
    assert len(legend(figure)) == 8 and legend(figure)[-1] == "others"
    assert legend(plot.map(cloud(), colors={"node 3": "x"})) == ["x", "others"]


def test_one_kind_needs_no_legend() -> None:
    assert legend(plot.map(cloud())) == legend(plot.map(cloud(), colors=["x"] * 60)) == []


def test_colors_that_do_not_fit_are_refused() -> None:
    with pytest.raises(nf.InputError, match="2 colors do not fit 60 nodes"):
        plot.map(cloud(), colors=["x", "y"])


# -------------------------------------------------------------------- edges, sizes


def test_edges_are_drawn_once_and_loops_not() -> None:
    embedding = nf.Embedding(["a", "b", "c"], [[1, 0], [0, 1], [1, 1]])
    graph = nf.Graph.from_edges([("a", "b", 1), ("b", "c", 9), ("c", "c", 1), ("c", "new", 1)])
    lines = plot.map(embedding, graph=graph).axes[0].collections[0]
    assert len(lines.get_segments()) == 2
    assert max(lines.get_linewidths()) > min(lines.get_linewidths())


@pytest.mark.parametrize(
    ("graph", "lines"),
    [(nx.DiGraph([("a", "b"), ("b", "a")]), 2), (nx.DiGraph([("b", "a")]), 1), (nx.Graph([("x", "y")]), 0)],
)
def test_directed_and_foreign_graphs(graph: Any, lines: int) -> None:
    figure = plot.map(nf.Embedding(["a", "b"], [[1, 0], [0, 1]]), graph=graph)
    drawn = [len(x.get_segments()) for x in figure.axes[0].collections if hasattr(x, "get_segments")]
    assert sum(drawn) == lines
    assert len(dots(figure).get_offsets()) == 2


SIZES = [(1, 1), (1, 3), (2, 1), (2, 128), (3, 2), (5, 1)]


@pytest.mark.parametrize("n, dim, method", [(*size, m) for size in SIZES for m in ("pca", "tsne")] + [(5000, 8, "pca")])
def test_any_size(n: int, dim: int, method: str, tmp_path: Path) -> None:
    figure = plot.map(cloud(n, dim), tmp_path / "map.png", method=method)
    assert len(dots(figure).get_offsets()) == n
    assert dots(figure).get_rasterized() is (n > 2000)


@pytest.mark.parametrize("method", ["pca", "tsne"])
def test_nodes_in_one_place(method: str) -> None:
    assert sorted(texts(plot.map(nf.Embedding("abcde", np.ones((5, 4))), method=method))) == list("abcde")


def test_a_model_is_called_by_its_name() -> None:
    model = nf.SDNE(dim=2, hidden=(4,), epochs=1).fit(nx.path_graph(5), progress=False)
    assert plot.map(model).axes[0].get_title(loc="left") == "SDNE of 5 nodes in 2 dimensions"
    assert plot.map(model, title="Mine").axes[0].get_title(loc="left") == "Mine"


def test_a_few_points_far_off_do_not_press_the_others_into_a_heap() -> None:
    near, far = cloud(200, 2).vectors, np.float32([[400, 0], [0, 900]])
    names = [f"n{i}" for i in range(202)]
    figure = plot.map(nf.Embedding(names, np.concatenate([near, far])), names=202)
    axes = figure.axes[0]
    assert "2 nodes far off, outside the picture" in axes.get_xlabel()
    assert not {"n200", "n201"} & set(texts(figure)) and len(texts(figure)) > 5
    (left, right), (bottom, top), box = axes.get_xlim(), axes.get_ylim(), axes.get_window_extent()
    assert max(right - left, top - bottom) < 40
    assert (right - left) / box.width == pytest.approx((top - bottom) / box.height), "a distance is the same each way"
    assert "outside" not in plot.map(nf.Embedding(names[:200], near)).axes[0].get_xlabel()
    assert (
        "outside" not in plot.map(nf.Embedding(names, np.concatenate([near, far])), names=["n200"]).axes[0].get_xlabel()
    )
