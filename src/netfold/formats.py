"""The files that hold an embedding, each named by its ending.

| ending | holds | labels |
| --- | --- | --- |
| `.parquet` | columns `node`, v0, v1, ... and s0, s1, ... for `std` | integers; strings; any other as json text |
| `.npz` | arrays `vectors`, `std`, labels as in `Labels.arrays` | any |
| `.npy` | `vectors`, with the labels line by line in NAME.labels.txt | strings without line breaks, integers |
| `.txt`, `.w2v` | word2vec text: a line "n dim", then "label v v v" | strings without white space, integers |
| `.bin` | word2vec binary: the line "n dim", then "label ", dim float32 (little endian), a line feed | as `.txt` |

In parquet the file's metadata tell json from text: `netfold_labels` is `int`, `text` or `json`; each json text is one
label, a tuple written as an array. Text cannot tell 1 from "1": where every label reads as an integer, they become
integers. A file is never trusted: no pickle, and no more memory than its own size can account for.
"""

from __future__ import annotations

import re
import struct
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from tokenize import TokenError
from typing import IO, TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from netfold.errors import InputError
from netfold.files import check_writable, staged_file
from netfold.labels import Labels

if TYPE_CHECKING:
    import duckdb

__all__ = ["DAMAGE", "Stored", "columns", "reader", "writer"]

DAMAGE = (
    ValueError,  # and InputError, and text that is not UTF-8
    OSError,
    EOFError,
    LookupError,
    MemoryError,
    OverflowError,
    RuntimeError,  # a zip file that asks for a password or an unknown method; a header nested too deeply
    SyntaxError,
    TokenError,
    struct.error,
    zipfile.BadZipFile,
)
"""All that reading a damaged file raises."""

_FORMAT = 1
_MAX_HEADER = 64
_MOST_PACKED = 1000
"""Parquet packs constant columns well, but not an honest embedding to less than a thousandth."""
_SMALL = 1 << 26
_COLUMNS_AT_ONCE = 16
_NPY_HEADERS = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}


class Stored(NamedTuple):
    """What a file holds."""

    nodes: Labels
    vectors: npt.NDArray[Any]
    std: npt.NDArray[Any] | None


class Writer(Protocol):
    def __call__(self, path: Path, stored: Stored, *, force: bool) -> None: ...


def writer(path: Path) -> Writer:
    """What writes a file with this ending."""
    return _format(path)[0]


def reader(path: Path) -> Callable[[Path], Stored]:
    """What reads a file with this ending; it raises one of `DAMAGE` where it cannot."""
    return _format(path)[1]


def columns(dim: int, with_std: bool) -> list[str]:
    """The names of the columns of numbers in a table."""
    return [f"{letter}{j}" for letter in ("vs" if with_std else "v") for j in range(dim)]


# -------------------------------------------------------------------- parquet


def _write_parquet(path: Path, stored: Stored, *, force: bool) -> None:
    nodes, vectors, std = stored
    table: dict[str, npt.NDArray[Any]] = {"node": _node_column(nodes)}
    parts = [vectors] if std is None else [vectors, std]
    numbers = (part[:, j] for part in parts for j in range(part.shape[1]))
    table |= dict(zip(columns(vectors.shape[1], std is not None), numbers, strict=True))
    node = "node::BIGINT" if nodes.kind == "int" else "node::VARCHAR"
    with _duckdb() as connection, staged_file(path) as part:
        connection.register("embedding", table)
        connection.execute(
            f"COPY (SELECT {node} AS node, * EXCLUDE node FROM embedding) TO {_quoted(part)} "
            f"(FORMAT parquet, KV_METADATA {{netfold_labels: '{nodes.kind}'}})"
        )


def _node_column(nodes: Labels) -> npt.NDArray[Any]:
    if nodes.kind == "int":
        return nodes.arrays()["ints"]
    column = np.empty(len(nodes), dtype=object)
    column[:] = list(Labels("text", nodes.arrays()))  # the stored text of labels of either kind
    return column


def _read_parquet(path: Path) -> Stored:
    path.open("rb").close()  # for the system's own words where it is missing or may not be read
    with _duckdb() as connection:
        import duckdb

        try:
            return _parquet_content(connection, path)
        except duckdb.Error as e:
            raise InputError(str(e).splitlines()[0]) from None


def _parquet_content(connection: duckdb.DuckDBPyConnection, path: Path) -> Stored:
    one = _quoted(Path(re.sub(r"([*?\[])", r"[\1]", str(path.absolute()))))  # a name, not a pattern of names
    source = f"read_parquet({one}, hive_partitioning = false)"
    found = {row[0]: row[1] for row in connection.execute(f"DESCRIBE SELECT * FROM {source}").fetchall()}
    dims = [sum(re.fullmatch(rf"{letter}\d+", name) is not None for name in found) for letter in "vs"]
    names = columns(dims[0], dims[1] > 0)
    if "node" not in found or not dims[0] or not set(names) <= set(found) or dims[1] not in (0, dims[0]):
        raise InputError("its columns are not node, v0, v1, ... and, for standard deviations, as many s0, s1, ...")
    sizes = f"SELECT coalesce(sum(total_uncompressed_size), 0)::BIGINT FROM parquet_metadata({one})"
    n = _number(connection, f"SELECT coalesce(sum(num_rows), 0)::BIGINT FROM parquet_file_metadata({one})")
    _check_size(max(_number(connection, sizes), 4 * n * len(names)), path)
    numbers = np.empty((n, len(names)), np.float32)
    for a in range(0, len(names), _COLUMNS_AT_ONCE):
        some = names[a : a + _COLUMNS_AT_ONCE]
        _fill(numbers[:, a : a + len(some)], connection.execute(f"SELECT {_floats(some)} FROM {source}").fetchnumpy())
    kind = connection.execute(f"SELECT value FROM parquet_kv_metadata({one}) WHERE key = 'netfold_labels'").fetchone()
    labels = connection.execute(f"SELECT node FROM {source}").fetchnumpy()["node"]
    nodes = _from_column(labels, found["node"], json_text=kind == (b"json",))
    return Stored(nodes, numbers[:, : dims[0]], numbers[:, dims[0] :] if dims[1] else None)


def _floats(names: list[str]) -> str:
    return ", ".join(f"{name}::FLOAT AS {name}" for name in names)


def _number(connection: duckdb.DuckDBPyConnection, query: str) -> int:
    row = connection.execute(query).fetchone()
    assert row is not None
    return int(row[0])


def _check_size(declared: int, path: Path) -> None:
    if declared > max(_SMALL, _MOST_PACKED * path.stat().st_size):
        raise InputError(f"it declares {declared:,} bytes, far more than its size can hold")


def _fill(numbers: npt.NDArray[np.float32], found: dict[str, npt.NDArray[Any]]) -> None:
    for j, (name, column) in enumerate(found.items()):
        _check_complete(column, name)
        if len(column) != len(numbers):
            raise InputError(f"the column {name} has {len(column):,} rows, not {len(numbers):,}")
        numbers[:, j] = column


def _check_complete(column: npt.NDArray[Any], name: str) -> None:
    if np.ma.is_masked(column):
        raise InputError(f"the column {name} has no value in row {int(np.argmax(np.ma.getmaskarray(column)))}")


def _from_column(column: npt.NDArray[Any], kind: Any, *, json_text: bool) -> Labels:
    _check_complete(column, "node")
    if column.dtype.kind in "iu":
        return Labels.of(np.asarray(column))
    if str(kind) != "VARCHAR":
        raise InputError(f"the column node holds {kind}; labels are integers or text")
    texts = Labels.of(column.tolist())
    return _verified(Labels("json", texts.arrays())) if json_text else texts


def _duckdb() -> duckdb.DuckDBPyConnection:
    try:
        import duckdb
    except ImportError:
        raise InputError("parquet needs duckdb (pip install duckdb), which is missing; .npz needs nothing") from None
    return duckdb.connect()


def _quoted(path: Path) -> str:
    return "'" + str(path.absolute()).replace("'", "''") + "'"


# -------------------------------------------------------------------- numpy


def _write_npz(path: Path, stored: Stored, *, force: bool) -> None:
    arrays: dict[str, npt.NDArray[Any]] = {"format": np.array(_FORMAT), "vectors": stored.vectors}
    if stored.std is not None:
        arrays["std"] = stored.std
    arrays |= {f"{stored.nodes.kind}_{name}": array for name, array in stored.nodes.arrays().items()}
    with staged_file(path) as part, part.open("wb") as file:
        np.savez(file, **arrays)  # type: ignore[arg-type]  # numpy's own keyword is not among our names


def _read_npz(path: Path) -> Stored:
    with zipfile.ZipFile(path) as archive:
        names = {info.filename.removesuffix(".npy"): info for info in archive.infolist()}
        if not {"format", "vectors"} <= set(names):
            raise InputError("it is not an npz file that netfold wrote")
        if (version := int(_entry(archive, names["format"]).ravel()[0])) != _FORMAT:
            raise InputError(f"it has format {version}; this netfold reads format {_FORMAT}: update netfold")
        std = _entry(archive, names["std"]) if "std" in names else None
        return Stored(_npz_labels(archive, names), _entry(archive, names["vectors"]), std)


def _npz_labels(archive: zipfile.ZipFile, names: dict[str, zipfile.ZipInfo]) -> Labels:
    for kind, parts in {"int": ["ints"], "text": ["offsets", "bytes"], "json": ["offsets", "bytes"]}.items():
        if all(f"{kind}_{x}" in names for x in parts):
            return _verified(Labels(kind, {x: _entry(archive, names[f"{kind}_{x}"]) for x in parts}))
    raise InputError("it holds no labels")


def _verified(labels: Labels) -> Labels:
    """Labels from a file once more from what they say: readable, distinct, and each of a kind that labels have."""
    return Labels.of(labels.arrays()["ints"] if labels.kind == "int" else list(labels))


def _entry(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> npt.NDArray[Any]:
    if info.compress_type != zipfile.ZIP_STORED:
        raise InputError(f"{info.filename} is compressed; netfold writes arrays as they are, and reads no others")
    with archive.open(info) as file:
        return _array(file, info.file_size)


def _array(file: IO[bytes], size: int) -> npt.NDArray[Any]:
    """The array of an npy file of `size` bytes; its header is believed only where it fits the size."""
    version = np.lib.format.read_magic(file)
    if version not in _NPY_HEADERS:
        raise InputError(f"it has npy version {version}; 1.0 and 2.0 are read")
    shape, fortran, dtype = _NPY_HEADERS[version](file)
    count = 1
    for length in shape:
        count *= int(length)
    if dtype.kind not in "iuf" or min(shape, default=0) < 0 or count * dtype.itemsize != size - file.tell():
        raise InputError(f"its header declares {shape} of {dtype}, which does not fit its {size:,} bytes")
    content = file.read()
    return np.frombuffer(content, dtype=dtype, count=count).reshape(shape, order="F" if fortran else "C")


def _write_npy(path: Path, stored: Stored, *, force: bool) -> None:
    labels = _plain_labels(stored.nodes, _LINE, "is empty or has a line break")
    beside = _labels_path(path)
    check_writable(beside, force=force)
    with staged_file(path) as part, staged_file(beside) as text:  # both are whole before either takes its name
        with part.open("wb") as file:
            np.save(file, stored.vectors, allow_pickle=False)
        text.write_bytes("".join(f"{x}\n" for x in labels).encode())


def _read_npy(path: Path) -> Stored:
    with path.open("rb") as file:
        vectors = _array(file, path.stat().st_size)
    lines = _labels_path(path).read_bytes().decode().replace("\r\n", "\n").removesuffix("\n")
    return Stored(_typed(lines.split("\n") if lines else []), vectors, None)


def _labels_path(path: Path) -> Path:
    return path.with_suffix(".labels.txt")


# -------------------------------------------------------------------- word2vec


def _write_text(path: Path, stored: Stored, *, force: bool) -> None:
    labels = _plain_labels(stored.nodes, _WORD, "is empty or has white space")
    n, dim = stored.vectors.shape
    numbers = " %.9g" * dim + "\n"  # nine digits tell any two float32 apart
    with staged_file(path) as part, part.open("wb") as file:
        file.write(f"{n} {dim}\n".encode())
        rows = zip(labels, stored.vectors, strict=True)
        file.writelines((label + numbers % tuple(row.tolist())).encode() for label, row in rows)


def _write_binary(path: Path, stored: Stored, *, force: bool) -> None:
    labels = _plain_labels(stored.nodes, _WORD, "is empty or has white space")
    n, dim = stored.vectors.shape
    with staged_file(path) as part, part.open("wb") as file:
        file.write(f"{n} {dim}\n".encode())
        rows = zip(labels, stored.vectors.astype("<f4", copy=False), strict=True)
        file.writelines(b"%b %b\n" % (label.encode(), row.tobytes()) for label, row in rows)


def _read_text(path: Path) -> Stored:
    labels: list[str] = []
    with path.open("rb") as file:
        n, dim = _header(file.readline(_MAX_HEADER), path, least=lambda dim: 2 * dim + 1)
        rows = _numbers_of_lines(file, labels, n)
        vectors = np.loadtxt(rows, np.float32, comments=None, ndmin=2) if n else np.array([*rows]).reshape(0, dim)
    if vectors.shape != (n, dim):
        raise InputError(f"it declares {n:,} rows of {dim:,} numbers, and holds {' of '.join(map(str, vectors.shape))}")
    return Stored(_typed(labels), vectors, None)


def _numbers_of_lines(file: IO[bytes], labels: list[str], n: int) -> Iterator[str]:
    """What follows the label in each line, its label put among `labels`."""
    for i, line in enumerate(file, start=2):
        label, _, numbers = line.decode().rstrip().partition(" ")
        if not numbers:
            raise InputError(f"line {i} is not a label and its numbers")
        if len(labels) == n:
            raise InputError(f"it declares {n:,} rows, and line {i} is one more")
        labels.append(label)
        yield numbers


def _read_binary(path: Path) -> Stored:
    content = path.read_bytes()
    at = content.find(b"\n", 0, _MAX_HEADER) + 1
    n, dim = _header(content[:at], path, least=lambda dim: 4 * dim + 2)
    labels, vectors = [], np.empty((n, dim), np.float32)
    for i in range(n):
        space = content.find(b" ", at)
        if space < 0 or space + 1 + 4 * dim > len(content):
            raise InputError(f"it ends in row {i} of {n:,}")
        labels.append(content[at:space].lstrip(b"\n").decode())  # some programs end a row with a line feed, some do not
        vectors[i] = np.frombuffer(content, "<f4", dim, space + 1)
        at = space + 1 + 4 * dim
    if content[at:] not in (b"", b"\n"):
        raise InputError(f"it goes on after the {n:,} rows that it declares")
    return Stored(_typed(labels), vectors, None)


def _header(line: bytes, path: Path, *, least: Callable[[int], int]) -> tuple[int, int]:
    """The declared numbers of rows and columns, where the file is long enough for them: `least` bytes a row."""
    match = re.fullmatch(rb"\s*(\d{1,15})\s+(\d{1,15})\s*\n", line)
    if match is None:
        raise InputError('it does not begin with the line "n dim" of a word2vec file')
    n, dim = int(match[1]), int(match[2])
    if dim == 0 or n * least(dim) > path.stat().st_size:
        raise InputError(f"it declares {n:,} rows of {dim:,} numbers, for which it is too short")
    return n, dim


# -------------------------------------------------------------------- labels as plain text

_WORD = re.compile(r"\S+")
_LINE = re.compile(r"[^\n\r\v\f\x1c-\x1e\x85\u2028\u2029]+")
_INTEGER = re.compile(r"0|-?[1-9][0-9]{0,18}")


def _plain_labels(nodes: Labels, whole: re.Pattern[str], otherwise: str) -> list[str]:
    """The labels as text, where the format can hold it and `_typed` makes the same labels of it."""
    if nodes.kind == "json":
        odd = next(x for x in nodes if not isinstance(x, str))
        raise InputError(f"the label {odd!r} would become text among others in this format; use .parquet or .npz")
    texts = [str(x) for x in nodes]
    for text in texts:
        if not whole.fullmatch(text):
            raise InputError(f"the label {text!r} {otherwise}, which this format cannot hold; use .parquet or .npz")
    return texts


def _typed(texts: list[str]) -> Labels:
    """Integers where every label reads as one, as it does where they were written; strings otherwise."""
    if texts and all(map(_INTEGER.fullmatch, texts)):
        made = Labels.of(map(int, texts))
        if made.kind == "int":
            return made
    return Labels.of(texts)


_FORMATS: dict[str, tuple[Writer, Callable[[Path], Stored]]] = {
    ".parquet": (_write_parquet, _read_parquet),
    ".npz": (_write_npz, _read_npz),
    ".npy": (_write_npy, _read_npy),
    ".txt": (_write_text, _read_text),
    ".w2v": (_write_text, _read_text),
    ".bin": (_write_binary, _read_binary),
}


def _format(path: Path) -> tuple[Writer, Callable[[Path], Stored]]:
    try:
        return _FORMATS[path.suffix.lower()]
    except KeyError:
        raise InputError(f"{path} names no format of an embedding; end it with one of {', '.join(_FORMATS)}") from None
