"""The chapter's theorem on DHNE: no linear function of a tuple separates its example, and a trained model does."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.optimize import linprog

from netfold.data.hypergraph import Hypergraph
from netfold.models.dhne import DHNE


def clusters(per: int = 3) -> tuple[list[tuple[str, ...]], dict[str, str], list[tuple[str, ...]]]:
    """The chapter's example: 3 types of nodes in 2 clusters each; a hyperedge is 3 nodes of the same cluster."""
    nodes = {t: [f"{t}{c}{i}" for c in (0, 1) for i in range(per)] for t in "abc"}
    every = list(itertools.product(*nodes.values()))
    edges = [e for e in every if len({node[1] for node in e}) == 1]
    return edges, {node: node[0] for of in nodes.values() for node in of}, [e for e in every if e not in set(edges)]


def test_no_linear_function_of_a_tuple_separates_the_example():
    """Whatever vectors: W_a X_a is one number f_a(v) a node, and Σ f_a > l on hyperedges, < s <= l elsewhere fails.

    The chapter's proof prints Y_1^0 in its last line for Y_0^1. The linear program asks for f and a margin l - s of 1,
    to which any margin above 0 can be scaled. The proof by ranks: with signs, its four tuples' indicators sum to 0.
    """
    edges, types, others = clusters(per=1)
    names = sorted(types)

    def row(e):
        return [float(name in e) for name in names]

    above, below = [[*(-x for x in row(e)), 1.0] for e in edges], [[*row(e), -1.0] for e in others]
    program = linprog(
        np.zeros(len(names) + 1),
        A_ub=np.array(above + below),
        b_ub=np.array([-0.5] * len(above) + [-0.5] * len(below)),
        bounds=(None, None),
    )
    assert program.status == 2  # infeasible
    proof = [("a00", "b00", "c00"), ("a10", "b00", "c00"), ("a10", "b10", "c10"), ("a00", "b10", "c10")]
    signs = [1, -1, 1, -1]
    assert [e in edges for e in proof] == [True, False, True, False]
    assert not np.dot(signs, [row(e) for e in proof]).any()
    # and with products of two nodes' numbers allowed, the same program has a solution: the test can fail
    pairs = [[*row(e), *np.outer(row(e), row(e)).ravel()] for e in [*edges, *others]]
    sign = np.array([-1.0] * len(edges) + [1.0] * len(others))
    wider = sign[:, None] * np.array([[*p, -1.0] for p in pairs])
    assert (
        linprog(np.zeros(wider.shape[1]), A_ub=wider, b_ub=np.full(len(wider), -0.5), bounds=(None, None)).status == 0
    )


@pytest.mark.parametrize(("activation", "epochs"), [("tanh", 60), ("sigmoid", 300)])
def test_trained_it_separates_the_example(activation, epochs):
    edges, types, others = clusters()
    options = {"dim": 4, "epochs": epochs, "lr": 0.1, "activation": activation, "replaced": 2.0, "batch_size": 64}
    model = DHNE(**options, scale="column", hold_out=False).fit(Hypergraph.from_tuples(edges, types), progress=False)
    assert model.score(edges).min() > 0.8 > 0.2 > model.score(others).max()
