"""Spectral over several ranks: the vectors of one process, whatever the cut."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import netfold as nf
from netfold.learn import solvers
from several import on_ranks, refused, trained

N = 83
MATRICES = ("adjacency", "log", "ppmi", "normalized", "laplacian")


def save(folder: Path, parts: int) -> None:
    """A graph with weights and self-loops, a hub linked to all of 76, and seven nodes without links."""
    rng = np.random.default_rng(5)
    pairs = np.concatenate([rng.integers(0, 76, (260, 2)), np.stack([np.zeros(76, int), np.arange(76)], 1)])
    nf.Graph.from_edges(pairs, rng.random(len(pairs)) + 0.1, nodes=range(N)).save(folder, parts=parts)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    save(tmp_path / "g.parts", 6)
    return tmp_path / "g.parts"


@pytest.fixture
def graph(folder: Path) -> nf.Graph:
    """In the order of the parts."""
    return nf.Graph.load(folder)


def vectors(folder: Path, size: int, **options: Any) -> Any:
    options = {"model": "spectral", "dim": 5, "device": "cpu", **options}
    answers = on_ranks(size, trained, folder, options) if size > 1 else [trained(folder, options)]
    assert [x for answer in answers for x in answer["nodes"]] == list(nf.Graph.load(folder).nodes)
    return np.concatenate([x["vectors"] for x in answers])


def solved(folder: Path, matrix: str, wide: int, exact: int, tolerance: float) -> tuple[Any, Any]:
    """Eigenvalues and this rank's rows of the eigenvectors, in float64."""
    from netfold.cluster.exchange import RankGraph
    from netfold.cluster.network import RankColumns
    from netfold.cluster.ranks import start
    from netfold.io.parts import PartsFolder
    from netfold.models.spectral.sharded import ShardedSpectral

    solvers._EXACT = exact
    ranks = start("cpu")
    rank_graph = RankGraph(PartsFolder.open(folder, "graph"), ranks)
    model = nf.Spectral(dim=wide, matrix=matrix)
    own = model._network({"n_nodes": rank_graph.m, "directed": False})
    network = ShardedSpectral(own, rank_graph, matrix, model.regularization)
    network.rows.weighed(network._symmetric if matrix == "laplacian" else network._weighed)
    columns = RankColumns(rank_graph, lambda *of: model._generator(1, *of), network._like)
    try:
        pairs = solvers.leading_eigenpairs(
            network._product, N, wide, None, columns=columns, tolerance=tolerance, upper=matrix == "laplacian"
        )
    finally:
        solvers._EXACT = 1000
    assert pairs.converged and pairs.vectors.shape == (rank_graph.m, wide)
    return pairs.values.numpy(), pairs.vectors.numpy()


def dense(graph: nf.Graph, matrix: str) -> Any:
    """The matrix as it is printed, entry by entry, in float64; of the walk the symmetric one."""
    a = graph.adjacency.toarray().astype(np.float64)
    sums, out = a.sum(1), np.zeros_like(a)
    added = 0.1 * sums.mean()
    for i in range(len(a)):
        for j in range(len(a)):
            if a[i, j] > 0:
                out[i, j] = {
                    "adjacency": a[i, j] / a.max(),
                    "log": np.log1p(a[i, j]) / np.log1p(a.max()),
                    "ppmi": max(0, np.log(a[i, j] * sums.sum() / sums[i] / sums[j])),
                    "normalized": a[i, j] / np.sqrt((sums[i] + added) * (sums[j] + added)),
                    "laplacian": a[i, j] / np.sqrt((sums[i] + added) * (sums[j] + added)),
                }[matrix]
    return out


def check(graph: nf.Graph, folder: Path, matrix: str, size: int, exact: int) -> None:
    """Eigenvalues to 1e-12 and vectors to 1e-10 of LAPACK's over the dense matrix."""
    tolerance = 1e-12 if not exact else 1e-2
    answers = on_ranks(size, solved, folder, matrix, 4, exact, tolerance) if size > 1 else None
    answers = answers or [solved(folder, matrix, 4, exact, tolerance)]
    values, theirs = np.linalg.eigh(dense(graph, matrix))
    order = np.argsort(-(values if matrix == "laplacian" else np.abs(values)))[:4]
    own = np.concatenate([x for _, x in answers])
    np.testing.assert_allclose(answers[0][0], values[order], rtol=1e-12)
    for k, column in enumerate(order):
        assert own[np.abs(own[:, k]).argmax(), k] > 0
        np.testing.assert_allclose(own[:, k] * np.sign(own[:, k] @ theirs[:, column]), theirs[:, column], atol=1e-10)


@pytest.mark.parametrize("exact", [0, 1000])
@pytest.mark.parametrize("matrix", MATRICES)
def test_one_rank_has_the_eigenvectors_of_the_dense_matrix(
    matrix: str, exact: int, graph: nf.Graph, folder: Path
) -> None:
    check(graph, folder, matrix, 1, exact)


def test_three_ranks_have_the_eigenvectors_of_the_dense_matrix(graph: nf.Graph, folder: Path) -> None:
    check(graph, folder, "laplacian", 3, 0)


@pytest.mark.slow
@pytest.mark.parametrize("size", [2, 3, 4])
@pytest.mark.parametrize("exact", [0, 1000])
@pytest.mark.parametrize("matrix", MATRICES)
def test_several_ranks_have_the_eigenvectors_of_the_dense_matrix(
    matrix: str, exact: int, size: int, tmp_path: Path
) -> None:
    """Of two parts, ranks 3 and 4 have nothing."""
    save(tmp_path / "two.parts", 2 if size > 2 else 5)
    check(nf.Graph.load(tmp_path / "two.parts"), tmp_path / "two.parts", matrix, size, exact)


@pytest.mark.parametrize("matrix", MATRICES)
def test_vectors_are_those_of_fit(matrix: str, graph: nf.Graph, folder: Path) -> None:
    """Up to 1,000 nodes eigenvectors are exact, in one process and here."""
    alone = nf.Spectral(dim=5, matrix=matrix, device="cpu").fit(graph, progress=False)
    np.testing.assert_allclose(vectors(folder, 1, matrix=matrix), alone.embedding_.vectors, atol=2e-6)


@pytest.mark.parametrize("matrix", ["propagation", "laplacian"])
def test_vectors_do_not_depend_on_the_ranks(matrix: str, folder: Path) -> None:
    one = vectors(folder, 1, matrix=matrix)
    np.testing.assert_allclose(vectors(folder, 2, matrix=matrix), one, atol=1e-5)
    isolated = nf.Graph.load(folder).degrees == 0
    assert np.isfinite(one).all() and isolated.sum() == 7 and np.ptp(one[isolated], axis=0).max() == 0  # the mean


@pytest.mark.slow
@pytest.mark.parametrize("matrix", [*MATRICES, "propagation"])
def test_vectors_do_not_depend_on_more_ranks(matrix: str, folder: Path) -> None:
    one = vectors(folder, 1, matrix=matrix)
    for size in (2, 3, 4):
        np.testing.assert_allclose(vectors(folder, size, matrix=matrix), one, atol=1e-5)


def test_propagation_is_what_it_says(graph: nf.Graph, folder: Path) -> None:
    """Averages over a node and its neighbors, around their mean, at length 1, and white at last: dense rows."""
    model = nf.Spectral(dim=3, matrix="propagation", steps=4, device="cpu").fit(folder, progress=False)
    a = graph.adjacency.toarray().astype(np.float64)
    sums = a.sum(1)
    network = model.network_
    x = network.basis.double().numpy()
    linked, loop = sums > 0, 0.1 * sums.mean()
    rows = (a @ x + loop * x)[linked] / (sums[linked] + loop)[:, None]
    np.testing.assert_allclose(network.shift.numpy(), rows.mean(axis=0), atol=1e-6)
    rows = rows - rows.mean(axis=0)
    rows = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    moments = (rows @ network.turn.double().numpy()).T @ (rows @ network.turn.double().numpy()) / linked.sum()
    np.testing.assert_allclose(moments, np.eye(3) / 3, atol=1e-5)
    np.testing.assert_allclose(model.embedding_.vectors[linked], rows @ network.turn.double().numpy(), atol=1e-5)


def test_it_is_saved_and_goes_on(folder: Path, tmp_path: Path) -> None:
    """One process: a model as any other; a checkpoint holds what was computed, and is not computed again."""
    model = nf.Spectral(dim=5, device="cpu").fit(folder, progress=False, checkpoint=tmp_path / "ck")
    model.save(tmp_path / "m.netfold")
    loaded = nf.load(tmp_path / "m.netfold")
    np.testing.assert_array_equal(loaded.embedding_.vectors, model.embedding_.vectors)
    new = nf.Graph.from_edges([("new", 1), ("new", 2)])
    np.testing.assert_allclose(loaded.transform(new).vectors, model.transform(new).vectors)
    again = vectors(folder, 2)
    on_ranks(2, trained, folder, {"model": "spectral", "dim": 5, "device": "cpu"}, tmp_path / "ck")
    np.testing.assert_allclose(again, model.embedding_.vectors, atol=1e-5)


def test_what_is_not_spread_is_refused(folder: Path, tmp_path: Path) -> None:
    arrows = nf.Graph.from_edges([(0, 1), (1, 2), (2, 0), (3, 1)], directed=True)
    arrows.save(tmp_path / "d.parts", parts=2)
    assert nf.Spectral(dim=2).fit(tmp_path / "d.parts", progress=False).embedding_.vectors.shape == (4, 2)
    options = {"model": "spectral", "dim": 2, "device": "cpu"}
    said = on_ranks(2, refused, trained, tmp_path / "d.parts", options)
    assert all("cannot be spread over 2 ranks: of a directed graph" in x for x in said)
    said = on_ranks(2, refused, trained, folder, options | {"matrix": "prone"})
    assert all("ProNE" in x for x in said)


def test_no_rank_holds_a_whole_block(folder: Path) -> None:
    for numbers, rows, wide in on_ranks(2, largest_block, folder):
        assert numbers <= rows * wide


def largest_block(folder: Path) -> tuple[int, int, int]:
    """The most numbers of a tensor that solving makes on this rank; rows that it may have, and columns."""
    from allocations import Allocations

    solvers._EXACT = 0
    try:
        model = nf.Spectral(dim=4, device="cpu")
        with Allocations() as seen:
            model.fit(folder, progress=False)
    finally:
        solvers._EXACT = 1000
    network = model.network_
    rows = max([network._graph.m, *map(len, network.rows.needs)])
    return seen.numbers, rows, 4 + 2 * 16 + 4


def test_columns_are_orthonormal_where_they_nearly_depend() -> None:
    answers = on_ranks(3, near_columns)
    whole = torch.cat([torch.from_numpy(x) for x in answers])
    torch.testing.assert_close(whole.T @ whole, torch.eye(4, dtype=torch.float64), atol=1e-12, rtol=0)


def near_columns() -> Any:
    from types import SimpleNamespace

    from netfold.cluster.network import RankColumns
    from netfold.cluster.ranks import start

    ranks = start("cpu")
    x = torch.randn(6, 4, generator=torch.Generator().manual_seed(ranks.rank), dtype=torch.float64)
    x[:, 3] = x[:, 2] + 1e-9 * x[:, 3]
    graph: Any = SimpleNamespace(ranks=ranks, n_nodes=18, m=6)
    return RankColumns(graph, lambda *of: torch.Generator(), x).orthonormal(x).numpy()
