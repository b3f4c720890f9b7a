"""Users and items that are both numbered from 1: said, and kept apart where that is asked for."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import netfold as nf
from command import refuse, succeed
from edge_files import write
from netfold.data.graph import Graph
from netfold.data.reading import _are_two_kinds
from netfold.errors import InputError
from netfold.io.edges import read_edges

ROWS = [(u, i) for u in range(1, 7) for i in range(1, 5) if (u + i) % 3]
TABLE = "user,movie\n" + "".join(f"{u},{i}\n" for u, i in ROWS)


def naive_sides() -> set[frozenset[str]]:
    return {frozenset((f"user:{u}", f"movie:{i}")) for u, i in ROWS}


def edges(graph: Graph) -> set[frozenset[str]]:
    names = list(graph.nodes)
    return {frozenset((names[a], names[b])) for a, b in zip(*graph.adjacency.nonzero(), strict=True)}


def test_merged_ids_are_said(tmp_path: Path) -> None:
    path = write(tmp_path, TABLE, "sales.csv")
    with pytest.warns(UserWarning, match=r"4 nodes are in both user and movie, taken for the same: bipartite=True"):
        graph = read_edges(path)
    assert graph.n_nodes == 6 and graph.reading is not None and graph.reading.shared == 4
    assert "; in both columns: 4)" in repr(graph) and "bipartite=True (--bipartite)" in str(graph.reading)
    graph.save(tmp_path / "graph")
    assert Graph.load(tmp_path / "graph").reading == graph.reading
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert read_edges(path, bipartite=False).n_nodes == 6


@pytest.mark.parametrize("ids", [str, lambda i: f"n{i}"], ids=["integers", "texts"])
def test_two_sides_are_kept_apart(ids: Any, tmp_path: Path) -> None:
    path = write(tmp_path, "user,movie\n" + "".join(f"{ids(u)},{ids(i)}\n" for u, i in ROWS))
    graph = read_edges(path, bipartite=True)
    expected = {frozenset((f"user:{ids(u)}", f"movie:{ids(i)}")) for u, i in ROWS}
    assert edges(graph) == expected and graph.n_nodes == 10 and graph.n_self_loops == 0
    assert graph.reading is not None and graph.reading.bipartite and "user - movie (two sides)" in str(graph.reading)
    directed = read_edges(path, bipartite=True, directed=True)
    assert directed.directed and edges(directed) == expected and directed.degrees[:6].sum() == len(ROWS)


def test_weights_and_times_stay_with_their_edges(tmp_path: Path) -> None:
    text = "user,movie,weight,year\n" + "".join(f"{u},{i},{10 * u + i},{1900 + u + i}\n" for u, i in ROWS)
    graph = read_edges(write(tmp_path, text), bipartite=True)
    at = {node: k for k, node in enumerate(graph.nodes)}
    for u, i in ROWS:
        assert graph.adjacency[at[f"user:{u}"], at[f"movie:{i}"]] == 10 * u + i
    rows, columns = graph.adjacency.tocoo().coords
    assert graph.times is not None
    for a, b, time in zip(rows, columns, graph.times, strict=True):
        assert time == 1900 + sum(int(graph.nodes[x].split(":")[1]) for x in (a, b))


def test_tables_and_pairs_in_python() -> None:
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(ROWS, columns=["user", "movie"])
    with pytest.warns(UserWarning, match="4 nodes are in both user and movie"):
        assert Graph.of(frame).reading.shared == 4  # type: ignore[union-attr]
    assert edges(Graph.of(frame, bipartite=True)) == naive_sides()
    assert sorted(Graph.of(ROWS, bipartite=True).nodes)[:2] == ["source:1", "source:2"]
    assert Graph.of(np.array(ROWS), bipartite=True).n_nodes == 10
    with pytest.raises(InputError, match="nodes= says what the nodes are called"):
        Graph.from_edges(ROWS, nodes=range(9), bipartite=True)


def test_a_file_that_says_it_has_two_sides(tmp_path: Path) -> None:
    path = write(tmp_path, "% bip unweighted\n1 1\n1 2\n2 1\n", "out.konect")
    assert list(read_edges(path).nodes) == ["source:1", "source:2", "target:1", "target:2"]
    assert read_edges(path, bipartite=False).n_nodes == 2
    gml = write(tmp_path, "graph [ node [ id 0 ] ]", "a.gml")
    with pytest.raises(InputError, match="--bipartite. is for a table"):
        read_edges(gml, bipartite=True)


@pytest.mark.parametrize(
    ("one", "other", "two"),
    [
        ("user", "movie", True), ("user_id", "item_id", True), ("customer_id", "product_id", True),
        ("userId", "tagId", True),
        ("follower", "followee", False), ("citing", "cited", False), ("from_user", "to_user", False),
        ("person_a", "person_b", False), ("source", "item", False), ("id1", "id2", False), ("u", "v", False),
        ("user", "friend", False), ("user", "user_2", False),
    ],
)  # fmt: skip
def test_names_of_two_kinds(one: str, other: str, two: bool) -> None:
    assert _are_two_kinds(one, other) is two


@pytest.mark.parametrize(
    "rows",
    [[(900, 7), (10**9, 900)], [(1, 2)], [(5000 + i, 5000 + i + 1) for i in range(9)]],
    ids=["far apart", "nothing shared", "not from 1 on"],
)
def test_integers_that_do_not_count_up_are_no_sides(rows: list[tuple[int, int]], tmp_path: Path) -> None:
    path = write(tmp_path, "user,movie\n" + "".join(f"{a},{b}\n" for a, b in rows))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        graph = read_edges(path)
    assert graph.reading is not None and graph.reading.shared == 0


def test_on_the_command_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path, TABLE, "sales.csv")
    said = succeed("info", "sales.csv").stderr
    assert "4 nodes are in both user and movie" in said and "--bipartite" in said
    apart = succeed("info", "sales.csv", "--bipartite", "--json")
    assert '"nodes": 10' in apart.stdout and "(two sides)" in apart.stderr
    assert "in both" not in succeed("info", "sales.csv", "--no-bipartite").stderr
    fit = succeed("fit", "sdne", "sales.csv", "-o", "m", "--epochs", "1", "--dim", "2", "--quiet")
    assert "4 nodes are in both" in fit.stderr, "not certain, and so said in any case"
    succeed("fit", "sdne", "sales.csv", "-o", "two", "--epochs", "1", "--dim", "2", "--bipartite")
    assert "user:1" in nf.load("two").embedding_.nodes
    assert "has no meaning" in refuse("info", "sales.csv", "--hyperedges", "--bipartite")
