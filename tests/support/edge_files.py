"""Files of edges in every format, and what tells whether two graphs are the same."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from netfold.data.graph import Graph

EDGES = [(1, 2), (2, 3), (7, 1)]
NAMES = [("ann", "bob"), ("bob", "Çağrı 雪"), ("eve", "ann")]


def write(folder: Path, text: str | bytes, name: str = "edges.csv") -> Path:
    path = folder / name
    data = text.encode() if isinstance(text, str) else text
    path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    return path


def zstd(data: bytes) -> bytes:
    pyarrow = pytest.importorskip("pyarrow")
    sink = pyarrow.BufferOutputStream()
    with pyarrow.CompressedOutputStream(sink, "zstd") as stream:
        stream.write(data)
    return bytes(sink.getvalue())


def parquet(folder: Path, name: str = "edges.parquet", types: str = "", **columns: list[Any]) -> Path:
    duckdb = pytest.importorskip("duckdb")
    path = folder / name
    values = ", ".join("(" + ", ".join(map(_literal, row)) + ")" for row in zip(*columns.values(), strict=True))
    names = ", ".join(f'"{c}"' for c in columns)
    with duckdb.connect() as connection:
        table = f"SELECT {types or '*'} FROM (VALUES {values}) AS t({names})"
        connection.execute(f"COPY ({table}) TO '{path.as_posix().replace(chr(39), chr(39) * 2)}' (FORMAT parquet)")
    return path


def _literal(x: Any) -> str:
    if x is None:
        return "NULL"
    if isinstance(x, float):
        return f"'{x}'::DOUBLE"
    return "'" + x.replace("'", "''") + "'" if isinstance(x, str) else str(x)


def same(a: Graph, b: Graph) -> bool:
    one, two = a.adjacency, b.adjacency
    parts = ((one.indptr, two.indptr), (one.indices, two.indices), (one.data, two.data))
    return a.nodes == b.nodes and a.directed == b.directed and all(np.array_equal(x, y) for x, y in parts)
