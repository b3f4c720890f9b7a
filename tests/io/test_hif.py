"""Hypergraphs in HIF: what is written is read, files of others too, and what is refused."""

from __future__ import annotations

import gzip
import json
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hypergraphs import triples
from netfold.data.hypergraph import Hypergraph
from netfold.errors import InputError
from netfold.io.hif import read_hif, write_hif

# -------------------------------------------------------------------- what is written

LABELS = st.one_of(st.integers(-3, 3), st.text(max_size=3), st.tuples(st.sampled_from("ab"), st.integers(0, 3)))
EDGES = st.lists(st.lists(st.integers(0, 5), min_size=2, max_size=4, unique=True), max_size=6)


@settings(deadline=None, max_examples=60)
@given(
    st.lists(LABELS, min_size=6, max_size=6, unique=True),
    EDGES,
    st.lists(st.sampled_from("xyz"), min_size=6, max_size=6),
)
def test_what_is_written_is_read(labels: list[Any], edges: list[list[int]], types: list[str]) -> None:
    hypergraph = Hypergraph([[labels[i] for i in edge] for edge in edges], labels, types)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "h.json")
        write_hif(hypergraph, path)
        again = read_hif(path)
    assert again.edges == hypergraph.edges
    assert again.fingerprint == hypergraph.fingerprint


@pytest.mark.parametrize("name", ["h.json", "h.json.gz"])
def test_the_file_is_hif(tmp_path: Path, name: str) -> None:
    write_hif(triples(), tmp_path / name)
    data = (tmp_path / name).read_bytes()
    whole = json.loads(gzip.decompress(data) if name.endswith("gz") else data)
    assert set(whole) == {"network-type", "metadata", "nodes", "incidences", "edges"}
    assert whole["network-type"] == "undirected"
    assert whole["nodes"][1] == {"node": '["entity", 7]', "attrs": {"type": "entity", "netfold_label": ["entity", 7]}}
    assert whole["incidences"][:2] == [
        {"edge": 0, "node": '["entity", "a"]', "attrs": {"role": "head"}},
        {"edge": 0, "node": '["relation", "é"]', "attrs": {"role": "relation"}},
    ]
    assert whole["edges"][1] == {
        "edge": 1,
        "attrs": {"roles": {"head": '["entity", 7]', "relation": '["relation", "é"]', "tail": '["entity", "a"]'}},
    }
    assert len(whole["edges"]) == 3  # the fourth edge has no roles but its types
    for record in (*whole["nodes"], *whole["incidences"]):  # as the schema has it
        assert set(record) <= {"edge", "node", "attrs"} and isinstance(record["node"], (str, int))
    assert read_hif(tmp_path / name).fingerprint == triples().fingerprint


def test_a_node_that_looks_like_the_text_of_another(tmp_path: Path) -> None:
    hypergraph = Hypergraph([(("a", 1), '["a", 1]'), ('["a", 1]\'', 3)], [("a", 1), '["a", 1]', '["a", 1]\'', 3])
    write_hif(hypergraph, tmp_path / "h.json")
    assert read_hif(tmp_path / "h.json").fingerprint == hypergraph.fingerprint


def test_lists_of_any_length_are_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("netfold.io.hif._STEP", 2)
    for edges in ([], [(1, 2)], [(1, 2, 3), (2, 3)]):
        made = Hypergraph(edges, range(4))
        write_hif(made, tmp_path / "h.json")
        assert read_hif(tmp_path / "h.json").fingerprint == made.fingerprint


def test_a_file_is_written_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "h.json").write_text("before")
    monkeypatch.setattr("netfold.io.hif._incidence_records", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        write_hif(triples(), tmp_path / "h.json")
    assert [x.name for x in tmp_path.iterdir()] == ["h.json"]
    assert (tmp_path / "h.json").read_text() == "before"


# -------------------------------------------------------------------- files of others


def hif(tmp_path: Path, whole: Any) -> Path:
    path = tmp_path / "given.json"
    path.write_text(whole if isinstance(whole, str) else json.dumps(whole))
    return path


def incidences(*pairs: tuple[Any, Any]) -> list[dict[str, Any]]:
    return [{"edge": edge, "node": node} for edge, node in pairs]


def test_files_of_others_are_read(tmp_path: Path) -> None:
    whole: dict[str, Any] = {
        "network-type": "asc",
        "metadata": {"name": "x"},
        "incidences": incidences(("e", 2), ("f", 1), ("e", "z"), ("f", 2)),
        "nodes": [{"node": "lone", "weight": 1, "attrs": {}}, {"node": 2, "attrs": {"type": "t", "label": "two"}}],
        "edges": [{"edge": "f", "weight": 2.0}],
    }
    made = read_hif(hif(tmp_path, whole))
    assert list(made.nodes) == ["lone", 2, 1, "z"]
    assert made.edges == ((2, "z"), (2, 1))  # of the types t and node, the second in the order of the first
    assert made.node_types == ("node", "t", "node", "node")
    assert read_hif(hif(tmp_path, whole), node_type="label").node_types[1] == "two"
    assert read_hif(hif(tmp_path, {"incidences": []})).n_nodes == 0


def test_roles_come_in_any_order(tmp_path: Path) -> None:
    records = [
        {"edge": e, "node": n, "attrs": {"role": r}} for e, n, r in [(0, 1, "a"), (0, 2, "b"), (1, 3, "b"), (1, 4, "a")]
    ]
    made = read_hif(hif(tmp_path, {"incidences": records}))
    assert [kind.roles for kind in made.kinds] == [("a", "b")]
    assert made.edges == ((1, 2), (4, 3))


def test_directions_are_roles(tmp_path: Path) -> None:
    records = [
        {"edge": e, "node": n, "direction": d}
        for e, n, d in [(0, 1, "tail"), (0, 2, "head"), (0, 3, "tail"), (1, 3, "head"), (1, 1, "tail"), (1, 2, "tail")]
    ]
    made = read_hif(hif(tmp_path, {"network-type": "directed", "incidences": records}))
    assert [kind.roles for kind in made.kinds] == [("tail", "head", "tail_2")]
    assert made.edges == ((1, 2, 3), (1, 3, 2))
    assert made.kinds[0].ordered


def test_nodes_that_are_lists_are_tuples(tmp_path: Path) -> None:
    """As xgi writes what it was given as tuples."""
    nodes = [{"node": [name, i], "attrs": {"type": name}} for name, i in (("user", 1), ("user", 2))]
    edges = [{"edge": 0, "attrs": {"roles": {"tail": ["user", 2], "head": ["user", 1]}}}]
    incidences = [{"edge": 0, "node": ["user", 1]}, {"edge": 0, "node": ["user", 2]}]
    (tmp_path / "h.json").write_text(json.dumps({"nodes": nodes, "edges": edges, "incidences": incidences}))
    (edge,) = read_hif(tmp_path / "h.json").named_edges()
    assert edge == {"head": ("user", 1), "tail": ("user", 2)}


# -------------------------------------------------------------------- what is refused


def test_small_edges(tmp_path: Path) -> None:
    path = hif(tmp_path, {"incidences": incidences((0, 1), (0, 2), (1, 1)), "edges": [{"edge": "none"}]})
    with pytest.raises(InputError, match="given.json: the edge 1 joins fewer than two nodes; skip_small=True"):
        read_hif(path)
    assert read_hif(path, skip_small=True).edges == ((1, 2),)


@pytest.mark.parametrize(
    ("whole", "why"),
    [
        ("{", "this is not json"),
        ("[" * 100_000, "this is not json"),
        ("[]", 'this is neither HIF .there is no list of "incidences".'),
        ({"incidences": {}}, 'no list of "incidences"'),
        ({"incidences": [[0, 1]]}, r"record 0 of 'incidences' is \[0, 1\]; in HIF it is an object"),
        ({"incidences": [{"node": 1}]}, "record 0 of 'incidences' has the edge None; in HIF that is a string"),
        ({"incidences": [{"edge": 0, "node": True}]}, "the node True"),
        ({"incidences": [{"edge": 0, "node": 1.5}]}, "the node 1.5"),
        ({"incidences": [{"edge": 0, "node": 1, "attrs": 3}]}, "record 0 of 'incidences' has the attrs 3"),
        ({"incidences": incidences((0, 1), (0, 1))}, "names a node twice"),
        ({"incidences": [], "nodes": {}}, "'nodes' is a dict; in HIF it is a list of records"),
        ({"incidences": [], "nodes": [{"node": "a"}, {"node": "a"}]}, "the node 'a' is listed twice"),
        ({"incidences": [], "nodes": [{"node": "a", "attrs": {"type": 3}}]}, "of the node 'a' is 3"),
        ({"incidences": [], "nodes": [{"node": "a", "attrs": {"netfold_label": {}}}]}, "the node {} is an object"),
        ({"incidences": [], "nodes": [{"node": "a", "attrs": {"netfold_label": [{}]}}]}, "the node {} is an object"),
        ({"incidences": [], "network-type": "tree"}, "the network-type is 'tree'; it is one of undirected,"),
        ({"incidences": incidences((0, 1), (0, 2)), "network-type": "directed"}, "incidence 0 has the direction None"),
        (
            {"incidences": [{"edge": 0, "node": 1, "attrs": {"role": "a"}}, {"edge": 0, "node": 2}]},
            "the role of the node 2 in the edge 0 is None; give all nodes of an edge a role, or none",
        ),
        (
            {"incidences": [{"edge": 0, "node": n, "attrs": {"role": "a"}} for n in (1, 2)]},
            "the edge 0 has the role 'a' twice",
        ),
    ],
)  # fmt: skip
def test_refused_hif(tmp_path: Path, whole: Any, why: str) -> None:
    with pytest.raises(InputError, match="given.json: .*" + why):
        read_hif(hif(tmp_path, whole))


def test_files_that_are_no_hif(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError, match="there is no such file"):
        read_hif(tmp_path / "none.json")
    (tmp_path / "p.parquet").write_bytes(b"PAR1" + bytes(20))
    with pytest.raises(InputError, match="this is parquet; HIF is json"):
        read_hif(tmp_path / "p.parquet")
    path = hif(tmp_path, {"incidences": incidences((0, 1), (0, 2))})
    monkeypatch.setattr("netfold.io.hif._MOST", 10)
    with pytest.raises(InputError, match="more than 10 bytes of json"):
        read_hif(path)


def test_a_bomb_is_not_unpacked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "bomb.json.gz").write_bytes(gzip.compress(b" " * (8 << 20)))
    monkeypatch.setattr("netfold.io.hif._MOST", 2 << 20)
    with pytest.raises(InputError, match=r"bomb.json.gz: there are more than 2,097,152 bytes of json"):
        read_hif(tmp_path / "bomb.json.gz")
