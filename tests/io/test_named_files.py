"""The name of a file where data are wanted: the same as what was read of it."""

from __future__ import annotations

from pathlib import Path

import pytest

import netfold as nf
from netfold.io.edges import graph_or_hypergraph

EDGES = [(f"a{i}", f"a{(7 * i + j) % 40}") for i in range(40) for j in (1, 2, 3)]


@pytest.fixture
def edges(tmp_path: Path) -> Path:
    path = tmp_path / "edges.csv"
    path.write_text("source,target\n" + "".join(f"{u},{v}\n" for u, v in EDGES if u != v))
    return path


def test_a_file_is_read_as_fit_reads_it(edges: Path, tmp_path: Path) -> None:
    graph = nf.read_edges(edges)
    graph.save(tmp_path / "graph")
    for name in (edges, str(edges), tmp_path / "graph"):
        found = graph_or_hypergraph(name)
        assert (found.n_nodes, found.n_edges) == (graph.n_nodes, graph.n_edges)
    tuples = tmp_path / "tuples.csv"
    tuples.write_text("user,film\n1,2\n3,4\n")
    assert set(graph_or_hypergraph(tuples, "hypergraph").types) == {"user", "film"}  # type: ignore[union-attr]
    assert graph_or_hypergraph(graph) is graph


def test_studies_take_the_name_of_a_file(edges: Path) -> None:
    graph = nf.read_edges(edges)
    assert nf.choose(edges, "classify", probe=False).facts == nf.choose(graph, "classify", probe=False).facts
    assert str(nf.compare("spectral", str(edges), progress=False).data) == repr(graph)
    best = nf.auto(edges, "near", budget="1 trials", progress=False)
    assert list(best.embedding_.nodes) == list(graph.nodes)


def test_tuples_are_not_chosen_for_of_a_graph(edges: Path) -> None:
    with pytest.raises(nf.InputError, match="tuples is asked of a hypergraph, and this is a graph"):
        nf.choose(nf.read_edges(edges), "tuples", probe=False)
