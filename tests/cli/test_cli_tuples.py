"""`netfold score` and `netfold complete`: what Python says of tuples, or one sentence."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import netfold as nf
from command import refuse, succeed, told
from likes import LIKED, TAGS, lines, model
from netfold.cli.names import spelled

pytestmark = pytest.mark.usefixtures("here")


# -------------------------------------------------------------------- score


def test_scores_are_those_of_python_in_the_order_of_the_file(likes: Path) -> None:
    rows = [LIKED[5], LIKED[0], ("7", 7, "?"), LIKED[0]]
    Path("asked.csv").write_text(lines("tag,user,movie", [(t, u, f) for u, f, t in rows]))
    expected = model(likes).score([(("user", u), ("movie", f), ("tag", t)) for u, f, t in rows])
    facts = told("score", likes / "model", "asked.csv")
    assert facts["roles"] == ["tag", "user", "movie"] and facts["tuples"] == 4
    assert np.allclose([x["score"] for x in facts["scores"]], expected)
    assert facts["scores"][2]["tuple"] == ["?", "7", 7]
    shown = succeed("score", likes / "model", "asked.csv").stdout.splitlines()
    assert shown[2] == f"{expected[2]:8.4f}  ?, 7, 7"
    facts = told("score", likes / "model", "asked.csv", "-o", "scores.tsv")
    assert facts["path"] == "scores.tsv" and "scores" not in facts
    head, *body = Path("scores.tsv").read_text().splitlines()
    assert head == "tag\tuser\tmovie\tscore"
    assert np.array_equal([float(row.split("\t")[3]) for row in body], expected)
    assert "--force" in refuse("score", likes / "model", "asked.csv", "-o", "scores.tsv")
    assert "4 tuples" in succeed("score", likes / "model", "asked.csv", "-o", "scores.tsv", "--force").stdout


def test_the_roles_of_the_file_say_which_kind(likes: Path) -> None:
    Path("pairs.csv").write_text("friend,user\nbob,ann\nann,bob\n")  # a role without its type, in another order
    found = [x["score"] for x in told("score", likes / "model", "pairs.csv")["scores"]]
    kind = ("user", "friend")
    asked = [(("user", "ann"), ("user", "bob")), (("user", "bob"), ("user", "ann"))]
    assert np.allclose(found, model(likes).score(asked, kind=kind)) and found[0] != found[1]


def test_new_nodes_are_scored_with_what_is_known_of_them(likes: Path) -> None:
    Path("later.csv").write_text("user,movie,tag\nnew,1,space\nnew,2,crime\n")
    Path("asked.csv").write_text("user,movie,tag\nnew,3,slow\n")
    assert "line 2: no user is called 'new'" in refuse("score", likes / "model", "asked.csv")
    assert 0 < told("score", likes / "model", "asked.csv", "--later", "later.csv")["scores"][0]["score"] < 1
    args = ["--user", "new", "--movie", 3, "--tag", "?", "--later", "later.csv"]
    assert len(told("complete", likes / "model", *args)["completions"]) == 4


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "user,movie,tag\nann,1,space\n\nbob,2,spice\n",
            "asked.csv, line 4: no tag is called 'spice'; did you mean space?",
        ),
        ("user,movie,tag\nann,9,space\n", "line 2: no movie is called '9'"),
        ("user,film,tag\nann,1,space\n", "no role is called 'film'"),
        ("user,tag\nann,space\n", "(user, tag) alone; with movie there is one"),
        ("user,movie,tag\nann,1\n", "line 2"),
        ("user,friend:user\nann,ann\n", "line 2: the hyperedge names a node twice"),
        ("", "asked.csv"),
    ],
)
def test_tuples_that_cannot_be_scored_are_named(likes: Path, text: str, said: str) -> None:
    Path("asked.csv").write_text(text)
    assert said in refuse("score", likes / "model", "asked.csv")
    assert ".csv" in refuse("score", likes / "model", "asked.csv", "-o", "scores.xls")


# -------------------------------------------------------------------- complete


def test_completions_are_those_of_python(likes: Path) -> None:
    known = nf.read_hyperedges([likes / "triples.csv"])
    given = (("user", "bob"), ("movie", 2), None)
    facts = told("complete", likes / "model", "--user", "bob", "--movie", 2, "--tag", "?", "-k", 3)
    found = [(tuple(x["node"]), x["score"]) for x in facts["completions"]]
    assert found == model(likes).complete(given, 3, kind=("user", "movie", "tag"))
    assert facts["open"] == "tag" and facts["given"] == {"user": ["user", "bob"], "movie": ["movie", 2]}
    args = ["tag=?", "--movie=2", likes / "model", "--user", "user:bob", "--exclude", likes / "triples.csv"]
    new = told("complete", *args)["completions"]
    taken = {t for u, f, t in LIKED if (u, f) == ("bob", 2)}
    assert taken and {x["node"][1] for x in new} == {*TAGS} - taken
    text = succeed("complete", *args).stdout
    assert text.splitlines()[0] == f"{new[0]['score']:8.4f}  {spelled(tuple(new[0]['node']))}"
    assert known.n_edges == len(LIKED)


def test_a_node_called_question_mark_is_given_with_its_type(likes: Path) -> None:
    facts = told("complete", likes / "model", "--user", "?", "--movie", 1, "--tag", "tag:?")
    assert facts["given"]["tag"] == ["tag", "?"] and facts["open"] == "user"


def test_the_order_of_roles_is_kept_where_it_has_a_meaning(likes: Path) -> None:
    kind = ("user", "friend")
    asked = told("complete", likes / "model", "--friend", "ann", "--user", "?")["completions"]
    found = model(likes).complete((None, ("user", "ann")), kind=kind)
    assert [(tuple(x["node"]), x["score"]) for x in asked] == found


@pytest.mark.parametrize(
    ("args", "said"),
    [
        ("--user ann --movi 1 --tag ?", "no role is called 'movi'; did you mean movie?"),
        ("--user ann --xyz 1 --tag ?", "no role is called 'xyz'; the roles are"),
        ("--user ann --tag ?", "(user, tag) alone; with movie there is one"),
        ("--user ann --movie 1 --friend ?", "those that were learned are"),
        ("--user ann --movie 1 --tag slow", "no position is open; mark the open position"),
        ("--user ? --movie 1 --tag ?", "--user and --tag are both open"),
        ("--user anne --movie 1 --tag ?", "no user is called 'anne'; did you mean ann?"),
        ("--user ann --movie 9 --tag ?", "no movie is called '9'; nodes look like 1"),
        ("--user ann --movie 1 --tag", "--tag has no node"),
        ("--user ann --user bob --tag ?", "--user is given twice"),
        ("ann --movie 1 --tag ?", "'ann' stands alone after the model"),
        ("--user ann --movie 1 --tag ? --exclude friends.csv", "friends.csv has hyperedges of (user, friend)"),
        ("--user ann --movie 1 --tag ? -k 0", "'-k'"),
    ],
)
def test_questions_that_have_no_answer_are_refused(likes: Path, args: str, said: str) -> None:
    Path("friends.csv").write_text("user,friend:user\nann,bob\n")
    assert said in refuse("complete", likes / "model", *args.split())


def test_labels_without_types_are_of_the_type_that_their_role_has() -> None:
    """A model made in Python: labels are not (type, label), and the types of nodes are known all the same."""
    types = {"ann": "user", "bob": "user", "Alien": "film", "Heat": "film", "5": "tag", "6": "tag"}
    liked = [("ann", "Alien", "5"), ("bob", "Heat", "6"), ("bob", "Alien", "5")]
    made = nf.DHNE(dim=2, epochs=2).fit(nf.Hypergraph.from_tuples(liked, types), progress=False)
    made.save("m")
    found = told("complete", "m", "--user", "ann", "--film", "Heat", "--tag", "?")["completions"]
    assert [(x["node"], x["score"]) for x in found] == made.complete(("ann", "Heat", None))
    swapped = ["--user", "Heat", "--film", "ann", "--tag", "?"]
    assert "--user is a user, and Heat is a film" in refuse("complete", "m", *swapped)
    near = told("nearest", "m", "ann", "--type", "user")["nearest"]
    assert [x["node"] for x in near] == ["bob"]
    assert "there are user, film, tag" in refuse("nearest", "m", "ann", "--type", "actor")
    Path("asked.csv").write_text("user,film,tag\nann,Alien,5\n")
    assert told("score", "m", "asked.csv")["scores"][0]["score"] == pytest.approx(made.score([liked[0]])[0])
    Path("asked.csv").write_text("user,film,tag\nann,Alien,5\nAlien,ann,5\n")
    assert "asked.csv, line 3: Alien is a film, where a user belongs" in refuse("score", "m", "asked.csv")


def test_a_model_is_needed(likes: Path) -> None:
    assert "no model is given" in refuse("complete", "--user", "ann", "--tag", "?")
    assert "nowhere" in refuse("complete", "nowhere", "--user", "?")
