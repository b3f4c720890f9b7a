"""Tensors in a folder: a manifest that says what is there and how it hashes, and safetensors beside it. No pickle."""

from __future__ import annotations

import json
import math
import reprlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from netfold.errors import InputError
from netfold.io.files import read_facts, recover, sha256

__all__ = [
    "check_files", "check_finite", "check_hashes", "check_records", "file_facts", "read_manifest", "read_records",
    "read_tensors", "tensor_places", "tensor_shapes", "write_manifest", "write_records", "write_tensors",
]  # fmt: skip

FORMAT = 1
_MAX_HEADER = 1 << 20
"""A safetensors header of ours is far shorter than this; a longer one is refused before it is read."""
_MAX_RECORDS = 1 << 26
_DTYPES = {
    "float32": "F32", "float64": "F64", "int16": "I16", "int32": "I32", "int64": "I64", "uint8": "U8", "bool": "BOOL"
}  # fmt: skip
"""The kinds of numbers that models hold, as safetensors names them."""


def write_tensors(path: Path, tensors: Mapping[str, Any]) -> None:
    """Write arrays or tensors under their names, one at a time: a table on the GPU is fetched when its turn comes.

    A safetensors file is the length of its header (8 bytes, little-endian), the header (json, padded to 8 bytes), and
    the numbers, the widest first so that each array is aligned. The library's own writer takes a transposed array for
    a contiguous one, and its error on a full disk is no OSError.
    """
    header, end = {}, 0
    order = sorted(tensors, key=lambda name: (-_dtype(tensors[name]).itemsize, name))
    for name in order:
        start, end = end, end + _dtype(tensors[name]).itemsize * math.prod(tensors[name].shape)
        kind = _DTYPES[_dtype(tensors[name]).name]
        header[name] = {"dtype": kind, "shape": list(tensors[name].shape), "data_offsets": [start, end]}
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with path.open("wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        for name in order:
            file.write(_little_endian(tensors[name]))


def _dtype(x: Any) -> np.dtype[Any]:
    return np.dtype(str(x.dtype).removeprefix("torch."))


def _little_endian(x: Any) -> memoryview:
    array = x if isinstance(x, np.ndarray) else x.numpy(force=True)
    return np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<")).data


def file_facts(path: Path) -> dict[str, Any]:
    """Size and hash of a file, for a manifest."""
    return {"name": path.name, "size": path.stat().st_size, "sha256": sha256(path)}


def read_manifest(folder: Path, kind: str, *, hashed: bool = True) -> dict[str, Any]:
    """The manifest of a folder, of a known version, whose files lie in the folder and are what it says.

    With `hashed=False` the files are there, as long as it says, and hold no more than they say; `check_hashes` is left
    to who knows more of what they should hold, and looks at that first.
    """
    if not folder.exists():
        recover(folder)
    manifest = read_facts(folder / "manifest.json", FORMAT, kind)
    _checked_files(folder, manifest.get("files"))
    if hashed:
        check_hashes(folder, manifest["files"])
    return manifest


def write_manifest(folder: Path, kind: str, facts: Mapping[str, Any], files: list[Path]) -> None:
    """Write the manifest last, once its files are there."""
    listed = [file_facts(f) for f in files]
    text = json.dumps({"format": FORMAT, "kind": kind, **facts, "files": listed}, indent=1, ensure_ascii=False)
    (folder / "manifest.json").write_text(text, encoding="utf-8")


def check_files(folder: Path, files: Any, names: Sequence[str] = ()) -> None:
    """Refuse files that are not those which a manifest lists; `names` are those that it must list, where it must.

    All that is cheap is looked at before anything is hashed: a file that is refused in the end costs nothing.
    """
    _checked_files(folder, files, names)
    check_hashes(folder, files)


def _checked_files(folder: Path, files: Any, names: Sequence[str] = ()) -> None:
    """All of `check_files` but the hashes."""
    if not isinstance(files, list) or not files:
        raise InputError(f"{folder} is damaged: its manifest lists no files")
    listed = [_listed(folder, entry) for entry in files]
    if not {path.name for path in listed} >= set(names):
        raise InputError(f"{folder} is damaged: its manifest does not list {', '.join(names)}")
    for path in listed:
        _check_bounds(path)


def check_hashes(folder: Path, files: Sequence[Mapping[str, Any]]) -> None:
    """Refuse files whose content is not what the manifest says; they are those of `read_manifest`."""
    for entry in files:
        if sha256(folder / entry["name"]) != entry.get("sha256"):
            raise InputError(f"{folder} is damaged: {entry['name']} is not the file that was saved (its hash differs)")


def _listed(folder: Path, entry: Any) -> Path:
    """The file that an entry of a manifest names: a plain one in the folder, of the size that it says."""
    name = entry.get("name") if isinstance(entry, dict) else None
    if not isinstance(name, str) or Path(name).name != name or name in ("", ".", ".."):
        raise InputError(
            f"{folder} is not safe to open: its manifest names {reprlib.repr(name)}, which is outside the folder"
        )
    path = folder / name
    if path.is_symlink() or not path.is_file():
        raise InputError(f"{folder} is damaged: {reprlib.repr(name)} is missing, or is not a plain file")
    if path.stat().st_size != entry.get("size"):
        raise InputError(f"{folder} is damaged: {name} is not the file that was saved (its hash differs)")
    return path


def _check_bounds(path: Path) -> None:
    """Refuse a file that is longer than what it says it holds, before its bytes are read."""
    if path.suffix == ".safetensors":
        _check_header(path)
    elif path.suffix == ".jsonl":
        _check_length(path)


def _check_header(path: Path) -> None:
    """Refuse a safetensors file whose header is too long, or does not account for each of its bytes."""
    tensor_shapes(path)


def tensor_shapes(path: Path) -> dict[str, tuple[str, tuple[int, ...]]]:
    """The kind of numbers (as numpy calls it) and the shape of each tensor of a file, by its header alone.

    A header that is too long, or does not account for each of the file's bytes, is refused.
    """
    with path.open("rb") as file:
        length = int.from_bytes(file.read(8), "little")
        if length > _MAX_HEADER:
            raise InputError(f"{path} is not safe to open: its header claims {length:,} bytes")
        text = file.read(length)
    try:
        header = {name: x for name, x in json.loads(text).items() if name != "__metadata__"}
        held = 8 + length + max((x["data_offsets"][1] for x in header.values()), default=0)
        shapes = {name: (str(x["dtype"]), tuple(map(int, x["shape"]))) for name, x in header.items()}
    except (ValueError, RecursionError, AttributeError, KeyError, TypeError, IndexError, OverflowError):
        raise InputError(f"{path} is damaged: its header does not describe tensors") from None
    if held != path.stat().st_size:
        raise InputError(f"{path} is damaged: its header accounts for {held:,} bytes of {path.stat().st_size:,}")
    kinds = {kind: name for name, kind in _DTYPES.items()}
    odd = next((name for name, (kind, _) in shapes.items() if kind not in kinds), None)
    if odd is not None:
        said = f"{reprlib.repr(odd)} holds {reprlib.repr(shapes[odd][0])}"
        raise InputError(f"{path} is damaged: {said}, which no model does")
    return {name: (kinds[kind], shape) for name, (kind, shape) in shapes.items()}


def tensor_places(path: Path) -> dict[str, tuple[np.dtype[Any], tuple[int, ...], int, int]]:
    """Where each array of a file lies: its kind, its shape, and the bytes from and to; refused where that is not so."""
    _check_header(path)
    with path.open("rb") as file:
        length = int.from_bytes(file.read(8), "little")
        header = json.loads(file.read(length))
    kinds = {short: np.dtype(name).newbyteorder("<") for name, short in _DTYPES.items()}
    places = {}
    for name, entry in header.items():
        if name == "__metadata__":
            continue
        try:
            dtype, shape, (start, end) = kinds[entry["dtype"]], tuple(entry["shape"]), entry["data_offsets"]
            plain = all(type(x) is int and x >= 0 for x in (*shape, start, end))
        except (KeyError, TypeError, ValueError):
            plain = False
        if not plain or end - start != dtype.itemsize * math.prod(shape) or start % dtype.itemsize:
            raise InputError(f"{path} is damaged: its header does not describe {reprlib.repr(name)}")
        places[name] = (dtype, shape, 8 + length + start, 8 + length + end)
    return places


def _check_length(path: Path) -> None:
    if path.stat().st_size > _MAX_RECORDS:
        raise InputError(f"{path} is damaged: it is longer than {_MAX_RECORDS:,} bytes")


def read_tensors(path: Path, wanted: Callable[[str], bool] = lambda name: True) -> dict[str, npt.NDArray[Any]]:
    """The arrays of a file by name, those that are `wanted`."""
    from safetensors import SafetensorError, safe_open

    _check_header(path)
    try:
        with safe_open(path, framework="numpy") as reader:
            tensors = {name: reader.get_tensor(name) for name in reader.keys() if wanted(name)}  # noqa: SIM118
    except (SafetensorError, AttributeError, TypeError, ValueError) as e:  # the last: numbers that numpy does not know
        raise InputError(f"{path} is damaged: {e}") from None
    return tensors


def check_finite(path: Path, tensors: Mapping[str, npt.NDArray[Any]]) -> None:
    """Refuse a number that is not finite: what is computed from it would be none either, and nobody would be told."""
    for name, array in tensors.items():
        if array.dtype.kind == "f" and array.size and not (np.isfinite(array.min()) and np.isfinite(array.max())):
            raise InputError(f"{path} is damaged: {reprlib.repr(name)} holds a number that is not finite")


def write_records(path: Path, records: list[dict[str, float]]) -> None:
    """One json object a line."""
    path.write_text("".join(json.dumps(r) + "\n" for r in records), encoding="utf-8")


def read_records(path: Path) -> list[dict[str, float]]:
    """The records of a run; their file was checked against the manifest, its length is bounded here."""
    _check_length(path)
    try:
        records = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    except (ValueError, RecursionError):
        raise InputError(f"{path} is damaged: it is not json") from None
    return check_records(records, path)


def check_records(history: Any, path: Path) -> list[dict[str, float]]:
    """What was read, if it is a record of numbers for each epoch."""
    records: list[Any] = history if isinstance(history, list) else [None]
    for i, record in enumerate(records):
        numbers = isinstance(record, dict) and all(type(x) in (int, float) for x in record.values())
        if not numbers or record.get("epoch") != i + 1 or "objective" not in record:
            raise InputError(f"{path} is damaged: epoch {i + 1} has no record of numbers")
    return records
