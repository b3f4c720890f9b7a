"""`prepare`: files of edges out of core into parts, equal to `read_edges` on the same rows, and killed anywhere."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from netfold.data.graph import Graph
from netfold.errors import InputError
from netfold.io.edges import read_edges
from netfold.io.parts import PartsFolder, name_hashes
from netfold.io.prepare import prepare

duckdb = pytest.importorskip("duckdb")


def equal(folder: Path, graph: Graph) -> None:
    """The same nodes, arcs, weights to the bit, and direction; nodes in the order of their hashes."""
    prepared = Graph.load(folder)
    assert prepared.nodes.kind == graph.nodes.kind and prepared.directed == graph.directed
    assert set(prepared.nodes) == set(graph.nodes) and prepared.n_edges == graph.n_edges
    hashes = name_hashes(prepared.nodes)
    assert np.all(hashes[1:] > hashes[:-1])
    rows = prepared.nodes.positions(list(graph.nodes))
    np.testing.assert_array_equal(prepared.adjacency.toarray()[rows][:, rows], graph.adjacency.toarray())


def parquet(path: Path, **columns: str) -> Path:
    """A table by SQL for each column, over i from 0 to 49."""
    select = ", ".join(f"{sql} AS {name}" for name, sql in columns.items())
    duckdb.sql(f"COPY (SELECT {select} FROM range(50) AS t(i)) TO '{path}' (FORMAT parquet)")
    return path


CASES: dict[str, tuple[dict[str, str], dict[str, Any]]] = {
    "integers": ({"a.csv": "1,2\n2,3\n-7,1\n2,1\n"}, {}),
    "strings": ({"a.csv": "x,y\ny,z\nz,z\nx,y\n"}, {"header": False}),
    "strings as integers": ({"a.csv": "1,2\n007,3\n"}, {}),
    "a late string": ({"a.csv": "".join(f"{i},{i + 1}\n" for i in range(300)) + "9,x\n"}, {}),
    "weights": ({"a.csv": "source,target,weight\na,b,0.1\nb,a,0.2\na,b,0.7\nc,a,0\nd,d,3\n"}, {}),
    "directed": ({"a.csv": "source,target,weight\na,b,0.1\nb,a,0.2\na,b,0.7\nc,a,0\n"}, {"directed": True}),
    "unweighted": ({"a.csv": "source,target,weight\na,b,0.1\nb,a,0.2\nc,a,0\n"}, {"weighted": False}),
    "several files": ({"a.csv": "1,2\n2,3\n", "b.tsv": "3\t1\n4\t4\n", "c.csv": "4,5\n"}, {}),
    "files of both kinds": ({"a.csv": "1,2\n", "b.csv": "x,2\n"}, {"header": False}),
    "quotes and comments": ({"a.csv": '# no edge\n"a, b",c\nc,"é ""q"""\n\n% none\n'}, {"header": False}),
    "chosen columns": ({"a.csv": "k,a,b,n\n1,x,y,2\n2,y,z,3\n"}, {"source": "a", "target": "b", "weight": "n"}),
    "blanks": ({"a.txt": "1  2\n2\t 3\n"}, {}),
}


@pytest.mark.parametrize("parts", [1, 5])
@pytest.mark.parametrize("case", CASES)
def test_text_is_read_as_read_edges_does(case: str, parts: int, tmp_path: Path) -> None:
    files, options = CASES[case]
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    paths = [tmp_path / name for name in files]
    facts = prepare(paths, tmp_path / "g.parts", parts=parts, memory="256MiB", **options)
    graph = read_edges(paths, **options)
    equal(tmp_path / "g.parts", graph)
    assert (facts["nodes"], facts["edges"], facts["arcs"]) == (graph.n_nodes, graph.n_edges, graph.adjacency.nnz)
    assert len(PartsFolder.open(tmp_path / "g.parts", "graph")) == parts
    assert facts["reading"] == str(Graph.load(tmp_path / "g.parts").reading)
    assert not (tmp_path / "g.parts.stage").exists()


PARQUET: dict[str, tuple[dict[str, str], dict[str, Any]]] = {
    "integers": ({"u": "i % 7", "v": "i % 11"}, {}),
    "small integers": ({"u": "(i % 7)::TINYINT", "v": "(i % 11)::USMALLINT"}, {}),
    "strings": ({"u": "'n' || i % 7", "v": "'n' || i % 11"}, {}),
    "an integer and a string": ({"u": "i % 7", "v": "'n' || i % 11"}, {}),
    "weights": ({"u": "i % 7", "v": "i % 11", "weight": "i % 5 * 0.1"}, {}),
    "directed weights": ({"u": "i % 7", "v": "i % 11", "weight": "i % 5 * 0.1"}, {"directed": True}),
    "more columns": ({"k": "i", "source": "i % 7", "target": "i % 11", "x": "'?'"}, {}),
}


@pytest.mark.parametrize("case", PARQUET)
def test_parquet_is_read_as_read_edges_does(case: str, tmp_path: Path) -> None:
    columns, options = PARQUET[case]
    (tmp_path / "odd[1]' *").mkdir()
    paths = [parquet(tmp_path / f"{k}.parquet", **columns) for k in (1, 2)]
    moved = [path.rename(tmp_path / "odd[1]' *" / path.name) for path in paths]
    prepare(tmp_path / "odd[1]' *", tmp_path / "g.parts", parts=4, memory="256MiB", **options)
    equal(tmp_path / "g.parts", read_edges(moved, **options))


def test_parquet_and_text_together(tmp_path: Path) -> None:
    one, two = parquet(tmp_path / "a.parquet", u="i % 7", v="i % 11"), tmp_path / "b.csv"
    two.write_text("3,x\n")
    prepare([one, two], tmp_path / "g.parts", parts=2, memory="256MiB", header=False)
    equal(tmp_path / "g.parts", read_edges([one, two], header=False))


_NAMES = st.one_of(
    st.integers(-3, 3).map(str), st.text(st.characters(exclude_categories=["C", "Z"]), min_size=1, max_size=3)
)
_ROW = st.tuples(_NAMES, _NAMES, st.floats(0, 1e20).map(lambda x: float(np.float32(x))))


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rows=st.lists(_ROW, min_size=1, max_size=12), directed=st.booleans(), parts=st.integers(1, 5))
def test_any_rows(rows: list[Any], directed: bool, parts: int, tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("rows")
    quoted = ['"' + name.replace('"', '""') + '"' for row in rows for name in row[:2]]
    lines = [f"{quoted[2 * i]},{quoted[2 * i + 1]},{row[2]!r}" for i, row in enumerate(rows)]
    (folder / "a.csv").write_text("source,target,weight\n" + "\n".join(lines) + "\n")
    graph = read_edges(folder / "a.csv", directed=directed, header=True)
    prepare(folder / "a.csv", folder / "g.parts", parts=parts, memory="256MiB", directed=directed, header=True)
    equal(folder / "g.parts", graph)


# -------------------------------------------------------------------- refused


WRONG: dict[str, tuple[dict[str, str], str]] = {
    "a missing end": ({"u": "CASE WHEN i = 3 THEN NULL ELSE i END", "v": "i"}, "row 4: a value is missing"),
    "a weight below 0": ({"u": "i", "v": "i + 1", "weight": "i - 1.0"}, "row 1: the weight -1"),
    "no number": (
        {"u": "i", "v": "i + 1", "weight": "CASE WHEN i = 7 THEN 'nan'::DOUBLE ELSE 1 END"},
        "row 8: the wei",
    ),
    "too long": ({"u": "i::UBIGINT + 18446744073709551000::UBIGINT", "v": "i"}, "does not fit in 64 bits"),
}


@pytest.mark.parametrize("case", WRONG)
def test_rows_are_refused_by_the_sentence_of_the_reader(case: str, tmp_path: Path) -> None:
    columns, said = WRONG[case]
    path = parquet(tmp_path / "a.parquet", **columns)
    for read in (lambda: read_edges(path), lambda: prepare(path, tmp_path / "g.parts", memory="256MiB")):
        with pytest.raises(InputError, match=said):
            read()
    assert not (tmp_path / "g.parts").exists()


def test_other_things_that_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("1,2\n2,3\n")
    (tmp_path / "empty").mkdir()
    (tmp_path / "a.gml").write_text("graph [ node [ id 0 ] ]")
    for wrong, said in (
        ({"memory": "8 parsecs"}, "not a size in bytes; write 8GB"),
        ({"memory": "1MB"}, "too little to sort in"),
        ({"parts": 0}, "whole number from 1 to 4,096"),
        ({"path": tmp_path / "empty"}, "a folder without files"),
        ({"path": tmp_path / "a.gml"}, "a GML file; prepare reads tables"),
        ({"path": str(tmp_path / "*.nothing")}, "no file matches"),
    ):
        with pytest.raises(InputError, match=said):
            prepare(**{"path": tmp_path / "a.csv", "out": tmp_path / "g.parts", **wrong})  # type: ignore[arg-type]
    prepare(tmp_path / "a.csv", tmp_path / "g.parts", parts=2, memory="256MiB")
    with pytest.raises(InputError, match="exists; give another name"):
        prepare(tmp_path / "a.csv", tmp_path / "g.parts")
    prepare(tmp_path / "a.csv", tmp_path / "g.parts", parts=3, memory="256MiB", force=True)
    assert len(PartsFolder.open(tmp_path / "g.parts", "graph")) == 3


# -------------------------------------------------------------------- killed

_KILLED = """
import sys
from kills import kill_at
kill_at(int(sys.argv[1]), ["replace", "rename", "link", "unlink", "rmdir", "fsync"])
from netfold.io.prepare import prepare
prepare(sys.argv[2], sys.argv[3], parts=3, memory="256MiB", threads=1)
"""


def test_killed_anywhere_it_goes_on(tmp_path: Path) -> None:
    """At a spread of its calls to the disk, one after another, until it ends: no half folder, and the same graph."""
    (tmp_path / "a.csv").write_text("source,target,weight\n" + "".join(f"n{i % 9},n{i % 7},{i}\n" for i in range(60)))
    paths = [str(Path(__file__).parents[1] / "support"), *sys.path]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, paths))}
    folder, ended = tmp_path / "g.parts", 0
    for at in (1, 2, 4, 5, 6, 8, 9, 12, 1000):
        command = [sys.executable, "-c", _KILLED, str(at), str(tmp_path / "a.csv"), str(folder)]
        ended = subprocess.run(command, env=environment, capture_output=True).returncode
        if ended == 0:
            break
        assert ended == -9 and not folder.exists()
    assert ended == 0
    equal(folder, read_edges(tmp_path / "a.csv"))
    assert sorted(x.name for x in tmp_path.iterdir()) == ["a.csv", "g.parts"]


def test_a_stage_of_other_files_is_not_taken_up(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("1,2\n")
    (tmp_path / "g.parts.stage").mkdir()
    (tmp_path / "g.parts.stage" / "prepare.json").write_text("{}")
    with pytest.raises(InputError, match="left of another preparation"):
        prepare(tmp_path / "a.csv", tmp_path / "g.parts", memory="256MiB")


def test_a_folder_of_somebody_else_is_not_worked_in(tmp_path: Path) -> None:
    """It would be removed with all that it holds, or a file in it with the stage."""
    (tmp_path / "a.csv").write_text("1,2\n")
    stage = tmp_path / "g.parts.stage"
    for names in (["thesis.tex"], ["names.parquet"], ["parts/mine.txt"]):
        for name in names:
            (stage / name).parent.mkdir(parents=True, exist_ok=True)
            (stage / name).write_text("mine")
        with pytest.raises(InputError, match="which it did not write; move that, or give another name"):
            prepare(tmp_path / "a.csv", tmp_path / "g.parts", memory="256MiB")
        assert all((stage / name).read_text() == "mine" for name in names)
        assert not (tmp_path / "g.parts").exists() and not (stage / "prepare.json").exists()
        shutil.rmtree(stage)
    stage.mkdir()
    (stage / "prepare.json.part").write_text("{")  # killed in its first write
    (stage / ".lock").write_text("")
    prepare(tmp_path / "a.csv", tmp_path / "g.parts", memory="256MiB", parts=2)
    assert not stage.exists()


def test_a_file_put_into_the_stage_stays(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("1,2\n")
    note = tmp_path / "g.parts.stage" / "note.txt"
    prepare(
        tmp_path / "a.csv", tmp_path / "g.parts", memory="256MiB", parts=2, report=lambda _: note.write_text("mine")
    )
    assert note.read_text() == "mine" and [x.name for x in note.parent.iterdir()] == ["note.txt"]
