"""Data sets by name: the catalogue, files found and checked, the command and the page that list them."""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path

import numpy as np
import pytest

from command import netfold
from netfold import datasets
from netfold.studies.datasets.built_in import BUILT_IN
from refusals import refused
from toy_datasets import TOYS

# -------------------------------------------------------------------- the catalogue


def test_every_data_set_says_what_it_is_and_can_be_had():
    for name in datasets.names():
        known = datasets.describe(name)
        assert known.name == name and known.kind in ("graph", "hypergraph", "documents")
        assert known.title and known.origin and known.licence and known.nodes > 0
        assert name in BUILT_IN or (known.files and known.sources)
        for file in known.files:
            assert re.fullmatch("[0-9a-f]{64}", file.sha256) and file.bytes > 0 and len(file.columns) >= 2
    assert set(BUILT_IN) <= set(datasets.names())


def test_an_unknown_name_is_refused_with_the_nearest_and_all():
    message = refused(datasets.load, "ca-grcq")
    assert "'ca-grcq'" in message and "did you mean ca_grqc" in message and "blogcatalog" in message
    assert "did you mean" not in refused(datasets.describe, "zzzzzz")
    assert "no data set" in refused(datasets.classes, ["karate"])


def test_a_data_set_cannot_be_changed():
    with pytest.raises(AttributeError):
        datasets.describe("karate").nodes = 35  # type: ignore[misc]


# -------------------------------------------------------------------- files: found, checked, refused


def test_files_are_looked_for_in_netfold_data_then_in_the_cache(toys: Path, monkeypatch: pytest.MonkeyPatch):
    assert datasets.present("arrows") == str(toys / "data" / "arrows")
    (toys / "cache" / "netfold").mkdir(parents=True)
    (toys / "data" / "arrows").rename(toys / "cache" / "netfold" / "arrows")
    assert datasets.present("arrows") == str(toys / "cache" / "netfold" / "arrows")
    assert datasets.load("arrows").n_edges == 2
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(toys / "home"))
    assert datasets.present("arrows") is None
    (toys / "home" / ".cache").mkdir(parents=True)
    (toys / "cache" / "netfold").rename(toys / "home" / ".cache" / "netfold")
    assert datasets.load("arrows").n_edges == 2
    monkeypatch.delenv("NETFOLD_DATA")
    assert datasets.load("arrows").n_edges == 2


def test_a_file_in_netfold_data_hides_the_one_in_the_cache(toys: Path):
    (toys / "cache" / "netfold" / "arrows").mkdir(parents=True)
    (toys / "cache" / "netfold" / "arrows" / "edges.csv.gz").write_bytes(b"not looked at")
    assert datasets.load("arrows").n_edges == 2
    (toys / "data" / "arrows" / "edges.csv.gz").write_bytes(b"short")
    assert str(toys / "data") in refused(datasets.load, "arrows")


def test_what_is_nowhere_is_said_to_be_so_with_how_to_obtain_it(toys: Path):
    (toys / "data" / "toy" / "edges.csv.gz").unlink()
    message = refused(datasets.load, "toy")
    for part in ("'toy'", "A title", "Ann 1999", "free", "https://a.b", "source,target,year", "NETFOLD_DATA"):
        assert part in message
    assert str(toys / "data" / "toy") in message and str(toys / "cache" / "netfold" / "toy") in message
    assert datasets.present("toy") is None


def test_a_file_of_the_wrong_size_or_hash_is_refused(toys: Path):
    path = toys / "data" / "toy" / "edges.csv.gz"
    good = path.read_bytes()
    path.write_bytes(good + b"\0")
    message = refused(datasets.load, "toy")
    assert str(path) in message and f"{len(good)} bytes" in message and str(len(good) + 1) in message
    path.write_bytes(good[:-1] + b"\x01")
    message = refused(datasets.load, "toy")
    assert hashlib.sha256(good).hexdigest() in message and hashlib.sha256(path.read_bytes()).hexdigest() in message
    assert "nf.read_edges" in message
    assert str(path) in refused(datasets.table, "toy", "edges")


def test_a_table_is_its_columns(toys: Path):
    edges = datasets.table("toy", "edges.csv.gz")
    assert list(edges) == ["source", "target", "year"]
    assert edges["year"].dtype == np.int64 and edges["year"].tolist() == [2015, 2016, 2016]
    words = datasets.table("texts", "terms")
    assert words["term"].dtype == np.int64 and words["word"].tolist() == ['a "b", c', "ü", "17"]
    message = refused(datasets.table, "toy", "features")
    assert "'features'" in message and "edges.csv.gz and labels.csv.gz" in message
    assert "'../toy/edges'" in refused(datasets.table, "toy", "../toy/edges")


def test_a_built_in_without_files_has_no_table():
    assert "made without files" in refused(datasets.table, "sbm", "edges")


# -------------------------------------------------------------------- the command line and the docs


def test_the_command_lists_what_is_known_and_where_it_is(toys: Path):
    (toys / "data" / "heavy" / "edges.csv.gz").unlink()
    lines = netfold("datasets").stdout.splitlines()
    assert lines[0].split() == ["name", "kind", "nodes", "edges", "licence", "present"]
    assert len(lines) == 1 + len(TOYS)
    assert lines[1].split() == ["toy", "graph", "5", "3", "free", str(toys / "data" / "toy")]
    assert lines[3].split()[-1] == "absent"
    found = json.loads(netfold("datasets", "--json").stdout)["datasets"]
    assert [each["name"] for each in found] == list(TOYS)
    assert found[2]["present"] is None and found[2]["put_into"][0] == str(toys / "data" / "heavy")


def test_the_command_says_all_about_one(toys: Path):
    text = netfold("datasets", "toy").stdout
    sha = datasets.describe("toy").file("edges").sha256
    for part in ("A title", "Ann 1999", "free", "https://a.b", "source,target,year", sha, str(toys / "data" / "toy")):
        assert part in text
    facts = json.loads(netfold("datasets", "toy", "--json").stdout)
    assert facts["files"][0]["sha256"] == sha and facts["present"] == str(toys / "data" / "toy")


def test_the_command_knows_what_is_built_in():
    assert "p_in=0.01" in netfold("datasets", "sbm").stdout and "built in" in netfold("datasets", "sbm").stdout
    wrong = netfold("datasets", "karat")
    assert wrong.exit_code == 2 and "did you mean karate" in wrong.stderr and wrong.stdout == ""


def row(known: datasets.Dataset) -> str:
    kind = " ".join([*(word for word in ("directed", "weighted") if getattr(known, word)), known.kind])
    edges, classes = "by chance" if known.edges is None else f"{known.edges:,}", known.classes or ""
    return f"| `{known.name}` | {known.title} | {kind} | {known.nodes:,} | {edges} | {classes} | {known.licence} |"


def test_the_page_lists_every_data_set():
    page = (Path(__file__).parents[2] / "docs" / "datasets.md").read_text()
    for name in datasets.names():
        assert row(datasets.describe(name)) in page, row(datasets.describe(name))
    for name in BUILT_IN:
        assert f"datasets.{BUILT_IN[name].make.__name__}(" in page
