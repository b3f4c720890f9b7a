"""Nodes that come after DHNE was fitted: placed as known ones are, scored, or named where they cannot be."""

from __future__ import annotations

import numpy as np
import pytest

import netfold as nf
from dhne_models import ZOO, fit, triples, zoo
from netfold.data.hypergraph import Hypergraph


@zoo
@pytest.mark.parametrize("scale", ["column", "log", "binary"])
def test_a_new_node_in_tuples_as_a_known_one_gets_its_vector(kind, scale):
    hypergraph = ZOO[kind]()
    model = fit(hypergraph, scale=scale)
    like = 1
    kinds = []
    for k in hypergraph.kinds:
        rows = k.rows[(k.rows == like).any(axis=1)]
        kinds.append((k.roles, k.types, np.concatenate([k.rows, np.where(rows == like, hypergraph.n_nodes, rows)])))
    types = [*hypergraph.node_types, hypergraph.node_types[like]]
    later = Hypergraph.from_kinds(kinds, nodes=[*hypergraph.nodes, "new"], node_types=types)
    new = model.transform(later)
    assert list(new.nodes) == ["new"]
    np.testing.assert_allclose(new["new"], model.embedding_.vectors[like], rtol=1e-4, atol=1e-5)


def test_new_nodes_are_scored_and_complete_tuples():
    hypergraph = triples()
    model = fit(hypergraph)
    edges = [(("new", film, tag) if user == "user 1" else None) for user, film, tag in hypergraph.edges]
    types = dict(zip(hypergraph.nodes, hypergraph.node_types, strict=True)) | {"new": "user"}
    later = Hypergraph.from_tuples([e for e in edges if e], types)
    asked = [("new", film, ("tag", 0)) for film in range(8)]
    as_known = [("user 1", film, ("tag", 0)) for film in range(8)]
    np.testing.assert_allclose(model.score(asked, later=later), model.score(as_known), rtol=1e-4)
    with pytest.raises(nf.InputError, match="new"):
        model.score(asked)
    users = [x for x, _ in model.complete((None, 2, ("tag", 0)), k=100, later=later)]
    assert "new" in users and len(users) == 10


def test_transforming_without_new_nodes_gives_an_empty_embedding():
    assert len(fit(triples()).transform(triples())) == 0


def test_new_nodes_that_cannot_be_placed_are_named():
    model = fit(triples())
    types = {"x": "user", "y": "film", ("tag", 7): "tag", 2: "film", "user 1": "user", ("tag", 1): "tag"}
    with pytest.raises(nf.InputError, match="'x', 'y', .* in no hyperedge with a known node"):
        model.transform(Hypergraph.from_tuples([("x", "y", ("tag", 7)), ("user 1", 2, ("tag", 1))], types))
    with pytest.raises(nf.InputError, match="type 'actor' were not learned"):
        model.transform(Hypergraph.from_tuples([("x", 2)], {"x": "actor", 2: "film"}))
    with pytest.raises(nf.InputError, match="2 is a user here and was a film"):
        model.transform(Hypergraph.from_tuples([("x", 2)], {"x": "film", 2: "user"}))


def test_a_film_that_nobody_saw_is_read_by_no_new_node():
    """Its column had no count to be scaled by: a new node that has only that one cannot be placed."""
    model = fit(triples())
    types = {"x": "user", 7: "film", ("tag", 9): "tag"}
    with pytest.raises(nf.InputError, match="in no hyperedge with a known node"):
        model.transform(Hypergraph.from_tuples([("x", 7, ("tag", 9))], types))
