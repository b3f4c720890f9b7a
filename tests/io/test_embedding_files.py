"""Embeddings in files: every format there and back, other programs, and what goes wrong in writing."""

from __future__ import annotations

import errno
import json
import os
import struct
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from embeddings import FORMATS, assert_same, fast, make
from netfold.data.embedding import Embedding
from netfold.data.nodes import Nodes
from netfold.errors import InputError
from netfold.io import files

# -------------------------------------------------------------------- there and back

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)
WORDS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=6).filter(lambda x: x.split() == [x])
INTS = st.integers(-(2**63), 2**63 - 1)
MIXED = st.one_of(
    TEXTS, INTS, st.floats(allow_nan=False, allow_infinity=False), st.none(), st.tuples(TEXTS, st.tuples(INTS))
)


def there_and_back(emb: Embedding, ending: str) -> Embedding:
    with tempfile.TemporaryDirectory() as folder:
        emb.save(Path(folder) / f"it's [1]*{ending}")
        return Embedding.load(Path(folder) / f"it's [1]*{ending}")


@pytest.mark.parametrize("ending", FORMATS)
@fast
@given(st.lists(INTS, unique=True, max_size=8) | st.lists(WORDS, unique=True, max_size=8), st.integers(1, 4), st.data())
def test_integers_and_words(ending: str, labels: list[Any], dim: int, data: st.DataObject) -> None:
    if all(isinstance(x, str) and x.lstrip("-").isdigit() for x in labels):
        labels = [f"x{x}" for x in labels] if labels and isinstance(labels[0], str) else labels
    numbers = st.floats(width=32, allow_nan=False, allow_infinity=False)
    rows = data.draw(st.lists(numbers, min_size=len(labels) * dim, max_size=len(labels) * dim))
    emb = Embedding(labels, np.array(rows, np.float32).reshape(len(labels), dim))
    assert_same(emb, there_and_back(emb, ending))


@pytest.mark.parametrize("ending", [".parquet", ".npz"])
@pytest.mark.parametrize("std", [True, False])
@fast
@given(st.lists(MIXED, unique=True, max_size=8) | st.lists(TEXTS, unique=True, max_size=8))
def test_nodes_of_all_kinds(ending: str, std: bool, labels: list[Any]) -> None:
    emb = make(labels, std=std)
    assert_same(emb, there_and_back(emb, ending))


@pytest.mark.parametrize("ending", FORMATS)
def test_many_dimensions_and_nodes(ending: str) -> None:
    emb = make([f"nœud-{i}" for i in range(3000)], 37)
    assert_same(emb, there_and_back(emb, ending))


@pytest.mark.parametrize("ending", FORMATS)
def test_std_is_kept_by_parquet_and_npz_only(ending: str) -> None:
    emb = make(range(5), 18, std=True)
    assert_same(emb, there_and_back(emb, ending), std=ending in (".parquet", ".npz"))


@pytest.mark.parametrize("ending", FORMATS)
def test_an_ending_in_capitals_and_no_nodes(ending: str) -> None:
    empty = Embedding([], np.empty((0, 3)))
    assert_same(empty, there_and_back(empty, ending.upper()))


@pytest.mark.parametrize("ending", [".npy", ".txt", ".w2v", ".bin"])
def test_nodes_that_text_cannot_tell_apart(ending: str, tmp_path: Path) -> None:
    for odd in (("a", 1), 2.5, None, True):
        with pytest.raises(InputError, match=r"would become text .* use \.parquet or \.npz"):
            make(["x", odd]).save(tmp_path / f"e{ending}")
    spaced = ["line\nbreak", "", "line\u2028break"] + (
        [] if ending == ".npy" else ["two words", "tab\t", "no\u00a0break"]
    )
    for odd in spaced:
        with pytest.raises(InputError, match=r"the node '.*' is empty or has .* use \.parquet or \.npz"):
            make(["x", odd]).save(tmp_path / f"e{ending}")
    assert os.listdir(tmp_path) == []
    make(["7", "8"]).save(tmp_path / f"e{ending}")
    assert list(Embedding.load(tmp_path / f"e{ending}").nodes) == [7, 8]
    make(["7", "08"]).save(tmp_path / f"e{ending}", force=True)
    assert list(Embedding.load(tmp_path / f"e{ending}").nodes) == ["7", "08"]
    huge = [str(2**63), "1"]
    make(huge).save(tmp_path / f"e{ending}", force=True)
    assert list(Embedding.load(tmp_path / f"e{ending}").nodes) == huge


# -------------------------------------------------------------------- what other programs read and write


def test_npy_nodes_may_hold_spaces(tmp_path: Path) -> None:
    emb = make(["two words", "é"])
    emb.save(tmp_path / "e.npy")
    assert_same(emb, Embedding.load(tmp_path / "e.npy"))
    assert sorted(os.listdir(tmp_path)) == ["e.labels.txt", "e.npy"]
    assert (tmp_path / "e.labels.txt").read_text(encoding="utf-8") == "two words\né\n"
    np.testing.assert_array_equal(np.load(tmp_path / "e.npy"), emb.vectors)


def test_npy_from_other_programs(tmp_path: Path) -> None:
    np.save(tmp_path / "e.npy", np.asfortranarray([[1.0, 2.0], [3.0, 4.0]]))
    (tmp_path / "e.labels.txt").write_bytes(b"a\r\nb")
    loaded = Embedding.load(tmp_path / "e.npy")
    assert list(loaded.nodes) == ["a", "b"]
    assert loaded.vectors.tolist() == [[1, 2], [3, 4]]


def test_word2vec_text_is_what_others_read(tmp_path: Path) -> None:
    emb = make(["a", "bé"], 2)
    emb.save(tmp_path / "e.txt")
    lines = (tmp_path / "e.txt").read_text(encoding="utf-8").split("\n")
    assert lines[0] == "2 2" and lines[-1] == "" and len(lines) == 4
    for label, line in zip(["a", "bé"], lines[1:3], strict=True):
        word, *numbers = line.rstrip().split(" ")
        assert word == label
        assert [np.float32(x) for x in numbers] == emb[label].tolist()


def test_word2vec_binary_is_what_others_read(tmp_path: Path) -> None:
    emb = make(["a", "bé"], 2)
    emb.save(tmp_path / "e.bin")
    with (tmp_path / "e.bin").open("rb") as file:
        assert file.readline() == b"2 2\n"
        for label in ("a", "bé"):
            word = b""
            while (ch := file.read(1)) != b" ":
                word += ch.replace(b"\n", b"")  # as word2vec and gensim do
            assert word.decode() == label
            assert list(struct.unpack("<2f", file.read(8))) == emb[label].tolist()
        assert file.read() == b"\n"


def test_word2vec_from_other_programs(tmp_path: Path) -> None:
    (tmp_path / "e.txt").write_bytes(b"2 3\r\nthe 0.5 -1e-3 2 \r\nof 1 2.25 3 \r\n")  # word2vec's trailing space
    loaded = Embedding.load(tmp_path / "e.txt")
    assert list(loaded.nodes) == ["the", "of"]
    assert loaded["of"].tolist() == [1, 2.25, 3]
    rows = b"the " + struct.pack("<2f", 1, 2) + b"of " + struct.pack("<2f", 3, 4)  # without line feeds
    (tmp_path / "e.bin").write_bytes(b"2 2\n" + rows)
    assert Embedding.load(tmp_path / "e.bin")[["of", "the"]].tolist() == [[3, 4], [1, 2]]


def test_parquet_is_what_others_read(tmp_path: Path) -> None:
    duckdb = pytest.importorskip("duckdb")
    labels: list[Any] = [1, "a", ("b", 2)]
    emb = make(labels, 2, std=True)
    emb.save(tmp_path / "e.parquet")
    rows = duckdb.sql(f"SELECT * FROM '{tmp_path / 'e.parquet'}'")
    assert rows.columns == ["node", "v0", "v1", "s0", "s1"]
    found = rows.fetchall()
    assert [json.loads(row[0]) for row in found] == [1, "a", ["b", 2]]
    np.testing.assert_array_equal(np.array([row[1:] for row in found], np.float32), emb.coordinates)
    make([7, 8], 2).save(tmp_path / "e.parquet", force=True)
    assert [row[0] for row in duckdb.sql(f"SELECT * FROM '{tmp_path / 'e.parquet'}'").fetchall()] == [7, 8]


def test_parquet_from_other_programs(tmp_path: Path) -> None:
    duckdb = pytest.importorskip("duckdb")
    folder = tmp_path / "node=5"  # which duckdb would otherwise read as a column
    folder.mkdir()
    target = folder / "e.parquet"
    duckdb.sql(f"COPY (SELECT 2.0 AS v1, 'x' AS note, 3::TINYINT AS node, 1 AS v0) TO '{target}'")
    loaded = Embedding.load(target)
    assert list(loaded.nodes) == [3] and loaded[3].tolist() == [1, 2]
    duckdb.sql(f"COPY (SELECT '[1]' AS node, 1.0 AS v0) TO '{target}'")
    assert list(Embedding.load(target).nodes) == ["[1]"]


def test_parquet_without_pandas_and_pyarrow(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("pandas", "pyarrow"):
        monkeypatch.setitem(sys.modules, name, None)
    for labels in (["a", "b"], [1, 2]):
        emb = make(labels, std=True)
        assert_same(emb, there_and_back(emb, ".parquet"))


def test_parquet_without_duckdb(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    make("ab").save(tmp_path / "e.parquet")
    monkeypatch.setitem(sys.modules, "duckdb", None)
    with pytest.raises(InputError, match=r"parquet needs duckdb \(pip install duckdb\)"):
        make("ab").save(tmp_path / "f.parquet")
    with pytest.raises(InputError, match="parquet needs duckdb"):
        Embedding.load(tmp_path / "e.parquet")
    assert os.listdir(tmp_path) == ["e.parquet"]


# -------------------------------------------------------------------- what goes wrong in writing


@pytest.mark.parametrize("name", ["e.xlsx", "e", "e.pkl", ".parquet"])
def test_unknown_endings(name: str, tmp_path: Path) -> None:
    for act in (make("ab").save, Embedding.load):
        with pytest.raises(InputError, match=r"names no format .*\.parquet, \.npz, .*\.csv, .*\.bin"):
            act(tmp_path / name)  # type: ignore[operator]


@pytest.mark.parametrize("ending", FORMATS)
def test_existing_files_need_force(ending: str, tmp_path: Path) -> None:
    target = tmp_path / f"e{ending}"
    make("ab", seed=1).save(target)
    with pytest.raises(InputError, match="exists; give another name, or force"):
        make("ab", seed=2).save(target)
    assert_same(make("ab", seed=1), Embedding.load(target))
    make("cd", seed=2).save(target, force=True)
    assert_same(make("cd", seed=2), Embedding.load(target))


def test_npy_does_not_overwrite_a_text_beside_it(tmp_path: Path) -> None:
    (tmp_path / "e.labels.txt").write_text("mine")
    with pytest.raises(InputError, match=r"e\.labels\.txt exists"):
        make("ab").save(tmp_path / "e.npy")
    assert os.listdir(tmp_path) == ["e.labels.txt"] and (tmp_path / "e.labels.txt").read_text() == "mine"


@pytest.mark.parametrize("ending", FORMATS)
@pytest.mark.parametrize("call", ["fsync", "replace"])
def test_a_full_disk_leaves_what_was_there(
    ending: str, call: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tmp_path / f"e{ending}"
    make("ab", seed=1).save(target)
    before = sorted(os.listdir(tmp_path))

    def full(*_: Any, **__: Any) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(files.os, call, full)
        with pytest.raises(InputError, match="cannot be written: No space left on device"):
            make("cd", seed=2).save(target, force=True)
    assert sorted(os.listdir(tmp_path)) == before
    assert_same(make("ab", seed=1), Embedding.load(target))


def test_nowhere_to_write(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="missing is not a folder"):
        make("ab").save(tmp_path / "missing" / "e.npz")


@pytest.mark.parametrize("ending", [".csv", ".txt", ".npy"])
def test_strings_picked_out_of_a_mixture_are_written_as_text(ending: str, tmp_path: Path) -> None:
    mixed = Embedding(Nodes.of([7, "ann", "bob"]), np.eye(3, dtype=np.float32))
    some = mixed.take(["bob", "ann"])
    some.save(tmp_path / f"v{ending}")
    back = Embedding.load(tmp_path / f"v{ending}")
    assert list(back.nodes) == ["bob", "ann"] and np.array_equal(back.vectors, some.vectors)
    with pytest.raises(InputError, match="the node 7 would become text among others"):
        mixed.save(tmp_path / f"w{ending}")
