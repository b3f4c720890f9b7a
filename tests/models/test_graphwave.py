"""GraphWave against the dense exponential of the Laplacian."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import expm

import netfold as nf
import zoo


def naive(a: np.ndarray, dim: int, scale: float) -> np.ndarray:
    """(1/n) Σ_m exp(i t ψ_im) of rows of exp(-s L), without what has not left i yet: e^-s at i."""
    n, d = len(a), a.sum(axis=1)
    roots = np.where(d > 0, 1 / np.sqrt(np.where(d > 0, d, 1)), 0)
    normalized = roots[:, None] * a * roots
    columns = []
    for s in (scale / 2, scale):
        heat = np.exp(-s) * (expm(s * normalized) - np.eye(n))
        for k in range(1, dim // 4 + 1):
            t = k * n / 3 / (dim // 4)
            wave = np.array([np.mean([np.exp(1j * t * heat[i, m]) for m in range(n)]) for i in range(n)])
            columns += [wave.real, wave.imag]
    return np.array(columns).T


@pytest.mark.parametrize("graph", [zoo.karate, zoo.weighted, zoo.directed, zoo.scattered])
@pytest.mark.parametrize("scale", [0.5, 2.0, 20.0])
def test_vectors_are_those_of_the_dense_exponential(graph, scale):
    g = graph()
    a = g.adjacency.toarray().astype(np.float64)
    a = a + a.T if g.directed else a
    model = nf.GraphWave(dim=12, scale=scale).fit(g, progress=False)
    np.testing.assert_allclose(model.embedding_.vectors, naive(a, 12, scale), atol=2e-5)


def test_rows_in_chunks_are_the_same(monkeypatch):
    graph = zoo.weighted()
    once = nf.GraphWave(dim=8).fit(graph, progress=False).embedding_.vectors
    monkeypatch.setattr("netfold.models.graphwave._NUMBERS", 10 * graph.n_nodes)
    np.testing.assert_allclose(nf.GraphWave(dim=8).fit(graph, progress=False).embedding_.vectors, once, atol=1e-6)


def test_a_width_that_two_times_cannot_share_is_refused():
    with pytest.raises(nf.InputError, match="dim=6 is not a multiple of 4"):
        nf.GraphWave(dim=6).fit(zoo.karate(), progress=False)


@pytest.mark.parametrize(("name", "value"), [("col", 34), ("col", -1), ("crow", -5)])
def test_a_graph_from_a_hostile_file_is_refused_and_not_followed(name, value, tmp_path):
    graph = zoo.karate()
    model = nf.GraphWave(dim=4).fit(graph, progress=False)
    model.network_.get_buffer(name)[3] = value
    model.save(tmp_path / "m.netfold")
    with pytest.raises(nf.InputError, match="is damaged"):
        nf.load(tmp_path / "m.netfold").transform(zoo.grown(graph, 1))


def test_like_surroundings_get_like_vectors():
    vectors = nf.GraphWave().fit(nf.datasets.barbell(clique=4, path=3), progress=False).embedding_.vectors
    np.testing.assert_allclose(vectors[0], vectors[-1], atol=1e-5)
    assert np.abs(vectors[0] - vectors[5]).max() > 0.01
