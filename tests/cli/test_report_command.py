"""`netfold report`: a page written from files, and one sentence where it cannot be."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import netfold as nf
from command import netfold
from report_pages import facts_of, hypergraph, unpacked
from zoo import karate


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sdne: nf.SDNE) -> Path:
    monkeypatch.chdir(tmp_path)
    sdne.save("sdne.netfold")
    sdne.embedding_.save("vectors.npz")
    edges = karate().adjacency.tocoo()
    rows = [f"{u},{v},{w:g}" for u, v, w in zip(*edges.coords, edges.data, strict=True) if u <= v]
    Path("edges.csv").write_text("\n".join(rows))
    Path("faction.csv").write_text("\n".join(f"{i},{'ab'[i % 2]}" for i in range(34)))
    return tmp_path


def test_the_command_writes_a_page(folder: Path) -> None:
    asked = (
        "report",
        "sdne.netfold",
        "vectors.npz",
        "-o",
        "r.html",
        "--edges",
        "edges.csv",
        "--classes",
        "faction.csv",
    )
    result = netfold(*asked, "--title", "Karate", "--json")
    assert result.exit_code == 0, result.output
    assert "report: reconstruction of SDNE, vectors\n" in result.stderr, "what is measured is said before it is"
    said = json.loads(result.stdout)
    assert said["models"] == ["SDNE", "vectors"] and said["nodes"] == [34, 34]
    assert said["bytes"] == Path("r.html").stat().st_size
    facts = facts_of(Path("r.html").read_text())
    assert facts["title"] == "Karate" and facts["data"][0]["notes"] == []
    assert [x["name"] for x in facts["sheets"][0]["columns"]] == ["faction", "degree", "length of the vector"]
    assert {x["title"] for x in facts["tables"]} == {
        "reconstruction", "regular equivalence", "classification by faction", "clustering by faction",
    }  # fmt: skip


def test_the_command_names_models_of_a_kind_by_their_paths(folder: Path, sdne: nf.SDNE) -> None:
    sdne.save("again.netfold")
    result = netfold("report", "sdne.netfold", "again.netfold", "-o", "r.html", "--method", "pca")
    assert result.exit_code == 0, result.output
    assert result.stdout.startswith("sdne.netfold of 34 nodes, again.netfold of 34 nodes; ")


def test_the_command_reads_edges_as_it_is_told(folder: Path) -> None:
    Path("edges.txt").write_text(Path("edges.csv").read_text().replace(",", ";"))
    asked = ("report", "vectors.npz", "-o", "r.html", "--edges", "edges.txt", "--no-evaluate", "--method", "pca")
    assert netfold(*asked, "--delimiter", ";", "--unweighted").exit_code == 0
    facts = dict(facts_of(Path("r.html").read_text())["data"][0]["facts"])
    assert facts["weighted"] == "no" and facts["edges"] == "78"


@pytest.mark.parametrize(
    ("args", "words"),
    [
        ([], "missing argument 'MODEL...'"),
        (["none.netfold"], "none.netfold"),
        (["sdne.netfold", "--classes", "none.csv"], "--classes none.csv names no file"),
        (["sdne.netfold", "--edges", "none.csv"], "none.csv"),
        (["vectors.npz", "--edges", "edges.csv", "--edges", "edges.csv"], "--edges is given 2 times"),
        (["sdne.netfold", "--classes", "edges.csv"], "edges.csv, line 1"),
        (["sdne.netfold", "sdne.netfold"], "two sheets are called"),
        (["sdne.netfold", "--edges", "edges.csv", "--skip-loops"], "--skip-loops has no meaning"),
    ],
)
def test_what_the_command_refuses(folder: Path, args: list[str], words: str) -> None:
    result = netfold("report", *args, "-o", "r.html")
    assert result.exit_code == 2 and words in result.stderr.replace("\n", " "), result.stderr
    assert len(result.stderr.splitlines()) == 1 and not Path("r.html").exists()


def test_types_are_spelled_in_a_file_of_labels(folder: Path) -> None:
    known = hypergraph()
    model = nf.DHNE(dim=3, epochs=1).fit(known, progress=False)
    model.save("dhne.netfold")
    names = [f"{kind}:{i}" for kind, i in known.nodes]
    Path("kinds.csv").write_text("\n".join(f"{name},{'xy'[k % 2]}" for k, name in enumerate(names)))
    result = netfold("report", "dhne.netfold", "-o", "r.html", "--classes", "kinds.csv", "--no-evaluate")
    assert result.exit_code == 0, result.output
    facts = facts_of(Path("r.html").read_text())
    assert [x["name"] for x in facts["sheets"][0]["columns"][:2]] == ["kinds", "type"]
    assert unpacked(Path("r.html").read_text(), facts["sheets"][0]["names"]).split("\n") == names
    Path("kinds.csv").write_text("user:99,x\nuser:98,y\n")
    refused = netfold("report", "dhne.netfold", "-o", "s.html", "--classes", "kinds.csv")
    assert refused.exit_code == 2 and "no node is called user:99" in refused.stderr
