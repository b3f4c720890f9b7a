"""Held-out hyperedges: what is held out and what is left, figures of the unseen apart, and the command line."""

from __future__ import annotations

import json
from collections import Counter
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result

import netfold as nf
from command import sentences
from netfold.cli import main
from netfold.data.hypergraph import Hypergraph
from netfold.errors import InputError
from netfold.evaluate import HyperedgeSplit, held_out_hyperedges, hyperedges, split_hyperedges
from netfold.evaluate.negatives import SAMPLER_WORDS
from netfold.evaluate.task import AGGREGATES, SAMPLERS

QUICK = ["--dim", "4", "--epochs", "3", "--batch-size", "32", "--quiet"]


class Scorer:
    """A model that has nothing but a score for tuples."""

    def __init__(self, score: Any):
        self.score = score


def tags() -> Hypergraph:
    """Users give the films of a genre its tags; a quarter of the triples twice; and users are friends."""
    of = {"user": "uvwxyz", "film": range(9), "tag": ["drama", "crime", "space"]}
    nodes = [(name, x) for name, labels in of.items() for x in labels]
    every = [(u, 6 + f, 15 + t) for u, f, t in product(range(6), range(9), range(3)) if f % 3 == t]
    kinds = [
        (("user", "film", "tag"), ("user", "film", "tag"), np.array(every + every[::4])),
        (("who", "whom"), ("user", "user"), np.array([[0, 1], [1, 0], [1, 2], [4, 5]])),
    ]
    return Hypergraph.from_kinds(kinds, nodes=nodes, node_types=[name for name, _ in nodes])


# -------------------------------------------------------------------- splits


@pytest.mark.parametrize("held_out", [0.05, 0.2, 0.9])
def test_what_is_held_out_and_what_is_left_are_the_whole(held_out: float) -> None:
    whole = tags()
    split = split_hyperedges(whole, held_out, seed=3)
    assert split.test.n_edges == round(held_out * whole.n_edges)
    assert Counter(split.train.edges) + Counter(split.test.edges) == Counter(whole.edges)
    assert split.train.nodes == split.test.nodes == whole.nodes and split.train.node_types == whole.node_types
    assert split.train.fingerprint == split_hyperedges(whole, held_out, seed=3).train.fingerprint
    assert split.train.fingerprint != split_hyperedges(whole, held_out, seed=4).train.fingerprint


def test_the_figures_of_a_split_are_counted() -> None:
    split = split_hyperedges(tags(), 0.3, seed=1)
    known, test = set(split.train.edges), list(split.test.edges)
    left = {node for edge in split.train.edges for node in edge}
    expected = {
        "test hyperedges": len(test),
        "unseen": sum(edge not in known for edge in test),
        "nodes left in none": len({node for edge in test for node in edge} - left),
    }
    assert split.figures == expected and 0 < expected["unseen"] < len(test)
    assert "unseen" in repr(split) and "protocol: held out 0.3; seed 1" in repr(split)


@pytest.mark.parametrize("held_out", [0, 1, -0.2, "half", None, float("nan")])
def test_a_share_is_between_0_and_1(held_out: Any) -> None:
    with pytest.raises(InputError, match="is no share of the hyperedges; give a number between 0 and 1"):
        split_hyperedges(tags(), held_out)


def test_some_must_be_held_out_and_some_left() -> None:
    two = Hypergraph.from_tuples([("a", "b"), ("b", "c")])
    for held_out, count in ((0.1, 0), (0.9, 2)):
        with pytest.raises(InputError, match=f"holds out {count} of 2 hyperedges; hold out some, and leave some"):
            split_hyperedges(two, held_out)


# -------------------------------------------------------------------- figures


def test_unseen_hyperedges_have_figures_of_their_own() -> None:
    split = split_hyperedges(tags(), 0.3, seed=1)
    known = set(split.train.edges)
    memory = Scorer(lambda tuples: [x in known for x in tuples])  # knows what it saw, and nothing else
    found = held_out_hyperedges(memory, split, seed=2)
    assert found.figures["AUC"] == 0.5
    seen = 1 - split.figures["unseen"] / split.figures["test hyperedges"]
    assert found.figures["AUC with seen"] == pytest.approx(0.5 + seen / 2)
    drop, keep = (hyperedges(memory, split.test, known=split.train, duplicates=x, seed=2) for x in ("drop", "keep"))
    for name, row in {"": drop, " with seen": keep}.items():
        for figure in ("AUC", "AP"):
            assert found.figures[figure + name] == row.figures[figure]
            for cheap in row.baselines:
                assert found.baselines[cheap][figure + name] == row.baselines[cheap][figure]
    assert found.protocol == {"held out": 0.3, **drop.protocol}


def test_where_all_is_unseen_there_is_one_pair_of_figures() -> None:
    known = Hypergraph.from_tuples([("a", "b"), ("c", "d"), ("e", "f")])
    split = HyperedgeSplit(known, [("a", "d"), ("b", "e")], {})
    found = held_out_hyperedges(Scorer(lambda x: np.arange(len(x))), split, baselines=False)
    assert set(found.figures) == {"AUC", "AP"} and found.baselines == {}


def test_nothing_unseen_is_said() -> None:
    known = Hypergraph.from_tuples([("a", "b"), ("c", "d")])
    with pytest.raises(InputError, match="each of the 1 test hyperedges is known too"):
        held_out_hyperedges(Scorer(len), HyperedgeSplit(known, [("b", "a")], {}))


# -------------------------------------------------------------------- the command line


def netfold(*args: object) -> Result:
    return CliRunner().invoke(main, ["evaluate", "hyperedges", *map(str, args)])


def told(*args: object) -> dict[str, Any]:
    result = netfold(*args, "--json")
    assert result.exit_code == 0, result.output
    found: dict[str, Any] = json.loads(result.stdout)
    return found["results"]


def refuse(*args: object) -> str:
    result = netfold(*args)
    assert result.exit_code == 2 and result.stdout == "", result.output
    said = sentences(result.stderr)
    assert len(said.splitlines()) == 1 and said.startswith("netfold: ")
    return result.stderr


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    whole = tags()
    triples, friends = whole.kinds
    names = [str(label) for _, label in whole.nodes]
    for path, kind, head in (("tags.csv", triples, "user,film,tag"), ("friends.csv", friends, "who:user,whom:user")):
        Path(path).write_text("\n".join([head, *(",".join(names[i] for i in row) for row in kind.rows)]) + "\n")
    Path("new.csv").write_text("tag,user,film\ndrama,u,1\nspace,v,0\ncrime,w,1\n")


@pytest.mark.usefixtures("files")
def test_a_model_is_fitted_to_what_is_left_and_asked_under_each_sampler() -> None:
    found = told("dhne", "tags.csv", *QUICK, "--held-out", "0.3", "--seed", "1", "--per-positive", "3")
    assert list(found) == ["replaced", "uniform"]
    split = split_hyperedges(nf.read_hyperedges("tags.csv"), 0.3, seed=1)
    model = nf.DHNE(dim=4, epochs=3, batch_size=32, seed=1).fit(split.train, progress=False)
    for name, result in found.items():
        expected = held_out_hyperedges(model, split, negatives=name, per_positive=3, seed=1)
        assert result == json.loads(json.dumps(expected.to_dict()))
        assert {"AUC", "AP", "AUC with seen", "AP with seen"} == set(result["figures"])
        assert set(result["baselines"]) == {"pair co-occurrence", "log degrees", "pair counts and degrees"}


@pytest.mark.usefixtures("files")
def test_several_kinds_a_sampler_and_cosines() -> None:
    text = netfold("dhne", "tags.csv", "friends.csv", *QUICK, "--negatives", "uniform", "--aggregate", "min")
    assert text.exit_code == 0, text.output
    assert text.stdout.count("protocol: held out 0.2; seed 0;") == 1 and "negatives uniform" in text.stdout
    assert "score min of the cosines of pairs" in text.stdout and "DHNE" in text.stdout
    own = told("dhne", "tags.csv", *QUICK, "--negatives", "all", "--n-negatives", "2")
    assert own["all"]["protocol"]["score"] == "the model's own"


@pytest.mark.usefixtures("files")
def test_a_saved_model_is_asked_about_others() -> None:
    model = nf.DHNE(dim=4, epochs=3).fit(nf.read_hyperedges("tags.csv"), progress=False)
    model.save("m.netfold")
    found = told("m.netfold", "tags.csv", "--test", "new.csv", "--negatives", "uniform")["uniform"]
    known = nf.read_hyperedges("tags.csv")
    test = [
        (("user", u), ("film", f), ("tag", t)) for u, f, t in (("u", 1, "drama"), ("v", 0, "space"), ("w", 1, "crime"))
    ]
    assert known.edges[0][0] == ("user", "u") and found["protocol"]["positives"] == 2  # (w, 1, crime) is known
    expected = held_out_hyperedges(model, HyperedgeSplit(known, test, {}), negatives="uniform")
    assert set(found["figures"]) == set(expected.figures) == {"AUC", "AP", "AUC with seen", "AP with seen"}
    assert "may have seen the hyperedges that would be held out" in refuse("m.netfold", "tags.csv")
    assert "was not fitted to friends.csv" in refuse("m.netfold", "friends.csv", "--test", "friends.csv")
    assert "--held-out holds out hyperedges and --test" in refuse(
        "m.netfold", "tags.csv", "--test", "new.csv", "--held-out", "0.1"
    )
    Path("odd.csv").write_text("user,film,tag\nu,77,drama\n")
    assert "('film', 77)" in refuse("m.netfold", "tags.csv", "--test", "odd.csv")


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["dhne"], "missing argument 'EDGES"),
        (["dhne", "none.csv"], "none.csv: there is no such file"),
        (["dhne", "tags.csv", "--held-out", "1"], "--held-out"),
        (["dhne", "tags.csv", "--negatives", "hard"], "'hard' is not one of replaced, uniform, all"),
        (["dhne", "tags.csv", "--aggregate", "max"], "--aggregate"),
        (
            ["dhne", "tags.csv", "--columns", "user,year"],
            "there are the columns user, film, tag, and 'user' alone of user, year",
        ),
        (["dhne", "friends.csv", "--held-out", "0.01"], "holds out 0 of 4 hyperedges; hold out some, and leave some"),
        (["sdne", "tags.csv"], "sdne reads graphs, and this task is for models of hypergraphs (dhne)"),
        (["dhen", "tags.csv"], "'dhen' is neither a model (dhne) nor a saved one; give its path"),
    ],
)
def test_refusals_are_one_sentence(args: list[str], words: str) -> None:
    assert words in refuse(*args)


def test_choices_are_those_of_the_functions_and_the_help_lists_them() -> None:
    assert tuple(SAMPLER_WORDS) == SAMPLERS and AGGREGATES == ("mean", "min")
    text = netfold("--help").stdout
    assert all(
        flag in text for flag in ("--held-out", "--negatives", "--per-positive", "--aggregate", "--test", "dhne")
    )
    assert "--n-negatives" in netfold("dhne", "--help").stdout
