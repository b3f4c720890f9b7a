"""What `nf.choose` sees of the data: facts against loops, and what the columns of a file say."""

from __future__ import annotations

from pathlib import Path

import networkx as nx
import numpy as np
import pytest

import netfold as nf
from netfold.errors import InputError
from netfold.io.layout import FileColumns, file_columns
from netfold.studies.choose.facts import facts_of
from zoo import ZOO, karate, scattered, weighted
from zoo_hypergraphs import tags

# -------------------------------------------------------------------- facts


@pytest.mark.parametrize("name", ZOO)
def test_facts_by_loops(name: str) -> None:
    graph = ZOO[name]()
    known = nx.Graph(graph.to_networkx())
    known.remove_edges_from(nx.selfloop_edges(known))
    degrees = [d for _, d in known.degree]
    found = facts_of(graph)
    assert (found.nodes, found.edges, found.directed) == (graph.n_nodes, graph.n_edges, graph.directed)
    assert found.isolated == sum(d == 0 for d in degrees) and found.largest_degree == max(degrees)
    assert found.mean_degree == pytest.approx(sum(degrees) / len(degrees))
    assert found.median_degree == pytest.approx(float(np.median(degrees)))
    paths = sum(1 for b in known for a in known[b] for c in known[b] if a != c)
    assert found.two_steps == paths
    assert found.clustering == pytest.approx(nx.transitivity(known), abs=0.05)


def test_a_clique_is_all_clustered_and_a_star_not_at_all() -> None:
    assert facts_of(nf.Graph.from_networkx(nx.complete_graph(8))).clustering == 1.0
    assert facts_of(nf.Graph.from_networkx(nx.star_graph(8))).clustering == 0.0
    assert facts_of(nf.Graph.from_edges([("a", "b")])).clustering == 0.0


def test_facts_of_hyperedges_and_in_words() -> None:
    found = facts_of(tags(), "year")
    assert found.hyperedges and set(found.types) == {"user", "film", "tag"}
    assert found.isolated == int((tags().degrees == 0).sum()) > 0
    assert "hyperedges" in str(found) and "3 types" in str(found) and "a time column (year)" in str(found)
    assert "weighted" in str(facts_of(weighted())) and "2 isolated" in str(facts_of(scattered()))


# -------------------------------------------------------------------- a look at the columns


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1,2\n2,3\n", FileColumns()),
        ("1 2 0.5\n2 3 1\n", FileColumns()),
        ("source,target,weight\na,b,2\n", FileColumns()),
        ("source,target,year\na,b,1999\n", FileColumns(time="year")),
        ("source,target,kind\na,b,friend\n", FileColumns()),
        ("s,t\na,b\n", FileColumns()),
        ("user,movie,rating\n1,7,3\n2,7,4\n", FileColumns()),
        ("user,movie,tag\n1,7,slow\n2,7,fast\n", FileColumns(hyperedges=True)),
        ("user;movie;tag;Timestamp\n1;7;3;99\n2;7;4;98\n", FileColumns(hyperedges=True, time="Timestamp")),
        ("head:entity,relation,tail:entity\n1,2,3\n4,2,5\n", FileColumns(hyperedges=True)),
        ("# only a comment\n", FileColumns()),
    ],
)
def test_what_columns_say(text: str, expected: FileColumns, tmp_path: Path) -> None:
    path = tmp_path / "edges.csv"
    path.write_text(text)
    assert file_columns(path) == expected


def test_columns_of_other_files(tmp_path: Path) -> None:
    assert file_columns("any.json").hyperedges
    karate().save(tmp_path / "graph")
    assert file_columns(tmp_path / "graph") == FileColumns()
    with pytest.raises(InputError, match="no such file"):
        file_columns(tmp_path / "nowhere.csv")
