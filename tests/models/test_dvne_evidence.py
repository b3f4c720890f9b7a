"""DVNE's deviations by evidence, and triplets drawn by shared neighbors: against loops, and what they are for."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy import sparse
from scipy.stats import chisquare, spearmanr

import netfold as nf
from dvne_networks import random_graph
from netfold.data.edges import links
from netfold.data.gaussians import widths
from netfold.models.dvne.batches import Triplets, by_evidence, in_order, place_variance, scaled_to, shared_neighbors

OPTIONS = {"dim": 3, "hidden": 8, "epochs": 20, "device": "cpu"}


def near_of(graph: nf.Graph, loops: str = "drop") -> sparse.csr_array:
    return links(graph, directed=False, weights=False, loops=loops)  # type: ignore[arg-type]


@pytest.mark.parametrize("typical", [None, 0.3])
def test_the_variance_of_a_place_is_what_a_loop_over_links_says(typical: float | None) -> None:
    rng, graph = np.random.default_rng(0), random_graph(2)
    near = near_of(graph)
    means = rng.normal(size=(graph.n_nodes, 3))
    own = rng.normal(size=means.shape) if typical else means
    squares = {
        i: [sum((means[j, x] - own[i, x]) ** 2 for x in range(3)) for j in near[[i]].indices]
        for i in range(graph.n_nodes)
    }
    every = [x for some in squares.values() for x in some]
    v = sum(every) / len(every) if typical is None else typical
    wanted = [(v + sum(some)) / (1 + len(some)) / len(some) if some else np.inf for some in squares.values()]
    found, said = place_variance(near, own, means, typical)
    np.testing.assert_allclose(found, wanted, rtol=1e-12)
    assert said == pytest.approx(v)


def test_deviations_are_in_that_order_at_the_learned_level_and_spread() -> None:
    rng = np.random.default_rng(1)
    learned = nf.Embedding(range(30), rng.normal(size=(30, 12)), rng.uniform(0.5, 2, size=(30, 12)))
    variance = rng.lognormal(size=30)
    variance[7] = np.inf
    before = widths(learned.std, 10)
    found = in_order(learned, variance, scaled_to(variance, learned))
    after, rest = widths(found.std, 10), np.arange(30) != 7
    assert (found.vectors == learned.vectors).all()
    assert spearmanr(variance[rest], after[rest]).statistic == pytest.approx(1)
    logs, wanted = np.log(after[rest]), np.log(before[rest])
    assert (logs.mean(), logs.std()) == (
        pytest.approx(wanted.mean(), abs=1e-5),
        pytest.approx(wanted.std(), abs=1e-5),
    )
    assert after[7] == before[7]


def test_a_model_by_evidence_has_the_means_of_one_without_and_its_order() -> None:
    graph = nf.datasets.load("les_miserables")
    plain = nf.DVNE(**OPTIONS).fit(graph, progress=False)
    model = nf.DVNE(**OPTIONS, std="evidence").fit(graph, progress=False)
    assert (model.embedding_.vectors == plain.embedding_.vectors).all()
    wanted, _ = place_variance(near_of(graph), model.embedding_.vectors, model.embedding_.vectors)
    assert spearmanr(wanted, model.embedding_.uncertainty(graph.nodes)).statistic > 0.999  # but for ties in float32
    assert "evidence" not in dict(plain.network_.named_buffers())


@pytest.mark.parametrize("wanted", [1.0, 0.3])
def test_as_much_of_the_spread_is_left_as_tells_links_best_apart(wanted: float) -> None:
    """All of it in two cliques at one place, of which one is scattered; less along a line."""
    rng, apart = np.random.default_rng(4), np.repeat([1.0, 0.1], 20)[:, None]
    clique = [(i, j) for i in range(40) for j in range(i) if i // 20 == j // 20]
    line = [(i, j) for i in range(40) for j in range(i) if i - j < 3 + 20 * (i % 7 == 0)]
    near = near_of(nf.Graph.from_edges(clique if wanted == 1 else line))
    noise = rng.normal(size=(40, 2))
    places = apart * noise if wanted == 1 else 0.1 * noise + np.arange(40)[:, None] / 20
    learned = nf.Embedding(range(40), places, rng.uniform(0.5, 3, size=(40, 2)))
    variance, v = place_variance(near, learned.vectors, learned.vectors)
    moments, aucs = scaled_to(variance, learned), {}
    for part in (1.0, 0.3):
        coordinates = in_order(learned, variance, moments * [1, 1, 1, part]).coordinates.astype(np.float64)
        apart = np.linalg.norm(coordinates[:, None] - coordinates, axis=2)
        aucs[part] = np.mean(apart[near.toarray() > 0][:, None] < apart.ravel())
    assert aucs[wanted] > min(aucs.values()) + 0.02  # so that 10,000 draws choose as all pairs do
    gaussians, facts = by_evidence(learned, near, torch.Generator().manual_seed(0))
    np.testing.assert_allclose(facts, [*moments * [1, 1, 1, wanted], v])
    assert (gaussians.std == in_order(learned, variance, facts[:4]).std).all()


def test_where_all_places_are_equally_open_all_are_equally_wide() -> None:
    ring = nf.Graph.from_edges([(i, (i + 1) % 6) for i in range(6)])
    learned = nf.Embedding(range(6), np.zeros((6, 2)), np.random.default_rng(0).uniform(1, 2, (6, 2)))
    variance, _ = place_variance(near_of(ring), learned.vectors, learned.vectors)
    found = widths(in_order(learned, variance, scaled_to(variance, learned)).std, 10)
    np.testing.assert_allclose(found, found[0], rtol=1e-5)


@pytest.mark.parametrize("how", ["encode", "refine", "mean"])
def test_a_new_node_with_more_links_to_one_place_is_surer(how: str, tmp_path) -> None:
    two = [(a, b) for c in ("abcde", "vwxyz") for a in c for b in c if a < b]
    options = {**OPTIONS, "epochs": 100, "lr": 0.01}
    model = nf.DVNE(**options, std="evidence").fit(nf.Graph.from_edges([*two, ("a", "v")]), progress=False)
    later = nf.Graph.from_edges([("sure", x) for x in "abcd"] + [("split", x) for x in "abvw"] + [("few", "b")])
    new = model.transform(later, how=how)
    assert new.uncertainty("sure") < min(new.uncertainty("split"), new.uncertainty("few"))
    model.save(tmp_path / "m.netfold")
    assert (nf.load(tmp_path / "m.netfold").transform(later, how=how).std == new.std).all()


def test_shared_neighbors_are_counted_as_a_loop_counts_them() -> None:
    near = near_of(random_graph(4), "all")
    sets = [set(near[[i]].indices) - {i} for i in range(near.shape[0])]
    wanted = [len((sets[i] & sets[j]) - {i, j}) for i in range(near.shape[0]) for j in near[[i]].indices if i != j]
    row = np.repeat(np.arange(near.shape[0]), np.diff(near.indptr))
    assert shared_neighbors(near)[row != near.indices].tolist() == wanted


def test_near_nodes_are_drawn_by_what_they_share_and_the_others_as_before() -> None:
    near = near_of(random_graph(1), "all")
    plain, triplets = Triplets.of(near), Triplets.of(near, shared=2.0)
    numbers = torch.arange(len(plain)).repeat(60)
    before = plain.at(numbers)
    found = triplets.weighed(before, torch.Generator().manual_seed(0))
    assert (found[[0, 2]] == before[[0, 2]]).all()
    assert plain.weighed(before, torch.Generator()) is before
    weights = sparse.csr_array((1 + 2 * shared_neighbors(near), near.indices, near.indptr), shape=near.shape).toarray()
    np.fill_diagonal(weights, 0)
    for i in found[0].unique().tolist():
        counts = np.bincount(found[1][found[0] == i], minlength=len(weights))
        wanted = weights[i] / weights[i].sum() * counts.sum()
        assert (counts[wanted == 0] == 0).all()
        assert np.count_nonzero(wanted) == 1 or chisquare(counts[wanted > 0], wanted[wanted > 0]).pvalue > 1e-4
