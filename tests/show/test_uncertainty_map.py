"""What people see of a Gaussian: its width as a number, its ellipse on a map, both beside the nearest nodes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result

import netfold as nf
from netfold import plot
from netfold.cli import main
from netfold.data import gaussians
from netfold.errors import InputError
from netfold.show.plot.projection import _MOST, _some, half_axes, principal_axes


def cloud(n: int = 12, dim: int = 5, seed: int = 0) -> nf.Embedding:
    rng = np.random.default_rng(seed)
    return nf.Embedding([f"n{i}" for i in range(n)], rng.normal(size=(n, dim)), rng.random((n, dim)) + 0.2)


def points(n: int = 12) -> nf.Embedding:
    return nf.Embedding(cloud(n).nodes, cloud(n).vectors)


# -------------------------------------------------------------------- a number


@pytest.mark.parametrize("largest", [1, 3, 5, 10])
def test_uncertainty_is_the_mean_of_the_largest_variances(largest: int) -> None:
    embedding = cloud()
    assert embedding.std is not None
    expected = []
    for row in embedding.std.astype(np.float64):
        best = sorted((x * x for x in row), reverse=True)[:largest]
        expected.append(sum(best) / len(best))
    assert np.allclose(embedding.uncertainty(embedding.nodes, largest), expected, rtol=1e-12)
    assert np.allclose(embedding.uncertainty(["n7", "n2"], largest), [expected[7], expected[2]], rtol=1e-12)
    assert embedding.uncertainty("n7", largest) == pytest.approx(expected[7], rel=1e-12)
    assert isinstance(embedding.uncertainty("n7"), float)


def test_labels_may_be_tuples_and_blocks_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    embedding = nf.Embedding([("a", 1), ("b", 2)], [[0, 0], [0, 0]], [[1, 2], [3, 1]])
    assert embedding.uncertainty(("b", 2), largest=1) == 9
    whole = gaussians.widths(cloud(50).std, 3)  # type: ignore[arg-type]
    monkeypatch.setattr(gaussians, "_BLOCK", 13)
    assert np.array_equal(gaussians.widths(cloud(50).std, 3), whole)  # type: ignore[arg-type]
    assert gaussians.widths(np.empty((0, 4)), 2).shape == (0,)


@pytest.mark.parametrize("largest", [0, -1, 1.5, True, "3", None])
def test_how_many_variances_is_a_whole_number(largest: Any) -> None:
    with pytest.raises(InputError, match="is not a whole number of at least 1"):
        cloud().uncertainty("n0", largest)


def test_points_have_no_uncertainty_and_strangers_none() -> None:
    with pytest.raises(InputError, match="has no std; uncertainty is of Gaussians, which DVNE makes"):
        points().uncertainty("n0")
    with pytest.raises(InputError, match="no node is called 'x'"):
        cloud().uncertainty("x")


# -------------------------------------------------------------------- what it says of a node


@pytest.fixture(scope="module")
def untrained() -> tuple[nf.Graph, nf.Embedding]:
    """A graph with degrees of all kinds and two nodes without links, and DVNE before it has learned anything."""
    rng = np.random.default_rng(0)
    love = rng.pareto(1.5, 400) + 1
    u, v = rng.choice(400, (2, 3000), p=love / love.sum())
    links = np.unique(np.sort(np.stack([u, v], axis=1)[u != v], axis=1), axis=0)
    graph = nf.Graph.from_edges(links, nodes=range(402))
    return graph, nf.DVNE(epochs=0).fit(graph, progress=False).embedding_


def test_variance_falls_with_the_degree_before_anything_is_learned(untrained: tuple[nf.Graph, nf.Embedding]) -> None:
    """docs/dvne.md: rows of P are means over neighbors, and means of many are short; so are those of plain vectors."""
    graph, embedding = untrained
    assert nf.evaluate.uncertainty(embedding, graph).figures["Spearman"] < -0.9


def test_nodes_without_links_are_as_wide_as_the_widest(untrained: tuple[nf.Graph, nf.Embedding]) -> None:
    """An empty row is where a row of very many links is, and would look certain: docs/dvne.md."""
    graph, embedding = untrained
    widths = np.asarray(embedding.uncertainty(list(range(402))))
    linked = widths[:400][graph.degrees[:400] > 0]
    assert widths[400:] == pytest.approx(linked.max(), rel=1e-5)


# -------------------------------------------------------------------- an ellipse


def test_the_covariance_in_a_plane_against_the_loop() -> None:
    embedding, rng = cloud(), np.random.default_rng(1)
    plane = np.linalg.qr(rng.normal(size=(5, 2)))[0]
    assert embedding.std is not None
    for std, made in zip(embedding.std.astype(np.float64), gaussians.projected(embedding.std, plane), strict=True):
        for a in range(2):
            for b in range(2):
                assert made[a, b] == pytest.approx(sum(plane[k, a] * std[k] ** 2 * plane[k, b] for k in range(5)))


def test_samples_of_a_gaussian_have_the_covariance_of_its_ellipse() -> None:
    rng, std = np.random.default_rng(2), np.array([[2.0, 0.5, 1.0]])
    plane = np.linalg.qr(rng.normal(size=(3, 2)))[0]
    samples = (rng.normal(size=(200_000, 3)) * std) @ plane
    assert np.allclose(np.cov(samples.T), gaussians.projected(std, plane)[0], atol=0.03)


def test_half_axes_and_angle_give_the_covariance_back() -> None:
    rng = np.random.default_rng(3)
    roots = rng.normal(size=(40, 2, 2))
    covariances = np.concatenate([roots @ roots.transpose(0, 2, 1), [np.diag([4.0, 9.0]), np.eye(2)]])
    lengths, angles = half_axes(covariances)
    assert (lengths[:, 0] >= lengths[:, 1]).all() and (angles >= 0).all() and (angles <= 180).all()
    for covariance, (long, short), angle in zip(covariances, lengths, np.radians(angles), strict=True):
        turned = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
        assert np.allclose(turned @ np.diag([long**2, short**2]) @ turned.T, covariance)


def test_the_axes_are_those_of_the_map() -> None:
    x = cloud(20, 6).vectors.astype(np.float64)
    assert np.allclose((x - x.mean(axis=0)) @ principal_axes(x), plot.project(x)[0])
    assert np.allclose(principal_axes(x).T @ principal_axes(x), np.eye(2))
    assert principal_axes(x[:, :1]).tolist() == [[1, 0]]


def ellipses(figure: Any) -> Any:
    found = [c for c in figure.axes[0].collections if type(c).__name__ == "EllipseCollection"]
    return found[0] if found else None


def test_each_node_has_its_ellipse_around_its_mean() -> None:
    embedding = cloud()
    figure = plot.map(embedding, uncertainty=2, colors=["odd", "even"] * 6)
    drawn, x = ellipses(figure), embedding.vectors.astype(np.float64)
    assert embedding.std is not None
    assert np.allclose(drawn.get_offsets(), plot.project(x)[0])
    lengths, angles = half_axes(gaussians.projected(embedding.std, principal_axes(x)))
    assert np.allclose(drawn.get_widths(), 4 * lengths[:, 0]) and np.allclose(drawn.get_heights(), 4 * lengths[:, 1])
    assert np.allclose(drawn.get_angles() % 360, angles)
    assert len(np.unique(drawn.get_facecolors()[:, :3], axis=0)) == 2
    assert figure.axes[0].get_title(loc="left").endswith(", ellipses of 2 standard deviations")
    assert ellipses(plot.map(embedding)) is None


def test_a_circle_of_one_deviation_is_one_deviation_wide_in_the_picture(tmp_path: Path) -> None:
    """Two far points, one wide circle between them: where its rim is, in the pixels of the picture."""
    std = np.full((3, 2), 1e-3)
    std[1] = 1.0
    embedding = nf.Embedding("abc", [[-5, 0], [0, 0], [5, 0]], std)
    figure = plot.map(embedding, tmp_path / "m.png", names=0, uncertainty=1, title="")
    figure.canvas.draw()
    axes, pixels = figure.axes[0], np.asarray(figure.canvas.buffer_rgba())[::-1, :, :3].astype(int)
    row = pixels[round(axes.transData.transform((0, 0.5))[1])]
    coloured = np.flatnonzero(np.abs(row - 255).sum(axis=1) > 0)
    coloured = coloured[coloured > axes.get_window_extent().x0 + 3]
    half = np.sqrt(1 - 0.5**2)
    expected = [axes.transData.transform((x, 0.5))[0] for x in (-half, half)]
    assert np.allclose([coloured[0], coloured[-1]], expected, atol=2.5)


def test_all_of_a_wide_ellipse_is_in_the_picture() -> None:
    embedding = nf.Embedding("abc", [[-5, 0], [0, 1], [5, 0]], [[1, 1], [1, 9], [1, 1]])
    axes = plot.map(embedding, uncertainty=1).axes[0]
    low, high = axes.get_ylim()
    assert low < 1 - 9 - 1 / 3 and high > 1 + 9 - 1 / 3


def test_of_many_nodes_the_named_and_some_others_have_ellipses() -> None:
    many = cloud(_MOST + 50, 3)
    named = [f"n{_MOST + i}" for i in range(3)]
    drawn = ellipses(plot.map(many, uncertainty=0.1, names=named))
    assert len(drawn.get_offsets()) == _MOST
    rows = _some(len(many), [_MOST, _MOST + 1, _MOST + 2])
    assert {_MOST, _MOST + 1, _MOST + 2} <= set(rows.tolist()) and len(set(rows.tolist())) == _MOST
    assert np.array_equal(_some(_MOST, []), np.arange(_MOST))
    assert len(_some(2 * _MOST, list(range(_MOST + 9)))) == _MOST


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"uncertainty": -1}, "uncertainty=-1 is not a number of standard deviations; give 1, or 0"),
        ({"uncertainty": True}, "uncertainty=True is not a number"),
        ({"uncertainty": np.nan}, "uncertainty=nan is not a number"),
        ({"uncertainty": "1"}, "uncertainty='1' is not a number"),
        ({"uncertainty": 1, "method": "tsne"}, "ellipses need method='pca'"),
        ({"uncertainty": 1, "model": points()}, "has no std to draw; ellipses are of Gaussians"),
    ],
)
def test_what_cannot_be_drawn_is_refused_before_anything_is_written(
    given: dict[str, Any], message: str, tmp_path: Path
) -> None:
    with pytest.raises(InputError, match=message):
        plot.map(**({"model": cloud(), "path": tmp_path / "m.png"} | given))
    assert not list(tmp_path.iterdir())


def test_no_deviations_are_no_ellipses_and_one_dimension_has_flat_ones() -> None:
    assert ellipses(plot.map(points(), uncertainty=0, method="tsne")) is None
    flat = nf.Embedding("ab", [[0], [1]], [[2], [3]])
    assert ellipses(plot.map(flat, uncertainty=1)).get_heights().tolist() == [0, 0]


# -------------------------------------------------------------------- the command line


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    cloud().save("gaussians.npz")
    points().save("points.npz")


def netfold(*args: object) -> Result:
    return CliRunner().invoke(main, [str(a) for a in args])


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize("metric", [None, "cosine"])
def test_nearest_has_the_uncertainty_of_both(metric: str | None) -> None:
    embedding, flag = cloud(), [] if metric is None else ["--metric", metric]
    every = np.sort(embedding.uncertainty(embedding.nodes))
    facts = json.loads(netfold("nearest", "gaussians.npz", "n3", "-k", 3, "--json", *flag).stdout)
    expected = embedding.nearest("n3", k=3, metric=metric)
    assert [(x["node"], x["score"]) for x in facts["nearest"]] == expected
    for row in [facts, *facts["nearest"]]:
        assert row["uncertainty"] == embedding.uncertainty(row["node"])
        assert row["less_uncertain"] == sum(x < row["uncertainty"] for x in every) / 12
    head, own, *others = netfold("nearest", "gaussians.npz", "n3", "-k", 3, *flag).stdout.splitlines()
    assert head.split() == [metric or "distance", "uncertainty", "more", "than", "node"]
    assert own.split() == [f"{facts['uncertainty']:.4f}", f"{facts['less_uncertain']:.0%}", "n3"]
    for line, (label, score) in zip(others, expected, strict=True):
        assert line.split()[0] == f"{score:.4f}" and line.split()[-1] == label
        assert line.index(label) == own.index("n3") == head.index("node")


@pytest.mark.usefixtures("here")
def test_nearest_of_points_is_as_it_was() -> None:
    lines = netfold("nearest", "points.npz", "n3", "-k", 2).stdout.splitlines()
    assert [line.split() for line in lines] == [[f"{s:.4f}", x] for x, s in points().nearest("n3", k=2)]
    assert set(json.loads(netfold("nearest", "points.npz", "n3", "--json").stdout)["nearest"][0]) == {"node", "score"}


@pytest.mark.usefixtures("here")
def test_the_command_draws_ellipses_or_says_why_not() -> None:
    assert netfold("map", "gaussians.npz", "-o", "m.svg", "--uncertainty", 1).exit_code == 0
    plain = netfold("map", "gaussians.npz", "-o", "plain.svg")
    assert plain.exit_code == 0 and len(Path("plain.svg").read_bytes()) < len(Path("m.svg").read_bytes())
    for args, said in (
        (["points.npz", "--uncertainty", 1], "has no std"),
        (["gaussians.npz", "--uncertainty", 1, "--method", "tsne"], "method='pca'"),
        (["gaussians.npz", "--uncertainty", -1], "--uncertainty"),
    ):
        result = netfold("map", *args, "-o", "no.png")
        assert result.exit_code == 2 and said in result.stderr and not Path("no.png").exists()
