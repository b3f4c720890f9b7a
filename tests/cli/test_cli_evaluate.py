"""`netfold evaluate`, and the file of classes that it reads."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import click
import pytest

import netfold as nf
from command import netfold, refuse, sentences, succeed, told
from netfold.cli import main
from netfold.cli.flags import flags
from netfold.errors import InputError
from netfold.evaluate import centralities
from netfold.evaluate.negatives import SAMPLER_WORDS
from netfold.evaluate.task import CENTRALITIES, SAMPLERS, TASKS
from netfold.io.classes import read_classes
from netfold.studies.compare import fit_choosing_score

QUICK = ["--dim", "3", "--hidden", "5", "--epochs", "3"]
BLOCKS, CLASSES = nf.datasets.stochastic_block_model((12, 12), 0.6, 0.05)
EXTRA = {
    "reconstruction": ["--k", "10", "--score", "dot"],
    "link-prediction": ["--k", "5,10", "--hits", "3", "--held-out", "0.15"],
    "classification": ["--train", "0.5", "--repeats", "2", "--classes", "labels.csv"],
    "clustering": ["--repeats", "2", "--classes", "labels.csv"],
    "roles": ["--train", "0.5,0.8", "--repeats", "2", "--classes", "labels.csv"],
    "centrality": ["--measures", "degree,closeness", "--repeats", "2"],
    "regular-equivalence": [],
    "visualization": ["--perplexity", "5", "--classes", "labels.csv"],
    "noise-robustness": ["--fractions", "0.5"],
    "out-of-sample": ["--new", "3", "--classes", "labels.csv"],
    "cold-start": ["--new", "5", "--classes", "labels.csv", "--attributes", "words.csv"],
    "replay": ["--new", "5", "--days", "3", "--every", "2", "--mu", "2", "--classes", "labels.csv"],
    "uncertainty": ["--bins", "3"],
    "calibration": ["--bins", "3"],
    "hyperedges": [],
}
MODELS = {"uncertainty": "dvne", "calibration": "dvne", "hyperedges": "dhne"}
FIGURES = {
    "reconstruction": {"MAP", "precision@10"},
    "link-prediction": {"AUC", "AP", "precision@5", "precision@10", "hits@3", "MRR", "MAP"},
    "classification": {"micro-F1@50%", "macro-F1@50%", "accuracy@50%"},
    "clustering": {"NMI", "ARI"},
    "roles": {"accuracy@50%", "accuracy@80%"},
    "centrality": {"degree MSE/mean", "degree R²", "closeness MSE/mean", "closeness R²"},
    "regular-equivalence": {"Kendall τ"},
    "visualization": {"KL", "accuracy of 5 neighbors in the plane"},
    "noise-robustness": {"AUC", "decline@50%"},
    "out-of-sample": {"micro-F1", "macro-F1", "AUC", "AP"},
    "cold-start": {"micro-F1", "macro-F1", "AUC", "AP", "AUC degree-matched"},
    "replay": {"micro-F1", "macro-F1", "CPU-s"},
    "uncertainty": {"Spearman"},
    "calibration": {"ECE", "Brier", "AUC", "AUC certain"},
    "hyperedges": {"AUC", "AP"},
}


def write_edges(path: str, graph: nf.Graph, name: Any = str) -> None:
    u, v = graph.adjacency.tocoo().coords
    Path(path).write_text("".join(f"{name(a)},{name(b)}\n" for a, b in zip(u.tolist(), v.tolist()) if a < b))


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_edges("edges.csv", BLOCKS)
    Path("labels.csv").write_text("node,label\n" + "".join(f"{i},block {c}\n" for i, c in CLASSES.items()))
    words = "".join(f"{i},w{c}\n{i},w{2 + i % 3}\n" for i, c in CLASSES.items())
    Path("words.csv").write_text("node,word\n" + words)


@pytest.fixture(scope="module")
def fitted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with training edges, test edges, and a model and an embedding of the training edges."""
    folder = tmp_path_factory.mktemp("fitted")
    split = nf.evaluate.split_edges(BLOCKS, 0.15, keep="connected")
    write_edges(str(folder / "train.csv"), split.train)
    (folder / "test.csv").write_text("".join(f"{a},{b}\n" for a, b in split.test.tolist()))
    model = nf.SDNE(dim=3, hidden=(5,), epochs=3).fit(nf.read_edges(folder / "train.csv"), progress=False)
    model.save(folder / "model")
    model.embedding_.save(folder / "vectors.parquet")
    return folder


# -------------------------------------------------------------------- the tasks


@pytest.mark.parametrize("task", TASKS)
def test_every_task_fits_and_prints_the_table_with_baselines(task: str) -> None:
    model = MODELS.get(task, "sdne")
    Path("triples.csv").write_text("user,film,tag\n" + "".join(f"u{i % 7},f{i % 5},t{i % 3}\n" for i in range(40)))
    edges = "triples.csv" if task == "hyperedges" else "edges.csv"
    args = ["evaluate", task, model, edges, *EXTRA[task], *QUICK, "--quiet"]
    found = told(*args)
    found = found["results"]["replaced"] if task == "hyperedges" else found
    assert FIGURES[task] <= set(found["figures"])
    assert found["name"] == model.upper() and found["protocol"]
    assert found["baselines"] or TASKS[task].baselines == "none"
    text = succeed(*args).stdout
    assert model.upper() in text and "protocol: " in text and ("best in" in text or not found["baselines"])
    assert all(baseline in text for baseline in found["baselines"])


def test_a_task_has_its_other_names_too() -> None:
    args = ["sdne", "edges.csv", *QUICK, "--k", 5, "-q"]
    assert told("evaluate", "link", *args) == told("evaluate", "link_prediction", *args)


def test_a_model_of_hyperedges_and_the_classes_of_its_nodes() -> None:
    Path("triples.csv").write_text("user,film,tag\n" + "".join(f"u{i % 7},f{i % 5},t{i % 3}\n" for i in range(40)))
    Path("users.csv").write_text("".join(f"user:u{i},{i % 2}\n" for i in range(7)))
    args = ["--classes", "users.csv", "--train", 0.5, "--repeats", 2, "--dim", 3, "--epochs", 2, "-q"]
    found = told("evaluate", "classification", "dhne", "triples.csv", *args)
    assert "micro-F1@50%" in found["figures"] and found["name"] == "DHNE"
    succeed("fit", "dhne", "triples.csv", "-o", "dhne.netfold", "--dim", 3, "--epochs", 2, "-q")
    same = told("evaluate", "classification", "dhne.netfold", "triples.csv", *args[:6])
    assert same["figures"] == pytest.approx(found["figures"])


def test_a_model_is_fitted_as_its_flags_say_and_scored_as_asked() -> None:
    graph = nf.read_edges("edges.csv")
    model = nf.SDNE(dim=3, hidden=(5,), epochs=3, seed=7).fit(graph, progress=False)
    expected = nf.evaluate.reconstruction(model, graph, score="distance", k=[10], seed=7)
    args = ["evaluate", "reconstruction", "sdne", "edges.csv", *QUICK, "--seed", 7, "--score", "distance", "--k", 10]
    assert told(*args, "-q") == json.loads(json.dumps(expected.to_dict()))
    Path("sdne.toml").write_text("dim = 3\nhidden = [5]\nepochs = 9\n")
    config = ["--config", "sdne.toml", "--epochs", 3, "--seed", 7, "--score", "distance", "--k", 10, "-q"]
    assert told("evaluate", "reconstruction", "sdne", "edges.csv", *config)["figures"] == expected.figures


def test_link_prediction_fits_to_what_is_left() -> None:
    graph = nf.read_edges("edges.csv")
    split = nf.evaluate.split_edges(graph, 0.2, keep="connected", seed=3)
    model = nf.SDNE(dim=3, hidden=(5,), epochs=3, seed=3).fit(split.train, progress=False)
    expected = nf.evaluate.link_prediction(model, split, seed=3, k=[5], negatives="degree", per_positive=2)
    args = ["--keep", "connected", "--seed", 3, "--k", 5, "--negatives", "degree", "--per-positive", 2, "-q"]
    found = told("evaluate", "link-prediction", "sdne", "edges.csv", *QUICK, *args, "--score", "cosine")
    assert found["figures"] == pytest.approx(expected.figures)
    assert found["protocol"]["test edges"] == len(split.test)
    chosen = fit_choosing_score(model, split.train)
    expected = nf.evaluate.link_prediction(chosen, split, seed=3, k=[5], negatives="degree", per_positive=2)
    found = told("evaluate", "link-prediction", "sdne", "edges.csv", *QUICK, *args)
    assert found["figures"] == pytest.approx(expected.figures)
    assert found["protocol"]["score"] == chosen.pair_score_ and "score chosen by" in found["protocol"]


def test_progress_goes_to_standard_error() -> None:
    args = ["evaluate", "reconstruction", "sdne", "edges.csv", *QUICK]
    assert "epoch 3/3" in succeed(*args).stderr and "epoch" not in succeed(*args).stdout
    assert succeed(*args, "--quiet").stderr == ""


# -------------------------------------------------------------------- what is saved


@pytest.mark.parametrize("saved", ["model", "vectors.parquet"])
def test_a_saved_model_and_an_exported_embedding(saved: str, fitted: Path) -> None:
    args = ["evaluate", "reconstruction", fitted / saved, fitted / "train.csv", "--k", 10]
    model = nf.load(fitted / "model")
    expected = nf.evaluate.reconstruction(model, nf.read_edges(fitted / "train.csv"), k=[10])
    assert told(*args)["figures"] == expected.figures
    assert told(*args)["name"] == ("SDNE" if saved == "model" else "embedding")


def test_a_saved_model_predicts_links_that_it_cannot_have_seen(fitted: Path) -> None:
    args = ["evaluate", "link-prediction", fitted / "model", fitted / "train.csv", "--k", 5]
    assert "--test" in refuse(*args)
    found = told(*args, "--test", fitted / "test.csv")
    assert found["protocol"]["test edges"] == len((fitted / "test.csv").read_text().splitlines())
    assert 0 <= found["figures"]["AUC"] <= 1
    assert "leave out one" in refuse(*args, "--test", fitted / "test.csv", "--held-out", 0.2)
    Path("fewer.csv").write_text((fitted / "train.csv").read_text().split("\n", 1)[1])
    other = ["evaluate", "link-prediction", fitted / "model", "fewer.csv", "--test", fitted / "test.csv", "--k", 5]
    assert "was not fitted to fewer.csv" in refuse(*other)
    assert "no such option" in refuse("evaluate", "reconstruction", fitted / "model", "edges.csv", "--test", "x.csv")


def test_test_edges_are_those_of_the_graph_whatever_its_labels_are(fitted: Path) -> None:
    """A file of integers beside a graph where another label is a name."""
    Path("train.csv").write_text((fitted / "train.csv").read_text() + "0,x\n")
    nf.SDNE(dim=2, epochs=1).fit(nf.read_edges("train.csv"), progress=False).save("model")
    args = ["evaluate", "link-prediction", "model", "train.csv", "--test", fitted / "test.csv", "--k", 5]
    assert told(*args)["protocol"]["test edges"] > 0


def test_new_nodes_of_a_saved_model_are_those_that_it_has_not_met(fitted: Path) -> None:
    Path("later.csv").write_text((fitted / "train.csv").read_text() + "0,100\n1,100\n2,101\n100,101\n3,101\n")
    found = told("evaluate", "out-of-sample", fitted / "model", "later.csv")
    assert found["protocol"]["new nodes"] == 2 and {"AUC", "AP", "AUC degree-matched"} <= set(found["figures"])
    assert "leave out one" in refuse("evaluate", "out-of-sample", fitted / "model", "later.csv", "--new", 3)
    assert "fitted to all" in refuse("evaluate", "out-of-sample", fitted / "model", fitted / "train.csv")
    assert "vectors" in refuse("evaluate", "out-of-sample", fitted / "vectors.parquet", "later.csv")
    assert "fits models itself" in refuse("evaluate", "noise-robustness", fitted / "model", "later.csv")


# -------------------------------------------------------------------- refusals


@pytest.mark.parametrize(
    "args, said",
    [
        (
            "reconstruction nothing edges.csv",
            "neither a model (sdne, drne, dvne, node2vec, line, depthlgp, node2vecplus",
        ),
        ("reconstruction sdne nowhere.csv", "nowhere.csv"),
        ("reconstruction sdne edges.csv --score warm", "--score"),
        ("reconstruction sdne edges.csv --k 0", "at least 1"),
        ("reconstruction sdne edges.csv --k many", "'many' is not a list of whole numbers"),
        ("reconstruction sdne edges.csv --dim 0", "--dim"),
        ("reconstruction sdne edges.csv --classes labels.csv", "no such option"),
        ("link-prediction sdne edges.csv --held-out 1", "--held-out"),
        ("link-prediction sdne edges.csv --held-out 0.9 --keep connected", "held_out=0.9"),
        ("link-prediction sdne edges.csv --test edges.csv", "no such option"),
        ("classification sdne edges.csv", "--classes"),
        ("classification sdne edges.csv --classes nowhere.csv", "nowhere.csv"),
        ("classification sdne edges.csv --classes labels.csv --train 0.5,1.5", "at most 0.999"),
        ("centrality sdne edges.csv --measures degree,fame", "'fame' is not one of"),
        ("reconstruction edges.csv edges.csv", "edges.csv"),
        ("winning sdne edges.csv", "winning"),
    ],
)
def test_what_cannot_be_used_is_refused_before_anything_is_fitted(
    args: str, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(nf.SDNE, "fit", lambda *a, **k: pytest.fail("it was fitted"))
    assert said in refuse("evaluate", *args.split())


def test_an_interruption_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*args: Any, **given: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(nf.SDNE, "fit", interrupted)
    result = netfold("evaluate", "reconstruction", "sdne", "edges.csv")
    assert result.exit_code == 130 and sentences(result.stderr).split("\n") == [
        "",
        "netfold: interrupted",
        "",
    ]  # after the ^C


# -------------------------------------------------------------------- the flags are what the functions take


@pytest.mark.parametrize("task", TASKS)
def test_flags_are_arguments_of_the_function(task: str) -> None:
    group = main.get_command(click.Context(main), "evaluate")
    assert isinstance(group, click.Group)
    named = group.get_command(click.Context(group), task)
    assert isinstance(named, click.Group)
    model = "sdne" if "graph" in TASKS[task].reads else "dhne"
    command = named.get_command(click.Context(named), model)
    assert command is not None
    arguments = {str(p.name).removeprefix("protocol_") for p in command.params if str(p.name).startswith("protocol_")}
    elsewhere = {"alpha", "similarity"}  # --alpha is the model's, and there is one similarity
    elsewhere |= {"until", "classes", "test", "kept", "duplicates"}  # of data sets in parts; whether --classes is given
    assert arguments == set(TASKS[task].arguments) - elsewhere
    assert {p.name for p in flags(nf.MODELS[model])} <= {p.name for p in command.params}
    text = succeed("evaluate", task, "--help").stdout
    assert all(f"--{x.replace('_', '-')}" in text for x in arguments - {"C"})


def test_choices_are_those_of_the_functions() -> None:
    assert tuple(centralities.MEASURES) == CENTRALITIES and tuple(SAMPLER_WORDS) == SAMPLERS


# -------------------------------------------------------------------- the file of classes


def labels_in(text: str | bytes, nodes: nf.Graph | None = None) -> dict[Any, tuple[Any, ...]]:
    Path("x.csv").write_bytes(text.encode() if isinstance(text, str) else text)
    return read_classes("x.csv", None if nodes is None else nodes.nodes)


@pytest.mark.parametrize(
    "text, expected",
    [
        ("node,label\n1,red\n2,blue\n", {1: ("red",), 2: ("blue",)}),
        ("1,red\n2,blue\n1,green\n1,red\n", {1: ("red", "green"), 2: ("blue",)}),
        ("1,7\n2,8\n", {1: (7,), 2: (8,)}),
        ("who,what\n1,7\n2,8\n", {1: (7,), 2: (8,)}),
        ("7,red\n8,1\n9,2\n", {7: ("red",), 8: ("1",), 9: ("2",)}),
        ("ann,red\nbob,blue\n", {"ann": ("red",), "bob": ("blue",)}),
        ("ann\tbright red\n", {"ann": ("bright red",)}),
        ("ann bob\n", {"ann": ("bob",)}),
        ("007,red\n8,blue\n9,blue\n", {"007": ("red",), "8": ("blue",), "9": ("blue",)}),
        ('"Smith, J.",red\n', {"Smith, J.": ("red",)}),
        ("# a comment\n\n1,red\n", {1: ("red",)}),
        ("Node;Class\nö;1\n", {"ö": (1,)}),
    ],
)
def test_classes_are_read(text: str, expected: dict[Any, tuple[Any, ...]]) -> None:
    assert labels_in(text) == expected
    Path("x.csv.gz").write_bytes(gzip.compress(text.encode()))
    assert read_classes("x.csv.gz") == expected


def test_nodes_are_read_as_the_graph_has_them() -> None:
    ints = nf.Graph.from_edges([(1, 2), (2, 3)])
    texts = nf.Graph.from_edges([("1", "2"), ("2", "x")])
    mixed = nf.Graph.from_edges([(1, "x"), ("x", "2")])
    assert labels_in("1,a\n2,b\n", ints) == {1: ("a",), 2: ("b",)}
    assert labels_in("1,a\n2,b\n", texts) == {"1": ("a",), "2": ("b",)}
    assert labels_in("x,a\n1,b\n", texts) == {"x": ("a",), "1": ("b",)}  # a node, and no header
    assert labels_in("node,label\n1,b\n", texts) == {"1": ("b",)}
    assert labels_in("1,a\n2,b\nx,c\n", mixed) == {1: ("a",), "2": ("b",), "x": ("c",)}
    node = nf.Graph.from_edges([("node", "other")])
    assert labels_in("node,label\nother,b\n", node) == {"node": ("label",), "other": ("b",)}


@pytest.mark.parametrize(
    "text, said",
    [
        ("1,red\n2\n", "line 2"),
        ("1,red\n2,blue,3\n", "line 2"),
        ("1,red\n\n,blue\n", "line 3: there is no node"),
        ("1,\n2,\n", "no line has a class"),
        ('1,"red\n', "line 1"),
        ("", "empty"),
        ("# nothing\n", "no classes"),
        ("node,label\n", "no classes"),
        (b"1,\xff\n", "line 1"),
        (b"PAR1....", "parquet"),
    ],
)
def test_what_is_wrong_in_a_file_of_classes_is_named(text: str | bytes, said: str) -> None:
    with pytest.raises(InputError) as e:
        labels_in(text)
    assert "x.csv" in str(e.value) and said in str(e.value)


def test_a_node_whose_class_is_empty_has_none() -> None:
    """As pandas writes a class that is missing."""
    with pytest.warns(UserWarning, match=r"1 of 3 rows has a node without a class.* \(the first is line 3\)"):
        assert labels_in("1,red\n2,blue\n3,\n") == {1: ("red",), 2: ("blue",)}
    with pytest.warns(UserWarning, match=r"2 of 4 rows have a node without a class.* \(the first is line 2\)"):
        assert labels_in("1,red\n2,\n2,blue\n3,\n") == {1: ("red",), 2: ("blue",)}


@pytest.mark.parametrize("text, said", [("1,a\n9,b\n", r"line 2: 9\)"), ("1,a\n007,b\n", r"line 2: '007'\)")])
def test_nodes_that_the_graph_does_not_have_are_counted_and_passed_over(text: str, said: str) -> None:
    graph = nf.Graph.from_edges([(1, 2), (2, 3)])
    with pytest.warns(UserWarning, match=f"1 of 2 nodes is not in the graph, and passed over .{said}"):
        assert labels_in(text, graph) == {1: ("a",)}
    with pytest.raises(InputError, match="line 1: no node is called 8.*and no other node of the file"):
        labels_in("8,a\n9,b\n", graph)


def test_classes_of_a_table_as_people_have_it() -> None:
    graph = nf.Graph.from_edges([("u1", "i1"), ("u2", "i1")])
    text = "age,user_id,segment\n17,u1,red\n71,u2,blue\n"
    with pytest.raises(InputError, match="there are the columns age, user_id, segment; say which holds the classes"):
        labels_in(text, graph)
    assert read_classes("x.csv", graph.nodes, column="segment") == {"u1": ("red",), "u2": ("blue",)}
    assert read_classes("x.csv", node="user_id", column="age") == {"u1": (17,), "u2": (71,)}
    assert labels_in("user_id,segment\nu1,red\nu2,blue\n", graph) == {"u1": ("red",), "u2": ("blue",)}
    with pytest.raises(InputError, match="there is no column 'colour'; there are user_id, segment"):
        read_classes("x.csv", graph.nodes, column="colour")
    rows = "".join(f"{'ab'[i % 2]},{i},{i % 3}\n" for i in range(40))
    Path("people.csv").write_text("circle,node,age\n" + rows + "a,absent,3\n")
    asked = ("evaluate", "classification", "sdne", "edges.csv", "--classes", "people.csv:circle", *QUICK)
    result = succeed(*asked, "--repeats", 1, "--train", 0.5)
    assert "not in the graph, and passed over" in result.stderr
