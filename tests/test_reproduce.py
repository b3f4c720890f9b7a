"""Published tables: read strictly, run over seeds, judged, recorded without touching anything else, shown."""

from __future__ import annotations

import dataclasses
import json
import os
import statistics
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

import netfold as nf
from netfold import reproduce
from netfold.cli import main
from netfold.errors import InputError
from netfold.reproduce import Recorded, RecordedRow, Run, read_table, read_tables, record, run, verdict
from netfold.reproduce.parsing import parse
from netfold.reproduce.recording import with_recorded
from netfold.reproduce.tables import COST
from netfold.reproduce.tasks import TASKS, arguments_of
from netfold.reproduce.verdicts import number, summary

ROOT = Path(__file__).parent.parent
TABLES = read_tables(ROOT / "benchmarks" / "tables")

TEXT = """
title = "Two blocks, reconstruction"
paper = "SDNE"
source = "Table 9"
figures = ["MAP", "precision@20", "fit CPU-s"]
notes = "tiny"

[data]
name = "sbm"
sizes = [12, 12]
p_in = 0.5
p_out = 0.05

[task]
name = "reconstruction"
k = [20]

[published]
SDNE = { MAP = 0.5, "precision@20" = 1 }
LINE = { MAP = 0.4 }

[[rows]]
name = "vectors"
model = "sdne"
config = { dim = 4, hidden = [6], epochs = 4 }
task = { score = "dot" }
published = "SDNE"
target = { MAP = 0.01 }
guess = "nearly all"

[[rows]]
name = 'the "decoder", as it is'
model = "sdne"
config = { dim = 4, hidden = [6], epochs = 4 }
task = { score = "decoder" }

[quick]
config = { epochs = 1 }
task = { k = [10] }
"""
DECODER = 'the "decoder", as it is'


@pytest.fixture
def tiny(tmp_path: Path) -> reproduce.Table:
    path = tmp_path / "tiny.toml"
    path.write_text(TEXT, encoding="utf-8")
    return read_table(path)


def recorded(**rows: RecordedRow) -> Recorded:
    return Recorded("2026-11-30", "a box, 2 cores", "0.1.0", (0, 1), 3.5, rows)


# -------------------------------------------------------------------- reading


def test_a_table_is_read_as_it_is_written(tiny: reproduce.Table) -> None:
    assert (tiny.name, tiny.paper, tiny.figures) == ("tiny", "SDNE", ("MAP", "precision@20", COST))
    assert tiny.data.name == "sbm" and tiny.data.options == {"sizes": [12, 12], "p_in": 0.5, "p_out": 0.05}
    assert tiny.task.name == "reconstruction" and tiny.task.arguments == {"k": [20]}
    assert tiny.published["SDNE"] == {"MAP": 0.5, "precision@20": 1.0}
    assert [row.name for row in tiny.rows] == ["vectors", DECODER]
    assert tiny.rows[0].target == {"MAP": 0.01} and tiny.rows[1].published == ""
    assert tiny.quick.task == {"k": [10]} and tiny.recorded is None and tiny.status == ""


BAD: dict[str, tuple[str, str, str]] = {
    "no TOML": ("title = ", "title = = ", "not a TOML file"),
    "unknown key": ("notes =", "note =", "did you mean 'notes'"),
    "unknown key of a row": ("guess =", "gess =", "'gess'"),
    "unknown key of quick": ("[quick]\n", "[quick]\nepoch = 1\n", "[quick]: there is no key 'epoch'"),
    "missing title": ('title = "Two blocks, reconstruction"', "", "'title' is missing"),
    "missing data": ('[data]\nname = "sbm"', "[data]", "[data]: the key 'name' is missing"),
    "title of a wrong type": ('title = "Two blocks, reconstruction"', "title = 3", "title is 3; it should be text"),
    "figures of a wrong type": ('figures = ["MAP", "precision@20", "fit CPU-s"]', 'figures = "MAP"', "figures"),
    "published text": ("LINE = { MAP = 0.4 }", 'LINE = { MAP = "0.4" }', "'MAP' is '0.4'"),
    "published truth": ("LINE = { MAP = 0.4 }", "LINE = { MAP = true }", "'MAP' is True"),
    "published nan": ("LINE = { MAP = 0.4 }", "LINE = { MAP = nan }", "finite number"),
    "published of an unknown figure": ("LINE = { MAP = 0.4 }", "LINE = { MAPP = 0.4 }", "did you mean 'MAP'"),
    "target of an unknown figure": ("target = { MAP = 0.01 }", "target = { AUC = 0.01 }", "'AUC'"),
    "beside an unknown method": ('published = "SDNE"', 'published = "SDN"', "did you mean 'SDNE'"),
    "two rows of a name": ("name = 'the \"decoder\", as it is'", 'name = "vectors"', "same name"),
    "rows of a wrong type": ("[[rows]]\nname = \"vectors\"", "[rows]\nname = \"vectors\"", "TOML"),
    "a row without a model": ('name = "vectors"\nmodel = "sdne"', 'name = "vectors"', "[rows, number 1]: the key"),
    "a model that is none": ('model = "sdne"', 'model = "sdnn"', "model = 'sdnn'"),
    "an option that is none": ("dim = 4,", "dims = 4,", "no option 'dims'"),
    "an option out of bounds": ("dim = 4,", "dim = 0,", "dim=0"),
    "a quick option out of bounds": ("epochs = 1", "epochs = -1", "epochs=-1"),
}  # fmt: skip


@pytest.mark.parametrize("old, new, said", BAD.values(), ids=BAD)
def test_what_is_wrong_in_a_file_is_named_with_the_file(old: str, new: str, said: str) -> None:
    assert TEXT.count(old)
    with pytest.raises(InputError) as e:
        parse(Path("some/tiny.toml"), TEXT.replace(old, new))
    assert "some/tiny.toml" in str(e.value) and said in str(e.value) and "\n" not in str(e.value)


RECORDED = """
[recorded]
date = "2026-11-30"
machine = "a box"
version = "0.1.0"
seeds = [0, 1]
seconds = 3.5

[recorded.rows.vectors]
settings = "ab"
mean = { MAP = 0.5 }
"""


@pytest.mark.parametrize(
    "old, new, said",
    [
        ('"2026-11-30"', '"yesterday"', "2026-11-30"),
        ("seeds = [0, 1]", "seeds = []", "seeds"),
        ("seeds = [0, 1]", "seeds = [0.5]", "seeds"),
        ("seconds = 3.5", "", "seconds"),
        ('settings = "ab"', "", "[recorded.rows.vectors]: the key 'settings' is missing"),
        ("mean = { MAP = 0.5 }", "mean = { MAP = 0.5 }\nmode = {}", "'mode'"),
    ],
)
def test_what_is_wrong_in_the_recorded_part_is_named(old: str, new: str, said: str) -> None:
    assert parse(Path("x.toml"), TEXT + RECORDED).recorded is not None
    with pytest.raises(InputError) as e:
        parse(Path("x.toml"), TEXT + RECORDED.replace(old, new))
    assert said in str(e.value)


def test_a_table_without_rows_says_why() -> None:
    bare = TEXT[: TEXT.index("[[rows]]")]
    with pytest.raises(InputError, match="no rows"):
        parse(Path("x.toml"), bare)
    assert parse(Path("x.toml"), 'status = "no edges"\n' + bare).status == "no edges"


def test_files_that_cannot_be_tables(tmp_path: Path) -> None:
    for content in (b"\xff\xfe", b"#" * ((1 << 20) + 1)):
        (tmp_path / "x.toml").write_bytes(content)
        with pytest.raises(InputError, match="x.toml"):
            read_table(tmp_path / "x.toml")
    with pytest.raises(InputError, match="cannot be read"):
        read_table(tmp_path / "nowhere.toml")


# -------------------------------------------------------------------- the tables that come with netfold


def test_all_five_papers_and_our_own_are_there() -> None:
    assert {t.paper for t in TABLES} == {"SDNE", "DRNE", "DHNE", "DVNE", "DepthLGP", "netfold"}
    assert {"sdne-grqc", "sdne-blogcatalog", "sdne-grqc-links", "sdne-blogcatalog-labels", "sdne-newsgroups",
            "block-model", "drne-jazz", "sdne-flickr-labels"} <= {t.name for t in TABLES}  # fmt: skip


@pytest.mark.parametrize("table", TABLES, ids=lambda t: t.name)
def test_a_table_that_comes_with_netfold_can_be_run_or_says_why_not(table: reproduce.Table) -> None:
    assert hasattr(nf.evaluate, table.task.name)
    if table.status:
        return
    assert table.data.name in nf.datasets.names()
    nf.datasets.describe(table.data.name)
    known = arguments_of(table.task.name)
    for row in table.rows:
        assert set(table.task.arguments) | set(row.task) | set(table.quick.task) <= set(known)
        assert row.guess or row.config or row.base or row.name == "SDNE"
    assert table.quick.config, "a few minutes at most"
    assert all(0 <= x <= 1 or table.smaller(f) for cells in table.published.values() for f, x in cells.items())


def test_the_targets_are_those_that_were_set() -> None:
    targets = {(t.name, r.name): r.target for t in TABLES for r in t.rows if r.target}
    assert targets == {
        ("sdne-grqc", "vectors"): {"MAP": 0.88},
        ("sdne-grqc", "decoder"): {"MAP": 0.99},
        ("sdne-blogcatalog", "decoder"): {"MAP": 0.70},
        ("sdne-grqc-links", "SDNE"): {"precision@1000": 0.91, "precision@10000": 0.28},
        ("sdne-blogcatalog-labels", "SDNE"): {
            "micro-F1@10%": 0.36,
            "micro-F1@90%": 0.44,
            "macro-F1@10%": 0.22,
            "macro-F1@90%": 0.28,
        },
        ("sdne-newsgroups", "SDNE"): {"KL": 0.68},
        ("block-model", "SDNE"): {"accuracy@50%": 0.975, COST: 30},
        ("drne-jazz", "DRNE"): {
            "closeness MSE/mean": 0.00191,
            "eigenvector MSE/mean": 0.00527,
            "k-core MSE/mean": 0.0557,
        },
        ("drne-blogcatalog", "DRNE"): {
            "closeness MSE/mean": 0.0011,
            "betweenness MSE/mean": 0.00668,
            "eigenvector MSE/mean": 0.00311,
            "k-core MSE/mean": 0.0772,
        },
        ("drne-europe", "DRNE"): {"accuracy@10%": 0.52, "accuracy@80%": 0.58},
        ("drne-usa", "DRNE"): {"accuracy@10%": 0.60, "accuracy@80%": 0.63},
        ("drne-jazz-equivalence", "DRNE"): {"Kendall τ": 0.42},
        ("drne-blogcatalog-equivalence", "DRNE"): {"Kendall τ": 0.32},
        ("dhne-gps", "DHNE"): {"AUC": 0.960},
        ("dhne-movielens", "DHNE"): {"AUC": 0.934},
        ("dhne-drug", "DHNE"): {"AUC": 0.936},
        ("dhne-gps-links", "fixed negatives"): {"AUC": 0.95},
        ("dhne-gps-links", "replaced positions"): {"AUC": 0.93},
        ("dhne-movielens-links", "fixed negatives"): {"AUC": 0.97},
        ("dhne-movielens-links", "replaced positions"): {"AUC": 0.88},
        ("dhne-drug-links", "fixed negatives, unseen"): {"AUC": 0.96},
        ("dhne-drug-links", "fixed negatives, leaking"): {"AUC": 0.96},
        ("dhne-drug-links", "replaced positions, unseen"): {"AUC": 0.93},
        ("dhne-drug-links", "replaced positions, leaking"): {"AUC": 0.93},
        ("dhne-movielens-labels", "DHNE"): {
            "micro-F1@10%": 0.445,
            "micro-F1@90%": 0.475,
            "macro-F1@10%": 0.184,
            "macro-F1@90%": 0.243,
        },
        **{(f"dvne-{x}-variance", "DVNE"): {"Spearman": 0.0} for x in ("cora", "facebook", "blogcatalog")},
        **{
            (f"dvne-{x}-certain", row): {"certain - uncertain": 0.0}
            for x in ("cora", "facebook", "blogcatalog")
            for row in ("plain split", "split that keeps components")
        },
        ("dvne-cora-noise", "DVNE"): {"decline@5%": 0.009, "decline@25%": 0.038, "decline@50%": 0.098},
        ("dvne-cora", "DVNE"): {"AUC": 0.996},
        ("dvne-facebook", "DVNE"): {"AUC": 0.998},
        ("dvne-blogcatalog", "DVNE"): {"AUC": 0.965},
        ("dvne-cora-links", "DVNE"): {"AUC": 0.90, "AUC known ends": 0.93},
        ("dvne-cora-links", "connectivity kept"): {"AUC": 0.95},
        **{("dvne-facebook-links", row): {"AUC": 0.992} for row in ("DVNE", "connectivity kept")},
        **{("dvne-blogcatalog-links", row): {"AUC": 0.95} for row in ("DVNE", "connectivity kept")},
        ("dvne-cora-labels", "DVNE"): {"micro-F1@1%": 0.62, "micro-F1@10%": 0.73},
        ("dvne-blogcatalog-labels", "DVNE"): {"micro-F1@10%": 0.311, "micro-F1@90%": 0.407},
        ("depthlgp-dblp", "node2vec: DepthLGP"): {
            "micro-F1": 0.646,
            "macro-F1": 0.626,
            "micro-F1 gap closed": 0.6,
            "AUC": 0.84,
        },
        ("depthlgp-dblp-node2vecplus", "node2vec++: new nodes"): {"micro-F1": 0.646, "AUC": 0.86},
        ("depthlgp-blogcatalog", "node2vec: DepthLGP"): {"micro-F1": 0.396, "macro-F1": 0.203, "AUC": 0.555},
    }


def test_the_page_is_up_to_date() -> None:
    """If not: netfold reproduce --page."""
    assert (ROOT / "docs" / "results.md").read_text(encoding="utf-8") == reproduce.page(TABLES)


# -------------------------------------------------------------------- verdicts


@pytest.mark.parametrize(
    "ours, given, said",
    [
        (0.9, {"target": 0.88}, "reaches the target"),
        (0.88, {"target": 0.88}, "reaches the target"),
        (0.87, {"target": 0.88}, "misses the target by 0.0100"),
        (0.9, {"published": 0.836}, "above the paper"),
        (0.8, {"published": 0.836}, "below the paper by 0.0360"),
        (0.836, {"published": 0.836}, "equal to the paper"),
        (0.5, {"smaller": True, "target": 0.68}, "reaches the target"),
        (0.7, {"smaller": True, "published": 0.68}, "worse than the paper by 0.0200"),
        (0.7, {"smaller": True, "target": 0.68}, "misses the target by 0.0200"),
        (0.6, {"smaller": True, "published": 0.68}, "better than the paper"),
        (0.9, {"baselines": {"spectral": 0.91, "SVD": 0.95, "degree": 0.1}}, "a baseline wins: SVD"),
        (0.9, {"baselines": {"spectral": 0.9}}, "no baseline wins"),
        (0.9, {}, "nothing to compare with"),
        (0.9, {"smaller": True, "baselines": {"spectral": 0.91, "SVD": 0.2}}, "a baseline wins: SVD"),
        (0.1, {"smaller": True, "baselines": {"spectral": 0.91}}, "no baseline wins"),
        (0.9, {"target": 0.8, "published": 0.95, "baselines": {"SVD": 1.0}},
         "reaches the target; below the paper by 0.0500; a baseline wins: SVD"),
    ],
)  # fmt: skip
def test_a_verdict(ours: float, given: dict[str, Any], said: str) -> None:
    assert str(verdict(ours, **given)) == said


def test_many_verdicts_in_a_few_words() -> None:
    given = [verdict(1, target=0.5, published=2), verdict(1, target=2, published=0.5), verdict(1, baselines={"x": 2})]
    assert summary(given) == (
        "1 of 2 targets reached; at least the paper in 1 of 2 figures; a baseline wins 1 of 3 figures"
    )
    assert summary([]) == "nothing to compare with"


def test_numbers_keep_their_digits() -> None:
    assert [number(x) for x in (0, 1, 0.25, 0.001909, 12.345, 1234.5, -0.5)] == [
        "0", "1.0000", "0.2500", "0.00191", "12.35", "1,234.50", "-0.5000",
    ]  # fmt: skip


# -------------------------------------------------------------------- running


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
    assert arguments_of(task) or task == "clustering"
    assert not {"seed", "baselines", "graph"} & set(arguments_of(task))


def test_a_task_with_labels_and_one_with_a_split(tiny: reproduce.Table) -> None:
    how, data = Run(seeds=(0,), device="cpu"), tiny.data
    bare = dataclasses.replace(tiny.rows[0], task={}, published="", target={})
    told = dataclasses.replace(tiny, figures=("accuracy@50%",), published={}, rows=(bare,))
    labels = dataclasses.replace(tiny.task, name="classification", arguments={"train": [0.5], "repeats": 1})
    assert 0 <= run(dataclasses.replace(told, task=labels), how).rows["vectors"].mean["accuracy@50%"] <= 1
    links = dataclasses.replace(tiny.task, name="link_prediction", arguments={"hidden": 0.2, "keep": "connected"})
    found = run(dataclasses.replace(told, figures=("AUC",), task=links, data=data), how).rows["vectors"]
    assert 0 <= found.mean["AUC"] <= 1 and "Adamic-Adar" in found.baselines


# -------------------------------------------------------------------- recording


def test_recording_changes_nothing_else(tiny: reproduce.Table) -> None:
    first = recorded(vectors=RecordedRow("ab", {"MAP": 0.5}, {"MAP": 0.1}, {"normalised SVD": {"MAP": 0.25}}))
    second = recorded(vectors=RecordedRow("cd", {"MAP": 1.0}), **{DECODER: RecordedRow("ef", {"MAP": 0.1})})
    assert record(tiny, first).recorded == first
    text = tiny.path.read_text(encoding="utf-8")
    assert text.startswith(TEXT.rstrip())
    record(tiny, second)
    assert read_table(tiny.path) == dataclasses.replace(tiny, recorded=second)
    record(tiny, first)
    assert tiny.path.read_text(encoding="utf-8") == text
    assert [p.name for p in tiny.path.parent.iterdir()] == ["tiny.toml"]


@pytest.mark.parametrize(
    "name", ['a "quote"', "back\\slash", "dot.ted", "é ü 日本", "tab\there", "", "line\nbreak", "\x7f\x00"]
)
def test_any_name_can_be_recorded(name: str) -> None:
    row = RecordedRow(name, {"MAP": 1e-9, name: 12345678.9}, {}, {name: {name: -0.0}})
    found = dataclasses.replace(recorded(), machine=name, rows={name: row})
    made = with_recorded(Path("x.toml"), TEXT, found)
    assert parse(Path("x.toml"), made).recorded == found


def test_a_file_where_recorded_is_not_last_is_left_alone(tiny: reproduce.Table) -> None:
    """What stands after it would be lost."""
    text = TEXT.replace("[quick]", RECORDED + "\n[quick]")
    tiny.path.write_text(text)
    with pytest.raises(InputError, match="last part"):
        record(tiny, recorded(vectors=RecordedRow("ab", {"MAP": 0.5})))
    assert tiny.path.read_text() == text


def test_an_interruption_leaves_the_file_as_it_was(tiny: reproduce.Table, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*args: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "replace", interrupted)
    with pytest.raises(KeyboardInterrupt):
        record(tiny, recorded(vectors=RecordedRow("ab", {"MAP": 0.5})))
    assert tiny.path.read_text() == TEXT and len(list(tiny.path.parent.iterdir())) == 1


def test_a_figure_recorded_under_other_settings_is_not_shown(tiny: reproduce.Table) -> None:
    rows = {r.name: RecordedRow(tiny.settings(r), {"MAP": 0.5}) for r in tiny.rows}
    now = dataclasses.replace(tiny, recorded=recorded(**rows))
    assert reproduce.last_verdict(now).startswith("1 of 1 targets reached")
    for changed in (
        {"rows": (dataclasses.replace(now.rows[0], config={"dim": 5}), now.rows[1])},
        {"rows": (dataclasses.replace(now.rows[0], task={"score": "cosine"}), now.rows[1])},
        {"task": dataclasses.replace(now.task, arguments={"k": [10]})},
        {"data": dataclasses.replace(now.data, options={})},
    ):
        later = dataclasses.replace(now, **changed)  # type: ignore[arg-type]
        assert later.found(later.rows[0]) is None
        assert reproduce.last_verdict(later) == "set otherwise since it was run"
    renamed = dataclasses.replace(now, title="x", notes="y", published={"SDNE": {}})
    assert renamed.found(renamed.rows[0]) is not None


# -------------------------------------------------------------------- the page


def test_the_page_shows_everything(tiny: reproduce.Table) -> None:
    row = RecordedRow(tiny.settings(tiny.rows[0]), {"MAP": 0.3, COST: 1.5}, {"MAP": 0.01}, {"spectral": {"MAP": 0.4}})
    run_ = dataclasses.replace(tiny, recorded=recorded(vectors=row))
    absent = dataclasses.replace(tiny, path=Path("absent.toml"), status="no edge files", rows=(), paper="Zebra 2020")
    text = reproduce.page([absent, run_])
    assert text == reproduce.page([run_, absent])
    line = (
        "| vectors | MAP | 0.5000 | **0.3000** ± 0.0100 | 0.4000 (spectral) | ≥ 0.0100 "
        "| reaches the target; below the paper by 0.2000; a baseline wins: spectral |"
    )
    assert line in text.splitlines()
    assert "| vectors | precision@20 | 1.0000 | - |  |  | not measured |" in text
    assert "**Not run here: no edge files.**" in text and "| LINE | 0.4 |  |" in text
    assert text.index("## SDNE") < text.index("## Zebra 2020")
    assert "Guessed, as the paper is silent: nearly all." in text
    assert "Run on 2026-11-30 with netfold 0.1.0 and seeds 0, 1: 4 s on a box, 2 cores." in text


# -------------------------------------------------------------------- the command


def netfold(*args: object) -> Result:
    return CliRunner().invoke(main, [str(a) for a in args])


def refuse(*args: object, code: int = 2) -> str:
    result = netfold(*args)
    assert result.exit_code == code, result.output
    assert result.stdout == "" and "Traceback" not in result.stderr
    return result.stderr


def test_a_table_runs_from_the_command_line_and_is_recorded(tiny: reproduce.Table) -> None:
    folder = tiny.path.parent
    result = netfold("reproduce", "tiny", "--tables", folder, "--quick", "--device", "cpu")
    assert result.exit_code == 0, result.output
    head = result.stdout.splitlines()
    assert head[0] == "Two blocks, reconstruction: SDNE, Table 9  (--quick: less than the table asks for)"
    assert head[1].split() == ["row", "figure", "paper", "ours", "target", "verdict", "baselines"]
    assert any(x.startswith("vectors") and "MAP" in x and "spectral" in x and "0.5000" in x for x in head)
    assert "vectors is fitted" in result.stderr and tiny.path.read_text() == TEXT

    asked = ("reproduce", "tiny", "--tables", folder, "--seeds", 2, "--device", "cpu", "--record", "--json")
    facts = json.loads(netfold(*asked).stdout)
    assert facts["seeds"] == [0, 1] and facts["recorded"] and facts["rows"]["vectors"]["mean"]["MAP"] > 0
    assert "target" in facts["verdicts"]["vectors"]["MAP"]
    kept = read_table(tiny.path)
    assert kept.recorded is not None and kept.recorded.rows["vectors"].mean == facts["rows"]["vectors"]["mean"]
    assert (folder / "results.md").read_text() == reproduce.page([kept])
    listed = json.loads(netfold("reproduce", "--list", "--tables", folder, "--json").stdout)["tables"]
    assert listed[0]["present"] and "targets reached" in listed[0]["verdict"]


def test_the_list_of_what_comes_with_netfold() -> None:
    lines = netfold("reproduce", "--list").stdout.splitlines()
    assert len(lines) == len(TABLES) + 1
    assert next(x for x in lines if x.startswith("sdne-flickr-labels")).split()[1:4] == ["SDNE", "flickr", "no"]


def test_the_page_can_be_written_alone(tiny: reproduce.Table) -> None:
    said = netfold("reproduce", "--page", "--tables", tiny.path.parent).stdout.strip()
    assert said == str(tiny.path.parent / "results.md") and Path(said).read_text() == reproduce.page([tiny])


@pytest.mark.parametrize(
    "args, said",
    [
        ([], "NAME"),
        (["tiny", "--list"], "NAME"),
        (["tiny", "--quick", "--record"], "not worth recording"),
        (["tiny", "--quick", "--seeds", "3"], "one seed"),
        (["tiny", "--seeds", "0"], "--seeds"),
        (["tinny"], "did you mean tiny?"),
        (["tiny", "--tables", "nowhere"], "nowhere is not a folder"),
    ],
)
def test_what_cannot_be_run_is_refused(args: list[str], said: str, tiny: reproduce.Table) -> None:
    where = [] if "--tables" in args else ["--tables", tiny.path.parent]
    assert said in refuse("reproduce", *args, *where)
    assert [p.name for p in tiny.path.parent.iterdir()] == ["tiny.toml"]


def test_missing_data_is_said_and_nothing_is_written(tiny: reproduce.Table, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NETFOLD_DATA", str(tiny.path.parent))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tiny.path.parent))
    text = TEXT.replace('name = "sbm"\nsizes = [12, 12]\np_in = 0.5\np_out = 0.05', 'name = "ca_grqc"')
    tiny.path.write_text(text)
    assert "NETFOLD_DATA" in refuse("reproduce", "tiny", "--tables", tiny.path.parent, "--record")
    assert tiny.path.read_text() == text and len(list(tiny.path.parent.iterdir())) == 1


def test_ctrl_c_writes_nothing(tiny: reproduce.Table, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*args: Any, **given: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(nf.SDNE, "fit", interrupted)
    assert "interrupted" in refuse("reproduce", "tiny", "--tables", tiny.path.parent, "--record", code=1)
    assert tiny.path.read_text() == TEXT and len(list(tiny.path.parent.iterdir())) == 1


def test_tables_of_the_installed_package_are_not_written_to(
    tiny: reproduce.Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    from netfold.reproduce import finding

    monkeypatch.setattr(finding, "_INSTALLED", tiny.path.parent)
    assert "--tables FOLDER" in refuse("reproduce", "tiny", "--tables", tiny.path.parent, "--record")
    monkeypatch.setattr(finding, "_CHECKOUT", tiny.path.parent / "nowhere")
    assert reproduce.folder_of_tables() == tiny.path.parent
    monkeypatch.setattr(finding, "_INSTALLED", tiny.path.parent / "nowhere")
    with pytest.raises(InputError, match="--tables"):
        reproduce.folder_of_tables()


# -------------------------------------------------------------------- the page on evaluating


def test_the_page_on_evaluating_names_every_task() -> None:
    text = (ROOT / "docs" / "evaluating.md").read_text(encoding="utf-8")
    assert all(f"`{task}`" in text for task in TASKS)
