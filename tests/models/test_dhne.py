"""DHNE as people use it: what every model promises, its options, what it learns and what it refuses."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch

import netfold as nf
from dhne_models import FAST, ZOO, fit, learned, triples, zoo
from netfold.data.hypergraph import Hypergraph
from netfold.embedder.options import options
from netfold.evaluate import hyperedges
from netfold.models.dhne import DHNE
from netfold.studies.datasets import planted_triples

# -------------------------------------------------------------------- what every model promises


@zoo
def test_shapes_nodes_and_finiteness(kind):
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
    assert all(name.endswith("_") for name in vars(model).keys() - model.get_params().keys())


# -------------------------------------------------------------------- options


def test_every_option_is_explained_and_set_here():
    text = "".join(path.read_text() for path in Path(__file__).parent.glob("*dhne*.py"))
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
        {"n_negatives": 1},
        {"negatives": "degree"},
        {"replaced": 2.0},
        {"scale": "column"},
        {"scale": "binary"},
        {"row_damping": 0.0},
        {"hold_out": False},
        {"repeated": "once"},
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


@zoo
def test_once_is_a_fit_to_each_hyperedge_once(kind, tmp_path):
    """Copies, in another order where that has no meaning, change nothing: not to the bit."""
    plain = ZOO[kind]()
    again, others = [], []
    for of_kind in plain.kinds:
        alike = not of_kind.ordered and len(set(of_kind.types)) == 1
        first = {
            tuple(sorted(row)) if alike else tuple(row): i
            for i, row in reversed(list(enumerate(of_kind.rows.tolist())))
        }
        rows = of_kind.rows[sorted(first.values())]
        again.append((of_kind.roles, of_kind.types, rows))
        others.append(
            (of_kind.roles, of_kind.types, np.concatenate([rows, rows[::2], rows[:3, ::-1] if alike else rows[:3]]))
        )
    parts = {"nodes": plain.nodes, "node_types": plain.node_types}
    few, many = (Hypergraph.from_kinds(kinds, **parts) for kinds in (again, others))
    one, other = fit(few, counts=True), fit(many, counts=True, repeated="once")
    assert np.array_equal(one.embedding_.vectors, other.embedding_.vectors)
    assert np.array_equal(one.score(few.edges), other.score(few.edges))
    assert not np.array_equal(one.score(few.edges), fit(many, counts=True).score(few.edges))
    other.save(tmp_path / "m.netfold")
    assert nf.load(tmp_path / "m.netfold").repeated == "once"


@pytest.mark.parametrize(("few", "wanted"), [(62, (120, 16, 0.3, "binary", 0.003)), (61, (20, 64, 10.0, "log", 0.01))])
def test_what_is_none_is_by_the_number_of_hyperedges(few, wanted, monkeypatch, tmp_path):
    monkeypatch.setattr("netfold.models.dhne._FEW", few)
    names, whole = ("epochs", "hidden", "nu", "scale", "lr"), triples()  # which has 61
    assert all(getattr(DHNE(), name) is None for name in names)
    written = DHNE(dim=8).resolved(whole)
    assert tuple(getattr(written, name) for name in names) == wanted
    assert written.get_params() | dict.fromkeys(names) == DHNE(dim=8).get_params()
    assert DHNE()._epochs(DHNE()._read(whole)) == wanted[0]
    model = DHNE(dim=8, epochs=2).fit(whole, progress=False)
    same = written.set_params(epochs=2).fit(whole, progress=False)
    assert len(model.history_) == 2 and np.array_equal(model.embedding_.vectors, same.embedding_.vectors)
    assert DHNE(nu=1.0, epochs=2).resolved(whole).nu == 1.0, "what was set stays"
    model.save(tmp_path / "m.netfold")
    again = nf.load(tmp_path / "m.netfold")
    assert again.nu is None and np.array_equal(again.score(whole.edges), model.score(whole.edges))


def test_a_file_from_before_defaults_were_by_size_is_read_as_it_was(tmp_path):
    model = fit(triples(), hidden=0)  # None meant the sum of the widths
    object.__setattr__(model, "hidden", None)
    del model.graph_facts_["n_hyperedges"]
    model.save(tmp_path / "m.netfold")
    again = nf.load(tmp_path / "m.netfold")
    assert again.hidden is None and again.network_.similarity(0).width == 24
    assert np.array_equal(again.score(triples().edges), model.score(triples().edges))


def test_alpha_weighs_the_reconstruction():
    one, two = (fit(triples(), epochs=1, lr=1e-9, alpha=x).history_[0] for x in (0.5, 1.0))
    assert two["second_order"] == pytest.approx(2 * one["second_order"], rel=1e-4)
    assert two["first_order"] == pytest.approx(one["first_order"], rel=1e-4)


# -------------------------------------------------------------------- learning


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
        (17, "not an int"),
        ("edges.csv", "there is no such file"),
        (Hypergraph([], ["a", "b"]), "no hyperedges"),
        ([("a",)], "fewer than two"),
    ],
)
def test_what_cannot_be_embedded_is_refused_in_one_sentence(bad, message):
    with pytest.raises(nf.InputError, match=message):
        fit(bad)


@pytest.mark.parametrize(
    "bad",
    [{"negatives": "zipf"}, {"replaced": 0.5}, {"scale": "row"}, {"dropout": 1.0}, {"n_negatives": -1}, {"hidden": -1}],
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
    assert np.isfinite(fit(triples(), n_negatives=0).embedding_.vectors).all()


def test_a_device_that_is_not_there_is_refused():
    if torch.cuda.is_available():
        pytest.skip("this machine has CUDA")
    with pytest.raises(nf.InputError, match="cuda"):
        fit(triples(), device="cuda")
