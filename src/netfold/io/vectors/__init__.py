"""The files that hold an embedding, each named by its ending.

| ending | holds | nodes |
| --- | --- | --- |
| `.parquet` | columns `node`, v0, v1, ... and s0, s1, ... for `std`; or `node`, and lists `vector` and `std` \
| integers; strings; any other as json text |
| `.npz` | arrays `vectors`, `std`, nodes as in `Nodes.arrays` | any |
| `.npy` | `vectors`, with the nodes line by line in NAME.labels.txt | strings without line breaks, integers |
| `.csv`, `.tsv` | a line of names, which may be missing, then a node and its numbers on each line | as `.npy` |
| `.txt`, `.w2v`, `.vec` | word2vec text: a line "n dim", then "node v v v" | strings without white space, integers |
| `.parts` | a folder of parts, mapped (`netfold.io.parts`) | any |
| `.bin` | word2vec binary: the line "n dim", then "node ", dim float32 (little endian), a line feed | as `.txt` |

In parquet the file's metadata tell json from text: `netfold_labels` is `int`, `text` or `json`; each json text is one
node, a tuple written as an array. Text cannot tell 1 from "1": where every node reads as an integer, they become
integers. A file is never trusted: no pickle, and no more memory than its own size can account for.
"""

from __future__ import annotations

import re
import struct
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tokenize import TokenError
from typing import Any, Protocol

from netfold.data.checks import check_choice
from netfold.data.columns import are_vectors
from netfold.errors import InputError
from netfold.io.files import check_writable, staged_folder
from netfold.io.vectors.parquet import read_parquet, write_parquet
from netfold.io.vectors.plain import (
    Stored,
    read_binary,
    read_delimited,
    read_npy,
    read_npz,
    read_text,
    write_binary,
    write_delimited,
    write_npy,
    write_npz,
    write_text,
)

__all__ = [
    "Stored",
    "check_vectors_ending",
    "damage_named",
    "holds_vectors",
    "read_vectors",
    "write_shards",
    "write_vectors",
]

_DAMAGE = (
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


class Writer(Protocol):
    def __call__(self, path: Path, stored: Stored, *, force: bool) -> None: ...


def _write_parts(path: Path, stored: Stored, *, force: bool) -> None:
    from netfold.io.parts import write_vector_parts  # which loads scipy

    write_vector_parts(path, stored.nodes, stored.vectors, stored.std, force=force, fitted_to=stored.fitted_to)


def _read_parts(path: Path) -> Stored:
    from netfold.io.parts import read_vector_parts

    return Stored(*read_vector_parts(path))


_FORMATS: dict[str, tuple[Writer, Callable[[Path], Stored]]] = {
    ".parquet": (write_parquet, read_parquet),
    ".npz": (write_npz, read_npz),
    ".npy": (write_npy, read_npy),
    ".csv": (write_delimited, read_delimited),
    ".tsv": (write_delimited, read_delimited),
    ".txt": (write_text, read_text),
    ".w2v": (write_text, read_text),
    ".vec": (write_text, read_text),
    ".bin": (write_binary, read_binary),
    ".parts": (_write_parts, _read_parts),
}


_TABLES = {".csv": ",", ".tsv": "\t", ".parquet": ""}
_ARRAYS = (".npz", ".npy", ".w2v", ".vec", ".bin")
"""Endings of tables, which may hold anything, and of what holds vectors."""


def _format(path: Path) -> tuple[Writer, Callable[[Path], Stored]]:
    try:
        return _FORMATS[path.suffix.lower()]
    except KeyError:
        raise InputError(f"{path} names no format of an embedding; end it with one of {', '.join(_FORMATS)}") from None


def check_vectors_ending(path: Path) -> None:
    """Refuse a name whose ending is that of no format."""
    _format(path)


def holds_vectors(path: Path) -> bool:
    """Whether a file is one of vectors: by its ending alone, or by its first line, which names columns or counts."""
    ending = path.suffix.lower()
    if ending in _ARRAYS or ending not in (*_TABLES, ".txt") or not path.is_file():
        return ending in _ARRAYS and path.is_file()
    if ending == ".parquet":
        from netfold.io.duckdb import parquet_sample

        return are_vectors(parquet_sample(path)[0])
    with path.open("rb") as file:
        first, second = (file.readline(1 << 20).decode(errors="replace").strip() for _ in range(2))
    if ending == ".txt":
        dim = len(second.split()) - 1
        return dim > 1 and re.fullmatch(f"[0-9]+ {dim}", first) is not None
    return are_vectors(first.split(_TABLES[ending]))


def write_vectors(path: Path, stored: Stored, *, force: bool = False, columns: str = "wide") -> None:
    """Write a file of the format that its ending names; `columns="list"` is one list column, of parquet alone."""
    written = _format(path)[0]
    check_choice(("wide", "list"), columns=columns)
    if columns == "list" and written is not write_parquet:
        raise InputError(f"columns='list' (--columns list) is for .parquet, and {path} is none; leave it out")
    check_writable(path, force=force)
    if columns == "list":
        write_parquet(path, stored, force=force, lists=True)
    else:
        written(path, stored, force=force)


def write_shards(path: Path, out: Path, *, force: bool = False) -> dict[str, Any]:
    """Vectors in parts as a folder of parquet files, a part at a time: no more is in memory than one part."""
    from netfold.io.parts import PartsFolder

    parts = PartsFolder.open(path, "embedding")
    with staged_folder(out, force=force) as folder:
        for i in range(len(parts)):
            parts.check(i)
            arrays = parts.arrays(i)
            stored = Stored(parts.names(i), arrays["vectors"], arrays.get("std"), parts.facts.get("fitted_to"))
            if len(stored.nodes):
                write_parquet(folder / f"part-{i:05d}.parquet", stored, force=False)
        files = len(list(folder.iterdir()))
    return {"nodes": parts.n_nodes, "dim": parts.facts["dim"], "files": files, "path": str(out)}


def read_vectors(path: Path) -> Stored:
    """What a file holds, by its ending, or a folder of parts; for use within `damage_named`."""
    if (path / "parts.json").exists():
        return _read_parts(path)
    return _format(path)[1](path)


@contextmanager
def damage_named(path: Path) -> Iterator[None]:
    """Whatever reading a file raises that is missing or damaged, as one sentence that names it."""
    try:
        yield
    except FileNotFoundError as e:
        raise InputError(f"{e.filename or path} does not exist") from None
    except _DAMAGE as e:
        raise InputError(f"{path} cannot be read as an embedding: {e}") from e
