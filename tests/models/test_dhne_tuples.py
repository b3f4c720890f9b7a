"""Tuples that DHNE scores and completes: in whatever order where nodes are alike, by role where they are not."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import netfold as nf
from dhne_models import MORE, fit, learned, papers, triples
from netfold.data.hypergraph import Hypergraph
from netfold.models.dhne.tuples import Schema
from zoo_hypergraphs import facts

# -------------------------------------------------------------------- order


def test_the_order_of_edges_does_not_matter():
    hypergraph = triples()
    rng = np.random.default_rng(0)
    edges = [hypergraph.edges[i] for i in rng.permutation(hypergraph.n_edges)]
    edges = [tuple(edge[i] for i in rng.permutation(3)) for edge in edges]  # nor that of the nodes in an edge
    again = Hypergraph(edges, hypergraph.nodes, hypergraph.node_types)
    assert fit(hypergraph).embedding_.vectors.tobytes() == fit(again).embedding_.vectors.tobytes()


def test_where_nodes_are_alike_the_order_in_a_tuple_changes_nothing():
    hypergraph = papers()
    model = fit(hypergraph)
    for edge in hypergraph.edges[::9]:
        scores = model.score([list(turned) for turned in itertools.permutations(edge)])
        np.testing.assert_allclose(scores, scores[0], rtol=1e-5)
    rng = np.random.default_rng(0)
    turned = [[edge[i] for i in rng.permutation(len(edge))] for edge in hypergraph.edges]
    again = fit(Hypergraph(turned, hypergraph.nodes))
    assert again.embedding_.vectors.tobytes() == model.embedding_.vectors.tobytes()


def test_head_and_tail_are_not_alike():
    model = fit(facts(), **MORE)
    edges = facts().tuples(facts().kinds[0])
    there, back = model.score(edges), model.score([(t, r, h) for h, r, t in edges])
    assert there.mean() > back.mean() + 0.2


def test_types_tell_the_kind_in_whatever_order():
    model, edges = fit(triples()), list(triples().edges)
    turned = [(tag, user, film) for user, film, tag in edges]
    np.testing.assert_allclose(model.score(edges), model.score(turned), rtol=1e-6)
    assert len(model.score([])) == 0


def test_kinds_that_list_their_roles_in_another_order_are_one():
    rows = np.array([[0, 3], [1, 4]])
    kinds = [(("user", "film"), ("user", "film"), rows), (("film", "user"), ("film", "user"), np.array([[5, 2]]))]
    hypergraph = Hypergraph.from_kinds(kinds, nodes=range(6))
    assert len(Schema.of(hypergraph).forms) == 1
    (found,) = fit(hypergraph).network_.places().tuples(hypergraph)
    assert sorted(map(sorted, found.tolist())) == [[0, 0], [1, 1], [2, 2]]


def test_kinds_of_the_same_types_need_to_be_named():
    rows = np.array([[0, 4], [1, 5], [2, 6], [3, 4]])
    kinds = [
        (("buyer", "thing"), ("person", "thing"), rows),
        (("seller", "thing"), ("person", "thing"), rows[::-1, :] * [1, 1]),
    ]
    model = fit(Hypergraph.from_kinds(kinds, nodes=range(7)))
    with pytest.raises(nf.InputError, match=r"\(buyer, thing\) or \(seller, thing\); say which with kind="):
        model.score([(0, 4)])
    bought, sold = (model.score([(0, 4)], kind=(role, "thing"))[0] for role in ("buyer", "seller"))
    assert bought != sold
    assert model.complete((0, None), kind=("thing", "seller"))[0][0] in (4, 5, 6)
    with pytest.raises(nf.InputError, match="not one that was learned"):
        model.score([(0, 4)], kind=("lender", "thing"))


# -------------------------------------------------------------------- scores and completions


def test_a_score_is_a_probability_and_known_tuples_have_high_ones():
    model, known = learned(), set(triples().edges)
    names = [
        [x for x, t in zip(triples().nodes, triples().node_types) if t == role] for role in ("user", "film", "tag")
    ]
    others = [e for e in itertools.product(*names) if e not in known]
    there, not_there = model.score(list(known)), model.score(others)
    assert there.dtype == np.float64 and ((there > 0) & (there < 1)).all()
    assert there.mean() > 0.6 > 0.3 > not_there.mean()


def test_blocks_do_not_matter(monkeypatch):
    from netfold.models.dhne import scores

    model, edges = fit(triples()), triples().edges
    whole, best = model.score(edges), model.complete(("user 1", None, ("tag", 2)), k=8)
    monkeypatch.setattr(scores, "PIECE", {"cpu": 50})
    np.testing.assert_allclose(model.score(edges), whole, rtol=1e-6)
    assert [x for x, _ in model.complete(("user 1", None, ("tag", 2)), k=8)] == [x for x, _ in best]


def test_completions_are_the_scores_of_the_completed_tuples_in_order():
    model = fit(triples())
    found = model.complete(("user 1", None, ("tag", 2)), k=100)
    assert sorted(node for node, _ in found) == list(range(8))
    scores = model.score([("user 1", node, ("tag", 2)) for node, _ in found])
    np.testing.assert_allclose([s for _, s in found], scores, rtol=1e-5)
    assert [s for _, s in found] == sorted((s for _, s in found), reverse=True)
    assert found[:3] == model.complete((("tag", 2), "user 1", None), k=3)


def test_products_score_and_complete_as_they_are_written(tmp_path):
    """S = sigmoid(w · L + v · q + c) with q = Σ_{a<b} V_a X_a ⊙ V_b X_b, from the vectors, pair by pair."""
    model, hypergraph = fit(triples(), products=3), triples()
    head, groups = model.network_.similarity(0), model.network_.schema.forms[0].groups
    types = model.network_.schema.types
    for edge in hypergraph.edges[:5]:
        edge = sorted(edge, key=lambda node: types.index(dict(zip(hypergraph.nodes, hypergraph.node_types))[node]))
        x = [model.embedding_[node].astype(float) for node in edge]
        weights, factors = ([p.detach().double().numpy() for p in part] for part in (head.weights, head.factors))
        layer = np.tanh(sum(v @ weights[g] for v, g in zip(x, groups)) + head.bias.detach().numpy())
        z = [v @ factors[g] for v, g in zip(x, groups)]
        q = sum(z[a] * z[b] for a, b in itertools.combinations(range(3), 2))
        logit = layer @ head.last.detach().numpy() + q @ head.mix.detach().numpy() + head.last_bias.detach().numpy()
        np.testing.assert_allclose(model.score([edge]), 1 / (1 + np.exp(-logit)), rtol=1e-4)
    found = model.complete(("user 1", None, ("tag", 2)), k=3)
    np.testing.assert_allclose([s for _, s in found], model.score([("user 1", x, ("tag", 2)) for x, _ in found]), 1e-5)
    model.save(tmp_path / "m")
    np.testing.assert_array_equal(nf.load(tmp_path / "m").score(hypergraph.edges), model.score(hypergraph.edges))


def test_products_do_not_go_by_the_order_of_positions_that_are_alike():
    model, hypergraph = fit(papers(), products=4), papers()
    np.testing.assert_allclose(
        model.score(hypergraph.edges), model.score([edge[::-1] for edge in hypergraph.edges]), rtol=1e-5
    )


def test_completions_can_leave_out_what_is_known():
    hypergraph = triples()
    model = fit(hypergraph)
    user, _, tag = hypergraph.edges[0]
    taken = {film for u, film, t in hypergraph.edges if (u, t) == (user, tag)}
    found = {node for node, _ in model.complete((user, None, tag), k=100, exclude=hypergraph)}
    assert taken and found == set(range(8)) - taken
    authors = papers()
    a, b = authors.edges[0]
    left = {x for x, _ in fit(authors).complete((None, a), k=100, exclude=authors)}
    met = {x for edge in authors.edges if len(edge) == 2 and a in edge for x in edge}
    assert left == set(authors.nodes) - met and b not in left


def test_completions_of_ordered_kinds_go_by_role():
    model, hypergraph = fit(facts()), facts()
    head, relation, tail = hypergraph.tuples(hypergraph.kinds[0])[0]
    found = [x for x, _ in model.complete((None, relation, tail), k=100, exclude=hypergraph)]
    assert head not in found and tail not in found and set(found) <= set(range(10))
    assert {x for x, _ in model.complete((head, None, tail), k=9)} == {10, 11, 12}


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda m: m.score([("user 1", 2, ("tag", 9))]), "tag"),
        (lambda m: m.score([("user 1", 2)]), r"joins \(user, film\), and no such kind was learned"),
        (lambda m: m.score([("user 1", "user 2", ("tag", 1))]), r"joins \(user, user, tag\)"),
        (lambda m: m.score([("user 1", "user 1", ("tag", 1))]), "names a node twice"),
        (lambda m: m.score(["user 1"]), "is not a tuple of at least 2 nodes"),
        (lambda m: m.complete(("user 1", 2, ("tag", 1))), "0 open positions"),
        (lambda m: m.complete(("user 1", None, None)), "2 open positions"),
        (lambda m: m.complete(("user 1", "user 2", None)), r"joins \(user, user, anything\)"),
        (lambda m: m.complete(("user 1", 2, None), k=0), "k=0"),
    ],
)
def test_what_cannot_be_scored_is_refused_in_one_sentence(call, message):
    with pytest.raises(nf.InputError, match=message) as error:
        call(fit(triples(), epochs=1))
    assert "\n" not in str(error.value)
