"""`read_edges` of large files, hostile files and real ones: memory for the graph, not for the file."""

from __future__ import annotations

import gzip
import os
from pathlib import Path

import numpy as np
import pytest

from edge_files import same, write
from memory import peak_memory
from netfold.data.graph import Graph
from netfold.errors import InputError
from netfold.io.edges import read_edges


@pytest.mark.parametrize("row", [b"123,456\n", b"123,456,0.5\n", b"ann,bob\n"])
def test_a_small_file_that_unpacks_to_a_huge_one_stays_small(tmp_path: Path, row: bytes) -> None:
    peaks: list[int] = []
    many = (1 << 20) // len(row)
    for size in (8, 64):
        path = tmp_path / "bomb.csv.gz"
        with gzip.open(path, "wb", compresslevel=1) as file:
            for _ in range(size):
                file.write(row * many)
        with peak_memory() as peak:
            graph = read_edges(path)
        peaks += peak
        assert graph.n_edges == 1 and graph.adjacency[0, 1] == (0.5 * size * many if row.count(b",") == 2 else 1)
    assert peaks[1] < peaks[0] + (4 << 20)


def test_a_line_without_end_stays_small(tmp_path: Path) -> None:
    path = tmp_path / "bomb.csv.gz"
    with gzip.open(path, "wb", compresslevel=1) as file:
        for _ in range(64):
            file.write(b"1" * (1 << 20))
    with peak_memory() as peak, pytest.raises(InputError, match="line 1: the line is longer"):
        read_edges(path)
    assert peak[0] < 32 << 20


def test_the_same_file_is_the_same_graph(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    edges = rng.integers(0, 5000, (60_000, 2))
    for row in ("{},{}", "node {},node {}", "{0},{1},0.{0}"):
        path = write(tmp_path, "\n".join(row.format(a, b) for a, b in edges))
        first = read_edges(path)
        assert same(first, read_edges(path)) and first.fingerprint == read_edges(path).fingerprint


@pytest.mark.parametrize("directed", [False, True])
def test_many_edges_in_many_buckets(tmp_path: Path, directed: bool) -> None:
    edges = np.random.default_rng(1).integers(0, 30_000, (250_000, 2))
    path = write(tmp_path, "\n".join(f"{a} {b}" for a, b in edges.tolist()))
    graph = read_edges(path, directed=directed)
    ids, codes = np.unique(edges, return_inverse=True)
    u, v = codes.reshape(-1, 2).T
    pairs = set(zip(u.tolist(), v.tolist(), strict=True))
    pairs |= set() if directed else {(b, a) for a, b in pairs}
    rows, columns = graph.adjacency.nonzero()
    assert graph.nodes.arrays()["ints"].tolist() == ids.tolist()
    assert list(zip(rows.tolist(), columns.tolist(), strict=True)) == sorted(pairs)
    assert same(graph, Graph.from_edges(edges, directed=directed))


@pytest.mark.skipif("NETFOLD_DATA" not in os.environ, reason="needs the data sets")
@pytest.mark.parametrize(
    ("name", "nodes", "edges"),
    [("karate", 34, 78), ("ca_grqc", 5242, 14_496), ("cora", 2708, 5278), ("npm_dependencies", 304_031, 2_330_557)],
)
def test_real_data(name: str, nodes: int, edges: int) -> None:
    graph = read_edges(Path(os.environ["NETFOLD_DATA"], name, "edges.csv.gz"))
    assert (graph.n_nodes, graph.n_edges, graph.is_weighted) == (nodes, edges, name == "karate")
