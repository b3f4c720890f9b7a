"""Classification: its figures against loops, its splits, its rules, and what is refused."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from netfold.data.embedding import Embedding
from netfold.data.graph import Graph
from netfold.data.nodes import Nodes
from netfold.errors import InputError
from netfold.evaluate import Result, classification
from netfold.evaluate.baselines import baseline_embeddings, class_embeddings
from netfold.evaluate.class_tasks import class_f1, class_figures, linear_scorer, neighbor_scorer
from netfold.evaluate.classes import classes_of_nodes, node_splits, normalized

RNG = np.random.default_rng(3)
START = RNG.bit_generator.state


@pytest.fixture(autouse=True)
def same_numbers() -> None:
    """Every test draws the same, whichever ran before it."""
    RNG.bit_generator.state = START


def naive_f1(truth: npt.NDArray[np.bool_], told: npt.NDArray[np.bool_]) -> tuple[float, float]:
    """Micro and macro, by counting."""
    counts = []
    for c in range(truth.shape[1]):
        tp = fp = fn = 0
        for i in range(truth.shape[0]):
            tp += bool(truth[i, c] and told[i, c])
            fp += bool(told[i, c] and not truth[i, c])
            fn += bool(truth[i, c] and not told[i, c])
        counts.append((tp, fp, fn))
    tp, fp, fn = (sum(x[i] for x in counts) for i in range(3))
    micro = 2 * tp / (2 * tp + fp + fn) if tp + fp + fn else 0.0
    each = [2 * a / (2 * a + b + c) if a + b + c else 0.0 for a, b, c in counts]
    return micro, sum(each) / len(each)


def blocks(n: int = 90, k: int = 3, dim: int = 6, noise: float = 0.1) -> tuple[Embedding, dict[Any, Any]]:
    """Nodes named by text around k corners, and the corner of each."""
    own = np.arange(n) % k
    vectors = np.eye(dim)[own] + noise * RNG.normal(size=(n, dim))
    return Embedding([f"n{i}" for i in range(n)], vectors), {f"n{i}": f"class {c}" for i, c in enumerate(own)}


# -------------------------------------------------------------------- figures


@pytest.mark.parametrize("density", [0.0, 0.3, 1.0])
def test_f1_is_what_loops_and_scikit_learn_count(density: float) -> None:
    from sklearn.metrics import f1_score

    truth, told = RNG.random((40, 7)) < 0.3, RNG.random((40, 7)) < density
    truth[:, 2] = told[:, 2] = False  # a class that is neither there nor told
    found = class_f1(truth, told)
    micro, macro = naive_f1(truth, told)
    assert found == pytest.approx({"micro-F1": micro, "macro-F1": macro})
    assert found["micro-F1"] == pytest.approx(f1_score(truth, told, average="micro", zero_division=0))
    assert found["macro-F1"] == pytest.approx(f1_score(truth, told, average="macro", zero_division=0))


@pytest.mark.parametrize("rule", ["top-k", "threshold"])
@pytest.mark.parametrize("classifier", ["logistic", "svm"])
def test_a_whole_run_against_scikit_learn(classifier: str, rule: str) -> None:
    """One split, classes of several a node: one classifier for each class, then the rule, by loops."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.svm import LinearSVC

    n, x = 80, RNG.normal(size=(80, 4)).astype(np.float32)
    truth = x @ RNG.normal(size=(4, 5)) + RNG.normal(size=(n, 5)) > 0.8
    truth[~truth.any(axis=1), 0] = True
    labels = {i: [f"c{c}" for c in np.flatnonzero(truth[i])] for i in range(n)}
    made = classification(
        Embedding(range(n), x), labels, train=0.5, classifier=classifier, rule=rule, repeats=1, seed=4
    )

    order = np.random.default_rng(4).permutation(n)
    learned, asked = order[:40], order[40:]
    around = x.astype(np.float64) - x[learned].astype(np.float64).mean(axis=0)
    unit = np.array([row / np.sqrt(sum(float(v) ** 2 for v in row)) for row in around])
    scores = np.empty((40, 5))
    for c in range(5):
        one = LogisticRegression(C=3, tol=1e-8) if classifier == "logistic" else LinearSVC(C=3, dual=False)
        scores[:, c] = one.fit(unit[learned], truth[learned, c]).decision_function(unit[asked])
    told = np.zeros((40, 5), bool)
    for i, row in enumerate(scores):
        k = truth[asked[i]].sum()
        for c in range(5):
            told[i, c] = row[c] > 0 if rule == "threshold" else sum(other > row[c] for other in row) < k
    micro, macro = naive_f1(truth[asked], told)
    assert made.figures == pytest.approx({"micro-F1@50%": micro, "macro-F1@50%": macro})


def test_perfect_vectors_score_1_and_random_ones_chance() -> None:
    embedding, labels = blocks(noise=0.01)
    made = classification(embedding, labels, train=(0.5,), repeats=3)
    assert made.figures == {"micro-F1@50%": 1.0, "macro-F1@50%": 1.0, "accuracy@50%": 1.0}
    assert made.deviations == {"micro-F1@50%": 0.0, "macro-F1@50%": 0.0, "accuracy@50%": 0.0}
    n = 3000
    noise = Embedding(range(n), RNG.normal(size=(n, 4)))
    chance = classification(noise, {i: i % 4 for i in range(n)}, train=0.5, repeats=3).figures
    assert chance["accuracy@50%"] == pytest.approx(0.25, abs=0.03)
    assert chance["accuracy@50%"] == chance["micro-F1@50%"]  # one class told of each node


def test_most_frequent_classes() -> None:
    embedding, _ = blocks(100)
    labels = {f"n{i}": "common" if i < 80 else "rare" for i in range(100)}
    rows = classification(embedding, labels, train=0.5, repeats=20).baselines["most frequent classes"]
    assert rows["accuracy@50%"] == pytest.approx(0.8, abs=0.03)
    micro = rows["accuracy@50%"]
    assert rows["macro-F1@50%"] == pytest.approx(micro / (1 + micro), abs=0.01)  # 2 micro / (1 + micro) and 0, halved
    both = {f"n{i}": ["common", "rare"] if i % 5 == 0 else ["common"] for i in range(100)}
    told = classification(embedding, both, train=0.5, repeats=1, rule="threshold").baselines["most frequent classes"]
    truth = np.stack([np.ones(100, bool), np.arange(100) % 5 == 0], axis=1)
    asked = np.random.default_rng(0).permutation(100)[50:]
    assert told["micro-F1@50%"] == naive_f1(truth[asked], np.tile([True, False], (50, 1)))[0]


def test_means_and_deviations_are_those_of_single_repeats() -> None:
    embedding, labels = blocks(60, noise=1.0)
    classes = classes_of_nodes(labels, embedding.nodes)
    scorer = linear_scorer(embedding[classes.nodes].astype(np.float64), "logistic", "centred", 3.0)
    each = [class_figures(scorer, classes, x, "top-k")["micro-F1"] for x in node_splits(60, 0.3, 4, seed=9)]
    made = classification(embedding, labels, train=0.3, repeats=4, seed=9)
    assert made.figures["micro-F1@30%"] == pytest.approx(sum(each) / 4)
    spread = (sum((x - sum(each) / 4) ** 2 for x in each) / 3) ** 0.5
    assert made.deviations["micro-F1@30%"] == pytest.approx(spread)
    assert spread > 0
    assert not classification(embedding, labels, train=0.3, repeats=1).deviations


# -------------------------------------------------------------------- splits, rules, baselines


def test_a_class_that_was_not_learned_is_never_told() -> None:
    """Three of four nodes learned: the class of the fourth is unknown, and k is 1."""
    embedding = Embedding("abcd", np.eye(4))
    labels = {"a": "x", "b": "x", "c": "y", "d": "z"}
    classes = classes_of_nodes(labels, embedding.nodes)
    scorer = linear_scorer(np.eye(4), "logistic", "none", 1.0)
    rows = np.arange(4)
    scores = scorer(classes.indicator[:3], rows[:3], rows[3:])
    assert scores[0, 2] == -np.inf and np.isfinite(scores[0, :2]).all()
    only = scorer(classes.indicator[:2], rows[:2], rows[2:])  # all that is learned has the class x
    assert (only == [np.inf, -np.inf, -np.inf]).all()
    several = classes_of_nodes({"a": "x", "b": "x", "c": ["x", "y"], "d": ["x", "y", "z"]}, embedding.nodes)
    found = class_figures(scorer, several, (rows[:2], rows[2:]), "top-k")
    assert found["micro-F1"] == pytest.approx(2 * 2 / (2 * 2 + 3))  # two x are right, and y, y, z are missed


def test_top_k_gives_each_node_as_many_classes_as_it_has() -> None:
    n = 60
    embedding = Embedding(range(n), RNG.normal(size=(n, 3)))
    labels = {i: list(range(1 + i % 3)) for i in range(n)}
    classes = classes_of_nodes(labels, embedding.nodes)
    told: list[int] = []

    def scorer(truth: Any, learned: Any, asked: Any) -> Any:
        told.extend(int(x) for x in classes.indicator[asked].sum(axis=1))
        return np.tile([3.0, 2.0, 1.0], (len(asked), 1))

    split = next(node_splits(n, 0.5, 1, seed=0))
    assert class_figures(scorer, classes, split, "top-k") == {"micro-F1": 1.0, "macro-F1": 1.0}
    assert set(told) == {1, 2, 3}


def test_splits_are_random_nested_and_complete() -> None:
    small, large = (list(node_splits(50, part, 3, seed=1)) for part in (0.1, 0.9))
    for (few, _), (many, rest) in zip(small, large, strict=True):
        assert len(few) == 5 and len(many) == 45
        assert set(few) <= set(many)
        assert sorted([*many, *rest]) == list(range(50))
    assert not np.array_equal(small[0][0], small[1][0])
    assert [len(x) for x in next(node_splits(3, 0.01, 1, 0))] == [1, 2]
    assert [len(x) for x in next(node_splits(3, 0.99, 1, 0))] == [2, 1]


def test_the_order_of_an_embedding_does_not_matter() -> None:
    embedding, labels = blocks(60, noise=0.8)
    turned = embedding.take(list(embedding.nodes)[::-1])
    assert classification(embedding, labels).figures == pytest.approx(classification(turned, labels).figures)


def test_the_same_seed_gives_the_same_and_the_global_state_stays() -> None:
    embedding, labels = blocks(60, noise=0.8)
    np.random.seed(1)
    before = np.random.get_state()[1].copy()
    first, again = (classification(embedding, labels, seed=2, repeats=2) for _ in range(2))
    assert first.figures == again.figures
    assert first.figures != classification(embedding, labels, seed=3, repeats=2).figures
    assert np.array_equal(before, np.random.get_state()[1])


def test_normalized() -> None:
    x = RNG.normal(size=(9, 3)) * [1, 10, 0]
    rows = np.array([0, 2, 5, 7])
    unit, columns = normalized(x, "rows", rows), normalized(x, "columns", rows)
    np.testing.assert_allclose((unit**2).sum(axis=1), 1)
    np.testing.assert_allclose(columns[rows].mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(columns[rows].std(axis=0), [1, 1, 0])
    assert normalized(x, "none", rows) is x
    moved = normalized(x + 7, "centred", rows)
    np.testing.assert_allclose(moved, normalized(x - x[rows].mean(axis=0), "rows"), atol=1e-12)
    assert not normalized(np.zeros((2, 3)), "rows").any()


def test_graph_baselines_stand_beside_under_the_same_protocol() -> None:
    n, own = 60, np.arange(60) // 20
    edges = [(i, j) for i in range(n) for j in range(i) if RNG.random() < (0.5 if own[i] == own[j] else 0.02)]
    graph = Graph.from_edges([(f"n{i}", f"n{j}") for i, j in edges], nodes=[f"n{i}" for i in range(n)])
    labels = {f"n{i}": int(own[i]) for i in range(n)}
    random = Embedding(graph.nodes, RNG.normal(size=(n, 8)))
    made = classification(random, labels, graph=graph, train=0.5, repeats=3)
    assert list(made.baselines) == [*class_embeddings(graph, 8), "majority of neighbors", "most frequent classes"]
    assert {"spectral", "normalised SVD", "plain SVD", "ProNE"} <= set(made.baselines)
    assert made.baselines["majority of neighbors"]["accuracy@50%"] > 0.9
    assert made.baselines["spectral"]["accuracy@50%"] > 0.9 > 0.6 > made.figures["accuracy@50%"]
    assert made.best("accuracy@50%") != "embedding"
    alone = classification(baseline_embeddings(graph, 8, 0)["spectral"], labels, train=0.5, repeats=3)
    assert alone.figures == made.baselines["spectral"]
    assert "baselines of the graph" in alone.protocol and "baselines of the graph" not in made.protocol
    assert not classification(random, labels, graph=graph, baselines=False, repeats=1).baselines


@pytest.mark.parametrize("several", [False, True])
@pytest.mark.parametrize("directed", [False, True])
def test_the_classes_of_most_neighbors_by_a_loop(several: bool, directed: bool) -> None:
    rng = np.random.default_rng(5)
    weights = np.where(rng.random((30, 30)) < 0.1, rng.integers(1, 4, (30, 30)), 0)
    weights[29] = weights[:, 29] = 0  # no neighbor at all
    graph = Graph.from_scipy(weights if directed else weights + weights.T, directed=directed)
    names = [int(x) for x in rng.permutation(30)[:25]]  # some have no class
    truth = rng.random((25, 4)) < 0.4 if several else np.eye(4, dtype=bool)[rng.integers(0, 3, 25)]
    learned, tested = np.arange(15), np.arange(15, 25)
    found = neighbor_scorer(graph, names)(truth[:15], learned, tested)
    for row, i in enumerate(tested):
        votes, total = [0.0] * 4, 0.0
        for j in learned:
            a, b = names[i], names[j]
            weight = float(graph.adjacency[a, b] + (graph.adjacency[b, a] if directed else 0)) if a != b else 0.0
            total += weight
            votes = [v + weight * float(truth[j, c]) for c, v in enumerate(votes)]
        often = [sum(truth[j, c] for j in learned) / 15 for c in range(4)]
        for c in range(4):
            share = votes[c] / total if total else often[c]
            expected = share - 0.5 if often[c] else -np.inf
            assert found[row, c] == pytest.approx(expected, abs=1e-8)


def test_repeats_are_paired_and_say_who_is_level() -> None:
    embedding, labels = blocks(60)
    made = classification(embedding, labels, train=0.5, repeats=4, seed=1)
    own = made.rounds[made.name]["accuracy@50%"]
    assert len(own) == 4 and np.mean(own) == pytest.approx(made.figures["accuracy@50%"])
    assert np.std(own, ddof=1) == pytest.approx(made.deviations["accuracy@50%"])
    assert set(made.rounds) == {made.name, *made.baselines}


def test_the_protocol_says_what_moves_a_figure() -> None:
    embedding, labels = blocks(60)
    fewer = {node: x for node, x in labels.items() if node != "n7"} | {"n8": []}
    protocol = classification(embedding, fewer, train=0.5, repeats=2, C=0.5, seed=8).protocol
    assert protocol["nodes with a class"] == 58 and protocol["nodes left out without a class"] == 2
    assert (protocol["C"], protocol["seed"], protocol["repeats"], protocol["rule"]) == (0.5, 8, 2, "top-k")
    assert "nodes left out without a class" not in classification(embedding, labels, repeats=1).protocol
    assert isinstance(classification(embedding, labels, repeats=1), Result)


# -------------------------------------------------------------------- reading labels


def test_classes_in_a_frame_or_a_file_are_refused_with_what_reads_them() -> None:
    frame = pytest.importorskip("pandas").DataFrame({"node": list("ab"), "class": [1, 2]})
    with pytest.raises(InputError, match=r"not a DataFrame; dict\(zip\(frame"):
        classes_of_nodes(frame, Nodes.of("ab"))
    with pytest.raises(InputError, match=r"not a str; nf.read_classes reads one"):
        classes_of_nodes("classes.csv", Nodes.of("ab"))
    series = pytest.importorskip("pandas").Series({"a": 1, "b": 2, "c": 2})
    assert classes_of_nodes(series, Nodes.of("abc")).names == [1, 2]


def test_a_class_for_each_node_is_refused() -> None:
    with pytest.raises(InputError, match="each of the 3 nodes has a class of its own"):
        classes_of_nodes({"a": 1, "b": 2, "c": 3}, Nodes.of("abcd"))
    assert classes_of_nodes({"a": 1, "b": 2, "c": 2}, Nodes.of("abcd")).one_each


def test_classes_are_read_in_any_collection() -> None:
    nodes = Nodes.of(["a", "b", "c", ("d", 1), "e"])
    given = {"a": {1, 2}, "b": np.array([2, 3]), "c": (1,), ("d", 1): frozenset([3]), "e": 2}
    classes = classes_of_nodes(given, nodes)
    assert classes.names == [1, 2, 3]
    expected = [[1, 1, 0], [0, 1, 1], [1, 0, 0], [0, 0, 1], [0, 1, 0]]
    assert classes.indicator.astype(int).tolist() == expected
    assert not classes.one_each and classes.without == 0
    assert classes_of_nodes({"a": "x", "b": "y", "c": "x"}, nodes).codes.tolist() == [0, 1, 0]


def test_a_pandas_series_is_a_mapping() -> None:
    import pandas as pd

    series = pd.Series(["x", "y", "x"], index=["a", "b", "c"])
    assert classes_of_nodes(series, Nodes.of("abc")).names == ["x", "y"]


EMBEDDING, LABELS = blocks(12)


@pytest.mark.parametrize(
    ("labels", "options", "words"),
    [
        (LABELS | {"nobody": "x"}, {}, "no node is called 'nobody'"),
        ({"n0": "x", "n1": "x"}, {}, "2 nodes with 1 class"),
        ({}, {}, "0 nodes with 0 classes"),
        ({"n0": ["x", "y"]}, {}, "1 node with 2 classes"),
        (["x"] * 12, {}, "not a list"),
        (LABELS | {"n0": None}, {}, "node 'n0' has the class None"),
        (LABELS | {"n0": float("nan")}, {}, "node 'n0' has the class nan"),
        (LABELS | {"n0": {"a": 1}}, {}, "cannot be a key"),
        (LABELS, {"train": 0}, "train=0 is not"),
        (LABELS, {"train": (0.5, 1.0)}, "between 0 and 1"),
        (LABELS, {"train": ()}, "between 0 and 1"),
        (LABELS, {"train": None}, "train=None"),
        (LABELS, {"classifier": "forest"}, "classifier='forest' is not one of logistic, svm"),
        (LABELS, {"rule": "best"}, "rule='best' is not one of top-k, threshold"),
        (LABELS, {"normalize": "l2"}, "normalize='l2' is not one of none, rows, centred, columns"),
        (LABELS, {"C": 0}, "C=0 is not"),
        (LABELS, {"C": float("inf")}, "C=inf is not"),
        (LABELS, {"repeats": 0}, "repeats=0 is not"),
        (LABELS, {"repeats": 1.5}, "repeats=1.5 is not"),
        (LABELS, {"graph": [("n0", "n1")]}, "no node is called"),
    ],
)
def test_what_is_refused(labels: Any, options: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=words.replace("(", r"\(")):
        classification(EMBEDDING, labels, **options)


def test_only_an_embedding_is_evaluated() -> None:
    with pytest.raises(InputError, match="a list was given"):
        classification([1, 2], LABELS)


@pytest.mark.slow
@pytest.mark.skipif(not os.environ.get("NETFOLD_DATA"), reason="needs NETFOLD_DATA")
def test_blogcatalog_gives_the_known_figures_of_spectral_vectors() -> None:
    """Measured over 5 repeats: micro .379 and .438, macro .225 and .287, for the SVD 128 wide."""
    from netfold.evaluate.baselines import baseline_embeddings

    folder = os.path.join(os.environ["NETFOLD_DATA"], "blogcatalog")
    edges, rows = (
        np.loadtxt(os.path.join(folder, f"{x}.csv.gz"), delimiter=",", skiprows=1, dtype=np.int64)
        for x in ("edges", "labels")
    )
    labels: dict[int, list[int]] = {}
    for node, label in rows.tolist():
        labels.setdefault(node, []).append(label)
    svd = baseline_embeddings(Graph.from_edges(edges[:, :2]), 128, 0)["normalised SVD"]
    found = classification(svd, labels, train=(0.1, 0.9), repeats=3, baselines=False).figures
    known = {"micro-F1@10%": 0.379, "macro-F1@10%": 0.225, "micro-F1@90%": 0.438, "macro-F1@90%": 0.287}
    assert found == pytest.approx(known, abs=0.025)
