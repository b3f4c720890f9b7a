"""The best pairs that are not linked, against a full ranking by loops."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import netfold as nf
from command import refuse, succeed, told
from naive_rankings import Model, random_graph
from netfold.data.embedding import Embedding
from netfold.data.graph import Graph
from netfold.errors import InputError
from netfold.evaluate import pairs, suggest
from netfold.evaluate.suggestions import suggested_by


def naive(graph: Graph, scores: Any, k: int, node: int | None = None) -> list[tuple[Any, Any, float]]:
    """Every pair, sorted; the loop knows sides by a walk over links."""
    n, linked = graph.n_nodes, graph.adjacency.toarray() != 0
    side = None if graph.sides is None else graph.sides
    free = []
    for u in range(n):
        for v in range(n):
            across = side is None or {int(side[u]), int(side[v])} == {0, 1}
            wanted = node is None or u == node or (v == node and graph.directed)
            once = graph.directed or u < v or (node is not None and u == node)
            if u != v and not linked[u, v] and across and wanted and once:
                free.append((-float(np.float32(scores[u][v])), u, v))
    return [(graph.nodes[u], graph.nodes[v], -x) for x, u, v in sorted(free)[:k]]


def bipartite(seed: int, *, directed: bool) -> Graph:
    rng = np.random.default_rng(seed)
    edges = [(f"b{i}", f"g{j}") for i in range(9) for j in rng.choice(6, 3, replace=False)]
    return Graph.from_edges(edges, directed=directed)


@pytest.mark.parametrize("k", [1, 7, 60, 10_000])
@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("of", ["random", "bipartite"])
def test_the_full_ranking(of: str, directed: bool, k: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """With many ties, and in blocks of a few rows."""
    monkeypatch.setattr(pairs, "_BLOCK_NUMBERS", 40)
    graph = random_graph(17, 4, directed=directed, loops=True) if of == "random" else bipartite(1, directed=directed)
    rng = np.random.default_rng(0)
    vectors = rng.integers(-2, 3, (graph.n_nodes, 2)).astype(np.float32)
    embedding = Embedding(graph.nodes, vectors)
    expected = naive(graph, vectors.astype(float) @ vectors.T.astype(float), k)
    assert suggest(embedding, graph, k, score="dot") == expected
    decoder = rng.integers(0, 5, (graph.n_nodes, graph.n_nodes)).astype(float)
    model = Model(embedding, decoder)
    own = decoder if directed else (decoder + decoder.T) / 2
    assert suggest(model, graph, k) == naive(graph, own, k)  # a decoder is the model's own score
    for node in (0, graph.n_nodes - 1):
        assert suggest(model, graph, k, node=graph.nodes[node]) == naive(graph, own, k, node)


def test_a_graph_in_another_order_and_with_fewer_nodes() -> None:
    vectors = Embedding("abcde", [[1, 0], [1, 0.2], [0.9, 0.1], [0, 1], [0.5, 0.5]])
    whole = Graph.from_edges([("a", "b"), ("c", "d")], nodes="abcde")
    assert suggest(vectors, [("d", "c"), ("b", "a")], 9) == suggest(vectors, whole, 9)
    with pytest.raises(InputError, match="'x': the model has no vector"):
        suggest(vectors, [("a", "x")])
    with pytest.raises(InputError, match="k=0"):
        suggest(vectors, whole, 0)


def test_the_score_that_a_model_keeps_comes_first() -> None:
    graph = random_graph(12, 1)
    model = Model(Embedding(graph.nodes, np.random.default_rng(0).normal(size=(12, 3))), np.eye(12))
    assert suggested_by(model) == "decoder"
    model.pair_score_ = "cosine"  # type: ignore[attr-defined]
    assert suggested_by(model) == "cosine" and suggest(model, graph, 5) == suggest(model, graph, 5, score="cosine")


def test_models_and_the_command_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    graph = nf.datasets.load("karate")
    model = nf.SDNE(dim=4, epochs=2, hidden=()).fit(graph, progress=False)
    best = model.suggest(graph, 5)
    assert best == suggest(model, graph, 5) and len(best) == 5
    model.save("m")
    weighted = graph.to_networkx().edges(data="weight")
    Path("edges.csv").write_text("source,target,weight\n" + "".join(f"{u},{v},{w}\n" for u, v, w in weighted))
    found = told("suggest", "m", "--edges", "edges.csv", "-k", 5)
    assert [(x["source"], x["target"]) for x in found["suggested"]] == [(u, v) for u, v, _ in best]
    succeed("suggest", "m", "--edges", "edges.csv", "-k", 7, "-o", "links.parquet")
    duckdb = pytest.importorskip("duckdb")
    rows = duckdb.sql("SELECT source, target, score FROM 'links.parquet'").fetchall()
    assert [(u, v) for u, v, _ in rows[:5]] == [(u, v) for u, v, _ in best] and len(rows) == 7
    one = told("suggest", "m", "--edges", "edges.csv", "--node", best[0][0], "-k", 2)["suggested"]
    assert all(x["source"] == best[0][0] for x in one) and one[0]["target"] == best[0][1]
    assert "links.parquet exists" in refuse("suggest", "m", "--edges", "edges.csv", "-o", "links.parquet")
    assert "names no format of a table" in refuse("suggest", "m", "--edges", "edges.csv", "-o", "links.doc")


def test_tuples_are_not_pairs() -> None:
    hypergraph = nf.Hypergraph.from_tuples([(f"u{i % 4}", f"m{i % 5}", f"t{i % 3}") for i in range(20)])
    model = nf.DHNE(dim=2, epochs=1, hidden=4).fit(hypergraph, progress=False)
    with pytest.raises(InputError, match="DHNE scores tuples, not pairs"):
        model.suggest([("u0", "m0")])
