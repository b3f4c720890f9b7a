"""What `plan` counts against what is measured, and what it suggests."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import netfold as nf
from netfold.io.parts import PartsFolder, write_vector_parts
from netfold.studies.choose.facts import LinkCounts, estimated_cost
from netfold.studies.plan import arcs_of_nodes, base_memory, computing, counted_memory, needed_rows, plan, suggestions
from several import added_by_fit, on_ranks, one_loss, peak_of_fit


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    rng = np.random.default_rng(0)
    place = tmp_path_factory.mktemp("plan") / "g.parts"
    nf.Graph.from_edges(rng.integers(0, 20_000, (100_000, 2))).save(place, parts=32)
    return place


def within_a_quarter(name: str, folder: Path, size: int, options: dict[str, Any], vectors: str = "") -> None:
    peak = peak_of_fit(size, name, folder, options, vectors)
    model = nf.MODELS[name](device="cpu", **options)
    assert plan(PartsFolder.open(folder, "graph"), model, ranks=size).memory == pytest.approx(peak, rel=0.25)


@pytest.mark.slow
@pytest.mark.parametrize("size", [1, 2])
@pytest.mark.parametrize("more", [{}, {"optimizer": "row_adagrad"}, {"optimizer": "adam16"}, {"hidden": ()}])
def test_memory_is_within_a_quarter_of_what_is_measured(size: int, more: dict[str, Any], folder: Path) -> None:
    within_a_quarter("sdne", folder, size, {"epochs": 2, **more})


@pytest.fixture(scope="module")
def larger(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """So many nodes that a block of columns is memory that goes back to the system when it is freed."""
    rng = np.random.default_rng(0)
    place = tmp_path_factory.mktemp("larger") / "g.parts"
    nf.Graph.from_edges(rng.integers(0, 60_000, (300_000, 2))).save(place, parts=8)
    return place


SHORT: dict[str, dict[str, Any]] = {
    "depthlgp": {"epochs": 1}, "drne": {"epochs": 1}, "line": {"epochs": 1}, "node2vec": {"epochs": 1},
    "sdne": {"epochs": 2}, "spectral": {},
}  # fmt: skip


def vectors_of(folder: Path) -> Path:
    """Random vectors of 128 in the parts of a folder, beside it: what DepthLGP extends."""
    place = folder.with_name("v.parts")
    if not place.exists():
        nodes = nf.Graph.load(folder).nodes
        drawn = np.random.default_rng(1).normal(size=(len(nodes), 128)).astype(np.float32)
        write_vector_parts(place, nodes, drawn, parts=len(PartsFolder.open(folder, "graph")))
    return place


@pytest.mark.parametrize("name", ["sdne", "line"])
def test_memory_of_a_small_fit_is_within_a_quarter_of_what_is_measured(name: str, smaller: Path) -> None:
    """Where most of it is the process itself."""
    within_a_quarter(name, smaller, 1, SHORT[name])


@pytest.mark.slow
@pytest.mark.parametrize("size", [1, 2])
@pytest.mark.parametrize("name", SHORT)
@pytest.mark.parametrize("graph", ["smaller", "folder", "larger"])
def test_memory_of_every_model_is_within_a_quarter_of_what_is_measured(
    name: str, size: int, graph: str, request: pytest.FixtureRequest
) -> None:
    folder = request.getfixturevalue(graph)
    vectors = str(vectors_of(folder)) if name == "depthlgp" else ""
    within_a_quarter(name, folder, size, SHORT[name] | ({"length": 20} if name == "node2vec" else {}), vectors)


def bytes_of_an_epoch(folder: Path, name: str) -> int:
    from netfold.cluster.ranks import start

    nf.MODELS[name](dim=16, epochs=1, device="cpu", init="none").fit(folder, progress=False)
    return start("cpu").sent


@pytest.mark.slow
@pytest.mark.parametrize(("name", "within"), [("line", 0.05), ("node2vec", 0.15)])
def test_bytes_of_steps_are_as_expected(name: str, within: float, folder: Path) -> None:
    """Walks come by the same nodes more often than chance, which is what is counted."""
    sent = on_ranks(2, bytes_of_an_epoch, folder, name, timeout=600)
    model = nf.MODELS[name](dim=16)
    assert plan(PartsFolder.open(folder, "graph"), model, ranks=2).sent == pytest.approx(np.mean(sent), rel=within)


@pytest.mark.slow
@pytest.mark.parametrize("size", [1, 2])
def test_memory_of_a_wide_drne_is_within_a_quarter_of_what_is_measured(size: int, larger: Path) -> None:
    within_a_quarter("drne", larger, size, {"epochs": 2, "dim": 64})


def test_the_base_is_that_of_the_device_and_build(monkeypatch: pytest.MonkeyPatch) -> None:
    import torch

    monkeypatch.setattr(torch.version, "cuda", None)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    cpu, gpu = base_memory("cpu"), base_memory("cuda")
    assert base_memory("auto") == gpu != cpu
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert base_memory("auto") == cpu
    monkeypatch.setattr(torch.version, "cuda", "13.0")
    assert cpu < base_memory("auto") == base_memory("cpu")


SPREAD = ("depthlgp", "drne", "line", "node2vec", "sdne", "spectral")
COUNTED = sorted(name for name, cls in nf.MODELS.items() if cls.counted)


@pytest.fixture(scope="module")
def smaller(tmp_path_factory: pytest.TempPathFactory) -> Path:
    rng = np.random.default_rng(0)
    place = tmp_path_factory.mktemp("smaller") / "g.parts"
    nf.Graph.from_edges(rng.integers(0, 5_000, (25_000, 2))).save(place, parts=8)
    return place


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "size"), [*((name, "folder") for name in COUNTED), ("spectral", "larger"), ("spectral", "smaller")]
)
def test_what_a_fit_to_a_graph_adds_is_within_a_quarter_of_what_is_measured(
    name: str, size: str, request: pytest.FixtureRequest
) -> None:
    """By the same count that `choose` gives; of Spectral with blocks that the C library keeps, and with such as go."""
    folder = request.getfixturevalue(size)
    (added,) = on_ranks(1, added_by_fit, name, folder, timeout=600)
    opened = PartsFolder.open(folder, "graph")
    assert counted_memory(nf.MODELS[name](), opened.n_nodes, opened.n_arcs) == pytest.approx(added, rel=0.25)


def test_rows_in_flight_are_those_of_one_product_or_step() -> None:
    assert nf.Spectral(dim=9)._in_flight(directed=False) == 3 * 4 * (9 + 16)
    sdne = nf.SDNE(dim=5, hidden=(7,))
    assert sdne._in_flight(directed=False) == 1.2 * sdne._sent(directed=False)


def test_choose_and_plan_count_alike() -> None:
    """Of a graph that is larger than its probes; a model that is not counted is measured by them."""
    counts = LinkCounts(np.full(50_000, 10), np.full(50_000, 10))

    def pretend(model: Any, data: Any) -> None:
        model.history_ = [{"seconds": 0.01}] * model.epochs

    for model in (nf.SDNE(), nf.DRNE(), nf.LINE(dim=16)):
        cost = estimated_cost(pretend, model, counts, budget=0)
        assert cost.bytes == counted_memory(model, 50_000, 500_000) == model._bytes(50_000, 500_000)
        assert cost.epoch == pytest.approx(0.01 * 50_000 / 600, rel=1)
    assert counted_memory(nf.DepthLGP(), 50_000, 500_000) is None and COUNTED == [
        "drne", "dvne", "line", "sdne", "spectral",
    ]  # fmt: skip


def test_the_seconds_of_an_epoch_are_those_of_short_fits(folder: Path) -> None:
    opened = PartsFolder.open(folder, "graph")
    model = nf.SDNE(dim=4, hidden=(), device="cpu")
    one, two = computing(opened, model), computing(opened, model, ranks=4)
    assert 0 < two < one < 60 and not hasattr(model, "embedding_")
    assert "computing: about 0.5 s an epoch" in str(dataclasses.replace(plan(opened, model), epoch=0.5))


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
    assert words[0].startswith("--optimizer adam16: ") and words[-1].startswith("--ranks 2: ")
    assert not any("row_adagrad" in x for x in words), "measured as worse"
    assert suggestions(opened, model, 1, 1) == ["nothing that netfold knows of fits"]


@pytest.mark.parametrize("name", sorted(set(nf.MODELS) - {"dhne"}))
def test_every_model_says_whether_it_is_spread(name: str, folder: Path) -> None:
    answer = plan(PartsFolder.open(folder, "graph"), nf.MODELS[name](), ranks=8, wire=1e9)
    assert (answer.ranks, bool(answer.why)) == ((8, False) if name in SPREAD else (1, True))
    assert answer.memory > 0 and ("not spread over ranks" in str(answer)) == bool(answer.why)
