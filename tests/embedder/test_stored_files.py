"""Models, checkpoints, graphs and embeddings that an earlier release wrote are read, and mean what they meant."""

from __future__ import annotations

import json
import shutil
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import netfold as nf
import stored_files
from fixed_vectors import options

STORED = Path(__file__).parent / "stored"
MODELS = pytest.mark.parametrize("name", stored_files.OPTIONS)


def without_seconds(history: list[dict[str, float]]) -> list[dict[str, float]]:
    return [{name: x for name, x in record.items() if name != "seconds"} for record in history]


def arrays(of: str) -> dict[str, np.ndarray]:
    with np.load(STORED / "arrays.npz") as stored:
        return {name.removeprefix(f"{of}/"): stored[name] for name in stored.files if name.startswith(f"{of}/")}


def test_there_is_a_file_of_every_model_and_they_are_small() -> None:
    since = {"spectral", "degreefeatures", "graphwave", "joined"}
    assert set(stored_files.OPTIONS) == set(nf.MODELS) - since
    files = [path for path in STORED.rglob("*") if path.is_file()]
    assert sum(path.stat().st_size for path in files) < 300_000
    assert not [path for path in files if path.suffix in (".pkl", ".pt", ".pickle")]


@MODELS
def test_vectors_and_options(name: str) -> None:
    model = nf.load(STORED / f"{name}.netfold")
    expected = arrays(name)
    assert isinstance(model, nf.MODELS[name])
    assert np.array_equal(model.embedding_.vectors, expected["vectors"])
    assert (model.embedding_.std is None) == ("std" not in expected)
    if "std" in expected:
        assert np.array_equal(np.asarray(model.embedding_.std), expected["std"])
    given = options(type(model), stored_files.OPTIONS[name])
    given["dim"] = model.dim
    assert {option: model.get_params()[option] for option in given} == given
    assert list(model.embedding_.nodes) == list(stored_files.fitted_to(type(model)).nodes)
    assert len(model.history_) == 3


@MODELS
def test_new_nodes(name: str) -> None:
    model = nf.load(STORED / f"{name}.netfold")
    later = stored_files.new_nodes(type(model))
    if later is None:
        pytest.skip(f"{name} has no vectors for new nodes")
    found, expected = model.transform(later), arrays(name)
    np.testing.assert_allclose(found.vectors, expected["new"], rtol=1e-4, atol=1e-6)
    if "new_std" in expected:
        np.testing.assert_allclose(np.asarray(found.std), expected["new_std"], rtol=1e-4, atol=1e-6)


@MODELS
def test_a_loaded_model_is_saved_again(name: str, tmp_path: Path) -> None:
    model = nf.load(STORED / f"{name}.netfold")
    model.save(tmp_path / "again")
    again = nf.load(tmp_path / "again")
    assert again.get_params() == model.get_params()
    assert np.array_equal(again.embedding_.vectors, model.embedding_.vectors)


def state(folder: Path) -> Path:
    """A copy of the stored checkpoint, said to be of this version: that of another version is refused."""
    copied = Path(shutil.copytree(STORED / "sdne.state", folder / "state"))
    manifest: dict[str, Any] = json.loads((copied / "manifest.json").read_text())
    manifest["run"]["version"] = metadata.version("netfold")
    (copied / "manifest.json").write_text(json.dumps(manifest))
    return copied


def test_a_checkpoint_goes_on_to_the_same_history(tmp_path: Path) -> None:
    epochs: list[float] = []
    given = options(nf.SDNE, stored_files.OPTIONS["sdne"])
    model = stored_files.checkpointed(given, state(tmp_path), on_epoch=lambda record: epochs.append(record["epoch"]))
    expected = json.loads((STORED / "history.json").read_text())
    assert epochs == [5, 6, 7, 8]
    assert len(model.history_) == len(expected) == stored_files.EPOCHS
    for found, record in zip(without_seconds(model.history_), without_seconds(expected), strict=True):
        assert found == pytest.approx(record, rel=1e-4)
    np.testing.assert_allclose(model.embedding_.vectors, arrays("checkpoint")["vectors"], rtol=1e-4, atol=1e-6)


def test_a_checkpoint_with_other_options_is_refused(tmp_path: Path) -> None:
    given = options(nf.SDNE, {**stored_files.OPTIONS["sdne"], "init": "svd"})
    with pytest.raises(nf.InputError, match=r"another configuration \((pretrain|init) differs\)"):
        stored_files.checkpointed(given, state(tmp_path))


def test_a_graph() -> None:
    found, expected = nf.Graph.load(STORED / "graph"), stored_files.graph()
    assert found.fingerprint == expected.fingerprint and list(found.nodes) == list(expected.nodes)


@pytest.mark.parametrize("ending", ["npz", "parquet"])
def test_an_embedding(ending: str) -> None:
    found, expected = nf.Embedding.load(STORED / f"embedding.{ending}"), stored_files.embedding()
    assert list(found.nodes) == list(expected.nodes)
    assert np.array_equal(found.vectors, expected.vectors) and np.array_equal(found.std, expected.std)
