"""The verbs of the command line do what the library does, and print it where it belongs."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import netfold as nf
from command import KEPT, QUICK, refuse, succeed, told
from netfold.data.text import printable

pytestmark = pytest.mark.usefixtures("edges_csv")


def test_fit_prints_facts_and_saves_what_the_library_saves() -> None:
    result = succeed("fit", "sdne", "edges.csv", "-o", "model", *QUICK, "--json")
    facts = json.loads(result.stdout)
    assert result.stderr == ""
    assert (facts["model"], facts["nodes"], facts["edges"], facts["epochs"]) == ("SDNE", 5, 6, 3)
    assert facts["path"] == "model" and facts["seconds"] > 0 and set(facts["losses"]) > {"second_order"}
    assert facts["objective"] == pytest.approx(sum(facts["losses"].values()))
    again = nf.SDNE(dim=3, hidden=(5,), epochs=3).fit(nf.read_edges("edges.csv"), progress=False)
    assert np.array_equal(nf.load("model").embedding_.vectors, again.embedding_.vectors)


def test_progress_goes_to_stderr_and_the_result_to_stdout() -> None:
    result = succeed("fit", "sdne", "edges.csv", "-o", "model", *QUICK[:-1])
    assert "epoch 3/3" in result.stderr and "epoch" not in result.stdout.replace("epochs", "")
    assert result.stdout.startswith("SDNE of 5 nodes and 6 edges") and result.stdout.endswith("model\n")


def test_fit_without_epochs() -> None:
    facts = told("fit", "sdne", "edges.csv", "-o", "model", *QUICK, "--epochs", "0")
    assert facts["epochs"] == 0 and facts["losses"] == {} and facts["objective"] is None
    assert "0 epochs" in succeed("fit", "sdne", "edges.csv", "-o", "m2", *QUICK, "--epochs", "0").stdout


def test_a_saved_graph_serves_as_edges(people: Path) -> None:
    nf.read_edges("edges.csv").save("graph")
    succeed("fit", "sdne", "graph", "-o", "model", *QUICK)
    assert np.array_equal(nf.load("model").embedding_.vectors, nf.load(people).embedding_.vectors)
    assert "--directed" in refuse("fit", "sdne", "graph", "-o", "other", "--directed")


def test_the_reading_flags_reach_the_reader() -> None:
    Path("odd.txt").write_text("x;y;z\nAnn;Bob;2\nBob;Cid;3\n")
    flags_ = ["--directed", "--unweighted", "--delimiter", ";", "--no-header"]
    facts = told("info", "odd.txt", *flags_)
    expected = nf.read_edges("odd.txt", directed=True, weighted=False, delimiter=";", header=False)
    assert (facts["nodes"], facts["directed"], facts["weighted"]) == (expected.n_nodes, True, False)
    assert facts["edges"] == expected.n_edges == 3


def test_force_replaces_a_model_and_nothing_else(people: Path) -> None:
    succeed("fit", "sdne", "edges.csv", "-o", "model", *QUICK)
    succeed("fit", "sdne", "edges.csv", "-o", "model", *QUICK, "--dim", "2", "--force")
    assert nf.load("model").embedding_.dim == 2
    Path("holiday").mkdir()
    Path("holiday/photo.jpg").write_text("dear")
    assert "did not write" in refuse("fit", "sdne", "edges.csv", "-o", "holiday", *QUICK, "--force")
    assert "is a file" in refuse("fit", "sdne", "edges.csv", "-o", "edges.csv", *QUICK, "--force")
    Path("pictures.npz").mkdir()
    assert "is a folder" in refuse("export", people, "-o", "pictures.npz", "--force")


def test_nearest_is_what_the_library_says(people: Path) -> None:
    facts = told("nearest", people, "Zoë", "-k", 2, "--metric", "dot")
    expected = nf.load(people).embedding_.nearest("Zoë", k=2, metric="dot")
    assert [(x["node"], x["score"]) for x in facts["nearest"]] == expected
    assert (facts["node"], facts["metric"]) == ("Zoë", "dot")
    lines = succeed("nearest", people, "Ann").stdout.splitlines()
    assert [line.split()[1] for line in lines] == [x for x, _ in nf.load(people).embedding_.nearest("Ann")]


def test_integer_labels_are_typed_as_such() -> None:
    nf.Embedding([-7, 8, 9], [[1, 0], [1, 1], [0, 1]]).save("e.npz")
    assert told("nearest", "e.npz", "8")["node"] == 8
    assert json.loads(succeed("nearest", "e.npz", "--json", "--", "-7").stdout)["nearest"][0]["node"] == 8


@pytest.mark.parametrize("ending", ["parquet", "npz", "npy", "txt", "w2v", "bin"])
def test_export_writes_every_format(people: Path, ending: str) -> None:
    facts = told("export", people, "-o", f"e.{ending}")
    assert facts == {"nodes": 5, "dim": 3, "path": f"e.{ending}"}
    back, own = nf.Embedding.load(f"e.{ending}"), nf.load(people).embedding_
    assert list(back.nodes) == list(own.nodes)
    assert np.allclose(back.vectors, own.vectors, rtol=1e-6)
    assert "--force" in refuse("export", people, "-o", f"e.{ending}")
    succeed("export", people, "-o", f"e.{ending}", "--force")


def test_transform_gives_new_nodes_their_vectors(people: Path) -> None:
    Path("later.csv").write_text("Eve,Ann,1\nEve,Cid,2\nÖz,Bob,1\nAnn,Bob,5\n", encoding="utf-8")
    facts = told("transform", people, "later.csv", "-o", "new.npz")
    assert (facts["new_nodes"], facts["nodes"], facts["path"]) == (2, 5, "new.npz")
    expected = nf.load(people).transform(nf.read_edges("later.csv"))
    assert np.array_equal(nf.Embedding.load("new.npz")["Eve"], expected["Eve"])
    said = succeed("transform", people, "later.csv", "-o", "all.npz", "--known").stdout
    assert said == "vectors of 2 new nodes and 2 known ones (5 nodes in all)\nall.npz\n"
    expected = nf.load(people).transform(nf.read_edges("later.csv"), known=True)
    assert set(expected.nodes) == {"Eve", "Öz", "Ann", "Bob"}  # Cid has a link with a new node alone
    assert np.array_equal(nf.Embedding.load("all.npz")["Ann"], expected["Ann"])


def test_transform_of_nothing_new_writes_an_empty_file(people: Path) -> None:
    said = succeed("transform", people, "edges.csv", "-o", "new.npz").stdout
    assert said == "none of 5 nodes is new: no vectors\nnew.npz\n"
    assert len(nf.Embedding.load("new.npz")) == 0


def test_transform_reads_edges_as_directed_where_the_model_is() -> None:
    succeed("fit", "sdne", "edges.csv", "-o", "model", *QUICK, "--directed")
    Path("later.csv").write_text("Eve,Ann,1\n")
    succeed("transform", "model", "later.csv", "-o", "new.npz")
    Path("later.csv").write_text("Ann,Eve,1\n")
    assert "Eve" in refuse("transform", "model", "later.csv", "-o", "other.npz")


@pytest.mark.parametrize("first, later", [("1,2\n2,3\n3,1\n", "x,2\nx,3\n"), ("1,2\n2,3\n3,q\n", "7,2\n7,3\n")])
def test_transform_knows_labels_whatever_else_is_in_the_file(first: str, later: str) -> None:
    """Integers are text in a file where another label is: 2 is the node 2 all the same."""
    Path("first.csv").write_text(first)
    Path("later.csv").write_text(later)
    succeed("fit", "sdne", "first.csv", "-o", "model", *QUICK)
    assert told("transform", "model", "later.csv", "-o", "new.npz")["new_nodes"] == 1


def test_info_of_edges_a_graph_a_model_and_a_checkpoint(people: Path) -> None:
    facts = told("info", "edges.csv")
    assert (facts["kind"], facts["nodes"], facts["edges"], facts["components"]) == ("graph", 5, 6, 1)
    assert facts["weights"] == {"min": 1, "max": 3} and facts["names"] == ["Ann", "Bob", "Cid"]
    nf.read_edges("edges.csv").save("graph")
    assert told("info", "graph") == facts | {"path": "graph"}
    model = told("info", people)
    assert (model["kind"], model["model"], model["nodes"], model["epochs"]) == ("model", "SDNE", 5, 3)
    succeed("fit", "sdne", "edges.csv", "-o", "model", *QUICK, *KEPT)
    assert told("info", "state")["kind"] == "checkpoint"
    for path in ("edges.csv", "graph", people, "state"):
        assert "nodes" in succeed("info", path).stdout
    assert "--header" in refuse("info", people, "--header")
    Path("long.csv").write_text(f"{'x' * 5000},{'y' * 5000}\n")
    assert max(map(len, succeed("info", "long.csv").stdout.splitlines())) < 300


@pytest.mark.parametrize("ending", ["csv", "tsv", "parquet", "txt", "npz", "npy", "bin"])
def test_vectors_that_were_exported_are_not_read_as_edges(people: Path, ending: str) -> None:
    succeed("export", people, "-o", f"vectors.{ending}")
    facts = told("info", f"vectors.{ending}")
    assert (facts["kind"], facts["nodes"], facts["dim"]) == ("embedding", 5, 3)
    said = refuse("fit", "sdne", f"vectors.{ending}", "-o", "other")
    assert "are vectors as netfold writes them" in said or ending not in ("csv", "tsv", "parquet")
    Path("edges.txt").write_text("5 1\n7 2\n")  # word2vec's first line, but for the second
    assert told("info", "edges.txt")["kind"] == "graph"


def test_map_draws(people: Path) -> None:
    facts = told("map", people, "-o", "map.png", "--names", 2, "--edges", "edges.csv")
    assert facts == {"nodes": 5, "method": "pca", "names": 2, "path": "map.png"}
    assert "--labels is now called --names" in refuse("map", people, "-o", "other.png", "--labels", 2)
    assert Path("map.png").read_bytes().startswith(b"\x89PNG")
    assert "--force" in refuse("map", people, "-o", "map.png")
    assert ".png" in refuse("map", people, "-o", "map.gif")


def test_labels_cannot_command_the_terminal() -> None:
    assert printable("Zoë 日本") == "Zoë 日本"
    assert printable("a\x1b[2J\nb") == "a\\x1b[2J\\nb"


def test_fit_and_info_say_whether_training_beat_its_start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    graph, _ = nf.datasets.stochastic_block_model((20, 20), 0.4, 0.05, seed=0)
    pairs = zip(*graph.adjacency.tocoo().coords, strict=True)
    Path("links.csv").write_text("".join(f"{u},{v}\n" for u, v in pairs if u < v))
    ruined = ["fit", "node2vec", "links.csv", "--dim", "4", "--epochs", "2", "--lr", "300", "--held-out", "0.2"]
    said = succeed(*ruined, "-o", "model", "--quiet").stdout
    assert "0 epochs in" in said and "; training does not beat its start: held-out links have AUC" in said
    assert told(*ruined, "-o", "again", "--quiet")["held_out"].keys() == {"0", "1", "2"}
    assert told("info", "model")["held_out"].startswith("training does not beat its start")
    succeed("fit", "node2vec", "links.csv", "--dim", "4", "--epochs", "2", "-o", "plain", "--quiet")
    assert "held_out" not in told("info", "plain")
