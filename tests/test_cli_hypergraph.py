"""The command line for hypergraphs: fit, ask, score, complete; labels as people type them; refusals in one sentence."""

from __future__ import annotations

import json
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result

import netfold as nf
from netfold.cli import main
from netfold.cli.evaluate import _of_model
from netfold.cli.hyperedges import Spelling, columns_of, hypergraph_of, labelled_as_known
from netfold.cli.naming import label_of_type, label_typed, spelled
from netfold.cli.protocol_flags import TASKS
from netfold.labels import Labels

USERS, FILMS, TAGS = ["ann", "bob", "cid", "7"], [1, 2, 3, 7], ["space", "crime", "slow", "?"]
LIKED = [(u, f, t) for (i, u), (j, f), (k, t) in product(*map(enumerate, (USERS, FILMS, TAGS))) if (i + j + k) % 3]
QUICK = ["--dim", "4", "--epochs", "6", "--batch-size", "16", "--quiet"]


def netfold(*args: object) -> Result:
    return CliRunner().invoke(main, [str(a) for a in args])


def succeed(*args: object) -> str:
    result = netfold(*args)
    assert result.exit_code == 0, result.output
    return result.stdout


def told(*args: object) -> dict:
    return json.loads(succeed(*args, "--json"))


def refuse(*args: object) -> str:
    """The one sentence of a command that must fail, without anything written."""
    before = sorted(Path().rglob("*"))
    result = netfold(*args)
    assert result.exit_code == 2 and result.stdout == "", result.output
    assert len(result.stderr.splitlines()) == 1 and result.stderr.startswith("netfold: ")
    assert sorted(Path().rglob("*")) == before
    return result.stderr


def lines(head: str, rows: object) -> str:
    return "\n".join([head, *(",".join(map(str, row)) for row in rows)]) + "\n"  # type: ignore[attr-defined]


@pytest.fixture(scope="module")
def fitted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model of triples, and of who is whose friend: two kinds in two files."""
    folder = tmp_path_factory.mktemp("fitted")
    (folder / "triples.csv").write_text(lines("user,movie,tag", LIKED))
    (folder / "friends.tsv").write_text("user\tfriend:user\nann\tbob\nbob\tcid\ncid\tann\n7\tann\n")
    said = succeed("fit", "dhne", folder / "triples.csv", folder / "friends.tsv", "-o", folder / "model", *QUICK)
    assert f"DHNE of 12 nodes and {len(LIKED) + 4} hyperedges in 4 dimensions: 6 epochs" in said
    return folder


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def model(fitted: Path) -> nf.DHNE:
    found = nf.load(fitted / "model")
    assert isinstance(found, nf.DHNE)
    return found


# -------------------------------------------------------------------- fit, transform, info, export


def test_fitting_is_what_python_does(fitted: Path) -> None:
    read = nf.read_hyperedges([fitted / "triples.csv", fitted / "friends.tsv"])
    same = nf.DHNE(dim=4, epochs=6, batch_size=16).fit(read, progress=False)
    assert model(fitted).embedding_.vectors.tobytes() == same.embedding_.vectors.tobytes()
    assert list(model(fitted).embedding_.nodes) == list(read.nodes)


def test_columns_are_chosen_and_renamed(fitted: Path) -> None:
    Path("raw.csv").write_text(lines("userId,movieId,tag,year", [(*row, 1990) for row in LIKED]))
    args = ["--columns", "userId=user,movieId=movie,tag", *QUICK]
    facts = told("fit", "dhne", "raw.csv", "-o", "m", *args)
    assert (facts["model"], facts["nodes"], facts["edges"]) == ("DHNE", 12, len(LIKED))
    assert set(told("info", "m")["types"]) == {"user", "movie", "tag"}
    Path("bare.csv").write_text("a,x,b\nb,x,c\nc,y,a\n")
    names = "head:entity,-,tail:entity"
    succeed("fit", "dhne", "bare.csv", "-o", "bare", "--no-header", "--columns", names, *QUICK)
    assert told("info", "bare")["kinds"] == ["head:entity,tail:entity"]


def test_hif_json_is_read(fitted: Path) -> None:
    from netfold.io import write_hif

    write_hif(nf.Hypergraph.from_tuples([("a", "b", "c"), ("c", "d")]), "small.json")
    assert told("fit", "dhne", "small.json", "-o", "m", *QUICK)["edges"] == 2
    assert told("info", "small.json")["kind"] == "hypergraph"
    assert "HIF json comes alone" in refuse("fit", "dhne", "small.json", "other.csv", "-o", "x", *QUICK)
    assert "--delimiter is for a file with columns" in refuse(
        "fit", "dhne", "small.json", "-o", "x", "--delimiter", ";"
    )


def test_info_tells_types_and_kinds(fitted: Path) -> None:
    facts = told("info", fitted / "model")
    assert facts["types"] == {"user": 4, "movie": 4, "tag": 4} and "directed" not in facts
    assert sorted(facts["kinds"]) == ["user,friend:user", "user,movie,tag"]
    text = succeed("info", fitted / "model")
    assert "types        user 4, movie 4, tag 4" in text
    facts = told("info", fitted / "triples.csv", "--hyperedges")
    assert facts["kinds"] == {"user,movie,tag": len(LIKED)} and facts["hyperedges"] == len(LIKED)
    assert facts["degrees"]["min"] > 0 and facts["labels"][0] == ["user", "ann"]
    assert "user:ann" in succeed("info", fitted / "triples.csv", "--hyperedges")
    assert "--columns has no meaning for a file of edges" in refuse("info", fitted / "triples.csv", "--columns", "user")
    assert "--directed has no meaning" in refuse("info", fitted / "triples.csv", "--hyperedges", "--directed")
    assert "leave it out" in refuse("info", fitted / "model", "--hyperedges")


def test_new_nodes_get_vectors(fitted: Path) -> None:
    Path("later.csv").write_text("user,movie,tag\n12,1,space\nann,7,slow\n")  # all users but one were names
    facts = told("transform", fitted / "model", "later.csv", "-o", "new.parquet")
    assert (facts["nodes"], facts["new_nodes"]) == (6, 1)
    assert list(nf.Embedding.load("new.parquet").nodes) == [("user", "12")]
    Path("friend.csv").write_text("user,friend:user\neva,ann\n")  # one type: a file's labels are not (type, label)
    assert told("transform", fitted / "model", "friend.csv", "later.csv", "-o", "two.parquet")["new_nodes"] == 2
    assert told("transform", fitted / "model", "friend.csv", "-o", "one.parquet")["new_nodes"] == 1
    assert "--weighted has no meaning" in refuse(
        "transform", fitted / "model", "later.csv", "-o", "x.npz", "--weighted"
    )


def test_a_model_of_a_graph_reads_one_file_of_edges() -> None:
    Path("edges.csv").write_text("a,b\nb,c\nc,a\n")
    succeed("fit", "sdne", "edges.csv", "-o", "m", "--dim", 2, "--epochs", 1, "--quiet")
    assert "one file too many" in refuse("transform", "m", "edges.csv", "more.csv", "-o", "x.npz")
    assert "--columns has no meaning where a SDNE reads edges" in refuse(
        "transform", "m", "edges.csv", "-o", "x.npz", "--columns", "a"
    )
    for verb in (["score", "m", "edges.csv"], ["complete", "m", "--a", "?"]):
        assert "SDNE, which scores no tuples" in refuse(*verb)


def test_vectors_are_exported_with_their_types(fitted: Path) -> None:
    succeed("export", fitted / "model", "-o", "vectors.parquet")
    assert nf.Embedding.load("vectors.parquet").nodes == model(fitted).embedding_.nodes
    assert succeed("nearest", "vectors.parquet", "bob") == succeed("nearest", fitted / "model", "user:bob")


# -------------------------------------------------------------------- labels as people type them


def test_nearest_takes_a_label_with_its_type_or_without(fitted: Path) -> None:
    assert told("nearest", fitted / "model", "ann") == told("nearest", fitted / "model", "user:ann")
    assert told("nearest", fitted / "model", "movie:2", "-k", 3)["label"] == ["movie", 2]
    near = told("nearest", fitted / "model", "ann", "-k", 20, "--type", "user")["nearest"]
    assert sorted(x["label"][1] for x in near) == ["7", "bob", "cid"]
    own = told("nearest", fitted / "model", "ann", "-k", 20, "--type", "movie")["nearest"]
    assert sorted(x["label"][1] for x in own) == [1, 2, 3, 7]
    assert "user:bob" in succeed("nearest", fitted / "model", "ann", "-k", 20)
    assert "say which: user:7 or movie:7" in refuse("nearest", fitted / "model", "7")
    assert "did you mean user:ann" in refuse("nearest", fitted / "model", "anne")
    assert "there are user, movie, tag" in refuse("nearest", fitted / "model", "ann", "--type", "actor")


def test_labels_are_typed_and_spelled() -> None:
    nodes = Labels.of([("user", 1), ("user", 2), ("tag", "user:1"), ("tag", "1"), ("a:b", "x"), "plain", 5])
    for text, label in [
        ("user:1", ("user", 1)),
        ("tag:user:1", ("tag", "user:1")),
        ("2", ("user", 2)),
        ("a:b:x", ("a:b", "x")),
        ("plain", "plain"),
        ("5", 5),
    ]:
        assert label_typed(nodes, text) == label
        assert spelled(label) == text or text == "2"
    with pytest.raises(nf.InputError, match="user:1 or tag:1"):
        label_typed(nodes, "1")
    assert label_of_type([nodes], "1", "tag") == ("tag", "1") and label_of_type([nodes], "user:1", "user") == (
        "user",
        1,
    )
    assert label_of_type([nodes, Labels.of([("user", 9)])], "9", "user") == ("user", 9)
    with pytest.raises(nf.InputError, match="no user is labelled 'x'; labels look like 1"):
        label_of_type([nodes], "x", "user")
    assert label_typed(Labels.of(["a", "b"]), "zzz") == "zzz"  # and whoever looks for it says what is near


def test_files_are_read_in_the_labels_of_the_model() -> None:
    known = Labels.of([("user", "7"), ("user", "x"), ("movie", 7)])
    typed = Spelling(known)
    assert typed.label("user", 7) == ("user", "7") and typed.label("movie", "7") == ("movie", 7)
    assert typed.label("tag", 7) == ("tag", 7)  # a type that is not known
    plain = Spelling(Labels.of(["7", "x"]))
    assert plain.label("user", 7) == "7" and plain.label("user", "new") == "new"
    Path("one.csv").write_text("user,friend:user\n7,8\n")
    again = labelled_as_known(hypergraph_of(["one.csv"]), known)
    assert list(again.nodes) == [("user", "7"), ("user", "8")]


def test_what_columns_says() -> None:
    assert columns_of("userId=user, head:entity") == {"userId": "user", "head": "head:entity"}
    assert columns_of("a,-,b", header=False) == ["a", None, "b"]


# -------------------------------------------------------------------- score


def test_scores_are_those_of_python_in_the_order_of_the_file(fitted: Path) -> None:
    rows = [LIKED[5], LIKED[0], ("7", 7, "?"), LIKED[0]]
    Path("asked.csv").write_text(lines("tag,user,movie", [(t, u, f) for u, f, t in rows]))
    expected = model(fitted).score([(("user", u), ("movie", f), ("tag", t)) for u, f, t in rows])
    facts = told("score", fitted / "model", "asked.csv")
    assert facts["roles"] == ["tag", "user", "movie"] and facts["tuples"] == 4
    assert np.allclose([x["score"] for x in facts["scores"]], expected)
    assert facts["scores"][2]["tuple"] == ["?", "7", 7]
    shown = succeed("score", fitted / "model", "asked.csv").splitlines()
    assert shown[2] == f"{expected[2]:8.4f}  ?, 7, 7"
    facts = told("score", fitted / "model", "asked.csv", "-o", "scores.tsv")
    assert facts["path"] == "scores.tsv" and "scores" not in facts
    head, *body = Path("scores.tsv").read_text().splitlines()
    assert head == "tag\tuser\tmovie\tscore"
    assert np.array_equal([float(row.split("\t")[3]) for row in body], expected)
    assert "--force" in refuse("score", fitted / "model", "asked.csv", "-o", "scores.tsv")
    assert "4 tuples" in succeed("score", fitted / "model", "asked.csv", "-o", "scores.tsv", "--force")


def test_the_roles_of_the_file_say_which_kind(fitted: Path) -> None:
    Path("pairs.csv").write_text("friend,user\nbob,ann\nann,bob\n")  # a role without its type, in another order
    found = [x["score"] for x in told("score", fitted / "model", "pairs.csv")["scores"]]
    kind = ("user", "friend")
    asked = [(("user", "ann"), ("user", "bob")), (("user", "bob"), ("user", "ann"))]
    assert np.allclose(found, model(fitted).score(asked, kind=kind)) and found[0] != found[1]


def test_new_nodes_are_scored_with_what_is_known_of_them(fitted: Path) -> None:
    Path("later.csv").write_text("user,movie,tag\nnew,1,space\nnew,2,crime\n")
    Path("asked.csv").write_text("user,movie,tag\nnew,3,slow\n")
    assert "line 2: no user is labelled 'new'" in refuse("score", fitted / "model", "asked.csv")
    assert 0 < told("score", fitted / "model", "asked.csv", "--later", "later.csv")["scores"][0]["score"] < 1
    args = ["--user", "new", "--movie", 3, "--tag", "?", "--later", "later.csv"]
    assert len(told("complete", fitted / "model", *args)["completions"]) == 4


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "user,movie,tag\nann,1,space\n\nbob,2,spice\n",
            "asked.csv, line 4: no tag is labelled 'spice'; did you mean space?",
        ),
        ("user,movie,tag\nann,9,space\n", "line 2: no movie is labelled '9'"),
        ("user,film,tag\nann,1,space\n", "no role is called 'film'"),
        ("user,tag\nann,space\n", "(user, tag) alone; with movie there is one"),
        ("user,movie,tag\nann,1\n", "line 2"),
        ("user,friend:user\nann,ann\n", "line 2: the hyperedge names a node twice"),
        ("", "asked.csv"),
    ],
)
def test_tuples_that_cannot_be_scored_are_named(fitted: Path, text: str, said: str) -> None:
    Path("asked.csv").write_text(text)
    assert said in refuse("score", fitted / "model", "asked.csv")
    assert ".csv" in refuse("score", fitted / "model", "asked.csv", "-o", "scores.xls")


# -------------------------------------------------------------------- complete


def test_completions_are_those_of_python(fitted: Path) -> None:
    known = nf.read_hyperedges([fitted / "triples.csv"])
    given = (("user", "bob"), ("movie", 2), None)
    facts = told("complete", fitted / "model", "--user", "bob", "--movie", 2, "--tag", "?", "-k", 3)
    found = [(tuple(x["label"]), x["score"]) for x in facts["completions"]]
    assert found == model(fitted).complete(given, 3, kind=("user", "movie", "tag"))
    assert facts["open"] == "tag" and facts["given"] == {"user": ["user", "bob"], "movie": ["movie", 2]}
    args = ["tag=?", "--movie=2", fitted / "model", "--user", "user:bob", "--exclude", fitted / "triples.csv"]
    new = told("complete", *args)["completions"]
    taken = {t for u, f, t in LIKED if (u, f) == ("bob", 2)}
    assert taken and {x["label"][1] for x in new} == {*TAGS} - taken
    text = succeed("complete", *args)
    assert text.splitlines()[0] == f"{new[0]['score']:8.4f}  {spelled(tuple(new[0]['label']))}"
    assert known.n_edges == len(LIKED)


def test_a_node_called_question_mark_is_given_with_its_type(fitted: Path) -> None:
    facts = told("complete", fitted / "model", "--user", "?", "--movie", 1, "--tag", "tag:?")
    assert facts["given"]["tag"] == ["tag", "?"] and facts["open"] == "user"


def test_the_order_of_roles_is_kept_where_it_has_a_meaning(fitted: Path) -> None:
    kind = ("user", "friend")
    asked = told("complete", fitted / "model", "--friend", "ann", "--user", "?")["completions"]
    found = model(fitted).complete((None, ("user", "ann")), kind=kind)
    assert [(tuple(x["label"]), x["score"]) for x in asked] == found


@pytest.mark.parametrize(
    ("args", "said"),
    [
        ("--user ann --movi 1 --tag ?", "no role is called 'movi'; did you mean movie?"),
        ("--user ann --xyz 1 --tag ?", "no role is called 'xyz'; the roles are"),
        ("--user ann --tag ?", "(user, tag) alone; with movie there is one"),
        ("--user ann --movie 1 --friend ?", "those that were learned are"),
        ("--user ann --movie 1 --tag slow", "no position is open; mark the open position"),
        ("--user ? --movie 1 --tag ?", "--user and --tag are both open"),
        ("--user anne --movie 1 --tag ?", "no user is labelled 'anne'; did you mean ann?"),
        ("--user ann --movie 9 --tag ?", "no movie is labelled '9'; labels look like 1"),
        ("--user ann --movie 1 --tag", "--tag has no label"),
        ("--user ann --user bob --tag ?", "--user is given twice"),
        ("ann --movie 1 --tag ?", "'ann' stands alone after the model"),
        ("--user ann --movie 1 --tag ? --exclude friends.csv", "friends.csv has hyperedges of (user, friend)"),
        ("--user ann --movie 1 --tag ? -k 0", "'-k'"),
    ],
)
def test_questions_that_have_no_answer_are_refused(fitted: Path, args: str, said: str) -> None:
    Path("friends.csv").write_text("user,friend:user\nann,bob\n")
    assert said in refuse("complete", fitted / "model", *args.split())


def test_labels_without_types_are_of_the_type_that_their_role_has() -> None:
    """A model made in Python: labels are not (type, label), and the types of nodes are known all the same."""
    types = {"ann": "user", "bob": "user", "Alien": "film", "Heat": "film", "5": "tag", "6": "tag"}
    liked = [("ann", "Alien", "5"), ("bob", "Heat", "6"), ("bob", "Alien", "5")]
    made = nf.DHNE(dim=2, epochs=2).fit(nf.Hypergraph.from_tuples(liked, types), progress=False)
    made.save("m")
    found = told("complete", "m", "--user", "ann", "--film", "Heat", "--tag", "?")["completions"]
    assert [(x["label"], x["score"]) for x in found] == made.complete(("ann", "Heat", None))
    swapped = ["--user", "Heat", "--film", "ann", "--tag", "?"]
    assert "--user is a user, and Heat is a film" in refuse("complete", "m", *swapped)
    near = told("nearest", "m", "ann", "--type", "user")["nearest"]
    assert [x["label"] for x in near] == ["bob"]
    assert "there are user, film, tag" in refuse("nearest", "m", "ann", "--type", "actor")
    Path("asked.csv").write_text("user,film,tag\nann,Alien,5\n")
    assert told("score", "m", "asked.csv")["scores"][0]["score"] == pytest.approx(made.score([liked[0]])[0])
    Path("asked.csv").write_text("user,film,tag\nann,Alien,5\nAlien,ann,5\n")
    assert "asked.csv, line 3: Alien is a film, where a user belongs" in refuse("score", "m", "asked.csv")


def test_a_model_is_needed(fitted: Path) -> None:
    assert "no model is given" in refuse("complete", "--user", "ann", "--tag", "?")
    assert "nowhere" in refuse("complete", "nowhere", "--user", "?")


# -------------------------------------------------------------------- map, evaluate


def test_the_map_has_a_colour_for_each_type(fitted: Path) -> None:
    facts = told("map", fitted / "model", "-o", "map.png", "--edges", fitted / "triples.csv", "--labels", 3)
    assert facts["nodes"] == 12 and Path("map.png").read_bytes().startswith(b"\x89PNG")
    both = ["--edges", fitted / "triples.csv", "--edges", fitted / "friends.tsv"]
    succeed("map", fitted / "model", "-o", "both.png", *both)
    assert "--color degree is for a graph" in refuse("map", fitted / "model", "-o", "x.png", *both, "--color", "degree")
    Path("classes.csv").write_text("movie:1,drama\nmovie:2,comedy\n")
    succeed("map", fitted / "model", "-o", "classes.png", "--color", "classes.csv")
    Path("classes.csv").write_text("movie:8,drama\n")
    assert "no node is called movie:8" in refuse("map", fitted / "model", "-o", "x.png", "--color", "classes.csv")


def test_tasks_of_graphs_are_not_for_models_of_hypergraphs(fitted: Path) -> None:
    said = refuse("evaluate", "link-prediction", "dhne", fitted / "triples.csv")
    assert "dhne reads hypergraphs" in said and "netfold evaluate hyperedges is for the others" in said


def test_a_flag_that_task_and_model_both_have_is_called_after_the_model() -> None:
    command = _of_model("link-prediction", TASKS["link-prediction"], nf.DHNE)  # its `negatives` is the task's too
    spellings = [x for p in command.params for x in p.opts]
    assert len(spellings) == len(set(spellings)) and "--dhne-negatives" in spellings and "--negatives" in spellings
