"""Folders of parts on the command line: prepared, planned, fitted, exported and asked."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import netfold as nf
from command import refuse, succeed, told


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    pairs = [(i, (i * k + k) % 40) for i in range(40) for k in (1, 3)]
    Path("a.csv").write_text("source,target\n" + "".join(f"n{u},n{v}\n" for u, v in pairs[:40]))
    Path("b.csv").write_text("source,target\n" + "".join(f"n{u},n{v}\n" for u, v in pairs[40:]))


def test_from_files_to_vectors_and_back() -> None:
    facts = told("prepare", "*.csv", "big.parts", "--parts", "4", "--memory", "256MiB")
    graph = nf.read_edges(["a.csv", "b.csv"])
    assert (facts["nodes"], facts["edges"], facts["parts"]) == (graph.n_nodes, graph.n_edges, 4)
    flags = ["--dim", "4", "--hidden", "8", "--epochs", "3", "--quiet"]
    fitted = told("fit", "sdne", "big.parts", *flags, "-o", "v.parts")
    assert (fitted["nodes"], fitted["ranks"], fitted["epochs"]) == (graph.n_nodes, 1, 3)
    embedding = nf.Embedding.load("v.parts")
    near = told("nearest", "v.parts", "n7", "-k", "3")["nearest"]
    assert [(x["node"], x["score"]) for x in near] == embedding.nearest("n7", 3)
    shards = told("export", "v.parts", "-o", "shards/")
    assert shards["files"] == 4 and len(list(Path("shards").glob("*.parquet"))) == 4
    nodes = [x for file in sorted(Path("shards").iterdir()) for x in nf.Embedding.load(file)]
    assert nodes == list(embedding.nodes)
    succeed("export", "v.parts", "-o", "v.npz")
    assert nf.Embedding.load("v.npz").nodes == embedding.nodes
    succeed("fit", "sdne", "big.parts", *flags, "-o", "m.netfold")  # one process: a model as any other
    assert isinstance(nf.load("m.netfold"), nf.SDNE)
    succeed("fit", "line", "big.parts", "--dim", "4", "--epochs", "1", "--quiet", "-o", "line.netfold")
    assert told("info", "big.parts")["nodes"] == graph.n_nodes
    facts = told("info", "v.parts")
    assert (facts["kind"], facts["nodes"], facts["dim"], facts["parts"]) == ("embedding", graph.n_nodes, 4, 4)
    assert facts["names"] == list(embedding.nodes)[:3]
    files = told("evaluate", "reconstruction", "v.npz", "a.csv", "--nodes", "20")
    parts = told("evaluate", "reconstruction", "v.parts", "a.csv", "--nodes", "20")
    assert parts["figures"] == files["figures"]


def test_a_plan_says_what_fits() -> None:
    succeed("prepare", "a.csv", "b.csv", "big.parts", "--parts", "2", "--memory", "256MiB", "--quiet")
    facts = told("plan", "big.parts", "sdne", "--dim", "16", "--ranks", "2", "--memory", "1GiB", "--wire", "1GB")
    assert facts["fits"] and facts["suggestions"] == [] and facts["seconds"] == facts["sent"] / 1e9
    text = succeed("plan", "big.parts", "sdne", "--memory", "1MB", "--ranks", "8").stdout
    assert succeed("plan", "SDNE", "big.parts", "--memory", "1MB", "--ranks", "8").stdout == text
    assert "does not fit into 1.0 MiB" in text and "has 2 parts: only as many ranks have work" in text
    assert "not spread over ranks" in succeed("plan", "big.parts", "dvne", "--ranks", "4").stdout


def test_what_is_refused() -> None:
    assert "is not a size in bytes; write 8GB" in refuse("prepare", "a.csv", "g.parts", "--memory", "lots")
    assert "no file matches" in refuse("prepare", "*.parquet", "g.parts")
    succeed("prepare", "a.csv", "g.parts", "--parts", "2", "--memory", "256MiB", "--quiet")
    assert "--force" in refuse("prepare", "a.csv", "g.parts")
    assert "no model is called 'tsne'" in refuse("plan", "g.parts", "tsne")
    assert "--dims" in refuse("plan", "g.parts", "sdne", "--dims", "3")
    assert "parts.json is missing" in refuse("plan", "a.csv", "sdne")
    assert "--directed" in refuse("fit", "sdne", "g.parts", "-o", "v.parts", "--directed")
    assert "does not describe a graph" in _of_vectors()


def _of_vectors() -> str:
    succeed("fit", "sdne", "g.parts", "--dim", "2", "--epochs", "1", "--quiet", "-o", "v.parts")
    assert json.loads(Path("v.parts", "parts.json").read_text())["kind"] == "embedding"
    return refuse("fit", "sdne", "v.parts", "-o", "w.parts")
