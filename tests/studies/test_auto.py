"""`nf.auto`: a budget that is kept, the best that is taken, ties to the cheaper, and a figure that chose nothing."""

from __future__ import annotations

import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import netfold as nf
from netfold.embedder.trials import Trial, Trials
from netfold.errors import InputError, TrainingError
from netfold.models import MODELS
from netfold.studies import auto as starting
from netfold.studies import race as racing
from netfold.studies.auto import auto
from netfold.studies.choose import choose
from netfold.studies.choose.facts import Facts
from netfold.studies.choose.rules import SPACE, Entrant, entrants
from netfold.studies.machine import Budget, bytes_of
from netfold.studies.questions import Measurement
from zoo_hypergraphs import tags

GRAPH, BLOCKS = nf.datasets.stochastic_block_model((40, 40, 40), 0.2, 0.03, seed=1)

CHEAP = Entrant("node2vec", {"epochs": 0, "dim": 8}, "cheap", ())
POOR = Entrant("sdne", {"epochs": 9, "dim": 4, "hidden": (), "init": "none"}, "poor", ())
COSTLY = Entrant("sdne", {"epochs": 18, "dim": 8, "hidden": ()}, "trained", ())


def only(monkeypatch: pytest.MonkeyPatch, *some: Entrant) -> None:
    monkeypatch.setattr(starting, "entrants", lambda task, facts: list(some))


def figures(model: Any) -> dict[tuple[str, int | None], float | None]:
    return {(x.candidate, x.epochs): x.figure for x in model.trials_.rows}


# -------------------------------------------------------------------- what comes back


@pytest.mark.parametrize("task", ["link", "classify", "near", "cluster", "roles", "new-nodes"])
def test_a_fitted_model_with_its_table(task: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    only(monkeypatch, *([COSTLY, POOR] if task == "new-nodes" else [CHEAP, POOR, COSTLY]))
    best = auto(GRAPH, task, classes=BLOCKS, budget="9 trials", progress=False)
    assert best.graph_facts_["fingerprint"] == GRAPH.fingerprint, "it is fitted to everything"
    trials = best.trials_
    assert trials.task == nf.evaluate.task.task_named(task).name and trials.budget == "9 trials"
    assert trials.value is not None and 0 < trials.value <= 1
    assert (trials.deviation is not None) == (trials.value < 1)
    assert len(trials.rows) >= 2 and any(x.figure is not None for x in trials.rows)
    assert hasattr(best, "pair_score_") == (task in ("link", "near"))
    best.save(tmp_path / "best")
    again = nf.load(tmp_path / "best")
    assert again.trials_ == trials and repr(again.trials_) == repr(trials)
    assert getattr(again, "pair_score_", None) == getattr(best, "pair_score_", None)
    assert not hasattr(again.fit(GRAPH, progress=False), "trials_"), "a new fit was not chosen"


def test_a_hypergraph_is_raced_too(monkeypatch: pytest.MonkeyPatch) -> None:
    only(
        monkeypatch, Entrant("dhne", {"epochs": 2, "dim": 4}, "", ()), Entrant("dhne", {"epochs": 2, "dim": 2}, "", ())
    )
    best = auto(tags(), "tuples", budget="2 trials", progress=False)
    assert type(best) is nf.DHNE and best.trials_.figure == "AUC"


def test_what_costs_a_second_is_raced_on_hyperedges_too() -> None:
    """Spectral, of the pairs of nodes that share hyperedges: tuples are scored by the cosines of their pairs; and DHNE
    without epochs, which adds how often they meet."""
    rng = np.random.default_rng(0)
    some = {tuple(int(20 * k + 10 * (g % 2) + rng.integers(10)) for k in range(3)) for g in range(160)}
    whole = nf.Hypergraph.from_tuples(sorted(some), {i: "abc"[i // 20] for i in range(60)})
    best = auto(whole, "tuples", budget="2 trials", progress=False)
    assert {x.candidate.split("(")[0]: x.figure is not None for x in best.trials_.rows[:2]} == {
        "Spectral": True,
        "DHNE": True,
    }
    assert best.epochs == 0 and len(best.embedding_) == whole.n_nodes
    split = nf.evaluate.split_hyperedges(whole, 0.2, seed=1)
    value = nf.evaluate.held_out_hyperedges(best, split, baselines=False).figures["AUC"]
    assert best.trials_.value is not None and best.trials_.value > 0.6 and value > 0.6


def test_those_without_epochs_are_measured_on_all_parts_first(monkeypatch: pytest.MonkeyPatch) -> None:
    trained = Entrant("sdne", {"epochs": 1, "dim": 2, "hidden": ()}, "trained", ())
    only(monkeypatch, trained, CHEAP, Entrant("node2vec", {"epochs": 0, "dim": 2}, "cheap", ()))
    best = auto(GRAPH, "link", budget="20cpu", progress=False)
    rows = [x for x in best.trials_.rows if x.candidate.startswith("Node2Vec")]
    assert len(rows) == 2 and {x.folds for x in rows} == {5}
    assert [x.candidate[:4] for x in best.trials_.rows][:2] == ["Node"] * 2


def test_a_bipartite_graph_is_a_graph() -> None:
    rng = np.random.default_rng(0)
    links = [(f"user {i}", f"item {j}") for i in range(30) for j in range(20) if rng.random() < 0.2]
    best = auto(links, "link", budget="2 trials", progress=False)
    assert len(best.embedding_) == len({x for link in links for x in link}) and best.trials_.value is not None


def test_ten_nodes_have_an_answer() -> None:
    ring = nf.Graph.from_edges([(i, (i + k) % 10) for i in range(10) for k in (1, 2)])
    for task in ("link", "classify", "cluster"):
        best = auto(ring, task, classes={i: i // 5 for i in range(10)}, budget="2 trials", progress=False)
        assert len(best.embedding_) == 10 and best.trials_.value is not None and 0 <= best.trials_.value <= 1
        assert best.trials_.deviation is None, "two that are asked do not say how sure that is"
    two = {i: "ab"[i // 40 == 1] for i in range(120)}
    apart = nf.Graph.from_edges([(i, j) for i in range(120) for j in range(i) if two[i] == two[j] and (i + j) % 3 == 0])
    perfect = auto(apart, "classify", classes=two, budget="2 trials", progress=False).trials_
    assert (perfect.value, perfect.deviation) == (1.0, None), "24 of 24 are not all"
    twenty = nf.Graph.from_edges([(i, (i + k) % 20) for i in range(20) for k in (1, 2)])
    best = auto(twenty, "new-nodes", budget="2cpu", progress=False)  # probes what is fitted over another model
    assert len(best.embedding_) == 20


# -------------------------------------------------------------------- who wins


def stub(monkeypatch: pytest.MonkeyPatch, figure: Any) -> None:
    """Every part answers what `figure(model)` says, with the same groups for all."""
    noise = np.linspace(-0.001, 0.001, 10)

    def questions(graph: Any, task: Any, classes: Any, seed: int, seconds: float) -> Any:
        part = lambda key: racing.Part(  # noqa: E731
            key, graph, lambda model, score: Measurement(figure(model), figure(model) + noise * figure(model))
        )
        return racing.Questions(
            task, "AUC", graph, lambda fold, nodes: part(str(fold)), lambda nodes: part("outer"), True, "nothing"
        )

    monkeypatch.setattr(starting, "questions", questions)


def test_the_best_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    only(monkeypatch, CHEAP, POOR, COSTLY)
    stub(monkeypatch, lambda model: {"Node2Vec": 0.6}.get(type(model).__name__, 0.8 if model.dim == 8 else 0.5))
    best = auto(GRAPH, budget="9 trials", progress=False)
    assert isinstance(best, nf.SDNE) and best.dim == 8 and "the best of" in best.trials_.reason


def test_ties_go_to_the_cheaper_and_it_is_said(monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    only(monkeypatch, CHEAP, COSTLY)
    rng = np.random.default_rng(0)
    noise = {name: rng.normal(0, 0.002, 10) for name in ("Node2Vec", "SDNE")}
    values = {"Node2Vec": 0.8, "SDNE": 0.803}

    def measure(model: Any, score: Any) -> Measurement:
        name = type(model).__name__
        return Measurement(values.get(name, 0.5), values.get(name, 0.5) + noise.get(name, np.zeros(10)))

    part = lambda key: racing.Part(key, GRAPH, measure)  # noqa: E731
    asked = lambda graph, task, classes, seed, seconds: racing.Questions(  # noqa: E731
        task, "AUC", graph, lambda fold, nodes: part(str(fold)), lambda nodes: part("outer"), True, "nothing"
    )
    monkeypatch.setattr(starting, "questions", asked)
    best = auto(GRAPH, budget="6 trials")
    assert isinstance(best, nf.Node2Vec)
    assert "level with SDNE(" in best.trials_.reason and "ahead by 0.0030" in best.trials_.reason
    assert "level with SDNE(" in capsys.readouterr().err
    values["SDNE"] = 0.9
    assert isinstance(auto(GRAPH, budget="6 trials", progress=False), nf.SDNE)


def test_who_waited_on_the_first_level_begins_on_the_second(monkeypatch: pytest.MonkeyPatch) -> None:
    only(monkeypatch, CHEAP, POOR, COSTLY)
    stub(monkeypatch, lambda model: {"Node2Vec": 0.6}.get(type(model).__name__, 0.8 if model.dim == 8 else 0.5))
    monkeypatch.setattr(racing, "_SHARES", (0.01, 0.75, 1.0))  # after one trial the first level is over
    best = auto(GRAPH, budget="9 trials", progress=False)
    assert isinstance(best, nf.SDNE) and best.dim == 8
    assert {x.epochs for x in best.trials_.rows if "dim=8, epochs=18" in x.candidate} >= {2}, "with what all begin with"
    best = auto(GRAPH, budget="1 trials", progress=False)
    assert isinstance(best, nf.Node2Vec)
    assert {x.why for x in best.trials_.rows if x.figure is None} == {"the budget was spent before its turn"}


def test_one_that_was_measured_on_fewer_parts_must_be_ahead_by_more_than_the_error() -> None:
    def run(figure: float, parts: int) -> racing.Trying:
        noise = 0.02 * np.random.default_rng(int(1000 * figure)).normal(size=10)
        measured = {str(k): Measurement(figure, figure + noise) for k in range(parts)}
        return racing.Trying(racing.Candidate(nf.Spectral(), 0, ""), None, 10, measured)

    sure, once, far = run(0.70, 5), run(0.71, 1), run(0.95, 1)
    assert racing._surest([once, sure]) is sure, "by chance"
    assert racing._surest([far, once, sure]) is far
    assert racing._surest([run(0.71, 5), sure]).parts["0"].figure == 0.71, "of as many parts the better one"


def test_of_those_that_are_level_the_better_is_taken_and_not_the_one_with_more_parts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    noise = np.random.default_rng(0).normal(0, 0.02, 10)

    def candidate(model: Any, kind: str, figure: float, parts: int, spread: float) -> racing.Candidate:
        measured = {str(k): Measurement(figure, figure + spread * noise) for k in range(parts)}
        made = racing.Candidate(model, 0, kind)
        made.runs.append(racing.Trying(made, None, GRAPH.n_nodes, measured, cpu=0.1 * model.dim))
        return made

    far, near = candidate(nf.Spectral(dim=2), "a", 0.80, 5, 0.0), candidate(nf.Spectral(dim=4), "b", 0.83, 3, 0.0)
    both = candidate(nf.Spectral(dim=8), "joined", 0.84, 3, 1.0)
    clock = racing.BudgetClock(Budget.of("10cpu"))
    asked = racing.Questions(nf.evaluate.TASKS["classification"], "F1", GRAPH, None, None, True, "")  # type: ignore[arg-type]
    race = racing.Race(asked, [far, near, both], clock, 1e12, 0, racing.LiveTable(False))
    assert race._winner()[0].candidate is near
    once = candidate(nf.Spectral(dim=16), "c", 0.828, 1, 0.5)
    race._candidates = [far, once]
    race._candidates[0].runs[0].parts = {str(k): Measurement(0.80, np.full(10, 0.80)) for k in range(5)}
    run, why = race._winner()
    assert run.candidate is far and "the best on 5 inner parts; Spectral(dim=16) is ahead by 0.0280" in why
    assert "on 1 of them, which may be chance" in why


def test_leaders_are_asked_on_as_many_parts_as_any_other() -> None:
    """So that a model that costs more is not passed over because it was asked less."""
    asked = racing.Questions(nf.evaluate.TASKS["classification"], "F1", GRAPH, None, None, True, "")  # type: ignore[arg-type]
    fitted = nf.Spectral(dim=4).fit(GRAPH, progress=False)

    def race(budget: str) -> list[racing.Candidate]:
        some = [racing.Candidate(nf.Spectral(dim=dim), dim, "") for dim in (2, 3, 4)]
        for candidate, figure, parts in zip(some, (0.7, 0.6, 0.8), (5, 1, 1), strict=True):
            measured = {f"{GRAPH.n_nodes}/{k}": Measurement(figure) for k in range(parts)}
            candidate.runs.append(racing.Trying(candidate, None, GRAPH.n_nodes, measured, fitted=fitted))
        clock = racing.BudgetClock(Budget.of(budget))
        begun = racing.Race(asked, some, clock, 1e12, 0, racing.LiveTable(False))
        for k in range(5):
            part = racing.Part(f"{GRAPH.n_nodes}/{k}", GRAPH, lambda model, _: Measurement(0.8))
            begun._parts[k, GRAPH.n_nodes] = part
        begun._ask_leaders()
        return some

    assert [len(x.runs[0].parts) for x in race("100cpu")] == [5, 1, 5], "the best, and not the worst"
    assert [len(x.runs[0].parts) for x in race("9 trials")] == [5, 1, 1], "trials are what is counted there"


def test_how_often_the_winner_can_be_asked_is_by_what_it_cost_itself() -> None:
    """And not by what the last candidate cost, on a smaller part."""
    race = racing.Race.__new__(racing.Race)
    race._clock, race._whole, race._asking = racing.BudgetClock(Budget.of("100s")), 120, 0.001
    run = racing.Trying(racing.Candidate(nf.Spectral(), 0, ""), None, 60, asking=2.0)
    assert race._asks(run) == pytest.approx(0.95 * 100 / 4, rel=0.01), "all of it is twice as large"


def clock_at(budget: str) -> tuple[racing.BudgetClock, list[float]]:
    """A clock, and what it shows."""
    clock, now = racing.BudgetClock(Budget.of(budget)), [0.0]
    clock._start, clock._now = 0.0, lambda: now[0]  # type: ignore[method-assign]
    return clock, now


def test_the_winner_is_asked_while_there_is_time_for_one_turn_like_the_last() -> None:
    race = racing.Race.__new__(racing.Race)
    race._clock, now = clock_at("100s")
    race._within_part, race._part_size = False, 120

    def measure(model: Any, score: Any) -> Measurement:
        now[0] += 30
        return Measurement(0.5, np.full(10, 0.5))

    run = racing.Trying(racing.Candidate(nf.Spectral(), 0, ""), None, 120)
    turns = [racing.Part(f"turn {k}", GRAPH, measure) for k in range(10)]
    assert len(race._outer(turns, run, nf.Spectral())) == 3
    assert len(race._outer(turns, run, nf.Spectral())) == 1, "one in any case, where it was planned"


def test_where_no_fit_more_can_be_paid_no_figure_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    only(monkeypatch, CHEAP)
    monkeypatch.setattr(racing, "_MARGIN", 0.0)
    monkeypatch.setattr(racing, "_OVER", -1.0)
    best = auto(GRAPH, "link", budget="20s", progress=False)
    assert best.trials_.value is None and len(best.trials_.lines()) == 1
    assert best.graph_facts_["fingerprint"] == GRAPH.fingerprint


def test_what_has_no_epochs_begins_with_all_that_is_asked() -> None:
    """And what is trained with a part of it."""
    race = racing.Race.__new__(racing.Race)
    race._asked: Any = SimpleNamespace(whole=SimpleNamespace(n_nodes=50_000))  # type: ignore[misc]
    race._part_size, race._candidates, race._clock, race._interrupted = 50_000, [], clock_at("60cpu")[0], False
    assert [race._nodes_on(0, trained) for trained in (False, True)] == [50_000, 10_000]
    assert [race._nodes_on(2, trained) for trained in (False, True)] == [50_000, 50_000]


@pytest.mark.parametrize(("each", "sizes"), [(0.2, [15, 120]), (2.0, [15])])
def test_a_costly_probe_is_not_repeated(each: float, sizes: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    race = racing.Race.__new__(racing.Race)
    race._clock, now = clock_at("10cpu")
    race._data, race._whole, race._seed = GRAPH, 480, 0
    probed = []

    def probe(model: Any, data: Any, clock: Any) -> racing.FitCost:
        now[0] += each
        probed.append(data.n_nodes)
        return racing.FitCost(data.n_nodes, data.n_edges, each, 0.0, 1)

    monkeypatch.setattr(racing, "probe_cost", probe)
    candidate = racing.Candidate(nf.SDNE(), 0, "")
    race._probe(candidate)
    assert probed == sizes and candidate.cost is not None and candidate.cost.nodes == sizes[-1]


@pytest.mark.parametrize("nodes", [10, 30])
def test_a_probe_of_few_nodes_is_of_them_all(nodes: int) -> None:
    race = racing.Race.__new__(racing.Race)
    race._clock = clock_at("10cpu")[0]
    ring = nf.Graph.from_edges([(i, (i + k) % nodes) for i in range(nodes) for k in (1, 2)])
    race._data, race._whole, race._seed = ring, nodes, 0
    candidate = racing.Candidate(nf.Spectral(dim=2), 0, "")
    race._probe(candidate)
    assert candidate.cost is not None and candidate.cost.nodes == min(nodes, 15)


def test_one_without_epochs_of_unknown_cost_is_given_what_the_costliest_took() -> None:
    """As nothing stops it: the last form began with a second left, and took two."""
    race = racing.Race.__new__(racing.Race)
    race._clock, race._asking = clock_at("10cpu")[0], 0.5
    race._asked: Any = SimpleNamespace(fits_whole=True)  # type: ignore[misc]
    some = [racing.Candidate(nf.Spectral(dim=dim), 0, "") for dim in (2, 3, 4)]
    race._candidates = some
    assert race._unknown(some[0]) == 0.0
    for candidate, seconds in zip(some[:2], (2.0, 1.0), strict=True):
        candidate.cost = racing.FitCost(120, 120, seconds, 0.0, 1)
        candidate.runs.append(racing.Trying(candidate, None, 120))
    assert race._unknown(some[0]) == 0.0 and race._unknown(some[2]) == 2.5
    race._asked.fits_whole = False
    assert race._unknown(some[2]) == 0.0


@pytest.mark.parametrize(
    ("task", "budget", "asked"), [("classify", "11s", 6000), ("classify", "9s", 2000), ("link", "11s", 2000)]
)
def test_classes_are_asked_of_all_of_the_graph_where_a_few_forms_can_be_fitted_to_it(
    task: str, budget: str, asked: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The order of forms on a part of WordNet said nothing about that on all of it."""
    monkeypatch.setattr(starting, "probe_cost", lambda model, data, clock: racing.FitCost(6000, 12_000, 1.0, 0.0, 1))
    graph = nf.Graph.from_edges([(i, (i + k) % 6000) for i in range(6000) for k in (1, 2)])
    ample = starting._AMPLE[not nf.evaluate.TASKS[starting.task_named(task).name].split]
    some = [racing.Candidate(nf.Spectral(), 0, "")]
    assert starting._size(some, graph, clock_at(budget)[0], ample) == asked


def test_what_is_fitted_over_another_model_is_probed_at_any_size(monkeypatch: pytest.MonkeyPatch) -> None:
    """As that one is fitted before its first epoch, and nothing stops it there."""
    probed: list[str] = []

    def probe(self: Any, candidate: racing.Candidate) -> None:
        probed.append(type(candidate.model).__name__)
        candidate.cost = racing.FitCost(120, GRAPH.n_edges, 1000.0, 0.0, 1)

    monkeypatch.setattr(racing.Race, "_probe", probe)
    only(monkeypatch, COSTLY, Entrant("depthlgp", {}, "", ()))
    best = auto(GRAPH, "new-nodes", budget="3cpu", progress=False)
    assert probed == ["DepthLGP"] and isinstance(best, nf.SDNE)


def test_a_fit_of_unknown_cost_leaves_others_their_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    long = Entrant("sdne", {"epochs": 1_000_000, "dim": 4, "hidden": (), "tolerance": 0.0}, "", ())
    only(monkeypatch, CHEAP, long, COSTLY)
    best = auto(GRAPH, "classify", classes=BLOCKS, budget="3cpu", progress=False)
    tried = {x.candidate.split(",")[0]: x.epochs for x in best.trials_.rows if x.candidate.startswith("SDNE")}
    assert set(tried) == {"SDNE(dim=4", "SDNE(dim=8"} and all(tried.values())


def test_what_has_no_epochs_gets_seconds_or_a_third() -> None:
    shares = {}
    for budget in ("5cpu", "10cpu", "15s", "60cpu", "300s", "20 trials"):
        race = racing.Race.__new__(racing.Race)
        race._clock = racing.BudgetClock(Budget.of(budget))
        shares[budget] = race._cheap_share
    assert shares == pytest.approx(
        {"5cpu": 0.6, "10cpu": 0.6, "15s": 0.4, "60cpu": 1 / 3, "300s": 1 / 3, "20 trials": 0.6}
    )


def test_more_epochs_only_where_they_pay(monkeypatch: pytest.MonkeyPatch) -> None:
    only(monkeypatch, COSTLY, CHEAP)
    stub(monkeypatch, lambda model: 0.5 if isinstance(model, nf.Node2Vec) else 0.9 - 0.01 * len(model.history_))
    best = auto(GRAPH, budget="9 trials", progress=False)
    assert len(best.history_) == 2, "the first level's epochs were the best"
    stub(monkeypatch, lambda model: 0.5 if isinstance(model, nf.Node2Vec) else 0.1 + 0.04 * len(model.history_))
    assert len(auto(GRAPH, budget="9 trials", progress=False).history_) == 18


def test_a_candidate_that_cannot_is_a_row_that_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    only(monkeypatch, CHEAP, COSTLY)

    def fit(self: Any, *args: Any, **more: Any) -> Any:
        raise TrainingError("the loss is nan")

    monkeypatch.setattr(nf.SDNE, "fit", fit)
    best = auto(GRAPH, "link", budget="6 trials", progress=False)
    assert [x.why for x in best.trials_.rows if x.candidate.startswith("SDNE")] == ["the loss is nan"]
    only(monkeypatch, CHEAP, COSTLY)
    monkeypatch.setattr(nf.Node2Vec, "fit", lambda self, *a, **k: fit(self) if len(a[0].nodes) > 60 else self)
    with pytest.raises(InputError, match="nothing could be fitted within 6 trials: .*the loss is nan"):
        auto(GRAPH, "link", budget="6 trials", progress=False)


def test_a_perfect_figure_ends_the_race(monkeypatch: pytest.MonkeyPatch) -> None:
    only(monkeypatch, CHEAP, COSTLY, POOR)
    stub(monkeypatch, lambda model: 1.0 if isinstance(model, nf.Node2Vec) else 0.9)
    monkeypatch.setattr(racing, "_is_perfect", lambda x: x.figure >= 1)
    best = auto(GRAPH, budget="30 trials", progress=False)
    assert len(best.trials_.rows) == 3 and "nothing can be better" in best.trials_.reason


# -------------------------------------------------------------------- the budget


def test_the_same_trials_for_the_same_seed(monkeypatch: pytest.MonkeyPatch) -> None:
    only(monkeypatch, CHEAP, POOR, COSTLY)
    one, two, other = (auto(GRAPH, "link", budget="7 trials", seed=seed, progress=False) for seed in (5, 5, 6))
    assert figures(one) == figures(two) != figures(other)
    assert np.array_equal(one.embedding_.vectors, two.embedding_.vectors)
    assert (one.trials_.value, one.trials_.chosen) == (two.trials_.value, two.trials_.chosen)


@pytest.mark.parametrize("unit", ["s", "cpu"])
def test_a_budget_is_kept(unit: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Epochs that sleep (or spin): far more of them than the budget has time for."""
    long = Entrant("sdne", {"epochs": 100_000, "dim": 4, "hidden": (), "tolerance": 0.0}, "", ())
    only(monkeypatch, CHEAP, long)
    nf.SDNE(dim=4, epochs=1).fit(GRAPH, progress=False)
    now = time.process_time if unit == "cpu" else time.perf_counter
    start = now()
    best = auto(GRAPH, "link", budget=f"3{unit}", progress=False)
    assert now() - start < 3.6 and best.trials_.spent is not None and best.trials_.spent < 3.45
    assert best.graph_facts_["fingerprint"] == GRAPH.fingerprint


@pytest.mark.parametrize(
    ("text", "amount", "unit"), [("60s", 60, "s"), ("5m", 300, "s"), (90, 90, "s"), ("1.5 h", 5400, "s"),
                                 ("60cpu", 60, "cpu"), ("20 trials", 20, "trials"), ("1 trial", 1, "trials")],
)  # fmt: skip
def test_budgets(text: Any, amount: float, unit: str) -> None:
    assert Budget.of(text) == Budget(amount, unit)


@pytest.mark.parametrize("text", ["", "soon", "-5s", "0s", "10 parsecs", None, "5s5s"])
def test_what_is_no_budget(text: Any) -> None:
    with pytest.raises(InputError, match="budget=.*60cpu or '20 trials'"):
        auto(GRAPH, budget=text, progress=False)


def test_memory_leaves_out_what_needs_more(monkeypatch: pytest.MonkeyPatch) -> None:
    only(monkeypatch, CHEAP, COSTLY)
    with pytest.raises(InputError, match="MiB estimated, more than is allowed"):
        auto(GRAPH, "link", budget="20s", memory="1 B", progress=False)
    for text in ("much", "-1GiB", "0"):
        with pytest.raises(InputError, match="memory=.*8GiB"):
            auto(GRAPH, memory=text, progress=False)
    assert bytes_of("4GiB") == 4 * 2**30 and bytes_of("500MB") == 5e8 and bytes_of(7) == 7


def test_a_graph_that_is_too_large_for_the_budget_is_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(starting, "_SMALL", 100)
    monkeypatch.setattr(starting, "probe_cost", lambda model, data, clock: racing.FitCost(100, 100, 60.0, 1.0, 1))
    with pytest.raises(InputError, match=r"a budget of 10 s is too little for Graph\(120 nodes.*is estimated to take"):
        auto(GRAPH, "link", budget="10s", progress=False)


def little(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the graph of 120 nodes be a large one, of which a fit is estimated to take 4 of 20 seconds."""
    monkeypatch.setattr(starting, "_SMALL", 100)
    monkeypatch.setattr(starting, "_LEAST", 50)
    monkeypatch.setattr(
        starting, "probe_cost", lambda model, data, clock: racing.FitCost(120, GRAPH.n_edges, 4.0, 0.0, 1)
    )


@pytest.mark.parametrize("task", ["link", "classify", "new-nodes"])
def test_with_a_little_budget_a_part_is_asked_and_everything_fitted(
    task: str, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    only(monkeypatch, *([COSTLY, POOR] if task == "new-nodes" else [CHEAP, COSTLY]))
    little(monkeypatch)
    monkeypatch.setattr(starting, "_SPLIT", 25)
    best = auto(GRAPH, task, classes=BLOCKS if task == "classify" else None, budget="20cpu")
    assert {x.nodes for x in best.trials_.rows} == {50} and "within a part of 50 nodes" in best.trials_.on
    assert best.trials_.deviation is None, "how far all of them are from a part nobody knows"
    assert best.graph_facts_["fingerprint"] == GRAPH.fingerprint and best.trials_.value is not None
    assert "models are compared on a part of 50 nodes" in capsys.readouterr().err


@pytest.mark.parametrize("task", ["link", "classify", "new-nodes"])
def test_the_figure_is_of_all_of_the_graph_where_that_can_be_paid(task: str, monkeypatch: pytest.MonkeyPatch) -> None:
    only(monkeypatch, *([COSTLY, POOR] if task == "new-nodes" else [CHEAP, COSTLY]))
    little(monkeypatch)
    best = auto(GRAPH, task, classes=BLOCKS if task == "classify" else None, budget="20cpu", progress=False)
    assert {x.nodes for x in best.trials_.rows} == {50, 120}, "on a part first"
    assert "within a part" not in best.trials_.on and best.trials_.value is not None
    assert best.graph_facts_["fingerprint"] == GRAPH.fingerprint
    monkeypatch.setattr(racing, "_MARGIN", 0.0)
    monkeypatch.setattr(racing, "_OVER", -1.0)  # nothing can be paid
    best = auto(GRAPH, task, classes=BLOCKS if task == "classify" else None, budget="20cpu", progress=False)
    assert ("within a part of 50 nodes" in best.trials_.on) == (task != "classify"), "classes need no fit of their own"


def test_what_cannot_be_fitted_to_everything_in_time_does_not_win(monkeypatch: pytest.MonkeyPatch) -> None:
    only(monkeypatch, CHEAP, Entrant("node2vec", {"epochs": 0, "dim": 16}, "better", ()))
    stub(monkeypatch, lambda model: 0.9 if model.dim == 16 else 0.6)
    assert auto(GRAPH, budget="20cpu", progress=False).dim == 16
    fit = racing.Race._fit

    def costly(self: Any, run: Any, *args: Any) -> Any:
        fitted = fit(self, run, *args)
        run.candidate.cost = racing.FitCost(60, GRAPH.n_edges, 30.0 if fitted.dim == 16 else 0.1, 0.0, 1)
        return fitted

    monkeypatch.setattr(racing.Race, "_fit", costly)
    little(monkeypatch)
    monkeypatch.setattr(starting, "_SPLIT", 25)
    best = auto(GRAPH, budget="20cpu", progress=False)
    assert best.dim == 8 and "among those that can be fitted to everything in time" in best.trials_.reason


def test_a_node_costs_more_where_there_are_more_of_them() -> None:
    cost = racing.FitCost(10_000, 100, 1.0, 0.5, 100)
    assert cost.of(0, 10_000, 100) == (1.0, 100) and cost.of(2, 5_000, 50) == (1.0, 50)
    assert cost.of(0, 200_000, 2000)[0] == pytest.approx(20 * 20**0.2)
    assert cost.of(0, 100_000, 4000)[0] == pytest.approx(20 * 10**0.2), "four times the degrees, twice the cost"
    small = racing.FitCost(2400, 24, 1.0, 0.5, 100)
    assert small.of(0, 9600, 96)[0] == pytest.approx(4.0), "what fits in a cache costs as much a node as less of it"
    assert cost.of(1, 10_000_000, 100_000) == (1000 * (3 * 1.0 + 0.5), 100_000), "but no more than three times as much"
    some = racing.FitCost(100, 100, 1.0, 0.5, 100, fixed=0.4)
    assert some.of(2, 100, 100)[0] == pytest.approx(2.0) and some.of(2, 50, 50)[0] == pytest.approx(0.4 + 0.3 + 0.5)


@pytest.mark.slow
@pytest.mark.parametrize("task", ["link", "classify", "roles"])
def test_a_large_graph_in_a_few_seconds(task: str) -> None:
    rng, n = np.random.default_rng(0), 200_000
    first = rng.integers(0, n, 5 * n)
    second = np.where(rng.random(5 * n) < 0.2, rng.integers(0, n, 5 * n), first // 1000 * 1000 + first % 997)
    named = nf.data.nodes.Nodes.of(range(n))
    graph = nf.Graph.from_codes(first, second, None, nodes=named, directed=False, duplicates="sum")
    classes = {i: i // 1000 % 10 for i in range(0, n, 7)}
    start = time.process_time()
    best = auto(graph, task, classes=None if task == "link" else classes, budget="10cpu", progress=False)
    assert time.process_time() - start < 11.5 and len(best.embedding_) == n and best.trials_.value is not None


def test_a_large_graph_is_raced_on_parts_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(racing, "_FIRST_PART", 40)
    monkeypatch.setattr(racing, "_LARGER", 1.4)
    only(monkeypatch, CHEAP, POOR, COSTLY)
    best = auto(GRAPH, "link", budget="12 trials", progress=False)
    assert {x.nodes for x in best.trials_.rows} == {40, 56, 120} and len(best.embedding_) == 120
    monkeypatch.setattr(racing, "_LARGER", 2)  # not much less than all
    best = auto(GRAPH, "link", budget="8 trials", progress=False)
    assert {x.nodes for x in best.trials_.rows} == {40, 120}


def test_ctrl_c_gives_the_best_so_far(monkeypatch: pytest.MonkeyPatch) -> None:
    only(monkeypatch, CHEAP, COSTLY)
    fit = nf.SDNE.fit

    def interrupted(self: Any, *args: Any, **more: Any) -> Any:
        monkeypatch.setattr(nf.SDNE, "fit", fit)
        raise KeyboardInterrupt

    monkeypatch.setattr(nf.SDNE, "fit", interrupted)
    best = auto(GRAPH, "link", budget="60s", progress=False)
    assert isinstance(best, nf.Node2Vec) and "interrupted" in best.trials_.reason
    assert best.graph_facts_["fingerprint"] == GRAPH.fingerprint and best.trials_.value is None
    monkeypatch.setattr(nf.Node2Vec, "fit", lambda self, g, *a, **k: self if g.n_nodes <= 60 else interrupted(self))
    with pytest.raises(KeyboardInterrupt):
        auto(GRAPH, "link", budget="60s", progress=False)


# -------------------------------------------------------------------- the table of candidates


def test_the_space_names_options_that_models_have_and_tasks_that_there_are() -> None:
    known = [x for x in SPACE if x.model in MODELS]
    for entrant in known:
        assert MODELS[entrant.model](**entrant.settings).get_params().items() >= dict(entrant.settings).items()
        assert set(entrant.tasks) <= set(nf.evaluate.TASKS) and entrant.why
    for task in nf.evaluate.TASKS.values():
        known = ("word",) if task.needs_attributes else ()
        for facts in (Facts(500, 2000, two_steps=1e4, attributes=known), Facts(500, 2000, hyperedges=True)):
            if facts.hyperedges and task.needs_attributes:
                continue
            apart = task.name in ("out-of-sample", "replay")  # of another graph, and of ways and not of models
            if ("hypergraph" if facts.hyperedges else "graph") in task.reads and not apart:
                assert entrants(task.name, facts), f"nothing to race in {task.name}"


def test_the_cheapest_form_comes_first() -> None:
    """It is what `auto` asks whether a budget is ample by."""
    for nodes, dim in ((500, None), (100_000, 32), (1_000_000, 16)):
        first = entrants("link-prediction", Facts(nodes, 4 * nodes, two_steps=1e4))[0]
        assert (first.model, first.settings["matrix"], first.settings.get("dim")) == ("spectral", "propagation", dim)


def test_what_choose_recommends_is_raced() -> None:
    for task in ("link", "classify", "roles", "near"):
        choice = choose(GRAPH, task, probe=False)
        assert (choice.rule.model, dict(choice.rule.settings)) in [(x.model, dict(x.settings)) for x in choice.race]
        assert len({(x.model, str(x.settings)) for x in choice.race}) == len(choice.race)


def test_trials_of_a_file_are_checked() -> None:
    table = Trials(
        "link-prediction", "AUC", "9 trials", (Trial("SDNE()", 3, 9, 1, 0.5, 0.1, 1.0, 7),), "SDNE()", "best"
    )
    assert Trials.from_dict(table.to_dict()) == table
    assert table.to_pandas()["figure"].tolist() == [0.5]
    for wrong in (7, {}, {"rows": 3}, table.to_dict() | {"task": 3}, table.to_dict() | {"more": 1},
                  table.to_dict() | {"rows": [{"candidate": 3}]}, table.to_dict() | {"rows": [{}]}):  # fmt: skip
        with pytest.raises(TypeError):
            Trials.from_dict(wrong)


def test_what_extends_other_vectors_is_not_joined(monkeypatch: pytest.MonkeyPatch) -> None:
    only(monkeypatch, Entrant("depthlgp", {"epochs": 1}, "", ()), COSTLY)
    best = auto(GRAPH, "new-nodes", budget="4 trials", progress=False)
    assert not any(x.candidate.startswith("Joined") for x in best.trials_.rows)
    only(monkeypatch, CHEAP, COSTLY)
    best = auto(GRAPH, "link", budget="6 trials", progress=False)
    assert any(x.candidate.startswith("Joined") and x.figure for x in best.trials_.rows)


def test_what_is_recommended_joined_is_not_counted_as_a_join_of_the_race(monkeypatch: pytest.MonkeyPatch) -> None:
    one = Entrant("joined", {"of": "spectral:dim=4,degreefeatures:dim=4"}, "", ())
    only(monkeypatch, one, CHEAP, Entrant("spectral", {"dim": 8}, "", ()))
    best = auto(GRAPH, "link", budget="9 trials", progress=False)
    joined = {x.candidate for x in best.trials_.rows if x.candidate.startswith("Joined") and x.figure}
    assert len(joined) == 2 and not any(x.count("degreefeatures") > 1 for x in joined)


def test_classes_that_are_parts_nodes_play_are_told_by_degrees() -> None:
    edges = [(f"hub {i}", f"leaf {i} {k}") for i in range(12) for k in range(4)]
    edges += [(f"hub {i}", f"hub {(i + 1) % 12}") for i in range(12)]
    classes = {node: node.split()[0] for edge in edges for node in edge}
    best = auto(nf.Graph.from_edges(edges), "classify", classes=classes, budget="9 trials", progress=False)
    found = {x.candidate: x.figure for x in best.trials_.rows}
    assert found["DegreeFeatures()"] == 1


@pytest.mark.parametrize("unsure", ["SDNE", "the cheapest"])
def test_of_those_that_cost_nothing_the_better_is_taken_where_a_costly_one_is_level(
    monkeypatch: pytest.MonkeyPatch, unsure: str
) -> None:
    """But where the better one is surely behind, the worse is too, however unsure its own figure is."""
    small = Entrant("node2vec", {"epochs": 0, "dim": 2}, "cheapest", ())
    only(monkeypatch, small, CHEAP, COSTLY)
    noise = np.random.default_rng(0).normal(0, 0.02, 10)
    values = {2: 0.80, 8: 0.805}

    def measure(model: Any, score: Any) -> Measurement:
        figure = 0.81 if isinstance(model, nf.SDNE) else values.get(model.dim, 0.5)
        noisy = isinstance(model, nf.SDNE) if unsure == "SDNE" else model.dim == 2
        return Measurement(figure, figure + (noise if noisy else 0 * noise))

    part = lambda key: racing.Part(key, GRAPH, measure)  # noqa: E731
    asked = lambda graph, task, classes, seed, seconds: racing.Questions(  # noqa: E731
        task, "AUC", graph, lambda fold, nodes: part(str(fold)), lambda nodes: part("outer"), True, "nothing"
    )
    monkeypatch.setattr(starting, "questions", asked)
    monkeypatch.setattr(racing, "_SECOND", 0.0)
    best = auto(GRAPH, budget="20cpu", progress=False)
    if unsure == "the cheapest":
        assert isinstance(best, nf.SDNE) and "the best of" in best.trials_.reason
    else:
        assert isinstance(best, nf.Node2Vec) and best.dim == 8 and "level with SDNE(" in best.trials_.reason


def test_two_side_by_side_must_be_better_than_one(monkeypatch: pytest.MonkeyPatch) -> None:
    only(monkeypatch, CHEAP, Entrant("spectral", {"dim": 8}, "another kind", ()))
    noise = np.random.default_rng(0).normal(0, 0.02, 10)
    values = {"Node2Vec": 0.80, "Spectral": 0.79, "Joined": 0.801}

    def measure(model: Any, score: Any) -> Measurement:
        name = type(model).__name__
        return Measurement(values[name], values[name] + (noise if name == "Joined" else 0 * noise))

    part = lambda key: racing.Part(key, GRAPH, measure)  # noqa: E731
    asked = lambda graph, task, classes, seed, seconds: racing.Questions(  # noqa: E731
        task, "AUC", graph, lambda fold, nodes: part(str(fold)), lambda nodes: part("outer"), True, "nothing"
    )
    monkeypatch.setattr(starting, "questions", asked)
    best = auto(GRAPH, budget="20cpu", progress=False)
    assert isinstance(best, nf.Node2Vec) and "level with Joined(" in best.trials_.reason
    values["Joined"] = 0.9
    assert isinstance(auto(GRAPH, budget="20cpu", progress=False), nf.Joined)


def test_near_is_raced_by_few_steps_first_and_a_solved_decoder_before_other_training() -> None:
    some = entrants("reconstruction", Facts(1000, 4000, two_steps=1e4))
    assert some[0].settings == {"matrix": "propagation", "steps": 4, "regularization": 0.5}
    trained = [x for x in some if x.model not in ("spectral", "node2vec")]
    assert trained[0].settings["decoder"] == "solve" and {} in [x.settings for x in trained], (
        "what is recommended, once"
    )
    assert len({(x.model, repr(x.settings)) for x in some}) == len(some)
