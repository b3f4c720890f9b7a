"""Tensors in a folder: a manifest that says what is there and how it hashes, and safetensors beside it. No pickle."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy.typing as npt

from netfold.errors import InputError
from netfold.files import sha256
from netfold.interop import read_facts

__all__ = ["describe", "open_tensors", "read_manifest", "read_records", "write_manifest", "write_records", "write_tensors"]

FORMAT = 1
_MAX_HEADER = 1 << 20
"""A safetensors header of ours is far shorter than this; a longer one is refused before it is read."""
_MAX_RECORDS = 1 << 26


def write_tensors(path: Path, tensors: Mapping[str, npt.NDArray[Any]]) -> None:
    """Write arrays under their names."""
    from safetensors.numpy import save_file

    save_file(dict(tensors), path)


def describe(path: Path) -> dict[str, Any]:
    """Size and hash of a file, for a manifest."""
    return {"name": path.name, "size": path.stat().st_size, "sha256": sha256(path)}


def read_manifest(folder: Path, kind: str) -> dict[str, Any]:
    """The manifest of a folder, of a known version, whose files lie in the folder and are what it says."""
    manifest = read_facts(folder / "manifest.json", FORMAT, kind)
    files = manifest.get("files")
    if not isinstance(files, list) or not files:
        raise InputError(f"{folder} is damaged: its manifest lists no files")
    for entry in files:
        _check_file(folder, entry)
    return manifest


def write_manifest(folder: Path, kind: str, facts: Mapping[str, Any], files: list[Path]) -> None:
    """Write the manifest last, once its files are there."""
    listed = [describe(f) for f in files]
    text = json.dumps({"format": FORMAT, "kind": kind, **facts, "files": listed}, indent=1, ensure_ascii=False)
    (folder / "manifest.json").write_text(text, encoding="utf-8")


def _check_file(folder: Path, entry: Any) -> None:
    name = entry.get("name") if isinstance(entry, dict) else None
    if not isinstance(name, str) or Path(name).name != name or name in ("", ".", ".."):
        raise InputError(f"{folder} is not safe to open: its manifest names {name!r}, which is outside the folder")
    path = folder / name
    if path.is_symlink() or not path.is_file():
        raise InputError(f"{folder} is damaged: {name} is missing, or is not a plain file")
    if path.stat().st_size != entry.get("size") or sha256(path) != entry.get("sha256"):
        raise InputError(f"{folder} is damaged: {name} is not the file that was saved (its hash differs)")


@contextmanager
def open_tensors(path: Path) -> Iterator[Any]:
    """A reader with `.keys()` and `.get_tensor(name)`; arrays are read when asked for."""
    from safetensors import SafetensorError, safe_open

    with path.open("rb") as file:
        header = int.from_bytes(file.read(8), "little")
    if header > _MAX_HEADER:
        raise InputError(f"{path} is not safe to open: its header claims {header:,} bytes")
    try:
        with safe_open(path, framework="numpy") as reader:
            yield reader
    except SafetensorError as e:
        raise InputError(f"{path} is damaged: {e}") from None


def write_records(path: Path, records: list[dict[str, float]]) -> None:
    """One json object a line."""
    path.write_text("".join(json.dumps(r) + "\n" for r in records), encoding="utf-8")


def read_records(path: Path) -> list[dict[str, float]]:
    """The records of a run; their file was checked against the manifest, its length is bounded here."""
    if path.stat().st_size > _MAX_RECORDS:
        raise InputError(f"{path} is damaged: it is longer than {_MAX_RECORDS:,} bytes")
    try:
        return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    except (ValueError, RecursionError):
        raise InputError(f"{path} is damaged: it is not json") from None
