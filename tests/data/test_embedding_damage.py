"""Embeddings from files that lie, are damaged or are not there: one sentence, and little memory."""

from __future__ import annotations

import io
import math
import struct
import tempfile
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from embeddings import FORMATS, fast, make
from memory import peak_memory
from netfold.data.embedding import Embedding
from netfold.errors import InputError


def npy(array: npt.NDArray[Any], **options: Any) -> bytes:
    file = io.BytesIO()
    np.save(file, array, **options)
    return file.getvalue()


def npy_header(text: str) -> bytes:
    text = text.ljust(117) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text.encode()


def npz(compress: bool = False, **entries: Any) -> bytes:
    good = {"format": np.array(1), "vectors": np.ones((2, 2), np.float32), "int_ints": np.array([1, 2])} | entries
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED if compress else zipfile.ZIP_STORED) as archive:
        for name, content in good.items():
            if content is not None:
                archive.writestr(f"{name}.npy", content if isinstance(content, bytes) else npy(content))
    return file.getvalue()


def text_labels(*parts: bytes) -> dict[str, Any]:
    offsets = np.cumsum([0, *map(len, parts)])
    return {"int_ints": None, "text_offsets": offsets, "text_bytes": np.frombuffer(b"".join(parts), np.uint8)}


BOMB = npy_header("{'descr': '<f4', 'fortran_order': False, 'shape': (1000000000000, 128), }")
OBJECTS = npy(np.array([[{}, {}]], dtype=object), allow_pickle=True)
LIES: list[tuple[str, bytes, str]] = [
    (".txt", b"", "does not begin with the line"),
    (".txt", b"a 1 2\nb 3 4\n", "does not begin with the line"),
    (".txt", b"2\na 1\nb 2\n", "does not begin"),
    (".txt", b"9" * 1000 + b" 2\n", "does not begin"),
    (".txt", b"-1 2\na 1 2\n", "does not begin"),
    (".txt", b"999999999999 128\na 1 2\n", "too short"),
    (".txt", b"1 999999999999\na 1 2\n", "too short"),
    (".txt", b"1 0\na\n", "too short"),
    (".txt", b"2 2\na 1 2\n", r"2 rows of 2 numbers, and holds 1 of 2|too short"),
    (".txt", b"2 2\na 1.00 2.00\n", "2 rows of 2 numbers, and holds 1 of 2"),
    (".txt", b"1 2\na 1 2\nb 3 4\n", "declares 1 row, and line 3 is one more"),
    (".txt", b"2 2\na 1 2\nb 3 4 5\n", "number of columns changed"),
    (".txt", b"1 2\na 1 2 3\n", "holds 1 of 3"),
    (".txt", b"2 2\na 1 2\n\nb 3 4\n", "line 3 is not a node and its numbers"),
    (".txt", b"1 2\na one two\n", "one"),
    (".txt", b"1 2\na nan 1\n", "vectors of 'a' holds a number that is not finite"),
    (".txt", b"1 2\na 1e99 1\n", "not finite"),
    (".txt", b"2 1\na 1\na 2\n", "duplicate node 'a'"),
    (".txt", b"1 2\n\xff\xfe 1 2\n", "utf-8"),
    (".txt", b"0 2\na 1 2\n", "one more"),
    (".bin", b"", "does not begin"),
    (".bin", b"2 2\na 12345678\n", "too short"),
    (".bin", b"999999999999 2\na 12345678\n", "too short"),
    (".bin", b"1 999999999\na 12345678\n", "too short"),
    (".bin", b"2 1\na\x001234567890123456", "ends in row 0 of 2"),
    (".bin", b"2 1\na 1234\nbbbbbbb", "ends in row 1 of 2"),
    (".bin", b"1 1\na 1234\nb 1234\n", "goes on after"),
    (".bin", b"2 1\na 1234\na 1234\n", "duplicate node"),
    (".bin", b"1 1\na " + struct.pack("<f", math.nan) + b"\n", "not finite"),
    (".bin", b"1 1\n\xff 1234\n", "utf-8"),
    (".npy", b"", "."),
    (".npy", b"\x80\x04K\x01.", "magic"),
    (".npy", OBJECTS, "does not fit"),
    (".npy", BOMB, "does not fit its"),
    (".npy", npy_header("{'descr': '<f4', 'fortran_order': False, 'shape': (-1, -1), }") + b"1234", "does not fit"),
    (".npy", npy_header("{'descr': '<f4', 'fortran_order': False, 'shape': (1" + "0" * 60 + ", 2), }"), "does not fit"),
    (".npy", npy_header("(" * 100), "."),
    (".npy", npy(np.ones((2, 2), np.float32))[:-1], "does not fit"),
    (".npy", npy(np.ones((2, 2), np.float32)) + b"x", "does not fit"),
    (".npy", npy(np.ones((3, 2))), "vectors has 3 rows for 2 nodes"),
    (".npy", npy(np.ones(2)), "a matrix"),
    (".npy", npy(np.array([[1, math.nan], [1, 1]])), "vectors of 'a' holds"),
    (".npy", npy(np.ones((2, 2), complex)), "does not fit"),
    (".npy", npz(), "magic"),
    (".npz", b"", "zip"),
    (".npz", npy(np.ones((2, 2))), "zip"),
    (".npz", npz()[:-30], "zip"),
    (".npz", npz(compress=True), "is compressed"),
    (".npz", npz(compress=True, vectors=np.zeros((10_000, 1000), np.float32)), "is compressed"),
    (".npz", npz(vectors=OBJECTS), "does not fit"),
    (".npz", npz(vectors=BOMB), "does not fit"),
    (".npz", npz(vectors=b"\x80\x04K\x01."), "magic"),
    (".npz", npz(vectors=None), "not an npz file that netfold wrote"),
    (".npz", npz(format=None), "not an npz file that netfold wrote"),
    (".npz", npz(format=np.array(2)), "has format 2; this netfold reads format 1"),
    (".npz", npz(format=np.array([], np.int64)), "."),
    (".npz", npz(int_ints=None), "holds no nodes"),
    (".npz", npz(int_ints=np.array([1, 1])), "duplicate node 1"),
    (".npz", npz(int_ints=np.array([1.0, 2.0])), "damaged"),
    (".npz", npz(int_ints=np.array([[1], [2]])), "damaged|rows"),
    (".npz", npz(int_ints=np.array([1, 2, 3])), "vectors has 2 rows for 3 nodes"),
    (".npz", npz(std=np.zeros((2, 2), np.float32)), "standard deviation of 1"),
    (".npz", npz(std=np.ones((2, 1), np.float32)), "std has 1 column"),
    (".npz", npz(vectors=np.full((2, 2), np.inf)), "not finite"),
    (".npz", npz(**text_labels(b"a", b"a")), "duplicate node 'a'"),
    (".npz", npz(**text_labels(b"\xc3", b"\xa9")), "not UTF-8"),
    (".npz", npz(**(text_labels(b"a", b"b") | {"text_offsets": np.array([0, 2, 1])})), "damaged"),
    (".npz", npz(**(text_labels(b"a", b"b") | {"text_offsets": np.array([0, 2**40, 2])})), "damaged"),
    (".parquet", b"", "."),
    (".parquet", b"PAR1", "."),
    (".parquet", b"PAR1" + b"\0" * 100 + b"PAR1", "."),
    (".parquet", npz(), "."),
]


@pytest.mark.parametrize(("ending", "content", "why"), LIES, ids=[f"{i}{x[0]}" for i, x in enumerate(LIES)])
def test_files_that_lie(ending: str, content: bytes, why: str, tmp_path: Path) -> None:
    if ending == ".parquet":
        pytest.importorskip("duckdb")  # here, for importing it takes memory too
    target = tmp_path / f"lie{ending}"
    target.write_bytes(content)
    (tmp_path / "lie.labels.txt").write_text("a\nb\n")
    with peak_memory() as peak, pytest.raises(InputError, match=rf"lie\{ending} cannot be read as .*: .*({why})"):
        Embedding.load(target)
    assert peak[0] < 4 << 20


PARQUET_LIES = [
    ("SELECT 1 AS v0", "columns are not node, v0"),
    ("SELECT 'a' AS node", "columns are not node, v0"),
    ("SELECT 'a' AS node, 1.0 AS v0, 2.0 AS v2", "columns are not node, v0"),
    ("SELECT 'a' AS node, 1.0 AS v0, 1.0 AS v1, 2.0 AS s0", "as many s0"),
    ("SELECT 'a' AS node, 'x' AS v0", "x"),
    ("SELECT 'a' AS node, [1.0] AS v0", "."),
    ("SELECT 'a' AS node, NULL::FLOAT AS v0", "the column v0 has no value in row 0"),
    ("SELECT NULL::VARCHAR AS node, 1.0 AS v0", "the column node has no value in row 0"),
    ("SELECT NULL::INTEGER AS node, 1.0 AS v0", "the column node has no value in row 0"),
    ("SELECT 'a' AS node, 'nan'::FLOAT AS v0", "not finite"),
    ("SELECT 1.5::DOUBLE AS node, 1.0 AS v0", "the column node holds DOUBLE"),
    ("SELECT DATE '2020-01-01' AS node, 1.0 AS v0", "the column node holds"),
    ("SELECT unnest(['a', 'a']) AS node, 1.0 AS v0", "duplicate node"),
    ("SELECT 'a' AS node, 1.0 AS v0, 0.0 AS s0", "standard deviation of 'a'"),
]


@pytest.mark.parametrize(("query", "why"), PARQUET_LIES)
def test_parquet_that_is_no_embedding(query: str, why: str, tmp_path: Path) -> None:
    duckdb = pytest.importorskip("duckdb")
    duckdb.sql(f"COPY ({query}) TO '{tmp_path / 'lie.parquet'}'")
    with pytest.raises(InputError, match=rf"lie\.parquet cannot be read as an embedding: .*{why}"):
        Embedding.load(tmp_path / "lie.parquet")


def test_parquet_with_json_that_is_none(tmp_path: Path) -> None:
    duckdb = pytest.importorskip("duckdb")
    for text in ("[1", '{"a": 1}', "NaN"):
        query = f"COPY (SELECT '{text}' AS node, 1.0 AS v0) TO '{tmp_path / 'lie.parquet'}'"
        duckdb.sql(f"{query} (FORMAT parquet, KV_METADATA {{netfold_labels: 'json'}})")
        with pytest.raises(InputError, match=r"lie\.parquet cannot be read as an embedding: .*damaged"):
            Embedding.load(tmp_path / "lie.parquet")


def test_a_parquet_bomb(tmp_path: Path) -> None:
    duckdb = pytest.importorskip("duckdb")
    numbers = ", ".join(f"0.0::FLOAT AS v{j}" for j in range(60))
    query = f"SELECT 0::TINYINT AS node, {numbers} FROM range(400_000)"
    duckdb.sql(f"COPY ({query}) TO '{tmp_path / 'lie.parquet'}' (FORMAT parquet, CODEC zstd)")
    assert (tmp_path / "lie.parquet").stat().st_size < 90_000
    with pytest.raises(InputError, match="far more than its size can hold"):
        Embedding.load(tmp_path / "lie.parquet")


@pytest.mark.parametrize("ending", FORMATS)
def test_missing_files(ending: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=rf"e\{ending} does not exist"):
        Embedding.load(tmp_path / f"e{ending}")
    (tmp_path / f"e{ending}").mkdir()
    with pytest.raises(InputError, match=rf"e\{ending} cannot be read as an embedding: .*directory"):
        Embedding.load(tmp_path / f"e{ending}")


def test_npy_without_its_nodes(tmp_path: Path) -> None:
    make("ab").save(tmp_path / "e.npy")
    (tmp_path / "e.labels.txt").unlink()
    with pytest.raises(InputError, match=r"e\.labels\.txt does not exist"):
        Embedding.load(tmp_path / "e.npy")


@pytest.mark.parametrize("ending", FORMATS)
@fast
@given(st.data())
def test_any_damage_is_refused_or_harmless(ending: str, data: st.DataObject) -> None:
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / f"e{ending}"
        make(["a", "bb", "ccc"], std=True).save(target)
        content = bytearray(target.read_bytes())
        if data.draw(st.booleans()):
            del content[data.draw(st.integers(0, len(content) - 1)) :]
        else:
            at = data.draw(st.integers(0, len(content) - 1))
            content[at : at + data.draw(st.integers(0, 4))] = data.draw(st.binary(max_size=4))
        target.write_bytes(content)
        try:
            loaded = Embedding.load(target)
        except InputError as e:
            assert str(target) in str(e)
            return
        assert loaded.vectors.shape == (len(loaded), loaded.dim)
        assert np.isfinite(loaded.vectors).all()
