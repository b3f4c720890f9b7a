"""Folders that are no saved model, or whose manifest says something else: refused in one sentence."""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from netfold.embedder.store import load
from netfold.errors import InputError
from netfold.models import SDNE
from saved_models import GRAPH, refusal, reseal

# -------------------------------------------------------------------- folders and files


def test_nothing_or_something_else_there(tmp_path: Path) -> None:
    assert "there is no folder" in refusal(tmp_path / "gone")
    assert "manifest.json is missing" in refusal(tmp_path)
    (tmp_path / "file").write_text("x")
    assert "manifest.json is missing" in refusal(tmp_path / "file")
    GRAPH.save(tmp_path / "graph")
    assert "manifest.json is missing" in refusal(tmp_path / "graph")
    SDNE(dim=2, epochs=1).fit(GRAPH, progress=False, checkpoint=tmp_path / "checkpoint")
    assert "does not describe a model" in refusal(tmp_path / "checkpoint")


@pytest.mark.parametrize("name", ["tensors.safetensors", "metrics.jsonl"])
def test_a_file_that_is_not_the_one_that_was_saved(name: str, saved_model: Path) -> None:
    path = saved_model / name
    good = path.read_bytes()
    for bad in (good[:-1], good[:-1] + bytes([good[-1] ^ 1]), b"", good + b"\n"):
        path.write_bytes(bad)
        assert f"{name} is not the file that was saved (its hash differs)" in refusal(saved_model)
    path.unlink()
    assert "is missing, or is not a plain file" in refusal(saved_model)
    path.mkdir()
    assert "is missing, or is not a plain file" in refusal(saved_model)


@pytest.mark.parametrize("name", ["../x", "/etc/passwd", "inner/x", "..", ".", "", "a\0b", 3, None, ["x"], "\ud800"])
def test_a_path_that_leads_out(name: Any, saved_model: Path) -> None:
    (saved_model.parent / "x").write_text("secret")
    (saved_model / "inner").mkdir()
    (saved_model / "inner" / "x").write_text("secret")
    for i in (0, 1):
        reseal(saved_model)
        reseal(saved_model, lambda m, i=i: m["files"][i].update(name=name))
        said = refusal(saved_model)
        assert "outside the folder" in said or "is not a plain file" in said
        reseal_names(saved_model)


def reseal_names(folder: Path) -> None:
    manifest = json.loads((folder / "manifest.json").read_text())
    for entry, name in zip(manifest["files"], ["tensors.safetensors", "metrics.jsonl"], strict=True):
        entry["name"] = name
    (folder / "manifest.json").write_text(json.dumps(manifest))


@pytest.mark.parametrize("name", ["tensors.safetensors", "metrics.jsonl", "manifest.json"])
def test_a_link_is_not_followed(name: str, saved_model: Path, tmp_path: Path) -> None:
    shutil.move(saved_model / name, tmp_path / "elsewhere")
    (saved_model / name).symlink_to(tmp_path / "elsewhere")
    assert "plain file" in refusal(saved_model)


@pytest.mark.parametrize("name", ["tensors.safetensors", "metrics.jsonl", "manifest.json"])
def test_a_pipe_is_not_waited_for(name: str, saved_model: Path) -> None:
    (saved_model / name).unlink()
    os.mkfifo(saved_model / name)
    assert "plain file" in refusal(saved_model)


# -------------------------------------------------------------------- manifests


NO_MANIFESTS = {
    "empty": "",
    "open": "{",
    "null": "null",
    "list": "[]",
    "number": "3",
    "text": '"x"',
    "deep": "[" * 100_000,
    "deep objects": '{"a":' * 100_000,
    "zero": "\x00",
    "nan": "NaN",
    "huge": "{}" + " " * (1 << 24),
    "long number": "1" * 5000,
}


@pytest.mark.parametrize("text", NO_MANIFESTS.values(), ids=NO_MANIFESTS)
def test_a_manifest_that_is_no_manifest(text: str, saved_model: Path) -> None:
    (saved_model / "manifest.json").write_text(text)
    assert "manifest.json" in refusal(saved_model)


def test_a_manifest_that_is_not_utf8(saved_model: Path) -> None:
    (saved_model / "manifest.json").write_bytes(b'{"kind": "\xff"}')
    assert "manifest.json is damaged: it is not json" in refusal(saved_model)


def nested(depth: int) -> Any:
    made: Any = 1
    for _ in range(depth):
        made = [made]
    return made


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda m: m.update(format=2), "has format 2; this netfold reads format 1: update netfold"),
        (lambda m: m.pop("format"), "has format None"),
        (lambda m: m.update(kind="graph"), "does not describe a model"),
        (lambda m: m.update(model="GPT"), "holds a 'GPT', which is none of"),
        (lambda m: m.update(model=nested(400)), "which is none of"),
        (lambda m: m.update(model=None), "holds a None, which is none of"),
        (lambda m: m.update(model="__class__"), "which is none of"),
        (lambda m: m.pop("files"), "lists no files"),
        (lambda m: m.update(files=[]), "lists no files"),
        (lambda m: m.update(files={"name": "x"}), "lists no files"),
        (lambda m: m.update(files=[3]), "outside the folder"),
        (lambda m: m["files"].pop(0), "does not list tensors.safetensors and metrics.jsonl"),
        (lambda m: m["files"].pop(1), "does not list tensors.safetensors and metrics.jsonl"),
        (lambda m: m["files"][0].pop("sha256"), "its hash differs"),
        (lambda m: m["files"][0].update(size=None), "its hash differs"),
        (lambda m: m.pop("config"), "its parts do not fit together"),
        (lambda m: m.update(config=None), "its parts do not fit together"),
        (lambda m: m.update(config=[["dim", 3]]), "do not fit together"),
        (lambda m: m["config"].update(evil="os.system"), "SDNE has no option 'evil'"),
        (lambda m: m["config"].update(__class__="x"), "SDNE has no option '__class__'"),
        (lambda m: m["config"].update(dim="3"), "dim='3' is not allowed"),
        (lambda m: m["config"].update(dim=3.0), "dim=3.0 is not allowed"),
        (lambda m: m["config"].update(dim=nested(400)), "is not allowed"),
        (lambda m: m["config"].update(hidden={"a": 1}), "hidden={'a': 1} is not allowed"),
        (lambda m: m["config"].update(lr=float("nan")), "lr=nan is not allowed"),
        (lambda m: m["config"].update(hidden=[10**9, 10**9]), "do not fit together"),  # an exabyte, never asked for
        (lambda m: m["config"].update(hidden=[2**62]), "do not fit together"),
        (lambda m: m["config"].update(hidden=[10**30]), "do not fit together"),
        (lambda m: m["config"].update(dim=10**12), "do not fit together"),
        (lambda m: m["config"].update(hidden=[5]), "do not fit together"),
        (lambda m: m["config"].update(dim=4), "do not fit together"),
        (lambda m: m.pop("graph"), "do not fit together"),
        (lambda m: m.update(graph="ab"), "do not fit together"),
        (lambda m: m.update(graph={}), "do not fit together"),
        (lambda m: m["graph"].update(directed="no"), "do not fit together"),
        (lambda m: m["graph"].update(n_nodes=6), "do not fit together"),
        (lambda m: m.pop("labels"), "do not fit together"),
        (lambda m: m.update(labels="int"), "do not fit together"),
        (lambda m: m.update(labels="pickle"), "unknown kind of nodes 'pickle'"),
    ],
)
def test_a_manifest_that_says_something_else(
    change: Callable[[dict[str, Any]], Any], said: str, saved_model: Path
) -> None:
    reseal(saved_model, change)
    with pytest.raises(InputError, match=re.escape(said)) as caught:
        load(saved_model)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 600
