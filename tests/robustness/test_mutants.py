"""Lines that could be changed without a test noticing, each with the test that notices."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from scipy import sparse

import netfold as nf
from dhne_networks import epoch_of, mixed, prepared
from netfold.data.columns import Roles, edge_roles
from netfold.evaluate.ranking import Ranking
from netfold.io.ends import Interner
from netfold.io.layout import likely_delimiter
from netfold.learn.layers import xavier_
from netfold.learn.sparse_rows import SparseRows
from netfold.learn.starts import deep_belief_network, spectral_start
from netfold.models.drne import batches as drne_batches
from netfold.models.drne.batches import Sequences, colors
from netfold.models.drne.network import DRNENetwork
from netfold.models.sdne.network import SDNENetwork
from netfold.studies.choose.facts import Facts
from netfold.studies.choose.rules import entrants, rule_for

# -------------------------------------------------------------------- reading


def test_a_key_at_its_third_look_keeps_its_number_when_the_table_grows() -> None:
    table = Interner()
    table._home = lambda words: np.zeros(len(words), np.int64)  # type: ignore[method-assign]
    keys = np.arange(1, 9, dtype=np.uint64)[:, None]
    assert table.intern(keys).tolist() == list(range(8))
    bits = table._bits
    table.intern(np.repeat(keys, 400, axis=0))
    assert table._bits > bits, "it was built again"
    assert table.intern(keys).tolist() == list(range(8)) and len(table) == 8


def test_semicolons_separate_before_commas_do() -> None:
    assert likely_delimiter([(1, b"a;b;1,5")]) == b";"
    assert likely_delimiter([(1, b"a,b"), (2, b"c,d")]) == b","


@pytest.mark.parametrize("name", ["count", "weight", "value"])
def test_a_second_column_that_is_called_like_a_weight_is_an_end_alone(name: str, tmp_path: Path) -> None:
    rows = [["ann", "3"], ["bob", "3"], ["cid", "4"]]
    assert edge_roles(["user", name], rows, 2) == Roles(source=0, target=1)
    path = tmp_path / "edges.csv"
    path.write_text(f"user,{name}\n" + "".join(f"{a},{b}\n" for a, b in rows))
    graph = nf.read_edges(path)
    assert list(graph.nodes) == ["ann", "3", "bob", "cid", "4"] and not graph.is_weighted
    assert graph.reading is not None and graph.reading.roles == {"source": "user", "target": name}


# -------------------------------------------------------------------- starts


def test_the_spectral_start_is_the_one_that_is_written_down() -> None:
    """Rows of √vol D^-½ U √f(Λ), shortened to √log(1 + r²), by a dense eigendecomposition; and the offset ±√log k."""
    rng = np.random.default_rng(0)
    upper = np.triu(rng.random((9, 9)) * (rng.random((9, 9)) < 0.6), 1)
    dense, window, k = upper + upper.T, 3, 5
    first, second = spectral_start(sparse.csr_array(dense), 9, window, k, torch.Generator().manual_seed(0))
    sums = dense.sum(axis=1)
    roots = 1 / np.sqrt(sums)
    values, vectors = np.linalg.eigh(
        roots[:, None] * dense * roots - np.outer(np.sqrt(sums), np.sqrt(sums)) / sums.sum()
    )
    weights = np.array([0.0, *range(window, 0, -1)])
    powers = sum(w * values**r for r, w in enumerate(weights)) / weights.sum()
    keep = np.argsort(values)[::-1][:8]
    rows = np.sqrt(sums.sum()) * roots[:, None] * vectors[:, keep] * np.sqrt(powers[keep].clip(min=0))
    squares = (rows**2).sum(axis=1)
    rows *= (np.sqrt(np.log1p(squares)) / np.sqrt(squares))[:, None]
    found = second[:, 1:].double().numpy()
    np.testing.assert_allclose(found @ found.T, rows @ rows.T, atol=2e-3)
    np.testing.assert_allclose(second[:, 0], -math.sqrt(math.log(k)), rtol=1e-6)
    np.testing.assert_allclose(first[:, 0], math.sqrt(math.log(k)), atol=0.5 / 9)
    noise = (first - second)[:, 1:]
    assert 0.4 / 9 < float(noise.abs().max()) <= 0.5 / 9


def test_the_starting_scale_of_a_deep_belief_network() -> None:
    rows = SparseRows.from_scipy(sparse.csr_array(np.eye(40, 300, dtype=np.float32)))
    low, high = deep_belief_network([rows], (200, 100), torch.Generator().manual_seed(0), epochs=0)
    assert float(low.weight.std()) == pytest.approx(0.001, rel=0.05)
    assert float(high.weight.std()) == pytest.approx(0.1, rel=0.05)


def test_starting_weights_fill_xaviers_range() -> None:
    generator = torch.Generator().manual_seed(0)
    for fan_in, limit in ((None, math.sqrt(6 / 500)), (50.0, math.sqrt(6 / 250))):
        weight = torch.empty(300, 200)
        xavier_(weight, generator, fan_in=fan_in)
        assert 0.999 * limit < float(weight.abs().max()) <= limit
        assert abs(float(weight.mean())) < 0.01 * limit
    network = SDNENetwork(300, (40, 8), "tanh", "linear", alpha=1, beta=1, nu=0)
    network.start(generator, 20.0)
    ranges = [(network.first.table, 20 + 40), (network.last.table, 300 + 40)]
    ranges += [(w, sum(w.shape)) for w in (*network.encoder.weights, *network.decoder.weights)]
    for weight, fans in ranges:
        assert 0.95 < float(weight.detach().abs().max()) / math.sqrt(6 / fans) <= 1


# -------------------------------------------------------------------- DRNE


def test_neighbors_are_drawn_in_proportion_to_degree_by_the_batches_themselves(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []
    sampled = Sequences.sampled
    monkeypatch.setattr(Sequences, "sampled", lambda self, most, keys: asked.append(keys) or sampled(self, most, keys))
    edges = sparse.csr_array(nf.Graph.from_edges([(0, i) for i in range(1, 7)] + [(1, 2), (1, 3), (2, 3)]).adjacency)
    color = colors(edges)
    of = drne_batches.batches(Sequences.of(edges, color), torch.from_numpy(color), most=2, batch_size=None, piece=1000)
    next(iter(of(torch.Generator().manual_seed(0))))
    for node, degree in ((0, 6), (1, 3), (4, 1)):
        draws = asked[0](torch.full((40_000,), node))
        assert float(draws.mean()) == pytest.approx(1 / degree, rel=0.03)
        assert float(draws.std()) == pytest.approx(1 / degree, rel=0.03)


def test_the_start_of_drne() -> None:
    network = DRNENetwork(6, 4, lambda_=1.0)
    degrees = torch.tensor([1, 1, 2, 5, 9, 0])
    network.start(torch.Generator().manual_seed(0), degrees, "degree")
    assert network.bias.detach().tolist() == [1.0] * 4 + [0.0] * 12, "it remembers"
    logs = [math.log(int(d) + 1) for d in degrees]
    assert float(network.degree_bias.detach()) == pytest.approx(sum(logs) / 6, rel=1e-6)
    x = network.table.detach().double()
    share = ((x[2] - x[0]) / (x[4] - x[0])).tolist()
    assert share == pytest.approx([(logs[2] - logs[0]) / (logs[4] - logs[0])] * 4, rel=1e-4)
    assert not x[5].any()


def test_neighbors_of_one_degree_are_ordered_by_the_degrees_around_them() -> None:
    """Two nodes of degree 1: at the hub of a star, and at the end of a path; the hub's is the later one."""
    graph = nf.Graph.from_edges([(0, 1), (1, 2), (10, 11), (10, 12), (10, 13), (10, 14)])
    color = dict(zip(graph.nodes, colors(graph.adjacency).tolist(), strict=True))
    assert color[0] == color[2] < color[11] == color[14] < color[1] < color[10]


# -------------------------------------------------------------------- DHNE


def test_the_regularization_of_an_epoch_is_nu_times_half_the_squares_however_many_batches() -> None:
    network, made = prepared(mixed())
    squares = sum(float((p.detach() ** 2).sum()) for p in network.parameters() if p.ndim == 2)
    for size in (10**6, 7, 3):
        batches = epoch_of(network, made, batch_size=size)
        found = sum(float(network.loss(batch)["regularization"]) for batch in batches)
        assert found == pytest.approx(0.3 * 0.5 * squares, rel=1e-9), len(batches)
    assert len(batches) > 5


def test_the_start_of_a_similarity_knows_how_many_nodes_come_in() -> None:
    network, _ = prepared(mixed(), hidden=40)
    for i, form in enumerate(network.schema.forms):
        similarity = network.similarity(i)
        similarity.start(torch.Generator().manual_seed(0))
        limit = similarity._gain * math.sqrt(6 / (len(form.types) * network.dim + 40))
        largest = max(float(w.detach().abs().max()) for w in similarity.weights)
        assert 0.9 * limit < largest <= limit * (1 + 1e-6)


def test_completing_without_hyperedges_of_a_node_that_the_model_does_not_know() -> None:
    types = {f"{t}{i}": t for t in "uft" for i in range(4)} | {"f9": "f"}
    known = nf.Hypergraph.from_tuples([(f"u{i}", f"f{i}", f"t{i}") for i in range(4)] * 2, types)
    model = nf.DHNE(dim=2, epochs=1).fit(known, progress=False)
    other = nf.Hypergraph.from_tuples([("u0", "f9", "t1"), ("u0", "f0", "t2")], types)
    names = [node for node, _ in model.complete(("u0", "f0", None), k=9, exclude=other)]
    assert sorted(names) == ["t0", "t1", "t3"]


# -------------------------------------------------------------------- choosing


@pytest.mark.parametrize(
    ("task", "facts", "case"),
    [
        ("link", {"edges": 10_000, "hyperedges": True}, "10,000 hyperedges or more"),
        ("link", {"edges": 9_999, "hyperedges": True}, "fewer hyperedges"),
        ("link", {"mean_degree": 2.99}, "fewer than three links a node"),
        ("link", {"mean_degree": 3.0}, "three links a node or more"),
        ("classify", {"nodes": 200_000}, "up to 200,000 nodes"),
        ("classify", {"nodes": 200_001}, "more than 200,000 nodes"),
        ("near", {"nodes": 200_000}, "up to 200,000 nodes"),
        ("near", {"nodes": 200_001}, "more than 200,000 nodes"),
        ("roles", {"nodes": 1_000}, "1,000 nodes or more, undirected"),
        ("roles", {"nodes": 999}, "fewer than 1,000 nodes, or directed"),
        ("roles", {"nodes": 1_000, "directed": True}, "fewer than 1,000 nodes, or directed"),
        ("classify", {"nodes": 200_001, "hyperedges": True}, "hyperedges"),
        ("near", {"nodes": 200_001, "hyperedges": True}, "hyperedges"),
        ("new-nodes", {"hyperedges": True}, "hyperedges"),
        ("new-nodes", {"nodes": 10**7}, "a graph"),
        ("uncertainty", {"nodes": 10**7}, "a graph"),
    ],
)
def test_the_rule_that_a_graph_gets_at_and_beside_each_bound(task: str, facts: dict[str, Any], case: str) -> None:
    rule = rule_for(task, Facts(**{"nodes": 50, "edges": 500} | facts))
    assert (rule.task, rule.case) == (task, case)


@pytest.mark.parametrize(
    ("facts", "raced"),
    [
        ({"nodes": 200_000, "two_steps": 1e8}, True),
        ({"nodes": 200_001, "two_steps": 1e8}, False),
        ({"nodes": 200_000, "two_steps": 1e8 + 1}, False),
    ],
)
def test_shared_neighbors_are_raced_where_paths_of_two_steps_can_be_listed(facts: dict[str, Any], raced: bool) -> None:
    own = entrants("link-prediction", Facts(**{"nodes": 50, "edges": 500} | facts))
    assert any(x.settings.get("overlap") for x in own) == raced


# -------------------------------------------------------------------- others


def test_the_protocol_of_new_nodes_counts_them_and_what_is_held_out_of_them() -> None:
    rng = np.random.default_rng(0)
    graph = nf.Graph.from_edges(rng.integers(0, 60, (300, 2)), nodes=range(60))
    split = nf.evaluate.split_nodes(graph, 7, seed=3)
    new = set(split.new.tolist())
    touching = {(u, v) for u in range(60) for v in graph.neighbors(u) if u < v and {u, v} & new}
    held_out = nf.evaluate.hold_out_half(split, seed=3)
    assert held_out.split.protocol["held-out edges of new nodes"] == len(held_out.pairs) == round(len(touching) / 2)
    assert split.protocol["new"] == 7
    base = nf.Embedding(split.known.nodes, rng.normal(size=(53, 4)))
    found = nf.evaluate.out_of_sample("LocalAvg", split, base=base, seed=3)
    assert found.protocol["new nodes"] == len(split.new) == 7 and found.protocol["positives"] == len(held_out.pairs)


def test_the_width_of_a_confidence_interval() -> None:
    precisions = np.array([0.1, 0.4, 0.4, 0.9])
    fields = {"precisions": precisions, "places": np.ones(4), "best": None, "sampled": True}
    half = 1.96 * precisions.std(ddof=1) / 2
    assert Ranking(**fields).interval == {"MAP": pytest.approx(half, rel=1e-12)}
    assert Ranking(**fields | {"sampled": False}).interval == {}


@pytest.mark.parametrize(("touched", "kept"), [(3, True), (4, False), (5, False)])
def test_rows_of_which_half_of_the_columns_are_touched(touched: int, kept: bool) -> None:
    """Fewer than half are remembered; half and more are not worth it, and the product is the same."""
    dense = np.zeros((2, 8), np.float32)
    dense[:, :touched] = np.arange(1, 2 * touched + 1).reshape(2, -1)
    rows = SparseRows.from_scipy(sparse.csr_array(dense))
    out = torch.zeros(8, 3)
    rows.add_transposed_matmul(torch.ones(2, 3), out)
    np.testing.assert_allclose(out, dense.T @ np.ones((2, 3)))
    assert (rows.touched is not None) is kept
    taken = rows.take(torch.tensor([1, 0]))
    assert (taken.touched is not None) is kept
    out.zero_()
    taken.add_transposed_matmul(torch.tensor([[1.0] * 3, [0.0] * 3]), out)
    np.testing.assert_allclose(out[:, 0], dense[1])
