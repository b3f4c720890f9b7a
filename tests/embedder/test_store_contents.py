"""Tensors and metrics that are not what was saved, though the manifest vouches for them; bytes flipped anywhere."""

from __future__ import annotations

import json
import os
import re
import shutil
import struct
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from netfold.embedder.store import load
from netfold.errors import InputError
from netfold.io import tensors as store
from refusals import refused
from saved_models import LATER, assert_same, model, refusal, reseal

# -------------------------------------------------------------------- what is looked at before it is believed


def test_equal_names_are_refused(saved_model: Path) -> None:
    path = saved_model / "tensors.safetensors"
    tensors = store.read_tensors(path)
    names = tensors["labels.bytes"].copy()
    names[3:6] = names[:3]  # ann, bob
    store.write_tensors(path, tensors | {"labels.bytes": names})
    reseal(saved_model)
    assert "duplicate node 'ann'" in refused(load, saved_model)


def test_an_option_that_no_model_has_names_the_folder(saved_model: Path) -> None:
    manifest = json.loads((saved_model / "manifest.json").read_text())
    manifest["config"]["depth"] = 3  # of a later version
    (saved_model / "manifest.json").write_text(json.dumps(manifest))
    said = refused(load, saved_model)
    assert said.startswith(f"{saved_model} is damaged, or of another version than ") and "no option 'depth'" in said


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_networks_that_are_not_finite_are_refused(value: float, saved_model: Path) -> None:
    path = saved_model / "tensors.safetensors"
    tensors = store.read_tensors(path)
    bias = tensors["network.first.bias"].copy()
    bias[1] = value
    store.write_tensors(path, tensors | {"network.first.bias": bias})
    reseal(saved_model)
    assert "'network.first.bias' holds a number that is not finite" in refusal(saved_model)


@pytest.mark.parametrize(("name", "said"), [("tensors.safetensors", "accounts for"), ("metrics.jsonl", "longer than")])
def test_bounds_are_looked_at_before_anything_is_hashed(
    name: str, said: str, saved_model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    os.truncate(saved_model / name, 1 << 36)  # 64 GiB that take no room
    manifest = json.loads((saved_model / "manifest.json").read_text())
    for entry in manifest["files"]:
        entry["size"] = (saved_model / entry["name"]).stat().st_size
    (saved_model / "manifest.json").write_text(json.dumps(manifest))
    monkeypatch.setattr(store, "sha256", lambda path: pytest.fail("hashed"))
    assert said in refusal(saved_model)


@pytest.mark.parametrize(
    ("name", "shape", "said"),
    [
        ("more", [1 << 34], "'more' is no part of it"),
        ("vectors", [5, (1 << 34) // 5 * 5], "its vectors have"),
        ("vectors", [1 << 34, 1], "rows for 5 nodes"),
        ("network.first.bias", [1 << 34], "size mismatch"),
        ("labels.offsets", [1 << 33], "for 5 nodes"),
    ],
)
def test_a_huge_file_that_accounts_for_its_bytes_is_not_hashed(
    name: str, shape: list[int], said: str, saved_model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """64 GiB that take no room: what the file holds is more than the model that the manifest describes."""
    path = saved_model / "tensors.safetensors"
    raw = path.read_bytes()
    length = int.from_bytes(raw[:8], "little")
    header, end = json.loads(raw[8 : 8 + length]), len(raw) - 8 - length
    kind = header.get(name, {"dtype": "F32"})["dtype"]
    size = int(np.prod(shape, dtype=np.int64)) * (8 if kind == "I64" else 4)
    header[name] = {"dtype": kind, "shape": shape, "data_offsets": [end, end + size]}
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + raw[8 + length :])
    os.truncate(path, 8 + len(text) + end + size)
    manifest = json.loads((saved_model / "manifest.json").read_text())
    manifest["files"][0]["size"] = path.stat().st_size
    (saved_model / "manifest.json").write_text(json.dumps(manifest))
    monkeypatch.setattr(store, "sha256", lambda path: pytest.fail("hashed"))
    assert said in refusal(saved_model)


def test_more_layers_than_tensors_are_refused_before_a_network_is_built(saved_model: Path) -> None:
    reseal(saved_model, lambda m: m["config"].update(hidden=[1] * 100_000))
    start = time.perf_counter()
    assert "100,000 layers of" in refusal(saved_model)
    assert time.perf_counter() - start < 5


# -------------------------------------------------------------------- tensors


@pytest.mark.parametrize("cut", [0, 4, 8, 20, -200, -1])
def test_truncated_tensors_that_the_manifest_vouches_for(cut: int, saved_model: Path) -> None:
    path = saved_model / "tensors.safetensors"
    path.write_bytes(path.read_bytes()[:cut])
    reseal(saved_model)
    assert "tensors.safetensors is damaged" in refusal(saved_model)


@pytest.mark.parametrize("claim", [2**40, 2**63, 2**64 - 1, (1 << 20) + 1])
def test_a_header_that_claims_too_much_is_not_read(claim: int, saved_model: Path) -> None:
    path = saved_model / "tensors.safetensors"
    path.write_bytes(struct.pack("<Q", claim) + path.read_bytes()[8:])
    reseal(saved_model)
    assert f"tensors.safetensors is not safe to open: its header claims {claim:,} bytes" in refusal(saved_model)


def put(**changed: Any) -> Callable[[dict[str, Any]], None]:
    return lambda tensors: tensors.update({k.replace("__", "."): v for k, v in changed.items()})


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda t: t.pop("vectors"), "do not fit together ('vectors')"),
        (lambda t: t.pop("network.first.bias"), "Missing key(s)"),
        (lambda t: t.pop("labels.bytes"), "do not fit together"),
        (lambda t: t.clear(), "do not fit together"),
        (put(network__more=np.zeros(2, np.float32)), "'network.more' is no part of it"),
        (put(code=np.zeros(2, np.uint8)), "'code' is no part of it"),
        (put(labels__more=np.zeros(2, np.uint8)), "'labels.more' is no part of it"),
        (put(network__first__bias=np.zeros(6, np.float32)), "size mismatch"),
        (put(network__first__bias=np.zeros(5, np.float64)), "holds torch.float64, not torch.float32"),
        (put(network__first__bias=np.zeros(5, np.int32)), "holds torch.int32, not torch.float32"),
        (put(vectors=np.zeros((4, 3), np.float32)), "vectors has 4 rows for 5 nodes"),
        (put(vectors=np.zeros((6, 3), np.float32)), "vectors has 6 rows for 5 nodes"),
        (put(vectors=np.zeros((5, 2), np.float32)), "its vectors have 2 numbers where dim=3"),
        (put(vectors=np.zeros(5, np.float32)), "vectors has the shape (5,)"),
        (put(vectors=np.full((5, 3), np.nan, np.float32)), "not finite"),
        (put(std=np.zeros((5, 3), np.float32)), "is not above 0"),
        (put(labels__offsets=np.zeros(6, np.int64)), "offsets do not fit"),
        (put(labels__offsets=np.zeros(6, np.float32)), "damaged where they are stored"),
        (put(labels__offsets=np.array([0, 3, 6, 9, 21], np.int64)), "5 rows for 4 nodes"),
    ],
)
def test_tensors_that_say_something_else(change: Callable[[dict[str, Any]], Any], said: str, saved_model: Path) -> None:
    tensors = store.read_tensors(saved_model / "tensors.safetensors")
    change(tensors)
    store.write_tensors(saved_model / "tensors.safetensors", tensors)
    reseal(saved_model)
    with pytest.raises(InputError, match=re.escape(said)):
        load(saved_model)


@pytest.mark.parametrize("dtype", ["F16", "BF16", "I8", "U64", "F8_E4M3", "X"])
def test_kinds_of_numbers_that_no_model_holds(dtype: str, saved_model: Path) -> None:
    size = {"F16": 2, "BF16": 2, "I8": 1, "U64": 8, "F8_E4M3": 1, "X": 1}[dtype]
    header = json.dumps({"vectors": {"dtype": dtype, "shape": [1], "data_offsets": [0, size]}}).encode()
    raw = struct.pack("<Q", len(header)) + header + bytes(size)
    (saved_model / "tensors.safetensors").write_bytes(raw)
    reseal(saved_model)
    assert "tensors.safetensors is damaged" in refusal(saved_model)


@pytest.mark.parametrize(
    "header",
    [
        b"",
        b"{",
        b"[]",
        b"[" * 50_000,
        b'{"vectors": 3}',
        b'{"vectors": {"dtype": "F32", "shape": [4], "data_offsets": [0, 999999999]}}',
        b'{"vectors": {"dtype": "F32", "shape": [1099511627776], "data_offsets": [0, 4]}}',
        b'{"vectors": {"dtype": "F32", "shape": [-1], "data_offsets": [0, 4]}}',
        b'{"vectors": {"dtype": "F32", "shape": [1], "data_offsets": [4, 0]}}',
        b'{"a": {"dtype": "U8", "shape": [4], "data_offsets": [0, 4]}, '
        b'"b": {"dtype": "U8", "shape": [4], "data_offsets": [0, 4]}}',
    ],
)
def test_headers_that_lie(header: bytes, saved_model: Path) -> None:
    (saved_model / "tensors.safetensors").write_bytes(struct.pack("<Q", len(header)) + header + bytes(4))
    reseal(saved_model)
    assert "damaged" in refusal(saved_model)


# -------------------------------------------------------------------- metrics


@pytest.mark.parametrize(
    "text",
    [
        "x",
        "[1]",
        "null",
        '{"epoch": 1}',
        '{"epoch": 1, "objective": "low"}',
        '{"epoch": 2, "objective": 1}',
        "[" * 99_999,
    ],
)
def test_metrics_that_are_no_records(text: str, saved_model: Path) -> None:
    (saved_model / "metrics.jsonl").write_text(text)
    reseal(saved_model)
    assert "metrics.jsonl is damaged" in refusal(saved_model)


# -------------------------------------------------------------------- bytes flipped


@settings(deadline=None, max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_bytes_flipped_anywhere_give_an_error_or_the_same_model(
    data: st.DataObject, saved_model: Path, tmp_path: Path
) -> None:
    shutil.rmtree(tmp_path / "fuzz", ignore_errors=True)
    folder = Path(shutil.copytree(saved_model, tmp_path / "fuzz"))
    path = folder / data.draw(st.sampled_from(sorted(os.listdir(folder))))
    raw = bytearray(path.read_bytes())
    for _ in range(data.draw(st.integers(1, 3))):
        raw[data.draw(st.integers(0, len(raw) - 1))] = data.draw(st.integers(0, 255))
    path.write_bytes(raw)
    try:
        found = load(folder)
    except InputError:
        return
    if path.name == "manifest.json":  # it vouches for the others and nothing for it: a digit of an option may differ
        assert found.embedding_.vectors.tobytes() == model().embedding_.vectors.tobytes()
    else:
        assert_same(model(), found)


@settings(deadline=None, max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_bytes_flipped_under_a_manifest_that_vouches_for_them(
    data: st.DataObject, saved_model: Path, tmp_path: Path
) -> None:
    """What an attacker does: the result may be another model, never another exception than InputError."""
    shutil.rmtree(tmp_path / "fuzz", ignore_errors=True)
    folder = Path(shutil.copytree(saved_model, tmp_path / "fuzz"))
    path = folder / data.draw(st.sampled_from(["tensors.safetensors", "metrics.jsonl"]))
    raw = bytearray(path.read_bytes())
    most = min(len(raw), 8 + int.from_bytes(raw[:8], "little")) if path.suffix == ".safetensors" else len(raw)
    for _ in range(data.draw(st.integers(1, 4))):
        raw[data.draw(st.integers(0, most - 1))] = data.draw(st.integers(0, 255))
    path.write_bytes(raw)
    reseal(folder)
    try:
        found = load(folder)
        list(found.embedding_.nodes)
        found.transform(LATER)
    except InputError as e:
        assert "\n" not in str(e)
