"""What a table is read as: headers, roles of columns, times, and the same graph from every format."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import netfold as nf
from edge_files import EDGES, parquet, same, write, zstd
from netfold.data.columns import edge_roles, header_verdict, tuple_columns
from netfold.data.graph import Graph
from netfold.errors import InputError
from netfold.evaluate import split_edges
from netfold.io.edges import read_edges

SALES = "user_id,item,amount,timestamp\n" + "".join(
    f"u{i % 3},i{i % 4},{i + 0.5},{1_610_000_000 + 10 * i}\n" for i in range(12)
)
"""Each of the pairs once."""

# -------------------------------------------------------------------- headers


@pytest.mark.parametrize(
    "head",
    ["customer_id,product_id", "user,item", "follower,followee", "from_user,to_user", "citing,cited", "left,right"],
)
@pytest.mark.parametrize("cell", ["{}{}", "{}-{:04d}", "{}{}@mail.org", "urn:{}:{}"])
def test_a_header_is_recognised_whatever_its_words_are(tmp_path: Path, head: str, cell: str) -> None:
    rows = [(cell.format("C", i), cell.format("P", i % 3)) for i in range(7)]
    path = write(tmp_path, "\n".join([head, *(",".join(row) for row in rows)]))
    graph = read_edges(path)
    assert same(graph, Graph.from_edges(rows))
    assert graph.reading is not None and graph.reading.header and not graph.reading.undecided
    with_semicolons = write(tmp_path, path.read_text().replace(",", ";"))
    assert same(read_edges(with_semicolons), graph)


def test_no_header_over_ids_of_its_own_kind(tmp_path: Path) -> None:
    rows = [(f"C{i}", f"P{i % 3}") for i in range(7)]
    graph = read_edges(write(tmp_path, "\n".join(",".join(row) for row in rows)))
    assert same(graph, Graph.from_edges(rows)) and graph.reading is not None and graph.reading.header is False
    assert header_verdict(["12", "x"], [["ann", "bob"]]) is False
    assert header_verdict(["name", "friend"], [["ann", "name"], ["name", "bob"]]) is False


def test_an_undecided_header_is_one_where_no_cell_occurs_again_and_is_said(tmp_path: Path) -> None:
    path = write(tmp_path, "person;friend\nann;bob\nbob;eve\n")
    with pytest.warns(
        UserWarning, match=r"line 1 \(person,friend\) was taken for a header; header=False \(--no-header\)"
    ):
        graph = read_edges(path)
    assert list(graph.nodes) == ["ann", "bob", "eve"]
    assert graph.reading is not None and graph.reading.undecided and "--no-header" in str(graph.reading)
    assert list(read_edges(path, header=False).nodes)[:2] == ["person", "friend"]
    far = write(tmp_path, "ann;bob\n" + "cid;dan\n" * 5000 + "dan;ann\n")
    assert "ann" in read_edges(far).nodes


def test_an_empty_cell_far_below_does_not_hide_the_header(tmp_path: Path) -> None:
    text = SALES.replace("u0,i3", "u0,")
    with pytest.raises(InputError, match="line 5: a node is empty"):
        read_edges(write(tmp_path, text))


# -------------------------------------------------------------------- roles


def test_a_table_of_sales_is_a_graph_with_times_and_without_amounts(tmp_path: Path) -> None:
    graph = read_edges(write(tmp_path, SALES))
    assert graph.n_nodes == 7 and graph.n_edges == 12 and not graph.is_weighted
    assert graph.times is not None and graph.times.min() == 1_610_000_000
    assert repr(graph) == "Graph(7 nodes, 12 edges, undirected; passed over: amount)"
    assert str(graph.reading) == (
        "user_id - item, time timestamp; 12 rows, 12 edges; passed over: amount; line 1 is a header"
    )
    weighted = read_edges(write(tmp_path, SALES), weight="amount")
    assert weighted.adjacency.data.max() == 11.5 and same(read_edges(write(tmp_path, SALES), weighted=True), weighted)


@pytest.mark.parametrize("scale", [1, 1e3, 1e6, 1e9])
@pytest.mark.parametrize("head", ["", "user,item,created_at\n", "user,item,what\n"])
def test_a_time_never_becomes_a_weight(tmp_path: Path, head: str, scale: float) -> None:
    rows = [(1, 2, 1_200_000_000), (2, 3, 1_200_000_777)]
    text = head + "".join(f"{u} {v} {int(t * scale)}\n".replace(" ", "," if head else " ") for u, v, t in rows)
    graph = read_edges(write(tmp_path, text))
    assert not graph.is_weighted and graph.n_edges == 2
    assert graph.times is not None and graph.times.max() == 1_200_000_777 * scale


def test_columns_are_named_or_counted(tmp_path: Path) -> None:
    path = write(tmp_path, "when,amount,buyer,shop\n2024-01-31,5,u1,s1\n2024-02-01,7,u2,s1\n")
    named = read_edges(path, source="buyer", target="shop", weight="amount", time="when", directed=True)
    assert [named.nodes[i] for i in named.adjacency.tocoo().coords[0]] == ["u1", "u2"]
    assert named.adjacency.data.tolist() == [5, 7]
    assert named.times is not None and named.times.tolist() == [1706659200, 1706745600]
    assert same(read_edges(path, directed=True, weight="Amount"), named)
    bare = write(tmp_path, "5,u1,9,s1\n7,u2,9,s1\n", "bare.csv")
    assert same(read_edges(bare, source=1, target=3, weight=0, directed=True), named)
    for options, why in (
        ({"source": "byer"}, "there is no column 'byer' for source; there are when, amount, buyer, shop"),
        ({"source": "shop", "target": "shop"}, "source and target are the same column, 'shop'; a column has one role"),
        ({"source": 4}, "there is no column 5 for source; there are 4"),
        ({"weight": "amount", "weighted": False}, "weight= names a column, and weighted=False"),
        ({"source": "u1", "header": False}, "no line names the columns; give its place"),
    ):
        with pytest.raises(InputError, match=why):
            read_edges(path, **options)


def test_published_layouts_without_a_header(tmp_path: Path) -> None:
    konect = "% asym weighted\n1 2 5 1082040961\n2 3 7 1082155839\n"
    with pytest.warns(UserWarning, match=r"edges have a direction \(asym\), read without it: directed=True"):
        graph = read_edges(write(tmp_path, konect))
    assert read_edges(write(tmp_path, konect), directed=True).directed
    assert graph.adjacency.data.max() == 7 and graph.times is not None and graph.times.min() == 1082040961
    signed = read_edges(write(tmp_path, "6,2,4,1289241911.72836\n6,5,-2,1289241941.53378\n"), weighted=False)
    assert signed.n_edges == 2 and signed.times is not None and not signed.is_weighted
    with pytest.raises(InputError, match="the weight '-2' is negative"):
        read_edges(write(tmp_path, "6,2,4,1289241911.72836\n6,5,-2,1289241941.53378\n"))
    with pytest.raises(InputError, match=r"column 3 holds text \('b'\), which is no weight.*tuples"):
        read_edges(write(tmp_path, "/m/1\tin\tb\n/m/2\tin\tc\n"))


def test_years_without_a_name_are_no_weights(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("".join(f"n{i},m{i},{1990 + i}\n" for i in range(5)))
    graph = read_edges(path)
    assert not graph.is_weighted and graph.reading is not None and graph.reading.time == "column 3"
    assert read_edges(path, weight=2).is_weighted
    path.write_text("".join(f"n{i},m{i},{1990 + 100 * i}\n" for i in range(5)))
    assert read_edges(path).is_weighted


def test_times_that_rise_from_0_are_no_weights(tmp_path: Path) -> None:
    text = "".join(f"{i % 7} {i % 5} {i * i}\n" for i in range(150))
    graph = read_edges(write(tmp_path, text))
    assert not graph.is_weighted and graph.times is not None and graph.times.min() == 0
    assert read_edges(write(tmp_path, text), weight=2).is_weighted
    counts = "".join(f"{i % 7} {i % 5} {i // 9}\n" for i in range(150))
    assert read_edges(write(tmp_path, counts)).is_weighted


@pytest.mark.parametrize(
    ("names", "ends"),
    [
        ("id,friend", (0, 1)),
        ("id,user,item", (1, 2)),
        ("weight,id,friend", (1, 2)),
        ("type,name,date", (0, 1)),
        ("date,user,shop", (1, 2)),
        ("target,w,source", (2, 0)),
        ("amount,rating", (0, 1)),
    ],
)
def test_ends_are_the_first_columns_that_may_be(names: str, ends: tuple[int, int]) -> None:
    row = ["7" if name in ("weight", "w") else "2024-01-31" if name == "date" else "x" for name in names.split(",")]
    assert edge_roles(names.split(","), [row], len(row))[:2] == ends


def test_an_index_that_pandas_wrote_is_no_node() -> None:
    assert edge_roles(["", "user", "item"], [["0", "u1", "i1"]], 3)[:2] == (1, 2)


def test_tuples_are_told_from_edges() -> None:
    row = ["paris", "in", "france", "train"]
    assert tuple_columns(["head", "relation", "tail", "split"], [row]) == ("head:entity", "relation", "tail:entity")
    assert tuple_columns(["user", "item", "clicks_n"], [["u1", "i1", "7"]]) == ()
    assert tuple_columns(["source", "target", "kind"], [["a", "b", "friend"]]) == ()


def test_decimals_with_a_comma_are_no_nodes(tmp_path: Path) -> None:
    names, rows = ["Absender", "Empfänger", "Anzahl"], [["ann", "bob", "71,5"], ["bob", "cid", "3"]]
    assert tuple_columns(names, rows) == ()
    assert tuple_columns(names, [*rows, ["cid", "ann", "Mai"]]) == tuple(names)
    path = write(tmp_path, "\n".join(";".join(row) for row in [names, *rows]))
    assert same(read_edges(path), Graph.from_edges([("ann", "bob"), ("bob", "cid")]))
    with pytest.raises(InputError, match=r"line 2: the weight '71,5' has a decimal comma; weights have a point"):
        read_edges(path, weight="Anzahl")


def test_hyperedges_pass_over_times_and_measures(tmp_path: Path) -> None:
    path = write(tmp_path, "user,movie,tag,rating,timestamp\n1,7,slow,2.5,1610000000\n2,7,fast,3,1610000001\n")
    read = nf.read_hyperedges(path)
    assert read.types == ("user", "movie", "tag") and "passed over: rating, timestamp" in repr(read)
    assert (
        str(read.reading)
        == "user, movie, tag; 2 rows, 2 hyperedges; passed over: rating, timestamp; line 1 is a header"
    )
    triples = nf.read_hyperedges(write(tmp_path, "head,relation,tail\nparis,in,france\nfrance,in,europe\n"))
    assert triples.types == ("entity", "relation") and triples.n_nodes == 4


def test_repeated_rows_are_said(tmp_path: Path) -> None:
    reading = read_edges(write(tmp_path, "1,2\n2,1\n1,3\n")).reading
    assert reading is not None and reading.repeated == 1
    assert "3 rows, 2 edges (1 row repeats an edge: one edge each)" in str(reading)
    summed = read_edges(write(tmp_path, "1,2,1\n2,1,1\n1,3,0\n")).reading
    assert "(1 row repeats an edge: weights summed; 1 row of weight 0 dropped)" in str(summed)


# -------------------------------------------------------------------- times


def test_times_are_the_first_of_each_edge_and_are_saved(tmp_path: Path) -> None:
    graph = read_edges(write(tmp_path, "source,target,time\na,b,7\nb,a,5\nb,c,9\n"))
    assert graph.times is not None and graph.times.tolist() == [5, 5, 9, 9]
    graph.save(tmp_path / "g")
    again = Graph.load(tmp_path / "g")
    assert same(again, graph) and again.times is not None and again.times.tolist() == [5, 5, 9, 9]
    assert again.reading == graph.reading and again.fingerprint == graph.fingerprint
    part = graph.subgraph([2, 1])
    assert part.times is not None and part.times.tolist() == [9, 9]
    with pytest.raises(InputError, match="times has the shape"):
        Graph(graph.adjacency, graph.nodes, times=[1.0])  # type: ignore[arg-type]


def test_a_split_by_time_hides_the_latest_edges(tmp_path: Path) -> None:
    graph = read_edges(write(tmp_path, SALES))
    split = split_edges(graph, 0.25, by="time")
    hidden = {tuple(sorted((graph.nodes[a], graph.nodes[b]))) for a, b in split.test}
    assert hidden == {("i1", "u0"), ("i2", "u1"), ("i3", "u2")}
    assert split.train.times is not None and split.train.times.max() < 1_610_000_090
    assert split.protocol == {"held out": 0.25, "by": "time", "keep": "none", "seed": 0}
    with pytest.raises(InputError, match="by='time' needs edges with times"):
        split_edges([(i, i + 1) for i in range(9)], by="time")
    missing = read_edges(write(tmp_path, "source,target,year\na,b,2001\nb,c,\nc,d,2003\n"))
    with pytest.raises(InputError, match="1 edge has no time"):
        split_edges(missing, 0.4, by="time")


# -------------------------------------------------------------------- several files, and no files


def test_several_files_are_one_graph(tmp_path: Path) -> None:
    write(tmp_path, "source,target\n1,2\n", "part-1.csv")
    write(tmp_path, "2\t3\n7\t1\n", "part-2.tsv.gz")
    whole = Graph.from_edges(EDGES)
    graph = read_edges([tmp_path / "part-1.csv", tmp_path / "part-2.tsv.gz"])
    assert same(graph, whole) and same(read_edges(str(tmp_path / "part-*")), whole)
    assert graph.reading is not None and "3 rows of 2 files" in str(graph.reading)
    parquet(tmp_path, "part-3.parquet", source=[9], target=[1])
    write(tmp_path, "x,1\n", "part-4.csv")
    mixed = read_edges(str(tmp_path / "part-*"))
    assert mixed.nodes.kind == "text" and mixed.n_edges == 5
    write(tmp_path, "1,2,0.5\n", "part-5.csv")
    for files, why in (
        (str(tmp_path / "part-*"), "has a column of weight and .* has none"),
        (str(tmp_path / "none-*"), "no file matches the pattern"),
        ([], "no file is given"),
        ("s3://bucket/edges.csv", "s3://bucket/edges.csv is not a file on this machine"),
        (np.zeros((2, 2)), "an ndarray is not the name of a file; nf.Graph.of reads tables"),
    ):
        with pytest.raises(InputError, match=why):
            read_edges(files)  # type: ignore[arg-type]


# -------------------------------------------------------------------- arrays and frames


def test_an_edge_index_is_read_as_edges() -> None:
    index = np.random.default_rng(0).integers(0, 100, (2, 50))
    assert same(Graph.of(index), Graph.from_edges(index.T))
    torch = pytest.importorskip("torch")
    assert same(Graph.of(torch.tensor(index)), Graph.from_edges(index.T))
    assert same(Graph.of(torch.tensor(index.T)), Graph.from_edges(index.T))
    for array, why in (
        (np.zeros((2, 50)), "an array of edges has 2 to 4 columns, or 2 rows of integers"),
        (np.zeros((9, 50), int), "this is 9 x 50 of int64"),
        (np.array([[1, 2, 3], [4, 5, 6]]), "two weighted edges, or three"),
    ):
        with pytest.raises(InputError, match=why):
            Graph.of(array)


def test_frames_are_read_by_name() -> None:
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"weight": [2, 3], "source": ["a", "b"], "target": ["b", "c"]})
    assert Graph.of(frame).adjacency[0, 1] == 2
    times = pd.to_datetime(["2024-01-31", "2024-02-01"]).as_unit("ns")
    graph = Graph.of(pd.DataFrame({"user": ["u1", "u2"], "item": ["i1", "i1"], "timestamp": times}))
    assert not graph.is_weighted and graph.times is not None and graph.times.max() == 1706745600
    sales = pd.DataFrame({"user_id": ["u1"], "item": ["i1"], "amount": [2.5], "timestamp": [1_610_000_000]})
    assert repr(Graph.of(sales)) == "Graph(2 nodes, 1 edge, undirected; passed over: amount)"
    assert Graph.of(sales, weight="amount", source="item", directed=True).adjacency[0, 1] == 2.5
    assert Graph.of(pd.DataFrame([[1, 2, 0.5]])).adjacency[0, 1] == 0.5
    with pytest.raises(InputError, match="source= is for a table"):
        Graph.of(graph, source="user")
    with pytest.raises(InputError, match="name columns of a table"):
        Graph.of([(1, 2)], source=0)
    with pytest.raises(InputError, match=r"row 1 has no node in the column 'u'.*dropna"):
        Graph.of(pd.DataFrame({"u": ["a", None], "v": ["b", "c"]}))


NAMES = st.sampled_from([("source", "target"), ("user_id", "item"), ("follower", "followee"), ("to", "from")])
MORE = {
    "weight": st.integers(-1, 40).map(lambda i: i / 8),
    "amount": st.integers(-5, 40).map(lambda i: i / 4),
    "timestamp": st.integers(1_500_000_000, 1_700_000_000),
    "day": st.dates().map(str).filter(lambda text: len(text) == 10),
    "relation": st.sampled_from(["likes", "knows"]),
    "clicks": st.integers(0, 9),
}


@st.composite
def tables(draw: st.DrawFn) -> dict[str, list[Any]]:
    """Columns by name."""
    nodes = draw(st.sampled_from([st.integers(0, 9), st.integers(0, 9).map(lambda i: f"n{i}")]))
    more = draw(st.lists(st.sampled_from(sorted(MORE)), unique=True, max_size=3))
    columns = {**dict.fromkeys(draw(NAMES), nodes), **{name: MORE[name] for name in more}}
    order = draw(st.permutations(sorted(columns)))
    rows = draw(st.integers(1, 8))
    return {name: draw(st.lists(columns[name], min_size=rows, max_size=rows)) for name in order}


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(tables(), st.booleans(), st.sampled_from([None, False, True]))
def test_a_table_is_the_same_graph_in_every_format(
    tmp_path_factory: pytest.TempPathFactory, table: dict[str, list[Any]], directed: bool, bipartite: bool | None
) -> None:
    pd, folder = pytest.importorskip("pandas"), tmp_path_factory.mktemp("t")
    rows = [tuple(table), *zip(*table.values(), strict=True)]
    text = {d: "\n".join(d.join(map(str, row)) for row in rows) for d in ",\t"}
    files = [
        write(folder, text[","], "t.csv"),
        write(folder, text["\t"], "t.tsv"),
        write(folder, text[","], "t.csv.gz"),
        write(folder, zstd(text[","].encode()), "t.csv.zst"),
    ]
    frame = pd.DataFrame(table)
    frame.to_parquet(folder / "t.parquet")
    options = {"directed": directed, "bipartite": bipartite}
    readings = [_read(read_edges, path, **options) for path in [*files, folder / "t.parquet"]]
    readings.append(_read(Graph.of, frame, **options))
    for other in readings[1:]:
        assert (other is None) == (readings[0] is None)
        if readings[0] is not None and other is not None:
            _assert_equal(other, readings[0])


def _read(reader: Any, x: Any, **options: Any) -> Graph | None:
    """The graph, or None where it is refused."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", message=".* in both ")
        try:
            graph: Graph = reader(x, **options)
        except InputError:
            return None
    return graph


def _assert_equal(one: Graph, two: Graph) -> None:
    assert same(one, two)
    assert (one.times is None) == (two.times is None)
    assert one.times is None or np.array_equal(one.times, two.times, equal_nan=True)  # type: ignore[arg-type]
    assert one.reading is not None and two.reading is not None
    assert one.reading.to_dict() | {"header": 0} == two.reading.to_dict() | {"header": 0}


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9), st.integers(0, 9)), min_size=4, max_size=8),
    st.sampled_from([0, 1_600_000_000]),
    st.integers(2, 4),
)
def test_an_array_is_the_same_graph_as_a_file_without_a_header(
    tmp_path_factory: pytest.TempPathFactory, edges: list[tuple[int, int, int]], start: int, width: int
) -> None:
    array = np.array([(u, v, x, x + start) for u, v, x in edges])[:, [0, 1, 2, 3] if width == 4 else [0, 1, 3]]
    array = array[:, :width]
    text = "\n".join(" ".join(map(str, row)) for row in array.tolist())
    path = write(tmp_path_factory.mktemp("a"), text)
    one, two = _read(read_edges, path), _read(Graph.from_edges, array)
    assert (one is None) == (two is None) == (width == 4 and start == 0)
    if one is not None and two is not None:
        _assert_equal(one, two)


@pytest.mark.parametrize(
    ("header", "ends"),
    [
        ("date,from_airport,to_airport,carrier", (1, 2)),
        ("carrier,originCity,destinationCity", (1, 2)),
        ("start_lat,end_lat,start_station,end_station,rider", (2, 3)),
        ("paper,author1,author2", (1, 2)),
        ("user_to,user_from,kind", (1, 0)),
        ("sender,receiver,branch", (0, 1)),
    ],
)
def test_two_columns_that_differ_by_the_word_for_the_end_are_the_ends(header: str, ends: tuple[int, int]) -> None:
    names = header.split(",")
    rows = [[f"node {i + j}" for j in range(len(names))] for i in range(3)]
    assert tuple_columns(names, rows) == ()
    assert edge_roles(names, rows, len(names))[:2] == ends


@pytest.mark.parametrize("header", ["user_a,user_b,user_c", "author1,author2,author3", "user,movie,tag"])
def test_three_of_a_kind_are_a_tuple(header: str) -> None:
    names = header.split(",")
    assert tuple_columns(names, [["x", "y", "z"]]) == tuple(names)


@pytest.mark.parametrize("header", ["customer,address1,address2", "customer,first_name,second_name"])
def test_columns_that_are_counted_and_share_nothing_are_no_ends(header: str) -> None:
    names = header.split(",")
    rows = [[f"{name} {i}" for name in names] for i in range(3)]
    assert tuple_columns(names, rows) == tuple(names)
    assert edge_roles(names, rows, 3)[:2] == (0, 1)


def test_times_of_start_and_end_are_no_ends() -> None:
    names = ["user", "item", "start_date", "end_date"]
    assert edge_roles(names, [["a", "b", "2026-01-01", "2026-01-02"]], 4)[:2] == (0, 1)


def test_nodes_that_are_counted_are_no_header() -> None:
    assert header_verdict(["user1", "user2"], [["user3", "user4"], ["user5", "user3"]]) is False
    assert header_verdict(["from_user", "to_user"], [["ann", "bob"], ["bob", "cid"]]) is True


def test_a_table_of_flights_is_read_as_tuples_where_they_are_wanted(tmp_path: Path) -> None:
    path = write(tmp_path, "date,from_airport,to_airport,carrier\n2026-01-01,ZRH,JFK,LX\n2026-01-02,JFK,ZRH,DL\n")
    assert read_edges(path).n_edges == 1
    assert set(nf.read_hyperedges(path).node_types) == {"from_airport", "to_airport", "carrier"}
    assert tuple_columns(["head:e", "relation", "tail:e"], [["a", "r", "b"]]) == ("head:e", "relation", "tail:e")
