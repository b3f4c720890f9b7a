"""Files that someone wrote to do harm, or that a disk cut short: one true sentence, soon, and nothing lost."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from edge_files import parquet, write, zstd
from netfold.data.graph import Graph
from netfold.data.hypergraph import Hypergraph
from netfold.io.classes import read_classes
from netfold.io.edges import read_edges
from netfold.io.ends import Interner
from netfold.io.hif import read_hif
from refusals import refused

# -------------------------------------------------------------------- time


def colliding(n: int) -> list[int]:
    """Integers that a hash without a secret (the one of netfold 0.1) sends to one slot, by that hash backwards."""
    whole = (1 << 64) - 1
    odd, first, second = (pow(x, -1, 1 << 64) for x in (0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0xD6E8FEB86659FD93))
    keys: list[int] = []
    for h in range(1, 3 * n):
        x = h * second & whole
        x = (x ^ x >> 32) * first & whole
        x = (x ^ x >> 32) * odd & whole
        keys += [x] if x < 1 << 63 else []
    return keys[:n]


def test_a_flood_of_integers_that_meet_in_one_slot_is_read_in_no_time(tmp_path: Path) -> None:
    keys = colliding(60_000)
    path = write(tmp_path, "".join(f"{a},{b}\n" for a, b in zip(keys[::2], keys[1::2], strict=True)))
    start = time.perf_counter()
    graph = read_edges(path)
    assert time.perf_counter() - start < 10
    assert list(graph.nodes) == sorted(keys)


def test_a_flood_of_long_names_whose_words_are_exchanged() -> None:
    """Words at places that share a multiplier could be exchanged without another hash."""
    rng = np.random.default_rng(0)
    words = np.tile(rng.integers(1, 1 << 62, 96, dtype=np.uint64), (3000, 1))
    for row in words:
        row[::32] = rng.permutation(row[::32])
        row[1::32] = rng.permutation(row[1::32])
    keys = np.unique(words, axis=0)
    assert len(keys) == 36 and len(np.unique(Interner()._home(keys))) > 18, "of 1,024 slots"


def test_numbers_do_not_depend_on_the_secret() -> None:
    code = "import numpy as np; from netfold.io.ends import Interner; t = Interner();"
    code += "k = np.random.default_rng(0).integers(0, 500, (3000, 2)).astype(np.uint64);"
    code += "print(t.intern(k).tolist(), t.keys().tolist())"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    runs = {subprocess.run([sys.executable, "-c", code], capture_output=True, env=environment).stdout for _ in "ab"}
    assert len(runs) == 1 and len(runs.pop()) > 10_000


def test_a_node_of_many_classes(tmp_path: Path) -> None:
    path = write(tmp_path, "".join(f"1,c{i % 40_000}\n" for i in range(60_000)))
    start = time.perf_counter()
    assert read_classes(path) == {1: tuple(f"c{i}" for i in range(40_000))}
    assert time.perf_counter() - start < 5


# -------------------------------------------------------------------- sentences


@pytest.mark.parametrize("end", ["", "c,d\n"])
@pytest.mark.parametrize("between", ["\n" * 1_200_000, "# nothing\n" * 150_000])
@pytest.mark.parametrize("first", ["a,b\n", "1,2,3\n"])
def test_a_megabyte_of_nothing_after_an_edge(first: str, between: str, end: str, tmp_path: Path) -> None:
    end = end if first == "a,b\n" else end.replace("c,d", "3,4,5")
    graph = read_edges(write(tmp_path, first + between + end), header=False)
    assert graph.n_edges == 1 + bool(end)


def test_compressed_lines_that_end_in_different_ways(tmp_path: Path) -> None:
    path = write(tmp_path, zstd(b"a,b\r\nb,c\nc,d\r\n"), "e.csv.zst")
    said = refused(read_edges, path)
    assert "damaged" not in said and "make them alike, or give .csv or .csv.gz" in said


def test_parquet_with_a_column_whose_name_is_not_text(tmp_path: Path) -> None:
    path = parquet(tmp_path, source_=[1, 2], target_=[2, 3])
    path.write_bytes(path.read_bytes().replace(b"source_", b"sour\xff\xfe_"))
    assert str(path) in refused(read_edges, path)


def test_too_little_memory_to_load_duckdb_is_not_a_missing_duckdb(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from netfold.data.embedding import Embedding

    paths = [write(tmp_path, zstd(b"1,2\n"), "e.zst"), parquet(tmp_path, a=[1], b=[2])]
    (tmp_path / "broken").mkdir()
    broken = "raise ImportError('libduckdb.so: failed to map segment from shared object')"
    (tmp_path / "broken" / "duckdb.py").write_text(broken)
    monkeypatch.syspath_prepend(str(tmp_path / "broken"))
    for name in [x for x in sys.modules if x.split(".")[0] in ("duckdb", "_duckdb")]:
        monkeypatch.delitem(sys.modules, name)
    said = [refused(read_edges, path) for path in paths]
    said.append(refused(Embedding([1], [[1.0]]).save, tmp_path / "v.parquet"))
    assert all("cannot be loaded: libduckdb.so: failed to map" in x and "missing" not in x for x in said)


def nested(depth: int, kind: type) -> Any:
    made: Any = "x"
    for _ in range(depth):
        made = kind([made])
    return made


@pytest.mark.parametrize("depth", [101, 600, 900])
def test_names_nested_too_deeply(depth: int, tmp_path: Path) -> None:
    incidences = [{"edge": 0, "node": nested(depth, list)}, {"edge": 0, "node": "b"}]
    path = write(tmp_path, json.dumps({"incidences": incidences}), "h.json")
    assert "not nested that deep" in refused(read_hif, path)
    assert "not nested that deep" in refused(Graph.from_edges, [(nested(depth, tuple), "b")])
    assert Graph.from_edges([(nested(90, tuple), "b")]).n_nodes == 2


HALF = "x\ud800"


@pytest.mark.parametrize(
    "record",
    [
        {"nodes": [{"node": "a", "attrs": {"type": HALF}}]},
        {"incidences": [{"edge": 0, "node": "a", "attrs": {"role": HALF}}]},
        {"incidences": [{"edge": 0, "node": HALF}]},
    ],
    ids=["type", "role", "node"],
)
def test_half_of_a_character_is_found_before_the_training_not_after(record: dict[str, Any], tmp_path: Path) -> None:
    other = {"edge": 0, "node": "b", "attrs": {"role": "y"} if "role" in str(record) else {}}
    incidences = [*record.get("incidences", [{"edge": 0, "node": "a"}]), other]
    path = write(tmp_path, json.dumps({**record, "incidences": incidences}), "h.json")
    said = refused(read_hif, path)
    assert str(path) in said and "is not valid unicode" in said


def test_half_of_a_character_among_the_types_of_a_hypergraph() -> None:
    assert "valid unicode" in refused(Hypergraph, [("a", "b")], ["a", "b"], ["x", HALF])
    assert "valid unicode" in refused(Hypergraph.from_named, [{"x": "a", HALF: "b"}])


def test_a_weight_that_vanishes_is_spoken_of(tmp_path: Path) -> None:
    path = write(tmp_path, "a,b,1e-300\nb,c,1\n")
    with pytest.warns(UserWarning, match=r"the least is 1e-300\): an edge is dropped; scale the weights up"):
        assert read_edges(path).n_edges == 1
    with pytest.warns(UserWarning, match="an edge is dropped"):
        Graph.from_edges([("a", "b", 1e-300), ("b", "c", 1)])
    with pytest.warns(UserWarning, match="2 edges are dropped"):
        Graph.from_scipy(np.array([[0, 1e-300, 1], [1e-300, 0, 0], [1, 0, 0]]))


# -------------------------------------------------------------------- XML

ENTITIES = '<!ENTITY l0 "lol">' + "".join(f'<!ENTITY l{i} "{f"&l{i - 1};" * 10}">' for i in range(1, 10))
OUTSIDE = '<!ENTITY l9 SYSTEM "file:///etc/passwd">'


@pytest.mark.parametrize("entities", [ENTITIES, OUTSIDE], ids=["a thousand million", "another file"])
@pytest.mark.parametrize(
    ("ending", "body"),
    [
        ("graphml", '<graphml><graph edgedefault="undirected"><node id="&l9;"/></graph></graphml>'),
        ("gexf", '<gexf><graph><nodes><node id="&l9;"/></nodes></graph></gexf>'),
    ],
)
def test_entities_that_unfold_or_lead_elsewhere(ending: str, body: str, entities: str, tmp_path: Path) -> None:
    pytest.importorskip("networkx")
    path = write(tmp_path, f'<?xml version="1.0"?><!DOCTYPE x [{entities}]>{body}', f"g.{ending}")
    start = time.perf_counter()
    said = refused(read_edges, path)
    assert "damaged or cannot be read" in said and "root:" not in said and time.perf_counter() - start < 20


# -------------------------------------------------------------------- a full disk

FULL = """
import resource, sys
import numpy as np
from netfold.data.embedding import Embedding
rng = np.random.default_rng(0)
e = Embedding([f"n{i}" for i in range(2000)], rng.normal(size=(2000, 40)))
e.save("warm" + sys.argv[1][-8:])
resource.setrlimit(resource.RLIMIT_FSIZE, (30_000, 30_000))
try:
    e.save(sys.argv[1])
except ValueError as error:
    print(type(error).__name__, error)
"""


@pytest.mark.parametrize("ending", [".parquet", ".npz", ".npy", ".csv", ".txt", ".bin"])
def test_a_full_disk_is_one_sentence_that_names_the_file(ending: str, tmp_path: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    command = [sys.executable, "-c", FULL, f"vectors{ending}"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=environment, timeout=60)
    assert done.stdout.startswith(f"InputError vectors{ending} cannot be written: "), done.stdout + done.stderr
    assert "File too large" in done.stdout or "the disk took only a part of it" in done.stdout
    assert not list(tmp_path.glob("*vectors*")) and not list(tmp_path.glob(".*"))


FULL_INDEX = """
import resource, sys
import numpy as np
from netfold.data.embedding import Embedding
rng = np.random.default_rng(0)
index = Embedding([f"n{i}" for i in range(2000)], rng.normal(size=(2000, 40)).astype(np.float32)).index()
resource.setrlimit(resource.RLIMIT_FSIZE, (30_000, 30_000))
try:
    index.save("near.index")
except ValueError as error:
    print(type(error).__name__, error)
"""


def test_a_full_disk_is_no_bug_where_faiss_writes(tmp_path: Path) -> None:
    pytest.importorskip("faiss")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    command = [sys.executable, "-c", FULL_INDEX]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=environment, timeout=60)
    assert done.stdout == "InputError near.index cannot be written: File too large\n", done.stdout + done.stderr
    assert not list(tmp_path.iterdir())
