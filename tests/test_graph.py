"""Graph: its matrices against loops in float64, its rules for edges, and its folder on disk."""

from __future__ import annotations

import dataclasses
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
from scipy import sparse

from netfold.errors import InputError
from netfold.graph import Graph
from netfold.labels import Labels

fast = settings(deadline=None, max_examples=50)

WEIGHTS = st.floats(2**-10, 2**10, width=32)
EDGES = st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6), WEIGHTS), max_size=25)


def naive_matrix(edges: list[tuple[int, int, float]], n: int, directed: bool) -> npt.NDArray[np.float64]:
    """s_ij by a loop over edges; a self-loop stands once on the diagonal."""
    matrix = np.zeros((n, n))
    for u, v, w in edges:
        matrix[u, v] += w
        if not directed and u != v:
            matrix[v, u] += w
    return matrix


def dense(matrix: sparse.csr_array) -> npt.NDArray[np.float64]:
    return matrix.toarray().astype(np.float64)


# -------------------------------------------------------------------- formulas


@fast
@given(EDGES, st.booleans())
def test_matrices_are_what_loops_make(edges: list[tuple[int, int, float]], directed: bool) -> None:
    n = 7
    graph = Graph.from_edges(edges, nodes=range(n), directed=directed, duplicates="sum")
    s = naive_matrix(edges, n, directed)
    transition, laplacian = np.zeros((n, n)), np.zeros((n, n))
    for i in range(n):
        total = sum(s[i, j] for j in range(n))
        laplacian[i, i] = total
        for j in range(n):
            transition[i, j] = s[i, j] / total if total else 0
            laplacian[i, j] -= s[i, j]
    np.testing.assert_allclose(dense(graph.adjacency), s, rtol=1e-6)
    np.testing.assert_allclose(dense(graph.transition()), transition, rtol=1e-6)
    np.testing.assert_allclose(dense(graph.laplacian()), laplacian, rtol=1e-5, atol=1e-6 * s.max(initial=1) * n)
    links = {(u, v) if directed else (min(u, v), max(u, v)) for u, v, _ in edges}
    assert graph.n_edges == len(links)
    assert graph.n_self_loops == sum(u == v for u, v in links)
    assert graph.degrees.tolist() == [int(np.count_nonzero(s[i])) for i in range(n)]
    assert [graph.neighbors(i) for i in range(n)] == [[j for j in range(n) if s[i, j]] for i in range(n)]


def test_transition_of_extreme_weights() -> None:
    tiny = Graph.from_edges([("a", "b", 1e-40), ("b", "c", 3e38), ("c", "d", 3e38)])
    p = dense(tiny.transition())
    assert p[0].tolist() == [0, 1, 0, 0]
    np.testing.assert_allclose(p.sum(axis=1), 1)
    assert p[2].tolist() == [0, 0.5, 0, 0.5]


def test_transition_is_a_copy() -> None:
    graph = Graph.from_edges([("a", "b"), ("b", "c")])
    made = graph.transition()
    made.data[:] = 0
    made.eliminate_zeros()
    assert graph.adjacency.nnz == 4


@fast
@given(EDGES, st.permutations(range(7)), st.integers(0, 7), st.booleans())
def test_subgraph(edges: list[tuple[int, int, float]], order: list[int], k: int, directed: bool) -> None:
    graph = Graph.from_edges(edges, nodes=range(7), directed=directed)
    rows = order[:k]
    part = graph.subgraph(rows)
    assert list(part.nodes) == rows
    assert part.directed == directed
    np.testing.assert_array_equal(dense(part.adjacency), dense(graph.adjacency)[np.ix_(rows, rows)])


@pytest.mark.parametrize("rows", [[0, 0], [3], [-1], [True, False, True]])
def test_subgraph_refuses(rows: list[Any]) -> None:
    with pytest.raises(InputError, match=r"row"):
        Graph.from_edges([("a", "b"), ("b", "c")]).subgraph(rows)


# -------------------------------------------------------------------- edges


def test_order_of_nodes() -> None:
    assert list(Graph.from_edges([(30, 4), (4, 7)]).nodes) == [4, 7, 30]
    assert list(Graph.from_edges(np.array([[30, 4], [4, 7]])).nodes) == [4, 7, 30]
    assert sorted(Graph.from_edges([("z", "a"), ("a", "m")]).nodes) == ["a", "m", "z"]
    given = Graph.from_edges([("z", "a")], nodes=["q", "a", "z"])
    assert list(given.nodes) == ["q", "a", "z"]
    assert given.degrees.tolist() == [0, 1, 1]
    assert given.positions(["z", "q"]).tolist() == [2, 0]


def test_an_edge_to_a_node_that_is_not_given() -> None:
    with pytest.raises(InputError, match="no node is labelled 'x'"):
        Graph.from_edges([("a", "x")], nodes=["a", "b"])


@pytest.mark.parametrize(
    ("edges", "directed", "rule", "weight"),
    [
        ([("a", "b"), ("a", "b")], False, None, 1),
        ([("a", "b"), ("b", "a")], False, None, 1),
        ([("a", "b"), ("a", "b")], False, "sum", 2),
        ([("a", "b"), ("b", "a")], False, "sum", 2),
        ([("a", "b", 2.0), ("b", "a", 0.5)], False, None, 2.5),
        ([("a", "b", 2.0), ("b", "a", 0.5)], False, "one", 1),
        ([("a", "b", 2.0), ("b", "a", 0.5)], True, None, 2),
        ([("a", "b", 2.0), ("b", "a", 0.5)], True, "error", 2),
        ([("a", "b", 2.0), ("a", "b", 0.5)], True, "sum", 2.5),
        ([("a", "b", 2.0)], False, "error", 2),
        ([("a", "a", 2.0), ("a", "b", 1.0)], False, "error", 1),
    ],
)
def test_duplicates(edges: list[Any], directed: bool, rule: str | None, weight: float) -> None:
    graph = Graph.from_edges(edges, nodes=["a", "b"], directed=directed, duplicates=rule)
    assert graph.adjacency[0, 1] == weight


def test_duplicates_in_both_directions_have_one_sum() -> None:
    # in float32, 1.89 + 1.89 + 127 and 127 + 1.89 + 1.89 differ: the two directions must not be summed apart
    graph = Graph.from_edges([(0, 1, 1.89174485206604), (1, 0, 1.89174485206604), (0, 1, 127.0)])
    assert graph.adjacency[0, 1] == graph.adjacency[1, 0] == pytest.approx(130.78349)


@pytest.mark.parametrize(
    ("edges", "directed"),
    [
        ([("a", "b"), ("c", "b"), ("a", "b")], True),
        ([("a", "b"), ("b", "a")], False),
        ([("a", "a"), ("a", "a")], False),
        ([("a", "b", 1.0), ("b", "a", 2.0)], False),
    ],
)
def test_duplicates_refused(edges: list[Any], directed: bool) -> None:
    with pytest.raises(InputError, match=r"the edge '.' - '.' is given twice"):
        Graph.from_edges(edges, directed=directed, duplicates="error")


def test_an_unknown_rule() -> None:
    with pytest.raises(InputError, match="duplicates='drop' is not one of sum, one, error"):
        Graph.from_edges([("a", "b")], duplicates="drop")


@pytest.mark.parametrize("weight", [-1.0, float("nan"), float("inf"), 1e39, -1e-9])
@pytest.mark.parametrize("make", ["edges", "scipy", "graph"])
def test_weights_refused(make: str, weight: float) -> None:
    matrix = sparse.csr_array(np.array([[0, weight], [weight, 0]]))
    with pytest.raises(InputError, match="an edge weighs .*weights are finite numbers of at least 0"):
        if make == "edges":
            Graph.from_edges([("a", "b", 1.0), ("b", "c", weight)])
        elif make == "scipy":
            Graph.from_scipy(matrix)
        else:
            Graph(matrix, Labels.of("ab"))


def test_an_edge_of_weight_zero_is_none() -> None:
    graph = Graph.from_edges([("a", "b", 0.0), ("b", "c", 1.0)])
    assert (graph.n_nodes, graph.n_edges, graph.adjacency.nnz) == (3, 1, 2)


def test_nothing_at_all() -> None:
    empty = Graph.from_edges([])
    assert repr(empty) == "Graph(0 nodes, 0 edges, undirected)"
    assert empty.transition().shape == empty.laplacian().shape == (0, 0)
    assert repr(Graph.from_edges([], nodes=["a"])) == "Graph(1 nodes, 0 edges, undirected)"


def test_repr() -> None:
    ring = Graph.from_edges([(i, (i + 1) % 2000) for i in range(2000)])
    assert repr(ring) == "Graph(2,000 nodes, 2,000 edges, undirected)"
    assert (
        repr(Graph.from_edges([("a", "b", 2), ("b", "a", 1)], directed=True))
        == "Graph(2 nodes, 2 edges, directed, weighted)"
    )


@pytest.mark.parametrize(
    ("edges", "why"),
    [
        ([("a",)], "edge 0 is"),
        (["ab"], "edge 0 is 'ab'"),
        ([("a", "b"), ("a", "b", 1.0)], "edge 1 is"),
        ([("a", "b", "heavy")], "the third column does not hold numbers"),
        ([(["a"], "b")], "label"),
        ([("a", None), (float("nan"), "b")], "the label nan"),
        (np.zeros(3), "one row per edge"),
        (np.zeros((3, 1)), "two ends"),
    ],
)
def test_what_is_no_edge(edges: Any, why: str) -> None:
    with pytest.raises(InputError, match=why):
        Graph.from_edges(edges)


@pytest.mark.parametrize("weights", [[1.0], [[1.0], [2.0]], np.ones(3)])
def test_weights_that_do_not_fit(weights: Any) -> None:
    with pytest.raises(InputError, match="do not fit 2 edges"):
        Graph.from_edges([("a", "b"), ("b", "c")], weights)


# -------------------------------------------------------------------- a frozen value


def test_the_given_matrix_is_not_changed() -> None:
    given = sparse.csr_array(
        (np.array([1, 1, 0, 2, 1, 0], np.float32), np.array([2, 1, 0, 0, 0, 2]), np.array([0, 3, 4, 6])), shape=(3, 3)
    )
    given[1, 0] = 1
    before = [x.copy() for x in (given.data, given.indices, given.indptr)]
    graph = Graph.from_scipy(given)
    for now, then in zip((given.data, given.indices, given.indptr), before, strict=True):
        assert now.flags.writeable
        np.testing.assert_array_equal(now, then)
    assert graph.adjacency.nnz == 4
    assert graph.adjacency.has_canonical_format
    assert graph.adjacency.data.all()


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64, bool])
@pytest.mark.parametrize("index", [np.int32, np.int64])
def test_arrays_are_read_only_float32(dtype: Any, index: Any) -> None:
    given = sparse.csr_array(np.array([[0, 1, 0], [1, 0, 1], [0, 1, 0]], dtype))
    given.indices, given.indptr = given.indices.astype(index), given.indptr.astype(index)
    graph = Graph.from_scipy(given)
    assert graph.adjacency.dtype == np.float32
    assert not any(x.flags.writeable for x in (graph.adjacency.data, graph.adjacency.indices, graph.adjacency.indptr))
    assert given.data.flags.writeable and given.indices.flags.writeable and given.indptr.flags.writeable
    with pytest.raises(dataclasses.FrozenInstanceError):
        graph.directed = True  # type: ignore[misc]
    with pytest.raises(ValueError, match="read-only"):
        graph.adjacency.data[0] = 5
    graph.to_scipy().data[0] = 5
    assert graph.adjacency[0, 1] == 1


def test_what_is_no_adjacency_matrix() -> None:
    square = sparse.csr_array(np.array([[0, 1], [0, 0.0]]))
    with pytest.raises(InputError, match="not symmetric"):
        Graph(square, Labels.of("ab"))
    assert Graph(square, Labels.of("ab"), directed=True).n_edges == 1
    with pytest.raises(InputError, match="3 labels do not fit an adjacency matrix of 2 rows"):
        Graph(square, Labels.of("abc"), directed=True)
    with pytest.raises(InputError, match="square, not 2 x 3"):
        Graph.from_scipy(sparse.csr_array((2, 3)))
    with pytest.raises(InputError, match="real numbers, not complex128"):
        Graph.from_scipy(square.astype(complex))
    with pytest.raises(InputError, match="real numbers, not complex128"):
        Graph(square.astype(complex), Labels.of("ab"), directed=True)
    with pytest.raises(InputError, match="2 axes, not 1"):
        Graph.from_scipy(np.zeros(3))


def test_fingerprints_tell_graphs_apart() -> None:
    edges = [("a", "b", 1.0), ("b", "c", 2.0)]
    graph = Graph.from_edges(edges, nodes="abc")
    wide = graph.to_scipy()
    wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
    same = [Graph.from_edges(edges[::-1], nodes="abc"), Graph(wide, Labels.of("abc"))]
    assert {x.fingerprint for x in same} == {graph.fingerprint}
    others = [
        Graph.from_edges(edges, nodes="abcd"),
        Graph.from_edges(edges, nodes="bac"),
        Graph.from_edges([("a", "b", 1.0), ("b", "c", 2.5)], nodes="abc"),
        Graph(graph.adjacency, graph.nodes, directed=True),
        Graph(graph.adjacency, Labels.of([1, 2, 3])),
        Graph(graph.adjacency, Labels.of(["1", "2", "3"])),
    ]
    assert len({x.fingerprint for x in [graph, *others]}) == len(others) + 1


# -------------------------------------------------------------------- on disk


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
    graph = Graph(matrix, Labels.of(labels), directed=directed)
    graph.save(tmp_path / "g")
    loaded = Graph.load(tmp_path / "g")
    assert list(loaded.nodes) == labels
    assert (loaded.directed, loaded.n_edges, loaded.fingerprint) == (directed, 2, graph.fingerprint)
    np.testing.assert_array_equal(dense(loaded.adjacency), dense(graph.adjacency))
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
