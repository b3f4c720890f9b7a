"""`--attributes FILE` of the commands that read a graph."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

import netfold as nf
from netfold.cli import main


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("edges.csv").write_text("source,target\na,b\nb,c\nc,a\nc,d\n")
    Path("papers.csv").write_text("node,year,topic\na,1999,x\nb,,y\nc,2001,x\nd,2003,y\n")
    return tmp_path


def run(*words: str, code: int = 0) -> str:
    answer = CliRunner().invoke(main, list(words))
    assert answer.exit_code == code, answer.output
    return answer.output


def test_info_says_what_is_known_about_nodes(folder: Path) -> None:
    output = run("info", "edges.csv", "--attributes", "papers.csv", "--json")
    assert "read papers.csv: year: number, topic: category of 2; 1 value missing" in output
    facts = json.loads(output.splitlines()[-1])
    assert facts["attributes"]["year"] == {"kind": "number", "width": 1, "known": 3} and facts["attribute_entries"] == 7
    assert "topic kind category, width 2, known 4" in run("info", "edges.csv", "--attributes", "papers.csv:topic")


def test_a_saved_graph_takes_and_keeps_them(folder: Path) -> None:
    nf.read_edges("edges.csv", attributes="papers.csv").save("g.parts")
    assert "attribute entries" in run("info", "g.parts")
    nf.read_edges("edges.csv").save("plain.parts")
    assert "year kind number" in run("info", "plain.parts", "--attributes", "papers.csv")


def test_what_does_not_fit_is_one_sentence(folder: Path) -> None:
    run("fit", "spectral", "edges.csv", "--dim", "2", "-o", "s.netfold", "-q")
    assert "no such file" in run("info", "edges.csv", "--attributes", "none.csv", code=2)
    twice = run("info", "edges.csv", "--attributes", "papers.csv", "--attributes", "papers.csv", code=2)
    assert "--attributes is given 2 times" in twice
    assert "--attributes is for a file of edges" in run("info", "s.netfold", "--attributes", "papers.csv", code=2)


def test_maps_and_reports_are_coloured_by_them(folder: Path) -> None:
    run("fit", "spectral", "edges.csv", "--dim", "2", "-o", "s.netfold", "-q")
    beside = ("--edges", "edges.csv", "--attributes", "papers.csv")
    run("map", "s.netfold", "-o", "map.svg", *beside, "--color", "topic")
    assert Path("map.svg").stat().st_size > 1000
    assert "nor an attribute (year, topic)" in run(
        "map", "s.netfold", "-o", "b.svg", *beside, "--color", "yaer", code=2
    )
    assert "needs --edges" in run("map", "s.netfold", "-o", "b.svg", "--color", "topic", code=2)
    run("report", "s.netfold", "-o", "page.html", *beside, "--no-evaluate")
    page = Path("page.html").read_text()
    assert '"name":"topic"' in page and "year: number, topic: category of 2" in page


def test_nodes_without_a_link_are_placed_by_attributes_alone(folder: Path) -> None:
    options = ("--dim", "2", "--hidden", "4", "--epochs", "5", "-q")
    run("fit", "sdne", "edges.csv", "--attributes", "papers.csv", *options, "-o", "m.netfold")
    assert "topic kind category, width 2, known 4" in run("info", "m.netfold")
    Path("new.csv").write_text("node,year,topic\nnew,2000,x\nother,,y\n")
    output = run("transform", "m.netfold", "--attributes", "new.csv", "-o", "new.csv.parquet")
    assert "vectors of 2 new nodes (2 nodes in all)" in output
    assert list(nf.Embedding.load("new.csv.parquet").nodes) == ["new", "other"]
    assert "no file of edges is given" in run("transform", "m.netfold", "-o", "n.parquet", code=2)
    said = run("transform", "m.netfold", "edges.csv", "-o", "n.parquet", code=2)
    assert "was fitted with attributes" in said and "--attributes FILE" in said
    Path("strange.csv").write_text("node,year,topic\nnew,2000,z\n")
    said = run("transform", "m.netfold", "--attributes", "strange.csv", "-o", "n.parquet", code=2)
    assert "the node 'new' has 'z' as topic, which no node had" in said


def test_nodes_of_a_type(folder: Path) -> None:
    Path("tags.csv").write_text("user,film,tag\n1,7,slow\n2,8,slow\n1,8,loud\n")
    Path("films.csv").write_text("film,year\n7,1999\n8,2001\n")
    output = run("info", "tags.csv", "--hyperedges", "--attributes", "film=films.csv", "--json")
    facts = json.loads(output.splitlines()[-1])
    assert facts["attributes"] == {"film.year": {"kind": "number", "width": 1, "known": 2}}
    said = run("info", "tags.csv", "--hyperedges", "--attributes", "films.csv", code=2)
    assert "does not say of which type; write user=films.csv" in said
