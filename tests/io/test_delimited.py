"""Vectors in .csv and .tsv, ours and those of other programs."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import netfold as nf
from netfold.data.embedding import Embedding


@pytest.mark.parametrize("ending", ["csv", "tsv"])
@pytest.mark.parametrize("nodes", [[3, 1, -2], ["a", "b,\tc", ' "q" ']])
@pytest.mark.parametrize("with_std", [False, True])
def test_written_and_read_it_is_the_same(tmp_path: Path, ending, nodes, with_std):
    vectors = np.random.default_rng(0).normal(size=(3, 4)).astype(np.float32)
    std = np.abs(vectors) + np.float32(0.1) if with_std else None
    Embedding(nodes, vectors, std).save(tmp_path / f"v.{ending}")
    again = Embedding.load(tmp_path / f"v.{ending}")
    assert list(again.nodes) == nodes and again.vectors.tobytes() == vectors.tobytes()
    assert (again.std is None) == (std is None) and (std is None or again.std.tobytes() == std.tobytes())


@pytest.mark.parametrize(
    "text",
    ["id,x,y\nann,1,2\nbob,3e-1,-4\n", "ann,1,2\nbob,3e-1,-4", "\ufeffnode,v0,v1\r\n\r\nann,1,2\r\nbob,0.3,-4\r\n"],
)
def test_those_of_others_are_read_with_names_or_without(tmp_path: Path, text):
    (tmp_path / "v.csv").write_text(text, newline="")
    found = Embedding.load(tmp_path / "v.csv")
    assert list(found.nodes) == ["ann", "bob"]
    np.testing.assert_allclose(found.vectors, [[1, 2], [0.3, -4]], rtol=1e-6)
    assert found.std is None


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "holds no line"),
        ("node,v0\n", "holds no line"),
        ("node,v0\na,1\nb\n", "line 3 is not a node and its numbers"),
        ("node,v0\na,1\nb,x\n", "line 3 is not a node and its numbers"),
        ("node,v0,v1\na,1,2\nb,1\n", "'b' has 1 numbers, and 'a' 2"),
        ("a,1\na,2\n", "'a'"),
        ("a,nan\n", "not finite"),
        ('a,"1\n', "end of data"),
    ],
)
def test_what_is_no_table_of_vectors_is_refused(tmp_path: Path, text, said):
    (tmp_path / "v.csv").write_text(text)
    with pytest.raises(nf.InputError, match=said) as refused:
        Embedding.load(tmp_path / "v.csv")
    assert "v.csv" in str(refused.value) and "\n" not in str(refused.value)
