"""Attributes of nodes in what compares models: `compare`, `auto`, `choose`, data sets, and figures of cold nodes."""

from __future__ import annotations

import gzip
import hashlib
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import netfold as nf
from netfold.errors import InputError
from netfold.studies.choose.facts import facts_of, stand_in
from netfold.studies.choose.rules import entrants
from netfold.studies.compare import fit_with_base
from netfold.studies.datasets import catalogue
from netfold.studies.questions import questions

PLAIN, BLOCKS = nf.datasets.stochastic_block_model((30, 30), 0.2, 0.02, seed=2)
GRAPH = PLAIN.with_attributes({i: {"word": [f"w{b}", f"v{i % 7}"], "year": 1990 + i % 9} for i, b in BLOCKS.items()})


def test_models_of_links_are_fitted_to_links_alone_and_say_nothing() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        line, sdne = (fit_with_base(x, GRAPH) for x in (nf.LINE(dim=2, epochs=1), nf.SDNE(dim=2, epochs=1)))
    assert GRAPH.has_fingerprint(line.graph_facts_["fingerprint"]) and "attributes" not in line.graph_facts_
    assert GRAPH.has_fingerprint(sdne.graph_facts_["fingerprint"]) and "attributes" in sdne.graph_facts_
    assert line.graph_facts_["fingerprint"] == PLAIN.fingerprint != sdne.graph_facts_["fingerprint"]
    assert not PLAIN.has_fingerprint(sdne.graph_facts_["fingerprint"]) and not GRAPH.has_fingerprint(None)


def test_a_model_that_saw_the_test_edges_is_refused_whether_or_not_it_read_attributes() -> None:
    split = nf.evaluate.split_edges(GRAPH, 0.2)
    for seen in (GRAPH, PLAIN):
        model = fit_with_base(nf.SDNE(dim=2, epochs=1), seen)
        with pytest.raises(InputError, match="fitted to the whole graph"):
            nf.evaluate.link_prediction(model, split)


def test_compare_has_both_and_the_baselines_of_attributes() -> None:
    models = [nf.SDNE(dim=4, hidden=(8,), epochs=20), nf.LINE(dim=4, epochs=2)]
    arguments = {"classification": {"train": 0.3, "repeats": 1}}
    found = nf.compare(models, GRAPH, arguments, classes=BLOCKS, progress=False)
    assert {"SDNE", "LINE", "X alone", "P²X"} <= set(found.methods) and not any(x.why for x in found.entries)
    cold = nf.compare(models, GRAPH, "cold-start", classes=BLOCKS, progress=False)
    why = {x.method: x.why for x in cold.entries if not x.cheap}
    assert not why["SDNE"] and why["LINE"], "a model of links cannot place a node without any"


def test_auto_races_what_reads_attributes() -> None:
    facts = facts_of(GRAPH)
    assert facts.attributes == ("word", "year") and "attributes of nodes (word, year)" in str(facts)
    raced = [x.words for x in entrants("classification", facts)]
    assert {"Spectral(matrix='smoothed')", "Spectral(matrix='attributes')", "SDNE(attribute_weight=0.0)"} <= set(raced)
    assert "Spectral(matrix='smoothed')" not in [x.words for x in entrants("classification", facts_of(PLAIN))]
    best = nf.auto(GRAPH, "classify", classes=BLOCKS, budget="3 trials", progress=False)
    assert any("smoothed" in row.candidate for row in best.trials_.rows) and best.trials_.value is not None
    assert best.trials_.value > 0.9


def test_auto_asks_about_cold_nodes_without_showing_their_links() -> None:
    asked = questions(GRAPH, "cold", BLOCKS)
    outer = asked.outer(60)
    assert outer.graph.n_nodes == 54 and asked.figure == "micro-F1" and not asked.fits_whole
    best = nf.auto(GRAPH, "cold", classes=BLOCKS, budget="2 trials", progress=False)
    assert best.trials_.figure == "micro-F1" and len(best.embedding_) == 60
    with pytest.raises(InputError, match="cold-start needs attributes of nodes"):
        nf.auto(PLAIN, "cold", budget="2 trials", progress=False)


def test_choose_knows_attributes() -> None:
    choice = nf.choose(GRAPH, "classify", probe=False)
    assert repr(choice.model) == "Spectral(matrix='smoothed')"
    assert isinstance(nf.choose(GRAPH, "cold", probe=False).model, nf.SDNE)
    assert "compare with attribute_weight=0" not in nf.choose(GRAPH, "roles", probe=False).lines()[3]
    assert "DRNE(attribute_weight=0.0)" in [x.words for x in entrants("roles", facts_of(GRAPH))]
    tuples = nf.Hypergraph.from_tuples([(f"u{i}", f"f{i % 7}", f"t{i % 5}") for i in range(40)])
    known = tuples.with_attributes({node: {"year": 1990 + i} for i, node in enumerate(tuples.nodes)})
    assert "compare with attribute_weight=0" in nf.choose(known, "link", probe=False).lines()[3]
    assert "DHNE(attribute_weight=0.0)" in [x.words for x in entrants("hyperedges", facts_of(known))]
    with pytest.raises(InputError, match="cold is asked of a graph with attributes"):
        nf.choose(PLAIN, "cold", probe=False)


def test_a_small_graph_like_it_has_attributes_like_it() -> None:
    small = stand_in(GRAPH, 20)
    assert small.n_nodes == 20 and small.attributes.names == ("word", "year")


def test_data_sets_say_what_is_known_of_nodes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(
        InputError, match="nothing is known of the nodes of 'jazz'; attributes=True is for cora, dhne_m"
    ):
        nf.datasets.load("jazz", attributes=True)
    with pytest.raises(InputError, match="until=2015 and attributes=True"):
        nf.datasets.load("cora", attributes=True, until=2015)
    texts = {"edges.csv.gz": "source,target\n0,1\n1,2\n", "features.csv.gz": "node,feature\n0,7\n1,7\n2,9\n"}
    files: list[Any] = []
    (tmp_path / "toy").mkdir()
    for name, text in texts.items():
        data = gzip.compress(text.encode())
        (tmp_path / "toy" / name).write_bytes(data)
        columns = tuple(text.split("\n", 1)[0].split(","))
        digest = hashlib.sha256(data).hexdigest()
        files.append(catalogue.File(name=name, bytes=len(data), columns=columns, sha256=digest))
    monkeypatch.setenv("NETFOLD_DATA", str(tmp_path))
    facts: dict[str, Any] = {"title": "", "kind": "graph", "nodes": 3, "origin": "", "licence": ""}
    graph = catalogue.graph(catalogue.Dataset(name="toy", files=tuple(files), **facts), attributes=True)
    assert graph.attributes is not None
    assert np.array_equal(graph.attributes["feature"].values.toarray(), [[1, 0], [1, 0], [0, 1]])
    noise = [catalogue.graph(catalogue.Dataset(name="toy", files=tuple(files), **facts), noise=4) for _ in range(2)]
    assert str(noise[0].attributes) == "x: vector of 4" and noise[0].attributes == noise[1].attributes
    with pytest.raises(InputError, match="noise=4 stands in the place of attributes=True"):
        nf.datasets.load("cora", attributes=True, noise=4)
