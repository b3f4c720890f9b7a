"""A table is run: every row over every seed, nothing fitted twice, and a reason where it cannot be."""

from __future__ import annotations

import dataclasses
import statistics
from typing import Any

import pytest

import netfold as nf
from netfold.errors import InputError
from netfold.evaluate.task import TASKS
from netfold.studies import reproduce
from netfold.studies.reproduce import Run, run
from netfold.studies.reproduce.table import COST
from published_tables import DECODER


def test_a_run_averages_what_each_seed_gives(tiny: reproduce.Table) -> None:
    found = run(tiny, Run(seeds=(3, 5), device="cpu"))
    by_hand = []
    for seed in (3, 5):
        graph = nf.datasets.load("sbm", sizes=[12, 12], p_in=0.5, p_out=0.05, seed=seed)
        model = nf.SDNE(dim=4, hidden=(6,), epochs=4, seed=seed, device="cpu").fit(graph, progress=False)
        by_hand.append(nf.evaluate.reconstruction(model, graph, score="dot", k=[20], seed=seed))
    maps = [result.figures["MAP"] for result in by_hand]
    row = found.rows["vectors"]
    assert maps[0] != maps[1]
    assert row.mean["MAP"] == pytest.approx(statistics.fmean(maps), rel=1e-5)
    assert row.sd["MAP"] == pytest.approx(statistics.stdev(maps), rel=1e-5)
    assert row.baselines.keys() == by_hand[0].baselines.keys() and row.baselines
    spectral = [result.baselines["spectral"]["MAP"] for result in by_hand]
    assert row.baselines["spectral"]["MAP"] == pytest.approx(statistics.fmean(spectral), rel=1e-5)
    assert row.mean[COST] > 0
    assert found.seeds == (3, 5) and found.rows.keys() == {"vectors", DECODER}
    assert found.rows[DECODER].mean["MAP"] != row.mean["MAP"]


def test_equal_settings_share_a_fit_and_equal_protocols_the_baselines(
    tiny: reproduce.Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    fits, asked = [], []
    fit, task = nf.SDNE.fit, nf.evaluate.reconstruction
    monkeypatch.setattr(nf.SDNE, "fit", lambda self, *a, **k: fits.append(1) or fit(self, *a, **k))

    def counted(model: Any, data: Any, *, score: str, k: Any, seed: int, baselines: bool) -> Any:
        asked.append((score, seed, baselines))
        return task(model, data, score=score, k=k, seed=seed, baselines=baselines)

    monkeypatch.setattr(nf.evaluate, "reconstruction", counted)
    same = dataclasses.replace(tiny.rows[0], name="the same")
    other = dataclasses.replace(tiny.rows[0], name="another", config={**tiny.rows[0].config, "alpha": 0.5})
    found = run(dataclasses.replace(tiny, rows=(*tiny.rows, same, other)), Run(seeds=(0, 1), device="cpu"))
    assert len(fits) == 4  # the first three rows share one; two seeds
    assert [(score, cheap) for score, seed, cheap in asked if seed == 0] == [
        ("dot", True), ("decoder", True), ("dot", False), ("dot", False),
    ]  # fmt: skip
    assert found.rows["another"].baselines == found.rows["vectors"].baselines


def test_a_quick_run_is_smaller(tiny: reproduce.Table, monkeypatch: pytest.MonkeyPatch) -> None:
    fitted = []
    fit = nf.SDNE.fit
    monkeypatch.setattr(nf.SDNE, "fit", lambda self, *a, **k: fitted.append(self.epochs) or fit(self, *a, **k))
    row = run(tiny, Run(seeds=(0,), quick=True, device="cpu")).rows["vectors"]
    assert fitted == [1]
    assert "precision@20" not in row.mean and "MAP" in row.mean  # k = 10 was asked
    assert not row.sd  # of one seed


def test_a_run_that_cannot_be_says_why(tiny: reproduce.Table) -> None:
    how = Run(seeds=(0,), device="cpu")
    with pytest.raises(InputError, match="no edge files"):
        run(dataclasses.replace(tiny, status="no edge files"), how)
    with pytest.raises(InputError, match="tiny.toml.*no argument 'scores'"):
        run(dataclasses.replace(tiny, rows=(dataclasses.replace(tiny.rows[0], task={"scores": "dot"}),)), how)
    with pytest.raises(InputError, match="did you mean 'reconstruction'"):
        run(dataclasses.replace(tiny, task=dataclasses.replace(tiny.task, name="reconstructions")), how)
    with pytest.raises(InputError, match="tiny.toml: reconstruction gave no figure 'precision@30'"):
        run(dataclasses.replace(tiny, figures=("MAP", "precision@30")), how)
    with pytest.raises(InputError, match="disagree about 'MAP'"):
        run(dataclasses.replace(tiny, smaller_is_better=("MAP",)), how)
    with pytest.raises(InputError, match="Hypergraph"):
        run(dataclasses.replace(tiny, data=dataclasses.replace(tiny.data, name="planted_triples", options={})), how)


@pytest.mark.parametrize("task", TASKS)
def test_every_task_has_a_function_that_takes_a_seed_and_baselines(task: str) -> None:
    assert callable(TASKS[task].measure) and TASKS[task].arguments
    assert not {"seed", "baselines", "graph"} & set(TASKS[task].arguments)


def test_a_task_with_labels_and_one_with_a_split(tiny: reproduce.Table) -> None:
    how, data = Run(seeds=(0,), device="cpu"), tiny.data
    bare = dataclasses.replace(tiny.rows[0], task={}, published="", target={})
    told = dataclasses.replace(tiny, figures=("accuracy@50%",), published={}, rows=(bare,))
    labels = dataclasses.replace(tiny.task, name="classification", arguments={"train": [0.5], "repeats": 1})
    assert 0 <= run(dataclasses.replace(told, task=labels), how).rows["vectors"].mean["accuracy@50%"] <= 1
    links = dataclasses.replace(tiny.task, name="link_prediction", arguments={"held_out": 0.2, "keep": "connected"})
    found = run(dataclasses.replace(told, figures=("AUC",), task=links, data=data), how).rows["vectors"]
    assert 0 <= found.mean["AUC"] <= 1 and "Adamic-Adar" in found.baselines
