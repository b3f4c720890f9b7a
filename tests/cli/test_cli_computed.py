"""Models that are computed and not trained, on the command line."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import netfold as nf
from command import refuse, succeed, told

pytestmark = pytest.mark.usefixtures("edges_csv")


@pytest.mark.parametrize("name", ["spectral", "degreefeatures", "graphwave"])
def test_fit_nearest_transform_and_info(name: str) -> None:
    said = succeed("fit", name, "edges.csv", "-o", "model", "--dim", "4", "--quiet").stdout
    assert "in 4 dimensions: computed in" in said and "epoch" not in said
    own = nf.MODELS[name](dim=4).fit(nf.read_edges("edges.csv"), progress=False)
    assert np.array_equal(nf.load("model").embedding_.vectors, own.embedding_.vectors)
    assert len(succeed("nearest", "model", "Ann", "-k", "2").stdout.splitlines()) >= 2
    Path("later.csv").write_text("Eve,Ann,1\nEve,Bob,2\n")
    succeed("transform", "model", "later.csv", "-o", "new.npz")
    expected = own.transform(nf.read_edges("later.csv"))["Eve"]
    assert np.array_equal(nf.Embedding.load("new.npz")["Eve"], expected)
    assert told("info", "model")["model"] == type(own).__name__


def test_parts_of_joined_are_text() -> None:
    text = "spectral:matrix=normalized,sdne:epochs=2:hidden=5"
    facts = told("fit", "joined", "edges.csv", "-o", "both", "--of", text, "--dim", "6", "--quiet")
    assert facts["dim"] == 6 and facts["epochs"] == 2 and "SDNE first_order" in facts["losses"]
    model = nf.load("both")
    assert [type(part).__name__ for part in model.parts_] == ["Spectral", "SDNE"]
    assert "cannot be a part" in refuse("fit", "joined", "edges.csv", "-o", "other", "--of", "spectral,dhne", "--quiet")


def test_the_form_is_a_flag_and_epochs_are_none() -> None:
    facts = told("fit", "spectral", "edges.csv", "-o", "model", "--matrix", "prone", "--dim", "2", "--quiet")
    assert facts["model"] == "Spectral" and nf.load("model").matrix == "prone"
    assert "--epochs" in refuse("fit", "spectral", "edges.csv", "-o", "other", "--epochs", "3")


def test_compare_gives_epochs_to_those_that_have_them() -> None:
    models = ["spectral", "degreefeatures", "sdne"]
    said = succeed(
        "compare", "edges.csv", *models, "--task", "reconstruction", "--epochs", "2", "--dim", "2", "--quiet"
    )
    assert "Spectral" in said.stdout and "DegreeFeatures" in said.stdout
