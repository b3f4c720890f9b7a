"""`held_out`: when to stop, by links that training does not see; also with dropout, and where the start is best."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import netfold as nf
from netfold.data.edges import edge_pairs
from netfold.embedder.stopping import _split, told_apart
from netfold.errors import InputError

GRAPH, _ = nf.datasets.stochastic_block_model((30, 30, 30), 0.3, 0.03, seed=1)
MODELS = [
    nf.SDNE(dim=8, hidden=(), epochs=30, patience=5),
    nf.SDNE(dim=8, hidden=(16,), epochs=30, patience=5, dropout=0.3),
    nf.DVNE(dim=8, hidden=32, epochs=12, patience=3, dropout=0.2),
    nf.Node2Vec(dim=8, epochs=6, length=10, patience=2),
]


def with_options(model: Any, **options: Any) -> Any:
    return type(model)(**model.get_params() | options)


@pytest.mark.parametrize("model", MODELS, ids=repr)
def test_a_fit_ends_where_held_out_links_are_told_best(model: Any) -> None:
    fitted = with_options(model, held_out=0.2).fit(GRAPH, progress=False)
    looks = {int(epoch): auc for epoch, auc in fitted.graph_facts_["held_out"].items()}
    best = max(looks, key=lambda x: looks[x])
    assert 0 in looks and len(fitted.history_) == best and max(looks) - best <= model.patience
    stop = lambda record: record["epoch"] >= best  # noqa: E731
    plain = with_options(model, **({} if best else {"epochs": 0}), tolerance=0.0)
    plain.fit(GRAPH, progress=False, on_epoch=stop)
    assert np.array_equal(plain.embedding_.vectors, fitted.embedding_.vectors), "all links, for as many epochs"


def test_the_start_stays_where_training_ruins_it() -> None:
    ruined = nf.Node2Vec(dim=8, epochs=3, lr=300.0, held_out=0.2).fit(GRAPH, progress=False)
    assert ruined.history_ == []
    start = nf.Node2Vec(dim=8, epochs=0).fit(GRAPH, progress=False)
    assert np.array_equal(ruined.embedding_.vectors, start.embedding_.vectors)


def test_what_is_held_out_is_not_trained_on() -> None:
    for graph in (GRAPH, nf.Graph.from_scipy(GRAPH.adjacency, directed=True)):
        rest, right, wrong = _split(graph, 0.2, np.random.default_rng(0))
        links = {tuple(pair) for pair in edge_pairs(graph).tolist()}
        left = {tuple(pair) for pair in edge_pairs(rest).tolist()}
        assert {tuple(pair) for pair in right.tolist()} <= links - left and left < links
        assert rest.n_nodes == graph.n_nodes and len(wrong) == 2 * len(right)
        assert not links & {tuple(pair) for pair in wrong.tolist()} and (wrong[:, 0] != wrong[:, 1]).all()
        if not graph.directed:
            assert not links & {tuple(pair[::-1]) for pair in wrong.tolist()}


def test_the_auc_against_a_loop() -> None:
    rng = np.random.default_rng(0)
    vectors = nf.Embedding(range(9), rng.normal(size=(9, 3)).astype(np.float32))
    right, wrong = rng.integers(0, 9, (5, 2)), rng.integers(0, 9, (7, 2))
    x = vectors.vectors.astype(np.float64)
    scores = {
        "product": lambda i, j: x[i] @ x[j],
        "cosine": lambda i, j: x[i] @ x[j] / np.linalg.norm(x[i]) / np.linalg.norm(x[j]),
        "distance": lambda i, j: -np.linalg.norm(x[i] - x[j]),
    }
    loops = []
    for score in scores.values():
        wins = [(score(*a) > score(*b)) + (score(*a) == score(*b)) / 2 for a in right for b in wrong]
        loops.append(np.mean(wins))
    assert told_apart(vectors, right, wrong) == pytest.approx(max(loops))


def test_it_is_kept_in_the_file_and_refused_where_it_cannot_be(tmp_path: Path) -> None:
    fitted = with_options(MODELS[0], held_out=0.2).fit(GRAPH, progress=False)
    fitted.save(tmp_path / "model")
    again = nf.load(tmp_path / "model")
    assert again.held_out == 0.2 and again.graph_facts_["held_out"] == fitted.graph_facts_["held_out"]
    path = nf.Graph.from_edges([(0, 1), (1, 2), (2, 3)])
    with pytest.raises(InputError, match="held_out=0.5 of 3 links are too few to stop by; at least 10"):
        nf.SDNE(dim=2, held_out=0.5).fit(path, progress=False)
    whole = nf.Graph.from_edges([(i, j) for i in range(7) for j in range(i)])
    with pytest.raises(InputError, match="nearly all pairs of nodes are linked"):
        nf.SDNE(dim=2, held_out=0.2).fit(whole, progress=False)
    star = nf.Graph.from_edges([(0, i) for i in range(1, 20)])
    with pytest.raises(InputError, match="no link can be held out that leaves its nodes another"):
        nf.SDNE(dim=2, held_out=0.2).fit(star, progress=False)
    with pytest.raises(InputError, match="held_out"):
        nf.SDNE(held_out=1.0)


def test_a_run_with_a_checkpoint_goes_on_to_the_same(tmp_path: Path) -> None:
    model = with_options(MODELS[1], held_out=0.2)
    whole = with_options(model).fit(GRAPH, progress=False)
    cut = with_options(model)
    cut.fit(GRAPH, progress=False, checkpoint=tmp_path / "state", on_epoch=lambda record: record["epoch"] >= 2)
    assert len(cut.history_) == min(2, len(whole.history_))
    again = with_options(model).fit(GRAPH, progress=False, checkpoint=tmp_path / "state")
    assert np.array_equal(again.embedding_.vectors, whole.embedding_.vectors)
