"""Joined: blocks side by side at one length, saved and extended as one model."""

from __future__ import annotations

import json

import numpy as np
import pytest

import netfold as nf
import zoo


def parts() -> list[nf.Embedder]:
    return [nf.Spectral(dim=4, matrix="ppmi"), nf.SDNE(dim=3, hidden=(8, 6), epochs=5), nf.DegreeFeatures(dim=5)]


def test_blocks_are_the_parts_vectors_at_one_length():
    graph = zoo.weighted()
    joined = nf.Joined(parts()).fit(graph, progress=False)
    at = 0
    for part in parts():
        own = part.fit(graph, progress=False).embedding_.vectors
        block = joined.embedding_.vectors[:, at : at + part.dim]
        assert np.square(block, dtype=np.float64).sum(axis=1).mean() == pytest.approx(1, rel=1e-5)
        length = np.sqrt(np.square(own, dtype=np.float64).sum(axis=1).mean())
        np.testing.assert_allclose(block, own / length, rtol=1e-5, atol=1e-7)
        at += part.dim
    assert at == joined.embedding_.dim == 12


def test_text_says_the_same_as_models():
    joined = nf.Joined(parts())
    assert joined.of == "spectral:dim=4:matrix=ppmi,sdne:dim=3:epochs=5:hidden=8+6,degreefeatures:dim=5"
    again = nf.Joined(of=joined.of)
    assert again.get_params() == joined.get_params() and repr(again) == repr(joined)
    once, twice = (m.fit(zoo.karate(), progress=False).embedding_.vectors for m in (joined, again))
    assert once.tobytes() == twice.tobytes()


def test_none_and_an_empty_tuple_go_through_text():
    joined = nf.Joined([nf.SDNE(hidden=(), batch_size=7), nf.LINE(samples=30)])
    models = joined._unfitted()
    assert models[0].hidden == () and models[0].batch_size == 7 and models[1].samples == 30
    assert nf.Joined(of="line:samples=none")._unfitted()[0].samples is None


def test_seed_and_device_are_those_of_the_whole_and_dim_is_shared_out():
    joined = nf.Joined(dim=7, seed=5, device="cpu", of="sdne,spectral")
    assert [(m.seed, m.device, m.dim) for m in joined._unfitted()] == [(5, "cpu", 4), (5, "cpu", 3)]


def test_saved_it_has_one_file_of_tensors_and_nested_configurations(tmp_path):
    graph = zoo.karate()
    joined = nf.Joined(parts()).fit(graph, progress=False)
    joined.save(tmp_path / "j.netfold")
    assert {p.name for p in (tmp_path / "j.netfold").iterdir()} == {
        "manifest.json",
        "metrics.jsonl",
        "tensors.safetensors",
    }
    manifest = json.loads((tmp_path / "j.netfold" / "manifest.json").read_text())
    assert manifest["config"]["of"] == joined.of and len(manifest["graph"]["parts"]) == 3
    again = nf.load(tmp_path / "j.netfold")
    later = zoo.grown(graph, 1)
    assert again.transform(later).vectors.tobytes() == joined.transform(later).vectors.tobytes()
    assert [type(p) for p in again.parts_] == [nf.Spectral, nf.SDNE, nf.DegreeFeatures]
    np.testing.assert_allclose(
        again.parts_[1].embedding_.vectors, parts()[1].fit(graph, progress=False).embedding_.vectors, rtol=1e-5
    )


def test_it_goes_on_from_a_checkpoint(tmp_path, monkeypatch):
    graph = zoo.karate()
    once = nf.Joined(parts()).fit(graph, checkpoint=tmp_path / "c", progress=False)
    monkeypatch.setattr(nf.SDNE, "fit", None)  # nothing is fitted again
    again = nf.Joined(parts()).fit(graph, checkpoint=tmp_path / "c", progress=False)
    assert again.embedding_.vectors.tobytes() == once.embedding_.vectors.tobytes()


def test_history_has_the_terms_of_each_part_by_its_name():
    history = nf.Joined(parts()).fit(zoo.karate(), progress=False).history_
    assert [r["epoch"] for r in history] == list(range(1, len(history) + 1))
    assert {"SDNE second_order", "SDNE first_order"} <= set(history[-1])


def test_a_part_without_a_place_for_new_nodes_says_so():
    graph = zoo.karate()
    joined = nf.Joined([nf.Spectral(dim=2), nf.LINE(dim=2, epochs=1)]).fit(graph, progress=False)
    with pytest.raises(nf.InputError, match="LINE has no vectors for new nodes"):
        joined.transform(zoo.grown(graph, 1))


@pytest.mark.parametrize(
    ("of", "match"),
    [
        ("sdne,nothing", "'nothing' cannot be a part; .*spectral"),
        ("dhne", "'dhne' cannot be a part"),
        ("depthlgp", "'depthlgp' cannot be a part"),
        ("joined", "'joined' cannot be a part"),
        ("", "'' cannot be a part"),
        ("sdne:alpha", "'alpha' is not OPTION=VALUE of SDNE"),
        ("sdne:nothing=1", "'nothing=1' is not OPTION=VALUE of SDNE"),
        ("sdne:epochs=many", "'epochs=many' is not allowed; it is a whole number"),
        ("sdne:alpha=-1", "alpha=-1.0 is not allowed"),
    ],
)
def test_parts_that_cannot_be_are_refused(of, match):
    with pytest.raises(nf.InputError, match=match):
        nf.Joined(of=of)
    with pytest.raises(nf.InputError, match=match):
        nf.Joined().set_params(of=of)


def test_what_is_no_model_is_refused():
    with pytest.raises(nf.InputError, match="Joined joins models"):
        nf.Joined(["spectral"])
    with pytest.raises(nf.InputError, match="give one of them"):
        nf.Joined([nf.Spectral()], of="sdne")
    with pytest.raises(nf.InputError, match="no option 'epochs'"):
        nf.Joined(epochs=3)
