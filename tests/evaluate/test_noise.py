"""Noise among the edges: what is added, what each fit sees of it, and how far figures decline."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import sparse

from gaussian_graphs import gaussians, two_blocks
from netfold.data.edges import edge_pairs
from netfold.data.embedding import Embedding
from netfold.data.graph import Graph
from netfold.errors import InputError
from netfold.evaluate import noise_robustness, sample_negatives, split_edges
from netfold.evaluate.link_tasks import with_noise


@pytest.mark.parametrize("directed", [False, True])
def test_noise_is_added_with_weights_of_the_graph(directed: bool) -> None:
    rng = np.random.default_rng(0)
    dense = np.where(rng.random((12, 12)) < 0.2, rng.integers(2, 9, (12, 12)), 0).astype(float)
    dense = dense if directed else np.triu(dense) + np.triu(dense, 1).T
    graph = Graph.from_scipy(sparse.csr_array(dense), directed=directed)
    pairs = sample_negatives(graph, 20).pairs
    made = with_noise(graph, pairs).adjacency.toarray()
    added = {*map(tuple, pairs.tolist())} | (set() if directed else {*map(tuple, pairs[:, ::-1].tolist())})
    for i in range(12):
        for j in range(12):
            assert (made[i, j] in dense[dense > 0]) if (i, j) in added else made[i, j] == dense[i, j]
    assert graph.adjacency.toarray().tolist() == dense.tolist()


def test_each_fit_sees_the_training_graph_and_so_much_noise() -> None:
    graph, group = two_blocks()
    seen = list[Graph]()

    def fit(train: Graph) -> Embedding:
        seen.append(train)
        return Embedding(train.nodes, np.eye(2)[group])

    found = noise_robustness(fit, graph, fractions=(0.05, 0.5), held_out=0.25, seed=3)
    split = split_edges(graph, 0.25, seed=3)
    edges, test = ({*map(tuple, x.tolist())} for x in (edge_pairs(graph), split.test))
    parts = [{*map(tuple, edge_pairs(x).tolist())} for x in seen]
    assert parts[0] == edges - test
    for part, share in zip(parts[1:], (0.05, 0.5), strict=True):
        noise = part - parts[0]
        assert parts[0] <= part
        assert len(noise) == round(share * len(parts[0]))
        assert not noise & edges
    assert parts[1] < parts[2]
    negatives = {*map(tuple, sample_negatives(graph, len(test), seed=3).pairs.tolist())}
    assert not negatives & parts[2]
    assert found.figures["decline@5%"] == found.figures["decline@50%"] == 0  # vectors that do not look at the graph
    right, wrong = ([float(group[u] == group[v]) for u, v in x] for x in (test, negatives))
    assert found.figures["AUC"] == pytest.approx(np.mean([(a > b) + (a == b) / 2 for a in right for b in wrong]))
    heuristics = {"Adamic-Adar", "resource allocation", "paths of three", "personalised PageRank"}
    assert {*heuristics, "spectral", "normalised SVD"} == {*found.baselines}


def test_a_fit_that_noise_spoils_declines() -> None:
    graph, group = two_blocks(150)
    clean = split_edges(graph, 0.2).train.n_edges

    def fit(train: Graph) -> Embedding:
        share = (train.n_edges - clean) / clean
        noise = np.random.default_rng(0).normal(size=(150, 2))
        return Embedding(train.nodes, np.eye(2)[group] + 4 * share * noise)

    found = noise_robustness(fit, graph, baselines=False)
    assert 0 < found.figures["decline@5%"] < found.figures["decline@25%"] < found.figures["decline@50%"] < 0.5
    assert set(found.smaller_is_better) == {"decline@5%", "decline@25%", "decline@50%"}


def test_noise_spoils_the_baselines_too_and_repeats_have_a_deviation() -> None:
    graph, group = two_blocks(150)
    perfect = Embedding(range(150), np.eye(2)[group])
    found = noise_robustness(lambda train: perfect, graph, fractions=[2.0], repeats=3)
    assert found.baselines["Adamic-Adar"]["decline@200%"] > 0.02
    assert found.deviations["AUC"] > 0
    assert found.protocol["repeats"] == 3
    assert found.protocol["score"] == "cosine"
    assert found.best("decline@200%") == "embedding"
    rounds = [noise_robustness(lambda train: perfect, graph, fractions=2.0, seed=s).figures["AUC"] for s in range(3)]
    assert found.figures["AUC"] == pytest.approx(np.mean(rounds))
    assert found.deviations["AUC"] == pytest.approx(np.std(rounds, ddof=1))


def test_gaussians_are_compared_by_w2() -> None:
    graph, _ = two_blocks()
    found = noise_robustness(lambda train: gaussians(train, 0), graph, baselines=False, fractions=0.1)
    assert found.protocol["score"] == "w2"
    assert 0.3 < found.figures["AUC"] < 0.7


@pytest.mark.parametrize("fractions", [(), (0.0,), (0.1, -1), ("a",), None])
def test_noise_refuses(fractions: Any) -> None:
    graph, _ = two_blocks()
    with pytest.raises(InputError, match="are not parts of the edges above 0, such as"):
        noise_robustness(lambda train: gaussians(train, 0), graph, fractions=fractions)


def test_noise_refuses_no_repeats_and_a_full_graph() -> None:
    graph, _ = two_blocks()
    with pytest.raises(InputError, match="repeats=0 is not a whole number of at least 1"):
        noise_robustness(lambda train: gaussians(train, 0), graph, repeats=0)
    full = Graph.from_scipy(np.ones((6, 6)) - np.eye(6))
    with pytest.raises(InputError, match="are no edges"):
        noise_robustness(lambda train: gaussians(train, 0), full)
