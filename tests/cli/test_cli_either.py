"""Files of edges or of hyperedges: info, choose and compare find out alike which they are, and read classes alike."""

from __future__ import annotations

from pathlib import Path

import pytest

from command import refuse, succeed, told

FILES = {
    "pairs": ("a,b\nb,c\nc,d\n", False),
    "weights": ("a,b,0.5\nb,c,2\nc,a,1\n", False),
    "named": ("source,target,weight\na,b,0.5\nb,c,2\n", False),
    "times": ("source,target,year\na,b,2015\nb,c,2016\n", False),
    "roles": ("user,film,tag\n1,7,slow\n2,7,fast\n", True),
    "rated": ("user,film,rating\n1,7,5\n2,7,3\n", False),
}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("kind", FILES)
def test_what_a_file_holds_is_found_out(kind: str) -> None:
    text, typed = FILES[kind]
    Path("file.csv").write_text(text)
    assert told("info", "file.csv")["kind"] == ("hypergraph" if typed else "graph")
    assert told("choose", "file.csv", "--no-probe", "--quiet")["facts"]["hyperedges"] is typed


@pytest.mark.parametrize("flag", ["--unweighted", "--directed"])
def test_a_flag_of_graphs_says_that_it_is_one(flag: str) -> None:
    Path("file.csv").write_text(FILES["roles"][0])
    assert told("info", "file.csv", flag)["kind"] == "graph"


@pytest.fixture
def tags(folder: Path) -> str:
    rows = [f"u{i % 6},f{i % 8},t{(i % 6 + i % 8) % 3}" for i in range(48)]
    Path("tags.csv").write_text("user,film,tag\n" + "\n".join(rows) + "\n")
    Path("genres.csv").write_text("\n".join(f"film:f{i},{'xy'[i % 2]}" for i in range(8)))
    return "tags.csv"


def test_compare_takes_hyperedges_and_the_classes_of_typed_nodes(tags: str) -> None:
    asked = ("compare", tags, "dhne", "--dim", 2, "--epochs", 1, "--quiet")
    assert list(told(*asked)["best"]) == ["hyperedges"]
    found = told(*asked, "--task", "classification", "--classes", "genres.csv")
    assert found["entries"][0]["method"] == "DHNE" and found["entries"][0]["figures"]["accuracy@50%"] > 0


def test_a_node_that_is_not_there_is_named(tags: str) -> None:
    with Path("genres.csv").open("a") as file:
        file.write("\nfilm:f99,x\n")
    asked = ("compare", tags, "dhne", "--task", "classification", "--classes", "genres.csv", "--dim", 2, "--epochs", 1)
    said = "genres.csv: 1 of 9 nodes is not in the graph, and passed over (film:f99)"
    assert said in succeed(*asked).stderr
    Path("genres.csv").write_text("film:f99,x\nfilm:f98,y\n")
    assert "genres.csv: no node is called film:f99; nodes are called as user:u0" in refuse(*asked)
