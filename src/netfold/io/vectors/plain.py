"""`Stored`: what files of vectors hold; and the formats that numpy and csv write: .npz, .npy, .csv, .tsv, word2vec."""

from __future__ import annotations

import csv
import re
import warnings
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from netfold.data.nodes import Nodes
from netfold.data.text import counted
from netfold.errors import InputError
from netfold.io.files import check_writable, staged_file

__all__ = []


class Stored(NamedTuple):
    """What a file holds."""

    nodes: Nodes
    vectors: npt.NDArray[Any]
    std: npt.NDArray[Any] | None
    fitted_to: str | None = None
    """The fingerprint of a graph."""


def column_names(dim: int, with_std: bool) -> list[str]:
    """The names of the columns of numbers in a table."""
    return [f"{letter}{j}" for letter in ("vs" if with_std else "v") for j in range(dim)]


def verified(nodes: Nodes) -> Nodes:
    """Nodes from a file once more from what they say: readable, distinct, and each of a kind that nodes have."""
    if nodes.kind == "text":  # as they lie: to be distinct each is read
        nodes.check_distinct(indexed=True)
        return nodes
    return Nodes.of(nodes.arrays()["ints"] if nodes.kind == "int" else list(nodes))


def fingerprint(text: str) -> str | None:
    """What a file says that its vectors were fitted to, if that is a fingerprint."""
    return text if re.fullmatch("[0-9a-f]{64}", text) else None


WORD = re.compile(r"\S+")
ONE_LINE = re.compile(r"[^\n\r\v\f\x1c-\x1e\x85\u2028\u2029]+")
_INTEGER = re.compile(r"0|-?[1-9][0-9]{0,18}")


def nodes_as_text(nodes: Nodes, whole: re.Pattern[str], otherwise: str) -> list[str]:
    """The nodes as text, where the format can hold it and `nodes_from_text` makes the same nodes of it."""
    if nodes.kind == "json":
        odd = [x for x in nodes if not isinstance(x, str)]
        if odd:  # of some that were picked out of a mixture, all may be strings
            raise InputError(f"the node {odd[0]!r} would become text among others in this format; use .parquet or .npz")
    texts = [str(x) for x in nodes]
    for text in texts:
        if not whole.fullmatch(text):
            raise InputError(f"the node {text!r} {otherwise}, which this format cannot hold; use .parquet or .npz")
    return texts


def nodes_from_text(texts: list[str]) -> Nodes:
    """Integers where every node reads as one, as it does where they were written; strings otherwise."""
    if texts and all(map(_INTEGER.fullmatch, texts)):
        integers = Nodes.of(map(int, texts))
        if integers.kind == "int":
            return integers
    return Nodes.of(texts)


# -------------------------------------------------------------------- .npz, .npy


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


# -------------------------------------------------------------------- .csv, .tsv


_DELIMITERS = {".csv": ",", ".tsv": "\t"}


def write_delimited(path: Path, stored: Stored, *, force: bool) -> None:
    """A line of names, then a line for each node: its name, its vector and, where there is one, its `std`."""
    nodes, (_, vectors, std, _) = nodes_as_text(stored.nodes, ONE_LINE, "is empty or has a line break"), stored
    numbers = vectors if std is None else np.hstack([vectors, std])
    with staged_file(path) as part, part.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, delimiter=_DELIMITERS[path.suffix.lower()], lineterminator="\n")
        writer.writerow(["node", *column_names(vectors.shape[1], std is not None)])
        rows = zip(nodes, numbers.tolist(), strict=True)
        writer.writerows([node, *(f"{x:.9g}" for x in row)] for node, row in rows)


def read_delimited(path: Path) -> Stored:
    """The first column is the node and all others are numbers, whoever wrote it; the line of names may be missing.

    Where the names are those of `write_delimited`, the second half may be standard deviations.
    """
    nodes: list[str] = []
    with path.open(encoding="utf-8-sig", newline="") as file:
        rows = _rows(csv.reader(file, delimiter=_DELIMITERS[path.suffix.lower()], strict=True))
        line, first = next(rows, (0, []))
        names = first[1:] if not _are_numbers(first[1:]) else []
        if not names and first:
            rows = _chained((line, first), rows)
        vectors = [_numbers(row, line, nodes) for line, row in rows]
    if not vectors:
        raise InputError("it holds no line of a node and its numbers")
    odd = next((i for i, x in enumerate(vectors) if len(x) != len(vectors[0])), None)
    if odd is not None:
        raise InputError(f"{nodes[odd]!r} has {len(vectors[odd])} numbers, and {nodes[0]!r} {len(vectors[0])}")
    numbers, half = np.stack(vectors), len(vectors[0]) // 2
    with_std = bool(names) and names == column_names(half, True)
    return Stored(
        nodes_from_text(nodes), numbers[:, :half] if with_std else numbers, numbers[:, half:] if with_std else None
    )


def _rows(reader: Iterator[list[str]]) -> Iterator[tuple[int, list[str]]]:
    """The lines that hold something, numbered."""
    try:
        for i, row in enumerate(reader, start=1):
            if row:
                yield i, row
    except csv.Error as e:
        raise InputError(str(e)) from None


def _chained(first: tuple[int, list[str]], rest: Iterator[tuple[int, list[str]]]) -> Iterator[tuple[int, list[str]]]:
    yield first
    yield from rest


def _are_numbers(cells: list[str]) -> bool:
    try:
        np.array(cells, dtype=np.float32)
    except ValueError:
        return False
    return True


def _numbers(row: list[str], line: int, nodes: list[str]) -> npt.NDArray[np.float32]:
    if len(row) < 2 or not _are_numbers(row[1:]):
        raise InputError(f"line {line} is not a node and its numbers; to edges a model is fitted first (netfold fit)")
    nodes.append(row[0])
    return np.array(row[1:], dtype=np.float32)


# -------------------------------------------------------------------- word2vec's text and binary


_MAX_HEADER = 64


def write_text(path: Path, stored: Stored, *, force: bool) -> None:
    """A line for each node."""
    nodes = nodes_as_text(stored.nodes, WORD, "is empty or has white space")
    n, dim = stored.vectors.shape
    numbers = " %.9g" * dim + "\n"  # nine digits tell any two float32 apart
    with staged_file(path) as part, part.open("wb") as file:
        file.write(f"{n} {dim}\n".encode())
        rows = zip(nodes, stored.vectors, strict=True)
        file.writelines((node + numbers % tuple(row.tolist())).encode() for node, row in rows)


def read_text(path: Path) -> Stored:
    """Word2vec text, whoever wrote it."""
    nodes: list[str] = []
    with path.open("rb") as file:
        n, dim = _header(file.readline(_MAX_HEADER), path, least=lambda dim: 2 * dim + 1)
        rows = _numbers_of_lines(file, nodes, n)
        vectors = np.loadtxt(rows, np.float32, comments=None, ndmin=2) if n else np.array([*rows]).reshape(0, dim)
    if vectors.shape != (n, dim):
        there = " of ".join(map(str, vectors.shape))
        raise InputError(f"it declares {counted(n, 'row')} of {counted(dim, 'number')}, and holds {there}")
    return Stored(nodes_from_text(nodes), vectors, None)


def _numbers_of_lines(file: IO[bytes], nodes: list[str], n: int) -> Iterator[str]:
    """What follows the node in each line, which is put among `nodes`."""
    for i, line in enumerate(file, start=2):
        node, _, numbers = line.decode().rstrip().partition(" ")
        if not numbers:
            raise InputError(f"line {i} is not a node and its numbers")
        if len(nodes) == n:
            raise InputError(f"it declares {counted(n, 'row')}, and line {i} is one more")
        nodes.append(node)
        yield numbers


def write_binary(path: Path, stored: Stored, *, force: bool) -> None:
    """A row for each node, ended by a line feed as word2vec itself does."""
    nodes = nodes_as_text(stored.nodes, WORD, "is empty or has white space")
    n, dim = stored.vectors.shape
    with staged_file(path) as part, part.open("wb") as file:
        file.write(f"{n} {dim}\n".encode())
        rows = zip(nodes, stored.vectors.astype("<f4", copy=False), strict=True)
        file.writelines(b"%b %b\n" % (node.encode(), row.tobytes()) for node, row in rows)


def read_binary(path: Path) -> Stored:
    """Word2vec binary, whoever wrote it."""
    content = path.read_bytes()
    at = content.find(b"\n", 0, _MAX_HEADER) + 1
    n, dim = _header(content[:at], path, least=lambda dim: 4 * dim + 2)
    nodes, vectors = [], np.empty((n, dim), np.float32)
    for i in range(n):
        space = content.find(b" ", at)
        if space < 0 or space + 1 + 4 * dim > len(content):
            raise InputError(f"it ends in row {i} of {n:,}")
        nodes.append(content[at:space].lstrip(b"\n").decode())  # some programs end a row with a line feed, some do not
        vectors[i] = np.frombuffer(content, "<f4", dim, space + 1)
        at = space + 1 + 4 * dim
    if content[at:] not in (b"", b"\n"):
        raise InputError(f"it goes on after the {counted(n, 'row')} that it declares")
    return Stored(nodes_from_text(nodes), vectors, None)


def _header(line: bytes, path: Path, *, least: Callable[[int], int]) -> tuple[int, int]:
    """The declared numbers of rows and columns, where the file is long enough for them: `least` bytes a row."""
    match = re.fullmatch(rb"\s*(\d{1,15})\s+(\d{1,15})\s*\n", line)
    if match is None:
        raise InputError('it does not begin with the line "n dim" of a word2vec file')
    n, dim = int(match[1]), int(match[2])
    if dim == 0 or n * least(dim) > path.stat().st_size:
        raise InputError(f"it declares {counted(n, 'row')} of {counted(dim, 'number')}, for which it is too short")
    return n, dim
