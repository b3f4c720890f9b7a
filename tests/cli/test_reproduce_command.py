"""`netfold reproduce`: tables run, listed and recorded from the command line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import netfold as nf
from command import netfold
from netfold.errors import InputError
from netfold.studies import reproduce
from netfold.studies.reproduce import read_table
from published_tables import TABLES, TEXT


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
    assert "interrupted" in refuse("reproduce", "tiny", "--tables", tiny.path.parent, "--record", code=130)
    assert tiny.path.read_text() == TEXT and len(list(tiny.path.parent.iterdir())) == 1


def test_tables_of_the_installed_package_are_not_written_to(
    tiny: reproduce.Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    from netfold.studies.reproduce import parsing as finding

    monkeypatch.setattr(finding, "_INSTALLED", tiny.path.parent)
    assert "--tables FOLDER" in refuse("reproduce", "tiny", "--tables", tiny.path.parent, "--record")
    monkeypatch.setattr(finding, "_CHECKOUT", tiny.path.parent / "nowhere")
    assert reproduce.folder_of_tables() == tiny.path.parent
    monkeypatch.setattr(finding, "_INSTALLED", tiny.path.parent / "nowhere")
    with pytest.raises(InputError, match="--tables"):
        reproduce.folder_of_tables()
