"""`netfold report` of models of a graph beside one of a hypergraph: each is measured on the file that it reads."""

from __future__ import annotations

from pathlib import Path

import pytest

import netfold as nf
from command import netfold
from report_pages import facts_of


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("edges.csv").write_text("\n".join(f"n{i},n{(i + 1) % 20}" for i in range(20)))
    Path("tags.csv").write_text("user,film,tag\n" + "\n".join(f"{i % 5},{i % 7},t{i % 3}" for i in range(40)))
    nf.SDNE(dim=2, hidden=(4,), epochs=1).fit(nf.read_edges("edges.csv"), progress=False).save("sdne.netfold")
    nf.DHNE(dim=2, epochs=1).fit(nf.read_hyperedges("tags.csv"), progress=False).save("dhne.netfold")
    return tmp_path


@pytest.mark.parametrize("order", [("edges.csv", "tags.csv"), ("tags.csv", "edges.csv")])
def test_each_model_has_the_file_that_it_reads(folder: Path, order: tuple[str, str]) -> None:
    asked = ("report", "sdne.netfold", "dhne.netfold", "-o", "r.html", "--method", "pca", "--no-evaluate")
    result = netfold(*asked, *(word for path in order for word in ("--edges", path)))
    assert result.exit_code == 0, result.stderr
    of_sdne, of_dhne = (dict(x["facts"]) for x in facts_of(Path("r.html").read_text())["data"])
    assert of_sdne["edges"] == "20" and of_dhne["hyperedges"] == "40"


def test_a_model_whose_file_is_not_given_is_shown_without(folder: Path) -> None:
    result = netfold("report", "sdne.netfold", "dhne.netfold", "-o", "r.html", "--edges", "edges.csv", "--no-evaluate")
    assert result.exit_code == 0, result.stderr
    data = facts_of(Path("r.html").read_text())["data"]
    assert [dict(x["facts"]).get("edges") for x in data] == ["20"]


def test_a_graph_still_comes_in_one_file(folder: Path) -> None:
    asked = ("report", "sdne.netfold", "dhne.netfold", "-o", "r.html", "--edges", "edges.csv", "--edges", "edges.csv")
    result = netfold(*asked)
    assert result.exit_code == 2 and "edges.csv is one file too many; SDNE reads its edges from one" in result.stderr
