"""`read_edges`: every format, every rule, every refusal, and the fast way against the slow one."""

from __future__ import annotations

import builtins
import gzip
import os
import subprocess
import sys
import tracemalloc
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from netfold.errors import InputError
from netfold.graph import Graph
from netfold.io import read_edges
from netfold.io import source as source_module
from netfold.io.columns import Roles
from netfold.io.digits import decimals, digits, plain_digits, words_of
from netfold.io.interning import Interner
from netfold.io.lines import split_fields
from netfold.io.rows import Layout, Rows, fast_rows, slow_rows

duckdb = pytest.importorskip("duckdb")

SRC = Path(__file__).parents[1] / "src"


def write(folder: Path, text: str | bytes, name: str = "edges.csv") -> Path:
    path = folder / name
    data = text.encode() if isinstance(text, str) else text
    path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    return path


def zstd(data: bytes) -> bytes:
    pyarrow = pytest.importorskip("pyarrow")
    sink = pyarrow.BufferOutputStream()
    with pyarrow.CompressedOutputStream(sink, "zstd") as stream:
        stream.write(data)
    return bytes(sink.getvalue())


def parquet(folder: Path, name: str = "edges.parquet", types: str = "", **columns: list[Any]) -> Path:
    path = folder / name
    values = ", ".join("(" + ", ".join(map(_literal, row)) + ")" for row in zip(*columns.values(), strict=True))
    names = ", ".join(f'"{c}"' for c in columns)
    with duckdb.connect() as connection:
        table = f"SELECT {types or '*'} FROM (VALUES {values}) AS t({names})"
        connection.execute(f"COPY ({table}) TO '{path.as_posix().replace(chr(39), chr(39) * 2)}' (FORMAT parquet)")
    return path


def _literal(x: Any) -> str:
    if x is None:
        return "NULL"
    if isinstance(x, float):
        return f"'{x}'::DOUBLE"
    return "'" + x.replace("'", "''") + "'" if isinstance(x, str) else str(x)


def same(a: Graph, b: Graph) -> bool:
    one, two = a.adjacency, b.adjacency
    parts = ((one.indptr, two.indptr), (one.indices, two.indices), (one.data, two.data))
    return a.nodes == b.nodes and a.directed == b.directed and all(np.array_equal(x, y) for x, y in parts)


EDGES = [(1, 2), (2, 3), (7, 1)]
NAMES = [("ann", "bob"), ("bob", "Çağrı 雪"), ("eve", "ann")]


# -------------------------------------------------------------------- formats


@pytest.mark.parametrize("delimiter", [",", ";", "\t", " ", "   ", " \t "])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("name", ["e.csv", "e.txt.gz"])
def test_delimiters_and_line_ends(tmp_path: Path, delimiter: str, end: str, name: str) -> None:
    path = write(tmp_path, end.join(f"{u}{delimiter}{v}" for u, v in EDGES), name)
    assert same(read_edges(path), Graph.from_edges(EDGES))


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_names_with_blanks_and_any_unicode(tmp_path: Path, delimiter: str) -> None:
    path = write(tmp_path, "\n".join(delimiter.join(edge) for edge in NAMES) + "\n")
    graph = read_edges(path)
    assert list(graph.nodes) == ["ann", "bob", "Çağrı 雪", "eve"]
    assert same(graph, Graph.from_edges(NAMES))


def test_comments_blank_lines_and_a_byte_order_mark(tmp_path: Path) -> None:
    text = '\ufeff# from "somewhere\n% second\n\n1,2\n   \n# between\n  # indented\n2,3\n\n7,1\n%last'
    assert same(read_edges(write(tmp_path, text)), Graph.from_edges(EDGES))


def test_quoted_fields(tmp_path: Path) -> None:
    text = '"Valjean, Jean",Javert\n"said ""no""" , "#tag"\nplain,"Valjean, Jean"\n"quoted","too"\n'
    graph = read_edges(write(tmp_path, text))
    assert list(graph.nodes) == ["Valjean, Jean", "Javert", 'said "no"', "#tag", "plain", "quoted", "too"]


def test_quotes_around_everything_take_the_fast_way(tmp_path: Path) -> None:
    text = b'"1","2"\n"2","3"\n"7","1"\n'
    layout = Layout(b",", 2, Roles(0, 1, None), 1, True)
    assert fast_rows(text, layout) is not None
    assert same(read_edges(write(tmp_path, text)), Graph.from_edges(EDGES))


def test_quotes_inside_fields(tmp_path: Path) -> None:
    graph = read_edges(write(tmp_path, '"a""b",c\n5" pipe,6" pipe\nx"y",z\n"a""b","q"\n'))
    assert list(graph.nodes) == ['a"b', "c", '5" pipe', '6" pipe', 'x"y"', "z", "q"]


def test_quotes_part_blanks(tmp_path: Path) -> None:
    assert list(read_edges(write(tmp_path, '"Jean Valjean"  Javert\nJavert Cosette\n')).nodes) == [
        "Jean Valjean",
        "Javert",
        "Cosette",
    ]


def test_blanks_around_fields_do_not_count(tmp_path: Path) -> None:
    assert same(read_edges(write(tmp_path, " 1 , 2\n2,\t3 \n 7 ,1\n")), Graph.from_edges(EDGES))


def test_one_node(tmp_path: Path) -> None:
    for text, label in (("7 7\n", 7), ("a,a,2\n", "a")):
        graph = read_edges(write(tmp_path, text))
        assert list(graph.nodes) == [label] and graph.n_self_loops == graph.n_edges == 1


def test_a_blank_at_the_end_is_no_column(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="line 2: there are 2 columns where the first line has 3"):
        read_edges(write(tmp_path, "1 2 3\n4 5 \n"), weighted=False)


def test_a_comment_after_a_tab(tmp_path: Path) -> None:
    text = "x\tsource\ttarget\n\t1\t2\n\t#3\t4\n\t\t\n\t2\t3\n"
    assert list(read_edges(write(tmp_path, text)).nodes) == [1, 2, 3]


def test_zstd(tmp_path: Path) -> None:
    text = "# c\r\nsource,target\r\n1,2\r\n\r\n2,3\r\n7,1"
    assert same(read_edges(write(tmp_path, zstd(text.encode()), "e.csv.zst")), Graph.from_edges(EDGES))


def test_parquet(tmp_path: Path) -> None:
    u, v = ([e[i] for e in EDGES] for i in (0, 1))
    assert same(read_edges(parquet(tmp_path, source=u, target=v)), Graph.from_edges(EDGES))
    a, b = ([e[i] for e in NAMES] for i in (0, 1))
    assert same(read_edges(parquet(tmp_path, year=[1, 2, 3], dst=b, src=a)), Graph.from_edges(NAMES))
    weighted = read_edges(parquet(tmp_path, a=a, weight=[0.5, 2.0, 1.0], b=b), directed=True)
    assert same(weighted, Graph.from_edges(NAMES, [0.5, 2, 1], directed=True))
    mixed = read_edges(parquet(tmp_path, a=[1, 2], b=["x", "y"]))
    assert list(mixed.nodes) == ["1", "x", "2", "y"]


def test_a_name_that_would_match_other_names(tmp_path: Path) -> None:
    for other in ("e1.parquet", "ea.parquet"):
        parquet(tmp_path, other, a=[8, 9], b=[9, 8])
    for name in ("e[1a]*.parquet", "e?'\".parquet", "e*.parquet"):
        parquet(tmp_path, "tmp.parquet", a=[1, 2, 7], b=[2, 3, 1]).replace(tmp_path / name)
        assert same(read_edges(tmp_path / name), Graph.from_edges(EDGES))
    path = write(tmp_path, zstd(b"1,2\n2,3\n7,1\n"), "e[1]*.zst")
    assert same(read_edges(path), Graph.from_edges(EDGES))


def test_what_a_file_is_shows_in_its_content(tmp_path: Path) -> None:
    path = tmp_path / "edges.csv"
    path.write_bytes(gzip.compress(b"1,2\n") + gzip.compress(b"2,3\n7,1\n"))
    assert same(read_edges(path), Graph.from_edges(EDGES))
    assert same(read_edges(str(path)), Graph.from_edges(EDGES))


# -------------------------------------------------------------------- labels and order


def test_integers_ascend_and_strings_come_as_they_appear(tmp_path: Path) -> None:
    assert list(read_edges(write(tmp_path, "10,9\n-3,10\n")).nodes) == [-3, 9, 10]
    assert list(read_edges(write(tmp_path, "z,b\na,z\n")).nodes) == ["z", "b", "a"]


@pytest.mark.parametrize("odd", ["007", "+7", "-0", "7.0", "1e3", "9223372036854775808", "x", "1_0", "٣"])
def test_one_label_that_is_no_integer_makes_all_labels_strings(tmp_path: Path, odd: str) -> None:
    text = "\n".join(f"{i},{i + 1}" for i in range(1000)) + f"\n5,{odd}\n"
    nodes = read_edges(write(tmp_path, text)).nodes
    assert nodes.kind == "text" and nodes[0] == "0" and nodes[len(nodes) - 1] == odd


@pytest.mark.parametrize("seed", range(3))
def test_sparse_64_bit_integers(tmp_path: Path, seed: int) -> None:
    rng = np.random.default_rng(seed)
    ids = np.append(rng.integers(-(2**63), 2**63 - 1, 500), [-(2**63), 2**63 - 1, 0])
    edges = [(int(a), int(b)) for a, b in rng.choice(ids, (3000, 2))]
    path = write(tmp_path, "\n".join(f"{a} {b}" for a, b in edges))
    assert same(read_edges(path), Graph.from_edges(edges))


def test_labels_of_every_length(tmp_path: Path) -> None:
    labels = ["é" * k + "x" for k in range(80)] + ["y" * k for k in range(1, 140)] + ["z" * 100_000]
    edges = [*pairwise(labels), *zip(labels, labels[::-1], strict=True)]
    graph = read_edges(write(tmp_path, "\n".join(f"{a},{b}" for a, b in edges)))
    assert same(graph, Graph.from_edges(edges))


# -------------------------------------------------------------------- columns


@pytest.mark.parametrize(
    ("head", "row"),
    [
        ("source,target", "{u},{v}"),
        ("target,source", "{v},{u}"),
        ("Src,Dst", "{u},{v}"),
        ("year,to,from", "1999,{v},{u}"),
        ("u,v,year", "{u},{v},1999"),
        ("Source,Target,Type,Id,Label,Weight", "{u},{v},Undirected,0,,1"),
        ("one,two,three,four", "{u},{v},x,"),
        ("id 1,ID-2", "{u},{v}"),
        ("w,a,b", "1,{u},{v}"),
    ],
)
@pytest.mark.parametrize("edges", [EDGES, NAMES])
def test_named_columns(tmp_path: Path, head: str, row: str, edges: list[tuple[Any, Any]]) -> None:
    known = head not in ("one,two,three,four", "id 1,ID-2", "w,a,b") or edges is EDGES
    text = head + "\n" + "\n".join(row.format(u=u, v=v) for u, v in edges)
    path = write(tmp_path, text)
    graph = read_edges(path, header=None if known else True, directed=True)
    assert same(graph, Graph.from_edges(edges, directed=True))


def test_a_third_column_is_a_weight_by_its_name_or_without_one(tmp_path: Path) -> None:
    weighted = Graph.from_edges([(1, 2, 3.0), (2, 3, 0.5)])
    plain = Graph.from_edges([(1, 2), (2, 3)])
    for head in ("", "source,target,weight\n", "a,b,Count\n", "u,v,value\n"):
        path = write(tmp_path, head + "1,2,3\n2,3,0.5\n")
        assert same(read_edges(path), weighted)
        assert same(read_edges(path, weighted=True), weighted)
        assert same(read_edges(path, weighted=False), plain)
    year = write(tmp_path, "source,target,year\n1,2,3\n2,3,0.5\n")
    assert same(read_edges(year), plain)
    assert same(read_edges(year, weighted=True), weighted)


def test_a_header_is_guessed_or_said(tmp_path: Path) -> None:
    assert read_edges(write(tmp_path, "left,right\n1,2\n")).nodes.kind == "int"
    assert read_edges(write(tmp_path, "a,b,c\nx,y,1\nx,z,2\n"), weighted=True).n_edges == 2
    assert list(read_edges(write(tmp_path, "ann,bob\nbob,eve\n")).nodes) == ["ann", "bob", "eve"]
    assert list(read_edges(write(tmp_path, "ann,bob\nbob,eve\n"), header=True).nodes) == ["bob", "eve"]
    assert list(read_edges(write(tmp_path, "source,target\n1,2\n"), header=False).nodes) == [
        "source",
        "target",
        "1",
        "2",
    ]
    # u and v are names for columns, but here they are nodes: they turn up again.
    assert list(read_edges(write(tmp_path, "u v\nv w\nw u\n")).nodes) == ["u", "v", "w"]
    assert read_edges(write(tmp_path, "1,2\n3,4\n"), header=True).n_edges == 1


def test_a_delimiter_can_be_said(tmp_path: Path) -> None:
    path = write(tmp_path, "a,b|c,d\ne|f\n")
    assert list(read_edges(path, delimiter="|").nodes) == ["a,b", "c,d", "e", "f"]
    for bad in ("", ",,", "x", "1", '"', "\n", "é", "#"):
        with pytest.raises(InputError, match="delimiter="):
            read_edges(path, delimiter=bad)


# -------------------------------------------------------------------- the rule for duplicates


def test_duplicates_are_one_edge_or_summed(tmp_path: Path) -> None:
    path = write(tmp_path, "1,2\n2,1\n1,2\n3,3\n3,3\n")
    assert read_edges(path).adjacency.toarray().tolist() == [[0, 1, 0], [1, 0, 0], [0, 0, 1]]
    assert read_edges(path, directed=True).adjacency.toarray().tolist() == [[0, 1, 0], [1, 0, 0], [0, 0, 1]]
    path = write(tmp_path, "1,2,1\n2,1,2.5\n1,2,1e1\n3,3,2\n3,3,.5\n")
    assert read_edges(path).adjacency.toarray().tolist() == [[0, 13.5, 0], [13.5, 0, 0], [0, 0, 2.5]]
    assert read_edges(path, directed=True).adjacency.toarray().tolist() == [[0, 11, 0], [2.5, 0, 0], [0, 0, 2.5]]


def test_weight_zero_is_no_edge_but_its_nodes_stay(tmp_path: Path) -> None:
    graph = read_edges(write(tmp_path, "1,2,0\n3,3,0.0\n1,3,2\n5,6,-0\n"))
    assert list(graph.nodes) == [1, 2, 3, 5, 6] and graph.n_edges == 1
    assert read_edges(write(tmp_path, "1,2,0\n")).n_edges == 0


def test_sums_are_symmetric_to_the_last_bit(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    rows = [f"{a} {b} {w!r}" for a, b, w in zip(*rng.integers(0, 9, (2, 4000)), rng.random(4000).tolist(), strict=True)]
    matrix = read_edges(write(tmp_path, "\n".join(rows))).adjacency
    assert (matrix != matrix.T).nnz == 0
    Graph(matrix, range(9))  # which checks it all again


# -------------------------------------------------------------------- refusals


REFUSED = [
    ("only_comments", "# a\n\n%b\n", {}, r": there are no edges, only comments"),
    ("only_header", "source,target\n", {}, r": there are no edges"),
    ("nul", "1,2\n3,\x004\n", {}, r", line 2: there is a NUL byte: this is not a text file"),
    ("latin1", b"1,2\n3,caf\xe9\n", {}, r", line 2: the byte 0xe9 is not valid UTF-8; save the file as UTF-8"),
    ("utf16", "a,b\n".encode("utf-16"), {}, r": this is not UTF-8 but UTF-16"),
    ("one_column", "1\n2\n", {}, r", line 1: there is only one column"),
    ("one_named_column", "source\n2\n", {"header": True}, r", line 1: there is only one column"),
    ("short", "1,2\n\n3\n4,5\n", {}, r", line 3: there are 1 column where the first line has 2 \(delimiter: ,\)"),
    (
        "long",
        "1\t2\n3\t4\t5\n6\t7\n",
        {},
        r", line 2: there are 3 columns where the first line has 2 \(delimiter: tab\)",
    ),
    ("negative", "1,2,1\n3,4,-0.5\n", {}, r", line 2: the weight '-0.5' is negative; .*weighted=False"),
    ("nan", "1,2,1\n3,4,NaN\n", {}, r", line 2: the weight 'NaN' is not finite"),
    ("nan in the first line", "a,b,nan\nb,c,1\n", {}, r", line 1: the weight 'nan' is not finite"),
    ("infinite", "1,2,1\n3,4,-inf\n", {}, r", line 2: the weight '-inf' is not finite"),
    ("overflow", "1,2,1\n3,4,1e999\n", {}, r", line 2: the weight '1e999' is not finite"),
    ("large", "1,2,1\n3,4,1e39\n", {}, r", line 2: the weight '1e39' is too large; weights are at most 3.4e\+38"),
    ("sum", "1,2,3e38\n2,1,3e38\n", {}, r": the weights of an edge sum to more than 3.4e\+38"),
    ("text_weight", "a,b,1\nc,d,much\n", {}, r", line 2: the weight 'much' is not a number"),
    ("underscore", "1,2,1\n3,4,1_0\n", {}, r", line 2: the weight '1_0' is not a number"),
    ("no_weight", "1,2,1\n3,4,\n", {}, r", line 2: the weight '' is not a number"),
    ("decimal_comma", "a;b;0.5\na;c;0,5\n", {}, r", line 2: the weight '0,5' is not a number"),
    ("weight_missing", "1,2\n", {"weighted": True}, r", line 1: there is no column of weights; add a third"),
    ("weight_unnamed", "source,target\n1,2\n", {"weighted": True}, r", line 1: there is no column of weights"),
    ("empty_label", "a,b\n,c\n", {}, r", line 2: the label of a node is empty"),
    ("empty_quoted", 'a,b\n"",c\n', {}, r", line 2: the label of a node is empty"),
    ("open_quote", 'a,b\n"c,d\n', {}, r", line 2: a quote is opened and not closed"),
    ("open_quote_first", '"a,b\nc,d\n', {}, r", line 1: a quote is opened and not closed"),
    ("four", "1,2,3,4\n", {}, r", line 1: there are 4 columns and no header; name them"),
    ("huge_line", "1,2\n3," + "4" * (1 << 20) + "\n", {}, r", line 2: the line is longer than 1,048,576 bytes"),
    ("market", "%%MatrixMarket matrix\n2 2 1\n1 2\n", {}, r": this is a Matrix Market file; read it with"),
    ("zip", b"PK\x03\x04rest", {}, r": this is a zip archive or a spreadsheet"),
]


@pytest.mark.parametrize(("name", "text", "options", "message"), REFUSED, ids=[case[0] for case in REFUSED])
@pytest.mark.parametrize("suffix", [".csv", ".csv.gz"])
def test_refused(
    tmp_path: Path, name: str, text: str | bytes, options: dict[str, Any], message: str, suffix: str
) -> None:
    path = write(tmp_path, text, name + suffix)
    with pytest.raises(InputError, match="^" + str(path).replace(".", r"\.") + message) as caught:
        read_edges(path, **options)
    assert "\n" not in str(caught.value) and len(str(caught.value)) < 500


@pytest.mark.parametrize("far", [0, 100_000])
def test_the_line_is_named_wherever_it_stands(tmp_path: Path, far: int) -> None:
    text = "# head\nsource,target,weight\n" + "10,20,5\n" * far + "# c\n1,2,3\r\n\n4,5,x\n6,7,8\n"
    with pytest.raises(InputError, match=rf"line {far + 6}: the weight 'x' is not a number"):
        read_edges(write(tmp_path, text))


def test_refused_files(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"nowhere\.csv: there is no such file"):
        read_edges(tmp_path / "nowhere.csv")
    with pytest.raises(InputError, match="this is a folder"):
        read_edges(tmp_path)
    with pytest.raises(InputError, match=r"empty\.csv: the file is empty"):
        read_edges(write(tmp_path, "", "empty.csv"))
    with pytest.raises(InputError, match=r"empty\.csv\.gz: there are no edges"):
        read_edges(write(tmp_path, "", "empty.csv.gz"))
    with pytest.raises(InputError, match="cannot be opened"):
        read_edges("a\0b")
    if hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / "pipe")
        with pytest.raises(InputError, match="not a regular file"):
            read_edges(tmp_path / "pipe")
    for name in ("e.csv.gz", "e.csv.zst", "e.parquet"):
        (tmp_path / name).write_bytes(b"1,2\n")
        with pytest.raises(InputError, match=f"{name}: the name promises .* data, but the content is not"):
            read_edges(tmp_path / name)


def test_damaged_gzip(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    whole = gzip.compress("\n".join(f"{a},{b}" for a, b in rng.integers(0, 10**6, (20_000, 2))).encode())
    flipped = bytearray(whole)
    flipped[len(whole) // 2] ^= 255
    for data in (whole[:-1], whole[:-20], whole[: len(whole) // 2], whole[:12], bytes(flipped), whole + b"rest"):
        (tmp_path / "e.csv.gz").write_bytes(data)
        with pytest.raises(InputError, match=r"e\.csv\.gz(, line \d+)?: "):
            read_edges(tmp_path / "e.csv.gz")
    (tmp_path / "e.csv.gz").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(InputError, match="the gzip data are damaged or cut short"):
        read_edges(tmp_path / "e.csv.gz")


def test_damaged_zstd(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    whole = zstd("\n".join(f"{a},{b}" for a, b in rng.integers(0, 10**6, (20_000, 2))).encode())
    path = tmp_path / "e.csv.zst"
    for data in (whole[:-1], whole[: len(whole) // 2], whole[:12], whole[:4], whole + b"rest", whole + whole[:40]):
        path.write_bytes(data)
        with pytest.raises(InputError, match=r"e\.csv\.zst: the zstd data are damaged or cut short"):
            read_edges(path)
    path.write_bytes(zstd(b"1,2\n") + b"\x50\x2a\x4d\x18\x03\x00\x00\x00abc" + zstd(b"2,3\n7,1\n"))
    assert read_edges(path).n_edges == 3


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"1,2\n3,caf\xe9\n", "line 2: this is not valid UTF-8"),
        (b"1,2\n3," + b"4" * 2_000_000 + b"\n", r"line 2: the line is longer"),
        (b"1,2\n3,\0\n", "line 2: there is a NUL byte"),
        (b"1,2\n3\n", "line 2: there are 1 column"),
        (b"", "there are no edges"),
    ],
)
def test_refused_zstd(tmp_path: Path, data: bytes, message: str) -> None:
    with pytest.raises(InputError, match=r"e\.zst.*" + message):
        read_edges(write(tmp_path, zstd(data), "e.zst"))


def test_refused_parquet(tmp_path: Path) -> None:
    def refused(message: str, **columns: list[Any]) -> None:
        with pytest.raises(InputError, match=r"edges\.parquet: " + message):
            read_edges(parquet(tmp_path, **columns))

    refused("there is only one column", a=[1])
    refused("row 2: a value is missing", a=[1, None], b=[2, 3])
    refused("row 2: a value is missing", a=["x", None], b=["y", "z"])
    refused("row 2: the weight -1.0 is negative", a=[1, 2], b=[2, 3], weight=[1.0, -1.0])
    refused("row 2: the weight nan is not finite", a=["1", "2"], b=["2", "3"], weight=[1.0, float("nan")])
    refused("row 1: the weight inf is not finite", a=[1, 2], b=[2, 3], weight=[float("inf"), 1.0])
    refused("the column 'weight' holds VARCHAR", a=[1], b=[2], weight=["x"])
    refused("the column 'a' holds DOUBLE; labels are integers or strings", a=[1.5], b=[2])
    with pytest.raises(InputError, match="does not fit in 64 bits"):
        read_edges(parquet(tmp_path, types="a::UBIGINT AS a, b", a=[2**63], b=[1]))
    with pytest.raises(InputError, match=r"row 1: the label .* holds a NUL byte"):
        read_edges(parquet(tmp_path, types="a || chr(0) AS a, b", a=["x"], b=["y"]))
    with pytest.raises(InputError, match="there are no edges"):
        path = parquet(tmp_path, a=[1], b=[2])
        with duckdb.connect() as connection:
            connection.execute(f"COPY (SELECT 1 AS a, 2 AS b LIMIT 0) TO '{path}' (FORMAT parquet)")
        read_edges(path)
    whole = parquet(tmp_path, a=list(range(1000)), b=list(range(1000))).read_bytes()
    for data in (whole[:-1], whole[: len(whole) // 2], whole[:4], whole[:4] + bytes(len(whole) - 8) + whole[-4:]):
        (tmp_path / "cut.parquet").write_bytes(data)
        with pytest.raises(InputError, match=r"cut\.parquet: the parquet data are damaged"):
            read_edges(tmp_path / "cut.parquet")


def test_unsigned_integers_in_parquet(tmp_path: Path) -> None:
    path = parquet(tmp_path, types="a::UBIGINT AS a, b::UTINYINT AS b", a=[1, 2, 7], b=[2, 3, 1])
    assert same(read_edges(path), Graph.from_edges(EDGES))


# -------------------------------------------------------------------- large, hostile, bare


@pytest.mark.parametrize("row", [b"123,456\n", b"123,456,0.5\n", b"ann,bob\n"])
def test_a_small_file_that_unpacks_to_a_huge_one_stays_small(tmp_path: Path, row: bytes) -> None:
    peaks, many = [], (1 << 20) // len(row)
    for size in (8, 64):
        path = tmp_path / "bomb.csv.gz"
        with gzip.open(path, "wb", compresslevel=1) as file:
            for _ in range(size):
                file.write(row * many)
        tracemalloc.start()
        graph = read_edges(path)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
        assert graph.n_edges == 1 and graph.adjacency[0, 1] == (0.5 * size * many if row.count(b",") == 2 else 1)
    assert peaks[1] < peaks[0] + (4 << 20)


def test_a_line_without_end_stays_small(tmp_path: Path) -> None:
    path = tmp_path / "bomb.csv.gz"
    with gzip.open(path, "wb", compresslevel=1) as file:
        for _ in range(64):
            file.write(b"1" * (1 << 20))
    tracemalloc.start()
    with pytest.raises(InputError, match="line 1: the line is longer"):
        read_edges(path)
    assert tracemalloc.get_traced_memory()[1] < 32 << 20
    tracemalloc.stop()


@pytest.mark.parametrize("text", ["1,2\n2,3\n7,1\n", "source\ttarget\nann\tbob\n"])
def test_text_needs_numpy_and_scipy_only(tmp_path: Path, text: str) -> None:
    path = write(tmp_path, text, "e.csv.gz")
    program = (
        "import sys\n"
        "for name in ('torch', 'duckdb', 'pandas', 'pyarrow'): sys.modules[name] = None\n"
        "from netfold.io import read_edges\n"
        "print(read_edges(sys.argv[1]).n_edges)\n"
    )
    environment = os.environ | {"PYTHONPATH": str(SRC)}
    done = subprocess.run(
        [sys.executable, "-c", program, path], check=False, capture_output=True, text=True, env=environment
    )
    assert done.stdout.strip() == str(text.count("\n") - text.startswith("source")), done.stderr


def test_without_duckdb_the_error_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    paths = [write(tmp_path, zstd(b"1,2\n"), "e.zst"), parquet(tmp_path, a=[1], b=[2])]
    importing = builtins.__import__

    def bare(name: str, *rest: Any, **options: Any) -> Any:
        if name == "duckdb":
            raise ImportError(name)
        return importing(name, *rest, **options)

    monkeypatch.setattr(builtins, "__import__", bare)
    for path in paths:
        with pytest.raises(InputError, match="read with duckdb; install it"):
            read_edges(path)


@pytest.mark.skipif("NETFOLD_DATA" not in os.environ, reason="needs the data sets")
@pytest.mark.parametrize(
    ("name", "nodes", "edges"),
    [("karate", 34, 78), ("ca_grqc", 5242, 14_496), ("cora", 2708, 5278), ("npm_dependencies", 304_031, 2_330_557)],
)
def test_real_data(name: str, nodes: int, edges: int) -> None:
    graph = read_edges(Path(os.environ["NETFOLD_DATA"], name, "edges.csv.gz"))
    assert (graph.n_nodes, graph.n_edges, graph.is_weighted) == (nodes, edges, name == "karate")


# -------------------------------------------------------------------- the fast way and the slow one

ids = st.one_of(
    st.integers(-20, 20),
    st.integers(-(2**63), 2**63 - 1),
    st.sampled_from([10**k - d for k in range(19) for d in (0, 1)]),
)
words = st.text(st.characters(exclude_characters='\r\n\0"', exclude_categories=["Cs"]), min_size=1, max_size=20).filter(
    lambda text: text.strip(" \t") == text and text[0] not in "#%"
)
weights = st.one_of(
    st.integers(0, 10**6).map(str),
    st.floats(0, 1e30, allow_nan=False).map(repr),
    st.decimals(0, 10**6, places=3).map(str),
    st.sampled_from(
        ["0", "0.0", ".5", "5.", "1e-3", "1E5", "+2", "00.50", "123456789012345678", "0.1234567890123456789"]
    ),
)
noise = st.sampled_from(["", "  ", "# comment, with; all\tof them", '%"', "\t"])


@st.composite
def files(draw: st.DrawFn) -> tuple[str, list[tuple[Any, ...]], str]:
    """Text, the edges in it and its delimiter."""
    delimiter = draw(st.sampled_from([",", ";", "\t", " "]))
    number = draw(st.booleans())
    label = (
        ids if number else words.filter(lambda text: delimiter not in text and not (delimiter == " " and "\t" in text))
    )
    weighted = draw(st.booleans())
    edges = draw(st.lists(st.tuples(label, label, *[weights] * weighted), min_size=1, max_size=30))
    lines = (
        [draw(st.sampled_from(["source{d}target{d}weight", "u{d}v{d}w"])).format(d=delimiter)]
        if draw(st.booleans())
        else []
    )
    lines = [line if weighted else line.rsplit(delimiter, 1)[0] for line in lines]
    quote = draw(st.booleans())
    for edge in edges:
        lines += draw(st.lists(noise, max_size=1)) if draw(st.integers(0, 9)) == 0 else []
        fields = [f'"{field}"' if quote and draw(st.booleans()) else str(field) for field in edge]
        gap = draw(st.sampled_from(["", "", " "]))
        lines.append((gap + delimiter + gap).join(fields))
    return draw(st.sampled_from(["\n", "\r\n"])).join(lines), edges, delimiter


@settings(max_examples=200, deadline=None, suppress_health_check=list(HealthCheck))
@given(files(), st.booleans(), st.sampled_from([7, 64, 1 << 19]))
def test_equals_from_edges(
    tmp_path_factory: pytest.TempPathFactory, file: tuple[str, list[tuple[Any, ...]], str], directed: bool, block: int
) -> None:
    text, edges, delimiter = file
    header = text.startswith(("source", "u")) and text.split("\n")[0].strip().split(delimiter)[0] in ("source", "u")
    path = write(tmp_path_factory.mktemp("f"), text)
    expected = Graph.from_edges(
        [edge[:2] for edge in edges],
        [float(edge[2]) for edge in edges] if len(edges[0]) > 2 else None,
        directed=directed,
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(source_module, "BLOCK", block)
        graph = read_edges(path, directed=directed, delimiter=delimiter, header=header)
        assert same(graph, read_edges(path, directed=directed, delimiter=delimiter, header=header))
        patch.setattr("netfold.io.rows.fast_rows", lambda text, layout: None)
        slow = read_edges(path, directed=directed, delimiter=delimiter, header=header)
    assert same(graph, slow)
    if expected.nodes.kind == graph.nodes.kind:  # texts that look like integers are integers in a file
        assert same(graph, expected)


def texts(rows: Rows) -> list[bytes]:
    whole = rows.buffer.tobytes()
    pairs = zip(rows.starts.ravel().tolist(), rows.ends.ravel().tolist(), strict=True)
    return [whole[a:b] for a, b in pairs]


pieces = st.sampled_from(
    ["1", "22", "x", '"', ",", " ", "\t", "\n", "#", "-", ".", "é", '""', '"a"', "1,2\n", "3,4\n", " 5 , 6\n"]
)


@settings(max_examples=400, deadline=None)
@given(
    st.lists(pieces, max_size=25).map("".join), st.sampled_from([b",", b" ", b"\t"]), st.integers(2, 3), st.booleans()
)
def test_what_is_cut_fast_is_cut_right(text: str, delimiter: bytes, width: int, integers: bool) -> None:
    layout = Layout(delimiter, width, Roles(0, 1, 2 if width == 3 else None), 1, integers)
    data = text.replace(",", delimiter.decode()).encode() + b"\n"
    fast = fast_rows(data, layout)
    if fast is not None:
        slow = slow_rows(1, data, layout)
        assert texts(fast) == texts(slow)
        assert fast.weights is slow.weights is None or np.array_equal(fast.weights, slow.weights)


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


# -------------------------------------------------------------------- parts


def as_buffer(fields: list[bytes]) -> tuple[Any, Any, Any]:
    buffer = np.frombuffer(bytes(80) + b",".join(fields) + bytes(80), np.uint8)
    ends = 80 + np.cumsum([len(field) + 1 for field in fields]) - 1
    return buffer, ends - [len(field) for field in fields], ends


@given(st.lists(st.integers(0, 10**19 - 1), min_size=1, max_size=50))
def test_digits(values: list[int]) -> None:
    buffer, starts, ends = as_buffer([str(v).encode() for v in values])
    assert plain_digits(words_of(buffer), starts, ends).tolist() == values
    found, good = digits(words_of(buffer), starts, ends)
    assert found.tolist() == values and good.all()


@given(st.lists(st.text("0123456789-+./:a ", max_size=22).map(str.encode), min_size=1, max_size=30))
def test_what_is_no_run_of_digits_is_told(fields: list[bytes]) -> None:
    buffer, starts, ends = as_buffer(fields)
    _, good = digits(words_of(buffer), starts, ends)
    assert good.tolist() == [field.isdigit() and len(field) <= 19 for field in fields]


@given(st.lists(st.from_regex(r"[0-9]{1,12}(\.[0-9]{1,10})?", fullmatch=True), min_size=1, max_size=50))
def test_decimals_are_rounded_as_python_does(numbers: list[str]) -> None:
    buffer, starts, ends = as_buffer([number.encode() for number in numbers])
    values, good = decimals(buffer, words_of(buffer), starts, ends)
    assert good.tolist() == [sum(map(str.isdigit, number)) <= 15 for number in numbers]
    assert all(value == float(number) for value, number, fine in zip(values, numbers, good, strict=True) if fine)


@settings(max_examples=50, deadline=None)
@given(st.lists(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 40)), max_size=60), max_size=8), st.integers(1, 2))
def test_interning_numbers_keys_as_they_first_appear(chunks: list[list[tuple[int, int]]], width: int) -> None:
    table, index = Interner(), dict[tuple[int, ...], int]()
    for chunk in chunks:
        keys = [key[:width] for key in chunk]
        expected = [index.setdefault(key, len(index)) for key in keys]
        assert table.intern(np.array(keys, np.uint64).reshape(-1, width)).tolist() == expected
    assert [tuple(key) for key in table.keys().tolist()] == [key[: table.keys().shape[1]] for key in index]


def test_interning_survives_keys_that_collide() -> None:
    table = Interner()
    table._home = lambda words: np.zeros(len(words), np.int64)  # type: ignore[method-assign]
    keys = np.random.default_rng(0).integers(0, 300, (2000, 1)).astype(np.uint64)
    index: dict[int, int] = {}
    assert table.intern(keys).tolist() == [index.setdefault(int(k), len(index)) for k in keys[:, 0]]


def test_fields_of_a_line() -> None:
    assert split_fields(b'a, "b,""c""" ,d ', b",") == [b"a", b'b,"c"', b"d"]
    assert split_fields(b' a\t\t"b c" d', b" ") == [b"a", b"b c", b"d"]
    assert split_fields(b"a\t\tb", b"\t") == [b"a", b"", b"b"]
    assert split_fields(b'5" pipe,x"y', b",") == [b'5" pipe', b'x"y']
    assert split_fields(b"a" + b" " * 200_000 + b'",b', b",")[1] == b"b"  # and takes no time over it
    for bad in (b'"a,b', b'"a"b,c', b'a,"'):
        with pytest.raises(ValueError, match="a quote is opened"):
            split_fields(bad, b",")
