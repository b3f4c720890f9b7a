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


# ---------------------------------------------------------------- by the objective


def grown(seed: int = 0) -> tuple[Hypergraph, Hypergraph]:
    """Users, films and tags of two kinds, and later two users and a film that these are linked with."""
    rng = np.random.default_rng(seed)
    drawn = [(u, *x) for u in range(90) for x in rng.integers(0, 30, (8, 2)).tolist()]
    rows = [(f"u{u}", f"f{f}", f"t{t}") for u, f, t in drawn if (u + f + t) % 2]
    late = [
        ("new 1", "f0", "t0"),
        ("new 1", "f2", "t4"),
        ("u3", "new film", "t1"),
        ("u5", "new film", "t3"),
        ("new 2", "f1", "t1"),
    ]
    types = {x: {"u": "user", "f": "film", "t": "tag"}[x[0]] for row in rows for x in row}
    later = types | {"new 1": "user", "new 2": "user", "new film": "film"}
    named = {x: later[x] for row in late for x in row}
    return Hypergraph.from_tuples(rows, types), Hypergraph.from_tuples(late, named)


@pytest.mark.parametrize("options", [{}, {"products": 3, "activation": "sigmoid", "alpha": 0.3}])
def test_the_objective_of_new_nodes_is_the_naive_sum(options):
    import torch

    from netfold.models.dhne import scores

    fitted, later = grown()
    model = nf.DHNE(dim=4, epochs=3, **options).fit(fitted, progress=False)
    network = model.network_.double()
    at = model.embedding_.nodes.find(later.nodes)
    new = np.flatnonzero(at < 0)
    types = scores.type_codes_of(later, network.schema)[new]
    counts = scores.rows_over_known(later, new, at, len(model.embedding_))
    groups = scores.tuples_of_new(later, network, new, at)
    known = model.embedding_.vectors.astype(np.float64)
    x = torch.tensor(np.random.default_rng(1).uniform(0.1, 0.9, (len(new), 4)))
    terms = scores.NewNodes(network, known, groups, counts, types, per_positive=3, seed=7)
    terms._written = [(t, i, r.with_values(r.values.double())) for t, i, r in terms._written]
    rng = np.random.default_rng([7, 21])
    standing = [rng.choice(m, min(4, len(m)), replace=False) for m in network.places().members]
    place = {int(i): j for j, i in enumerate(new)}
    total, hyperedges = 0.0, {tuple(r) for r in later.kinds[0].rows.tolist()}
    form, order = network.schema.place(later.kinds[0], later.types)
    similarity, of_form = network.similarity(form), network.schema.forms[form].types

    def logit(vectors):
        return float(similarity.of([torch.as_tensor(v)[None] for v in vectors]).detach())

    for row in later.kinds[0].rows[:, order].tolist():
        (slot,) = (i for i, node in enumerate(row) if node in place)
        vectors = [x[place[n]] if n in place else known[at[n]] for n in row]
        total += np.logaddexp(0, -logit(vectors))
        others = [p for p in range(3) if p != slot]
        drawn = [(p, k) for p in others for k in standing[of_form[p]].tolist()]
        for p, k in drawn:
            node = model.embedding_.nodes[k]
            there = later.nodes.find([node])[0]
            other = [int(there) if i == p else n for i, n in enumerate(row)]
            if there >= 0 and tuple(np.array(other)[np.argsort(order)]) in hyperedges:
                continue
            total += 3 / len(drawn) * np.logaddexp(0, logit([known[k] if i == p else v for i, v in enumerate(vectors)]))
    for j in range(len(new)):
        coder = network.autoencoder(int(types[j]))
        written = coder.scaled(network.places().rows(counts[[j]], int(types[j])))
        for column, value in zip(written.indices, written.data, strict=True):
            out = 1 / (1 + np.exp(-float(x[j] @ coder.last.table.detach()[column] + coder.last.bias.detach()[column])))
            total += model.alpha * (out - float(value)) ** 2
    assert float(terms.objective(x).detach()) == pytest.approx(total, rel=1e-6)


def test_refined_nodes_have_a_lower_objective_and_do_not_depend_on_who_comes_with_them():
    import torch

    from netfold.models.dhne import scores

    fitted, later = grown()
    model = nf.DHNE(dim=8, epochs=10).fit(fitted, progress=False)
    encoded, refined = (model.transform(later, how=how) for how in ("encode", "refine"))
    at = model.embedding_.nodes.find(later.nodes)
    new = np.flatnonzero(at < 0)
    counts = scores.rows_over_known(later, new, at, len(model.embedding_))
    terms = scores.NewNodes(
        model.network_, model.embedding_.vectors, scores.tuples_of_new(later, model.network_, new, at), counts,
        scores.type_codes_of(later, model.network_.schema)[new], per_positive=5, seed=0,
    )  # fmt: skip
    before, after = (float(terms.objective(torch.tensor(x.vectors)).detach()) for x in (encoded, refined))
    assert after < before and (np.abs(refined.vectors) < 1).all()
    alone = [row for row in later.edges if "new 1" in row]
    types = {x: dict(zip(later.nodes, later.node_types, strict=True))[x] for row in alone for x in row}
    np.testing.assert_allclose(
        model.transform(Hypergraph.from_tuples(alone, types), how="refine")["new 1"], refined["new 1"], atol=1e-4
    )


def test_fit_chooses_by_hidden_tuples_and_takes_the_encoder_where_few_can_judge(tmp_path):
    fitted, later = grown()
    model = nf.DHNE(dim=8, epochs=10).fit(fitted, progress=False)
    chosen = model.placing_
    assert set(chosen.agreement) == {"encode", "refine"} and all(0 <= x <= 1 for x in chosen.agreement.values())
    assert (chosen.how == "refine") == (chosen.agreement["refine"] > chosen.agreement["encode"] - 0.01)
    default = model.transform(later).vectors
    assert default.tobytes() == model.transform(later, how=chosen.how).vectors.tobytes()
    model.save(tmp_path / "m")
    assert nf.load(tmp_path / "m").transform(later).vectors.tobytes() == default.tobytes()
    assert fit(triples()).placing_.how == "encode"
    with pytest.raises(nf.InputError, match="how='mean' is not a way in which DHNE .*; give encode or refine"):
        model.transform(later, how="mean")


def test_nodes_that_judge_are_placed_by_half_of_their_tuples_and_asked_about_the_others():
    from netfold.models.dhne.scores import half_hidden

    fitted, _ = grown()
    network = nf.DHNE(dim=4, epochs=1).fit(fitted, progress=False).network_
    seen, new, hidden = half_hidden(fitted, network, np.random.default_rng(0))
    (kind,), ((form, right, wrong),) = seen.kinds, hidden.groups
    _, order = network.schema.place(kind, seen.types)
    shown, asked = ({tuple(r) for r in rows.tolist()} for rows in (kind.rows[:, order], right))
    every = {tuple(r) for r in fitted.kinds[0].rows[:, order].tolist()}
    assert not shown & asked and shown | asked <= every and len(wrong) == len(right)
    assert all(sum(n in set(new.tolist()) for n in row) == 1 for row in shown | asked)
    assert ((wrong != right).sum(axis=1) <= 1).all() and (np.isin(wrong, new) == np.isin(right, new))[
        np.isin(right, new)
    ].all()
    vectors = np.random.default_rng(1).normal(size=(fitted.n_nodes, 4)).astype(np.float32)
    import torch

    score = [
        network.similarity(form).of([torch.tensor(vectors[c]) for c in x.T]).detach().numpy() for x in (right, wrong)
    ]
    share = np.mean([1.0 if a > b else 0.5 if a == b else 0.0 for a, b in zip(*score, strict=True)])
    assert hidden.told_apart(network, vectors, new, vectors[new]) == pytest.approx(share, abs=1e-9)


@pytest.mark.parametrize("refined, how", [(0.91, "refine"), (0.895, "refine"), (0.885, "encode")])
def test_the_encoder_is_taken_where_it_is_clearly_better(refined, how, monkeypatch):
    monkeypatch.setattr(nf.DHNE, "_judged", lambda *_: {"encode": 0.9, "refine": refined})
    assert nf.DHNE(dim=4, epochs=1).fit(triples(), progress=False).placing_.how == how
