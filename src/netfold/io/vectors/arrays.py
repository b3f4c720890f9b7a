"""Numpy's own files: `.npz`, an archive of arrays, and `.npy`, a single one with the nodes beside it."""

from __future__ import annotations

import warnings
import zipfile
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from netfold.data.nodes import Nodes
from netfold.errors import InputError
from netfold.io.files import check_writable, staged_file
from netfold.io.vectors.contents import ONE_LINE, Stored, fingerprint, nodes_as_text, nodes_from_text, verified

_FORMAT = 1
_NPY_HEADERS = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}


def write_npz(path: Path, stored: Stored, *, force: bool) -> None:
    """The arrays as they are, not compressed."""
    arrays: dict[str, npt.NDArray[Any]] = {"format": np.array(_FORMAT), "vectors": stored.vectors}
    if stored.std is not None:
        arrays["std"] = stored.std
    if stored.fitted_to is not None:
        arrays["fitted_to"] = np.frombuffer(stored.fitted_to.encode(), np.uint8)
    arrays |= {f"{stored.nodes.kind}_{name}": array for name, array in stored.nodes.arrays().items()}
    with staged_file(path) as part, part.open("wb") as file:
        np.savez(file, **arrays)  # type: ignore[arg-type]  # numpy's own keyword is not among our names


def read_npz(path: Path) -> Stored:
    """What `write_npz` wrote."""
    with zipfile.ZipFile(path) as archive:
        names = {info.filename.removesuffix(".npy"): info for info in archive.infolist()}
        if not {"format", "vectors"} <= set(names):
            raise InputError("it is not an npz file that netfold wrote")
        if (version := int(_entry(archive, names["format"]).ravel()[0])) != _FORMAT:
            raise InputError(f"it has format {version}; this netfold reads format {_FORMAT}: update netfold")
        std = _entry(archive, names["std"]) if "std" in names else None
        graph = _entry(archive, names["fitted_to"]).tobytes() if "fitted_to" in names else b""
        fitted_to = fingerprint(graph.decode(errors="replace"))
        return Stored(_npz_nodes(archive, names), _entry(archive, names["vectors"]), std, fitted_to)


def _npz_nodes(archive: zipfile.ZipFile, names: dict[str, zipfile.ZipInfo]) -> Nodes:
    for kind, parts in {"int": ["ints"], "text": ["offsets", "bytes"], "json": ["offsets", "bytes"]}.items():
        if all(f"{kind}_{x}" in names for x in parts):
            return verified(Nodes(kind, {x: _entry(archive, names[f"{kind}_{x}"]) for x in parts}))
    raise InputError("it holds no nodes")


def _entry(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> npt.NDArray[Any]:
    if info.compress_type != zipfile.ZIP_STORED:
        raise InputError(f"{info.filename} is compressed; netfold writes arrays as they are, and reads no others")
    with archive.open(info) as file:
        return _array(file, info.file_size)


def write_npy(path: Path, stored: Stored, *, force: bool) -> None:
    """The vectors, and the nodes in a file beside them."""
    nodes = nodes_as_text(stored.nodes, ONE_LINE, "is empty or has a line break")
    beside = _nodes_path(path)
    check_writable(beside, force=force)
    with staged_file(path) as part:  # both are whole before either takes its name
        with part.open("wb") as file:
            np.save(file, stored.vectors, allow_pickle=False)
        with staged_file(beside) as text:
            text.write_bytes("".join(f"{x}\n" for x in nodes).encode())


def read_npy(path: Path) -> Stored:
    """The vectors of an npy file, and the nodes beside it."""
    with path.open("rb") as file:
        vectors = _array(file, path.stat().st_size)
    lines = _nodes_path(path).read_bytes().decode().replace("\r\n", "\n").removesuffix("\n")
    return Stored(nodes_from_text(lines.split("\n") if lines else []), vectors, None)


def _nodes_path(path: Path) -> Path:
    return path.with_suffix(".labels.txt")


def _array(file: IO[bytes], size: int) -> npt.NDArray[Any]:
    """The array of an npy file of `size` bytes; its header is believed only where it fits the size."""
    version = np.lib.format.read_magic(file)
    if version not in _NPY_HEADERS:
        raise InputError(f"it has npy version {version}; 1.0 and 2.0 are read")
    with warnings.catch_warnings(action="ignore"):  # of headers that Python 2 wrote, or that are damaged
        shape, fortran, dtype = _NPY_HEADERS[version](file)
    count = 1
    for length in shape:
        count *= int(length)
    if dtype.kind not in "iuf" or min(shape, default=0) < 0 or count * dtype.itemsize != size - file.tell():
        raise InputError(f"its header declares {shape} of {dtype}, which does not fit its {size:,} bytes")
    content = file.read()
    return np.frombuffer(content, dtype=dtype, count=count).reshape(shape, order="F" if fortran else "C")
