"""Data sets by name: the right file or a clear refusal, and generators that do what they say."""

from __future__ import annotations

import gzip
import hashlib
import itertools
import json
import math
import os
import re
import sys
import tracemalloc
from collections import Counter
from pathlib import Path
from typing import Any

import igraph
import networkx as nx
import numpy as np
import pytest
from click.testing import CliRunner

import netfold as nf
from netfold import datasets
from netfold.cli import main
from netfold.datasets import catalogue
from netfold.datasets.built_in import BUILT_IN
from netfold.datasets.random_graphs import distinct
from netfold.errors import InputError

DOCS = Path(__file__).parent.parent / "docs" / "datasets.md"
HAS_DATA = bool(os.environ.get("NETFOLD_DATA"))
needs_data = pytest.mark.skipif(not HAS_DATA, reason="NETFOLD_DATA is not set")

TOYS = {
    "toy": {
        "facts": 'kind = "graph"\nnodes = 5\nedges = 3\nclasses = 2',
        "edges": "source,target,year\n7,3,2015\n3,9,2016\n9,9,2016\n",
        "labels": "node,label\n3,0\n3,1\n7,1\n9,0\n11,1\n5,0\n",
    },
    "arrows": {"facts": 'kind = "graph"\ndirected = true\nnodes = 2', "edges": "source,target\nann,bob\nbob,ann\n"},
    "heavy": {"facts": 'kind = "graph"\nweighted = true\nnodes = 2', "edges": "source,target,weight\n1,2,2.5\n"},
    "triples": {
        "facts": 'kind = "hypergraph"\nnodes = 6\nclasses = 2',
        "hyperedges": "user,film,tag,split\n0,0,1,train\n0,0,1,train\n1,0,0,test\n0,1,0,train\n",
        "test_negatives": "user,film,tag\n1,1,1\n",
        "labels": "film,label\n0,drama\n0,comedy\n1,drama\n",
    },
    "texts": {
        "facts": 'kind = "documents"\nnodes = 4\nclasses = 2',
        "docs": "doc,split,category\n4,test,x\n5,train,x\n6,train,y\n7,train,y\n8,train,x\n",
        "doc_terms": "doc,term,count\n4,0,9\n5,0,2\n5,1,1\n6,1,3\n6,2,1\n7,2,2\n7,0,1\n8,3,1\n",
        "labels": "node,label\n4,x\n5,x\n6,y\n7,y\n8,x\n",
        "terms": 'term,word\n0,"a ""b"", c"\n1,ü\n2,17\n',
    },
}


@pytest.fixture
def toys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of small data sets that NETFOLD_DATA names, and a catalogue that knows nothing else; an empty cache."""
    text = ""
    for name, parts in TOYS.items():
        text += f'\n[{name}]\ntitle = "A title"\norigin = "Ann 1999"\nlicence = "free"\nsources = ["https://a.b"]\n'
        text += f"{parts['facts']}\n[{name}.files]\n"
        (tmp_path / "data" / name).mkdir(parents=True)
        for file, content in parts.items():
            if file == "facts":
                continue
            packed = gzip.compress(content.encode(), mtime=0)
            (tmp_path / "data" / name / f"{file}.csv.gz").write_bytes(packed)
            columns, digest = content.split("\n")[0], hashlib.sha256(packed).hexdigest()
            text += f'"{file}.csv.gz" = {{ bytes = {len(packed)}, columns = "{columns}", sha256 = "{digest}" }}\n'
    known = catalogue.read_catalogue(text)
    monkeypatch.setattr(catalogue, "known", lambda: known)
    monkeypatch.setenv("NETFOLD_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path


def refused(call: Any, *args: Any, **options: Any) -> str:
    with pytest.raises(InputError) as caught:
        call(*args, **options)
    message = str(caught.value)
    assert "\n" not in message
    return message


# -------------------------------------------------------------------- the catalogue


def test_every_data_set_says_what_it_is_and_can_be_had():
    for name in datasets.names():
        known = datasets.describe(name)
        assert known.name == name and known.kind in ("graph", "hypergraph", "documents")
        assert known.title and known.origin and known.licence and known.nodes > 0
        assert name in BUILT_IN or (known.files and known.sources)
        for file in known.files:
            assert re.fullmatch("[0-9a-f]{64}", file.sha256) and file.bytes > 0 and len(file.columns) >= 2
    assert set(BUILT_IN) <= set(datasets.names())


def test_an_unknown_name_is_refused_with_the_nearest_and_all():
    message = refused(datasets.load, "ca-grcq")
    assert "'ca-grcq'" in message and "did you mean ca_grqc" in message and "blogcatalog" in message
    assert "did you mean" not in refused(datasets.describe, "zzzzzz")
    assert "no data set" in refused(datasets.labels, ["karate"])


def test_a_data_set_cannot_be_changed():
    with pytest.raises(AttributeError):
        datasets.describe("karate").nodes = 35  # type: ignore[misc]


# -------------------------------------------------------------------- files: found, checked, refused


def test_files_are_looked_for_in_netfold_data_then_in_the_cache(toys: Path, monkeypatch: pytest.MonkeyPatch):
    assert datasets.present("arrows") == str(toys / "data" / "arrows")
    (toys / "cache" / "netfold").mkdir(parents=True)
    (toys / "data" / "arrows").rename(toys / "cache" / "netfold" / "arrows")
    assert datasets.present("arrows") == str(toys / "cache" / "netfold" / "arrows")
    assert datasets.load("arrows").n_edges == 2
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(toys / "home"))
    assert datasets.present("arrows") is None
    (toys / "home" / ".cache").mkdir(parents=True)
    (toys / "cache" / "netfold").rename(toys / "home" / ".cache" / "netfold")
    assert datasets.load("arrows").n_edges == 2
    monkeypatch.delenv("NETFOLD_DATA")
    assert datasets.load("arrows").n_edges == 2


def test_a_file_in_netfold_data_hides_the_one_in_the_cache(toys: Path):
    (toys / "cache" / "netfold" / "arrows").mkdir(parents=True)
    (toys / "cache" / "netfold" / "arrows" / "edges.csv.gz").write_bytes(b"not looked at")
    assert datasets.load("arrows").n_edges == 2
    (toys / "data" / "arrows" / "edges.csv.gz").write_bytes(b"short")
    assert str(toys / "data") in refused(datasets.load, "arrows")


def test_what_is_nowhere_is_said_to_be_so_with_how_to_obtain_it(toys: Path):
    (toys / "data" / "toy" / "edges.csv.gz").unlink()
    message = refused(datasets.load, "toy")
    for part in ("'toy'", "A title", "Ann 1999", "free", "https://a.b", "source,target,year", "NETFOLD_DATA"):
        assert part in message
    assert str(toys / "data" / "toy") in message and str(toys / "cache" / "netfold" / "toy") in message
    assert datasets.present("toy") is None


def test_a_file_of_the_wrong_size_or_hash_is_refused(toys: Path):
    path = toys / "data" / "toy" / "edges.csv.gz"
    good = path.read_bytes()
    path.write_bytes(good + b"\0")
    message = refused(datasets.load, "toy")
    assert str(path) in message and f"{len(good)} bytes" in message and str(len(good) + 1) in message
    path.write_bytes(good[:-1] + b"\x01")
    message = refused(datasets.load, "toy")
    assert hashlib.sha256(good).hexdigest() in message and hashlib.sha256(path.read_bytes()).hexdigest() in message
    assert "nf.read_edges" in message
    assert str(path) in refused(datasets.table, "toy", "edges")


def test_a_table_is_its_columns(toys: Path):
    edges = datasets.table("toy", "edges.csv.gz")
    assert list(edges) == ["source", "target", "year"]
    assert edges["year"].dtype == np.int64 and edges["year"].tolist() == [2015, 2016, 2016]
    words = datasets.table("texts", "terms")
    assert words["term"].dtype == np.int64 and words["word"].tolist() == ['a "b", c', "ü", "17"]
    message = refused(datasets.table, "toy", "features")
    assert "'features'" in message and "edges.csv.gz and labels.csv.gz" in message
    assert "'../toy/edges'" in refused(datasets.table, "toy", "../toy/edges")


def test_a_built_in_without_files_has_no_table():
    assert "made without files" in refused(datasets.table, "sbm", "edges")


# -------------------------------------------------------------------- files: as graphs, hypergraphs and labels


def test_a_graph_has_its_direction_its_weights_and_its_isolated_nodes(toys: Path):
    toy = datasets.load("toy")
    assert not toy.directed and not toy.is_weighted  # a year is no weight
    assert list(toy.nodes) == [3, 5, 7, 9, 11] and toy.n_edges == 3
    assert toy.neighbors(3) == [7, 9] and toy.neighbors(9) == [3, 9] and toy.neighbors(5) == []
    arrows = datasets.load("arrows")
    assert arrows.directed and arrows.n_edges == 2
    assert not datasets.load("arrows", directed=False).directed
    assert datasets.load("heavy").adjacency[0, 1] == 2.5


def test_a_graph_with_years_can_be_had_as_it_was(toys: Path):
    then = datasets.load("toy", until=2015)
    assert list(then.nodes) == [3, 7] and then.neighbors(3) == [7] and not then.directed
    later = datasets.load("toy", until=2016)
    assert list(later.nodes) == [3, 7, 9] and later.n_edges == 3  # nodes without an edge have no year
    assert datasets.load("toy", until=2015, directed=True).directed
    assert "until=2014 leaves no edge of 'toy'; its first is of 2015" in refused(datasets.load, "toy", until=2014)
    assert "edges with years, and 'arrows' has source, target" in refused(datasets.load, "arrows", until=1)


def test_labels_are_tuples_by_the_labels_of_the_graph(toys: Path):
    assert datasets.labels("toy") == {3: (0, 1), 7: (1,), 9: (0,), 11: (1,), 5: (0,)}
    assert datasets.labels("triples") == {("film", 0): ("drama", "comedy"), ("film", 1): ("drama",)}
    assert datasets.labels("texts") == {5: ("x",), 6: ("y",), 7: ("y",), 8: ("x",)}
    assert datasets.labels("texts", part="test") == {4: ("x",)}
    message = refused(datasets.labels, "arrows")
    assert "'arrows'" in message and "toy, triples, texts" in message


def test_a_hypergraph_has_the_nodes_of_all_parts(toys: Path):
    parts = {part: datasets.load("triples", part=part) for part in ("train", "test", "test_negatives")}
    nodes = [("user", 0), ("user", 1), ("film", 0), ("film", 1), ("tag", 0), ("tag", 1)]
    assert all(list(part.nodes) == nodes for part in parts.values())
    assert parts["train"].node_types == ("user", "user", "film", "film", "tag", "tag")
    assert parts["train"].edges[:2] == ((("user", 0), ("film", 0), ("tag", 1)),) * 2
    assert parts["test"].edges == ((("user", 1), ("film", 0), ("tag", 0)),)
    assert parts["test_negatives"].edges == ((("user", 1), ("film", 1), ("tag", 1)),)
    assert datasets.load("triples").n_edges == 3
    message = refused(datasets.load, "triples", part="valid")
    assert "'valid'" in message and "train, test, test_negatives" in message


def naive_cosines(counts: dict[int, dict[int, int]]) -> dict[tuple[int, int], float]:
    """S of tf-idf rows of length 1, entry by entry."""
    n, idf = len(counts), {}
    for term in {t for words in counts.values() for t in words}:
        idf[term] = 1 + math.log((1 + n) / (1 + sum(term in words for words in counts.values())))
    rows = {d: {t: c * idf[t] for t, c in words.items()} for d, words in counts.items()}
    length = {d: math.sqrt(sum(x * x for x in row.values())) for d, row in rows.items()}
    return {
        (a, b): sum(x * rows[b].get(t, 0) for t, x in rows[a].items()) / length[a] / length[b]
        for a, b in itertools.permutations(rows, 2)
    }


def test_documents_are_linked_by_the_cosine_of_their_words(toys: Path):
    graph = datasets.load("texts")
    assert list(graph.nodes) == [5, 6, 7, 8] and graph.n_self_loops == 0
    expected = naive_cosines({5: {0: 2, 1: 1}, 6: {1: 3, 2: 1}, 7: {2: 2, 0: 1}, 8: {3: 1}})
    dense = graph.adjacency.toarray()
    for (a, b), s in expected.items():
        i, j = graph.positions([a, b])
        assert dense[i, j] == pytest.approx(s, rel=1e-6)
    assert graph.degrees.tolist() == [2, 2, 2, 0]
    assert datasets.load("texts", part="all").n_nodes == 5
    assert "train, test, all" in refused(datasets.load, "texts", part="some")


def test_an_unknown_option_is_refused(toys: Path):
    assert "no option 'part'; its options are directed" in refused(datasets.load, "toy", part="train")
    assert "no option 'sed'" in refused(datasets.labels, "texts", sed=1)


# -------------------------------------------------------------------- the small ones


def test_the_known_graphs_are_those_of_networkx():
    assert datasets.karate().fingerprint == nf.Graph.from_networkx(nx.karate_club_graph()).fingerprint
    assert datasets.les_miserables().fingerprint == nf.Graph.from_networkx(nx.les_miserables_graph()).fingerprint
    women = {node for node, classes in datasets.labels("davis").items() if classes == ("woman",)}
    assert len(women) == 18 and datasets.davis().n_nodes == 32
    graph = datasets.davis()
    assert all((u in women) != (v in women) for u in graph.nodes for v in graph.neighbors(u))


@pytest.mark.parametrize("clique, path", [(10, 10), (3, 0), (4, 1), (5, 4)])
def test_barbell_is_that_of_networkx_and_its_classes_are_its_orbits(clique: int, path: int):
    graph = datasets.load("barbell", clique=clique, path=path)
    theirs = nx.barbell_graph(clique, path)
    assert graph.fingerprint == nf.Graph.from_edges(list(theirs.edges), nodes=range(len(theirs))).fingerprint
    assert groups(datasets.labels("barbell", clique=clique, path=path)) == orbits(graph)


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
    assert datasets.labels("mirrored_karate")["b", 5] == (5,)


def test_without_networkx_the_remedy_is_named(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "networkx", None)
    assert "pip install 'netfold[demo]'" in refused(datasets.load, "karate")
    assert datasets.load("barbell").n_nodes == 30


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
    group = {node: g for node, (g,) in datasets.labels("planted_triples", **size, edges=0).items()}
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


# -------------------------------------------------------------------- random graphs


def close(found: float, expected: float, sigma: float) -> bool:
    """Within five standard deviations: one failure in two million."""
    return abs(found - expected) <= 5 * sigma


@pytest.mark.parametrize("count, among", [(1, 6), (2, 6), (4, 6), (0, 3), (3, 3)])
def test_distinct_takes_every_set_as_often(count: int, among: int):
    rng, runs = np.random.default_rng(0), 3000
    found = Counter(tuple(sorted(distinct(rng, count, among).tolist())) for _ in range(runs))
    sets = list(itertools.combinations(range(among), count))
    p = 1 / len(sets)
    assert set(found) == set(sets)
    assert all(close(found[s] / runs, p, math.sqrt(p * (1 - p) / runs)) for s in sets)


def test_every_pair_of_a_block_model_is_linked_as_often_as_it_should_be():
    sizes, p_in, p_out, runs = (4, 1, 3), 0.6, 0.2, 1500
    total = np.zeros((8, 8))
    for seed in range(runs):
        graph, blocks = datasets.stochastic_block_model(sizes, p_in, p_out, seed=seed)
        total += graph.adjacency.toarray()
    assert blocks == dict(enumerate([0, 0, 0, 0, 1, 2, 2, 2]))
    for i, j in itertools.product(range(8), repeat=2):
        p = 0.0 if i == j else p_in if blocks[i] == blocks[j] else p_out
        assert close(total[i, j] / runs, p, math.sqrt(p * (1 - p) / runs)), (i, j)


def test_the_block_model_of_the_benchmark():
    graph, blocks = datasets.stochastic_block_model()
    block = np.array([blocks[i] for i in range(10_000)])
    rows, columns = graph.adjacency.nonzero()
    inside, n_in, n_out = int((block[rows] == block[columns]).sum()) // 2, 10 * 1000 * 999 // 2, 45 * 1000 * 1000
    assert close(inside, n_in * 0.01, math.sqrt(n_in * 0.01))
    assert close(graph.n_edges - inside, n_out / 900, math.sqrt(n_out / 900))
    assert graph.degrees.mean() == pytest.approx(20, abs=0.3) and inside / graph.n_edges == pytest.approx(0.5, abs=0.01)
    assert graph.n_self_loops == 0 and not graph.is_weighted


def test_block_models_at_the_edges():
    full, _ = datasets.stochastic_block_model([3, 4], 1, 1)
    assert full.n_edges == 21
    empty, blocks = datasets.stochastic_block_model([1], 1, 1)
    assert empty.n_edges == 0 and blocks == {0: 0}
    apart, _ = datasets.stochastic_block_model(np.array([3, 4]), 0, 1)
    assert apart.n_edges == 12


def weights(nodes: int, edges: int, exponent: float) -> np.ndarray[Any, Any]:
    """Chung and Lu's weights by their definition, i₀ found by halving."""
    b = 1 - 1 / (exponent - 1)

    def shares(start: float) -> np.ndarray[Any, Any]:
        w = (np.arange(nodes) + 1 + start) ** b - (np.arange(nodes) + start) ** b
        return w / w.sum()

    low, high = 0.0, 100.0 * nodes
    if shares(0)[0] <= (2 * edges) ** -0.5:
        return shares(0)
    for _ in range(100):
        mid = (low + high) / 2
        low, high = (mid, high) if shares(mid)[0] > (2 * edges) ** -0.5 else (low, mid)
    return shares(high)


def test_chung_lu_is_its_definition():
    nodes, edges, runs, p = 9, 8, 1200, weights(9, 8, 2.5)
    ours = np.mean([datasets.chung_lu(nodes, edges, seed=s).adjacency.toarray() for s in range(runs)], axis=0)
    rng, naive = np.random.default_rng(9), np.zeros((nodes, nodes))
    for _ in range(runs):
        found: set[tuple[int, int]] = set()
        while len(found) < edges:
            u, v = sorted(rng.choice(nodes, 2, p=p).tolist())
            found |= {(u, v)} if u < v else set()
        for u, v in found:
            naive[u, v] += 1 / runs
            naive[v, u] += 1 / runs
    assert np.all(np.abs(ours - naive) <= 5 * np.sqrt(2 * 0.25 / runs))
    assert ours.sum() == pytest.approx(2 * edges)


def test_degrees_of_chung_lu_follow_the_power_law():
    nodes, edges = 100_000, 400_000
    graph = datasets.chung_lu(nodes, edges, exponent=2.5, seed=1)
    assert (graph.n_nodes, graph.n_edges, graph.n_self_loops, graph.is_weighted) == (nodes, edges, 0, False)
    expected = 2 * edges * weights(nodes, edges, 2.5)
    for part in (slice(0, 100), slice(100, 1000), slice(1000, 10_000), slice(10_000, None)):
        assert graph.degrees[part].sum() == pytest.approx(expected[part].sum(), rel=0.07)
    assert expected[0] == pytest.approx(math.sqrt(2 * edges), rel=1e-3)
    tail = graph.degrees[graph.degrees >= 30]  # Hill's estimate; half a unit, for degrees are whole numbers
    assert 1 + 1 / np.log(tail / 29.5).mean() == pytest.approx(2.5, abs=0.25)


def test_each_bit_of_a_kronecker_edge_falls_into_the_quarters():
    graph = datasets.kronecker(18, 20_000, seed=2)
    assert (graph.n_nodes, graph.n_edges, graph.n_self_loops, graph.is_weighted) == (2**18, 20_000, 0, False)
    u, v = graph.adjacency.nonzero()
    for bit in range(18):
        ones = (u >> bit & 1) + (v >> bit & 1)
        shares = np.bincount(ones, minlength=3) / len(u)
        assert shares == pytest.approx([0.57, 0.38, 0.05], abs=0.02)  # the same edge again and loops cost a little


@pytest.mark.parametrize("make", [lambda: datasets.chung_lu(100_000, 500_000), lambda: datasets.kronecker(17, 500_000)])
def test_large_random_graphs_need_memory_for_their_edges_only(make: Any):
    tracemalloc.start()
    graph = make()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert graph.n_edges == 500_000 and peak < 120 * graph.n_edges


@pytest.mark.slow
@pytest.mark.parametrize("name, size", [("chung_lu", {"nodes": 10**6}), ("kronecker", {"scale": 20})])
def test_five_million_edges(name: str, size: dict[str, int]):
    graph = datasets.load(name, edges=5_000_000, **size)
    assert graph.n_edges == 5_000_000 and graph.n_self_loops == 0


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
        assert "no classes" in refused(datasets.labels, name)
    else:
        found = datasets.labels(name)
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


# -------------------------------------------------------------------- the command line and the docs


def netfold(*args: str) -> Any:
    return CliRunner().invoke(main, ["datasets", *args])


def test_the_command_lists_what_is_known_and_where_it_is(toys: Path):
    (toys / "data" / "heavy" / "edges.csv.gz").unlink()
    lines = netfold().stdout.splitlines()
    assert lines[0].split() == ["name", "kind", "nodes", "edges", "licence", "present"]
    assert len(lines) == 1 + len(TOYS)
    assert lines[1].split() == ["toy", "graph", "5", "3", "free", str(toys / "data" / "toy")]
    assert lines[3].split()[-1] == "absent"
    found = json.loads(netfold("--json").stdout)["datasets"]
    assert [each["name"] for each in found] == list(TOYS)
    assert found[2]["present"] is None and found[2]["put_into"][0] == str(toys / "data" / "heavy")


def test_the_command_says_all_about_one(toys: Path):
    text = netfold("toy").stdout
    sha = datasets.describe("toy").file("edges").sha256
    for part in ("A title", "Ann 1999", "free", "https://a.b", "source,target,year", sha, str(toys / "data" / "toy")):
        assert part in text
    facts = json.loads(netfold("toy", "--json").stdout)
    assert facts["files"][0]["sha256"] == sha and facts["present"] == str(toys / "data" / "toy")


def test_the_command_knows_what_is_built_in():
    assert "p_in=0.01" in netfold("sbm").stdout and "built in" in netfold("sbm").stdout
    wrong = netfold("karat")
    assert wrong.exit_code == 2 and "did you mean karate" in wrong.stderr and wrong.stdout == ""


def row(known: datasets.Dataset) -> str:
    kind = " ".join([*(word for word in ("directed", "weighted") if getattr(known, word)), known.kind])
    edges, classes = "by chance" if known.edges is None else f"{known.edges:,}", known.classes or ""
    return f"| `{known.name}` | {known.title} | {kind} | {known.nodes:,} | {edges} | {classes} | {known.licence} |"


def test_the_page_lists_every_data_set():
    page = DOCS.read_text()
    for name in datasets.names():
        assert row(datasets.describe(name)) in page, row(datasets.describe(name))
    for name in BUILT_IN:
        assert f"datasets.{BUILT_IN[name].make.__name__}(" in page


# -------------------------------------------------------------------- the real ones


@needs_data
@pytest.mark.slow
@pytest.mark.parametrize("name", [n for n in datasets.names() if n not in BUILT_IN])
def test_a_data_set_has_the_counts_of_the_catalogue(name: str):
    known, graph = datasets.describe(name), datasets.load(name)
    assert graph.n_nodes == known.nodes
    if known.kind == "hypergraph":
        assert graph.n_edges + datasets.load(name, part="test").n_edges == known.edges
    else:
        assert (graph.n_edges, graph.directed, graph.is_weighted) == (known.edges, known.directed, known.weighted)
    for file in known.files:
        assert tuple(datasets.table(name, file.name)) == file.columns
    if known.classes is not None:
        found = datasets.labels(name)
        assert len({c for classes in found.values() for c in classes}) == known.classes
        graph.nodes.positions(list(found))


@needs_data
def test_karate_and_barbell_are_the_graphs_in_their_files():
    for name in ("karate", "barbell"):
        known = datasets.describe(name)
        path = Path(os.environ["NETFOLD_DATA"], name, "edges.csv.gz")
        assert hashlib.sha256(path.read_bytes()).hexdigest() == known.file("edges").sha256
        assert nf.read_edges(path).fingerprint == datasets.load(name).fingerprint
    columns = datasets.table("karate", "labels")
    assert datasets.labels("karate") == {i: (c,) for i, c in zip(*(columns[k].tolist() for k in columns), strict=True)}


@needs_data
def test_dblp_of_2015_is_the_network_of_the_paper():
    edges = datasets.table("dblp_coauthor", "edges")
    before = edges["year"] == 2015
    assert before.sum() == 205_804 and max(edges["source"][before].max(), edges["target"][before].max()) == 59_276
