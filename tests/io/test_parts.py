"""`.parts`: a graph or an embedding in K parts, there and back, mapped, and refused where it is damaged."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable
from mmap import mmap
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from netfold.data.embedding import Embedding
from netfold.data.graph import Graph
from netfold.data.nodes import Nodes
from netfold.errors import InputError
from netfold.io.parts import PartsFolder, name_hashes, part_starts, write_vector_parts
from netfold.io.tensors import file_facts, read_tensors, write_tensors
from old_graphs import save_old

KINDS: dict[str, list[Any]] = {
    "int": [5, -3, 2**62, 0, 9, 17, 4],
    "text": ["é", "", "c d\n", "x", "y", "7", "zz"],
    "json": [1, "1", ("x", 2), 2.5, None, "q", (0,)],
}


def a_graph(names: list[Any], directed: bool, times: bool = False) -> Graph:
    rng = np.random.default_rng(len(names))
    pairs = rng.integers(0, len(names), (3 * len(names), 2))
    graph = Graph.from_edges(pairs, rng.random(len(pairs)) + 0.1, nodes=range(len(names)), directed=directed)
    more: dict[str, Any] = {"times": rng.random(graph.adjacency.nnz)} if times and directed else {}
    return Graph(graph.adjacency, Nodes.of(names), directed=directed, **more)


def same(one: Graph, other: Graph) -> None:
    """The same graph, whatever the order of its nodes."""
    order = one.nodes.positions(list(other.nodes))
    assert one.directed == other.directed and set(one.nodes) == set(other.nodes)
    np.testing.assert_array_equal(one.adjacency.toarray()[order][:, order], other.adjacency.toarray())
    if one.times is not None:
        assert other.times is not None
        times = [one._entries(one.times).toarray()[order][:, order], other._entries(other.times).toarray()]
        np.testing.assert_array_equal(*times)


# -------------------------------------------------------------------- which part a name is in


def test_the_hash_of_names_is_fixed_for_good() -> None:
    """Written out: who changes it finds no name in any folder that there is."""
    nodes = Nodes.of(["alice", "Zürich", ""])
    assert [f"{x:016x}" for x in name_hashes(nodes).tolist()] == [
        "6384e2b2184bcbf5", "103a821a3a6a0b92", "d41d8cd98f00b204",
    ]  # fmt: skip
    assert f"{int(name_hashes(Nodes.of([-7]))[0]):016x}" == hashlib.md5(b"-7").hexdigest()[:16]
    assert f"{int(name_hashes(Nodes.of([('a', 1)]))[0]):016x}" == hashlib.md5(b'["a", 1]').hexdigest()[:16]


@given(st.integers(0, 1000), st.integers(1, 50))
def test_parts_are_nearly_equal_and_cover_all(n: int, k: int) -> None:
    sizes = np.diff(part_starts(n, k))
    assert sizes.sum() == n and sizes.max() - sizes.min() <= 1


# -------------------------------------------------------------------- there and back


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("parts", [1, 2, 3, 7, 20])
@pytest.mark.parametrize("directed", [True, False])
def test_a_graph_in_parts(kind: str, parts: int, directed: bool, tmp_path: Path) -> None:
    graph = a_graph(KINDS[kind], directed, times=True)
    graph.save(tmp_path / "g.parts", parts=parts)
    loaded = Graph.load(tmp_path / "g.parts")
    same(graph, loaded)
    opened = PartsFolder.open(tmp_path / "g.parts", "graph")
    assert (len(opened), opened.n_nodes, opened.n_arcs) == (parts, graph.n_nodes, graph.adjacency.nnz)
    assert opened.hashed == (parts > 1)
    if parts > 1:
        hashes = name_hashes(loaded.nodes)
        assert np.all(hashes[1:] >= hashes[:-1])
    else:
        assert loaded.fingerprint == graph.fingerprint
    for node in graph.nodes:
        i, row = opened.find(node)
        assert opened.names(i)[row] == node and opened.starts[i] + row == loaded.positions([node])[0]
    with pytest.raises(InputError, match="no node of .* is called 'nobody'"):
        opened.find("nobody")


@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_any_graph_in_any_number_of_parts(data: st.DataObject, tmp_path_factory: pytest.TempPathFactory) -> None:
    names = data.draw(
        st.lists(st.one_of(st.integers(-9, 99), st.text(max_size=3)), min_size=1, max_size=9, unique=True)
    )
    graph = a_graph(names, data.draw(st.booleans()))
    folder = tmp_path_factory.mktemp("any") / "g.parts"
    graph.save(folder, parts=data.draw(st.integers(1, 12)))
    same(graph, Graph.load(folder))


def test_one_part_is_mapped_and_replaces_an_old_folder(tmp_path: Path) -> None:
    graph = a_graph(KINDS["text"], False)
    save_old(graph, tmp_path / "g")
    graph.save(tmp_path / "g", force=True)
    assert sorted(x.name for x in (tmp_path / "g").iterdir()) == ["part-00000.safetensors", "parts.json"]
    loaded = Graph.load(tmp_path / "g")
    base: Any = loaded.adjacency.data
    while base is not None and not isinstance(base, mmap):
        base = getattr(base, "base", None)
    assert isinstance(base, mmap) and not loaded.adjacency.data.flags.writeable
    loaded.save(tmp_path / "g", force=True)  # over what it is mapped from
    assert Graph.load(tmp_path / "g").fingerprint == graph.fingerprint


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("parts", [1, 3, 9])
@pytest.mark.parametrize("spread", [True, False])
def test_an_embedding_in_parts(kind: str, parts: int, spread: bool, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    vectors, std = rng.random((7, 3), np.float32), rng.random((7, 3), np.float32) + 1 if spread else None
    write_vector_parts(tmp_path / "v.parts", Nodes.of(KINDS[kind]), vectors, std, parts=parts, fitted_to="f" * 64)
    loaded = Embedding.load(tmp_path / "v.parts")
    np.testing.assert_array_equal(loaded[KINDS[kind]], vectors)
    assert loaded.fitted_to == "f" * 64
    if std is not None:
        assert loaded.std is not None
        np.testing.assert_array_equal(loaded.std[loaded.nodes.positions(KINDS[kind])], std)
    loaded.save(tmp_path / "w.parts")
    np.testing.assert_array_equal(Embedding.load(tmp_path / "w.parts")[KINDS[kind]], vectors)


# -------------------------------------------------------------------- damage


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("graph") / "g.parts"
    Graph.from_edges([("a", "b", 2.0), ("b", "c", 1.0), ("c", "a", 1.0)]).save(folder, parts=2)
    return folder


FIRST = "part-00000.safetensors"


def manifest(folder: Path, **changes: Any) -> None:
    facts = json.loads((folder / "parts.json").read_text())
    (folder / "parts.json").write_text(json.dumps(facts | changes))


def entry(folder: Path, **changes: Any) -> None:
    files = json.loads((folder / "parts.json").read_text())["files"]
    manifest(folder, files=[files[0] | changes, *files[1:]])


def tensors(folder: Path, change: Callable[[dict[str, Any]], Any], *, resealed: bool = True) -> None:
    """Change the arrays of the first part, and let the manifest vouch for it."""
    arrays = {k: v.copy() for k, v in read_tensors(folder / FIRST).items()}
    change(arrays)
    write_tensors(folder / FIRST, arrays)
    if resealed:
        entry(folder, **file_facts(folder / FIRST))


def put(name: str, at: Any, value: Any) -> Callable[[Path], None]:
    return lambda folder: tensors(folder, lambda x: x[name].__setitem__(at, value))


def become(name: str, value: Any) -> Callable[[Path], None]:
    return lambda folder: tensors(folder, lambda x: x.__setitem__(name, value))


HARM: dict[str, Callable[[Path], Any]] = {
    "no manifest": lambda x: (x / "parts.json").unlink(),
    "not json": lambda x: (x / "parts.json").write_bytes(b"\xff"),
    "a list": lambda x: (x / "parts.json").write_text("[]"),
    "another kind": lambda x: manifest(x, kind="embedding"),
    "another format": lambda x: manifest(x, format=9),
    "no files": lambda x: manifest(x, files=[]),
    "files that are none": lambda x: manifest(x, files=[1, 2]),
    "too many parts": lambda x: manifest(x, files=[{}] * 5000),
    "more nodes": lambda x: manifest(x, n_nodes=9),
    "unknown names": lambda x: manifest(x, names="bytes"),
    "no direction": lambda x: manifest(x, directed="no"),
    "outside": lambda x: entry(x, name="../x"),
    "negative": lambda x: entry(x, nodes=-1),
    "a float": lambda x: entry(x, arcs=2.0),
    "no first": lambda x: entry(x, first=None),
    "missing": lambda x: (x / FIRST).unlink(),
    "cut": lambda x: (x / FIRST).write_bytes((x / FIRST).read_bytes()[:-1]),
    "a changed byte": lambda x: (x / FIRST).write_bytes((x / FIRST).read_bytes()[:-1] + b"!"),
    "swapped": lambda x: shutil.copy(x / "part-00001.safetensors", x / FIRST),
    "no weights": lambda x: tensors(x, lambda a: a.pop("weights")),
    "one more": become("more", np.zeros(1)),
    "doubles": become("weights", np.ones(2)),
    "another shape": become("weights", np.ones((1, 2), np.float32)),
    "fewer weights": become("weights", np.ones(1, np.float32)),
    "NaN": put("weights", 0, np.nan),
    "infinite": put("weights", 0, np.inf),
    "a zero": put("weights", 0, 0),
    "not symmetric": put("weights", 0, 3),
    "out of order": lambda x: tensors(x, lambda a: a["indices"].__setitem__(slice(None), a["indices"][::-1].copy())),
    "outside of the graph": put("indices", 0, 99),
    "below 0": put("indices", 0, -1),
    "indptr begins later": put("indptr", 0, 1),
    "indptr beyond": put("indptr", -1, 3),
    "names that are no text": put("names.bytes", 0, 255),
    "offsets beyond": put("names.offsets", -1, 9),
}


@pytest.mark.parametrize("harm", HARM)
def test_damaged_parts_are_refused(harm: str, saved: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(saved, tmp_path / "harmed"))
    HARM[harm](folder)
    with pytest.raises(InputError, match="harmed"):
        Graph.load(folder)


def test_a_name_in_two_parts_is_refused(tmp_path: Path) -> None:
    write_vector_parts(tmp_path / "v.parts", Nodes.of([1, 2]), np.ones((2, 2), np.float32), parts=2)
    tensors(tmp_path / "v.parts", lambda x: x.__setitem__("names.ints", np.array([2 if 1 in x["names.ints"] else 1])))
    with pytest.raises(InputError, match="duplicate node"):
        Embedding.load(tmp_path / "v.parts")


@pytest.mark.parametrize("parts", [0, -1, 5000, 2.0, True])
def test_numbers_of_parts_that_are_none(parts: Any, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="whole number from 1 to 4,096"):
        a_graph([1, 2, 3], False).save(tmp_path / "g", parts=parts)
