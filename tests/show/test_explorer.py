"""What the explorer's page is given and answered, apart from how it asks: against the library and naive loops."""

from __future__ import annotations

import base64
import csv
import hashlib
import html
import io
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse

import netfold as nf
from command import netfold, succeed, told
from netfold.data.embedding import Embedding
from netfold.errors import InputError
from netfold.show.explore import Explorer, answered, cell_page, write_atlas
from netfold.show.explore.groups import clustering_coefficients, linked_rows, region_names
from netfold.show.report import Sheet
from netfold.show.report.points import placed
from netfold.show.report.sheets import Classes, link_ends

HOSTILE = ['quote " and , comma', "=1+1", "</script>", "Zoë", "b\u202eidi"]
N = 40


def names() -> list[Any]:
    return [*HOSTILE, *(f"node {i}" for i in range(len(HOSTILE), N))]


def graph(directed: bool = False) -> nf.Graph:
    own = names()
    edges = [(own[i], own[(i * k + 1) % N]) for i in range(N) for k in (1, 3, 7) if i != (i * k + 1) % N]
    return nf.Graph.from_edges(edges, directed=directed, duplicates="sum")


def embedding(std: bool = False) -> Embedding:
    draw = np.random.default_rng(2)
    vectors = draw.normal(size=(N, 6))
    return Embedding(names(), vectors, draw.uniform(0.1, 1, size=(N, 6)) if std else None)


def explorer(data: Any = None, std: bool = False, **classes: Any) -> Explorer:
    return Explorer([Sheet("vectors", embedding(std), graph() if data is None else data, classes)], method="pca")


def neighbors(of: nf.Graph, node: Any) -> set[Any]:
    """By a loop over all entries."""
    matrix = of.adjacency.toarray()
    row = list(of.nodes).index(node)
    return {other for j, other in enumerate(of.nodes) if j != row and (matrix[row, j] or matrix[j, row])}


@pytest.mark.parametrize("std", [False, True])
@pytest.mark.parametrize("unlinked", [False, True])
def test_near_is_what_the_library_says_and_unlinked_leaves_neighbors_out(std: bool, unlinked: bool) -> None:
    shown, own = explorer(std=std), embedding(std)
    for row in (0, 7, N - 1):
        answer = shown.ask("near", {"row": row, "k": 6, "unlinked": unlinked})
        beside = neighbors(graph(), own.nodes[row])
        every = own.nearest(own.nodes[row], N)
        wanted = [(node, score) for node, score in every if not unlinked or node not in beside][:6]
        assert [own.nodes[i] for i in answer["rows"]] == [node for node, _ in wanted]
        assert answer["scores"] == [score for _, score in wanted]
        assert answer["linked"] == [node in beside for node, _ in wanted]


@pytest.mark.parametrize("directed", [False, True])
def test_links_of_a_node_are_those_of_one_and_of_two_steps(directed: bool) -> None:
    data, own = graph(directed), embedding()
    shown = explorer(data)
    for row in (0, 11):
        one = shown.ask("links", {"row": row, "steps": 1})
        two = shown.ask("links", {"row": row, "steps": 2})
        beside = neighbors(data, own.nodes[row])
        assert {own.nodes[i] for i in one["ends"][1::2]} == beside and set(one["ends"][::2]) == {row}
        assert two["first"] == len(beside) and not two["cut"]
        pairs = [
            frozenset((own.nodes[u], own.nodes[v])) for u, v in zip(two["ends"][::2], two["ends"][1::2], strict=True)
        ]
        wanted = {frozenset((x, y)) for x in [own.nodes[row], *beside] for y in neighbors(data, x)}
        assert set(pairs) == wanted and len(pairs) == len(wanted)


def test_without_a_graph_nothing_is_said_of_links() -> None:
    shown = Explorer([Sheet("vectors", embedding())])
    assert "edges" not in shown.facts["sheets"][0] and "links" not in shown.facts["sheets"][0]
    assert shown.ask("near", {"row": 0, "unlinked": True})["linked"] is None
    assert shown.ask("links", {"row": 0})["ends"] == []


def test_clustering_coefficients_are_those_of_a_loop() -> None:
    draw = np.random.default_rng(5)
    dense = np.triu(draw.random((30, 30)) < 0.25, 1)
    dense = dense | dense.T
    for i, found in enumerate(clustering_coefficients(sparse.csr_array(dense.astype(float)))):
        beside = np.flatnonzero(dense[i])
        pairs = [(a, b) for a in beside for b in beside if a < b]
        wanted = sum(bool(dense[a, b]) for a, b in pairs) / len(pairs) if pairs else 0.0
        assert found == pytest.approx(wanted, abs=1e-12)


def test_groups_say_what_their_nodes_have_in_common() -> None:
    hubs = [("hub a", f"a {i}") for i in range(12)] + [("hub b", f"b {i}") for i in range(12)] + [("hub a", "hub b")]
    star = nf.Graph.from_edges(hubs)
    at = {"hub": [0.0, 1.0, 0.0], "a": [1.0, 0.0, 0.0], "b": [0.0, 0.0, 1.0]}
    own = Embedding(list(star.nodes), [at[str(x).split()[0]] for x in star.nodes])
    shown = Explorer([Sheet("by hand", own, star, {"letter": {x: str(x)[-1] for x in star.nodes}})])
    answer = shown.ask("groups", {"k": 3})
    assert [x["size"] for x in answer["groups"]] == [12, 12, 2]
    words = ["; ".join(x["common"]) for x in answer["groups"]]
    assert "100% are linked to hub a" in " ".join(words[:2]) and "100% are linked to hub b" in " ".join(words[:2])
    assert "degree 13 (of all 1.92)" in words[2]
    assert {str(own.nodes[i]) for i in answer["groups"][2]["typical"]} == {"hub a", "hub b"}
    codes = np.frombuffer(shown.block(answer["column"]["codes"]["block"]), np.uint8)
    assert codes.tolist() == own.groups(3).codes.tolist()
    assert len(shown.ask("groups", {})["groups"]) >= 2  # chosen by the silhouette


def test_a_new_node_lands_where_the_model_places_it() -> None:
    model = nf.SDNE(dim=4, hidden=(8,), epochs=3).fit(graph(), progress=False)
    shown = Explorer([Sheet("SDNE", model, graph())], method="pca")
    own = model.embedding_
    rows = own.nodes.positions(["node 7", "node 9"]).tolist()
    answer = shown.ask("place", {"name": "newcomer", "links": rows})
    placed = model.transform(nf.Graph.from_edges([("newcomer", "node 7"), ("newcomer", "node 9")]))
    near = own.nearest(placed.vectors[0], 10)
    assert [own.nodes[i] for i in answer["rows"]] == [node for node, _ in near] and answer["exact"]
    centred = own.vectors.astype(np.float64) - own.vectors.mean(axis=0, dtype=np.float64)
    axes = np.linalg.svd(centred, full_matrices=False)[2][:2]
    every = np.vstack([centred, placed.vectors[0] - own.vectors.mean(axis=0, dtype=np.float64)]) @ axes.T
    span = np.ptp(every[:-1], axis=0).max()
    apart = np.linalg.norm(every[-1] - every[0]) / span  # a distance on the map, whatever the signs of the axes
    x, y = shown._shown[0].parts[0]
    assert np.hypot(answer["x"] - x, answer["y"] - y) == pytest.approx(apart, abs=1e-6)


def test_on_a_map_that_is_not_linear_it_is_drawn_amid_its_nearest() -> None:
    model = nf.SDNE(dim=4, hidden=(8,), epochs=3).fit(graph(), progress=False)
    shown = Explorer([Sheet("SDNE", model, graph())], method="tsne")
    answer = shown.ask("place", {"name": "newcomer", "links": [7]})
    wanted = shown._shown[0].parts[answer["rows"][:5]].mean(axis=0)
    assert not answer["exact"] and [answer["x"], answer["y"]] == pytest.approx(wanted.tolist())


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({"name": "node 7", "links": [1]}, "is on the map already"),
        ({"name": " ", "links": [1]}, "a name of 1 to 200"),
        ({"name": "x", "links": []}, "type the names"),
        ({"name": "x", "links": [N]}, f"from 0 to {N - 1}"),
        ({"name": "x", "links": [True]}, f"from 0 to {N - 1}"),
        ({"name": "x", "links": "ab"}, "is a list"),
        ({"name": 3, "links": [1]}, "a name of 1 to 200"),
    ],
)
def test_a_new_node_that_cannot_be_placed_is_refused(body: dict[str, Any], words: str) -> None:
    model = nf.SDNE(dim=4, hidden=(8,), epochs=1).fit(graph(), progress=False)
    with pytest.raises(InputError, match=words):
        Explorer([Sheet("SDNE", model, graph())], method="pca").ask("place", body)


@pytest.mark.parametrize(
    ("question", "body"),
    [
        ("near", {}),
        ("near", {"row": -1}),
        ("near", {"row": 1.5}),
        ("near", {"row": "0"}),
        ("near", {"row": 0, "k": 0}),
        ("near", {"row": 0, "k": 100_000}),
        ("near", {"row": 0, "sheet": 1}),
        ("near", []),
        ("links", {"row": 0, "steps": 3}),
        ("groups", {"k": 1}),
        ("table", {"rows": [N]}),
        ("table", {"rows": None}),
        ("verdicts", {"pairs": [[0, 1, 0.5, "maybe"]]}),
        ("verdicts", {"pairs": [[0, 1, float("nan"), "accept"]]}),
        ("__init__", {}),
        ("place", {"name": "new", "links": [0]}),
    ],
)
def test_what_cannot_be_answered_is_refused_in_a_sentence(question: str, body: Any) -> None:
    with pytest.raises(InputError):
        explorer().ask(question, body)


def test_a_table_and_verdicts_are_csv_that_reads_back_as_the_very_names() -> None:
    shown = explorer(group={node: f"class {i % 3}" for i, node in enumerate(names())})
    rows = list(range(len(HOSTILE) + 1))
    table = list(csv.DictReader(io.StringIO(shown.ask("table", {"rows": rows})["csv"])))
    assert [x["node"] for x in table] == names()[: len(rows)]
    assert [x["group"] for x in table] == [f"class {i % 3}" for i in rows]
    degrees = dict(zip(graph().nodes, graph().degrees, strict=True))
    assert [float(x["degree"]) for x in table] == [degrees[node] for node in names()[: len(rows)]]
    said = shown.ask("verdicts", {"pairs": [[0, 1, 0.25, "accept"], [2, 3, -1, "reject"]]})["csv"]
    assert list(csv.reader(io.StringIO(said))) == [
        ["source", "target", "score", "verdict"],
        [HOSTILE[0], HOSTILE[1], "0.25", "accept"],
        [HOSTILE[2], HOSTILE[3], "-1", "reject"],
    ]


def test_two_models_know_which_of_their_nodes_are_the_same() -> None:
    one, other = embedding(), Embedding(names()[::-1][:-1], np.eye(N - 1))
    shown = Explorer([Sheet("one", one), Sheet("other", other)])
    first, second = (np.frombuffer(shown.block(x["twins"]["block"]), np.uint32) for x in shown.facts["sheets"])
    for row, twin in enumerate(first.tolist()):
        assert (other.nodes[twin] if twin != 0xFFFFFFFF else None) == (one.nodes[row] if row else None)
    assert [one.nodes[i] for i in second.tolist()] == list(other.nodes)
    same = Explorer([Sheet("one", one), Sheet("two", embedding(True))])
    assert [x["twins"] for x in same.facts["sheets"]] == [None, None]
    with pytest.raises(InputError, match="one model, or two"):
        Explorer([Sheet(str(i), one) for i in range(3)])


def test_versions_say_which_update_placed_whom(tmp_path: Path) -> None:
    nf.SDNE(dim=4, hidden=(8,), epochs=2).fit(graph(), progress=False).save(tmp_path / "m.netfold")
    stream = nf.Evolving.open(tmp_path / "m.netfold")
    stream.update([("day 1", "node 7"), ("day 1", "node 8"), ("lost", "node 9")])
    stream.update([("day 2", "node 7"), ("day 2 too", "node 12")], gone=["lost"])
    opened = nf.Evolving.open(tmp_path / "m.netfold")
    facts = Explorer([Sheet("SDNE", opened)], method="pca").facts["sheets"][0]
    shown = Explorer([Sheet("SDNE", opened)], method="pca")
    born = np.frombuffer(shown.block(shown.facts["sheets"][0]["born"]["block"]), np.uint16)
    assert {str(x): int(b) for x, b in zip(opened.embedding_.nodes, born, strict=True) if b} == {
        "day 1": 1, "day 2": 2, "day 2 too": 2
    }  # fmt: skip
    assert [(x["number"], x["placed"], x["gone"]) for x in facts["versions"]] == [(1, 2, 0), (2, 2, 1)]
    assert facts["columns"][-1]["name"] == "origin"
    assert (
        "versions"
        not in Explorer([Sheet("SDNE", nf.Evolving.open(tmp_path / "m.netfold", version=0))]).facts["sheets"][0]
    )


def test_regions_are_called_by_their_class_or_by_who_has_most_links() -> None:
    draw = np.random.default_rng(0)
    parts = np.concatenate([draw.normal(0.2, 0.02, (200, 2)), draw.normal(0.8, 0.02, (200, 2))])
    nodes = Embedding(range(400), parts).nodes
    classes = Classes("side", ("left", "right"), np.repeat([0, 1], 200))
    named = np.array([7, 390])
    for found in region_names(parts, classes, named, nodes):
        assert found["name"] == ("left" if found["x"] < 0.5 else "right")
    by_node = {x["name"] for x in region_names(parts, None, named, nodes)}
    assert by_node == {"around 7", "around 390"}
    assert region_names(parts[:100], None, named, nodes) == []


def test_links_are_drawn_in_a_random_order_and_counted() -> None:
    shown, own = explorer(), embedding()
    facts = shown.facts["sheets"][0]
    ends = np.frombuffer(shown.block(facts["links"]["block"]), np.uint32).reshape(-1, 2)
    wanted = link_ends(own, graph())
    assert facts["edges"] == len(ends) and sorted(map(tuple, ends.tolist())) == sorted(map(tuple, wanted.tolist()))
    assert ends.tolist() != wanted.tolist()
    matrix = linked_rows(wanted, N).toarray() > 0
    assert (matrix == matrix.T).all() and matrix.sum() == 2 * len({frozenset(x) for x in wanted.tolist()})


# -------------------------------------------------------------------- in a notebook, and for embedding-atlas


def test_the_kernel_answers_the_page_of_a_cell() -> None:
    shown = explorer()
    facts, _ = answered(shown, {"netfold": "1", "question": "facts", "body": {}})
    assert facts == {"netfold": "1", "answer": shown.facts}
    xy = shown.facts["sheets"][0]["xy"]["block"]
    said, buffers = answered(shown, {"netfold": "2", "question": "block", "body": {"number": xy}})
    assert said == {"netfold": "2"} and buffers == [shown.block(xy)]
    near, _ = answered(shown, {"netfold": "3", "question": "near", "body": {"row": 3}})
    assert near["answer"] == shown.ask("near", {"row": 3})
    for bad in ({"question": "near", "body": {"row": -1}}, {"question": "block", "body": {"number": "0"}}, {"body": 1}):
        assert answered(shown, {"netfold": "4", **bad})[0]["error"]
    assert answered(shown, 7) == ({"error": "that is no question"}, [])


def test_the_page_of_a_cell_holds_its_script_and_allows_no_other() -> None:
    page = cell_page("A & <b>")
    policy = html.unescape(re.findall(r'Content-Security-Policy" content="([^"]*)"', page)[0])
    script = page.split('<script type="module">')[1].split("</script>")[0]
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}'" in policy and "default-src 'none'" in policy and "unsafe" not in policy
    assert "<title>A &amp; &lt;b&gt;</title>" in page and "src=" not in page.split("<body")[1].split("<script")[0]


def test_a_notebook_shows_the_explorer_through_anywidget() -> None:
    pytest.importorskip("anywidget")
    model = nf.SDNE(dim=4, hidden=(8,), epochs=1).fit(graph(), progress=False)
    bundle = model.show(graph())._repr_mimebundle_()
    assert {"application/vnd.jupyter.widget-view+json", "text/html", "text/plain"} <= set(bundle)
    assert "application/vnd.jupyter.widget-view+json" not in model.show(graph(), evaluate=True)._repr_mimebundle_()


@pytest.mark.parametrize("std", [False, True])
def test_the_file_for_embedding_atlas_has_places_and_nearest(tmp_path: Path, std: bool) -> None:
    import duckdb

    own = embedding(std)
    write_atlas(own, tmp_path / "map.parquet", method="pca", k=4)
    rows = duckdb.connect().execute(f"SELECT node, x, y, neighbors FROM '{tmp_path / 'map.parquet'}'").fetchall()
    assert [row[0] for row in rows] == names()
    for node, _, _, near in rows:
        wanted = own.nearest(node, 4)
        assert [own.nodes[i] for i in near["ids"]] == [x for x, _ in wanted]
        scores = [x if std else 1 - x for _, x in wanted]
        assert near["distances"] == pytest.approx(scores)
    at = np.array([row[1:3] for row in rows])
    assert np.ptp(at, axis=0).max() > 0 and at == pytest.approx(placed(own, "pca").at)


def test_the_program_says_what_groups_have_in_common_and_writes_for_the_atlas(tmp_path: Path) -> None:
    model = nf.SDNE(dim=4, hidden=(8,), epochs=3).fit(nf.datasets.karate(), progress=False)
    model.save(tmp_path / "m.netfold")
    u, v = nf.datasets.karate().adjacency.tocoo().coords
    (tmp_path / "edges.csv").write_text("".join(f"{a},{b}\n" for a, b in zip(u, v, strict=True) if a < b))
    facts = told("groups", tmp_path / "m.netfold", "-k", "2", "--edges", tmp_path / "edges.csv")
    assert len(facts["common"]) == 2 and any(facts["common"])
    succeed("export", tmp_path / "m.netfold", "-o", tmp_path / "a.parquet", "--for", "embedding-atlas")
    refused = netfold("export", tmp_path / "m.netfold", "-o", tmp_path / "a.csv", "--for", "embedding-atlas")
    assert refused.exit_code == 2 and "does not end in .parquet" in refused.stderr
