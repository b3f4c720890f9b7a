"""Tables as people have them on the command line: the same columns whoever reads, and one line that says which."""

from __future__ import annotations

from pathlib import Path

import pytest

import netfold as nf
from command import QUICK, netfold, refuse, sentences, succeed, told

SALES = "user_id,item,amount,timestamp\n" + "".join(
    f"u{i % 5},i{(i * i) % 23},{i + 0.5},{1_610_000_000 + i}\n" for i in range(35)
)
TRIPLES = "head,relation,tail,split\n" + "".join(
    f"e{i % 6},r{i % 2},e{(i * 5 + 1) % 6},{'train' if i % 4 else 'test'}\n" for i in range(24)
)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("sales.csv").write_text(SALES)
    Path("triples.csv").write_text(TRIPLES)
    return tmp_path


def test_every_command_reads_the_same_graph() -> None:
    graph = nf.read_edges("sales.csv")
    read = told("info", "sales.csv")
    assert (read["kind"], read["nodes"], read["edges"]) == ("graph", graph.n_nodes, graph.n_edges)
    assert read["reading"]["roles"] == {"source": "user_id", "target": "item", "time": "timestamp"}
    assert read["reading"]["passed_over"] == ["amount"]
    chosen = told("choose", "sales.csv", "--no-probe", "--quiet")["facts"]
    assert (chosen["nodes"], chosen["edges"], chosen["time_column"]) == (graph.n_nodes, graph.n_edges, "timestamp")
    fitted = told("fit", "sdne", "sales.csv", "-o", "m", *QUICK)
    assert (fitted["nodes"], fitted["edges"]) == (graph.n_nodes, graph.n_edges)
    compared = told("compare", "sales.csv", "sdne", "--dim", 2, "--epochs", 1, "--quiet")
    assert compared["data"].startswith(f"Graph({graph.n_nodes} nodes, {graph.n_edges} edges, undirected")


def test_one_line_says_what_was_read() -> None:
    said = succeed("info", "sales.csv").stderr
    assert said == (
        "read sales.csv: user_id - item, time timestamp; 35 rows, 31 edges (4 rows repeat an edge: one edge each); "
        "passed over: amount; line 1 is a header; bipartite: 5 and 12 nodes, and all edges between them\n"
    )
    assert succeed("fit", "sdne", "sales.csv", "-o", "m", *QUICK).stderr == ""
    Path("friends.csv").write_text("person,friend\nann,bob\nbob,eve\neve,ann\n")
    quiet = succeed("fit", "sdne", "friends.csv", "-o", "n", *QUICK).stderr
    assert "line 1 was taken for a header" in quiet and "--no-header" in quiet
    assert told("info", "friends.csv", "--no-header")["nodes"] == 5


def test_columns_are_flags_of_every_command() -> None:
    flags = ("--source", "item", "--target", "user_id", "--weight", "amount", "--time", "4")
    weighted = told("info", "sales.csv", "--directed", *flags)
    assert weighted["weighted"] and weighted["names"][0] == "i0"
    succeed("fit", "sdne", "sales.csv", "-o", "m", *flags, *QUICK)
    succeed("evaluate", "link-prediction", "sdne", "sales.csv", *flags, *QUICK[:-1], "--by", "time")
    Path("next.csv").write_text("new1,i1,3.5,1620000000\nnew2,i2,1.5,1620000001\n")
    places = ("--source", 2, "--target", 1, "--weight", 3, "--no-header")
    assert told("transform", "m", "next.csv", "-o", "new.csv", *places)["new_nodes"] == 2
    assert "columns are counted from 1" in refuse("info", "sales.csv", "--source", 0)
    assert "there is no column 'shop' for target; there are user_id" in refuse("info", "sales.csv", "--target", "shop")
    nf.read_edges("sales.csv").save("graph")
    assert "--source is for a file of edges" in refuse("info", "graph", "--source", "item")


def test_the_printed_command_has_the_columns() -> None:
    chosen = told("choose", "sales.csv", "--no-probe", "--quiet", "--weight", 3, "--source", "item")
    assert any("--source item --weight 3" in command for command in chosen["commands"])


def test_the_latest_edges_are_hidden() -> None:
    result = told("evaluate", "link-prediction", "sdne", "sales.csv", "--by", "time", *QUICK[:-1])
    assert result["protocol"]["score"] and result["figures"]
    Path("plain.csv").write_text("".join(f"{i},{i + 1}\n" for i in range(9)))
    assert "needs edges with times" in refuse("evaluate", "link-prediction", "sdne", "plain.csv", "--by", "time")


def test_relations_are_offered_as_tuples_and_never_lost_in_silence() -> None:
    read = told("info", "triples.csv")
    assert read["kind"] == "hypergraph" and list(read["types"]) == ["entity", "relation"]
    assert "passed over: split" in succeed("info", "triples.csv").stderr
    assert told("choose", "triples.csv", "--no-probe", "--quiet")["model"] == "dhne"
    assert told("fit", "dhne", "triples.csv", "-o", "d", "--dim", 2, "--epochs", 1, "-q")["nodes"] == read["nodes"]
    result = netfold("fit", "sdne", "triples.csv", "-o", "s", *QUICK[:-1])
    assert "head - tail" in result.stderr and "passed over: relation, split" in result.stderr
    assert told("info", "triples.csv", "--source", "head")["kind"] == "graph"
    assert sentences(result.stderr) == result.stderr.split("\n", 1)[1]


def test_a_line_that_names_a_known_node_is_no_header() -> None:
    Path("friends.csv").write_text("ann,bob\nbob,eve\neve,ann\n")
    succeed("fit", "sdne", "friends.csv", "-o", "m", *QUICK)
    Path("next.csv").write_text("zoe,ann\nyan,bob\n")  # nothing tells, but that ann is a node
    assert told("transform", "m", "next.csv", "-o", "new.csv")["new_nodes"] == 2


def test_compare_holds_out_the_latest_edges() -> None:
    rows = [(u, i, 1_600_000_000 + 60 * u + i) for u in range(12) for i in range(12) if u < i and (u + i) % 4]
    Path("log.csv").write_text("source,target,timestamp\n" + "".join(f"{a},{b},{t}\n" for a, b, t in rows))
    asked = ("compare", "log.csv", "sdne", "--dim", 2, "--epochs", 1, "--quiet")
    by_time, random = told(*asked, "--by", "time"), told(*asked)
    tasks = {"link_prediction": {"by": "time"}}
    expected = nf.compare(nf.SDNE(dim=2, epochs=1), nf.read_edges("log.csv"), tasks, progress=False).to_dict()
    figures = [[entry["figures"] for entry in found["entries"]] for found in (by_time, expected, random)]
    assert figures[0] == figures[1] != figures[2]
    assert "--by is for tasks that hold out edges" in refuse(*asked, "--task", "reconstruction", "--by", "time")
    assert "time" in refuse(*asked, "--time", "-", "--by", "time")


def test_no_times_pass_the_column_over() -> None:
    Path("log.csv").write_text("user,item,ts\nu1,i1,1600000000\nu2,i1,1600000001\n")
    assert "time ts" in succeed("info", "log.csv").stderr
    said = succeed("info", "log.csv", "--time", "-").stderr
    assert "time ts" not in said and "passed over: ts" in said
    assert "time ts" in succeed("info", "log.csv", "--time", "ts").stderr
    graph = nf.read_edges("log.csv", time=False)
    assert graph.times is None and not graph.is_weighted and graph.reading.passed_over == ("ts",)  # type: ignore[union-attr]
    with pytest.raises(nf.InputError, match="time=True names no column"):
        nf.read_edges("log.csv", time=True)
