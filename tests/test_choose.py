"""`nf.choose`: facts against loops, rules that hold together, costs that are foretold, commands that run."""

from __future__ import annotations

import json
import os
import shlex
import time
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest
from click.testing import CliRunner, Result
from zoo import ZOO, directed, karate, scattered, weighted
from zoo_hypergraphs import facts as two_kinds
from zoo_hypergraphs import tags

import netfold as nf
from netfold.choosing import RULES, TASKS, Cost, Facts, choose
from netfold.choosing.evidence import Evidence
from netfold.choosing.facts import facts_of
from netfold.choosing.probe import _BUDGET, _EPOCHS, _cost, _Probe, foretold
from netfold.choosing.rules import rule_for, rules_table, task_named
from netfold.choosing.stand_ins import stand_in
from netfold.choosing.trial import neighborhood
from netfold.cli import choose as cli_choose
from netfold.cli import main
from netfold.comparison.fitting import fit
from netfold.errors import InputError
from netfold.io.first_look import FileColumns, file_columns
from netfold.models import MODELS
from netfold.reproduce.verdicts import number

# -------------------------------------------------------------------- facts


@pytest.mark.parametrize("name", ZOO)
def test_facts_by_loops(name: str) -> None:
    graph = ZOO[name]()
    known = nx.Graph(graph.to_networkx())
    known.remove_edges_from(nx.selfloop_edges(known))
    degrees = [d for _, d in known.degree]
    found = facts_of(graph)
    assert (found.nodes, found.edges, found.directed) == (graph.n_nodes, graph.n_edges, graph.directed)
    assert found.isolated == sum(d == 0 for d in degrees) and found.largest_degree == max(degrees)
    assert found.mean_degree == pytest.approx(sum(degrees) / len(degrees))
    assert found.median_degree == pytest.approx(float(np.median(degrees)))
    paths = sum(1 for b in known for a in known[b] for c in known[b] if a != c)
    assert found.two_steps == paths
    assert found.clustering == pytest.approx(nx.transitivity(known), abs=0.05)


def test_a_clique_is_all_clustered_and_a_star_not_at_all() -> None:
    assert facts_of(nf.Graph.from_networkx(nx.complete_graph(8))).clustering == 1.0
    assert facts_of(nf.Graph.from_networkx(nx.star_graph(8))).clustering == 0.0
    assert facts_of(nf.Graph.from_edges([("a", "b")])).clustering == 0.0


def test_facts_of_hyperedges_and_in_words() -> None:
    found = facts_of(tags(), "year")
    assert found.hyperedges and set(found.types) == {"user", "film", "tag"}
    assert found.isolated == int((tags().degrees == 0).sum()) > 0
    assert "hyperedges" in str(found) and "3 types" in str(found) and "a time column (year)" in str(found)
    assert "weighted" in str(facts_of(weighted())) and "2 isolated" in str(facts_of(scattered()))


# -------------------------------------------------------------------- a look at the columns


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1,2\n2,3\n", FileColumns()),
        ("1 2 0.5\n2 3 1\n", FileColumns()),
        ("source,target,weight\na,b,2\n", FileColumns()),
        ("source,target,year\na,b,1999\n", FileColumns(time="year")),
        ("source,target,kind\na,b,friend\n", FileColumns()),
        ("s,t\na,b\n", FileColumns()),
        ("user,movie,rating\n1,7,3\n2,7,4\n", FileColumns()),
        ("user,movie,tag\n1,7,slow\n2,7,fast\n", FileColumns(hyperedges=True)),
        ("user;movie;tag;Timestamp\n1;7;3;99\n2;7;4;98\n", FileColumns(hyperedges=True, time="Timestamp")),
        ("head:entity,relation,tail:entity\n1,2,3\n4,2,5\n", FileColumns(hyperedges=True)),
        ("# only a comment\n", FileColumns()),
    ],
)
def test_what_columns_say(text: str, expected: FileColumns, tmp_path: Path) -> None:
    path = tmp_path / "edges.csv"
    path.write_text(text)
    assert file_columns(path) == expected


def test_columns_of_other_files(tmp_path: Path) -> None:
    assert file_columns("any.json").hyperedges
    karate().save(tmp_path / "graph")
    assert file_columns(tmp_path / "graph") == FileColumns()
    with pytest.raises(InputError, match="no such file"):
        file_columns(tmp_path / "nowhere.csv")


# -------------------------------------------------------------------- stand-ins


def many(n: int = 3000, **kind: Any) -> nf.Graph:
    pairs = np.array(nx.barabasi_albert_graph(n, 4, seed=1).edges)
    return nf.Graph.from_edges(pairs, nodes=range(n), **kind)


def test_a_stand_in_has_the_degrees_of_the_graph() -> None:
    graph = many()
    small = stand_in(graph, 600)
    assert small.n_nodes == 600 and not small.directed and not small.is_weighted
    assert small.degrees.mean() == pytest.approx(graph.degrees.mean(), rel=0.1)
    assert np.median(small.degrees) == pytest.approx(np.median(graph.degrees), abs=2)
    assert 600 > small.degrees.max() > 0.3 * graph.degrees.max()


def test_a_stand_in_keeps_direction_weights_and_isolated_nodes() -> None:
    graph = many(directed=True)
    small = stand_in(graph, 500)
    assert small.directed and small.n_edges / 500 == pytest.approx(graph.n_edges / 3000, rel=0.15)
    heavy = nf.Graph(many().adjacency * np.float32(3), range(3000))
    made = stand_in(heavy, 500)
    assert made.is_weighted and np.median(made.adjacency.data) == 3
    alone = nf.Graph.from_edges([(i, i + 1) for i in range(0, 1000, 2)], nodes=range(2000))
    assert 0.3 < (stand_in(alone, 400).degrees == 0).mean() < 0.7
    assert stand_in(nf.Graph.from_edges([(0, 1)], nodes=range(10_000)), 60).n_edges == 1


def test_a_stand_in_is_drawn_by_the_seed_and_no_larger_than_the_data() -> None:
    graph = many(800)
    assert stand_in(graph, 800) is graph and stand_in(graph, 10**6) is graph
    assert stand_in(graph, 100, seed=1).fingerprint == stand_in(graph, 100, seed=1).fingerprint
    assert stand_in(graph, 100, seed=1).fingerprint != stand_in(graph, 100, seed=2).fingerprint


@pytest.mark.parametrize("make", [tags, two_kinds])
def test_a_stand_in_of_hyperedges(make: Any) -> None:
    whole = make()
    small = stand_in(whole, whole.n_nodes // 2)
    assert small.types == whole.types and len(small.kinds) == len(whole.kinds)
    assert abs(small.n_nodes - whole.n_nodes // 2) <= len(whole.types)
    for kind, other in zip(small.kinds, whole.kinds, strict=True):
        assert kind.roles == other.roles and 0 < len(kind) <= len(other) * 0.6 + 2
        assert all(len(set(row)) == len(row) for row in kind.rows.tolist())


# -------------------------------------------------------------------- the probe


def test_the_line_through_two_probes() -> None:
    probes = [_Probe(500, 0.02, 0.5, 1e6), _Probe(2000, 0.05, 0.8, 3e6)]
    made = _cost(probes, epochs=10, nodes=10_000)
    slope = (0.05 - 0.02) / 1500
    seconds = 10 * (0.05 + slope * 8000) + 0.8 + 0.3 / 1500 * 8000
    assert made.seconds == pytest.approx(seconds) and made.bytes == round(3e6 + 2e6 / 1500 * 8000)
    assert made.probed == (500, 2000)


def test_a_probe_of_all_nodes_is_taken_as_it_is_and_a_falling_line_goes_through_0() -> None:
    one, two = _Probe(500, 0.02, 0.5, 9.0), _Probe(900, 0.04, 0.1, 5.0)
    assert _cost([one, two], epochs=7, nodes=900).seconds == pytest.approx(7 * 0.04 + 0.1)
    assert _cost([one, two], epochs=0, nodes=1800).seconds == pytest.approx(0.2)
    assert _cost([one], epochs=3, nodes=500).seconds == pytest.approx(3 * 0.02 + 0.5)


def test_a_cost_that_is_linear_is_foretold() -> None:
    """A fit that says that an epoch took 10 ms and 1 µs a node."""
    sizes = []

    def pretend(model: Any, data: Any) -> None:
        sizes.append(data.n_nodes)
        model.history_ = [{"seconds": 0.01 + 1e-6 * data.n_nodes}] * model.epochs

    made = foretold(pretend, nf.SDNE(epochs=100), many(5000), budget=60)
    assert made.seconds == pytest.approx(100 * 0.015, rel=0.05) and made.nodes == 5000
    assert sizes == [60, 600, 2400, 5000] and made.probed == (600, 2400, 5000)


class Clock:
    """A clock on which only what is said to take time does."""

    def __init__(self) -> None:
        self.now = 0.0
        self.fits: list[tuple[int, int]] = []

    def perf_counter(self) -> float:
        return self.now

    def fit(self, model: Any, data: Any) -> None:
        """Epochs of 1 ms a node, and as much again before them."""
        self.now += 1e-3 * data.n_nodes * (model.epochs + 1)
        self.fits.append((data.n_nodes, model.epochs))
        model.history_ = [{"seconds": 1e-3 * data.n_nodes}] * model.epochs


@pytest.mark.parametrize(
    ("budget", "fits"),
    [
        (1.0, [(60, 1), (600, 3), (150, 3)]),  # the first is over the budget: a smaller one for the line
        (9.0, [(60, 1), (600, 3), (2400, 1)]),  # no time for three epochs
        (60.0, [(60, 1), (600, 3), (2400, 3), (3000, 3)]),
    ],
)
def test_probes_end_with_the_budget(
    budget: float, fits: list[tuple[int, int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    clock, graph = Clock(), many(3000)
    monkeypatch.setattr("netfold.choosing.probe.time", clock)
    monkeypatch.setattr("netfold.meter.time", clock)
    made = foretold(clock.fit, nf.SDNE(epochs=50), graph, budget=budget)
    assert clock.fits == fits
    assert made.seconds == pytest.approx(1e-3 * 3000 * 51) and _BUDGET < 10


def test_a_probe_has_few_epochs_and_leaves_model_and_graph_alone() -> None:
    graph, model, epochs = karate(), nf.SDNE(dim=4, hidden=(8,)), []
    before = graph.fingerprint

    def watched(model: Any, data: Any) -> None:
        epochs.append(model.epochs)
        fit(model, data)

    made = foretold(watched, model, graph)
    assert epochs == [1, _EPOCHS] and made.probed == (34,)
    assert graph.fingerprint == before and not hasattr(model, "embedding_") and model.epochs == 200
    assert "foretold from short fits, the last to all nodes" in str(made)
    assert made.seconds > 0


# -------------------------------------------------------------------- the rules

GRAPHS = [
    Facts(nodes, 5 * nodes, two_steps=paths)
    for nodes in (50, 5000, 10**6)
    for paths in (100.0, 1e12)
] + [Facts(50, edges, hyperedges=True, types=("a", "b")) for edges in (90, 10**5)]  # fmt: skip


@pytest.mark.parametrize("rule", RULES, ids=lambda r: f"{r.task}: {r.case}")
def test_every_rule_is_taken_for_some_data_and_has_settings_that_the_model_takes(rule: Any) -> None:
    assert MODELS[rule.model](**rule.settings).get_params().items() >= dict(rule.settings).items()
    taken = [x for x in GRAPHS if not (x.hyperedges and rule.task in ("roles", "uncertainty"))]
    assert any(rule_for(rule.task, x) is rule for x in taken)
    assert rule.why and rule.but and set(rule.others) <= set(MODELS) and rule.over in ("", *MODELS)


@pytest.mark.parametrize("rule", RULES, ids=lambda r: f"{r.task}: {r.case}")
def test_evidence_is_there_and_was_measured_with_the_settings_where_it_says_so(rule: Any) -> None:
    for evidence in rule.evidence:
        table, row = evidence.found()
        assert table.status or (row is not None and evidence.figure in table.figures)
        assert evidence.table in str(evidence)
        assert evidence.beside in ("", *(other.name for other in table.rows))
        if rule.measured:
            assert row is not None and row.model == rule.model
            config = {name: tuple(x) if isinstance(x, list) else x for name, x in row.config.items()}
            assert config == rule.settings and table.found(row) is not None
            assert " beside " in str(evidence)


def test_every_task_has_a_rule_for_all_data() -> None:
    for task in TASKS:
        for facts in GRAPHS:
            if facts.hyperedges and task in ("roles", "uncertainty"):
                with pytest.raises(InputError, match="clique_expansion"):
                    rule_for(task, facts)
            else:
                assert rule_for(task, facts).task == task


def test_the_page_has_the_rules() -> None:
    page = (Path(__file__).parent.parent / "docs" / "choosing.md").read_text()
    assert rules_table() in page


def test_task_names() -> None:
    assert task_named("new_nodes") == "new-nodes" and set(cli_choose.TASKS) == set(TASKS) - {"near"}
    with pytest.raises(InputError, match="did you mean 'link'"):
        task_named("links")


# -------------------------------------------------------------------- the choice


def test_five_lines() -> None:
    choice = choose(weighted(), "roles", probe=False)
    data, model, why, but, cost = choice.lines()
    assert data.startswith("data: 77 nodes, 254 edges, undirected, weighted")
    assert model == "for roles of nodes: DRNE(dim=36, rounds=2, vectors='all', lambda_=0.1)"
    assert "beside" in why and "(drne-europe)" in why
    assert "degrees" in but and "reads neither weights nor directions" in but
    assert cost.startswith("cost: not probed on ")
    assert repr(choice).splitlines()[-1] == f"fit: nf.{choice.model!r}.fit(graph)"


@pytest.mark.parametrize(
    ("graph", "task", "words"),
    [
        (scattered(), "link", r"isolated nodes (2)"),
        (directed(), "roles", "neither weights nor directions"),
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


def test_a_model_over_another_says_so() -> None:
    choice = choose(karate(), "new-nodes", probe=False, seed=3)
    assert choice.lines()[1].endswith("DepthLGP() over the vectors of node2vec")
    assert repr(choice).endswith("nf.DepthLGP(seed=3).fit(graph, nf.Node2Vec(seed=3).fit(graph).embedding_)")
    assert [x.split()[2] for x in choice.commands()] == ["node2vec", "depthlgp"]


def test_times() -> None:
    assert "hiding the latest" in choose(karate(), "link", time_column="year", probe=False).lines()[3]
    assert "hiding the latest" not in choose(karate(), "classify", time_column="year", probe=False).lines()[3]


def test_a_choice_is_frozen_and_fits() -> None:
    choice = choose(karate(), "uncertainty", seed=5)
    assert choice.model.seed == 5 and isinstance(choice.cost, Cost)
    with pytest.raises(AttributeError):
        choice.task = "link"  # type: ignore[misc]
    facts = json.loads(json.dumps(choice.to_dict()))
    assert facts["model"] == "dvne" and facts["cost"]["seconds"] > 0 and facts["facts"]["nodes"] == 34


@pytest.mark.parametrize(
    ("graph", "words"),
    [(nf.Graph.from_edges([], nodes="ab"), "no edges"), ("edges.csv", "read_edges"), (7, "cannot be read")],
)
def test_what_choose_refuses(graph: Any, words: str) -> None:
    with pytest.raises(InputError, match=words):
        choose(graph)


# -------------------------------------------------------------------- trials


def test_a_part_of_the_data_is_connected_and_bounded() -> None:
    graph = many()
    part = neighborhood(graph, 200)
    assert part.n_nodes == 200 and nx.is_connected(part.to_networkx())
    assert neighborhood(graph, 3000) is graph
    rings = nf.Graph.from_networkx(nx.disjoint_union_all([nx.cycle_graph(10)] * 30))
    assert neighborhood(rings, 45).n_nodes == 45
    assert set(part.nodes) <= set(graph.nodes)
    for a, b in list(part.to_networkx().edges)[:50]:
        assert b in graph.neighbors(a)


def test_a_part_of_hyperedges() -> None:
    part = neighborhood(tags(), 12)
    assert part.n_nodes == 12 and part.types == tags().types
    whole = {frozenset(x) for x in tags().edges}
    assert part.n_edges and all(frozenset(x) in whole for x in part.edges)


def test_a_trial_compares_the_choice_with_its_rivals() -> None:
    graph, blocks = nf.datasets.stochastic_block_model((15, 15), 0.5, 0.05)
    choice = choose(graph, "roles", probe=False)
    found = choice.trial(graph, labels=blocks, nodes=25, progress=False)
    assert found.data.startswith("Graph(25 nodes") and found.tasks == ["roles"]
    assert {"DRNE", "SDNE", "degree features"} <= set(found.methods)
    with pytest.raises(InputError, match="nodes=3"):
        choice.trial(graph, nodes=3)
    with pytest.raises(InputError, match="--labels FILE"):
        choose(graph, "classify", probe=False).trial(graph)


# -------------------------------------------------------------------- the command


def netfold(*args: object) -> Result:
    return CliRunner().invoke(main, [str(a) for a in args])


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    edges = karate().to_networkx().edges
    Path("edges.csv").write_text("source;target;year\n" + "".join(f"{a};{b};{1990 + a}\n" for a, b in edges))
    Path("triples.csv").write_text("user,film,tag\n" + "".join(f"u{i % 7},f{i % 5},t{i % 3}\n" for i in range(60)))


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize("task", [None, *cli_choose.TASKS])
def test_the_command_that_is_printed_runs(task: str | None) -> None:
    args = ["choose", "edges.csv", "--no-probe", "--directed", "--delimiter", ";", *(["--task", task] if task else [])]
    result = netfold(*args)
    assert result.exit_code == 0, result.output
    commands = [line for line in result.stdout.splitlines() if line.startswith("netfold ")]
    assert commands and result.stdout.splitlines()[-1] == commands[-1]
    for command in commands:
        short = ["--epochs", "1", "--quiet"] if " fit " in command else []
        ran = netfold(*shlex.split(command)[1:], *short)
        assert ran.exit_code == 0, f"{command}: {ran.output}"
    assert Path(f"{shlex.split(commands[-1])[2]}.netfold", "manifest.json").exists()


@pytest.mark.usefixtures("files")
def test_hyperedges_are_recognised_and_their_command_runs() -> None:
    facts = json.loads(netfold("choose", "triples.csv", "--task", "link", "--no-probe", "--json").stdout)
    assert facts["model"] == "dhne" and facts["facts"]["hyperedges"]
    ran = netfold(*shlex.split(facts["commands"][0])[1:], "--epochs", "1", "--quiet")
    assert ran.exit_code == 0, ran.output


@pytest.mark.usefixtures("files")
def test_probing_and_trying() -> None:
    result = netfold("choose", "edges.csv", "--task", "uncertainty", "--try", "--sample", 20)
    assert result.exit_code == 0, result.output
    lines = result.stdout.splitlines()
    assert lines[4].startswith("cost: about ") and "a time column (year)" in lines[0]
    assert any(line.startswith("DVNE ") for line in lines) and any("(cheap)" in line for line in lines)
    assert lines[-1].startswith("netfold fit dvne edges.csv")
    assert "choose: short fits" in result.stderr


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["nowhere.csv"], "no such file"),
        (["edges.csv", "--task", "links"], "'links' is not one of"),
        (["edges.csv", "--sample", "50"], "--sample is for --try"),
        (["edges.csv", "--labels", "l.csv"], "--labels is for --try"),
        (["triples.csv", "--task", "roles"], "clique_expansion"),
        (["edges.csv", "--try", "--task", "classify", "--no-probe"], "--labels FILE"),
    ],
)
def test_what_the_command_refuses(args: list[str], words: str) -> None:
    result = netfold("choose", *args, "--quiet")
    assert result.exit_code == 2 and result.stdout == ""
    assert words in result.stderr and len(result.stderr.strip().splitlines()) == 1


@pytest.mark.usefixtures("files")
def test_ctrl_c(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*args: Any, **more: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(nf.SDNE, "fit", interrupted)
    result = netfold("choose", "edges.csv", "-q")
    assert result.exit_code == 1 and result.stdout == "" and result.stderr.strip() == "netfold: interrupted"


@pytest.mark.slow
@pytest.mark.skipif(not os.environ.get("NETFOLD_DATA"), reason="needs the data sets")
def test_a_real_fit_costs_about_what_was_foretold() -> None:
    graph = nf.datasets.load("cora")
    choice = choose(graph, "link")
    start = time.perf_counter()
    choice.model.fit(graph, progress=False)
    real = time.perf_counter() - start
    assert choice.cost is not None and real / 3 < choice.cost.seconds < 3 * real
