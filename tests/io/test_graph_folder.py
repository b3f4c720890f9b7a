"""A graph's folder on disk: there and back, mapped into memory, and refused where it is damaged."""

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
    graph.save(tmp_path / "g")
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
    graph.save(tmp_path / "g")
    with pytest.raises(InputError, match="g exists"):
        graph.save(tmp_path / "g")
    loaded = Graph.load(tmp_path / "g")
    loaded.save(tmp_path / "g", force=True)
    assert Graph.load(tmp_path / "g").fingerprint == loaded.fingerprint == graph.fingerprint
    assert [x.name for x in tmp_path.iterdir()] == ["g"]


def test_an_empty_graph_on_disk(tmp_path: Path) -> None:
    Graph.from_edges([], nodes=["a"]).save(tmp_path / "g")
    assert repr(Graph.load(tmp_path / "g")) == "Graph(1 nodes, 0 edges, undirected)"


# -------------------------------------------------------------------- damage


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("graph") / "g"
    Graph.from_edges([("a", "b", 2.0), ("b", "c", 1.0), ("c", "a", 1.0)]).save(folder)
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
    with pytest.raises(InputError, match="not a folder that netfold wrote as a graph"):
        Graph.load(tmp_path / "missing")


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
    Graph.from_edges([("a", "b"), ("b", "c")]).save(tmp_path / "g")
    indices = np.load(tmp_path / "g" / "indices.npy")
    indices[1] = bad
    np.save(tmp_path / "g" / "indices.npy", indices)
    with pytest.raises(InputError, match="outside"):
        Graph.load(tmp_path / "g")
