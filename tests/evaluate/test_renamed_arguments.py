"""Old names of arguments, flags, functions and texts of tables are answered with the new ones; old tables are read."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import netfold as nf
from netfold.cli import main
from netfold.errors import InputError
from netfold.studies.reproduce import folder_of_tables
from netfold.studies.reproduce.parsing import parse

EDGES = [(i, (i + 1) % 6) for i in range(6)]
VECTORS = nf.Embedding(range(6), [[1.0, 0.0]] * 3 + [[0.0, 1.0]] * 3)
LABELS: dict[str, Any] = {"labels": dict(enumerate("aaabbb"))}
HIDDEN: dict[str, Any] = {"hidden": 0.2}


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: nf.evaluate.classification(VECTORS, **LABELS), "classification: labels is now called classes"),
        (lambda: nf.evaluate.clustering(VECTORS, **LABELS), "clustering: labels is now called classes"),
        (lambda: nf.evaluate.visualization(VECTORS, **LABELS), "visualization: labels is now called classes"),
        (lambda: nf.evaluate.out_of_sample(VECTORS, None, **LABELS), "out_of_sample: labels is now called classes"),  # type: ignore[arg-type]
        (lambda: nf.compare("sdne", EDGES, **LABELS), "compare: labels is now called classes"),
        (lambda: nf.choose(EDGES, probe=False).trial(EDGES, **LABELS), "trial: labels is now called classes"),
        (lambda: nf.report.Sheet("x", VECTORS, **LABELS), "Sheet: labels is now called classes"),
        (lambda: nf.evaluate.split_edges(EDGES, **HIDDEN), "split_edges: hidden is now called held_out"),
        (lambda: nf.evaluate.centrality(VECTORS, EDGES, **HIDDEN), "centrality: hidden is now called held_out"),
        (lambda: nf.evaluate.noise_robustness(lambda g: VECTORS, EDGES, **HIDDEN), "hidden is now called held_out"),
        (lambda: nf.compare("sdne", EDGES, {"link": HIDDEN}, progress=False), "hidden is now called held_out"),
        (lambda: nf.datasets.labels("karate"), "datasets.labels is now called datasets.classes"),
        (lambda: nf.evaluate.hide_half, "evaluate.hide_half is now called evaluate.hold_out_half"),
        (
            lambda: nf.evaluate.calibration(VECTORS, nf.evaluate.split_edges(EDGES), certainty="doubt"),
            "certainty='doubt' is now called 'mean_variance'",
        ),
    ],
)
def test_old_names_are_answered(call: Callable[[], Any], said: str) -> None:
    with pytest.raises(InputError) as e:
        call()
    assert said in str(e.value)


@pytest.mark.parametrize(
    ("args", "said"),
    [
        ("compare x.csv sdne --labels y.csv", "--labels is now called --classes"),
        ("choose x.csv --labels y.csv", "--labels is now called --classes"),
        ("report m -o r.html --labels y.csv", "--labels is now called --classes"),
        ("evaluate classification sdne x.csv --labels y.csv", "--labels is now called --classes"),
        ("evaluate link-prediction sdne x.csv --hide 0.1", "--hide is now called --held-out"),
        ("evaluate centrality sdne x.csv --hide 0.1", "--hide is now called --held-out"),
    ],
)
def test_old_flags_are_answered(args: str, said: str) -> None:
    result = CliRunner().invoke(main, args.split())
    assert result.exit_code == 2 and said in " ".join(result.output.split())


def test_tables_are_read_and_counted_by_both_names() -> None:
    path = Path(folder_of_tables()) / "dvne-cora-certain.toml"
    text = path.read_text(encoding="utf-8")
    old = text.replace("held_out = ", "hidden = ").replace('certainty = "mean_variance"', 'certainty = "doubt"')
    assert old.count("hidden = 0.2") == 1 and old.count('"doubt"') == 2
    now, before = parse(path, text), parse(path, old)
    assert now == before and all(now.recorded_for(row) is not None for row in now.rows)
    assert [now.settings(row) for row in now.rows] == [before.settings(row) for row in before.rows]
