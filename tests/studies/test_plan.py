"""What `plan` counts against what is measured, and what it suggests."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import netfold as nf
from netfold.io.parts import PartsFolder
from netfold.studies.plan import arcs_of_nodes, needed_rows, plan, suggestions
from several import on_ranks, one_loss, peak_of_fit


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    rng = np.random.default_rng(0)
    place = tmp_path_factory.mktemp("plan") / "g.parts"
    nf.Graph.from_edges(rng.integers(0, 20_000, (100_000, 2))).save(place, parts=32)
    return place


@pytest.mark.slow
@pytest.mark.parametrize("size", [1, 2])
@pytest.mark.parametrize("more", [{}, {"optimizer": "row_adagrad"}, {"hidden": ()}])
def test_memory_is_within_a_quarter_of_what_is_measured(size: int, more: dict[str, Any], folder: Path) -> None:
    options = {"epochs": 2, "device": "cpu", **more}
    peak = max(on_ranks(size, peak_of_fit, folder, options))
    counted = plan(PartsFolder.open(folder, "graph"), nf.SDNE(**options), ranks=size).memory
    assert counted == pytest.approx(peak, rel=0.25)


@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("more", [{}, {"alpha": 0.0}, {"row_damping": 0.5}])
def test_bytes_an_epoch_are_those_that_the_network_counts(directed: bool, more: dict[str, Any], tmp_path: Path) -> None:
    """A row that is needed costs as much by `plan` as by the formula of the network, by hand for one row."""
    rng = np.random.default_rng(0)
    nf.Graph.from_edges(rng.integers(0, 50, (90, 2)), directed=directed).save(tmp_path / "g.parts", parts=3)
    model = nf.SDNE(dim=5, hidden=(7,), init="none", **more)
    one_loss(tmp_path / "g.parts", {"dim": 5, "hidden": (7,), "init": "none", **more})
    vectors = 0 if more.get("alpha") == 0 else 5 if not directed and "row_damping" not in more else 10
    assert model._sent(directed=directed) == 4 * (4 * 7 + vectors + 2)


def test_the_rows_that_travel_are_as_many_as_expected(folder: Path) -> None:
    """Against a count over the very parts."""
    opened = PartsFolder.open(folder, "graph")
    for ranks in (2, 4, 8):
        cuts = opened.starts[np.arange(ranks + 1) * len(opened) // ranks]
        counts = []
        for r in range(ranks):
            own = range(len(opened) * r // ranks, len(opened) * (r + 1) // ranks)
            named = np.unique(np.concatenate([opened.arrays(p)["indices"] for p in own]))
            counts.append(np.count_nonzero((named < cuts[r]) | (named >= cuts[r + 1])))
        assert needed_rows(arcs_of_nodes(opened), ranks) == pytest.approx(np.mean(counts), rel=0.02)
    assert needed_rows(arcs_of_nodes(opened), 1) == 0


def test_what_fits_is_suggested(folder: Path) -> None:
    opened, model = PartsFolder.open(folder, "graph"), nf.SDNE()
    needed = plan(opened, model).memory
    assert suggestions(opened, model, 1, needed) == []
    words = suggestions(opened, model, 1, needed - 1)
    assert words[0].startswith("--optimizer row_adagrad --lr 0.1: ") and words[-1].startswith("--ranks 2: ")
    assert suggestions(opened, model, 1, 1) == ["nothing that netfold knows of fits"]


@pytest.mark.parametrize("name", sorted(set(nf.MODELS) - {"dhne"}))
def test_every_model_says_whether_it_is_spread(name: str, folder: Path) -> None:
    answer = plan(PartsFolder.open(folder, "graph"), nf.MODELS[name](), ranks=8, wire=1e9)
    assert (answer.ranks, bool(answer.why)) == ((8, False) if name in ("sdne", "spectral") else (1, True))
    assert answer.memory > 0 and ("not spread over ranks" in str(answer)) == bool(answer.why)
