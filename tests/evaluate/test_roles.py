"""Roles of nodes told from vectors: accuracy against scikit-learn in a loop, and roles that degrees tell."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from netfold.data.embedding import Embedding
from netfold.data.graph import Graph
from netfold.errors import InputError
from netfold.evaluate import roles
from netfold.evaluate.baselines import degree_features


def hubs() -> tuple[Graph, dict[Any, str]]:
    """Twenty stars in a ring: their hubs, and their leaves."""
    edges = [(f"hub {i}", f"hub {(i + 1) % 20}") for i in range(20)]
    edges += [(f"hub {i}", f"leaf {i} {j}") for i in range(20) for j in range(4)]
    graph = Graph.from_edges(edges)
    return graph, {x: x.split()[0] for x in graph.nodes}


def test_roles_that_degrees_tell(draw: np.random.Generator) -> None:
    graph, known = hubs()
    random = Embedding(graph.nodes, draw.normal(size=(100, 2)))
    made = roles(random, known, graph=graph)
    assert list(made.figures) == ["accuracy@10%", "accuracy@80%"]
    assert made.baselines["degree features"]["accuracy@80%"] == 1.0
    assert made.baselines["most frequent role"]["accuracy@80%"] == pytest.approx(0.8, abs=0.05)
    assert made.figures["accuracy@80%"] == pytest.approx(0.8, abs=0.05)
    assert made.best("accuracy@80%") == "degree features"
    assert roles(degree_features(graph), known, train=0.8).figures == {"accuracy@80%": 1.0}


def test_accuracy_is_that_of_scikit_learn_by_a_loop(draw: np.random.Generator) -> None:
    from sklearn.linear_model import LogisticRegression

    n = 60
    x, role = draw.normal(size=(n, 3)).astype(np.float32), draw.integers(0, 3, n)
    x[:, 0] += role
    made = roles(Embedding(range(n), x), dict(enumerate(role.tolist())), train=0.5, repeats=2, seed=3)
    rng, each = np.random.default_rng(3), []
    for _ in range(2):
        order = rng.permutation(n)
        learned, asked = order[:30], order[30:]
        scaled = x.astype(np.float64)
        scaled = (scaled - scaled[learned].mean(axis=0)) / scaled[learned].std(axis=0)
        told = LogisticRegression(tol=1e-8).fit(scaled[learned], role[learned]).predict(scaled[asked])
        each.append(sum(a == b for a, b in zip(told, role[asked], strict=True)) / 30)
    assert made.figures["accuracy@50%"] == pytest.approx(sum(each) / 2)
    assert made.deviations["accuracy@50%"] == pytest.approx(abs(each[0] - each[1]) / math.sqrt(2))


def test_one_learned_role_is_the_answer(draw: np.random.Generator) -> None:
    embedding = Embedding(range(4), draw.normal(size=(4, 2)))
    made = roles(embedding, {0: "a", 1: "a", 2: "b", 3: "b"}, train=0.1, repeats=8)  # one node is learned from
    assert made.figures["accuracy@10%"] == pytest.approx(1 / 3)


@pytest.mark.parametrize(
    ("given", "options", "words"),
    [
        ({0: ["a", "b"], 1: "a"}, {}, "node 0 has several classes"),
        ({0: "a", 1: "a"}, {}, "1 class in all"),
        ({0: "a", 9: "b"}, {}, "no node is called 9"),
        ({0: "a", 1: "b"}, {"train": 2}, "train=2"),
        ({0: "a", 1: "b"}, {"repeats": 0}, "repeats=0"),
        ({0: "a", 1: "b"}, {"normalize": "x"}, "normalize='x'"),
    ],
)
def test_what_roles_refuses(given: Any, options: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=words):
        roles(Embedding(range(4), np.eye(4)), given, **options)
