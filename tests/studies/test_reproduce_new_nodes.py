"""Tables about new nodes: which are new, what each row fits to what, and how far the way to a rerun is gone."""

from __future__ import annotations

import dataclasses
import os
from pathlib import Path
from typing import Any, Self

import numpy as np
import pytest

import netfold as nf
from netfold.data.embedding import Embedding
from netfold.data.graph import Graph
from netfold.embedder.options import Configured, option
from netfold.errors import InputError
from netfold.evaluate import NodeSplit, hold_out_half, label_propagation, out_of_sample, split_nodes
from netfold.evaluate.case import case, split_of
from netfold.evaluate.task import task_named
from netfold.models import MODELS
from netfold.studies import reproduce
from netfold.studies.reproduce import RecordedRow, Run, page, run, with_gaps
from netfold.studies.reproduce.parsing import parse
from netfold.studies.reproduce.table import COST, WAYS
from published_tables import TABLES

GAP = "micro-F1 gap closed"
TEXT = """
title = "Blocks, new nodes"
paper = "DepthLGP"
source = "Table 9"
figures = ["micro-F1", "macro-F1", "AUC", "micro-F1 gap closed", "fit CPU-s"]

[data]
name = "sbm"
sizes = [25, 25, 25]
p_in = 0.3
p_out = 0.03

[task]
name = "out_of_sample"
new = 20

[published]
"node2vec: LocalAvg" = { micro-F1 = 0.6 }

[bases.node2vec]
model = "node2vec"
config = { dim = 8, epochs = 1, window = 3, length = 10 }

[bases.SDNE]
model = "sdne"
config = { dim = 4, hidden = [], epochs = 2 }

[[rows]]
name = "LocalAvg"
model = "LocalAvg"
base = "node2vec"
published = "node2vec: LocalAvg"

[[rows]]
name = "LabelProp"
model = "LabelProp"
base = "node2vec"

[[rows]]
name = "stand-in"
model = "standin"
base = "node2vec"
config = { epochs = 3 }
target = { "micro-F1 gap closed" = 0.6 }

[[rows]]
name = "rerun"
model = "rerun"
base = "node2vec"

[[rows]]
name = "SDNE's own"
model = "transform"
base = "SDNE"

[[rows]]
name = "SDNE's, without a base"
model = "sdne"
config = { dim = 4, hidden = [], epochs = 2 }
task = { linked = "neighbor" }

[quick]
config = { epochs = 0 }
"""
ENCODED = TEXT.replace('model = "transform"', 'model = "transform"\nconfig = { how = "encode" }')
SDNE = {"dim": 4, "hidden": (), "epochs": 2}
NODE2VEC = {"dim": 8, "epochs": 1, "window": 3, "length": 10}


@dataclasses.dataclass(kw_only=True, repr=False, eq=False)
class StandIn(Configured):
    """Takes DepthLGP's place: fitted to a graph and an embedding, it propagates the vectors to later nodes."""

    epochs: int = option(1, "is not used", at_least=0)
    seed: int = option(0, "is not used")
    device: str = option("auto", "is not used")

    def fit(self, graph: Graph, embedding: Embedding, progress: bool = True) -> Self:
        assert embedding.nodes == graph.nodes and not progress
        self.embedding_, self._known = embedding, graph
        return self

    def transform(self, later: Graph) -> Embedding:
        new = np.flatnonzero(self._known.nodes.find(later.nodes) < 0)
        return label_propagation(NodeSplit(self._known, later, new, {}), self.embedding_)


@pytest.fixture(autouse=True)
def stand_in(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(MODELS, "standin", StandIn)  # type: ignore[arg-type]


def table(text: str = TEXT) -> reproduce.Table:
    return parse(Path("some/new.toml"), text)


def blocks(seed: int = 0) -> tuple[Graph, dict[Any, Any]]:
    options = {"sizes": [25, 25, 25], "p_in": 0.3, "p_out": 0.03, "seed": seed}
    return nf.datasets.load("sbm", **options), nf.datasets.classes("sbm", **options)


# -------------------------------------------------------------------- reading


def test_bases_are_read_and_belong_to_the_settings_of_their_rows() -> None:
    read = table()
    assert read.bases["node2vec"].model == "node2vec" and read.bases["SDNE"].config["dim"] == 4
    assert [row.base for row in read.rows] == ["node2vec"] * 4 + ["SDNE", ""]
    other = table(TEXT.replace("window = 3", "window = 2"))
    changed = [read.settings(a) != other.settings(b) for a, b in zip(read.rows, other.rows, strict=True)]
    assert changed == [True] * 4 + [False] * 2
    assert len({read.settings(row) for row in read.rows}) == 6


@pytest.mark.parametrize(
    "old, new, said",
    [
        ('model = "standin"\nbase = "node2vec"', 'model = "standin"\nbase = "node2vek"', "did you mean 'node2vec'?"),
        ('model = "LabelProp"', 'model = "LabelPropp"', "row 'LabelProp' has model = 'LabelPropp', not one of sdne"),
        ('model = "LabelProp"\nbase = "node2vec"', 'model = "LabelProp"', "has model = 'LabelProp', not one of sdne"),
        ("window = 3", "windows = 3", "base 'node2vec': Node2Vec has no option 'windows'"),
        ('[bases.SDNE]\nmodel = "sdne"', '[bases.SDNE]\nmodel = "sdnn"', "base 'SDNE' has model = 'sdnn'"),
        ("[bases.SDNE]\n", "[bases.SDNE]\nmodell = 3\n", "[bases.SDNE]: there is no key 'modell'"),
        ('[bases.SDNE]\nmodel = "sdne"', "[bases.SDNE]", "[bases.SDNE]: the key 'model' is missing"),
    ],
)
def test_what_is_wrong_with_a_base_is_named(old: str, new: str, said: str) -> None:
    assert old in TEXT
    with pytest.raises(InputError) as e:
        table(TEXT.replace(old, new))
    assert "some/new.toml" in str(e.value) and said in str(e.value) and "\n" not in str(e.value)


def test_a_base_is_for_new_nodes() -> None:
    text = TEXT.replace('"out_of_sample"\nnew = 20', '"classification"').replace('"micro-F1", "macro-F1", "AUC", ', "")
    text = text.replace("[published]\n", "").replace('"node2vec: LocalAvg" = { micro-F1 = 0.6 }', "")
    text = text.replace('published = "node2vec: LocalAvg"\n', "")
    with pytest.raises(InputError, match="row 'LocalAvg' has a base, which is for new nodes"):
        run(table(text), Run(seeds=(0,), device="cpu"))


# -------------------------------------------------------------------- which nodes are new


def test_new_nodes_by_time_are_those_that_were_not_there() -> None:
    whole = Graph.from_edges([("a", "b"), ("b", "c"), ("a", "c"), ("x", "a"), ("y", "x")], nodes="yaxbc")
    then = Graph.from_edges([("a", "b"), ("c", "b")], nodes="cab")
    asked = []

    def parts(**options: Any) -> Graph:
        asked.append(options)
        return then

    split = split_of(whole, parts, {"until": 2015}, seed=3)
    assert asked == [{"until": 2015}]
    assert split.known is then and split.whole is whole  # a - c came later: it is not known
    assert [whole.nodes[i] for i in split.new] == ["y", "x"]
    assert split.protocol == {"until": 2015, "by": "time"}
    with pytest.raises(InputError, match="until=2015 says which nodes are new; leave out by"):
        split_of(whole, parts, {"until": 2015, "by": "walk"}, seed=3)
    with pytest.raises(InputError, match="until=2015 leaves no node of 3 to come later"):
        split_of(then, parts, {"until": 2015}, seed=3)
    with pytest.raises(InputError, match="the graph until 2015 is not a part of the whole one"):
        split_of(whole.subgraph([0, 1]), parts, {"until": 2015}, seed=3)
    with pytest.raises(InputError, match="these data cannot be had with until"):
        case("out_of_sample", whole, dict, {"until": 2015}, 0)


def test_other_new_nodes_are_drawn_anew_for_each_seed() -> None:
    graph, _ = blocks()
    given = {"new": 12, "by": "walk", "max_degree": 9}
    by_hand = split_nodes(graph, 12, by="walk", max_degree=9, seed=4)
    assert split_of(graph, dict, given, 4).new.tolist() == by_hand.new.tolist()
    assert split_of(graph, dict, given, 5).new.tolist() != by_hand.new.tolist()


def test_arguments_and_classes() -> None:
    named = task_named("out_of_sample").arguments
    assert {"until", "new", "by", "max_degree", "classes", "links", "score", "C", "linked"} <= set(named)
    assert not {"base", "rerun", "seed", "baselines"} & set(named)
    graph, labels = blocks()
    of = case("out_of_sample", graph, lambda: labels, {"new": 20, "classes": False}, 0)
    assert of.split is not None and of.graph is of.split.known
    base = Embedding(of.graph.nodes, np.random.default_rng(0).normal(size=(of.graph.n_nodes, 3)))
    assert set(of.evaluate("LocalAvg", base=base, baselines=False).figures) == {"AUC", "AP", "AUC degree-matched"}


# -------------------------------------------------------------------- running


def test_every_row_is_what_it_is_by_hand() -> None:
    found = run(table(), Run(seeds=(3,), device="cpu")).rows
    graph, labels = blocks(3)
    split = split_nodes(graph, 20, seed=3)

    def node2vec(of: Graph) -> Any:
        return nf.Node2Vec(**NODE2VEC, seed=3, device="cpu").fit(of, progress=False)

    base = node2vec(split.known)
    sdne = nf.SDNE(**SDNE, seed=3, device="cpu").fit(split.known, progress=False)
    cheap = out_of_sample("LocalAvg", split, base=base, classes=labels, seed=3, rerun=node2vec)
    own = out_of_sample(sdne, split, classes=labels, linked="neighbor", seed=3)
    by_hand = {
        "LocalAvg": cheap.figures,
        "LabelProp": cheap.baselines["LabelProp"],
        "stand-in": cheap.baselines["LabelProp"],
        "rerun": cheap.baselines["rerun"],
        "SDNE's own": own.figures,
        "SDNE's, without a base": own.figures,
    }
    for name, figures in by_hand.items():
        for figure in ("micro-F1", "macro-F1", "AUC"):
            assert found[name].mean[figure] == pytest.approx(figures[figure], abs=1e-5), (name, figure)
    assert set(found["stand-in"].baselines) == {
        "LocalAvg",
        "LabelProp",
        "majority of neighbors",
    }  # a rerun is not cheap
    assert found["stand-in"].baselines == found["rerun"].baselines != found["SDNE's own"].baselines
    assert GAP not in found["stand-in"].mean  # of one seed nobody knows whether the rerun is above
    assert found["LocalAvg"].mean[COST] == found["SDNE's own"].mean[COST] == 0
    assert found["rerun"].mean[COST] > 0 < found["SDNE's, without a base"].mean[COST]


def test_a_base_is_fitted_once_and_again_only_for_the_rerun(monkeypatch: pytest.MonkeyPatch) -> None:
    fits: list[tuple[str, int, int]] = []
    for cls in (nf.Node2Vec, nf.SDNE):
        fit = cls.fit

        def counted(self: Any, graph: Graph, *a: Any, fit: Any = fit, **k: Any) -> Any:
            fits.append((type(self).__name__, graph.n_nodes, graph.n_edges))
            return fit(self, graph, *a, **k)

        monkeypatch.setattr(cls, "fit", counted)
    told: list[str] = []
    run(table(), Run(seeds=(0,), quick=True, device="cpu", say=told.append))
    graph, _ = blocks(0)
    split = split_nodes(graph, 20)
    held_out = hold_out_half(split).split.whole
    assert fits == [
        ("Node2Vec", 55, split.known.n_edges),
        ("Node2Vec", 75, graph.n_edges),
        ("Node2Vec", 75, held_out.n_edges),
        ("SDNE", 55, split.known.n_edges),  # of the base, and of the row without one
    ]
    assert "new, seed 0: node2vec for LocalAvg is fitted" in told and "new, seed 0: stand-in is fitted" in told


def test_the_gap_is_that_of_the_means() -> None:
    def row(x: float) -> RecordedRow:
        return RecordedRow("ab", {"micro-F1": x}, seeds={"micro-F1": (x - 0.01, x, x + 0.01)})

    names = [r.name for r in table().rows]
    rows = dict(zip(names, map(row, (0.5, 0.6, 0.8, 0.9, 0.7, 0.7)), strict=True))
    made = with_gaps(table(), rows)
    assert made["stand-in"].mean == {"micro-F1": 0.8, GAP: 0.75}
    assert made["LabelProp"].mean[GAP] == 0.25
    assert [GAP in made[name].mean for name in names] == [False, True, True, False, False, False]
    flat = with_gaps(table(), rows | {"rerun": row(0.5)})
    assert GAP not in flat["stand-in"].mean  # nothing to close
    assert GAP not in with_gaps(table(), rows | {"LabelProp": row(0.95)})["stand-in"].mean  # the rerun is no top
    noise = dataclasses.replace(row(0.52), seeds={"micro-F1": (0.4, 0.5, 0.66)})
    assert GAP not in with_gaps(table(), rows | {"rerun": noise})["stand-in"].mean  # a denominator of .02 ± .08
    apart = {name: RecordedRow("ab", x.mean, {"micro-F1": 0.01}) for name, x in rows.items()}
    assert with_gaps(table(), apart)["stand-in"].mean[GAP] == 0.75  # of before values were kept
    once = {name: RecordedRow("ab", x.mean) for name, x in rows.items()}
    assert GAP not in with_gaps(table(), once)["stand-in"].mean  # of one seed nobody knows
    some = {name: x for name, x in rows.items() if name != "LabelProp"}
    assert with_gaps(table(), some) == {name: x for name, x in made.items() if name in some}  # not run yet
    assert GAP not in with_gaps(table(), {name: x for name, x in rows.items() if name != "rerun"})["stand-in"].mean
    bare = dataclasses.replace(table(), figures=("micro-F1",))
    assert with_gaps(bare, rows) == rows


def test_the_page_tells_base_and_way() -> None:
    shown = page([table()])
    assert "- base node2vec: Node2Vec with dim 8, epochs 1, window 3, length 10." in shown
    assert "- LocalAvg: LocalAvg of node2vec." in shown
    assert "- stand-in: StandIn with epochs 3 of node2vec." in shown
    assert "- SDNE's, without a base: SDNE with dim 4, hidden , epochs 2; linked neighbor." in shown


# -------------------------------------------------------------------- the tables that come with netfold


@pytest.mark.skipif(not os.environ.get("NETFOLD_DATA"), reason="NETFOLD_DATA is not set")
def test_dblp_is_that_of_the_paper() -> None:
    whole = nf.datasets.load("dblp_coauthor")
    split = split_of(whole, lambda until: nf.datasets.load("dblp_coauthor", until=until), {"until": 2015}, 0)
    assert (split.known.n_nodes, split.known.n_edges) == (59_277, 205_804)
    assert split.figures == {
        "new nodes": 4944,
        "edges new-known": 12_803,
        "edges new-new": 4100,
        "new nodes without a known neighbor": 35,
    }


def test_rows_of_tables_about_new_nodes_have_the_base_that_the_paper_compares() -> None:
    tables = reproduce.read_tables(Path(__file__).parents[2] / "benchmarks" / "tables")
    for of in (t for t in tables if t.task.name == "out_of_sample"):
        for row in of.rows:
            assert row.base or row.model not in WAYS
            if row.base and row.published:
                assert row.published.startswith(f"{row.base}: ")


def test_a_row_of_transform_says_how_and_the_hash_of_rows_from_when_there_was_one_way_holds():
    chosen, said = (next(row for row in x.rows if row.model == "transform") for x in (table(), table(ENCODED)))
    assert said.config == {"how": "encode"} and table().settings(chosen) != table(ENCODED).settings(said)
    shipped = next(x for x in TABLES if x.name == "depthlgp-transformers")
    own = [row for row in shipped.rows if row.model == "transform" and row.config]
    assert len(own) == 3 and all(shipped.recorded_for(row) for row in own)
    with pytest.raises(InputError, match="what it may say is how, one of encode, refine, mean"):
        table(ENCODED.replace('"encode"', '"guess"'))
    with pytest.raises(InputError, match="for model = 'transform'"):
        table(TEXT.replace('model = "LabelProp"', 'model = "LabelProp"\nconfig = { how = "encode" }'))


def test_a_way_is_no_baseline_of_its_own_and_what_lacks_the_vote_is_marked() -> None:
    asked, vote = table(), {"majority of neighbors": {"micro-F1": 0.4}}

    def front(baselines: dict[str, dict[str, float]], elsewhere: dict[str, dict[str, float]]) -> tuple[str, str]:
        """The node2vec base's line, and LabelProp's row; `elsewhere` are beside the rows of the other base."""
        rows = {
            row.name: RecordedRow(
                asked.settings(row), {"micro-F1": x, COST: 9.0 * (row.model not in WAYS)}, {},
                {**ways, **(elsewhere if row.base == "SDNE" else baselines)},
            )
            for row, x in zip(asked.rows, (0.5, 0.6, 0.8, 0.9, 0.7, 0.7), strict=True)
        }  # fmt: skip
        recorded = reproduce.Recorded("2026-11-19", "a box, 1 core", "0.1.0", (0,), 60.0, rows)
        lines = page([dataclasses.replace(asked, recorded=recorded)]).splitlines()
        of_base = next(x for x in lines if x.startswith("| [new](#new), node2vec"))
        return of_base, next(x for x in lines if x.startswith("| LabelProp | micro-F1"))

    ways = {"LocalAvg": {"micro-F1": 0.5}, "LabelProp": {"micro-F1": 0.6}}
    line, own = front({}, {})
    assert "| stand-in: 0.8000 | 9.0 | LabelProp: 0.6000* |  | ours" in line  # what it cost was not counted
    assert "0.5000 (LocalAvg)" in own and "(LabelProp)" not in own
    assert "LabelProp: 0.6000 |" in front(vote, {})[0]
    assert "LabelProp: 0.6000 |" in front({}, vote)[0]  # it stands on no base
    better = {"majority of neighbors": {"micro-F1": 0.95}}
    line, own = front({}, better)
    assert "majority of neighbors: 0.9500 |  | the cheap one" in line and "(majority of neighbors)" in own
    assert "0.9500" not in front(vote, better)[0]  # its own was measured
