"""A network that changes: what a day does, what it must not do, and the versions that are left behind."""

from __future__ import annotations

import dataclasses
import errno
import json
import os
import shutil
import time

import numpy as np
import pytest

import netfold as nf
from netfold.embedder.drift import differences
from netfold.embedder.placing import Placing
from netfold.embedder.versions import deltas_of, split_version
from netfold.io.files import locked_file

BLOCKS = [(a, b) for c in range(3) for a in range(10 * c, 10 * c + 10) for b in range(10 * c, a) if (a + b) % 3]
EDGES = [*BLOCKS, (0, 10), (10, 20)]
DAY = [("x", 0), ("x", 1), ("y", 11), ("y", 12), ("z", "x"), ("z", "y"), ("p", "q")]
MAKE = {
    "sdne": lambda: nf.SDNE(dim=4, hidden=(8,), epochs=30),
    "dvne": lambda: nf.DVNE(dim=4, hidden=8, epochs=5),
    "drne": lambda: nf.DRNE(dim=4, epochs=2),
    "node2vec": lambda: nf.Node2Vec(dim=4, epochs=1, length=10, window=2),
    "line": lambda: nf.LINE(dim=4, epochs=1),
}


def fit(name: str):
    return MAKE[name]().fit(EDGES, progress=False)


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    path = tmp_path_factory.mktemp("models") / "m"
    fit("dvne").save(path)
    return path


@pytest.fixture
def folder(saved, tmp_path):
    shutil.copytree(saved, tmp_path / "m")
    return tmp_path / "m"


@pytest.mark.parametrize("name", sorted(MAKE))
def test_a_day_places_what_is_new_and_moves_nobody_by_a_bit(name):
    model = fit(name)
    before = model.embedding_.vectors.tobytes()
    stream = nf.Evolving(model)
    day = stream.update(DAY)
    assert sorted(day.placed) == ["x", "y", "z"] and day.unreached == ["p", "q"] and day.version == 1
    assert (day.drift["placed"], day.drift["unreached"]) == (3 / 35, 2 / 35)  # of 30 fitted ones and these five
    after = stream.embedding_
    assert after.vectors[:30].tobytes() == before == model.embedding_.vectors.tobytes()
    assert [stream.origin(x) for x in ("x", 0, "p")] == ["placed", "fitted", "unreached"]
    np.testing.assert_array_equal(after["y"], day.placed["y"])
    assert (after.std is None) == (model.embedding_.std is None)
    again = stream.update([("p", 5), ("w", "z"), (0, 29)])
    assert sorted(again.placed) == ["p", "q", "w"] and not again.unreached
    assert stream.embedding_.vectors[: len(after)].tobytes() == after.vectors.tobytes()


def test_a_node_with_links_to_fitted_ones_is_where_transform_places_it():
    model = fit("sdne")
    day = nf.Evolving(model).update(DAY)
    new = model.transform([("x", 0), ("x", 1), ("y", 11), ("y", 12)])
    np.testing.assert_allclose(day.placed[["x", "y"]], new[["x", "y"]], rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(day.placed["z"], (day.placed["x"] + day.placed["y"]) / 2, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", ["node2vec", "dvne"])
def test_nodes_that_lead_to_one_another_end_at_the_means_of_their_neighbors(name):
    """As a loop brings them there, one neighbor after another."""
    model, rng = fit(name), np.random.default_rng(1)
    pairs = [(f"n{i}", f"n{j}", float(rng.random())) for i in range(12) for j in range(i) if rng.random() < 0.4]
    pairs += [("n0", 3, 2.0), ("n1", 14, 0.5), ("n2", 25, 1.0), *((f"n{i}", f"n{i - 1}", 1.0) for i in range(1, 12))]
    placed = nf.Evolving(model).update(pairs).placed
    weights = {}
    for a, b, w in pairs:
        weights.setdefault(a, {})[b] = weights.get(a, {}).get(b, 0) + w
        weights.setdefault(b, {})[a] = weights[a][b]
    own = {x for x in placed if name == "node2vec" or not any(isinstance(y, int) for y in weights[x])}
    for node in own:
        total = sum(weights[node].values())
        for of in ("vectors", "std") if model.embedding_.std is not None else ("vectors",):
            mean = 0.0
            for y, w in weights[node].items():
                there = model.embedding_ if isinstance(y, int) else placed
                mean = mean + w / total * getattr(there.take([y]), of)[0].astype(float)
            np.testing.assert_allclose(getattr(placed.take([node]), of)[0], mean, atol=1e-5)


@pytest.mark.parametrize("name", ["sdne", "dvne", "node2vec"])
def test_ten_days_equal_one_batch_within_the_bound(name):
    """1e-4 of the usual length, where new nodes are linked with fitted ones: how many come together is then nothing."""
    model, rng = fit(name), np.random.default_rng(0)
    links = [(f"n{i}", int(j)) for i in range(20) for j in rng.choice(30, 3, replace=False)]
    once = nf.Evolving(model).update(links).placed
    stream = nf.Evolving(model)
    for day in range(10):
        stream.update([x for x in links if x[0] in (f"n{2 * day}", f"n{2 * day + 1}")])
    bound = 1e-4 * float(np.linalg.norm(model.embedding_.vectors, axis=1).mean())
    assert np.abs(stream.embedding_[list(once)] - once.vectors).max() < bound


def test_what_is_gone_is_gone_and_can_come_back():
    stream = nf.Evolving(fit("sdne"))
    stream.update(DAY)
    day = stream.update(gone=["x", 3, (0, 1)])
    assert day.gone == ["x", 3] and stream.origin("x") == stream.origin(3) == "gone"
    assert "x" not in stream.embedding_ and 3 not in stream.embedding_ and "y" in stream.embedding_
    for known in ("y", 4):
        assert known in stream.embedding_
    with pytest.raises(nf.InputError, match="'x' cannot be gone: it is not a node that is there"):
        stream.update(gone=["x"])
    back = stream.update([("x", 20), ("x", 21)])
    assert list(back.placed) == ["x"] and stream.origin("x") == "placed"
    only = stream.update([("new", 3), ("new", 5)])  # 3 is there again, with the vector that it had
    assert "new" in only.placed and stream.origin(3) == "fitted"


def test_versions_are_kept_and_every_one_can_be_opened(folder):
    stream = nf.Evolving.open(folder)
    stream.update(DAY)
    first = stream.embedding_
    stream.update([("v", 2), ("v", 3)], gone=["x"])
    assert [x.number for x in deltas_of(folder)] == [1, 2]
    for path in (nf.load(folder, version=1), nf.load(f"{folder}@1")):
        assert path.embedding_.nodes == first.nodes and path.embedding_.vectors.tobytes() == first.vectors.tobytes()
        assert path.embedding_.std.tobytes() == first.std.tobytes() and path.origin("x") == "placed"
    today = time.strftime("%Y-%m-%d", time.gmtime())
    assert nf.load(folder, at="2020-01-01").version == 0 and nf.load(folder, at=today).version == 2
    assert type(nf.load(folder)) is nf.DVNE and len(nf.load(f"{folder}@0").embedding_) == 30
    with pytest.raises(nf.InputError, match="no version 7; the last is 2"):
        nf.load(folder, version=7)
    with pytest.raises(nf.InputError, match="at='soon' is not a day"):
        nf.load(folder, at="soon")
    with pytest.raises(nf.InputError, match="has versions, which would be lost"):
        nf.load(folder).save(folder, force=True)


def test_opened_again_it_goes_on_as_if_it_had_never_been_closed(folder):
    open_all_day = nf.Evolving(nf.load(folder))
    for day in (DAY, [("v", "z"), ("v", 3), ("p", 7)], [("v", 8), ("u", "v")]):
        one, two = open_all_day.update(day), nf.Evolving.open(folder).update(day)
        assert one.placed.vectors.tobytes() == two.placed.vectors.tobytes() and one.unreached == two.unreached
        assert one.placed.std.tobytes() == two.placed.std.tobytes()


@pytest.mark.parametrize("name", ["sdne", "dvne", "node2vec"])
def test_placed_again_nodes_are_where_one_day_would_have_placed_them_and_trained_ones_stay(name):
    model, days = fit(name), [DAY, [("x", 15), ("y", 14), ("w", "x")], [("v", "w"), ("v", 3), ("q", 2)]]
    daily, at_once = nf.Evolving(model), nf.Evolving(model)
    for day in days:
        daily.update(day)
    before = daily.embedding_
    day = daily.update(again=True)
    whole = at_once.update([edge for day in days for edge in day], again=True)
    assert set(day.placed.nodes) == set(whole.placed.nodes) == set("xyzwvpq") and not day.unreached
    assert all(before[x].tobytes() == daily.embedding_[x].tobytes() for x in range(30))
    assert before["x"].tobytes() != daily.embedding_["x"].tobytes()  # a link came after it was placed
    for x in whole.placed.nodes:
        np.testing.assert_allclose(daily.embedding_[x], at_once.embedding_[x], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("how", ["encode", "refine", "mean"])
def test_directed_networks_are_placed_again_by_links_of_both_directions(how):
    model = nf.SDNE(dim=4, hidden=(8,), epochs=10).fit(nf.Graph.from_edges(EDGES, directed=True), progress=False)
    model.graph_facts_ = model.graph_facts_ | {"placing": dataclasses.asdict(Placing(how))}
    stream = nf.Evolving(model)
    for day in ([("a", 0), (11, "b"), ("c", "a")], [("a", "b"), ("b", 12), (20, "c"), ("d", "c")]):
        stream.update(nf.Graph.from_edges(day, directed=True))
    before = stream.embedding_
    day = stream.update(again=True)
    assert set(day.placed.nodes) == set("abcd") and not day.unreached
    assert before["b"].tobytes() != stream.embedding_["b"].tobytes()
    assert all(before[x].tobytes() == stream.embedding_[x].tobytes() for x in range(30))


def test_a_day_says_which_placed_nodes_have_links_of_today_and_stay():
    stream = nf.Evolving(fit("node2vec"))
    assert stream.update(DAY).linked == []
    place = stream.embedding_["x"].copy()
    assert stream.update([("x", 20), ("v", "z"), (3, 4)]).linked == ["x", "z"]
    assert (stream.embedding_["x"] == place).all()
    assert stream.update([("x", 21)], again=True).linked == [] and (stream.embedding_["x"] != place).any()


def test_who_lost_all_links_stays_where_it_was_placed(folder):
    stream = nf.Evolving.open(folder)
    stream.update([("x", 0), ("y", 11), ("y", "x")])
    before = stream.embedding_
    day = stream.update([("w", 20)], gone=[("x", 0), ("x", "y")], again=True)
    assert not day.unreached and stream.origin("x") == "placed" and set(day.placed.nodes) == {"y", "w"}
    assert stream.embedding_["x"].tobytes() == before["x"].tobytes() and day.drift["placed"] == pytest.approx(3 / 33)
    again = nf.Evolving.open(folder)
    assert again.version == 2 and again.embedding_["y"].tobytes() == stream.embedding_["y"].tobytes()
    assert again.update(gone=["y"], again=True).gone == ["y"] and "y" not in again.embedding_


def test_compaction_keeps_what_is_there_and_later_versions(folder):
    stream = nf.Evolving.open(folder)
    days = [DAY, [("v", "z"), ("v", 3)], [("w", "v"), (0, 29)], [("p", 2)], [("u", 1)]]
    for i, day in enumerate(days):
        stream.update(day, gone=["x"] if i == 2 else None)
    before = stream.embedding_
    assert stream.compact(keep=2) == 3 and [x.number for x in deltas_of(folder)] == [3, 4, 5]
    again = nf.Evolving.open(folder)
    assert set(again.embedding_.nodes) == set(before.nodes)
    assert all(again.embedding_[x].tobytes() == before[x].tobytes() for x in before)
    assert again.update([("t", "u")]).version == 6
    with pytest.raises(nf.InputError, match="no version 2"):
        nf.load(folder, version=2)


def test_compaction_removes_no_file_that_netfold_did_not_write(folder):
    stream = nf.Evolving.open(folder)
    for day in (DAY, [("v", "z"), ("v", 3)], [("w", "v")]):
        stream.update(day)
    own, before = folder / "versions" / "0001", stream.embedding_
    (own / "notes.txt").write_text("mine")
    (own / "deep").mkdir()
    with pytest.warns(UserWarning, match="0001 stays: it holds 'deep', 'notes.txt', which netfold did not write"):
        assert stream.compact(keep=1) == 2
    assert sorted(x.name for x in own.iterdir()) == ["deep", "notes.txt"]
    again = nf.Evolving.open(folder)
    assert again.version == 3 and again.embedding_.vectors.tobytes() == before.vectors.tobytes()
    assert again.update([("t", 4)]).version == 4 and again.compact(keep=1) == 2
    with pytest.raises(nf.InputError, match="no version 1"):
        nf.load(folder, version=1)


def test_compaction_keeps_a_version_that_another_put_a_file_into(folder):
    stream = nf.Evolving.open(folder)
    for day in (DAY, [("v", "z"), ("v", 3)], [("w", "v")]):
        stream.update(day)
    (folder / "versions" / "0002" / "notes.txt").write_text("mine")
    with pytest.raises(nf.InputError, match=r"0002 holds 'notes.txt', which netfold did not write, and is not repl"):
        stream.compact(keep=1)
    assert [x.number for x in deltas_of(folder)] == [1, 2, 3] and nf.Evolving.open(folder).version == 3


def test_a_killed_update_leaves_the_version_before(folder, monkeypatch):
    from netfold.io import tensors

    stream = nf.Evolving.open(folder)
    stream.update(DAY)
    with monkeypatch.context() as patched:
        patched.setattr(tensors, "write_manifest", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            stream.update([("late", 4)])
    assert stream.version == 1 and "late" not in stream.embedding_
    assert nf.Evolving.open(folder).version == 1
    assert nf.Evolving.open(folder).update([("late", 4)]).version == 2


def test_a_full_disk_leaves_a_model_that_is_as_it_was(folder, monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    before = sorted(folder.rglob("*"))
    said = "0001 cannot be written: No space left on device; make room"
    with monkeypatch.context() as patched, pytest.raises(nf.InputError, match=said):
        patched.setattr("netfold.io.tensors.write_tensors", full)
        nf.Evolving.open(folder).update(DAY)
    assert sorted(folder.rglob("*")) == before
    nf.load(folder).save(folder, force=True)


def test_of_two_updates_at_once_one_is_made_and_the_other_refused(folder):
    first, second = nf.Evolving.open(folder), nf.Evolving.open(folder)
    first.update([("late", 4)])
    for act in (lambda: second.update([("later", 5)]), lambda: second.settle(EDGES), lambda: second.compact(1)):
        with pytest.raises(nf.InputError, match="is at version 1, and this began from version 0; updates follow the"):
            act()
    assert second.version == 0 and "later" not in second.embedding_
    again = nf.Evolving.open(folder)
    assert again.update([("later", 5)]).version == 2 and "late" in again.embedding_
    with locked_file(folder / ".lock"), pytest.raises(nf.InputError, match="is in use by process"):
        again.update([("last", 6)])
    assert again.update([("last", 6)]).version == 3 and not (folder / ".lock").exists()


def test_a_version_that_another_process_has_written_meanwhile_stays(folder, monkeypatch):
    """Where there are no locks (another machine, a file system without them), the name of a version is taken once."""
    from netfold.io import tensors

    monkeypatch.setattr("netfold.io.files.try_lock", lambda fd: None)
    first, second = nf.Evolving.open(folder), nf.Evolving.open(folder)
    write = tensors.write_manifest

    def other_first(*args):
        monkeypatch.setattr(tensors, "write_manifest", write)
        first.update([("late", 4)])
        write(*args)

    monkeypatch.setattr(tensors, "write_manifest", other_first)
    with pytest.raises(nf.InputError, match="0001 was written by another process meanwhile, and stays"):
        second.update([("later", 5)])
    assert second.version == 0
    there = nf.Evolving.open(folder)
    assert "late" in there.embedding_ and "later" not in there.embedding_ and len(list(deltas_of(folder))) == 1


def test_a_version_that_was_changed_or_does_not_follow_is_refused(folder):
    stream = nf.Evolving.open(folder)
    for day in (DAY, [("v", 2)], [("w", 3)]):
        stream.update(day)
    manifest = folder / "versions" / "0002" / "manifest.json"
    text = manifest.read_text()
    manifest.write_text(json.dumps(json.loads(text) | {"time": "2020-01-01T00:00:00"}))
    with pytest.raises(nf.InputError, match="0003 does not follow version 2"):
        nf.Evolving.open(folder)
    manifest.write_text(text)
    (folder / "versions" / "0001" / "delta.safetensors").write_bytes(b"x" * 64)
    with pytest.raises(nf.InputError, match="damaged"):
        nf.Evolving.open(folder)


def test_what_cannot_evolve_is_refused():
    with pytest.raises(nf.InputError, match="not fitted"):
        nf.Evolving(nf.SDNE())
    stream = nf.Evolving(fit("sdne"))
    with pytest.raises(nf.InputError, match="fitted to an undirected graph and this one is directed"):
        stream.update(nf.Graph.from_edges([("a", 0)], directed=True))
    with pytest.raises(nf.InputError, match="3 is gone and has edges today"):
        stream.update([("a", 3)], gone=[3])
    with pytest.raises(nf.InputError, match="gone='ann' is one name; give a list"):
        stream.update(gone="ann")
    assert split_version("no/such@12")[1] == 12


def test_directed_networks_change_too():
    arcs = [(i, (i + k) % 12) for i in range(12) for k in (1, 2, 3)]
    model = nf.SDNE(dim=3, hidden=(6,), epochs=5).fit(nf.Graph.from_edges(arcs, directed=True), progress=False)
    stream = nf.Evolving(model)
    assert sorted(stream.update([("out", 1), (5, "in"), ("out", "both")]).placed) == ["both", "in", "out"]


@pytest.mark.parametrize("name", ["sdne", "dvne", "drne"])
def test_which_links_an_encoder_reads_is_what_the_model_says(name):
    arcs = nf.Graph.from_edges([(i, (i + k) % 12) for i in range(12) for k in (1, 2, 3)], directed=True)
    model = nf.MODELS[name](dim=3, epochs=2).fit(arcs, progress=False)
    enters = nf.Graph.from_edges([(5, "in")], directed=True)
    if model.encodes_out_links:
        with pytest.raises(nf.InputError, match="no link to any known node"):
            model.transform(enters, how="encode")
    else:
        assert "in" in model.transform(enters, how="encode")


# ---------------------------------------------------------------- alignment and drift


@pytest.mark.parametrize("seed", range(3))
def test_a_rotation_is_undone_exactly_and_is_no_drift(seed):
    rng = np.random.default_rng(seed)
    old = nf.Embedding(range(50), rng.normal(size=(50, 6)).astype(np.float32))
    turn, _ = np.linalg.qr(rng.normal(size=(6, 6)))
    new = nf.Embedding(range(50), (old.vectors @ turn).astype(np.float32))
    found = nf.align(new, old)
    np.testing.assert_allclose(found.rotation, turn.T, atol=1e-5)
    assert found.residual < 1e-5 and found.common == 50
    np.testing.assert_allclose(found.of(new).vectors, old.vectors, atol=1e-5)
    said = differences(old, new)
    assert said["median"] < 1e-5 and said["kept"] == 1 and said["moved"][0]["moved"] < 1e-5
    stream = nf.Evolving(fit("node2vec"))
    own = stream.model.embedding_
    turn, _ = np.linalg.qr(rng.normal(size=(4, 4)))
    usual = stream.calibrate(nf.Embedding(own.nodes, (own.vectors @ turn).astype(np.float32)))
    assert usual["moved"] < 1e-4 and usual["kept"] > 0.98  # equal cosines may change places


def test_alignment_is_by_common_nodes_and_needs_enough_of_them():
    rng = np.random.default_rng(0)
    old = nf.Embedding(range(20), rng.normal(size=(20, 4)).astype(np.float32))
    new = nf.Embedding(range(5, 30), np.vstack([old.vectors[5:] * [1, -1, 1, 1], rng.normal(size=(10, 4))]), None)
    assert nf.align(new, old).residual < 1e-5  # a reflection
    with pytest.raises(nf.InputError, match="3 nodes are in both, and a rotation of 4 dimensions needs as many"):
        nf.align(old.take([0, 1, 2]), old)
    naive = np.zeros((4, 4))
    a, b = new.vectors[:15].astype(np.float64), old.vectors[5:].astype(np.float64)
    for i in range(15):
        naive += np.outer(a[i] - a.mean(axis=0), b[i] - b.mean(axis=0))
    left, _, right = np.linalg.svd(naive)
    np.testing.assert_allclose(nf.align(new, old).rotation, left @ right, atol=1e-9)


def test_the_alarm_is_set_at_what_two_seeds_differ_by(folder):
    model = nf.load(folder)
    stream = nf.Evolving.open(folder)
    assert stream.update([("a", 0)]).alarm is None  # not calibrated
    usual = stream.calibrate(model.embedding_)
    assert usual["kept"] == 1.0
    crowd = [(f"c{i}", j) for i in range(40) for j in (i % 30, (i + 1) % 30)]
    day = nf.Evolving.open(folder).update(crowd)
    assert day.drift["kept"] < 1 and "it is time for a new fit" in str(day.alarm)
    naive = [len(set(old) & set(new)) / 10 for old, new in zip(
        ([x for x, _ in model.embedding_.nearest(n, 10, metric="cosine")] for n in range(30)),
        ([x for x, _ in nf.load(f"{folder}@2").embedding_.nearest(n, 10, metric="cosine")] for n in range(30)),
        strict=True)]  # fmt: skip
    assert day.drift["kept"] == pytest.approx(np.mean(naive), abs=0.02)


def test_two_fits_are_compared_by_the_nodes_that_both_have():
    stream, other = nf.Evolving(fit("node2vec")), MAKE["node2vec"]().fit([*EDGES, ("x", 0), ("x", 1)], progress=False)
    few = nf.Embedding(range(20), stream.model.embedding_[list(range(20))])
    assert 0 < stream.calibrate(other)["kept"] <= 1 and stream.calibrate(few)["moved"] < 1e-6
    assert set(stream._usual.panel) == set(range(20))
    with pytest.raises(nf.InputError, match="no node in common"):
        stream.calibrate(nf.Embedding(["a", "b"], few.vectors[:2]))


def test_an_update_costs_what_it_changes():
    """Two sizes, ten times apart: the same cost but for noise."""
    spent = []
    for n in (2_000, 20_000):
        ring = nf.Graph.from_edges(np.column_stack([np.arange(n), (np.arange(n) + 1) % n]))
        stream = nf.Evolving(nf.Node2Vec(dim=4, epochs=0).fit(ring, progress=False))
        stream.update([("warm", 0)])
        begun = time.process_time()
        for i in range(20):
            stream.update([(f"new {i}", i), (f"new {i}", i + 1)])
        spent.append(time.process_time() - begun)
    assert spent[1] < 3 * spent[0] + 0.05
