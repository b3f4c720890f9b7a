"""Where a report puts the nodes: the projection, its 16 bits, the ellipses of Gaussians."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np
import pytest

from netfold import plot
from netfold.data.embedding import Embedding
from netfold.errors import InputError
from netfold.show.plot.projection import principal_directions
from netfold.show.report.document import Blocks
from netfold.show.report.points import placed
from report_pages import gaussians, in_page, points, rng


def test_leading_directions_are_those_of_a_singular_value_decomposition(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("netfold.show.plot.projection._BLOCK", 40)
    x = rng().normal(size=(50, 6)) * [9, 5, 3, 2, 1, 1] + 4
    for centred in (True, False):
        found = principal_directions(x, 3, centred=centred)
        moved = x - x.mean(axis=0) if centred else x
        _, s, vt = np.linalg.svd(moved)
        np.testing.assert_allclose(np.abs(found.axes.T @ vt[:3].T), np.eye(3), atol=1e-9)
        np.testing.assert_allclose(found.shares, (s**2 / (s**2).sum())[:3])
        np.testing.assert_allclose(found.of(x), moved @ found.axes)


def test_pca_is_that_of_the_picture() -> None:
    embedding = points(40)
    found = placed(embedding, "pca")
    np.testing.assert_allclose(found.at, plot.project(embedding.vectors, "pca")[0], atol=1e-6)
    assert "of the variance" in found.method and found.ellipses is None
    assert placed(Embedding("ab", [[1], [3]]), "pca").at.tolist() == [[-1, 0], [1, 0]]


def test_places_have_16_bits_and_one_scale(tmp_path: Path) -> None:
    embedding, blocks = points(200), Blocks()
    found = placed(embedding, "pca")
    packed = found.packed(blocks)
    parts = in_page(blocks, packed["xy"]).reshape(-1, 2) / 65535
    span = (found.at.max(axis=0) - found.at.min(axis=0)).max()
    assert parts.min() >= 0 and parts.max() == 1
    for i in range(0, 200, 7):
        for j in range(0, 200, 11):
            assert np.linalg.norm(parts[i] - parts[j]) * span == pytest.approx(
                float(np.linalg.norm(found.at[i] - found.at[j])), abs=2 * span / 65535
            )


def test_a_few_far_off_do_not_make_the_map_small() -> None:
    vectors = rng().normal(size=(1000, 2))
    vectors[0] = [400, 0]
    left, bottom, right, top = placed(Embedding(range(1000), vectors), "pca").packed(Blocks())["home"]
    assert right - left < 0.05 and top - bottom < 0.05
    alike = placed(Embedding("ab", [[1, 1], [1, 1]]), "pca").packed(Blocks())
    assert np.isfinite(alike["home"]).all()


def test_ellipses_are_the_gaussians_own(tmp_path: Path) -> None:
    embedding, blocks = gaussians(), Blocks()
    found = placed(embedding)
    assert found.exact and found.ellipses is not None
    plane = principal_directions(embedding.vectors, 2).axes
    for i in range(len(embedding)):
        seen = plane.T @ np.diag(embedding.std[i].astype(float) ** 2) @ plane  # type: ignore[index]
        long, short, angle = found.ellipses[i]
        along = np.array([np.cos(angle), np.sin(angle)])
        np.testing.assert_allclose(sorted([short**2, long**2]), np.linalg.eigvalsh(seen), rtol=1e-6)
        np.testing.assert_allclose(seen @ along, long**2 * along, rtol=1e-5, atol=1e-6)
    packed = found.packed(blocks)["ellipses"]
    parts = in_page(blocks, packed["parts"]).reshape(-1, 3) / 255
    span = (found.at.max(axis=0) - found.at.min(axis=0)).max()
    np.testing.assert_allclose(parts[:, :2] ** 2 * packed["most"] * span, found.ellipses[:, :2], rtol=0.02)
    assert 0.01 <= packed["drawn"] <= 1


def test_discs_where_the_map_is_bent() -> None:
    embedding = gaussians()
    found = placed(embedding, "tsne")
    assert not found.exact and found.ellipses is not None and embedding.std is not None
    for i in range(len(embedding)):
        mean = sum(float(x) ** 2 for x in embedding.std[i]) / embedding.dim
        assert found.ellipses[i] == pytest.approx([mean**0.5, mean**0.5, 0])


def test_which_method_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    assert placed(points(40)).method.startswith("t-SNE")
    assert placed(points(3)).method.startswith("PCA")
    assert placed(gaussians()).method.startswith("PCA")
    assert placed(points(6000, 3)).method.startswith("PCA")
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    assert placed(points(400)).method.startswith("PCA")  # without the extra `viz`
    with pytest.raises(InputError, match="method='umap' is not one of auto, pca, tsne"):
        placed(points(), "umap")
