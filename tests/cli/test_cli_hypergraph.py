"""The verbs of the command line on hypergraphs, and nodes with types as people type them."""

from __future__ import annotations

from pathlib import Path

import pytest

import netfold as nf
from command import refuse, succeed, told
from likes import LIKED, QUICK, lines, model
from netfold.cli.evaluate import _of_model
from netfold.cli.inputs import Spelling, columns_of, hypergraph_of, named_as_known
from netfold.cli.names import node_of_type, node_typed, spelled
from netfold.data.nodes import Nodes
from netfold.evaluate.task import TASKS
from netfold.io.hif import write_hif

pytestmark = pytest.mark.usefixtures("here")


# -------------------------------------------------------------------- fit, transform, info, export, map, evaluate


def test_fitting_is_what_python_does(likes: Path) -> None:
    read = nf.read_hyperedges([likes / "triples.csv", likes / "friends.tsv"])
    same = nf.DHNE(dim=4, epochs=6, batch_size=16).fit(read, progress=False)
    assert model(likes).embedding_.vectors.tobytes() == same.embedding_.vectors.tobytes()
    assert list(model(likes).embedding_.nodes) == list(read.nodes)


def test_columns_are_chosen_and_renamed(likes: Path) -> None:
    Path("raw.csv").write_text(lines("userId,movieId,tag,year", [(*row, 1990) for row in LIKED]))
    args = ["--columns", "userId=user,movieId=movie,tag", *QUICK]
    facts = told("fit", "dhne", "raw.csv", "-o", "m", *args)
    assert (facts["model"], facts["nodes"], facts["edges"]) == ("DHNE", 12, len(LIKED))
    assert set(told("info", "m")["types"]) == {"user", "movie", "tag"}
    Path("bare.csv").write_text("a,x,b\nb,x,c\nc,y,a\n")
    names = "head:entity,-,tail:entity"
    succeed("fit", "dhne", "bare.csv", "-o", "bare", "--no-header", "--columns", names, *QUICK)
    assert told("info", "bare")["kinds"] == ["head:entity,tail:entity"]


def test_hif_json_is_read(likes: Path) -> None:
    write_hif(nf.Hypergraph.from_tuples([("a", "b", "c"), ("c", "d")]), "small.json")
    assert told("fit", "dhne", "small.json", "-o", "m", *QUICK)["edges"] == 2
    assert told("info", "small.json")["kind"] == "hypergraph"
    assert "HIF json comes alone" in refuse("fit", "dhne", "small.json", "other.csv", "-o", "x", *QUICK)
    assert "--delimiter is for a file with columns" in refuse(
        "fit", "dhne", "small.json", "-o", "x", "--delimiter", ";"
    )


def test_info_tells_types_and_kinds(likes: Path) -> None:
    facts = told("info", likes / "model")
    assert facts["types"] == {"user": 4, "movie": 4, "tag": 4} and "directed" not in facts
    assert sorted(facts["kinds"]) == ["user,friend:user", "user,movie,tag"]
    text = succeed("info", likes / "model").stdout
    assert "types        user 4, movie 4, tag 4" in text
    facts = told("info", likes / "triples.csv", "--hyperedges")
    assert facts["kinds"] == {"user,movie,tag": len(LIKED)} and facts["hyperedges"] == len(LIKED)
    assert facts["degrees"]["min"] > 0 and facts["names"][0] == ["user", "ann"]
    assert "user:ann" in succeed("info", likes / "triples.csv", "--hyperedges").stdout
    no_meaning = refuse("info", likes / "triples.csv", "--columns", "user", "--no-header")
    assert "--columns has no meaning for a file of edges" in no_meaning
    assert "--directed has no meaning" in refuse("info", likes / "triples.csv", "--hyperedges", "--directed")
    assert "leave it out" in refuse("info", likes / "model", "--hyperedges")


def test_new_nodes_get_vectors(likes: Path) -> None:
    Path("later.csv").write_text("user,movie,tag\n12,1,space\nann,7,slow\n")  # all users but one were names
    facts = told("transform", likes / "model", "later.csv", "-o", "new.parquet")
    assert (facts["nodes"], facts["new_nodes"]) == (6, 1)
    assert list(nf.Embedding.load("new.parquet").nodes) == [("user", "12")]
    Path("friend.csv").write_text("user,friend:user\neva,ann\n")  # one type: a file's labels are not (type, label)
    assert told("transform", likes / "model", "friend.csv", "later.csv", "-o", "two.parquet")["new_nodes"] == 2
    assert told("transform", likes / "model", "friend.csv", "-o", "one.parquet")["new_nodes"] == 1
    assert "--weighted has no meaning" in refuse("transform", likes / "model", "later.csv", "-o", "x.npz", "--weighted")


def test_a_model_of_a_graph_reads_one_file_of_edges() -> None:
    Path("edges.csv").write_text("a,b\nb,c\nc,a\n")
    succeed("fit", "sdne", "edges.csv", "-o", "m", "--dim", 2, "--epochs", 1, "--quiet")
    assert "one file too many" in refuse("transform", "m", "edges.csv", "more.csv", "-o", "x.npz")
    assert "--columns has no meaning where an SDNE reads edges" in refuse(
        "transform", "m", "edges.csv", "-o", "x.npz", "--columns", "a"
    )
    for verb in (["score", "m", "edges.csv"], ["complete", "m", "--a", "?"]):
        assert "SDNE, which scores no tuples" in refuse(*verb)


def test_vectors_are_exported_with_their_types(likes: Path) -> None:
    succeed("export", likes / "model", "-o", "vectors.parquet")
    assert nf.Embedding.load("vectors.parquet").nodes == model(likes).embedding_.nodes
    found, same = succeed("nearest", "vectors.parquet", "bob"), succeed("nearest", likes / "model", "user:bob")
    assert found.stdout == same.stdout


def test_the_map_has_a_colour_for_each_type(likes: Path) -> None:
    facts = told("map", likes / "model", "-o", "map.png", "--edges", likes / "triples.csv", "--names", 3)
    assert facts["nodes"] == 12 and Path("map.png").read_bytes().startswith(b"\x89PNG")
    both = ["--edges", likes / "triples.csv", "--edges", likes / "friends.tsv"]
    succeed("map", likes / "model", "-o", "both.png", *both)
    assert "--color degree is for a graph" in refuse("map", likes / "model", "-o", "x.png", *both, "--color", "degree")
    Path("classes.csv").write_text("movie:1,drama\nmovie:2,comedy\n")
    succeed("map", likes / "model", "-o", "classes.png", "--color", "classes.csv")
    Path("classes.csv").write_text("movie:8,drama\n")
    assert "no node is called movie:8" in refuse("map", likes / "model", "-o", "x.png", "--color", "classes.csv")


def test_tasks_of_graphs_are_not_for_models_of_hypergraphs(likes: Path) -> None:
    said = refuse("evaluate", "link-prediction", "dhne", likes / "triples.csv")
    assert "dhne reads hypergraphs" in said and "netfold evaluate hyperedges is for the others" in said


def test_a_flag_that_task_and_model_both_have_is_called_after_the_model() -> None:
    command = _of_model(TASKS["link-prediction"], nf.DHNE)  # its `negatives` is the task's too
    spellings = [x for p in command.params for x in p.opts]
    assert len(spellings) == len(set(spellings)) and "--dhne-negatives" in spellings and "--negatives" in spellings


# -------------------------------------------------------------------- nodes as people type them


def test_nearest_takes_a_node_with_its_type_or_without(likes: Path) -> None:
    assert told("nearest", likes / "model", "ann") == told("nearest", likes / "model", "user:ann")
    assert told("nearest", likes / "model", "movie:2", "-k", 3)["node"] == ["movie", 2]
    near = told("nearest", likes / "model", "ann", "-k", 20, "--type", "user")["nearest"]
    assert sorted(x["node"][1] for x in near) == ["7", "bob", "cid"]
    own = told("nearest", likes / "model", "ann", "-k", 20, "--type", "movie")["nearest"]
    assert sorted(x["node"][1] for x in own) == [1, 2, 3, 7]
    assert "user:bob" in succeed("nearest", likes / "model", "ann", "-k", 20).stdout
    assert "say which: user:7 or movie:7" in refuse("nearest", likes / "model", "7")
    assert "did you mean user:ann" in refuse("nearest", likes / "model", "anne")
    assert "there are user, movie, tag" in refuse("nearest", likes / "model", "ann", "--type", "actor")


def test_labels_are_typed_and_spelled() -> None:
    nodes = Nodes.of([("user", 1), ("user", 2), ("tag", "user:1"), ("tag", "1"), ("a:b", "x"), "plain", 5])
    for text, label in [
        ("user:1", ("user", 1)),
        ("tag:user:1", ("tag", "user:1")),
        ("2", ("user", 2)),
        ("a:b:x", ("a:b", "x")),
        ("plain", "plain"),
        ("5", 5),
    ]:
        assert node_typed(nodes, text) == label
        assert spelled(label) == text or text == "2"
    with pytest.raises(nf.InputError, match="user:1 or tag:1"):
        node_typed(nodes, "1")
    assert node_of_type([nodes], "1", "tag") == ("tag", "1") and node_of_type([nodes], "user:1", "user") == (
        "user",
        1,
    )
    assert node_of_type([nodes, Nodes.of([("user", 9)])], "9", "user") == ("user", 9)
    with pytest.raises(nf.InputError, match="no user is called 'x'; nodes look like 1"):
        node_of_type([nodes], "x", "user")
    assert node_typed(Nodes.of(["a", "b"]), "zzz") == "zzz"  # and whoever looks for it says what is near


def test_files_are_read_in_the_labels_of_the_model() -> None:
    known = Nodes.of([("user", "7"), ("user", "x"), ("movie", 7)])
    typed = Spelling(known)
    assert typed.node("user", 7) == ("user", "7") and typed.node("movie", "7") == ("movie", 7)
    assert typed.node("tag", 7) == ("tag", 7)  # a type that is not known
    plain = Spelling(Nodes.of(["7", "x"]))
    assert plain.node("user", 7) == "7" and plain.node("user", "new") == "new"
    Path("one.csv").write_text("user,friend:user\n7,8\n")
    again = named_as_known(hypergraph_of(["one.csv"]), known)
    assert list(again.nodes) == [("user", "7"), ("user", "8")]


def test_what_columns_says() -> None:
    assert columns_of("userId=user, head:entity") == {"userId": "user", "head": "head:entity"}
    assert columns_of("a,-,b", header=False) == ["a", None, "b"]
