"""What candidates are asked: inner parts and an outer one that have nothing in common, and figures against loops."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import netfold as nf
from netfold.data.statistics import area_under_curve
from netfold.errors import InputError
from netfold.studies.questions import (
    FOLDS,
    GROUPS,
    Measurement,
    _auc_measured,
    difference,
    figure_of,
    graph_order,
    in_groups,
    questions,
)  # fmt: skip
from zoo_hypergraphs import tags

GRAPH, BLOCKS = nf.datasets.stochastic_block_model((40, 40, 40), 0.2, 0.02, seed=1)
N = GRAPH.n_nodes


def edges(graph: Any) -> set[tuple[int, int]]:
    u, v = graph.adjacency.tocoo().coords
    return {(a, b) for a, b in zip(u.tolist(), v.tolist()) if a < b}


def spectral(graph: Any, dim: int = 8) -> Any:
    return nf.Node2Vec(dim=dim, epochs=0).fit(graph, progress=False)


# -------------------------------------------------------------------- nothing is asked twice


def test_links_of_the_outer_part_are_in_no_inner_graph() -> None:
    asked = questions(GRAPH, "link", seed=3)
    outer = asked.outer(N)
    held = edges(GRAPH) - edges(outer.graph)
    assert len(held) == round(0.1 * len(edges(GRAPH)))  # few edges: a tenth
    keys = set()
    for fold in range(FOLDS):
        part = asked.inner(fold, N)
        keys.add(part.key)
        assert edges(part.graph) < edges(outer.graph) and not edges(part.graph) & held
    assert len(keys) == FOLDS and not asked.fits_whole


def test_a_model_is_never_measured_on_what_chose_it() -> None:
    """Classes of the outer nodes, whatever they are, change no inner figure; and the other way around."""
    model = spectral(GRAPH)
    asked = questions(GRAPH, "classify", BLOCKS, seed=3)
    inner = [asked.inner(fold, N).measure(model, None).figure for fold in range(FOLDS)]
    outer = asked.outer(N).measure(model, None)
    order = np.random.default_rng(3).permutation(N)
    held = [list(BLOCKS)[i] for i in order[: N // 5]]
    shuffled = dict(BLOCKS) | {node: (BLOCKS[node] + 1) % 3 for node in held}
    again = questions(GRAPH, "classify", shuffled, seed=3)
    assert [again.inner(fold, N).measure(model, None).figure for fold in range(FOLDS)] == inner
    assert again.outer(N).measure(model, None).figure < outer.figure
    assert asked.fits_whole and f"{N // 5} nodes" in asked.note


def test_features_are_judged_by_columns_and_not_at_length_one() -> None:
    """Hubs with three to six leaves: the class is a hub's number of leaves, which is in no direction of a vector."""
    edges = [(f"hub {i}", f"leaf {i} {k}") for i in range(60) for k in range(3 + i % 4)]
    edges += [(f"hub {i}", f"hub {(i + 1) % 60}") for i in range(60)]
    graph = nf.Graph.from_edges(edges)
    asked = questions(graph, "classify", {f"hub {i}": str(i % 4) for i in range(60)})
    model = nf.DegreeFeatures(dim=2).fit(graph, progress=False)
    part = asked.inner(0, graph.n_nodes)
    assert part.measure(model, None).figure > part.measure(model.embedding_, None).figure + 0.2


def test_rows_that_choose_and_rows_that_do_not_are_different_ones() -> None:
    asked = questions(GRAPH, "near", seed=0)
    perfect = nf.Embedding(GRAPH.nodes, GRAPH.adjacency.toarray() + np.eye(N))
    parts = [asked.inner(0, N), asked.outer(N)]
    assert all(0 < part.measure(perfect, None).figure <= 1 for part in parts)
    assert parts[0].graph is GRAPH and "24 nodes" in asked.note


def test_a_node_with_a_loop_alone_has_no_neighbors_to_look_for() -> None:
    ring = [(i, (i + 1) % 40) for i in range(40)]
    graph = nf.Graph.from_edges([*ring, *((i, i) for i in range(40, 80))])
    model = spectral(graph)
    for part in [questions(graph, "near", seed=0).inner(0, 80), questions(graph, "near", seed=0).outer(80)]:
        assert 0 < part.measure(model, None).figure <= 1


def test_new_nodes_of_the_outer_part_are_in_no_inner_graph() -> None:
    asked = questions(GRAPH, "new-nodes", BLOCKS, seed=1)
    known = set(asked.outer(N).graph.nodes)
    for fold in range(2):
        inner = set(asked.inner(fold, N).graph.nodes)
        assert inner < known and len(known) - len(inner) == 11
    model = nf.SDNE(dim=4, epochs=2).fit(asked.outer(N).graph, progress=False)
    assert 0 < asked.outer(N).measure(model, None).figure <= 1 and asked.figure == "micro-F1"
    links = questions(GRAPH, "new-nodes", seed=1)
    assert links.figure == "AUC" and 0 < links.outer(N).measure(model, None).figure <= 1


def test_turns_hold_out_the_outer_part_share_by_share() -> None:
    """Together they are the outer part; each is learned without its own share and with the others. Where fewer fits
    can be paid, fewer shares are asked about, so that each fit lacks little all the same."""
    asked = questions(GRAPH, "link")
    held, turns = edges(GRAPH) - edges(asked.outer(N).graph), asked.turns(1000)
    shares = [edges(GRAPH) - edges(part.graph) for part in turns]
    assert len(turns) == len(held) // 10 and set.union(*shares) == held and sum(map(len, shares)) == len(held)
    assert all(len(x) >= 10 for x in shares)
    some = [edges(GRAPH) - edges(part.graph) for part in asked.turns(4.7)]
    assert some == shares[:4]
    for count in (1, 2):
        some = [edges(GRAPH) - edges(part.graph) for part in asked.turns(count)]
        assert len(some) == count and set.union(*some) == set.union(*shares[:3])
    ring = nf.Graph.from_edges([(i, (i + k) % 300) for i in range(300) for k in (1, 2)])
    new = questions(ring, "new-nodes")
    gone = [set(ring.nodes) - set(part.graph.nodes) for part in new.turns(3)]
    assert [len(x) for x in gone] == [10, 10, 10] and set.union(*gone) == set(ring.nodes) - set(
        new.outer(300).graph.nodes
    )
    assert new.turns(0) == [] and questions(GRAPH, "near").turns(3) == []
    whole = tags()
    tuples = questions(whole, "tuples")
    assert tuples.turns(9) == [] and tuples.outer(99).graph.n_edges < whole.n_edges, "too few for shares"


def test_turns_learn_from_the_classes_of_the_others() -> None:
    """A classifier that knows the nodes of the outer part but for a share finds what it could not without them."""
    n = 200
    graph = nf.Graph.from_edges([(i, (i + 1) % n) for i in range(n)])
    vectors = nf.Embedding(graph.nodes, np.eye(n)[np.arange(n) // 2].astype(np.float32))
    asked = questions(graph, "classify", {i: f"c{(i // 2) % 2}" for i in range(n)})
    at_once = asked.outer(n).measure(vectors, None).figure
    in_turn = np.mean([part.measure(vectors, None).figure for part in asked.turns(7)])
    assert len(asked.turns(7)) == 4 and in_turn > at_once, "of more pairs of like nodes one is known"
    assert questions(graph, "cluster", {i: i % 2 for i in range(n)}).turns(4) == [], "which learns from no class"


@pytest.mark.parametrize("known", [5, 6, 9])
def test_of_few_classes_each_part_has_two_at_least(known: int) -> None:
    asked = questions(GRAPH, "classify", {i * 7: "ab"[i % 2] for i in range(known)})
    model = nf.Spectral(dim=4).fit(GRAPH, progress=False)
    parts = [asked.inner(fold, GRAPH.n_nodes) for fold in range(5)]
    assert len({x.key for x in parts}) == min(5, (known - 1) // 2)
    assert all(0 <= x.measure(model, None).figure <= 1 for x in parts)


def test_hyperedges_of_the_outer_part_are_not_learned_from() -> None:
    whole = tags()
    asked = questions(whole, "tuples")
    assert asked.inner(0, 99).graph.n_edges < asked.outer(99).graph.n_edges < whole.n_edges
    model = nf.DHNE(dim=4, epochs=2).fit(asked.inner(0, 99).graph, progress=False)
    assert 0 <= asked.inner(0, 99).measure(model, None).figure <= 1


@pytest.mark.parametrize("task", ["centrality", "regular-equivalence", "calibration", "cluster", "roles"])
def test_every_other_task_can_be_asked(task: str) -> None:
    asked = questions(GRAPH, task, BLOCKS, seed=0)
    for part in (asked.inner(0, N), asked.outer(N)):
        model = (nf.DVNE(dim=4, epochs=1) if task == "calibration" else nf.SDNE(dim=4, epochs=1)).fit(
            part.graph, progress=False
        )
        assert np.isfinite(part.measure(model, None).figure)
    assert asked.smaller == (task == "calibration")


def test_parts_of_a_large_graph_are_small() -> None:
    for task in ("link", "classify", "near", "new-nodes"):
        asked = questions(GRAPH, task, BLOCKS, seed=0)
        for part in (asked.inner(0, 60), asked.outer(60)):
            assert part.graph.n_nodes <= 60
            model = nf.SDNE(dim=4, epochs=1).fit(part.graph, progress=False)
            assert np.isfinite(part.measure(model, None).figure)


# -------------------------------------------------------------------- figures, against loops


def test_the_figure_of_links_is_that_of_evaluate() -> None:
    asked = questions(GRAPH, "link", seed=2)
    share = 1 - asked.outer(N).graph.n_edges / GRAPH.n_edges
    split = nf.evaluate.split_edges(GRAPH, round(share, 6), seed=2)
    assert edges(split.train) == edges(asked.outer(N).graph)
    model = spectral(split.train)
    for score in ("dot", "cosine", "distance", "paths"):
        found = nf.evaluate.link_prediction(model, split, score=score, seed=2, baselines=False)
        assert asked.outer(N).measure(model, score).figure == pytest.approx(found.figures["AUC"])
    best = asked.outer(N).measure(model, None)
    assert best.figure == max(asked.outer(N).measure(model, x).figure for x in ("dot", "cosine", "distance", "paths"))


def test_area_under_curve_against_a_loop() -> None:
    rng = np.random.default_rng(0)
    right, wrong = rng.integers(0, 9, 40).astype(float), rng.integers(0, 7, 60).astype(float)
    loop = np.mean([(a > b) + 0.5 * (a == b) for a in right for b in wrong])
    assert area_under_curve(right, wrong) == pytest.approx(loop)


def test_the_jackknife_of_a_mean_is_its_standard_error() -> None:
    values = np.random.default_rng(0).normal(size=GROUPS)
    without = np.array([np.delete(values, j).mean() for j in range(GROUPS)])
    found = Measurement(values.mean(), without)
    assert found.deviation == pytest.approx(values.std(ddof=1) / GROUPS**0.5)
    other = Measurement(values.mean() - 1, without - 1)
    gap, error = difference({"a": found}, {"a": other})
    assert gap == pytest.approx(1) and error == pytest.approx(0, abs=1e-12), "what both find hard is no difference"
    assert figure_of({"a": found, "b": found})[1] == pytest.approx(found.deviation), "asked twice is known no better"
    fewer = Measurement(values.mean(), without[:20])
    independent = (found.deviation**2 + fewer.deviation**2) ** 0.5 / 2
    assert figure_of({"a": found, "b": fewer})[1] == pytest.approx(independent)
    gap, error = difference({"a": found}, {"b": other})
    assert np.isnan(gap) and error == np.inf


def test_the_jackknife_of_an_auc_against_a_loop() -> None:
    rng = np.random.default_rng(0)
    right, wrong = rng.integers(0, 9, 60).astype(float), rng.integers(0, 7, 90).astype(float)
    place = rng.permutation(60)
    found = _auc_measured(right, wrong, place)
    assert found.figure == pytest.approx(area_under_curve(right, wrong)) and len(found.without) == GROUPS
    order = np.argsort(place)
    for j in range(GROUPS):
        own = {int(i) for at, i in enumerate(order) if at * GROUPS // 60 == j}
        other = [b for i, b in enumerate(wrong) if i * GROUPS // 90 != j]
        loop = np.mean([(a > b) + 0.5 * (a == b) for i, a in enumerate(right) if i not in own for b in other])
        assert found.without[j] == pytest.approx(loop, abs=1e-12)
    assert _auc_measured(right[:1], wrong, place[:1]).without.size == 0


def test_wrong_ones_that_have_places_are_left_out_with_the_right_ones_there() -> None:
    """Pairs of one new node, linked or not, are one piece of evidence."""
    rng = np.random.default_rng(1)
    right, wrong = rng.normal(0.5, 1, 80), rng.normal(0, 1, 60)
    node, other = np.sort(rng.integers(0, 50, 80)), rng.integers(0, 50, 60)
    found = _auc_measured(right, wrong, node, "", other)
    last = [max(node[i] for i in range(80) if i * GROUPS // 80 == j) for j in range(GROUPS)]
    for j in range(GROUPS):
        group = [next((g for g in range(GROUPS - 1) if x <= last[g]), GROUPS - 1) for x in other]
        kept = [b for b, g in zip(wrong, group, strict=True) if g != j]
        loop = np.mean([float(a > b) for i, a in enumerate(right) if i * GROUPS // 80 != j for b in kept])
        assert found.without[j] == pytest.approx(loop, abs=1e-12)
    alone = _auc_measured(right, wrong, node, "", np.zeros(60, np.int64))
    assert np.isfinite(alone.without).all(), "where all wrong ones are of one place, each group has its share of them"


def test_groups_are_neighbors_in_the_graph() -> None:
    """What is easy in one community and hard in another is known as well as there are communities, not nodes."""
    rng, cliques = np.random.default_rng(0), 40
    names = rng.permutation(cliques * 10).tolist()
    inside = [(names[10 * c + i], names[10 * c + j]) for c in range(cliques) for i in range(10) for j in range(i)]
    graph = nf.Graph.from_edges(inside, nodes=range(cliques * 10))
    place = graph_order(graph.adjacency)
    assert sorted(place.tolist()) == list(range(cliques * 10))
    luck = np.empty(cliques * 10)
    luck[names] = np.repeat(rng.integers(0, 2, cliques), 10)
    along = in_groups(lambda rows: float(luck[rows].mean()), place)
    at_random = in_groups(lambda rows: float(luck[rows].mean()), np.arange(cliques * 10))
    assert along.deviation == pytest.approx(0.5 / cliques**0.5, rel=0.15)
    assert at_random.deviation < along.deviation / 2


def test_few_nodes_have_no_better_clusters_by_chance() -> None:
    """NMI of random vectors is nothing; as it is defined it is larger, the fewer nodes there are."""
    n = 300
    ring = nf.Graph.from_edges([(i, (i + 1) % n) for i in range(n)])
    classes, figures, plain = {i: i % 6 for i in range(n)}, [], []
    for seed in range(8):
        rng = np.random.default_rng(seed)
        vectors = nf.Embedding(ring.nodes, rng.normal(size=(n, 4)).astype(np.float32))
        part = questions(ring, "cluster", classes, seed).outer(n)
        found = part.measure(vectors, None)
        figures.append(found.figure)
        plain.append(float(found.without.mean()))
    assert abs(np.mean(figures)) < 0.05 < 0.1 < np.mean(plain)


def test_deviations_without_groups_are_those_between_parts() -> None:
    one, two = ({"a": Measurement(x), "b": Measurement(x + 0.2)} for x in (0.5, 0.4))
    assert figure_of(one) == pytest.approx((0.6, 0.1))
    assert difference(one, two) == pytest.approx((0.1, 0.0), abs=1e-12)
    assert difference({"a": Measurement(0.5)}, {"a": Measurement(0.4)})[1] == np.inf


# -------------------------------------------------------------------- refusals


@pytest.mark.parametrize(
    ("graph", "task", "classes", "words"),
    [
        (GRAPH, "classify", None, "needs the classes of nodes"),
        (GRAPH, "classify", {0: "a", 1: "a", 2: "b"}, "3 nodes have a class; .* at least 5"),
        (GRAPH, "classify", {0: "a", 1: "b"}, "each of the 2 nodes has a class of its own"),
        (GRAPH, "classify", dict.fromkeys(range(50), "a"), "1 class in all"),
        (GRAPH, "classify", {"nobody": "a", 1: "b"}, "nobody"),
        (GRAPH, "tuples", None, "asked of a hypergraph, and this is a graph"),
        (tags(), "link", None, "asked of a graph, and this is a hypergraph; .* tuples"),
        (nf.Graph.from_edges([(0, 1), (1, 2)]), "link", None, "2 edges; .* at least 5"),
        (nf.Graph.from_edges([(0, 1), (1, 2)]), "new-nodes", None, "3 nodes; .* at least 10"),
        (nf.Graph.from_edges([], nodes=range(9)), "link", None, "no edges"),
        (
            nf.Graph.from_edges([(i, j) for i in range(12) for j in range(i)]),
            "link",
            None,
            "nearly every pair .* are 0, for 7",
        ),
        (GRAPH, "linkage", None, "no task 'linkage'"),
    ],
)
def test_what_cannot_be_asked(graph: Any, task: str, classes: Any, words: str) -> None:
    with pytest.raises(InputError, match=words):
        questions(graph, task, classes)
