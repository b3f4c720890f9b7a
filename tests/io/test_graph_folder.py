"""A graph's folder of before there were `.parts`: read as ever, mapped into memory, and refused where it is damaged."""

from __future__ import annotations

import json
import shutil
import tempfile
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from netfold.data.graph import Graph
from netfold.data.nodes import Nodes
from netfold.errors import InputError
from netfold.io import parts
from netfold.io.tensors import file_facts
from old_graphs import save_old

# -------------------------------------------------------------------- there and back


def memory_map(array: npt.NDArray[Any]) -> bool:
    base: Any = array
    while base is not None:
        if isinstance(base, np.memmap):
            return True
        base = getattr(base, "base", None)
    return False


@pytest.mark.parametrize("index", [np.int32, np.int64])
@pytest.mark.parametrize("labels", [[5, 3, 9], ["é", "", "c d\n"], [1, "1", ("x", 2)]])
@pytest.mark.parametrize("directed", [True, False])
def test_saved_and_loaded(labels: list[Any], directed: bool, index: Any, tmp_path: Path) -> None:
    matrix = Graph.from_edges([(0, 1, 2.5), (1, 1, 1)], nodes=range(3), directed=directed).to_scipy()
    matrix.indices, matrix.indptr = matrix.indices.astype(index), matrix.indptr.astype(index)
    graph = Graph(matrix, Nodes.of(labels), directed=directed)
    save_old(graph, tmp_path / "g")
    loaded = Graph.load(tmp_path / "g")
    assert list(loaded.nodes) == labels
    assert (loaded.directed, loaded.n_edges, loaded.fingerprint) == (directed, 2, graph.fingerprint)
    np.testing.assert_array_equal(loaded.adjacency.toarray(), graph.adjacency.toarray())
    assert memory_map(loaded.adjacency.data) and memory_map(loaded.adjacency.indices)
    assert all(memory_map(x) for x in loaded.nodes.arrays().values())
    arrays = (loaded.adjacency.data, loaded.adjacency.indices, loaded.adjacency.indptr)
    assert not any(x.flags.writeable for x in arrays)


def test_a_loaded_graph_can_replace_its_own_folder(tmp_path: Path) -> None:
    graph = Graph.from_edges([("a", "b"), ("b", "c")])
    save_old(graph, tmp_path / "g")
    with pytest.raises(InputError, match="g exists"):
        save_old(graph, tmp_path / "g")
    loaded = Graph.load(tmp_path / "g")
    save_old(loaded, tmp_path / "g", force=True)
    assert Graph.load(tmp_path / "g").fingerprint == loaded.fingerprint == graph.fingerprint
    assert [x.name for x in tmp_path.iterdir()] == ["g"]


def test_an_empty_graph_on_disk(tmp_path: Path) -> None:
    save_old(Graph.from_edges([], nodes=["a"]), tmp_path / "g")
    assert repr(Graph.load(tmp_path / "g")) == "Graph(1 node, 0 edges, undirected)"


# -------------------------------------------------------------------- damage


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("graph") / "g"
    save_old(Graph.from_edges([("a", "b", 2.0), ("b", "c", 1.0), ("c", "a", 1.0)]), folder)
    return folder


def facts(folder: Path, **changes: Any) -> None:
    file = folder / "graph.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | changes))


def zipped(folder: Path) -> None:
    with zipfile.ZipFile(folder / "weights.npy", "w") as archive:
        archive.writestr("a", b"x")


ARRAYS = ["indptr", "indices", "weights", "label_offsets", "label_bytes"]
HARM: dict[str, Any] = {
    "no json": lambda x: (x / "graph.json").unlink(),
    "huge json": lambda x: (x / "graph.json").write_text(" " * 2_000_000 + "{}"),
    "deep json": lambda x: (x / "graph.json").write_text("[" * 100_000),
    "not json": lambda x: (x / "graph.json").write_bytes(b"\xff\x00"),
    "a list": lambda x: (x / "graph.json").write_text("[]"),
    "another version": lambda x: facts(x, format=2),
    "another kind": lambda x: facts(x, kind="model"),
    "more nodes": lambda x: facts(x, n_nodes=4),
    "2**70 nodes": lambda x: facts(x, n_nodes=2**70),
    "no number": lambda x: facts(x, n_nodes="3"),
    "directed, perhaps": lambda x: facts(x, directed="no"),
    "unknown labels": lambda x: facts(x, labels="float"),
    "labels of another kind": lambda x: facts(x, labels="int"),
    "labels are a list": lambda x: facts(x, labels=[]),
    "objects": lambda x: np.save(x / "weights.npy", np.array([{}] * 6, dtype=object), allow_pickle=True),
    "zip": zipped,
    "doubles": lambda x: np.save(x / "weights.npy", np.ones(6)),
    "complex": lambda x: np.save(x / "weights.npy", np.ones(6, complex)),
    "fewer weights": lambda x: np.save(x / "weights.npy", np.ones(5, np.float32)),
    "a matrix": lambda x: np.save(x / "weights.npy", np.ones((6, 1), np.float32)),
    "no axes": lambda x: np.save(x / "indptr.npy", np.array(1)),
    "no rows": lambda x: np.save(x / "indptr.npy", np.array([], np.int64)),
    "float indices": lambda x: np.save(x / "indices.npy", np.ones(6)),
    "decreasing": lambda x: np.save(x / "indptr.npy", np.array([0, 4, 2, 6])),
    "too few": lambda x: np.save(x / "indptr.npy", np.array([0, 2, 6])),
    "beyond": lambda x: np.save(x / "indptr.npy", np.array([0, 2, 4, 7])),
    "label offsets": lambda x: np.save(x / "label_offsets.npy", np.array([0, 1, 2, 9])),
    "label floats": lambda x: np.save(x / "label_bytes.npy", np.ones(3)),
    **{f"no {name}": lambda x, name=name: (x / f"{name}.npy").unlink() for name in ARRAYS},
    **{f"{name} cut": lambda x, name=name: cut(x / f"{name}.npy", -1) for name in ARRAYS},
    **{f"{name} empty": lambda x, name=name: cut(x / f"{name}.npy", 0) for name in ARRAYS},
    **{f"{name} header": lambda x, name=name: cut(x / f"{name}.npy", 40) for name in ARRAYS},
}


def cut(path: Path, to: int) -> None:
    path.write_bytes(path.read_bytes()[:to])


@pytest.mark.parametrize("harm", HARM)
def test_damaged_folders_are_refused(harm: str, saved: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(saved, tmp_path / "harmed"))
    HARM[harm](folder)
    with pytest.raises(InputError, match="harmed"):
        Graph.load(folder)


def test_a_folder_that_is_none(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there is no folder .*missing, from which a graph is to be read"):
        Graph.load(tmp_path / "missing")
    with pytest.raises(InputError, match="not a folder that netfold wrote as a graph"):
        Graph.load(tmp_path)


# -------------------------------------------------------------------- what is looked at before it is believed


def array(folder: Path, name: str, at: Any, value: Any) -> None:
    values = np.load(folder / f"{name}.npy")
    values[at] = value
    np.save(folder / f"{name}.npy", values)


def entries(folder: Path, columns: list[int], ends: list[int]) -> None:
    np.save(folder / "indices.npy", np.array(columns, np.int32))
    np.save(folder / "indptr.npy", np.array(ends, np.int64))
    np.save(folder / "weights.npy", np.ones(len(columns), np.float32))


LIES: dict[str, tuple[Any, str]] = {  # of the triangle a, b, c with the weights ab 2, ac 1, bc 1
    "a weight that is no number": (lambda x: array(x, "weights", 0, np.nan), "a finite number above 0"),
    "an infinite weight": (lambda x: array(x, "weights", 0, np.inf), "a finite number above 0"),
    "a weight below 0": (lambda x: array(x, "weights", 0, -1), "a finite number above 0"),
    "a stored zero": (lambda x: array(x, "weights", 0, 0), "a finite number above 0"),
    "another weight back": (lambda x: array(x, "weights", 0, 3), "is not symmetric"),
    "half of an edge": (lambda x: entries(x, [1, 2, 2, 0, 1], [0, 2, 3, 5]), "is not symmetric"),
    "columns out of order": (lambda x: entries(x, [2, 1, 0, 2, 0, 1], [0, 2, 4, 6]), "not in order, each once"),
    "a column twice": (lambda x: entries(x, [1, 1, 0, 0], [0, 2, 4, 4]), "not in order, each once"),
    "a first row that begins later": (lambda x: array(x, "indptr", 0, 1), "does not fit"),
    "equal names": (lambda x: array(x, "label_bytes", 1, ord("a")), "duplicate node 'a'"),
    "names that are no text": (lambda x: array(x, "label_bytes", 1, 255), "not UTF-8"),
}


@pytest.mark.parametrize("hashed", [True, False], ids=["hashes", "none, as before"])
@pytest.mark.parametrize("lie", LIES)
def test_a_graph_that_is_none_is_refused_whoever_vouches_for_it(
    lie: str, hashed: bool, saved: Path, tmp_path: Path
) -> None:
    folder = Path(shutil.copytree(saved, tmp_path / "harmed"))
    change, said = LIES[lie]
    change(folder)
    with pytest.raises(InputError, match="its hash differs|does not fit"):
        Graph.load(folder)
    written = json.loads((folder / "graph.json").read_text())
    files = [file_facts(folder / entry["name"]) for entry in written.pop("files")]
    (folder / "graph.json").write_text(json.dumps(written | ({"files": files} if hashed else {})))
    with pytest.raises(InputError, match=said) as e:
        Graph.load(folder)
    assert str(e.value).startswith(f"{folder} is damaged: ")


def test_another_weight_is_found_by_its_hash(tmp_path: Path) -> None:
    """Of a directed graph, where any weight above 0 would do."""
    save_old(Graph.from_edges([("a", "b", 2.0)], directed=True), tmp_path / "g")
    array(tmp_path / "g", "weights", 0, 3)
    with pytest.raises(InputError, match=r"g is damaged: weights\.npy is not the file that was saved"):
        Graph.load(tmp_path / "g")


def test_times_are_hashed_too_and_a_folder_with_them_is_ours_to_replace(tmp_path: Path) -> None:
    graph = Graph(Graph.from_edges([("a", "b")]).adjacency, ["a", "b"], times=np.array([5.0, 5.0]))  # type: ignore[arg-type]
    save_old(graph, tmp_path / "g")
    save_old(graph, tmp_path / "g", force=True)
    array(tmp_path / "g", "times", 0, 3)
    with pytest.raises(InputError, match=r"g is damaged: times\.npy is not the file that was saved"):
        Graph.load(tmp_path / "g")
    np.save(tmp_path / "g" / "times.npy", np.zeros(3))
    with pytest.raises(InputError, match=r"g is damaged: times\.npy does not fit indices\.npy"):
        Graph.load(tmp_path / "g")
    (tmp_path / "g" / "times.npy").unlink()
    with pytest.raises(InputError, match="g is damaged"):
        Graph.load(tmp_path / "g")


@pytest.mark.parametrize("names", [[3, 1, 2], ["x", "y", "z"], [1, "1", ("x", 2)]])
@pytest.mark.parametrize("directed", [True, False])
def test_a_folder_of_before_there_were_hashes_is_read(names: list[Any], directed: bool, tmp_path: Path) -> None:
    graph = Graph.from_edges([(0, 1, 2.5), (1, 2, 1), (2, 2, 1)], nodes=range(3), directed=directed)
    graph = Graph(graph.adjacency, Nodes.of(names), directed=directed)
    save_old(graph, tmp_path / "g")
    written = json.loads((tmp_path / "g" / "graph.json").read_text())
    del written["files"]
    (tmp_path / "g" / "graph.json").write_text(json.dumps(written))
    assert Graph.load(tmp_path / "g").fingerprint == graph.fingerprint
    save_old(graph, tmp_path / "g", force=True)


@pytest.mark.parametrize("block", [1, 7, 1 << 18])
@pytest.mark.parametrize("directed", [True, False])
def test_a_large_graph_is_looked_at_in_blocks(block: int, directed: bool, tmp_path: Path, monkeypatch: Any) -> None:
    rng = np.random.default_rng(0)
    graph = Graph.from_edges(rng.integers(0, 60, (300, 2)), rng.random(300) + 0.1, nodes=range(70), directed=directed)
    save_old(graph, tmp_path / "g")
    monkeypatch.setattr(parts, "_BLOCK", block)
    assert Graph.load(tmp_path / "g").fingerprint == graph.fingerprint
    facts(tmp_path / "g", directed=False)
    if directed:
        with pytest.raises(InputError, match="is not symmetric"):
            Graph.load(tmp_path / "g")


@settings(deadline=None, max_examples=150)
@given(st.sampled_from([*ARRAYS, "graph"]), st.data())
def test_any_damage_is_refused_or_harmless(saved: Path, name: str, data: st.DataObject) -> None:
    with tempfile.TemporaryDirectory() as place:
        folder = Path(shutil.copytree(saved, Path(place) / "g"))
        file = next(folder.glob(f"{name}.*"))
        content = bytearray(file.read_bytes())
        for _ in range(data.draw(st.integers(1, 3))):
            at = data.draw(st.integers(0, len(content) - 1))
            content[at : at + data.draw(st.integers(0, 2))] = data.draw(st.binary(max_size=2))
        file.write_bytes(content)
        try:
            loaded = Graph.load(folder)
            list(loaded.nodes)
        except InputError:
            return
        assert loaded.adjacency.shape == (loaded.n_nodes,) * 2
        assert loaded.adjacency.data.shape == loaded.adjacency.indices.shape == (loaded.adjacency.indptr[-1],)


@pytest.mark.parametrize("bad", [-1, 3, 2**31 - 1])
def test_a_stored_graph_that_points_outside_of_itself_is_refused(bad, tmp_path):
    """scipy trusts its indices: one that is out of range would be read from memory that is not ours."""
    save_old(Graph.from_edges([("a", "b"), ("b", "c")]), tmp_path / "g")
    indices = np.load(tmp_path / "g" / "indices.npy")
    indices[1] = bad
    np.save(tmp_path / "g" / "indices.npy", indices)
    with pytest.raises(InputError, match="outside"):
        Graph.load(tmp_path / "g")
