"""DHNE as people use it: kinds and types, scores, completions, new nodes, what it learns and what it refuses."""

from __future__ import annotations

import functools
import itertools

import numpy as np
import pytest
import torch
from zoo_hypergraphs import facts

import netfold as nf
from netfold.datasets import planted_triples
from netfold.evaluate import hyperedges
from netfold.hypergraph import Hypergraph
from netfold.models.dhne import DHNE
from netfold.models.dhne.schema import Schema
from netfold.options import options

FAST = {"dim": 8, "epochs": 4, "batch_size": 32}
MORE = {"dim": 16, "epochs": 100, "lr": 0.02, "batch_size": 16, "hold_out": False}
"""Until what was given is known by heart."""


def triples(seed: int = 0) -> Hypergraph:
    """Users, films and tags with labels of three sorts, a film that nobody saw, an edge given twice."""
    rng = np.random.default_rng(seed)
    users, films, tags = [f"user {i}" for i in range(9)], list(range(8)), [("tag", i) for i in range(5)]
    every = list(itertools.product(users, films[:-1], tags))
    edges = [every[i] for i in rng.choice(len(every), 60, replace=False)]
    types = ["user"] * 9 + ["film"] * 8 + ["tag"] * 5
    return Hypergraph([*edges, edges[0]], [*users, *films, *tags], types)


def papers() -> Hypergraph:
    """Authors together in twos, threes and fours: one type, in whatever order."""
    rng = np.random.default_rng(1)
    names = [f"ß{i}" for i in range(20)]
    sizes = [2] * 20 + [3] * 20 + [4] * 15
    return Hypergraph([[names[i] for i in rng.choice(20, k, replace=False)] for k in sizes], names)


def pairs() -> Hypergraph:
    """A graph, said as a hypergraph."""
    return Hypergraph.from_tuples([(i, (i * 7 + 3) % 25) for i in range(25) if i != (i * 7 + 3) % 25])


ZOO = {"triples": triples, "papers": papers, "facts": facts, "pairs": pairs}
zoo = pytest.mark.parametrize("kind", sorted(ZOO))


def fit(hypergraph, **changed) -> DHNE:
    return DHNE(**FAST | changed).fit(hypergraph, progress=False)


@functools.cache
def learned() -> DHNE:
    return fit(triples(), **MORE)


def split(hypergraph: Hypergraph, share: float, seed: int = 0) -> tuple[Hypergraph, Hypergraph]:
    (kind,) = hypergraph.kinds
    order = np.random.default_rng(seed).permutation(len(kind))
    parts = np.split(kind.rows[order], [int(share * len(kind))])
    made = [
        Hypergraph.from_kinds(
            [(kind.roles, kind.types, rows)], nodes=hypergraph.nodes, node_types=hypergraph.node_types
        )
        for rows in parts
    ]
    return made[1], made[0]


# -------------------------------------------------------------------- what every model promises


@zoo
def test_shapes_labels_and_finiteness(kind):
    hypergraph = ZOO[kind]()
    emb = fit(hypergraph).embedding_
    assert emb.vectors.shape == (hypergraph.n_nodes, 8) and emb.vectors.dtype == np.float32
    assert np.isfinite(emb.vectors).all() and emb.nodes == hypergraph.nodes


@zoo
def test_same_seed_same_bits_other_seed_other_bits(kind):
    hypergraph = ZOO[kind]()
    one, two, other = (fit(hypergraph, seed=s, dropout=0.2).embedding_.vectors for s in (1, 1, 2))
    assert one.tobytes() == two.tobytes() != other.tobytes()


def test_the_global_random_state_is_untouched():
    state, numbers = torch.get_rng_state(), np.random.get_state()[1].copy()
    fit(triples(), dropout=0.3)
    assert torch.equal(state, torch.get_rng_state()) and np.array_equal(numbers, np.random.get_state()[1])


@zoo
def test_the_objective_falls_and_is_the_sum_of_its_terms(kind):
    history = fit(ZOO[kind](), epochs=20, lr=0.02, nu=1e-4, hold_out=False).history_
    assert len(history) == 20 and history[-1]["objective"] < 0.9 * history[0]["objective"]
    terms = {"first_order", "second_order", "regularization"}
    assert terms < set(history[0])
    for record in history:
        assert record["objective"] == pytest.approx(sum(record[t] for t in terms))


@zoo
def test_saved_and_loaded_it_is_the_same(kind, tmp_path):
    hypergraph = ZOO[kind]()
    model = fit(hypergraph)
    model.save(tmp_path / "m.netfold")
    again = nf.load(tmp_path / "m.netfold")
    assert type(again) is DHNE and again.get_params() == model.get_params()
    assert again.embedding_.vectors.tobytes() == model.embedding_.vectors.tobytes()
    assert again.history_ == model.history_
    edges = [e for k in hypergraph.kinds for e in hypergraph.tuples(k) if k is hypergraph.kinds[0]]
    names = {"kind": hypergraph.kinds[0].roles}
    assert again.score(edges, **names).tobytes() == model.score(edges, **names).tobytes()


@pytest.mark.parametrize(
    "break_",
    [
        lambda f: f.update(counts=[9, 8, 4]),
        lambda f: f.update(types=["user", "film", "film"]),
        lambda f: f.update(kinds=[]),
        lambda f: f["kinds"][0].update(types=[0, 1, 7]),
        lambda f: f["kinds"][0].update(roles=["user"]),
        lambda f: f.pop("types"),
        lambda f: f.update(counts=["9", 8, 5]),
    ],
)
def test_a_damaged_description_of_the_hypergraph_is_refused(break_, tmp_path):
    import json

    fit(triples()).save(tmp_path / "m.netfold")
    path = tmp_path / "m.netfold" / "manifest.json"
    manifest = json.loads(path.read_text())
    break_(manifest["graph"])
    path.write_text(json.dumps(manifest))
    with pytest.raises(nf.InputError, match="damaged"):
        nf.load(tmp_path / "m.netfold")


@pytest.mark.parametrize("code", [0, -1, 3])
def test_types_that_contradict_their_counts_are_refused(code, tmp_path):
    model = fit(triples())
    codes = model.network_.type_codes
    codes[torch.argmax((codes == 1).int())] = code  # a node of another type, or of none
    model.save(tmp_path / "m.netfold")
    with pytest.raises(nf.InputError, match="damaged: its parts do not fit together .its types have .* nodes"):
        nf.load(tmp_path / "m.netfold")


def test_a_run_that_was_stopped_goes_on_to_the_same_bits(tmp_path):
    hypergraph = triples()
    options = {"epochs": 8, "batch_size": 20, "dropout": 0.2}
    whole = fit(hypergraph, **options)
    seen = []
    model = DHNE(**FAST | options)
    model.fit(
        hypergraph, progress=False, checkpoint=tmp_path / "c", on_epoch=lambda r: seen.append(r) or len(seen) == 3
    )
    assert len(model.history_) == 3
    model.fit(hypergraph, progress=False, checkpoint=tmp_path / "c")
    assert model.embedding_.vectors.tobytes() == whole.embedding_.vectors.tobytes()


def test_hyper_parameters_and_input_are_not_changed_by_fitting():
    model, hypergraph = DHNE(**FAST), triples()
    before = model.get_params(), hypergraph.fingerprint
    model.fit(hypergraph, progress=False)
    assert (model.get_params(), triples().fingerprint) == before
    assert "_kept" not in vars(model)


def test_every_option_is_explained_and_set_here():
    from pathlib import Path

    text = "".join((Path(__file__).parent / name).read_text() for name in ("test_dhne.py", "test_dhne_exact.py"))
    for o in options(DHNE):
        assert len(o.help) > 10
        if o.name != "device":
            assert f"{o.name}=" in text or f'"{o.name}"' in text, o.name


@pytest.mark.parametrize(
    "changed",
    [
        {"hidden": 5},
        {"activation": "sigmoid"},
        {"alpha": 0.0},
        {"negatives": 1},
        {"noise": "degree"},
        {"replaced": 2.0},
        {"scale": "column"},
        {"scale": "binary"},
        {"row_damping": 0.0},
        {"hold_out": False},
        {"dropout": 0.5},
        {"optimizer": "sgd", "lr": 1e-3},
        {"schedule": "linear"},
        {"batch_size": 7},
        {"nu": 0.5},
    ],
    ids=str,
)
def test_every_option_changes_what_is_learned(changed):
    plain, other = fit(triples(), epochs=4), fit(triples(), epochs=4, **changed)
    edges = triples().edges
    assert np.isfinite(other.embedding_.vectors).all()
    assert not np.allclose(plain.score(edges), other.score(edges))


def test_alpha_weighs_the_reconstruction():
    one, two = (fit(triples(), epochs=1, lr=1e-9, alpha=x).history_[0] for x in (0.5, 1.0))
    assert two["second_order"] == pytest.approx(2 * one["second_order"], rel=1e-4)
    assert two["first_order"] == pytest.approx(one["first_order"], rel=1e-4)


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
    assert sorted(label for label, _ in found) == list(range(8))
    scores = model.score([("user 1", label, ("tag", 2)) for label, _ in found])
    np.testing.assert_allclose([s for _, s in found], scores, rtol=1e-5)
    assert [s for _, s in found] == sorted((s for _, s in found), reverse=True)
    assert found[:3] == model.complete((("tag", 2), "user 1", None), k=3)


def test_products_score_and_complete_as_they_are_written(tmp_path):
    """S = sigmoid(w · L + v · q + c) with q = Σ_{a<b} V_a X_a ⊙ V_b X_b, from the vectors, pair by pair."""
    model, hypergraph = fit(triples(), products=3), triples()
    head, groups = model.network_.similarity(0), model.network_.schema.forms[0].groups
    types = model.network_.schema.types
    for edge in hypergraph.edges[:5]:
        edge = sorted(edge, key=lambda label: types.index(dict(zip(hypergraph.nodes, hypergraph.node_types))[label]))
        x = [model.embedding_[label].astype(float) for label in edge]
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
    found = {label for label, _ in model.complete((user, None, tag), k=100, exclude=hypergraph)}
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
        (lambda m: m.score(["user 1"]), "no tuple"),
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


# -------------------------------------------------------------------- new nodes


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


# -------------------------------------------------------------------- learning


def test_it_learns_triples_that_no_pair_gives_away():
    """Parity of three hidden groups: pairs say nothing, DHNE tells four out of five triples it never saw."""
    known, test = split(planted_triples(30, 30, 30, edges=5000), 0.2)
    model = fit(known, dim=32, epochs=25, batch_size=64, schedule="constant", scale="column", hold_out=False)
    found = hyperedges(model, test, known=known)
    assert abs(found.baselines["pair co-occurrence"]["AUC"] - 0.5) < 0.1
    assert found.figures["AUC"] > 0.75


def test_what_is_learned_beats_a_random_start():
    known = triples()
    models = fit(known, epochs=0), learned()
    found = [hyperedges(m, known, known=known, duplicates="keep", baselines=False).figures["AUC"] for m in models]
    assert found[0] < 0.65 < 0.95 < found[1]


# -------------------------------------------------------------------- what it refuses, and the smallest there is


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (nf.Graph.from_edges([("a", "b")]), "DHNE reads a Hypergraph, not a Graph"),
        (17, "not a int"),
        ("edges.csv", "read_hyperedges"),
        (Hypergraph([], ["a", "b"]), "no hyperedges"),
        ([("a",)], "fewer than two"),
    ],
)
def test_what_cannot_be_embedded_is_refused_in_one_sentence(bad, message):
    with pytest.raises(nf.InputError, match=message):
        fit(bad)


@pytest.mark.parametrize(
    "bad", [{"noise": "zipf"}, {"replaced": 0.5}, {"scale": "row"}, {"dropout": 1.0}, {"negatives": -1}, {"hidden": 0}]
)
def test_options_that_are_not_allowed_are_refused(bad):
    (name,) = bad
    with pytest.raises(nf.InputError, match=name):
        DHNE(**bad)


def test_the_smallest_hypergraphs_work_with_the_defaults():
    model = DHNE(epochs=3).fit([("a", "b")], progress=False)  # every tuple is a hyperedge: there are no others
    assert np.isfinite(model.embedding_.vectors).all() and model.embedding_.dim == 64
    assert 0 < model.score([("b", "a")])[0] < 1
    many = DHNE(epochs=2).fit([tuple(range(12)), tuple(range(5, 17))], progress=False)
    assert np.isfinite(many.score([tuple(range(1, 13))])).all()


def test_without_negatives_it_trains_all_the_same():
    assert np.isfinite(fit(triples(), negatives=0).embedding_.vectors).all()


def test_a_device_that_is_not_there_is_refused():
    if torch.cuda.is_available():
        pytest.skip("this machine has CUDA")
    with pytest.raises(nf.InputError, match="cuda"):
        fit(triples(), device="cuda")
