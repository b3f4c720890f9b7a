"""Saved models: read back exactly, and nothing in them can be run."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

import netfold
from command import environ
from netfold.data.graph import Graph
from netfold.embedder.store import load
from netfold.errors import InputError
from netfold.io import tensors as store
from netfold.io.files import sha256
from netfold.models import SDNE
from saved_models import GRAPH, LATER, assert_same, model, reseal


def test_there_and_back(saved_model: Path) -> None:
    again = netfold.load(saved_model)
    assert_same(model(), again)
    assert again.transform(LATER).vectors.tobytes() == model().transform(LATER).vectors.tobytes()
    assert list(again.transform(LATER).nodes) == ["eve", "fay"]


def test_what_was_loaded_is_saved_again_and_trained_again(saved_model: Path, tmp_path: Path) -> None:
    again = load(saved_model)
    again.save(tmp_path / "again")
    assert (tmp_path / "again" / "tensors.safetensors").read_bytes() == (
        saved_model / "tensors.safetensors"
    ).read_bytes()
    assert again.fit(GRAPH, progress=False).embedding_.vectors.tobytes() == model().embedding_.vectors.tobytes()
    assert all(p.requires_grad for p in load(saved_model).network_.parameters())


@pytest.mark.parametrize("directed", [True, False])
def test_integer_and_mixed_names(directed: bool, tmp_path: Path) -> None:
    for name, edges in {
        "int": [(5, -3), (-3, 2**60), (7, 5)],
        "mixed": [(1, "1"), ("1", (2, None)), ((2, None), 1.5)],
    }.items():
        graph = Graph.from_edges(edges, directed=directed)
        fitted = SDNE(dim=2, hidden=(), epochs=1).fit(graph, progress=False)
        fitted.save(tmp_path / name)
        assert_same(fitted, load(tmp_path / name))
        assert list(load(tmp_path / name).embedding_.nodes) == list(graph.nodes)
        assert load(tmp_path / name).graph_facts_["directed"] is directed


def test_the_manifest_lists_the_folder_and_the_versions(saved_model: Path) -> None:
    manifest = json.loads((saved_model / "manifest.json").read_text())
    assert {f["name"] for f in manifest["files"]} | {"manifest.json"} == set(os.listdir(saved_model))
    for entry in manifest["files"]:
        assert entry["size"] == (saved_model / entry["name"]).stat().st_size
        assert entry["sha256"] == sha256(saved_model / entry["name"])
    assert manifest["versions"]["torch"] == torch.__version__
    assert manifest["versions"]["numpy"] == np.__version__
    assert set(manifest["versions"]) == {"netfold", "torch", "numpy", "scipy"}
    assert (manifest["format"], manifest["kind"], manifest["model"]) == (1, "model", "SDNE")
    assert manifest["graph"]["fingerprint"] == GRAPH.fingerprint
    assert manifest["config"] == {**model().get_params(), "hidden": [5, 4]}


def test_an_existing_folder_needs_force(saved_model: Path) -> None:
    (saved_model / "mine.txt").write_text("mine")
    with pytest.raises(InputError, match="exists; give another name, or force"):
        model().save(saved_model)
    with pytest.raises(InputError, match=r"holds 'mine\.txt', which netfold did not write, and is not replaced"):
        model().save(saved_model, force=True)
    assert (saved_model / "mine.txt").read_text() == "mine"
    (saved_model / "mine.txt").unlink()
    before = (saved_model / "manifest.json").stat().st_ino
    model().save(saved_model, force=True)
    assert (saved_model / "manifest.json").stat().st_ino != before
    assert_same(model(), load(saved_model))


def test_a_model_whose_replacing_was_killed_is_there_when_it_is_loaded(saved_model: Path) -> None:
    """As a system leaves it that cannot exchange two names in one step."""
    stage = saved_model.parent / f".{saved_model.name}.netfold-abcdefgh"
    stage.mkdir()
    shutil.copytree(saved_model, stage / "new")
    saved_model.rename(stage / "old")
    with pytest.warns(UserWarning, match="is back: a save of it had been killed"):
        assert_same(model(), load(saved_model))
    assert not stage.exists()


def test_an_unfitted_model_is_not_saved(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"this SDNE is not fitted yet; call fit\(graph\) first"):
        SDNE().save(tmp_path / "x")
    assert os.listdir(tmp_path) == []


def test_a_sealed_folder_is_read(saved_model: Path) -> None:
    reseal(saved_model)
    assert_same(model(), load(saved_model))


def test_nothing_in_the_source_can_execute_a_file() -> None:
    forbidden = re.compile(
        r"\bpickle\.\w|import pickle|torch\.load\b|torch\.save\b|\beval\(|\bexec\(|allow_pickle=True|joblib"
    )
    found = {
        f"{path.name}:{i}: {line.strip()}"
        for path in Path(netfold.__file__).parent.rglob("*.py")
        for i, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if forbidden.search(line.split("  #")[0])
    }
    assert not found


# -------------------------------------------------------------------- the vectors alone


def test_the_vectors_alone(saved_model: Path) -> None:
    alone, whole = load(saved_model, only="embedding"), load(saved_model).embedding_
    assert alone.nodes == whole.nodes and alone.fitted_to == whole.fitted_to
    assert alone.vectors.tobytes() == whole.vectors.tobytes() and alone.std is None
    reseal(saved_model, lambda m: m.update(model="OfSomebodyElse"))
    assert load(saved_model, only="embedding").vectors.tobytes() == whole.vectors.tobytes(), "of any model"
    with pytest.raises(InputError, match="OfSomebodyElse"):
        load(saved_model)


def test_the_vectors_of_gaussians_alone(tmp_path: Path) -> None:
    fitted = netfold.DVNE(dim=3, hidden=4, epochs=1).fit(GRAPH, progress=False)
    fitted.save(tmp_path / "dvne")
    alone = load(tmp_path / "dvne", only="embedding")
    assert alone.std is not None and fitted.embedding_.std is not None
    assert alone.std.tobytes() == fitted.embedding_.std.tobytes()


def test_vectors_alone_are_checked_as_a_model_is(saved_model: Path) -> None:
    with pytest.raises(InputError, match="only='network' is no part that can be read alone"):
        load(saved_model, only="network")  # type: ignore[call-overload]
    path = saved_model / "tensors.safetensors"
    whole = path.read_bytes()
    path.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    with pytest.raises(InputError, match="its hash differs"):
        load(saved_model, only="embedding")
    tensors = store.read_tensors(path)
    store.write_tensors(path, {**tensors, "vectors": np.full((5, 3), np.nan, np.float32)})
    reseal(saved_model)
    with pytest.raises(InputError, match="not finite"):
        load(saved_model, only="embedding")
    store.write_tensors(path, {**tensors, "code": np.zeros(2, np.uint8)})
    reseal(saved_model)
    with pytest.raises(InputError, match="'code' is no part of it"):
        load(saved_model, only="embedding")
    store.write_tensors(path, {k: v for k, v in tensors.items() if k != "vectors"})
    reseal(saved_model)
    with pytest.raises(InputError, match="its parts do not fit together"):
        load(saved_model, only="embedding")


@pytest.mark.parametrize("code", ["netfold.load(path, only='embedding')", "nearest(path)", "export(path)"])
def test_vectors_are_read_without_torch(code: str, saved_model: Path) -> None:
    script = f"""
import sys, netfold
from netfold.cli import main
def run(*args):
    try: main([*args])
    except SystemExit as e: assert e.code == 0, e.code
def nearest(path): run("nearest", path, "ann")
def export(path): run("export", path, "-o", path + ".npz")
path = {str(saved_model)!r}
{code}
heavy = {{"torch", "scipy", "sklearn"}} & set(sys.modules)
sys.exit(f"loaded {{heavy}}" if heavy else 0)
"""
    subprocess.run([sys.executable, "-W", "error", "-c", script], check=True, capture_output=True, env=environ())
