"""`netfold update`, `versions` and `diff`."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

import netfold as nf
from netfold.cli import main
from netfold.evaluate.result import name_of

EDGES = [(a, b) for c in range(3) for a in range(10 * c, 10 * c + 10) for b in range(10 * c, a) if (a + b) % 3]


@pytest.fixture
def model(tmp_path):
    for seed in (0, 1):
        nf.Node2Vec(dim=4, epochs=1, length=10, window=2, seed=seed).fit(
            [*EDGES, (0, 10), (10, 20)], progress=False
        ).save(tmp_path / f"m{seed}")
    (tmp_path / "today.csv").write_text("100,0\n100,1\n101,100\n0,29\n200,201\n")
    (tmp_path / "gone.csv").write_text("node\n9\n0,1\n")
    return tmp_path / "m0"


def run(*args: object, code: int = 0) -> str:
    result = CliRunner().invoke(main, [str(x) for x in args])
    assert result.exit_code == code, result.output
    return result.output


def test_a_day_and_the_versions_it_leaves(model, tmp_path):
    said = run("update", model, tmp_path / "today.csv", "--gone", tmp_path / "gone.csv")
    assert "version 1: 2 placed, 1 gone" in said and "2 could not be reached, and wait for a link: 200, 201" in said
    assert "6.1% of all nodes were placed since the fit; 6.1% wait for a link; today's links" in said
    facts = json.loads(run("update", model, tmp_path / "today.csv", "--json").splitlines()[-1])
    assert facts["version"] == 2 and facts["placed"] == 0 and facts["alarm"] is None
    assert [line.split()[0] for line in run("versions", model).splitlines()] == ["1", "2"]
    assert "101" in run("nearest", model, "100", "-k", "3") and "no node is called 100" in run(
        "nearest", f"{model}@0", "100", code=2
    )
    assert "no node is called 9;" in run("nearest", model, "9", code=2)
    assert "2 came, 1 went, 29 are in both" in run("diff", f"{model}@0", f"{model}@1")
    assert json.loads(run("diff", model, tmp_path / "m1", "--json"))["median"] > 0
    run("export", f"{model}@1", "-o", tmp_path / "v.npz")
    assert 100 in nf.Embedding.load(tmp_path / "v.npz")
    assert "version 3: 2 placed, 0 gone" in run("update", model, "--again")
    (tmp_path / "more.csv").write_text("101,5\n")
    assert "1 with new links stay where they were placed (--again moves them): 101" in run(
        "update", model, tmp_path / "more.csv"
    )
    assert "2 deltas are left" in run("update", model, "--compact", 1)
    assert "version 0 alone" in run("versions", tmp_path / "m1")


def test_a_file_has_no_versions(tmp_path):
    (tmp_path / "edges.csv").write_text("a,b\n")
    said = run("versions", tmp_path / "edges.csv", code=2)
    assert "edges.csv is not a model that netfold saved, and has no versions" in said


def test_drift_is_exit_code_3_and_a_sentence(model, tmp_path):
    nf.load(model).embedding_.save(tmp_path / "same.npz")
    assert "two fits share 100%" in run("update", model, "--calibrate", tmp_path / "same.npz")
    crowd = "\n".join(f"{1000 + i},{i % 30}\n{1000 + i},{(i + 1) % 30}" for i in range(60))
    (tmp_path / "crowd.csv").write_text(crowd)
    assert "it is time for a new fit" in run("update", model, tmp_path / "crowd.csv", code=3)
    assert "ALARM" in run("versions", model)


def test_what_cannot_be_taken_in_is_refused(model, tmp_path):
    assert "there is nothing to take in" in run("update", model, code=2)
    assert "no such file or folder" in run("update", tmp_path / "none", tmp_path / "today.csv", code=2)
    (tmp_path / "bad.csv").write_text("1,2,3\n")
    assert "bad.csv, line 1" in run("update", model, "--gone", tmp_path / "bad.csv", code=2)
    (tmp_path / "who.csv").write_text("777\n")
    assert "777 cannot be gone" in run("update", model, "--gone", tmp_path / "who.csv", code=2)
    assert "no version 4" in run("nearest", f"{model}@4", "1", code=2)
    assert "--how" in run("transform", "--help")


def text_stream(tmp_path, *more):
    names = ["node", "Smith, John", "id", "a\tb", *"abcdefgh"]
    pairs = [(x, y) for i, x in enumerate(names) for y in names[:i]]
    model = nf.Node2Vec(dim=4, epochs=0).fit([*pairs, *more], progress=False)
    return nf.Evolving(model)


@pytest.mark.parametrize(
    ("text", "gone"),
    [
        ("node\na\n", ["node", "a"]),  # such a node is there: no header
        ("name\na\n", ["a"]),
        ('"Smith, John"\nb\n', ["Smith, John", "b"]),
        ('source,target\n"Smith, John",a\n', [("Smith, John", "a")]),
        ("from\tto\na\tb\n\nc\n", [("a", "b"), "c"]),
        (' a , b \r\n"c"\r\n', [("a", "b"), "c"]),
        ("", []),
    ],
)
def test_a_file_of_what_is_gone_says_what_it_says(tmp_path, text, gone):
    from netfold.cli.update import gone_in

    (tmp_path / "gone.csv").write_text(text, newline="")
    assert gone_in(str(tmp_path / "gone.csv"), text_stream(tmp_path)) == gone


def test_placed_and_waiting_nodes_can_be_gone_too(model, tmp_path):
    run("update", model, tmp_path / "today.csv")
    (tmp_path / "left.csv").write_text("100\n200\n101,0\n")
    assert "version 2: 0 placed, 2 gone" in run("update", model, "--gone", tmp_path / "left.csv")
    (tmp_path / "names.csv").write_text("x,100\nx,0\n")
    run("update", model, tmp_path / "names.csv")  # 100 is back, and one node is text now
    (tmp_path / "left.csv").write_text("x\n100\n")
    assert "version 4: 0 placed, 2 gone" in run("update", model, "--gone", tmp_path / "left.csv")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('"a\nb', "line 2"),
        ("a,,\n", "line 1"),
        (b"\xff\xfe", "UTF-8"),
        ("node\n9\n\nann\n", "gone.csv, line 4: ann cannot be gone"),
        ("Source,9\n", "gone.csv, line 1: Source cannot be gone"),  # 9 is a node: that is a pair, and no header
    ],
)
def test_a_file_of_what_is_gone_that_cannot_be_read_is_refused(model, tmp_path, text, said):
    (tmp_path / "gone.csv").write_bytes(text if isinstance(text, bytes) else text.encode())
    assert said in run("update", model, "--gone", tmp_path / "gone.csv", code=2)


def test_a_file_of_many_nodes_is_looked_up_once(tmp_path, monkeypatch):
    """Where no node has a type, `--file` does not walk all nodes for each line."""
    from netfold.cli import nearest

    stream = text_stream(tmp_path, ("a", 7))
    stream.model.save(tmp_path / "m")
    (tmp_path / "nodes.txt").write_text("a\n7\nSmith, John\n")
    monkeypatch.setattr(nearest, "node_typed", None)
    run("nearest", tmp_path / "m", "--file", tmp_path / "nodes.txt", "-o", tmp_path / "near.csv", "-k", 2)
    assert (tmp_path / "near.csv").read_text().count("\n") == 7


@pytest.fixture
def base(tmp_path):
    path = tmp_path / "base.csv"
    path.write_text("".join(f"{a},{b}\n" for a, b in [*EDGES, (0, 10), (10, 20)]))
    nf.Node2Vec(dim=4, epochs=1, length=10, window=2).fit(nf.read_edges(path), progress=False).save(tmp_path / "m")
    (tmp_path / "today.csv").write_text("100,0\n100,1\n101,100\n0,29\n200,201\n")
    return path


def test_settling_and_fitting_anew_from_the_command_line(base, tmp_path):
    model = tmp_path / "m"
    said = run("update", model, tmp_path / "today.csv", "--settle", base, "--mu", 10, "--epochs", 1)
    assert "version 1: 2 placed" in said and "version 2: settled, 34 nodes" in said and "moved 0." in said
    (tmp_path / "later.csv").write_text("102,100\n")
    run("update", model, tmp_path / "later.csv")
    whole = tmp_path / "whole.csv"
    whole.write_text(base.read_text() + (tmp_path / "today.csv").read_text() + "102,100\n")
    facts = json.loads(run("update", model, "--refit", whole, "--json").splitlines()[-1])
    assert facts["version"] == 4 and facts["trained"] == "refit" and facts["drift"]["residual"] > 0
    said = run("versions", model).splitlines()
    assert ["settled" in x for x in said] == [False, True, False, False] and "fitted anew" in said[3]
    assert "102" in run("nearest", model, "100", "-k", 34)
    assert json.loads(run("diff", f"{model}@1", f"{model}@2", "--json"))["came"] == 2
    assert "neither what the model was trained on" in run("update", model, "--settle", base, code=2)
    assert "give one of them" in run("update", model, "--settle", base, "--refit", base, code=2)
    assert "--mu is for --settle" in run("update", model, "--refit", base, "--mu", 1, code=2)
    assert "no such file" in run("update", model, "--settle", tmp_path / "none.csv", code=2)


def test_parts_are_read_and_written_and_vectors_alone_are_refused(base, tmp_path):
    graph = nf.read_edges(base)
    graph.save(tmp_path / "base.parts", parts=2)
    model = nf.SDNE(dim=4, hidden=(8,), epochs=3).fit(tmp_path / "base.parts", progress=False)
    model.save(tmp_path / "s")
    model.save(tmp_path / "vectors.parts")
    nf.read_edges(tmp_path / "today.csv").save(tmp_path / "today.parts")
    said = run("update", tmp_path / "s", tmp_path / "today.parts", "--settle", tmp_path / "base.parts", "--mu", 1e6)
    assert "version 1: 2 placed" in said and "version 2: settled, 34 nodes" in said and "moved 0.000" in said
    run("export", f"{tmp_path / 's'}@1", "-o", tmp_path / "out.parts")
    assert len(nf.Embedding.load(tmp_path / "out.parts")) == 32
    assert "no model that could place a node" in run(
        "update", tmp_path / "vectors.parts", tmp_path / "today.csv", code=2
    )


def test_other_commands_read_the_last_version(tmp_path):
    graph, model = nf.Graph.from_edges([*EDGES, (0, 10), (10, 20)]), tmp_path / "m"
    nf.SDNE(dim=4, hidden=(8,), epochs=2).fit(graph, progress=False).save(model)
    for name, text in (("today", "100,0\n100,1\n"), ("next", "300,0\n300,1\n"), ("last", "301,100\n")):
        (tmp_path / f"{name}.csv").write_text(text)
    (tmp_path / "edges.csv").write_text("".join(f"{a},{b}\n" for a, b in [*EDGES, (0, 10), (10, 20)]))
    run("update", model, tmp_path / "today.csv")
    facts = json.loads(run("info", model, "--json"))
    assert (facts["nodes"], facts["nodes_now"], facts["version"]) == (30, 31, 1)
    assert name_of(nf.Evolving.open(model)) == "SDNE", "not Evolving, in tables and above pictures"
    assert "1 came, 0 went, 30 are in both\nnobody moved" in run("diff", f"{model}@0", model)
    said = run("transform", model, tmp_path / "last.csv", "-o", tmp_path / "x.npz", code=2)
    assert "100, 301: no links to any known node" in said and "netfold update places by them" in said
    assert len(json.loads(run("suggest", model, "--edges", tmp_path / "edges.csv", "--json", "-q"))["suggested"])
    said = run("suggest", model, "--edges", tmp_path / "edges.csv", "--score", "decoder", code=2)
    assert "the decoder knows the nodes of the fit alone, and 1 node came since" in said
    run("update", model, "--settle", tmp_path / "edges.csv", "--epochs", 1)
    run("transform", model, tmp_path / "next.csv", "-o", tmp_path / "new.npz")
    run("transform", f"{model}@0", tmp_path / "next.csv", "-o", tmp_path / "old.npz")
    new, old = (nf.Embedding.load(tmp_path / f"{name}.npz").vectors for name in ("new", "old"))
    assert (new == nf.Evolving.open(model).transform(nf.read_edges(tmp_path / "next.csv")).vectors).all()
    assert (new != old).any(), "the first fit's vectors are not where the others are now"
    said = run("transform", tmp_path / "new.npz", tmp_path / "next.csv", "-o", tmp_path / "x.npz", code=2)
    assert "vectors alone, which place no node" in said
