"""Tables about Gaussians: variance against degree, links of the certain half, and what noise does."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import pytest

import netfold as nf
from netfold.errors import InputError
from netfold.evaluate.case import _fitted_like, case
from netfold.evaluate.task import task_named
from netfold.studies import reproduce
from netfold.studies.reproduce import Run, read_tables, run
from netfold.studies.reproduce.parsing import parse

ROOT = Path(__file__).parents[2]
TEXT = """
title = "A few blocks"
paper = "DVNE"
source = "Figure 9"
figures = ["Spearman", "variance at degree 2"]
smaller_is_better = ["Spearman"]

[data]
name = "sbm"
sizes = [20, 20]
p_in = 0.3
p_out = 0.05

[task]
name = "uncertainty"
largest = 2

[[rows]]
name = "DVNE"
model = "dvne"
config = { dim = 4, hidden = 8, epochs = 3 }
target = { Spearman = 1.0 }

[[rows]]
name = "DVNE_kl"
model = "dvne"
config = { dim = 4, hidden = 8, epochs = 3, energy = "kl" }
"""
OPTIONS: dict[str, Any] = {"dim": 4, "hidden": 8, "epochs": 3, "device": "cpu"}
HOW = Run(seeds=(0,), device="cpu")


def blocks(seed: int = 0) -> nf.Graph:
    graph = nf.datasets.load("sbm", sizes=[20, 20], p_in=0.3, p_out=0.05, seed=seed)
    assert isinstance(graph, nf.Graph)
    return graph


def table(task: str = "uncertainty", figures: tuple[str, ...] = ("Spearman",), **arguments: Any) -> reproduce.Table:
    made = parse(Path("blocks.toml"), TEXT)
    smaller = tuple(x for x in figures if x in ("Spearman", "ECE") or x.startswith("decline"))
    rows = tuple(dataclasses.replace(row, target={}) for row in made.rows)
    named = dataclasses.replace(made.task, name=task, arguments=arguments)
    return dataclasses.replace(made, task=named, figures=figures, smaller_is_better=smaller, rows=rows)


def test_variance_is_that_of_the_whole_graph() -> None:
    asked = table(largest=2)
    found = run(asked, Run(seeds=(3,), device="cpu")).rows["DVNE"]
    model = nf.DVNE(**OPTIONS, seed=3).fit(blocks(3), progress=False)
    direct = nf.evaluate.uncertainty(model, blocks(3), largest=2).figures
    assert found.mean["Spearman"] == pytest.approx(direct["Spearman"], rel=1e-5) and found.baselines == {}
    assert asked.figures == ("Spearman",) and direct["Spearman"] != 0


def test_the_verdict_is_on_the_rank_correlation() -> None:
    made = parse(Path("blocks.toml"), TEXT)
    told = dataclasses.replace(made, figures=("Spearman",), rows=made.rows[:1])
    found = run(told, HOW)
    assert str(reproduce.verdicts(told, told.rows[0], found.rows["DVNE"])["Spearman"]) == "reaches the target"
    falls = dataclasses.replace(told.rows[0], target={"Spearman": -1.0})
    assert "misses the target" in str(reproduce.verdicts(told, falls, found.rows["DVNE"])["Spearman"])


def test_links_of_the_certain_half_are_those_of_the_split() -> None:
    asked = table("calibration", ("AUC certain", "certain - uncertain", "ECE"), held_out=0.25, keep="connected")
    found = run(asked, HOW).rows["DVNE"]
    split = nf.evaluate.split_edges(blocks(), 0.25, keep="connected", seed=0)
    model = nf.DVNE(**OPTIONS).fit(split.train, progress=False)
    direct = nf.evaluate.calibration(model, split)
    for figure in asked.figures:
        assert found.mean[figure] == pytest.approx(direct.figures[figure], rel=1e-5)
    degree = direct.baselines["certainty by degree"]["AUC certain"]
    assert found.baselines["certainty by degree"]["AUC certain"] == pytest.approx(degree, rel=1e-5)


def test_noise_fits_the_same_options_to_noisy_graphs_and_the_clean_one_once(monkeypatch: pytest.MonkeyPatch) -> None:
    fits: list[tuple[str, str, int, int]] = []
    fit = nf.DVNE.fit

    def counted(self: nf.DVNE, graph: nf.Graph, **given: Any) -> Any:
        fits.append((self.energy, graph.fingerprint, graph.n_edges, self.seed))
        return fit(self, graph, **given)

    monkeypatch.setattr(nf.DVNE, "fit", counted)
    figures = ("AUC", "decline@10%", "decline@50%")
    asked = table("noise_robustness", figures, fractions=[0.1, 0.5], held_out=0.25)
    found = run(asked, Run(seeds=(2,), device="cpu"))
    clean = nf.evaluate.split_edges(blocks(2), 0.25, seed=2).train
    sizes = [clean.n_edges + round(part * clean.n_edges) for part in (0, 0.1, 0.5)]
    assert [(energy, edges, seed) for energy, _, edges, seed in fits] == [
        (energy, edges, 2) for energy in ("w2", "kl") for edges in sizes
    ]
    assert fits[0][1] == clean.fingerprint

    def direct(train: nf.Graph) -> nf.DVNE:
        return fit(nf.DVNE(**OPTIONS, seed=2), train, progress=False)

    expected = nf.evaluate.noise_robustness(direct, blocks(2), fractions=[0.1, 0.5], held_out=0.25, seed=2)
    for figure in figures:
        assert found.rows["DVNE"].mean[figure] == pytest.approx(expected.figures[figure], rel=1e-5, abs=1e-9)
        assert found.rows["DVNE_kl"].baselines["Adamic-Adar"][figure] == pytest.approx(
            expected.baselines["Adamic-Adar"][figure], rel=1e-5, abs=1e-9
        )


def test_repeats_have_other_splits() -> None:
    asked = case("noise_robustness", blocks(), dict, {"fractions": [0.5], "repeats": 2}, seed=0)
    model = nf.DVNE(**OPTIONS).fit(asked.graph, progress=False)
    result = asked.evaluate(model, baselines=False)
    assert result.protocol["repeats"] == 2 and result.deviations["AUC"] > 0 and not result.baselines


def test_a_model_is_fitted_again_only_to_another_graph() -> None:
    model = nf.DVNE(**OPTIONS, seed=5, energy="kl").fit(blocks(), progress=False)
    assert _fitted_like(model, blocks()) is model
    other = _fitted_like(model, blocks(1))
    assert other is not model and other.get_params() == model.get_params()
    assert other.graph_facts_["fingerprint"] == blocks(1).fingerprint != model.graph_facts_["fingerprint"]


@pytest.mark.parametrize("task", ["uncertainty", "calibration", "noise_robustness"])
def test_hypergraphs_and_unknown_arguments_are_refused(task: str) -> None:
    triples = nf.datasets.load("planted_triples")
    with pytest.raises(InputError, match=f"{task} is for a Graph, and the data are a Hypergraph"):
        case(task, triples, dict, {}, seed=0)
    with pytest.raises(InputError, match=f"{task} has no argument 'model'"):
        case(task, blocks(), dict, {"model": 1}, seed=0)


def test_points_have_no_variance_to_tabulate() -> None:
    model = nf.SDNE(dim=2, hidden=(4,), epochs=1).fit(blocks(), progress=False)
    with pytest.raises(InputError, match="has no std"):
        case("uncertainty", blocks(), dict, {}, seed=0).evaluate(model, baselines=True)


def test_the_arguments_of_the_tasks() -> None:
    assert task_named("uncertainty").arguments == ("largest", "bins")
    calibration = task_named("calibration").arguments
    assert calibration[:3] == ("held_out", "by", "keep") and "method" in calibration
    assert set(task_named("noise_robustness").arguments) == {"fractions", "held_out", "keep", "score", "repeats"}


# -------------------------------------------------------------------- the tables that come with netfold

NAMES = [f"dvne-{data}-{what}" for data in ("cora", "facebook", "blogcatalog") for what in ("variance", "certain")]
TABLES = {t.name: t for t in read_tables(ROOT / "benchmarks" / "tables")}


@pytest.mark.parametrize("name", [*NAMES, "dvne-cora-noise", "dvne-cora-parameters"])
def test_the_tables_can_be_run(name: str) -> None:
    found = TABLES[name]
    assert not found.status and found.rows and found.quick.config
    assert {row.model for row in found.rows} - {"node2vec", "line"} == {"dvne"}  # which stand beside it


def test_what_the_tables_ask_for() -> None:
    for name in NAMES:
        figure = "Spearman" if name.endswith("variance") else "certain - uncertain"
        targets = [row.target for row in TABLES[name].rows if row.target]
        assert targets and all(target == {figure: 0} for target in targets)
    noise = TABLES["dvne-cora-noise"]
    published = noise.published["DVNE"]
    assert published == {"decline@5%": 0.009, "decline@25%": 0.038, "decline@50%": 0.098}
    assert noise.rows[0].target == published | {"decline@50%": 0.08}
    rows = {row.name: row for row in TABLES["dvne-cora-parameters"].rows}
    assert set(rows) == set(TABLES["dvne-cora-parameters"].published) == {row.published for row in rows.values()}
    for name, row in rows.items():
        what, value = name.split()
        option = "alpha" if what == "alpha" else "dim"
        assert row.config[option] == (float(value) if what == "alpha" else int(value) // 2)
