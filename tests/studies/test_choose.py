"""`nf.choose`: rules that hold together, and a choice that says what speaks for it and against it."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import netfold as nf
from netfold.errors import InputError
from netfold.models import MODELS
from netfold.studies.choose import PURPOSES, RULES, Cost, Facts, choose
from netfold.studies.choose.rules import Evidence, purpose_named, rule_for, rules_table
from netfold.studies.reproduce.table import number
from zoo import karate, scattered, weighted
from zoo_hypergraphs import tags

# -------------------------------------------------------------------- the rules

GRAPHS = [
    Facts(nodes, 5 * nodes, two_steps=paths)
    for nodes in (50, 5000, 10**6)
    for paths in (100.0, 1e12)
] + [Facts(50, edges, hyperedges=True, types=("a", "b")) for edges in (90, 10**5)]  # fmt: skip
SHARING = Facts(5000, 25000, two_steps=100.0, mean_degree=10.0, clustering=0.6)
SIMILAR = Facts(500, 100_000, two_steps=100.0, mean_degree=400.0, weighted=True)
KNOWN = Facts(50, 250, two_steps=100.0, attributes=("word",))


@pytest.mark.parametrize("rule", RULES, ids=lambda r: f"{r.task}: {r.case}")
def test_every_rule_is_taken_for_some_data_and_has_settings_that_the_model_takes(rule: Any) -> None:
    assert MODELS[rule.model](**rule.settings).get_params().items() >= dict(rule.settings).items()
    taken = [x for x in GRAPHS if not (x.hyperedges and rule.task in ("roles", "uncertainty")) and rule.task != "cold"]
    taken += [KNOWN, SHARING, SIMILAR]
    assert any(rule_for(rule.task, x) is rule for x in taken)
    assert rule.why and rule.but and set(rule.others) <= set(MODELS)


@pytest.mark.parametrize("rule", RULES, ids=lambda r: f"{r.task}: {r.case}")
def test_evidence_is_there_and_was_measured_with_the_settings_where_it_says_so(rule: Any) -> None:
    for evidence in rule.evidence:
        table, row = evidence.looked_up()
        assert table.status or (row is not None and evidence.figure in table.figures)
        assert evidence.table in str(evidence)
        assert evidence.beside in ("", *(other.name for other in table.rows))
        if rule.measured:
            assert row is not None and row.model == rule.model
            config = {name: tuple(x) if isinstance(x, list) else x for name, x in row.config.items()}
            assert config == rule.settings and table.recorded_for(row) is not None
            assert " beside " in str(evidence)


def test_every_task_has_a_rule_for_all_data() -> None:
    for task in PURPOSES:
        for facts in GRAPHS:
            if facts.hyperedges and task in ("roles", "uncertainty"):
                with pytest.raises(InputError, match="clique_expansion"):
                    rule_for(task, facts)
            elif task == "cold":
                with pytest.raises(InputError, match="with attributes of nodes"):
                    rule_for(task, facts)
            else:
                assert rule_for(task, facts).task == task
        assert rule_for(task, KNOWN).task == task


def test_weights_between_most_pairs_are_read_as_similarities() -> None:
    rng = np.random.default_rng(0)
    alike = rng.random((40, 40))
    every = nf.Graph.from_scipy(np.triu(alike, 1) + np.triu(alike, 1).T)
    assert choose(every, "classify", probe=False).model.get_params()["matrix"] == "ppmi"
    others: tuple[dict[str, Any], ...] = (
        {"weighted": False}, {"mean_degree": 120.0}, {"directed": True}, {"largest_weight": 100.0},
    )  # fmt: skip
    for other in others:
        assert rule_for("classify", dataclasses.replace(SIMILAR, **other)).model == "joined"
    assert rule_for("link", SIMILAR).settings == {"matrix": "normalized"}


def test_the_page_has_the_rules() -> None:
    page = (Path(__file__).parents[2] / "docs" / "choosing.md").read_text()
    assert rules_table() in page


def test_roles_of_a_directed_graph_are_for_a_model_that_reads_directions() -> None:
    models = {way: rule_for("roles", Facts(5000, 20_000, directed=way)).model for way in (False, True)}
    assert models == {False: "drne", True: "degreefeatures"}


def test_task_names() -> None:
    assert purpose_named("new_nodes") == "new-nodes" and purpose_named("link_prediction") == "link"
    with pytest.raises(InputError, match="did you mean 'link'"):
        purpose_named("links")
    with pytest.raises(InputError, match="no rules to choose a model for 'centrality'"):
        purpose_named("centrality")


# -------------------------------------------------------------------- the choice


def test_six_lines() -> None:
    choice = choose(weighted(), "roles", probe=False)
    data, model, why, but, cost, race = choice.lines()
    assert race.startswith("auto: netfold auto would race ") and all(x.words in race for x in choice.race)
    assert data.startswith("data: 77 nodes, 254 edges, undirected, weighted")
    assert model == "for roles of nodes: DegreeFeatures()"
    assert "beside" in why and "(drne-europe)" in why
    assert "GraphWave" in but and "reads no weights" in but
    assert cost.startswith("cost: not probed on ")
    assert repr(choice).splitlines()[-1] == f"fit: nf.{choice.model!r}.fit(graph)"


@pytest.mark.parametrize(
    ("graph", "task", "words"),
    [
        (scattered(), "link", r"isolated nodes (2)"),
        (weighted(), "roles", "reads no weights"),
        (nf.Graph.from_edges([("a", "b", 1), ("b", "c", 1), ("c", "a", 500)]), None, "500 times their median"),
    ],
)
def test_what_in_the_data_speaks_against_it(graph: nf.Graph, task: str | None, words: str) -> None:
    assert words in choose(graph, task, probe=False).lines()[3]
    assert words not in choose(karate(), task, probe=False).lines()[3]


def test_figures_that_there_are_not_yet() -> None:
    why = choose(tags(), "new-nodes", probe=False).lines()[2]
    assert why.endswith("; not measured by us yet")
    missing = Evidence("sdne-grqc-links", "no such figure")
    assert missing.measured() is None and str(missing) == "not measured yet (sdne-grqc-links)"


def test_a_row_beside_another() -> None:
    one = Evidence("sdne-grqc-removed", "MAP", "SDNE, 20% removed", beside="SDNE, 60% removed")
    other = Evidence("sdne-grqc-removed", "MAP", "SDNE, 60% removed").measured()
    assert other is not None and f"beside {number(other.mean['MAP'])} by SDNE, 60% removed" in str(one)


def test_what_is_recommended_for_new_nodes_places_them() -> None:
    choice = choose(karate(), "new-nodes", probe=False, seed=3)
    assert repr(choice).endswith("nf.Spectral(seed=3).fit(graph)")
    assert [x.split()[2] for x in choice.commands()] == ["spectral"]
    split = nf.evaluate.split_nodes(karate(), 0.2, seed=0)
    assert len(choice.model.fit(split.known, progress=False).transform(split.whole)) == len(split.new)


@pytest.mark.parametrize("kind", ["to their own", "to another", "around"])
def test_vectors_for_classes_tell_those_who_link_to_others_too(kind: str) -> None:
    """Where classes link among themselves, to all others, and (directed) each to the next."""
    rng, blocks = np.random.default_rng(0), np.repeat(np.arange(3), 40)
    near = {"to their own": np.eye(3), "to another": 1 - np.eye(3), "around": np.roll(np.eye(3), 1, axis=1)}[kind]
    linked = rng.random((120, 120)) < 0.02 + 0.18 * near[blocks][:, blocks]
    linked = linked if kind == "around" else np.triu(linked, 1)
    graph = nf.Graph.from_edges(np.argwhere(linked), directed=kind == "around")
    classes = {node: str(blocks[node]) for node in graph.nodes}
    choice = choose(graph, "classify", probe=False)
    assert isinstance(choice.model, nf.Joined) and choice.commands()[0].endswith(
        "--of spectral,spectral:matrix=normalized"
    )

    def figure(model: nf.Embedder) -> float:
        how: dict[str, Any] = {"train": (0.5,), "repeats": 3, "baselines": False}
        return nf.evaluate.classification(model.fit(graph, progress=False), classes, **how).figures["micro-F1@50%"]

    assert figure(choice.model) > 0.9
    assert (figure(nf.Spectral()) > 0.7) == (kind == "to their own")


def test_times() -> None:
    assert "holding out the latest" in choose(karate(), "link", time_column="year", probe=False).lines()[3]
    assert "holding out the latest" not in choose(karate(), "classify", time_column="year", probe=False).lines()[3]


def test_a_choice_is_frozen_and_fits() -> None:
    choice = choose(karate(), "uncertainty", seed=5)
    assert choice.model.seed == 5 and isinstance(choice.cost, Cost)
    with pytest.raises(AttributeError):
        choice.task = "link"  # type: ignore[misc]
    facts = json.loads(json.dumps(choice.to_dict()))
    assert facts["model"] == "dvne" and facts["cost"]["seconds"] > 0 and facts["facts"]["nodes"] == 34


@pytest.mark.parametrize(
    ("graph", "words"),
    [(nf.Graph.from_edges([], nodes="ab"), "no edges"), ("edges.csv", "no such file"), (7, "cannot be read")],
)
def test_what_choose_refuses(graph: Any, words: str) -> None:
    with pytest.raises(InputError, match=words):
        choose(graph)


# -------------------------------------------------------------------- a trial


def test_a_trial_compares_the_choice_with_its_rivals() -> None:
    graph, blocks = nf.datasets.stochastic_block_model((15, 15), 0.5, 0.05)
    choice = choose(graph, "roles", probe=False)
    found = choice.trial(graph, classes=blocks, nodes=25, progress=False)
    assert found.data.startswith("Graph(25 nodes") and found.tasks == ["roles"]
    assert {"DRNE", "SDNE", "degree features"} <= set(found.methods)
    with pytest.raises(InputError, match="nodes=3"):
        choice.trial(graph, nodes=3)
    with pytest.raises(InputError, match="--classes FILE"):
        choose(graph, "classify", probe=False).trial(graph)
