"""Weights of which a few drown all others are read by their logarithms, wherever a model reads them."""

from __future__ import annotations

import json
import logging

import numpy as np
import pytest

import netfold as nf
from netfold.embedder.problem import HEAVY
from netfold.models import MODELS

PLACING = {"spectral": {"dim": 4}, "sdne": {"dim": 4, "hidden": (8,), "epochs": 4}}
READERS = PLACING | {"line": {"dim": 4, "epochs": 2}, "node2vec": {"dim": 4, "epochs": 2, "walks": 1, "length": 10}}


def counts(heaviest: float, seed: int = 0) -> nf.Graph:
    """60 nodes whose links weigh 1 to 5, median 3, and one of them `heaviest`."""
    rng = np.random.default_rng(seed)
    ends = {tuple(sorted(pair)) for pair in rng.integers(60, size=(300, 2)).tolist() if pair[0] != pair[1]}
    weights = [float(1 + i % 5) for i in range(len(ends))]
    weights[0] = heaviest
    return nf.Graph.from_edges([(f"n{a}", f"n{b}", w) for (a, b), w in zip(sorted(ends), weights, strict=True)])


def by_hand(graph: nf.Graph) -> nf.Graph:
    """The same graph with log(1 + w / median) for its weights, edge by edge."""
    entries, nodes = graph.adjacency.tocoo(), graph.nodes
    unit = sorted(graph.adjacency.data)[(len(graph.adjacency.data) - 1) // 2]
    triples = zip(*entries.coords, entries.data, strict=True)
    edges = [(nodes[i], nodes[j], float(np.float32(np.log1p(float(w) / float(unit))))) for i, j, w in triples if i < j]
    return nf.Graph.from_edges(edges, nodes=list(nodes))


def made(name: str, **more: object) -> nf.Embedder:
    return MODELS[name](**READERS[name] | more)


def vectors(name: str, graph: nf.Graph, **more: object) -> np.ndarray:
    return made(name, **more).fit(graph, progress=False).embedding_.vectors


@pytest.mark.parametrize("name", READERS)
def test_the_logarithms_are_those_by_hand(name):
    graph = counts(5_000.0)
    np.testing.assert_array_equal(vectors(name, graph), vectors(name, by_hand(graph), weight_scale="plain"))
    assert not np.array_equal(vectors(name, graph), vectors(name, graph, weight_scale="plain"))


@pytest.mark.parametrize("name", READERS)
def test_weights_are_as_they_are_below_a_hundred_times_the_median(name):
    median = 3.0
    for heaviest, wanted in ((HEAVY * median - 0.5, "plain"), (HEAVY * median, "log")):
        graph = counts(heaviest)
        assert np.median(graph.adjacency.data) == median
        np.testing.assert_array_equal(vectors(name, graph), vectors(name, graph, weight_scale=wanted))
    light = counts(5.0)
    assert not np.array_equal(vectors(name, light), vectors(name, light, weight_scale="log"))


def test_the_unit_of_weights_does_not_matter():
    graph = counts(5_000.0)
    scaled = nf.Graph(graph.adjacency * np.float32(1024), graph.nodes)
    np.testing.assert_array_equal(vectors("spectral", graph), vectors("spectral", scaled))


@pytest.mark.parametrize("name", PLACING)
def test_new_nodes_are_read_as_the_fitted_ones_were(name, tmp_path):
    graph = counts(5_000.0)
    unit = float(np.median(graph.adjacency.data))
    later = [("new", "n1", 3_000.0), ("new", "n2", 2.0), ("newer", "n3", 1.0)]
    model, plain = made(name).fit(graph, progress=False), made(name, weight_scale="plain")
    plain.fit(by_hand(graph), progress=False)
    read = [(a, b, float(np.float32(np.log1p(w / unit)))) for a, b, w in later]
    here, there = model.transform(nf.Graph.from_edges(later)), plain.transform(nf.Graph.from_edges(read))
    for node in ("new", "newer"):
        np.testing.assert_allclose(here[node], there[node], rtol=1e-6)
    model.save(tmp_path / "saved")
    again = nf.load(tmp_path / "saved")
    np.testing.assert_array_equal(again.transform(nf.Graph.from_edges(later))["new"], here["new"])


def test_a_decoder_writes_what_was_read():
    graph = counts(5_000.0)
    one = made("sdne").fit(graph, progress=False)
    two = made("sdne", weight_scale="plain").fit(by_hand(graph), progress=False)
    rows = np.array([0, 7])
    np.testing.assert_array_equal(one.reconstruct(graph, rows), two.reconstruct(by_hand(graph), rows))
    np.testing.assert_array_equal(one.pair_decoder(graph)(rows), two.pair_decoder(by_hand(graph))(rows))


def test_settling_keeps_the_unit_of_the_fit():
    from netfold.embedder.settling import Anchors, settled

    graph = counts(5_000.0)
    model = made("sdne").fit(graph, progress=False)
    halved = nf.Graph(graph.adjacency * np.float32(0.5), graph.nodes)  # its median is another
    anchors = Anchors.of(halved, graph.adjacency, model.embedding_, model.embedding_, np.array([], np.int64))
    copy = settled(model, halved, anchors, mu=1.0, epochs=1)
    assert copy.graph_facts_["weight_unit"] == model.graph_facts_["weight_unit"] == 3.0
    assert copy.weight_scale is None


@pytest.mark.parametrize("name", ["sdne", "node2vec"])
def test_held_out_links_are_of_weights_read_once(name):
    graph = counts(5_000.0)
    asked = {"held_out": 0.2, "epochs": 2}
    one = made(name, **asked).fit(graph, progress=False)
    two = made(name, weight_scale="log", **asked).fit(graph, progress=False)
    by_itself = made(name, weight_scale="plain", **asked).fit(by_hand(graph), progress=False)
    assert one.held_out_ == two.held_out_ == by_itself.held_out_


def test_it_is_said(caplog, tmp_path, capsys):
    graph = counts(5_000.0)
    with caplog.at_level(logging.INFO, logger="netfold"):
        model = made("spectral").fit(graph, progress=True)
    assert "log(1 + w / 3)" in caplog.text + capsys.readouterr().err
    assert model.graph_facts_["weight_unit"] == 3.0
    assert (
        nf.Joined([nf.Spectral(dim=2), nf.Spectral(dim=3)]).fit(graph, progress=False).graph_facts_["weight_unit"] == 3
    )


def test_the_fingerprint_stays_that_of_the_graph():
    graph = counts(5_000.0)
    assert graph.has_fingerprint(made("spectral").fit(graph, progress=False).graph_facts_["fingerprint"])


def test_what_cannot_be_is_refused(tmp_path):
    graph = counts(5_000.0)
    with pytest.raises(nf.InputError, match="logarithms"):
        nf.Spectral(matrix="log", weight_scale="log").fit(graph, progress=False)
    with pytest.raises(nf.InputError, match="weight_scale"):
        nf.Spectral(weight_scale="root")
    np.testing.assert_array_equal(
        vectors("spectral", graph, matrix="log"), vectors("spectral", graph, matrix="log", weight_scale="plain")
    )
    saved = tmp_path / "saved"
    made("spectral").fit(graph, progress=False).save(saved)
    manifest = json.loads((saved / "manifest.json").read_text())
    manifest["graph"]["weight_unit"] = -1.0
    (saved / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(nf.InputError, match=r"damaged.*divided by -1"):
        nf.load(saved)


def test_a_sigmoid_reads_weights_up_to_one_as_they_are():
    graph = counts(5_000.0)
    small = nf.Graph(graph.adjacency / np.float32(5_000), graph.nodes)
    model = made("sdne", output="sigmoid").fit(small, progress=False)
    assert "weight_unit" not in model.graph_facts_


def test_parts_are_read_as_they_are_unless_it_is_said(tmp_path):
    graph, csv, folder = counts(5_000.0), tmp_path / "edges.csv", str(tmp_path / "big.parts")
    entries = graph.adjacency.tocoo()
    triples = zip(*entries.coords, entries.data, strict=True)
    lines = [f"n{i},n{j},{w:g}" for i, j, w in triples if i < j]
    csv.write_text("source,target,weight\n" + "\n".join(lines) + "\n")
    nf.prepare(csv, folder, parts=2)
    assert "weight_unit" not in made("spectral").fit(folder, progress=False).graph_facts_
    asked = made("spectral", weight_scale="log").fit(folder, progress=False)  # in one process: as any graph
    assert asked.graph_facts_["weight_unit"] == 3.0 and "median of all weights" in asked._unspread()
