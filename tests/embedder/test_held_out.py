"""`held_out`: when to stop, by links that training does not see; also with dropout, and where the start is best."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import netfold as nf
from netfold.data.edges import edge_pairs
from netfold.embedder import stopping
from netfold.embedder.stopping import _split, told_apart
from netfold.errors import InputError
from netfold.learn import skipgram

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
    looks = fitted.held_out_
    best = max(looks, key=lambda x: looks[x])
    assert 0 in looks and len(fitted.history_) == best and max(looks) - best <= model.patience
    stop = lambda record: record["epoch"] >= best  # noqa: E731
    plain = with_options(model, **({} if best else {"epochs": 0}), tolerance=0.0)
    plain.fit(GRAPH, progress=False, on_epoch=stop)
    assert np.array_equal(plain.embedding_.vectors, fitted.embedding_.vectors), "all links, for as many epochs"


def test_the_start_stays_where_training_ruins_it_and_the_fit_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    ruined = nf.Node2Vec(dim=8, epochs=3, lr=300.0, held_out=0.2).fit(GRAPH)
    assert ruined.history_ == [] and max(ruined.held_out_, key=lambda x: ruined.held_out_[x]) == 0
    said = capsys.readouterr().err
    assert f"does not beat its start: held-out links have AUC {ruined.held_out_[0]:.4f} there" in said
    assert "Node2Vec, without held-out links: epoch 1/3" in said, "the first run has its bar as well"
    start = nf.Node2Vec(dim=8, epochs=0).fit(GRAPH, progress=False)
    assert np.array_equal(ruined.embedding_.vectors, start.embedding_.vectors)


def test_node2vec_holds_links_out_by_itself_where_they_are_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    usual = {"dim": 8, "epochs": 2, "length": 10}

    def fitted(graph: nf.Graph, **options: Any) -> nf.Node2Vec:
        return nf.Node2Vec(**usual | options).fit(graph, progress=False)

    assert 300 < GRAPH.n_edges < stopping.ENOUGH_LINKS and fitted(GRAPH).held_out_ == {}
    monkeypatch.setattr(stopping, "ENOUGH_LINKS", GRAPH.n_edges)
    alone, asked = fitted(GRAPH), fitted(GRAPH, held_out=0.1)
    assert alone.held_out_ == asked.held_out_ != {}
    assert np.array_equal(alone.embedding_.vectors, asked.embedding_.vectors)
    assert fitted(GRAPH, init="none").held_out_ == fitted(GRAPH, held_out=0.0).held_out_ == {}
    assert fitted(GRAPH, epochs=0).held_out_ == {}
    monkeypatch.setattr(skipgram, "_STAYS", 10)
    assert fitted(GRAPH).held_out_ == {}, "a large graph"
    monkeypatch.undo()
    monkeypatch.setattr(stopping, "ENOUGH_LINKS", 20)
    for shape in ([(0, i) for i in range(1, 30)], [(i, j) for i in range(8) for j in range(i)]):
        assert fitted(nf.Graph.from_edges(shape)).held_out_ == {}, "a star, and all linked: nobody asked, none refuses"


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
