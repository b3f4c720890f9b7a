"""Data sets that are made, not read: known small graphs, planted structure, and what a generator refuses."""

from __future__ import annotations

import itertools
import sys
from collections import Counter
from typing import Any

import igraph
import networkx as nx
import numpy as np
import pytest

import netfold as nf
from netfold import datasets
from netfold.studies.datasets.built_in import BUILT_IN
from refusals import refused


def groups(classes: dict[Any, Any]) -> set[frozenset[Any]]:
    return {frozenset(k for k, v in classes.items() if v == c) for c in classes.values()}


def orbits(graph: nf.Graph) -> set[frozenset[Any]]:
    """The classes of nodes that symmetries of the graph take to one another, by another program."""
    rows, columns = graph.adjacency.nonzero()
    pairs = [(u, v) for u, v in zip(rows.tolist(), columns.tolist(), strict=True) if u < v]
    joined = nx.Graph()
    joined.add_nodes_from(range(graph.n_nodes))
    for generator in igraph.Graph(graph.n_nodes, pairs).automorphism_group():
        joined.add_edges_from(enumerate(generator))
    return {frozenset(graph.nodes[i] for i in part) for part in nx.connected_components(joined)}


# -------------------------------------------------------------------- the small ones


def test_the_known_graphs_are_those_of_networkx():
    assert datasets.karate().fingerprint == nf.Graph.from_networkx(nx.karate_club_graph()).fingerprint
    assert datasets.les_miserables().fingerprint == nf.Graph.from_networkx(nx.les_miserables_graph()).fingerprint
    women = {node for node, classes in datasets.classes("davis").items() if classes == ("woman",)}
    assert len(women) == 18 and datasets.davis().n_nodes == 32
    graph = datasets.davis()
    assert all((u in women) != (v in women) for u in graph.nodes for v in graph.neighbors(u))


@pytest.mark.parametrize("clique, path", [(10, 10), (3, 0), (4, 1), (5, 4)])
def test_barbell_is_that_of_networkx_and_its_classes_are_its_orbits(clique: int, path: int):
    graph = datasets.load("barbell", clique=clique, path=path)
    theirs = nx.barbell_graph(clique, path)
    assert graph.fingerprint == nf.Graph.from_edges(list(theirs.edges), nodes=range(len(theirs))).fingerprint
    assert groups(datasets.classes("barbell", clique=clique, path=path)) == orbits(graph)


def test_barbell_of_the_paper():
    assert (datasets.barbell().n_nodes, datasets.barbell().n_edges) == (30, 101)
    assert "clique=2" in refused(datasets.barbell, 2)
    assert "path=-1" in refused(datasets.barbell, 5, -1)


def test_mirrored_karate_is_two_clubs_and_one_edge():
    graph, club = datasets.mirrored_karate(), datasets.karate()
    assert (graph.n_nodes, graph.n_edges) == (68, 157)
    for side, other in ("ab", "ba"):
        for i in range(34):
            expected = [(side, j) for j in club.neighbors(i)] + ([(other, 0)] if i == 0 else [])
            assert set(graph.neighbors((side, i))) == set(expected)
    swap = [*range(34, 68), *range(34)]
    assert (graph.adjacency != graph.adjacency[swap][:, swap]).nnz == 0
    assert datasets.classes("mirrored_karate")["b", 5] == (5,)


def test_without_networkx_the_remedy_is_named(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "networkx", None)
    assert "pip install 'netfold[demo]'" in refused(datasets.load, "karate")
    assert datasets.load("barbell").n_nodes == 30


# -------------------------------------------------------------------- planted structure


@pytest.mark.parametrize(
    "copies, spacing, shapes",
    [
        (3, 2, ("house", "star", "fan", "clique")),
        (2, 3, ("house", "star")),
        (5, 1, ("fan",)),
        (2, 2, ("star", "star", "clique")),
        (1, 4, ("house", "fan", "house", "fan")),
        (1, 2, ("house", "star", "fan", "star")),
    ],
)
def test_planted_roles_are_the_orbits_of_the_graph(copies: int, spacing: int, shapes: tuple[str, ...]):
    graph, roles = datasets.planted_roles(copies, spacing, shapes)
    assert graph.n_nodes == len(roles) == copies * len(shapes) * (spacing + 5)
    assert groups(roles) == orbits(graph)


def test_noise_adds_edges_and_leaves_the_rest():
    plain, roles = datasets.planted_roles()
    noisy, same = datasets.planted_roles(noise=0.1, seed=4)
    assert same == roles and noisy.n_edges == plain.n_edges + round(0.1 * plain.n_edges)
    assert (plain.adjacency > noisy.adjacency).nnz == 0 and noisy.n_self_loops == 0 and not noisy.is_weighted


@pytest.mark.parametrize("users, items, tags, groups_", [(6, 4, 8, 2), (9, 6, 3, 3), (5, 4, 3, 2), (3, 3, 3, 1)])
def test_planted_triples_are_those_whose_groups_sum_to_zero(users: int, items: int, tags: int, groups_: int):
    size: dict[str, Any] = {"users": users, "items": items, "tags": tags, "groups": groups_, "seed": 3}
    group = {node: g for node, (g,) in datasets.classes("planted_triples", **size, edges=0).items()}
    roles = [[(role, i) for i in range(n)] for role, n in (("user", users), ("item", items), ("tag", tags))]
    allowed = {t for t in itertools.product(*roles) if sum(group[x] for x in t) % groups_ == 0}
    whole = datasets.planted_triples(**size, edges=len(allowed))
    assert set(whole.edges) == allowed and len(whole.edges) == len(allowed)
    assert list(whole.nodes) == [x for role in roles for x in role]
    assert whole.node_types == tuple(x[0] for x in whole.nodes)
    part = datasets.planted_triples(**size, edges=len(allowed) // 3)
    assert set(part.edges) < allowed and len(set(part.edges)) == len(allowed) // 3
    assert f"at most {len(allowed)}" in refused(datasets.planted_triples, **size, edges=len(allowed) + 1)


def test_no_pair_tells_which_triples_are_planted():
    whole = datasets.planted_triples(6, 4, 8, edges=6 * 4 * 8 // 2)
    for a, b in itertools.combinations(range(3), 2):
        assert len(set(Counter((edge[a], edge[b]) for edge in whole.edges).values())) == 1


# -------------------------------------------------------------------- all of them


@pytest.mark.parametrize("name", ["sbm", "planted_roles", "planted_triples", "chung_lu", "kronecker"])
def test_the_seed_decides(name: str):
    options = {"noise": 0.2} if name == "planted_roles" else {}
    state = np.random.get_state()[1].tolist()

    def made(seed: int) -> Any:
        graph = datasets.load(name, seed=seed, **options)
        return graph.edges if name == "planted_triples" else graph.fingerprint

    assert made(1) == made(1) != made(2)
    assert np.random.get_state()[1].tolist() == state
    assert "seed=-1" in refused(datasets.load, name, seed=-1)


@pytest.mark.parametrize("name", sorted(BUILT_IN))
def test_a_built_in_is_what_the_catalogue_says(name: str):
    known, graph = datasets.describe(name), datasets.load(name)
    assert graph.n_nodes == known.nodes and known.edges in (None, graph.n_edges)
    assert datasets.present(name) == "built in"
    if known.kind == "graph":
        assert (graph.directed, graph.is_weighted) == (known.directed, known.weighted)
    if known.classes is None:
        assert "no classes" in refused(datasets.classes, name)
    else:
        found = datasets.classes(name)
        assert len(set(found.values())) == known.classes and set(found) == set(graph.nodes)
    assert "no option 'part'" in refused(datasets.load, name, part="train")


@pytest.mark.parametrize(
    "name, options, part",
    [
        ("sbm", {"sizes": ()}, "sizes=()"),
        ("sbm", {"sizes": 5}, "sizes=5"),
        ("sbm", {"sizes": (3, 0)}, "a size=0"),
        ("sbm", {"sizes": (2**31, 1)}, "the sum of sizes"),
        ("sbm", {"p_in": 1.5}, "p_in=1.5 is not a number from 0 to 1"),
        ("sbm", {"p_out": "x"}, "p_out='x'"),
        ("planted_roles", {"shapes": ("tower",)}, "house, star, fan, clique"),
        ("planted_roles", {"shapes": "house"}, "shapes='house'"),
        ("planted_roles", {"shapes": ()}, "shapes=()"),
        ("planted_roles", {"copies": 1, "spacing": 1}, "a ring of 4 nodes"),
        ("planted_roles", {"noise": float("nan")}, "noise=nan"),
        ("planted_triples", {"groups": 101}, "groups=101"),
        ("planted_triples", {"tags": 0}, "tags=0"),
        ("chung_lu", {"nodes": 10, "edges": 12}, "at most 11"),
        ("chung_lu", {"nodes": True}, "nodes=True"),
        ("chung_lu", {"exponent": 2}, "exponent=2 is not a number above 2"),
        ("chung_lu", {"exponent": "x"}, "exponent='x'"),
        ("kronecker", {"scale": 2.5}, "scale=2.5"),
        ("kronecker", {"scale": 4, "edges": 33}, "at most 32"),
    ],
)
def test_what_a_generator_cannot_use_is_refused(name: str, options: dict[str, Any], part: str):
    assert part in refused(datasets.load, name, **options)
