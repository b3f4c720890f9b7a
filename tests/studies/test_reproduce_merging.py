"""A table run on another machine is taken in; baselines are measured alone; values of seeds are kept."""

from __future__ import annotations

import dataclasses
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import netfold as nf
from command import refuse, succeed
from netfold.errors import InputError
from netfold.studies import reproduce
from netfold.studies.compare import readable
from netfold.studies.reproduce import (
    Run,
    joined_runs,
    merged,
    read_run,
    read_table,
    record,
    run,
    with_baselines,
    with_cheap_rows,
)
from netfold.studies.reproduce.__main__ import run_table
from netfold.studies.reproduce.table import COST
from published_tables import DECODER, without_cost


def test_values_of_seeds_are_kept(tiny: reproduce.Table) -> None:
    result = run(tiny, Run(seeds=(0, 1, 2)))
    row = result.rows["vectors"]
    assert len(row.seeds["MAP"]) == 3 and np.mean(row.seeds["MAP"]) == pytest.approx(row.mean["MAP"], rel=1e-5)
    assert np.std(row.seeds["MAP"], ddof=1) == pytest.approx(row.sd["MAP"], rel=1e-3)
    for name, cells in row.baselines.items():
        assert np.mean(row.baseline_seeds[name]["MAP"]) == pytest.approx(cells["MAP"], rel=1e-5)
    assert record(tiny, result).recorded == result == read_table(tiny.path).recorded


def test_a_run_of_another_machine_is_taken_in(tiny: reproduce.Table, tmp_path: Path) -> None:
    """Without click: the module is run as it would be there."""
    file, blocked = tmp_path / "blocked" / "run.toml", tmp_path / "blocked"
    blocked.mkdir()
    (blocked / "click.py").write_text("raise ImportError('there is no click here')")
    command = [sys.executable, "-m", "netfold.studies.reproduce", "tiny", "--seeds", "2", "--record", str(file)]
    path = ":".join([str(blocked), *(x for x in sys.path if x)])
    done = subprocess.run(
        [*command, "--tables", str(tiny.path.parent)],
        env={"PYTHONPATH": path, "PATH": ""},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert "vectors  MAP  paper 0.5000" in done.stdout
    name, there = read_run(file)
    assert name == "tiny" and there.seeds == (0, 1)
    assert read_table(tiny.path).recorded is None
    succeed("reproduce", "--merge", file, "--tables", tiny.path.parent)
    assert read_table(tiny.path).recorded == there
    assert "vectors" in (tiny.path.parent / "results.md").read_text()


def test_some_rows_replace_their_own_and_say_when(tiny: reproduce.Table, tmp_path: Path) -> None:
    whole = run(tiny, Run(seeds=(0, 1)))
    known = record(tiny, whole)
    (tmp_path / "there").mkdir()
    file = tmp_path / "there" / "r.toml"
    assert run_table(["tiny", "--row", DECODER, "--seed", "7", "--record", str(file), "--tables",
                 str(tiny.path.parent)]) == 0  # fmt: skip
    _, part = read_run(file)
    assert list(part.rows) == [DECODER] and part.seeds == (7,)
    both = merged(known, part)
    assert both.rows["vectors"] == whole.rows["vectors"] and both.seeds == (0, 1)
    assert both.rows[DECODER].mean == part.rows[DECODER].mean and "seeds 7" in both.rows[DECODER].run
    assert record(known, both).recorded == both
    succeed("reproduce", "--page", "--tables", tiny.path.parent)
    assert "seeds 7" in (tiny.path.parent / "results.md").read_text()


@pytest.mark.usefixtures("here")
def test_what_does_not_belong_is_refused(
    tiny: reproduce.Table, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    result = run(tiny, Run(seeds=(0,)))
    other = dataclasses.replace(result, rows={"x": result.rows["vectors"]})
    with pytest.raises(InputError, match="has no row 'x'"):
        merged(tiny, other)
    old = dataclasses.replace(result.rows["vectors"], settings="0")
    with pytest.raises(InputError, match="set otherwise"):
        merged(tiny, dataclasses.replace(result, rows={"vectors": old}))
    assert run_table(["tiny", "--row", "x", "--tables", str(tiny.path.parent)]) == 2
    assert run_table(["tiny", "--quick", "--record", "f", "--tables", str(tiny.path.parent)]) == 2
    assert run_table(["nothing", "--tables", str(tiny.path.parent)]) == 2
    said = capsys.readouterr().err
    assert "has no row 'x'; it has vectors" in said and "not worth recording" in said and "no table 'nothing'" in said
    (tmp_path / "there").mkdir()
    (tmp_path / "there" / "bad.toml").write_text("table = 7")
    assert "it should be text" in refuse(
        "reproduce", "--merge", tmp_path / "there" / "bad.toml", "--tables", tiny.path.parent
    )


def test_baselines_alone_are_those_of_a_run(tiny: reproduce.Table) -> None:
    """No model is fitted, and every number of a baseline is that of the run with models."""
    result = run(tiny, Run(seeds=(0, 1)))
    fewer = {
        name: dataclasses.replace(row, baselines={"older": {"MAP": 0.1}, "spectral": {"MAP": 0.0}}, baseline_seeds={})
        for name, row in result.rows.items()
    }
    known = record(tiny, dataclasses.replace(result, rows=fewer))
    again = with_baselines(known, Run())
    for name, row in result.rows.items():
        expected = without_cost({"older": {"MAP": 0.1}, **row.baselines})
        assert without_cost(again.rows[name].baselines) == expected
        assert all(0 < again.rows[name].baselines[x][COST] < 5 for x in row.baselines)
        assert again.rows[name].baseline_seeds == row.baseline_seeds and again.rows[name].mean == row.mean
    with pytest.raises(InputError, match="cannot be measured without its models"):
        with_baselines(tiny, Run())


def test_the_front_of_the_page_answers_each_question_once(tiny: reproduce.Table) -> None:
    known = record(tiny, run(tiny, Run(seeds=(0, 1))))
    front = reproduce.page([known]).split("## All tables")[0]
    line = next(x for x in front.splitlines() if x.startswith("| [tiny]"))
    best = max((known.recorded.rows[x].mean["MAP"], x) for x in known.recorded.rows) if known.recorded else (0, "")
    assert f"{best[1]}: {best[0]:.4f}" in line and "(2 seeds)" in line and front.count("| [tiny]") == 1
    assert known.recorded is not None
    cheap = known.recorded.rows[best[1]].baselines
    first = max(cheap, key=lambda name: cheap[name]["MAP"])
    own = known.recorded.rows[best[1]].mean[COST]
    assert [x.strip() for x in line.split("|")][3:6] == [
        f"{own:.1f}", f"{first}: {cheap[first]['MAP']:.4f}", f"{cheap[first][COST]:.1f}",
    ]  # fmt: skip
    assert "## Is it worth it?" not in reproduce.page([tiny])
    bare = {
        name: dataclasses.replace(x, mean={"MAP": x.mean["MAP"]}, run="") for name, x in known.recorded.rows.items()
    }
    for where, cost in (
        ("a box, 3 cores", "≤ 18"),
        ("a box, 3 cores; 2 jobs", "≤ 18"),
        ("a box; NVIDIA X", "on a GPU"),
    ):
        timed = dataclasses.replace(known.recorded, rows=bare, machine=where, seconds=24.0)
        front = reproduce.page([dataclasses.replace(known, recorded=timed)])  # 24 s, two seeds, two rows
        assert next(x for x in front.splitlines() if x.startswith("| [tiny]")).split("|")[3].strip() == cost


def test_a_cheap_method_is_taken_as_it_is_best_in_any_row_of_the_question(tiny: reproduce.Table) -> None:
    """Rows may score the pairs of the same cheap vectors otherwise; as many seeds are asked for."""
    whole = run(tiny, Run(seeds=(0, 1)))
    best = max(whole.rows, key=lambda name: whole.rows[name].mean["MAP"])
    other = next(name for name in whole.rows if name != best)

    def front(**found: tuple[float, ...]) -> str:
        means = {name: {"MAP": sum(values) / len(values), COST: 7.0} for name, values in found.items()}
        values = {name: {"MAP": values} for name, values in found.items()}
        rows = whole.rows | {other: dataclasses.replace(whole.rows[other], baselines=means, baseline_seeds=values)}
        known = dataclasses.replace(tiny, recorded=dataclasses.replace(whole, rows=rows))
        line = next(x for x in reproduce.page([known]).splitlines() if x.startswith("| [tiny]"))
        assert f"| {best}: " in line
        return line

    assert "spectral: 0.9900 | 7.0 | the cheap one (2 seeds)" in front(spectral=(0.99, 0.99))
    assert "0.9900" not in front(spectral=(0.99,)) and "0.9900" not in front(unknown=(0.99, 0.99))
    assert front(spectral=(0.01, 0.01)) == front()  # what is worse changes nothing


def test_cheap_methods_of_before_are_marked_though_one_is_measured_anew(tiny: reproduce.Table) -> None:
    whole = run(tiny, Run(seeds=(0, 1)))

    def cheapest(rows: dict[str, reproduce.RecordedRow]) -> str:
        known = dataclasses.replace(tiny, recorded=dataclasses.replace(whole, rows=rows))
        line = next(x for x in reproduce.page([known]).splitlines() if x.startswith("| [tiny]"))
        return [x.strip() for x in line.split("|")][4]

    def older(row: reproduce.RecordedRow, *anew: str) -> reproduce.RecordedRow:
        cells = {
            name: {figure: x for figure, x in of.items() if figure != COST or name in anew}
            for name, of in row.baselines.items()
        }
        return dataclasses.replace(row, baselines=cells, baseline_seeds={x: row.baseline_seeds[x] for x in anew})

    before = {name: older(row) for name, row in whole.rows.items()}
    one_anew = {name: older(row, "spectral") for name, row in whole.rows.items()}
    assert cheapest(before).endswith("*") and cheapest(one_anew).endswith("*")
    assert not cheapest(dict(whole.rows)).endswith("*")


def test_what_the_paper_prints_is_not_the_best_of_ours(tiny: reproduce.Table) -> None:
    result = run(tiny, Run(seeds=(0, 1)))
    best = max(tiny.rows, key=lambda row: result.rows[row.name].mean["MAP"])
    other = next(row for row in tiny.rows if row.name != best.name)
    printed = dataclasses.replace(best, name="as printed")
    rows = {"as printed": result.rows[best.name], other.name: result.rows[other.name]}
    table = dataclasses.replace(tiny, rows=(printed, other), recorded=dataclasses.replace(result, rows=rows))
    line = next(x for x in reproduce.page([table]).splitlines() if x.startswith("| [tiny]"))
    assert f"| {other.name}: " in line and "as printed" not in line


def test_a_model_of_graphs_is_fitted_to_the_clique_expansion() -> None:
    hypergraph = nf.Hypergraph.from_tuples([("a", "b", "c"), ("b", "c")])
    read = readable(nf.Node2Vec(), hypergraph)
    assert read.adjacency.toarray().tolist() == [[0, 1, 1], [1, 0, 2], [1, 2, 0]]
    assert readable(nf.DHNE(), hypergraph) is hypergraph and readable(nf.SDNE(), read) is read


def _file(table: reproduce.Table, path: Path, *arguments: str) -> Path:
    assert run_table([table.name, *arguments, "--record", str(path), "--tables", str(table.path.parent)]) == 0
    return path


def test_runs_of_single_seeds_are_joined(tiny: reproduce.Table, tmp_path: Path) -> None:
    """One seed a file, in any order, is what one run of them all would be."""
    (tmp_path / "there").mkdir()
    files = [_file(tiny, tmp_path / "there" / f"{s}.toml", "--seed", str(s)) for s in (2, 0, 1)]
    whole, both = run(tiny, Run(seeds=(0, 1, 2))), joined_runs([read_run(file)[1] for file in files])
    assert both.seeds == (0, 1, 2)
    for name, row in whole.rows.items():
        assert both.rows[name].seeds == row.seeds and both.rows[name].baseline_seeds == row.baseline_seeds
        for figure in ("MAP", "precision@20"):
            assert both.rows[name].mean[figure] == pytest.approx(row.mean[figure], rel=1e-5)
            assert both.rows[name].sd[figure] == pytest.approx(row.sd[figure], rel=1e-3)
        assert both.rows[name].training == pytest.approx(row.training, rel=1e-5)
    succeed("reproduce", *(x for file in files for x in ("--merge", file)), "--tables", tiny.path.parent)
    assert read_table(tiny.path).recorded == both
    with pytest.raises(InputError, match="same seed"):
        joined_runs([both, both])
    with pytest.raises(InputError, match="not of the same rows"):
        joined_runs([dataclasses.replace(both, seeds=(7,), rows={"vectors": both.rows["vectors"]}), both])


def test_joined_runs_say_which_seeds_were_run_where(tiny: reproduce.Table) -> None:
    """And their training is a mean over seeds, not over runs."""
    one, other = run(tiny, Run(seeds=(0, 1))), run(tiny, Run(seeds=(2,)))
    assert joined_runs([other, one]).machine == one.machine and joined_runs([one, other]).version == one.version
    alike = [dataclasses.replace(x, machine="a box", date="2026-11-18") for x in (one, other)]
    assert joined_runs(alike).machine == "a box" and joined_runs(alike).date == "2026-11-18"
    there = dataclasses.replace(alike[1], machine="a GPU", version="9")
    both = joined_runs([there, alike[0]])
    assert both.machine == "seeds 0, 1: a box; seed 2: a GPU" and both.version == f"{one.version}, 9"
    later = dataclasses.replace(alike[1], date="2026-11-19")
    both = joined_runs([later, alike[0]])
    assert both.machine == "seeds 0, 1: a box on 2026-11-18; seed 2: a box on 2026-11-19"
    assert both.date == "2026-11-19"
    known = merged(
        record(tiny, dataclasses.replace(one, seeds=(7, 8))),
        dataclasses.replace(both, rows={DECODER: both.rows[DECODER]}),
    )
    assert f"seeds 0, 1, 2 on {both.machine}" in known.rows[DECODER].run
    for name in one.rows:
        a, b = (x.rows[name].training["objective"] for x in (one, other))
        assert both.rows[name].training["objective"] == pytest.approx((2 * a + b) / 3, rel=1e-5)


@pytest.mark.usefixtures("here")
def test_models_and_baselines_apart_are_a_run_of_both(tiny: reproduce.Table, tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    models = _file(tiny, tmp_path / "there" / "m.toml", "--models-only", "--seeds", "2")
    cheap = _file(tiny, tmp_path / "there" / "b.toml", "--baselines-only", "--seeds", "2")
    assert not any(row.baselines for row in read_run(models)[1].rows.values())
    assert not any(row.mean for row in read_run(cheap)[1].rows.values())
    assert "merge its models first" in refuse("reproduce", "--merge", cheap, "--tables", tiny.path.parent)
    whole = run(tiny, Run(seeds=(0, 1)))
    for file in (models, cheap, models):  # models again: they find the baselines there
        succeed("reproduce", "--merge", file, "--tables", tiny.path.parent)
    known = read_table(tiny.path).recorded
    assert known is not None
    bare = {name: dataclasses.replace(row, baselines={}, baseline_seeds={}) for name, row in known.rows.items()}
    first = {"vectors": read_run(cheap)[1].rows["vectors"]}
    table = record(tiny, dataclasses.replace(known, rows=bare))
    alike = merged(table, dataclasses.replace(read_run(cheap)[1], rows=first)).rows[DECODER].baselines
    same = without_cost(alike) == without_cost(whole.rows[DECODER].baselines)
    assert alike == {} or same  # those of a row go to all that have the same
    assert bool(alike) == (reproduce.measuring.sources(tiny, quick=False)[DECODER] == "vectors")
    for name, row in whole.rows.items():
        assert without_cost(known.rows[name].baselines) == without_cost(row.baselines)
        assert known.rows[name].seeds == row.seeds
        assert known.rows[name].baseline_seeds == row.baseline_seeds


def test_a_row_says_how_long_its_model_was_trained(tiny: reproduce.Table) -> None:
    known = record(tiny, run(tiny, Run(seeds=(0, 1))))
    assert known.recorded is not None
    training = known.recorded.rows["vectors"].training
    assert training["epochs"] >= 1 and training["objective"] > 0
    assert f"Trained for {training['epochs']:,.0f} epochs" in reproduce.page([known])


def test_quick_changes_what_a_model_has(tiny: reproduce.Table) -> None:
    wider = dataclasses.replace(tiny, quick=dataclasses.replace(tiny.quick, config={"epochs": 3}))
    assert wider.quick_config("sdne") == {"epochs": 3} and wider.quick_config("degreefeatures") == {}
    text = tiny.path.read_text().split("[quick]")[0] + "[quick]\nconfig = { no_option = 3 }\n"
    with pytest.raises(InputError, match="no model of this table has the option 'no_option'"):
        reproduce.parsing.parse(tiny.path, text)


def test_rows_of_cheap_models_are_what_others_have_to_beat(tiny: reproduce.Table) -> None:
    known = record(tiny, run(tiny, Run(seeds=(0, 1))))
    assert known.recorded is not None
    better = dataclasses.replace(known.recorded.rows["vectors"], mean={"MAP": 0.99}, seeds={"MAP": (0.99, 0.99)})
    cheap = dataclasses.replace(known.rows[0], name="roles of heat", model="graphwave", config={})
    table = dataclasses.replace(known, rows=(*known.rows, cheap))
    rows = {**known.recorded.rows, cheap.name: dataclasses.replace(better, settings=table.settings(cheap))}
    page = reproduce.page([dataclasses.replace(table, recorded=dataclasses.replace(known.recorded, rows=rows))])
    line = next(x for x in page.splitlines() if x.startswith("| [tiny]"))
    assert "roles of heat: 0.9900" in line and "the cheap one" in line
    row = next(x for x in page.splitlines() if x.startswith("| vectors | MAP"))
    assert "0.9900 (roles of heat)" in row and "a baseline wins: roles of heat" in row
    elsewhere = dataclasses.replace(cheap, task={"k": [10]})
    rows[cheap.name] = dataclasses.replace(better, settings=table.settings(elsewhere))
    asked = dataclasses.replace(table, rows=(*known.rows, elsewhere))
    assert cheap.name not in with_cheap_rows(asked, known.rows[0], rows).baselines  # another protocol
    own = next(x for x in page.splitlines() if x.startswith("| roles of heat | MAP"))
    assert "(roles of heat)" not in own and "a baseline" not in own


def test_a_row_that_is_not_run_says_why_and_is_left_out(tiny: reproduce.Table, tmp_path: Path) -> None:
    """Of the whole table's runs; a run that names it takes the reason from the page."""
    text = tiny.path.read_text()
    line = 'not_run = "an epoch takes 9 CPU-s, and the protocol needs 3,000"\n'
    tiny.path.write_text(text.replace('guess = "nearly all"\n', 'guess = "nearly all"\n' + line))
    table = read_table(tiny.path)
    assert [row.name for row in table.usual().rows] == [DECODER]
    assert table.settings(table.rows[0]) == tiny.settings(tiny.rows[0])
    (tmp_path / "there").mkdir()
    succeed("reproduce", "tiny", "--seeds", "2", "--record", "--tables", tiny.path.parent)
    known = read_table(tiny.path)
    assert known.recorded is not None and list(known.recorded.rows) == [DECODER]
    page = reproduce.page([known])
    assert "| vectors | MAP | 0.5000 | - |  | ≥ 0.0100 | not run here |" in page
    assert "nearly all. Not run here: an epoch takes 9 CPU-s, and the protocol needs 3,000." in page
    assert reproduce.last_verdict(known).endswith("; 1 row not run here")
    usual = _file(known, tmp_path / "there" / "u.toml", "--seed", "4")
    succeed("reproduce", "--merge", usual, "--tables", tiny.path.parent)
    now = read_table(tiny.path).recorded
    assert now is not None and now.seeds == (4,) and not now.rows[DECODER].run  # all that is run is the whole table
    named = _file(known, tmp_path / "there" / "n.toml", "--seed", "4", "--row", "vectors")
    succeed("reproduce", "--merge", named, "--tables", tiny.path.parent)
    page = reproduce.page([read_table(tiny.path)])
    assert "Not run here" not in page and "| not run here |" not in page and "(1 seed)" in page
    with pytest.raises(InputError, match="every row says not_run"):
        reproduce.parsing.parse(
            tiny.path, tiny.path.read_text().replace('score = "decoder" }', 'score = "decoder" }\n' + line)
        )


def test_a_row_of_one_seed_is_said_to_be_of_one(tiny: reproduce.Table, tmp_path: Path) -> None:
    """Though the other rows of its table have more."""
    record(tiny, run(tiny, Run(seeds=(0, 1, 2, 3, 4))))
    (tmp_path / "there").mkdir()
    for name in ("vectors", DECODER):
        file = _file(tiny, tmp_path / "there" / "x.toml", "--seed", "0", "--row", name)
        succeed("reproduce", "--merge", file, "--tables", tiny.path.parent)
    known = read_table(tiny.path)
    assert known.recorded is not None and len(known.recorded.seeds) == 5
    assert "(1 seed)" in next(x for x in reproduce.page([known]).splitlines() if x.startswith("| [tiny]"))
