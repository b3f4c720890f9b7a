"""`nf.tune`: options searched on inner parts, resumed from a file, refused before anything is fitted."""

from __future__ import annotations

import builtins
from pathlib import Path
from typing import Any

import pytest

import netfold as nf
from netfold.errors import InputError
from netfold.evaluate.task import SCORES
from netfold.studies.tune import tune

GRAPH, BLOCKS = nf.datasets.stochastic_block_model((30, 30), 0.3, 0.05, seed=1)
START = nf.Node2Vec(epochs=0)


def search(**more: Any) -> Any:
    pytest.importorskip("optuna")
    how: dict[str, Any] = {"space": {"dim": [1, 8]}, "trials": 4, "classes": BLOCKS, "progress": False}
    return tune(START, GRAPH, "classify", **how | more)


def test_the_best_of_the_table_is_fitted_to_everything(tmp_path: Path) -> None:
    best = search()
    rows = best.trials_.rows
    assert len(rows) == 4 and {x.candidate for x in rows} <= {"Node2Vec(dim=1)", "Node2Vec(dim=8)"}
    top = max(rows, key=lambda x: x.figure or 0)
    assert best.trials_.chosen == top.candidate == f"Node2Vec(dim={best.dim})"
    assert best.graph_facts_["fingerprint"] == GRAPH.fingerprint and best.epochs == 0
    assert best.trials_.value is not None and "chose nothing" in best.trials_.on
    best.save(tmp_path / "best")
    assert nf.load(tmp_path / "best").trials_ == best.trials_
    assert not hasattr(START, "embedding_") and START.dim == 128, "the model that was given is not changed"


def test_ranges_and_functions() -> None:
    best = search(space={"dim": (2, 4), "lr": (0.01, 0.1, "log")}, trials=3)
    assert 2 <= best.dim <= 4 and 0.01 <= best.lr <= 0.1
    own = search(space=lambda trial: {"dim": trial.suggest_int("d", 3, 3)}, trials=1)
    assert own.dim == 3


def test_links_choose_a_score_too() -> None:
    pytest.importorskip("optuna")
    found = tune(START, GRAPH, "link", {"dim": [4, 8]}, 2, progress=False)
    assert found.pair_score_ in SCORES and found.trials_.figure == "AUC"


def test_a_search_goes_on_where_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "search.log"
    fits: list[int] = []
    fit = nf.Node2Vec.fit

    def counted(self: Any, *args: Any, **more: Any) -> Any:
        fits.append(self.dim)
        return fit(self, *args, **more)

    monkeypatch.setattr(nf.Node2Vec, "fit", counted)
    first = search(path=path, trials=2)
    assert len(fits) == 3  # two trials, and the last fit
    second = search(path=path, trials=5)
    assert len(fits) == 3 + 4 and second.trials_.rows[:2] == first.trials_.rows
    third = search(path=path, trials=5)
    assert len(fits) == 3 + 4 + 1 and third.trials_.rows == second.trials_.rows, "there is nothing left to try"
    assert len(search(path=path, trials=1, space={"dim": [1, 2]}).trials_.rows) == 1, "another search is another one"


def test_what_cannot_be_fitted_is_a_row() -> None:
    pytest.importorskip("optuna")
    with pytest.raises(InputError, match="no trial of 2 could be measured: .*no vectors for new nodes"):
        tune(START, GRAPH, "new-nodes", {"dim": [4, 8]}, 2, classes=BLOCKS, progress=False)


@pytest.mark.parametrize(
    ("space", "words"),
    [
        ({"dims": [2]}, "Node2Vec has no option 'dims'"),
        ({"dim": [0]}, "dim=0 is not allowed"),
        ({"dim": (4, 2)}, r"space\['dim'\] is \(4, 2\); give"),
        ({"dim": (2, 4, "cubic")}, "give .least, most"),
        ({"dim": 4}, "give .least, most"),
        ({}, "give options to search"),
        (7, "give options to search"),
    ],
)
def test_what_is_no_space(space: Any, words: str) -> None:
    with pytest.raises(InputError, match=words):
        search(space=space)


def test_without_optuna_a_sentence_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def missing(name: str, *args: Any, **more: Any) -> Any:
        if name == "optuna":
            raise ImportError(name)
        return real(name, *args, **more)

    monkeypatch.setattr(builtins, "__import__", missing)
    with pytest.raises(InputError, match=r"pip install 'netfold\[tune\]'"):
        tune(START, GRAPH, "link", {"dim": [2]}, 1)


def test_a_model_by_its_name_and_what_is_none() -> None:
    pytest.importorskip("optuna")
    graph, blocks = nf.datasets.stochastic_block_model((20, 20), 0.4, 0.02)
    found = nf.tune("spectral", graph, "classify", {"dim": [2, 4]}, 2, classes=blocks, progress=False)
    assert isinstance(found, nf.Spectral) and found.dim in (2, 4)
    for model, said in ((nf.Spectral, "is no model to tune; give one"), ("spectre", "no model is called 'spectre'")):
        with pytest.raises(nf.InputError, match=said):
            nf.tune(model, graph, "classify", {"dim": [2, 4]}, 2, classes=blocks)
