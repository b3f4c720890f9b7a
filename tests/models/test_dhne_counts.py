"""DHNE's similarity with counts: what it reads of a tuple, that a hyperedge does not see itself, and what is kept."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
import torch

import netfold as nf
from dhne_models import FAST, ZOO, fit, papers, triples, zoo
from netfold.data.hypergraph import Hypergraph
from netfold.learn.progress import Progress
from netfold.models.dhne import DHNE


def naive_columns(hypergraph: Hypergraph, nodes: list, groups: tuple[int, ...], times: int = 0) -> np.ndarray:
    """Logarithms of counts of one tuple and products of two of them, by a loop over all hyperedges."""
    edges = [set(edge) for edge in hypergraph.edges]
    pairs: dict[tuple[int, int], float] = {}
    for a, b in itertools.combinations(range(len(nodes)), 2):
        together = sum({nodes[a], nodes[b]} <= edge for edge in edges) - times
        key = tuple(sorted((groups[a], groups[b])))
        pairs[key] = pairs.get(key, 0.0) + math.log1p(max(together, 0))
    degrees = [0.0] * (max(groups) + 1)
    for a, node in enumerate(nodes):
        degrees[groups[a]] += math.log1p(max(sum(node in edge for edge in edges) - times, 0))
    first = [pairs[key] for key in sorted(pairs)] + degrees
    return np.array(first + [x * y for x, y in itertools.combinations_with_replacement(first, 2)])


@pytest.mark.parametrize("kind", ["triples", "papers", "facts"])
def test_columns_are_those_of_a_loop_over_hyperedges(kind):
    hypergraph = ZOO[kind]()
    network = fit(hypergraph, counts=True, epochs=0).network_
    for kind_of_tuples in hypergraph.kinds:
        form, order = network.schema.place(kind_of_tuples, hypergraph.types)
        rows = kind_of_tuples.rows[:, order][:10]
        for times in (None, torch.ones(len(rows))):
            columns = network.count_columns(form, torch.from_numpy(rows), times).numpy()
            groups = network.schema.forms[form].groups
            for row, found in zip(rows, columns, strict=True):
                nodes = [hypergraph.nodes[int(i)] for i in row]
                wanted = naive_columns(hypergraph, nodes, groups, 0 if times is None else 1)
                assert np.allclose(found, wanted, rtol=1e-5, atol=1e-6)


@zoo
def test_training_begins_as_it_does_without_counts(kind):
    hypergraph = ZOO[kind]()
    with_counts, without = (fit(hypergraph, counts=c, epochs=0) for c in (True, False))
    assert np.array_equal(with_counts.embedding_.vectors, without.embedding_.vectors)
    assert np.allclose(with_counts.score(hypergraph.edges[:9]), without.score(hypergraph.edges[:9]), rtol=1e-5)


def test_a_hyperedge_is_not_counted_for_itself_in_training():
    """The columns of a step's hyperedges are those of the hypergraph without them, one given twice without both."""
    hypergraph = triples()
    model = DHNE(**FAST | {"counts": True, "epochs": 1})
    data = model._read(hypergraph)
    problem = model._problem(data, torch.device("cpu"), Progress.silent())
    times = {tuple(sorted(map(str, edge))): 0 for edge in hypergraph.edges}
    for edge in hypergraph.edges:
        times[tuple(sorted(map(str, edge)))] += 1
    groups = problem.network.schema.forms[0].groups
    wanted = sorted(
        tuple(np.round(naive_columns(hypergraph, _in_form(problem, hypergraph, edge), groups, n), 3))
        for edge in hypergraph.edges
        for n in [times[tuple(sorted(map(str, edge)))]]
    )
    found = sorted(
        tuple(np.round(row, 3))
        for batch in problem.batches(0)
        for piece in batch.forms[0]
        for row in piece.columns[piece.truth > 0].numpy().astype(float)
    )
    assert np.allclose(found, wanted, atol=2e-3)


def _in_form(problem, hypergraph, edge) -> list:
    order = problem.network.schema.place(hypergraph.kinds[0], hypergraph.types)[1]
    by_type = {hypergraph.types[hypergraph.type_codes[hypergraph.nodes.positions([x])[0]]]: x for x in edge}
    return [by_type[hypergraph.kinds[0].types[i]] for i in order]


@zoo
def test_saved_and_loaded_it_scores_the_same(kind, tmp_path):
    hypergraph = ZOO[kind]()
    model = fit(hypergraph, counts=True)
    model.save(tmp_path / "m.netfold")
    again = nf.load(tmp_path / "m.netfold")
    assert np.array_equal(again.score(hypergraph.edges), model.score(hypergraph.edges))
    assert not np.allclose(model.score(hypergraph.edges), fit(hypergraph).score(hypergraph.edges))


def test_the_order_of_alike_nodes_changes_nothing_and_completions_are_scores():
    hypergraph = papers()
    model = fit(hypergraph, counts=True)
    edges = [tuple(edge) for edge in hypergraph.edges if len(edge) == 3][:5]
    assert np.allclose(model.score(edges), model.score([edge[::-1] for edge in edges]), rtol=1e-6)
    for node, score in model.complete((edges[0][0], edges[0][1], None), k=4):
        assert score == pytest.approx(model.score([(edges[0][0], edges[0][1], node)])[0], rel=1e-5)


def test_new_nodes_are_counted_in_their_own_hyperedges():
    known = triples()
    model = fit(known, counts=True, epochs=20)
    more = [("new", 0, ("tag", 1)), ("new", 1, ("tag", 1)), ("user 1", 0, ("tag", 1))]
    types = {node: known.types[t] for node, t in zip(known.nodes, known.type_codes, strict=True)} | {"new": "user"}
    later = Hypergraph.from_tuples(more, types)
    scorer = model._scorer(later)
    joint = Hypergraph.from_tuples([*known.edges, *more[:2]], types)
    at = [scorer._find([a])[0] for a in ("new", 0, ("tag", 1), 1)]
    for a, b in itertools.combinations(range(4), 2):
        names = ["new", 0, ("tag", 1), 1]
        pair = {names[a], names[b]}
        edges = joint.edges if "new" in pair else known.edges
        together = scorer._counts.of(torch.tensor([at[a]]), torch.tensor([at[b]]))
        assert float(together) == sum(pair <= set(edge) for edge in edges)
    assert 0 < model.score([more[0]], later=later)[0] < 1


def test_it_stops_where_the_objective_stands_still():
    model = fit(triples(), epochs=200, lr=1e-7, tolerance=0.5, patience=3)
    assert len(model.history_) == 4
    assert len(fit(triples(), epochs=30).history_) == 30
