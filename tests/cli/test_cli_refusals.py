"""Bad input on the command line: one sentence, exit code 2, and nothing left behind."""

from __future__ import annotations

import errno
import json
import os
from pathlib import Path

import pytest

import netfold as nf
from command import KEPT, QUICK, refuse

pytestmark = pytest.mark.usefixtures("edges_csv")


# -------------------------------------------------------------------- files and arguments

BAD_FILES: dict[str, bytes] = {
    "empty": b"",
    "binary": bytes(range(256)) * 9,
    "one column": b"a\nb\nc\n",
    "negative weight": b"a,b,-1\nb,c,1\n",
    "NaN weight": b"a,b,1\nb,c,nan\n",
    "infinite weight": b"a,b,1\nb,c,inf\n",
    "text weight": b"source,target,weight\na,b,heavy\n",
    "no edges": b"source,target\n",
    "one node": b"a,a\n",
    "weights of 0": b"a,b,0\nb,c,0\n",
}


@pytest.mark.parametrize("content", BAD_FILES.values(), ids=BAD_FILES)
@pytest.mark.parametrize("verb", ["fit", "transform"])
def test_a_bad_file_is_refused(verb: str, content: bytes, people: Path) -> None:
    Path("bad.csv").write_bytes(content)
    args = (
        ["fit", "sdne", "bad.csv", "-o", "model"] if verb == "fit" else ["transform", people, "bad.csv", "-o", "n.npz"]
    )
    assert len(refuse(*args)) > 30


@pytest.mark.parametrize("path", ["nowhere.csv", "folder"])
@pytest.mark.parametrize("verb", ["fit", "transform", "info"])
def test_a_missing_file_or_a_folder_is_refused(verb: str, path: str, people: Path) -> None:
    Path("folder").mkdir()
    args = {"fit": ["sdne", path, "-o", "m"], "transform": [people, path, "-o", "n.npz"], "info": [path]}[verb]
    assert path in refuse(verb, *args)


USAGE = {
    "dim below 1": ("fit sdne edges.csv -o m --dim 0", "--dim"),
    "no number": ("fit sdne edges.csv -o m --alpha much", "--alpha"),
    "unknown choice": ("fit sdne edges.csv -o m --activation relu", "tanh"),
    "unknown flag": ("fit sdne edges.csv -o m --dmi 3", "--dim"),
    "unknown model": ("fit word2vec edges.csv -o m", "sdne"),
    "no output": ("fit sdne edges.csv", "--out"),
    "no edges": ("fit sdne -o m", "EDGES"),
    "unknown verb": ("fti sdne", "fti"),
    "unknown metric": ("nearest MODEL Ann --metric taxicab", "cosine"),
    "no neighbor": ("nearest MODEL Ann -k 0", "-k"),
    "unknown label": ("nearest MODEL anne", "Ann"),
    "unknown label, unlike any": ("nearest MODEL 77777", "Ann"),
    "unknown ending": ("export MODEL -o vectors.doc", ".parquet"),
    "unknown ending of new": ("transform MODEL edges.csv -o vectors.doc", ".parquet"),
    "unknown method": ("map MODEL -o m.png --method umap", "tsne"),
    "not a model": ("nearest nowhere Ann", "nowhere"),
    "an edge file for a model": ("nearest edges.csv Ann", "edges.csv"),
    "negative time": ("fit sdne edges.csv -o m --checkpoint-every -1", "--checkpoint-every"),
    "a state in the model": ("fit sdne edges.csv -o m --checkpoint m/state", "m/state"),
    "no such parent": ("fit sdne edges.csv -o no/such/m", "no/such"),
    "no such parent of a file": ("export MODEL -o no/such/v.npz", "no/such"),
    "pretraining that does not fit": ("fit sdne edges.csv -o m --init dbn", "sigmoid"),
}


@pytest.mark.parametrize("line, named", USAGE.values(), ids=USAGE)
def test_bad_usage_is_refused(line: str, named: str, people: Path) -> None:
    assert named in refuse(*line.replace("MODEL", str(people)).split())


# -------------------------------------------------------------------- where to write


def test_an_output_that_exists_is_refused_before_anything_is_read() -> None:
    Path("model").mkdir()
    said = refuse("fit", "sdne", "nowhere.csv", "-o", "model")
    assert "model exists" in said and "--force" in said


def test_a_folder_that_cannot_be_written_is_refused_before_training(
    monkeypatch: pytest.MonkeyPatch, people: Path
) -> None:
    monkeypatch.setattr("netfold.io.files.os.access", lambda *_: False)
    monkeypatch.setattr(nf.SDNE, "fit", lambda *_, **__: pytest.fail("trained for nothing"))
    for args in (
        ["fit", "sdne", "edges.csv", "-o", "m"],
        ["export", people, "-o", "v.npz"],
        ["map", people, "-o", "m.png"],
    ):
        assert "cannot be written to" in refuse(*args)


@pytest.mark.parametrize("verb", ["fit", "fit with a checkpoint", "export", "transform", "map"])
def test_a_full_disk_is_one_sentence_and_leaves_nothing(
    verb: str, monkeypatch: pytest.MonkeyPatch, people: Path
) -> None:
    Path("later.csv").write_text("Eve,Ann,1\n")
    Path("state").mkdir()

    def full(path: Path) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))

    monkeypatch.setattr("netfold.io.files._fsync", full)
    args: dict[str, list[object]] = {
        "fit": ["fit", "sdne", "edges.csv", "-o", "m", *QUICK],
        "fit with a checkpoint": ["fit", "sdne", "edges.csv", "-o", "m", *QUICK, *KEPT],
        "export": ["export", people, "-o", "v.npz"],
        "transform": ["transform", people, "later.csv", "-o", "v.npz"],
        "map": ["map", people, "-o", "m.png"],
    }  # fmt: skip
    assert "No space left" in refuse(*args[verb])


def test_a_disk_that_fills_up_outside_our_staging_is_one_sentence_too(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "metrics.jsonl")

    monkeypatch.setattr(nf.SDNE, "fit", full)
    assert "metrics.jsonl: No space left" in refuse("fit", "sdne", "edges.csv", "-o", "m")


# -------------------------------------------------------------------- models


@pytest.mark.parametrize(
    "damage", ["truncated", "changed", "no manifest", "no json", "no list", "other version", "missing"]
)
@pytest.mark.parametrize("verb", ["nearest", "info"])
def test_a_damaged_model_is_refused(verb: str, damage: str, people: Path) -> None:
    folder = Path("model")
    folder.mkdir()
    for file in people.iterdir():
        (folder / file.name).write_bytes(file.read_bytes())
    tensors, manifest = folder / "tensors.safetensors", folder / "manifest.json"
    if damage == "truncated":
        tensors.write_bytes(tensors.read_bytes()[:-9])
    elif damage == "changed":
        tensors.write_bytes(tensors.read_bytes()[:-1] + b"\x99")
    elif damage == "no manifest":
        manifest.unlink()
    elif damage == "missing":
        tensors.unlink()
    else:
        facts = json.loads(manifest.read_text(encoding="utf-8"))
        made = {"no json": "{", "no list": json.dumps([facts]), "other version": json.dumps(facts | {"format": 99})}
        manifest.write_text(made[damage])
    assert "model" in refuse(verb, folder, *(["Ann"] if verb == "nearest" else []))
