"""`read_edges`: every format, and what columns, labels, weights and duplicates become."""

from __future__ import annotations

import gzip
import os
import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import netfold
from edge_files import EDGES, NAMES, parquet, same, write, zstd
from netfold.data.graph import Graph
from netfold.errors import InputError
from netfold.io.edges import read_edges
from netfold.io.fields import Layout, Roles, fast_rows

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


def test_unsigned_integers_in_parquet(tmp_path: Path) -> None:
    path = parquet(tmp_path, types="a::UBIGINT AS a, b::UTINYINT AS b", a=[1, 2, 7], b=[2, 3, 1])
    assert same(read_edges(path), Graph.from_edges(EDGES))


@pytest.mark.parametrize("text", ["1,2\n2,3\n7,1\n", "source\ttarget\nann\tbob\n"])
def test_text_needs_numpy_and_scipy_only(tmp_path: Path, text: str) -> None:
    path = write(tmp_path, text, "e.csv.gz")
    program = (
        "import sys\n"
        "for name in ('torch', 'duckdb', 'pandas', 'pyarrow'): sys.modules[name] = None\n"
        "from netfold.io.edges import read_edges\n"
        "print(read_edges(sys.argv[1]).n_edges)\n"
    )
    environment = os.environ | {"PYTHONPATH": str(Path(netfold.__file__).parents[1])}
    done = subprocess.run(
        [sys.executable, "-c", program, path], check=False, capture_output=True, text=True, env=environment
    )
    assert done.stdout.strip() == str(text.count("\n") - text.startswith("source")), done.stderr


# -------------------------------------------------------------------- labels and order


def test_integers_ascend_and_strings_come_as_they_appear(tmp_path: Path) -> None:
    assert list(read_edges(write(tmp_path, "10,9\n-3,10\n")).nodes) == [-3, 9, 10]
    assert list(read_edges(write(tmp_path, "z,b\na,z\n")).nodes) == ["z", "b", "a"]


@pytest.mark.parametrize("odd", ["007", "+7", "-0", "7.0", "1e3", "9223372036854775808", "x", "1_0", "٣"])
def test_one_node_that_is_no_integer_makes_all_nodes_strings(tmp_path: Path, odd: str) -> None:
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


def test_nodes_of_every_length(tmp_path: Path) -> None:
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
    with pytest.raises(InputError, match="a time is no weight unless it is named"):
        read_edges(year, weighted=True)
    assert same(read_edges(year, weight="year"), weighted)


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
    assert list(read_edges(path, delimiter="|", header=False).nodes) == ["a,b", "c,d", "e", "f"]
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
