"""SDNE's skip: the decoder's word on a pair and that of shared neighbors, against a loop."""

from __future__ import annotations

import numpy as np
import pytest

import netfold as nf
from netfold.evaluate.scores import pair_scores
from netfold.models.sdne import batches

OPTIONS = {"dim": 4, "hidden": (8,), "epochs": 30, "device": "cpu"}


def test_a_pair_has_what_is_decoded_and_a_share_of_each_common_neighbor() -> None:
    graph = nf.datasets.load("karate")
    plain = nf.SDNE(**OPTIONS).fit(graph, progress=False)
    model = nf.SDNE(**OPTIONS, skip=2.0).fit(graph, progress=False)
    assert (model.embedding_.vectors == plain.embedding_.vectors).all()
    dense, every = graph.adjacency.toarray() > 0, np.arange(graph.n_nodes)
    degrees, said = dense.sum(1), plain.pair_decoder(graph)(every)
    steps = np.array([[sum(1 / degrees[k] for k in every if a[k] and b[k]) for b in dense] for a in dense])
    weight = 2 * said[dense].mean() / steps[dense].mean()
    found = model.pair_decoder(graph)
    np.testing.assert_allclose(found(every), said + weight * steps, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(found(every[3:9]), found(every)[3:9], rtol=1e-5)
    np.testing.assert_allclose(pair_scores(model, graph, "decoder").rows(every[:5]), found(every)[:5], rtol=1e-5)


def test_without_any_triangle_nothing_is_added_and_too_many_paths_are_refused(monkeypatch) -> None:
    path = nf.Graph.from_edges([(i, i + 1) for i in range(6)])
    model = nf.SDNE(**OPTIONS, skip=1.0).fit(path, progress=False)
    plain = nf.SDNE(**OPTIONS).fit(path, progress=False)
    every = np.arange(7)
    assert (model.pair_decoder(path)(every) == plain.pair_decoder(path)(every)).all()
    monkeypatch.setattr(batches, "MOST_PATHS", 10)
    with pytest.raises(nf.InputError, match="skip is summed over 22 paths"):
        model.pair_decoder(path)
